# SPDX-License-Identifier: MIT
# check_lib.t - a test that goes wrong says so, whatever it does (lib.sh)
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

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

# counted BODY LINE...: what count.sh says of a test like this, run as make check
# runs it.
counted() {
	local results=$WORK/counted/tests body=$WORK/counted/test_a.t
	mkdir -p "$results/unit" && touch "$results/unit/none.trs" &&
		echo "$1" >"$body" &&
		sh "$POLLUX_SRCDIR/build-aux/tap-driver.sh" --merge --comments \
			--test-name test_a.t --log-file "$results/test_a.log" \
			--trs-file "$results/test_a.trs" --color-tests no \
			--enable-hard-errors yes --expect-failure no -- \
			sh "$body"
	fails bash "$POLLUX_SRCDIR/tests/count.sh" "$WORK/counted" \
		>"$WORK/counted/said" || return
	cat "$WORK/counted/said"
	shift
	diff "$WORK/counted/said" <(printf '%s\n' "$@")
}

# again RESULT...: what again.sh has make run where tests ended so, "FAIL" or
# "PASS": test_1 first, then test_2, and check_1, which fails.
again() {
	local folder=$WORK/again/tests
	rm -rf "$WORK/again" && mkdir -p "$folder/unit" || return
	printf 'check:\n\t@echo TESTS=$(TESTS) >>%s\n' "$WORK/again/ran" |
		tee "$WORK/again/Makefile" >"$folder/Makefile"
	echo ":test-result: FAIL a" | tee "$folder/check_1.trs" \
		"$folder/unit/test_0.trs" >/dev/null
	local result i=0
	for result; do
		echo ":test-result: $result a" >"$folder/test_$((++i)).trs"
		: >"$folder/test_$i.log"
	done
	: >"$folder/check_1.log" && : >"$folder/unit/test_0.log"
	env -u MAKEFLAGS bash "$POLLUX_SRCDIR/tests/again.sh" "$WORK/again" &&
		cat "$WORK/again/ran"
}

runs_again() {
	again PASS FAIL FAIL && diff "$WORK/again/ran" - <<-END
	TESTS=test_2.t test_3.t
	TESTS=
	END
}

leaves_them() {
	# shellcheck disable=SC2046
	again $(yes FAIL | head -n 13) && diff "$WORK/again/ran" <(echo TESTS=)
}

not_built() {
	again PASS && echo 'check: ; false' >"$WORK/again/Makefile" &&
		fails bash "$POLLUX_SRCDIR/tests/again.sh" "$WORK/again"
}

# What a test calls by a helper's name has to be that helper, also for others.
no_helper_is_hidden() {
	local test file hidden
	hidden=$(for test in "$POLLUX_SRCDIR"/tests/*.t; do
		for file in $(sources_of "$test"); do
			functions_of "$file"
			functions_of $(sources_of "$file")
		done | grep -Fxf - <(functions_of "$test") |
			sed "s|^|${test##*/}: |"
	done)
	echo "$hidden"
	[ -z "$hidden" ]
}

sources_of() {
	grep -ohE '^\. "?[^ ]*/tests/[a-z]+\.sh' "$1" |
		sed "s|.*/|$POLLUX_SRCDIR/tests/|" | sort -u
}

functions_of() {
	[ $# -eq 0 ] || grep -ohE '^[a-z_0-9]+\(\)' "$@"
}

# Where the environment is missing $WORK would be empty, and a test of root's would
# write into the system's own folders.
begins_safely() {
	local first='^\. "\${POLLUX_SRCDIR:\?}/tests/[a-z]+\.sh" \|\| exit 1$'
	[ -z "$(grep -LE "$first" "$POLLUX_SRCDIR"/tests/*.t | tee /dev/stderr)" ] ||
		return 1
	grep -hE "$first" "$POLLUX_SRCDIR/tests/check_lib.t" >"$WORK/body.t" &&
		echo "touch '$WORK/body.ran'" >>"$WORK/body.t" &&
		fails env -u POLLUX_SRCDIR bash "$WORK/body.t" &&
		fails env POLLUX_SRCDIR="$WORK" bash "$WORK/body.t" &&
		[ ! -e "$WORK/body.ran" ]
}

plan 18
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

ok "what failed stands at the end once more" counted 'echo 1..3; echo ok 1 - a
echo not ok 2 - b; echo "# failed (1): false"; echo "# why"; echo ok 3 - c
echo "# no word of this"' \
	'test_a: not ok 2 - b' '  # failed (1): false' '  # why' '2 passed, 1 failed'
ok "and what did not come to its end" counted 'echo 1..2; echo ok 1 - a
echo "Bail out! too long"; exit 124' \
	'test_a: Bail out! too long' 'ERROR: test_a.t - Bail out! too long' \
	'1 passed, 1 failed'
ok "a test without make check's environment does nothing" begins_safely
ok "what failed beside others is run once more, rules are not" runs_again
ok "nothing is where more than twelve have failed" leaves_them
ok "and what cannot be built has failed" not_built
ok "no test has a function of a helper's name" no_helper_is_hidden

# elastic.sh has lib.sh: each makes a folder, and the first one would stay.
begin_twice() {
	grep -l "^\. .*/tests/lib\.sh" "$POLLUX_SRCDIR"/tests/*.t |
		xargs grep -l "^\. .*/tests/elastic\.sh"
}

ok "no test begins twice" fails begin_twice
