# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# supervise.sh - nothing outlives the sandbox, whoever is killed
#
# Two processes in sessions of their own. The supervisor watches the owner
# (who called `up`) and the guard; the guard watches the supervisor. Whoever
# sees the one it watches gone takes everything down. The supervisor starts a
# new guard when the old one is gone, so only killing both within one poll
# leaves the daemons behind, and then the next `up` or `down` finds them.
#
# Neither minds a dead daemon: tests kill slurmctld and restart it.

poll_s=0.3

# keeper ROLE ARGUMENT...: start the supervisor or the guard
keeper() {
	local role=$1

	shift
	(
		cd / && exec </dev/null >>"$dir/log/$role.log" 2>&1
		close_files
		unset POLLUX_SANDBOX
		POLLUX_SANDBOX_LIB=$lib POLLUX_KEEPER=$dir \
			exec setsid "$BASH" "$self" --dir "$dir" "_$role" "$@"
	) &
	echo $! >"$dir/run/$role.pid"
	disown $!
}

# Sleep without a process; `down` wakes us with a signal.
nap() {
	read -r -t "$poll_s" -u 8
	:
}

open_nap() {
	local fifo=$dir/run/nap.$$

	mkfifo "$fifo" && exec 8<>"$fifo"
	rm -f "$fifo"
}

# supervisor PID START: PID is the `up` process, which may die before it is done
supervisor() {
	local up=$1 up_start=$2 stop=0 reason="" guard="" guard_start=""

	load_state && open_nap || exit 1
	trap 'stop=1' TERM
	trap '' INT HUP
	until [ -n "$reason" ]; do
		alive "$guard" "$guard_start" || start_guard
		if [ "$stop" = 1 ]; then
			reason="asked to stop"
		elif [ "$detach" = 0 ] && ! alive "$owner" "$owner_start"; then
			reason="process $owner, its owner, is gone"
		elif [ ! -e "$dir/run/ready" ] && ! alive "$up" "$up_start"; then
			reason="pollux-sandbox up is gone"
		elif [ ! -e "$marker" ]; then
			reason="its folder is gone"
		else
			nap
		fi
	done
	finish "$reason"
}

# Its start may not be known if it dies at once; then the next round starts
# another.
start_guard() {
	local began parent

	start_of $$ && keeper guard $$ "$began"
	read -r guard <"$dir/run/guard.pid" && start_of "$guard" &&
		guard_start=$began
}

# guard PID START: of the supervisor
guard() {
	load_state && open_nap || exit 1
	trap '' INT HUP
	while alive "$1" "$2"; do
		nap
	done
	finish "its supervisor is gone"
}

finish() {
	printf '%(%FT%T)T: %s, taking everything down\n' -1 "$1"
	take_down
	exit
}

# Print the pids of all that belongs to the sandbox: daemons, steps, jobs and
# the commands that `exec` runs, with all that descends from them; never
# ourselves, nor who called `down` and what he uses for it.
family() {
	local pid spared="$$ $BASHPID"

	spared+=" $(cat "$dir/run/spared" 2>/dev/null)"
	cat /proc/[0-9]*/stat 2>/dev/null |
		awk -v found="$(bearers)" -v spared="$spared" '
		BEGIN {
			n = split(found, list, " ")
			for (i = 1; i <= n; i++)
				mine[list[i]] = 1
			n = split(spared, list, " ")
			for (i = 1; i <= n; i++)
				other[list[i]] = 1
		}
		{
			pid = $1
			sub(/.*\) /, "")
			if ($1 !~ /[ZX]/)
				parent[pid] = $2
		}
		END {
			for (pid in parent) {
				p = pid
				while (p > 1 && !(p in mine) && !(p in other))
					p = (p in parent) ? parent[p] : 0
				if (p in mine && !(p in other))
					print pid
			}
		}'
}

# Processes that carry the sandbox in their environment. Jobs submitted with
# --export=NONE know it only by SLURM_CONF, which slurmd gives them.
bearers() {
	local file pids=""

	for file in $(grep -lszxF -e "POLLUX_SANDBOX=$dir" \
		/proc/[0-9]*/environ) $(grep -lszxF \
		-e "SLURM_CONF=$root/etc/slurm.conf" /proc/[0-9]*/environ |
		xargs -r grep -lsz "^SLURMD_NODENAME=" 2>/dev/null); do
		file=${file#/proc/}
		pids+="${file%/*} "
	done
	echo "$pids"
}

# Stop everything, then forget everything but etc/ and log/. slurmctld may
# say goodbye (its plugins log what they did); the rest is killed.
take_down() {
	local pid

	stop_worker
	pid=$(pid_of slurmctld) && kill -TERM "$pid" 2>/dev/null &&
		wait_until $((SECONDS + 4)) gone "$pid"
	wait_until $((SECONDS + 15)) family_is_dead || return 1
	# One that was being started had another environment until now.
	sleep 0.1
	wait_until $((SECONDS + 15)) family_is_dead || return 1
	stop_guard
	rm -rf -- "$dir"/{db,state,spool,tmp,dev,local,run}
	[ "$root" = "$dir" ] || rm -f -- "$root"
	return 0
}

# Who is still starting daemons, if `up` has been killed meanwhile.
stop_worker() {
	local pid began

	{ read -r pid began <"$dir/run/worker"; } 2>/dev/null &&
		alive "$pid" "$began" && kill -KILL "$pid"
}

# A guard that wakes up late must not find the next sandbox of this folder.
stop_guard() {
	local pid

	pid=$(pid_of guard) && [ "$pid" != $$ ] && kill -KILL "$pid"
	return 0
}

gone() { ! alive "$1"; }

# New ones may appear while we kill: look again until there is none.
family_is_dead() {
	local pids

	pids=$(family)
	[ -n "$pids" ] || return 0
	# shellcheck disable=SC2086 # a list
	kill -KILL $pids 2>/dev/null
	return 1
}
