# SPDX-License-Identifier: MIT
# check_circles.t - no circle of files: two that name each other's
# functions cannot be read one after the other
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

no_circle() {
	python3 "$POLLUX_SRCDIR/tests/circles.py" "$POLLUX_SRCDIR/src" \
		>"$WORK/now" || return 1
	cat "$WORK/now"
	[ ! -s "$WORK/now" ]
}

finds_one() {
	mkdir -p "$WORK/src/a" "$WORK/src/b" &&
		printf 'int plx_one(void)\n{\n\treturn plx_two();\n}\n' \
			>"$WORK/src/a/one.c" &&
		printf 'int plx_two(void)\n{\n\treturn plx_three();\n}\n' \
			>"$WORK/src/b/two.c" &&
		printf 'int plx_three(void)\n{\n\treturn 3; /* plx_one */\n}\n' \
			>"$WORK/src/b/three.c" &&
		[ -z "$(python3 "$POLLUX_SRCDIR/tests/circles.py" "$WORK/src")" ] &&
		printf 'int plx_three(void)\n{\n\treturn plx_one();\n}\n' \
			>"$WORK/src/b/three.c" &&
		[ "$(python3 "$POLLUX_SRCDIR/tests/circles.py" "$WORK/src")" = \
			"a/one b/three b/two" ]
}

plan 2
ok "a circle of three files is found" finds_one
ok "no files of src/ call each other in a circle" no_circle
