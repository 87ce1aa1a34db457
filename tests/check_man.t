# SPDX-License-Identifier: MIT
# check_man.t - every function and program has a manual page that formats
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
cd "$POLLUX_SRCDIR" || exit 1

functions() {
	grep -v '^typedef' src/agent/pollux.h |
		grep -oE '\bpollux_[a-z_]+\(' | tr -d '(' | sort -u
}

# Functions without a page and without a link to one.
missing() {
	functions | while read -r name; do
		grep -qs "$name" "man/$name.3" || grep -q "^	$name:" \
			man/Makefile.am || echo "$name"
	done
}

# Links to a page that does not name them.
astray() {
	sed -n 's/^	\(pollux_[a-z_]*\|libpollux\):\(pollux[a-z_]*\).*/\1 \2/p' \
		man/Makefile.am | while read -r name page; do
		sed -n '/^.SH NAME/{n;p;}' "man/$page.3" |
			grep -qw "$name" || echo "$name"
	done
}

# Numbers for operators, and what they are split by.
numbers() {
	sed -n 's/^[^/]*{ "\([a-z_]*\)", .*/\1/p' src/core/records/metrics.c
	grep -oE '(head|add_times)\(sheet, "[a-z_]+' src/core/records/metrics.c |
		sed 's/.*"//'
	sed -n 's/.*\.name = "\([a-z]*\)".*/\1/p' \
		src/plugins/sched/pollux/locks.c
}

unexplained() {
	local name
	for name in $(numbers | sort -u); do
		sed -n '/^.SH METRICS/,/^.SH DIAGNOSTICS/p' man/sched_pollux.5 |
			grep -qw "$name" || echo "$name"
	done
}

# What slurmctld refuses an elastic job with, up to its advice. Where pollux(7)
# has another sentence, or has it not.
refused_otherwise() {
	diff <(cat src/plugins/job_submit/pollux/*.c src/plugins/common/*.c |
		tr -d '\n\t' | sed 's/" *"//g' |
		grep -oP '"\Kan elastic job[^;:"]*' | sort -u) \
		<(sed -n -e ':a; /\\$/{N; s/\\\n//; ba}' -e \
			's/^\.BI* "*\(an elastic job[^:]*\).*/\1/p' \
			man/pollux.7 | sort -u)
}

# What groff and mandoc have to complain about; long lines are no matter.
complaints() {
	for page in man/*.[1357]; do
		groff -man -t -Tutf8 -wall "$page" 2>&1 >/dev/null
		mandoc -T lint -W warning "$page"
	done
}

none() {
	local found
	found=$("$@")
	echo "$found"
	[ -z "$found" ]
}

programs=(src/launcher/pollux-launch src/report/pollux-{report,stat,top}
	src/sim/pollux-{alloc,sim} src/sandbox/pollux-sandbox
	src/doctor/pollux-doctor examples/pollux-train)

# of_help PROGRAM: its options, as --help shows them
of_help() {
	POLLUX_SANDBOX_LIB=$POLLUX_SRCDIR/src/sandbox/lib \
		"$POLLUX_BUILDDIR/$1" --help |
		grep -E '^ *(-|[a-z]+ \[--)' | cut -c 1-29 |
		grep -oE -- '--[a-z][a-z-]*' | sort -u
}

# of_page PROGRAM: those that its page's section on options has a tag for
of_page() {
	sed -n '/^\.SH "\?OPTIONS/,$p' "man/${1##*/}.1" |
		sed 's/\\-/-/g; s/\\f[BIRP]//g' | grep -A1 '^\.TP' |
		grep -oE -- '--[a-z][a-z-]*' | sort -u
}

# Options that no line of the page has, and tags that --help knows nothing of.
otherwise() {
	local program option
	for program in "${programs[@]}"; do
		[ -x "$POLLUX_BUILDDIR/$program" ] || continue
		for option in $(of_help "$program"); do
			[[ $option =~ ^--(usage|help)$ ]] ||
				sed 's/\\-/-/g' "man/${program##*/}.1" |
				grep -qE -- "$option([^a-z-]|\$)" ||
				echo "$program: no word about $option"
		done
		comm -13 <(of_help "$program") <(of_page "$program") |
			grep -vxE -- '--(help|version)' |
			sed "s|^|$program has no |"
	done
}

# What bash completes, where it is not what --help shows.
completed_otherwise() {
	local program
	# shellcheck source=/dev/null
	. etc/pollux.completion
	export POLLUX_SANDBOX_LIB=$POLLUX_SRCDIR/src/sandbox/lib
	for program in "${programs[@]}"; do
		[ -x "$POLLUX_BUILDDIR/$program" ] || continue
		complete -p "${program##*/}" >/dev/null ||
			echo "$program is not completed"
		COMP_WORDS=("$POLLUX_BUILDDIR/$program" --)
		COMP_CWORD=1
		_pollux "$POLLUX_BUILDDIR/$program"
		diff <(printf '%s\n' "${COMPREPLY[@]}" | sort -u) \
			<(of_help "$program") | sed -n "s|^[<>]|$program: &|p"
	done
}

completes_a_value() {
	# shellcheck source=/dev/null
	. etc/pollux.completion
	COMP_WORDS=("$POLLUX_BUILDDIR/src/sim/pollux-sim" --policy = tir)
	COMP_CWORD=3
	_pollux "${COMP_WORDS[0]}"
	[ "${COMPREPLY[*]}" = tiresias ] || echo "not: ${COMPREPLY[*]}"
}

# Keys of the example that slurmctld does not know, and the other way round.
other_keys() {
	diff <(sed -nE 's/^# (pollux_[a-z_]+)=.*/\1/p' \
		etc/pollux.conf.example | sort) \
		<(sed -nE 's/^\t\{ "([a-z_]+)", AT\(.*/pollux_\1/p' \
			src/plugins/sched/pollux/params.c | sort)
}

# Rows of params.c whose key, or bounds, sched_pollux(5) tells otherwise.
told_otherwise() {
	local key kind low high want text
	awk -f src/doctor/parameters.awk src/plugins/sched/pollux/params.c |
		while read -r key kind low high want; do
			text=$(sed 's/\\//g' man/sched_pollux.5 |
				sed -n "/^fBpollux_$key=/,/^.TP\|^.SH/p" |
				tr '\n' ' ')
			case $kind in
			NUMBER | MINUTES)
				[[ $text == *" from $low to $high"[.,]* ]]
				;;
			*) [[ -n $text ]] ;;
			esac || echo "pollux_$key: $want"
		done
}

# "FUNCTION TEXT" of each sentence in the sources; C breaks them over lines.
sentences() {
	find src -name '*.[ch]' -o -name '*.sh' | xargs cat | tr -d '\n\t' |
		sed 's/" *"//g' >"$WORK/said"
	grep -oP '\w+ ?\((?:[^"();]*, ?)?"(?:[^"\\]|\\.)*"' "$WORK/said" |
		sed 's/ *(\([^"]*\)"/ /' >"$WORK/calls"
}

# Lines of logs that documents for operators name.
quoted() {
	grep -ohE '(log|launcher): `[^`]*`|`[^`]*` \(pollux' \
		docs/troubleshooting.md docs/operators.md docs/recipes.md |
		sed 's/^[^`]*`//; s/`.*//; s/ *$//'
}

# Those in no source.
made_up() {
	local said
	sentences
	quoted | while read -r said; do
		grep -qF -- "$said" "$WORK/said" || echo "$said"
	done
}

# Those that slurmctld writes with a higher SlurmctldDebug alone. What is made
# elsewhere, and then logged, is not seen.
unheard() {
	local said
	sentences
	quoted | while read -r said; do
		grep -F -- "$said" "$WORK/calls" | cut -d' ' -f1 |
			sort -u >"$WORK/by"
		grep -qE '^(pollux_)?(verbose|debug[2-5]?)$' "$WORK/by" &&
			! grep -qvE '^(pollux_)?(verbose|debug[2-5]?)$' \
				"$WORK/by" && echo "$said"
	done
}

# Pages and programs that the README does not name.
unmentioned() {
	local name
	for name in docs/*.md HACKING.md; do
		grep -qF "($name)" README.md || echo "$name"
	done
	for name in "${programs[@]##*/}"; do
		grep -qF "$name" README.md || echo "$name"
	done
}

plan 13
ok "every function of pollux.h has a page" none missing
ok "pages that point to another are named there" none astray
ok "each option of --help has a place in the page, and the other way round" \
	none otherwise
ok "bash completes the options of --help" none completed_otherwise
ok "and values that have names" none completes_a_value
ok "the example of slurm.conf has each key of the scheduler" none other_keys
ok "sched_pollux(5) has each key, and its bounds" none told_otherwise
ok "operators are told of log lines that there are" none made_up
ok "and that slurmctld writes without being asked for more" none unheard
ok "pollux(7) has what slurmctld refuses, in the same words" \
	none refused_otherwise
ok "the README names each document and program" none unmentioned
ok "every number for operators is explained" none unexplained
if [ -e /usr/share/groff/current/tmac/an.tmac ]; then
	ok "all pages format without a complaint" none complaints
else
	skip "all pages format without a complaint" "no man macros here"
fi
