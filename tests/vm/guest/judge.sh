# SPDX-License-Identifier: MIT
# judge.sh - who may open which GPU, and who can
#
# Sourced by controller.sh. A look asks all processes of all jobs (observe), and
# compares what they say with what slurmctld says before and after. All looks
# stay in $looks, a line a process: "LOOK PHASE JOB WHO HOST OWNS OPENS VERDICT".

looks=
look=0

# judge_begin NAME: looks into a file of that name, from the first on.
judge_begin() {
	looks=$logs/looks.$1
	mkdir -p /home/vm/seen
	chmod 1777 /home/vm/seen
	rm -f /home/vm/seen/*
	: >"$looks"
	echo 0 >/home/vm/ask
}

# Those that answered. A killed one leaves its file, with an older number.
answers() {
	cat /home/vm/seen/*.[0-9]* 2>/dev/null | awk -v look="$look" '$1 == look'
}

# ask: until nobody has answered for two seconds.
ask() {
	local before=-1 now=0 same=0 tries
	look=$((look + 1))
	echo "$look" >/home/vm/ask.new && mv /home/vm/ask.new /home/vm/ask
	for ((tries = 0; tries < 30 && same < 4; tries++)); do
		sleep 0.5
		now=$(answers | wc -l)
		[ "$now" -eq "$before" ] && [ "$tries" -ge 4 ] &&
			same=$((same + 1)) || same=0
		before=$now
	done
}

# look_at PHASE: one look; 0 if it is calm (nothing changed meanwhile).
look_at() {
	owners >"$logs/owners.before"
	ask
	answers >"$logs/answers"
	owners >"$logs/owners.after"
	awk -v look="$look" -v phase="$1" -f /vm/guest/judge.awk \
		"$logs/owners.before" "$logs/owners.after" "$logs/answers" \
		>"$logs/verdicts"
	cat "$logs/verdicts" >>"$looks"
	cmp -s "$logs/owners.before" "$logs/owners.after"
}

# until_seen SECONDS PHASE COMMAND: wait for it, looking all the time.
until_seen() {
	local end=$((SECONDS + $1))
	until eval "$3" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || {
			echo "still not so after $1 s: $3"
			return 1
		}
		look_at "$2" || true
	done
}

# settled PHASE JOB...: a look at jobs that nobody resizes; the table is shown.
settled() {
	local phase=$1 job
	shift
	for job; do
		until_seen 400 "$phase" "is_calm $job" || return
	done
	sleep 3
	until_true 60 "look_at '$phase'" || return
	show_verdicts
	[ -s "$logs/verdicts" ] && none_wrong "$logs/verdicts"
}

show_verdicts() {
	{
		echo "look phase job process host owns opens cpus MiB verdict"
		cat "$logs/verdicts"
	} | awk '{ printf "#   %-8s %4s %-10s %-4s %-5s %-8s %-9s %-9s %s\n",
			$2, $3, $4, $5, $6, $7, $8, $9, $10 }' >&6
}

none_wrong() {
	! grep -vE ' ok$| moving$' "$1"
}

# Of all looks, also those while a job was resized.
never_shared() {
	grep -c . "$looks"
	! grep ' shares-' "$looks"
}
