# SPDX-License-Identifier: MIT
# controller.sh - slurmctld, slurmdbd, the homes; then the tests
#
# Sourced by boot. What it prints goes to the second serial line, which the
# host shows.

stty -F /dev/ttyS1 raw -echo
exec 6>/dev/ttyS1
logs=/var/log/vm
mkdir -p "$logs"
. /vm/guest/tap.sh

# It runs in the background, for systemd's start of this machine would wait.
controller() {
	serve_homes
	. /vm/guest/install.sh
	! wants elastic || . /vm/guest/elastic.sh
	! wants device || . /vm/guest/device.sh
	finish
}

wants() {
	[ "$vm_only" = all ] || [ "$vm_only" = "$1" ]
}

serve_homes() {
	echo '/home 10.77.0.0/24(rw,sync,no_subtree_check,no_root_squash)' \
		>/etc/exports
	systemctl start nfs-server
}

# Logs on the third disk, and all machines off.
finish() {
	cp /var/log/slurm/*.log "$logs"/ 2>/dev/null
	journalctl -b --no-pager >"$logs/ctl.journal.log" 2>/dev/null
	tap_end
	tar -C "$logs" -cf /dev/vdc . 2>/dev/null
	sync
	echo "vm: done $((tap_failed > 0))" >&6
	[ "$vm_keep" = yes ] || systemctl poweroff --force
}

controller >"$logs/controller.log" 2>&1 &
