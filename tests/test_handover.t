# SPDX-License-Identifier: MIT
# test_handover.t - one generation of ranks takes over from the other
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/mpi.sh" || exit 1

play=$POLLUX_BUILDDIR/bench/generations
cd "$WORK" || exit 1

# One step takes some 30 ms, an epoch a second: long enough for resizes in the
# middle, also where ranks take seconds to begin.
epochs=2
args() {
	echo --emulate-gpu compute --samples 2000 --epochs $epochs --batch 60 \
		--max-batch 60 --ballast-mb 3
}

# play NAME OPTION... -- TRAIN...: to the end, in a folder of that name.
play() {
	local name=$1
	shift
	mkdir -p "$name/log"
	POLLUX_SAMPLE_LOG=$WORK/$name/log timeout -k 5 $((60 * POLLUX_PATIENCE)) \
		"$play" --finish --dir="$WORK/$name" "$@" >"$name/out" 2>&1 ||
		{ cat "$name/out"; return 1; }
}

# Every sample once in each epoch, and the end was reached.
complete() {
	cat "$1/out"
	grep -q '^finished after' "$1/out" &&
		bash "$POLLUX_SRCDIR/tests/samples.sh" "$1/log" 2000 $epochs
}

# What was restored is what the old ranks had: N times.
restored_as_left() {
	grep -oE 'restored step .* crc [0-9a-f]+ as saved' "$1/out" |
		sed 's/.*step \([0-9]*\),.* crc \([0-9a-f]*\) .*/\1 \2/' \
			>"$1/restored"
	sed -n 's/^stopped after \([0-9]*\) .* crc \(.*\)/\1 \2/p' "$1/out" \
		>"$1/left"
	diff "$1/left" "$1/restored" && [ "$(wc -l <"$1/left")" -eq "$2" ]
}

# The whole state went through memory: no file was written for it.
no_file_but_the_last() {
	ls "$1"
	[ "$(find "$1" -name 'step-*' -prune | wc -l)" -le 1 ]
}

# shellcheck disable=SC2046 # args are words
resizes() {
	local epochs=10

	play resizes --resizes=3 --ranks=4 --seed=3 -- "$train" $(args) \
		--checkpoint-every 0 && complete resizes
}

failing() {
	local epochs=6

	play "$1" --fail="$1" --ranks=3 --seed=2 -- "$train" $(args) &&
		complete "$1"
}

# One bit of what a rank of process $RANKS keeps in memory.
cat >flip <<'END'
shopt -s nullglob
for fd in /proc/[0-9]*/fd/*; do
	case $(readlink "$fd") in */memfd:pollux*) ;; *) continue ;; esac
	pid=${fd#/proc/}
	pid=${pid%%/*}
	parent=$(awk '{ print $4 }' "/proc/$pid/stat")
	[ "$parent" = "$RANKS" ] || continue
	at=$(($(stat -Lc %s "$fd") - 100000))
	byte=$(od -An -tu1 -j "$at" -N 1 "$fd")
	printf "\\$(printf %o $((byte ^ 16)))" |
		dd of="$fd" bs=1 seek="$at" conv=notrunc status=none
	exit
done
exit 1
END

damaged() {
	local epochs=6

	play damaged --fail=damaged --held="bash $WORK/flip" --ranks=3 \
		--seed=2 -- "$train" $(args) && complete damaged &&
		grep -E 'state in memory (was changed|is not good on all nodes)' \
			damaged/out
}

# Virtual nodes of two ranks; each generation begins on another one.
cat >on_nodes <<'END'
node=$(((OMPI_COMM_WORLD_RANK / 2 + ${SHIFT:-0} * POLLUX_GENERATION) % 3))
export SLURM_NODEID=$((OMPI_COMM_WORLD_RANK / 2)) SLURMD_NODENAME=n$node
exec "$@"
END

across_nodes() {
	local name=$1 shift=$2 from=$3 epochs=10
	POLLUX_NODES_APART=1 SHIFT=$shift play "$name" --resizes=2 --min=3 \
		--ranks=6 --seed=4 -- bash "$WORK/on_nodes" "$train" $(args) &&
		complete "$name" && restored_as_left "$name" 2 &&
		grep "state comes from rank $from" "$name/out"
}

cold() {
	local epochs=6

	play cold --cold --resizes=2 --ranks=3 -- "$train" $(args) &&
		complete cold
}

alone_and_warm() {
	POLLUX_WARM=1 timeout 20 "$train" $(args) >alone.out 2>&1
	[ $? -eq 1 ] && grep 'started ahead, but the launcher is gone' alone.out
}

# Sockets are abstract and memory has no name: only processes could stay.
nothing_is_left() {
	! grep -a "pollux.$(id -u).generations" /proc/net/unix &&
		! ls /dev/shm | grep "pollux.*generations"
}

plan 14
ok "handovers lose and repeat no sample" resizes
ok "the state that is taken is the state that was left" \
	restored_as_left resizes 3
ok "a handover writes no file" no_file_but_the_last resizes
ok "the next ranks may die before the state is handed over" failing ready
ok "the next ranks may die while the state is held" failing held
ok "one flipped bit is seen, and the old ranks train on" damaged
ok "the old ranks may die while the next ones wait" failing lost
ok "the launcher may go while the state is held" failing gone
ok "a launcher that goes loses nothing: the state is on disk" \
	grep -q 'launcher is gone; state is saved' gone/out
ok "state goes to nodes that had none" across_nodes grown 1 0
ok "and to a first rank that is new to its node" across_nodes moved 2 '[1-9]'
ok "resizes without handover lose and repeat no sample either" cold
ok "a program started ahead of nobody says so" alone_and_warm
ok "nothing is left behind" nothing_is_left
