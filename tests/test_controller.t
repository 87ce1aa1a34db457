# SPDX-License-Identifier: MIT
# test_controller.t - what may happen to slurmctld but being killed
#
# Its clock leaps, its list of nodes changes, its backup takes over. shim.c gives
# it a clock, and two of them names of their own.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

[ -e "$shim" ] || skip_all "shim.so was not built"

# A client that meets a backup before it has taken over sleeps half of this.
sandbox_up "$untyped" --nodes 3 --gpus-per-node 2 --conf-extra SlurmctldTimeout=60 \
	--params pollux_min_gap=0.2,pollux_interval=2
plan 26

checked() {
	sb "$POLLUX_SRCDIR/tests/pollux-check" --no-sacct --log \
		"$SB/log/slurmctld.log"
}

# leap SECONDS: slurmctld's clock is so far ahead from now on.
clock=$WORK/clock
printf '%-15d\n' 0 >"$clock"
leap() {
	printf '%-15d\n' "$1" 1<>"$clock"
}

start_with_shim() {
	LD_PRELOAD=$shim POLLUX_SHIM_CLOCK=$clock restart_slurmctld
}

# It says so, by what it has just logged.
leapt() {
	local told
	told=$(tail -n 1 "$SB/log/slurmctld.log" | grep -oE '^\[[^].]*')
	told=$(($(date -d "${told#[}" +%s) - $(date +%s) - $1))
	[ $((told * told)) -lt 360000 ]
}

leaps() {
	leap "$1"
	wait_until "sb scontrol update job=$job comment=x; leapt $1" 20
}

give_way() {
	way=$(submit_rigid -N3 --gpus-per-node=1 -- 600)
	wait_until "has_gpus $job 3 && is_state $way RUNNING" 60
}

take_back() {
	sb scancel "$way"
	wait_until "has_gpus $job 6" 60
}

# Asked before the leap, it answers after it, and in time.
answers_across() {
	local before
	before=$(times_logged "JobId=$job asked for")
	way=$(submit_rigid -N3 --gpus-per-node=1 -- 600)
	wait_until "logged_more 'JobId=$job asked for' $before" 60 &&
		leaps "$1" &&
		wait_until "has_gpus $job 3 && is_state $way RUNNING" 60 &&
		! logged "JobId=$job did not answer"
}

# Nodes' totals are left out: Slurm takes them for new until the time at which
# it last counted has come again. "mixed-": backfill had plans for what is idle.
unharmed() {
	is_state "$job" RUNNING && [ "$(job_field "$job" Restarts)" = 0 ] &&
		! sb sinfo -h -N -o %T | grep -vE '^(idle|mixed|allocated)-?$' &&
		sb scontrol -d show job >"$WORK/jobs.txt" &&
		[ -z "$(two_owners "$WORK/jobs.txt")" ] && slurmctld_lives
}

ok "slurmctld's clock can be set" start_with_shim
job=$(submit_light leaps pollux,max=6 -- --ack=2)
ok "a job has the cluster" wait_until "has_gpus $job 6" 60
ok "it is asked, and the clock leaps ahead an hour" answers_across 3600
ok "it grows in that time" take_back
ok "it shrinks in that time" give_way
ok "the clock is set back an hour, and it grows" eval 'leaps 0 && take_back'
ok "it shrinks, and the clock is an hour late" eval 'give_way && leaps -3600'
ok "it grows in that time" take_back
ok "the clock is right again" leaps 0
ok "nothing was killed, started again or lost" unharmed

# A node goes from slurm.conf and comes back: others have other places then.
nodes_are() {
	local ports first last
	[ -e "$SB/etc/slurm.conf.all" ] ||
		cp "$SB/etc/slurm.conf" "$SB/etc/slurm.conf.all"
	IFS=- read -r first last < <(sed -n \
		's/.*Port=\[\([0-9]*-[0-9]*\)\].*/\1/p' "$SB/etc/slurm.conf.all")
	echo "ports $first to $last"
	ports=$(for node in $1; do echo $((first + ${node#n} - 1)); done)
	sed "s/^NodeName=n\[1-3\]/NodeName=${1// /,}/
		s/Port=\[[0-9-]*\]/Port=[$(echo $ports | tr ' ' ,)]/" \
		"$SB/etc/slurm.conf.all" >"$SB/etc/slurm.conf"
	restart_slurmctld
}

# The first node that is not the job's batch host.
leave_node() {
	gone=n1 rest="n2 n3"
	[ "$(job_field "$job" BatchHost)" != n1 ] || gone=n2 rest="n1 n3"
	sb scontrol update "nodename=$gone" state=drain reason="leave it" &&
		wait_until "has_gpus $job 4 && ! is_on $gone" 60
}

is_on() {
	sb scontrol show hostnames "$(job_field "$job" NodeList)" |
		grep -qx "$1"
}

ok "a job leaves a node" leave_node
ok "which goes from slurm.conf, and the job runs on" eval \
	'nodes_are "$rest" && wait_until "is_state $job RUNNING" 30 &&
	! sb scontrol show node $gone && ! is_on $gone && has_gpus $job 4'
ok "it is resized there" eval '
	way=$(submit_rigid -N2 --gpus-per-node=1 -- 600) &&
	wait_until "has_gpus $job 2 && is_state $way RUNNING" 60 &&
	sb scancel $way && wait_until "has_gpus $job 4" 60'
ok "the node comes back, and the job has it" eval \
	'nodes_are "n1 n2 n3" && wait_until "has_gpus $job 6" 120'
ok "nothing is leaked" eval 'checked && slurmctld_lives'

# Slurm itself ends then, with every scheduler; 25.11 goes on without the node.
reconfigured() {
	local pid first
	pid=$(slurmctld_pid)
	first=$(sed -n 's/.*Port=\[\([0-9]*\)-.*/\1/p' \
		"$SB/etc/slurm.conf.all")
	sed "s/^NodeName=n\[1-3\]/NodeName=n[1-2]/
		s/Port=\[[0-9-]*\]/Port=[$first-$((first + 1))]/" \
		"$SB/etc/slurm.conf.all" >"$SB/etc/slurm.conf"
	wait_until is_saved 30 && sb scontrol reconfigure
	# Whoever asks one that has just ended does so for a minute.
	wait_until "! kill -0 $pid || sb timeout 5 scontrol show node n3 2>&1 |
		grep 'Node n3 not found'" 30
}

# Slurm would end a job that is there.
leave_last() {
	sb scontrol update nodename=n3 state=drain reason="leave it" &&
		wait_until "! is_on n3" 60
}

ok "a job leaves a node that is to go" leave_last
ok "slurmctld learns it by reconfigure, or ends of that" reconfigured
ok "started again, the job runs on" eval \
	'restart_slurmctld && wait_until "is_state $job RUNNING" 30 && ! is_on n3'
ok "the node comes back, and the job has it" eval \
	'nodes_are "n1 n2 n3" && wait_until "has_gpus $job 6" 120'

takes_over() {
	wait_until is_saved 30 && kill_slurmctld && sb scontrol takeover 1
	wait_until "grep -q 'Running as primary' $WORK/backup.out" 60 &&
		wait_until "is_state $job RUNNING" 60
}

gives_back() {
	wait_until is_saved 30 && primary_again &&
		wait_until "is_state $job RUNNING" 60
}

resized_again() {
	way=$(submit_rigid -N3 --gpus-per-node=1 -- 600) &&
		wait_until "has_gpus $job 3 && is_state $way RUNNING" 60 &&
		take_back
}

# A backup of 22.05 lets what it has said of a job stand: no main cycle of its
# scheduler comes by.
waited_for_a_node() {
	leave_node && way=$(submit_rigid -N3 --gpus-per-node=1 -- 600) &&
		wait_until "sb squeue -h -j $way -o %r | grep ReqNodeNotAvail" 30 &&
		sb scontrol update "nodename=$gone" state=resume &&
		wait_until "has_gpus $job 3 && is_state $way RUNNING" 60 &&
		take_back
}

# Libslurm reads slurm.conf once: a job from before knows of one slurmctld.
knows_of_both() {
	sb scancel "$job" && wait_until "! is_state $job COMPLETING" 30 &&
		job=$(submit_light knows pollux,max=6 -- --ack=2) &&
		wait_until "has_gpus $job 6 && is_saved" 60
}

all_answered() {
	! grep "did not answer" "$WORK/backup.out"
}

ok "there is a second slurmctld" two_controllers
ok "a job of that time has the cluster" knows_of_both
ok "the first is killed, the second takes over" takes_over
ok "the job is resized there" resized_again
ok "a job that waited for a node gets room when that is back" waited_for_a_node
ok "who asked the backup too early had time to answer" all_answered
ok "the first is back, and the job is resized there" eval \
	'gives_back && resized_again && checked'
