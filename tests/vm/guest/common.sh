# SPDX-License-Identifier: MIT
# common.sh - what all machines have: addresses, packages, settings of Slurm
#
# Sourced by boot.

network() {
	local card address
	case $role in
	ctl) address=10.77.0.1 ;;
	*) address=10.77.0.1${role#n} ;;
	esac
	hostname "$role"
	echo "$role" >/etc/hostname
	printf '%s\n' '127.0.0.1 localhost' '10.77.0.1 ctl' '10.77.0.11 n1' \
		'10.77.0.12 n2' >/etc/hosts
	card=$(find /sys/class/net -name 'e*' -printf '%f\n' | head -n 1)
	ip link set lo up
	ip link set "$card" up && ip address add "$address/24" dev "$card"
}

# packages NAME...: as docs/operators.md says. What they depend on is there.
packages() {
	local files=() name
	for name; do
		files+=("$(echo /vm/debs/"${name}"_*.deb)")
	done
	DEBIAN_FRONTEND=noninteractive apt-get -q install -y \
		--no-install-recommends "${files[@]}"
}

# The site's own, before Pollux.
slurm_files() {
	mkdir -p /etc/slurm /var/log/slurm /var/lib/slurm/slurmctld \
		/var/lib/slurm/slurmd /etc/slurm/plugstack.conf.d
	chown slurm: /var/log/slurm /var/lib/slurm/slurmctld
	cp /vm/guest/slurm.conf /vm/guest/gres.conf /vm/guest/cgroup.conf \
		/etc/slurm/
}

# until_true SECONDS COMMAND
until_true() {
	local end=$((SECONDS + $1))
	until eval "$2" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || {
			echo "still not so after $1 s: $2"
			return 1
		}
		sleep 0.5
	done
}
