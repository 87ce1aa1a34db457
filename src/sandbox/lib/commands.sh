# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# commands.sh - up, down, status, exec, logs, restart

cmd_up() {
	local began parent begun_us=${EPOCHREALTIME/./}

	[ $# -eq 0 ] || refuse "up takes no argument '$1'"
	[ -z "${POLLUX_SANDBOX_PORT:-}" ] ||
		need_number POLLUX_SANDBOX_PORT "$POLLUX_SANDBOX_PORT" 1024 64000
	check_sockets
	choose_likeness
	check_hosts
	choose_owner
	check_plugins || exit 1
	claim_dir
	started=$EPOCHSECONDS
	deadline=$((SECONDS + ready_timeout))
	trap 'abort 130' INT
	trap 'abort 143' TERM HUP
	prepare_dir || die "cannot make the folders in $dir"
	start_of $$ && keeper supervisor $$ "$began"
	start_in_background || give_up
	: >"$dir/run/ready"
	trap - INT TERM HUP
	announce $(((${EPOCHREALTIME/./} - begun_us) / 100000))
}

# Slurm would take the remainder of the CPUs for an error of slurm.conf.
check_sockets() {
	[ $((cpus % sockets)) = 0 ] || refuse "--sockets $sockets: \
the $cpus CPUs of a node are not as many on each"
}

# The sandbox lives as long as this process.
choose_owner() {
	[ "$detach" = 0 ] || return 0
	owner=${owner:-$PPID}
	start_of "$owner" || die "process $owner, the owner, does not exist"
	owner_start=$began
}

# Make the folder ours: new, empty, or an earlier sandbox that is down.
claim_dir() {
	if [ ! -f "$marker" ] && [ -n "$(ls -A "$dir" 2>/dev/null)" ]; then
		die "$dir is not empty and not a sandbox's; choose another --dir"
	fi
	mkdir -p "$dir" && : >>"$marker" || die "cannot write in $dir"
	exec 9<"$marker"
	flock -n 9 || die "another pollux-sandbox up is at work in $dir"
	pid_of supervisor >/dev/null &&
		die "a sandbox is already up in $dir; take it down first"
	# A killed sandbox may be on its way down.
	wait_until $((SECONDS + 20)) gone_daemon guard ||
		die "the guard of an earlier sandbox hangs in $dir"
	[ -d "$dir/run" ] || return 0
	# Killed before it wrote what it decided, it left no daemon either.
	(load_state || root=$dir; take_down) ||
		die "processes of an earlier sandbox in $dir do not end"
}

gone_daemon() { ! pid_of "$1" >/dev/null; }

# run/ is closed: who reaches munged's socket can submit jobs. Where there are
# users it is open, and associations say who can.
prepare_dir() {
	rm -rf -- "$dir/etc" "$dir/log"
	mkdir -p "$dir"/{etc,log,run,state} && chmod 700 "$dir/run" &&
		let_users_in && choose_root && save_state
}

# See common.sh: sockets want a short path, slurm.conf one without blanks.
choose_root() {
	root=$dir
	[[ ${#dir} -le 60 && $dir =~ ^[A-Za-z0-9/_.+-]+$ ]] && return
	root=$(mktemp -u /tmp/plx.XXXXXXXX) && ln -s "$dir" "$root"
}

# Only `wait` never misses a Ctrl-C.
start_in_background() {
	local rc worker

	(
		starter=$BASHPID
		start_of "$starter" && echo "$starter $began" >"$dir/run/worker"
		start_on_free_ports
		rc=$?
		echo "$guilty" >"$dir/run/guilty"
		exit $rc
	) &
	worker=$!
	wait "$worker"
	rc=$?
	rm -f "$dir/run/worker"
	load_state
	read -r guilty <"$dir/run/guilty" && return $rc
}

start_on_free_ports() {
	local try

	for try in 1 2 3 4; do
		guilty=""
		choose_ports "$try" && write_configuration && save_state || return 1
		start_all && return
		port_was_taken && [ "$try" -lt 4 ] || return 1
		say "port $port and those after it were taken, trying others"
		wait_until $((SECONDS + 15)) family_is_dead
		rm -f "$dir"/log/{n*,slurm*}
	done
}

# Ctrl-C while starting.
abort() {
	trap '' INT TERM HUP
	complain "interrupted, taking everything down"
	stop_everything
	exit "$1"
}

# Say who is to blame, with the end of its log.
give_up() {
	local log=$dir/log/$guilty.log

	trap '' INT TERM HUP
	[ -s "$log" ] || log=$dir/log/$guilty.out
	if [ -z "$guilty" ]; then
		complain "the cluster could not be configured"
	elif pid_of "$guilty" >/dev/null; then
		complain "$guilty was not ready in $ready_timeout s;" \
			"the end of $log:"
	else
		complain "$guilty did not start; the end of $log:"
	fi
	[ -z "$guilty" ] || tail -n 15 "$log" 2>/dev/null | sed 's/^/    /' >&2
	stop_everything
	exit 1
}

# count NUMBER NOUN
count() {
	echo "$1 $2$([ "$1" = 1 ] || echo s)"
}

# announce TENTHS: what is there now, and what to do with it
announce() {
	local books="no accounting" life="until \`pollux-sandbox down\`"
	local each=""
	local ours="pollux-sandbox"

	[ "$accounting" = 0 ] || books="accounting"
	[ "$hosts" = 0 ] || each=", each a host of its own"
	[ "$detach" = 1 ] || life="as long as process $owner"
	[ "$dir" = "$PWD/pollux-sandbox.d" ] || ours+=" --dir $dir"
	say "up in $(($1 / 10)).$(($1 % 10)) s: $(count "$nodes" node) with" \
		"$(count "$gpus" GPU) each$each, like a ${like/plain/laboratory}," \
		"$(scheduler_text), $books; lives $life"
	say "try: $ours exec sinfo"
}

none_up() {
	echo "no sandbox is up in $dir: \`pollux-sandbox up\` starts one there, --dir names the folder of another"
}

cmd_down() {
	[ $# -eq 0 ] || refuse "down takes no argument '$1'"
	if ! load_state || [ ! -d "$dir/run" ]; then
		say "$(none_up)"
		return
	fi
	unset SLURM_CONF
	ancestors >"$dir/run/spared" 2>/dev/null
	stop_everything || die "these processes do not end: $(family | xargs)"
	say "down: $dir (its logs stay in $dir/log)"
}

# Us and who called us, up to init: `down` may be called under `exec`.
ancestors() {
	local pid=$$ stat fields

	while [ "$pid" -gt 1 ]; do
		printf '%s ' "$pid"
		{ read -r stat <"/proc/$pid/stat"; } 2>/dev/null || break
		read -ra fields <<<"${stat##*) }"
		pid=${fields[1]}
	done
	echo
}

# Ask the supervisor; do it ourselves when there is none or it hangs.
stop_everything() {
	local pid name

	if pid=$(pid_of supervisor); then
		kill -TERM "$pid" 2>/dev/null
		wait_until $((SECONDS + 25)) gone "$pid"
	fi
	for name in supervisor guard; do
		pid=$(pid_of "$name") && kill -KILL "$pid"
	done
	[ ! -d "$dir/run" ] || take_down
}

cmd_status() {
	local name pid dead=0 is_up=0

	load_state && [ -e "$dir/run/ready" ] && is_up=1
	if [ "$is_up" = 0 ]; then
		[ "${1:-}" = --json ] && printf '{"dir":%s,"up":false}\n' \
			"$(quote "$dir")" || say "$(none_up)"
		return 1
	fi
	declare -A pids=()
	for name in $(daemon_names) supervisor guard; do
		pids[$name]=$(pid_of "$name") || dead=$((dead + 1))
	done
	case ${1:-} in
	--json) status_json ;;
	'') status_text ;;
	*) refuse "status takes no argument '$1'" ;;
	esac
	[ "$dead" = 0 ]
}

status_text() {
	local name life="until \`pollux-sandbox down\`"

	[ "$detach" = 1 ] || life="as long as process $owner"
	printf '%-10s %s\n' sandbox "$dir" \
		lives "$life, up for $((EPOCHSECONDS - started)) s" \
		scheduler "$(scheduler_text)" \
		like "$like" users "$(users_text)" \
		nodes "n[1-$nodes], $cpus CPUs and $gpus GPUs each" \
		ports "slurmctld $port, slurmdbd $(port_of slurmdbd), \
slurmd $(port_of n1)-$(port_of "n$nodes")"
	status_hosts
	for name in $(daemon_names) supervisor guard; do
		printf '%-10s %s\n' "$name" "${pids[$name]:-dead}"
	done
}

status_hosts() {
	local name power

	for name in $(host_names); do
		pid_of "host-$name" >/dev/null && power=on || power=off
		printf '%-10s host at %s, power %s, network %s\n' "$name" \
			"$(address_of "$name")" $power "$(net_of "$name")"
	done
}

hosts_json() {
	local name pid comma=""

	for name in $(host_names); do
		pid=$(pid_of "host-$name") || pid=null
		printf '%s"%s":{"address":"%s","pid":%s,"net":"%s"}' "$comma" \
			"$name" "$(address_of "$name")" "$pid" "$(net_of "$name")"
		comma=,
	done
}

# Each user with the account.
users_text() {
	local name i=0 text=""

	for name in $users; do
		text+="$name ($(account_of $i)), "
		i=$((i + 1))
	done
	text=${text%, }
	echo "${text:-$(id -un)}"
}

users_json() {
	local name i=0

	for name in $users; do
		printf '%s%s:%s' "${comma:-}" "$(quote "$name")" \
			"$(quote "$(account_of $i)")"
		i=$((i + 1)) comma=,
	done
}

status_json() {
	local name comma=""

	printf '{"dir":%s,"up":true,"conf":%s,"scheduler":"%s",' \
		"$(quote "$dir")" "$(quote "$root/etc/slurm.conf")" "$scheduler"
	printf '"nodes":%d,"cpus_per_node":%d,"gpus_per_node":%d,' \
		"$nodes" "$cpus" "$gpus"
	printf '"like":"%s","gpu_types":%s,"users":{%s},' "$like" \
		"$(quote "$gpu_types")" "$(users_json)"
	printf '"accounting":%s,"owner":%s,"started":%d,"ports":{' \
		"$([ "$accounting" = 1 ] && echo true || echo false)" \
		"${owner:-null}" "$started"
	printf '"slurmctld":%d,"slurmdbd":%d,"slurmd":[%d,%d]},' "$port" \
		"$(port_of slurmdbd)" "$(port_of n1)" "$(port_of "n$nodes")"
	printf '"hosts":{%s},"daemons":{' "$(hosts_json)"
	for name in $(daemon_names) supervisor guard; do
		printf '%s"%s":%s' "$comma" "$name" "${pids[$name]:-null}"
		comma=,
	done
	printf '},"alive":%s}\n' "$([ "$dead" = 0 ] && echo true || echo false)"
}

# quote TEXT: as a JSON string
quote() {
	local text=${1//\\/\\\\}

	printf '"%s"' "${text//\"/\\\"}"
}

need_up() {
	load_state && [ -e "$dir/run/ready" ] && pid_of supervisor >/dev/null ||
		die "$(none_up)"
}

cmd_exec() {
	[ $# -gt 0 ] || refuse "exec needs a command"
	need_up
	[ -z "$as" ] || [[ " $users " == *" $as "* ]] ||
		refuse "--user: this sandbox has no user '$as', only: ${users:-you}"
	# Inside one of its jobs SLURM_* are right; another cluster's are not.
	[ "${SLURM_CONF:-}" = "$root/etc/slurm.conf" ] || unset_slurm
	export POLLUX_SANDBOX=$dir SLURM_CONF=$root/etc/slurm.conf
	unset POLLUX_KEEPER
	set_mpi_environment
	[ -z "$slurm_prefix" ] || PATH=$(slurm_path)
	on_which_host
	[ -z "$as" ] || become "$as" "$@"
	exec ${inside[@]+"${inside[@]}"} "$@"
}

# Where `exec` runs its command: `--host`, by default the controller's.
on_which_host() {
	[ "$on" = ctl ] || need_node "$on"
	in_host "$on" || die "$on is off"
}

cmd_logs() {
	local name="" follow="" word

	for word in "$@"; do
		case $word in
		-f) follow=1 ;;
		-*) refuse "unknown option '$word' of logs" ;;
		*) name=$word ;;
		esac
	done
	load_state && [ -d "$dir/log" ] || die "no sandbox in $dir"
	cd "$dir/log" || exit 1
	if [ -z "$name" ]; then
		exec tail -n "${POLLUX_LOG_LINES:-20}" ${follow:+-F} -- *.log
	fi
	[ -f "$name.log" ] || die "no log of '$name'; there are: \
$(printf '%s\n' *.log | sed 's/\.log$//' | xargs)"
	[ -z "$follow" ] || exec tail -n 20 -F -- "$name.log"
	exec cat -- "$name.log"
}

cmd_restart() {
	local name=${1:-} pid

	[ $# -eq 1 ] || refuse "restart needs the name of one daemon"
	need_up
	[[ " $(daemon_names | xargs) " == *" $name "* ]] ||
		refuse "no daemon '$name', there are: $(daemon_names | xargs)"
	deadline=$((SECONDS + ready_timeout))
	if pid=$(pid_of "$name"); then
		kill -TERM "$pid"
		wait_until $((SECONDS + 15)) gone "$pid" || kill -KILL "$pid"
		wait_until $((SECONDS + 5)) gone "$pid" ||
			die "process $pid, $name, does not end"
	fi
	case $name in
	n*) start_node "$name" &&
		wait_for "$name" listens "$name" "$(port_of "$name")" ;;
	*) "start_$name" ;;
	esac || die "$name did not start again: see $dir/log/$name.log"
	say "$name runs again, process $(pid_of "$name")"
}
