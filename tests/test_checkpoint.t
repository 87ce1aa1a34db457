# SPDX-License-Identifier: MIT
# test_checkpoint.t - ranks together: shards, the background, full disks, rescue
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/mpi.sh" || exit 1
cd "$WORK" || exit 1

args=(--samples 20000 --epochs 50 --batch 60 --max-batch 240 --seed 3)
pace=(--emulate-gpu compute --time-scale 0.3)

# begun FOLDER N ARGS...: in the background; ranks leave their numbers in
# FOLDER.pid.RANK.
begun() {
	local folder=$1 n=$2
	shift 2
	mkdir -p "$folder" "$folder.log"
	rm -f "$folder".pid.*
	# One signal to $job is to be one to mpirun: told twice to end, it goes
	# at once and leaves the ranks behind.
	POLLUX_SAMPLE_LOG=$WORK/$folder.log timeout --foreground -k 5 \
		$((60 * POLLUX_PATIENCE)) mpirun -n "$n" bash -c \
		'echo $$ >"$0.pid.$OMPI_COMM_WORLD_RANK"; exec "$@"' \
		"$folder" "$train" --checkpoint-dir "$folder" "$@" \
		>"$folder.out" 2>&1 &
	job=$!
}

# Steps that some rank of the last start has committed.
committed() {
	local last
	last=$(find "$1.log" -name '*.*' -printf '%f\n' | sort -n | tail -n 1)
	cat "$1.log/${last%.*}".* | awk '
		$1 != "from" && $1 >= n { n = $1 + 1 } END { print n + 0 }'
}

steps() {
	find "$1" -maxdepth 1 -name 'step-*' ! -name '*.tmp'
}

restored_step() {
	sed -n 's/^pollux: restored step \([0-9]*\),.*/\1/p' "$1"
}

# ---- shards ----

large=(--ballast-mb 64 --samples 2000 --epochs 400 --batch 60 --seed 3)

in_shards() {
	begun shards 3 "${large[@]}" --checkpoint-every 0.2
	wait_until '[ -n "$(steps shards)" ]' 30 || return 1
	sleep 0.5
	kill "$job"
	wait "$job"
	find shards | sort
	ls shards/step-*/model-00003-of-00003.safetensors
}

# Not again at the step after, though the disk is fast.
once_an_interval() {
	ranks 1 "$train" --checkpoint-dir often "${pace[@]}" --samples 2000 \
		--epochs 6 --checkpoint-every 0.3 >often.out 2>&1
	grep 'saved step' often.out
	sed -n 's/^pollux: saved step \([0-9]*\),.*/\1/p' often.out | awk '
		n++ && $1 < last + 2 { twice++ }
		{ last = $1 }
		END { exit n < 3 || twice > 1 }' # 1: the end of training
}

# What three ranks wrote, one and two read; the checksum says that it is so.
on_fewer_ranks() {
	local n
	for n in 0 2; do
		ranks "$n" "$train" --checkpoint-dir shards "${large[@]}" \
			--epochs 1 >shards.out 2>&1 || return 1
		cat shards.out
		grep 'restored step .* as saved' shards.out || return 1
	done
}

# ---- a rank is lost ----

# lost FOLDER VICTIM: one of three ranks is killed; how many steps are lost?
lost() {
	local folder=$1 before after
	begun "$folder" 3 "${args[@]}" "${pace[@]}" --checkpoint-every 1000
	wait_until "[ \$(committed $folder) -gt 3 ]" 30 || return 1
	kill -9 "$(cat "$folder.pid.$2")"
	wait "$job" && return 1
	before=$(committed "$folder")
	cat "$folder.out"
	begun "$folder" 2 "${args[@]}" "${pace[@]}" --checkpoint-every 1000
	wait_until "grep -q 'restored step' $folder.out" 30
	kill "$job"
	wait "$job"
	after=$(restored_step "$folder.out")
	echo "committed $before steps, restored $after"
	[ -n "$after" ] && [ $((before - after)) -le 1 ]
}

told_to_leave() {
	local before after
	begun leave 3 "${args[@]}" "${pace[@]}" --checkpoint-every 1000
	wait_until '[ $(committed leave) -gt 3 ]' 30 || return 1
	kill "$job"
	wait "$job" && return 1
	before=$(committed leave)
	cat leave.out
	ranks 0 "$train" --checkpoint-dir leave "${args[@]}" --epochs 1 \
		>after.out 2>&1
	after=$(restored_step after.out)
	echo "committed $before steps, restored $after"
	[ -n "$after" ] && [ $((before - after)) -le 1 ]
}

# ---- a full disk ----

# In the background as in the end; training itself does not notice.
full_disk() {
	mkdir full
	mount -t tmpfs -o size=3m none full 2>/dev/null || {
		echo "# skipped: cannot mount a small file system"
		return 0
	}
	ranks 2 "$train" --checkpoint-dir full --ballast-mb 1 --samples 2000 \
		--epochs 1 >full.out 2>&1
	head -c 10m /dev/zero >full/filler 2>/dev/null
	fails ranks 2 "$train" --checkpoint-dir full --ballast-mb 1 \
		--samples 2000 --epochs 3 --checkpoint-every 0.05 \
		--emulate-gpu compute >full.out 2>&1
	local rc=$?
	cat full.out
	ls -l full
	rm full/filler
	[ $rc -eq 0 ] && grep 'cannot save step .*: No space left' full.out &&
		ranks 1 "$train" --checkpoint-dir full --ballast-mb 1 \
			--samples 2000 --epochs 1 2>&1 | grep 'restored step'
	rc=$?
	umount full
	return $rc
}

# Rank 1 of 3 may not write files as long as its share.
one_cannot_write() {
	mkdir one
	fails ranks 3 bash -c 'trap "" XFSZ
		[ "$OMPI_COMM_WORLD_RANK" -ne 1 ] || ulimit -f 1000
		exec "$@"' - "$train" --checkpoint-dir one --ballast-mb 64 \
		--samples 2000 --epochs 3 --checkpoint-every 0.05 \
		--emulate-gpu compute >one.out 2>&1 || return 1
	cat one.out
	find one
	# One that is told to leave, as the others fail, may still save alone.
	[ -z "$(find one -name '*.json' -exec grep -L '"rescue":true' {} +)" ] &&
		[ "$(grep -c '^epoch' one.out)" -ge 2 ] &&
		grep 'cannot save step .*: rank 1: cannot write' one.out
}

echo 1..9
ok "all ranks write a part of a large state, in the background" in_shards
ok "which is restored on fewer ranks, bit for bit" on_fewer_ranks
ok "it is written once an interval" once_an_interval
ok "when rank 0 is killed at most one step is lost" lost lost0 0
ok "when rank 1 is killed at most one step is lost" lost lost1 1
ok "when rank 2 is killed at most one step is lost" lost lost2 2
ok "who is told to leave loses at most one step" told_to_leave
ok "a full disk leaves the last good checkpoint" full_disk
ok "nor is there one when another rank cannot write" one_cannot_write
