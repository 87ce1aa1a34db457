# SPDX-License-Identifier: MIT
# check_format.t - C looks the way .clang-format says
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

# Releases of clang-format break some lines otherwise; the tree is by this one.
format=14
command -v clang-format >/dev/null || skip_all "clang-format is not installed"
clang-format --version | grep -q "version $format\." ||
	skip_all "$(clang-format --version | head -n 1): the tree is by $format"

unformatted() {
	find "$POLLUX_SRCDIR/src" "$POLLUX_SRCDIR/examples" \
		"$POLLUX_SRCDIR/tests" "$POLLUX_SRCDIR/bench" \
		-name '*.[ch]' -print0 | xargs -0 clang-format --dry-run 2>&1 |
		grep -E 'warning|error'
}

plan 1
ok "every C file is formatted as .clang-format says" fails unformatted
