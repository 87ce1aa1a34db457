# SPDX-License-Identifier: MIT
#
# What of us Slurm's configuration on this machine names. debian/rules and
# etc/pollux.spec put this into the scripts that ask before we are removed.
root= # for tests

# Where Slurm looks for slurm.conf, and where daemons are told to: the second
# and third line are slurmd's own copies, where slurmctld has the only one.
slurm_confs() {
	ls -d "$root/etc/slurm/slurm.conf" "$root/etc/slurm-llnl/slurm.conf" \
		"$root/run/slurm/conf/slurm.conf" \
		"$root"/var/spool/*/conf-cache/slurm.conf \
		"$root"/var/*/slurm/*/conf-cache/slurm.conf 2>/dev/null || :
	{
		cat "$root"/etc/default/slurm* "$root"/etc/sysconfig/slurm* \
			"$root"/etc/environment \
			"$root"/etc/systemd/system/slurm*.service \
			"$root"/etc/systemd/system/slurm*.service.d/*.conf
	} 2>/dev/null | sed -n -e 's/#.*//' \
		-e 's/.*SLURM_CONF=["'\'']*\(\/[^"'\'' ]*\).*/\1/p' \
		-e '/_OPTIONS=/s/.*-f *\(\/[^"'\'' ]*\).*/\1/p' \
		-e '/^ExecStart=/s/.* -f *\(\/[^ ]*\).*/\1/p' |
		while read -r conf; do
			echo "$root$conf"
		done
}

# lines FILE [DEPTH]: "FILE: LINE" of it and of what it includes, by a pattern
# or not, with lines joined that end in a backslash.
lines() {
	[ "${2:-0}" -le 8 ] && [ -f "$1" ] || return 0
	sed -e :a -e '/\\$/{' -e N -e 's/\\\n//' -e ta -e '}' -e 's/#.*//' "$1" |
		while read -r word rest || [ -n "$word" ]; do
			case $word in
			'') continue ;;
			[Ii][Nn][Cc][Ll][Uu][Dd][Ee]) ;;
			*) echo "$1: $word $rest" && continue ;;
			esac
			# A cluster's name in a path: any will do.
			pattern=$(echo "${rest%%[[:space:]]*}" | sed 's/%[cC]/*/g')
			case $pattern in
			/*) pattern=$root$pattern ;;
			*) pattern=${1%/*}/$pattern ;;
			esac
			for file in $pattern; do
				lines "$file" $((${2:-0} + 1))
			done
		done
}

all_lines() {
	slurm_confs | sort -u | while read -r conf; do
		lines "$conf"
	done
}

# Each plugstack.conf: beside slurm.conf, or where that says.
plugstacks() {
	ls -d "$root"/etc/slurm/plugstack.conf \
		"$root"/etc/slurm/plugstack.conf.d/* 2>/dev/null || :
	slurm_confs | while read -r conf; do
		echo "${conf%/*}/plugstack.conf"
	done
	all_lines | sed -n \
		's/.*[Pp]lug[Ss]tack[Cc]onfig *= *"\{0,1\}\([^" ]*\).*/\1/p' |
		while read -r conf; do
			echo "$root$conf"
		done
}

# The files that have our folder in PluginDir, where sched/pollux has the name of
# Slurm's backfill.
name_folder() {
	all_lines | grep -iE '[: ]PluginDir *=[^ ]*/slurm[^/:]*/pollux/*([:" ]|$)' |
		cut -d: -f1 | sort -u
}

# The files in which slurmctld is told to load one of its plugins.
name_scheduler() {
	{
		name_folder
		all_lines | grep -iE \
			'[: ](SchedulerType *= *"?sched/pollux|JobSubmitPlugins *=[^ ]*pollux)' |
			cut -d: -f1
	} | sort -u
}

# The files in which commands and slurmstepd are told that they need the option.
require_option() {
	plugstacks | sort -u | while read -r conf; do
		lines "$conf"
	done | grep -E ': required[[:space:]].*spank_pollux' | cut -d: -f1 |
		sort -u
}

# What slurmctld's plugin wrote by itself: numbers for operators, beside
# slurmctld's log or where pollux_metrics has them.
own_files() {
	{
		echo "$root/var/log/slurm/pollux.prom"
		echo "$root/var/log/slurm-llnl/pollux.prom"
		all_lines | sed -n -e \
			's/.*[Ss]lurmctld[Ll]og[Ff]ile *= *"\{0,1\}\(\/[^" ]*\)\/[^/" ]*.*/\1\/pollux.prom/p' \
			-e 's/.*pollux_metrics=\(\/[^", ]*\).*/\1/p' |
			while read -r file; do
				echo "$root$file"
			done
	} | sort -u | while read -r file; do
		for file in "$file" "$file.draft"; do
			# Nothing else, should it have that name.
			if [ -f "$file" ] && [ ! -L "$file" ] &&
				head -n 1 "$file" | grep -q '^# HELP pollux_'; then
				echo "$file"
			fi
		done
	done
}
