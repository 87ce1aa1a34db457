# SPDX-License-Identifier: MIT
# test_log.t - what a job that trains costs slurmctld's log
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1

# As in src/launcher/rules/pace.h: hints alone, in a stock and then one in so many
# seconds; and what a start writes besides (its phases).
STOCK=20
TOKEN=90
START=10

sandbox_up --nodes 1 --gpus-per-node 2
plan 5

# Lines of slurmctld that a change of the job's comment brings.
changes() {
	grep -F "setting comment to" "$SB/log/slurmctld.log" |
		grep -E " for JobId=$1\$"
}

# It has trained for so long.
trained_for() {
	local now
	now=$(date +%s)
	[ $((now - began)) -ge "$2" ] && is_state "$1" RUNNING
}

few() {
	local most=$((STOCK + 60 / TOKEN + START))
	local count
	count=$(changes "$1" | wc -l)
	diag "$count changes of its comment, $most at most"
	[ "$count" -le "$most" ]
}

# The longest of its lines, and that of the RPC, as often as there may be in a
# day, with 20 starts and resizes.
small_day() {
	local longest bytes
	longest=$(changes "$1" | awk '{ n = length($0) + 1 } n > most { most = n }
		END { print most + 0 }')
	bytes=$(((longest + 80) * (STOCK + 86400 / TOKEN + 20 * START)))
	diag "$longest bytes a change, $bytes bytes a day at most"
	[ "$longest" -gt 0 ] && [ "$bytes" -lt 1000000 ]
}

# A hint as often as rank 0 sends one, if it is up to that.
job=$(sb sbatch --parsable --scheduler-params=pollux,max=2 \
	-o "$WORK/job.out" --wrap "srun pollux-launch --hint-interval=0.2 \
	--checkpoint-dir $WORK/job.ckpt pollux-train --samples=100000 --batch=64 \
	--max-batch=512 --epochs=100000 --emulate-gpu=compute")
ok "a job trains" wait_until "trains $job" 60
began=$(date +%s)
ok "on both GPUs" wait_until "has_gpus $job 2" 60
wait_until "trained_for $job 50" 60
ok "its status is written when it says something else, not all the time" \
	few "$job"
ok "a day of that is less than a megabyte of log" small_day "$job"
ok "its model was told nevertheless" \
	eval 'changes "$job" | tail -n 1 | grep -q "model=.*profiled=1,2"'
