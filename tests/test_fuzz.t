# SPDX-License-Identifier: MIT
# test_fuzz.t - parsers of text and bytes from outside, fed with what fuzzers
# have found and with damaged inputs
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

rounds=300
[ -z "${POLLUX_THOROUGH:-}" ] || rounds=300000
fuzz=$POLLUX_SRCDIR/tests/fuzz

# Functions that read a text inside slurmctld, and that no fuzzer calls.
unfuzzed() {
	local src=$POLLUX_SRCDIR/src
	grep -hoE '(plx|pollux|elastic)_[a-z_]+\((const char \*|char \*\*)[a-z_]+' \
		"$src"/core/*/*.h "$src"/plugins/common/*.h \
		"$src"/plugins/sched/pollux/*.h \
		"$src"/plugins/sched/pollux/backfill/*.h |
		grep -vE '\*(type|format|folders)$' | sed 's/(.*//' | sort -u |
		while read -r name; do
			grep -rqw "$name" "$src/plugins" --include='*.c' &&
				! grep -qw "$name" "$fuzz"/*.c &&
				echo "$name"
		done
}

# Each reader of numbers, JSON, files or sockets, anywhere, is entered.
reaches_all() {
	"$fuzz/run" --unreached >"$WORK/unreached" 2>&1 || {
		cat "$WORK/unreached"
		return 1
	}
	sed 's/^/no kept input reaches /' "$WORK/unreached"
	[ ! -s "$WORK/unreached" ]
}

# Few and small, as they travel with the source.
is_small() {
	local target count
	for target in $targets; do
		count=$(find "$fuzz/corpus/$target" -type f | wc -l)
		[ "$count" -ge 1 ] && [ "$count" -le 100 ] || {
			echo "$target has $count kept inputs"
			return 1
		}
	done
	[ "$(du -sb "$fuzz/corpus" | cut -f 1)" -lt 1000000 ]
}

targets=$(sed -n 's/^\tX(\([a-z]*\)).*/\1/p' "$fuzz/targets.h")
# shellcheck disable=SC2086 # words
set -- $targets
plan $(($# + 3))
ok "no parser in slurmctld is without a fuzzer" test -z "$(unfuzzed)"
ok "no reader of what comes from outside is without one" reaches_all
ok "every fuzzer has inputs to begin with, less than 1 MB in all" is_small
for target; do
	ok "kept inputs and $rounds damaged ones do no harm: $target" \
		"$fuzz/run" --rounds=$rounds "$target"
done
