# SPDX-License-Identifier: MIT
# check_man.t - every function and program has a manual page that formats
. "${POLLUX_SRCDIR}/tests/lib.sh"
cd "$POLLUX_SRCDIR" || exit 1

functions() {
	grep -v '^typedef' src/agent/pollux.h |
		grep -oE '\bpollux_[a-z_]+\(' | tr -d '(' | sort -u
}

# Functions without a page, or whose page does not name them.
missing() {
	functions | while read -r name; do
		grep -qs "$name" "man/$name.3" ||
			grep -qs '^\.so man3/' "man/$name.3" || echo "$name"
	done
}

# Pages that only point to one, which does not name them.
astray() {
	grep -l '^\.so man3/' man/*.3 | while read -r page; do
		name=$(basename "$page" .3)
		target=$(sed -n 's|^\.so man3/||p' "$page")
		sed -n '/^.SH NAME/{n;p;}' "man/$target" |
			grep -qw "$name" || echo "$page"
	done
}

# What groff has to complain about.
complaints() {
	for page in man/*.[1357]; do
		grep -q '^\.so ' "$page" && continue
		groff -man -t -Tutf8 -wall "$page" 2>&1 >/dev/null
	done
}

none() {
	local found
	found=$("$@")
	echo "$found"
	[ -z "$found" ]
}

plan 3
ok "every function of pollux.h has a page" none missing
ok "pages that point to another are named there" none astray
if [ -e /usr/share/groff/current/tmac/an.tmac ]; then
	ok "all pages format without a complaint" none complaints
else
	skip "all pages format without a complaint" "no man macros here"
fi
