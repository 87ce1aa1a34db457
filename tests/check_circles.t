# SPDX-License-Identifier: MIT
# check_circles.t - no new circle of files: two that name each other's
# functions cannot be read one after the other
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

known=$POLLUX_SRCDIR/tests/data/circles

# What tests/data/circles has is left from before; a circle may only shrink, or
# fall apart.
no_new_circle() {
	python3 "$POLLUX_SRCDIR/tests/circles.py" "$POLLUX_SRCDIR/src" \
		>"$WORK/now" || return 1
	awk 'NR == FNR { for (i = 1; i <= NF; i++) was[$i] = FNR; next }
		{
			for (i = 1; i <= NF; i++)
				if (!was[$i] || was[$i] != was[$1])
					new = new " " $i
			if (new != "") { print "a circle with" new ": " $0; bad = 1 }
			new = ""
		}
		END { exit bad }' "$known" "$WORK/now"
}

# Who has ended one says so, so that it does not come back.
known_is_true() {
	diff "$known" "$WORK/now"
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

plan 3
ok "a circle of three files is found" finds_one
ok "there is no new circle of files" no_new_circle
ok "tests/data/circles has those that are left" known_is_true
