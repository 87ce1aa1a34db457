#!/bin/bash
# SPDX-License-Identifier: MIT
# check_gpu.sh - what needs a GPU, on a machine that has one: make check-gpu
#
# Says "no GPU here" and leaves with exit code 77 where there is none. Prints
# TAP, and at the end the GPU's name and the figures for docs/benchmarks.md.
# Has never been run on a GPU yet, but with what stands in for one: see
# test_coll.t.
. "${POLLUX_SRCDIR}/tests/lib.sh"
. "${POLLUX_SRCDIR}/tests/mpi.sh"

probe=$POLLUX_BUILDDIR/tests/unit/coll_probe
cost=$POLLUX_BUILDDIR/bench/gpu
play=$POLLUX_BUILDDIR/bench/generations
# Less of all where nothing but the order of calls is tried.
: "${GPU_SAMPLES:=8192}"
: "${GPU_HIDDEN:=256,128}"
: "${GPU_TURNS:=101}"
: "${GPU_WIDE:=2048,2048}" # slow enough to be resized meanwhile
: "${GPU_EPOCHS:=400}"
: "${GPU_RESIZES:=3}"
cd "$WORK" || exit 1

args=(--samples "$GPU_SAMPLES" --features 64 --hidden "$GPU_HIDDEN"
	--epochs 3 --batch 128 --max-batch 128 --json)

if ! ranks 0 "$train" --samples 8 --epochs 1 --device=cuda >here.out 2>&1; then
	echo "no GPU here: $(sed -n 's/^pollux-train: //p' here.out | head -n 1)"
	exit 77
fi

# Losses of the epochs and of the end, one a line.
losses() {
	sed -n -e 's/^epoch .* loss \([0-9.]*\),.*/\1/p' \
		-e 's/.*"loss":\([0-9.]*\).*/\1/p' "$1"
}

# To 0.2 per cent: additions are made in another order.
like_cpu() {
	losses cpu.out >cpu.loss
	losses "$1" >gpu.loss
	paste cpu.loss gpu.loss
	paste cpu.loss gpu.loss | awk '
		{ d = $1 - $2; if (d < 0) d = -d; bad += d > 0.002 * $1 }
		END { exit bad || NR != 4 }'
}

on_cpu() {
	ranks 0 "$train" "${args[@]}" >cpu.out 2>&1
}

# on_gpu N NAME OPTION...
on_gpu() {
	local n=$1 name=$2
	shift 2
	ranks "$n" "$train" "${args[@]}" --device=cuda "$@" >"$name.out" 2>&1
	local rc=$?
	cat "$name.out"
	[ $rc -eq 0 ] && like_cpu "$name.out"
}

over() {
	grep -q "rank.* over $1, batch" "$2.out"
}

checkpointed() {
	on_gpu 0 saved --checkpoint-dir gpu.saved --epochs 2 >/dev/null
	ranks 0 "$train" "${args[@]}" --device=cuda --checkpoint-dir gpu.saved \
		--epochs 3 >more.out 2>&1 || return 1
	cat more.out
	grep 'restored step .* as saved' more.out
}

# One rank after the other, all on this GPU, each started beside the last.
handed_over() {
	mkdir -p turns/log
	POLLUX_SAMPLE_LOG=$WORK/turns/log "$play" --finish --ranks=1 \
		--resizes="$GPU_RESIZES" --seed=2 --dir="$WORK/turns" -- \
		"$train" --device=cuda --samples 1000 --features 64 \
		--hidden "$GPU_WIDE" --epochs "$GPU_EPOCHS" --batch 128 \
		--max-batch 128 --checkpoint-every 0 >turns.out 2>&1
	local rc=$?
	tail -n 30 turns.out
	[ $rc -eq 0 ] && grep '^finished after' turns.out &&
		bash "$POLLUX_SRCDIR/tests/samples.sh" turns/log 1000 \
			"$GPU_EPOCHS"
}

if [ -x "$play" ]; then
	plan 9
else
	plan 8
fi
ok "kernels for gradients agree with the host" ranks 0 "$probe" gradient
ok "NCCL with one rank does every operation" ranks 0 "$probe" sums nccl cuda
ok "the CPU trains, to compare with" on_cpu
ok "the GPU's losses are the CPU's" on_gpu 0 alone
ok "... over NCCL with one rank" \
	eval 'on_gpu 0 nccl --collectives nccl && over nccl nccl'
ok "... with two ranks on one GPU, over MPI" on_gpu 2 two --collectives mpi
ok "... in several passes a step" on_gpu 0 parts --max-gpu-batch 48
ok "device memory is saved and restored" checkpointed
if [ -x "$play" ]; then
	ok "generations hand device memory over on one GPU" handed_over
fi

echo "# $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader \
	2>/dev/null | head -n 1 || true)"
for over in self nccl; do
	echo "# bench/gpu --collectives=$over: $("$cost" --json \
		--turns="$GPU_TURNS" --hidden="${GPU_HIDDEN%%,*}" \
		--collectives=$over 2>&1 | tail -n 1)"
done
[ ! -f turns.out ] || grep '^resize' turns.out | diag
