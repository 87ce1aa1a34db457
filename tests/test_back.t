# SPDX-License-Identifier: MIT
# test_back.t - a job away from its script goes back to it, and its ranks fail
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/apart.sh" || exit 1

# Nodes share this machine's memory, so ranks hand over and both shapes are there.
sandbox_up --nodes 2 --gpus-per-node 2 --params pollux_min_gap=0.2
plan 6

# On a node whose name is in this file no rank comes up.
: >"$WORK/broken"
cat >"$WORK/train" <<END
#!/bin/bash
! grep -qx "\$SLURMD_NODENAME" "$WORK/broken" || exit 1
exec pollux-train "\$@"
END
chmod 755 "$WORK/train"

begin_at_home "$WORK/train"
fill "$home"
ok "it trains on the other node, with its script where it was" eval '
	wait_until "is_state $full RUNNING && on_node $job $other" 60 &&
	is_the_same'

# The way back is barred: its ranks would fail there.
echo "$home" >"$WORK/broken"
sb scancel "$full"
wait_until "ended $full" 30
fill "$other"
ok "it is to come back, and its ranks fail" wait_until \
	"logged 'JobId=$job: its ranks failed on $home, which is closed to'" 90
# Until then it may be parked for the other job, as it cannot go anywhere.
sb scancel "$full"
ok "it keeps its script, and trains where it was" eval '
	wait_until "on_node $job $other" 60 && is_the_same'
sb scancel "$job"
ok "nothing is left" wait_until cluster_is_idle 60
ok "accounting agrees with what was held" wait_until accounts_agree 20
