# SPDX-License-Identifier: MIT
# test_late_node.t - a step from before a resize, on a node with no other step
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/devices.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/late.sh" || exit 1

stalls=$POLLUX_BUILDDIR/tests/.libs/stalls.so
[ -e "$stalls" ] || skip_all "stalls.la was not built: no libslurm"
devices_up --nodes 2 --gpus-per-node 4 --cpus-per-node 16 \
	--params pollux_interval=1,pollux_min_gap=0.2,pollux_ack_timeout=4
plan 10
chmod 755 "$WORK"
write_agree

# kept VARIABLE=VALUE: a job of two GPUs on each of two nodes has a step on
# the one where its script is not, by a credential of then, and says that the
# step has ended. It agrees to give one of the GPUs up on each.
kept() {
	open_file "$WORK/kept.out"
	cat >"$WORK/keep" <<-END
		#!/bin/bash
		other=n\$((3 - \${SLURMD_NODENAME#n}))
		LD_PRELOAD=$kept $1 srun --overlap -N1 -n1 -w "\$other" \\
			--gres=gpu:2 $WORK/opener kept 0.1 &
		until $forge "\$SLURM_JOB_ID" 0; do sleep 0.5; done
		echo believed
		exec $WORK/agree
	END
	chmod 755 "$WORK/keep"
	job=$(as daemon sbatch --parsable -o "$WORK/kept.out" \
		--gres=gpu:2 -N2 --scheduler-params=pollux,min=2,max=4 \
		"$WORK/keep")
	wait_until "grep -q believed $WORK/kept.out && trains $job" 60
	home=$(job_field "$job" BatchHost)
	other=n$((3 - ${home#n}))
}

# Others get all GPUs but one of each node.
others() {
	two=$(rigid -w "$home" --gres=gpu:3)
	more=$(rigid -w "$other" --gres=gpu:3)
	wait_until "is_state $more RUNNING" 60
}

is_refused() {
	grep -qh "pollux: job $job: its credential is from before" \
		"$SB/log/$other.log"
}

kept POLLUX_TEST_KEEP="$WORK/go"
ok "another user gets a GPU of a node where a job has no step, and no group" \
	others
touch "$WORK/go"
ok "a step of that job from before is not begun there" \
	wait_until is_refused 30
ok "and no GPU was open to two jobs" no_gpu_was_open_twice
done_with "$job" "$two" "$more"

# It was asked whether it is late before there was a note, and writes its groups
# after those of the node's own.
echo "required $stalls $WORK/fails" >>"$SB/etc/plugstack.conf"
touch "$WORK/stall"
kept POLLUX_TEST_STALL="$WORK/stall"
wait_until "[ -e $WORK/stall.there ]" 30
ok "the same where the step is being begun meanwhile" others
rm "$WORK/stall"
ok "it is not let go" wait_until is_refused 30
ok "and no GPU was open to two jobs" no_gpu_was_open_twice
ok "its node is not drained" fails eval 'sb sinfo -R -h | grep .'
done_with "$job" "$two" "$more"

# Something of root's keeps the group of a run from being removed, so the next
# run has the same.
give_up() {
	job=$(as daemon sbatch --parsable -o /dev/null --gres=gpu:2 -N1 \
		--scheduler-params=pollux,min=1,max=2 "$WORK/agree")
	wait_until "trains $job" 30
	home=$(job_field "$job" BatchHost)
	two=$(rigid -w "$home" --gres=gpu:3)
}

give_up
wait_until "is_state $two RUNNING" 60
alongside sleep 600
stays=$!
echo "$stays" >"/sys/fs/cgroup/devices/slurm_$home/uid_1/job_$job/cgroup.procs"
sb scancel "$two"
as daemon scontrol requeue "$job"
wait_until "is_state $job PENDING" 30
nap 2
sb scontrol update job="$job" StartTime=now ReqNodeList="$home"
ok "a script begins in the group of its job's last run" eval '
	wait_until "is_state $job RUNNING && trains $job" 60'
ok "its node is not drained" fails eval 'sb sinfo -R -h | grep .'
kill "$stays"
done_with "$job"

# Slurm could not write the groups: it ends the step before ours is told that
# they are written.
sed -i "1i required $stalls $WORK/fails" "$SB/etc/plugstack.conf"
touch "$WORK/fails"
give_up
wait_until "grep -q 'job $job: .* its GPUs\|pollux: Slurm did not write' $SB/log/$home.log" 30
ok "where groups cannot be written, the job has its GPUs, and its steps begin" eval '
	[ "$(as daemon srun --jobid="$job" --overlap -n1 --gres=none \
		echo begun)" = begun ]'
done_with "$job" "$two"
