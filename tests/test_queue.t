# SPDX-License-Identifier: MIT
# test_queue.t - which jobs that wait are looked at, and which are promised nodes
#
# An elastic job has n2, a rigid one n1: who is looked at gets room on n2.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

[ "$(id -u)" = 0 ] || skip_all "jobs of two users are root's to submit"

sandbox_up --nodes 2 --gpus-per-node 2 --like=site --users=daemon,bin \
	--params bf_interval=1,sched_interval=1,pollux_min_gap=0.3 \
	--conf-extra "PartitionName=one Nodes=n1 PriorityTier=2" \
	--conf-extra "Licenses=single:1,double:2" \
	--conf-extra "PartitionName=two Nodes=n2"
plan 27

# held USER OPTION...: a rigid job of that user, who may not say its priority,
# to begin later.
held() {
	local user=$1
	shift
	sb sbatch --parsable --begin=now+1hour -o /dev/null --chdir=/ --uid="$user" "$@" \
		--wrap "sleep 1"
}

# waits USER PRIORITY OPTION...: the same, released; prints its id.
waits() {
	local user=$1 priority=$2 id
	shift 2
	id=$(held "$user" "$@") && release "$priority" "$id" && echo "$id"
}

# release PRIORITY JOB[,JOB...]
release() {
	sb scontrol update "jobid=$2" "priority=$1" StartTime=now
}

# crowd COUNT: the user daemon's, of high priority, for both nodes.
crowd() {
	local i
	for ((i = 0; i < $1; i++)); do
		held daemon -N2 --gpus-per-node=2 -t 60 -J crowd || return
	done >"$WORK/crowd"
	release 1000 "$(paste -sd, "$WORK/crowd")" &&
		[ "$(sb squeue -h -n crowd -t PD -o %Q | sort | uniq -c | xargs)" = \
			"$1 1000" ]
}

disperse() {
	sb scancel -n crowd
	wait_until '[ -z "$(sb squeue -h -n crowd)" ]' 30
}

# with PARAMETERS: beside those that the cluster was started with.
with() {
	[ -e "$WORK/conf" ] || cp "$SB/etc/slurm.conf" "$WORK/conf"
	sed "s/^SchedulerParameters=.*/&${1:+,}$1/" "$WORK/conf" \
		>"$SB/etc/slurm.conf"
	sb scontrol reconfigure
}

# Now, and for some looks.
stays() {
	local _
	for _ in 1 2 3 4 5; do
		is_state "$1" PENDING && has_gpus "$job" 2 || return 1
		sleep 1
	done
}

runs() {
	wait_until "ended $1" 30 && wait_until "has_gpus $job 2" 30 && return
	sb squeue -a -o "%i %T %Q %r %W %V" | sed 's/^/# /'
	return 1
}

rigid=$(submit_rigid -w n1 --gpus-per-node=2 -t 30 --priority=4294910000 -- 1800)
job=$(submit_light shrinks pollux,max=2 -w n2 -x n1 -t 120 --priority=100000 -- \
	--live)
ok "an elastic job has a node" \
	wait_until "is_state $rigid RUNNING && has_gpus $job 2" 60

# "JOBS-STARTED BACKFILLED", since slurmctld began to count.
counted() {
	sb sdiag | awk '/^Jobs started:/ { started = $NF }
		/since last slurm start/ { print started, $NF }'
}

# one_more BEFORE: both have counted one start since.
one_more() {
	local now
	now=$(counted)
	echo "$1, now $now"
	[ "$now" = "$((${1% *} + 1)) $((${1#* } + 1))" ]
}

ok "a user submits a hundred jobs and more" crowd 105
before=$(counted)
alone=$(waits bin 10 -N1 -w n2 --gpus-per-node=1 -t 5)
ok "the job of another user gets room all the same" runs "$alone"
ok "sdiag has counted that start, among the backfilled ones" one_more "$before"
own=$(waits daemon 10 -w n2 --gpus-per-node=1 -t 5)
ok "behind a hundred of its own user it waits" stays "$own"
disperse
ok "until these are gone" runs "$own"

# One user, partition or association: so many, and the next one is not seen.
bounded() {
	local seen hidden
	crowd 2 && with "$1" && hidden=$(waits daemon 10 -w n2 --gpus-per-node=1 -t 5) &&
		stays "$hidden" || return
	if [ "${2:-}" = other ]; then
		seen=$(waits bin 5 -w n2 --gpus-per-node=1 -t 5) &&
			runs "$seen" && is_state "$hidden" PENDING || return
	fi
	with "" && runs "$hidden" && disperse
}

ok "bf_max_job_user bounds how many of a user are looked at" \
	bounded bf_max_job_user=2 other
ok "so does bf_max_job_user_part, in a partition" \
	bounded bf_max_job_user_part=2 other
ok "and bf_max_job_assoc, of an association" bounded bf_max_job_assoc=2 other
ok "bf_max_job_part bounds those of a partition" bounded bf_max_job_part=2
ok "bf_max_job_test bounds all" bounded bf_max_job_test=2

# Promised both nodes when the job on n1 has ended: longer ones do not go first.
wide=$(waits daemon 500 -N2 --gpus-per-node=1 -t 60)
long=$(waits bin 10 -N1 -w n2 --gpus-per-node=1 -t 60)
ok "a job that would be in the way of a promise gets no room" stays "$long"

# seconds JOB NAME: a time of its record, in seconds.
seconds() {
	date -d "$(job_field "$1" "$2")" +%s
}

# together JOB OTHER: the first is to start when the other ends, or in the
# minute in which backfill has that.
together() {
	local late
	late=$(($(seconds "$1" StartTime) - $(seconds "$2" EndTime)))
	echo "$late s late, on $(job_field "$1" SchedNodeList)"
	[ "${late#-}" -le 60 ] && [ "$(job_field "$1" SchedNodeList)" = "n[1-2]" ]
}

# passes COUNT: backfill has gone through the queue so often since.
passes() {
	local from
	from=$(passed) && sb scontrol update "jobid=$rigid" admincomment="$from" &&
		wait_until '[ "$(passed)" -ge '"$((from + $1))"' ]' 30
}
passed() {
	sb sdiag | awk '/Total cycles/ { n = $3 } END { print n }'
}

ok "it is to start when the rigid job ends, not the elastic one" \
	wait_until 'together "$wide" "$rigid"' 10
# Backfill may have come by a moment ago, and told another time.
shown() {
	[ "$(sb squeue -h --start -j "$wide" -o %S)" = "$(job_field "$rigid" EndTime)" ]
}
ok "so squeue --start has it" wait_until shown 10
ok "also when backfill has come by" eval \
	'passes 1 && wait_until "together $wide $rigid" 10'
ok "below bf_min_prio_reserve none is promised anything" eval \
	'with bf_min_prio_reserve=501 && runs "$long"'
ok "from there on as ever" eval \
	'with bf_min_prio_reserve=500 &&
	long=$(waits bin 10 -N1 -w n2 --gpus-per-node=1 -t 60) && stays "$long"'

# threshold PRIORITY: of the QOS that all jobs are in; -1: none.
threshold() {
	sb sacctmgr -i modify qos normal set MinPrioThresh="$1" >"$WORK/sacctmgr.txt"
}

with ""
ok "nor is anything below MinPrioThreshold of the QOS" eval \
	'threshold 501 && runs "$long"'
threshold -1
long=$(waits bin 10 -N1 -w n2 --gpus-per-node=1 -t 60)
ok "without one all is as ever" stays "$long"
ok "who is younger than bf_min_age_reserve is promised nothing" eval \
	'with bf_min_age_reserve=7200 && runs "$long"'
with ""

# A job that cannot start goes first, so that Slurm does not say why others wait.
holder=$(submit_rigid -w n1 -L single:1,double:1 -t 30 -- 1800)
ok "a job whose licence another has gets no room" eval '
	wait_until "is_state $holder RUNNING" 30 &&
	lacks=$(waits bin 10 -w n2 --gpus-per-node=1 -t 5 -L single:1) &&
	stays "$lacks"'
sb scancel "$wide"
second=$(waits daemon 400 -w n2 --gpus-per-node=1 -t 60 -L double:2)
third=$(waits bin 300 -w n2 --gpus-per-node=1 -t 60 -L double:1)
ok "one that wants what a job before it lacks gets room" runs "$third"
third=$(waits bin 300 -w n2 --gpus-per-node=1 -t 60 -L double:1)
ok "not with bf_licenses" eval 'with bf_licenses && stays "$third"'
with ""
sb scancel "$third" "$second" "$holder"
ok "when the licence is given back there is room" runs "$lacks"

# By its partitions promised n1, when that is free, and n2 in two hours.
both=$(waits daemon 500 -p one,two --gpus-per-node=2 -t 60)
long=$(waits bin 10 -p two --gpus-per-node=1 -t 180)
ok "a job of two partitions is promised nodes of each" stays "$long"
ok "with bf_one_resv_per_job of the first alone" eval \
	'with bf_one_resv_per_job && runs "$long"'
ok "it waits still" is_state "$both" PENDING
