# SPDX-License-Identifier: MIT
# test_fuzz.t - parsers in slurmctld and operators' tools, fed with damaged and
# random texts
. "${POLLUX_SRCDIR}/tests/lib.sh"

rounds=2000
[ -z "${POLLUX_THOROUGH:-}" ] || rounds=300000
targets="events fields hint ledger notice options params rows section snapshot spank stat \
status submit target view"

# shellcheck disable=SC2086 # words
set -- $targets
plan $#
for target; do
	ok "$rounds inputs do no harm: $target" \
		"$POLLUX_SRCDIR/tests/fuzz/run" --rounds=$rounds "$target"
done
