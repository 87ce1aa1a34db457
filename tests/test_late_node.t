# SPDX-License-Identifier: MIT
# test_late_node.t - control groups while a job gives GPUs up, and after
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/devices.sh" || exit 1

why=$(no_devices)
[ -z "$why" ] || skip_all "$why"
need_readers
stalls=$POLLUX_BUILDDIR/tests/.libs/stalls.so
[ -e "$stalls" ] || skip_all "stalls.la was not built: no libslurm"
devices_up --nodes 2 --gpus-per-node 4 --cpus-per-node 16 \
	--params pollux_interval=1,pollux_min_gap=0.2,pollux_ack_timeout=4
plan 3
chmod 755 "$WORK"
write_agree

# as USER COMMAND...
as() {
	pollux-sandbox exec --dir "$SB" --user "$1" "${@:2}"
}

rigid() {
	local id
	id=$(as bin sbatch --parsable -o /dev/null "$@" \
		--wrap "exec $WORK/opener rigid 0.1") &&
		sb scontrol update job="$id" priority=4294910000 && echo "$id"
}

done_with() {
	sb scancel "$@"
	wait_until cluster_is_idle 90
}

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
