# SPDX-License-Identifier: MIT
# test_back.t - a job away from its script goes back to it, and its ranks fail
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

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

on_node() {
	devices_of "$1" | grep -q "^$2 " && has_gpus "$1" 2 && trains "$1"
}

# fill NODE: with a job that is not elastic and wants all GPUs of it.
fill() {
	full=$(submit_rigid -w "$1" --gpus-per-node=2 \
		--priority=4294910000 -- 1000)
}

# Still by its first run.
is_the_same() {
	is_state "$job" RUNNING && [ "$(job_field "$job" Restarts)" = 0 ] &&
		[ "$(job_field "$job" BatchHost)" = "$home" ]
}

# Six there are not: it has two, and on its way from two to two it may have four.
job=$(sb sbatch --parsable -o "$WORK/apart.out" --gpus-per-node=2 \
	--scheduler-params=pollux,sizes=2,6 --wrap "srun pollux-launch \
--checkpoint-dir $WORK/ckpt $WORK/train --samples=4096 --batch=256 \
--max-batch=2048 --epochs=1000000 --emulate-gpu=compute --checkpoint-every=1")
wait_until "is_state $job RUNNING" 30
home=$(job_field "$job" BatchHost)
other=n$((3 - ${home#n}))
ok "a job trains on the node of its script" wait_until "on_node $job $home" 60
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
ok "it keeps its script, and trains where it was" eval '
	wait_until "on_node $job $other" 60 && is_the_same'
sb scancel "$job" "$full"
ok "nothing is left" wait_until cluster_is_idle 60
ok "accounting agrees with what was held" wait_until accounts_agree 20
