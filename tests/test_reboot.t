# SPDX-License-Identifier: MIT
# test_reboot.t - scontrol reboot of nodes that elastic jobs hold
#
# RebootProgram ends the node's slurmd, and begins one as after a boot.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

# A node is known by what its slurmd has in its environment, of which 26.05 gives
# the program nothing but the node's name. The group of a program may be killed
# when that ends: not before setsid has left it.
cat >"$WORK/reboot" <<-'END'
	#!/bin/bash
	cd "${0%/*}" || exit 1
	export PMIX_HOSTNAME=${PMIX_HOSTNAME:-$SLURM_NODE_NAME}
	echo "$PMIX_HOSTNAME" >>reboots
	setsid "$0.on" </dev/null >reboot.log 2>&1 &
	until grep -qs reboot.on "/proc/$!/comm" || ! kill -0 $!; do sleep 0.1; done
END
cat >"$WORK/reboot.on" <<-END
	#!/bin/bash
	export SLURM_CONF=$WORK/sb/etc/slurm.conf POLLUX_SANDBOX=$WORK/sb
	export PATH=$PATH:/usr/sbin
	node=\$PMIX_HOSTNAME pid=\$(cat $WORK/sb/run/\$PMIX_HOSTNAME.pid)
	kill "\$pid"
	while kill -0 "\$pid"; do sleep 0.1; done 2>/dev/null
	while [ -e $WORK/broken ]; do sleep 0.1; done
	slurmd -D -N "\$node" -b >>$WORK/sb/log/\$node.out 2>&1 &
	echo \$! >$WORK/sb/run/\$node.pid
END
chmod 755 "$WORK/reboot" "$WORK/reboot.on"
: >"$WORK/reboots"

sandbox_up --nodes 3 --gpus-per-node 2 \
	--params pollux_interval=1,pollux_min_gap=0.2 \
	--conf-extra RebootProgram="$WORK/reboot" --conf-extra ResumeTimeout=40
plan 14

is_on() {
	sb scontrol show hostnames "$(job_field "$job" NodeList)" |
		grep -qx "$1"
}

home() {
	job_field "$job" BatchHost
}

away() {
	echo n1 n2 n3 | tr ' ' '\n' | grep -vx "$(home)" | head -n 1
}

node_is() {
	sb scontrol show node "$1" | grep -qE "State=$2( |\$)"
}

rebooted() {
	[ "$(grep -cx "$1" "$WORK/reboots")" -eq "$2" ]
}

# All there are, with no prolog that still runs.
has_all() {
	has_gpus "$job" 6 && ! sb scontrol show job "$job" |
		grep -qE 'SystemComment=.* state=(asked|lent|moving)'
}

still() {
	eval "$1" && sleep 3 && eval "$1"
}

job=$(submit_light long pollux,max=6 -- --restart=0.1)
ok "a job has the cluster" wait_until has_all 60
node=$(away)
touch "$WORK/broken"
ok "reboot ASAP: it leaves the node, which is rebooted" eval '
	sb scontrol reboot ASAP nextstate=RESUME "$node" &&
	wait_until "has_gpus $job 4 && ! is_on $node && rebooted $node 1" 60'
ok "it keeps off while that goes on" still 'has_gpus "$job" 4'
rm "$WORK/broken"
ok "and has the node again afterwards" eval '
	wait_until "has_all && is_on $node" 90 &&
	[ "$(job_field "$job" Restarts)" = 0 ]'

node=$(home)
ok "the node of its script waits for the end of the job, as for any" eval '
	sb scontrol reboot ASAP nextstate=RESUME "$node" &&
	wait_until "has_gpus $job 4" 60 &&
	still "is_state $job RUNNING && rebooted $node 0 && has_gpus $job 4"'
# Without the second 22.05 starts no job there, whatever the scheduler.
ok "cancelled, the reboot is forgotten, and it has the node again" eval '
	sb scontrol cancel_reboot "$node" && sb scontrol reconfigure &&
	wait_until has_all 60 && rebooted "$node" 0'
ok "with reason=leave the whole job goes, and the node is rebooted" eval '
	sb scontrol reboot ASAP nextstate=RESUME reason="leave: new kernel" "$node" &&
	wait_until "rebooted $node 1 && is_state $job RUNNING" 90 &&
	[ "$(home)" != "$node" ]'
ok "and used again" wait_until "has_all && is_on $node" 90

node=$(away)
seen=$(grep -cx "$node" "$WORK/reboots")
ok "reboot without ASAP waits until the node is idle" eval '
	sb scontrol reboot nextstate=RESUME "$node" &&
	still "has_all && rebooted $node $seen"'
rigid=$(submit_rigid -w "$node" --gpus-per-node=2 --priority=4294910000 -- 1)
ok "once the job is elsewhere it is rebooted, and nobody starts there first" \
	eval '
	sb scontrol update job=$job ExcNodeList="$node" &&
	wait_until "rebooted $node $((seen + 1))" 60'
ok "then who waits for it runs, and the job is back" eval '
	sb scontrol update job=$job ExcNodeList= &&
	wait_until "is_state $rigid COMPLETED && has_all" 90'

node=$(away)
touch "$WORK/broken"
ok "a node that does not come back is down, and the job goes on" eval '
	sb scontrol reboot ASAP nextstate=RESUME "$node" &&
	wait_until "node_is $node DOWN.*" 120 && has_gpus $job 4'
rm "$WORK/broken"
ok "resumed by an operator, it is used again" eval '
	wait_until "sb scontrol update nodename=$node state=resume" 60 &&
	wait_until has_all 90'
sb scancel "$job"
ok "nothing is left, and slurmctld lives" eval '
	wait_until "ended $job" 30 && wait_until cluster_is_idle 60 &&
	slurmctld_lives'
