# SPDX-License-Identifier: MIT
# tap.sh - what the host shows
#
# Sourced by controller.sh.

tap_count=0
tap_failed=0

say() {
	echo "# $*" >&6
}

# ok SENTENCE COMMAND...: as in tests/lib.sh.
ok() {
	local sentence=$1 rc
	shift
	tap_count=$((tap_count + 1))
	"$@" >"$logs/ok.out" 2>&1
	rc=$?
	echo "--- $tap_count $sentence: $rc"
	cat "$logs/ok.out"
	if [ $rc -eq 0 ]; then
		echo "ok $tap_count - $sentence" >&6
		return
	fi
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $sentence" >&6
	say "failed ($rc): $*"
	tail -n 30 "$logs/ok.out" | sed 's/^/# /' >&6
	return 1
}

tap_end() {
	echo "1..$tap_count" >&6
}
