# SPDX-License-Identifier: MIT
# hosts.sh - nodes that lose their power or their network under a job
#
# Sourced after elastic.sh, by tests and by bench/poweroff: a job that trains on
# all nodes, and what it lost when one was gone.

# host NAME COMMAND...
host() {
	pollux-sandbox exec --dir "$SB" --host "$@"
}

# node VERB ARGUMENT...: power, net, disk
node() {
	pollux-sandbox "$1" --dir "$SB" "${@:2}" >>"$WORK/verbs.txt" 2>&1
}

# Generations that have committed a step, the newest last.
generations() {
	grep -ls '^[0-9]' "$POLLUX_SAMPLE_LOG"/*.0 | sed 's,.*/,,; s/\.0$//' |
		sort -n
}

newest() {
	generations | tail -n 1
}

# commits GENERATION: the steps that its ranks have committed
commits() {
	cat "$POLLUX_SAMPLE_LOG/$1".* | awk '$1 ~ /^[0-9]+$/ { print $1 }'
}

# steps_lost GENERATION: of it, that the newest had to do again
steps_lost() {
	local from last
	from=$(sed -n 's/^from //p' "$POLLUX_SAMPLE_LOG/$(newest).0")
	last=$(commits "$1" | sort -n | tail -n 1)
	echo $((last + 1 - from))
}

# has_begun GENERATION: has a later one committed a step?
has_begun() {
	local file generation

	for file in "$POLLUX_SAMPLE_LOG"/*.0; do
		generation=${file##*/}
		[ "${generation%.0}" -gt "$1" ] && grep -q '^[0-9]' "$file" &&
			return
	done
	return 1
}

# goes_on_after GENERATION BEGIN: wait for a step of a later one; sets `took`
# to the milliseconds since BEGIN, of EPOCHREALTIME without its point
goes_on_after() {
	local end=$((SECONDS + 60 * POLLUX_PATIENCE))

	until has_begun "$1"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.02
	done
	# shellcheck disable=SC2034 # for the caller
	took=$(((${EPOCHREALTIME/./} - $2) / 1000))
}
