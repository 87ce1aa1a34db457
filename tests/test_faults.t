# SPDX-License-Identifier: MIT
# test_faults.t - what is killed, frozen or lost in the middle of a resize
#
# Of a cold one, where ranks stop before the next ones start; test_phases.t
# has the phases of a handover, test_outcomes.t faults while training.
# One job lives through a row of faults and then completes; others must end
# at once. A frozen process holds a resize in its middle until the fault.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

sandbox_up --nodes 3 --gpus-per-node 2
plan 29

samples=4096
training="--samples=$samples --batch=256 --max-batch=256
	--emulate-gpu=compute --checkpoint-every=1"
mkdir "$WORK/samples"
export POLLUX_SAMPLE_LOG=$WORK/samples
# Where launchers have their sockets.
mkdir "$WORK/tmp"
export TMPDIR=$WORK/tmp

# The end of training is decided when the faults are over: it is read anew
# whenever the ranks are started.
cat >"$WORK/train" <<END
#!/bin/sh
exec pollux-train "\$@" --epochs="\$(cat '$WORK/epochs')"
END
chmod +x "$WORK/train"
echo 1000000 >"$WORK/epochs"

# submit NAME PARAMS LAUNCH: prints the job's id.
submit() {
	# shellcheck disable=SC2086
	sb sbatch --parsable -J "$1" --scheduler-params="pollux,$2" \
		-o "$WORK/$1.out" --wrap "$3 -v --no-prewarm --max-restarts=100 --checkpoint-dir \
$WORK/$1.ckpt $WORK/train $(echo $training)"
}

# On n3 it has another GPU than on n1 and n2, of which it loses n2.
loses_its_middle() {
	beside=$(submit_rigid -w n3 --gpus-per-node=1 -- 600)
	wait_until "is_state $beside RUNNING" 30 || return 1
	whole=$(submit_rigid -N3 --no-kill --gpus-per-node=1 -- 600)
	wait_until "is_state $whole RUNNING" 30 || return 1
	sb scontrol update nodename=n2 state=down reason=test
	wait_until "has_gpus $whole 2" 30 &&
		wait_until "logged 'JobId=$whole: what it asks for has 2 nodes'" 30
}

# Slurm's tables are filled anew from what jobs asked for.
keeps_its_gpus() {
	sb scontrol reconfigure
	wants=$(submit_rigid -w n3 --gpus-per-node=1 -- 600)
	wait_until "sb squeue -h -j $wants -o %r | grep -q Resources" 30 &&
		sb scontrol -d show job >"$WORK/owners.txt" &&
		[ -z "$(two_owners "$WORK/owners.txt")" ] &&
		is_state "$whole" RUNNING
}

# All that is to be had: no growth is to come in between.
large=6
is_large() {
	has_gpus_or_more "$1" $large && trains "$1"
}

# make_way: a rigid job that the elastic one must shrink for.
make_way() {
	rigid=$(submit_rigid -J way -N2 --gpus-per-node=2 -- 600)
}

# A slurmctld with an older state may have woken cancelled ones.
give_back() {
	sb scancel --name=way
}

# mark JOB NAME: what is counted from now on.
mark() {
	job=$1 name=$2
	asked=$(times_logged "JobId=$job asked for")
	saving=$(lines_in "$WORK/$name.out" ' -> saving$')
	starts=$(starts_of "$name")
}

was_asked() {
	logged_more "JobId=$job asked for" "$asked"
}

serial_asked() {
	grep -aE "JobId=$job asked for" "$SB/log/slurmctld.log" |
		tail -n 1 | sed "s/.*serial \([0-9]*\):.*/\1/"
}

is_saving() {
	[ "$(lines_in "$WORK/$name.out" ' -> saving$')" -gt "$saving" ]
}

# Bring the marked job into the middle of a resize and hold it there: ranks
# were told to stop, and one cannot.
hold_ranks() {
	frozen=$(rank_of "$job" 1)
	# shellcheck disable=SC2086
	signal STOP $frozen && make_way && wait_until was_asked 30 &&
		wait_until is_saving 15 && return
	thaw
	return 1
}

# The same, but nobody has told the ranks: they go on training.
hold_launcher() {
	frozen=$(launcher_of "$job")
	# shellcheck disable=SC2086
	signal STOP $frozen && make_way && wait_until was_asked 30 && return
	thaw
	return 1
}

thaw() {
	kill -CONT "$frozen" 2>/dev/null
	return 0
}

# Its ranks were started since the mark.
started_again() {
	[ "$(starts_of "$name")" -gt "$starts" ]
}

# One line more than two epochs make: it may have been on its way.
trained_since() {
	[ "$(epochs_of "$name")" -ge $(("$1" + 3)) ]
}

trains_on() {
	local epochs
	epochs=$(epochs_of "$name")
	wait_until "trained_since $epochs" 30
}

goes_on() {
	wait_until started_again 30 && trains_on
}

# No question to the job is open. A slurmctld that came back with an older
# state may still wait for an answer that was given.
is_settled() {
	sb scontrol show job "$1" |
		grep -qE 'SystemComment=.* state=(done|refused|parked)'
}

# Back on most of the cluster, for the next fault.
recovers() {
	wait_until "give_back; is_large $job && is_settled $job" 60
}

rank_dies_training() {
	mark "$survivor" survivor
	# shellcheck disable=SC2046
	signal KILL $(rank_of "$job" 0) && goes_on && recovers
}

rank_dies_saving() {
	mark "$survivor" survivor
	hold_ranks && signal KILL "$frozen" && goes_on &&
		wait_until "is_state $rigid RUNNING" 30 && recovers
}

# Anywhere between the question and the new shape.
controller_dies_asking() {
	local looks=0
	mark "$survivor" survivor
	make_way
	until was_asked || [ $((++looks)) -gt 6000 ]; do
		sleep 0.01
	done
	was_asked && kill_slurmctld && restart_slurmctld && trains_on &&
		recovers
}

asked_is_saved() {
	grep -qa "serial=$(serial_asked) state=asked" "$SB/state/job_state"
}

controller_dies_waiting() {
	local waited
	waited=$(times_logged "before slurmctld was")
	mark "$survivor" survivor
	hold_launcher || return 1
	wait_until asked_is_saved 30 && kill_slurmctld
	thaw
	restart_slurmctld &&
		wait_until "logged_more 'before slurmctld was' $waited" 30 &&
		goes_on && recovers
}

controller_dies_resized() {
	local resized
	mark "$survivor" survivor
	resized=$(times_logged "JobId=$job has 2 GPUs")
	make_way && wait_until "logged_more 'JobId=$job has 2' $resized" 60 &&
		kill_slurmctld && restart_slurmctld && goes_on && recovers
}

# The new time to answer is for the next fault.
controller_reconfigured() {
	mark "$survivor" survivor
	hold_launcher || return 1
	sed -i '/^SchedulerParameters=/s/$/,pollux_ack_timeout=5/' \
		"$SB/etc/slurm.conf" && sb scontrol reconfigure || return 1
	thaw
	goes_on && wait_until "is_state $rigid RUNNING" 30 && recovers
}

launcher_is_silent() {
	local launcher resized
	mark "$survivor" survivor
	resized=$(times_logged "JobId=$job has 2 GPUs")
	launcher=$(launcher_of "$job")
	# shellcheck disable=SC2086
	signal STOP $launcher && make_way &&
		wait_until "logged 'JobId=$job did not answer in 5 s'" 30 &&
		wait_until "logged_more 'JobId=$job has 2' $resized" 30 &&
		wait_until "is_state $rigid RUNNING" 30
	local rc=$?
	# shellcheck disable=SC2086
	signal CONT $launcher && [ $rc = 0 ] && goes_on && recovers
}

# All of a node dies, as when it loses power: not that of the launcher.
node_dies() {
	local home
	mark "$survivor" survivor
	home=$(job_field "$job" BatchHost)
	lost=$(sb squeue -h -j "$job" -o %N |
		xargs pollux-sandbox exec --dir "$SB" scontrol show hostnames |
		grep -vx "$home" | tail -n 1)
	kill_node "$lost" &&
		sb scontrol update nodename="$lost" state=down reason=test &&
		goes_on
}

node_is_up() {
	sb sinfo -h -n "$1" -o %T | grep -qE "^(idle|mixed|allocated)\$"
}

node_comes_back() {
	pollux-sandbox restart --dir "$SB" "$lost" || return 1
	# It was DOWN for a reason; slurmctld may believe it at once.
	sb scontrol update nodename="$lost" state=resume ||
		node_is_up "$lost" || return 1
	recovers
}

# Its script is on one node, all its ranks are on another.
ranks_leave_home() {
	mark "$1" afar
	home=$(job_field "$job" BatchHost)
	rigid=$(submit_rigid -J way -w "$home" --gpus-per-node=2 \
		--priority=4294910000 -- 600)
	wait_until "is_state $rigid RUNNING && is_away && trains $job" 30
}

is_away() {
	lost=$(devices_of "$job" | cut -d ' ' -f 1)
	[[ $lost = n? && $lost != "$home" ]]
}

# srun says then that all is well: exit code 0.
# srun may be told of it first, and ends by itself then (24.11).
# From 24.11 on Slurm notes the answer to a signal up to two seconds later, and
# calls the node up again for it: the job may be given that once more.
all_ranks_die() {
	mark "$1" afar
	sb scancel -s URG "$1"
	kill_node "$lost" &&
		sb scontrol update nodename="$lost" state=down reason=test &&
		goes_on && tail -n 40 "$WORK/afar.out" &&
		grep -qE "have not ended: node $lost was lost|Node failure on $lost" \
			"$WORK/afar.out"
}

# A few more epochs, which is known for certain before the ranks start.
completes() {
	local epoch
	epoch=$(grep -oE '^epoch [0-9]+' "$WORK/survivor.out" | tail -n 1)
	last=$((${epoch#epoch } + 15))
	echo $last >"$WORK/epochs"
	# shellcheck disable=SC2046
	signal KILL $(rank_of "$survivor" 0) &&
		wait_until "is_state $survivor COMPLETED" 60
}

samples_once() {
	bash "$POLLUX_SRCDIR/tests/samples.sh" "$POLLUX_SAMPLE_LOG" $samples \
		"$last"
}

no_folders() {
	! ls -d "$WORK"/tmp/pollux-*
}

# ends_unfinished JOB: not as if it had trained to its end.
ends_unfinished() {
	wait_until "ended $1" 30 && fails is_state "$1" COMPLETED
}

cancelled_saving() {
	mark "$1" cancelled
	hold_ranks && sb scancel "$job" && wait_until "is_state $job CANCELLED" 30
}

launcher_dies_saving() {
	mark "$1" orphan
	# shellcheck disable=SC2046
	hold_ranks && signal KILL $(launcher_of "$job") && ends_unfinished "$job"
}

bare_launcher_dies() {
	# shellcheck disable=SC2046
	signal KILL $(launcher_of "$1") && ends_unfinished "$1"
}

survivor=$(submit survivor min=2,max=6 "srun pollux-launch")
ok "an elastic job trains on most of the cluster" \
	wait_until "is_large $survivor" 60
ok "a rank is killed: training goes on from the last checkpoint" \
	rank_dies_training
ok "a rank is killed while the others save: the resize goes on" \
	rank_dies_saving
ok "slurmctld is killed in the middle of a resize: the job goes on" \
	controller_dies_asking
ok "it is killed when the question was saved: it waits for the answer" \
	controller_dies_waiting
ok "it is killed right after a resize: the job goes on" \
	controller_dies_resized
ok "slurmctld reads its configuration in the middle: the resize goes on" \
	controller_reconfigured
ok "a launcher that does not answer is overruled, and goes on later" \
	launcher_is_silent
ok "a node dies: the job goes on on the others" node_dies
ok "the node comes back, and the job onto it" node_comes_back
ok "after all that the job completes" completes
ok "every sample of every epoch was used exactly once" samples_once
ok "no process of the job is left" all_left "$survivor"
ok "all nodes are idle, with no GPU allocated" wait_until cluster_is_idle 60

unset POLLUX_SAMPLE_LOG
echo 1000000 >"$WORK/epochs"
cancelled=$(submit cancelled min=2,max=6 "srun pollux-launch")
wait_until "is_large $cancelled" 60
ok "a job can be cancelled in the middle of a resize" \
	cancelled_saving "$cancelled"
ok "no process of it is left" all_left "$cancelled"
give_back
ok "all nodes are idle again" wait_until cluster_is_idle 60

orphan=$(submit orphan min=2,max=6 "srun pollux-launch")
wait_until "is_large $orphan" 60
ok "a launcher is killed in the middle of a resize: its job fails" \
	launcher_dies_saving "$orphan"
ok "no rank of it is left" all_left "$orphan"
give_back

bare=$(submit bare min=2,max=2 "pollux-launch")
wait_until "trains $bare" 60
ok "a launcher without srun is killed: its job fails as well" \
	bare_launcher_dies "$bare"
ok "no rank of it is left" all_left "$bare"

afar=$(submit afar min=2,max=2 "pollux-launch")
wait_until "trains $afar" 60
ok "a job trains on another node than its script's" ranks_leave_home "$afar"
ok "that node dies, with all ranks: it goes on elsewhere" all_ranks_die "$afar"
sb scancel "$afar"
give_back
pollux-sandbox restart --dir "$SB" "$lost"
sb scontrol update nodename="$lost" state=resume

ok "all nodes are idle at the end" wait_until cluster_is_idle 60
ok "no folder of a launcher is left" no_folders
ok "a job loses one of its nodes, and keeps its GPUs on the others" \
	loses_its_middle
ok "after a reconfigure they are still its own" keeps_its_gpus
sb scancel "$beside" "$whole" "$wants"
sb scontrol update nodename=n2 state=resume
ok "all nodes are idle after that" wait_until cluster_is_idle 60
ok "slurmctld lives" slurmctld_lives
