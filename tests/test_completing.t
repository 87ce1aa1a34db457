# SPDX-License-Identifier: MIT
# test_completing.t - a job that is to give back a part of a node waits until
# another one's end there is over, and slurmctld's write lock is not taken for it
. "${POLLUX_SRCDIR}/tests/elastic.sh"
. "${POLLUX_SRCDIR}/tests/light.sh"

cat >"$WORK/epilog" <<END
#!/bin/sh
echo "begin \$SLURM_JOB_ID" >>$WORK/epilogs
sleep "\$(cat $WORK/takes)"
echo "end \$SLURM_JOB_ID" >>$WORK/epilogs
END
chmod 755 "$WORK/epilog"
chmod 1777 "$WORK"
: >"$WORK/epilogs"
echo 10 >"$WORK/takes"

# Write locks so far for what is due for a job.
touches() {
	awk -F'[ "]' '/^pollux_lock_held_seconds_count.*"touch"/ { print $NF }' \
		"$WORK/metrics.txt"
}

is_lent() {
	sb scontrol show job "$1" | grep -q 'SystemComment=.* state=lent'
}

sandbox_up $untyped --nodes 1 --gpus-per-node 4 \
	--conf-extra "Epilog=$WORK/epilog" \
	--params "pollux_min_gap=0.2,pollux_metrics=$WORK/metrics.txt"
plan 7

job=$(submit_light gives pollux,max=3 -- --live=0.3)
ok "a job has three of a node's four GPUs" wait_until 'has_gpus $job 3' 40
first=$(submit_rigid --gpus-per-node=1 -- 2)
ok "another one ends there, with an epilog of 10 s" \
	wait_until 'grep -qx "begin $first" "$WORK/epilogs"' 40
before=$(touches)
second=$(submit_rigid --gpus-per-node=2 -- 300)
ok "the first is asked to give two, and goes on with three meanwhile" \
	wait_until 'is_lent $job && has_gpus $job 3' 8
ok "as that epilog has not ended" \
	fails grep -qx "end $first" "$WORK/epilogs"
echo 0 >"$WORK/takes"
ok "it has given them when the epilog is over" eval '
	wait_until "has_gpus $job 1 || has_gpus $job 2" 40 &&
	grep -qx "end $first" "$WORK/epilogs"'
ok "and who waited runs" wait_until 'is_state $second RUNNING' 40
sleep 6 # the metrics file is written every few seconds
after=$(touches)
echo "# $before write locks before, $after after"
ok "few write locks were taken meanwhile" [ $((after - before)) -lt 30 ]
