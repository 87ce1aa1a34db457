# SPDX-License-Identifier: MIT
# test_dynamic.t - elastic jobs on nodes that come and go while slurmctld runs
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

# Such a node has SlurmdPort, and others have ports of their own here.
taken() {
	(exec 9<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}
port=$((20000 + RANDOM % 10000))
while taken "$port"; do port=$((20000 + RANDOM % 10000)); done
sandbox_up "$untyped" --nodes 2 --gpus-per-node 2 \
	--params pollux_interval=1,pollux_min_gap=0.2 \
	--conf-extra MaxNodeCount=5 --conf-extra TreeWidth=65533 \
	--conf-extra SlurmdPort=$port
plan 10

still() {
	eval "$1" && sleep 3 && eval "$1"
}

# begin_node: a slurmd that tells slurmctld of its node d1.
begin_node() {
	mkdir -p "$SB/spool/d1" && install -d -m 1777 "$SB/tmp/d1"
	alongside sb env PMIX_HOSTNAME=d1 slurmd -D -Z -N d1 --conf \
		"CPUs=8 Boards=1 \
		SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 \
		RealMemory=65536 Gres=gpu:2" >"$WORK/d1.out" 2>&1
	wait_until "node_is IDLE" 30
}

end_node() {
	kill -KILL "${alongside[-1]}"
}

node_is() {
	sb scontrol show node d1 | grep -qE "State=$1[+ ]"
}

is_on() {
	sb scontrol show hostnames "$(job_field "$job" NodeList)" |
		grep -qx d1
}

settled() {
	! sb scontrol show job "$job" |
		grep -qE 'SystemComment=.* state=(asked|lent|moving)'
}

sed -n "s/^NodeName=[^ ]*/NodeName=d1/p" "$SB/etc/gres.conf" >"$WORK/gres"
cat "$WORK/gres" >>"$SB/etc/gres.conf"
job=$(submit_light job pollux,max=6 -- --restart=0.1)
ok "a job has the cluster" wait_until "has_gpus $job 4" 60
ok "a node is added" begin_node
ok "and the job grows onto it" wait_until "has_gpus $job 6 && is_on" 60
ok "a node that a job holds is not deleted" eval '
	wait_until settled 30 && fails sb scontrol delete nodename=d1 &&
	has_gpus "$job" 6 && is_state "$job" RUNNING'
ok "slurmctld is restarted, and the job runs on there" eval '
	wait_until is_saved 30 && restart_slurmctld &&
	wait_until "is_state $job RUNNING" 60 && still "has_gpus $job 6 && is_on"'
way=$(submit_rigid -N3 --gpus-per-node=1 --priority=4294910000 -- 600)
ok "it is resized there" eval '
	wait_until "has_gpus $job 3 && is_state $way RUNNING" 60 &&
	sb scancel $way && wait_until "has_gpus $job 6" 60'
ok "it leaves the node when that is drained, and the node is deleted" eval '
	sb scontrol update nodename=d1 state=drain reason=test &&
	wait_until "has_gpus $job 4 && ! is_on" 60 &&
	wait_until "sb scontrol delete nodename=d1" 30 && end_node &&
	fails sb scontrol show node d1'
way=$(submit_rigid -N2 --gpus-per-node=1 --priority=4294910000 -- 600)
ok "the job is resized without it" eval '
	wait_until "has_gpus $job 2 && is_state $way RUNNING" 60 &&
	sb scancel $way && wait_until "has_gpus $job 4" 60'
ok "the node is added again, and the job has it" eval '
	begin_node && wait_until "has_gpus $job 6 && is_on" 60'
sb scancel "$job"
ok "nothing is leaked" eval '
	wait_until "ended $job" 30 && wait_until cluster_is_idle 60 &&
	slurmctld_lives'
