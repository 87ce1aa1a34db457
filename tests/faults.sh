# SPDX-License-Identifier: MIT
# faults.sh - finding, freezing and killing the processes of a job, slurmctld's
#
# Sourced after elastic.sh. Daemons and steps of a test's sandbox carry its
# folder in their environment, ranks and launchers the job's id as well.

shim=$POLLUX_BUILDDIR/tests/.libs/shim.so

# pids_of JOB NAME [VARIABLE=VALUE]: the job's processes that are called so.
pids_of() {
	local file pid
	for file in $(grep -lszxF "SLURM_JOB_ID=$1" /proc/[0-9]*/environ); do
		pid=${file%/environ}
		grep -qszxF "POLLUX_SANDBOX=$SB" "$file" || continue
		[ -z "${3:-}" ] || grep -qszxF "$3" "$file" || continue
		[ "$(cat "$pid/comm" 2>/dev/null)" = "$2" ] &&
			echo "${pid#/proc/}"
	done
}

rank_of() {
	pids_of "$1" pollux-train "SLURM_PROCID=$2"
}

launcher_of() {
	pids_of "$1" pollux-launch
}

# A slurmstepd whose ranks are gone may hang for good in PMIx's finalisation,
# in Slurm 22.05: it holds nothing of the job, and goes with the sandbox.
hangs_in_pmix() {
	grep -qa '^slurmstepd: ' "$1cmdline" 2>/dev/null &&
		! pgrep -P "${1//[!0-9]/}" >/dev/null
}

# Whatever of a job lives: its script, srun, launcher, ranks and the step
# daemons, whose environment is slurmd's.
left_of() {
	local file
	for file in $(grep -lszxF "POLLUX_SANDBOX=$SB" /proc/[0-9]*/environ); do
		grep -qszxF "SLURM_JOB_ID=$1" "$file" ||
			grep -qsza "^slurmstepd: \[$1\." \
				"${file%environ}cmdline" ||
			grep -qszxF -e "--jobid=$1" "${file%environ}cmdline" ||
			continue
		hangs_in_pmix "${file%environ}" && continue
		tr '\0' ' ' <"${file%environ}cmdline" 2>/dev/null
		echo
	done
}

nothing_left() {
	local left
	left=$(left_of "$1")
	echo "$left"
	[ -z "$left" ]
}

# Every process of a job goes; says which do not.
all_left() {
	wait_until "nothing_left $1" 30 || fails left_of "$1"
}

# signal NAME PID...: fails when there is none
signal() {
	local name=$1
	shift
	[ $# -gt 0 ] && kill -s "$name" "$@"
}

# begin_now JOB: one that was requeued, which Slurm would let wait for two
# minutes. slurmd refuses a job in the second in which it was killed.
begin_now() {
	sleep 3
	wait_until "sb scontrol update job=$1 StartTime=now" 30
}

# How often slurmctld's log has a line like this.
times_logged() {
	grep -cE "$1" "$SB/log/slurmctld.log" || true
}

logged_more() {
	[ "$(times_logged "$1")" -gt "$2" ]
}

# Lines in a file that match, 0 when there is no file.
lines_in() {
	grep -cE "$2" "$1" 2>/dev/null || true
}

# starts_of NAME: how often its ranks were started
starts_of() {
	lines_in "$WORK/$1.ckpt/events.jsonl" '"event":"start"'
}

epochs_of() {
	lines_in "$WORK/$1.out" '^epoch '
}

slurmctld_pid() {
	cat "$SB/run/slurmctld.pid"
}

kill_slurmctld() {
	kill -KILL "$(slurmctld_pid)"
}

restart_slurmctld() {
	pollux-sandbox restart --dir "$SB" slurmctld
}

# Two controllers on one machine: each has an address, which is its name.
primary() {
	LD_PRELOAD=$shim POLLUX_SHIM_HOST=127.0.0.1 restart_slurmctld
}

# A backup of 26.05 that is to give way waits for itself, until it has answered
# that it does: conmgr_quiesce() in _slurmctld_background() waits for all that is
# asked, _slurm_rpc_request_control() among it, and that for the end of that, for
# 28 s. Only then it saves its state, and the first slurmctld reads that state at
# the same time: where a file is just being replaced, it ends. On 22.05 and 24.11
# it would take the file before. Whoever keeps it up starts it once more.
raced='fatal: No [a-z]* state file .* to recover'

reads_too_early() {
	logged 'backup not completely done relinquishing control' &&
		logged "$raced" && ! kill -0 "$(slurmctld_pid)" && echo \
		"Slurm's: the first slurmctld read what its backup was saving"
}

# Where a backup has taken over.
primary_again() {
	primary || { reads_too_early && primary; }
}

two_controllers() {
	sed -i '/^CommunicationParameters=/d
		s/^SlurmctldHost=.*/SlurmctldHost=127.0.0.1\nSlurmctldHost=127.0.0.2/
		$a CommunicationParameters=NoCtldInAddrAny' "$SB/etc/slurm.conf"
	sed 's/^SlurmctldPidFile=.*/&.backup/' "$SB/etc/slurm.conf" \
		>"$SB/etc/backup.conf"
	primary && sb scontrol reconfigure || return 1
	sb env LD_PRELOAD="$shim" POLLUX_SHIM_HOST=127.0.0.2 \
		SLURM_CONF="$SB/etc/backup.conf" slurmctld -D \
		>"$WORK/backup.out" 2>&1 &
	wait_until "sb scontrol ping | grep 'backup.*127.0.0.2 is UP'" 30
}

slurmctld_lives() {
	kill -0 "$(slurmctld_pid)" && sb scontrol ping | grep -q 'is UP' &&
		! grep -nE 'fatal:|assert|[Ss]egmentation|xmalloc' \
			"$SB/log/slurmctld.log" "$SB/log/slurmctld.out" |
		grep -vE "$raced"
}

# Step daemons have the environment of their slurmd. One that is left behind may
# hang, and has its node drained a minute later: "Kill task failed".
stepds_on() {
	local file pid
	for file in $(grep -lszxF "PMIX_HOSTNAME=$1" /proc/[0-9]*/environ); do
		pid=${file%/environ}
		grep -qszxF "POLLUX_SANDBOX=$SB" "$file" &&
			grep -qsa '^slurmstepd: ' "$pid/cmdline" &&
			echo "${pid#/proc/}"
	done
}

# kill_node NODE: its slurmd, and all that it started.
kill_node() {
	local file pid pids=()
	mapfile -t pids < <(stepds_on "$1")
	pids+=("$(cat "$SB/run/$1.pid")")
	for file in $(grep -lszxF "SLURMD_NODENAME=$1" /proc/[0-9]*/environ); do
		grep -qszxF "POLLUX_SANDBOX=$SB" "$file" || continue
		pid=${file%/environ}
		pids+=("${pid#/proc/}")
	done
	kill -KILL "${pids[@]}"
}

# The last resize of $job is over, and Slurm has saved that: it does so up to
# five seconds later, and of a slurmctld that dies before, Slurm knows neither
# starts nor submissions.
is_saved() {
	local told serial
	told=$(sb scontrol show job "$job")
	serial=$(sed -n 's/.*SystemComment=.* *\(serial=[0-9]* state=\(done\|refused\)\).*/\1/p' \
		<<<"$told")
	[ -n "$serial" ] || return 1
	grep -q "AdminComment=record of $job\$" <<<"$told" ||
		sb scontrol update job="$job" admincomment="record of $job"
	saved_of "$job" | grep -qF "$serial "
}

# saved_of JOB: the target in its record, which has the admin's comment before
# it, as other jobs may have the same.
saved_of() {
	tr '\0' '\n' <"$SB/state/job_state" | LC_ALL=C awk -v job="$1" '
		/record of [0-9]+$/ { own = $NF == job }
		own && /serial=[0-9]+ state=/ { print; exit }'
}
