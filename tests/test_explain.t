# SPDX-License-Identifier: MIT
# test_explain.t - why jobs have what they have, and the scheduler in numbers
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/metrics.sh" || exit 1

mkdir "$WORK/dump"
sandbox_up --nodes 3 --gpus-per-node 4 \
	--params "pollux_min_gap=0.2,pollux_interval=3,pollux_dump=$WORK/dump,pollux_ack_timeout=3"
plan 29

# What a job's record says of it.
why() {
	sb scontrol show job -o "$1" |
		sed -n 's/.*SystemComment=\[pollux [^]]*why=\([^]]*\)\].*/\1/p'
}

says() {
	why "$1"
	why "$1" | grep -qE "$2"
}

# Jobs whose record once had a reason, and has none in some look.
watch_whys() {
	: >"$WORK/known"
	: >"$WORK/silent"
	: >"$WORK/whys"
	while [ ! -e "$WORK/whys.stop" ]; do
		sb scontrol show job -o 2>/dev/null | grep -E 'JobState=(RUNNING|SUSPENDED|PENDING)' |
			while read -r line; do
				id=${line%% *}
				if [[ $line == *" why="* ]]; then
					echo "$id" >>"$WORK/known"
					echo "$line" | sed 's/.*\(why=[^]]*\).*/\1/' >>"$WORK/whys"
				elif grep -qx "$id" "$WORK/known"; then
					echo "$line" >>"$WORK/silent"
				fi
			done
		sleep 0.3
	done
}

metric() {
	sed -n "s/^pollux_$1 //p" "$SB/log/pollux.prom"
}

sum() {
	awk '{ sum += $1 } END { print sum + 0 }'
}

# The file says what the log says, once it has been written again.
as_logged() {
	local asked done refused
	asked=$(ctld_log | grep -cE 'JobId=[0-9]+ asked for ')
	done=$(ctld_log | grep -cE 'JobId=[0-9]+ has [0-9]+ GPUs on ')
	refused=$(ctld_log | grep -cE 'JobId=[0-9]+ keeps its [0-9]+ GPUs: ')
	echo "log: $asked $done $refused"
	grep -E 'asked|resizes|refusals' "$SB/log/pollux.prom"
	[ "$(metric asked_total)" = "$asked" ] &&
		[ "$(metric 'resizes_total{.*}' | sum)" = "$done" ] &&
		[ "$(metric 'refusals_total{.*}' | sum)" = "$refused" ]
}

watch_whys &
watcher=$!
small=$(submit_light small pollux,max=2 -- --restart=12)
big=$(submit_light big pollux,max=12 -- --restart=12)
ok "a job with max=2 is told that this is its limit" wait_until \
	"has_gpus $small 2 && says $small 'at its limit of 2 GPUs .its max=.'" 60
ok "and what one more would add" says "$small" '3 would (add [0-9]+ %|not help)'
ok "a job that cannot grow any more is told what keeps it" wait_until \
	"says $big '^stays: [0-9]+ GPUs, .*worth it from [0-9]+ %'" 60
ok "that includes what a restart costs" says "$big" 'a restart takes 12 s'
ok "its record has its speedup" bash -c "pollux-sandbox exec --dir $SB \
	scontrol show job $big | grep -q ' speedup=[0-9.]* why='"
mute=$(submit_light mute pollux,max=4 -- --ack=never)
ok "a job that does not answer is told why it has what it has" \
	wait_until "why $mute | grep -q ." 60
ok "which is counted as overdue" wait_until \
	"[ \"\$(metric overdue_total)\" -ge 1 ]" 60
rigid=$(submit_rigid -N1 --gpus-per-node=4 --priority=4294910000 -- 600)
wait_until "is_state $rigid RUNNING" 60
ok "GPUs of rigid jobs are counted" wait_until \
	"[ \"\$(metric 'gpus{state=\"rigid\"}')\" = 4 ]" 60
sb scancel "$mute"
ok "requests, resizes and refusals are counted as logged" \
	wait_until as_logged 60

ok "each decision that was written is made again, to the last digit" \
	decided_again 5 "$WORK"/dump/pollux-*.json
cp "$SB/log/pollux.prom" "$WORK/exported"
ok "the numbers are text as Prometheus reads it" well_formed "$WORK/exported"
ok "the dashboard asks for nothing else" asked_is_exported "$WORK/exported"
ok "and leaves nothing of it out" exported_is_asked "$WORK/exported"
ok "anybody may read them" \
	test "$(stat -c '%a %F' "$SB/log/pollux.prom")" = '644 regular file'

sb pollux-stat >"$WORK/stat.txt"
ok "pollux-stat finds the file and prints it for people" \
	grep -qE '^GPUs +[0-9]+ elastic, 4 rigid, [0-9]+ idle; ' "$WORK/stat.txt"
ok "as JSON for programs" bash -c "pollux-sandbox exec --dir $SB \
	pollux-stat --json | jq -e '.gpus.rigid == 4 and .asked_total > 3 and
		.cycle_seconds_quantiles.all.p99 >= 0'"
ok "and each job's reason" bash -c "pollux-sandbox exec --dir $SB \
	pollux-stat --jobs | grep -E '^ *$small +2 +training +[0-9.]+ +stays: '"

# Whatever state a job is in, its record says why it has what it has.
late=$(submit_light late pollux,max=4 -w "$(job_field "$rigid" NodeList)" --)
ok "a job that waits is told that there is no room" \
	wait_until "says $late 'waits: there is no room for its least 1 GPU$'" 60
sb scontrol suspend "$small"
ok "a suspended one that this is what binds it" \
	wait_until "says $small '^stays: 2 GPUs, may not be resized: it is suspended$'" 60
sb scontrol resume "$small"
sb scontrol hold "$small"
ok "one that is held while it runs, that" \
	wait_until "says $small 'may not be resized: it is held'" 60
sb scontrol release "$small"
ok "released, it is told what it was before" \
	wait_until "says $small 'at its limit of 2 GPUs'" 60
sb scancel "$rigid"
ok "who gets its place is told at once why it has what it has" \
	wait_until "is_state $late RUNNING && says $late '^(stays|grows)'" 60
side=$(submit_light side pollux,max=4 --contiguous --priority=4294910000 --)
ok "a job whose request binds it is told which" \
	wait_until "says $side 'may not be resized: it asks for nodes side by side'" 60
mold=$(sb sbatch --parsable --no-requeue --priority=4294910000 -o /dev/null \
	--scheduler-params=pollux,mode=requeue,max=2 --wrap "sleep 600")
ok "a moldable one that may not be requeued as well" \
	wait_until "says $mold 'may not be resized: it may not be requeued'" 60
bare=$(sb sbatch --parsable --priority=4294910000 -o /dev/null \
	--scheduler-params=pollux,max=2 --wrap "srun sleep 600")
ok "one without a launcher how it is to be started" wait_until \
	"says $bare 'no launcher has spoken yet: srun pollux-launch PROGRAM has to start it'" 60
touch "$WORK/whys.stop"
wait "$watcher"
ok "jobs said why in many looks" \
	test "$(wc -l <"$WORK/whys")" -ge 20
ok "and none was without a reason in any" test ! -s "$WORK/silent"

# A link at its place is replaced, what it points to is left alone.
echo precious >"$WORK/precious"
ln -sf "$WORK/precious" "$SB/log/pollux.prom"
ok "a link in its place is not followed" wait_until \
	"[ ! -L $SB/log/pollux.prom ] && grep -qx precious $WORK/precious" 30
ok "with pollux_enabled=no jobs are told that" bash -c "
	sed -i 's/pollux_min_gap=0.2/pollux_enabled=no/' $SB/etc/slurm.conf &&
	pollux-sandbox exec --dir $SB scontrol reconfigure &&
	for i in {1..100}; do
		pollux-sandbox exec --dir $SB scontrol show job $small |
			grep -q 'switched off, pollux_enabled=no' && exit 0
		sleep 0.3
	done; exit 1"
