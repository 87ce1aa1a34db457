# SPDX-License-Identifier: MIT
# node.sh - a compute node: four character devices as GPUs, homes by NFS
#
# Sourced by boot.

# /dev/cpu/N/cpuid opens without a side effect and has a number for each CPU.
devices() {
	local i
	modprobe cpuid
	for i in 0 1 2 3; do
		echo "c /dev/gpu$i 0666 root root - 203:$i"
	done >/etc/tmpfiles.d/gpu.conf
	systemd-tmpfiles --create /etc/tmpfiles.d/gpu.conf
}

# What one machine wrote, another sees at once: noac.
homes() {
	until_true 600 "mount -t nfs4 -o noac,soft,timeo=600 ctl:/home /home"
}

# What a process can open that nobody constrains, for the judge.
control() {
	local i list=
	for i in 0 1 2 3; do
		{ : <"/dev/gpu$i"; } && list+=,$i
	done
	echo "${list#,}" >"/home/.slurm/control.$role"
}

# The controller's hand here: what it wrote into a file is run (order).
orders() {
	local file=/home/.slurm/order.$role
	while sleep 1; do
		[ -e "$file" ] || continue
		bash "$file" >"/home/.slurm/said.$role" 2>&1
		rm "$file"
	done
}

devices
packages pollux libpollux0
systemctl start munge
homes
until_true 600 "test -e /home/.slurm/ready"
cp /home/.slurm/slurm.conf /home/.slurm/plugstack.conf /etc/slurm/
ln -s /home/.slurm/pollux.conf /etc/slurm/pollux.conf
control
systemctl start slurmd
orders &
