# SPDX-License-Identifier: MIT
# check_size.t - functions of at most 60 lines, files of at most 900
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
cd "$POLLUX_SRCDIR" || exit 1

c_files() {
	find src examples bench tests -name '*.[ch]'
}

long_files() {
	c_files | xargs wc -l | awk '$2 != "total" && $1 > 900'
	find src tests bench examples -name '*.sh' -o -name '*.t' \
		! -path 'tests/unit/*' | xargs wc -l |
		awk '$2 != "total" && $1 > 900'
}

# A body opens with "{" in column one and closes with "}" there.
long_functions() {
	c_files | xargs awk '
		FNR == 1 { start = 0 }
		/^{/ { start = FNR }
		/^}/ && start {
			if (FNR - start - 1 > 60)
				printf "%s:%d: %d lines\n", FILENAME, start, \
					FNR - start - 1
			start = 0
		}'
}

none() {
	local found
	found=$("$@")
	echo "$found"
	[ -z "$found" ]
}

plan 2
ok "no file is longer than 900 lines" none long_files
ok "no function is longer than 60 lines" none long_functions
