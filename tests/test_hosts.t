# SPDX-License-Identifier: MIT
# test_hosts.t - every node is a host: what becomes of a job when one is lost
. "${POLLUX_SRCDIR}/tests/elastic.sh"

[ "$(id -u)" = 0 ] || skip_all "hosts are namespaces, which only root may make"
need_daemons
use_build_tree
unshare --net --uts --ipc --mount --pid --fork true 2>/dev/null ||
	skip_all "this machine lets not even root make namespaces"
network() {
	ip -o link show && ip -4 route show && ip -4 -o address show
}
network >"$WORK/network.txt"
sandbox_up --hosts --nodes 3 --gpus-per-node 2
plan 9

host() {
	pollux-sandbox exec --dir "$SB" --host "$@"
}

node() {
	pollux-sandbox "$1" --dir "$SB" "${@:2}" >>"$WORK/verbs.txt" 2>&1
}

# --- they are apart

nodes_have_names_and_addresses() {
	local seen
	seen=$(sb srun -N3 bash -c \
		'echo "$(uname -n) $(ip -4 -o address show eth0 |
			sed "s/.*inet //; s,/.*,,")"' | sort | xargs)
	echo "$seen"
	[ "$seen" = "n1 10.77.0.11 n2 10.77.0.12 n3 10.77.0.13" ]
}

own_folders_are_own() {
	local folder
	for folder in /tmp /var/tmp /run /dev/shm; do
		host n1 touch "$folder/$1" && host n1 test -e "$folder/$1" &&
			fails host n2 test -e "$folder/$1" &&
			fails host ctl test -e "$folder/$1" &&
			fails test -e "$folder/$1" || return
	done 2>"$WORK/own.txt"
}

processes_are_own() {
	host n1 bash -c 'exec -a only-here sleep 60' &
	wait_until "host n1 pgrep -f only-here" 10 &&
		fails host n2 pgrep -f only-here &&
		pgrep -f only-here >/dev/null &&
		host n1 pkill -f only-here
}

others_are_shared() {
	host n1 touch "$WORK/shared" && host n2 test -e "$WORK/shared" &&
		[ -e "$WORK/shared" ]
}

machine_keeps_its_network() {
	network | diff "$WORK/network.txt" - && [ "$(host n1 ip route show |
		cut -d' ' -f1)" = 10.77.0.0/16 ]
}

# --- what happens to machines

reach() {
	host "$1" timeout 2 bash -c "true <>/dev/tcp/$2/6818"
}

# sends FROM TO: a packet of it arrives, whether or not an answer comes back
sends() {
	local before after
	before=$(packets "$2")
	host "$1" bash -c "echo >/dev/udp/$2/9" || true
	host "$1" bash -c "echo >/dev/udp/$2/9" || true
	sleep 0.2
	after=$(packets "$2")
	echo "$1 to $2: $before, then $after"
	[ "$after" -gt "$before" ]
}

# Datagrams for nobody.
packets() {
	host "$1" awk '/^Udp: [0-9]/ { print $3 }' /proc/net/snmp
}

networks_are_cut_and_heal() {
	reach n1 n2 && reach n2 n1 && sends n1 n2 && sends n2 n1 || return
	node net n2 cut-in && fails sends n1 n2 && sends n2 n1 || return
	node net n2 cut-out && sends n1 n2 && fails sends n2 n1 || return
	node net n2 cut && fails sends n1 n2 && fails sends n2 n1 || return
	node net n2 slow=100kbit && takes_seconds n1 n2 || return
	node net n2 heal && wait_until "reach n1 n2 && reach n2 n1" 10
}

# A tenth of a megabyte takes a tenth of a second on no network of ours.
takes_seconds() {
	local begin=$EPOCHREALTIME
	host "$2" timeout 60 python3 -c '
import socket
with socket.create_server(("", 7777)) as s:
    c, _ = s.accept()
    while c.recv(65536):
        pass
' &
	wait_until "host $2 ss -ltn | grep -q :7777" 10 || return
	begin=${EPOCHREALTIME/./}
	host "$1" bash -c "head -c 150000 /dev/zero >/dev/tcp/$2/7777" || return
	wait $!
	echo "150 kB took $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
	[ $((${EPOCHREALTIME/./} - begin)) -gt 3000000 ]
}

disks_are_filled_and_freed() {
	host n1 bash -c 'echo old >/tmp/old' && node disk n1 fill &&
		fails host n1 bash -c 'echo new >/tmp/new' 2>/dev/null &&
		fails host n1 bash -c 'echo new >/var/tmp/new' 2>/dev/null &&
		host n1 bash -c 'echo new >/dev/shm/new' &&
		host n2 bash -c 'echo new >/tmp/new' &&
		node disk n1 free && host n1 bash -c 'echo new >/tmp/new' &&
		[ "$(host n1 cat /tmp/old)" = old ]
}

a_node_without_power_is_away_and_comes_back() {
	local pid
	host n1 touch /tmp/mine /var/tmp/mine
	pid=$(cat "$SB/run/host-n1.pid")
	node power n1 off && fails kill -0 "$pid" && fails reach n2 n1 &&
		fails pollux-sandbox status --dir "$SB" &&
		fails host n1 true && node power n1 on && reach n2 n1 &&
		pollux-sandbox status --dir "$SB" &&
		fails host n1 test -e /tmp/mine &&
		host n1 test -e /var/tmp/mine &&
		[ "$(host n1 cut -d. -f1 /proc/uptime)" -lt 60 ] &&
		wait_until "sb srun -w n1 true" 60
}

ok "each node has its own name and address" nodes_have_names_and_addresses
ok "each node has its own /tmp, /var/tmp, /run and /dev/shm" \
	own_folders_are_own "plx-mine.$$"
ok "a node sees no process of another, the machine all of them" \
	processes_are_own
ok "the sandbox's folder and those of --share are everybody's" \
	others_are_shared
ok "the machine's own network is neither touched nor reached" \
	machine_keeps_its_network
ok "a network is cut in, out and both ways, slowed and healed" \
	networks_are_cut_and_heal
ok "a node's disk is filled, and has room again" disks_are_filled_and_freed
ok "a node without power is gone, and back with an empty /tmp" \
	a_node_without_power_is_away_and_comes_back

# --- nothing stays

# Mounts, namespaces or processes, also when all that watched were killed.
nothing_stays() {
	local pid of=$SB
	host n2 mkdir -p /tmp/never && host n2 mount -t tmpfs never /tmp/never ||
		return
	kill -KILL "$(cat "$SB/run/supervisor.pid")" "$(cat "$SB/run/guard.pid")"
	pollux-sandbox down --dir "$SB" || return
	grep -lszxF "POLLUX_SANDBOX=$of" /proc/[0-9]*/environ >"$WORK/left.txt"
	grep -lsF "$of" /proc/[0-9]*/mountinfo >>"$WORK/left.txt"
	cat "$WORK/left.txt"
	[ ! -s "$WORK/left.txt" ] && [ ! -e "$SB/local" ]
}
ok "nothing stays when supervisor and guard are killed and it is taken down" \
	nothing_stays
