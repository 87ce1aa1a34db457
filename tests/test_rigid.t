# SPDX-License-Identifier: MIT
# test_rigid.t - rigid jobs beside elastic ones that fill the cluster
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

sandbox_up --nodes 4 --gpus-per-node 4 --conf-extra Licenses=toy:1 \
	--params bf_interval=1
plan 20

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
wait_until cluster_is_idle 30

# A job leaves its node and cannot start elsewhere, as its licence and then all
# nodes are gone. Slurm starts it where it was, one GPU of which is another's.
leaves_for_rigid() {
	local priority=--priority=4294910000
	home=$(job_field "$mover" BatchHost)
	taker=$(submit_rigid $priority --licenses=toy:1 -x "$home" -- 2)
	whole=$(submit_rigid $priority -w "$home" --exclusive \
		--gpus-per-node=4 -- 1)
	wait_until "logged 'JobId=$mover leaves $home'" 30 &&
		wait_until "started $whole && started $taker" 30 || return 1
	others=$(sb sinfo -h -N -o %N | grep -vx "$home" | paste -sd,)
	sb scontrol update nodename="$others" state=drain reason=full
	one=$(submit_rigid $priority -w "$home" --gpus-per-node=1 -- 600)
}

mover=$(submit_light mover pollux,max=3 --licenses=toy:1 -- --profiled=4)
ok "an elastic job has three GPUs of a node" \
	wait_until "has_gpus $mover 3" 60
ok "it leaves for a rigid job, and another takes its licence" \
	leaves_for_rigid
ok "both start where the elastic one was" \
	wait_until "is_state $one RUNNING && is_state $mover RUNNING" 60
ok "on other GPUs" fails logged "gres bitmap overlap"
sb scancel "$mover" "$one"
sb scontrol update nodename="$others" state=resume
wait_until cluster_is_idle 30

# Each of two jobs on full nodes may be planned a GPU that the other one has.
any_shape() {
	sed -i '/^SchedulerParameters=/s/$/,pollux_uniform=no,pollux_interference=no/' \
		"$SB/etc/slurm.conf" && sb scontrol reconfigure
}

all_have() {
	local job sum=0
	for job in "${three[@]}"; do
		sum=$((sum + $(gpus_of "$job")))
	done
	[ "$sum" = "$1" ]
}

any_shape
three=()
for i in 1 2 3; do
	three+=("$(submit_light "alike$i" pollux,max=16 -- --profiled=4)")
done
ok "three jobs alike fill the cluster, whoever has to shrink first" wait_until "all_have 16" 60
sb scancel "${three[@]}"
ok "no GPU had two owners in any look" watch_end
