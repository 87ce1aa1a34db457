# SPDX-License-Identifier: MIT
# test_python.t - the Python package: alone, under mpirun, and through resizes
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/squeeze.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/python.sh" || exit 1

compiles() {
	"$python" - "$bindings" <<-'END'
		import pathlib, sys
		for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
		    compile(path.read_text(), path, "exec")
		    long = [l for l in path.read_text().splitlines() if len(l) > 79]
		    assert not long, (path, long)
	END
}

says_what_is_there() {
	"$python" -m pollux | tee "$WORK/what"
	grep -q '^libpollux [0-9]' "$WORK/what" &&
		grep -q '^PyTorch [0-9]' "$WORK/what" &&
		grep -q '^launcher: none' "$WORK/what"
}

# together WHAT: three ranks; all that they print is in $WORK/together.out.
together() {
	timeout 60 mpirun --oversubscribe -n 3 "$python" \
		"$bindings/tests/together.py" "$1" >"$WORK/together.out" 2>&1
}

# ... and end with the same weights and statistics.
alike() {
	together "$1"
	local rc=$?
	cat "$WORK/together.out"
	grep -o 'rank .: crc [0-9a-f]*' "$WORK/together.out" >"$WORK/crcs"
	[ $rc -eq 0 ] && [ "$(wc -l <"$WORK/crcs")" -eq 3 ] &&
		[ "$(cut -d' ' -f4 "$WORK/crcs" | sort -u | wc -l)" -eq 1 ]
}

# Two ranks have the losses and weights of PyTorch's DDP, to the rounding of
# sums. torch 2.14 leaves the file by which processes find each other.
beside_ddp() {
	rm -f "$WORK/meet-$1"
	timeout 100 mpirun --oversubscribe -n 2 "$python" \
		"$bindings/tests/ddp.py" "$1" "$WORK" >"$WORK/ddp.out" 2>&1
	local rc=$?
	cat "$WORK/ddp.out"
	# mpirun may put what two ranks say on one line.
	[ $rc -eq 0 ] && [ "$(grep -o 'rank [01]: loss [^ ]*, DDP ' \
		"$WORK/ddp.out" | sort -u | wc -l)" -eq 2 ]
}

# fails_together WHAT REGEX: soon, for all ranks, and says why.
fails_together() {
	local begin=$SECONDS
	together "$1"
	local rc=$?
	cat "$WORK/together.out"
	[ $rc -ne 0 ] && [ $rc -ne 124 ] && grep -q "$2" "$WORK/together.out" &&
		[ $((SECONDS - begin)) -lt 30 ]
}

# The second run goes on at the step that the first one had committed.
survives_sigterm() {
	local run=("$python" "$bindings/tests/terminated.py" "$WORK/term.ckpt")
	"${run[@]}"
	[ $? -eq 143 ] && [ "$(timeout 60 "${run[@]}")" = restored ]
}

# The diff shown in docs/python.md makes one example out of the other.
diff_applies() {
	mkdir -p "$WORK/diff" && cd "$WORK/diff" &&
		cp "$bindings/examples/train_ddp.py" . &&
		sed -n '/^```diff/,/^```$/p' "$POLLUX_SRCDIR/docs/python.md" |
		sed '/^```/d' | patch -s train_ddp.py &&
		diff train_ddp.py "$bindings/examples/train.py"
}

loss_after() {
	sed -n "s/^epoch $1: loss //p" "$2"
}

# Two ranks of plain DDP, without any launcher.
plain_example() {
	local rank
	cd "$WORK/diff" || return 1
	export MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 10000))
	export WORLD_SIZE=2 EPOCHS=2
	for rank in 1 0; do
		RANK=$rank timeout 60 "$python" \
			"$bindings/examples/train_ddp.py" \
			>"plain.$rank" 2>&1 &
	done
	wait $! && wait
	cat plain.*
	loss_after 1 plain.0 | grep '^[0-9]'
}

elastic_example() {
	cd "$WORK/diff" || return 1
	EPOCHS=2 timeout 60 mpirun --oversubscribe -n 2 "$python" train_ddp.py \
		>ours 2>&1
	local rc=$?
	cat ours
	[ $rc -eq 0 ] && loss_after 1 ours | grep '^[0-9]'
}

plan_known() {
	plan "$tap_count"
}

# as_on_a_gpu COMMAND...: each pass begins without gradients (common.py).
as_on_a_gpu() {
	GRADIENTS=anew "$@"
}

unit_tests test_alone test_encoding test_refused test_given test_shards \
	test_compare
as_on_a_gpu unit_tests test_alone test_given
ok "all files compile, with lines of at most 79 columns" compiles
ok "python3 -m pollux says what is there" says_what_is_there
for what in sgd adam norm tight; do
	ok "three ranks train as one process does: $what" alike $what
done
for what in sgd adam; do
	ok "two ranks train as PyTorch's DDP does: $what" beside_ddp $what
done
for what in adam norm tight; do
	ok "three ranks train as one process does: $what, as on a GPU" \
		as_on_a_gpu alike $what
done
ok "two ranks train as PyTorch's DDP does, as on a GPU" \
	as_on_a_gpu beside_ddp sgd
ok "an exception in one rank ends the others" \
	fails_together crash "ValueError: sample . is broken"
ok "so does sys.exit()" fails_together exit "before its training has finished"
ok "so does Ctrl-C" fails_together interrupt KeyboardInterrupt
ok "SIGTERM saves what was committed, pickled state too" survives_sigterm
ok "the diff in docs/python.md turns one example into the other" diff_applies
ok "the example trains before" plain_example
ok "the example trains after" elastic_example

if [ "${POLLUX_TESTS:-all}" = unit ]; then
	plan_known
	exit
fi

# ---- through resizes, in a cluster ----

samples=1000
export POLLUX_SAMPLE_LOG=$WORK/samples
mkdir "$POLLUX_SAMPLE_LOG"
sandbox_up --nodes 2 --gpus-per-node 2
folder=$WORK/torch.ckpt

resizes() {
	jq -s 'map(select(.event == "resize")) | length' "$folder/events.jsonl"
}

resized() {
	[ "$(resizes)" -ge "$1" ]
}

sizes_seen() {
	jq -se 'map(select(.event == "resize").to_gpus) | unique' \
		"$folder/events.jsonl"
	jq -se 'map(select(.event == "resize").to_gpus) |
		(index(4) != null) and (map(. < 4) | any)' \
		"$folder/events.jsonl"
}

squeeze_twice() {
	local rigid
	rigid=$(submit_rigid -N 1 --gpus-per-node=2 -- 600) &&
		wait_until "is_state $rigid RUNNING" 30 &&
		wait_until "began_on $job 2" 30 && sb scancel "$rigid" &&
		wait_until "began_on $job 4" 30 && resized 3
}

samples_once() {
	bash "$POLLUX_SRCDIR/tests/samples.sh" "$POLLUX_SAMPLE_LOG" $samples \
		"$epochs"
}

finished() {
	cat "$WORK/torch.out"
	[ "$(job_state "$job")" = COMPLETED ] &&
		grep -q "^rank 0 of . has finished" "$WORK/torch.out"
}

# Each epoch is told once, with the learning rate of its number.
schedule_is_right() {
	grep '^epoch ' "$WORK/torch.out"
	sed -n 's/^epoch \([0-9]*\) .* lr \(.*\)$/\1 \2/p' "$WORK/torch.out" |
		awk '{
			if ($1 != NR - 1)
				bad = 1
			want = 0.02 / 2 ^ int(NR / 2)
			if ($2 < 0.999 * want || $2 > 1.001 * want)
				bad = 1
		}
		END { exit bad || NR != '"$epochs"' }'
}

opens_as_safetensors() {
	local newest
	newest=$(find "$folder" -name '*.safetensors' -printf '%T@ %h\n' |
		sort -n | tail -n 1 | cut -d' ' -f2)
	"$python" "$bindings/tests/safetensors.py" "$newest" |
		tee "$WORK/tensors"
	grep -q '^model.0.weight \[16, 8\] ' "$WORK/tensors" &&
		grep -q '^model.1.running_mean \[16\] ' "$WORK/tensors" &&
		grep -q '^optimizer.momentum_buffer.0.weight \[16, 8\] ' \
			"$WORK/tensors"
}

epochs=40
job=$(sb sbatch --parsable -J torch --scheduler-params=pollux,max=4 \
	-o "$WORK/torch.out" --wrap "srun pollux-launch -v --checkpoint-dir \
	$folder $python $bindings/tests/elastic.py $epochs $samples 6 \
	$WORK/hurry")
ok "an elastic PyTorch job grows to four ranks" \
	wait_until "began_on $job 4" 30
ok "a rigid job squeezes it, and it grows again" squeeze_twice
touch "$WORK/hurry"
ok "it runs to its end" wait_until "ended $job" 60
ok "and has completed, with exit code 0" finished
ok "it had fewer ranks in between" sizes_seen
ok "every sample of every epoch was used exactly once" samples_once
ok "the schedule went on with the epochs" schedule_is_right
ok "its last checkpoint opens as safetensors" opens_as_safetensors
jq -s 'map(select(.event == "resize").pause_s) | sort |
	{ resizes: length, median_s: .[length / 2 | floor], worst_s: last }' \
	"$folder/events.jsonl" | diag
plan_known
