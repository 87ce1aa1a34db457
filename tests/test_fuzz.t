# SPDX-License-Identifier: MIT
# test_fuzz.t - every parser in slurmctld, fed with damaged and random texts
. "${POLLUX_SRCDIR}/tests/lib.sh"

rounds=2000
[ -z "${POLLUX_THOROUGH:-}" ] || rounds=300000
targets="fields hint notice options params section snapshot spank status submit target"

# shellcheck disable=SC2086 # words
set -- $targets
plan $#
for target; do
	ok "$rounds inputs do no harm: $target" \
		"$POLLUX_SRCDIR/tests/fuzz/run" --rounds=$rounds "$target"
done
