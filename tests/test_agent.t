# SPDX-License-Identifier: MIT
# test_agent.t - libpollux and pollux-train: alone, under mpirun, interrupted
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/mpi.sh" || exit 1
launcher=$POLLUX_BUILDDIR/tests/unit/fake_launcher
cd "$WORK" || exit 1

same() {
	echo "\"$1\" \"$2\""
	[ -n "$1" ] && [ "$1" = "$2" ]
}

less() {
	awk -v a="$1" -v b="$2" 'BEGIN { print a, b; exit !(a != "" && a < b) }'
}

# ---- from the first to the last epoch ----

run_alone() {
	ranks 0 "$train" --seed 5 --json >alone.out 2>alone.err
}

loss_falls() {
	less "$(field loss alone.out)" \
		"$(sed -n 's/^epoch 1\/.* loss \([0-9.]*\),.*/\1/p' alone.out)"
}

# Uneven on purpose: 1001 samples, batches of 100 on 3 ranks.
uneven() {
	mkdir "log.$1" || return 1
	POLLUX_SAMPLE_LOG=log.$1 ranks "$1" "$train" --samples 1001 \
		--epochs 3 --batch 100 --max-batch 400 || return 1
	bash "$POLLUX_SRCDIR/tests/samples.sh" "log.$1" 1001 3
}

# The mean gradient must not depend on how samples are spread.
same_loss_on() {
	local n
	for n in 1 2 3 5; do
		ranks "$n" "$train" --samples 1001 --epochs 3 --batch 50 \
			--max-batch 50 --json >"spread.$n" || return 1
		awk -v a="$(field loss spread.1)" \
			-v b="$(field loss "spread.$n")" 'BEGIN {
				print a, b; d = a - b
				exit !(b > 0 && d < 1e-4 && d > -1e-4)
			}' || return 1
	done
}

accumulated() {
	mkdir log.accumulated
	POLLUX_SAMPLE_LOG=log.accumulated ranks 2 "$train" --samples 1001 \
		--epochs 3 --batch 50 --max-batch 50 --max-gpu-batch 9 \
		--json >accumulated.out 2>accumulated.err || return 1
	grep 'batch 50 = 2 x 9 x 3' accumulated.err || return 1
	bash "$POLLUX_SRCDIR/tests/samples.sh" log.accumulated 1001 3
}

virtual_nodes() {
	ranks 4 bash -c 'SLURM_NODEID=$((OMPI_COMM_WORLD_RANK / 2)) \
		exec "$0" --epochs 1 --samples 256' "$train" 2>&1 |
		grep '4 ranks on 2 nodes over mpi'
}

batch_grows() {
	ranks 2 "$train" --emulate-gpu fixed --samples 8192 --epochs 3 \
		--json >grows.out 2>&1 || return 1
	less 64 "$(field batch grows.out)"
}

# Without any signal the noise scale is infinite, which JSON cannot say.
json_when_diverged() {
	ranks 0 "$train" --samples 256 --epochs 2 --lr 1e6 --json \
		>diverged.out 2>&1 || return 1
	grep '^{' diverged.out | jq -e '.noise_scale == null'
}

# ---- stopped and started again ----

# stopped_on RANKS MODE ARGS...: one start under a launcher.
stopped_on() {
	local n=$1 mode=$2
	shift 2
	POLLUX_CHECKPOINT_DIR=$WORK/saved ranks 0 "$launcher" "$WORK/s" "$mode" \
		bash -c "$(declare -f ranks); limit='$limit'; ranks \"\$@\"" - \
		"$n" "$train" "$@"
}

# Crc of the last save and of the restore that followed.
crcs_agree() {
	local file=$1 last=$2
	same "$(sed -n 's/.*restored .* crc \([0-9a-f]*\) as saved/\1/p' "$file")" \
		"$(sed -n 's/^> saved .* crc=\([0-9a-f]*\) .*/\1/p' "$last")"
}

shapes="1 3 2 0 4 1 2 5"
args=(--samples 2000 --epochs 2 --batch 60 --max-batch 240 --seed 3)
pace=(--emulate-gpu compute)

stop_all() {
	local i=0 n
	mkdir log.stops
	export POLLUX_SAMPLE_LOG=$WORK/log.stops
	for n in $shapes; do
		stopped_on "$n" stop "${args[@]}" "${pace[@]}" \
			>"stop.$i" 2>&1 || return 1
		grep -q '^> saved step=.* samples=' "stop.$i" || return 1
		i=$((i + 1))
	done
	stopped_on 2 listen "${args[@]}" --json >stop.last 2>&1
	local rc=$?
	unset POLLUX_SAMPLE_LOG
	return $rc
}

all_crcs_agree() {
	local i=1 count
	count=$(wc -w <<<"$shapes")
	while [ "$i" -lt "$count" ]; do
		crcs_agree "stop.$i" "stop.$((i - 1))" || return 1
		i=$((i + 1))
	done
	crcs_agree stop.last "stop.$((i - 1))"
}

# What was said, but for what is said again and again.
words() {
	sed -n 's/^> \([a-z]*\).*/\1/p' "$1" | grep -vx "hint\|beat\|kept" |
		paste -sd' '
}

protocol_kept() {
	same "$(words stop.0)" 'hello restored began saved' &&
		same "$(words stop.last)" 'hello restored began done' &&
		grep '^> restored step=0 from=none seconds=' stop.0 &&
		grep '^> restored step=[1-9][0-9]* from=disk ' stop.last &&
		grep '^> beat step=[1-9]' stop.0
}

# With a fixed batch and the same ranks, the very same bits.
interrupted_is_same() {
	rm -rf saved
	local fixed=(--samples 1000 --epochs 2 --batch 60 --max-batch 60)
	ranks 2 "$train" "${fixed[@]}" --json >whole.out 2>&1 || return 1
	local i
	for i in 1 2 3; do
		stopped_on 2 stop "${fixed[@]}" "${pace[@]}" || return 1
	done
	stopped_on 2 listen "${fixed[@]}" --json >parts.out 2>&1 || return 1
	grep 'restored step' parts.out || return 1
	same "$(field crc whole.out)" "$(field crc parts.out)"
}

hints_arrive() {
	rm -rf saved
	stopped_on 2 listen --samples 4096 --epochs 2 "${pace[@]}" \
		>hints.out 2>&1 || return 1
	grep -c '^> hint .*model=.*noise=.*profiled=1,2' hints.out
}

# 3 ranks do not divide 32 samples: none ever has the 11 of a full pass.
uneven_profiled() {
	rm -rf saved
	stopped_on 3 listen --samples 2048 --epochs 2 --batch 32 \
		--max-batch 32 "${pace[@]}" >uneven.out 2>&1 || return 1
	grep -c '^> hint .*profiled=1,3' uneven.out
}

# Starts of some 0.2 s, at least two steps each; 0.6 s is the time to flush.
flushed_between_stops() {
	local i
	rm -rf saved
	for i in 1 2 3 4 5 6; do
		stopped_on 1 stop "${args[@]}" "${pace[@]}" --time-scale 0.5 \
			--checkpoint-every 0.6 || return 1
	done
	grep -ho '"flushed":[0-9]*' saved/step-*/*.json | grep -v ':0'
}

# Asked for in between, and training goes on.
saved_on_demand() {
	rm -rf saved
	stopped_on 2 save --samples 2048 --epochs 2 --checkpoint-every 0 \
		"${pace[@]}" >demand.out 2>&1 || return 1
	[ "$(grep -c '^pollux: saved step' demand.out)" -eq 2 ] || return 1
	same "$(words demand.out)" 'hello restored began done'
}

# ---- what a training may do ----

too_large_for_memory() {
	rm -rf saved
	mkdir log.memory
	POLLUX_SAMPLE_LOG=log.memory ranks 2 "$train" --samples 1001 \
		--epochs 3 --batch 100 --max-batch 100 --memory 20 \
		--checkpoint-dir saved >memory.out 2>&1 || return 1
	grep 'a pass of 50 samples does not fit into memory, so at most 25' \
		memory.out || return 1
	bash "$POLLUX_SRCDIR/tests/samples.sh" log.memory 1001 3
}

memory_is_remembered() {
	stopped_on 2 listen --samples 1001 --epochs 4 --batch 100 \
		--max-batch 100 --memory 20 "${pace[@]}" >memory.out 2>&1 ||
		return 1
	grep 'restored step' memory.out && ! grep 'does not fit' memory.out &&
		grep '^> hint batch=100,100,1,\(1[0-9]\|2[0-4]\),1 ' memory.out
}

nothing_fits() {
	fails ranks 2 "$train" --min-gpu-batch 30 --max-gpu-batch 60 \
		--memory 20 >memory.out 2>&1 || return 1
	grep 'a pass of 3[0-9] samples does not fit into memory, and' memory.out
}

# A batch of 256 brings less than four steps of 64: more than two epochs.
ends_by_progress() {
	ranks 2 "$train" --samples 4096 --epochs 2 --by-progress --batch 64 \
		--emulate-gpu fixed --time-scale 20 --json >progress.out 2>&1 ||
		return 1
	less 8192 "$(field samples_used progress.out)"
}

# What was reached is not counted again: 64 steps an epoch at a fixed batch.
progress_is_restored() {
	local fixed=(--samples 4096 --epochs 2 --by-progress --batch 64
		--max-batch 64)
	rm -rf saved
	stopped_on 2 stop "${fixed[@]}" "${pace[@]}" >progress.out 2>&1 &&
		stopped_on 1 stop "${fixed[@]}" "${pace[@]}" >progress.out 2>&1 &&
		stopped_on 2 listen "${fixed[@]}" --json >progress.out 2>&1 ||
		return 1
	grep 'restored step' progress.out &&
		same "$(field samples_used progress.out)" 8192
}

# rate RULE: of the last epoch, at four times the base batch.
rate() {
	ranks 2 "$train" --samples 4096 --epochs 2 --batch 64 --max-batch 256 \
		--min-gpu-batch 128 --lr-scaling "$1" 2>&1 |
		sed -n 's/^epoch 2.* batch 256 .* lr \([0-9.]*\),.*/\1/p'
}

rules_differ() {
	same "$(rate fixed)" 0.05 && same "$(rate linear)" 0.2 &&
		same "$(rate sqrt)" 0.1 && same "$(rate legw)" 0.1 &&
		less 0.05 "$(rate adascale)" && less "$(rate adascale)" 0.2
}

folder_of_rank_0() {
	rm -rf saved
	ranks 2 bash -c '[ "$OMPI_COMM_WORLD_RANK" = 0 ] &&
		export POLLUX_CHECKPOINT_DIR=saved
		exec "$@"' - "$train" "${args[@]}" 2>&1 | grep 'saved step'
}

# ---- when things go wrong ----

two_checkpoints() {
	rm -rf saved log.broken
	mkdir log.broken
	export POLLUX_SAMPLE_LOG=$WORK/log.broken
	stopped_on 1 stop "${args[@]}" "${pace[@]}" || return 1
	stopped_on 2 stop "${args[@]}" "${pace[@]}" || return 1
	ls saved
	[ "$(find saved -name 'step-*' | wc -l)" -eq 2 ]
}

# Change one byte in the middle of a file.
damage() {
	local size
	size=$(stat -c %s "$1")
	printf '\377' | dd of="$1" bs=1 seek=$((size / 2)) conv=notrunc 2>&1
}

newest() {
	find saved -name 'step-*' ! -name '*.tmp' | sort | tail -n 1
}

broken_refused() {
	local file
	file=$(newest)
	damage "$file"/model-00001-of-00001.safetensors
	stopped_on 2 listen "${args[@]}" --json >broken.out 2>&1 || return 1
	grep 'pollux: cannot use checkpoint .* has checksum' broken.out &&
		grep 'pollux: restored step' broken.out && [ -d "$file.broken" ]
}

rollback_counted_once() {
	unset POLLUX_SAMPLE_LOG
	bash "$POLLUX_SRCDIR/tests/samples.sh" log.broken 2000 2
}

all_broken_fails() {
	local file
	for file in saved/step-*/*.json; do
		damage "$file"
	done
	# Nor the second time: a launcher tries again.
	for _ in 1 2; do
		fails stopped_on 2 listen "${args[@]}" >gone.out 2>&1 ||
			return 1
		grep 'all checkpoints in .* are broken' gone.out || return 1
	done
}

other_data_refused() {
	rm -rf saved
	stopped_on 1 stop "${args[@]}" "${pace[@]}" || return 1
	fails ranks 2 "$train" --checkpoint-dir saved --samples 2001 \
		>other.out 2>&1 || return 1
	grep 'its dataset had 2000 samples, this one has 2001' other.out ||
		return 1
	fails ranks 1 "$train" --checkpoint-dir saved "${args[@]}" \
		--hidden 7 >other.out 2>&1 || return 1
	grep 'tensor "layer0.weight" has another type or shape' other.out
}

# A rank is killed; what follows goes on from the last checkpoint.
killed_goes_on() {
	rm -rf saved log.killed
	mkdir saved log.killed
	export POLLUX_SAMPLE_LOG=$WORK/log.killed
	ranks 2 bash -c 'echo $$ >"pid.$OMPI_COMM_WORLD_RANK"; exec "$@"' - \
		"$train" "${args[@]}" --emulate-gpu compute --time-scale 0.3 \
		--checkpoint-dir saved --checkpoint-every 0.2 \
		>killed.out 2>&1 &
	local job=$!
	wait_until '[ -n "$(newest)" ]' 30 && sleep 0.5
	kill -9 "$(cat pid.1)"
	fails wait $job || return 1
	ranks 3 "$train" "${args[@]}" --checkpoint-dir saved 2>&1 |
		grep 'restored step' || return 1
	unset POLLUX_SAMPLE_LOG
	bash "$POLLUX_SRCDIR/tests/samples.sh" log.killed 2000 2
}

launcher_gone() {
	rm -rf saved
	fails stopped_on 2 vanish "${args[@]}" "${pace[@]}" >vanish.out 2>&1 ||
		return 1
	grep 'the launcher is gone; state is saved' vanish.out || return 1
	ranks 2 "$train" "${args[@]}" --checkpoint-dir saved 2>&1 |
		grep 'restored step'
}

# ---- what users give ----

params_rule() {
	POLLUX_PARAMS=pollux,batch=200,max-batch=200 ranks 0 "$train" \
		--epochs 1 2>&1 | grep 'batch 200 = 1 x 200 x 1'
}

params_told() {
	POLLUX_PARAMS=pollux,batch=200,max-batch=200 ranks 0 "$train" \
		--batch 100 --epochs 1 2>&1 | tee told.out
	grep 'base batch is 200, as --scheduler-params says, not the .* 100' \
		told.out || return 1
	ranks 2 "$train" --batch 1 --max-batch 64 --samples 64 --epochs 1 \
		>told.out 2>&1
	cat told.out
	grep 'base batch of 1 is less than 1 sample for each of 2 ranks' \
		told.out || return 1
	ranks 2 "$train" --batch 2 --samples 64 --epochs 1 2>&1 |
		fails grep 'the base batch'
}

# A job of batch=2 is told on four GPUs, also when it has grown to them; once.
small_batch_told() {
	local told='base batch of 2 is less than 1 sample for each of 4 ranks'
	POLLUX_PARAMS=pollux,batch=2 ranks 4 "$train" --samples 64 \
		--max-batch 64 --epochs 1 >told.out 2>&1
	cat told.out
	grep "$told" told.out || return 1
	set -- --batch 2 --max-batch 64 --samples 640 --checkpoint-dir small
	ranks 2 "$train" "$@" --epochs 1 >grown.2 2>&1 || return 1
	ranks 4 "$train" "$@" --epochs 2 >grown.4 2>&1 || return 1
	ranks 4 "$train" "$@" --epochs 3 >grown.5 2>&1 || return 1
	tail -n 3 grown.*
	grep "$told" grown.4 && ! grep 'base batch of' grown.2 grown.5
}

# says SENTENCE ARGS...: refused with it.
says() {
	local sentence=$1
	shift
	fails ranks 0 "$train" "$@" >says.out 2>&1 || return 1
	cat says.out
	grep -qF -- "$sentence" says.out
}

bad_options() {
	says 'want a whole number from 1' --samples 0 &&
		says 'want a number from' --lr nan &&
		says 'batch 64 and max_batch 32' --max-batch 32 &&
		says '--images and --labels go together' --images x &&
		says 'collectives "smoke": want' --collectives smoke &&
		says 'lr_scaling "cubic": want adascale' --lr-scaling cubic &&
		POLLUX_PARAMS=pollux,batch=no says 'POLLUX_PARAMS: batch=no' &&
		POLLUX_SOCKET=$WORK/none says 'no folder for checkpoints'
}

# Four images of 2 x 2, in two classes.
idx_files() {
	printf '\0\0\10\3\0\0\0\4\0\0\0\2\0\0\0\2' >images
	printf '\377\0\0\377\376\1\0\377\0\377\377\0\1\376\377\0' >>images
	printf '\0\0\10\1\0\0\0\4\0\0\1\1' >labels
}

idx_learnt() {
	idx_files
	ranks 2 "$train" --images images --labels labels --epochs 100 \
		--batch 2 --max-batch 2 --json >idx.out || return 1
	same "$(field accuracy idx.out)" 1.000000
}

idx_refused() {
	idx_files
	head -c 30 images >short
	says 'cut short, want 16 bytes' --images short --labels labels &&
		says 'not an IDX file with 3 dim' --images labels \
			--labels labels &&
		says 'none: No such file' --images images --labels none
}

profiles_work() {
	local profile
	for profile in compute network fixed \
		"$POLLUX_SRCDIR"/examples/profiles/*.profile; do
		ranks 2 "$train" --samples 64 --epochs 1 --time-scale 20 \
			--emulate-gpu "$profile" >profile.out 2>&1 || return 1
		grep 'emulated timing of' profile.out || return 1
	done
}

profiles_refused() {
	printf 'alpha_c 0.1\nalpha_d 2\n' >bad.profile
	says 'line 2: unknown key "alpha_d"' --emulate-gpu bad.profile &&
		printf 'alpha_c 0.1\n' >bad.profile &&
		says 'beta_c is missing' --emulate-gpu bad.profile &&
		says 'want one of compute' --emulate-gpu warp
}

# A few rows in the format of the published traces.
small_traces() {
	mkdir -p traces
	printf '%s\n' placement,local_bsz,step_time,sync_time \
		1,32,0.040,0.0005 1,64,0.060,0.0005 2,32,0.050,0.0100 \
		2,64,0.070,0.0100 13,32,9,8 11,32,0.080,0.0400 \
		>traces/placements.csv
	printf '%s\n' num_nodes,num_replicas,local_bsz,step_time,sync_time \
		6,6,32,0.140,0.099 >traces/scalability.csv
}

# 32 steps of 0.060 s, ten times as fast: at most 10,667 samples a second.
traces_set_the_pace() {
	small_traces
	ranks 0 "$train" --emulate-traces traces --time-scale 10 --samples 2048 \
		--batch 64 --max-batch 64 --epochs 2 --json >traces.out 2>&1 ||
		return 1
	less "$(field samples_per_s traces.out)" 10700
}

bad_traces_refused() {
	small_traces
	echo '2,32,x,y' >>traces/placements.csv
	says 'line 8: no times in it' --emulate-traces traces
}

recorded_traces() {
	ranks 4 "$train" --emulate-traces "$recorded/cifar10" --time-scale 20 \
		--samples 2048 --epochs 2 --batch 128 --min-gpu-batch 32 \
		--max-batch 1024 --json
}

plan 44
ok "trains alone" run_alone
ok "the loss falls" loss_falls
ok "one rank uses every sample once" uneven 1
ok "two ranks use every sample once" uneven 2
ok "three ranks use every sample once, also when they do not divide it" uneven 3
ok "the mean gradient does not depend on the number of ranks" same_loss_on
ok "a batch too large for the GPUs is accumulated" accumulated
ok "Slurm's node numbers tell virtual nodes apart" virtual_nodes
ok "the batch grows where that pays" batch_grows
ok "a diverged training's summary is JSON, too" json_when_diverged
ok "is stopped and started on changing numbers of ranks" stop_all
ok "what was restored is bit for bit what was saved" all_crcs_agree
ok "every sample was used once through all stops" \
	bash "$POLLUX_SRCDIR/tests/samples.sh" log.stops 2000 2
ok "says hello, began, saved, done and nothing out of order" protocol_kept
ok "an interrupted training ends with the same bits" interrupted_is_same
ok "hints tell model and noise" hints_arrive
ok "a batch that the ranks do not divide is measured" uneven_profiled
ok "flushes in time also when it is stopped again and again" \
	flushed_between_stops
ok "saves on demand and trains on" saved_on_demand
ok "a pass that does not fit into memory is tried smaller" too_large_for_memory
ok "what does not fit is remembered" memory_is_remembered
ok "fails in a sentence when nothing fits" nothing_fits
ok "training can end by progress" ends_by_progress
ok "progress goes on where it was" progress_is_restored
ok "the learning rate follows the rule that is chosen" rules_differ
ok "all ranks use the folder of rank 0" folder_of_rank_0
ok "keeps the last two checkpoints" two_checkpoints
ok "a broken checkpoint is refused, the one before it used" broken_refused
ok "what was rolled back is trained again, once" rollback_counted_once
ok "without any good checkpoint it does not begin anew" all_broken_fails
ok "a checkpoint of another training is refused" other_data_refused
ok "after kill -9 it goes on from the last checkpoint" killed_goes_on
ok "saves and fails when the launcher goes away" launcher_gone
ok "--scheduler-params goes before the program's own limits" params_rule
ok "a batch that is not the program's is told" params_told
ok "and one that is less than the ranks, when it first is" small_batch_told
ok "bad options are refused in a sentence" bad_options
ok "learns images in IDX files" idx_learnt
ok "bad IDX files are refused in a sentence" idx_refused
ok "every profile sets the pace" profiles_work
ok "bad profiles are refused in a sentence" profiles_refused
ok "recorded times set the pace" traces_set_the_pace
ok "bad traces are refused in a sentence" bad_traces_refused
recorded=$POLLUX_SRCDIR/../shared/data/osdi21/traces
if [ -d "$recorded" ]; then
	ok "published traces set the pace" recorded_traces
else
	skip "published traces set the pace" "../shared/data is not here"
fi
