# SPDX-License-Identifier: MIT
# slurm.sh - jobs as scontrol shows them, and one that others give way to
#
# Sourced by controller.sh.

job_state() {
	squeue -h -j "$1" -t all -o %T 2>/dev/null
}

is_state() {
	[ "$(job_state "$1")" = "$2" ]
}

gpus_of() {
	scontrol show job "$1" | awk '
		/^ +(Alloc)?TRES=/ && match($0, /gres\/gpu=[0-9]+/) {
			gpus = substr($0, RSTART + 9, RLENGTH - 9)
			exit
		}
		END { print gpus + 0 }'
}

has_gpus() {
	[ "$(gpus_of "$1")" -eq "$2" ]
}

has_gpus_or_more() {
	[ "$(gpus_of "$1")" -ge "$2" ]
}

# Nobody is asking it for anything, and its ranks have begun on what it has.
is_calm() {
	local record
	record=$(scontrol show job "$1" | tr -d '\n')
	! grep -qE 'state=(asked|lent|moving)' <<<"$record" &&
		grep -qE 'phase=(training|parked|waiting)' <<<"$record"
}

# "JOB HOST DEVICES CPUS MEMORY" for each node of each running job.
owners() {
	scontrol -d show job | awk '
		match($0, /JobId=[0-9]+/) { job = substr($0, 7, RLENGTH - 6) }
		/JobState=/ { running = $0 ~ /JobState=RUNNING/ }
		running && /^ +Nodes=.* CPU_IDs=/ {
			split("", of)
			for (i = 1; i <= NF; i++) {
				at = index($i, "=")
				of[substr($i, 1, at - 1)] = substr($i, at + 1)
			}
			devices = "-"
			if (match($0, /IDX:[0-9,-]+/))
				devices = substr($0, RSTART + 4, RLENGTH - 4)
			print job, of["Nodes"], devices, of["CPU_IDs"], of["Mem"]
		}' | while read -r job nodes rest; do
		scontrol show hostnames "$nodes" | sed "s/.*/$job & $rest/"
	done | sort
}

# rigid_job NODE GPUS: of bob's; prints its id. It goes before elastic ones.
rigid_job() {
	local job
	job=$(as bob sbatch --parsable -J rigid -t 50 -w "$1" \
		--gpus-per-node="$2" --mem=100 -o rigid.out /vm/guest/rigid.job)
	scontrol update JobId="$job" Priority=4294910000
	echo "$job"
}
