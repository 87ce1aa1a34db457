# SPDX-License-Identifier: MIT
# test_busy.t - docs/faults.md: ranks that are busy are waited for, by Slurm, too
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/moods.sh" || exit 1

sandbox_up --nodes 1 --gpus-per-node 4 --params \
	pollux_interval=1,pollux_min_gap=0.2,pollux_ack_timeout=5,pollux_busy=40
plan 17

# Without a handover: five seconds to leave, and it is busy for twenty.
busy_is_waited_for() {
	job=$(submit_moods validates 80 --no-prewarm --save-timeout=5)
	grows "$job" validates && does validates 1 "beat 20" &&
		shrinks validates &&
		wait_until "logged 'JobId=$job has ranks that are busy'" 20 &&
		wait_until "says validates 'rank 1 was busy after'" 30
}

was_not_killed() {
	! logged "JobId=$1 did not answer" &&
		[ "$(said "$2" 'is busy after')" -eq 1 ]
}



ok "a job that is to shrink is waited for while a rank is busy" \
	busy_is_waited_for
ok "its steps are not killed" was_not_killed "$job" validates
ok "who waits has its GPUs then" gets_its_gpus "$job"
ok "and no step was lost" loses_no_step "$job" validates 2000
sb scancel "$rigid"
wait_until cluster_is_idle 30

# As above, but that a validation never ends.
never_ends() {
	job=$(submit_moods endless 4000 --no-prewarm --save-timeout=5)
	grows "$job" endless && does endless 0 "beat 3600" &&
		shrinks endless &&
		wait_until "logged 'JobId=$job has ranks that are busy'" 20 &&
		sleep 15 && ! logged "JobId=$job did not answer"
}

is_killed() {
	wait_until "logged 'JobId=$job did not answer in 5 s, nor in the time'" \
		50 && gets_its_gpus "$job"
}

trains_on() {
	wait_until "trains $job" 30 && is_state "$job" RUNNING
}

ok "one that is busy for ever is waited for" never_ends
ok "until pollux_busy is over: then its steps are killed" is_killed
ok "and it trains on" trains_on
sb scancel "$job" "$rigid"
wait_until cluster_is_idle 30

# A liar: it says so whenever it is asked, and never answers.
lies() {
	job=$(submit_light lies pollux,min=1,max=2 -- --ack=never --busy)
	wait_until "logged 'JobId=$job asked for 2 GPUs'" 30 &&
		wait_until "logged 'JobId=$job has ranks that are busy: .* 40 s'" 20 &&
		wait_until "logged 'JobId=$job did not answer in 5 s, nor'" 60
}

# What it had is not given back for nothing.
is_not_heard_again() {
	rigid=$(submit_rigid --gpus-per-node=3 --priority=4294910000 -- 3600)
	wait_until "[ \$(grep -c 'JobId=$job did not answer' \
		$SB/log/slurmctld.log) -ge 2 ]" 40
	grep "JobId=$job has ranks that are busy" "$SB/log/slurmctld.log"
	! logged "JobId=$job has ranks that are busy: .* [2-3][0-9] s"
}

ok "a job that lies has that time once" lies
ok "and next to nothing of it the next time" is_not_heard_again
sb scancel "$job" ${rigid:+"$rigid"}
wait_until cluster_is_idle 30

# With a handover the old ranks are asked when the next ones are ready.
handover_waits() {
	job=$(submit_moods hands 60 --save-timeout=5)
	grows "$job" hands && does hands 1 "beat 15" && shrinks hands &&
		wait_until "says hands 'rank 1 was busy after'" 40
}

ok "a handover waits as well" handover_waits
ok "nothing is killed" was_not_killed "$job" hands
ok "and no step is lost" loses_no_step "$job" hands 1500
sb scancel "$rigid"
wait_until cluster_is_idle 30

# Steps go on for fifteen seconds, in which it is not to be stopped.
hold_is_waited_for() {
	job=$(submit_moods holds 80 --no-prewarm --save-timeout=3)
	grows "$job" holds && does holds 0 "hold 15" && shrinks holds &&
		wait_until "logged 'JobId=$job has ranks that are busy'" 20 &&
		wait_until "says holds 'rank 0 held until'" 30
}

was_not_cut() {
	! logged "JobId=$job did not answer" && ! says holds "killing them" &&
		says holds "rank 0 on n1 holds since" &&
		[ "$(said holds 'holds from')" -eq 1 ]
}

ok "a rank that holds is waited for in the same way" hold_is_waited_for
ok "and not killed" was_not_cut
ok "who waits has its GPUs then" gets_its_gpus "$job"
ok "and no step is lost" loses_no_step "$job" holds 2000
sb scancel "$rigid"
ok "nothing is left" wait_until cluster_is_idle 60
