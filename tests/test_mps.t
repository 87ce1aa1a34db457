# SPDX-License-Identifier: MIT
# test_mps.t - docs/rules.md: GPUs of which other jobs have a part by MPS
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

# Each GPU is 100 mps as well; where GPUs have no types.
sandbox_up --nodes 1 --gpus-per-node 4 --cpus-per-node 16 $untyped \
	--params pollux_interval=1,pollux_min_gap=0.2
sed -i -e 's/^GresTypes=.*/GresTypes=gpu,mps/' \
	-e 's/ Gres=gpu:4/ Gres=gpu:4,mps:400/' "$SB/etc/slurm.conf"
echo "NodeName=n1 Name=mps Count=400" >>"$SB/etc/gres.conf"
for daemon in slurmctld n1; do
	pollux-sandbox restart --dir "$SB" "$daemon" >>"$WORK/restart.out" 2>&1
done
plan 10

# used KIND: what slurmctld counts of it on the node, "mps" or "gpu"
used() {
	sb scontrol show node -d n1 | sed -n "s/.*GresUsed=//p" |
		grep -oE "$1:[^,]*([(][^)]*[)])?"
}

# part USER-OPTION...: a job that asks for parts of GPUs.
part() {
	submit_rigid "$@" --priority=4294910000 -- 600
}

ok "a job gets a half of a GPU by MPS" eval '
	wait_until "sb scontrol show node n1 | grep -q mps:400" 30 &&
	half=$(part --gres=mps:50) &&
	wait_until "is_state $half RUNNING" 30'
job=$(submit_light whole pollux,max=4 -- --live)
ok "an elastic job grows over all other GPUs" wait_until "has_gpus $job 3" 60
ok "and not over that one" eval '
	used mps && [ "$(devices_of "$job")" = "n1 1-3" ] &&
	! logged "JobId=$job keeps its .*other GPUs"'
second=$(part --gres=mps:30)
ok "who asks for some of the other half gets it" \
	wait_until "is_state $second RUNNING && has_gpus $job 3" 30
more=$(part --gres=mps:60)
ok "who asks for more than is left of it has none of its GPUs" eval '
	sleep 3 && is_state "$more" PENDING && has_gpus "$job" 3'
pollux-sandbox restart --dir "$SB" slurmctld >>"$WORK/restart.out" 2>&1
# Slurm 22.05 forgets who has parts when a slurmd registers after that.
pollux-sandbox restart --dir "$SB" n1 >>"$WORK/restart.out" 2>&1
ok "nor has he when slurmctld comes back" eval '
	wait_until "trains $job" 60 && sleep 12 && sb squeue && used mps &&
	devices_of "$job" && is_state "$more" PENDING &&
	[ "$(devices_of "$job")" = "n1 1-3" ]'
sb scancel "$half" "$second" "$more"
ok "when no job has parts the elastic one has that GPU, too" \
	wait_until "has_gpus $job 4" 60
late=$(part --gres=mps:10)
ok "while it has all of them nobody gets a part" eval '
	sleep 3 && is_state "$late" PENDING && has_gpus "$job" 4'
sb scancel "$job"
ok "and when it has ended he does" wait_until "is_state $late RUNNING" 60
sb scancel "$late"
ok "nothing is left" wait_until cluster_is_idle 30
