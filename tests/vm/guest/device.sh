# SPDX-License-Identifier: MIT
# device.sh - through the life of an elastic job: exactly its own GPUs open
#
# Sourced by controller.sh. Alice's job is elastic, Bob's are not and make it
# shrink, move and park.

. /vm/guest/slurm.sh
. /vm/guest/judge.sh

# A process that nobody constrains: the devices can be opened at all.
control_opens_all() {
	as alice srun -w n1 -t 2 true || return
	grep . /home/.slurm/control.n1 /home/.slurm/control.n2
	[ "$(cat /home/.slurm/control.n[12] | sort -u)" = 0,1,2,3 ]
}

# A job without GPUs opens none.
no_gpu_opens_none() {
	as alice srun -N2 -t 2 bash -c \
		'for i in 0 1 2 3; do (: </dev/gpu$i) && echo opened; done; true' \
		>"$logs/none.out" 2>&1
	cat "$logs/none.out"
	[ "$(grep -c 'Operation not permitted' "$logs/none.out")" -eq 8 ] &&
		! grep opened "$logs/none.out"
}

# elastic_job: prints the job's id. Beside its script, processes hand the GPUs that
# it begins with to each other. A pass of its emulated GPU takes fifty times as
# long as one of a real one: emulated processors decide about nothing then.
elastic_job() {
	as alice env CHAIN=yes sbatch --parsable -J elastic -t 50 --gpus=1 \
		--mem-per-gpu=150 \
		--scheduler-params=pollux,min=1,max=4 -o elastic.out \
		/vm/guest/elastic.job --emulate-gpu=compute --time-scale=0.02 \
		--batch=256 --max-batch=256 --samples=4000 --epochs=1000000
}

begins() {
	job=$(elastic_job) &&
		until_seen 300 start 'is_state $job RUNNING' &&
		settled start "$job"
}

grows() {
	until_seen 400 grow 'has_gpus $job 4' && settled grow "$job"
}

# takes PHASE NODE GPUS: Bob's job gets that, and alice's trains on the rest.
takes() {
	local rigid
	rigid=$(rigid_job "$2" "$3")
	rigid_jobs+=("$rigid")
	until_seen 300 "$1" "is_state $rigid RUNNING" &&
		settled "$1" "$job"
}

# chain_is THERE|OVER: processes on n1, each of which ends at once.
chain_is() {
	order n1 '[ -e /tmp/chain ] || echo none
		for i in {1..50}; do
			pgrep -f /vm/guest/chain.py >/dev/null && exec echo THERE
		done; echo OVER' | tee "$logs/chain.$1"
	[ "$(cat "$logs/chain.$1")" = "$1" ]
}

gives_back() {
	scancel "${rigid_jobs[@]}"
	rigid_jobs=()
	until_seen 300 back 'has_gpus_or_more $job 2' && settled back "$job"
}

parked() {
	gpus_of "$job"
	[ "$(gpus_of "$job")" -eq 0 ]
}

nodes_restart() {
	order n1 "systemctl restart slurmd" && order n2 "systemctl restart slurmd" &&
		sleep 5 && until_true 120 'scontrol show node n1 | grep -E "State=(MIXED|ALLOC)"' &&
		settled slurmd "$job"
}

controller_restarts() {
	systemctl restart slurmctld && until_true 120 'scontrol ping | grep -q UP' &&
		settled restart "$job"
}

ends_clean() {
	scancel "$job" "${rigid_jobs[@]}"
	until_true 120 '[ -z "$(squeue -h)" ]'
	ask
	[ "$(answers | wc -l)" -eq 0 ] && nodes_are_there
}

job=
rigid_jobs=()
judge_begin device
ok "without cgroups a process can open all four GPUs" control_opens_all
ok "a job without GPUs can open none" no_gpu_opens_none
if ok "an elastic job begins: its script and ranks open exactly its GPUs" begins; then
	ok "its script's processes hand its first GPUs to each other" chain_is THERE
	ok "it grows: so do they" grows
	ok "it shrinks for a job of another user: each opens its own" \
		takes shrink n1 2
	ok "it leaves a node for another one: each opens its own" takes move n1 2
	ok "and these processes have ended" chain_is OVER
	ok "it is parked: it opens none" takes park n2 4
	ok "parked, it has none" parked
	ok "it comes back, on what is free again: exactly these" gives_back
	ok "slurmctld is restarted: exactly these" controller_restarts
	ok "slurmd is restarted on both nodes: exactly these" nodes_restart
	ok "all end, and nothing of them is left" ends_clean
	ok "in no look could two jobs open one GPU" never_shared
fi
