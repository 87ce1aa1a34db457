# SPDX-License-Identifier: MIT
# test_mig.t - docs/rules.md: jobs on instances of GPUs, as NVIDIA's MIG makes them
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

# Each of n1's two GPUs is cut into three, and numbered as Slurm does: 0-1 are
# the large instances, 2-5 the small ones. n2 has small ones, 0-3; n3 has whole
# GPUs, 0-1; n4 has two of each of seven sizes, 0-1 with a sign in its name:
# ten types in all.
sandbox_up --nodes 4 --gpus-per-node 2 --cpus-per-node 16 --gpu-types a100 \
	--mig 3g.20gb:1g.5gb:1g.5gb,1g.5gb:1g.5gb,whole,1g.10gb+me:2g.10gb:4g.20gb:7g.40gb:1c.3g.20gb:1c.4g.20gb:2c.4g.20gb \
	--params pollux_interval=1
plan 16

gone() {
	sb scancel --user="$(id -un)"
	wait_until '[ -z "$(sb squeue -h)" ] && cluster_is_idle' 30
}

# told JOB REGEX: its record says so.
told() {
	sb scontrol show job -o "$1" | grep -qE "SystemComment=.*$2"
}

# light NAME OPTION...: an elastic job, once it runs.
light() {
	local name=$1
	shift
	job=$(submit_light "$name" pollux "$@" -- --live --ack=0.1)
	wait_until "is_state $job RUNNING && trains $job" 20
}

# first_in_line COUNT: a rigid job that wants so many of n1's large instances.
first_in_line() {
	submit_rigid -N1 -w n1 --gpus-per-node="a100_3g.20gb:$1" \
		--priority=4294910000 -- 600
}

light large --gpus-per-node=a100_3g.20gb:1
ok "one that asks for a size grows over the instances of that size" \
	wait_until "has_just $job 'n1 0-1'" 40
first=$(first_in_line 1)
ok "it gives one up for a job that waits for that size" wait_until \
	"is_state $first RUNNING && has_gpus $job 1 && has_gpus $first 1" 40
second=$(first_in_line 1)
ok "and is parked for another one" wait_until \
	"is_state $second RUNNING && told $job state=parked" 40
sb scancel "$first"
ok "it comes back on one of that size" wait_until \
	"has_just $job 'n1 0' || has_just $job 'n1 1'" 40
gone

light small -x "n[1,3-4]"
sb scontrol update "JobId=$job" ExcNodeList=
ok "one that asks for none keeps to the size that it has" \
	wait_until "has_just $job 'n1 2-5' 'n2 0-3'" 40
ok "and leaves the large instances to others" eval '
	first=$(first_in_line 2) && wait_until "is_state $first RUNNING" 20 &&
	has_just "$job" "n1 2-5" "n2 0-3"'
# No node has six of them, though n4 has more GPUs.
wide=$(submit_rigid --gpus=a100_1g.5gb:6 --priority=4294910000 -- 600)
ok "it gives up what a wider job waits for, on both nodes" \
	wait_until "is_state $wide RUNNING && has_gpus $wide 6" 40
gone

light whole -x "n[1-2,4]"
sb scontrol update "JobId=$job" ExcNodeList=
ok "one that has a whole GPU takes no instance" eval '
	wait_until "told $job \"no a100 is free, a100_1g.5gb is: mix=yes\"" 40 &&
	has_just "$job" "n3 0-1"'
gone

light sign -x "n[1-3]"
ok "a size with a sign in its name is one" wait_until "has_just $job 'n4 0-1'" 40
ok "its record says what keeps it" wait_until \
	"told $job 'no a100_1g.10gb[+]me is free, others are'" 30
gone
light named --gpus-per-node=a100_1g.10gb+me:1
ok "and it can be asked for" wait_until "has_just $job 'n4 0-1'" 40
gone

# Its whole node is to be left.
job=$(submit_light moves pollux,min=2,max=2 -x "n[1,3-4]" -- --live --ack=0.1)
wait_until "has_gpus $job 2 && trains $job" 20
sb scontrol update "JobId=$job" ExcNodeList=
sb scontrol update NodeName=n2 State=DRAIN Reason=leave
ok "one that leaves its node has instances of its size elsewhere" \
	wait_until "has_just $job 'n1 2-3'" 60
sb scontrol update NodeName=n2 State=RESUME
gone

# What ranks see: a process can use one instance alone, the first of its list.
cat >"$WORK/see" <<END
#!/bin/bash
echo "\$WORLD_SIZE \$LOCAL_RANK/\$LOCAL_WORLD_SIZE \$CUDA_VISIBLE_DEVICES" \\
	"\$NCCL_MULTI_RANK_GPU_ENABLE" >>"$WORK/seen"
exec pollux-train --samples=200000 --batch=256 --max-batch=2048 \\
	--emulate-gpu=compute --epochs=1000000
END
chmod 755 "$WORK/see"
instances_seen() {
	grep -E "^$1 0/$1 MIG-0000000[01]-0000-4000-8000-00000000000[01] 1\$" \
		"$WORK/seen" | sort -u | wc -l
}

job=$(sb sbatch --parsable -o "$WORK/train.out" -x "n[1,3-4]" --gpus-per-node=1 \
	--scheduler-params=pollux,min=1,max=4 \
	--wrap "srun pollux-launch -v --checkpoint-dir $WORK/ckpt $WORK/see")
ok "one that trains grows over the instances of its node" wait_until \
	"has_just $job 'n2 0-3' && trains $job" 60
ok "each of four ranks sees another instance, as its only one" wait_until \
	'[ "$(instances_seen 4)" = 4 ]' 30
: >"$WORK/seen"
two=$(submit_rigid -N1 -w n2 --gpus-per-node=a100_1g.5gb:2 \
	--priority=4294910000 -- 600)
ok "and so does each of two, when it has given up the others" wait_until '
	is_state $two RUNNING && has_gpus $job 2 &&
	[ "$(instances_seen 2)" = 2 ]' 60
ok "it trains on" eval 'wait_until "trains $job" 30 &&
	! grep -E "restart [0-9]+ of" "$WORK/train.out"'
gone
