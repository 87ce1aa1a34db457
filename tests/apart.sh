# SPDX-License-Identifier: MIT
# apart.sh - a job of two GPUs on two nodes, whose ranks leave its script
#
# Sourced after elastic.sh.

on_node() {
	devices_of "$1" | grep -q "^$2 " && has_gpus "$1" 2 && trains "$1"
}

# fill NODE: with a job that is not elastic and wants all GPUs of it.
fill() {
	full=$(submit_rigid -w "$1" --gpus-per-node=2 \
		--priority=4294910000 -- 1000)
}

# Still by its first run.
is_the_same() {
	is_state "$job" RUNNING && [ "$(job_field "$job" Restarts)" = 0 ] &&
		[ "$(job_field "$job" BatchHost)" = "$home" ]
}

# begin_at_home TRAIN: as $job, on the node $home; the other one is $other. Six
# GPUs there are not: it has two, and on its way from two to two it may have four.
begin_at_home() {
	job=$(sb sbatch --parsable -o "$WORK/apart.out" --gpus-per-node=2 \
		--scheduler-params=pollux,sizes=2,6 --wrap "srun pollux-launch \
--checkpoint-dir $WORK/ckpt $1 --samples=4096 --batch=256 \
--max-batch=2048 --epochs=1000000 --emulate-gpu=compute --checkpoint-every=1")
	wait_until "is_state $job RUNNING" 30
	home=$(job_field "$job" BatchHost)
	other=n$((3 - ${home#n}))
	ok "a job trains on the node of its script" \
		wait_until "on_node $job $home" 60
}
