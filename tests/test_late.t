# SPDX-License-Identifier: MIT
# test_late.t - docs/security.md: steps begun with what their job had before
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/devices.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/late.sh" || exit 1

devices_up --nodes 2 --gpus-per-node 4 --cpus-per-node 16 \
	--params pollux_interval=1,pollux_min_gap=0.2,pollux_ack_timeout=4,pollux_unconfirmed=60
plan 22
chmod 755 "$WORK"
write_agree

# For all but the GPUs of the node of the job's script, once it agrees.
others() {
	home=$(job_field "$job" BatchHost)
	two=$(rigid -w "n$((3 - ${home#n}))" --gres=gpu:4)
	more=$(rigid -w "$home" --gres=gpu:3)
}

# kept STEP VARIABLE=VALUE...: a job of two GPUs keeps the credential of a step
# back, says that the step has ended, and agrees to give one of the GPUs up.
kept() {
	local step=$1
	shift
	rm -f "$WORK/go"
	open_file "$WORK/kept.out"
	cat >"$WORK/keep" <<-END
		#!/bin/bash
		LD_PRELOAD=$kept POLLUX_TEST_KEEP=$WORK/go \\
			srun --overlap -n1 --gres=gpu:2 $WORK/opener kept 0.1 &
		until $forge "\$SLURM_JOB_ID" $step; do sleep 0.5; done
		echo believed
		exec $WORK/agree
	END
	chmod 755 "$WORK/keep"
	job=$(as daemon env "$@" sbatch --parsable -o "$WORK/kept.out" \
		--gres=gpu:2 -N1 --scheduler-params=pollux,min=1,max=2 \
		"$WORK/keep")
	wait_until "grep -q believed $WORK/kept.out" 30
}

is_refused() {
	grep -h "pollux: job $1: its credential is from before" "$SB"/log/n?.log
}

# A step that is begun beside the script, by who may.
steps_begin() {
	[ "$(as "$1" srun --jobid="$2" --overlap -n1 --gres=none echo begun)" = begun ]
}

kept 0 KEPT=0
# Who can open a file can lock it.
alongside setpriv --reuid=65534 --regid=65534 --clear-groups flock --no-fork -x \
	"/sys/fs/cgroup/devices/slurm_$(job_field "$job" BatchHost)/uid_1/job_$job" \
	sleep 600
others
ok "a step's credential is kept back, and another user gets the GPU" \
	wait_until "is_state $more RUNNING" 60
touch "$WORK/go"
ok "the step is not begun then" wait_until "is_refused $job" 30
ok "others are, on that node" wait_until "steps_begin daemon $job" 30
ok "and no GPU was open to two jobs" no_gpu_was_open_twice
sb scancel "$two" "$more"
ok "the job grows again, and its steps are begun" eval '
	wait_until "has_gpus $job 2" 60 && wait_until "steps_begin daemon $job" 30'
done_with "$job"

job=$(as daemon sbatch --parsable -o /dev/null -N1 \
	--scheduler-params=pollux,min=1,max=2 "$WORK/agree")
wait_until "has_gpus $job 2" 60
wait_until "steps_begin daemon $job" 30
others
wait_until "is_state $more RUNNING" 60
sb scancel "$two" "$more"
as daemon scontrol requeue "$job"
wait_until "is_state $job PENDING" 30
# Not in the second of its last end: Slurm would not begin it.
nap 2
sb scontrol update job="$job" StartTime=now
wait_until "is_state $job RUNNING" 60
ok "a job that gave GPUs up is put into the queue: its next run has its steps" \
	wait_until "steps_begin daemon $job" 30
done_with "$job"

# Slurm does not count the numbers of such steps.
kept 39000+0 POLLUX_TEST_STEP=39000 POLLUX_TEST_COMPONENT=0
others
wait_until "is_state $more RUNNING" 60
touch "$WORK/go"
ok "nor is a step that is said to be of a component" wait_until \
	"is_refused $job" 30
ok "and still no GPU was open to two jobs" no_gpu_was_open_twice
ok "its node is not drained" fails eval 'sb sinfo -R -h | grep .'
done_with "$job" "$two" "$more"

# 0x40000007: such a step is taken for one of slurmctld's.
kept 1073741831 POLLUX_TEST_STEP=1073741831 SRUN_EXPORT_ENV=ALL POLLUX_CONSTRAIN=1:
others
ok "who takes a number of slurmctld's gives nothing up: his job is ended" \
	wait_until "logged 'JobId=$job keeps GPUs .* a number that is slurmctld'" 120
ok "and others have its GPUs" wait_until "is_state $more RUNNING" 60
touch "$WORK/go"
done_with "$job" "$two" "$more"

# Such a step looks at its job for as long as it is let.
mkdir "$WORK/crowd"
for ((i = 0; i < 4500; i++)); do
	mknod -m 666 "$WORK/crowd/$i" c 240 "$i"
done
open_file "$WORK/looks.out"
cat >"$WORK/looks" <<END
#!/bin/bash
MANY=$WORK/crowd python3 $POLLUX_SRCDIR/tests/hides.py many /dev/null &
sleep 2
LD_PRELOAD=$kept POLLUX_TEST_STEP=1073741831 POLLUX_CONSTRAIN=9: \\
	srun --overlap -n4 --export=ALL echo begun &
wait
END
chmod 755 "$WORK/looks"
job=$(as daemon sbatch --parsable -o "$WORK/looks.out" -N1 -n4 "$WORK/looks")
ok "a step of several tasks is none of slurmctld's" wait_until \
	"grep -q begun $WORK/looks.out" 20
ok "and looks at nobody" fails grep -qE "job $job: (no memory|its proc)" \
	"$SB"/log/n1.log "$SB"/log/n2.log
done_with "$job"

# 0xfffffff5, of a component: it has GPUs, and a number above all that slurmctld
# counts. It has to end before they are given up.
cat >"$WORK/above" <<END
#!/bin/bash
LD_PRELOAD=$kept POLLUX_TEST_STEP=4294967285 POLLUX_TEST_COMPONENT=0 \\
	srun --overlap -n1 --gres=gpu:2 \\
	sh -c 'echo \$\$ >$WORK/above.pid; exec sleep 600' &
sleep 2
exec $WORK/agree
END
chmod 755 "$WORK/above"
open_file "$WORK/above.pid"
job=$(as daemon sbatch --parsable -o /dev/null --gres=gpu:2 -N1 \
	--scheduler-params=pollux,min=1,max=2 "$WORK/above")
wait_until "[ -s $WORK/above.pid ] && trains $job" 60
ok "a step has a number above all that are counted" \
	kill -0 "$(cat "$WORK/above.pid")"
others
wait_until "is_state $more RUNNING" 120
ok "it has ended when its GPUs are given up" fails \
	kill -0 "$(cat "$WORK/above.pid")"
done_with "$job" "$two" "$more"

# slurmctld takes a step from a job's owner of which no node was told.
cat >"$WORK/crowd.sh" <<END
#!/bin/bash
scontrol update job="\$SLURM_JOB_ID" comment="[pollux v=1 \\
launcher=batch resizes=0 pause=0,0 ack=0 phase=training]"
LD_PRELOAD=$kept POLLUX_TEST_MORE=1100 srun --overlap -n1 --gres=none true
echo begun >$WORK/crowd.out
sleep 600
END
chmod 755 "$WORK/crowd.sh"
open_file "$WORK/crowd.out"
job=$(as daemon sbatch --parsable -o /dev/null --gres=gpu:2 -N1 \
	--scheduler-params=pollux,min=1,max=2 "$WORK/crowd.sh")
wait_until "grep -q begun $WORK/crowd.out" 60
others
ok "a job with very many steps is ended as a whole" wait_until \
	"logged 'JobId=$job keeps GPUs .* more than 1024 steps at once'" 60
ok "not step by step" fails logged "JobId=$job did not answer"
done_with "$job" "$two" "$more"

# slurmd has 256 threads, each of which waits for who says nothing.
flood() {
	sed -i 's/^MessageTimeout=.*/MessageTimeout=5/' "$SB/etc/slurm.conf"
	for daemon in slurmctld n1 n2; do
		pollux-sandbox restart --dir "$SB" $daemon >>"$WORK/restart.out" 2>&1
	done
	cat >"$WORK/flood" <<END
#!/bin/bash
python3 $POLLUX_SRCDIR/tests/flood.py $WORK/full/file &
exec $WORK/agree $WORK/full/file
END
	chmod 755 "$WORK/flood"
	mkdir -m 777 "$WORK/full"
	job=$(as daemon sbatch --parsable -o /dev/null --gres=gpu:2 -N1 \
		--scheduler-params=pollux,min=1,max=2 "$WORK/flood")
	wait_until "is_state $job RUNNING && trains $job" 60
	others
}

# A job leaves a node, and comes back to it, with a credential from the first time.
# It is good for a minute then, and not for two.
sed -i '/^AuthInfo=/s/$/,cred_expire=60/' "$SB/etc/slurm.conf"
for daemon in slurmctld n1 n2; do
	pollux-sandbox restart --dir "$SB" $daemon >>"$WORK/restart.out" 2>&1
done
rm -f "$WORK/go"
open_file "$WORK/back.out"
cat >"$WORK/back" <<END
#!/bin/bash
$WORK/agree &
until scontrol show job "\$SLURM_JOB_ID" | grep -q 'TRES=.*gres/gpu=2'; do
	sleep 0.5
done
# All on the other node, as that is as few nodes; it may see two first.
sleep 2
# Without the script's own shape, which has not that node.
env -i PATH="\$PATH" SLURM_CONF="\$SLURM_CONF" LD_PRELOAD=$kept \\
	POLLUX_TEST_KEEP=$WORK/go srun --jobid="\$SLURM_JOB_ID" --overlap \\
	-N1 -n1 --exclude=n1 --gres=gpu:2 $WORK/opener kept 0.1 &
until $forge "\$SLURM_JOB_ID" 0; do sleep 0.5; done
echo believed
wait
END
chmod 755 "$WORK/back"
three=$(rigid -w n1 --gres=gpu:3)
four=$(rigid -w n2 --gres=gpu:4)
wait_until "is_state $three RUNNING && is_state $four RUNNING" 60
job=$(as daemon sbatch --parsable -o "$WORK/back.out" --gres=gpu:1 \
	--scheduler-params=pollux,min=1,max=2 "$WORK/back")
wait_until "is_state $job RUNNING" 60
sb scancel "$four"
wait_until "grep -q believed $WORK/back.out" 60
four=$(rigid -w n2 --gres=gpu:4)
wait_until "is_state $four RUNNING" 60
sb scancel "$four"
ok "a job comes back at once to a node where it gets what it had" \
	wait_until "has_gpus $job 2" 30
four=$(rigid -w n2 --gres=gpu:4)
wait_until "is_state $four RUNNING" 60
two=$(rigid -w n2 --gres=gpu:2)
sb scancel "$four"
wait_until "is_state $two RUNNING" 60
nap 10
touch "$WORK/go"
nap 5
ok "not where that is another's, while a credential is good" eval '
	no_gpu_was_open_twice && has_gpus $job 1'
ok "when it is good no more, it does" wait_until "has_gpus $job 2" 90
done_with "$job" "$three" "$two"

if slurm_since 24.11; then
	threadless="this slurmd lets no connection wait behind silent ones"
	skip "a job that keeps its node from answering keeps its GPUs at first" \
		"$threadless"
	skip "and is put back into the queue in the end" "$threadless"
else
	flood
	ok "a job that keeps its node from answering keeps its GPUs at first" wait_until \
		"logged 'JobId=$job (keeps its 2 GPUs: .*node)'" 90
	ok "and is put back into the queue in the end" wait_until \
		"logged 'JobId=$job keeps GPUs .* its processes do not end'" 300
fi
