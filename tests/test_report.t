# SPDX-License-Identifier: MIT
# test_report.t - pollux-report and pollux-top tell what Slurm did
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1

sandbox_up --nodes 2 --gpus-per-node 4
log=$SB/log/slurmctld.log

report() {
	sb pollux-report --since now-1hours "$@"
}

# of JOB EXPRESSION: what the report's JSON says of a job.
of() {
	report --json | jq -er ".jobs[] | select(.job == \"$1\") | $2"
}

# A job that gives up a node by stock Slurm's means.
shrinks_itself() {
	sb sbatch --parsable -J shrinks -N2 --gpus-per-node=2 \
		-o "$WORK/shrinks.out" -D "$WORK" --comment 'a|note' --wrap \
		'sleep 3; scontrol update jobid=$SLURM_JOB_ID NumNodes=1; sleep 3'
}

two_shapes() {
	[ "$(of "$shrinks" '[.shapes[].gpus] | join(",")')" = 4,2 ] &&
		[ "$(of "$shrinks" '.gpu_seconds == ([.shapes[] |
			(.end - .start) * .gpus] | add)')" = true ] &&
		[ "$(of "$shrinks" '.resizes')" = 1 ] &&
		[ "$(of "$shrinks" '.elastic')" = false ]
}

array_told() {
	[ "$(of "${array}_1" .gpu_seconds)" -ge 1 ] &&
		[ "$(of "${array}_2" .state)" = COMPLETED ]
}

elastic_told() {
	[ "$(of "$elastic" .elastic)" = true ] &&
		[ "$(of "$elastic" .resizes)" -ge 1 ] &&
		[ "$(of "$elastic" '.pause_s.median > 0 and
			.pause_s.median <= .pause_s.worst')" = true ]
}

# Also those of tasks of an array, whose lines have their own numbers.
log_agrees() {
	report --log "$log" && report --json --log "$log" |
		jq -e '.log.shapes_agreed >= 4 and .log.differences == []'
}

# The same log, with a GPU-second more in one line.
log_differs() {
	awk -v job="JobId=$elastic held" 'index($0, job) && !done {
			$(NF - 1) = $(NF - 1) + 1
			done = 1
		}
		{ print }' "$log" >"$WORK/false.log"
	report --log "$WORK/false.log" >"$WORK/false.txt"
	[ $? -eq 1 ] && grep "job $elastic from .*: sacct says" "$WORK/false.txt"
}

without_lines() {
	grep -v ' held ' "$log" >"$WORK/short.log"
	report --log "$WORK/short.log" >"$WORK/short.txt"
	[ $? -eq 1 ] && grep "job $elastic: the log has no" "$WORK/short.txt"
}

parsable_is_the_same() {
	sb sacct -S now-1hours -D -p --delimiter="<$(date +%N)$RANDOM>" -o \
		jobid,jobidraw,jobname,state,submit,start,end,alloctres,nodelist,user,account,partition,systemcomment,comment \
		>"$WORK/sacct.txt" || return 1
	pollux-report --from "$WORK/sacct.txt" >"$WORK/from_file.txt" &&
		report >"$WORK/from_sacct.txt" &&
		diff "$WORK/from_file.txt" "$WORK/from_sacct.txt"
}

# whys OPTION: why each shape of the elastic job was left.
whys() {
	sb pollux-report -j "$elastic" --json "$1" | jq -c '[.jobs[].shapes[].why]'
}

# What its user can read says the same as slurmctld's log.
events_say_the_same() {
	local events log_says
	events=$(whys --events="$WORK/elastic.ckpt/events.jsonl") &&
		log_says=$(whys --log="$log") || return 1
	echo "events $events, log $log_says"
	[ "$events" = "$log_says" ] && [[ $events == *GPUs* ]]
}

# one_sentence CODE REGEX COMMAND...: it fails so, with a line that matches.
one_sentence() {
	local code=$1 regex=$2 rc
	shift 2
	"$@" >/dev/null 2>"$WORK/sentence.txt"
	rc=$?
	cat "$WORK/sentence.txt"
	[ "$rc" -eq "$code" ] && [ "$(wc -l <"$WORK/sentence.txt")" -eq 1 ] &&
		grep -qE "$regex" "$WORK/sentence.txt"
}

top_shows() {
	sb pollux-top --once >"$WORK/top.txt" && cat "$WORK/top.txt" &&
		grep -qE "^ +$elastic +elastic .*n[12]:[1-4]" "$WORK/top.txt" &&
		grep -qE "[0-9]+/s" "$WORK/top.txt"
}

plan 14
shrinks=$(shrinks_itself)
# Elastic, but without a launcher: slurmctld's log has its shapes.
array=$(sb sbatch --parsable -J array --array=1-2 --scheduler-params=pollux,max=1 \
	-o /dev/null --wrap 'sleep 2')
ok "jobs that are never resized end" wait_until "ended $shrinks ${array}_1 ${array}_2" 30
elastic=$(submit_elastic elastic pollux,max=8 --epochs=30 --batch=128 \
	--emulate-gpu=compute)
ok "pollux-top shows an elastic job's GPUs and goodput" \
	wait_until top_shows 20
ok "the elastic job ends" wait_until "ended $elastic" 60
ok "a job that shrank has two shapes, and its GPU-seconds are theirs" \
	wait_until two_shapes 10
ok "tasks of an array are jobs of their own" wait_until array_told 10
ok "an elastic job has resizes, and pauses that its launcher measured" \
	wait_until elastic_told 10
ok "sacct and slurmctld's log agree" wait_until log_agrees 10
ok "the launcher's events have the log's reasons" events_say_the_same
ok "a false line in the log is found" log_differs
ok "a missing line in the log is found" without_lines
ok "the output of sacct may come from a file" parsable_is_the_same
ok "a wrong job id is answered with one sentence" one_sentence 1 \
	'^pollux-report: sacct failed: .*abc' report --jobs=abc
ok "a file that is not there is answered with one sentence" one_sentence 1 \
	'^pollux-report: /nope: No such file' pollux-report --from=/nope
echo "bound to fail" >"$WORK/text"
ok "a text that is not sacct's is answered with one sentence" one_sentence 1 \
	'^pollux-report: line 1: want the column names' \
	pollux-report --from="$WORK/text"
report --log "$log" | diag
