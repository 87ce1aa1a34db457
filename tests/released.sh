# SPDX-License-Identifier: MIT
# released.sh - what a release promises to the next ones, as lists
#
# Sourced after lib.sh. docs/compatibility.md says what may change.

programs="pollux-launch pollux-report pollux-top pollux-stat pollux-sim
	pollux-alloc pollux-doctor pollux-sandbox pollux-train"

# Names of functions that programs are linked with.
functions() {
	nm -D --defined-only "$POLLUX_BUILDDIR/src/agent/.libs/libpollux.so.0" |
		awk '{ print $3 }' | sort
}

# "STRUCT.FIELD" of pollux.h, in their order.
fields() {
	sed -E 's|/\*.*\*/||; /^[ \t]*\*/d' "$POLLUX_SRCDIR/src/agent/pollux.h" |
		sed -nE '/^struct pollux_[a-z_]+ \{/,/^\}/p' | awk '
		/^struct/ { name = $2; next }
		/^}/ { next }
		match($0, /\(\*[a-z_]+\)/) {
			print name "." substr($0, RSTART + 2, RLENGTH - 3)
			next
		}
		match($0, /[a-z_0-9]+(\[[A-Z_]+\])?;/) {
			field = substr($0, RSTART, RLENGTH - 1)
			sub(/\[.*/, "", field)
			print name "." field
		}'
}

# Of the fields that standard input names "STRUCT.FIELD OFFSET BYTES", and before
# those of a struct "STRUCT BYTES".
layout() {
	local struct field last=
	{
		printf '#include <stdio.h>\n#include <pollux.h>\nint main(void) {\n'
		while IFS=. read -r struct field; do
			[ "$struct" = "$last" ] ||
				printf 'printf("%s %%zu\\n", sizeof(struct %s));\n' \
					"$struct" "$struct"
			last=$struct
			printf 'printf("%s.%s %%zu %%zu\\n", offsetof(struct %s, %s), sizeof(((struct %s *) NULL)->%s));\n' \
				"$struct" "$field" "$struct" "$field" "$struct" "$field"
		done
		echo 'return 0; }'
	} >"$WORK/layout.c"
	cc -I "$POLLUX_SRCDIR/src/agent" -o "$WORK/layout" "$WORK/layout.c" &&
		"$WORK/layout"
}

# "PROGRAM --OPTION", as --help has them.
options() {
	local program
	for program in $programs; do
		"$program" --help 2>&1 | grep -oE '(^|[ ,])--[a-z][a-z-]*' |
			tr -d ' ,' | sort -u | sed "s/^/$program /"
	done
}

# Names of the fields in JSON from standard input; .[] is each of a list.
json_fields() {
	jq -r '[paths | map(if type == "number" then "[]" else . end) |
		join(".")] | unique | .[]'
}

# What programs print of one recorded cluster and one snapshot.
printed() {
	local data=$POLLUX_SRCDIR/tests/data
	TZ=UTC pollux-report --from="$data/sandbox.sacct" --json \
		--log="$data/sandbox.ctld" | json_fields | sed 's/^/pollux-report /'
	pollux-alloc --json "$1/snapshot.json" | json_fields |
		sed 's/^/pollux-alloc /'
}
