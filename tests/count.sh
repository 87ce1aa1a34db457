# SPDX-License-Identifier: MIT
# count.sh BUILDDIR - what failed, and "N passed, N failed" over all tests
#
# What failed stands at the end once more: whoever reads the last page of a run
# of an hour sees which tests it was, and what they printed.

show=12 # lines of what a failed test printed

# Automake's driver says again what a test said: "FAIL: ...", "# NAME.t: ...".
failed() {
	local results name
	for results; do
		grep -qE '^:test-result: (FAIL|XPASS|ERROR)' "$results" || continue
		name=$(basename "$results" .trs)
		awk -v name="$name" -v again="# $name.t: " -v show="$show" '
			/^(PASS|SKIP|FAIL|XFAIL|XPASS): / || index($0, again) == 1 {
				next
			}
			/^ERROR: / { print; next }
			/^not ok/ || /^Bail out!/ {
				print name ": " $0
				left = show
				next
			}
			/^#/ && left-- > 0 { print "  " $0; next }
			{ left = 0 }' "${results%.trs}.log"
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
