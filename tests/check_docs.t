# SPDX-License-Identifier: MIT
# check_docs.t - what documents name is there
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
cd "$POLLUX_SRCDIR" || exit 1

documents() {
	find README.md HACKING.md docs bindings examples tests etc \
		-name '*.md' ! -path '*/build/*'
}

# "FILE WHAT" for each match of a Perl expression in a document.
named() {
	documents | xargs grep -oP "$1" | sed 's/:/ /'
}

# An anchor is a heading as GitHub has it: small letters, a dash a blank.
has_heading() {
	grep '^#' "$1" | tr -d '`:,.()?' | sed 's/^#* //; s/ /-/g' |
		grep -ixqF "$2"
}

broken_links() {
	local file link target
	named '\]\(\K[^)]+(?=\))' | while read -r file link; do
		[[ $link != *://* ]] || continue
		target=$(dirname "$file")/${link%%#*}
		[[ $link != \#* ]] || target=$file
		[ -e "$target" ] || {
			echo "$file: $link"
			continue
		}
		[[ $link != *#* ]] || has_heading "$target" "${link#*#}" ||
			echo "$file: no heading ${link#*#}"
	done
}

# is_here PATH: a file, a pattern of some, the number of a decision, or what its
# folder's Makefile makes.
is_here() {
	compgen -G "$1" >/dev/null || compgen -G "$1-*" >/dev/null || grep -qsE "(PROGRAMS|SCRIPTS) .*\<${1##*/}\>" \
		"${1%/*}/Makefile.am"
}

# Files in text: from the top, or from docs/. Slurm has a src/, too.
missing_files() {
	local file path
	named '(?<![\w/.~-])(bench|bindings|debian|decisions|docs|etc|examples|man|src|tests)/[\w./*{},-]*[\w*}]' |
		sort -u | while read -r file path; do
		[[ ! $path =~ /\.libs/|^src/(slurmctld|interfaces) ]] || continue
		for path in $(eval "echo $path"); do
			is_here "$path" || is_here "docs/$path" ||
				echo "$file: $path"
		done
	done
}

missing_pages() {
	local file page
	named '\b(lib|sched_|spank_)?pollux[\w-]*\(\d\)' | sort -u |
		while read -r file page; do
			[ -e "man/${page%(*}.${page//[^0-9]/}" ] ||
				grep -q "^	${page%(3)}:" man/Makefile.am ||
				echo "$file: $page"
		done
}

# Options of our programs, as typed in a document, that --help does not show;
# not those of the program that it starts.
started='\./|--? |exec |pollux-|python|bash |mpirun '
unknown_options() {
	local file name words program option
	named '\bpollux-(launch|report|stat|top|sim|alloc|sandbox|doctor) [^`|;#)]*' |
		while read -r file name words; do
			program=$(compgen -G "$POLLUX_BUILDDIR/src/*/$name") ||
				continue
			for option in $(sed -E "s, ($started).*,," <<<" $words" |
				grep -oE -- ' --[a-z][a-z-]*'); do
				help_of "$program" |
					grep -qE -- "$option([^a-z-]|\$)" ||
					echo "$file: $name $option"
			done
		done
}

help_of() {
	local kept=$WORK/${1##*/}.help
	[ -s "$kept" ] || POLLUX_SANDBOX_LIB=$POLLUX_SRCDIR/src/sandbox/lib \
		"$1" --help >"$kept"
	cat "$kept"
}

none() {
	local found
	found=$("$@")
	echo "$found"
	[ -z "$found" ]
}

# Promises that nobody can keep: those who read them would be disappointed.
absolute() {
	grep -rniE '(never|(must|does|do) not) notice|as (they|it) always (were|was|did)' \
		README.md docs/*.md man/*.[1-8] debian/control etc
}

# Fields that hint.c writes and the list in hint.h has not.
unlisted() {
	local field
	for field in $(grep -oE '_(number|counts|doubles)\(w, "[a-z]+' \
		src/core/records/hint.c | sed 's/.*"//' | sort -u); do
		sed -n '2,/^ \*\//p' src/core/records/hint.h |
			grep -q "\"$field=" || echo "$field"
	done
}

plan 6
ok "the list of a hint's fields is whole" none unlisted
ok "nobody is promised to notice nothing" none absolute
ok "each link leads to a file, and to a heading of it" none broken_links
ok "each file that is named is there" none missing_files
ok "each manual page that is named is there" none missing_pages
ok "each option that is typed is one of its program" none unknown_options
