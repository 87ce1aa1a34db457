# SPDX-License-Identifier: MIT
# check_released.t - what earlier releases promised is kept
# (docs/compatibility.md)
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/released.sh" || exit 1
use_build_tree
PATH=$POLLUX_BUILDDIR/src/sim:$PATH

# all_of LIST COMMAND...: no line of the list is missing in what it prints.
all_of() {
	local list=$1
	shift
	"$@" | sort >"$WORK/today"
	[ -s "$WORK/today" ] && ! sort "$list" | comm -23 - "$WORK/today" | grep .
}

# Each field is where it was, and has as many bytes.
same_layout() {
	grep -F . "$1" | cut -d' ' -f1 | layout | grep -F . |
		diff <(grep -F . "$1") -
}

# New ones lie behind all that the struct had: what filled it up at its end is
# not told by its size, and holds anything.
new_behind() {
	local inside
	inside=$(awk 'NR == FNR { known[$1] = $2; next }
		NF == 3 && !($1 in known) {
			split($1, part, ".")
			if ($2 < known[part[1]])
				print $1 " lies within what the struct had"
		}' "$1" <(fields | layout))
	echo "$inside"
	[ -z "$inside" ]
}

soname() {
	objdump -p "$POLLUX_BUILDDIR/src/agent/.libs/libpollux.so.0" |
		grep -E 'SONAME +libpollux[.]so[.]0$'
}

# Every job has an answer, and none more than there is.
decides() {
	pollux-alloc --json "$1" | jq -e --slurpfile posed "$1" \
		'.fitness > 0 and
		(.allocations | length) == ($posed[0].jobs | length)'
}

linked=yes
[ -e "$POLLUX_BUILDDIR/src/agent/.libs/libpollux.so.0" ] || linked=
for release in "$POLLUX_SRCDIR"/tests/released/[0-9]*; do
	name=$(basename "$release")
	if [ -n "$linked" ]; then
		ok "a program linked with $name finds its functions" \
			all_of "$release/functions" functions
		ok "and its structs" same_layout "$release/structs"
		ok "which have grown at their ends only" new_behind "$release/structs"
		ok "in the library of the same name" soname
	else
		skip "a program linked with $name works" "built without libpollux"
	fi
	ok "options of $name are there" all_of "$release/options" options
	ok "fields of JSON of $name are there" \
		all_of "$release/json" printed "$release"
	ok "a snapshot of $name is decided" decides "$release/snapshot.json"
done
plan "$tap_count"
