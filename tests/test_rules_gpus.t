# SPDX-License-Identifier: MIT
# test_rules_gpus.t - types of GPUs, and what each GPU brings along
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

# n1 and n3 have GPUs 0-3 of type big; n2 and n4 0-1 of big, 2-3 of small.
sandbox_up --nodes 4 --gpus-per-node 4 --cpus-per-node 16 \
	--gpu-types big,big+small --params pollux_interval=1 --no-accounting \
	--conf-extra SelectTypeParameters=CR_Core_Memory \
	--conf-extra DefMemPerCPU=100 \
	--conf-extra "PartitionName=shares Nodes=n[1-4] DefCpuPerGPU=3 DefMemPerGPU=700" \
	--conf-extra "PartitionName=lean Nodes=n[1-4] MaxMemPerNode=250" \
	--conf-extra "PartitionName=dense Nodes=n[1-4] MaxMemPerCPU=50" \
	--conf-extra "PartitionName=thin Nodes=n[1-4] MaxCPUsPerNode=3"
plan 23

# holds JOB FIELD REGEX: in what "scontrol -d" shows of the job.
holds() {
	sb scontrol show job -d -o "$1" | grep -qE "$2"
}

# on JOB NODES GPUS: it has just these nodes, and so many GPUs in all.
on() {
	[ "$(sb squeue -h -j "$1" -o %N)" = "$2" ] && has_detail "$1" "$3"
}

# GPUs without accounting: by what each node gives.
has_detail() {
	local sum
	sum=$(sb scontrol show job -d "$1" | awk -v RS='[ \n]' '
		/^Nodes=/ { n = expanded($0) }
		/^GRES=gpu/ {
			text = $0
			while (match(text, /:[0-9]+\(/)) {
				count = substr(text, RSTART + 1, RLENGTH - 2)
				sum += n * count
				text = substr(text, RSTART + RLENGTH)
			}
		}
		END { print sum + 0 }
		function expanded(names, part, count, range, i, k) {
			if (names !~ /\[/)
				return 1
			sub(/.*\[/, "", names)
			sub(/\].*/, "", names)
			k = split(names, part, ",")
			for (i = 1; i <= k; i++)
				count += split(part[i], range, "-") == 2 \
					? range[2] - range[1] + 1 : 1
			return count
		}')
	[ "$sum" = "$2" ]
}

gone() {
	sb scancel --user="$(id -un)"
	wait_until '[ -z "$(sb squeue -h)" ]' 20
}

# grows NAME MAX NODES GPUS OPTION...: how far it gets; it stays in $job.
grows() {
	local name=$1 max=$2 nodes=$3 gpus=$4
	shift 4
	job=$(submit_light "$name" "pollux,mix=yes,max=$max" "$@" --) &&
		wait_until "on $job '$nodes' $gpus" 30
}

ok "a job of one type grows over the GPUs of that type alone" eval '
	grows small 16 "n[2,4]" 4 --gpus-per-node=small:1 &&
	holds $job "GRES=gpu:small:2\(IDX:2-3\)" &&
	holds $job "TresPerNode=gres.gpu:small:2"'
ok "one of the other type has its own, on nodes that no other spans" eval '
	other=$(submit_light big pollux --gres=gpu:big:1 --) &&
	wait_until "on $other n[1,3] 8" 30 &&
	! logged "JobId=($job|$other) keeps its .*not enough"'
gone
ok "jobs of any type and of one share nodes of both" eval '
	job=$(submit_light any pollux,max=6,mix=yes -w n2 --) &&
	wait_until "has_detail $job 6" 30 &&
	other=$(submit_light shy pollux --gpus=small:1 -w n4 --) &&
	wait_until "has_detail $other 2" 30 &&
	! logged "JobId=($job|$other) keeps its .*not enough"'
gone
ok "a job asks for a type that no node has in vain" eval '
	! submit_light none pollux --gpus-per-node=huge:1 -- 2>"$WORK/none" &&
	grep -q "no node of this cluster has GPUs of type huge" "$WORK/none"'

# brings JOB NODE-CPUS NODE-MEMORY: of each of its nodes.
brings() {
	sb scontrol show job -d -o "$1" | grep -qE "CPU_IDs=$2 Mem=$3 "
}

ok "CPUs and memory a GPU grow with the GPUs" eval '
	grows each 4 n1 4 -w n1 --gpus=1 --cpus-per-gpu=2 --mem-per-gpu=500 &&
	brings $job 0-7 2000'
gone
ok "DefCpuPerGPU and DefMemPerGPU count in the same way" eval '
	grows default 4 n1 4 -p shares -w n1 && brings $job 0-11 2800'
gone
cat >"$WORK/mold.sh" <<-'END'
	#!/bin/bash
	while :; do sleep 1; done
END
ok "a moldable job starts on GPUs of its type, with what each brings" eval '
	job=$(sb sbatch --parsable -o /dev/null --gpus-per-node=small:1 \
		--cpus-per-gpu=2 --mem-per-gpu=500 --time=60 \
		--scheduler-params=pollux,mode=requeue,max=16,checkpoint=86400 \
		"$WORK/mold.sh") &&
	wait_until "on $job n[2,4] 4" 60 && brings $job 0-3 1000 &&
	! logged "JobId=$job does not start on"'
gone
rigid=$(submit_rigid -w n3 -n 13 -- 600)
wait_until "is_state $rigid RUNNING" 20
ok "no GPU is planned where its CPUs are taken" eval '
	grows lean 16 "n[1-2,4]" 12 --gpus-per-node=1 --cpus-per-gpu=4 &&
	! logged "JobId=$job keeps its .*not enough"'
gone
rigid=$(submit_rigid -w n3 --mem=65000 -- 600)
wait_until "is_state $rigid RUNNING" 20
ok "nor where its memory is" eval '
	grows heavy 16 "n[1-2,4]" 12 --gpus=1 --mem-per-gpu=1100 &&
	! logged "JobId=$job keeps its .*not enough"'
gone

# waits_for JOB REASON: and does not start.
waits_for() {
	wait_until "[ \"\$(sb squeue -h -j $1 -o %r)\" = $2 ]" 20
}

ok "MaxMemPerNode: as many GPUs on a node as memory goes with" eval '
	grows frugal 16 "n[1-4]" 8 -p lean --mem-per-cpu=100 &&
	brings $job 0-1 200 && ! logged "JobId=$job keeps its"'
gone
ok "a new job may have as much on a node, and no more" eval '
	large=$(submit_rigid -p lean -N1 -n3 --mem-per-cpu=100 -- 600) &&
	waits_for $large MaxMemPerLimit &&
	small=$(submit_rigid -p lean -N1 -n2 --mem-per-cpu=100 -- 600) &&
	wait_until "is_state $small RUNNING" 20'
gone
ok "MaxMemPerCPU: each GPU brings more CPUs" eval '
	grows dense 4 n1 4 -p dense -w n1 --mem-per-cpu=100 &&
	brings $job 0-7 400'
gone
ok "for the memory of a node as many as a new job of that size has" eval '
	grows whole 4 n1 4 -p dense -w n1 --mem=400 && brings $job 0-7 400 &&
	gone && same=$(submit_rigid -p dense -w n1 -N1 --ntasks-per-node=4 \
		--gpus-per-node=4 --mem=400 -- 600) &&
	wait_until "is_state $same RUNNING" 20 && brings $same 0-7 400'
gone
# cpus NODE: that jobs have there.
cpus() {
	sb scontrol show node "$1" -o | grep -oE "CPUAlloc=[0-9]+" | cut -d= -f2
}
slow=$(submit_light slow pollux,max=2 -p thin -w n3 --gpus=1 -- --live --ack=6)
wait_until "lit slow event=asked" 30
ok "MaxCPUsPerNode: what comes between a request and its answer counts" eval '
	between=$(submit_rigid -p thin -w n3 -n2 --priority=4294910000 -- 600) &&
	wait_until "is_state $between RUNNING" 5 &&
	wait_until "lit slow event=refused" 30 && [ "$(cpus n3)" = 3 ]'
gone
rigid=$(submit_rigid -p thin -w n3 -n2 -- 600)
wait_until "is_state $rigid RUNNING" 20
ok "MaxCPUsPerNode: jobs of the partition share as many" eval '
	grows thin 16 "n[1-4]" 10 -p thin && ! logged "JobId=$job keeps its"'
# asks PARTITION NODE OPTION...: a job that goes before all others starts.
asks() {
	local part=$1 node=$2
	shift 2
	first=$(submit_rigid -p "$part" -w "$node" -N1 \
		--priority=4294910000 "$@" -- 600) &&
		wait_until "is_state $first RUNNING" 30
}

ok "beside another one that is one GPU, and two do not start" eval '
	more=$(submit_rigid -p thin -w n3 -n2 --gpus-per-node=2 -- 600) &&
	waits_for $more Resources && sb scancel $more &&
	less=$(submit_rigid -p thin -w n3 -n1 --gpus-per-node=1 -- 600) &&
	wait_until "is_state $less RUNNING" 20'
ok "an elastic job shrinks for one that waits for such CPUs alone" eval '
	asks thin n2 -n2 && wait_until "on $job n[1-2,4] 7" 20 &&
	! logged "JobId=$first does not start in the room"'
gone

# A GPU takes 3 CPUs and 1500 MB. Without these there is none for anybody.
job=$(submit_light rich pollux,mix=yes -w n1,n2 -x "n[3-4]" --gpus=2 --cpus-per-gpu=3 \
	--mem-per-gpu=1500 --)
wait_until "on $job n[1-2] 8" 30
ok "a job without GPUs has its CPUs of who holds them beside GPUs" eval '
	asks main n2 -n9 --mem=10 && wait_until "on $job n[1-2] 6" 20'
sb scancel "$first"
memory=$(sb scontrol show node n2 -o | grep -oE "RealMemory=[0-9]+")
memory=${memory#*=}
wait_until "on $job n[1-2] 8" 30
ok "and its memory" eval '
	asks main n2 -n1 --mem=$((memory - 3000)) &&
	wait_until "on $job n[1-2] 6" 20'
gone
job=$(submit_light alone pollux -w n1 -x "n[2-4]" --gpus=1 --cpus-per-gpu=4 --)
wait_until "on $job n1 4" 30
ok "one that asks for the CPU of a parked job, too, waits and parks nobody" \
	eval '
	whole=$(submit_rigid -p main -w n1 -n16 --priority=4294910000 -- 600) &&
	waits_for $whole Resources && sleep 3 && has_detail $job 4 &&
	! logged "JobId=$job asked .*n1:0"'
gone

# As an administrator may: nodes keep cores or memory for the system, and one
# has too little disk. (Of CoreSpecCount slurmd says which cores these are.)
sed -i -e '/^NodeName=n1/s/$/ TmpDisk=9000 CpuSpecList=2-15/' \
	-e '/^NodeName=n2/s/$/ TmpDisk=9000 MemSpecLimit=63000/' \
	-e '/^NodeName=n3/s/$/ TmpDisk=9000/' \
	-e '/^NodeName=n4/s/$/ TmpDisk=90/' "$SB/etc/slurm.conf"
pollux-sandbox --dir "$SB" restart slurmctld >"$WORK/restart.txt" 2>&1
ok "CpuSpecList: as many GPUs as there are CPUs left for jobs" eval '
	grows spared 16 n1 2 -x "n[2-4]" --tmp=500 --gpus=1 &&
	! logged "JobId=$job keeps its"'
gone
ok "MemSpecLimit, --tmp: as many on each node as there is for" eval '
	grows roomy 16 "n[1-3]" 8 --tmp=500 --gpus=1 --cpus-per-gpu=1 \
		--mem-per-gpu=1100 &&
	! logged "JobId=$job keeps its"'
gone

# new NODE TASKS: a new job with a GPU, a CPU and 1100 MB for each.
new() {
	submit_rigid -w "$1" -N1 -n "$2" --gpus-per-node="$2" --tmp=500 \
		--mem-per-gpu=1100 -- 600
}

# fits NODE TASKS
fits() {
	local same
	same=$(new "$@") && wait_until "is_state $same RUNNING" 20
}

# too_large NODE TASKS: it is not taken, or waits and is told why.
too_large() {
	local more
	more=$(new "$@") || return 0
	wait_until "sb squeue -h -j $more -o %r |
		grep -E \"Resources|BadConstraints\"" 20
}

ok "a new job may have as much on a node, and no more" eval '
	fits n1 2 && fits n2 2 && gone &&
	too_large n1 3 && too_large n2 3 && too_large n4 1'
gone
