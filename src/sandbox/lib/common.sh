# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# common.sh - what every part of the sandbox needs: its folder, its state,
# messages, processes
#
# The folder (dir):
#   .pollux-sandbox   the marker: KEY=VALUE lines, what `up` decided; a folder
#                     without it is never touched
#   etc/ log/ run/    configuration, NAME.log, NAME.pid; they survive `down`
#   db/ state/ spool/ tmp/ dev/ local/   go away with the cluster
#
# UNIX sockets allow 107 characters and slurm.conf no blank, so everything runs
# under `root`: the folder itself, or a short link to it in /tmp.
#
# shellcheck disable=SC2034 # most of these are read in the other parts

dir=./pollux-sandbox.d
nodes=4 gpus=4 cpus=8 memory=65536
like=${POLLUX_SANDBOX_LIKE:-plain}
users=""
as=""
scheduler=${POLLUX_SANDBOX_SCHEDULER:-pollux}
params=""
conf_extra=""
gpu_types=""
gpu_links=""
mig=""
sockets=1
switches=0
slurm_prefix=${POLLUX_SLURM_PREFIX:-}
hosts=0
share=""
slurmds=""
on=ctl
accounting=1
whole=0
detach=0
owner="" owner_start=""
ready_timeout=120
root=""
port=""
starter=$$

state_keys="root like users nodes gpus gpu_types gpu_links mig sockets cpus scheduler params \
accounting whole detach owner owner_start port started ready_timeout path slurm_prefix hosts \
share slurmds"

say() { echo "pollux-sandbox: $*"; }
complain() { echo "pollux-sandbox: $*" >&2; }

# die SENTENCE: exit code 1
die() {
	complain "$1"
	exit 1
}

# Make dir absolute; it need not exist yet.
find_dir() {
	dir=$(realpath -m -- "$dir")
	marker=$dir/.pollux-sandbox
}

# Write the decisions to the marker, at once or not at all.
save_state() {
	local key

	for key in $state_keys; do
		printf '%s=%s\n' "$key" "${!key}"
	done >"$marker.new" && mv -f "$marker.new" "$marker"
}

# Read them back; only known keys, and nothing is ever evaluated.
load_state() {
	local key value

	[ -f "$marker" ] && [ -r "$marker" ] || return 1
	while IFS='=' read -r key value; do
		[[ " $state_keys " == *" $key "* ]] &&
			printf -v "$key" %s "$value"
	done <"$marker"
	[ -n "$root" ]
}

# start_of PID: sets `parent` and `began` (clock ticks); fails if the process is
# gone or a zombie. With its start, a pid that was given again is not mistaken.
start_of() {
	local stat fields

	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	read -ra fields <<<"${stat##*) }"
	[[ ${fields[0]} != [ZX] ]] && parent=${fields[1]} began=${fields[19]}
}

# alive PID [START]
alive() {
	local began parent

	[ -n "${1:-}" ] && start_of "$1" && [ "${2:-$began}" = "$began" ]
}

# pid_of NAME: prints the pid of a living daemon of this sandbox. A child of who
# starts them is one even before it became the daemon.
pid_of() {
	local pid began parent

	{ read -r pid <"$dir/run/$1.pid"; } 2>/dev/null || return 1
	[ -n "$pid" ] && start_of "$pid" &&
		{ [ "$parent" = "$starter" ] || owns "$pid"; } && echo "$pid"
}

# owns PID: was this process started by this sandbox? A pid file may outlive
# its process, and the number may come back as somebody else's.
owns() {
	grep -qszxF -e "POLLUX_SANDBOX=$dir" -e "POLLUX_KEEPER=$dir" \
		"/proc/$1/environ"
}

# wait_until DEADLINE COMMAND...: poll until the command succeeds; fails when
# SECONDS reaches the deadline.
wait_until() {
	local deadline=$1

	shift
	until "$@"; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
		sleep 0.05
	done
}

# The caller's PATH, another Slurm's programs before all (--slurm-prefix).
slurm_path() {
	echo "${slurm_prefix:+$slurm_prefix/bin:$slurm_prefix/sbin:}$PATH"
}

# 22.05, the oldest release that is known?
old_slurm() {
	[[ $("$(find_program slurmctld)" -V) == *" 22."* ]]
}

# find_program NAME: daemons live in sbin, which ordinary users do not search.
find_program() {
	PATH=$(slurm_path):/usr/local/sbin:/usr/sbin:/sbin type -P -- "$1"
}

# Names of the daemons, in the order in which they start.
daemon_names() {
	local i

	echo munged
	[ "$accounting" = 0 ] || echo mariadb slurmdbd
	echo slurmctld
	[ -z "$slurmds" ] || { echo slurmds && return; }
	for ((i = 1; i <= nodes; i++)); do
		echo "n$i"
	done
}
