# SPDX-License-Identifier: MIT
# jobs.sh - submit jobs when they are due, watch them until they have ended
#
# Sourced by demo. A plan has a line a job, fields separated by '|':
#   SECOND|NAME|elastic|KEY=VALUE,...|ARGUMENTS OF pollux-train
#   SECOND|NAME|rigid|OPTIONS OF sbatch|SECONDS IT LASTS

table_every_s=5 # when the output is not a terminal
looks=0
submitted=0

jobs_submit() {
	local name=$2 kind=$3 how=$4 what=$5
	local -a options=()

	case $kind in
	elastic) options=("--scheduler-params=pollux,$how")
		what="srun pollux-launch --quiet --checkpoint-dir $WORK/$name.d $TRAIN --quiet --json $what" ;;
	rigid) read -ra options <<<"$how"
		what="sleep $what" ;;
	*) give_up "plan: no kind of job is called '$kind'" ;;
	esac
	sb sbatch --parsable -J "$name" -o "$WORK/$name.out" -D "$WORK" \
		"${options[@]}" --wrap "$what" >"$WORK/sbatch.out" 2>&1 ||
		give_up "sbatch refused $name: $(cat "$WORK/sbatch.out")"
	submitted=$((submitted + 1))
}

# Submit what is due at second $2; leave the rest in the file.
jobs_submit_due() {
	local plan=$1 now_s=$2 line
	local -a later=()

	while IFS= read -r line; do
		if [ "${line%%|*}" -le "$now_s" ]; then
			IFS='|' read -ra fields <<<"$line"
			jobs_submit "${fields[@]}"
		else
			later+=("$line")
		fi
	done <"$plan"
	printf '%s\n' ${later[@]+"${later[@]}"} | grep . >"$plan"
}

# One look at all jobs: GPUs with two owners are kept in owners.bad.
jobs_look() {
	sb scontrol --details show job >"$WORK/look.txt" 2>"$WORK/look.err" ||
		return 1
	awk -f "$here/owners.awk" "$WORK/look.txt" >>"$WORK/owners.bad"
	looks=$((looks + 1))
}

# In the last look: how many jobs have not ended.
jobs_alive() {
	grep -cE 'JobState=(PENDING|RUNNING|COMPLETING|SUSPENDED|CONFIGURING)' \
		"$WORK/look.txt"
}

# In the last look: how far all jobs are, 1 for each that has ended.
jobs_progress() {
	awk '
	function add() { sum += ended ? 1 : part; ended = part = 0 }
	/^JobId=/ { add() }
	match($0, / progress=[0-9.e+-]+/) {
		part = substr($0, RSTART + 10, RLENGTH - 10)
	}
	/ JobState=/ {
		ended = !/=(PENDING|RUNNING|COMPLETING|SUSPENDED|CONFIGURING)/
	}
	END { add(); printf "%.9f\n", sum }' "$WORK/look.txt"
}

# In the last look: who has not ended, and what each does.
jobs_waited_for() {
	awk '
	function say() {
		if (alive)
			list = list (list ? ", " : "") name " (" state part ")"
		part = ""
	}
	/^JobId=/ { say(); name = substr($2, 9) }
	match($0, / progress=[0-9.e+-]+/) {
		part = sprintf(", %.1f %% trained",
			100 * substr($0, RSTART + 10, RLENGTH - 10))
	}
	/ JobState=/ {
		state = tolower(substr($1, 10))
		alive = state ~ /^(pending|running|completing|suspended|configuring)$/
	}
	END { say(); print list ? list : "jobs to come" }' "$WORK/look.txt"
}

jobs_table() {
	if [ -t 1 ]; then
		printf '\033[H\033[2J'
		sb pollux-top --once
		echo
		echo "second $SECONDS; $(grep -c . "$1") jobs still to come;" \
			"Ctrl-C ends it all"
	else
		sb pollux-top --once
		echo
	fi
}

# jobs_run PLAN TIMEOUT: all of them to their ends. How long that takes is the
# machine's affair: given up is when none has come further for TIMEOUT seconds.
jobs_run() {
	local plan=$1 timeout=$2 begin=$SECONDS next_table=0
	local far=-1 moved=$SECONDS told=

	[ ! -t 1 ] || table_every_s=1
	: >"$WORK/owners.bad"
	: >"$WORK/look.txt"
	while [ $((SECONDS - moved)) -lt "$timeout" ]; do
		jobs_submit_due "$plan" $((SECONDS - begin))
		jobs_look || { sleep 1 && continue; }
		if [ "$SECONDS" -ge "$next_table" ]; then
			jobs_table "$plan"
			next_table=$((SECONDS + table_every_s))
		fi
		[ -s "$plan" ] || [ "$(jobs_alive)" -gt 0 ] || return 0
		if awk "BEGIN { exit !($(jobs_progress) > $far) }"; then
			far=$(jobs_progress)
			moved=$SECONDS
		fi
		if [ -z "$told" ] && [ $((SECONDS - begin)) -ge "$timeout" ]; then
			told=1
			say "this machine takes its time; waits for: $(jobs_waited_for)"
		fi
		sleep 0.5
	done
	give_up "no job has come further for $timeout s; waits for: $(jobs_waited_for)"
}
