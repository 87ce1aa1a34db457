# SPDX-License-Identifier: MIT
# test_fuzz.t - parsers in slurmctld and operators' tools, fed with damaged and
# random texts
. "${POLLUX_SRCDIR}/tests/lib.sh"

rounds=2000
[ -z "${POLLUX_THOROUGH:-}" ] || rounds=300000
targets="events fields hint ledger nodes notice options params rows section snapshot spank stat \
status submit target view"

# Functions that read a text inside slurmctld, and that no fuzzer calls.
unfuzzed() {
	local src=$POLLUX_SRCDIR/src
	grep -hoE '(plx|pollux|elastic)_[a-z_]+\((const char \*|char \*\*)[a-z_]+' \
		"$src"/core/*.h "$src"/plugins/common/*.h \
		"$src"/plugins/sched/pollux/*.h \
		"$src"/plugins/sched/pollux/backfill/*.h |
		grep -vE '\*(type|format)$' | sed 's/(.*//' | sort -u |
		while read -r name; do
			grep -rqw "$name" "$src/plugins" --include='*.c' &&
				! grep -qw "$name" "$POLLUX_SRCDIR"/tests/fuzz/*.c &&
				echo "$name"
		done
}

# shellcheck disable=SC2086 # words
set -- $targets
plan $(($# + 1))
ok "no parser in slurmctld is without one" test -z "$(unfuzzed)"
for target; do
	ok "$rounds inputs do no harm: $target" \
		"$POLLUX_SRCDIR/tests/fuzz/run" --rounds=$rounds "$target"
done
