# SPDX-License-Identifier: MIT
# test_sim.t - pollux-sim from the outside: its answers, files and refusals
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
sim=$POLLUX_BUILDDIR/src/sim/pollux-sim
data=${POLLUX_SHARED:-$POLLUX_SRCDIR/../shared}/data/osdi21

# A training program: steps of a second in a node, two across nodes.
make_traces() {
	local toy=$WORK/traces/toy batch
	mkdir -p "$toy"
	echo base_batch,max_batch,min_gpu_batch,max_gpu_batch,epochs,fixed_batch \
		>"$toy/limits.csv"
	echo 16,512,4,32,10,0 >>"$toy/limits.csv"
	awk 'BEGIN {
		print "placement,local_bsz,step_time,sync_time"
		for (m = 4; m <= 32; m *= 2) {
			pass = 0.1 + m / 40
			print "1," m "," pass ",0"
			for (g = 2; g <= 4; g++)
				print g "," m "," pass + 0.02 * g "," 0.02 * g
			for (g = 1; g <= 4; g++)
				print g "4," m "," pass + 0.3 ",0.3"
			print "11," m "," pass + 0.3 ",0.3"
			print "4444," m "," pass + 0.5 ",0.5"
		}
	}' >"$toy/placements.csv"
	for batch in 16 128 512; do
		awk -v batch=$batch 'BEGIN {
			print "progress,iteration,grad_sqr,grad_var"
			for (e = 1; e <= 10; e++)
				print 60 * e "," 60 * e * 16 / batch "," \
					0.2 / e "," 1 + batch / 100
		}' >"$toy/validation-$batch.csv"
	done
}

# make_workload NAME COUNT: jobs of 1 to 8 GPUs, two minutes apart.
make_workload() {
	awk -v count="$2" 'BEGIN {
		print "name,time,application,num_replicas,batch_size"
		for (i = 0; i < count; i++)
			printf "toy-%d,%d,toy,%d,%d\n", i, 120 * i, 1 + i % 8,
				16 * (1 + i % 8)
	}' >"$WORK/$1.csv"
}

small() {
	"$sim" --traces="$WORK/traces" --nodes=4 --gpus-per-node=4 "$@"
}

# What does not depend on the machine.
lasting() {
	jq -S 'del(.workloads[] | .decision_p50_ms, .decision_p99_ms, .wall_s)'
}

keys_are_as_promised() {
	small --json "$WORK/one.csv" >"$WORK/one.json" || return 1
	jq -ce 'keys_unsorted == ["policy", "mean_avg_jct_s", "workloads"] and
		(.workloads[0] | keys_unsorted) == ["name", "jobs",
		"avg_jct_s", "p50_jct_s", "p99_jct_s", "makespan_s",
		"restarts", "gpu_hours", "avg_efficiency",
		"avg_goodput_ratio", "worst_ftf", "unfair_jobs", "decisions",
		"decision_p50_ms", "decision_p99_ms", "wall_s"] and
		.policy == "pollux" and .workloads[0].name == "one" and
		.workloads[0].jobs == 12' "$WORK/one.json"
}

together_as_alone() {
	local name
	for name in one two; do
		small --policy=tiresias --json "$WORK/$name.csv" | lasting |
			jq -c '.workloads[0]'
	done >"$WORK/alone.json"
	small --policy=tiresias --json "$WORK/one.csv" "$WORK/two.csv" |
		lasting | jq -c '.workloads[]' >"$WORK/together.json"
	cmp "$WORK/alone.json" "$WORK/together.json"
}

repeatable() {
	small --json "$WORK/two.csv" | lasting >"$WORK/first.json" &&
		small --json "$WORK/two.csv" | lasting |
		cmp - "$WORK/first.json"
}

table_has_all() {
	small --policy=pollux --policy=tiresias --policy=optimus --policy=fifo \
		"$WORK/one.csv" "$WORK/two.csv" >"$WORK/table" || return 1
	cat "$WORK/table"
	awk 'NR == 1 && $1 == "WORKLOAD" { header = 1 }
		$1 == "one" && $2 == "pollux" && $3 == 12 { one = 1 }
		$1 == "two" && $2 == "pollux" && $3 == 20 { two = 1 }
		{ lines++ }
		END { exit !(header && one && two && lines == 13) }' \
		"$WORK/table"
}

an_object_a_policy() {
	small --policy=optimus --policy=fifo --json "$WORK/one.csv" |
		jq -s -e 'map(.policy) == ["optimus", "fifo"]'
}

jobs_add_up() {
	small --policy=fifo --jobs="$WORK/jobs.csv" --json "$WORK/one.csv" \
		>"$WORK/jobs.json" || return 1
	awk -F, 'NR > 1 { sum += $8; n++; if ($7 - $5 != $8) exit 1 }
		END { print sum / n, n; exit n != 12 }' "$WORK/jobs.csv" \
		>"$WORK/mean" || return 1
	jq -e --argjson mean "$(cut -d' ' -f1 "$WORK/mean")" \
		'.mean_avg_jct_s - $mean | fabs < 0.01' "$WORK/jobs.json"
}

# shorter WORKLOAD A B OPTION...: completion is sooner with A than with B.
shorter() {
	local workload=$WORK/$1.csv a=$2 b=$3
	shift 3
	small "$@" "$a" --json "$workload" >"$WORK/a.json" &&
		small "$@" "$b" --json "$workload" >"$WORK/b.json" &&
		jq -s -e '.[0].mean_avg_jct_s < .[1].mean_avg_jct_s' \
			"$WORK/a.json" "$WORK/b.json"
}

# Policies and workloads in one page, with nothing from elsewhere.
page_is_whole() {
	local tag
	small --policy=pollux --policy=fifo --html="$WORK/page.html" \
		"$WORK/one.csv" "$WORK/names.csv" >"$WORK/page.out" || return 1
	[ "$(grep -c '<section>' "$WORK/page.html")" = 2 ] || return 1
	[ "$(grep -c '<svg' "$WORK/page.html")" = 20 ] || return 1
	for tag in html section figure svg table g p; do
		[ "$(grep -oE "<$tag[ >]" "$WORK/page.html" | wc -l)" = \
			"$(grep -oF "</$tag>" "$WORK/page.html" | wc -l)" ] ||
			return 1
	done
	! grep -iE '<script|https?:|url\(|src=|<link|nan|inf[^o]' \
		"$WORK/page.html"
}

names_are_harmless() {
	grep -qF '&#60;b&#62;&#38;&#39;x' "$WORK/page.html" &&
		! grep -qF '<b>&' "$WORK/page.html"
}

# node_hours TARGET: what a cluster of 1 to 6 nodes takes.
node_hours() {
	small --target-utility="$1" --max-nodes=6 --json "$WORK/two.csv" |
		jq -e '.workloads[0].node_hours'
}

higher_target_is_cheaper() {
	local low high
	low=$(node_hours 0.2) && high=$(node_hours 0.9) || return 1
	echo "node-hours $low at a utility of 0.2, $high at 0.9"
	awk "BEGIN { exit !($high < 0.8 * $low) }"
}

scaling_adds_keys() {
	small --min-nodes=2 --max-nodes=5 --json "$WORK/one.csv" |
		jq -e '.workloads[0] | keys_unsorted[-2:] == ["node_hours",
			"mean_nodes"] and .mean_nodes >= 2 and
			.mean_nodes <= 5' &&
		small --min-nodes=2 "$WORK/one.csv" | grep 'NODE H  NODES'
}

own_restarts() {
	cp -r "$WORK/traces" "$WORK/slow"
	printf 'restart_s\n250\n' >"$WORK/slow/toy/restart.csv"
	small --restart-delay=auto --json "$WORK/two.csv" | lasting \
		>"$WORK/auto.json" &&
		small --restart-delay=1.2 --json "$WORK/two.csv" | lasting |
		cmp - "$WORK/auto.json" &&
		"$sim" --restart-delay=auto --traces="$WORK/slow" --nodes=4 \
			--json "$WORK/two.csv" >"$WORK/slow.json" &&
		jq -s -e '.[0].mean_avg_jct_s < .[1].mean_avg_jct_s' \
			"$WORK/auto.json" "$WORK/slow.json"
}

# The trio of above has three GPUs where nothing binds it.
sizes_are_kept() {
	local two one
	two=$(gpus_held --sizes=1,2) && one=$(gpus_held --sizes=1,4) ||
		return 1
	echo "of 1 or 2: $two, of 1 or 4: $one"
	awk "BEGIN { exit !($two > 1.2 && $two <= 2 && ($one <= 1 || $one > 3)) }"
}

bad_sizes() {
	refused "--sizes=4,2: sizes=4,2: want rising numbers" --sizes=4,2 \
		--traces="$WORK/traces" "$WORK/one.csv" &&
		refused "--step=2: want either --sizes or --step" --sizes=2 \
			--step=2 --traces="$WORK/traces" "$WORK/one.csv"
}

bad_scaling() {
	refused "--min-nodes=5: more than --max-nodes=4" --min-nodes=5 \
		--max-nodes=4 --traces="$WORK/traces" "$WORK/one.csv" &&
		refused "--home: a cluster that shrinks" --home --max-nodes=4 \
			--traces="$WORK/traces" "$WORK/one.csv" &&
		refused "--policy=fifo: it does not tell" --policy=fifo \
			--min-nodes=2 --traces="$WORK/traces" "$WORK/one.csv"
}

bad_output() {
	refused "$WORK/nowhere/page.html: No such file or directory" \
		--html="$WORK/nowhere/page.html" --traces="$WORK/traces" \
		"$WORK/one.csv"
}

bad_restart_cost() {
	printf 'restart_s\nlong\n' >"$WORK/slow/toy/restart.csv"
	refused "toy/restart.csv:2: \"long\": want a number" \
		--traces="$WORK/slow" "$WORK/one.csv"
}

# gpus_held OPTION...: its mean over the life of a job that can use 3 GPUs.
gpus_held() {
	"$sim" --traces="$WORK/traces" --nodes=2 --gpus-per-node=2 \
		--jobs="$WORK/held.csv" "$@" "$WORK/trio.csv" >"$WORK/held" &&
		awk -F, 'NR == 2 { print $10 / ($7 - $6) }' "$WORK/held.csv"
}

# Three GPUs are two and one.
uniform_is_uniform() {
	local free even
	cp -r "$WORK/traces/toy" "$WORK/traces/trio"
	sed -i '2s/.*/96,96,32,32,10,0/' "$WORK/traces/trio/limits.csv"
	cp "$WORK/traces/trio/validation-128.csv" \
		"$WORK/traces/trio/validation-96.csv"
	printf '%s\n' name,time,application,num_replicas,batch_size \
		a,0,trio,1,96 >"$WORK/trio.csv"
	free=$(gpus_held) && even=$(gpus_held --uniform) || return 1
	echo "$free GPUs, uniform $even"
	awk "BEGIN { exit !($free > 2.2 && $even > 1.2 && $even <= 2) }"
}

# refused SENTENCE ARGUMENT...: exit code 2, and one line that contains it.
refused() {
	local sentence=$1 rc
	shift
	"$sim" "$@" >"$WORK/refused.out" 2>&1
	rc=$?
	cat "$WORK/refused.out"
	[ $rc = 2 ] && [ "$(wc -l <"$WORK/refused.out")" = 1 ] &&
		grep -qF -- "$sentence" "$WORK/refused.out"
}

bad_file() {
	sed 's/^toy-3,360/toy-3,soon/' "$WORK/one.csv" >"$WORK/bad.csv"
	refused "bad.csv:5: \"soon\": want a number" \
		--traces="$WORK/traces" "$WORK/bad.csv"
}

bad_tables() {
	sed '1s/batch_size/time/' "$WORK/one.csv" >"$WORK/bad.csv"
	refused "bad.csv:1: more than one column \"time\"" \
		--traces="$WORK/traces" "$WORK/bad.csv" || return 1
	sed 's/^toy-7,/toy-2,/' "$WORK/one.csv" >"$WORK/bad.csv"
	refused "bad.csv:9: job \"toy-2\": line 4 has one of this name" \
		--traces="$WORK/traces" "$WORK/bad.csv"
}

# Traces without the run at the base batch, or with one at no batch.
bad_runs() {
	local name
	cp -r "$WORK/traces" "$WORK/runs"
	mv "$WORK/runs/toy/validation-16.csv" "$WORK/runs/toy/validation-32.csv"
	refused "toy: no validation-16.csv" --traces="$WORK/runs" \
		"$WORK/one.csv" || return 1
	for name in 016 0 -16 16x 1.5 '' x 99999999; do
		cp -r "$WORK/traces" "$WORK/run-$name"
		echo >"$WORK/run-$name/toy/validation-$name.csv"
		refused "validation-$name.csv: want validation-M.csv, M a" \
			--traces="$WORK/run-$name" "$WORK/one.csv" || return 1
	done
}

# What would be written is one of the workloads, or both files are one.
bad_names() {
	local option
	cp "$WORK/one.csv" "$WORK/kept.csv"
	ln -s one.csv "$WORK/link.csv"
	for option in jobs html; do
		refused "--$option=$WORK/link.csv: this is a workload" \
			"--$option=$WORK/link.csv" --traces="$WORK/traces" \
			"$WORK/two.csv" "$WORK/one.csv" || return 1
	done
	refused "--jobs is the same file" --jobs="$WORK/new" \
		--html="$WORK/new" --traces="$WORK/traces" "$WORK/one.csv" &&
		[ ! -e "$WORK/new" ] &&
		refused "--jobs is the same file" --jobs="$WORK/new" \
			--html="$WORK/./new" --traces="$WORK/traces" \
			"$WORK/one.csv" &&
		[ ! -s "$WORK/new" ] && cmp "$WORK/one.csv" "$WORK/kept.csv" &&
		small --jobs=/dev/null --html=/dev/null "$WORK/one.csv"
}

bad_trace() {
	cp -r "$WORK/traces" "$WORK/broken"
	sed -i '4s/,[^,]*$//' "$WORK/broken/toy/placements.csv"
	refused "toy/placements.csv:4: 3 cells: the header has 4" \
		--traces="$WORK/broken" "$WORK/one.csv"
}

bad_numbers() {
	local option
	for option in nodes=0 nodes=2.5 nodes=x gpus-per-node=65 interval=0 \
		restart-delay=-1 restart-delay=soon restart-delay= \
		interference=1 target-utility=0 target-utility=1.1 min-nodes=0 \
		max-nodes=5000 node-delay=-1 fairness=11 fairness=nan \
		seed=-1 seed= policy=pollu; do
		refused "--$option: " --traces="$WORK/traces" "--$option" \
			"$WORK/one.csv" || return 1
	done
}

# published POLICY MEAN...: of the four workloads, within 0.1 %.
published() {
	local policy=$1
	shift
	"$sim" --policy="$policy" --json --traces="$data/traces" \
		"$data"/workloads/workload-[1236].csv >"$WORK/published.json" ||
		return 1
	jq -c '.workloads[] | [.name, .avg_jct_s]' "$WORK/published.json"
	jq -e --args '[.workloads[].avg_jct_s] as $got |
		[$ARGS.positional[] | tonumber] as $want |
		[range($want | length) |
			$got[.] / $want[.] - 1 | fabs < 0.001] | all' \
		"$@" <"$WORK/published.json"
}

make_traces
make_workload one 12
make_workload two 20
# Two jobs on two nodes each, of three.
printf '%s\n' name,time,application,num_replicas,batch_size \
	a,0,toy,3,48 b,0,toy,3,48 >"$WORK/crowd.csv"
printf '%s\n' name,time,application,num_replicas,batch_size \
	"<b>&'x,0,toy,1,16" >"$WORK/names.csv"

plan 29
ok "--json prints the promised object" keys_are_as_promised
ok "workloads side by side end as each alone" together_as_alone
ok "the same workload ends the same twice" repeatable
ok "the table has all policies and workloads" table_has_all
ok "--json prints an object a policy" an_object_a_policy
ok "--jobs has a row for each job, which add up" jobs_add_up
ok "restarts that cost nothing end jobs sooner" shorter two --restart-delay=0 \
	--restart-delay=300
ok "more nodes end jobs sooner" shorter two --nodes=8 --nodes=2 --policy=tiresias
ok "interference ends jobs later" shorter crowd --interference=0 \
	--interference=0.9 --policy=fifo --nodes=3 --gpus-per-node=2
ok "--uniform gives as many GPUs on each node" uniform_is_uniform
ok "--sizes gives jobs these numbers of GPUs" sizes_are_kept
ok "sizes that make no sense are refused" bad_sizes
ok "a bad workload is refused by file and line" bad_file
ok "columns and jobs that are there twice are refused" bad_tables
ok "runs at no batch, and none at the base batch, are refused" bad_runs
ok "files to write that are read or the same are refused" bad_names
ok "bad traces are refused by file and line" bad_trace
ok "--html writes one page that needs nothing else" page_is_whole
ok "names cannot hurt the page" names_are_harmless
ok "a higher target utility takes fewer node-hours" higher_target_is_cheaper
ok "a changing cluster is told in node-hours" scaling_adds_keys
ok "--restart-delay=auto takes what restart.csv says" own_restarts
ok "a bad restart cost is refused by file and line" bad_restart_cost
ok "a bad option is refused in a sentence" bad_numbers
ok "scaling that cannot be is refused" bad_scaling
ok "a page that cannot be written is refused at once" bad_output
ok "a job that cannot fit is refused" refused "wants 5 GPUs: the cluster has 4" \
	--policy=fifo --nodes=1 --traces="$WORK/traces" "$WORK/one.csv"
if [ -r "$data/results.json" ]; then
	ok "tiresias ends the published workloads as published" \
		published tiresias 2473.65 5145 3876 3470
	ok "optimus ends the published workloads as published" \
		published optimus 4087 6914 3944 5302
else
	skip "tiresias ends the published workloads" "no $data"
	skip "optimus ends the published workloads" "no $data"
fi
