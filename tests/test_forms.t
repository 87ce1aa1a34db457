# SPDX-License-Identifier: MIT
# test_forms.t - every form of a request is resized in its ratios, or refused
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

sandbox_up --nodes 3 --gpus-per-node 4 --cpus-per-node 16 --gpu-types a100 \
	--params pollux_interval=1 --no-accounting \
	--conf-extra SelectTypeParameters=CR_Core_Memory \
	--conf-extra DefMemPerCPU=100

# The table of docs/rules.md: options, and what the job has of each of its nodes
# with 6 GPUs: nodes, GPUs, CPUs, MB.
resized() {
	grep . <<-END
		--gpus=1|2 3 3 300
		--gpus=2 --nodes=2|2 3 3 300
		--gpus=a100:2|2 3 3 300
		--gpus=2 --cpus-per-gpu=3|2 3 9 900
		--gpus=2 --cpus-per-gpu=3 --mem-per-gpu=300|2 3 9 900
		--gpus=2 --mem-per-gpu=300|2 3 3 900
		--gpus=2 --ntasks=2|2 3 3 300
		--gpus=2 --ntasks=2 --cpus-per-task=2|2 3 6 600
		--gpus-per-node=2|2 3 3 300
		--gpus-per-node=a100:2 --nodes=1-2|2 3 3 300
		--gpus-per-node=2 --ntasks-per-node=2|2 3 3 300
		--gpus-per-node=1 --nodes=3|3 2 2 200
		--gres=gpu:2|2 3 3 300
		--gres=gpu:a100:2 --cpus-per-task=2|2 3 6 600
		--gpus=1 --cpus-per-gpu=2 --mem-per-cpu=50|2 3 6 300
		--cpus-per-task=2|2 3 6 600
		--mem=1000|2 3 3 1000
		--nodes=3-3|3 2 2 200
		--nodes=2 --ntasks-per-node=1|2 3 3 300
		--ntasks=1|2 3 3 300
	END
}

# Options, and what is told.
refused() {
	grep . <<-END
		--gpus-per-task=1 --ntasks=2|one task a GPU; leave out --gpus-per-task
		--gpus=2 --ntasks-per-gpu=1|one task a GPU; leave out --ntasks-per-gpu
		--gpus-per-socket=1 --sockets-per-node=1|leave out --gpus-per-socket
		--ntasks-per-socket=1|leave out --ntasks-per-socket
		--mincpus=8|leave out --mincpus and use --cpus-per-gpu
		--mincpus=8 --cpus-per-task=2|leave out --mincpus
		--overcommit|leave out --overcommit
		--gpus=2 --ntasks=4|starts with 2 GPUs and one task for each
		--ntasks=4|starts with 1 GPU and one task for each
		--gpus-per-node=2 --ntasks-per-node=4|starts with 2 GPUs on a node
		--gpus=4 --nodes=3|cannot start with min=1 to max=6 GPUs
		--gpus=8|cannot start with min=1 to max=6 GPUs
		--gres=gpu:h100:1|no node of this cluster has GPUs of type h100
	END
}

# Of what asks for more than its least.
requeued() {
	resized | grep -E '^--(gres=gpu|gpus=2 --(ntasks|nodes|cpus-per-gpu)=|gpus-per-node=2 )'
}
plan $((2 + $(resized | wc -l) + $(requeued | wc -l) + $(refused | wc -l)))

# has JOB NODES GPUS CPUS MB: of each of so many nodes.
has() {
	sb scontrol -d show job -o "$1" | awk -v nodes="$2" -v gpus="$3" \
		-v cpus="$4" -v memory="$5" '
		{
			n = $0; sub(/.* NumNodes=/, "", n); sub(/[^0-9].*/, "", n)
			c = $0; sub(/.* NumCPUs=/, "", c); sub(/[^0-9].*/, "", c)
			m = $0; sub(/.* CPU_IDs=[^ ]* Mem=/, "", m); sub(/[^0-9].*/, "", m)
			g = $0; sub(/.* GRES=gpu:a100:/, "", g); sub(/[^0-9].*/, "", g)
			exit !(n == nodes && c == nodes * cpus && m == memory &&
				g == gpus)
		}'
}

# grows OPTIONS NODES GPUS CPUS MB
grows() {
	job=$(submit_light form pollux,max=6 $1 -- --live --ack=0.1) &&
		wait_until "has $job $2 $3 $4 $5" 30
}

while IFS='|' read -r options shape; do
	ok "$options is resized in its ratios" grows "$options" $shape
	sb scancel "$job"
	wait_until '[ -z "$(sb squeue -h)" ]' 20
done < <(resized)

# starts_again OPTIONS NODES GPUS CPUS MB: as it has grown to.
starts_again() {
	job=$(submit_light again pollux,min=1,max=6 --requeue $1 -- --ack=0.1) &&
		wait_until "has $job $2 $3 $4 $5" 30 &&
		sb scontrol requeue "$job" && begin_now "$job" &&
		wait_until "is_state $job RUNNING" 20
}

while IFS='|' read -r options shape; do
	ok "$options, put into the queue, starts again on its least" \
		starts_again "$options" $shape
	sb scancel "$job"
	wait_until '[ -z "$(sb squeue -h)" ]' 20
done < <(requeued)

tells() {
	! submit_light form pollux,max=6 $1 -- 2>"$WORK/told" &&
		grep -q "error: Pollux: .*$2" "$WORK/told"
}

while IFS='|' read -r options sentence; do
	ok "$options is refused" tells "$options" "$sentence"
done < <(refused)
ok "no job was refused a shape for its form" eval '
	! logged "keeps its .* GPUs"'
# Both at once 24.11 refuses by itself: "node configuration is not available".
ok "rigid jobs may ask in any form" eval '
	one=$(submit_rigid --gpus-per-task=1 --ntasks=2 -- 60) &&
	two=$(submit_rigid --gpus=2 --mincpus=4 -- 60) &&
	wait_until "is_state $one RUNNING && is_state $two RUNNING" 20'
