# SPDX-License-Identifier: MIT
# test_gpu_places.t - a job that grows gets GPUs near its cores, and linked ones
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

# Cores 0-3 and GPUs 0-1 are on socket 0, the others on socket 1. GPU 0 is linked
# with GPU 2, and 1 with both 2 and 3.
sandbox_up --nodes 1 --gpus-per-node 4 --cpus-per-node 8 --sockets 2 \
	--gpu-links 0-2,1-3,1-2 --params pollux_interval=1
plan 7

gone() {
	sb scancel --user="$(id -un)"
	wait_until '[ -z "$(sb squeue -h)" ] && cluster_is_idle' 30
}

# has JOB DEVICES CORES: of its one node.
has() {
	sb scontrol -d show job "$1" |
		grep -qE " CPU_IDs=$3 .*\(IDX:$2\)$"
}

# holder OPTION...: a rigid job, once it runs.
holder() {
	local id
	id=$(submit_rigid -w n1 -N1 "$@" -- 600) &&
		wait_until "is_state $id RUNNING" 20 >&2 && echo "$id"
}

# elastic MAX OPTION...: a job that begins where the holders leave it a GPU.
elastic() {
	local max=$1
	shift
	job=$(submit_light grows "pollux,max=$max" "$@" -- --live --ack=0.1)
	wait_until "is_state $job RUNNING" 20
}

low=$(holder -n4 --gpus-per-node=2)
elastic 2
ok "beside a job on socket 0 one begins on socket 1, and grows there" \
	wait_until "has $job 2-3 4-5" 40
gone

# A job that has GPU 3 alone while others have all the rest.
begins_last() {
	low=$(holder -n4 --gpus-per-node=2)
	high=$(holder -n1 --gpus-per-node=1)
	elastic "$@"
	wait_until "has $job 3 5" 20
	sb scancel "$low" "$high"
}

ok "one that has the last GPU of a node gets the other of its socket, not the lowest" \
	eval 'begins_last 2 && wait_until "has $job 2-3 4-5" 40'
gone
ok "of GPUs farther away it gets the one that is linked with its own" \
	eval 'begins_last 3 && wait_until "has $job 1-3 [0-3],[4-7,-]*" 40'
gone
ok "it shrinks to GPUs that are linked, with a core near each" eval '
	begins_last 4 && wait_until "has $job 0-3 [0-7,-]*" 40 &&
	first=$(holder -n4 --gpus-per-node=2 --priority=4294910000) &&
	wait_until "has $job 1-2 [0-3],[4-7]" 40'
gone

# Socket 0 has two GPUs and one core left, socket 1 two and four.
begins_crowded() {
	low=$(holder -n4 --gpus-per-node=2)
	high=$(holder -n4 --gpus-per-node=2)
	sb scancel "$low"
	wait_until "! sb squeue -h -o %i | grep -qx $low" 20
	crowd=$(holder -n3)
	elastic "$@"
	wait_until "has $job 0 3" 20
	sb scancel "$high"
}

ok "without a core for the other GPU of its socket it gets one that has a core" \
	eval 'begins_crowded 2 && wait_until "has $job 0,2 3-4" 40'
gone
ok "so it is with --gres-flags=enforce-binding" eval '
	begins_crowded 2 --gres-flags=enforce-binding &&
	wait_until "has $job 0,2 3-4" 40'
gone
ok "a job of all GPUs has all" eval '
	elastic 4 --gres-flags=enforce-binding &&
	wait_until "has $job 0-3 [0-7,-]*" 40'
gone
