# SPDX-License-Identifier: MIT
# test_molded.t - a moldable job on two nodes is shrunk to one: docs/moldable.md
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1

ROUNDS=4
sandbox_up --nodes 4 --gpus-per-node 4
plan $((5 * ROUNDS + 6))

cat >"$WORK/train.sh" <<-'END'
	#!/bin/bash
	#SBATCH --time=12:00:00 --open-mode=append
	echo "run=${SLURM_RESTART_COUNT:-0} nodes=$SLURM_JOB_NUM_NODES tasks=$SLURM_NTASKS"
	sleep 3600
END

runs_on() {
	is_state "$1" RUNNING && has_gpus "$1" "$2" &&
		[ "$(job_field "$1" NumNodes)" = "$3" ]
}

was_held() {
	logged "schedule: JobId=$1 non-runnable" ||
		logged "JobId=$1 never runnable"
}

end() {
	sb scancel "$@"
	wait_until "ended $*" 30
}

watch_start
for round in $(seq "$ROUNDS"); do
	job=$(sb sbatch --parsable -o "$WORK/$round.out" \
		--scheduler-params=pollux,mode=requeue,min=1,max=8,checkpoint=600 \
		"$WORK/train.sh")
	ok "it has two nodes ($round)" wait_until "runs_on $job 8 2" 60
	before=$(job_field "$job" Restarts)
	rigid=$(submit_rigid -N3 --gpus-per-node=4 -t 60 -- 3600)
	ok "a rigid job for three nodes starts ($round)" \
		wait_until "is_state $rigid RUNNING" 60
	ok "it goes on with the other one ($round)" \
		wait_until "runs_on $job 4 1" 60
	ok "no part of Slurm held it ($round)" fails was_held "$job"
	diag "$(sb sacct -n -D -X -P -j "$job" -o state,start,end,alloctres | tr '\n' ' ')"
	ok "it was put back once ($round)" \
		eval '[ "$(job_field "$job" Restarts)" -eq $((before + 1)) ]'
	end "$job" "$rigid"
	wait_until cluster_is_idle 30
done
# As a slurmctld finds one that was held before it was started.
job=$(sb sbatch --parsable -o "$WORK/held.out" \
	--scheduler-params=pollux,mode=requeue,min=1,max=8 "$WORK/train.sh")
wait_until "runs_on $job 8 2" 60
sb scontrol requeue "$job"
wait_until "logged 'JobId=$job was requeued and will start on 1 GPUs'" 30
# Slurm would wait for that by itself, but for starttime=now: slurmd refuses a job
# in the second in which its last run ended, and slurmctld then ends it.
is_later() {
	[ "$(date +%s)" -gt "$(date -d "$(job_field "$job" SubmitTime)" +%s)" ]
}
wait_until is_later 10
ok "a job that waits is asked for more GPUs than a node has" \
	sb scontrol update jobid="$job" gres=gpu:9 starttime=now
# Whoever looks first: we start it on what is there, Slurm holds it.
ok "if Slurm holds it, it is released" wait_until "is_state $job RUNNING ||
	logged 'JobId=$job was held for a request.* and is released'" 60
ok "it runs again" wait_until "is_state $job RUNNING" 60
end "$job"
ok "no GPU had two owners" watch_end
ok "nothing is left" wait_until cluster_is_idle 30
ok "accounting agrees with what was held" wait_until accounts_agree 20
