# SPDX-License-Identifier: MIT
# elastic.sh - docs/operators.md, part 4, step 6: the first training
#
# Sourced by controller.sh. The job as it stands there, but with fewer epochs.

. /vm/guest/slurm.sh

submitted() {
	job=$(as alice sbatch --parsable --gpus=1 --mem-per-gpu=150 \
		--scheduler-params=pollux,min=1,max=4 -o first.out \
		--wrap 'srun pollux-launch pollux-train --emulate-gpu=compute --epochs=25') &&
		until_true 300 'is_state $job RUNNING'
}

resized() {
	until_true 400 'has_gpus_or_more $job 2'
	scontrol show job "$job"
	has_gpus_or_more "$job" 2
}

completes() {
	until_true 900 '! is_state $job RUNNING'
	tail -n 20 /home/alice/first.out
	until_true 60 'sacct -n -X -j $job -o state | grep -q COMPLETED'
}

adds_up() {
	sacct -D -X -j "$job" -o jobid,state,alloctres%60,start,end,nodelist
	pollux-report --log /var/log/slurm/slurmctld.log
}

several_rows() {
	[ "$(sacct -n -D -X -j "$job" -o jobid | wc -l)" -ge 2 ]
}

ok "the guide's first training starts" submitted
ok "it is resized while it runs" resized
ok "it completes" completes
ok "sacct has a row for each shape" several_rows
ok "and its GPU-seconds are those that slurmctld logged" adds_up
sacct -D -X -n -j "$job" -o state,alloctres%50,elapsed,nodelist |
	sed 's/^/#   /' >&6
