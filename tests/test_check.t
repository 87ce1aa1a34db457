# SPDX-License-Identifier: MIT
# test_check.t - pollux-check finds each thing that is wrong, and nothing else
#
# A folder has what scontrol, sacct and the log said of a healthy cluster;
# each case changes one word of it.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

command -v python3 >/dev/null || skip_all "no python3"
now=1790000600

job() {
	echo "JobId=$1 JobName=$2 UserId=u(7) Account=a QOS=q JobState=RUNNING SecsPreSuspend=0 NodeList=$3 NumNodes=$4 TRES=cpu=$5,mem=$6M,gres/gpu=$5 $7 MinCPUsNode=1 Licenses=toy:1 Command=x Comment=JobState=PENDING SystemComment=[pollux serial=3 state=$8 nodes=1]"
}

node() {
	echo "NodeName=$1 CPUAlloc=$2 GresUsed=gpu:$2(IDX:0) AllocMem=$3 State=MIXED CfgTRES=cpu=8 AllocTRES=cpu=$2,mem=$3M,gres/gpu=$2 "
}

stamp() {
	date -d "@$1" '+[%Y-%m-%dT%H:%M:%S.000]'
}

healthy() {
	rm -rf "$WORK/in"
	mkdir "$WORK/in"
	cd "$WORK/in" || exit 1
	{
		job 5 a 'n[1-2]' 2 3 30 "Nodes=n1 CPU_IDs=0-1 Mem=20 GRES=gpu:2(IDX:0-1) Nodes=n2 CPU_IDs=0 Mem=10 GRES=gpu:1(IDX:3)" done
		job 6 b n2 1 1 10 "Nodes=n2 CPU_IDs=1 Mem=10 GRES=gpu:1(IDX:0)" asked
	} >jobs
	{
		node n1 2 20
		node n2 2 20
	} >nodes
	echo "LicenseName=toy Total=4 Used=2 Free=2 Remote=no" >licences
	echo "QOS=q(1) GrpTRES=cpu=N(4),mem=N(40),node=9(3),gres/gpu=N(4)" >limits
	sed -i 's/,gres\/gpu=\([31]\) /,node=0,gres\/gpu=\1 /; s/node=0,/node=1,/' jobs
	sed -i '/JobId=5 /s/node=1,/node=2,/' jobs
	echo "AccountingStorageEnforce = limits" >config
	echo "SchedulerParameters = pollux_ack_timeout=30" >>config
	printf '%s\n' "5|RESIZING|gres/gpu=1|1790000000|1790000010" \
		"5|RUNNING|gres/gpu=3|1790000010|Unknown" \
		"6|RUNNING|gres/gpu=1|1790000000|Unknown" \
		"4|COMPLETED|gres/gpu=2|1790000000|1790000500" >sacct
	{
		echo "$(stamp 1790000000) _slurm_rpc_submit_batch_job: JobId=4 x"
		echo "$(stamp $((now - 20))) sched/pollux: JobId=6 asked for 1 GPUs on n2"
		echo "$(stamp 1790000501) sched/pollux: JobId=4 held 2 GPUs on n2 from 1790000000 to 1790000500: 1000 GPU-seconds"
	} >log
}

look() {
	"$POLLUX_SRCDIR/tests/pollux-check" --from="$WORK/in" --log="$WORK/in/log" \
		--now=$now "$@"
}

# finds KIND FILE SED-SCRIPT: that, once the file is changed so.
finds() {
	healthy
	sed -i "$3" "$2" && ! look >"$WORK/found" && cat "$WORK/found" &&
		grep -q "^$1: " "$WORK/found"
}

# Something that moves between two looks is no finding.
moves() {
	healthy
	sed 's/IDX:0-1/IDX:0/; s/gpu:2(/gpu:1(/' jobs >jobs2
	sed -i '/NodeName=n1/s/gpu:2/gpu:1/' nodes
	look
}

# paused STARTED: job 6 is suspended, and its CPU is counted on its node;
# slurmctld started then.
paused() {
	healthy
	{
		echo "$(stamp $((now - 9))) _slurm_rpc_suspend(suspend) for 6 usec=9"
		echo "$(stamp "$1") slurmctld version 22.05.8 started on cluster x"
	} >>log
	sed -i '/JobId=6 /s/RUNNING/SUSPENDED/' jobs
	look >found && grep -q '^slurm-gang: node n2 has 2 CPUs' found
}

# paused_and WORDS: so it was before slurmctld started, and this happened since.
paused_and() {
	paused $((now - 5)) || return 1
	echo "$(stamp $((now - 3))) $1" >>log
	echo "$(stamp $((now - 2))) _slurm_rpc_suspend(suspend) for 6 usec=9" >>log
	look >found && grep -q '^slurm-gang: node n2 has 2 CPUs' found
}

# given_away SED-SCRIPT: of what Slurm says of CPUs of job 6 that it gave away.
given_away() {
	healthy
	{
		echo "$(stamp $((now - 9))) _slurm_rpc_suspend(suspend) for 6 usec=9"
		echo "$(stamp $((now - 5))) error: job overflow: could not find idle resources for JobId=6"
	} | sed "$1" >>log
	sed -i '/NodeName=n2/s/CPUAlloc=2/CPUAlloc=1/' nodes
	look >found && grep -q '^slurm-overflow: ' found
}

# killed AGO [LINE]: slurmctld was killed so long after a row of job 5 began,
# which overlaps another; LINE says that the job changed.
killed() {
	healthy
	{
		echo "$(stamp 1789999000) slurmctld version 22.05.8 started on cluster x"
		echo "$(stamp 1790000010) ${2:-sched/pollux: JobId=5 has 3 GPUs on n[1-2], serial 3}"
		echo "$(stamp $((1790000010 + $1))) debug:  anything"
		echo "$(stamp $((1790000012 + $1))) slurmctld version 22.05.8 started on cluster x"
	} >>log
	sed -i 's/^5|RESIZING\(.*\)10$/5|RESIZING\120/' sacct
	look >found
}

told_apart() {
	killed 3 && grep -q '^slurm-unsaved: job 5' found
}

# changed_later: it changed all right, but after the row had begun.
changed_later() {
	killed 5 "nothing" || true
	sed -i "s/\(\[[^]]*\] \)debug:  anything/&\n\1sched\/pollux: JobId=5 held 1 GPUs on n1 from 1 to 2: 1/" log
	! look >found && grep -q '^sacct: job 5' found
}

saved_before() {
	! killed 9 && grep -q '^sacct: job 5' found
}

# unsaved SED-SCRIPT [RESUMED]: it changed sacct's row of job 4, which had 2 GPUs
# up to 1790000500. slurmctld was killed three seconds later, and ten seconds
# away. The job had been suspended from 1790000490 to RESUMED.
unsaved() {
	healthy
	{
		echo "$(stamp 1789999000) slurmctld version 22.05.8 started on cluster x"
		if [ $# -gt 1 ]; then
			echo "$(stamp 1790000490) _slurm_rpc_suspend(suspend) for 4 usec=9"
			echo "$(stamp "$2") _slurm_rpc_suspend(resume) for 4 usec=9"
		fi
		cat log
		echo "$(stamp 1790000503) debug:  anything"
		echo "$(stamp 1790000513) slurmctld version 22.05.8 started on cluster x"
	} >log.new
	mv log.new log
	sed -i "/^4|/$1" sacct
	look >found
}

# blank_and_unsaved BEGAN: the same, and a row before it, up to 0100, has CPUs
# alone; the last one began then.
blank_and_unsaved() {
	unsaved "s!.*!4|RESIZING|billing=1,cpu=1|1790000000|1790000100\n4|COMPLETED|gres/gpu=2|179000$1|1790000509!"
}

# forgotten KNOWN SEEN: slurmctld was killed at 1790000011, and then knew jobs
# up to KNOWN. Rows of job 5, which was submitted at SEEN, overlap for long.
forgotten() {
	healthy
	{
		echo "$(stamp 1789999000) slurmctld version 22.05.8 started on cluster x"
		echo "$(stamp "$2") _slurm_rpc_submit_batch_job: JobId=5 x"
		cat log
		echo "$(stamp 1790000011) debug:  anything"
		echo "$(stamp 1790000012) slurmctld version 22.05.8 started on cluster x"
		echo "$(stamp 1790000012) Recovered JobId=$1 Assoc=2"
	} >log.new
	mv log.new log
	sed -i 's/^5|RESIZING\(.*\)10$/5|RESIZING\150/; s/^5|RUNNING\(.*\)10|/5|RUNNING\140|/' sacct
	look >found
}

# given_anew KNOWN: the same of job 7, whose number a rigid job got.
given_anew() {
	forgotten "$1" 1790000008 || true
	{
		echo "$(stamp 1789999000) slurmctld version 22.05.8 started on cluster x"
		echo "$(stamp 1790000008) _slurm_rpc_submit_batch_job: JobId=7 x"
		echo "$(stamp 1790000010) sched/pollux: JobId=7 held 1 GPUs on n1 from 1790000008 to 1790000010: 2 GPU-seconds"
		tail -n +2 log
		echo "$(stamp 1790000020) _slurm_rpc_submit_batch_job: JobId=7 x"
	} >log.new
	mv log.new log
	printf '%s\n' "7|COMPLETED|gres/gpu=1|1790000008|1790000010" \
		"7|COMPLETED|gres/gpu=4|1790000030|1790000060" >>sacct
	look >found
	! grep -q "^sacct: job 7" found && grep -q "^slurm-unsaved: job 7" found
}

# torn_early SECONDS: job 4 loses a node so long after it was started on three
# GPUs, and the plugin had not seen it yet.
torn_early() {
	healthy
	{
		echo "$(stamp 1789999996) sched: Allocate JobId=4 NodeList=n[1-2] #CPUs=3"
		echo "$(stamp $((1789999996 + $1))) error: Removing failed node n1 from JobId=4"
		cat log
	} >log.new
	mv log.new log
	echo "4|RESIZING|gres/gpu=3|1789999996|$((1789999996 + $1))" >>sacct
	look >found
}

# suspended_again WHEN: job 4 was suspended at 1790000100 and cancelled 390 s
# later. slurmctld was killed at WHEN; the job was suspended up to 1790000500.
suspended_again() {
	healthy
	{
		echo "$(stamp 1789999000) slurmctld version 22.05.8 started on cluster x"
		echo "$(stamp 1790000100) _slurm_rpc_suspend(suspend) for 4 usec=9"
		echo "$(stamp 1790000490) sched/pollux: JobId=4 held 2 GPUs on n2 from 1790000000 to 1790000100: 200 GPU-seconds"
		echo "$(stamp "$1") debug:  anything"
		echo "$(stamp $(($1 + 1))) slurmctld version 22.05.8 started on cluster x"
		cat log
	} >log.new
	mv log.new log
	sed -i '/^4|/s/0500$/0100/' sacct
	look >found
}

# blank TRES: what sacct's row of job 4 has.
blank() {
	healthy
	sed -i "/^4/s#gres/gpu=2#$1#" sacct
	look >found && grep -q "^slurm-tres: job 4 has 0 GPU-seconds" found
}

# submitted FILE: job 3 was, and is in that file alone.
submitted() {
	healthy
	echo "$(stamp 1790000000) _slurm_rpc_submit_batch_job: JobId=3 x" >>log
	echo "3|COMPLETED||1790000000|1790000002" >>"$1"
	look >found
}

# Job 4 was suspended for its last eight seconds, which sacct does not have.
ended_suspended() {
	healthy
	sed -i "1i $(stamp 1790000492) _slurm_rpc_suspend(suspend) for 4 usec=9" \
		log
	[ $# -eq 1 ] ||
		sed -i "1a $(stamp "$2") _slurm_rpc_suspend(${3:-suspend) for 4 usec=9}" log
	sed -i "s/1790000500/$1/" sacct
	look >found
}

# array_suspended END [TASK [SECONDS]]: a job's array was suspended, by its number,
# and one of its tasks is job 4. The plugin told its end so much later.
array_suspended() {
	healthy
	{
		echo "$(stamp 1790000000) sched: Allocate JobId=${2:-3_1}(4) NodeList=n2 #CPUs=2"
		echo "$(stamp 1790000492) _slurm_rpc_suspend(suspend) for 3 usec=9"
		sed "s/^\[[^]]*\] sched/$(stamp $((1790000501 + ${3:-0}))) sched/" log
	} >log.new
	mv log.new log
	sed -i "s/1790000500/$1/" sacct
	look >found
}

# torn_suspended SUSPENDED: job 4 lost a node at 1790000500, and its next row
# begins at 1790000492.
torn_suspended() {
	healthy
	{
		echo "$(stamp "$1") _slurm_rpc_suspend(suspend) for 4 usec=9"
		echo "$(stamp 1790000500) error: Removing failed node n1 from JobId=4"
		sed 's/to 1790000500: 1000/to 1790000492: 984/' log
	} >log.new
	mv log.new log
	echo "4|FAILED|gres/gpu=1|1790000492|1790000492" >>sacct
	look >found
}

# kept LINE: n1 has a GPU that job 9 had; what happened to it first.
kept() {
	healthy
	{
		echo "$(stamp 1790000001) requeue job JobId=9 due to failure of node n2"
		echo "$(stamp 1790000002) $1"
		echo "$(stamp 1790000003) sched/backfill: _start_job: Started JobId=9 in main on n1"
		echo "$(stamp 1790000004) error: gres/gpu: job 9 dealloc of node n1 bad node_offset 0 count is 0"
	} >>log
	sed -i '/NodeName=n1/s/gpu:2/gpu:3/' nodes
	look >found
}

# held LINE FILE: job 4 was held while it ran, and its row is in that file, not
# in sacct; what happened to it before.
held() {
	healthy
	grep '^4|' sacct >"$2"
	sed -i '/^4|/d' sacct
	echo "4|COMPLETED|gres/gpu=2|1790000600|1790000700" | tee -a "$2" >>sacct
	{
		echo "$(stamp 1790000001) sched/pollux: JobId=4 $1"
		echo "$(stamp 1790000002) sched: _hold_job_rec: hold on JobId=4 by uid 0"
		cat log
		echo "$(stamp 1790000701) sched/pollux: JobId=4 held 2 GPUs on n2 from 1790000600 to 1790000700: 200 GPU-seconds"
	} >log.new
	mv log.new log
	look >found
}

# A row that has no start; how it ended.
unstarted() {
	healthy
	sed -i "s/^4|COMPLETED|\\(.*\\)|1790000000|/4|$1|\\1|Unknown|/" sacct
	echo "4|COMPLETED|gres/gpu=2|1790000600|1790000700" >>sacct
	echo "$(stamp 1790000701) sched/pollux: JobId=4 held 2 GPUs on n2 from 1790000600 to 1790000700: 200 GPU-seconds" >>log
	look >found
}

# The log has a second more, as the job was requeued.
requeued() {
	healthy
	sed -i "1i $(stamp 1790000500) ${2:-Requeuing JobId=4}" log
	sed -i "s/1790000500/$1/" sacct
	look >found
}

# lost_at_once SECONDS: job 8 loses the node of its two GPUs in the second in
# which it got them, and sacct has them for so many seconds more.
lost_at_once() {
	healthy
	printf '%s\n' "8|RESIZING|gres/gpu=1|1790000000|1790000002" \
		"8|REQUEUED|gres/gpu=2|1790000002|$((1790000002 + $1))" >>sacct
	{
		echo "$(stamp 1790000002) sched/pollux: JobId=8 has 2 GPUs on n[1-2], serial 3 (lock held 0.3 ms)"
		echo "$(stamp 1790000002) sched/pollux: JobId=8 held 1 GPUs on n1 from 1790000000 to 1790000002: 2 GPU-seconds"
		echo "$(stamp 1790000002) error: Removing failed node n2 from JobId=8"
		echo "$(stamp 1790000003) sched/pollux: JobId=8 held 0 GPUs on n1 from 1790000002 to 1790000003: 0 GPU-seconds"
	} >>log
	look >found
}

# requeued_late SECONDS [END]: sacct's row of job 4 is so much longer; it was
# requeued eight seconds after it had ended.
requeued_late() {
	healthy
	{
		echo "$(stamp 1790000500) ${2:-_job_complete: JobId=4 done}"
		cat log
		echo "$(stamp 1790000508) Requeuing JobId=4"
	} >log.new
	mv log.new log
	sed -i "s/1790000500/$((1790000500 + $1))/" sacct
	look >found
}

# restarted SECONDS [SECONDS [REQUEUE [START]]]: job 7 with two licences ended so
# long before slurmctld started, and was put back into the queue so long before;
# both that jobs 5 and 6 have are missing. The words of the log's lines may be
# others. Times are in seconds, as pollux-check has Slurm say them.
restarted() {
	healthy
	[ $# -eq 1 ] ||
		echo "$(stamp $((1790000300 - $2))) ${3:-Requeuing JobId=7}" >>log
	sed -n '/JobId=6 /s/JobId=6 /JobId=7 /p' jobs |
		sed "s/RUNNING/COMPLETED/; s/Nodes=.*MinCPUs/MinCPUs/; s/toy:1/toy:2/
			s/ NodeList/ EndTime=$((1790000300 - $1))&/" >job7
	cat job7 >>jobs
	rm job7
	sed -i 's/Used=2/Used=0/' licences
	echo "$(stamp 1790000300) ${4:-slurmctld version 22.05.8 started on cluster c}" >>log
	look >found
}

# Slurm came back with an older state: what it says twice counts once.
said_twice() {
	healthy
	{
		echo "$(stamp 1790000400) sched/pollux: JobId=4 has 5 GPUs on n[1-2], serial 3"
		echo "$(stamp 1790000411) sched/pollux: JobId=4: slurmctld lost its resize at 1790000400; a new row begins at 1790000410 in accounting"
		echo "$(stamp 1790000411) sched/pollux: JobId=4 held 2 GPUs on n2 from 1790000000 to 1790000410: 820 GPU-seconds"
	} >log.new
	sed -i 's/from 1790000000 to 1790000500/from 1790000410 to 1790000500/' log
	cat log >>log.new
	sed -i '1i JobId=4 held 2 GPUs on n2 from 1790000000 to 1790000400:' log.new
	sed -i '1s/^/sched\/pollux: /' log.new
	mv log.new log
	sed -i '/^4|/d' sacct
	printf '%s\n' "4|RESIZING|gres/gpu=2|1790000000|1790000400" \
		"4|RESIZING|gres/gpu=$1|1790000400|1790000410" \
		"4|COMPLETED|gres/gpu=2|1790000410|1790000500" >>sacct
	look >found
}

cases=(
	"two-owners|jobs|s/IDX:3/IDX:0/|a GPU with two owners"
	"leak|nodes|/NodeName=n1/s/gpu:2/gpu:3/|a GPU of a node that no job has"
	"leak|nodes|/NodeName=n2/s/CPUAlloc=2/CPUAlloc=4/|a CPU of a node that no job has"
	"leak|nodes|/NodeName=n2/s/AllocMem=20/AllocMem=50/|memory of a node that no job has"
	"leak|jobs|/JobId=/s/JobState=RUNNING/JobState=COMPLETED/|a busy node without a job"
	"node-record|nodes|/NodeName=n1/s/gpu:2/gpu:1/|a GPU of a job that the node does not know"
	"node-record|nodes|/NodeName=n1/s/MIXED/IDLE/|an idle node with a job"
	"node-record|nodes|/NodeName=n1/s/AllocTRES=cpu=2,mem=20M,gres.gpu=2/AllocTRES=cpu=2/|a node whose AllocTRES is behind"
	"job-record|jobs|/JobId=5/s/gres.gpu=3/gres\\/gpu=2/|a job with fewer GPUs in TRES than on its nodes"
	"job-record|jobs|/JobId=5/s/NodeList=n.1-2. NumNodes=2/NodeList=n1 NumNodes=1/|a job on a node that it does not list"
	"job-record|nodes|/NodeName=n1/d|a job on a node that is gone"
	"licences|licences|s/Used=2/Used=3/|a licence in use that no job has"
	"limits|limits|s/gpu=N(4)/gpu=N(6)/|GPUs charged to a QOS that no job has"
	"overdue|log|s/^.*asked for 1/$(stamp 1789990000) sched\\/pollux: JobId=6 asked for 1/|a job that is asked for hours"
	"lost|log|s/submit_batch_job: JobId=4/submit_batch_job: JobId=3/|a job that nobody knows"
	"sacct|sacct|s/^5|RESIZING\\(.*\\)10\$/5|RESIZING\\120/|rows of a job that overlap"
	"sacct|sacct|s/1790000500/1790000501/|a row one second in 500 too long"
)

plan $((${#cases[@]} + 66))
healthy
ok "a healthy cluster has nothing to find" look
ok "nor has one where a job is resized between two looks" moves
ok "nor one that gave away CPUs of a suspended job" given_away ''
ok "but CPUs are missed if nobody was suspended" fails given_away /suspend/d
ok "nor one that counts CPUs of a job that was suspended when it started" \
	paused $((now - 5))
ok "but not of one that was suspended later" fails paused $((now - 15))
ok "also after it has lost a node" paused_and \
	"sched/pollux: JobId=6 held 2 GPUs on n[2-3] from 1790000000 to 1790000597: 1194 GPU-seconds"
ok "but not if it has been resumed" fails paused_and \
	"_slurm_rpc_suspend(resume) for 6 usec=9"
ok "what slurmctld had not saved is told apart" told_apart
ok "but not what it must have saved" saved_before
ok "nor what began before it changed" changed_later
ok "what a job had then is told apart" eval \
	'unsaved s/500/509/ && grep -q "^slurm-unsaved: job 4" found'
ok "but not what it had before" fails unsaved "s/0000|/0004|/"
ok "nor after" fails unsaved s/500/520/
ok "unless it may be suspended again" eval \
	'unsaved s/500/490/ 1790000499 && grep -q "^slurm-unsaved: job 4" found'
ok "as it is not if that was saved" fails unsaved s/500/490/ 1790000496
ok "a task of an array has a number of its own" killed 3 \
	"sched: Allocate JobId=2_1(5) NodeList=n1 #CPUs=1 Partition=x"
ok "and is not the job of that number" fails killed 3 \
	"sched: Allocate JobId=5_1(2) NodeList=n1 #CPUs=1 Partition=x"
ok "a number that Slurm forgot has rows of two jobs" forgotten 4 1790000008
ok "but not one that it knew again" fails forgotten 5 1790000008
ok "or must have known" fails forgotten 4 1790000002
ok "nor are rows of a rigid job missed that got its number" given_anew 6
ok "unless it was known again" fails given_anew 7
ok "a job that is suspended again since slurmctld was killed is told apart" \
	eval 'suspended_again 1790000491 && grep -qE "^slurm-(susp|unsav).*: job 4" found'
ok "but not if it was saved that it was cancelled" \
	fails suspended_again 1790000498
ok "a shape that was over before the plugin saw it is in no log" torn_early 1
ok "but not if it had the time to" fails torn_early 3
ok "a row that has CPUs but no node is told apart" blank billing=1,cpu=1
ok "but not one that has a node and no GPU" fails blank cpu=1,node=1
ok "one of a job whose end was not saved, too" eval \
	'blank_and_unsaved 0100 && grep -q "^slurm-unsaved: job 4" found'
ok "but what was saved and has a node must be right" \
	fails blank_and_unsaved 0104
ok "a job that was held is asked for by number" submitted named
ok "a job that ended while suspended is told apart" eval \
	'ended_suspended 1790000492 && grep -q "^slurm-suspended: job 4" found'
ok "but not if more is missing than that" fails ended_suspended 1790000480
ok "it is suspended since it was first" eval \
	'ended_suspended 1790000492 1790000499 && grep -q "^slurm-suspended: job 4" found'
ok "also after a resume that was refused" eval \
	'ended_suspended 1790000492 1790000499 "resume) for 4 Job is pending execution" &&
		grep -q "^slurm-suspended: job 4" found'
ok "a task is suspended with its array" eval \
	'array_suspended 1790000492 && grep -q "^slurm-suspended: job 4" found'
ok "but not with another one" fails array_suspended 1790000492 33_1
ok "its row may go on until its end is told" array_suspended 1790000515 3_1 20
ok "but no longer" fails array_suspended 1790000540 3_1 20
ok "a suspended job that lost a node is told apart" eval \
	'torn_suspended 1790000492 && grep -c "^slurm-suspended: job 4" found | grep -qx 2'
ok "but not if it was suspended later" fails torn_suspended 1790000496
ok "GPUs that Slurm does not take back are told apart" eval \
	'kept nothing && grep -q "^slurm-requeue: node n1" found'
ok "but not if the job had been requeued" fails kept "Requeuing JobId=9"
ok "a row that Slurm hides, as its job was held, is told apart" eval \
	'held "starts on n2 in the room" named && grep -q "^slurm-held: job 4" found'
ok "but not one that it does not have at all" fails held \
	"starts on n2 in the room" nowhere
ok "nor one of a resized job" fails held "has 2 GPUs on n2, serial 3" named
ok "licences that Slurm takes back once too often are told apart" eval \
	'restarted 5 && grep -q "^slurm-licences: 0 of toy" found'
ok "but not of a job that had completed long before" fails restarted 500
ok "unless it was put back into the queue and has ended since" restarted -20 5
ok "... or is about to be, when Slurm is configured anew" restarted -20 5 \
	"_job_complete: requeue JobId=7 per user/system request" \
	"Processing Reconfiguration Request"
ok "a row without a start is told apart" eval \
	'unstarted REQUEUED && grep -q "^slurm-unstarted: job 4" found'
ok "but not that of a shape" fails unstarted RESIZING
ok "a requeued job may have ended a second before" requeued 1790000499
ok "and one that lost a node right before a resize" eval \
	'requeued 1790000499 "error: Removing failed node n1 from JobId=4"'
ok "but no two" fails requeued 1790000498
ok "a node that is lost at once counts until the second is over" lost_at_once 1
ok "and not longer" fails lost_at_once 3
ok "a job that was requeued after its end is told apart" eval \
	'requeued_late 8 && grep -q "^slurm-late: job 4" found'
ok "but not if it is later still" fails requeued_late 10
ok "also one whose node had failed" requeued_late 8 \
	"requeue job JobId=4 due to failure of node n2"
ok "but not if another's had" fails requeued_late 8 \
	"requeue job JobId=5 due to failure of node n2"
ok "nor if its row is too short" fails requeued_late -8
ok "a time that is told twice counts once, as it was first" said_twice 5
ok "and then it has to be right" fails said_twice 2
for case in "${cases[@]}"; do
	kind=${case%%|*} rest=${case#*|}
	file=${rest%%|*} rest=${rest#*|}
	ok "${rest##*|} is found" finds "$kind" "$file" "${rest%|*}"
done
healthy
sed -i 's/IDX:3/IDX:0/' jobs
ok "--json says the same" eval \
	'! look --json >json; jq -e ".violations == 1 and .found[0].kind == \"two-owners\"" json'
