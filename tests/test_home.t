# SPDX-License-Identifier: MIT
# test_home.t - where a job's script runs decides neither what it gets nor what
# others can get (docs/rules.md, "the node of the script")
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/shapes.sh" || exit 1

# On main, as by default, jobs are packed on the first nodes; on
# partition spread (LLN=YES) they are spread. Slurm 26.05 packs who may have one
# node only on both.
sandbox_up --like=site --nodes 4 --gpus-per-node 4 \
	--params pollux_min_gap=0.2 \
	--conf-extra "PartitionName=spread Nodes=ALL LLN=YES"
plan 28
watch_start

mkdir "$WORK/samples"
export POLLUX_SAMPLE_LOG=$WORK/samples
samples=10000
training="--samples=$samples --emulate-gpu=compute --epochs=1000000"

hosts() {
	local job
	for job; do
		job_field "$job" BatchHost
	done | sort -u
}

# least JOB...: the fewest GPUs that one of them has.
least() {
	local job
	for job; do
		gpus_of "$job"
	done | sort -n | head -n 1
}

all() {
	local job sum=0
	for job; do
		sum=$((sum + $(gpus_of "$job")))
	done
	echo "$sum"
}

# Each has as many, none is being resized.
even() {
	local gpus=$1 job
	shift
	for job; do
		has_gpus "$job" "$gpus" && ! is_moving "$job" || return 1
	done
}

run() {
	local job
	for job; do
		is_state "$job" RUNNING || return 1
	done
}

places() {
	local job
	for job; do
		echo "$job:"
		devices_of "$job"
	done
}

# without_gpus JOB NODE: the job has it, with one CPU and no GPU.
without_gpus() {
	shares_of "$1" | grep -q "^$2 1 [0-9]* 0\$"
}

told_of_nodes() {
	sb scontrol show job "$1" | grep -q 'as many nodes as it may'
}

# Four GPUs of one node each: no plan of equal jobs has more goodput.
on_a_node_each() {
	local job
	for job; do
		even 4 "$job" && [ "$(devices_of "$job" | wc -l)" -eq 1 ] ||
			return 1
	done
}

# four NAME PARTITION: as many light jobs, in $jobs. Slurm starts them together:
# the first would have grown while the last is submitted on a busy machine.
four() {
	local i
	jobs=()
	for i in 1 2 3 4; do
		jobs+=("$(submit_light "$1$i" pollux,max=16 -H -p "$2" -- \
			--live=0.2)")
	done
	sb scontrol release "${jobs[@]}"
	wait_until 'run "${jobs[@]}"' 20
}

# By Slurm's clock: what the sentences above wait for may last longer here.
waited() {
	sb squeue -h -j "$1" -O StartTime,SubmitTime |
		while read -r start submit; do
			echo "job $1 waited $(($(date -d "$start" +%s) - \
				$(date -d "$submit" +%s))) s"
		done
}

# Packed by Slurm.
begin=$SECONDS
four packed main
ok "Slurm starts four jobs on one node" eval '[ "$(hosts "${jobs[@]}")" = n1 ]'
ok "within 30 s none of them has less than half an even share" \
	wait_until '[ "$(least "${jobs[@]}")" -ge 2 ]' 30
ok "and one GPU is idle at most" \
	wait_until '[ "$(all "${jobs[@]}")" -ge 15 ]' 30
ok "each has all GPUs of a node in the end" \
	wait_until 'on_a_node_each "${jobs[@]}"' 30
echo "four jobs had a node each after $((SECONDS - begin)) s" | diag
away=
for job in "${jobs[@]}"; do
	devices_of "$job" | grep -q '^n1 ' || away=$job
done
ok "away from home, a job keeps a CPU for its script and no GPU there" \
	without_gpus "$away" n1
ok "accounting has its GPUs, and its script's node beside theirs" eval '
	sb sacct -X -n -P -j $away -o nodelist,alloctres |
		grep -qE "^n\[1,[234]\]\|.*gres/gpu=4(,|$)"'
ok "jobs and nodes agree" checked

# What Slurm saves of an empty set of devices is what it reads again.
places "${jobs[@]}" >"$WORK/before.places"
job=$away
ok "slurmctld has saved where they are" wait_until is_saved 20
kill_slurmctld
restart_slurmctld >"$WORK/restart.out" 2>&1
wait_until slurmctld_lives 30
ok "a slurmctld that was killed and started knows the same" eval '
	places "${jobs[@]}" | diff "$WORK/before.places" -'
ok "jobs and nodes still agree" checked

rigid=$(submit_rigid -w n1 --gpus-per-node=4 -- 600)
ok "a rigid job gets all GPUs of the node where all scripts run, in 15 s" \
	wait_until "is_state $rigid RUNNING" 15
waited "$rigid" | diag
ok "the others go on, on the twelve that are left" \
	wait_until '[ "$(all "${jobs[@]}")" -ge 11 ] && run "${jobs[@]}"' 30
ok "no script was started again for that" eval '
	for job in "${jobs[@]}"; do
		[ "$(job_field $job Restarts)" = 0 ] || exit 1
	done'
sb scancel "$rigid" "${jobs[@]}"
ok "all nodes are idle, with no GPU allocated" wait_until cluster_is_idle 30

# ok_if_spread SENTENCE COMMAND...
ok_if_spread() {
	if slurm_since 26.05; then
		skip "$1" "this Slurm packs jobs of one node, also with LLN=YES"
	else
		ok "$@"
	fi
}

# Spread by Slurm: on each node runs somebody's script.
four spread spread
ok_if_spread "four others that Slurm starts on four nodes have no more" eval '
	[ "$(hosts "${jobs[@]}" | wc -l)" -eq 4 ] &&
		wait_until "on_a_node_each ${jobs[*]}" 30'
rigid=$(submit_rigid -p spread -N1 --gpus-per-node=4 -- 600)
ok "a later job gets all GPUs of any node in 15 s" \
	wait_until "is_state $rigid RUNNING" 15
waited "$rigid" | diag
ok_if_spread "and all scripts run on" eval 'run "${jobs[@]}" &&
	[ "$(hosts "${jobs[@]}" | wc -l)" -eq 4 ]'
sb scancel "$rigid"
wait_until 'even 4 "${jobs[@]}"' 30
rigid=$(submit_rigid -p spread -N1 --exclusive -- 600)
ok "so does a later one that wants nobody else on its node" \
	wait_until "is_state $rigid RUNNING" 15
waited "$rigid" | diag
ok_if_spread "one script is moved for that, and none waits" \
	wait_until 'run "${jobs[@]}" && [ "$(hosts "${jobs[@]}" | wc -l)" -eq 3 ]' 15
sb scancel "$rigid" "${jobs[@]}"
wait_until cluster_is_idle 30

# A number of nodes counts the script's.
one=$(submit_light one pollux,max=16 -N1 -- --profiled=16)
two=$(submit_light two pollux,max=16 -N1-2 -- --profiled=16)
blocker=$(submit_rigid -w n1 --gpus-per-node=2 -- 600)
ok "a job for one node has its GPUs where its script is" \
	wait_until "told_of_nodes $one && [ \"\$(job_field $one NodeList)\" = n1 ]" 30
ok "one for two nodes is on no more, with that of its script" \
	wait_until "has_gpus_or_more $two 4 &&
		[ \"\$(job_field $two NumNodes)\" -le 2 ]" 30
sb scancel "$one" "$two" "$blocker"
wait_until cluster_is_idle 30

# Real ranks, which leave the node of their launcher. On the eight GPUs of two
# nodes, so that its old and its new shape are no more than its max=.
blocker=$(submit_rigid -w "n[3-4]" -N2 --gpus-per-node=4 -- 600)
train=$(sb sbatch --parsable -J train -o "$WORK/train.out" \
	--scheduler-params=pollux,max=8 --wrap "srun pollux-launch -v \
	--relay=always --checkpoint-dir $WORK/train.ckpt pollux-train $training")
ok "a training runs" wait_until "has_gpus_or_more $train 2 && trains $train" 60
rigid=$(submit_rigid -w n1 --gpus-per-node=4 -- 600)
ok "its ranks leave the node of their launcher for a rigid job" \
	wait_until "is_state $rigid RUNNING && without_gpus $train n1 &&
		has_gpus_or_more $train 1 && trains $train" 30
ok "it was handed over, not stopped" logged \
	"JobId=$train hands over on [0-9]* GPUs on n\[1"
steps=$(lines_in "$WORK/train.out" '^epoch ')
ok "and trains on there" wait_until \
	"[ \$(lines_in $WORK/train.out '^epoch ') -gt $((steps + 2)) ]" 30
sb scancel "$rigid" "$train" "$blocker"
wait_until "ended $train" 30
ok "no sample was lost or seen twice" bash "$POLLUX_SRCDIR/tests/samples.sh" \
	"$POLLUX_SAMPLE_LOG" "$samples" "$(lines_in "$WORK/train.out" '^epoch ')" so-far
wait_until cluster_is_idle 30
ok "no GPU ever had two owners" watch_end
ok "accounting agrees with the log" accounts_agree
