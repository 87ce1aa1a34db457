# SPDX-License-Identifier: MIT
# workload.sh - which jobs come when (the form of a plan: jobs.sh)
#
# Sourced by demo. Either the demo's own jobs or the first ones of a recorded
# workload: name,time,application,num_replicas,batch_size.

time_compressed=24 # arrivals of a recorded workload
time_scale=${DEMO_TIME_SCALE:-4} # emulated seconds of training in a real one

workload_plan() {
	if [ -n "${WORKLOAD:-}" ]; then
		workload_recorded
	else
		workload_own | head -n "${DEMO_JOBS:-8}"
	fi
}

# Elastic jobs of three kinds, arriving over a minute, and two rigid ones that
# the elastic ones have to make room for.
workload_own() {
	local profiles=$POLLUX_SRCDIR/examples/profiles
	local vision="--batch=128 --max-batch=2048 --max-gpu-batch=256 --emulate-gpu=$profiles/t4-vision.profile"
	local language="--batch=16 --max-batch=256 --max-gpu-batch=16 --samples=4096 --emulate-gpu=$profiles/t4-language.profile"
	local recommender="--batch=256 --max-batch=8192 --max-gpu-batch=4096 --emulate-gpu=$profiles/a100-recommender.profile"
	local pace="--time-scale=$time_scale"

	cat <<END
0|vision-0|elastic|max=16|$vision $pace --epochs=${DEMO_EPOCHS:-60} --seed=1
6|language-1|elastic|max=8|$language $pace --epochs=4 --seed=2
12|rigid-2|rigid|-N1 --gpus-per-node=4|15
20|recommender-3|elastic|max=4|$recommender $pace --epochs=150 --seed=3
28|vision-4|elastic|max=16|$vision $pace --epochs=60 --seed=4
36|rigid-5|rigid|-N2 --gpus-per-node=2|15
44|language-6|elastic|min=2,max=8|$language $pace --epochs=4 --seed=5
52|vision-7|elastic|max=8|$vision $pace --epochs=40 --seed=6
END
}

# workload_file PATH: as given, or below the source tree.
workload_file() {
	case $1 in
	/*) realpath -e -- "$1" ;;
	*) (cd "$POLLUX_SRCDIR" && realpath -e -- "$1") 2>/dev/null ||
		realpath -e -- "$1" ;;
	esac
}

# Limits of each application, as recorded with the traces: total batch it was
# tuned for, largest total batch, smallest and largest batch of a GPU.
workload_limits='
bert        12   384    4    12
cifar10     128  4096   32   1024
deepspeech2 20   640    10   80
imagenet    200  12800  20   200
ncf         256  32768  32   32768
yolov3      8    512    4    8
'

# The first jobs of the workload. A job's work is what one GPU does at the
# tuned batch in a time that grows with the GPUs its user asked for.
workload_recorded() {
	local workload traces

	workload=$(workload_file "$WORKLOAD") || return 1
	[ -n "${TRACES:-}" ] || {
		echo "demo: WORKLOAD needs TRACES, the folder of measured times" >&2
		return 1
	}
	traces=$(workload_file "$TRACES") || return 1
	head -n "$((${WORKLOAD_JOBS:-8} + 1))" "$workload" |
		awk -F, -v limits="$workload_limits" -v traces="$traces" \
			-v compressed=$time_compressed -v scale="$time_scale" \
			-v seconds="${DEMO_WORK:-24}" -f "$here/recorded.awk"
}
