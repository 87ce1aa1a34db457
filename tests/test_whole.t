# SPDX-License-Identifier: MIT
# test_whole.t - jobs that have whole nodes grow and shrink by nodes
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/shapes.sh" || exit 1

sandbox_up --nodes 4 --gpus-per-node 4 --whole-nodes \
	--conf-extra "PartitionName=shared Nodes=ALL OverSubscribe=NO MaxTime=600 State=UP" \
	--params "pollux_min_gap=0.2"
plan 27
watch_start

told() {
	sb scontrol show job "$1" | grep -q "why=.*$2"
}

# It has all CPUs and GPUs of so many nodes.
has_nodes() {
	shares_of "$1" | awk -v nodes="$2" '
		{ print; bad += $2 != 8 || $4 != 4 }
		END { exit bad || NR != nodes }' && ! is_moving "$1"
}

# slurmctld's nodes say so, too: all their CPUs and GPUs are in use.
nodes_agree() {
	local nodes
	nodes=$(sb squeue -h -j "$1" -o %N)
	[ -n "$nodes" ] && sb scontrol show node -o "$nodes" | awk '
		{ print; bad += !/CPUAlloc=8 / || !/AllocTRES=[^ ]*gres\/gpu=4/ }
		END { exit bad || !NR }'
}

no_errors() {
	! grep -E 'error: .*(gres|underflow|overalloc|should never)' \
		"$SB/log/slurmctld.log"
}

ok "a limit below a node is refused" \
	refused "the job cannot start with min=1 to max=3 GPUs, all on each node" max=3
ok "so are sizes that no number of nodes has" \
	refused "the job cannot start with sizes=2,6 GPUs, all on each node" sizes=2,6

job=$(submit_light whole pollux,max=16 -- --live=0.2 --profiled=16)
ok "a job grows to all nodes, each as a whole" \
	wait_until "has_nodes $job 4" 40
ok "slurmctld counts all of them as its own" nodes_agree "$job"
rigid=$(submit_rigid -N1 --gpus-per-node=1 -- 600)
ok "for a rigid job it gives up a node" \
	wait_until "is_state $rigid RUNNING && has_nodes $job 3" 40
ok "and nodes count what is left" nodes_agree "$job"
sb scancel "$rigid"
ok "which it has again" wait_until "has_nodes $job 4" 40
rigid=$(submit_rigid -N2 --gpus-per-node=2 -- 600)
ok "for another it gives up two" \
	wait_until "is_state $rigid RUNNING && has_nodes $job 2" 40
ok "it never had another number of GPUs than whole nodes have" \
	eval "! grep -E 'JobId=$job (has|hands over on) [0-9]+ GPU' '$SB/log/slurmctld.log' |
		grep -vE ' (4|8|12|16) GPU'"
restart() {
	pollux-sandbox restart --dir "$SB" slurmctld >"$WORK/restart.out" 2>&1
}
ok "slurmctld is started again" restart
ok "and knows what the job has" wait_until "has_nodes $job 2 && nodes_agree $job" 30
sb scancel "$rigid"
ok "from where it goes on" wait_until "has_nodes $job 4" 60
two=$(submit_light two pollux,max=16 -- --live=0.2 --profiled=16)
ok "two jobs share the cluster by nodes" \
	wait_until "has_nodes $job 2 && has_nodes $two 2" 60
ok "no GPU is idle" eval '[ $(($(gpus_of "$job") + $(gpus_of "$two"))) = 16 ]'
ok "the log and accounting agree" wait_until accounts_agree 30
sb scancel "$job" "$two"
ok "all nodes are idle then" wait_until cluster_is_idle 30

# By its own wish, in a partition whose nodes are shared.
one=$(submit_rigid -p shared -w n4 --gpus-per-node=1 -- 600)
wait_until "is_state $one RUNNING" 20
job=$(submit_light wish pollux,max=16 -p shared --exclusive -- \
	--live=0.2 --profiled=16)
ok "--exclusive: whole nodes, and none where another job is" \
	wait_until "has_nodes $job 3" 40
beside=$(submit_light beside pollux,max=16 -p shared -- --live=0.2 --profiled=16)
ok "a job that shares has what is left of the other's node" \
	wait_until "is_state $beside RUNNING && has_gpus_or_more $beside 3" 60
ok "the one with whole nodes keeps to whole ones" \
	wait_until "has_nodes $job 1 || has_nodes $job 2 || has_nodes $job 3" 30
sb scancel "$one" "$beside"
ok "and has them all again" wait_until "has_nodes $job 4" 60
sb scancel "$job"
wait_until cluster_is_idle 30

user=$(submit_light user pollux,max=3 -p shared --exclusive=user -- \
	--live=0.2 --profiled=16)
ok "--exclusive=user: by GPUs" wait_until "has_gpus $user 3" 40
sb scancel "$user"

# A moldable job is started on whole nodes.
mold=$(submit_light mold pollux,mode=requeue,max=8 --)
ok "a moldable job starts on whole nodes" \
	wait_until "is_state $mold RUNNING && has_nodes $mold 2" 40
sb scancel "$mold"
wait_until cluster_is_idle 30

# Of higher priority, for all nodes: the job waits in the queue.
job=$(submit_light least pollux,max=16 -- --live=0.2 --profiled=16)
wait_until "has_nodes $job 4" 40
rigid=$(submit_rigid -N4 --gpus-per-node=4 --priority=4294910000 -- 30)
ok "a job that wants all nodes, of higher priority, gets them" \
	wait_until "is_state $rigid RUNNING" 90
ok "the elastic one waits in the queue, as parked it would keep one" \
	is_state "$job" PENDING
sb scancel "$rigid"
ok "and comes back" wait_until "has_nodes $job 4" 120
sb scancel "$job"
ok "slurmctld complains of nothing" no_errors
ok "no GPU had two owners" watch_end
