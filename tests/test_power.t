# SPDX-License-Identifier: MIT
# test_power.t - elastic jobs and Slurm's power saving, with no pollux_utility
#
# Programs that end and begin slurmd are what a cloud does. docs/autoscaling.md
# has the promises.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

# power NAME COMMAND: a program of that name, which does this to each $node.
power() {
	cat >"$WORK/$1" <<-END
		#!/bin/bash
		export SLURM_CONF=$WORK/sb/etc/slurm.conf POLLUX_SANDBOX=$WORK/sb
		export PATH=$PATH:/usr/sbin
		cd $WORK/sb/run || exit 1
		for node in \$(scontrol show hostnames "\$1"); do
			echo "$1 \$node" >>$WORK/power.log
			$2
		done
	END
	chmod 755 "$WORK/$1"
}
# A slurmd that slurmctld's program has begun hears no other signal. From 24.11 on
# slurmctld kills the group of the program when that ends: not before setsid has
# left it.
# shellcheck disable=SC2016 # for the programs
power suspend 'kill -KILL "$(cat "$node.pid")"'
# shellcheck disable=SC2016
power resume "[ ! -e $WORK/broken ] || exit 1"'
	setsid slurmd -D -N "$node" -b </dev/null >>"../log/$node.out" 2>&1 &
	echo $! >"$node.pid"
	until grep -qs slurmd "/proc/$!/comm" || ! kill -0 $!; do sleep 0.1; done'
: >"$WORK/power.log"

options=()
for line in SuspendProgram="$WORK/suspend" ResumeProgram="$WORK/resume" \
	SuspendTime=8 SuspendTimeout=5 ResumeTimeout=40 SuspendRate=0 \
	ResumeRate=0 SlurmctldParameters=power_save_interval=1; do
	options+=(--conf-extra "$line")
done
sandbox_up "$untyped" --nodes 3 --gpus-per-node 2 "${options[@]}" \
	--params pollux_interval=1,pollux_min_gap=0.2
plan 14

# asleep N: so many nodes are suspended, or on their way there.
asleep() {
	sb sinfo -h -N -p main -o '%N %t'
	[ "$(sb sinfo -h -N -p main -o '%N %t' | grep -c '[~%]')" -eq "$1" ]
}

still() {
	eval "$1" && sleep 3 && eval "$1"
}

resumed() {
	[ "$(grep -c '^resume' "$WORK/power.log")" -eq "$1" ]
}

# No prolog runs on any node that it has.
settled() {
	! sb scontrol show job "$job" |
		grep -qE 'SystemComment=.* state=(asked|lent|moving)'
}

ok "idle nodes are suspended" wait_until "asleep 3" 60
job=$(submit_light job pollux,max=6 -- --restart=0.1)
ok "an elastic job wakes the node that it starts on" \
	wait_until "has_gpus $job 2 && trains $job" 60
ok "and no other: it does not grow onto those that sleep" \
	still 'asleep 2 && resumed 1 && has_gpus "$job" 2'
rigid=$(submit_rigid -N1 --gpus-per-node=2 -- 8)
ok "for a job that waits Slurm wakes a node, and nobody gives way" eval '
	wait_until "is_state $rigid RUNNING" 60 && has_gpus "$job" 2 &&
	! logged "JobId=$job asked for [01] GPU"'
ok "who grows onto it when that has ended" \
	wait_until "is_state $rigid COMPLETED && has_gpus $job 4" 60
ok "but wakes none" still 'asleep 1 && resumed 2'
ok "a node that it gives up goes to sleep" eval '
	wait_until settled 30 &&
	sb scontrol update job="$job" NumNodes=1 &&
	wait_until "has_gpus $job 2 && asleep 2" 60'
# From 24.11 on scontrol sends NumNodes=3 so, too.
sb scontrol update job="$job" NumNodes=3-3
ok "and is not had again while it sleeps" still 'has_gpus "$job" 2'
home=$(job_field "$job" BatchHost)
rigid=$(submit_rigid -N2 --exclude="$home" --gpus-per-node=2 -- 1)
ok "two are woken for a job of two, and the job has them afterwards" \
	wait_until "is_state $rigid COMPLETED && has_gpus $job 6" 60
suspends() {
	grep -cx "suspend $node" "$WORK/power.log"
}
node=$(echo n1 n2 n3 | tr ' ' '\n' | grep -vx "$home" | head -n 1)
seen=$(suspends)
ok "powered down by an operator, a node is left first" eval '
	wait_until settled 30 &&
	sb scontrol update nodename="$node" state=power_down_asap reason=test &&
	wait_until "has_gpus $job 4 && [ \$(suspends) -gt $seen ]" 60 &&
	is_state "$job" RUNNING'

# ---- a node that does not come up

wait_until "sb sinfo -h -n $node -o %t | grep -q '~'" 60
touch "$WORK/broken"
rigid=$(submit_rigid -w "$node" --gpus-per-node=1 -- 600)
ok "a node that does not come up is down, and the job goes on" eval '
	wait_until "sb scontrol show node $node | grep State=DOWN" 90 &&
	has_gpus $job 4 && [ "$(job_field "$job" Restarts)" = 0 ]'
sb scancel "$rigid"
rm "$WORK/broken"
ok "resumed by an operator it sleeps" eval '
	sb scontrol update nodename="$node" state=resume
	wait_until "sb sinfo -h -n $node -o %t | grep -q \"idle~\"" 60'
sb scancel "$job"
ok "everything sleeps in the end" eval '
	wait_until "ended $job" 30 && wait_until "asleep 3" 60'
ok "and nothing is leaked" eval '
	! sb scontrol show node -o | grep -E "AllocTRES=[^ ]*gres/gpu[^ =,]*=[1-9]" &&
	slurmctld_lives'
