# SPDX-License-Identifier: MIT
# devices.sh - clusters where jobs can open no GPU but their own
#
# Sourced after elastic.sh. GPUs are character devices that open without any
# effect, and Slurm constrains devices by control groups, version 1. One log a
# job says which GPUs its processes could open, and when.

# Control groups are named by node and job: other clusters of this machine have
# nodes of the same names.
first_job=$((1000 + $$ * 50))

# Device files in the sandbox's dev folder, each after the sign that the log has
# for it. Eight at most.
openable="0=gpu0 1=gpu1 2=gpu2 3=gpu3"

# Groups of this test's jobs, in each hierarchy.
job_groups() {
	find /sys/fs/cgroup/*/slurm_n*/ -depth -type d -path "*/job_*" \
		2>/dev/null | awk -F '/job_' -v first="$first_job" '
			int($2) >= first && int($2) < first + 50'
}

# What killed daemons leave; where something lives it stays.
devices_down() {
	job_groups | xargs -r rmdir 2>/dev/null
	! job_groups | grep -q .
}

# Why this machine cannot; "" where it can.
no_devices() {
	local group=/sys/fs/cgroup/devices

	if [ "$(id -u)" -ne 0 ]; then
		echo "needs root"
	elif ! [ -w "$group/cgroup.procs" ]; then
		echo "no control groups of version 1 for devices"
	elif ! mknod "$WORK/tty" c 4 60 || ! true 2>/dev/null <"$WORK/tty"; then
		echo "device nodes cannot be made or opened here"
	fi
	rm -f "$WORK/tty"
}

# devices_up OPTION...: sandbox_up, with these: four GPUs a node at most, where
# `openable` is not set to something else. With cores=yes, CPUs are constrained
# as well; with ram=yes, memory.
devices_up() {
	sandbox_up "$@" --conf-extra "FirstJobId=$first_job"
	constrain_devices && write_opener
}

# The same of a cluster that is up, with that FirstJobId.
constrain_devices() {
	local device daemon minor

	sed -i -e 's|^ProctrackType=.*|ProctrackType=proctrack/cgroup|' \
		-e 's|^TaskPlugin=.*|TaskPlugin=task/cgroup|' "$SB/etc/slurm.conf"
	sed -i 's|^CgroupPlugin=.*|CgroupPlugin=cgroup/v1|' "$SB/etc/cgroup.conf"
	printf "Constrain%s=yes\n" Devices ${cores:+Cores} ${ram:+RAMSpace} \
		>>"$SB/etc/cgroup.conf"
	minor=$((64 - $(wc -w <<<"$openable")))
	for device in $openable; do
		rm -f "$SB/dev/${device#*=}"
		mknod -m 666 "$SB/dev/${device#*=}" c 4 $((minor++))
	done
	for daemon in slurmctld $(sb sinfo -h -N -o %N | sort -u); do
		pollux-sandbox restart --dir "$SB" "$daemon" \
			>>"$WORK/restart.out" 2>&1 || return 1
	done
}

# opens NAME [EVERY]: "TIME JOB NODE NAME GPUS" into $WORK/opens, of all GPUs
# that it can open, "-" for none; again and again.
write_opener() {
	cat >"$WORK/opener" <<-END
		#!/bin/bash
		while
			can=
			for device in $openable; do
				if true 2>/dev/null <"$SB/dev/\${device#*=}"; then
					can+=\${device%%=*}
				fi
			done
			echo "\$EPOCHREALTIME \$SLURM_JOB_ID \$SLURMD_NODENAME" \
				"\$1 \${can:--}" >>"$WORK/opens"
			[ -n "\${2:-}" ]
		do
			sleep "\$2"
		done
	END
	chmod 755 "$WORK/opener"
	: >"$WORK/opens"
	chmod 666 "$WORK/opens"
}

# can_open JOB NODE NAME GPUS: as it said last.
can_open() {
	[ "$(awk -v job="$1" -v node="$2" -v name="$3" '
		$2 == job && $3 == node && $4 == name { can = $5 }
		END { print can }' "$WORK/opens")" = "$4" ]
}

# Lines of GPUs that a job could open between two looks of a rigid one that
# had them as well.
opened_twice() (
	set -o pipefail
	sort -n "$WORK/opens" | awk -f "$POLLUX_SRCDIR/tests/opened_twice.awk"
)

# write_agree: $WORK/agree [FILE], a job's script that says yes to whatever is
# asked, once there is such a file.
write_agree() {
	cat >"$WORK/agree" <<END
#!/bin/bash
while :; do
	serial=\$(scontrol show job "\$SLURM_JOB_ID" |
		grep -oE 'serial=[0-9]+' | cut -d= -f2)
	until [ -z "\$1" ] || [ "\${serial:-0}" = 0 ] || [ -e "\$1" ]; do
		sleep 0.1
	done
	scontrol update job="\$SLURM_JOB_ID" comment="[pollux v=1 \\
launcher=batch resizes=0 pause=0,0 ack=\${serial:-0} phase=training]"
	sleep 0.2
done
END
	chmod 755 "$WORK/agree"
}
