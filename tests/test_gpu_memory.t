# SPDX-License-Identifier: MIT
# test_gpu_memory.t - a GPU that is full, and one that is so for a while
#
# Over what stands in for CUDA (unit/fake_cuda.h), whose memory all processes
# share as they do a GPU's. Without Slurm.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/mpi.sh" || exit 1

probe=$POLLUX_BUILDDIR/tests/unit/gpu_probe
fake=$POLLUX_BUILDDIR/tests/unit/.libs/fake_cuda.so
[ -e "$fake" ] || skip_all "built without CUDA's headers"
cd "$WORK" || exit 1
# Its sockets are found below this; a path of $TMPDIR may be too long.
run=$(mktemp -d /tmp/plx.XXXXXX) && chmod 700 "$run"
export XDG_RUNTIME_DIR=$run
trap 'rm -rf "$run"; lib_end' EXIT

mkdir gpu
for name in libcuda.so.1 libcudart.so.13 libcudart.so.12 libcudart.so.11.0 \
	libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2 libnccl.so.2; do
	ln -s "$fake" "gpu/$name"
done
export LD_LIBRARY_PATH=$WORK/gpu:$LD_LIBRARY_PATH
export FAKE_GPUS=2 FAKE_GPU_MB=64 FAKE_GPU_USES=$WORK/uses
export FAKE_NVRTC_CACHE=$WORK/kernels
mkdir kernels

# A pass of 512 samples wants some 16 MB of a GPU, one of 256 half of that.
args=(--device=cuda --samples=4096 --features=4096 --hidden=2 --batch=512
	--max-batch=512 --epochs=100000 --checkpoint-every=0)

# launch NAME TRAIN...: in the background; $launcher is its process.
launch() {
	local name=$1
	shift
	pollux-launch --local -d "$name.ckpt" --name="$name" -n 1 \
		--params=min=1,max=2 --json-log="$name.json" "$train" \
		"${args[@]}" "$@" >"$name.out" 2>&1 9>&- &
	launcher=$!
}

tell() {
	pollux-launch --job="$1" "$2"
}

trains_on() {
	tell "$1" --status | grep "^$1: $2 rank.* training"
}

end() {
	tell "$1" --stop
	wait $launcher
	local rc=$?
	cat "$1.out"
	return $rc
}

# resized NAME BALLAST: from one rank to two and back.
resized() {
	launch "$1" --ballast-mb="$2"
	wait_until "trains_on $1 1" 60 && sleep 2 && tell "$1" --resize=2 &&
		wait_until "trains_on $1 2" 60 && sleep 2 &&
		tell "$1" --resize=1 && wait_until "trains_on $1 1" 60
	local rc=$?
	end "$1"
	return $rc
}

# warm NAME: which of its starts were beside ranks that trained.
warm() {
	jq -sc 'map(select(.event == "start") | .warm)' "$1.json"
}

with_room() {
	resized room 2 && warm room &&
		[ "$(warm room)" = '[false,true,true]' ] &&
		! grep 'no memory for a second rank' room.out
}

# Ballast that no two ranks have room for.
without_room() {
	resized full 36 && warm full && [ "$(warm full)" = '[false,false,false]' ]
}

is_told() {
	grep 'the next ranks have to wait for these to end: on 1 of 1 GPUs there is no memory for a second rank (on rank 0.s [45][0-9] MiB are in use, [12][0-9] MiB free)' full.out &&
		grep 'on 2 of 2 GPUs there is no memory' full.out &&
		! grep 'do not take over\|failed' full.out
}

# Nothing is lost on the way.
goes_on() {
	grep -o 'stopped after [0-9]* steps\|restored step [0-9]*' full.out |
		sed 's/.*after \([0-9]*\) .*/stopped step \1/' |
		awk '/stopped/ { left = $3 }
			/restored/ { restored++; wrong += $3 != left }
			END { exit restored != 2 || wrong }'
}

# hog FREE: somebody else has all memory of GPU 0 but so many MB.
hog() {
	mkfifo hold
	FAKE_GPUS=1 "$probe" hog "$1" <hold >hog.out &
	hog=$!
	exec 9>hold
	wait_until "grep free_mb hog.out" 30
}

hog_ends() {
	exec 9>&-
	wait "$hog"
	rm hold
}

# A pass fits when the other one is gone, in the same start.
limit_ends() {
	hog 12
	launch shared
	wait_until "grep 'a pass of 512 samples does not fit' shared.out" 60 &&
		wait_until "trains_on shared 1" 60
	local rc=$?
	hog_ends
	[ $rc -eq 0 ] &&
		wait_until "grep 'GPUs have more memory free than when a pass of 512 samples did not fit' shared.out" 30 &&
		wait_until "grep 'batch 512 = 1 x 512 x 1' shared.out" 30
	rc=$?
	end shared
	return $rc
}

# The limit is saved; the next start finds a GPU that is free.
limit_ends_later() {
	hog 12
	launch later
	wait_until "grep 'a pass of 512 samples does not fit' later.out" 60 &&
		wait_until "trains_on later 1" 60
	local rc=$?
	end later
	hog_ends
	[ $rc -eq 0 ] || return 1
	launch later
	wait_until "grep 'more memory free than when a pass of 512' later.out" 60
	rc=$?
	end later
	return $rc
}

# It does not where the GPU is as full as before.
limit_stays() {
	hog 12
	launch stays
	wait_until "grep 'a pass of 512 samples does not fit' stays.out" 60 &&
		wait_until "trains_on stays 1" 60 && sleep 5
	local rc=$?
	end stays
	launch stays
	wait_until "trains_on stays 1" 60 && sleep 5
	rc=$((rc + $?))
	end stays
	hog_ends
	[ $rc -eq 0 ] && [ "$(grep -c 'does not fit' stays.out)" -eq 0 ] &&
		! grep 'more memory free' stays.out
}

ok "where GPUs have room the next ranks start beside the old ones" with_room
ok "where they have none, they start when the old ones have left" without_room
ok "that is told with what is in use and free, and nothing has failed" is_told
ok "all that was trained is there" goes_on
ok "a pass that did not fit beside somebody else fits when that is gone" \
	limit_ends
ok "also where it is gone when the ranks start again" limit_ends_later
ok "while the GPU is as full as it was, the limit stays" limit_stays
plan "$tap_count"
