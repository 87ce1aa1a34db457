# SPDX-License-Identifier: MIT
# check_words.t - words that were given up do not come back (docs/glossary.md),
# and a name is one thing
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

given_up=$(sed -n '/^Words that were given up/,$s/[^`]*`\([a-z]*\)`[^`]*/\1 /gp' \
	"$POLLUX_SRCDIR/docs/glossary.md" | tr '\n' ' ')

# Names of src/, each part of them: plx_purse_split has the word purse.
names() {
	find "$POLLUX_SRCDIR/src" -name '*.[ch]' -printf '%f\n' \
		-exec sed -E 's|/\*.*||; s|^[[:space:]]*\*([[:space:]].*)?$||
			s/"([^"\\]|\\.)*"//g' {} + |
		grep -oE '[A-Za-z_][A-Za-z_0-9]*' | sort -u
}

used() {
	local word
	names >"$WORK/names"
	for word in $given_up; do
		grep -iE "(^|_)${word}s?(_|$)" "$WORK/names"
	done
}

# Tags that two files give to different things: grep and gdb show both.
twice() {
	find "$POLLUX_SRCDIR/src" -name '*.[ch]' -exec grep -hoE \
		'^[[:space:]]*(struct|enum|union) (plx|pollux)_[a-z0-9_]+ \{' {} + |
		awk '{ print $2 }' | sort | uniq -d
}

same_file() {
	find "$POLLUX_SRCDIR/src" -name '*.[ch]' ! -name main.c -printf '%f\n' |
		sort | uniq -d
}

plan 4
ok "the glossary says which words were given up" test -n "$given_up"
ok "no name of src/ has one of them" test -z "$(used)"
ok "no tag of plx_ or pollux_ is two things" test -z "$(twice)"
ok "no two files of src have one name" test -z "$(same_file)"
