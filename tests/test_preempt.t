# SPDX-License-Identifier: MIT
# test_preempt.t - elastic jobs give up GPUs instead of being preempted
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/shapes.sh" || exit 1

sandbox_up --nodes 2 --gpus-per-node 4 $untyped \
	--conf-extra PreemptType=preempt/pollux_qos \
	--conf-extra PreemptMode=REQUEUE \
	--conf-extra "PartitionName=low Nodes=ALL PriorityTier=1 MaxTime=600" \
	--conf-extra "PartitionName=high Nodes=ALL PriorityTier=9 MaxTime=600 PreemptMode=OFF" \
	--conf-extra "PartitionName=whole Nodes=ALL OverSubscribe=EXCLUSIVE MaxTime=600" \
	--params bf_interval=2,sched_interval=2,pollux_min_gap=0.2,pollux_preempt_wait=20
plan 54

acct() {
	sb sacctmgr -i "$@" >>"$WORK/sacctmgr.txt" 2>&1
}
# By requeue and cancel, with a grace time, exempt for a while.
for qos in victim cancel grace exempt urgent; do
	acct add qos "$qos"
done
acct modify qos cancel set PreemptMode=cancel
acct modify qos grace set GraceTime=12
acct modify qos exempt set PreemptExemptTime=00:00:25
acct modify qos urgent set Preempt=victim,cancel,grace,exempt
acct modify user root set qos=normal,victim,cancel,grace,exempt,urgent

# victim_of QOS NAME [SBATCH-OPTION...] -- [LIGHT-OPTION...]: on all GPUs, and
# of higher priority than whoever preempts it.
victim_of() {
	local qos=$1 name=$2
	shift 2
	submit_light "$name" "${params:-pollux,max=8}" -q "$qos" \
		--priority=9000 "$@" --profiled=8 --restart=0.1
}

# urgent OPTION...: a rigid job of the QOS that preempts, of low priority.
urgent() {
	submit_rigid -q "${by:-urgent}" --priority=100 "$@" -- 1000
}

runs_on() {
	is_state "$1" RUNNING && [ "$(job_field "$1" Restarts)" = 0 ]
}

# It was not preempted, and has so many GPUs.
kept_with() {
	runs_on "$1" && has_gpus "$1" "$2"
}

preempted() {
	logged "preempted JobId=$1 "
}

seconds_between() {
	echo $(($(date -d "$(job_field "$2" StartTime)" +%s) - \
		$(date -d "$(job_field "$1" ${3:-StartTime})" +%s)))
}

# logged_s REGEX: when slurmctld wrote that first, in seconds.
logged_s() {
	date +%s -d "$(grep -m1 -E "$1" "$SB/log/slurmctld.log" |
		sed -E 's/^\[([^].]*).*/\1/')"
}

# preempted_after VICTIM PREEMPTOR LEAST MOST: seconds since it was submitted.
preempted_after() {
	local took
	took=$(($(logged_s "preempted JobId=$1 ") - \
		$(logged_s "submit_batch_job: JobId=$2 ")))
	echo "after $took s"
	[ "$took" -ge "$3" ] && [ "$took" -le "$4" ]
}

all_down() {
	sb scancel -u "$(id -un)"
	wait_until cluster_is_idle 30
}

samples_once() {
	bash "$POLLUX_SRCDIR/tests/samples.sh" "$WORK/samples" 2000 \
		"$(grep -c '^epoch ' "$WORK/trained.out")" so-far
}

epochs_more() {
	[ "$(grep -c '^epoch ' "$WORK/trained.out")" -gt "$1" ]
}

restart_with() {
	sed -i "$1" "$SB/etc/slurm.conf" &&
		pollux-sandbox restart --dir "$SB" slurmctld
}

watch_start

# --- by QOS, a real training
mkdir "$WORK/samples"
job=$(POLLUX_SAMPLE_LOG=$WORK/samples sb sbatch --parsable -J trained \
	-q victim --priority=9000 --scheduler-params=pollux,max=8 \
	-o "$WORK/trained.out" --wrap \
	"srun pollux-launch -v --checkpoint-dir $WORK/trained.ckpt pollux-train \
	--samples=2000 --batch=256 --max-batch=256 --epochs=100000 \
	--emulate-gpu=compute --time-scale=0.1")
ok "an elastic job of a QOS that may be preempted trains on all GPUs" \
	wait_until "has_gpus $job 8" 90
pre=$(urgent -N1 --gpus-per-node=3)
ok "a job of a QOS that preempts it starts, though its priority is lower" \
	wait_until "is_state $pre RUNNING" 30
ok "the elastic one runs on with what is left, and was not restarted" eval '
	runs_on "$job" && has_gpus_or_more "$job" 1 && ! preempted "$job"'
all=$(urgent -N1 --gpus-per-node=4)
ok "so does a second one, for a whole node" \
	wait_until "is_state $all RUNNING" 60
ok "the job still runs, on one GPU" wait_until "kept_with $job 1" 20
sb scancel "$pre" "$all"
ok "it has all GPUs again when they have ended" \
	wait_until "kept_with $job 8" 90
both=$(urgent -N2 --gpus-per-node=4)
ok "for one that needs all GPUs it is parked" \
	wait_until "is_state $both RUNNING && kept_with $job 0" 60
sb scancel "$both"
ok "and is back with all GPUs afterwards" wait_until "kept_with $job 8" 90
epochs=$(grep -c '^epoch ' "$WORK/trained.out")
ok "it goes on training" wait_until "epochs_more $epochs" 60
ok "every sample of every epoch was used exactly once" samples_once
ok "it was never preempted" fails preempted "$job"
all_down

# --- CANCEL
job=$(victim_of cancel cancelled -- --ack=0.2)
ok "PreemptMode=cancel: an elastic job fills the cluster" \
	wait_until "has_gpus $job 8" 60
pre=$(urgent -N2 --gpus-per-node=4)
ok "it is parked, where Slurm would have cancelled it" \
	wait_until "is_state $pre RUNNING && kept_with $job 0" 60
sb scancel "$pre"
ok "and goes on with all GPUs" wait_until "kept_with $job 8" 60
all_down

# --- who has its GPUs next
job=$(victim_of victim parked -- --ack=0.2)
wait_until "has_gpus $job 8" 60
pre=$(urgent -N2 --gpus-per-node=4)
wait_until "is_state $pre RUNNING && kept_with $job 0" 60
next=$(urgent -N2 --gpus-per-node=4)
sb scancel "$pre"
ok "a parked job of higher priority waits for the next one that preempts it" \
	wait_until "is_state $next RUNNING" 60
ok "parked it stays" kept_with "$job" 0
sb scancel "$next"
ok "and then has its GPUs again" wait_until "kept_with $job 8" 60
all_down

# --- an elastic job preempts
job=$(victim_of victim lower -- --ack=0.2)
wait_until "has_gpus $job 8" 60
pre=$(submit_light upper pollux,min=4,max=4 -q urgent --priority=100 -- \
	--profiled=8 --ack=0.2)
ok "an elastic job that preempts starts, and the other one shrinks" \
	wait_until "is_state $pre RUNNING && kept_with $job 4" 60
more=$(urgent -N1 --gpus-per-node=4)
ok "for a rigid one as well the other one is parked" \
	wait_until "is_state $more RUNNING && kept_with $job 0" 60
ok "and not the one that preempted it" kept_with "$pre" 4
all_down

# --- rigid victims
rigid=$(submit_rigid -q victim --priority=9000 -N2 --gpus-per-node=4 -- 1000)
wait_until "is_state $rigid RUNNING" 30
pre=$(urgent -N1 --gpus-per-node=1)
ok "without an elastic job rigid ones are preempted as ever" \
	wait_until "is_state $pre RUNNING && preempted $rigid" 60
all_down

rigid=$(submit_rigid -q victim --priority=9000 -N1 --gpus-per-node=2 -- 1000)
wait_until "is_state $rigid RUNNING" 30
job=$(victim_of victim beside -- --ack=0.2)
ok "a rigid and an elastic job fill the cluster" \
	wait_until "has_gpus $job 6" 60
pre=$(urgent -N1 --gpus-per-node=2)
ok "the elastic one shrinks, and the rigid one is left alone" \
	wait_until "is_state $pre RUNNING && runs_on $rigid && runs_on $job" 60
all_down
rigid=$(submit_rigid -q victim --priority=9000 -w n1 --gpus-per-node=4 -- 1000)
wait_until "is_state $rigid RUNNING" 30
job=$(victim_of victim other -- --ack=0.2)
wait_until "has_gpus $job 4" 60
pre=$(urgent -w n1 --gpus-per-node=4)
ok "where the elastic job is of no help the rigid one is preempted" \
	wait_until "preempted $rigid && is_state $pre RUNNING" 60
ok "and the elastic one is left alone" runs_on "$job"
all_down

# --- who does not answer
job=$(victim_of victim mute -- --ack=never)
wait_until "has_gpus $job 8" 60
pre=$(urgent -N2 --gpus-per-node=4)
ok "who does not answer is preempted by Slurm" \
	wait_until "preempted $job" 60
ok "after pollux_preempt_wait, here 20 s" preempted_after "$job" "$pre" 19 50
ok "and the other job starts" wait_until "is_state $pre RUNNING" 60
all_down

job=$(victim_of grace slow -- --ack=1)
wait_until "has_gpus $job 8" 60
pre=$(urgent -N2 --gpus-per-node=4)
ok "GraceTime: who gives its GPUs in that time is parked" \
	wait_until "is_state $pre RUNNING && kept_with $job 0" 60
all_down

job=$(victim_of grace mutegrace -- --ack=never)
wait_until "has_gpus $job 8" 60
pre=$(urgent -N2 --gpus-per-node=4)
ok "who does not is preempted after it, here 12 s, and gets no second one" eval '
	wait_until "preempted $job" 60 && preempted_after "$job" "$pre" 11 22'
ok "and the other job starts" wait_until "is_state $pre RUNNING" 60
all_down

# --- who cannot
job=$(victim_of victim fixed --contiguous -- --ack=0.2)
wait_until "logged 'JobId=$job keeps its .* GPUs for good'" 30
pre=$(urgent -N2 --gpus-per-node=4)
ok "a job that keeps its shape is preempted at once" eval '
	wait_until "preempted $job" 60 && preempted_after "$job" "$pre" 0 15'
all_down

# --- exempt
job=$(params=pollux,min=8,max=8 victim_of exempt exempt -- --ack=0.2)
wait_until "is_state $job RUNNING && has_gpus $job 8" 60
pre=$(urgent -N1 --gpus-per-node=2)
ok "PreemptExemptTime: a job that cannot shrink is parked when it is over" \
	wait_until "is_state $pre RUNNING && kept_with $job 0" 60
ok "and not before" eval '[ "$(seconds_between "$job" "$pre")" -ge 25 ]'
all_down

# --- who has whole nodes
job=$(victim_of victim wholes -p whole -- --ack=0.2)
ok "OverSubscribe=EXCLUSIVE: an elastic job has all nodes, each as a whole" \
	wait_until "has_gpus $job 8" 60
pre=$(urgent -N1 --gpus-per-node=1)
ok "for one GPU it gives up one of its nodes, and is not preempted" \
	wait_until "is_state $pre RUNNING && kept_with $job 4" 60
# While the first one runs the second one needs the other node, all of it.
sb scancel "$pre"
wait_until "ended $pre" 30
next=$(urgent -p whole -N1 --gpus-per-node=1)
ok "nor for one that has a whole node itself" \
	wait_until "is_state $next RUNNING && kept_with $job 4" 60
sb scancel "$next"
ok "it has both nodes again when they have ended" \
	wait_until "kept_with $job 8" 60
pre=$(urgent -N2 --gpus-per-node=1)
ok "for one that needs GPUs on all nodes it waits in the queue" \
	wait_until "is_state $pre RUNNING && is_state $job PENDING" 60
ok "put there by a resize: it saved, and Slurm preempted nobody" \
	fails preempted "$job"
sb scancel "$pre"
ok "and comes back" wait_until "has_gpus $job 8" 150
all_down

# --- behind more jobs than are looked at
restart_with 's/^SchedulerParameters=.*/&,bf_max_job_test=4/'
job=$(victim_of victim many -- --ack=0.2)
wait_until "has_gpus $job 8" 60
for i in 1 2 3 4 5 6; do
	submit_rigid -q victim --priority=8000 -N2 --gpus-per-node=4 -- 1000 \
		>>"$WORK/many.ids"
done
pre=$(urgent -N1 --gpus-per-node=1)
ok "one that preempts is seen behind more jobs of higher priority than are looked at" \
	wait_until "is_state $pre RUNNING && kept_with $job 7" 60
ok "and nobody was preempted for it" fails preempted "$job"
restart_with 's/,bf_max_job_test=4//'
all_down

# --- by partition
restart_with 's,^PreemptType=preempt/pollux_qos,PreemptType=preempt/pollux_partition_prio,'
job=$(submit_light part pollux,max=8 -p low -- --profiled=8 --ack=0.2)
ok "by partition: an elastic job fills the cluster" \
	wait_until "has_gpus $job 8" 60
pre=$(submit_rigid -p high -N2 --gpus-per-node=4 -- 1000)
ok "a job of a higher PriorityTier starts, and parks it" \
	wait_until "is_state $pre RUNNING && kept_with $job 0" 60
sb scancel "$pre"
ok "it goes on with all GPUs" wait_until "kept_with $job 8" 60
all_down
job=$(submit_light mutepart pollux,max=8 -p low -- --profiled=8 --ack=never)
wait_until "has_gpus $job 8" 60
pre=$(submit_rigid -p high -N2 --gpus-per-node=4 -- 1000)
ok "who does not answer is preempted by Slurm" \
	wait_until "is_state $pre RUNNING && preempted $job" 60
all_down

# --- SUSPEND,GANG
restart_with 's,^PreemptMode=REQUEUE,PreemptMode=SUSPEND\,GANG,'
job=$(submit_light gang pollux,max=8 -p low -- --profiled=8 --ack=0.2)
ok "SUSPEND,GANG: an elastic job fills the cluster" \
	wait_until "has_gpus $job 8" 60
pre=$(submit_rigid -p high -N2 --gpus-per-node=3 -- 1000)
ok "it shrinks and runs on beside the other, where suspended it would keep its GPUs" \
	wait_until "is_state $pre RUNNING && kept_with $job 2" 60
sb scancel "$pre"
ok "and grows again" wait_until "kept_with $job 8" 60
all_down

restart_with 's,^PreemptType=.*,PreemptType=preempt/pollux_qos,'
job=$(victim_of victim gangqos -- --ack=0.2)
wait_until "has_gpus $job 8" 60
pre=$(urgent -N2 --gpus-per-node=4)
ok "by QOS too: it is parked, not suspended" \
	wait_until "is_state $pre RUNNING && kept_with $job 0" 60
all_down

# --- without sched/pollux
restart_with 's,^PreemptMode=SUSPEND.GANG,PreemptMode=REQUEUE,
	s,^SchedulerType=.*,SchedulerType=sched/backfill,'
job=$(victim_of victim alone -- --ack=0.2)
wait_until "is_state $job RUNNING" 30
pre=$(urgent -N2 --gpus-per-node=4)
ok "without sched/pollux all is as Slurm's own plugin has it" \
	wait_until "preempted $job && is_state $pre RUNNING" 60
all_down

ok "no GPU had two owners" watch_end
restart_with 's,^PreemptMode=.*,PreemptMode=OFF,' >"$WORK/off.out" 2>&1
ok "PreemptMode=OFF is refused in a sentence" wait_until \
	"logged 'preempt/pollux_qos: PreemptMode is OFF: set REQUEUE'" 30
