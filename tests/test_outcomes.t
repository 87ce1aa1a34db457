# SPDX-License-Identifier: MIT
# test_outcomes.t - what each kind of fault costs a training (docs/faults.md)
#
# One job lives through all that can be survived: each time the steps that
# were trained in vain are counted, and in the end every sample must have been
# used once. Others must end, in their own ways.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

sandbox_up --nodes 3 --gpus-per-node 2
plan 23

away_s=12 # that slurmctld is
[ -z "${POLLUX_THOROUGH:-}" ] || away_s=150
samples=4096
args="--samples=$samples --batch=256 --max-batch=256 --emulate-gpu=compute
	--checkpoint-every=1"
options="-v --hang-timeout=4 --checkpoint-dir"
mkdir "$WORK/samples" "$WORK/tmp" "$WORK/steady.ckpt" "$WORK/second"
export TMPDIR=$WORK/tmp
export POLLUX_SAMPLE_LOG=$WORK/samples

# File systems that can be filled; only root can have them.
mounted=()
mount_small() {
	mount -t tmpfs -o "size=$2" none "$1" 2>/dev/null && mounted+=("$1")
}
unmount_end() {
	local rc=$?
	[ -z "$SB" ] || pollux-sandbox down --dir "$SB" >/dev/null 2>&1
	[ ${#mounted[@]} -eq 0 ] || umount -l "${mounted[@]}"
	(exit "$rc")
	lib_end
}
trap unmount_end EXIT

# What a save that was under way gives back is filled by the next call.
fill() {
	dd if=/dev/zero of="$1/filler" bs=4k count=1000 oflag=append \
		conv=notrunc 2>/dev/null
	[ -s "$1/filler" ]
}

# The end is decided when all faults are over.
cat >"$WORK/train" <<END
#!/bin/sh
exec pollux-train "\$@" --epochs="\$(cat '$WORK/epochs')"
END
# A batch script that tries again, as users write them.
cat >"$WORK/steady.sh" <<END
#!/bin/sh
for try in 1 2 3 4; do
	srun pollux-launch $options $WORK/steady.ckpt \
		$WORK/train $(echo $args) && exit 0
	code=\$?
	echo "again after \$code"
done
exit \$code
END
chmod +x "$WORK/train"
echo 1000000 >"$WORK/epochs"

launched() {
	sb sbatch --parsable -J "$1" --scheduler-params="pollux,$2" \
		-o "$WORK/$1.out" --open-mode=append "${@:3}"
}

# ---- one fault after the other ----

generations() {
	find "$WORK/samples" -name '*.*' -printf '%f\n' | sed 's/\..*//' |
		sort -nu
}

# Steps that the newest generation had to do again.
lost_steps() {
	local last newest from
	newest=$(generations | tail -n 1)
	last=$(generations | tail -n 2 | head -n 1)
	from=$(sed -n 's/^from //p' "$WORK/samples/$newest".* | head -n 1)
	cat "$WORK/samples/$last".* | awk -v from="$from" '
		$1 ~ /^[0-9]/ && $1 > step { step = $1 }
		END { print step + 1 - from }'
}

trained_more() {
	[ "$(epochs_of steady)" -gt $(("$1" + 1)) ]
}

trains_well() {
	local epochs
	epochs=$(epochs_of steady)
	wait_until "trains $steady && trained_more $epochs" 30
}

started_again() {
	[ "$(generations | tail -n 1)" -gt "$1" ]
}

# survives STEPS COMMAND...: training goes on, at most STEPS are done again.
survives() {
	local most=$1 before lost
	shift
	before=$(generations | tail -n 1)
	"$@" && wait_until "started_again $before" 60 && trains_well || return 1
	lost=$(lost_steps)
	echo "$* lost $lost steps" | tee -a "$WORK/losses"
	[ "$lost" -le "$most" ]
}

parent_of() {
	awk '$1 == "PPid:" { print $2 }' "/proc/$1/status"
}

kill_rank() {
	# shellcheck disable=SC2046
	signal KILL $(rank_of "$steady" 3)
}

hang_rank() {
	# shellcheck disable=SC2046
	signal STOP $(rank_of "$steady" 2)
}

# slurmstepd starts pollux-rank, and that the program.
kill_slurmstepd() {
	signal KILL "$(parent_of "$(parent_of "$(rank_of "$steady" 3)")")"
}

# The guard's child: not the srun that started the launcher.
kill_srun() {
	local pid
	for pid in $(pgrep -x srun); do
		grep -qszxF "POLLUX_SANDBOX=$SB" "/proc/$pid/environ" &&
			grep -qsza '^--job-name=pollux' "/proc/$pid/cmdline" &&
			[ "$(cat "/proc/$(parent_of "$pid")/comm")" = \
				pollux-guard ] && signal KILL "$pid" && return
	done
	return 1
}

kill_launcher() {
	# shellcheck disable=SC2046
	signal KILL $(launcher_of "$steady")
}

second_refused() {
	fails sb srun --jobid="$steady" --overlap -n1 -N1 pollux-launch \
		--checkpoint-dir "$WORK/steady.ckpt" hostname \
		>"$WORK/second.out" 2>&1 || return 1
	cat "$WORK/second.out"
	grep -q 'belongs to a pollux-launch that lives (job' "$WORK/second.out"
}

# Nobody notices.
lose_slurmctld() {
	local before epochs
	before=$(generations | tail -n 1)
	kill_slurmctld
	sleep "$away_s"
	restart_slurmctld
	epochs=$(epochs_of steady)
	wait_until "trained_more $epochs" 30 &&
		[ "$(generations | tail -n 1)" -eq "$before" ]
}

# srun needs it to tell the other ranks.
lose_slurmctld_and_rank() {
	kill_slurmctld
	sleep 1
	kill_rank
	sleep 6
	restart_slurmctld
}

requeue() {
	sb scontrol requeue "$steady" &&
		wait_until "is_state $steady PENDING" 30 || return 1
	begin_now "$steady"
}

cannot_save() {
	fill "$WORK/steady.ckpt"
	grep -q "pollux: cannot save step .* in $WORK/steady.ckpt: .*No space left" "$WORK/steady.out"
}

saves_again() {
	[ "$(lines_in "$WORK/steady.out" 'pollux: saved step')" -gt "$1" ]
}

# It trains on without saving, and saves as soon as there is room.
fill_checkpoints() {
	local saved
	wait_until cannot_save 30 || return 1
	kill_rank && wait_until "! trains $steady" 10
	trains_well || return 1
	rm "$WORK/steady.ckpt/filler"
	saved=$(lines_in "$WORK/steady.out" 'pollux: saved step')
	wait_until "saves_again $saved" 30
}

fill_tmp() {
	fill "$WORK/tmp" && kill_rank
}

completes() {
	local epoch
	epoch=$(grep -oE '^epoch [0-9]+' "$WORK/steady.out" | tail -n 1)
	last=$((${epoch#epoch } + 8))
	echo $last >"$WORK/epochs"
	kill_rank && wait_until "is_state $steady COMPLETED" 60
}

samples_once() {
	bash "$POLLUX_SRCDIR/tests/samples.sh" "$WORK/samples" $samples "$last"
}

mount_small "$WORK/steady.ckpt" 1m
mount_small "$WORK/tmp" 256k
steady=$(launched steady min=4,max=4 "$WORK/steady.sh")
ok "a job trains on two nodes" wait_until "trains $steady" 60
trains_well >/dev/null
ok "a rank is killed: one step lost at most" survives 1 kill_rank
ok "a rank hangs: one step lost at most" survives 1 hang_rank
ok "slurmstepd is killed: one step lost at most" survives 1 kill_slurmstepd
ok "another launcher is refused while the first lives" second_refused
ok "the launcher is killed: the next takes over, one step lost at most" \
	survives 1 kill_launcher
ok "srun is killed: what was trained since the last checkpoint is lost" \
	survives 60 kill_srun
ok "slurmctld is away: training goes on as if nothing was" lose_slurmctld
ok "a rank is killed meanwhile: what was trained since a checkpoint is lost" \
	survives 60 lose_slurmctld_and_rank
ok "the job is requeued: one step lost at most" survives 1 requeue
if [ ${#mounted[@]} -eq 2 ]; then
	ok "/tmp is full when a rank is killed: one step lost at most" \
		survives 1 fill_tmp
	ok "checkpoints have no room: training goes on, and saves later" \
		fill_checkpoints
else
	skip "/tmp is full" "only root can mount a small file system"
	skip "checkpoints have no room" "only root can mount one"
fi
ok "after all that the job completes" completes
ok "every sample of every epoch was used exactly once" samples_once
ok "no process of the job is left" all_left "$steady"
diag <"$WORK/losses"

# ---- what ends a job ----

unset POLLUX_SAMPLE_LOG
echo 1000000 >"$WORK/epochs"

starts() {
	lines_in "$WORK/$1.out" '^pollux-launch: start [0-9]+:'
}

fails_with() {
	wait_until "ended $1" 60
	job_field "$1" ExitCode | tee /dev/stderr | grep -qx "$2:0"
}

# It never gets to train: what it says is its own affair, and said once.
error_at_once() {
	local job
	job=$(launched wrong min=1,max=1 --wrap "srun pollux-launch $options \
$WORK/wrong.ckpt sh -c 'echo no such layer >&2; exit 7'")
	fails_with "$job" 7 && cat "$WORK/wrong.out" &&
		[ "$(starts wrong)" -eq 1 ] &&
		grep -q 'with exit code 7; its last' "$WORK/wrong.out" &&
		grep -q '| no such layer' "$WORK/wrong.out"
}

# It trains a while, and fails whenever it is started again.
cat >"$WORK/fails" <<END
#!/bin/sh
pollux-train "\$@" --epochs=1000000 &
sleep 1.5
kill -9 \$!
wait
echo "loss is not a number" >&2
exit 7
END
chmod +x "$WORK/fails"

error_again() {
	local job
	job=$(launched again min=1,max=1 --wrap "srun pollux-launch $options \
$WORK/again.ckpt $WORK/fails $(echo $args)")
	fails_with "$job" 7 && grep pollux-launch: "$WORK/again.out" &&
		[ "$(starts again)" -eq 4 ] &&
		grep -q 'in 0.4 s (restart 1 of 3)' "$WORK/again.out" &&
		grep -q 'in 1.6 s (restart 3 of 3)' "$WORK/again.out" &&
		grep -q 'after 3 restarts without progress, giving up' \
			"$WORK/again.out" &&
		grep -q '| loss is not a number' "$WORK/again.out"
}

# As with sbatch --signal=TERM@60: steps are told, the script is not.
signalled() {
	local job
	job=$(launched warned min=2,max=2 --wrap "srun pollux-launch $options \
$WORK/warned.ckpt $WORK/train $(echo $args)")
	wait_until "trains $job" 60 && sleep 1 &&
		sb scancel --signal=TERM "$job" && fails_with "$job" 143 &&
		grep -q 'Terminated: saving, then leaving' "$WORK/warned.out"
}

# Its checkpoint is newer than those written on the way.
goes_on_elsewhere() {
	local job saved
	saved=$(sed -nE 's/.*(saved|rescued) step ([0-9]+).*/\2/p' \
		"$WORK/warned.out" | sort -n | tail -n 1)
	echo 3 >"$WORK/epochs"
	job=$(launched warned min=2,max=2 --wrap "srun pollux-launch $options \
$WORK/warned.ckpt $WORK/train $(echo $args)")
	wait_until "is_state $job COMPLETED" 60 || return 1
	echo 1000000 >"$WORK/epochs"
	grep -q "restored step $saved," "$WORK/warned.out"
}

# The limit is a minute at least, and looked at every 30 s.
timed_out() {
	local job
	job=$(launched late min=2,max=2 -t 1 --wrap "srun pollux-launch \
$options $WORK/late.ckpt $WORK/train $(echo $args)")
	wait_until "is_state $job TIMEOUT" 120 && cat "$WORK/late.out" &&
		grep -qE 'stopped after|rescued step' "$WORK/late.out"
}

cancelled() {
	gone=$(launched gone min=4,max=4 --wrap "srun pollux-launch $options \
$WORK/gone.ckpt $WORK/train $(echo $args)")
	wait_until "trains $gone" 60 && sb scancel "$gone" &&
		wait_until "is_state $gone CANCELLED" 30
}

ok "an error of the program ends the job at once, with its code and words" \
	error_at_once
ok "one that comes back ends it after growing waits" error_again
ok "a warning before the time limit: it saves and ends with code 143" \
	signalled
ok "another job goes on from that" goes_on_elsewhere
ok_thorough "at its time limit a job saves" timed_out
ok "a job is cancelled" cancelled
ok "no process of it is left" all_left "$gone"
ok "all nodes are idle, and slurmctld lives" \
	wait_until "cluster_is_idle && slurmctld_lives" 60
