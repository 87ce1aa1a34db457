# SPDX-License-Identifier: MIT
# test_unheard.t - nodes that slurmctld has not heard from: since it began again,
# or since their slurmd died, of which it knows nothing yet
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

sandbox_up --nodes 3 --gpus-per-node 2 \
	--params pollux_interval=1,pollux_min_gap=0.2
plan 10

is_on() {
	sb scontrol show hostnames "$(job_field "$job" NodeList)" |
		grep -qx "$1"
}

home() {
	job_field "$job" BatchHost
}

# The other nodes' daemons stand still, so none of them registers.
silence() {
	local node
	others=()
	for node in n1 n2 n3; do
		[ "$node" = "$at" ] || others+=("$(cat "$SB/run/$node.pid")")
	done
	signal STOP "${others[@]}"
}

trained() {
	job=$(submit_light small pollux,min=2,max=2 -- --ack=1 --live) &&
		wait_until "is_state $job RUNNING && has_gpus $job 2" 60 &&
		at=$(home) && [ -n "$at" ]
}

# Who waits wants the job's node: on another one it would be as well off.
wanted() {
	silence && restart_slurmctld &&
		way=$(submit_rigid -w "$at" --gpus-per-node=2 \
			--priority=4294910000 -- 600)
}

stays() {
	wait_until "sb scontrol show job $job | grep 'has just begun'" 30 &&
		sleep 10 && is_state "$job" RUNNING && has_gpus "$job" 2 &&
		[ "$(home)" = "$at" ]
}

moves() {
	signal CONT "${others[@]}" && others=() &&
		wait_until "is_state $way RUNNING && is_state $job RUNNING &&
			has_gpus $job 2" 120
}

ok "a job trains on a node" trained
ok "slurmctld begins again while two nodes of three are silent" wanted
ok "nobody gives way before they are heard" stays
ok "then the job goes elsewhere, and the other one runs" moves
[ ${#others[@]} -eq 0 ] || signal CONT "${others[@]}"
sb scancel "$job" "$way"
ok "all nodes are idle" wait_until cluster_is_idle 60

# It answers the new slurmctld before a node that it is to have does.
is_asked() {
	job=$(submit_light early pollux,min=2,max=4 -x n2,n3 -- --ack=6 --live)
	wait_until "has_gpus $job 2 && trains $job" 60 || return 1
	sb scontrol update job="$job" ExcNodeList=n3
	wait_until "logged 'JobId=$job asked for 4 GPUs on n.1-2.'" 30 || return 1
	others=("$(cat "$SB/run/n2.pid")")
	signal STOP "${others[@]}" && restart_slurmctld &&
		wait_until "lit early ' event=ack'" 60
}

grows_when_heard() {
	sleep 3
	has_gpus "$job" 2 || return 1
	signal CONT "${others[@]}" && others=() &&
		wait_until "has_gpus $job 4" 30 &&
		fails logged "JobId=$job keeps its"
}

ok "a job says yes before its next node has registered" is_asked
ok "it has that when it has, and is refused nothing" grows_when_heard
[ ${#others[@]} -eq 0 ] || signal CONT "${others[@]}"
sb scancel "$job"
wait_until cluster_is_idle 60

# Of a node that answered a moment ago Slurm takes a prolog to run there, until it
# pings that a minute or two later, and for five minutes before it calls it down.
is_given() {
	job=$(submit_light grows pollux,min=2,max=4 -x n2,n3 -- --ack=0.1)
	wait_until "is_state $job RUNNING && has_gpus $job 2" 60 || return 1
	kill_node n2
	sb scontrol update job="$job" ExcNodeList=n3 &&
		wait_until "logged 'JobId=$job: the prolog runs on n2'" 30
}

gives_back() {
	wait_until "logged 'JobId=$job keeps its 2 GPUs: .* n2'" 60 &&
		has_gpus "$job" 2 && is_state "$job" RUNNING
}

goes_to_another() {
	sb scontrol update job="$job" ExcNodeList= &&
		wait_until "has_gpus $job 4 && ! is_on n2" 60
}

ok "a node's slurmd dies, and a job is given the node" is_given
ok "its prolog is not answered: the job goes on without it" gives_back
ok "and is given another one" goes_to_another
