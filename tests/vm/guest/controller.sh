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
	! wants late || . /vm/guest/late.sh
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

# order NODE COMMAND: root runs it there, within a minute.
order() {
	local file=/home/.slurm/order.$1
	echo "$2" >"$file.new" && mv "$file.new" "$file" &&
		until_true 60 "! test -e $file"
	cat "/home/.slurm/said.$1"
}

# Logs of all machines on the third disk.
finish() {
	local node
	for node in n1 n2; do
		order $node "journalctl -b --no-pager; cat /var/log/slurm/slurmd.log" \
			>"$logs/$node.log"
	done
	cp /var/log/slurm/*.log "$logs"/ 2>/dev/null
	journalctl -b --no-pager >"$logs/ctl.journal.log" 2>/dev/null
	tap_end
	tar -C "$logs" -cf /dev/vdc . 2>/dev/null
	sync
	echo "vm: done $((tap_failed > 0))" >&6
	[ "$vm_keep" = yes ] || systemctl poweroff --force
}

controller >"$logs/controller.log" 2>&1 &
