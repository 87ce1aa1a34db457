# SPDX-License-Identifier: MIT
# test_top.t - pollux-top on a terminal and without, on a real cluster
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

command -v python3 >/dev/null || skip_all "python3 is not installed"
sandbox_up "$untyped" --nodes 3 --gpus-per-node 4 --params pollux_min_gap=0.2

export LC_ALL=C.UTF-8 TERM=xterm
unset NO_COLOR

# on_screen ACTION...: pollux-top on a terminal (see screen.py)
on_screen() {
	sb python3 "$POLLUX_SRCDIR/tests/screen.py" "$@" -- pollux-top
}

# top OPTION...: without one.
top() {
	sb pollux-top "$@" </dev/null
}

json() {
	top --once --json | jq -e "$1"
}

# What pollux-top says of the job's GPUs is what slurmctld says.
devices_agree() {
	top --once --json | jq -r --arg job "$1" '.by_node[] |
		select(any(.jobs[]; . == $job)) | .node as $node |
		.jobs | to_entries[] | select(.value == $job) |
		"\($node) \(.key)"' >"$WORK/said.txt"
	devices_of "$1" | while read -r node list; do
		for part in ${list//,/ }; do
			seq "${part%-*}" "${part#*-}" | sed "s/^/$node /"
		done
	done >"$WORK/held.txt"
	[ -s "$WORK/held.txt" ] && diff "$WORK/held.txt" "$WORK/said.txt"
}


# As from a shell: ^Z, something else, and on with it.
stopped_and_continued() {
	sb python3 "$POLLUX_SRCDIR/tests/screen.py" "wait=$row_grows" \
		"type=$(printf '\032')" 'wait=^the shell' 'type=\r' \
		"wait=$row_grows" type=q 'wait=^the end' end=0 -- \
		bash -c 'set -m; pollux-top; echo "the shell"; read -r; fg
			echo "the end"'
}

# No hue in any cell; reverse and bold are none.
without_colour() {
	NO_COLOR=1 on_screen "wait=$row_grows" "save=$WORK/cells" type=q end=0 &&
		jq -r '.[][][1]' "$WORK/cells" | sort -u | tee "$WORK/paints" |
		grep -qx '0;1' && ! grep -E '(^|;)[34][0-7]' "$WORK/paints"
}

# Plain tables, one after the other.
plain_tables() {
	"$@" >"$WORK/plain.txt" 2>&1
	cat "$WORK/plain.txt"
	! grep -q "$(printf '\033')" "$WORK/plain.txt" &&
		[ "$(grep -c '^ *JOB  NAME' "$WORK/plain.txt")" -eq 2 ] &&
		grep -qE "^ +$grows +grows +RUNNING +n[1-3]:" "$WORK/plain.txt"
}

on_a_dumb_terminal() {
	TERM=dumb sb python3 "$POLLUX_SRCDIR/tests/screen.py" --size=250x40 \
		'wait=^ *JOB  NAME' end=0 show -- pollux-top -n 2 -i 0.1
}

# order OPTION...: the names of the jobs as they come.
order() {
	top --once "$@" | awk 'NR > 2 { print $2 }' | tr '\n' ' '
}

plan 29

grows=$(submit_light grows pollux,max=4 -- --tell=0.5 --samples=10000000)
small=$(submit_light small pollux,max=2 -- --tell=0.5 --noise=1,0)
rigid=$(sb sbatch --parsable -J $'rigid\033[2J\nJOB' --gpus-per-node=1 \
	--priority=4294910000 -o /dev/null --wrap 'sleep 1000')
waits=$(sb sbatch --parsable -J waits -N3 --gpus-per-node=4 --hold \
	-o /dev/null --wrap true)
row_grows="^[A-Z] +$grows grows +RUNNING +4 "
wait_until "has_gpus $grows 4 && has_gpus $small 2 && is_state $rigid RUNNING" 60

ok "a row has GPUs, batch, goodput, efficiency, a bar, and the time left" \
	on_screen "wait=${row_grows} *[0-9]+ +[0-9]+/s +[0-9]+% [^ ]+ +[0-9]+% +[0-9hms]+ " \
	type=q end=0
ok "and how long ago it was changed" on_screen \
	"wait=$row_grows.* [0-9]+[sm]\$" type=q end=0
ok "each GPU has the letter of its job, or is idle" on_screen \
	'wait=^n1 [A-C.]{4}  n2 [A-C.]{4}  n3 [A-C.]{4}$' type=q end=0
ok "a name that holds commands for the terminal is shown harmless" \
	on_screen "wait=^[A-C] +$rigid rigid.\\[2J." size=150x24 \
	"wait=^[A-C] +$rigid rigid.\\[2J.JOB " type=q end=0
ok "the head counts GPUs and jobs, and tells the utility" on_screen \
	'wait=^[0-9:]{8}  3 nodes, 7 of 12 GPUs busy; 3 jobs running, 1 waiting; utility 0\.[0-9]+$' \
	type=q end=0
ok "below the table it says why, of the job pointed to" on_screen \
	"wait=^$grows: .*GPUs" 'type=\e[B' "wait=^$small: .*limit of 2 GPUs" \
	type=q end=0
ok "a key sorts, and turns the order when pressed again" on_screen \
	type=j "wait=grows.*(\n.*)*small.*(\n.*)*rigid.*(\n.*)* waits" type=j \
	"wait= waits.*(\n.*)*rigid.*(\n.*)*small.*(\n.*)*grows" type=q end=0
ok "a job's number and Enter lead to its story, Esc leads back" on_screen \
	size=80x40 "wait=$row_grows" "type=$grows\r" \
	"wait=^job $grows  grows" \
	'wait=^goodput +[0-9]+ useful samples/s, efficiency [0-9]+ %' \
	'wait=^done +[0-9.]+ %, .* left' 'wait=^resizes +[1-9]' \
	'wait=^why +[a-z]' 'wait=^ +1 +[0-9]+/s  #' \
	'wait=^  [0-9:]{8}  1@n[1-3] ' 'wait=^  [0-9:]{8}  4@n[][0-9,-]+ .*\.\.\.$' \
	'type=\e' "wait=$row_grows" type=q end=0
ok "a job that nobody has is answered in a word" on_screen \
	"wait=$row_grows" "type=99999\r" 'wait=^no job 99999 here' type=q end=0
ok "q leads back from help and from the picture of all nodes" on_screen \
	"wait=$row_grows" type=h 'wait=^Keys' type=q "wait=$row_grows" type=a \
	"gone=$row_grows" 'wait=^n1 ' type=qq end=0
ok "a larger window shows more, a tiny one what fits" on_screen \
	"wait=$row_grows" 'gone= WHY$' size=150x30 'wait= WHY$' \
	'wait= grows +[^ ]+ +RUNNING .* stays: at its limit of 4 GPUs' \
	size=12x4 'gone=NAME' 'wait= JOB GPUS$' size=1x1 'wait=^[0-9]$' \
	size=80x24 "wait=$row_grows" type=q end=0
ok "jobs that have ended can be left out" on_screen \
	"run=pollux-sandbox exec --dir $SB scancel $waits" \
	"wait=$waits waits +CANCELLED" type=f "gone=$waits waits" \
	type=f "wait=$waits waits" type=q end=0

cat >"$WORK/late.sh" <<END
. "$POLLUX_SRCDIR/tests/light.sh"
pollux-sandbox exec --dir "$SB" sbatch -J late --scheduler-params=pollux,max=4 \
	-o /dev/null --wrap "exec $light --ack=3 --tell=0.5 --log=$WORK/late.light"
END
ok "a change seen from here says from what to what, and why" on_screen \
	"wait=$row_grows" "run=bash $WORK/late.sh" \
	'wait=late +RUNNING .* [12]>[2-4] [0-9]+s$' "type=$((waits + 1))\r" "wait=^job $((waits + 1))  late" \
	'wait=^Changes seen from here:' \
	'wait=[12] > [2-4] GPUs on n[1-3]:[1-4].*: [a-z]+ ' type=qq end=0
ok "SIGTERM ends it, and the terminal is as it was" on_screen \
	"wait=$row_grows" signal=TERM end=0
ok "so does a hangup" on_screen "wait=$row_grows" signal=HUP end=0
ok "so does ^C" on_screen "wait=$row_grows" "type=$(printf '\003')" end=0
ok "^Z leads to the shell, and fg back" stopped_and_continued
ok "NO_COLOR takes colours, and nothing else" without_colour
ok "with slurmctld away it says so and shows what it saw" on_screen \
	"wait=$row_grows" "run=kill $(cat "$SB/run/slurmctld.pid")" \
	'wait=^[0-9]+s ago: slurmctld does not answer; is it running\?$' \
	"wait=$row_grows" type=h 'wait=^Keys' type=q \
	"run=pollux-sandbox restart --dir $SB slurmctld" \
	'wait=^[0-9:]{8}  3 nodes' "wait=$row_grows" type=q end=0

ok "without a terminal it prints plain tables" plain_tables top -n 2 -i 0.1
ok "so it does with --plain on one" plain_tables sb \
	script -qec 'pollux-top --plain -n 2 -i 0.1' /dev/null
ok "and on one that can do nothing else" plain_tables on_a_dumb_terminal
ok "JSON has all of it" json ".jobs[] | select(.job == \"$grows\") |
	.gpus == 4 and .state == \"RUNNING\" and .user == \"$(id -un)\" and
	.elastic.batch == .elastic.per_gpu * .elastic.passes * 4 and
	.elastic.goodput > 0 and .elastic.left_s > 0 and
	(.elastic.efficiency > 0 and .elastic.efficiency <= 1) and
	(.elastic.progress > 0 and .elastic.progress < 1) and
	.elastic.speedup > 0 and .elastic.resizes >= 1 and
	.changed >= .start and .start >= .submit and
	.changed <= now and (.why | test(\"GPUs\"))"
ok "of a rigid job what there is" json ".jobs[] | select(.job == \"$rigid\") |
	.elastic == null and .gpus == 1 and .changed == null and
	.why == \"rigid\""
ok "and of the cluster" json '.nodes == 3 and .gpus == 12 and
	.utility > 0 and .utility < 1 and (.by_node | length) == 3 and
	([.by_node[].jobs[] | select(.)] | length) == .gpus_busy'
ok "each GPU is where slurmctld says" devices_agree "$grows"
ok "--sort and --reverse put jobs in order" eval \
	'[[ "$(order --sort=job)" == "grows small "* ]] &&
	[[ "$(order -s name -r)" == "waits small "* ]]'
ok "--user leaves out the others" eval \
	'[ -z "$(order --user=nobody)" ] && [[ "$(order -u "$(id -un)")" == *grows* ]]'
ok "a column that there is not is misuse" eval \
	'top --once --sort=colour; [ $? -eq 2 ]'
