# SPDX-License-Identifier: MIT
# install.sh - docs/operators.md, parts 1 and 3, on the controller
#
# Sourced by controller.sh.

site=/home/.slurm # what is the same on all machines

installed() {
	packages slurm-wlm-pollux-plugins pollux libpollux0
}

database() {
	systemctl start munge mariadb || return
	mysql -e "create database slurm_acct_db;
		create user 'slurm'@'localhost' identified by 'slurm';
		grant all on slurm_acct_db.* to 'slurm'@'localhost';"
	cat >/etc/slurm/slurmdbd.conf <<-END
		AuthType=auth/munge
		DbdHost=ctl
		SlurmUser=slurm
		LogFile=/var/log/slurm/slurmdbd.log
		StorageType=accounting_storage/mysql
		StorageUser=slurm
		StoragePass=slurm
	END
	chown slurm: /etc/slurm/slurmdbd.conf
	chmod 600 /etc/slurm/slurmdbd.conf
	systemctl start slurmdbd &&
		until_true 120 "sacctmgr -i add cluster vm"
}

# The lines of etc/pollux.conf.example, as a file that slurm.conf includes. Its
# comments say what may differ: here memory is given out, too.
switched_on() {
	mkdir -p "$site"
	local example=/usr/share/doc/slurm-wlm-pollux-plugins/examples/pollux.conf.example
	grep -vE '^(Select|GresTypes|AccountingStorageType)' "$example" |
		sed 's/^SchedulerParameters=/&pollux_enabled=no,/' \
			>"$site/pollux.conf" &&
		ln -s "$site/pollux.conf" /etc/slurm/pollux.conf &&
		echo "include pollux.conf" >>/etc/slurm/slurm.conf &&
		echo "required spank_pollux.so no_io_uring_files" >/etc/slurm/plugstack.conf &&
		cp /etc/slurm/slurm.conf /etc/slurm/plugstack.conf "$site/" &&
		touch "$site/ready" && systemctl start slurmctld &&
		until_true 120 "scontrol ping | grep -q UP" &&
		grep 'sched/pollux: started' /var/log/slurm/slurmctld.log &&
		grep 'runs beside' /var/log/slurm/slurmctld.log
}

doctor_is_content() {
	pollux-doctor --quiet
	pollux-doctor --quiet | grep -i 'pollux_enabled=no'
	sed -i 's/pollux_enabled=no,//; s/pollux_interval=60/pollux_interval=10/' \
		"$site/pollux.conf"
	scontrol reconfigure && sleep 2 && pollux-doctor --quiet
}

nodes_are_there() {
	until_true 600 '[ "$(sinfo -h -N -t idle -o %N | wc -l)" -eq 2 ]'
	sinfo -N -l
	scontrol show nodes | grep -E 'NodeName|Gres|State|Reason'
	[ "$(sinfo -h -N -t idle -o %N | wc -l)" -eq 2 ]
}

# as USER COMMAND...
as() {
	local user=$1
	shift
	(cd "/home/$user" && runuser -u "$user" -- "$@")
}

steps_run() {
	as alice srun -N2 --ntasks-per-node=1 -t 5 hostname | sort | tee "$logs/hosts"
	[ "$(tr '\n' ' ' <"$logs/hosts")" = "n1 n2 " ]
}

constrained() {
	local where
	where=$(as alice srun -w n1 -t 5 cat /proc/self/cgroup)
	echo "$where"
	grep -E '^0::.*slurmstepd.scope/job_[0-9]+/step_0/user/task_0' <<<"$where"
}

ok "the packages install on the controller as docs/operators.md says" installed
ok "slurmdbd has its database" database
ok "slurmctld starts with sched/pollux" switched_on
ok "both nodes come up, with packages, GPUs and homes" nodes_are_there
ok "pollux-doctor finds nothing wrong" doctor_is_content
ok "a step runs on two nodes" steps_run
ok "in a cgroup of version 2" constrained
