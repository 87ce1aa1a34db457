# SPDX-License-Identifier: MIT
# host.sh - what this machine needs to make and run the others
#
# Sourced by check.

host_packages=(debootstrap qemu-system-x86 e2fsprogs dpkg-dev debhelper
	dh-python mount util-linux)

host_lacks() {
	local package
	for package in "${host_packages[@]}"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" \
			2>/dev/null)" = installed ] || echo "$package"
	done
}

# The packages that are missing are installed, unless --no-install.
host_ready() {
	local missing
	[ "$(id -u)" -eq 0 ] ||
		die "only root can make a disk with the files of all users: sudo make check-vm"
	command -v dpkg-query >/dev/null ||
		die "this is no Debian: the disk is made by debootstrap and dpkg"
	mapfile -t missing < <(host_lacks)
	[ ${#missing[@]} -gt 0 ] || return 0
	[ "$vm_install" = yes ] ||
		die "missing packages (--no-install was given): ${missing[*]}"
	say "installing ${missing[*]}"
	apt-get -q update >"$vm_run/apt.log" 2>&1
	DEBIAN_FRONTEND=noninteractive apt-get -q install -y \
		--no-install-recommends "${missing[@]}" >>"$vm_run/apt.log" 2>&1 || {
		tail -n 10 "$vm_run/apt.log" >&2
		die "could not install ${missing[*]}"
	}
}

# room_for FOLDER MIB: a clear word before the disk is full.
room_for() {
	local free
	free=$(df --output=avail -m "$1" | tail -n 1)
	[ "$free" -ge "$2" ] ||
		die "$1 has $free MiB free, $2 are needed: --dir=FOLDER takes another one"
}
