# SPDX-License-Identifier: MIT
# rigid.sh - two clusters side by side: sched/pollux, and sched/backfill
#
# Sourced after light.sh. Jobs have names, the same in both clusters, and end
# when told to: let_end NAME.

# rigid_up OPTION...: both clusters, pollux in $SB, backfill in $SB_BACKFILL.
rigid_up() {
	need_daemons
	use_build_tree
	SB_BACKFILL="$WORK/bf"
	mkdir -p "$WORK/go"
	pollux-sandbox up --dir "$SB_BACKFILL" --scheduler backfill \
		--no-accounting "$@" >"$WORK/up-bf.out" 2>&1 &
	local other=$!
	sandbox_up "$@" # jobs without accounting cannot have their comment set
	wait "$other" || {
		diag <"$WORK/up-bf.out"
		echo "Bail out! the second sandbox did not start"
		exit 1
	}
	local environment
	environment_of "$SB_BACKFILL"
	bf_env=("${environment[@]}")
}

rigid_down() {
	pollux-sandbox down --dir "$SB_BACKFILL" >/dev/null 2>&1
}

bf() {
	env --chdir="$PWD" "${bf_env[@]}" "$@"
}

# A job that ends when told to waits for a line of its pipe, which costs nothing.
new_pipe() {
	rm -f "$WORK/go/$1" && mkfifo "$WORK/go/$1"
}

until_told() {
	echo "read -r line <$WORK/go/$1"
}

# rigid NAME OPTION...: submit it to both.
rigid() {
	local name=$1
	shift
	new_pipe "$name"
	sb sbatch -o /dev/null -J "$name" "$@" \
		--wrap "$(until_told "$name")" >/dev/null
	bf sbatch -o /dev/null -J "$name" "$@" \
		--wrap "$(until_told "$name")" >/dev/null
}

# elastic NAME MIN MAX OPTION...: with pollux it is elastic and starts with
# MIN GPUs; with backfill it is rigid and has MIN on one node.
elastic() {
	local name=$1 min=$2 max=$3
	shift 3
	new_pipe "$name"
	submit_light "$name" "pollux,min=$min,max=$max" "$@" -- >/dev/null
	bf sbatch -o /dev/null -J "$name" -N1 --gpus-per-node="$min" "$@" \
		--wrap "$(until_told "$name")" >/dev/null
}

# The pipe stays open: a job that is not there yet ends when it is.
let_end() {
	local name pipe
	for name; do
		exec {pipe}<>"$WORK/go/$name"
		printf '\n%.0s' {1..100} >&"$pipe"
	done
}

# What runs in a cluster, by name; with %N also where.
running() {
	"$1" squeue -h -t R -o "$2" | sort
}

# as_backfill FORMAT: both clusters come to rest with the same jobs running:
# four looks in a row, more than a cycle, show the same in both. FORMAT
# "%j %N": on the same nodes.
as_backfill() {
	local end=$((SECONDS + 45 * POLLUX_PATIENCE)) same=0 before= mine theirs
	while [ "$same" -lt 4 ]; do
		sleep 1
		theirs=$(running bf "$1")
		mine=$(running sb "$1")
		if [ "$mine" = "$theirs" ] && [ "$mine" = "$before" ]; then
			same=$((same + 1))
		else
			same=0
		fi
		before=$mine
		[ "$SECONDS" -lt "$end" ] || break
	done
	echo "backfill:"
	echo "$theirs"
	echo "pollux:"
	echo "$mine"
	[ "$same" -ge 4 ]
}

# held NAME: GPUs that the job has with pollux.
held() {
	gpus_of "$(id_of "$1")"
}

id_of() {
	sb squeue -h -n "$1" -t all -o %i | tail -n 1
}

runs() {
	is_state "$(id_of "$1")" RUNNING
}

# held_by LEAST MOST NAME...: GPUs that the jobs have together.
held_by() {
	local least=$1 most=$2 sum=0 name
	shift 2
	for name; do
		sum=$((sum + $(held "$name")))
	done
	echo "$* have $sum GPUs"
	[ "$sum" -ge "$least" ] && [ "$sum" -le "$most" ]
}
