# SPDX-License-Identifier: MIT
# test_demo.t - the demo tells the truth, and leaves nothing behind
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

need_daemons
[ -x "$POLLUX_BUILDDIR/examples/pollux-train" ] ||
	skip_all "built without Open MPI"
demo=$POLLUX_SRCDIR/examples/demo/demo
export TMPDIR=$WORK/tmp
mkdir "$TMPDIR"
unset WORKLOAD TRACES

tree_state() {
	(cd "$POLLUX_SRCDIR" && find . -maxdepth 1 -o -path "./examples*" |
		grep -vE "\\.(log|trs|o)$|/conf" | sort)
}

run_demo() {
	timeout $((120 * POLLUX_PATIENCE)) "$demo" >"$WORK/demo.txt" 2>&1
}

says() {
	grep -E "$1" "$WORK/demo.txt" || {
		tail -n 40 "$WORK/demo.txt"
		return 1
	}
}

nothing_left() {
	! pgrep -af "$TMPDIR/" && [ -z "$(ls -A "$TMPDIR")" ]
}

# As a terminal does it: to the whole group, with SIGINT not ignored.
interrupt_demo() {
	local pid rc

	rm -f "$WORK/demo.txt" # the last demo's says RUNNING, too
	env --default-signal=INT setsid --wait bash -c 'echo $$ >"$0"; exec "$1"' \
		"$WORK/demo.pid" "$demo" >"$WORK/demo.txt" 2>&1 &
	pid=$!
	wait_until "grep -q 'RUNNING' '$WORK/demo.txt'" 30 || return 1
	kill -INT -- "-$(cat "$WORK/demo.pid")"
	wait "$pid"
	rc=$?
	tail -n 20 "$WORK/demo.txt"
	echo "exit code $rc"
	[ "$rc" -eq 130 ]
}

recorded() {
	cat >"$WORK/workload.csv" <<-END
	name,time,application,num_replicas,batch_size
	cifar10-0,100,cifar10,2,256
	bert-1,172,bert,1,12
	END
	mkdir -p "$WORK/traces/cifar10" "$WORK/traces/bert"
	printf '%s\n' placement,local_bsz,step_time,sync_time \
		1,32,0.04,0.0005 1,128,0.09,0.0005 1,1024,0.7,0.0005 \
		>"$WORK/traces/cifar10/placements.csv"
	printf '%s\n' placement,local_bsz,step_time,sync_time \
		1,4,0.45,0.013 1,12,0.9,0.013 \
		>"$WORK/traces/bert/placements.csv"
}

# The plan that the demo makes of a recorded workload.
plan_of() {
	(
		say() { :; }
		here=$POLLUX_SRCDIR/examples/demo
		# shellcheck source=/dev/null
		. "$here/workload.sh"
		WORKLOAD=$1 TRACES=$2
		workload_plan
	)
}

plan_is_right() {
	plan_of "$WORK/workload.csv" "$WORK/traces" >"$WORK/plan.txt" || return 1
	cat "$WORK/plan.txt"
	[ "$(wc -l <"$WORK/plan.txt")" -eq 2 ] &&
		grep -q '^0|cifar10-0|elastic|.*--batch=128 --max-batch=4096' \
			"$WORK/plan.txt" &&
		grep -q "^3|bert-1|elastic|.*--emulate-traces=$WORK/traces/bert" \
			"$WORK/plan.txt"
}

# paced STEP LAST: a demo that gives up after 2 s, of a cluster with a job that
# comes so far each second, until LAST per cent. No cluster is run for it.
paced() {
	(
		here=$POLLUX_SRCDIR/examples/demo
		# shellcheck source=/dev/null
		. "$here/jobs.sh"
		SECONDS=0
		say() { echo "demo: $*"; }
		give_up() { say "$1" && exit 1; }
		sb() {
			[ "$1" = scontrol ] || return 0
			local far=$((10 + SECONDS * step))
			[ $far -lt "$last" ] || far=$last
			local state=RUNNING
			[ $far -lt 100 ] || state=COMPLETED
			cat <<-END
			JobId=1 JobName=gone
			   JobState=COMPLETED Reason=None
			   Comment=[pollux v=1 progress=0.2 left=1]

			JobId=2 JobName=slow
			   JobState=$state Reason=None
			   Comment=[pollux v=1 progress=0.$far left=1]
			END
		}
		step=$1 last=$2
		: >"$WORK/plan.none"
		jobs_run "$WORK/plan.none" 2
	) >"$WORK/demo.txt" 2>&1
}

bad_workload() {
	sed "s/bert,1/chess,1/" "$WORK/workload.csv" >"$WORK/bad.csv"
	! plan_of "$WORK/bad.csv" "$WORK/traces" >"$WORK/bad.txt" 2>&1 &&
		grep "no limits are known of application 'chess'" "$WORK/bad.txt"
}

plan 14
before=$(tree_state)
export DEMO_JOBS=3
ok "three jobs of the demo run to a good end" run_demo
grep -E '^(ok|not ok|demo)' "$WORK/demo.txt" | diag
ok "it tells of resizes in sacct, and that the log agrees" \
	says '^ok - sacct and the log of sched/pollux agree: [1-9]'
ok "nothing is left of it" wait_until nothing_left 10
ok "three on whole nodes do, too" eval 'DEMO_WHOLE=1 run_demo'
ok "and nothing is left of them" wait_until nothing_left 10
ok "Ctrl-C ends it" interrupt_demo
ok "nothing is left of that either" wait_until nothing_left 10
ok "when a training fails, the demo fails and says so" eval '
	DEMO_JOBS=1 DEMO_TRAIN=/bin/false fails run_demo &&
	says "^not ok - every job completed"'
ok "however slow its jobs are, it waits while they come further" paced 11 100
ok "and says for which of them" \
	says 'takes its time; waits for: slow \(running, [0-9.]* % trained\)$'
ok "when none comes further it gives up, and names who is left" eval '
	fails paced 20 30 &&
	says "further for 2 s; waits for: slow \(running, 30.0 % trained\)$"'
recorded
ok "a recorded workload becomes a plan, 24 times as fast" plan_is_right
ok "an application without limits is refused" bad_workload
ok "the source tree is as it was" test "$before" = "$(tree_state)"
