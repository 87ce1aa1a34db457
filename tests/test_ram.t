# SPDX-License-Identifier: MIT
# test_ram.t - how much memory a job's control groups allow, after each resize
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/devices.sh" || exit 1

why=$(no_devices)
[ -z "$why" ] || skip_all "$why"
[ -w /sys/fs/cgroup/memory/cgroup.procs ] ||
	skip_all "no control groups of version 1 for memory"
need_readers
ram=yes devices_up --nodes 2 --gpus-per-node 4 --cpus-per-node 16 \
	--params pollux_interval=1,pollux_min_gap=0.2,pollux_ack_timeout=4
plan 12

# limit_of JOB NODE [STEP]: MiB that the kernel lets it have there.
limit_of() {
	local group=/sys/fs/cgroup/memory/slurm_$2 bytes
	bytes=$(cat "$group"/uid_*/job_"$1"/${3:+step_"$3"/}memory.limit_in_bytes \
		2>/dev/null) && echo $((bytes / 1024 / 1024))
}

# allotted JOB NODE: MiB, as slurmctld says.
allotted() {
	sb scontrol -d show job "$1" |
		grep -oE "Nodes=$2 CPU_IDs=[0-9,-]+ Mem=[0-9]+" | sed 's/.*=//'
}

# allows JOB NODE MIB: the kernel and slurmctld agree on it.
allows() {
	[ "$(allotted "$1" "$2")" = "$3" ] && [ "$(limit_of "$1" "$2")" = "$3" ]
}

# Its newest step there, which are its ranks.
newest_step() {
	find /sys/fs/cgroup/memory/slurm_"$2"/uid_*/job_"$1" -maxdepth 1 \
		-name 'step_[0-9]*' | sed 's/.*step_//' | sort -n | tail -n 1
}

# ranks_have JOB NODE MIB: as their step and their job allow; a step that was
# started beside another one may have more than its job keeps.
ranks_have() {
	local of_job of_step
	of_job=$(limit_of "$1" "$2") &&
		of_step=$(limit_of "$1" "$2" "$(newest_step "$1" "$2")") &&
		trains "$1" &&
		[ $((of_step < of_job ? of_step : of_job)) = "$3" ]
}

rigid() {
	local id
	id=$(sb sbatch --parsable -o /dev/null --mem=10 "$@" \
		--wrap "exec sleep 600") &&
		sb scontrol update job="$id" priority=4294910000 && echo "$id"
}

# ranks_of JOB NODE STEP: how many processes of its tasks live.
ranks_of() {
	cat /sys/fs/cgroup/memory/slurm_"$2"/uid_*/job_"$1"/step_"$3"/task_*/cgroup.procs \
		2>/dev/null | wc -l
}

# watch_limit JOB NODE STEP: as often as it changes, what the kernel allows, what
# slurmctld says, and how many processes of that step live.
watch_limit() {
	local now was=
	while kill -0 $$ 2>/dev/null && [ ! -e "$WORK/watch.stop" ]; do
		now=$(limit_of "$1" "$2")
		[ "$now" = "$was" ] || echo "$now $(allotted "$1" "$2")" \
			"$(ranks_of "$1" "$2" "$3")"
		was=$now
		sleep 0.05
	done >>"$WORK/limits"
}

# Once, when there were ranks with the larger one, and when there were none.
went_down_without_them() {
	cat "$WORK/limits"
	awk '{ print $1, ($3 > 0) }' "$WORK/limits" | xargs |
		grep -qx '800 1 400 0'
}

cat >"$WORK/elastic" <<END
#!/bin/sh
srun pollux-launch --checkpoint-dir $WORK/ckpt pollux-train --samples=200000 \\
	--batch=256 --max-batch=2048 --emulate-gpu=compute --epochs=1000000
END
chmod 755 "$WORK/elastic"
full=$(rigid -w n2 --gres=gpu:4)
wait_until "is_state $full RUNNING" 30
three=$(rigid -w n1 --gres=gpu:3)
wait_until "is_state $three RUNNING" 30
job=$(sb sbatch --parsable -o "$WORK/elastic.out" --gres=gpu:1 \
	--mem-per-gpu=200 --scheduler-params=pollux,min=1,max=4 "$WORK/elastic")
ok "a job trains on one GPU with its memory" wait_until \
	"is_state $job RUNNING && has_gpus $job 1 && allows $job n1 200" 60
ok "and so do its ranks" wait_until "ranks_have $job n1 200" 60
sb scancel "$three"
ok "it grows to four, with four times as much" wait_until \
	"has_gpus $job 4 && allows $job n1 800" 60
ok "its ranks, too" wait_until "ranks_have $job n1 800" 60

watch_limit "$job" n1 "$(newest_step "$job" n1)" &
watcher=$!
two=$(rigid -w n1 --gres=gpu:2)
ok "it gives up two for another job, and the memory of two" wait_until \
	"is_state $two RUNNING && has_gpus $job 2 && allows $job n1 400" 60
ok "its ranks have that of two, too" wait_until "ranks_have $job n1 400" 60
touch "$WORK/watch.stop"
wait "$watcher"
ok "that it went down to only when the ranks of four had left" \
	went_down_without_them
ok "no memory of a step could not be written" fails grep -iE \
	"memory.*(busy|unable|fail)|did not write the job.s control" \
	"$SB/log/n1.log"

last=$(rigid -w n1 --gres=gpu:2)
ok "parked, it keeps the memory of one GPU" wait_until \
	"is_state $last RUNNING && has_gpus $job 0 && allows $job n1 200" 60
sb scancel "$two" "$last"
ok "it comes back with all of it" wait_until \
	"has_gpus $job 4 && allows $job n1 800 && ranks_have $job n1 800" 60
sb scancel "$job" "$full"
ok "nothing is left" wait_until cluster_is_idle 60
ok "nor a control group of a job" wait_until "! job_groups | grep -q ." 30
pollux-sandbox down --dir "$SB" >>"$WORK/restart.out" 2>&1
devices_down
