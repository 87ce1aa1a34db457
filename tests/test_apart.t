# SPDX-License-Identifier: MIT
# test_apart.t - ranks leave the only host that they had, their script does not
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/apart.sh" || exit 1

[ "$(id -u)" = 0 ] || skip_all "hosts are namespaces, which only root may make"
need_daemons
use_build_tree
unshare --net --uts --ipc --mount --pid --fork true 2>/dev/null ||
	skip_all "this machine lets not even root make namespaces"
sandbox_up --hosts --nodes 2 --gpus-per-node 2 --params pollux_min_gap=0.2
plan 7

begin_at_home pollux-train
fill "$home"
ok "it leaves these GPUs to another job" wait_until "is_state $full RUNNING" 60
ok "and trains on the other node, with its script where it was" eval '
	wait_until "on_node $job $other" 60 && is_the_same'
ok "no rank looked for state where there is none" \
	fails grep -E 'no shared memory|the next ranks' "$WORK/apart.out"
ok "nor is a node closed to it" fails logged "JobId=$job: .*is closed to"

sb scancel "$job" "$full"
ok "nothing is left" wait_until cluster_is_idle 60
ok "accounting agrees with what was held" wait_until accounts_agree 20
