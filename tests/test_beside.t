# SPDX-License-Identifier: MIT
# test_beside.t - sched/pollux in the place of sched/backfill, and het jobs
#
# SchedulerType is sched/backfill, without which slurmctld refuses het jobs; the
# file of that name in the first folder of PluginDir is ours.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

[ -e "$shim" ] || skip_all "shim.so was not built"

sandbox_up "$untyped" --scheduler=stand-in --nodes 3 --gpus-per-node 2 \
	--conf-extra SlurmctldTimeout=60 \
	--conf-extra PreemptType=preempt/pollux_partition_prio \
	--conf-extra PreemptMode=REQUEUE \
	--conf-extra "PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=OFF" \
	--params bf_interval=2,pollux_min_gap=0.3,pollux_interval=2
plan 31

configured_as() {
	sb scontrol show config | grep -qE "^SchedulerType += $1$"
}

# threads_of PID NAME: how many of its threads are called so.
threads_of() {
	cat "/proc/$1/task/"*/comm | grep -cx "$2"
}

# has_loaded PID FILE: how many files of that name.
has_loaded() {
	awk '{print $6}' "/proc/$1/maps" | sort -u | grep -c "/$2\$"
}

backfills_once() {
	local pid=${1:-$(slurmctld_pid)}
	[ "$(threads_of "$pid" bckfl)" = 1 ] &&
		[ "$(has_loaded "$pid" sched_backfill.so)" = 1 ]
}

# doctor_says REGEX...: each is a line of pollux-doctor.
doctor_says() {
	local line
	sb pollux-doctor >"$WORK/doctor"
	cat "$WORK/doctor"
	for line; do
		grep -E "$line" "$WORK/doctor" || return
	done
}

ours() {
	has_loaded "$(slurmctld_pid)" sched_pollux.so
}

# het NAME [OPTION...] : [OPTION...]: a job of two components of a GPU each; each
# writes a line into $WORK/NAME.het.
het() {
	local name=$1 at=() first=()
	shift
	while [ "$1" != : ]; do
		first+=("$1")
		shift
	done
	shift
	at=("$@")
	sb sbatch --parsable -J "$name" -o "$WORK/$name.out" -t 5 -n1 \
		--gpus-per-node=1 "${first[@]}" : -n1 -t 5 --gpus-per-node=1 \
		"${at[@]}" --wrap "srun --mpi=none --het-group=0,1 bash -c \
		'echo \$SLURMD_NODENAME \$CUDA_VISIBLE_DEVICES >>$WORK/$name.het'"
}

# A het job has a line for each component.
all_are() {
	[ "$(job_state "$1" | sort -u)" = "$2" ]
}

# Both components had a GPU, on nodes of their own.
het_ran() {
	wait_until "all_are $2 COMPLETED" 30 ||
		{ sb squeue; sb scontrol show job "$2"; cat "$WORK/$1.out"; } >&2
	wait_until "all_are $2 COMPLETED" 1 && cat "$WORK/$1.het" &&
		[ "$(awk 'NF == 2 {print $1}' "$WORK/$1.het" | sort -u |
			wc -l)" = 2 ]
}

# still EXPRESSION: true now, and for the next seconds.
still() {
	local _
	for _ in $(seq 6); do
		sleep 1
		eval "$1" || return 1
	done
}

# While an elastic job had all: it made room, and has it again.
het_runs_beside() {
	local id
	id=$(het "$1" :) && het_ran "$1" "$id" && wait_until "has_gpus $job 6" 60
}

# Never by the plugin, which would start one without the other.
started_by_backfill() {
	! logged "JobId=$1 starts on" && ! logged "JobId=$(($1 + 1)) starts on" &&
		sb sdiag | grep -E 'heterogeneous job components: [1-9]'
}

ok "SchedulerType is sched/backfill" configured_as sched/backfill
ok "sched/pollux runs" eval 'logged "sched/pollux: started, in the place of" &&
	[ "$(ours)" = 1 ]'
ok "Slurm's backfill runs beside, once" backfills_once
ok "pollux-doctor finds both" doctor_says \
	"^ok +scheduler .*in the place of sched/backfill, built for" \
	"^ok +backfill "
job=$(submit_light beside pollux,max=6 -t 600 -- --live)
ok "an elastic job has the cluster" wait_until "has_gpus $job 6" 60
first=$(het first :)
ok "it makes room for a het job, which runs" het_ran first "$first"
ok "both components began in the same second, by backfill" eval '
	[ "$(sb sacct -n -X -P -j "$first" -o start | sort -u | wc -l)" = 1 ] &&
	started_by_backfill "$first"'
ok "it grows back" wait_until "has_gpus $job 6" 60

refuses() {
	local said
	said=$(sb sbatch -o /dev/null "$@" --wrap true 2>&1) && return 1
	echo "$said"
	[[ $said == *"an elastic job cannot be part of a heterogeneous job; submit it as"* ]]
}

ok "an elastic job is refused as its first component" \
	refuses -n1 --scheduler-params=pollux,max=2 : -n1
ok "and as its second" refuses -n1 : -n1 --scheduler-params=pollux,max=2

# Room for all of it or for none: the second wants what a rigid job has.
rigid=$(submit_rigid -w n3 --gpus-per-node=2 -t 600 --priority=4294910000 -- 600)
wait_until "is_state $rigid RUNNING && has_gpus $job 4" 60
before=$(times_logged "JobId=$job asked for")
second=$(het second : -w n3 --gpus-per-node=2)
ok "without room for all of a het job none is made" eval '
	wait_until "sb squeue -h -j $second -o %r | grep -q Resources" 30 &&
	still "has_gpus $job 4 && all_are $second PENDING" &&
	[ "$(times_logged "JobId=$job asked for")" = "$before" ]'
sb scancel "$rigid"
ok "once that is gone there is" het_ran second "$second"
ok "the elastic job has all again" wait_until "has_gpus $job 6" 60

# Without GPUs, and with more nodes in one of them.
third=$(het third : -N2 -n2 --gpus-per-node=2)
ok "a component of several whole nodes has room, too" eval '
	wait_until "all_are $third COMPLETED" 30 && [ "$(wc -l <"$WORK/third.het")" = 3 ] &&
	wait_until "has_gpus $job 6" 60'

params() {
	sed -i "s/^\(SchedulerParameters=.*\),pollux_enabled=no/\1/
		s/^SchedulerParameters=.*/&$1/" "$SB/etc/slurm.conf"
	sb scontrol reconfigure
}

ok "scontrol reconfigure is taken, and switches it off" eval '
	params ,pollux_enabled=no && fourth=$(het fourth :) &&
	still "has_gpus $job 6 && all_are $fourth PENDING"'
ok "and on" eval 'params "" && het_ran fourth "$fourth" &&
	wait_until "has_gpus $job 6" 60'
ok "SchedulerType is what it was, and backfill runs once" eval \
	'configured_as sched/backfill && backfills_once && slurmctld_lives'
ok "so it is in a slurmctld that is started again" eval \
	'wait_until is_saved 30 && restart_slurmctld && backfills_once &&
	[ "$(ours)" = 1 ]'
ok "where a het job runs beside elastic jobs" het_runs_beside fifth

# A backup begins when it takes over, and not before.
backup_pid() {
	cat "$SB/run/slurmctld.own.backup"
}
standby() {
	[ "$(threads_of "$(backup_pid)" bckfl)" = 0 ] &&
		[ "$(has_loaded "$(backup_pid)" sched_pollux.so)" = 0 ]
}
takes_over() {
	wait_until is_saved 30 && kill_slurmctld && sb scontrol takeover 1
	wait_until "grep -q 'Running as primary' $WORK/backup.out" 60 &&
		wait_until "is_state $job RUNNING" 60
}
knows_of_both() {
	sb scancel "$job" && wait_until "! is_state $job COMPLETING" 30 &&
		job=$(submit_light knows pollux,max=6 -t 600 -- --live) &&
		wait_until "has_gpus $job 6 && is_saved" 60
}

# Two other plugins of ours have to know that it is there.
makes_way() {
	local high
	high=$(submit_rigid -p high -N1 --gpus-per-node=2 -- 600) &&
		wait_until "is_state $high RUNNING" 60 &&
		wait_until "has_gpus $job 4" 30 &&
		[ "$(job_field "$job" Restarts)" = 0 ] &&
		sb scancel "$high" && wait_until "has_gpus $job 6" 60
}
is_bounded() {
	sb scontrol update JobId="$job" NumNodes=2 &&
		logged "JobId=$job may have up to 2 nodes" &&
		wait_until "has_gpus $job 4" 60 &&
		still "has_gpus $job 4 && is_state $job RUNNING"
}
ok "an elastic job gives what a job that preempts it needs" makes_way
ok "its nodes are bounded by an update, not taken away" is_bounded

ok "there is a second slurmctld, without a scheduler" eval \
	'two_controllers && wait_until standby 30'
ok "an elastic job has the cluster" knows_of_both
ok "the second takes over, and schedules once" eval 'takes_over &&
	grep -q "sched/pollux: started, in the place of" "$WORK/backup.out" &&
	backfills_once "$(backup_pid)"'
ok "a het job runs beside elastic jobs there" het_runs_beside sixth
ok "the first is back, and the second has no scheduler" eval \
	'wait_until is_saved 30 && primary_again && wait_until standby 60 &&
	wait_until "is_state $job RUNNING" 60 && backfills_once'
ok "a het job runs beside elastic jobs here" het_runs_beside seventh
ok "both slurmctlds live" eval 'slurmctld_lives && kill -0 "$(backup_pid)"'
kill "$(backup_pid)"

# A package that is gone, say: the folder is there, the file is not.
rm "$SB/plugins/sched_backfill.so"
ok "where our file is missing slurmctld takes Slurm's own" eval \
	'wait_until is_saved 30 && primary && backfills_once &&
	[ "$(ours)" = 0 ]'
ok "and pollux-doctor says what is wrong" doctor_says \
	"^wrong +scheduler .*first in PluginDir" "^ok +backfill "
sb scancel "$job"
wait_until "ended $job" 60
eighth=$(het eighth :)
ok "which starts het jobs" het_ran eighth "$eighth"
