# SPDX-License-Identifier: MIT
# count.sh BUILDDIR - "N passed, N failed" over the result files of all tests

awk '
	/^:test-result: (PASS|XFAIL)/ { passed++ }
	/^:test-result: (FAIL|XPASS|ERROR)/ { failed++ }
	/^:test-result: SKIP/ { skipped++ }
	END {
		if (skipped)
			printf "%d skipped\n", skipped
		printf "%d passed, %d failed\n", passed, failed
		exit failed > 0 || passed == 0
	}' "$1"/tests/*.trs "$1"/tests/unit/*.trs
