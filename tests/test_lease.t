# SPDX-License-Identifier: MIT
# test_lease.t - docs/security.md: no job keeps GPUs by what it says, or does not
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

sandbox_up --nodes 2 --gpus-per-node 4 --cpus-per-node 16 --params \
	pollux_interval=1,pollux_min_gap=0.2,pollux_ack_timeout=4,pollux_lease=8,pollux_busy=5
plan 20

# says JOB WORDS: in its comment; the status that stands before its hint.
cat >"$WORK/say" <<'END'
#!/bin/sh
scontrol update job="$SLURM_JOB_ID" comment="[pollux v=1 resizes=0 pause=0,0 $*]"
END
# Its step holds all GPUs; it calls that its launcher, and agrees to anything.
cat >"$WORK/pretender" <<END
#!/bin/sh
env -u SLURM_GPUS_PER_NODE srun -N2 --ntasks-per-node=1 --gres=gpu:4 sh -c \
	'echo \$\$ >$WORK/held.\$SLURM_NODEID; exec sleep 600' &
while :; do
	serial=\$(scontrol show job "\$SLURM_JOB_ID" |
		grep -oE 'serial=[0-9]+' | cut -d= -f2)
	$WORK/say launcher=0 ack=\${serial:-0} phase=training
	sleep 0.1
done
END
# Each of these grows as an honest job does. Then it says no more, ...
cat >"$WORK/silent" <<END
#!/bin/sh
$light --seconds=10
scontrol update job="\$SLURM_JOB_ID" comment=
exec sleep 600
END
# ... that it is done, as its launcher has told, ...
cat >"$WORK/done" <<END
#!/bin/sh
$light --seconds=10
exec sleep 600
END
# ... that it saves, ...
cat >"$WORK/saves" <<END
#!/bin/sh
$light --seconds=10
$WORK/say launcher=none ack=0 phase=saving
exec sleep 600
END
# ... and this one trains, but for most of the time.
cat >"$WORK/flaps" <<END
#!/bin/sh
$light --seconds=10
while :; do
	$WORK/say launcher=none ack=0 phase=done
	sleep 4
	$WORK/say launcher=none ack=0 phase=training
	sleep 1
done
END
# What the next two do: one step, a hint; and the serial and state of a target.
cat >"$WORK/trains" <<END
srun -n1 --gres=gpu:2 sleep 600 &
hint="batch=128,8192,1,256,1 model=0.02,0.002,0.01,0.0005,0.005,0.0002,1.5 \\
noise=0.25,12.5 profiled=1,2 now=1,1 progress=0.5 restart=1"
$WORK/say launcher=batch ack=0 phase=training \$hint
look() {
	target=\$(scontrol show job "\$SLURM_JOB_ID" |
		sed -n 's/.*pollux serial=\([0-9]*\) state=\([a-z]*\).*/\1 \2/p')
	serial=\${target% *} state=\${target#* }
}
END
# Its ranks train on through a growth, whose new ranks fail.
cat >"$WORK/fails" <<END
#!/bin/sh
. $WORK/trains
while look; do
	case \$state in
	asked) $WORK/say launcher=batch ack=\$serial live=1 phase=training \
		\$hint ;;
	done) $WORK/say launcher=batch ack=\$serial live=1 phase=training \
		failed=\$serial \$hint ;;
	esac
	sleep 0.1
done
END
# Whenever it is to have less, ranks that it never starts have failed.
cat >"$WORK/refuses" <<END
#!/bin/sh
. $WORK/trains
while look; do
	case \$state in
	asked | lent) $WORK/say launcher=batch ack=\$serial live=1 \
		phase=training failed=\$serial \$hint \$(cat $WORK/words) ;;
	esac
	sleep 0.1
done
END
chmod +x "$WORK"/{say,pretender,silent,done,saves,flaps,fails,refuses}

liar() {
	sb sbatch --parsable --scheduler-params="pollux,min=1,max=$2" \
		-o "$WORK/$1.out" "${@:3}" "$WORK/$1"
}

# Whether a process of the pretender's step lives when it has its GPUs.
cat >"$WORK/rigid" <<END
#!/bin/sh
for file in $WORK/held.*; do
	! kill -0 "\$(cat "\$file")" || echo "\$file still runs"
done >$WORK/both 2>/dev/null
touch $WORK/looked
exec sleep 600
END
chmod +x "$WORK/rigid"

watch_start
pretender=$(liar pretender 8 -N2 --gpus-per-node=4)
ok "a step with all GPUs of two nodes runs" \
	wait_until "[ -s $WORK/held.0 ] && [ -s $WORK/held.1 ]" 30
rigid=$(sb sbatch --parsable -o /dev/null -N1 --gpus-per-node=3 \
	--priority=4294910000 "$WORK/rigid")
ok "that such a step is a launcher is not believed" wait_until \
	"logged 'JobId=$pretender: its status is not believed.*step 0 holds GPUs'" 20
ok "a job that waits gets its GPUs all the same" \
	wait_until "[ -e $WORK/looked ]" 40
ok "and nothing of that step runs on them any more" fails test -s "$WORK/both"
ok "the job that lied runs on, with its least on each node" eval \
	'is_state $pretender RUNNING && has_gpus $pretender 2'
sb scancel "$pretender" "$rigid"
wait_until cluster_is_idle 30

honest=$(submit_light honest pollux,min=1,max=2 -- --live)
wait_until "has_gpus $honest 2" 30

# gives_back NAME WHY: it grew, and is left with its least; it is told why.
gives_back() {
	job=$(liar "$1" 6)
	wait_until "has_gpus_or_more $job 4" 30 &&
		wait_until "has_gpus $job 1" 40 &&
		logged "JobId=$job asked for 1 GPUs.*shrinks . -> 1 GPUs: $2" &&
		logged "JobId=$job: what it says of itself is doubted: it holds"
}

told() {
	sb scontrol show job "$job" | grep -E "SystemComment=.*$1"
}

ok "a job that says nothing any more gives back what is above its least" \
	gives_back silent "nothing that it says can be believed"
ok "its record says why" wait_until 'told "above its least was lent"' 20
ok "it runs on" is_state "$job" RUNNING
sb scancel "$job"
ok "so does one that is done" gives_back done "its training is done"
ok "its record says why as well" wait_until 'told "above its least was lent"' 20
sb scancel "$job"
ok "one that saves for ever" gives_back saves "it does not end to save"
sb scancel "$job"
ok "and one that trains now and then" gives_back flaps "its training is done"
sb scancel "$job"
ok "one that trains keeps what it has, and is believed" eval \
	'has_gpus $honest 2 && ! logged "JobId=$honest: what it says"'
sb scancel "$honest"
wait_until cluster_is_idle 30

# On GPUs 2 and 3 of n1; 0 and 1 come free and are lost again.
keeps_devices() {
	local before
	before=$(submit_rigid -w n1 --gpus-per-node=2 -- 600)
	wait_until "is_state $before RUNNING" 20 || return 1
	job=$(sb sbatch --parsable --scheduler-params=pollux,min=2,max=4 -x n2 \
		-o "$WORK/fails.out" "$WORK/fails")
	wait_until "trains $job" 20 && devices_of "$job" || return 1
	sb scancel "$before"
	wait_until "logged 'JobId=$job keeps its 2 GPUs: its ranks failed'" 40 ||
		return 1
	devices_of "$job"
	logged "JobId=$job has 4 GPUs on n1" && has_gpus "$job" 2 &&
		[ "$(devices_of "$job")" = "n1 2-3" ]
}

ok "ranks that train on keep their GPUs where a growth is taken back" \
	keeps_devices
sb scancel "$job"
wait_until cluster_is_idle 30

# refuses [WORDS]: who waits gets its GPUs all the same, in the end: after an
# answer's time and a handover's, where nothing is told but that ranks failed.
refuses() {
	echo "$*" >"$WORK/words"
	job=$(sb sbatch --parsable --scheduler-params=pollux,min=1,max=2 -x n2 \
		--gpus-per-node=2 -o "$WORK/refuses.out" "$WORK/refuses")
	wait_until "has_gpus $job 2 && trains $job" 30 || return 1
	rigid=$(submit_rigid -w n1 --gpus-per-node=3 --priority=4294910000 -- 600)
	wait_until "is_state $rigid RUNNING" 50
	local rc=$?
	sb scancel "$job" "$rigid"
	wait_until cluster_is_idle 30
	return $rc
}

ok "a job that says that it cannot be made smaller is, all the same" refuses
ok "also one that says why" refuses "why=SyntaxError: invalid syntax"

launched=$(submit_elastic launched pollux,min=1,max=4 --samples=4096 \
	--batch=256 --max-batch=256 --emulate-gpu=compute --epochs=1000000)
ok "a launcher that srun starts without a word about GPUs holds none" eval '
	wait_until "has_gpus_or_more $launched 2 && trains $launched" 60 &&
	sb scontrol show step "$launched.0" >"$WORK/step" &&
	grep -q "State=RUNNING" "$WORK/step" && ! grep -q "gres" "$WORK/step"'
sb scancel "$launched"
# As its record advises where srun starts the launcher by way of a shell.
launched=$(sb sbatch --parsable -o "$WORK/shell.out" --gpus-per-node=2 \
	--cpus-per-gpu=1 --scheduler-params=pollux,min=1,max=4 --wrap \
	"srun --gres=none sh -c 'exec pollux-launch --checkpoint-dir \
	$WORK/shell.ckpt pollux-train --samples=4096 --batch=256 \
	--max-batch=256 --emulate-gpu=compute --epochs=1000000'")
ok "nor does one with --gres=none, also where CPUs go with GPUs" eval '
	wait_until "has_gpus_or_more $launched 3 && trains $launched" 60'
sb scancel "$launched"
ok "no GPU had two owners in any look" watch_end
ok "nothing is left" wait_until cluster_is_idle 60
