# SPDX-License-Identifier: MIT
# squeeze.sh - force an elastic job through shapes with rigid jobs
#
# Sourced after elastic.sh. Rigid jobs leave it one GPU, some GPUs of one
# node, one on each node, half the cluster or none; their end gives it all
# again. The cluster has 4 nodes with 4 GPUs.

# What rigid jobs of each round ask for, and what that leaves.
squeeze_rounds=(
	"4:-N3 --gpus-per-node=4"
	"4:-N4 --gpus-per-node=3"
	"8:-N4 --gpus-per-node=2"
	"1:-N3 --gpus-per-node=4;-N1 --gpus-per-node=3"
	"0:-N4 --gpus-per-node=4 --priority=4294910000"
)

resizes_of() {
	grep -c "JobId=$1 has .* GPUs\|JobId=$1 is parked\|JobId=$1 has 0" \
		"$SB/log/slurmctld.log"
}

# has_at_most JOB GPUS
has_at_most() {
	[ "$(gpus_of "$1")" -le "$2" ]
}

# squeeze_once JOB ROUND: make the job small, then let it have all again.
squeeze_once() {
	local left=${2%%:*} request rigid rigids=()

	while read -r -d ';' request; do
		# shellcheck disable=SC2086
		rigid=$(submit_rigid $request -- 600) || return 1
		rigids+=("$rigid")
	done <<<"${2#*:};"
	for rigid in "${rigids[@]}"; do
		wait_until "is_state $rigid RUNNING" 60 || return 1
	done
	wait_until "has_at_most $1 $left" 5 || return 1
	[ "$left" -eq 0 ] || wait_until "began_on $1 $left" 30 || return 1
	sb scancel "${rigids[@]}"
	wait_until "began_on $1 16" 60
}

# began_on JOB GPUS: it trains there now (or on fewer, when some are refused).
began_on() {
	has_gpus "$1" "$2" && trains "$1"
}

# squeeze JOB TIMES: go through the rounds again and again.
squeeze() {
	local turn round
	for ((turn = 0; turn < $2; turn++)); do
		round=${squeeze_rounds[turn % ${#squeeze_rounds[@]}]}
		squeeze_once "$1" "$round" || {
			echo "round $turn ($round) did not work out"
			sb squeue -a
			return 1
		}
	done
}
