# SPDX-License-Identifier: MIT
# image.sh - the disk that all three machines start from
#
# Sourced by check. A Debian 12 with Slurm and all that our packages depend
# on, but without our packages: it is built once and used until
# vm_packages or this file change.

image=$vm_dir/debian.ext4
kernel=$vm_dir/vmlinuz
initrd=$vm_dir/initrd.img

vm_packages=(
	linux-image-cloud-amd64 initramfs-tools systemd systemd-sysv dbus udev
	kmod iproute2 procps psmisc util-linux bpftool strace jq gawk less
	munge slurmctld slurmd slurmdbd slurm-client slurm-wlm-basic-plugins
	slurm-wlm-mysql-plugin mariadb-server
	nfs-kernel-server nfs-common
	libslurm38 libhwloc15 libjansson4 libopenmpi3 openmpi-bin libpmix-dev zlib1g python3
)

# What the image is made of, as one number.
image_sum() {
	{
		printf '%s\n' "${vm_packages[@]}" "$vm_mirror"
		cat "$vm_src/image.sh"
	} | sha256sum | cut -c 1-16
}

image_is_there() {
	[ -s "$image" ] && [ -s "$kernel" ] && [ -s "$initrd" ] &&
		[ "$(cat "$vm_dir/image.sum" 2>/dev/null)" = "$(image_sum)" ]
}

# in_root ROOT COMMAND...: in a mount namespace of its own, so that no mount
# outlives it.
in_root() {
	local root=$1
	shift
	unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" \
		chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
}

# apt_get ROOT ARGUMENTS...: of the new system.
apt_get() {
	local root=$1
	shift
	in_root "$root" apt-get -q -o Acquire::Retries=3 "$@"
}

debian_into() {
	local root=$1
	# Its mounts, too, are in a namespace that ends with it.
	unshare --mount --pid --fork --kill-child --mount-proc \
		debootstrap --variant=minbase bookworm "$root" "$vm_mirror" || return
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"
	# Without it dpkg waits for the disk after each file.
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
	cp /etc/resolv.conf "$root/etc/resolv.conf" &&
		apt_get "$root" update &&
		apt_get "$root" install -y --no-install-recommends \
			"${vm_packages[@]}"
}

# Whatever has to be the same on all machines, or is to start on none.
configure_root() {
	local root=$1 unit
	rm -f "$root/usr/sbin/policy-rc.d" "$root/etc/resolv.conf"
	printf '%s\n' virtio_pci virtio_blk virtio_net ext4 \
		>>"$root/etc/initramfs-tools/modules"
	sed -i 's/^MODULES=.*/MODULES=list/' \
		"$root/etc/initramfs-tools/initramfs.conf"
	in_root "$root" update-initramfs -u || return
	for unit in munge mariadb slurmctld slurmd slurmdbd nfs-server \
		nfs-kernel-server e2scrub_reap; do
		in_root "$root" systemctl disable "$unit" 2>/dev/null
	done
	for unit in apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer \
		fstrim.timer dpkg-db-backup.timer man-db.timer; do
		in_root "$root" systemctl mask "$unit" 2>/dev/null
	done
	in_root "$root" useradd -m -s /bin/bash -u 1001 alice &&
		in_root "$root" useradd -m -s /bin/bash -u 1002 bob || return
	echo '/dev/vda / ext4 defaults 0 1' >"$root/etc/fstab"
	install_boot "$root"
}

# The one thing in the image that is ours: run what the second disk has.
install_boot() {
	local unit=$1/etc/systemd/system
	cat >"$unit/vm.service" <<-'END'
		[Unit]
		Description=What this machine is
		After=basic.target
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=/bin/sh -c 'mkdir -p /vm && mount -o ro /dev/vdb /vm && exec bash /vm/guest/boot'
		StandardOutput=journal+console
		StandardError=journal+console
		TimeoutStartSec=infinity
		[Install]
		WantedBy=multi-user.target
	END
	mkdir -p "$unit/serial-getty@ttyS0.service.d"
	cat >"$unit/serial-getty@ttyS0.service.d/root.conf" <<-'END'
		[Service]
		ExecStart=
		ExecStart=-/sbin/agetty -a root --keep-baud 115200 - $TERM
	END
	in_root "$1" systemctl enable vm.service
}

# image_build: $image, $kernel and $initrd, or none of them.
image_build() {
	local root=$vm_run/root
	mkdir -p "$root" &&
		debian_into "$root" && configure_root "$root" || return
	rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
	cp "$root"/boot/vmlinuz-* "$kernel" &&
		cp "$root"/boot/initrd.img-* "$initrd" &&
		rm -f "$image.new" &&
		truncate -s 4G "$image.new" &&
		mkfs.ext4 -q -F -d "$root" "$image.new" &&
		mv "$image.new" "$image" &&
		image_sum >"$vm_dir/image.sum"
	rm -rf --one-file-system "$root"
}
