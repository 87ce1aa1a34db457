# SPDX-License-Identifier: MIT
# test_rules_nodes.t - elastic jobs get GPUs where Slurm would let them start
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

sandbox_up --nodes 6 --gpus-per-node 4 --params pollux_interval=1 \
	--conf-extra SuspendProgram=/bin/true --conf-extra SuspendTime=86400 \
	--conf-extra ResumeProgram=/bin/true --conf-extra SuspendTimeout=2
plan 36

# on JOB NODES GPUS: it has just these nodes, and so many GPUs in all.
on() {
	[ "$(sb squeue -h -j "$1" -o %N)" = "$2" ] && has_gpus "$1" "$3"
}

# grows NAME NODES GPUS OPTION...: how far such a job gets; it stays in $job.
grows() {
	local name=$1 nodes=$2 gpus=$3
	shift 3
	job=$(submit_light "$name" pollux "$@" --) &&
		wait_until "on $job '$nodes' $gpus" 20
}

# Nodes may be reserved or drained.
is_empty() {
	[ -z "$(sb squeue -h)" ] &&
		! sb scontrol show node -o |
			grep -E 'AllocTRES=[^ ]*gres/gpu[^ =,]*=[1-9]'
}

# Then all jobs are to go, so that the next one has the cluster for itself.
gone() {
	sb scancel --user="$(id -un)"
	wait_until is_empty 20
}

# alone COMMAND...: on the empty cluster.
alone() {
	"$@"
	local rc=$?
	gone && return $rc
}

# still COMMAND: true now, and after decisions that could have changed it.
still() {
	eval "$1" && sleep 3 && eval "$1"
}

node() {
	sb scontrol update node="$1" "${@:2}"
}

reserve() {
	sb scontrol create reservation reservationname="$@" >"$WORK/reserve.out"
}

unreserve() {
	sb scontrol delete reservation="$1"
}

node n[1-6] availablefeatures=fast,big,slow
node n[1-2] activefeatures=fast,big
node n3 activefeatures=fast
node n[4-6] activefeatures=slow
ok "--constraint=fast: it grows over those nodes alone" \
	alone grows fast 'n[1-3]' 12 -C fast
ok "--constraint=fast&big: over those that have both" \
	alone grows both 'n[1-2]' 8 -C 'fast&big'
ok "--constraint=big|slow: over those that have either" \
	alone grows either 'n[1-2,4-6]' 20 -C 'big|slow'
ok "--constraint=[fast|slow]: over nodes of one kind" \
	alone grows kind 'n[4-6]' 12 -C '[fast|slow]' -w n5
ok "it gets a node that has the feature now, and keeps one that had" alone eval '
	grows moves "n[1-2]" 8 -C "fast&big" &&
	node n3 activefeatures=fast,big && wait_until "on $job n[1-3] 12" 10 &&
	node n3 activefeatures=fast && still "on $job n[1-3] 12"'
counted=$(submit_light counted pollux -N2 -C '[fast*1&slow*1]' --)
ok "a job that asks for numbers of nodes with a feature keeps its shape" \
	wait_until "logged 'JobId=$counted keeps its .* GPUs for good: .*number of nodes'" 20
gone

ok "--exclude: it grows around the node" \
	alone grows around 'n[1-3,5-6]' 20 -x n4
# In one look the rules are asked once for jobs that are alike: these are not.
plain=$(submit_light plain pollux,max=4 -w n1 --)
wait_until "on $plain n1 4" 20
ok "also beside a job that may have it" \
	alone grows beside 'n[2-3,5-6]' 16 -x n4

# Without the rule it would be on two nodes as well, but on others.
listed=$(submit_light listed pollux -N2 -w "n[2,5]" --)
ok "--nodelist: it grows on those nodes" wait_until "on $listed 'n[2,5]' 8" 20
rigid=$(submit_rigid -w n5 --gpus-per-node=3 --priority=4294910000 -- 600)
ok "it stays on both when it has to give GPUs on one" eval '
	wait_until "is_state $rigid RUNNING" 20 && wait_until "on $listed n[2,5] 5" 20'
sb scancel "$rigid"
wait_until "on $listed 'n[2,5]' 8" 20
rigid=$(submit_rigid -w n5 --gpus-per-node=4 --priority=4294910000 -- 600)
ok "and is parked when it can have none there" eval '
	wait_until "is_state $rigid RUNNING" 20 && has_gpus $listed 0 &&
		still "has_gpus $listed 0"'
sb scancel "$rigid"
# settled JOB: it has been resized, and no Prolog runs any more.
settled() {
	! sb scontrol show job "$1" |
		grep -qE 'SystemComment=.* state=(asked|lent|moving)'
}
ok "until it can have both again" \
	wait_until "on $listed 'n[2,5]' 8 && settled $listed" 20
node n5 state=drain reason=test
ok "when one is drained it goes on upon the other, and gains none" eval '
	wait_until "on $listed n2 4" 20 && still "on $listed n2 4"'
node n5 state=resume
ok "and has both when that is over" wait_until "on $listed 'n[2,5]' 8" 20
gone

# has_nodes JOB COUNT
has_nodes() {
	[ "$(sb squeue -h -j "$1" -o %D)" = "$2" ]
}

sb scontrol create partition=few nodes=n[1-6] maxnodes=2 >"$WORK/few.out"
ok "MaxNodes: on as many as a new job may have" eval '
	few=$(submit_light few pollux -p few --) &&
	wait_until "has_gpus $few 8 && has_nodes $few 2" 20 &&
	more=$(submit_rigid -p few -N3 -- 600) &&
	wait_until "sb squeue -h -j $more -o %r | grep PartitionNodeLimit" 20 &&
	sb scancel $more && still "has_gpus $few 8" &&
	sb scontrol update partition=few maxnodes=3 &&
	wait_until "has_gpus $few 12 && has_nodes $few 3" 20'
gone
sb scontrol update partition=few maxnodes=unlimited
ok "MinNodes, raised while it runs: on no fewer" eval '
	few=$(submit_light fewer pollux,max=2 -p few --) &&
	wait_until "has_gpus $few 2 && has_nodes $few 1" 20 &&
	sb scontrol update partition=few minnodes=2 &&
	wait_until "has_gpus $few 2 && has_nodes $few 2" 20'
gone

ok "it leaves a node that is drained, and comes back to it" eval '
	grows drained "n[1-6]" 24 &&
	node n3 state=drain reason=test && wait_until "on $job n[1-2,4-6] 20" 10 &&
	node n3 state=resume && wait_until "on $job n[1-6] 24" 10'
ok "it goes on without a node that is down, and comes back to it" eval '
	node n4 state=down reason=test && wait_until "on $job n[1-3,5-6] 20" 15 &&
	node n4 state=resume && wait_until "on $job n[1-6] 24" 15'
gone

# A job that may start in several begins where it has the highest priority.
sb scontrol create partition=left nodes=n[1-3] priorityjobfactor=20 \
	>"$WORK/left.out"
ok "a job grows within its partition, which is a part of another one" \
	alone grows left 'n[1-3]' 12 -p left
ok "a job that may start in two partitions grows in the one it is in" \
	alone grows two 'n[1-3]' 12 -p left,main -w n1
ok "it does not grow in a partition that is down, and does when it is up" alone eval '
	node n2 state=drain reason=test
	grows down "n[1,3]" 8 -p left &&
	sb scontrol update partition=left state=down && node n2 state=resume &&
	still "on $job n[1,3] 8" &&
	sb scontrol update partition=left state=up &&
	wait_until "on $job n[1-3] 12" 10'

reserve later nodes=n6 starttime=now+30minutes duration=60 users=root
ok "a job that ends before a reservation begins uses its nodes" \
	alone grows short 'n[1-6]' 24 -t 10
ok "one that does not end before leaves them alone" \
	alone grows long 'n[1-5]' 20 -t 60
unreserve later
ok "a job in a reservation grows over its nodes alone" eval '
	reserve mine nodes=n[4-5] starttime=now duration=60 users=root &&
	grows within "n[4-5]" 8 --reservation=mine'
ok "and others over the rest" alone grows outside 'n[1-3,6]' 16
unreserve mine
ok "in a flexible one it grows over all nodes" eval '
	reserve flex nodes=n2 starttime=now duration=60 users=root flags=flex &&
	alone grows flexible "n[1-6]" 24 --reservation=flex'
unreserve flex
# waits_for_cpus JOB: it is told that it does.
waits_for_cpus() {
	wait_until "sb squeue -h -j $1 -o %r | grep -E 'Resources|Avail|eserv'" 20
}

reserve cores nodes=n1 corecnt=5 starttime=now duration=60 users=daemon
ok "beside the reserved cores of a node it has as many GPUs as CPUs are left" \
	alone eval '
	grows beside n1 3 -w n1 -x "n[2-6]" && still "on $job n1 3" &&
	! logged "JobId=$job keeps its"'
ok "as a new job may, and no more" alone eval '
	more=$(submit_rigid -w n1 -N1 -n4 --gpus-per-node=4 -- 600) &&
	waits_for_cpus $more && sb scancel $more &&
	less=$(submit_rigid -w n1 -N1 -n3 --gpus-per-node=3 -- 600) &&
	wait_until "is_state $less RUNNING" 20'
unreserve cores
ok "a job inside such a reservation has as many as there are CPUs in it" eval '
	reserve cores nodes=n1 corecnt=2 starttime=now duration=60 users=root &&
	alone eval "grows inside n1 2 --reservation=cores &&
		still \"on \$job n1 2\" && ! logged \"JobId=\$job keeps its\""'
unreserve cores
ok "it leaves nodes when their maintenance begins" eval '
	grows serviced "n[1-6]" 24 &&
	reserve service nodes=n5 starttime=now duration=60 users=root \
		flags=maint,ignore_jobs && wait_until "on $job n[1-4,6] 20" 10'
unreserve service
ok "and comes back when it is over" wait_until "on $job 'n[1-6]' 24" 10
gone

sb scontrol create partition=own nodes=n[1-2] exclusiveuser=yes \
	>"$WORK/own.out"
if [ "$(id -u)" = 0 ]; then
	other=$(sb sbatch --parsable --uid=daemon --chdir=/ -p own -w n1 \
		-o /dev/null --wrap "sleep 600")
	wait_until "is_state $other RUNNING" 20
	ok "it keeps off a node where another user is alone" eval '
		grows shy n2 4 -p own && still "on $job n2 4"'
	sb scancel "$other"
	ok "and takes it when that user is gone" \
		wait_until "on $job 'n[1-2]' 8" 20
	ok "its own node is closed to others then" eval '
		other=$(sb sbatch --parsable --uid=daemon --chdir=/ -w n2 \
			-o /dev/null --wrap "sleep 600")
		still "is_state $other PENDING"; rc=$?
		sb scancel "$other"; [ $rc = 0 ] && gone'
else
	for sentence in "off another user's node" "when gone" "closed"; do
		skip "$sentence" "takes root to be two users"
	done
fi
ok "afterwards all nodes are idle" wait_until cluster_is_idle 20

# Nobody wakes n6, which ends the test: its slurmd was there all the time.
node n6 state=power_down reason=test
wait_until "sb sinfo -h -n n6 -o %t | grep -q '~'" 20
ok "it keeps off a node that is powered down, and one that is woken" eval '
	grows warm "n[1-5]" 20 && still "on $job n[1-5] 20" &&
	node n6 state=power_up && still "on $job n[1-5] 20"'
gone
