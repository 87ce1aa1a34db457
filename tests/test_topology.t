# SPDX-License-Identifier: MIT
# test_topology.t - jobs of several nodes keep to one leaf switch, and to
# --switches
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/shapes.sh" || exit 1

# n1, n3, n5 and n7 are on one switch, the others on the second one.
sandbox_up --nodes 8 --gpus-per-node 4 --switches 2 "$untyped" \
	--params "pollux_min_gap=0.2"
plan 23
watch_start

says() {
	sb scontrol show job "$1" | tr -d '\n' | grep -q "why=.*$2"
}

# never_on_two JOB: not in any shape that it had.
never_on_two() {
	sb sacct -D -X -n -P -j "$1" -o nodelist | sort -u | while read -r nodes; do
		sb scontrol show hostnames "$nodes" |
			awk -v nodes="$nodes" '{ seen[substr($1, 2) % 2] = 1 }
				END { exit length(seen) > 1 }' ||
			echo "was on $nodes"
	done | tee "$WORK/two.txt"
	[ ! -s "$WORK/two.txt" ]
}

one=$(submit_light one pollux,max=16 -- --live=0.2 --profiled=16)
ok "a job grows on its own switch, while the other is as free" \
	wait_until "rests_on $one 16 1" 40
ok "in each shape that it had" wait_until "never_on_two $one" 20
two=$(submit_light two pollux,max=16 -- --live=0.2 --profiled=16)
ok "a second one has the other switch" wait_until "rests_on $two 16 1" 40
ok "and the first one is where it was" rests_on "$one" 16 1
sb scancel "$one" "$two"
wait_until cluster_is_idle 30

wide=$(submit_light wide pollux,max=32 -- --live=0.2 --profiled=32)
ok "a job goes to the second switch where that pays" \
	wait_until "rests_on $wide 32 2" 60
rigid=$(submit_rigid -N1 --gpus-per-node=4 -- 600)
ok "it makes room for a rigid job" \
	wait_until "is_state $rigid RUNNING && has_gpus_or_more $wide 16" 60
sb scancel "$rigid" "$wide"
wait_until cluster_is_idle 30

bound=$(submit_light bound pollux,max=32 --switches=1 -- --live=0.2 --profiled=32)
ok "--switches=1: a job has all of a switch" wait_until "rests_on $bound 16 1" 60
ok "Slurm's record still says so" \
	eval "sb scontrol show job $bound | grep -q ' Switches=1@'"
ok "it says why it has no more" wait_until "says $bound as.many.switches" 20
free=$(submit_light free pollux,max=16 -- --live=0.2 --profiled=16)
ok "another job has what is left, on one switch" \
	wait_until "rests_on $free 16 1" 60
restart() {
	pollux-sandbox restart --dir "$SB" slurmctld >"$WORK/restart.out" 2>&1
}
ok "slurmctld is started again" restart
ok "and goes on from there" wait_until "rests_on $bound 16 1 && rests_on $free 16 1" 30
sb scancel "$free"
ok "when the other switch is free again" wait_until "ended $free" 30
ok "the job stays on its own" \
	wait_until "says $bound as.many.switches" 30
ok "and never was on two" wait_until "never_on_two $bound" 20
sb scontrol update "JobId=$bound" Switches=2
ok "an administrator may allow it two" wait_until "rests_on $bound 32 2" 60
sb scancel "$bound"
wait_until cluster_is_idle 30

wish=$(submit_light wish pollux,max=32 --switches=1@10:00 -- --live=0.2 --profiled=32)
ok "--switches=1@TIME is a wish, and holds for the start" \
	wait_until "rests_on $wish 32 2" 60
sb scancel "$wish"
wait_until cluster_is_idle 30

# An all-reduce that takes eleven times as long on the second switch.
sed -i 's/^SchedulerParameters=.*/&,pollux_switch_cost=1000/' "$SB/etc/slurm.conf"
sb scontrol reconfigure
dear=$(submit_light dear pollux,max=32 -- --live=0.2 --profiled=32)
ok "pollux_switch_cost: a job keeps to one switch where a second is dear" \
	wait_until "rests_on $dear 16 1" 60
ok "and says that more would not help" \
	wait_until "says $dear more.would.not.help" 20
ok "it never was on two" wait_until "never_on_two $dear" 20
sb scancel "$dear"
wait_until cluster_is_idle 30

# On n1 and n2: its ranks start anew in each shape, and fail when they are told.
cat >"$WORK/fails" <<END
#!/bin/sh
hint="batch=128,8192,1,256,1 model=0.02,0.002,0.01,0.0005,0.005,0.0002,1.5 \\
noise=0.25,12.5 profiled=2,8 now=1,1 progress=0.5 restart=1"
say() {
	scontrol update job="\$SLURM_JOB_ID" \\
		comment="[pollux v=1 resizes=0 pause=0,0 launcher=batch \$*]"
}
say ack=0 phase=training \$hint
while :; do
	target=\$(scontrol show job "\$SLURM_JOB_ID" |
		sed -n 's/.*pollux serial=\([0-9]*\) state=\([a-z]*\).*/\1 \2/p')
	failed=
	[ "\${target#* }" != done ] || [ ! -e $WORK/fail ] ||
		failed=failed=\${target% *}
	[ -z "\$target" ] ||
		say ack=\${target% *} phase=training \$failed \$hint
	sleep 0.1
done
END
chmod +x "$WORK/fails"
back=$(sb sbatch --parsable --scheduler-params=pollux,max=8 --switches=2 \
	-N2 --gpus-per-node=4 -x n[3-8] -o "$WORK/back.out" "$WORK/fails")
ok "a job is on two switches" wait_until "rests_on $back 8 2 && trains $back" 60
sb scontrol update "JobId=$back" Switches=1 "ExcNodeList=n[4-8]"
sb scontrol update NodeName=n2 State=DRAIN Reason=leave
wait_until "rests_on $back 8 1" 60
sb scontrol update NodeName=n2 State=RESUME
# While an epilog runs on it a node takes no job, and the way back is shut.
wait_until "sb sinfo -h -n n2 -o %T | grep -qx idle" 30
touch "$WORK/fail"
ok "put on one by an update, where its ranks fail, it is as before" \
	wait_until "rests_on $back 8 2" 60
sb scancel "$back"
ok "no GPU had two owners" watch_end
