# SPDX-License-Identifier: MIT
# test_mig_devices.t - docs/security.md: who can open which instance of a GPU
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/devices.sh" || exit 1

why=$(no_devices)
[ -z "$why" ] || skip_all "$why"
need_readers

# GPUs a and b are cut into three: 0-2 are of a, 3-5 of b. Slurm numbers the first
# of both before the second of any: its 0-5 are 0, 3, 1, 4, 2, 5. To use one, a
# process opens the file of its GPU, too.
openable="a=gpu0 b=gpu1 0=cap0 1=cap1 2=cap2 3=cap3 4=cap4 5=cap5"
devices_up --nodes 1 --gpus-per-node 2 --cpus-per-node 16 --mig 1g.5gb:1g.5gb:1g.5gb \
	--params pollux_interval=1,pollux_min_gap=0.2,pollux_ack_timeout=4
plan 17

# The script looks. Beside it there are processes that hold an instance, as CUDA
# does, or a GPU's file alone.
write_agree
cat >"$WORK/elastic" <<END
#!/bin/bash
hold() {
	local name=\$1 file
	shift
	(for file; do exec {held}<"$SB/dev/\$file"; done; exec sleep 600) &
	echo \$! >"$WORK/\$name"
}
hold first gpu0 cap0
hold second gpu0 cap1
hold third gpu1 cap3
hold all gpu0 gpu1
$WORK/opener script 0.1 &
exec $WORK/agree
END
chmod 755 "$WORK/elastic"

# rigid USER GPUS: a job of another user that looks all the time.
rigid() {
	local id
	id=$(pollux-sandbox exec --dir "$SB" --user "$1" sbatch --parsable \
		-o /dev/null --gres="gpu:$2" --wrap "exec $WORK/opener rigid 0.1") &&
		sb scontrol update job="$id" priority=4294910000 && echo "$id"
}

lives() {
	kill -0 "$(cat "$WORK/$1")" 2>/dev/null
}

# script_can GPUS, rigid_can JOB GPUS: and nothing else.
script_can() {
	wait_until "can_open $job n1 script $1" 20
}

rigid_can() {
	wait_until "is_state $1 RUNNING && can_open $1 n1 rigid $2" 60
}

job=$(sb sbatch --parsable -o "$WORK/elastic.out" --gres=gpu:4 \
	--scheduler-params=pollux,min=1,max=4 "$WORK/elastic")
ok "a script can open its job's instances, and the files of their GPUs" \
	script_can ab0134
wait_until "trains $job" 30
one=$(rigid daemon 2)
ok "another user's job has others of the same GPUs" rigid_can "$one" ab25
ok "all that hold one live" eval 'lives first && lives second && lives third'

two=$(rigid bin 2)
ok "the job gives up one of each GPU for a third one" rigid_can "$two" ab14
ok "its script can open the others, and the files of both GPUs" \
	script_can ab03
ok "what held the one that was given up is ended" fails lives second
ok "what holds another one of that GPU lives" lives first
ok "and so does who has the files of GPUs alone" lives all

three=$(rigid daemon 1)
ok "it gives up its last one of a GPU" rigid_can "$three" b3
ok "its script cannot open that GPU's file any more" script_can a0
ok "what held it is ended" eval 'fails lives third && fails lives all'
ok "what holds its last one lives" lives first

four=$(rigid bin 1)
ok "it is parked" rigid_can "$four" a0
ok "its script can open nothing" script_can -
ok "and nobody of it has an instance" fails lives first
ok "others have theirs" eval '
	rigid_can "$one" ab25 && rigid_can "$two" ab14 && rigid_can "$three" b3'

# GPUs are shared, instances are not.
sed -i 's/[ab]//g; s/ $/ -/' "$WORK/opens"
ok "no instance was ever open to two jobs" eval '
	found=$(opened_twice) && { [ -z "$found" ] || { echo "$found"; false; }; }'
sb scancel "$job" "$one" "$two" "$three" "$four"
wait_until cluster_is_idle 60
pollux-sandbox down --dir "$SB" >>"$WORK/restart.out" 2>&1
devices_down
