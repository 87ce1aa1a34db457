# SPDX-License-Identifier: MIT
# elastic.sh - submitting and watching elastic jobs in a test's sandbox
#
# Sourced after lib.sh.

. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

# submit_elastic NAME PARAMS TRAIN-ARGUMENTS...: prints the job's id.
submit_elastic() {
	local name=$1 params=$2
	shift 2
	sb sbatch --parsable -J "$name" --scheduler-params="$params" \
		-o "$WORK/$name.out" --wrap \
		"srun pollux-launch -v --checkpoint-dir $WORK/$name.ckpt pollux-train $*"
}

# submit_rigid OPTIONS... -- SECONDS: a job that holds its GPUs; prints its id.
submit_rigid() {
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	sb sbatch --parsable -o /dev/null "${options[@]}" --wrap "sleep $2"
}

job_field() {
	local said
	said=$(sb scontrol show job -o "$1" 2>/dev/null)
	[[ " $said" =~ [[:space:]]$2=([^[:space:]]*) ]] && echo "${BASH_REMATCH[1]}"
	true
}

# GPUs that a job holds now; 0 when none.
gpus_of() {
	local said
	said=$(sb scontrol show job -o "$1")
	# Newer releases tell what was asked for as well.
	if [[ $said =~ [[:space:]](Alloc)?TRES=[^[:space:]]*gres/gpu=([0-9]+) ]]; then
		echo "${BASH_REMATCH[2]}"
	else
		echo 0
	fi
}

# "n1 0-3" for each node of the job where it has GPUs.
devices_of() {
	sb scontrol -d show job "$1" | awk '
		match($0, /IDX:[0-9,-]+/) {
			list = substr($0, RSTART + 4, RLENGTH - 4)
			match($0, /Nodes=[^ ]+/)
			print substr($0, RSTART + 6, RLENGTH - 6), list
		}' | while read -r nodes list; do
		sb scontrol show hostnames "$nodes" | sed "s/\$/ $list/"
	done | sort
}

# all_devices_of JOB: as devices_of, of several types: "n4 0-1,2-3".
all_devices_of() {
	sb scontrol -d show job "$1" | awk 'match($0, /Nodes=[^ ]+/) && /IDX:[0-9]/ {
		nodes = substr($0, RSTART + 6, RLENGTH - 6)
		list = ""
		while (match($0, /IDX:[0-9][0-9,-]*/)) {
			list = list (list ? "," : "") \
				substr($0, RSTART + 4, RLENGTH - 4)
			$0 = substr($0, RSTART + RLENGTH)
		}
		print nodes, list
	}' | while read -r nodes list; do
		sb scontrol show hostnames "$nodes" | sed "s/\$/ $list/"
	done | sort
}

# has_just JOB "NODE DEVICES"...: it holds just these.
has_just() {
	local job=$1
	shift
	[ "$(all_devices_of "$job")" = "$(printf '%s\n' "$@")" ]
}

has_gpus() {
	[ "$(gpus_of "$1")" -eq "$2" ]
}

has_gpus_or_more() {
	[ "$(gpus_of "$1")" -ge "$2" ]
}

is_state() {
	[ "$(job_state "$1")" = "$2" ]
}

# It has trained: its status says so.
trains() {
	sb scontrol show job "$1" | grep -q 'phase=training'
}

# two_owners FILE: every GPU that two jobs hold, in "scontrol -d show job".
two_owners() {
	awk -f "$POLLUX_SRCDIR/examples/demo/owners.awk" "$1"
}

# The guard itself: one GPU of n2 is held twice.
two_owners_are_seen() {
	cat >"$WORK/twice.txt" <<-END
		JobId=1 JobName=a
		   JobState=RUNNING Reason=None
		     Nodes=n[1-2] CPU_IDs=0-1 Mem=0 GRES=gpu:2(IDX:0-1)
		JobId=2 JobName=b
		   JobState=RUNNING Reason=None
		     Nodes=n2 CPU_IDs=2-3 Mem=0 GRES=gpu:2(IDX:1-2)
	END
	[ "$(two_owners "$WORK/twice.txt")" = "n2 GPU 1 belongs to jobs 1 and 2" ]
}

# Look again and again until told to stop; what is wrong goes to owners.bad.
watch_owners() {
	: >"$WORK/owners.bad"
	: >"$WORK/owners.looks"
	while [ ! -e "$WORK/owners.stop" ] && kill -0 $$ 2>/dev/null; do
		sb scontrol -d show job >"$WORK/watched.txt" 2>/dev/null &&
			two_owners "$WORK/watched.txt" >>"$WORK/owners.bad"
		echo look >>"$WORK/owners.looks"
		sleep 0.5
	done
}

watch_start() {
	rm -f "$WORK/owners.stop"
	watch_owners &
	watcher=$!
}

# No GPU had two owners in any look, and there were some looks.
watch_end() {
	touch "$WORK/owners.stop"
	wait "$watcher"
	cat "$WORK/owners.bad"
	echo "looks: $(wc -l <"$WORK/owners.looks")"
	[ ! -s "$WORK/owners.bad" ] && [ -s "$WORK/owners.looks" ]
}

# All nodes idle, no GPU allocated.
cluster_is_idle() {
	local busy
	busy=$(sb scontrol show node -o |
		grep -vE ' State=IDLE( |\+DYNAMIC)' || true)
	[ -z "$busy" ] || {
		echo "$busy"
		return 1
	}
	! sb scontrol show node -o | grep -E 'AllocTRES=[^ ]*gres/gpu[^ =,]*=[1-9]'
}

# slurm_since RELEASE: is it this Slurm or a later one? ("24.11.6")
slurm_since() {
	printf '%s\n' "$1" "$(sb scontrol -V | sed 's/.* //')" | sort -CV
}

# sacct's GPU-seconds of every shape are those that the plugin logged.
accounts_agree() {
	sb pollux-report --log "$SB/log/slurmctld.log"
}

# decided_again LEAST FILE...: pollux-alloc says again what slurmctld has decided
# and written there, and why; there are so many decisions at least.
# jq 1.7 keeps how a number was written, and 0 is also 0.0: + 0 makes it a number.
decided_again() {
	local least=$1 file
	local numbers='walk(if type == "number" then . + 0 else . end)'
	shift
	for file; do
		"$POLLUX_BUILDDIR/src/sim/pollux-alloc" --json "$file" |
			jq -S "del(.elapsed_ms) | $numbers" >"$WORK/again.json"
		jq -S ".answer | $numbers" "$file" | diff - "$WORK/again.json" || return 1
	done
	echo "$# decisions"
	[ $# -ge "$least" ]
}
