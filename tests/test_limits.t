# SPDX-License-Identifier: MIT
# test_limits.t - time limits: saved before, gone on after, time parked given back
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

# Slurm counts limits in minutes and looks every 30 s.
minutes=1
parked_s=45
epochs=13 # with the time parked, more than the limit
if [ -n "${POLLUX_THOROUGH:-}" ]; then
	minutes=3
	parked_s=60
	epochs=58
fi

sandbox_up --nodes 7 --gpus-per-node 2 --params pollux_min_gap=0.2 \
	--conf-extra OverTimeLimit=0 \
	--conf-extra "PartitionName=brief Nodes=n3 MaxTime=1"
checks=33
[ -z "${POLLUX_THOROUGH:-}" ] || checks=34
plan $checks

# At 1740 samples a second on one GPU, always in the same batches.
pace=1740
fixed="--samples=$((5 * pace)) --batch=64 --max-batch=64 --seed=3"
training="$fixed --emulate-gpu=compute"

# train NAME PARAMS MINUTES SBATCH-OPTIONS... -- LAUNCH-OPTIONS... -- EPOCHS
train() {
	local name=$1 params=$2 time=$3 options=() launch=()
	shift 3
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	while [ "$1" != -- ]; do
		launch+=("$1")
		shift
	done
	mkdir -p "$WORK/$name.samples"
	sb env POLLUX_SAMPLE_LOG="$WORK/$name.samples" sbatch --parsable \
		-J "$name" --time="$time" --scheduler-params="$params" \
		-o "$WORK/$name.out" --open-mode=append "${options[@]}" --wrap \
		"srun pollux-launch -v --checkpoint-dir $WORK/$name.ckpt ${launch[*]} pollux-train $training --epochs=$2"
}

# block NODE MINUTES SECONDS: all its GPUs are somebody's.
block() {
	submit_rigid -w "$1" --gpus-per-node=2 --priority=100000 \
		--time="$2" -- "$3"
}

seconds_of() {
	date -d "$(job_field "$1" "$2")" +%s
}

# It ends so many seconds after its start, or more.
lasts() {
	[ $(($(seconds_of "$1" EndTime) - $(seconds_of "$1" StartTime))) -ge "$2" ]
}

parked() {
	is_state "$1" RUNNING && has_gpus "$1" 0
}

rows() {
	sb sacct -n -D -X -P -j "$1" -o state
}

crc_of() {
	sed -n 's/^finished after .* crc \([0-9a-f]*\)$/\1/p' "$1" | tail -n 1
}

refused() {
	! sb sbatch -o /dev/null "${@:2}" --wrap "sleep 1" \
		>"$WORK/refused.out" 2>&1 || return 1
	cat "$WORK/refused.out"
	grep -qF "$1" "$WORK/refused.out"
}

ok "--no-requeue and at-limit=requeue are refused together" refused \
	"at-limit=requeue: the job may not be requeued; leave out --no-requeue" \
	--no-requeue --scheduler-params=pollux,at-limit=requeue
ok "at-limit=requeue is for batch jobs" fails sb srun \
	--scheduler-params=pollux,at-limit=requeue true

# ---- all begin at once, as time is what this is about

again=$(train again pollux,max=1,at-limit=requeue 1 -w n1 -- \
	--limit-margin=10 -- 18)
ends=$(train ends pollux,max=1 1 -w n1 -- -- 100)
parks=$(train parks pollux,max=2 "$minutes" -w n2 --priority=1000 \
	-- -- $epochs)
short=$(submit_light short pollux,max=2 -p brief --time=1 --priority=1000 --)
near=$(submit_light near pollux,max=2 -w n4 --time=1 --priority=1000 --)
next=$(submit_light next pollux,max=2 -w n5 --time=1 --priority=1000 --)
half=$(submit_rigid -w n6 --gpus-per-node=1 --time=10 -- 600)
wait_until "is_state $half RUNNING" 30
below=$(submit_light below pollux,max=2 -w n6 --time=10 --priority=1000 --)
wait_until "trains $again && trains $ends && trains $parks" 60
wait_until "has_gpus $short 2 && has_gpus $near 2 && has_gpus $next 2" 60
accrued=$(job_field "$again" AccrueTime)

# A program that knows nothing of us, and saves on USR1.
cat >"$WORK/count.sh" <<'END'
n=$(cat "$POLLUX_CHECKPOINT_DIR/count" 2>/dev/null || echo 0)
echo "begins at $n"
trap 'echo "$n" >"$POLLUX_CHECKPOINT_DIR/count"; exit 85' USR1
while sleep 0.1; do
	n=$((n + 1))
done
END
other=$(sb sbatch --parsable -J other --time=1 -w n7 -o "$WORK/other.out" \
	--scheduler-params=pollux,max=1 --wrap "srun pollux-launch -v \
	--checkpoint-dir $WORK/other.ckpt bash $WORK/count.sh")

sb scontrol create reservation ReservationName=later Nodes=n4 Users=root \
	Flags=IGNORE_JOBS Duration=60 \
	StartTime="$(date -d "@$(($(seconds_of "$near" EndTime) + 5))" \
		+%Y-%m-%dT%H:%M:%S)" >/dev/null
blocks="$(block n2 5 "$parked_s") $(block n3 1 600)"
blocks+=" $(block n4 1 600) $(block n5 1 600)"
ok "jobs are parked by others of higher priority" wait_until "parked $parks &&
	parked $short && parked $near && parked $next" 60
since=$(date +%s)
# It is planned to start when both of its node have ended.
waits=$(sb sbatch --parsable -o /dev/null -w n5 --exclusive --priority=10 \
	--time=1 --wrap "sleep 600")

# ---- time parked is given back

ok "a parked job's end moves on while it is parked" \
	wait_until "lasts $parks $((60 * minutes + 10))" 20
ok "its time limit with it" \
	[ "$(job_field "$parks" TimeLimit)" = "00:0$((minutes + 1)):00" ]
ok "only the time of who is parked is, unless an operator wants more" \
	fails lasts "$below" 601
sed -i '/^SchedulerParameters=/s/$/,pollux_time_back=share/' \
	"$SB/etc/slurm.conf"
before=$(seconds_of "$parks" EndTime)
pollux-sandbox restart slurmctld --dir "$SB" >/dev/null 2>&1
ok "slurmctld is restarted, and that stays" wait_until \
	"[ \$(seconds_of $parks EndTime) -ge $before ]" 30
ok "and goes on" wait_until "lasts $parks $((60 * minutes + 30))" 40
ok "not beyond its partition's MaxTime" wait_until "logged \
	'JobId=$short is not given back .*: partition brief has MaxTime=1'" 20
ok "nor into a reservation of its node" wait_until "logged \
	'JobId=$near is not given back .*: one of its nodes is reserved'" 40
ok "nor past the start that is planned for a job that waits for it" \
	wait_until "logged 'JobId=$next is not given back .*: job $waits is'" 60

# ---- saved before the limit

ok "half a minute before its limit a job is told to save" wait_until \
	"grep -q 'time limit is in [23][0-9] s: saving' $WORK/ends.out" 40
# The next event is a checkpoint, in no time.
saved_at_once() {
	awk '
		match($0, /"time":[0-9.]+/) {
			time = substr($0, RSTART + 7, RLENGTH - 7) + 0
		}
		at && !seen && /"event":"checkpoint"/ {
			seen = 1
			good = time < at + 5
		}
		/"event":"limit"/ { at = time }
		END { exit !good }' "$WORK/ends.ckpt/events.jsonl"
}
saved_after() {
	sed '1,/"event":"limit"/d' "$WORK/ends.ckpt/events.jsonl" |
		grep -q '"event":"checkpoint"'
}
ok "a checkpoint is written at once" \
	eval 'wait_until saved_after 20 && saved_at_once'
ok "and it trains on" trains "$ends"
ok "so is a program that is no training of ours, by its signal" wait_until \
	"grep -q 'begins at [1-9][0-9]*' $WORK/other.out &&
		grep -q 'time limit is in [23][0-9] s: saving' $WORK/other.out" 40
ok "its record says that it will not be done by then" wait_until \
	"sb scontrol show job $ends | tr -d '\n' |
		grep -q 'will not finish by its time limit'" 30

# ---- and gone on after it

ok "a job at its limit is put into the queue" wait_until \
	"logged 'JobId=$again asked for 0 GPUs .*its time limit is in'" 60
ok "and goes on from there" wait_until \
	"rows $again | tail -n 1 | grep -q RUNNING &&
		rows $again | grep -q REQUEUED && trains $again" 60
ok "with the age that it had" [ "$(job_field "$again" AccrueTime)" = "$accrued" ]
ok "and a whole time limit" eval 'lasts $again 60 && ! lasts $again 62 &&
	[ "$(job_field "$again" TimeLimit)" = 00:01:00 ]'
ok "its user was told" grep -q 'asked to leave its nodes: its time limit' \
	"$WORK/again.out"

# ---- the ends

ok "the time of who was parked ran out elsewhere" wait_until \
	"ended $short $near $next" 120
ok "a job parked for $parked_s s of its limit of $minutes min ends by itself" \
	wait_until "is_state $parks COMPLETED" $((60 * minutes + 60))
ok "after longer than that" [ $(($(seconds_of "$parks" EndTime) -
	$(seconds_of "$parks" StartTime))) -gt $((60 * minutes)) ]
ok "the log says by how much it was longer" logged \
	"JobId=$parks: [0-9]+ s so far are given back to its time limit, now"
ok "one that has reached its limit ends as Slurm ends it" \
	wait_until "is_state $ends TIMEOUT" 60
ok "so does the one without libpollux, with its state" eval '
	wait_until "is_state $other TIMEOUT" 60 &&
		[ "$(cat "$WORK/other.ckpt/count")" -gt 50 ]'
ok "and says how to go on" grep -q \
	"submitted again with --checkpoint-dir=$WORK/ends.ckpt" "$WORK/ends.out"
ok "the one that went on has ended" \
	wait_until "is_state $again COMPLETED" 90

# The same training without a break, much faster.
pollux-train $training --time-scale=1000 --epochs=18 >"$WORK/whole.txt" 2>&1
diag <"$WORK/whole.txt"
ok "with the very model of an uninterrupted training" eval '
	crc_of "$WORK/again.out"
	[ -n "$(crc_of "$WORK/whole.txt")" ] &&
		[ "$(crc_of "$WORK/again.out")" = "$(crc_of "$WORK/whole.txt")" ]'
ok "each sample was used once in each epoch" bash \
	"$POLLUX_SRCDIR/tests/samples.sh" "$WORK/again.samples" $((5 * pace)) 18
ok "who has half of its share is given time as well, if so" \
	wait_until "lasts $below 660" 120
sb scontrol update job="$below" TimeLimit=20
# What was given is on its record.
pollux-sandbox restart slurmctld --dir "$SB" >/dev/null 2>&1
sb scontrol requeue "$below"
ok "a limit that an operator sets is not shortened by what was given before" \
	eval 'wait_until "[ \$(job_field $below Restarts) = 1 ] &&
		is_state $below RUNNING" 150 &&
		[ "$(job_field "$below" TimeLimit)" = 00:20:00 ]'
# shellcheck disable=SC2086 # words
sb scancel $blocks $waits $half $below

[ -n "${POLLUX_THOROUGH:-}" ] || exit 0

# ---- without progress it is not for ever

stuck=$(submit_light stuck pollux,max=1,at-limit=requeue --time=1 --)
ok "a job that comes no further ends at its limit, in the end" wait_until \
	"is_state $stuck TIMEOUT && logged 'JobId=$stuck ends at its time limit'" \
	1500
