# SPDX-License-Identifier: MIT
# test_coll.t - what ranks do together, and what they do without one of them
#
# Over MPI for real. Over CUDA and NCCL with what stands in for their
# libraries (unit/fake_cuda.h): there need be no GPU here.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/mpi.sh" || exit 1

probe=$POLLUX_BUILDDIR/tests/unit/coll_probe
gpu_probe=$POLLUX_BUILDDIR/tests/unit/gpu_probe
fake=$POLLUX_BUILDDIR/tests/unit/.libs/fake_cuda.so
cd "$WORK" || exit 1

# stand_in NAME...: libraries that are the fake's, in a folder of their own.
stand_in() {
	local name
	for name; do
		mkdir -p "$WORK/gpu"
		ln -s "$fake" "$WORK/gpu/$name"
	done
}

# on_gpu N COMMAND...: with the libraries standing in.
on_gpu() {
	local n=$1
	shift
	if [ "$n" -eq 0 ]; then
		LD_LIBRARY_PATH=$WORK/gpu:$LD_LIBRARY_PATH ranks 0 "$@"
	else
		ranks "$n" env LD_LIBRARY_PATH="$WORK/gpu:$LD_LIBRARY_PATH" "$@"
	fi
}

# says N SENTENCE COMMAND...: exactly N ranks do.
says() {
	local n=$1 sentence=$2
	shift 2
	"$@" >says.out 2>&1
	cat says.out
	[ "$(grep -c -- "$sentence" says.out)" -eq "$n" ]
}

virtual_nodes() {
	local place='SLURM_NODEID=$((OMPI_COMM_WORLD_RANK % 2 + 3)) exec "$@"'
	ranks 5 bash -c "$place" - "$probe" sums mpi >nodes.out 2>&1
	cat nodes.out
	grep 'rank 0 of 5 over mpi, node 0 of 2, local 0 of 3' nodes.out &&
		grep 'rank 3 of 5 over mpi, node 1 of 2, local 1 of 2' nodes.out &&
		grep 'rank 4 of 5 over mpi, node 0 of 2, local 2 of 3' nodes.out
}

# mpirun ends all, and nobody is left stopped.
hangs() {
	says 2 'waits for others, which do not answer for 3 s' \
		ranks 3 "$probe" late mpi hang 3 &&
		says 0 . pgrep -f "$probe late"
}

without_gpu() {
	export CUDA_VISIBLE_DEVICES=
	says 2 '' ranks 2 "$probe" sums auto
	grep -c 'of 2 over mpi' says.out | grep -x 2
	fails ranks 1 "$probe" sums nccl >none.out 2>&1 || return 1
	cat none.out
	unset CUDA_VISIBLE_DEVICES
	grep 'cannot open libcuda\|there is no GPU\|cudaGetDeviceCount failed\|built without NCCL' none.out
}

# All take what all have.
one_without_gpu() {
	local own='FAKE_GPUS=$((OMPI_COMM_WORLD_RANK != 1)) exec "$@"'
	says 3 'over mpi' on_gpu 3 bash -c "$own" - "$probe" sums auto
	fails on_gpu 3 bash -c "$own" - "$probe" sums nccl >lone.out 2>&1 ||
		return 1
	cat lone.out
	grep 'no CUDA-capable device' lone.out
}

gpu_fault() {
	FAKE_NCCL=$1 says 3 "$2" on_gpu 3 "$probe" late nccl none 3
}

kernels_on_host() {
	FAKE_NVRTC=broken on_gpu 0 "$probe" gradient >host.out 2>&1 || return 1
	grep 'agree, on the host, for NVRTC: line 1: this is not C' host.out
}

kernels_for_old() {
	FAKE_NVRTC=old on_gpu 0 "$probe" gradient
}

# A pass is over when the GPU says so, long after the host has launched it.
pass_times() {
	FAKE_KERNEL_US=3000 on_gpu 0 "$gpu_probe" times 30 | tee times.out
	jq -e '.gpu_ms > 85 and .launch_ms < 20 and .pollux_ms > 85' times.out
}

# As PyTorch brings its own: under another version, and with a hash in its name.
loaded_before() {
	local name
	for name in libcudart.so.12 libcudart-d0da41ae.so.11.0; do
		mkdir -p trap
		ln -sf "$fake" "trap/$name"
		echo 'int cudaGetDeviceCount(int *n) { return *n = 0, 35; }' |
			"${CC:-cc}" -shared -o trap/libcudart.so.13 -x c - &&
			LD_LIBRARY_PATH=$WORK/trap:$WORK/gpu:$LD_LIBRARY_PATH \
				LD_PRELOAD=$WORK/trap/$name ranks 0 \
				"$gpu_probe" device 0 || return 1
		rm -r trap
	done
}

# chooses WANT VARIABLES... [-- GPU]: of four, unless told otherwise.
chooses() {
	local want=$1 vars=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	on_gpu 0 env "${vars[@]}" "$gpu_probe" device "$want" ${2:+"$2"}
}

one_gpu_a_rank() {
	chooses 2 LOCAL_RANK=2 && chooses 0 LOCAL_RANK=4 &&
		chooses 0 LOCAL_RANK=3 FAKE_GPUS=1 && chooses 0 LOCAL_RANK=x &&
		chooses 3 LOCAL_RANK=1 -- 3
}

host_is_told() {
	FAKE_NVRTC=broken:pollux.cu on_gpu 0 "$train" --samples 64 --epochs 1 \
		--batch 32 --max-batch 32 --device=cuda >told.out 2>&1 || return 1
	cat told.out
	[ "$(grep -c 'added up by the host, which is slow: NVRTC: line 1' \
		told.out)" -eq 1 ]
}

# The compiler needs no GPU; what it made is not run.
compiled_for_real() {
	rm -rf gpu
	stand_in libcuda.so.1 libcudart.so.13
	on_gpu 0 "$probe" compile
}

# Two ranks with a GPU each: every loss is the CPU's.
example_on_gpu() {
	local small=(--samples 256 --epochs 2 --batch 32 --max-batch 32)
	ranks 2 "$train" "${small[@]}" --collectives mpi 2>/dev/null |
		sed -n 's/.*\(loss [0-9.]*\).*/\1/p' >cpu.loss
	on_gpu 2 "$train" "${small[@]}" --device=cuda >gpu.out 2>&1
	cat gpu.out
	sed -n 's/.*\(loss [0-9.]*\).*/\1/p' gpu.out >gpu.loss
	grep 'over nccl' gpu.out && [ "$(wc -l <cpu.loss)" -eq 3 ] &&
		diff cpu.loss gpu.loss
}

# To an image and back, by one thread and by several: on a GPU that is not the
# first, and where no pinned memory is to be had.
through_image() {
	on_gpu 0 "$gpu_probe" image 12 &&
		FAKE_PINNED=none on_gpu 0 "$gpu_probe" image 12 &&
		GPU_PROBE_ON=2 on_gpu 0 "$gpu_probe" image 12
}

# By one thread or by one of several, there or back.
image_fails() {
	local good
	for good in 0 20 30 60; do
		fails on_gpu 0 env FAKE_COPIES=$good "$gpu_probe" image 12 \
			>image.out 2>&1 || return 1
		cat image.out
		grep 'copy between host and GPU failed: an error' image.out ||
			return 1
	done
}

# Device memory goes from one generation to the next, through a node's.
example_handed_over() {
	local play=$POLLUX_BUILDDIR/bench/generations
	mkdir -p turns/log
	# So slow that the next generation is there before the end.
	LD_LIBRARY_PATH=$WORK/gpu:$LD_LIBRARY_PATH FAKE_KERNEL_US=20000 \
		POLLUX_SAMPLE_LOG=$WORK/turns/log $limit "$play" --finish \
		--ranks=2 --resizes=1 --seed=2 --dir="$WORK/turns" -- "$train" \
		--device=cuda --samples 2000 --epochs 2 --batch 100 \
		--max-batch 100 --checkpoint-every 0 >turns.out 2>&1
	local rc=$?
	cat turns.out
	[ $rc -eq 0 ] && grep '^resize 1:' turns.out &&
		bash "$POLLUX_SRCDIR/tests/samples.sh" turns/log 2000 2
}

plan 24
ok "one rank does everything by itself" ranks 0 "$probe" sums self
ok "every operation is right over MPI" ranks 3 "$probe" sums mpi
ok "ranks of a node are numbered, and nodes" virtual_nodes
ok "a rank that hangs is an error for the others, in time" hangs
ok "a rank told to leave does not wait for those that are lost" \
	says 2 'is told to leave while it waits' ranks 3 "$probe" late mpi told 9
ok "without a GPU, NCCL is refused in a sentence" without_gpu
if [ ! -f "$fake" ]; then
	for sentence in 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
		skip "what concerns GPUs ($sentence)" "built without NCCL"
	done
	exit 0
fi
stand_in libcuda.so.1 libcudart.so.13 libnccl.so.2 libnvrtc.so.13
export FAKE_GPUS=4
ok "sums over NCCL come after the default stream's work, on three ranks" \
	on_gpu 3 "$probe" sums nccl cuda
ok "... and on one, without MPI" on_gpu 0 "$probe" sums nccl cuda
ok "device memory is summed over MPI, too" on_gpu 2 "$probe" sums mpi cuda
ok "one rank without a GPU, and all use MPI" one_without_gpu
ok "an asynchronous error of NCCL ends the sum" \
	gpu_fault error:12 'NCCL failed: remote process exited'
ok "a sum over NCCL that never ends is an error in time" \
	gpu_fault 1:stuck:12 'NCCL: .* do not answer for 3 s'
# Its ranks say so, and cannot end: whoever started them kills them.
ok "... also where NCCL cannot even be aborted" \
	eval 'limit="timeout -k 5 30"; gpu_fault deaf:12 "NCCL: .* do not answer for 3 s"'
limit="timeout -k 5 $((60 * POLLUX_PATIENCE))"
ok "device memory is kept and taken alike by any number of threads" \
	through_image
ok "... and a copy that fails is a sentence" image_fails
if command -v "${CXX:-c++}" >/dev/null; then
	ok "a pass takes as long as the GPU works on it" pass_times
	ok "CUDA's runtime is the one that the program has" loaded_before
	ok "each rank has a GPU of its own, or that of its memory" \
		one_gpu_a_rank
	ok "arithmetic on the host is announced, once" host_is_told
	ok "gradients on a GPU add up as on the host" on_gpu 0 "$probe" gradient
	ok "... compiled for an unknown GPU, or by the host without NVRTC" \
		eval 'kernels_for_old && kernels_on_host'
	ok "the example's losses on a GPU are the CPU's" example_on_gpu
	if [ -x "$POLLUX_BUILDDIR/bench/generations" ]; then
		ok "device memory is handed over" example_handed_over
	else
		skip "device memory is handed over" "bench is not built"
	fi
else
	for sentence in 17 18 19 20; do
		skip "what compiles kernels ($sentence)" "no C++ compiler"
	done
	skip "the example's losses on a GPU are the CPU's" "no C++ compiler"
	skip "device memory is handed over" "no C++ compiler"
	skip "gradients on a GPU add up as on the host" "no C++ compiler"
	skip "... compiled for an unknown GPU, or on the host" "no C++ compiler"
fi
if ldconfig -p | grep -q 'libnvrtc\.so\.1[123]'; then
	ok "NVRTC compiles the kernels for a real GPU" compiled_for_real
else
	skip "NVRTC compiles the kernels for a real GPU" "no NVRTC here"
fi
