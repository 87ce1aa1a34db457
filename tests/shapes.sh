# SPDX-License-Identifier: MIT
# shapes.sh - what a job has on each of its nodes
#
# Sourced after elastic.sh and faults.sh.

# "n1 2" for each GPU, from lines as above.
one_by_one() {
	awk '{
		count = split($2, ranges, ",")
		for (i = 1; i <= count; i++) {
			last = split(ranges[i], ends, "-")
			for (d = ends[1]; d <= ends[last]; d++)
				print $1, d
		}
	}' | sort
}

# All in before.txt it still has.
keeps_devices() {
	devices_of "$1" | one_by_one >"$WORK/now.txt"
	one_by_one <"$WORK/before.txt" | comm -23 - "$WORK/now.txt" |
		tee "$WORK/lost.txt"
	[ -s "$WORK/now.txt" ] && [ ! -s "$WORK/lost.txt" ]
}

# "n1 CPUS MEMORY GPUS" for each node of the job.
shares_of() {
	sb scontrol -d show job "$1" | awk '
		/ Nodes=.*CPU_IDs=/ {
			match($0, /Nodes=[^ ]+/)
			nodes = substr($0, RSTART + 6, RLENGTH - 6)
			match($0, /CPU_IDs=[^ ]+/)
			count = split(substr($0, RSTART + 8, RLENGTH - 8), ids, ",")
			cpus = 0
			for (i = 1; i <= count; i++) {
				last = split(ids[i], ends, "-")
				cpus += ends[last] - ends[1] + 1
			}
			match($0, /Mem=[0-9]+/)
			memory = substr($0, RSTART + 4, RLENGTH - 4)
			# "gpu:2(" or, with a type, "gpu:a100:2(".
			gpus = match($0, /gpu:[^(]*/) ? \
				substr($0, RSTART, RLENGTH) : 0
			sub(/.*:/, "", gpus)
			print nodes, cpus, memory, gpus
		}' | while read -r nodes rest; do
		sb scontrol show hostnames "$nodes" | sed "s/\$/ $rest/"
	done | sort
}

# has_counts JOB 4,1: its GPUs, node by node, and no question is open.
has_counts() {
	[ "$(shares_of "$1" | awk '{ printf "%s%s", sep, $4; sep = "," }')" = \
		"$2" ] && ! is_moving "$1"
}

# It was asked, and is not resized yet.
is_moving() {
	sb scontrol show job "$1" |
		grep -qE 'SystemComment=.* state=(asked|lent|moving)'
}

says_each() {
	sb scontrol show job "$1" | grep "SystemComment=.* each=$2 "
}

# Each GPU brings two CPUs, and each CPU 100 MB.
shares_are_right() {
	shares_of "$1" | awk '
		{ print; bad += $2 != 2 * $4 || $3 != 100 * $2 }
		END { exit bad || !NR }'
}

# ranks_are JOB ON-N1 ON-N2
ranks_are() {
	[ "$(pids_of "$1" pollux-train SLURMD_NODENAME=n1 | wc -l)" -eq "$2" ] &&
		[ "$(pids_of "$1" pollux-train SLURMD_NODENAME=n2 | wc -l)" -eq "$3" ]
}

checked() {
	sb "$POLLUX_SRCDIR/tests/pollux-check" --no-sacct --log \
		"$SB/log/slurmctld.log"
}

# refused SENTENCE PARAMS [SBATCH-OPTION...]: at submission
refused() {
	local sentence=$1 params=$2
	shift 2
	if sb sbatch --scheduler-params="pollux,$params" "$@" --wrap true \
		>"$WORK/refused.out" 2>&1; then
		echo "was accepted: $params $*"
		return 1
	fi
	cat "$WORK/refused.out"
	grep -qF -- "$sentence" "$WORK/refused.out"
}

# On how many switches the job is, of --switches 2: odd numbers are on the first.
switches_of() {
	local nodes
	nodes=$(sb squeue -h -j "$1" -o %N)
	[ -z "$nodes" ] || sb scontrol show hostnames "$nodes" |
		awk '{ seen[substr($1, 2) % 2] = 1 } END { print length(seen) }'
}

# rests_on JOB GPUS SWITCHES: it has come to rest there.
rests_on() {
	has_gpus "$1" "$2" && ! is_moving "$1" && [ "$(switches_of "$1")" = "$3" ]
}
