# SPDX-License-Identifier: MIT
# test_alloc.t - pollux-alloc from the outside: its answers and refusals
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
alloc=$POLLUX_BUILDDIR/src/sim/pollux-alloc
cases=${POLLUX_SHARED:-$POLLUX_SRCDIR/../shared}/data/reference/allocation_fitness_osdi.json

# Two nodes with 4 GPUs; one job measured, one not, one that may not move.
cat >"$WORK/three.json" <<-END
	{ "nodes": [
	    { "key": "left", "resources": { "gpu": 4 } },
	    { "key": "right", "resources": { "gpu": 4 } } ],
	  "jobs": [
	    { "key": "measured", "max_replicas": 8, "age": 600,
	      "init_batch_size": 64, "max_batch_size": 1024,
	      "atomic_bsz_range": [16, 128], "accumulation": true,
	      "perf_params": { "alpha_c": 0.02, "beta_c": 0.002,
	        "alpha_n": 0.05, "beta_n": 0.001, "alpha_r": 0.01,
	        "beta_r": 0.001, "gamma": 2 },
	      "grad_params": { "sqr": 0.01, "var": 5 } },
	    { "key": "new", "max_replicas": 1, "speedup": "linear" },
	    { "key": "fixed", "max_replicas": 2, "speedup": "linear",
	      "preemptible": false } ],
	  "base_allocations": { "fixed": ["right", "right"] } }
END

answer() {
	"$alloc" --json "$@"
}

keys_are_as_promised() {
	answer "$WORK/three.json" >"$WORK/three.answer" || return 1
	cat "$WORK/three.answer"
	jq -ce 'keys_unsorted == ["fitness", "bound", "elapsed_ms",
		"allocations", "why"] and
		(.allocations | keys) == ["fixed", "measured", "new"] and
		(.why | map(type == "string" and . != "") | all) and
		.fitness > 0 and .bound >= .fitness and .elapsed_ms >= 0' \
		"$WORK/three.answer"
}

# No node gives more than it has; who is fixed stays.
allocation_is_right() {
	jq -ce '.allocations.fixed == [[1, 2]] and
		(.allocations.new | map(.[1]) | add) == 1 and
		([.allocations[][]] | group_by(.[0]) |
			map(map(.[1]) | add <= 4) | all) and
		([.allocations[][][1]] | add == 8)' "$WORK/three.answer"
}

# What is the same whenever one asks.
lasting() {
	jq -S 'del(.elapsed_ms)'
}

repeatable() {
	answer "$@" "$WORK/three.json" | lasting >"$WORK/first" &&
		answer "$@" "$WORK/three.json" | lasting | cmp - "$WORK/first"
}

# A job on several nodes has as many GPUs on each.
uniform_is_uniform() {
	answer --uniform "$WORK/three.json" |
		jq -ce '.allocations | map(map(.[1]) | unique | length <= 1) |
			all'
}

not_better() {
	local free uniform
	free=$(answer "$WORK/three.json" | jq .bound)
	uniform=$(answer --uniform "$WORK/three.json" | jq .fitness)
	echo "$free >= $uniform"
	jq -nce "$free >= $uniform"
}

hurried() {
	answer --budget-ms=0.001 "$WORK/three.json" |
		jq -ce '.fitness > 0 and .allocations.fixed == [[1, 2]]'
}

table_has_all() {
	"$alloc" "$WORK/three.json" >"$WORK/table" || return 1
	cat "$WORK/table"
	grep -q '^ *ID  JOB .*NOW .*NEXT .*SPEEDUP .*WHY$' "$WORK/table" &&
		grep -qE '^ *2  fixed +2 +2 .* stays: 2 GPUs' "$WORK/table" &&
		grep -qE '^fitness .*pollux, p = -1.*bound .*gap .* %' \
			"$WORK/table" &&
		grep -qE '^policy pollux, [0-9.]+ ms$' "$WORK/table"
}

# refused SENTENCE ARGUMENTS...: exit code 2 and that sentence.
refused() {
	local sentence=$1 rc=0
	shift
	"$alloc" "$@" >"$WORK/out" 2>"$WORK/err" || rc=$?
	cat "$WORK/err"
	[ "$rc" -eq 2 ] && [ ! -s "$WORK/out" ] &&
		head -n 1 "$WORK/err" | grep -qF -- "$sentence"
}

bad_files() {
	sed 's/"age": 600/"age": -600/' "$WORK/three.json" >"$WORK/age.json"
	sed 's/"right", "right"/"right", "top"/' "$WORK/three.json" \
		>"$WORK/node.json"
	sed '1,2s/"resources": { "gpu": 4 }/&, "elastic": 5/' \
		"$WORK/three.json" >"$WORK/more.json"
	head -n 7 "$WORK/three.json" >"$WORK/half.json"
	: >"$WORK/empty.json"
	refused "$WORK/age.json:5: jobs[0].age: want a number from 0" \
		"$WORK/age.json" &&
		refused "$WORK/node.json:15: base_allocations.fixed[1]: \"top\"" \
			"$WORK/node.json" &&
		refused "$WORK/more.json:2: nodes[0].elastic: want a whole" \
			"$WORK/more.json" &&
		refused "$WORK/half.json:8: column" "$WORK/half.json" &&
		refused "$WORK/empty.json:1: column" "$WORK/empty.json" &&
		refused "$WORK/none.json: No such file" "$WORK/none.json"
}

bad_options() {
	local file=$WORK/three.json
	refused "--policy=tiresias: it needs to know more" \
		--policy=tiresias "$file" &&
		refused "--policy=best: unknown" --policy=best "$file" &&
		refused "--fitness=x: want pollux or osdi21" --fitness=x \
			"$file" &&
		refused "--budget-ms=0: want a number" --budget-ms=0 "$file" &&
		refused "--fairness=nan: want a number" --fairness=nan \
			"$file" &&
		refused "--seed=-1: want a whole number" --seed=-1 "$file" &&
		refused "there is no list of cases" --case=p1 "$file" &&
		refused "which problem" && refused "one file" "$file" "$file"
}

full_disk_is_a_failure() {
	local rc=0
	"$alloc" --json "$WORK/three.json" >/dev/full 2>"$WORK/err" || rc=$?
	cat "$WORK/err"
	[ "$rc" -eq 1 ] && [ -s "$WORK/err" ]
}

# Every recorded problem, by the measure of the published scheduler.
as_good_as_known() {
	local name bad=0
	for name in $(jq -r '.cases[].name' "$cases"); do
		answer --fitness=osdi21 --case="$name" "$cases" >"$WORK/case"
		jq -e --arg name "$name" --slurpfile got "$WORK/case" '
			.cases[] | select(.name == $name) |
			[(.ga_results[], .best_known // empty |
				-.objectives[0])] | max as $best |
			{ name: $name, best: $best, fitness: $got[0].fitness } |
			., (.fitness >= 0.999 * .best)' "$cases" || bad=1
	done
	return $bad
}

plan 13
ok "the answer in JSON has the promised keys" keys_are_as_promised
ok "it gives away all GPUs, and who is fixed stays" allocation_is_right
ok "an answer can be had again" repeatable
ok "also one of the genetic algorithm" repeatable --policy=pollux-ga --seed=5
ok "uniform allocations are uniform" uniform_is_uniform
ok "and at best as good as the bound of free ones" not_better
ok "an answer comes however small the budget" hurried
ok "the table has all jobs and totals" table_has_all
ok "bad files are refused with file, line and place" bad_files
ok "bad options are refused with a sentence" bad_options
ok "output that cannot be written is a failure" full_disk_is_a_failure
ok "--help and --version are there" eval '"$alloc" --help | grep -q pollux-ga &&
	"$alloc" --version | grep -q "^pollux-alloc [0-9]"'
if [ -r "$cases" ]; then
	ok "no recorded problem has a better answer by 1/1000" as_good_as_known
else
	skip "no recorded problem has a better answer by 1/1000" "no $cases"
fi
