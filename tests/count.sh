# SPDX-License-Identifier: MIT
# count.sh BUILDDIR - what failed, and "N passed, N failed" over all tests
#
# What failed stands at the end once more: whoever reads the last page of a run
# of an hour sees which tests it was, and what they printed.

show=12 # lines of what a failed test printed

failed() {
	local results log name
	for results; do
		grep -qE '^:test-result: (FAIL|XPASS|ERROR)' "$results" || continue
		log=${results%.trs}.log
		name=$(basename "$log" .log)
		awk -v name="$name" -v show="$show" '
			/^not ok/ || /^Bail out!/ {
				print name ": " $0
				left = show
				next
			}
			/^#/ && left-- > 0 { print "  " $0; next }
			{ left = 0 }' "$log"
		grep -q '^:test-result: ERROR' "$results" &&
			printf '%s: did not end as planned; last: %s\n' "$name" \
				"$(tail -n 1 "$log")"
	done
}

set -- "$1"/tests/*.trs "$1"/tests/unit/*.trs
failed "$@" | cut -c 1-240
awk '
	/^:test-result: (PASS|XFAIL)/ { passed++ }
	/^:test-result: (FAIL|XPASS|ERROR)/ { failed++ }
	/^:test-result: SKIP/ { skipped++ }
	END {
		if (skipped)
			printf "%d skipped\n", skipped
		printf "%d passed, %d failed\n", passed, failed
		exit failed > 0 || passed == 0
	}' "$@"
