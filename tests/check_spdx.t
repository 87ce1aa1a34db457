# SPDX-License-Identifier: MIT
# check_spdx.t - every file names its licence, and the right one
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
cd "$POLLUX_SRCDIR" || exit 1

sources() {
	find "$@" -type f \( -name '*.[ch]' -o -name '*.am' -o -name '*.ac' \
		-o -name '*.m4' -o -name '*.in' -o -name '*.sh' -o -name '*.t' \
		-o -name '*.awk' -o -name '*.[1357]' \) \
		! -name 'Makefile.in' ! -name 'config.h.in' ! -name 'l*.m4' \
		! -path '*tests/unit/*.t' 2>/dev/null
}

without() {
	local want=$1
	shift
	sources "$@" | xargs awk -v want="SPDX-License-Identifier: $want" '
		FNR > 3 { nextfile }
		$0 ~ want { names[FILENAME] }
		END {
			for (i = 1; i < ARGC; i++)
				if (!(ARGV[i] in names))
					print ARGV[i]
		}'
}

none() {
	local found
	found=$("$@")
	echo "$found"
	[ -z "$found" ]
}

plan 4
ok "what does not link Slurm is MIT" none without MIT \
	src/core src/wire src/agent src/sim examples
ok "what links Slurm is GPL-2.0-or-later" none without \
	'(GPL-2.0-or-later|MIT)' src/plugins src/launcher src/report
ok "every other source file has an SPDX line" none without \
	'(GPL-2.0-or-later|MIT)' src etc man bench tests m4 configure.ac \
	Makefile.am
ok "both licences are in LICENSES" test -s LICENSES/MIT.txt -a \
	-s LICENSES/GPL-2.0-or-later.txt
