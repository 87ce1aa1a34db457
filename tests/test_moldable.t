# SPDX-License-Identifier: MIT
# test_moldable.t - jobs whose shape changes by a requeue: docs/moldable.md
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1

sandbox_up "$untyped" --nodes 2 --gpus-per-node 4 \
	--params pollux_min_gap=0.2,pollux_requeue_min=0
plan 21

# A program that starts from its checkpoint, and tells what it started on.
cat >"$WORK/train.sh" <<-'END'
	#!/bin/bash
	echo "run=${SLURM_RESTART_COUNT:-0} nodes=$SLURM_JOB_NUM_NODES tasks=$SLURM_NTASKS here=$SLURM_GPUS_ON_NODE"
	while :; do sleep 1; done
END
chmod 755 "$WORK/train.sh"

# submit NAME PARAMS [SBATCH-OPTION...]: prints the job's id.
submit() {
	local name=$1 params=$2
	shift 2
	sb sbatch --parsable -J "$name" --time=60 --open-mode=append \
		-o "$WORK/$name.out" \
		--scheduler-params="pollux,mode=requeue,$params" "$@" \
		"$WORK/train.sh"
}

runs_on() {
	is_state "$1" RUNNING && has_gpus "$1" "$2"
}

runs_on_more() {
	is_state "$1" RUNNING && has_gpus_or_more "$1" "$2"
}

restarts() {
	job_field "$1" Restarts
}

says() {
	grep -q "$2" "$WORK/$1.out"
}

told() {
	sb scontrol show job "$1" | grep -q "why=.*$2"
}

# slurmdbd has the row of its present run.
booked() {
	sb sacct -n -D -X -P -j "$1" -o state,alloctres | tail -n 1 |
		grep -q 'RUNNING.*gres/gpu=[2-9]'
}

agree() {
	wait_until accounts_agree 20 && return
	accounts_agree
	sb sacct -n -D -X -P -o jobid,state,start,end,alloctres
	return 1
}

end() {
	sb scancel "$@"
	wait_until "ended $*" 30
}

share() {
	runs_on_more "$first" 2 && runs_on_more "$second" 2 &&
		[ "$(restarts "$first")" -ge 1 ]
}

first=$(submit first max=8,checkpoint=86400)
ok "it starts in the shape that is best: all there is" \
	wait_until "runs_on $first 8" 30
ok "by one start or, where Slurm was faster, by a requeue" \
	eval '[ "$(restarts "$first")" -le 1 ]'
ok "its script sees the shape" \
	wait_until "says first 'nodes=2 tasks=8 here=4'" 20
ok "its record says why" wait_until "told $first 'limit of 8 GPUs\|stays: 8'" 20

second=$(submit second max=8,checkpoint=86400)
ok "two of them share" wait_until share 60
ok "the first was requeued for that" logged "JobId=$first leaves "
ok "its script sees the new shape" \
	wait_until "grep -q 'run=[1-9].* tasks=[2-7] ' '$WORK/first.out'" 20

# The row of a run that began just before slurmctld ended may be lost.
wait_until "booked $first && booked $second" 20
before=$(restarts "$first")
ok "slurmctld is started again" \
	pollux-sandbox restart --dir "$SB" slurmctld
ok "and leaves them as they are" \
	eval 'wait_until share 30 && [ "$(restarts "$first")" -eq "$before" ]'

end "$second"
ok "it is requeued to a larger shape when the other ends" \
	wait_until "runs_on $first 8" 60

rigid=$(submit_rigid -N1 --gpus-per-node=4 --priority=100000 -- 600)
ok "a rigid job of higher priority gets its GPUs" \
	wait_until "runs_on $rigid 4" 60
ok "the job goes on with the others" wait_until "runs_on $first 4" 60
ok "accounting has a row for each run" wait_until \
	"sb sacct -n -D -X -P -j $first -o state,alloctres | grep -q 'REQUEUED.*gres/gpu=8'" 20
ok "the last of which has 4 GPUs" wait_until \
	"sb sacct -n -D -X -P -j $first -o state,alloctres | tail -n 1 | grep -q 'RUNNING.*gres/gpu=4'" 20

held=$(submit held max=4 --hold)
after=$(submit after max=4 --dependency=afterany:"$rigid")
end "$first"
# Slurm may be faster than Pollux when GPUs become free: any shape will do.
short=$(submit short max=8,checkpoint=86400 --time=4)
ok "one that ends soon starts as well as others" \
	wait_until "runs_on_more $short 1" 30
ok "its record says that it is not requeued" \
	wait_until "told $short 'not requeued.*it ends soon'" 30
ok "one that is held and one that depends on another were left alone" \
	eval 'is_state "$held" PENDING && is_state "$after" PENDING'
had=$(gpus_of "$short")
end "$rigid"
ok "when its time has come the one that depended starts" \
	wait_until "runs_on_more $after 1" 60
ok "the one that ends soon was not requeued for what is free" \
	eval 'has_gpus "$short" "$had" && [ "$(restarts "$short")" -eq 0 ]'
end "$short" "$after" "$held"
ok "nothing is left" wait_until cluster_is_idle 30
ok "accounting agrees with what was held" agree
