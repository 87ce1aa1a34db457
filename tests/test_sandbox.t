# SPDX-License-Identifier: MIT
# test_sandbox.t - pollux-sandbox starts a real cluster and leaves nothing
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

[ "${POLLUX_TESTS:-all}" != unit ] ||
	skip_all "POLLUX_TESTS=unit leaves out what needs daemons"
for program in slurmctld slurmd slurmdbd munged mariadbd jq; do
	PATH=$PATH:/usr/sbin type -P $program >/dev/null ||
		skip_all "$program is not installed"
done
use_build_tree

scheduler=pollux
[ -e "$POLLUX_PLUGIN_PATH/sched_pollux.so" ] || scheduler=backfill
small="--scheduler builtin --no-accounting --nodes 1"

sandbox() {
	pollux-sandbox "$@"
}

# prints REGEX COMMAND...: the output matches; the exit code is not asked
prints() {
	local regex=$1 output

	shift
	output=$("$@" 2>&1)
	echo "$output"
	[[ $output =~ $regex ]]
}

# exits CODE COMMAND...
exits() {
	local want=$1 rc=0

	shift
	"$@" || rc=$?
	echo "exit code $rc, want $want"
	[ "$rc" = "$want" ]
}

# Processes that name the folder in their environment or on their command
# line, whatever the sandbox itself thinks: pid and command.
left_of() {
	local file pid

	for file in $(grep -lsF -- "$1" /proc/[0-9]*/{environ,cmdline} |
		cut -d/ -f3 | sort -un); do
		pid=$file
		[ "$pid" != $$ ] && [ -e "/proc/$pid" ] &&
			! grep -qs '^State:.Z' "/proc/$pid/status" &&
			! is_ours "$pid" && ps -o pid=,args= -p "$pid"
	done
}

# Is it one of this test's own shells?
is_ours() {
	[ "$1" = "$BASHPID" ] ||
		[[ $(tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null) == \
			*test_sandbox.t* ]]
}

# vanished DIR [PORTS]: no process is left, and nobody listens there
vanished() {
	local dir=$1 port

	wait_until "[ -z \"\$(left_of '$dir')\" ]" 15 || {
		left_of "$dir"
		return 1
	}
	for port in ${2:-}; do
		! ss -ltnH "sport = :$port" | grep . || return 1
	done
}

ports_of() {
	sandbox status --json --dir "$1" |
		jq -r '.ports | .slurmctld, range(.slurmd[0]; .slurmd[1] + 1)'
}

daemon_pid() {
	sandbox status --json --dir "$1" | jq -r ".daemons.$2"
}

# --- a whole cluster

everything_is_alive() {
	sandbox status --dir "$one" && prints "sched/$scheduler" \
		sandbox status --dir "$one" &&
		sandbox status --json --dir "$one" | jq -e '.alive and .up'
}

each_node_has_four_gpus() {
	local seen

	seen=$(sandbox exec --dir "$one" srun -N4 --gpus-per-node=4 bash -c \
		'echo "$SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"' | sort | xargs)
	echo "$seen"
	[ "$seen" = "n1 0,1,2,3 n2 0,1,2,3 n3 0,1,2,3 n4 0,1,2,3" ]
}

two_jobs_share_a_node() {
	local seen

	# shellcheck disable=SC2016
	seen=$(sandbox exec --dir "$one" bash -c '
		job="srun -w n1 -N1 -n1 --gpus-per-node=2 bash -c"
		$job "sleep 1; echo \$CUDA_VISIBLE_DEVICES" &
		$job "sleep 1; echo \$CUDA_VISIBLE_DEVICES" &
		wait' | sort | xargs)
	echo "$seen"
	[ "$seen" = "0,1 2,3" ]
}

# database DIR: that of a cluster which has nothing else yet.
database() {
	mkdir -p "$1/log" && POLLUX_SANDBOX_DATABASES=$WORK/databases bash -c '
		. "$POLLUX_SANDBOX_LIB/common.sh"
		. "$POLLUX_SANDBOX_LIB/daemons.sh"
		dir=$1 root=$1 slurm_prefix=
		create_database' database "$1"
}

# As it was made, and not made again; also where what is kept is no database.
database_is_copied() {
	database "$WORK/db1" && [ -s "$WORK/db1/log/mariadb.log" ] &&
		database "$WORK/db2" && ! [ -s "$WORK/db2/log/mariadb.log" ] &&
		diff -r "$WORK"/db[12]/db/data &&
		rm -r "$WORK"/databases/*/mysql && database "$WORK/db3" &&
		[ -s "$WORK/db3/log/mariadb.log" ] &&
		[ -e "$WORK/db3/db/data/mysql/user.frm" ]
}

accounting_has_the_job() {
	wait_until "sandbox exec --dir '$one' sacct -X -n -P -j 1 \
		-o state,alloctres | grep -q 'COMPLETED.*gres/gpu=16'" 15
}

slurmctld_comes_back() {
	local job pid

	job=$(sandbox exec --dir "$one" sbatch --parsable -N1 \
		-o /dev/null --wrap "sleep 300") || return 1
	wait_until "sandbox exec --dir '$one' squeue -h -t R | grep -q $job" 15
	# slurmctld writes its state at a change or some seconds after it.
	touch "$WORK/running"
	sandbox exec --dir "$one" scontrol update "JobId=$job" Comment=runs ||
		return
	wait_until "test '$one/state/job_state' -nt '$WORK/running'" 15
	pid=$(cat "$one/run/slurmctld.pid")
	kill -KILL "$pid"
	fails sandbox status --dir "$one" &&
		sandbox restart slurmctld --dir "$one" &&
		sandbox status --dir "$one" &&
		prints " R " sandbox exec --dir "$one" squeue -h -j "$job"
}

a_node_restarts() {
	sandbox restart n2 --dir "$one" && sandbox status --dir "$one" &&
		sandbox exec --dir "$one" srun -w n2 true
}

# --- beside it

they_do_not_mix() {
	local ports

	ports=$(ports_of "$one" && ports_of "$two")
	echo "$ports"
	[ -z "$(sort <<<"$ports" | uniq -d)" ] &&
		[ -z "$(sandbox exec --dir "$two" squeue -h)" ] &&
		prints "^n1$" sandbox exec --dir "$two" \
			srun --mpi=none bash -c 'echo $SLURMD_NODENAME'
}

several_start_at_once() {
	local i failed=0
	local -a pids=()

	for i in 1 2 3; do
		# shellcheck disable=SC2086 # words
		sandbox up $small --dir "$WORK/many$i" --owner $$ &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || failed=1
	done
	for i in 1 2 3; do
		sandbox exec --dir "$WORK/many$i" srun --mpi=none true &&
			sandbox down --dir "$WORK/many$i" || failed=1
	done
	[ "$failed" = 0 ]
}

# Two that start in the same moment may choose the same ports.
taken_ports_are_changed() {
	local port

	port=$(ports_of "$one" | head -n 1)
	# shellcheck disable=SC2086 # words
	POLLUX_SANDBOX_PORT=$port prints "port $port .* taken, trying others" \
		sandbox up $small --dir "$WORK/late" --owner $$ &&
		sandbox exec --dir "$WORK/late" srun --mpi=none true &&
		sandbox down --dir "$WORK/late"
}

# --- the end

# A job that ignores signals and leaves its session must go as well.
down_leaves_nothing() {
	local ports odd=987.$$

	ports=$(ports_of "$one")
	sandbox exec --dir "$one" sbatch -o /dev/null --export=NONE --wrap \
		"trap '' TERM INT HUP; setsid sleep $odd & sleep $odd" || return 1
	wait_until "pgrep -f 'sleep $odd$'" 15
	sandbox down --dir "$one" && vanished "$one" "$ports" &&
		fails pgrep -af "sleep $odd$"
}

the_folder_is_used_again() {
	# shellcheck disable=SC2086 # words
	sandbox up $small --dir "$one" && sandbox down --dir "$one"
}

foreign_folders_are_left_alone() {
	mkdir "$WORK/mine" && echo precious >"$WORK/mine/file"
	exits 1 sandbox up --dir "$WORK/mine" && sandbox down \
		--dir "$WORK/mine" && [ "$(ls -A "$WORK/mine")" = file ]
}

# caller DIR: a script that brings a sandbox up and then works for a while
caller() {
	# shellcheck disable=SC2086,SC2016 # words; expanded there
	setsid bash -c 'pollux-sandbox up '"$small"' --dir "$1" || exit
		pollux-sandbox exec --dir "$1" \
			srun --mpi=none sleep 876 &
		wait' \
		caller "$1" >"$WORK/caller.log" 2>&1 &
	caller=$!
	disown $caller
	wait_until "pollux-sandbox exec --dir '$1' squeue -h -t R | grep -q ." \
		30 || cat "$WORK/caller.log"
}

killed_parent_takes_it_down() {
	local ports

	caller "$WORK/orphan" || return 1
	ports=$(ports_of "$WORK/orphan")
	kill -KILL "$caller"
	vanished "$WORK/orphan" "$ports"
}

killed_supervisor_takes_it_down() {
	local ports

	caller "$WORK/headless" || return 1
	ports=$(ports_of "$WORK/headless")
	kill -KILL "$(daemon_pid "$WORK/headless" supervisor)"
	vanished "$WORK/headless" "$ports"
}

killed_guard_is_replaced() {
	local guard

	# shellcheck disable=SC2086 # words
	sandbox up $small --dir "$WORK/guarded" || return 1
	guard=$(daemon_pid "$WORK/guarded" guard)
	kill -KILL "$guard"
	wait_until "fails kill -0 $guard; sandbox status --dir \
		'$WORK/guarded'" 15 && sandbox down --dir "$WORK/guarded" &&
		vanished "$WORK/guarded"
}

# Ctrl-C reaches the whole process group.
ctrl_c_takes_it_down() {
	local ports

	caller "$WORK/ctrlc" || return 1
	ports=$(ports_of "$WORK/ctrlc")
	kill -INT -- "-$caller"
	kill -TERM -- "-$caller" 2>/dev/null
	vanished "$WORK/ctrlc" "$ports"
}

# starter DIR: `up` on its way, with its database still to come
starter() {
	setsid env --default-signal=INT "${BASH}" -c 'exec pollux-sandbox up \
		--nodes 2 --scheduler builtin --dir "$1"' up "$1" \
		>"$WORK/starter.log" 2>&1 &
	starter=$!
	wait_until "test -e '$1/run/munged.pid'" 30
}

ctrl_c_while_starting_takes_it_down() {
	starter "$WORK/early"
	kill -INT "$starter"
	exits 130 wait "$starter" && vanished "$WORK/early" &&
		grep -q interrupted "$WORK/starter.log"
}

kill_while_starting_leaves_nothing() {
	starter "$WORK/unborn"
	kill -KILL "$starter"
	exits 137 wait "$starter" && vanished "$WORK/unborn"
}

# --- whoever you are, wherever you stand

# With a copy: the source tree may lie where others cannot read.
# 25.11 refuses nobody as SlurmUser; daemon is on each Debian, too.
as_daemon() {
	setpriv --reuid=daemon --regid=daemon --clear-groups \
		env HOME="$WORK/daemon" PATH="$WORK/daemon/bin:$PATH" \
		POLLUX_SANDBOX_LIB="$WORK/daemon/bin/lib" "$@"
}

an_ordinary_user_needs_no_root() {
	mkdir -m 755 "$WORK/daemon" "$WORK/daemon/bin" &&
		cp -r "$(type -P pollux-sandbox)" "$POLLUX_SANDBOX_LIB" \
			"$WORK/daemon/bin" && chmod -R a+rX "$WORK/daemon/bin" &&
		chown daemon "$WORK/daemon" && cd "$WORK/daemon" || return 1
	as_daemon bash -c "pollux-sandbox up --like=site --scheduler builtin \
			--nodes 2 &&
		pollux-sandbox exec srun -N2 --gpus-per-node=4 id -un &&
		pollux-sandbox exec sinfo &&
		pollux-sandbox down" >"$WORK/daemon.log" 2>&1
	cat "$WORK/daemon.log"
	grep -q "not root: daemon is the only user" "$WORK/daemon.log" &&
		[ "$(grep -cx daemon "$WORK/daemon.log")" = 2 ] &&
		vanished "$WORK/daemon/pollux-sandbox.d"
}

odd_folders_work() {
	local dir="$WORK/a folder with blanks/and a name so long that no socket \
could ever lie in it, whatever Slurm or munge make of it"

	mkdir -p "$dir" && cd "$dir" || return 1
	# shellcheck disable=SC2086 # words
	sandbox up $small && sandbox exec srun --gpus=1 hostname &&
		sandbox down && vanished "$dir"
}

# --- words

# What must be refused, with exit code 2, and with what words.
refusals() {
	cat <<'END'
up --nodes 0|--nodes wants a whole number from 1 to 9999, not '0'
up --nodes many|not 'many'
up --nodes|--nodes needs a value
up --scheduler fifo|must be one of pollux, stand-in, backfill, builtin, not 'fifo'
up --params a=$(id)|--params wants KEY=VALUE
up --conf-extra nonsense|--conf-extra wants KEY=VALUE
up --detach=yes|--detach takes no value
up --like mars|--like must be one of site, plain, not 'mars'
up --like=plain --users daemon|--users needs --like=site
up --like=site --users no.body|there is no user 'no.body'
up --sockets 3|--sockets 3: the 8 CPUs of a node are not as many on each
up --cpus-per-node 4 --sockets 8|--sockets 8: the 4 CPUs of a node are not
exec --user|--user needs a value
up --colour|unknown option '--colour' of up
up now|up takes no argument 'now'
sideways|unknown command 'sideways'
exec|exec needs a command
|no command given
END
}

bad_options_are_refused() {
	local line words

	while IFS='|' read -r line words; do
		# shellcheck disable=SC2086 # words
		exits 2 sandbox --dir "$WORK/none" $line >"$WORK/refused" 2>&1
		cat "$WORK/refused"
		grep -qF -- "$words" "$WORK/refused" || return 1
		[ "$(grep -c '^pollux-sandbox: ' "$WORK/refused")" = 1 ] &&
			grep -q 'exit code 2' "$WORK/refused" || return 1
	done < <(refusals)
	[ ! -e "$WORK/none" ]
}

# Of the system's Slurm: another one's slurmctld goes before that of PATH.
failure_names_the_guilty() {
	mkdir -p "$WORK/bad" && printf '%s\n' '#!/bin/sh' \
		'echo the wheels came off >&2; exit 1' >"$WORK/bad/slurmctld" &&
		chmod +x "$WORK/bad/slurmctld"
	# shellcheck disable=SC2086 # words
	PATH=$WORK/bad:$PATH POLLUX_SLURM_PREFIX='' exits 1 sandbox up $small \
		--dir "$WORK/broken" >"$WORK/broken.log" 2>&1 || return 1
	cat "$WORK/broken.log"
	grep -q "slurmctld did not start" "$WORK/broken.log" &&
		grep -q "the wheels came off" "$WORK/broken.log" &&
		vanished "$WORK/broken"
}

one=$WORK/one
two=$WORK/two

# Addresses of /proc/net/tcp, in hexadecimal, that its daemons listen on.
addresses_of() {
	local pid

	for pid in $(sandbox status --dir "$1" --json | jq '.daemons[] | numbers'); do
		readlink "/proc/$pid/fd/"* 2>/dev/null
	done | sed -n 's/^socket:.\([0-9]*\).$/\1/p' | sort -u |
		awk 'NR == FNR { ours[$1]; next }
		     $4 == "0A" && $10 in ours { print $2 }' \
			- <(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null)
}

# slurmctld, slurmdbd and the nodes: nobody else's machine can reach them.
listens_on_loopback_alone() {
	local addresses
	addresses=$(addresses_of "$1")
	echo "$addresses"
	[ "$(echo "$addresses" | wc -l)" -ge 3 ] &&
		! grep -qv '^0100007F:' <<<"$addresses"
}

plan 32
ok "up starts a whole cluster" sandbox up --scheduler $scheduler --dir "$one"
ok "status shows all of it alive" everything_is_alive
if [ "$(getent ahostsv4 "$(uname -n)" | awk '{ print $1; exit }')" = 127.0.0.1 ]; then
	ok "its daemons listen on 127.0.0.1 alone" listens_on_loopback_alone "$one"
else
	skip "its daemons listen on 127.0.0.1 alone" "$(uname -n) is another address"
fi
ok "a job runs on all nodes, with four GPUs on each" each_node_has_four_gpus
ok "two jobs on a node get different GPUs" two_jobs_share_a_node
ok "sacct has the job and its GPUs" accounting_has_the_job
ok "an empty database is made once, and copied" database_is_copied
# shellcheck disable=SC2086 # words
ok "a second up in the folder is refused" \
	prints "a sandbox is already up in $one" sandbox up $small --dir "$one"
# shellcheck disable=SC2086 # words
ok "another sandbox starts beside it" sandbox up $small --dir "$two"
ok "they do not mix" they_do_not_mix
ok "down of one leaves the other alone" eval \
	"sandbox down --dir '$two' && vanished '$two' && everything_is_alive"
ok "several start at once" several_start_at_once
ok "ports that turn out to be taken are changed" taken_ports_are_changed
ok "slurmctld, killed, comes back with its jobs" slurmctld_comes_back
ok "a node's slurmd restarts" a_node_restarts
ok "logs shows a daemon's log" prints "slurmctld version" \
	sandbox logs slurmctld --dir "$one"
ok "exec ends with the exit code of its command" exits 7 \
	sandbox exec --dir "$one" bash -c 'exit 7'
ok "down leaves no process and no port" down_leaves_nothing
ok "exec says when nothing is up" prints "no sandbox is up in $one: .*--dir" \
	sandbox exec --dir "$one" sinfo
ok "so does a second down" prints "no sandbox is up in $one: .*--dir" \
	sandbox down --dir "$one"
ok "its folder is used again" the_folder_is_used_again
ok "a folder with other things is left alone" foreign_folders_are_left_alone
ok "it goes when its caller is killed" killed_parent_takes_it_down
ok "it goes when its supervisor is killed" killed_supervisor_takes_it_down
ok "a killed guard is replaced" killed_guard_is_replaced
ok "it goes on Ctrl-C" ctrl_c_takes_it_down
ok "Ctrl-C while it starts leaves nothing" ctrl_c_while_starting_takes_it_down
ok "kill -9 while it starts leaves nothing" kill_while_starting_leaves_nothing
if [ "$(id -u)" = 0 ] && type -P setpriv >/dev/null; then
	ok "an ordinary user needs no root" an_ordinary_user_needs_no_root
else
	ok "it runs as an ordinary user" test "$(id -u)" != 0
fi
ok "it works in any folder" odd_folders_work
ok "bad options are refused in one sentence" bad_options_are_refused
ok "a failure names the guilty and leaves nothing" failure_names_the_guilty
