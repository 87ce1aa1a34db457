# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# hosts.sh - every node a host of its own (`up --hosts`), and what happens to
# machines: power, net, disk
#
# A host is a process in namespaces of its own. All of them are on the bridge
# of the first, ctl, where munged, the database and slurmctld run, and the
# commands of `exec`:
#
#	ctl   net uts ipc mount      br0, 10.77.0.1; files as the machine's
#	nN    the same, pid and time eth0; own /tmp, /var/tmp, /run, /dev/shm, /proc
#
# No namespace has a name, and none has a cable to the machine: sandboxes use
# the same addresses without meeting, and mounts, cables and processes are gone
# with the hosts' processes, whoever is killed.
#
# run/host-NAME.pid is the host's process, run/host-NAME.net what its network
# suffers from, local/NAME the mount point of its disk.

# What a node has for itself; what is shared and lies there is put back.
own_folders="/tmp /var/tmp /run /dev/shm"
disk_size=4g
inside=()

check_hosts() {
	local program

	[ "$hosts" = 1 ] || return 0
	[ "$(id -u)" = 0 ] || die "--hosts needs root, who alone may make \
hosts (namespaces); without it all nodes are this machine"
	for program in ip tc nsenter unshare; do
		find_program $program >/dev/null ||
			die "--hosts needs the program $program"
	done
	PATH=$PATH:/usr/sbin:/sbin
	check_shares
}

# Relative ones are of where `up` was called.
check_shares() {
	local folder all=""

	for folder in ${share//:/ }; do
		[ -d "$folder" ] || refuse "--share: no folder '$folder'"
		all+=$(realpath -- "$folder"):
	done
	share=$all
}

host_names() {
	local i

	[ "$hosts" = 1 ] || return 0
	echo ctl
	for ((i = 1; i <= nodes; i++)); do
		echo "n$i"
	done
}

# The host of a daemon.
host_of() {
	[[ $1 == n* ]] && echo "$1" || echo ctl
}

# address_of HOST
address_of() {
	local i=${1#n}

	[ "$1" != ctl ] || { echo 10.77.0.1 && return; }
	echo "10.77.$((i / 200)).$((i % 200 + 10))"
}

# card_of HOST: the address of its network card, which a machine keeps. Others
# remember it for most of a minute, and a bridge has the lowest of its cables
# unless it is told one.
card_of() {
	local i=${1#n}

	[ "$1" != ctl ] || i=0
	printf '02:50:4c:58:%02x:%02x' $((i / 256)) $((i % 256))
}

# in_host HOST: sets `inside` to what runs a command there, in our folder;
# nothing where all nodes are this machine. Into a node it takes a fork.
in_host() {
	local pid

	inside=()
	[ "$hosts" = 1 ] || return 0
	pid=$(pid_of "host-$1") || return 1
	inside=(nsenter --target "$pid" --mount --uts --ipc --net)
	[ "$1" = ctl ] || inside+=(--pid)
	[ "$1" = ctl ] || ! has_clocks || inside+=(--time)
	inside+=(env --chdir="$PWD")
}

# A node that starts has been up for no time: slurmctld asks for that.
has_clocks() { [ -e /proc/self/ns/time ]; }

# on_host HOST COMMAND...
on_host() {
	local -a inside

	in_host "$1" || return 1
	shift
	"${inside[@]}" "$@"
}

# adopt NAME PID: a process that was forked into a pid namespace by this one is
# what NAME means. While it becomes another program its environment is empty, and
# it is nobody's.
adopt() {
	local child="" end=$((SECONDS + 10))

	until [ -n "$child" ] && owns "$child"; do
		# The line has no end.
		{ read -r child _ <"/proc/$2/task/$2/children"; } 2>/dev/null
		alive "$2" && [ "$SECONDS" -lt "$end" ] || return 1
	done
	echo "$child" >"$dir/run/$1.pid"
}

# --- starting them

# start_host NAME: does not wait
start_host() {
	local -a own=(--net --uts --ipc --mount --propagation slave)
	local up=0

	guilty=host-$1
	rm -f "$dir/run/host-$1".{up,net}
	inside=()
	if [ "$1" != ctl ]; then
		in_host ctl || return 1
		own+=(--pid --fork --kill-child)
		IFS=. read -r up _ </proc/uptime
		! has_clocks ||
			own+=(--time --boottime "-$up" --monotonic "-$up")
	fi
	(
		cd / && exec </dev/null >>"$dir/log/host-$1.out" 2>&1
		close_files
		POLLUX_SANDBOX_LIB=$lib enter exec setsid "${inside[@]}" \
			unshare "${own[@]}" "$BASH" "$self" --dir "$dir" _host "$1"
	) &
	echo $! >"$dir/run/host-$1.pid"
	disown $!
	[ "$1" = ctl ] || { adopt "host-$1" $! && plug_in "$1"; }
}

host_is_up() { [ -e "$dir/run/host-$1.up" ]; }

start_hosts() {
	local name

	[ "$hosts" = 1 ] || return 0
	write_names >"$dir/etc/hosts"
	for name in $(host_names); do
		start_host "$name" || return 1
		[ "$name" != ctl ] ||
			wait_for host-ctl host_is_up ctl || return 1
	done
	for name in $(host_names); do
		wait_for "host-$name" host_is_up "$name" || return 1
	done
}

# For /etc/hosts.
write_names() {
	local name

	echo "127.0.0.1 localhost"
	for name in $(host_names); do
		echo "$(address_of "$name") $name"
	done
}

# A cable from a node to the bridge.
plug_in() {
	local pid

	pid=$(pid_of "host-$1") &&
		on_host ctl ip link add "to-$1" type veth peer name eth0 \
			address "$(card_of "$1")" netns "$pid" &&
		on_host ctl ip link set "to-$1" master br0 up &&
		nsenter --target "$pid" --net \
			ip address add "$(address_of "$1")/16" dev eth0 &&
		nsenter --target "$pid" --net ip link set eth0 up
}

# host NAME: the process of a host. It makes the host, and then is there; in a
# node it is process 1, and reaps.
host() {
	load_state || exit 1
	PATH=$PATH:/usr/sbin:/sbin
	echo "$1" >/proc/sys/kernel/hostname
	ip link set lo up && "make_${1%%[0-9]*}" "$1" || exit 1
	: >"$dir/run/host-$1.up"
	trap '' TERM INT HUP
	while :; do
		sleep infinity &
		wait $!
	done
}

# The disks of nodes are its mounts: they outlive a node without power.
make_ctl() {
	local name

	ip link add br0 address "$(card_of ctl)" type bridge &&
		ip address add "$(address_of ctl)/16" dev br0 &&
		ip link set br0 up &&
		mount --bind "$dir/etc/hosts" /etc/hosts || return 1
	for name in $(host_names); do
		[ "$name" != ctl ] || continue
		mkdir -p "$dir/local/$name" && mount -t tmpfs \
			-o "size=$disk_size,mode=755" disk "$dir/local/$name" ||
			return 1
	done
}

# /tmp and /var/tmp are on its disk, of which a start empties /tmp.
make_n() {
	local disk=$dir/local/$1 folder

	rm -rf -- "$disk/tmp" && mkdir -p "$disk"/{tmp,var/tmp,run,dev/shm} &&
		chmod 1777 "$disk"/{tmp,var/tmp} || return 1
	mkdir -p "$disk/var/tmp/slurmd" &&
		mount -t tmpfs -o mode=755 run "$disk/run" &&
		mount -t tmpfs shm "$disk/dev/shm" &&
		put_back "$disk" || return 1
	# By relative names: the first one may hide the disk's own.
	cd "$disk" || return 1
	for folder in $own_folders; do
		mount --no-canonicalize --rbind ".$folder" "$folder" || return 1
	done
	cd / || return 1
	# Nor does it see other nodes' disks.
	for folder in "$dir"/local/*; do
		umount --lazy "$folder" 2>/dev/null
	done
	mount -t proc proc /proc
}

# put_back DISK: what is shared, under the same name as on the machine
put_back() {
	local folder own

	while read -r folder; do
		for own in $own_folders; do
			[[ $folder == "$own"/* ]] || continue
			mkdir -p "$1$folder" &&
				mount --bind "$folder" "$1$folder" || return 1
		done
	done < <(shared_folders)
	[[ $root == "$dir" || $root != /tmp/* ]] || ln -sfn "$dir" "$1$root"
}

shared_folders() {
	{
		printf '%s\n' "$dir" "${slurm_prefix:-/usr}"
		tr : '\n' <<<"$share:$path"
	} | grep . | sort -u
}

# --- what happens to machines

# need_node NAME: it is one of a sandbox with hosts
need_node() {
	need_up
	[ "$hosts" = 1 ] || die "the nodes of this sandbox are one machine:\
 it was not started with --hosts"
	[[ " $(host_names | xargs) " == *" $1 "* && $1 != ctl ]] ||
		refuse "no node '$1', there are: n1 to n$nodes"
	PATH=$PATH:/usr/sbin:/sbin
}

cmd_power() {
	[ $# -eq 2 ] || refuse "power needs a node, and on or off"
	need_node "$1"
	case $2 in
	off) power_off "$1" ;;
	on) power_on "$1" ;;
	*) refuse "power must be on or off, not '$2'" ;;
	esac
}

# The cable first: a machine without power says no goodbye.
power_off() {
	local pid

	pid=$(pid_of "host-$1") || { say "$1 is off already" && return; }
	on_host ctl ip link set "to-$1" down || die "cannot cut the cable of $1"
	kill -KILL "$pid"
	wait_until $((SECONDS + 10)) gone "$pid" ||
		die "process $pid, the host $1, does not end"
	on_host ctl ip link delete "to-$1" 2>/dev/null
	rm -f "$dir/run/host-$1".{up,net}
	say "$1 is off"
}

power_on() {
	! pid_of "host-$1" >/dev/null || { say "$1 is on already" && return; }
	deadline=$((SECONDS + ready_timeout))
	starter=$$
	start_host "$1" && wait_for "host-$1" host_is_up "$1" ||
		die "$1 did not start: see $dir/log/host-$1.out"
	start_node "$1" && wait_for "$1" listens "$1" "$(port_of "$1")" ||
		die "slurmd of $1 did not start: see $dir/log/$1.log"
	say "$1 is on"
}

cmd_net() {
	[ $# -eq 2 ] ||
		refuse "net needs a node, and cut, cut-in, cut-out, slow or heal"
	need_node "$1"
	case $2 in
	cut | cut-in | cut-out | slow | heal) ;;
	slow=*) [[ ${2#*=} =~ ^[0-9]{1,6}((ms)|([km]bit))?$ ]] ||
		refuse "net slow wants milliseconds or a rate in kbit or mbit, not '${2#*=}'" ;;
	*) refuse "net must be cut, cut-in, cut-out, slow or heal, not '$2'" ;;
	esac
	pid_of "host-$1" >/dev/null || die "$1 is off"
	net_heal "$1" || die "cannot heal the network of $1"
	net_harm "$1" "$2" || {
		net_heal "$1"
		die "cannot do that to the network of $1"
	}
	say "the network of $1: $(net_of "$1")"
}

# A queue of no packets drops all of them.
net_heal() {
	at_node "$1" tc qdisc delete dev eth0 root 2>/dev/null
	on_host ctl tc qdisc delete dev "to-$1" root 2>/dev/null
	on_host ctl ip link set "to-$1" up && rm -f "$dir/run/host-$1.net"
}

net_harm() {
	case $2 in
	cut) on_host ctl ip link set "to-$1" down ;;
	cut-in) on_host ctl tc qdisc add dev "to-$1" root pfifo limit 0 ;;
	cut-out) at_node "$1" tc qdisc add dev eth0 root pfifo limit 0 ;;
	slow*bit) net_thin "$1" "${2#slow=}" ;;
	slow*) net_delay "$1" "${2#slow}" ;;
	heal) return ;;
	esac && echo "$2" >"$dir/run/host-$1.net"
}

# net_delay NODE [=MS]: what it sends arrives later
net_delay() {
	local ms=${2#=}

	ms=${ms%ms}
	at_node "$1" tc qdisc add dev eth0 root netem limit 100000 \
		delay "${ms:-100}ms" && return
	complain "this kernel has no netem (sch_netem); a rate works, slow=10mbit"
	return 1
}

# net_thin NODE RATE: both ways
net_thin() {
	local -a tbf=(root tbf rate "$2" burst 64kb latency 400ms)

	at_node "$1" tc qdisc add dev eth0 "${tbf[@]}" &&
		on_host ctl tc qdisc add dev "to-$1" "${tbf[@]}"
}

# at_node NAME COMMAND...: on its network alone
at_node() {
	local pid

	pid=$(pid_of "host-$1") || return 1
	shift
	nsenter --target "$pid" --net "$@"
}

# net_of NODE: prints what its network suffers from
net_of() {
	cat "$dir/run/host-$1.net" 2>/dev/null || echo ok
}

cmd_disk() {
	local folder=${3:-/tmp}

	[ $# -eq 2 ] || [ $# -eq 3 ] || refuse "disk needs a node, and fill or free"
	need_node "$1"
	[[ " $own_folders " == *" $folder "* ]] ||
		refuse "disk: $folder is not a node's own, only: $own_folders"
	pid_of "host-$1" >/dev/null || die "$1 is off"
	case $2 in
	fill) disk_fill "$1" "$folder" && say "$folder of $1 is full" ;;
	free) disk_size "$1" "$folder" "$(size_of "$folder")" &&
		say "$folder of $1 has room" ;;
	*) refuse "disk must be fill or free, not '$2'" ;;
	esac || die "cannot do that to $folder of $1"
}

# Memory is not wasted: its size becomes what is in it.
disk_fill() {
	local try used

	for try in 1 2 3 4 5 6 7 8; do
		used=$(on_host "$1" df -k --output=used "$2" | tail -n 1) &&
			disk_size "$1" "$2" "$((used > 4 ? used : 4))k" &&
			return
		sleep "0.$try"
	done 2>/dev/null
	return 1
}

disk_size() {
	on_host "$1" mount -o "remount,size=$3" "$2"
}

# As they are made: /run and /dev/shm may have half the memory.
size_of() {
	case $1 in
	/tmp | /var/tmp) echo $disk_size ;;
	*) echo 50% ;;
	esac
}
