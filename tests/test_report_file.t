# SPDX-License-Identifier: MIT
# test_report_file.t - pollux-report's formats and numbers, from a recorded
# accounting database: tests/data/README
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
use_build_tree
export TZ=UTC
data=$POLLUX_SRCDIR/tests/data

report() {
	pollux-report --from="$data/sandbox.sacct" "$@"
}

# With a delimiter that no user can guess.
unguessed() {
	sed 's/|/<8106354927>/g'
}

# as_recorded NAME OPTION...: exactly what stands in data/NAME.want.
as_recorded() {
	local want=$data/$1.want
	shift
	report "$@" >"$WORK/now.txt" || return 1
	[ -z "${POLLUX_RECORD:-}" ] || cp "$WORK/now.txt" "$want"
	diff "$want" "$WORK/now.txt"
}

# The same of JSON; the last digits are the mathematical library's.
json_as_recorded() {
	local want=$data/json.want
	report --json --log="$data/sandbox.ctld" | jq 'walk(if type == "number"
		then (. * 100 | round) / 100 else . end)' >"$WORK/now.txt" ||
		return 1
	[ -z "${POLLUX_RECORD:-}" ] || cp "$WORK/now.txt" "$want"
	diff "$want" "$WORK/now.txt"
}

# GPU-seconds of a user, straight from sacct's rows.
gpu_seconds_of() {
	awk -F'<8106354927>' -v user="$1" 'NR > 1 && $9 == user {
		match($7, /gres\/gpu=[0-9]+/)
		gpus = RSTART ? substr($7, RSTART + 9, RLENGTH - 9) : 0
		from = $4 > $5 ? $4 : $5
		sum += gpus * ($6 - from)
	} END { print sum }' "$data/sandbox.sacct"
}

sums_are_sacct_s() {
	local user
	for user in ada grace alan; do
		[ "$(report --by=user --json | jq -e ".groups[] |
			select(.group == \"$user\") | .gpuhours * 3600 |
			round")" -eq "$(gpu_seconds_of $user)" ] || return 1
	done
}

periods_are_the_whole() {
	local by
	for by in hour day week month year user account partition state name; do
		[ "$(report --by=$by --json | jq '[.groups[].gpuhours] | add *
			3600 | round')" -eq 454 ] || return 1
	done
}

# A job with four GPUs of eight, from 0 to 100, and its double: half of the
# cluster was each one's share, so both had what was theirs.
rho_is_what_it_says() {
	printf '%s\n' 'JobID|State|Submit|Start|End|AllocTRES' \
		'1|COMPLETED|1000|1000|1100|gres/gpu=4' \
		'2|COMPLETED|1000|1000|1100|gres/gpu=4' \
		'3|COMPLETED|2000|2100|2200|gres/gpu=8' >"$WORK/rho.sacct"
	pollux-report --from="$WORK/rho.sacct" -nP --format=JobID,Rho |
		diff - <(printf '1|1.00\n2|1.00\n3|2.00\n') &&
		pollux-report --from="$WORK/rho.sacct" -nP -j3 --gpus=4 \
			--format=rho | grep -x 1.00
}

# A model by which a GPU trains a sample in 10 ms, whatever it does, and
# twice the GPUs twice as many: 2 s on 4 and 4 s on 2 are 8 s on 2.
fixed_is_what_it_says() {
	local hint='batch=64,4096,1,4096,0 model=1e-9,0.01,0,0,0,0,1 noise=0,1 profiled=1,4 now=64,0 progress=1 restart=1'
	printf '%s\n' 'JobID|State|Submit|Start|End|AllocTRES|NodeList|Comment' \
		"1|RESIZING|1000|1000|1002|gres/gpu=4|n1|[pollux v=1 launcher=0 ack=0 phase=training resizes=1 pause=0,0 $hint]" \
		"1|COMPLETED|1002|1000|1006|gres/gpu=2|n1|[pollux v=1 launcher=0 ack=0 phase=done resizes=1 pause=0,0 $hint]" |
		unguessed >"$WORK/fixed.sacct"
	pollux-report --from="$WORK/fixed.sacct" --fixed=2 --json |
		jq -e '.jobs[0].fixed | (.s - 8 | fabs) < 0.01 and
			(.low_s - 8 | fabs) < 0.01 and .gpus == 2 and
			.beyond == false' &&
		pollux-report --from="$WORK/fixed.sacct" --fixed=9 --json |
		jq -e '.jobs[0].fixed.beyond'
}

filters() {
	[ "$(report -n -P --format=jobid -u ada | paste -sd,)" = 1,5,7 ] &&
		[ "$(report -n -P --format=jobid -A theory | paste -sd,)" = 3,6 ] &&
		[ "$(report -n -P --format=jobid -j 2,5 | paste -sd,)" = 2_1,2_2,5 ] &&
		[ "$(report -n -P --format=jobid -r nope | wc -l)" -eq 0 ]
}

# refused REGEX OPTION...: with a sentence, and exit code 2.
refused() {
	local regex=$1 rc
	shift
	report "$@" >"$WORK/refused.txt" 2>&1
	rc=$?
	cat "$WORK/refused.txt"
	[ "$rc" -eq 2 ] && grep -qE "$regex" "$WORK/refused.txt"
}

# Beside the table, and where their names are pointed at.
page_explains() {
	report --log="$data/sandbox.ctld" --html >"$WORK/page.html"
	for name in Lost FixedRange Rho; do
		grep -E "<dt><b>$name</b></dt><dd>.{40,}</dd>" "$WORK/page.html" &&
			grep -oE "<th data-t=\"[^\"]{20,}\">$name</th>" \
				"$WORK/page.html" || return 1
	done
}

# One whole page: well formed, nothing fetched, and no markup of a user's.
page_is_safe() {
	printf '%s\n' 'JobID|JobName|State|Submit|Start|End|AllocTRES|NodeList' \
		"1|<script>alert('x')</script>\"&|COMPLETED|1|2|9|gres/gpu=4|\"<b>" |
		unguessed >"$WORK/hostile.sacct"
	pollux-report --from="$WORK/hostile.sacct" --html="$WORK/page.html" &&
		[ "$(grep -c '<script' "$WORK/page.html")" -eq 1 ] &&
		grep -qF '&#60;script&#62;alert(&#39;x&#39;)' "$WORK/page.html" &&
		grep -qF '4 GPUs on &#34;&#60;b&#62; for 7s' "$WORK/page.html" &&
		! grep -qE 'https?:|src=|@import|url\(' "$WORK/page.html"
}

# A bar for each shape, with what was measured and why it was left.
page_has_all() {
	report --log="$data/sandbox.ctld" --html >"$WORK/page.html" &&
		[ "$(grep -o '<rect' "$WORK/page.html" | wc -l)" -eq 19 ] &&
		grep -qF 'goodput 5532/s, efficiency 93 %&#10;then: moves 4 GPUs' \
			"$WORK/page.html" && tail -n 1 "$WORK/page.html" |
		grep -q '</html>'
}

# event JOB SECOND KIND FROM TO WHY: a line of a launcher's.
event() {
	printf '{"event":"%s","job":"%s","time":%s,"from_gpus":%s,%s"why":"%s"}\n' \
		"$3" "$1" "$2" "$4" "${5:+"\"to_gpus\":$5,"}" "$6"
}

# The nearest that led from one shape to the next, of the same job; and text
# that is nothing of ours is no harm.
events_explain() {
	{
		event 1 1795365600 resize 4 6 later
		event 1 1795365580.4 resize 4 6 sooner
		event 8 1795365580.2 resize 4 6 else
		echo '{"event":"resize"'
		event 1 1795365595 resize 2 6 other
	} >"$WORK/1.jsonl"
	event 8 1795365579.8 park 1 '' 'no room' >"$WORK/8.jsonl"
	report --json --events="$WORK/1.jsonl" --events="$WORK/8.jsonl" |
		jq -c '[.jobs[] | .job as $job | .shapes[] | select(.why // "" |
			test("sooner|later|else|other|no room")) |
			[$job, .gpus, .why]]' >"$WORK/whys.txt"
	cat "$WORK/whys.txt"
	[ "$(cat "$WORK/whys.txt")" = '[["1",4,"sooner"],["8",1,"no room"]]' ]
}

# sentence REGEX OPTION...: it fails so, with one line that matches.
sentence() {
	local regex=$1
	shift
	! report "$@" >/dev/null 2>"$WORK/sentence.txt" || return 1
	cat "$WORK/sentence.txt"
	[ "$(wc -l <"$WORK/sentence.txt")" -eq 1 ] &&
		grep -qE "$regex" "$WORK/sentence.txt"
}

# Ada's job 1 is all that ran. Its name ends her row and is one of Alan's.
forged() {
	printf '%s\n' 'JobID|JobName|User|State|Submit|Start|End|AllocTRES' \
		'1|x|ada|COMPLETED|1|2|9|gres/gpu=1' \
		'2|y|alan|COMPLETED|1|2|90000|gres/gpu=8' >"$WORK/forged.sacct"
	! pollux-report --from="$WORK/forged.sacct" >"$WORK/forged.txt" \
		2>"$WORK/sentence.txt" && [ ! -s "$WORK/forged.txt" ] &&
		[ "$(wc -l <"$WORK/sentence.txt")" -eq 1 ] &&
		grep -F 'give sacct a long random --delimiter' \
			"$WORK/sentence.txt" || return 1
	# The same name, where its bars are no delimiters.
	unguessed <<-'END' >"$WORK/forged.sacct"
		JobID|JobName|User|State|Submit|Start|End|AllocTRES
	END
	printf '%s\n' '1<8106354927>x|ada|COMPLETED|1|2|9|gres/gpu=1' \
		'2|y<8106354927>ada<8106354927>COMPLETED<8106354927>1<8106354927>2<8106354927>9<8106354927>gres/gpu=1' \
		>>"$WORK/forged.sacct"
	[ "$(pollux-report --from="$WORK/forged.sacct" -nP --format=jobid,user)" = '1|ada' ]
}

# as_printed: "$ pollux-report ..." in docs/report.md, and what stands below it.
as_printed() {
	(cd "$data" && sed -n 's/^    //p' "$POLLUX_SRCDIR/docs/report.md" |
		while read -r line; do
			[[ $line != '$ '* ]] || eval "${line#$ }" || exit
		done) >"$WORK/printed.txt" &&
		sed -n 's/^    //p' "$POLLUX_SRCDIR/docs/report.md" |
		grep -v '^\$ ' | diff - "$WORK/printed.txt"
}

plan 21
ok "the table is as recorded" as_recorded table
ok "reasons come from the log, which agrees" as_recorded why --why \
	--log="$data/sandbox.ctld"
ok "reasons come from launchers' events" events_explain
ok "a file without events is refused" sentence \
	'sandbox.sacct: no line is an event' --events="$data/sandbox.sacct"
ok "a line a job is as recorded" as_recorded brief --brief
ok "a name cannot pose as another job's row" forged
ok "columns may be chosen" as_recorded columns -p \
	--format=jobid,JobName%4,Shapes,fixedtime,RHO
ok "sums by user are as recorded" as_recorded by_user --by=user
ok "sums by user are those of sacct's rows" sums_are_sacct_s
ok "all ways to sum have all GPU-seconds" periods_are_the_whole
ok "JSON is as recorded" json_as_recorded
ok "finish-time fairness is what it says" rho_is_what_it_says
ok "a fixed allocation is what it says" fixed_is_what_it_says
ok "jobs are chosen as sacct chooses them" filters
ok "an unknown field is refused" refused "no field 'nope'" --format=nope
ok "an unknown sum is refused" refused "cannot sum by 'colour'" --by=colour
ok "fields are listed" eval 'pollux-report --format=help | grep -q ^FixedRange'
ok "the page has no markup of a user's, and fetches nothing" page_is_safe
ok "the page has all shapes" page_has_all
ok "the page says what Lost, FixedRange and Rho are" page_explains
ok "docs/report.md shows what is printed" as_printed
