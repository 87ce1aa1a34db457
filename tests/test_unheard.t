# SPDX-License-Identifier: MIT
# test_unheard.t - slurmctld begins again, and has not heard from its nodes yet
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

sandbox_up --nodes 3 --gpus-per-node 2 \
	--params pollux_interval=1,pollux_min_gap=0.2
plan 4

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
