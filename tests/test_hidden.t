# SPDX-License-Identifier: MIT
# test_hidden.t - docs/security.md: a job hides that it holds GPUs given up
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/devices.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

why=$(no_devices)
[ -z "$why" ] || skip_all "$why"
need_readers
devices_up --nodes 2 --gpus-per-node 4 --cpus-per-node 16 \
	--params pollux_interval=1,pollux_min_gap=0.2,pollux_ack_timeout=4,pollux_unconfirmed=60
plan 16

# How long a job is frozen is no news for a site.
sed -i 's/^SlurmdDebug=.*/SlurmdDebug=verbose/' "$SB/etc/slurm.conf"
for node in n1 n2; do
	pollux-sandbox restart --dir "$SB" "$node" >>"$WORK/restart.out" 2>&1
done

write_agree
cat >"$WORK/hide" <<END
#!/bin/bash
export MANY=$WORK/crowd CHAIN=$WORK/link
for how; do
	python3 $POLLUX_SRCDIR/tests/hides.py "\$how" $SB/dev/gpu0 &
	echo \$! >"$WORK/\$how"
done
exec $WORK/agree
END
chmod 755 "$WORK/hide"

# attack HOW...: a job that hides a GPU so, and another one that is to have it.
attack() {
	job=$(sb sbatch --parsable -o "$WORK/hide.out" --gres=gpu:4 -N1 \
		--scheduler-params=pollux,min=1,max=4 "$WORK/hide" "$@")
	wait_until "is_state $job RUNNING && trains $job" 60
	home=$(job_field "$job" BatchHost)
	two=$(rigid -w "n$((3 - ${home#n}))")
	wait_until "is_state $two RUNNING" 60
}

rigid() {
	local id
	id=$(pollux-sandbox exec --dir "$SB" --user daemon sbatch --parsable \
		-o /dev/null --gres=gpu:4 "$@" --wrap "sleep 600") &&
		sb scontrol update job="$id" priority=4294910000 && echo "$id"
}

lives() {
	kill -0 "$(cat "$WORK/$1")" 2>/dev/null
}

# A user says that a step of his looks, and that none of his steps runs.
job=$(sb sbatch --parsable -o "$WORK/says.out" -N1 -n2 --wrap "
	srun --overlap -n1 sh -c 'echo \$\$ >$WORK/first; exec sleep 300' &
	sleep 2
	srun --overlap -n1 --export=ALL,POLLUX_CONSTRAIN=9: true && echo said
	sleep 300")
wait_until "grep -q said $WORK/says.out" 60
ok "a step is no look at its job because its user says so" lives first
sb scancel "$job"

# Devices that Slurm does not keep anybody from.
mkdir "$WORK/crowd"
for ((i = 0; i < 300; i++)); do
	mknod -m 666 "$WORK/crowd/$i" c 240 "$i"
done
attack dead own many message memory ring
wait_until '[ "$(grep -cE "^(dead|own|many|message|memory|ring.*)$" \
	"$WORK/hide.out")" = 6 ]' 60
more=$(rigid -w "$home")
ok "a job of another user gets GPUs that a job hides" wait_until \
	"is_state $more RUNNING" 90
ok "what held one beside a thread that has ended is gone" fails lives dead
ok "and what held one as its own thread's file" fails lives own
ok "nor is one hidden behind many other devices" fails lives many
ok "nor in a message that nobody has received" fails lives message
ok "other files may wait in one" lives memory
ok "io_uring keeps none for later" fails grep "ring has it back" \
	"$WORK/hide.out"
grep ring "$WORK/hide.out" | sed 's/^/# /'
sb scancel "$job" "$two" "$more"
wait_until cluster_is_idle 60

# Each process of it has handed the GPU on before anybody looks at it.
chain_runs() {
	local before
	before=$(cat "$WORK/link")
	sleep 1
	[ "$(cat "$WORK/link")" != "$before" ]
}

attack chain
wait_until 'grep -q chain "$WORK/hide.out"' 60
ok "a chain of processes has a GPU" chain_runs
more=$(rigid -w "$home")
wait_until "is_state $more RUNNING" 120
ok "when others have the GPU it has ended" fails chain_runs
ok "a job of another user gets it" is_state "$more" RUNNING
grep -rhoE 'its tasks were frozen for [0-9]+ ms, .*' "$SB" |
	sort -V | sed 's/^/# /'
ok "none of the job's tasks stays frozen" fails grep -rlE 'FROZEN|FREEZING' \
	/sys/fs/cgroup/freezer/slurm_n*/*/job_"$job" --include freezer.state
sb scancel "$job" "$two" "$more"
wait_until cluster_is_idle 60

# As in a GPU that hangs: it is killed, and does not die.
attack own
wait_until 'grep -q own "$WORK/hide.out"' 60
frozen=/sys/fs/cgroup/freezer/pollux_hidden_$$
mkdir "$frozen"
cat "$WORK/own" >"$frozen/cgroup.procs"
echo FROZEN >"$frozen/freezer.state"
more=$(rigid -w "$home")
ok "a job whose process does not die keeps its GPUs at first" wait_until \
	"logged 'JobId=$job .*nodes $home do not confirm what it gives up'" 60
ok "then it is put back into the queue" wait_until \
	"logged 'JobId=$job keeps GPUs .* its processes do not end'" 180
echo THAWED >"$frozen/freezer.state"
ok "and others have its GPUs" wait_until "is_state $more RUNNING" 60
sb scancel "$job" "$two" "$more"
wait_until "rmdir $frozen" 30
ok "nothing is left" wait_until cluster_is_idle 60
pollux-sandbox down --dir "$SB" >>"$WORK/restart.out" 2>&1
devices_down
