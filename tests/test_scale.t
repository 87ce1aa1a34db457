# SPDX-License-Identifier: MIT
# test_scale.t - nodes are woken and let go, by Slurm's own power saving
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

# It waits for Slurm's power saving, which is slow.
[ -n "${POLLUX_THOROUGH:-}" ] ||
	skip_all "POLLUX_THOROUGH=1 runs it"

# What a cloud does: a node's slurmd ends, and begins as after a boot.
for program in suspend resume; do
	cat >"$WORK/$program" <<-END
		#!/bin/bash
		export SLURM_CONF=$WORK/sb/etc/slurm.conf POLLUX_SANDBOX=$WORK/sb
		export PATH=$PATH:/usr/sbin
		cd $WORK/sb/run || exit 1
		for node in \$(scontrol show hostnames "\$1"); do
			echo "$program \$node" >>$WORK/power.log
			$program \$node
		done
	END
	chmod 755 "$WORK/$program"
done
sed -i '2i suspend() { kill "$(cat "$1.pid")"; while kill -0 "$(cat "$1.pid")"; do sleep 0.1; done 2>/dev/null; }' "$WORK/suspend"
sed -i '2i resume() { setsid slurmd -D -N "$1" -b </dev/null \\\n\t>>"../log/$1.out" 2>\&1 & echo $! >"$1.pid"; }' "$WORK/resume"

: >"$WORK/power.log"
power=()
for line in SuspendProgram="$WORK/suspend" ResumeProgram="$WORK/resume" \
	SuspendTime=45 SuspendTimeout=4 ResumeTimeout=60 SuspendRate=0 \
	ResumeRate=0; do
	power+=(--conf-extra "$line")
done
sandbox_up --nodes 4 --gpus-per-node 2 "${power[@]}" \
	--params "pollux_min_gap=0.2,pollux_utility=0.1-0.3,pollux_scale_nodes=1-4,pollux_scale_window=2"
plan 11

# asleep N: so many nodes are suspended. sinfo has a line a partition.
asleep() {
	sb sinfo -h -N -o '%N %t'
	[ "$(sb sinfo -h -N -o '%N %t' | sort -u | grep -c '~')" -eq "$1" ]
}

ok "idle nodes are suspended" wait_until "asleep 4" 90
shy=$(submit_light shy pollux,max=8 -x n4 -- --restart=1)
ok "a job that may have three of them has these woken" \
	wait_until "has_gpus $shy 6" 90
ok "and no other" bash -c "! grep 'resume n4' '$WORK/power.log'"
sb scancel "$shy"
wait_until "ended $shy" 30
job=$(submit_light job pollux,max=8 -- --restart=1)
ok "a job that may have them has nodes woken, and gets them all" \
	wait_until "has_gpus $job 8" 90
ok "the plugin asked for them" logged 'node n[0-9] is woken: more nodes are'
ok "how many are wanted is told" wait_until \
	"grep -qx 'pollux_nodes_wanted 4' $SB/log/pollux.prom" 30
ok "and the band that utility is to be in" \
	grep -qx 'pollux_utility_band_ratio{bound="high"} 0.3' "$SB/log/pollux.prom"

sed -i 's/pollux_utility=0.1-0.3/pollux_utility=0.98-1.02/' "$SB/etc/slurm.conf"
sb scontrol reconfigure
ok "nodes that are not used well enough are left by the job" \
	wait_until "has_gpus_or_more $job 1 && ! has_gpus_or_more $job 7" 60
ok "and suspended" wait_until "sb sinfo -h -N -o %t | grep -q '~'" 60
ok "the job goes on" is_state "$job" RUNNING
ok "fewer are wanted" logged '[1-3] nodes wanted, 4 are up: utility'
sb sinfo -N | diag
sb scancel "$job"
