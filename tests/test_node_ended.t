# SPDX-License-Identifier: MIT
# test_node_ended.t - a node says that it has ended a job that slurmctld takes to run
#
# So it is when slurmctld is killed right after it ended a job, and comes back with
# an older state. The word is forged here, as the moment is short.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

forge=$POLLUX_BUILDDIR/tests/forge_end
[ "$(id -u)" = 0 ] || skip_all "slurmctld believes root alone"
[ -x "$forge" ] || skip_all "forge_end was not built: no source of Slurm"

sandbox_up --nodes 2 --gpus-per-node 2 --conf-extra Licenses=toy:2
! slurm_since 24.11.6 ||
	skip_all "this Slurm does not believe it of a job that ends nowhere"
plan 11

# Its script is no longer taken to be on its way, ten seconds after its start.
has_run_for() {
	local began
	began=$(date -d "$(job_field "$job" StartTime)" +%s) &&
		[ $(($(date +%s) - began)) -gt "$1" ]
}

licences_in_use() {
	sb scontrol show licenses | grep -q "Used=$1 "
}

# node_ends NAME: what becomes of that job, which runs on n1 or is suspended there.
node_ends() {
	sb "$forge" "$job" n1
	ok "its node has ended it: it is put back into the queue ($1)" wait_until \
		"logged 'JobId=$job: its script is not on n1 any more, it is requeued'" 30
	ok "its licence is free again ($1)" wait_until "licences_in_use 0" 30
	sb scancel "$job"
	ok "its node has all its GPUs and CPUs again ($1)" \
		wait_until cluster_is_idle 60
	ok "records and nodes agree ($1)" sb "$POLLUX_SRCDIR/tests/pollux-check" \
		--no-sacct
}

job=$(submit_light running pollux,max=2 -L toy:1 -w n1 -- --live)
ok "a job runs" wait_until "has_gpus $job 2 && has_run_for 11" 60
node_ends running
job=$(submit_light suspended pollux,max=2 -L toy:1 -w n1 -- --live)
wait_until "has_gpus $job 2 && has_run_for 11" 60
sb scontrol suspend "$job"
ok "another one is suspended" is_state "$job" SUSPENDED
node_ends suspended
ok "Slurm has counted no job twice" fails logged underflow
