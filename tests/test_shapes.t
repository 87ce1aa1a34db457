# SPDX-License-Identifier: MIT
# test_shapes.t - different counts of GPUs on the nodes of one job
#
# POLLUX_THOROUGH=1 also has chains, one job shrinks so that another one grows,
# with a fault in each.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/shapes.sh" || exit 1

sandbox_up --nodes 2 --gpus-per-node 4 \
	--conf-extra SelectTypeParameters=CR_Core_Memory \
	--conf-extra DefMemPerCPU=100 \
	--params "pollux_min_gap=0.2"
if [ -n "${POLLUX_THOROUGH:-}" ]; then
	plan 33
else
	plan 25
fi
watch_start

# It needs two GPUs, so it starts on n1.
rigid=$(submit_rigid -w n2 --gpus-per-node=3 -- 600)
wait_until "is_state $rigid RUNNING" 20
job=$(submit_light uneven pollux,min=2,max=8 --cpus-per-task=2 \
	--mem-per-cpu=100 -- --live=0.2 --profiled=8)
ok "a job takes what is left on each node: four and one" \
	wait_until "has_counts $job 4,1" 30
ok "with the CPUs and the memory of its GPUs on each node" \
	shares_are_right "$job"
ok "its record says the counts" wait_until "says_each $job 4,1" 10
ok "pollux-top shows them" eval 'sb pollux-top --once | grep "n1:4 n2:1"'
devices_of "$job" >"$WORK/before.txt"
sb scancel "$rigid"
ok "it grows on one node" wait_until "has_counts $job 4,4" 30
ok "and keeps the GPUs that it had" keeps_devices "$job"
ok "CPUs and memory have grown with it" shares_are_right "$job"
rigid=$(submit_rigid -w n1 --gpus-per-node=3 -- 600)
ok "it shrinks on its own node for a rigid job" \
	wait_until "is_state $rigid RUNNING && has_counts $job 1,4" 30
ok "CPUs and memory have shrunk with it" shares_are_right "$job"
ok "jobs and nodes agree" checked
sb scancel "$job" "$rigid"
ok "all nodes are idle, with no GPU allocated" wait_until cluster_is_idle 30

# A number of nodes that the user wants is kept in all shapes.
one=$(submit_light one pollux,max=8 -N1 -- --profiled=8)
ok "a job for one node has all of that" wait_until "has_counts $one 4" 30
ok "and is told that it may have no more nodes" \
	wait_until 'sb scontrol show job $one | grep "as many nodes as it may"' 30
sb scancel "$one"
two=$(submit_light two pollux,min=1,max=8 -N2-3 -- --profiled=8)
ok "one for two or three has both" wait_until "has_counts $two 4,4" 30
rigid=$(submit_rigid -N2 --gpus-per-node=3 -- 600)
ok "it makes room on both" \
	wait_until "is_state $rigid RUNNING && has_counts $two 1,1" 30
sb scancel "$rigid"
rigid=$(submit_rigid -w n2 --gpus-per-node=4 --priority=4294910000 -- 600)
ok "and without room on two it waits, on none" \
	wait_until "is_state $rigid RUNNING && has_gpus $two 0" 30
sb scancel "$two" "$rigid"
wait_until cluster_is_idle 30

# For one more GPU on n2 there is a CPU, but it needs two.
cpus=$(sb scontrol show node n2 | sed -n 's/.*CPUTot=\([0-9]*\).*/\1/p')
rigid=$(submit_rigid -w n2 -n1 -c $((cpus - 1)) --gpus-per-node=3 -- 600)
wait_until "is_state $rigid RUNNING" 20
job=$(submit_light refused pollux,min=2,max=8 --cpus-per-task=2 \
	--mem-per-cpu=100 -- --profiled=8)
ok "where the CPUs of its GPUs are not to be had, it stays on one node" \
	eval "wait_until \"logged 'JobId=$job stays: 4 GPUs'\" 30 &&
		fails logged 'JobId=$job asked for [5-8] GPUs'"
ok "and the job is whole" \
	eval 'shares_are_right $job && checked &&
		[ "$(job_field $job NodeList)" = n1 ]'
sb scancel "$job" "$rigid"

# Between question and answer somebody else takes the CPUs of the step.
rigid=$(submit_rigid -w n1 --gpus-per-node=3 -- 600)
last=$(submit_rigid -w n1 --gpus-per-node=1 -- 600)
wait_until "is_state $rigid RUNNING && is_state $last RUNNING" 20
job=$(submit_light late pollux,min=2,max=8 --cpus-per-task=2 \
	--mem-per-cpu=100 -- --profiled=8)
wait_until "has_counts $job 4" 30
frozen=$(pids_of "$job" light)
# shellcheck disable=SC2086
signal STOP $frozen
sb scancel "$last"
wait_until "logged 'JobId=$job asked for 5 GPUs'" 30
other=$(submit_rigid -w n1 -n1 -c $((cpus - 2)) -- 600)
wait_until "is_state $other RUNNING" 20
# shellcheck disable=SC2086
signal CONT $frozen
ok "a step whose second node has no CPUs any more fails" \
	wait_until "logged 'JobId=$job keeps its 4 GPUs: not enough CPUs'" 30
ok "and is rolled back whole" \
	eval 'has_counts $job 4 && shares_are_right $job && checked &&
		[ "$(job_field $job NodeList)" = n2 ]'
sb scancel "$other"
ok "it is tried again, and succeeds when there is room" \
	wait_until "has_counts $job 1,4 && shares_are_right $job" 60
sb scancel "$job" "$rigid"

# At most three GPUs, first of n1; when two of them are needed, 2 and 1.
rigid=$(submit_rigid -w n2 --gpus-per-node=3 -- 600)
wait_until "is_state $rigid RUNNING" 20
job=$(submit_elastic ranks pollux,min=2,max=3 --samples=10000 --batch=256 \
	--max-batch=256 --emulate-gpu=compute --epochs=1000000)
wait_until "has_counts $job 3 && trains $job" 60
other=$(submit_rigid -w n1 --gpus-per-node=2 -- 600)
ok "ranks follow to two GPUs here and one there" \
	wait_until "has_counts $job 2,1 && ranks_are $job 2 1" 60
ok "and train there" wait_until "trains $job && has_counts $job 2,1" 60
sb scancel "$job" "$rigid" "$other"
ok "then all is idle" wait_until cluster_is_idle 30
ok "no GPU ever had two owners" watch_end
if [ -n "${POLLUX_THOROUGH:-}" ]; then
	. "${POLLUX_SRCDIR}/tests/chains.sh"
fi
