# SPDX-License-Identifier: MIT
# check_matrix.t - tests/matrix tells what a run on another release came to
#
# No root is made here: it has what a run leaves.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

matrix=$POLLUX_SRCDIR/tests/matrix
src=$WORK/roots/debian13/usr/src

left_by_a_run() {
	rm -rf "$WORK/roots" "$WORK/rows"
	mkdir -p "$src/pollux/tests/unit"
	printf '%s\t%s\n' Slurm 24.11.5 "Open MPI" 5.0.7 PMIx 5.0.7 torch 2.6.0 \
		>"$src/pollux.versions"
	ran tests/test_a "ok 1 - it works" \
		"ok 2 - a node burns # SKIP no | fire" \
		"ok 3 - so does another # SKIP no | fire"
	ran tests/unit/test_b "ok 1 - it adds up"
}

# ran FILE LINE...: what automake keeps of a file's lines.
ran() {
	local file=$src/pollux/$1
	shift
	printf '%s\n' "$@" >"$file.log"
	printf '%s\n' "$@" | sed -E 's/^ok.* # SKIP.*/:test-result: SKIP/
		s/^ok.*/:test-result: PASS/; s/^not ok.*/:test-result: FAIL/' \
		>"$file.trs"
}

# reports EXIT-STATUS TEXT...: each in the one row.
reports() {
	local want=$1 text rc
	shift
	"$matrix" --dir="$WORK/roots" --rows="$WORK/rows" --report debian13
	rc=$?
	cat "$WORK/rows"
	[ $rc = "$want" ] && [ "$(wc -l <"$WORK/rows")" = 1 ] || return
	for text; do
		grep -qF -- "$text" "$WORK/rows" || return
	done
}

all_passed() {
	left_by_a_run
	reports 0 "| debian13 | 24.11.5 | 5.0.7 | 5.0.7 | 2.6.0 | all | 2 | 0 |"
}

skips_are_named() {
	left_by_a_run
	reports 0 "| 2 (2: no   fire) |"
}

a_failure_is_named() {
	left_by_a_run
	ran tests/test_a "ok 1 - it works" "not ok 2 - it | holds"
	reports 1 "| 2 | 1 (test_a.t 2) |"
}

# As a landing does when one of them does not compile: none has a result then.
a_build_that_fails_is_a_failure() {
	left_by_a_run
	(
		eval "$(sed -n '/^no_build() {/,/^}/p; /^run_unit_tests() {/,/^}/p
			/^results() {/,/^}/p' "$matrix")"
		tree=/usr/src/pollux
		inside() { return 2; }
		run_unit_tests "$WORK/roots/debian13"
	)
	reports 1 "| 2 | 1 (build.t) |"
}

refuses() {
	local said
	said=$("$matrix" --dir="$WORK/none" --rows="$WORK/rows.none" "${@:2}" 2>&1) &&
		return 1
	echo "$said"
	[[ $said == *"$1"* ]] && ! [ -e "$WORK/rows.none" ]
}

plan 8
ok "the script can be read" bash -n "$matrix"
ok "a row has the versions, and how many passed" all_passed
ok "what was skipped is named, with the reason" skips_are_named
ok "what failed is named, and the exit status tells" a_failure_is_named
ok "unit tests that do not build are a failure" a_build_that_fails_is_a_failure
ok "a release that is not known is refused" refuses "no release 'debian99'" debian99
ok "a release that was not run has no row" refuses "was not run" --report debian12
ok "an upgrade wants to know to which Slurm" refuses "wants a --slurm-source" \
	--upgrade debian13
