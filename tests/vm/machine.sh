# SPDX-License-Identifier: MIT
# machine.sh - virtual machines: how they are run, joined, heard and ended
#
# Sourced by check. They end with this program however it ends, as the kernel
# kills them then (PDEATHSIG). They write on no file but their logs: the disk
# that they share is a snapshot in each, thrown away by QEMU.

# A gigabyte of translated code, its default, is as much as the machine has.
accel=tcg,thread=single,tb-size=128
machines=(ctl n1 n2)
machine_pids=()
# Slurm gives a GPU a core of its own, so a node has as many.
declare -A machine_cpus=([ctl]=1 [n1]=4 [n2]=4 [trial]=4)

# machine NAME QEMU-OPTION...: in the background.
machine() {
	local name=$1
	shift
	TMPDIR=$vm_run setpriv --pdeathsig KILL qemu-system-x86_64 \
		-name "$name" -accel "$accel" -m 1024 -smp "${machine_cpus[$name]}" \
		-nodefaults -display none -no-reboot \
		-kernel "$kernel" -initrd "$initrd" \
		-drive "file=$image,format=raw,if=virtio,snapshot=on" \
		-drive "file=$vm_run/payload.ext4,format=raw,if=virtio,readonly=on" \
		-drive "file=$vm_run/$name.out,format=raw,if=virtio" \
		-device virtio-rng-pci \
		-chardev "socket,id=con,path=$vm_run/$name.console,server=on,wait=off,logfile=$vm_dir/logs/$name.console.log" \
		-serial chardev:con -serial "file:$vm_run/$name.tap" \
		-append "root=/dev/vda rw console=ttyS0 panic=-1 no_timer_check systemd.show_status=no systemd.default_device_timeout_sec=900 quiet vm.role=$name" \
		"$@" >"$vm_dir/logs/$name.qemu.log" 2>&1 &
	machine_pids+=($!)
}

# Two sockets in a folder of root's, and a hub in the controller's QEMU: the
# only way out of any of them.
wires() {
	local name=$1 node
	if [ "$name" != ctl ]; then
		printf '%s\n' -netdev \
			"stream,id=net,server=off,addr.type=unix,addr.path=$vm_run/$name.wire" \
			-device "virtio-net-pci,netdev=net,mac=52:54:00:00:00:1${name#n}"
		return
	fi
	printf '%s\n' -netdev hubport,id=net,hubid=0 \
		-device virtio-net-pci,netdev=net,mac=52:54:00:00:00:01
	for node in n1 n2; do
		printf '%s\n' -netdev \
			"stream,id=$node,server=on,addr.type=unix,addr.path=$vm_run/$node.wire" \
			-netdev "hubport,id=hub-$node,hubid=0,netdev=$node"
	done
}

# Programs of the tests, made for the Slurm that the disk has.
helpers=("$POLLUX_BUILDDIR/tests/forge_end" "$POLLUX_BUILDDIR/tests/.libs/kept.so")

helpers_are_there() {
	[ -e "${helpers[0]}" ] && [ -e "${helpers[1]}" ]
}

# What is not in the image: scripts, packages, settings.
payload() {
	local tree=$vm_run/payload
	mkdir -p "$tree"
	cp -r "$vm_src/guest" "$debs" "$tree/" &&
		mkdir "$tree/helpers" && cp "${helpers[@]}" "$tree/helpers/" &&
		{
			echo "vm_only=$vm_only"
			echo "vm_keep=$vm_keep"
			echo "vm_limit=$vm_limit"
		} >"$tree/settings" &&
		truncate -s 64M "$vm_run/payload.ext4" &&
		mkfs.ext4 -q -F -d "$tree" "$vm_run/payload.ext4" &&
		rm -rf "$tree"
}

alive() {
	kill -0 "$1" 2>/dev/null
}

# trial_boot: a machine comes up until systemd runs guest/boot, and says so.
trial_boot() {
	local end=$((SECONDS + 60))
	truncate -s 1M "$vm_run/trial.out"
	machine trial
	until grep -q 'vm: lives' "$vm_run/trial.tap" 2>/dev/null; do
		alive "${machine_pids[0]}" && [ $SECONDS -lt $end ] || break
		sleep 0.5
	done
	machines_stop
	grep -q 'vm: lives' "$vm_run/trial.tap"
}

accel_choose() {
	payload || die "the second disk could not be made"
	case $vm_accel in
	tcg) ;;
	kvm) accel=kvm ;;
	auto)
		[ -w /dev/kvm ] || return 0
		if accel=kvm trial_boot; then
			accel=kvm
		else
			say "kvm is here, but a trial boot did not end well: tcg"
		fi
		;;
	esac
}

machines_start() {
	local name options
	say "starting ${machines[*]} by ${accel%%,*}"
	for name in "${machines[@]}"; do
		truncate -s 64M "$vm_run/$name.out"
		: >"$vm_run/$name.tap"
		mapfile -t options < <(wires "$name")
		machine "$name" "${options[@]}"
		[ "$name" != ctl ] || wait_for_wires
	done
}

wait_for_wires() {
	local tries
	for ((tries = 0; tries < 50; tries++)); do
		[ -S "$vm_run/n1.wire" ] && [ -S "$vm_run/n2.wire" ] && return
		sleep 0.2
	done
	tail -n 5 "$vm_dir/logs/ctl.qemu.log" >&2
	die "the controller did not start"
}

machines_stop() {
	[ ${#machine_pids[@]} -gt 0 ] || return 0
	kill -KILL "${machine_pids[@]}" 2>/dev/null
	wait "${machine_pids[@]}" 2>/dev/null
	machine_pids=()
}

# What the controller prints, in whole lines, until it has said that it is done.
# 0 if all was well.
machines_follow() {
	local end=$((SECONDS + vm_limit)) shown=0 now lines line
	while :; do
		now=$(wc -l <"$vm_run/ctl.tap")
		mapfile -t -s "$shown" -n $((now - shown)) lines \
			< <(head -n "$now" "$vm_run/ctl.tap")
		[ "$now" -gt "$shown" ] || lines=()
		shown=$now
		for line in "${lines[@]}"; do
			[[ $line != "vm: done "* ]] || break 2
			echo "$line"
		done
		alive "${machine_pids[0]}" || die_with_log "the controller ended early"
		[ $SECONDS -lt $end ] || die_with_log "not done after $vm_limit s"
		sleep 1
	done
	[ $vm_keep = no ] || stay
	wait_for_end
	fetch_logs
	[ "$line" = "vm: done 0" ]
}

die_with_log() {
	tail -n 20 "$vm_dir/logs/ctl.console.log" | sed 's/^/# /'
	echo "Bail out! $1"
	exit 2
}

# The controller writes all logs on its third disk, then powers off.
wait_for_end() {
	local end=$((SECONDS + 60))
	while alive "${machine_pids[0]}" && [ $SECONDS -lt $end ]; do
		sleep 1
	done
}

fetch_logs() {
	tar -C "$vm_dir/logs" --no-same-owner -xf "$vm_run/ctl.out" \
		2>/dev/null || say "the machines left no logs"
}

stay() {
	local name
	say "the machines run on; a shell of root's, and Ctrl-C here ends them:"
	for name in "${machines[@]}"; do
		say "  socat -,raw,echo=0,escape=0x1d UNIX:$vm_run/$name.console"
	done
	while alive "${machine_pids[0]}"; do
		sleep 1
	done
}
