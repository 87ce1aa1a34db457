# SPDX-License-Identifier: MIT
# test_epilog.t - a node that a running job gives up is nobody's before its
# epilog has ended, and the epilog is told what was given up
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

# One line when it begins, with its environment beside, and one at its end.
# It takes as long as $WORK/NODE.takes says.
cat >"$WORK/epilog" <<END
#!/bin/sh
echo "begin \$SLURM_JOB_ID \$SLURMD_NODENAME" >>$WORK/epilogs
env | sort >$WORK/env.\$SLURM_JOB_ID.\$SLURMD_NODENAME
[ ! -e $WORK/\$SLURMD_NODENAME.takes ] ||
	sleep "\$(cat $WORK/\$SLURMD_NODENAME.takes)"
[ ! -e $WORK/\$SLURMD_NODENAME.fails ] || exit 1
echo "end \$SLURM_JOB_ID \$SLURMD_NODENAME" >>$WORK/epilogs
END
chmod 755 "$WORK/epilog"
: >"$WORK/epilogs"

# epilogs WORD JOB NODE COUNT: it began or ended so often
epilogs() {
	[ "$(grep -cx "$1 $2 $3" "$WORK/epilogs")" -eq "$4" ]
}

# told JOB NODE NAME VALUE: a variable of the epilog's environment
told() {
	grep -x "$3=.*" "$WORK/env.$1.$2" | tee /dev/stderr |
		grep -qx "$3=$4"
}

# It has so many GPUs, and is not in the middle of a resize.
settled() {
	has_gpus "$1" "$2" && ! sb scontrol show job "$1" |
		grep -qE 'SystemComment=.* state=(asked|lent)'
}

node_is() {
	sb scontrol show node "$1" | grep -qE "State=[A-Z+]*$2"
}

# early_if SEEN JOB NODE COUNT: SEEN is so before that epilog has ended so often.
# It is looked at afterwards, as on a busy machine a look takes seconds.
early_if() {
	until epilogs end "$2" "$3" "$4"; do
		! eval "$1" || epilogs end "$2" "$3" "$4" || return 0
		sleep 0.1
	done
	return 1
}

sandbox_up $untyped --nodes 3 --gpus-per-node 4 --conf-extra "Epilog=$WORK/epilog" \
	--params pollux_min_gap=0.2
plan 38

# What Slurm itself gives an epilog, at the end of a job.
stock=$(submit_rigid -w n3 --gpus-per-node=2 -- 1)
ok "a job that is not elastic ends, and its epilog runs" \
	wait_until 'epilogs end $stock n3 1' 40

job=$(submit_light grows pollux,max=8 -w n1 -x n3 -- --live=0.3)
ok "a job grows onto a second node" wait_until 'has_gpus $job 8' 40
echo 6 >"$WORK/n2.takes"
rigid=$(submit_rigid -w n2 --gpus-per-node=4 -- 2)
ok "it gives the node up, and an epilog of 6 s begins there" \
	wait_until 'epilogs begin $job n2 1' 40
ok "the job has its new shape meanwhile, and trains" \
	wait_until 'has_gpus $job 4 && lit grows "event=done .*gpus=4"' 4
ok "the node is completing" node_is n2 COMPLETING
ok "the job that waits for it waits" is_state "$rigid" PENDING
ok "the epilog knew which GPUs were given up" \
	told "$job" n2 SLURM_JOB_GPUS 0,1,2,3
ok "and on which node" told "$job" n2 SLURM_NODELIST n2
ok "it had every variable that Slurm's own has" eval '
	comm -23 <(cut -d= -f1 "$WORK/env.$stock.n3" | sort -u) \
		<(cut -d= -f1 "$WORK/env.$job.n2" | sort -u) |
		tee /dev/stderr | fails grep .'
ok "who waits starts when it is over" eval '
	wait_until "is_state $rigid RUNNING" 20 && epilogs end $job n2 1'
ok "the job comes back when that one is gone" \
	wait_until 'settled $job 8' 60
ok "and not before every epilog there had ended" eval '
	epilogs end $rigid n2 1 && epilogs begin $job n2 1'

# Nothing but the job itself wants the node: it may not come back too early.
echo 8 >"$WORK/n2.takes"
sb scontrol update node=n2 state=drain reason=test
ok "it leaves a node that is drained" \
	wait_until 'epilogs begin $job n2 2' 40
ok "which is draining while the epilog runs" node_is n2 DRAIN
sb scontrol update node=n2 state=resume
ok "it does not come back before the epilog has ended" \
	fails early_if 'has_gpus $job 8' "$job" n2 2
ok "but then" wait_until 'has_gpus $job 8' 40
rm "$WORK/n2.takes"

# A part of a node: its epilog has to wait for the job to leave.
rigid=$(submit_rigid -w n2 --gpus-per-node=2 -- 3)
ok "it gives up some GPUs of a node that it keeps" eval '
	wait_until "is_state $rigid RUNNING" 40 && has_gpus $job 6'
ok "where no epilog runs for that" eval '
	sleep 1 && epilogs begin $job n2 2 && epilogs end $job n2 2'
ok "it has all again" wait_until 'has_gpus $job 8' 40

# Shared with another job, which ends while the epilog runs.
neighbour=$(submit_rigid -w n2 --gpus-per-node=1 -- 8)
ok "it makes room for a neighbour" \
	wait_until 'is_state $neighbour RUNNING' 40
echo 12 >"$WORK/n2.takes"
rigid=$(submit_rigid -w n2 --gpus-per-node=3 -- 2)
ok "and leaves it the node" wait_until 'epilogs begin $job n2 3' 40
ok "no end of another job opens the node while its epilog runs" \
	fails early_if 'is_state $rigid RUNNING' "$job" n2 3
ok "it is opened then" wait_until 'is_state $rigid RUNNING' 60

rm "$WORK/n2.takes"
ok "it comes back" wait_until 'settled $job 8' 60

# The message of the epilog's end would take the node from a job that has come
# back to it.
echo 10 >"$WORK/n2.takes"
sb scontrol update node=n2 state=drain reason=test
ok "a node is given up" wait_until 'epilogs begin $job n2 4' 40
sb scontrol update node=n2 state=resume
ok "slurmctld is restarted while the epilog runs" eval '
	pollux-sandbox --dir "$SB" restart slurmctld && wait_until "sb squeue" 40'
ok "and does not let the job come back before" \
	fails early_if 'has_gpus $job 8' "$job" n2 4
rm "$WORK/n2.takes"
ok "when it is back it keeps the node" eval '
	wait_until "has_gpus $job 8" 60 && sleep 4 && has_gpus $job 8 &&
	[ "$(sb squeue -h -j $job -o %N)" = "n[1-2]" ]'

# A reconfiguration makes slurmctld's nodes anew.
echo 6 >"$WORK/n2.takes"
rigid=$(submit_rigid -w n2 --gpus-per-node=4 -- 2)
ok "slurmctld is reconfigured while an epilog runs: nobody starts there" \
	eval 'wait_until "epilogs begin $job n2 5" 40 &&
		sb scontrol reconfigure &&
		fails early_if "is_state $rigid RUNNING" $job n2 5'
ok "when it is over the node is opened" \
	wait_until 'is_state $rigid RUNNING' 60
rm "$WORK/n2.takes"
wait_until "ended $rigid && settled $job 8" 60

# Two jobs on it: one on the two nodes, and one on this node alone, whose script
# is on another one.
on_n2() {
	sb scontrol -d show job "$1" | grep -E 'Nodes=(n2|n\[1-2\]) .*GRES=gpu'
}
second=$(submit_light second pollux,max=2 -x n1 -- --live=0.3)
# One that has said nothing yet is moved by a requeue, with its script.
ok "a second job begins on a third node" wait_until '
	settled $second 2 && fails on_n2 $second' 40
away=$(submit_rigid --priority=100000 -w n3 --gpus-per-node=4 -- 300)
ok "it makes room there, and shares the node with the first" \
	wait_until 'is_state $away RUNNING && on_n2 $second && on_n2 $job &&
		settled $second 2' 60
echo 6 >"$WORK/n2.takes"
before=$(grep -cx "begin $job n2" "$WORK/epilogs")
rigid=$(submit_rigid --priority=100000 -w n2 --gpus-per-node=4 -- 2)
ok "both have given it up before the epilog of either has ended" wait_until '
	has_gpus $job 4 && fails on_n2 $second && fails on_n2 $job &&
	epilogs end $job n2 $before && epilogs end $second n2 0' 40
ok "nobody starts there before both have ended" eval '
	fails early_if "is_state $rigid RUNNING" $job n2 $((before + 1)) &&
		fails early_if "is_state $rigid RUNNING" $second n2 1'
ok "and then who waits does" wait_until 'is_state $rigid RUNNING' 60
rm "$WORK/n2.takes"
sb scancel "$away" "$second"
ok "the first has its nodes again" \
	wait_until 'ended $rigid && settled $job 8' 60

# As at the end of a job.
touch "$WORK/n2.fails"
rigid=$(submit_rigid -w n2 --gpus-per-node=4 -- 2)
ok "a node where its epilog fails is drained" eval '
	wait_until "epilogs begin $job n2 7" 40 && wait_until "node_is n2 DRAIN" 20
	sb scontrol show node n2 | grep "Reason=Epilog error"'
# From 24.11.6 on slurmctld hears of that only when the next job has ended there.
if slurm_since 24.11.6; then
	skip "and the job that waits for it does not start there" \
		"this Slurm does not say that the epilog of a job that runs on failed"
else
	ok "and the job that waits for it does not start there" \
		is_state "$rigid" PENDING
fi
