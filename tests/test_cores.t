# SPDX-License-Identifier: MIT
# test_cores.t - which CPUs a job's processes have, after each resize
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/devices.sh" || exit 1

why=$(no_devices)
[ -z "$why" ] || skip_all "$why"
[ -w /sys/fs/cgroup/cpuset/cgroup.procs ] ||
	skip_all "no control groups of version 1 for CPUs"
# Nodes are this machine, and have CPUs that it has.
[ "$(nproc)" -ge 2 ] || skip_all "needs two CPUs"
need_readers
cores=yes devices_up --nodes 2 --gpus-per-node 2 --cpus-per-node 2 \
	--params pollux_interval=1,pollux_min_gap=0.2,pollux_ack_timeout=4
plan 10

# cpus_of JOB NODE: each cpuset of it there, without repetition.
cpus_of() {
	local group=/sys/fs/cgroup/cpuset/slurm_$2
	cat "$group"/uid_*/job_"$1"/{,step_*/}cpuset.cpus 2>/dev/null |
		grep . | sort -u | xargs
}

# allotted JOB NODE: as slurmctld says.
allotted() {
	sb scontrol -d show job "$1" | grep -oE "Nodes=$2 CPU_IDs=[0-9,-]+" |
		sed 's/.*=//'
}

# All of its processes there have just what it has.
has_its_own() {
	[ -n "$(allotted "$1" "$2")" ] &&
		[ "$(cpus_of "$1" "$2")" = "$(allotted "$1" "$2")" ]
}

rigid() {
	local id
	id=$(sb sbatch --parsable -o /dev/null "$@" --wrap "exec sleep 600") &&
		sb scontrol update job="$id" priority=4294910000 && echo "$id"
}

# ranks GPUS: so many train, in a step that was started with as many CPUs.
ranks_have() {
	trains "$job" && has_gpus "$job" "$1" &&
		cat /sys/fs/cgroup/cpuset/slurm_"$home"/uid_*/job_"$job"/step_*/cpuset.cpus |
		grep -qx "$2"
}

cat >"$WORK/elastic" <<END
#!/bin/sh
srun pollux-launch --checkpoint-dir $WORK/ckpt pollux-train --samples=200000 \\
	--batch=256 --max-batch=2048 --emulate-gpu=compute --epochs=1000000
END
chmod 755 "$WORK/elastic"
job=$(sb sbatch --parsable -o "$WORK/elastic.out" --gres=gpu:2 \
	--cpus-per-gpu=1 --scheduler-params=pollux,min=1,max=2 "$WORK/elastic")
wait_until "is_state $job RUNNING" 30
home=$(job_field "$job" BatchHost)
other=n$((3 - ${home#n}))
ok "a job trains on two GPUs, with a CPU each" wait_until "ranks_have 2 0-1" 30
ok "its script, launcher and ranks have these two" has_its_own "$job" "$home"

full=$(rigid -w "$other" --gres=gpu:2 -c2)
wait_until "is_state $full RUNNING" 30
one=$(rigid -w "$home" --gres=gpu:1 -c1)
ok "it gives up a GPU for another job" wait_until "is_state $one RUNNING" 60
ok "all its processes have one CPU then" wait_until \
	"has_its_own $job $home && has_gpus $job 1" 30
ok "and the other job the other one" eval '
	wait_until "has_its_own $one $home" 10 &&
	[ "$(allotted "$one" "$home")" != "$(allotted "$job" "$home")" ]'
ok "it trains on" wait_until "trains $job" 30
ok "no step failed to start for its CPUs" fails grep -E \
	"cpuset.cpus: Device or resource busy|did not write the job's control" \
	"$SB/log/$home.log"
sb scancel "$one" "$full"
ok "it comes back to both" wait_until "ranks_have 2 0-1" 60
sb scancel "$job"
ok "nothing is left" wait_until cluster_is_idle 60
ok "nor a control group of a job" wait_until "! job_groups | grep -q ." 30
pollux-sandbox down --dir "$SB" >>"$WORK/restart.out" 2>&1
devices_down
