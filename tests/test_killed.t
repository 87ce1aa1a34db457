# SPDX-License-Identifier: MIT
# test_killed.t - slurmctld is killed at a chosen instruction of a resize
#
# A cell is OPERATION:FUNCTION[:STEPS[:WITHIN]][@HEIR], as mine.c has it. After
# each, slurmctld is started again: no GPU has two owners or none, and the same
# job goes on to be resized. HEIR is "backup": that takes over, and gives back
# to the first, and the job is resized there; or "reconfigure": slurmctld is not
# killed, but asked for that while it stands there. POLLUX_THOROUGH=1 has all
# cells, and instructions chosen by chance; POLLUX_CELLS="..." has those.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

mine=$POLLUX_BUILDDIR/tests/mine
"$mine" 2>/dev/null
[ $? != 77 ] || skip_all "mine.c knows x86_64 only"
[ -e "$shim" ] || skip_all "shim.so was not built"

few="ask:pollux_notify_launcher grow:pollux_resize_commit
	lend:pollux_request_keep park:pollux_gres_new
	give:pollux_gres_new@reconfigure give:pollux_request_keep@backup"
# What a resize calls, from its beginning to its end.
parts="pollux_resize pollux_gres_take_out pollux_request_write
	pollux_gres_new pollux_resize_commit abort_job_on_nodes
	rebuild_step_bitmaps gs_job_start pollux_request_keep
	pollux_record_publish pollux_notify_launcher"
# And a move of the whole job, from its requeue to its start.
leaves="pollux_migrate_depart job_requeue:0:pollux_migrate_depart
	pollux_job_state_close:0:pollux_migrate_depart pollux_migrate_arrive
	launch_job:0:pollux_migrate_arrive pollux_job_state_hold:0:pollux_migrate_arrive"

# happens OPERATION FUNCTION: only what is parked gives up a node. All others
# have GPUs on both before and after: the job was measured on eight GPUs, so it
# grows to them at once.
happens() {
	[ "$2" != abort_job_on_nodes ] || [ "$1" = park ]
}

all_cells() {
	local operation part
	echo ask:pollux_notify_launcher ask:pollux_record_publish
	echo ask:pollux_notify_launcher@reconfigure ask:pollux_notify_launcher@backup
	for part in $leaves; do
		echo "leave:$part"
	done
	for part in pollux_migrate_depart pollux_migrate_arrive; do
		echo "leave:$part@reconfigure"
	done
	for operation in grow give shrink lend park; do
		for part in $parts; do
			happens "$operation" "$part" &&
				echo "$operation:$part:0:pollux_resize"
		done
		for part in pollux_resize pollux_gres_new pollux_notify_launcher; do
			echo "$operation:$part:0:pollux_resize@backup"
		done
		echo "$operation:pollux_resize_commit:0:pollux_resize@reconfigure"
		# A resize takes some 200,000 instructions.
		for part in 1 2 3; do
			echo "$operation:pollux_resize:$((SRANDOM % 200000))"
		done
	done
}

cells=${POLLUX_CELLS:-$few}
[ -z "${POLLUX_THOROUGH:-}" ] || cells=$(all_cells)
# With a backup come last: from then on there are two.
plain=$(tr -s '[:space:]' '\n' <<<"$cells" | grep -v @backup)
inherited=$(tr -s '[:space:]' '\n' <<<"$cells" | grep @backup)
# shellcheck disable=SC2086
set -- $plain $inherited

sandbox_up "$untyped" --nodes 2 --gpus-per-node 4 --params pollux_min_gap=0.1 \
	--conf-extra BatchStartTimeout=1 --conf-extra SlurmctldTimeout=10
plan $(($# + 5 ${inherited:++ 1}))
jobs=()

checked() {
	sb "$POLLUX_SRCDIR/tests/pollux-check" --no-sacct --log \
		"$SB/log/slurmctld.log"
}

# Since there are two, each needs to be told its name.
start_again() {
	if [ -e "$SB/etc/backup.conf" ]; then
		primary
	else
		restart_slurmctld
	fi
}

# lay FUNCTION [STEPS [WITHIN]]: in slurmctld, which lives on until then.
lay() {
	: >"$WORK/mine.out"
	"$mine" "$(slurmctld_pid)" "$@" >"$WORK/mine.out" &
	miner=$!
	wait_until "grep -q laid $WORK/mine.out || ! kill -0 $miner" 10
	grep -q laid "$WORK/mine.out"
}

# What makes the plugin do it to the job, now on all GPUs or on two.
provoke() {
	case $1 in
	ask | grow | give) sb scancel --name=way ;;
	leave) sb scontrol update state=drain reason=leave \
		nodename="$(job_field "$job" BatchHost)" ;;
	shrink | lend) submit_rigid -J way -N2 --gpus-per-node=3 -- 600 ;;
	park) submit_rigid -J way -N2 --gpus-per-node=4 \
		--priority=4294910000 -- 600 ;;
	esac >/dev/null
}

# The job is where the operation begins.
prepare() {
	case $1 in
	ask | grow | give)
		submit_rigid -J way -N2 --gpus-per-node=3 -- 600 >/dev/null
		wait_until "has_gpus $job 2 && is_saved" 20
		;;
	*) wait_until "has_gpus $job 8 && is_saved" 20 ;;
	esac
}

# A job that was moved runs, wherever, and not only in slurmctld's eyes: it is
# resized. That a node was drained may have been forgotten.
comes_back() {
	local node
	for node in n1 n2; do
		sb scontrol update nodename=$node state=resume
	done
	submit_rigid -J way -N2 --gpus-per-node=3 -- 600
	wait_until "has_gpus $job 2 && is_state $job RUNNING && is_saved" 60 &&
		! sb sinfo -h -N -o '%N %E' -t drain,down | grep .
}

# It and its slurmstepd end, and nobody tells a slurmctld that is away. The job
# is the last one: a new one Slurm might not have saved.
script_ends_unseen() {
	local script
	[ -n "${job:-}" ] || use_job cold --ack=0.1
	wait_until "has_gpus $job 8 && is_saved" 30 || return 1
	script=$(pids_of "$job" light)
	kill_slurmctld
	# shellcheck disable=SC2046
	signal KILL $(ps -o ppid= -p "$script") "$script"
	restart_slurmctld && wait_until "is_state $job PENDING" 15 && checked
}

# goes_on: nothing is lost, and the job is resized again.
goes_on() {
	[ "$operation" != leave ] || comes_back || return 1
	checked && is_state "$job" RUNNING || return 1
	sb scancel --name=way
	# Submitted a moment before, it may come back with an older state. What
	# talks to the first slurmctld when that dies does so for minutes.
	wait_until "sb scancel --name=way; has_gpus $job 8 && is_saved" \
		"$([ "$heir" = @backup ] && echo 120 || echo 30)" &&
		checked
}

# The cluster's only elastic job, of that kind.
use_job() {
	[ "${kind:-}" != "$1" ] || return 0
	kind=$1
	[ -z "${job:-}" ] || sb scancel "$job"
	job=$(submit_light "$kind" pollux,max=8 --priority=1000 -- "$2")
	jobs+=("$job")
}

# The mine is in slurmctld's memory, and would kill it in a later cell.
never_came() {
	kill_slurmctld
	wait "$miner"
	start_again
	sb scancel --name=way
	echo "slurmctld was not there: $function was not called"
	return 1
}

# It was called, and slurmctld has died of it.
was_killed() {
	wait_until "! kill -0 $miner" 10 || {
		never_came
		return 1
	}
	wait "$miner"
}

# The thread that stands there holds what it has locked, until mine ends.
is_reconfigured() {
	local before rc
	wait_until "grep -q held $WORK/mine.out" 10 || {
		never_came
		return 1
	}
	before=$(times_logged 'Processing Reconfiguration Request')
	sb scontrol reconfigure &
	wait_until "logged_more 'Processing Reconfiguration' $before" 20
	rc=$?
	kill "$miner"
	wait $! && [ $rc = 0 ]
}

# Who asks it before it is ready waits for half of SlurmctldTimeout.
is_inherited() {
	local before
	before=$(times_logged 'sched/pollux: started')
	sb scontrol takeover 1
	wait_until "logged_more 'sched/pollux: started' $before" 30
}

# From the backup, with what that has saved.
gives_back() {
	primary_again || return 1
	wait_until "is_state $job RUNNING" 60 && checked
}

# What becomes of slurmctld there, and of the job with what comes after it.
survives() {
	case $1 in
	reconfigure) is_reconfigured && goes_on ;;
	backup)
		was_killed && is_inherited && goes_on && gives_back
		;;
	*) was_killed && start_again && goes_on ;;
	esac
}

dies() {
	local operation function steps within heir
	IFS=: read -r operation function steps within <<<"${1%@*}"
	heir=${1#"${1%@*}"}
	[ "$heir" != @reconfigure ] || steps=hold
	# A cell that failed may have left it.
	sb scancel --name=way
	case $operation in
	give | lend | park) use_job live --live=0.2 ;;
	# That it was asked is saved when it answers, as with most trainings.
	leave) use_job slow --ack=6 ;;
	*) use_job cold --ack=0.1 ;;
	esac
	prepare "$operation" &&
		lay "$function" "${steps:-0}" ${within:+"$within"} || return 1
	provoke "$operation"
	survives "${heir#@}"
}

# sentence CELL: what is said of it.
sentence() {
	case $1 in
	*@reconfigure) echo "slurmctld is reconfigured at ${1%@*}" ;;
	*@backup) echo "slurmctld dies at ${1%@*}, its backup takes over" ;;
	*) echo "slurmctld dies at $1" ;;
	esac
}

try() {
	local cell
	for cell; do
		ok "$(sentence "$cell"), and all goes on" dies "$cell"
	done
}

# shellcheck disable=SC2086
try $plain
ok "a job whose script ended unseen does not keep its GPUs" script_ends_unseen
kind= # it waits for two minutes, as Slurm has it
[ -z "$inherited" ] || ok "there is a second slurmctld" two_controllers
# shellcheck disable=SC2086
try $inherited
sb scancel "${jobs[@]}"
sb scancel --name=way
ok "no job was lost, and none runs on" wait_until "ended ${jobs[*]}" 30
ok "all nodes are idle, with no GPU allocated" wait_until cluster_is_idle 30
ok "nothing is leaked" checked
ok "slurmctld lives" slurmctld_lives
