# SPDX-License-Identifier: MIT
# check_lib.t - a test that goes wrong says so, whatever it does (lib.sh)
. "${POLLUX_SRCDIR}/tests/lib.sh"

# ends RC BODY [LINE]: a test with this body ends so, having said this line.
ends() {
	local rc=0
	printf '. "%s/tests/lib.sh"\nplan 2\nneeds_two() { [ "$2" ]; }\n%s\n' \
		"$POLLUX_SRCDIR" "$2" >"$WORK/body.t"
	bash "$WORK/body.t" >"$WORK/said" 2>&1 || rc=$?
	cat "$WORK/said"
	[ "$rc" -eq "$1" ] && grep -qxE "${3:-.*}" "$WORK/said"
}

# What nobody has waited for yet has ended, too.
is_over() {
	! ps -o stat= -p "$1" | grep -q '^[^Z]'
}

# leaves_nothing BODY: what it started alongside ends with it, however it ends.
leaves_nothing() {
	local pid
	printf '. "%s/tests/lib.sh"\nplan 1\nalongside sleep 300\n%s\n' \
		"$POLLUX_SRCDIR" "echo \$! >'$WORK/pid'
$1" >"$WORK/body.t"
	bash "$WORK/body.t" >"$WORK/said" 2>&1
	pid=$(cat "$WORK/pid") && wait_until "is_over $pid" 5 && return
	kill "$pid"
	return 1
}

# counted FILE LINE...: what count.sh says of one file with this log, at its end.
counted() {
	local results=$WORK/counted/tests
	mkdir -p "$results/unit" && touch "$results/unit/none.trs" && cp "$1" "$results/test_a.log" &&
		{ grep -q '^ok' "$1" && echo ":test-result: PASS"
		grep -q '^not ok' "$1" && echo ":test-result: FAIL"
		grep -q '^Bail' "$1" && echo ":test-result: ERROR"
		true; } >"$results/test_a.trs"
	! bash "$POLLUX_SRCDIR/tests/count.sh" "$WORK/counted" >"$WORK/counted/said" ||
		return 1
	cat "$WORK/counted/said"
	shift
	diff "$WORK/counted/said" <(printf '%s\n' "$@")
}

plan 12
ok "two tests that pass end with 0" ends 0 'ok a true
ok b true' 'ok 2 - b'
ok "one that fails ends with 1" ends 1 'ok a false
ok b true' 'not ok 1 - a'
ok "a helper with too few arguments fails its test, and is named" \
	ends 1 'ok a needs_two 1
ok b true' '# .*needs_two.*|# .*[$]2: unbound variable'
ok "it says which test that was" ends 1 'ok a wait_until "needs_two 1" 5' \
	'not ok 1 - a'
ok "it fails outside a test, too" ends 1 'needs_two 1
ok a true
ok b true'
ok "a sentence without a command fails" ends 1 'ok a
ok b true' 'not ok 1 - a'
ok "tests that are not run fail" ends 1 'ok a true' '# 1 of 2 tests were run'
ok "as does an end in their middle" ends 1 'ok a true
exit 0' '# 1 of 2 tests were run'
ok "what runs alongside ends with the test" leaves_nothing 'ok a true'
ok "and when it is told to stop" leaves_nothing 'kill -TERM $$'

cat >"$WORK/one.log" <<'END'
ok 1 - a
not ok 2 - b
# failed (1): false
ok 3 - c
# no word of this
END
ok "what failed stands at the end once more" counted "$WORK/one.log" \
	'test_a: not ok 2 - b' '  # failed (1): false' '1 passed, 1 failed'
printf 'ok 1 - a\nBail out! too long\n' >"$WORK/two.log"
ok "and what did not come to its end" counted "$WORK/two.log" \
	'test_a: Bail out! too long' \
	'test_a: did not end as planned; last: Bail out! too long' '1 passed, 1 failed'
