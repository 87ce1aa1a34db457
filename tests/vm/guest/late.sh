# SPDX-License-Identifier: MIT
# late.sh - a step that is begun late, with what its job had before
#
# Sourced by controller.sh. Alice keeps the credential of a step with two GPUs
# back while her job gives one of them to Bob's; tests/test_late.t has more of
# such attempts, in cgroups of version 1.

. /vm/guest/slurm.sh
. /vm/guest/judge.sh

# Debian's has the node in its name, as several slurmd may run on a host.
scope='/sys/fs/cgroup/system.slice/*slurmstepd.scope'

kept_back() {
	job=$(as alice sbatch --parsable -J late -t 50 --gres=gpu:2 -N1 \
		--scheduler-params=pollux,min=1,max=2 -o late.out \
		/vm/guest/late.job) &&
		until_true 300 'grep -q believed /home/alice/late.out'
	cat /home/alice/late.out
	home=$(scontrol show job "$job" | sed -n 's/^ *BatchHost=//p')
	grep -q believed /home/alice/late.out && has_gpus "$job" 2 &&
		group=$(group_of_job) && [ -n "$group" ]
}

# How late.c names it.
group_of_job() {
	order "$home" "stat -c %D.%i $scope/job_$job" |
		awk -F . 'NF == 2 { printf "%s.%x\n", $1, $2 }'
}

# Who can open a file can lock it.
lock_is_roots() {
	order "$home" "cd $scope/job_$job && stat -c %A:%U cgroup.kill &&
		! runuser -u alice -- bash -c ': >>cgroup.kill' &&
		! runuser -u alice -- bash -c ': <cgroup.kill' && echo closed" |
		tee "$logs/lock"
	grep -x -e '--w-------:root' "$logs/lock" && grep -x closed "$logs/lock"
}

# For all but one GPU of the job's node: nowhere else is one for it.
gives_one_up() {
	rigid_jobs=("$(rigid_job "n$((3 - ${home#n}))" 4)" "$(rigid_job "$home" 3)")
	until_seen 300 late "is_state ${rigid_jobs[1]} RUNNING" &&
		settled late "$job" && has_gpus "$job" 1
}

noted() {
	order "$home" "cd /run/pollux-steps && stat -c '%a %U' . && grep -H . *" |
		tee "$logs/noted"
	[ "$(group_of_job)" = "$group" ] && grep -x "700 root" "$logs/noted" &&
		grep -x "$group:[0-9]*" "$logs/noted"
}

is_refused() {
	order "$home" "grep 'pollux: job $job: its credential is from before' \
		/var/log/slurm/slurmd.log" | tee "$logs/refused"
	grep -q 'step 0 is not begun' "$logs/refused"
}

late_step_is_not_begun() {
	as alice touch go
	until_seen 180 late is_refused && settled late "$job"
}

# Those that slurmctld says the job has: one.
step_opens_own() {
	local opens mine
	opens=$(timeout 120 runuser -u alice -- srun --jobid="$job" --overlap -n1 \
		--gres=gpu:1 bash -c 'for i in 0 1 2 3; do
			(: </dev/gpu$i) 2>/dev/null && echo $i; done; true')
	mine=$(owners | awk -v job="$job" '$1 == job { print $3 }')
	echo "opens $opens of $mine"
	[ -n "$opens" ] && [ "$opens" = "$mine" ]
}

fresh_step_is_begun() {
	until_seen 180 late step_opens_own
}

# Its script can open both once a step has begun: none of a launcher's does.
grows_again() {
	scancel "${rigid_jobs[@]}"
	rigid_jobs=()
	until_seen 300 again 'has_gpus $job 2' &&
		[ "$(timeout 120 runuser -u alice -- srun --jobid="$job" --overlap \
			-n1 --gres=none echo begun)" = begun ] && settled again "$job"
}

all_end() {
	scancel "$job" "${rigid_jobs[@]}"
	until_true 120 '[ -z "$(squeue -h)" ]'
	nodes_are_there && ! sinfo -R -h | grep .
}

job=
home=
group=
rigid_jobs=()
judge_begin late
if ok "a job keeps the credential of a step with its two GPUs back" kept_back; then
	ok "nobody but root can lock its control group" lock_is_roots
	ok "it gives a GPU to another user's job: each opens its own" gives_one_up
	ok "its node has noted that, by a group that is there since its start" noted
	ok "the step is begun late, and refused: each opens its own" \
		late_step_is_not_begun
	ok "a fresh step is begun, and opens what the job has" fresh_step_is_begun
	ok "the job grows again, and a step is begun" grows_again
	ok "all end, and no node is drained" all_end
	ok "in no look could two jobs open one GPU" never_shared
fi
