# SPDX-License-Identifier: MIT
# test_resize.t - one job through at least 20 resizes, and nothing is lost
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/squeeze.sh" || exit 1

mkdir "$WORK/dump"
sandbox_up --nodes 4 --gpus-per-node 4 --params "pollux_dump=$WORK/dump"
plan 21

# The batch is fixed, so that only the order of additions may tell the
# resized run from one that was never touched.
samples=10000
# Passes are long, so that 16 ranks are worth it on however busy a machine.
training="--samples=$samples --batch=256 --max-batch=256 --emulate-gpu=compute --time-scale=0.15"
events=$WORK/resized.ckpt/events.jsonl
mkdir "$WORK/samples"
export POLLUX_SAMPLE_LOG=$WORK/samples

resizes() {
	jq -s 'map(select(.event == "resize" or .event == "park")) | length' \
		"$events"
}

enough_resizes() {
	local count
	count=$(resizes)
	echo "$count resizes and parkings"
	[ "$count" -ge 20 ]
}

seen_gpus() {
	jq -se "map(select(.event == \"resize\").to_gpus) | index($1) != null" \
		"$events"
}

was_parked() {
	jq -se 'map(select(.event == "park")) | length > 0' "$events"
}

# Epochs that are complete: all but the last one with a line.
whole_epochs() {
	grep -c '^epoch ' "$WORK/resized.out"
}

loss_of() {
	grep -E "^epoch $2/" "$1" | tail -n 1 | sed 's/.*loss \([^,]*\),.*/\1/'
}

samples_once() {
	bash "$POLLUX_SRCDIR/tests/samples.sh" "$POLLUX_SAMPLE_LOG" $samples \
		"$(whole_epochs)" so-far
}

# Every restore has the checksum of the state saved or held before it. Who is
# parked before its ranks have made a step tells of no resize in between.
restored_is_saved() {
	grep -oE 'pollux: restored .*crc [0-9a-f]{8}' "$WORK/resized.out" |
		grep -oE '[0-9a-f]{8}$' | uniq >"$WORK/restored.txt"
	jq -r 'select(.event == "resize" or .event == "park").saved_crc' \
		"$events" | uniq >"$WORK/saved.txt"
	echo "$(wc -l <"$WORK/saved.txt") saves"
	[ "$(wc -l <"$WORK/saved.txt")" -ge 18 ] &&
		diff "$WORK/saved.txt" "$WORK/restored.txt"
}

# Resizes of job $1 that the plugin wanted cold, as docs/resize.md has them.
wanted_cold() {
	grep -c "JobId=$1 has to stop first" "$SB/log/slurmctld.log"
}

# why_cold FILE: what plugin and launcher say of resizes that were not warm.
why_cold() {
	jq -c 'select(.event == "resize" and .from_gpus > 0
		and .parts.warm_s == 0)' "$1"
	grep "has to stop first" "$SB/log/slurmctld.log"
	grep -E "the next ranks|not ready|in use|lending -> |warming -> [^h]" \
		"$WORK"/*.out
}

# resizes_are FILE warm|cold [JOB]: all but those of a parked job, and but those
# of JOB that the plugin wanted cold.
resizes_are() {
	jq -se 'map(select(.event == "resize" and .from_gpus > 0)
		| (.parts.warm_s > 0) == ($how == "warm"))
		| { resizes: length, so: (map(select(.)) | length) }
		| ., (.so > .resizes / 2 and .resizes <= .so + $other)' \
		--arg how "$2" --argjson other "$(wanted_cold "${3-none}")" "$1" || {
		why_cold "$1"
		return 1
	}
}

# The same of its ranks, as Slurm told them; "0-2" where it wrote "0,1,2".
rank_devices() {
	local pid
	for pid in $(pgrep -x pollux-train); do
		tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | awk -F= '
			{ var[$1] = $2 }
			END {
				if (var["SLURM_JOB_ID"] == job &&
				    var["SLURM_CONF"] ~ sandbox)
					print var["SLURMD_NODENAME"], \
						var["SLURM_STEP_GPUS"]
			}' job="$1" sandbox="^$SB/"
	done | sort -u | awk '{
		count = split($2, at, ",")
		text = ""
		for (i = 1; i <= count; i = j) {
			for (j = i + 1; j <= count && at[j] == at[j - 1] + 1;)
				j++
			text = text (i > 1 ? "," : "") at[i] \
				(j > i + 1 ? "-" at[j - 1] : "")
		}
		print $1, text
	}'
}

# The ranks are on the GPUs that the job has, and on no others.
sits_on_its_own() {
	devices_of "$1" >"$WORK/job.gpus"
	rank_devices "$1" >"$WORK/rank.gpus"
	[ -s "$WORK/job.gpus" ] && diff "$WORK/job.gpus" "$WORK/rank.gpus"
}

# Of one GPU on each node it is to have four on the first: it gains and loses.
move_to_first() {
	local first others waits
	first=$(submit_rigid -w n1 --gpus-per-node=3 -- 600)
	others=$(submit_rigid -N3 -x n1 --gpus-per-node=3 -- 600)
	wait_until "began_on $1 4 && has_nodes $1 4" 30 || return 1
	sb scancel "$first"
	# While it ends its GPUs are nobody's: the job would get one less.
	wait_until "[ -z \"\$(sb squeue -h -j $first -o %T)\" ]" 20
	waits=$(submit_rigid -N3 -x n1 --gpus-per-node=1 -- 600)
	wait_until "began_on $1 4 && has_nodes $1 1" 30 || return 1
	wait_until "sits_on_its_own $1" 10
	sb scancel "$others" "$waits"
}

has_nodes() {
	[ "$(job_field "$1" NumNodes)" -eq "$2" ]
}

# submit_cold NAME: as the others, but for one option of the launcher.
submit_cold() {
	sb sbatch --parsable -J "$1" --scheduler-params=pollux,max=8 \
		-o "$WORK/$1.out" --wrap \
		"srun pollux-launch -v --no-prewarm --checkpoint-dir $WORK/$1.ckpt pollux-train $training --epochs=1000000"
}

# The same training without a resize, on this machine's own pace.
unresized_loss() {
	env -u POLLUX_SAMPLE_LOG pollux-train ${training% --emulate*} \
		--epochs="$1" >"$WORK/unresized.txt" 2>&1 || return 1
	loss_of "$WORK/unresized.txt" "$1"
}

same_loss() {
	local epochs resized unresized
	epochs=$(whole_epochs)
	resized=$(loss_of "$WORK/resized.out" "$epochs")
	unresized=$(unresized_loss "$epochs")
	echo "loss of epoch $epochs: $resized resized, $unresized not"
	awk -v a="$resized" -v b="$unresized" \
		'BEGIN { exit !(a > 0 && b > 0 && a < 1.02 * b && b < 1.02 * a) }'
}

# What the log says that it was asked is in a file, with the same reason.
asked_as_written() {
	jq -r '.answer.why[]' "$WORK"/dump/pollux-*.json >"$WORK/whys.txt"
	# The plan knows no time limits.
	ctld_log | grep -oE "JobId=$job asked for .*" |
		sed 's/^[^:]*: //; s/; will not finish by its time limit$//' |
		tail -n 3 >"$WORK/asked.txt"
	cat "$WORK/asked.txt"
	[ -s "$WORK/asked.txt" ] &&
		! grep -vxFf "$WORK/whys.txt" "$WORK/asked.txt"
}

pauses_told() {
	jq -s 'map(select(.event == "resize").pause_s) | sort |
		{ resizes: length, median: .[length / 2 | floor], worst: last }' \
		"$events"
	[ "$(sb pollux-report --json -j "$job" |
		jq '.jobs[0].resizes // 0')" -ge 15 ]
}

watch_start
job=$(submit_elastic resized pollux,max=16 "$training" --epochs=1000000)
ok "a job starts small and grows over the whole cluster" \
	wait_until "began_on $job 16" 60
ok "rigid jobs squeeze it again and again" squeeze "$job" 10
ok "that makes at least 20 resizes" enough_resizes
ok "it was on a single GPU, on four and on all" \
	eval 'seen_gpus 1 && seen_gpus 4 && seen_gpus 16'
ok "it was parked without any GPU, and came back" was_parked
ok "it moves, from one GPU on each node to all of the first" \
	move_to_first "$job"
ok "while it did, it had both" logged \
	"JobId=$job hands over on 7 GPUs on n\[1-4\]"
ok "ranks sit on the GPUs that the job has, and on no others" \
	wait_until "began_on $job 16 && sits_on_its_own $job" 60
sb scancel "$job"
ok "each decision that was written is made again, to the last digit" \
	decided_again 20 "$WORK"/dump/pollux-*.json
ok "what the job was asked was decided there" asked_as_written
ok "the job ends when cancelled" wait_until "ended $job" 30
ok "every sample of every epoch was used exactly once" samples_once
ok "each restored state has the checksum of the one saved" restored_is_saved
ok "ranks trained on while the next ones started" \
	resizes_are "$events" warm "$job"
ok "the loss is that of a run that was never resized" same_loss

cold=$(submit_cold cold)
ok "with --no-prewarm a job grows as well" \
	wait_until "began_on $cold 8" 60
ok "and is on its GPUs, too" wait_until "sits_on_its_own $cold" 10
sb scancel "$cold"
ok "but its ranks stop before the next ones start" \
	resizes_are "$WORK/cold.ckpt/events.jsonl" cold
ok "no GPU had two owners in any look" watch_end
ok "afterwards all nodes are idle, with no GPU allocated" \
	wait_until cluster_is_idle 30
ok "sacct's GPU-seconds of each shape are those in slurmctld's log" \
	wait_until accounts_agree 10
pauses_told | diag
