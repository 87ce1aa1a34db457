# SPDX-License-Identifier: MIT
# test_federation.t - elastic jobs of a federation stay where they are
#
# A federation of one cluster: its jobs are federated as in one of several.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

sandbox_up "$untyped" --nodes 3 --gpus-per-node 2 \
	--params pollux_interval=1,pollux_min_gap=0.2
plan 9

still() {
	eval "$1" && sleep 3 && eval "$1"
}

federate() {
	local cluster
	cluster=$(sb sacctmgr -n -P show cluster format=cluster)
	sb sacctmgr -i add federation all clusters="$cluster" &&
		wait_until "sb scontrol show federation | grep Federation:.*all" 30
}
ok "the cluster is in a federation" federate
job=$(submit_light job pollux,max=6 -- --restart=0.1)
ok "an elastic job of it has an id of the federation's, and grows" eval '
	[ "$job" -gt 67108864 ] && wait_until "has_gpus $job 6" 60 &&
	sb scontrol show job $job | grep "FedOrigin="'
way=$(submit_rigid -N3 --gpus-per-node=1 --priority=4294910000 -- 600)
ok "it makes room for another one, which Slurm starts" eval '
	wait_until "has_gpus $job 3 && is_state $way RUNNING" 90 &&
	! logged "JobId=$way starts on .* in the room"'
sb scancel "$way"
ok "and takes it back" wait_until "has_gpus $job 6" 60
home=$(job_field "$job" BatchHost)
sb scontrol update nodename="$home" state=drain reason="leave it"
ok "it is not moved: another cluster might start it meanwhile" eval '
	wait_until "has_gpus $job 4" 60 && still "is_state $job RUNNING" &&
	[ "$(job_field "$job" BatchHost)" = "$home" ]'
sb scontrol update nodename="$home" state=resume
wait_until "has_gpus $job 6" 60
ok "slurmctld is restarted, and it trains on and is resized" eval '
	wait_until is_saved 30 && restart_slurmctld &&
	wait_until "is_state $job RUNNING" 60 &&
	sb scontrol update job="$job" NumNodes=2 &&
	wait_until "has_gpus $job 4" 60 && [ "$(job_field "$job" Restarts)" = 0 ]'
mold=$(submit_light mold pollux,mode=requeue,max=2 -- --wake=none)
ok "a moldable one is started by Slurm, in its smallest shape" eval '
	wait_until "is_state $mold RUNNING" 90 && still "has_gpus $mold 1"'
sb scancel "$mold"
ok "out of the federation it trains on, and is resized" eval '
	sb sacctmgr -i delete federation all &&
	sb scontrol update job="$job" NumNodes=3 &&
	wait_until "has_gpus $job 6" 60'
sb scancel "$job"
ok "nothing is left" eval '
	wait_until "ended $job" 60 && wait_until cluster_is_idle 60 &&
	slurmctld_lives'
