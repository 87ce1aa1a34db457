# SPDX-License-Identifier: MIT
# test_torn.t - what a job has, and had, when it loses its nodes
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

sandbox_up "$untyped" --nodes 2 --gpus-per-node 1 --params \
	pollux_min_gap=0.2,pollux_interval=1
plan 10

# Its script runs on n2, where a rigid job has the GPU now, its GPU is on n1:
# the first in the job's list of nodes.
loses_its_only_gpu() {
	sb scontrol update nodename=n1 state=drain reason=test
	job=$(submit_light far pollux,max=1 -- --ack=0.1)
	wait_until "is_state $job RUNNING" 30 || return 1
	rigid=$(submit_rigid -w n2 --gpus-per-node=1 --priority=4294910000 \
		-- 600)
	sb scontrol update nodename=n1 state=resume
	wait_until "is_state $rigid RUNNING" 60 &&
		wait_until "devices_of $job | grep -q ^n1" 60 &&
		sb scontrol update nodename=n1 state=down reason=test &&
		wait_until "[ \"\$(job_field $job NodeList)\" = n2 ]" 30 &&
		wait_until "logged 'JobId=$job: what it asks for has 0 nodes'" 30
}

# A slurmctld that is killed must not have saved the one without the other.
knew_before() {
	grep -aE "JobId=$job: what it asks for has 0|Removing failed node n1 from" \
		"$SB/log/slurmctld.log" | tee "$WORK/order.txt"
	sed -n 1p "$WORK/order.txt" | grep -q "asks for" &&
		sed -n 2p "$WORK/order.txt" | grep -q "Removing"
}

# Slurm's tables are filled anew from what jobs asked for.
nobody_has_two() {
	sb scontrol -d show job >"$WORK/owners.txt" &&
		[ -z "$(two_owners "$WORK/owners.txt")" ] &&
		is_state "$job" RUNNING && has_gpus "$job" 0 &&
		[ -z "$(devices_of "$job")" ]
}

ok "a job loses the node of its only GPU" loses_its_only_gpu
if sb scontrol -V | grep -q ' 22[.]05'; then
	ok "it does not ask for it any more when Slurm takes the node" knew_before
else
	skip "it does not ask for it any more when Slurm takes the node" \
		"this slurmctld does not tell of it before"
fi
ok "slurmctld is restarted" restart_slurmctld
ok "it has not got a GPU that is another job's" nobody_has_two
sb scancel "$job" "$rigid"
wait_until "ended $job $rigid" 60
sb scontrol update nodename=n1 state=resume

# loses_its_node_meanwhile JOB: slurmd of its node cannot say that the job is
# gone, and then the node is lost.
loses_its_node_meanwhile() {
	job=$1
	wait_until "is_state $job RUNNING" 30 || return 1
	home=$(job_field "$job" BatchHost)
	sb scontrol update nodename=n1,n2 state=drain reason=test
	slurmd=$(cat "$SB/run/$home.pid")
	kill -STOP "$slurmd"
	sb scontrol requeue "$job" &&
		wait_until "sb squeue -h -j $job -t CG | grep -q ." 30 &&
		sb scontrol update "nodename=$home" state=down reason=test
}

ok "a job is put into the queue, and its node is lost meanwhile" \
	eval 'loses_its_node_meanwhile \
		"$(submit_light near pollux,max=1 --requeue -- --ack=0.1)"'
ok "its run is forgotten" wait_until "logged 'Requeuing JobId=$job\$'" 30
kill -CONT "$slurmd"
sb scancel "$job"
sb scontrol update nodename=n1,n2 state=resume
wait_until cluster_is_idle 60
ok "the same happens to one that is not elastic" \
	eval 'loses_its_node_meanwhile \
		"$(submit_rigid --gpus-per-node=1 --requeue -- 600)"'
ok "its run is forgotten, too" wait_until "logged 'Requeuing JobId=$job\$'" 30
kill -CONT "$slurmd"
sb scancel "$job"
sb scontrol update nodename=n1,n2 state=resume
wait_until cluster_is_idle 60

begins_later() {
	[ "$(date -d "$(job_field "$job" EligibleTime)" +%s)" -gt \
		"$(($(date +%s) + 60))" ]
}

# Slurm would start it in the second in which its old node is lost.
does_not_hurry() {
	job=$(submit_rigid --gpus-per-node=1 --requeue -- 600)
	wait_until "is_state $job RUNNING" 30 || return 1
	home=$(job_field "$job" BatchHost)
	slurmd=$(cat "$SB/run/$home.pid")
	kill -STOP "$slurmd"
	sb scontrol requeue "$job" &&
		wait_until "sb squeue -h -j $job -t CG | grep -q ." 30 &&
		sb scontrol update "jobid=$job" starttime=now &&
		wait_until begins_later 20 &&
		sb scontrol update "nodename=$home" state=down reason=test
}

# Its GPU on the lost node is free, and it has one of the other. It completes no
# more a moment before Slurm puts it into the queue, where it waits two minutes.
has_only_its_own() {
	wait_until "! sb squeue -h -j $job -t CG | grep -q ." 30 &&
		wait_until "logged 'Requeuing JobId=$job\$'" 30 &&
		sb scontrol update "jobid=$job" starttime=now &&
		wait_until "is_state $job RUNNING" 60 &&
		[ "$(job_field "$job" BatchHost)" != "$home" ] || return 1
	kill -CONT "$slurmd"
	sb scontrol update "nodename=$home" state=resume
	wait_until "sb scontrol show node $home | grep -q 'AllocTRES=\$'" 30 &&
		! grep -a "dealloc of node" "$SB/log/slurmctld.log"
}

ok "one does not start before its last run has ended" does_not_hurry
ok "it has forgotten that run when it starts" has_only_its_own
kill -CONT "$slurmd"
