# SPDX-License-Identifier: MIT
# metrics.sh - what sched/pollux exports, and what the dashboard asks for
#
# Sourced after lib.sh. Exported text is a file of slurmctld's, as
# pollux-stat --prometheus prints it.

dashboard=$POLLUX_SRCDIR/etc/pollux-grafana.json

# well_formed FILE: each name is introduced once by HELP and TYPE, its samples
# stand together, none twice, and all are numbers.
well_formed() {
	awk '
		function bad(what) { print what ": " $0; failed = 1 }
		function family(name) {
			if (name in type)
				return name
			sub(/_(bucket|sum|count)$/, "", name)
			return type[name] == "histogram" ? name : ""
		}
		/^# HELP pollux_[a-z_]+ [^ ]/ {
			if ($3 in help) bad("a second HELP")
			help[$3] = 1; next
		}
		/^# TYPE pollux_[a-z_]+ (counter|gauge|histogram)$/ {
			if ($3 in type) bad("a second TYPE")
			if (!($3 in help)) bad("no HELP before")
			if (($4 == "counter") != ($3 ~ /_total$/))
				bad("_total is for counters")
			type[$3] = $4; now = $3; next
		}
		!/^pollux_[a-z_]+({[a-z]+="[^"{}]*"(,[a-z]+="[^"{}]*")*})? [-+0-9.e]+$/ {
			bad("not a sample"); next
		}
		{
			name = $1
			sub(/{.*/, "", name)
			if (family(name) == "") bad("no TYPE")
			else if (family(name) != now) bad("not with its like")
			if (seen[$1]++) bad("twice")
			count++
		}
		END { exit failed || count < 40 }' "$1" || return
	! command -v promtool >/dev/null || promtool check metrics <"$1"
}

# exported FILE: "NAME", "NAME LABEL" and "NAME LABEL VALUE" of each sample.
exported() {
	awk '
		/^#/ { next }
		{
			name = $1
			sub(/{.*/, "", name)
			print name
			while (match($0, /[a-z]+="[^"]*"/)) {
				split(substr($0, RSTART, RLENGTH), part, "\"")
				sub(/=/, "", part[1])
				print name " " part[1]
				print name " " part[1] " " part[2]
				$0 = substr($0, RSTART + RLENGTH)
			}
		}' "$1" | sort -u
}

# The same of all that the dashboard asks for and puts into legends. The label
# `instance` is whoever scrapes'; =~ lists values with | between.
asked() {
	jq -r '
		def names: [scan("pollux_[a-z_]+")] | unique[];
		.. | objects | select(.expr) | . as $query | .expr |
		names,
		(capture("(?<name>pollux_[a-z_]+)\\{(?<rest>[^}]*)\\}"; "g") |
			.name as $name | .rest |
			capture("(?<label>[a-z_]+)(=~|!~|!=|=)\"(?<value>[^\"]*)\""; "g") |
			select(.label != "instance") |
			"\($name) \(.label) \(.value / "|" | .[])"),
		(names as $name |
			[scan("\\b(?:by|without) *\\(([^)]*)\\)")[0] / ","] +
			[[$query.legendFormat // "" | scan("\\{\\{ *([a-z_]+) *\\}\\}")[0]]] |
			add[] | gsub(" "; "") | "\($name) \(.)")' \
		"$dashboard" | sort -u
	# What the page gives as alarms.
	grep -oE 'pollux_[a-z_]+_(total|seconds|bucket|ratio)\b' \
		"$POLLUX_SRCDIR/docs/metrics.md" | sort -u
}

# asked_is_exported FILE: nothing that is asked for is empty for ever.
asked_is_exported() {
	asked | sort -u >"$WORK/asked"
	exported "$1" | comm -23 "$WORK/asked" - >"$WORK/missing"
	sed 's/^/asked for, not exported: /' "$WORK/missing"
	[ "$(wc -l <"$WORK/asked")" -ge 40 ] && [ ! -s "$WORK/missing" ]
}

# exported_is_asked FILE: nothing that is exported cannot be seen.
exported_is_asked() {
	local name missing=0
	asked >"$WORK/asked"
	for name in $(sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$1"); do
		grep -qxE "$name(_bucket|_sum|_count)?" "$WORK/asked" && continue
		echo "exported, not asked for: $name"
		missing=1
	done
	return $missing
}
