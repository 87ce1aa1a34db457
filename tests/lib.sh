# SPDX-License-Identifier: MIT
# lib.sh - TAP for shell tests, and a private cluster for those who need one
#
# Sourced. Needs POLLUX_SRCDIR and POLLUX_BUILDDIR (make check gives both).
# Each test owns $WORK, removed at its end together with its sandbox.

set -u
: "${POLLUX_SRCDIR:?absolute path of the source tree}"
: "${POLLUX_BUILDDIR:?absolute path of the build tree}"
# Waits are multiplied by this: a slow machine must not fail a right program.
: "${POLLUX_PATIENCE:=6}"
# What clusters are like, where a test does not say: site or plain.
: "${POLLUX_SANDBOX_LIKE:=site}"
export POLLUX_SANDBOX_LIKE

# Debian's torch 2 is built without libuv, and asks for it all the same.
export USE_LIBUV=0

tap_planned=
tap_count=0
tap_failed=0
tap_now= # the sentence that is being tried
WORK=$(mktemp -d "${TMPDIR:-/tmp}/plx.XXXXXX") || exit 1
chmod 755 "$WORK"
SB=
sb_env=()  # see learn_environment
sb_host=() # how to get onto the controller's host, if that is not this one
exec 3>&1 # of the test itself, see lib_end()
alongside=() # processes that do not outlive it

# The python3 that configure has found, also for programs that look for one:
# another may be a wrapper that takes a second to begin.
same_python() {
	local python
	python=$(sed -n 's/^PYTHON = //p' "$POLLUX_BUILDDIR/Makefile")
	[ -x "$python" ] && [ "$(command -v python3)" != "$python" ] ||
		return 0
	mkdir "$WORK/.bin" && ln -s "$python" "$WORK/.bin/python3" &&
		export PATH=$WORK/.bin:$PATH
}
same_python

plan() {
	tap_planned=$1
	echo "1..$1"
}

# ok SENTENCE COMMAND...: passes when the command succeeds; what it printed is
# shown when it does not.
ok() {
	local sentence=$1
	shift
	tap_count=$((tap_count + 1))
	tap_now=$sentence
	if [ $# -gt 0 ] && "$@" >"$WORK/ok.out" 2>&1; then
		echo "ok $tap_count - $sentence"
	else
		not_ok $? "$@"
	fi
	tap_now=
}

# not_ok RC COMMAND...: of the sentence that is being tried.
not_ok() {
	local rc=$1
	shift
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $tap_now"
	echo "# failed ($rc): $*"
	tail -n 40 "$WORK/ok.out" | diag
}

# The same for "must fail".
fails() {
	! "$@"
}

skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# ok_thorough SENTENCE COMMAND...: what takes long and is tried elsewhere in
# part, with POLLUX_THOROUGH=1 only.
ok_thorough() {
	if [ -n "${POLLUX_THOROUGH:-}" ]; then
		ok "$@"
	else
		skip "$1" "takes long: POLLUX_THOROUGH"
	fi
}

skip_all() {
	tap_planned=
	echo "1..0 # SKIP $1"
	exit 0
}

diag() {
	sed 's/^/# /'
}

# nap SECONDS: without the process that sleep is.
exec {nap_fd}<> <(:)
nap() {
	read -r -t "$1" -u "$nap_fd" || :
}

# wait_until COMMAND SECONDS: evaluate COMMAND until it succeeds. What takes more
# than a second is asked for twice a second, as asking costs processes.
wait_until() {
	local end=$((SECONDS + $2 * POLLUX_PATIENCE)) tries=0
	until eval "$1" >/dev/null 2>&1; do
		if [ "$SECONDS" -ge "$end" ]; then
			echo "still not so after $(($2 * POLLUX_PATIENCE)) s: $1"
			return 1
		fi
		if [ $((++tries)) -le 5 ]; then nap 0.2; else nap 0.5; fi
	done
}

# alongside COMMAND...: in the background, until the test ends at the latest.
alongside() {
	"$@" &
	alongside+=($!)
}

# A child that has just been made by bash may miss the first signal.
end_alongside() {
	local pid tries
	[ ${#alongside[@]} -eq 0 ] || kill "${alongside[@]}" 2>/dev/null
	for pid in ${alongside[@]+"${alongside[@]}"}; do
		for ((tries = 0; tries < 50; tries++)); do
			kill -0 "$pid" 2>/dev/null || break
			[ $tries -ne 10 ] || kill "$pid"
			sleep 0.1
		done
		[ $tries -lt 50 ] || kill -KILL "$pid"
	done
}

need_daemons() {
	[ "${POLLUX_TESTS:-all}" != unit ] ||
		skip_all "POLLUX_TESTS=unit leaves out what needs daemons"
	[ -f "$POLLUX_BUILDDIR/src/plugins/.libs/sched_pollux.so" ] ||
		skip_all "built without the Slurm plugins"
	local program
	for program in slurmctld slurmd slurmdbd munged mariadbd; do
		PATH=$PATH:/usr/sbin command -v $program >/dev/null ||
			skip_all "$program is not installed"
	done
}

# Jobs of other users run programs of the build tree: in a home folder that is
# closed, as root's is, they cannot.
need_readers() {
	setpriv --reuid=65534 --regid=65534 --clear-groups test -r \
		"$POLLUX_BUILDDIR/src/plugins/.libs/sched_pollux.so" ||
		skip_all "other users cannot read the build tree"
}

# The programs of the build tree, as if installed.
use_build_tree() {
	export PATH="$POLLUX_BUILDDIR/src/launcher:$POLLUX_BUILDDIR/src/report:$POLLUX_BUILDDIR/src/sandbox:$POLLUX_BUILDDIR/src/doctor:$POLLUX_BUILDDIR/examples/.libs:$POLLUX_BUILDDIR/examples:$PATH"
	export LD_LIBRARY_PATH="$POLLUX_BUILDDIR/src/agent/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
	export POLLUX_SANDBOX_LIB="$POLLUX_SRCDIR/src/sandbox/lib"
	export POLLUX_SANDBOX_DATABASES="$POLLUX_BUILDDIR/tests/databases"
	export POLLUX_PLUGIN_PATH="$POLLUX_BUILDDIR/src/plugins/.libs"
}

# For clusters whose slurmctld is restarted. Slurm 22.05 then loses count of GPUs
# of a type that jobs have which asked for no type, with sched/backfill, too:
# they stay allocated when these jobs end.
# shellcheck disable=SC2034 # for tests
untyped="--gpu-types=none"

# sandbox_up [OPTIONS]: a cluster of this test's own in $SB.
sandbox_up() {
	need_daemons
	use_build_tree
	SB="$WORK/sb"
	local try
	has_hosts "$@" && set -- "$@" --hosts --share "$WORK" \
		--share "$POLLUX_SRCDIR" --share "$POLLUX_BUILDDIR"
	for try in 1 2 3; do
		pollux-sandbox up --dir "$SB" "$@" >"$WORK/up.out" 2>&1 &&
			learn_environment && return
		echo "# up failed, try $try of 3"
		diag <"$WORK/up.out"
	done
	echo "Bail out! the sandbox did not start"
	exit 1
}

# POLLUX_SANDBOX_HOSTS=1: nodes are hosts, where that can be. Tests that are
# about hosts say so themselves: sandbox_up --hosts.
has_hosts() {
	[[ " $* " == *" --hosts "* ]] && return
	[ "${POLLUX_SANDBOX_HOSTS:-0}" = 1 ] || return
	[ "$(id -u)" = 0 ] || {
		echo "# not root: the nodes are one machine" && return 1
	}
}

# environment_of DIR: what `exec` makes of the environment, as arguments of env,
# in $environment: exec takes longer than most commands that are run by it, and
# tests run them all the time.
environment_of() {
	local before=$WORK/env.before after=$WORK/env.after gone new
	env -0 | sort -z >"$before"
	pollux-sandbox exec --dir "$1" env -0 | sort -z >"$after"
	mapfile -d '' -t gone < <(comm -z -23 "$before" "$after" | cut -z -d= -f1)
	mapfile -d '' -t new < <(comm -z -13 "$before" "$after")
	environment=("${gone[@]/#/-u}" "${new[@]}")
}

learn_environment() {
	local environment
	environment_of "$SB"
	sb_env=("${environment[@]}")
	sb_host=()
	[ ! -e "$SB/run/host-ctl.pid" ] || sb_host=(nsenter --mount --uts --ipc
		--net --target "$(cat "$SB/run/host-ctl.pid")")
}

# Any command in the sandbox.
sb() {
	if [ ${#sb_env[@]} -gt 0 ]; then
		${sb_host[@]+"${sb_host[@]}"} \
			env --chdir="$PWD" "${sb_env[@]}" "$@"
	else
		pollux-sandbox exec --dir "$SB" "$@"
	fi
}

ctld_log() {
	cat "$SB/log/slurmctld.log"
}

# logged REGEX: slurmctld has said so.
logged() {
	grep -qE "$1" "$SB/log/slurmctld.log"
}

job_state() {
	sb squeue -h -j "$1" -t all -o %T 2>/dev/null || true
}

# ended JOB...: all of them are in a final state.
ended() {
	local job state
	for job; do
		state=$(job_state "$job")
		case $state in
		COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL) ;;
		OUT_OF_MEMORY | BOOT_FAIL | DEADLINE | PREEMPTED) ;;
		*) return 1 ;;
		esac
	done
}

lib_end() {
	local rc=$?
	trap - EXIT INT TERM HUP
	trap '' PIPE # whoever reads what it says may have ended first
	# A parameter that is not set ends bash in the middle of a command, with
	# what that said still going into its file.
	exec >&3
	[ -z "$tap_now" ] || not_ok "$rc" "it ended the test"
	if [ "${tap_planned:-$tap_count}" -ne "$tap_count" ]; then
		echo "# $tap_count of $tap_planned tests were run"
		tap_failed=$((tap_failed + 1))
	fi
	end_alongside
	if [ -n "$SB" ]; then
		[ "$tap_failed" -eq 0 ] || show_logs
		pollux-sandbox down --dir "$SB" >/dev/null 2>&1
	fi
	cd /
	if [ -n "${POLLUX_KEEP:-}" ]; then
		echo "# kept $WORK"
	else
		rm -rf "$WORK"
	fi
	[ "$rc" -ne 0 ] || [ "$tap_failed" -eq 0 ] || rc=1
	exit "$rc"
}

# The end of what the cluster said, for whoever reads a failed run later.
show_logs() {
	echo "# --- the end of slurmctld.log"
	grep -aE 'pollux|error|fatal' "$SB/log/slurmctld.log" |
		grep -v 'setting comment' | cut -c 1-200 | tail -n 60 | diag
	local out
	for out in "$WORK"/*.out; do
		echo "# --- the end of $(basename "$out")"
		tail -n 15 "$out" | diag
	done
}

trap lib_end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
