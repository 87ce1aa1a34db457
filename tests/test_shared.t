# SPDX-License-Identifier: MIT
# test_shared.t - docs/rules.md: GPUs of which other jobs have parts
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

# The GPUs have shards as well, two each; where GPUs have no types.
sandbox_up --nodes 1 --gpus-per-node 4 --cpus-per-node 16 $untyped \
	--params pollux_interval=1,pollux_min_gap=0.2
sed -i -e 's/^GresTypes=.*/GresTypes=gpu,shard/' \
	-e 's/ Gres=gpu:4/ Gres=gpu:4,shard:8/' "$SB/etc/slurm.conf"
echo "NodeName=n1 Name=shard Count=8" >>"$SB/etc/gres.conf"
for daemon in slurmctld n1; do
	pollux-sandbox restart --dir "$SB" "$daemon" >>"$WORK/restart.out" 2>&1
done
plan 6

# The devices of which others have a part.
sharers() {
	sb scontrol show node -d n1 | grep GresUsed
}

ok "a job gets a shard of a GPU" eval '
	wait_until "sb scontrol show node n1 | grep -q shard:8" 30 &&
	part=$(submit_rigid --gres=shard:1 -- 600) &&
	wait_until "is_state $part RUNNING" 30'
job=$(submit_light whole pollux,max=4 -- --live)
ok "an elastic job grows over all other GPUs" wait_until "has_gpus $job 3" 60
ok "and not over that one" eval '
	sharers && [ "$(devices_of "$job")" = "n1 1-3" ] &&
	! logged "JobId=$job keeps its .*other GPUs"'
more=$(submit_rigid --gres=shard:2 --priority=4294910000 -- 600)
ok "who asks for two more shards has none of its GPUs" eval '
	sleep 3 && is_state "$more" PENDING && has_gpus "$job" 3'
sb scancel "$part" "$more"
ok "when the shard is free the elastic job has that GPU, too" \
	wait_until "has_gpus $job 4" 30
sb scancel "$job"
ok "nothing is left" wait_until cluster_is_idle 30
