# SPDX-License-Identifier: MIT
# test_room.t - room that is being made is held for whom it is made
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

echo 0 >"$WORK/epilog_s"
cat >"$WORK/epilog" <<-END
	#!/bin/bash
	sleep "\$(cat "$WORK/epilog_s")"
	echo "\$SLURM_JOB_ID" >>"$WORK/epilogs"
END
chmod 755 "$WORK/epilog"

# Backfill looks as often as it can: into every gap that there is.
sandbox_up --nodes 3 --gpus-per-node 4 --conf-extra "Epilog=$WORK/epilog" \
	--params bf_interval=1,sched_interval=1,pollux_min_gap=0.3 \
	--conf-extra "PartitionName=other Nodes=n[1-2]"
plan 19

not1=n[2-3] not2=n[1,3] # where each of them is not to go

# cluster_of QUICK SLOW: an elastic job at home on n1 and one on n2, who need
# so many seconds to give up GPUs; the third node is nobody's to take.
cluster_of() {
	slow_s=$2
	quick=$(submit_light quick pollux,max=4 -w n1 -x "$not1" --priority=1000 -- \
		--profiled=8 "--ack=$1")
	slow=$(submit_light slow pollux,max=4 -w n2 -x "$not2" --priority=1000 -- \
		--profiled=8 "--ack=$2")
	rest=$(sb sbatch --parsable -o /dev/null -w n3 --gpus-per-node=4 \
		--priority=1000 --wrap "sleep 1000")
	wait_until "has_gpus $quick 4 && has_gpus $slow 4" 60
}

# narrow COUNT OPTION...: jobs that take a GPU for as long as the test lasts.
narrow() {
	local count=$1
	shift
	for _ in $(seq "$count"); do
		sb sbatch -o /dev/null -J narrow -N1 --gpus-per-node=1 -t 60 \
			--priority=100 "$@" --wrap "sleep 1000" >/dev/null
	done
}

narrow_running() {
	sb squeue -h -n narrow -t R -o %i | wc -l
}

# The narrow jobs that run once the wide one does: it was told so in one answer.
overtaken_by() {
	wait_until "is_state $wide RUNNING" $((30 + slow_s)) || return 1
	sb squeue -h -t R -o '%j %i %S %N' | sort -k3
	[ "$(narrow_running)" -le "$1" ]
}

all_down() {
	sb scancel -u "$(id -un)"
	wait_until cluster_is_idle 30
}

ok "two elastic jobs fill two nodes" cluster_of 0 4
wide=$(sb sbatch --parsable -o /dev/null -J wide -N2 --gpus-per-node=3 \
	--priority=900 --wrap "sleep 20")
narrow 6
ok "one gives up its GPUs long before the other" \
	wait_until "has_gpus $quick 1 && has_gpus $slow 4" 30
ok "the wide job starts, and no narrow one before it" overtaken_by 0
ok "what it leaves is theirs when it has ended" \
	wait_until '[ "$(narrow_running)" = 6 ]' 60
all_down

# The same from a partition in which the wide job stops nobody.
ok "the cluster is filled once more" cluster_of 0 4
wide=$(sb sbatch --parsable -o /dev/null -J wide -N2 --gpus-per-node=3 \
	--priority=900 --wrap "sleep 20")
narrow 6 -p other
ok "nor do narrow ones of another partition overtake" overtaken_by 0
all_down

# There is a GPU beside the room: whose it is does not wait.
cluster_beside() {
	quick=$(submit_light quick pollux,max=2 -w n1 -x "$not1" --priority=1000 -- \
		--profiled=8 --ack=0)
	slow=$(submit_light slow pollux,max=4 -w n2 -x "$not2" --priority=1000 -- \
		--profiled=8 --ack=8)
	rest=$(sb sbatch --parsable -o /dev/null -w n3 --gpus-per-node=4 \
		--priority=1000 --wrap "sleep 1000")
	wait_until "has_gpus $quick 2 && has_gpus $slow 4" 60
}

beside_starts() {
	wait_until '[ "$(narrow_running)" = 1 ]' 6
	sb squeue -h -o '%j %i %T %r %S %N'
	[ "$(narrow_running)" = 1 ] && is_state "$wide" PENDING
}

ok "one job leaves two GPUs of its node idle" cluster_beside
wide=$(sb sbatch --parsable -o /dev/null -J wide -N2 --gpus-per-node=1 \
	--priority=900 --wrap "sleep 20")
wait_until "logged 'JobId=$slow asked for 3'" 30
narrow 1
ok "a narrow job for which there is room beside starts meanwhile" beside_starts
slow_s=8
ok "and the wide one when its room is free" overtaken_by 1
all_down

# A node is free when its epilog is over.
cluster_with_blocker() {
	quick=$(submit_light quick pollux,max=4 -w n1 -x "$not1" --priority=1000 -- \
		--profiled=8 --ack=0)
	blocker=$(sb sbatch --parsable -o /dev/null -w n2 --gpus-per-node=4 \
		-t 30 --priority=1000 --wrap "sleep 1000")
	rest=$(sb sbatch --parsable -o /dev/null -w n3 --gpus-per-node=4 \
		--priority=1000 --wrap "sleep 1000")
	wait_until "has_gpus $quick 4 && is_state $blocker RUNNING" 60
}

after_epilog() {
	grep -qx "$blocker" "$WORK/epilogs" && logged \
		"JobId=$wide starts on n\[1-2\] in the room made for it"
}

ok "a rigid job has the second node" cluster_with_blocker
wide=$(sb sbatch --parsable -o /dev/null -J wide -N2 --gpus-per-node=3 \
	-t 60 --priority=900 --wrap "sleep 20")
narrow 4
ok "while it runs nobody gets room that the wide one is promised" \
	fails wait_until '[ "$(narrow_running)" -gt 0 ]' 1
echo 5 >"$WORK/epilog_s"
slow_s=5
sb scancel "$blocker"
# It leaves one GPU of that node.
ok "the wide one gets it before narrow ones" overtaken_by 1
ok "when its epilog is over" after_epilog
echo 0 >"$WORK/epilog_s"
all_down

# Who has a higher priority does not wait for what is held for others.
ok "the cluster is filled for two" cluster_of 0 20
slow_s=20
wide=$(sb sbatch --parsable -o /dev/null -J wide -N2 --gpus-per-node=3 \
	--priority=900 --wrap "sleep 20")
wait_until "has_gpus $quick 1" 30
first=$(sb sbatch --parsable -o /dev/null -w n1 --gpus-per-node=3 -t 30 \
	--priority=950 --wrap "sleep 3")
narrow 6
starts_first() {
	wait_until "ended $first || is_state $first RUNNING" 6 &&
		is_state "$wide" PENDING && has_gpus "$slow" 4
}
ok "one of higher priority starts in it at once" starts_first
sb scontrol reconfigure
ok "and the wide one before narrow ones, after a reconfigure too" overtaken_by 0
all_down

# Who waits goes away: what was held is everybody's again.
ok "the cluster is filled again" cluster_of 0 8
wide=$(sb sbatch --parsable -o /dev/null -J wide -N2 --gpus-per-node=3 \
	--priority=900 --wrap "sleep 20")
wait_until "has_gpus $quick 1" 30
sb scancel "$wide"
narrow 3
ok "when the wide job is cancelled, narrow ones start in its room" \
	wait_until '[ "$(narrow_running)" = 3 ]' 30
ok "no GPU had two owners in any look" fails logged "gres bitmap overlap"
