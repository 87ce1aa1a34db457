# SPDX-License-Identifier: MIT
# test_hosts.t - every node is a host: what becomes of a job when one is lost
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/hosts.sh" || exit 1

[ "$(id -u)" = 0 ] || skip_all "hosts are namespaces, which only root may make"
need_daemons
use_build_tree
unshare --net --uts --ipc --mount --pid --fork true 2>/dev/null ||
	skip_all "this machine lets not even root make namespaces"
network() {
	ip -o link show && ip -4 route show && ip -4 -o address show
}
network >"$WORK/network.txt"
mkdir "$WORK/samples"
export POLLUX_SAMPLE_LOG=$WORK/samples
# As a site would that wants its nodes back soon: 300 s are common.
sandbox_up --hosts --nodes 3 --gpus-per-node 2 --conf-extra SlurmdTimeout=30
plan 28

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

# Who is not root is told so, and has no sandbox.
others_are_refused() {
	local rc=0
	chmod 777 "$WORK"
	setpriv --reuid=65534 --clear-groups pollux-sandbox --dir "$WORK/none" \
		up --hosts >"$WORK/none.txt" 2>&1 || rc=$?
	chmod 755 "$WORK"
	cat "$WORK/none.txt"
	[ "$rc" = 1 ] && [ ! -e "$WORK/none" ] &&
		grep -q "^pollux-sandbox: --hosts needs root" "$WORK/none.txt"
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

has_netem() {
	unshare --net tc qdisc add dev lo root netem delay 1ms 2>/dev/null
}

# connect_ms FROM TO
connect_ms() {
	host "$1" python3 -c '
import socket, sys, time
begin = time.monotonic()
socket.create_connection((sys.argv[1], 6818), 10).close()
print(int((time.monotonic() - begin) * 1000))' "$2"
}

# What one side sends is late, so an answer is. Kernels without netem say so,
# and the network is as it was.
networks_are_late_or_it_is_told() {
	local ms
	if has_netem; then
		node net n2 slow=400 && ms=$(connect_ms n1 n2) || return
		echo "# netem: a connection took $ms ms"
		[ "$ms" -ge 400 ] && node net n2 slow && ms=$(connect_ms n1 n2) &&
			[ "$ms" -ge 100 ] && node net n2 heal || return
	else
		fails node net n2 slow=400 && tail -n 3 "$WORK/verbs.txt" |
			grep "this kernel has no netem (sch_netem); a rate works" || return
	fi
	ms=$(connect_ms n1 n2) && [ "$ms" -lt 400 ] &&
		sends n1 n2 && sends n2 n1
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
ok "who is not root gets a sentence, and nothing is made" others_are_refused
ok "a network is cut in, out and both ways, slowed and healed" \
	networks_are_cut_and_heal
ok "what a node sends is late, or the kernel's lack is told" \
	networks_are_late_or_it_is_told
ok "a node's disk is filled, and has room again" disks_are_filled_and_freed
ok "a node without power is gone, and back with an empty /tmp" \
	a_node_without_power_is_away_and_comes_back

# --- a job that trains on them

samples=10000
training="--samples=$samples --batch=256 --max-batch=256 --epochs=1000"
training+=" --emulate-gpu=compute --time-scale=0.3"
events=$WORK/steady.ckpt/events.jsonl

# trains_on NODES RANKS: the newest generation is of this shape, and commits.
trains_on() {
	jq -se 'map(select(.event == "start")) | last |
		.nodes == $nodes and .ranks == ($ranks | tonumber) and
		.start == ($now | tonumber)' --arg nodes "$1" \
		--arg ranks "$2" --arg now "$(newest)" "$events"
}

grows_over_hosts() {
	steady=$(submit_elastic steady pollux,min=1,max=6 "$training") || return
	wait_until "trains $steady && trains_on 'n[1-3]' 6" 60
}

# A rigid job takes a node, then another: the rest follows.
shrinks_and_moves() {
	local taker
	taker=$(submit_rigid -w n3 --gpus-per-node=2 -- 600)
	wait_until "is_state $taker RUNNING && trains_on 'n[1-2]' 4" 60 || return
	sb scancel "$taker"
	taker=$(submit_rigid -w n2 --gpus-per-node=2 -- 600)
	wait_until "is_state $taker RUNNING && trains_on 'n[1,3]' 4" 60 || return
	sb scancel "$taker"
	wait_until "trains_on 'n[1-3]' 6" 60
}

samples_once() {
	bash "$POLLUX_SRCDIR/tests/samples.sh" "$POLLUX_SAMPLE_LOG" $samples \
		"$(epochs_done)" so-far
}

# An epoch whose end is rolled back is told again when it is done again.
epochs_done() {
	sed -n 's|^epoch \([0-9]*\)/.*|\1|p' "$WORK/steady.out" | sort -un |
		wc -l
}

# Long enough for beats, short enough for no checkpoint but the first.
warm_up() {
	sleep 4
}

# goes_on_without NODE COMMAND...: it trains on the others, from the memory of
# one of them, and has lost one step at most.
goes_on_without() {
	local gone=$1 before begin lost
	shift
	warm_up
	before=$(newest)
	begin=${EPOCHREALTIME/./}
	"$@" && goes_on_after "$before" "$begin" || return
	lost=$(steps_lost "$before")
	echo "# $*: next step after $took ms, $lost steps lost" >&3
	[ "$lost" -le 1 ] && [ "$took" -lt $((5000 * POLLUX_PATIENCE)) ] &&
		jq -se 'map(select(.event == "lost")) | last |
			.nodes == $gone' --arg gone "$gone" "$events" &&
		rescued_where_it_goes_on
}

# The state is what a rank that is left had, not an older one of a disk.
rescued_where_it_goes_on() {
	local from
	from=$(sed -n 's/^from //p' "$POLLUX_SAMPLE_LOG/$(newest).0")
	grep -q "rescued step $from before it leaves" "$WORK/steady.out"
}

comes_back() {
	"$@" && wait_until "trains_on 'n[1-3]' 6" 60
}

# Until Slurm knows of the node (SlurmdTimeout) the old step is in its list, and
# no GPU of the job can be sold: nobody can tell what that step holds.
others_get_gpus_meanwhile() {
	local taker
	# sinfo calls one completing that is down and has jobs to end.
	wait_until "sb scontrol -o show node n3 | grep -q 'State=DOWN'" 60 || return
	taker=$(submit_rigid -w n2 --gpus-per-node=1 -- 600)
	wait_until "is_state $taker RUNNING && began_alone" 60 || return
	sb scancel "$taker"
	wait_until "trains_on 'n[1-2]' 4" 60
}

began_alone() {
	trains_on 'n[1-2]' 3 || trains_on n1 2 || trains_on n1 1
}

# What a cut off rank commits or saves after the others went on.
old_ranks_are_silent() {
	local old
	old=$(cat "$WORK/cut")
	commits "$old" | sort | uniq -c >"$WORK/commits.1"
	warm_up
	commits "$old" | sort | uniq -c | diff "$WORK/commits.1" - &&
		[ "$((10#$(cut -d' ' -f1 "$WORK/steady.ckpt/fence")))" = \
			$(($(newest) + 1)) ]
}

remember_cut() {
	newest >"$WORK/cut" && node net n3 "$1"
}

old_ranks_are_gone() {
	local old
	old=$(cat "$WORK/cut")
	wait_until "[ \"\$(ranks_of $old | wc -l)\" = 0 ]" 60 &&
		old_ranks_are_silent
}

# Processes, on any host.
ranks_of() {
	grep -lszxF "POLLUX_STARTS=$1" /proc/[0-9]*/environ |
		xargs -r grep -lszxF "POLLUX_SANDBOX=$SB"
}

# Silent for longer than it takes to ask, but there.
stays() {
	local before
	before=$(newest)
	"$@" && wait_until "commits_more $before" 30 &&
		[ "$(newest)" = "$before" ]
}

commits_more() {
	local count
	count=$(commits "$1" | wc -l)
	sleep 0.5
	[ "$(commits "$1" | wc -l)" -gt "$count" ]
}

ranks_stand_still() {
	host n2 pkill -STOP -x pollux-train || return
	warm_up
	host n2 pkill -CONT -x pollux-train
}

network_is_slow() {
	node net n3 slow=2mbit || return
	warm_up
}

launcher_is_cut_off() {
	node net n1 cut
	warm_up
	node net n1 heal
}

# It has ranks on no other node: nobody is left who could save.
loses_all_ranks() {
	local taker lost
	taker=$(submit_rigid -N2 -w n1,n2 --gpus-per-node=2 -- 600)
	wait_until "is_state $taker RUNNING && trains_on n3 2" 60 || return
	warm_up
	lost=$(times_lost n3)
	node power n3 off && wait_until "[ \$(times_lost n3) -gt $lost ]" 15 ||
		return
	sb scancel "$taker"
	wait_until "trains_on 'n[1-2]' 4" 60
}

# How often the launcher has missed that node alone.
times_lost() {
	jq -s 'map(select(.event == "lost" and .nodes == $node)) | length' \
		--arg node "$1" "$events"
}

adds_up() {
	sb scancel "$steady" && wait_until "ended $steady" 30 &&
		{ wait_until accounts_agree 20 || accounts_agree; }
}

nodes_are_well() {
	[ "$(sb sinfo -h -N -p main -t alloc,mix,idle -o %N | sort -u |
		wc -l)" = 3 ]
}

ok "a job grows over three hosts" grows_over_hosts
ok "it shrinks and moves from host to host" shrinks_and_moves
ok "ranks stand still on a node that answers: it is not lost" \
	stays ranks_stand_still
ok "the launcher is cut off from all others: it takes none for lost" \
	stays launcher_is_cut_off
ok "a node without power: it goes on at once, from a peer's memory" \
	goes_on_without n3 node power n3 off
ok "other jobs get their GPUs once Slurm knows of it" others_get_gpus_meanwhile
ok "it grows again when the node has power" comes_back node power n3 on
ok "a node that is cut off: the others go on" \
	goes_on_without n3 remember_cut cut
ok "the ranks on the other side commit and save nothing" old_ranks_are_silent
ok "the network heals: it trains on all nodes, none is down for Slurm" \
	eval "comes_back node net n3 heal && wait_until nodes_are_well 60"
ok "no rank of the other side is left" old_ranks_are_gone
ok "the network of a node is slow: it is not lost" stays network_is_slow
ok "nor when it is as before" stays node net n3 heal
ok "the only node with ranks loses its power: it is missed, too" loses_all_ranks
ok "and used again when it is back" comes_back node power n3 on
ok "every sample was used once in each epoch all the while" samples_once
ok "sacct's GPU-seconds of it are those in the log" adds_up

# --- nothing stays

# Mounts, namespaces or processes, also when all that watched were killed.
nothing_stays() {
	local pid of=$SB
	host n2 mkdir -p /tmp/never && host n2 mount -t tmpfs never /tmp/never ||
		return
	kill -KILL "$(cat "$SB/run/supervisor.pid")" "$(cat "$SB/run/guard.pid")"
	pollux-sandbox down --dir "$SB" || return
	grep -lszxF "POLLUX_SANDBOX=$of" /proc/[0-9]*/environ >"$WORK/left.txt"
	# Who makes a namespace meanwhile has copies of all mounts, as another test.
	for pid in $(grep -lsF "$of" /proc/[0-9]*/mountinfo | cut -d/ -f3); do
		tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null |
			grep '^POLLUX_SANDBOX=' | grep -qvxF "POLLUX_SANDBOX=$of" ||
			echo "$pid $(tr '\0' ' ' <"/proc/$pid/cmdline")"
	done >>"$WORK/left.txt"
	cat "$WORK/left.txt"
	[ ! -s "$WORK/left.txt" ] && [ ! -e "$SB/local" ]
}
ok "nothing stays when supervisor and guard are killed and it is taken down" \
	nothing_stays
