# SPDX-License-Identifier: MIT
# checks.sh - the report, and what must be true after the demo
#
# Sourced by demo. A check prints what it found; its exit code is the verdict.

resizes_wanted=3
accounting_patience_s=20

# sacct is a moment behind: wait until it knows the end of every job.
checks_report() {
	local end=$((SECONDS + accounting_patience_s))

	until sb pollux-report --since now-1hours --json \
		--log "$SB/log/slurmctld.log" >"$WORK/report.json" \
		2>"$WORK/report.err"; do
		[ "$SECONDS" -lt "$end" ] || break
		sleep 1
	done
	echo
	echo "From sacct:"
	echo
	sb pollux-report --since now-1hours --log "$SB/log/slurmctld.log" |
		tee "$WORK/report.txt"
	echo
}

# check SENTENCE COMMAND...
check() {
	local sentence=$1 found rc=0

	shift
	found=$("$@" 2>&1) || rc=1
	found=${found:+: ${found//$'\n'/, }}
	if [ "$rc" = 0 ]; then
		echo "ok - $sentence$found"
	else
		echo "not ok - $sentence$found"
	fi
	return "$rc"
}

all_completed() {
	local completed

	completed=$(jq '.total.completed' "$WORK/report.json")
	echo "$completed of $submitted"
	jq -r '.jobs[] | select(.state != "COMPLETED") |
		"\(.name) is \(.state)"' "$WORK/report.json"
	[ "$completed" = "$submitted" ]
}

enough_resizes() {
	local resizes

	resizes=$(jq '.total.resizes' "$WORK/report.json")
	echo "$resizes"
	[ "$resizes" -ge "$resizes_wanted" ]
}

one_owner() {
	echo "$looks looks"
	sort -u "$WORK/owners.bad" | head -n 5
	[ "$looks" -ge 5 ] && [ ! -s "$WORK/owners.bad" ]
}

nodes_idle() {
	local end=$((SECONDS + 15)) busy

	while :; do
		busy=$(sb scontrol show node -o | grep -E \
			' AllocTRES=[^ ]*gres/gpu|GresUsed=[^ ]*gpu:[^ (]*[1-9]\(' &&
			sb sinfo -h -N -t alloc,mix,comp,down,drain,fail \
				-o '%N is %T')
		[ -n "$busy" ] || busy=$(sb sinfo -h -N -o '%N is %T' |
			grep -v ' is idle$')
		[ -n "$busy" ] || return 0
		[ "$SECONDS" -lt "$end" ] || break
		sleep 1
	done
	grep -oE 'NodeName=[^ ]*| (CPUAlloc|AllocTRES|GresUsed|State)=[^ ]*|^[^ ]+ is .*' \
		<<<"$busy" | tr -d '\n'
	return 1
}

log_agrees() {
	jq -r '"\(.log.shapes_agreed) shapes, \(.total.gpu_seconds) " +
		"GPU-seconds"' "$WORK/report.json"
	jq -r '.log.differences[]' "$WORK/report.json" | head -n 5
	jq -e '.log.shapes_agreed > 0 and (.log.differences | length) == 0' \
		"$WORK/report.json" >/dev/null
}

# First epoch's mean loss and the final one, of each elastic job's output.
losses_fell() {
	local out bad=0 found=0

	for out in "$WORK"/*.out; do
		grep -q '^epoch ' "$out" || continue
		found=$((found + 1))
		awk -v name="$(basename "$out" .out)" '
			/^epoch [0-9]+\/[0-9]+: loss / && first == "" {
				first = $4 + 0 == 0 ? "nan" : $4 + 0
			}
			/^finished after / && match($0, /loss [^,]+/) {
				last = substr($0, RSTART + 5, RLENGTH - 5)
			}
			END {
				printf "%s %.2f -> %s\n", name, first, last
				exit !(last ~ /^[0-9.]+$/ && last + 0 < first)
			}' "$out" || bad=1
	done
	[ "$found" -gt 0 ] && [ "$bad" = 0 ]
}

checks_all() {
	local failed=0

	check "every job completed" all_completed || failed=1
	check "there were at least $resizes_wanted resizes" enough_resizes ||
		failed=1
	check "no GPU had two owners in any look" one_owner || failed=1
	check "all nodes are idle with no GPU allocated" nodes_idle || failed=1
	check "sacct and the log of sched/pollux agree" log_agrees || failed=1
	check "every training's loss is finite and fell" losses_fell ||
		failed=1
	return "$failed"
}
