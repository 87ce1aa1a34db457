# SPDX-License-Identifier: MIT
# test_property.t - whatever happens to it, training uses each sample once
#
# Runs of the real training on one checkpoint folder, each with another number
# of ranks and other batch limits, each ended by chance: one rank killed, all
# killed at once, its launcher killed, or told to stop. When a training has
# finished the next one begins. Then one more is resized while it trains, by
# handover, and ranks of it are killed. The seed is printed; POLLUX_SEED=N repeats a
# run as far as time allows, POLLUX_THOROUGH=1 does ten times as many.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/mpi.sh" || exit 1

launcher=$POLLUX_BUILDDIR/tests/unit/fake_launcher
seed=${POLLUX_SEED:-$((SECONDS + $(date +%s) % 32768))}
runs=12
[ -z "${POLLUX_THOROUGH:-}" ] || runs=120
samples=1501 # nothing divides it evenly
epochs=5
batch=30
cd "$WORK" || exit 1

RANDOM=$seed
# below N: a number from 0 to N - 1. Sets $chosen: no subshell, which would
# draw the same again.
below() {
	chosen=$((RANDOM % $1))
}

# started FOLDER N ARGS...: ranks leave their numbers in pid.RANK.
started() {
	local folder=$1 n=$2 mode=$3
	shift 3
	rm -f pid.*
	POLLUX_CHECKPOINT_DIR=$WORK/$folder.ckpt \
		POLLUX_SAMPLE_LOG=$WORK/$folder.log \
		"$launcher" "$WORK/s" "$mode" mpirun -n "$n" bash -c \
		'echo $$ >"pid.$OMPI_COMM_WORLD_RANK"; exec "$@"' - "$train" \
		--samples $samples --epochs $epochs --batch $batch --seed 3 \
		"$@" >"$folder.out.$run" 2>&1 &
	job=$!
}

# Wait for the end of a run, which must not take for ever.
reap() {
	local end=$((SECONDS + 30 * POLLUX_PATIENCE))
	while kill -0 "$job" 2>/dev/null; do
		if [ "$SECONDS" -ge "$end" ]; then
			echo "run $run still lives"
			return 1
		fi
		sleep 0.05
	done
	wait "$job"
	code=$?
	return 0
}

# Nobody of the run is left to write into the folder.
all_gone() {
	local file
	for file in pid.*; do
		[ -e "$file" ] || continue
		wait_until "! kill -0 $(cat "$file")" 30 || return 1
	done
}

# The blow: to whom, after how long (0.3 to 1.5 s; MPI takes the first 0.3).
strike() {
	local kind=$1 n=$2
	sleep "$((300 + RANDOM % 1200))e-3"
	case $kind in
	one)
		kill -KILL "$(cat "pid.$((RANDOM % n))")"
		;;
	all)
		kill -KILL $(cat pid.*)
		;;
	launcher)
		kill -KILL "$job"
		;;
	esac 2>/dev/null
	return 0
}

# One run of the training in FOLDER, ended by chance; $kind and $n say how.
one_run() {
	local folder=$1 kinds=(one one all launcher stop none)
	local mode=listen limits
	below 6
	kind=${kinds[$chosen]}
	below 5
	n=$((chosen + 1))
	below 3
	limits="--max-batch=$((batch << chosen))"
	below 2
	[ "$chosen" = 0 ] || limits+=" --max-gpu-batch=$((batch / 3))"
	[ "$kind" != stop ] || mode=stop
	# shellcheck disable=SC2086
	started "$folder" "$n" $mode $limits --emulate-gpu fixed \
		--checkpoint-every 0.2
	case $kind in
	stop | none) ;;
	*) strike "$kind" "$n" ;;
	esac
	reap && all_gone || return 1
	count[$kind]=$((${count[$kind]:-0} + 1))
	echo "$run $folder $n $kind $limits exit $code" >>"$WORK/history"
}

finished() {
	grep -q '^finished after' "$1".out.*
}

declare -A count
trainings=0
all_runs() {
	local folder=t0
	mkdir t0.log
	for ((run = 0; run < runs; run++)); do
		one_run "$folder" || return 1
		finished "$folder" || continue
		trainings=$((trainings + 1))
		folder=t$trainings
		mkdir "$folder.log"
	done
	# The last one comes to its end undisturbed.
	started "$folder" 2 listen
	reap && [ "$code" = 0 ] && finished "$folder"
	trainings=$((trainings + 1))
}

each_once() {
	local i
	for ((i = 0; i < trainings; i++)); do
		bash "$POLLUX_SRCDIR/tests/samples.sh" "t$i.log" $samples \
			$epochs || return 1
	done
}

# "TRAINING saved|restored STEP CRC" of all runs, in the order they happened;
# a rescue tells no CRC.
crcs() {
	local i run
	for ((i = 0; i < trainings; i++)); do
		for ((run = 0; run <= runs; run++)); do
			[ ! -e "t$i.out.$run" ] ||
				sed -nE -e "s/.*pollux: (saved|restored) step ([0-9]+),.* crc ([0-9a-f]{8}).*/$i \1 \2 \3/p" \
					-e "s/.*pollux: rank .* (rescued) step ([0-9]+) .*/$i \1 \2 -/p" \
					"t$i.out.$run"
		done
	done
}

# A step can be reached twice, with other bits after a rollback: the last time
# counts. Who is killed may have saved without having said so.
bytes_agree() {
	crcs >crcs
	awk '
		$2 == "saved" { last[$1, $3] = $4; next }
		$2 == "rescued" { last[$1, $3] = "-"; next }
		!(($1, $3) in last) { unsaid++; next }
		last[$1, $3] == "-" { rescued++; next }
		last[$1, $3] != $4 {
			print "restored", $0, "but saved", last[$1, $3]
			bad++
		}
		{ same++ }
		END {
			print same + 0, "times the same,", rescued + 0, \
				"rescued,", unsaid + 0, "unsaid"
			exit bad > 0 || same < 1 || unsaid > same + rescued
		}' crcs
}

# Different ends, sizes and batches did happen.
was_varied() {
	cat history
	[ ${#count[@]} -ge 3 ] &&
		[ "$(cut -d' ' -f3 history | sort -u | wc -l)" -ge 3 ] &&
		grep -qhE 'pollux: step [0-9]+: batch' t*.out.*
}

# ---- resized while it trains ----

# Sockets are found below this: a short path.
home=$(mktemp -d /tmp/plx.XXXXXX) && chmod 700 "$home"
trap 'rm -rf "$home"; lib_end' EXIT

# A rank of the live job, any.
live_rank() {
	local pids pid
	pids=$(grep -lszxF "XDG_RUNTIME_DIR=$home" /proc/[0-9]*/environ |
		while read -r pid; do
			pid=${pid%/environ}
			[ "$(cat "$pid/comm" 2>/dev/null)" = pollux-train ] &&
				echo "${pid#/proc/}"
		done | shuf -n 1 --random-source=<(yes "$1"))
	echo "$pids"
}

# By turns of chance: another size, or a rank is killed (twice at most).
live_turn() {
	local kills=$1
	sleep "$((200 + RANDOM % 1000))e-3"
	below 5
	if [ "$chosen" = 0 ] && [ "$kills" -lt 2 ]; then
		kill -KILL "$(live_rank "$RANDOM")" 2>/dev/null
		return 1
	fi
	below 4
	XDG_RUNTIME_DIR=$home pollux-launch --job=live \
		--resize=$((chosen + 1)) >>live.resizes 2>&1
	return 0
}

live_job() {
	local i kills=0 turns=$((runs / 2)) launch
	mkdir live.log
	echo 100000 >live.epochs
	printf '#!/bin/sh\nexec "%s" "$@" --epochs=$(cat "%s")\n' "$train" \
		"$WORK/live.epochs" >live.sh
	chmod +x live.sh
	XDG_RUNTIME_DIR=$home POLLUX_SAMPLE_LOG=$WORK/live.log pollux-launch \
		--local -n 2 -d live --name=live --params=min=1,max=4 \
		--max-restarts=100 "$WORK/live.sh" --samples $samples \
		--batch $batch --max-batch $((4 * batch)) --emulate-gpu fixed \
		--checkpoint-every 1 >live.out 2>live.err &
	launch=$!
	wait_until 'grep -q "^epoch 1/" live.out' 30 || return 1
	for ((i = 0; i < turns; i++)); do
		live_turn $kills || kills=$((kills + 1))
	done
	live_ends "$launch"
}

# The end is read when ranks are started, and so the size is changed.
live_ends() {
	local at
	at=$(grep -oE '^epoch [0-9]+' live.out | tail -n 1)
	last=$((${at#epoch } + 12))
	echo $last >live.epochs
	XDG_RUNTIME_DIR=$home pollux-launch --job=live --resize=3 ||
		XDG_RUNTIME_DIR=$home pollux-launch --job=live --resize=2
	XDG_RUNTIME_DIR=$home pollux-launch --job=live --resize=1
	wait_until "! kill -0 $1" 60 && wait "$1"
	local rc=$?
	grep -v 'epoch' live.out
	cat live.err
	[ $rc = 0 ] && grep -q '^finished after' live.out &&
		grep -cE ' -> [0-9]+ (GPUs|ranks)' live.err
}

plan 6
echo "# seed $seed: POLLUX_SEED=$seed repeats this"
ok "runs of a training end by chance, $runs times, and go on" all_runs
ok "they ended in different ways, on different shapes" was_varied
ok "every sample of every epoch was used exactly once" each_once
ok "what was restored is bit for bit what was saved" bytes_agree
ok "one is resized while it trains, and ranks of it killed" live_job
ok "every sample of every epoch of it was used exactly once" \
	bash "$POLLUX_SRCDIR/tests/samples.sh" live.log $samples "${last:-0}"
echo "# $trainings trainings, $runs runs:" "${!count[@]}" "${count[@]}"
