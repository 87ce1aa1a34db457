# SPDX-License-Identifier: MIT
# test_rigid.t - rigid jobs beside elastic ones that fill the cluster
. "${POLLUX_SRCDIR}/tests/elastic.sh"

sandbox_up --nodes 4 --gpus-per-node 4
plan 15

started() {
	local start
	start=$(job_field "$1" StartTime)
	[ -n "$start" ] && [ "$start" != Unknown ] &&
		! is_state "$1" PENDING
}

ok "a GPU with two owners would be seen" two_owners_are_seen
watch_start
elastic=$(submit_elastic filler pollux,max=16 --samples=4096 --batch=64 \
	--max-batch=4096 --epochs=100000 --emulate-gpu=compute)
ok "an elastic job grows over the whole cluster" \
	wait_until "has_gpus $elastic 16" 60

# From 12 GPUs to 16 is less than a change has to bring; from 8 it is not.
node=$(submit_rigid -N2 --exclusive --gpus-per-node=4 -- 3)
ok "a rigid job of whole nodes starts although every GPU was taken" \
	wait_until "started $node" 30
ok "the elastic job runs on beside it" is_state "$elastic" RUNNING
ok "the rigid job completes" wait_until "is_state $node COMPLETED" 30
ok "its GPUs come back to the elastic job" \
	wait_until "has_gpus $elastic 16" 60

three=$(submit_rigid -N3 --gpus-per-node=4 -- 2)
ok "a rigid job of three nodes of four starts" wait_until "started $three" 30
ok "and completes" wait_until "is_state $three COMPLETED" 30

# As an operator may: a job that goes before all others.
all=$(submit_rigid -N4 --gpus-per-node=4 --priority=4294910000 -- 3)
ok "a job of higher priority gets the whole cluster" \
	wait_until "started $all" 30
ok "the elastic job was parked for it, not ended" \
	is_state "$elastic" RUNNING
ok "the job of the whole cluster completes" \
	wait_until "is_state $all COMPLETED" 30
ok "the parked job gets GPUs back" \
	wait_until "has_gpus_or_more $elastic 4" 60

# The first waits for the whole cluster behind a rigid job; the second is
# short and small enough to run before it can start.
blocker=$(submit_rigid -N1 --gpus-per-node=4 -t 10 -- 600)
wait_until "started $blocker" 30
waiting=$(submit_rigid -N4 --gpus-per-node=4 -t 10 -- 1)
small=$(submit_rigid -N1 --gpus-per-node=1 -t 1 -- 1)
ok "a small short job is backfilled past a job that waits for everything" \
	wait_until "is_state $small COMPLETED" 60
ok "which still waits" is_state "$waiting" PENDING
sb scancel "$blocker" "$waiting" "$elastic"
ok "no GPU had two owners in any look" watch_end
