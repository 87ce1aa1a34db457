# SPDX-License-Identifier: MIT
# test_launch.t - any program in a Slurm job: its environment, its resizes,
# its end
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1

sandbox_up --nodes 2 --gpus-per-node 2
cd "$WORK" || exit 1
plan 16

# launched NAME OPTIONS... -- PROGRAM...: on all four GPUs, to its end.
launched() {
	local name=$1 line
	shift
	line="pollux-launch --checkpoint-dir $WORK/$name.ckpt $*"
	timeout $((20 * POLLUX_PATIENCE)) pollux-sandbox exec --dir "$SB" \
		sbatch --wait -N2 --gpus-per-node=2 -o "$WORK/$name.out" \
		--wrap "$line" >/dev/null
	echo "exit code $?" >>"$WORK/$name.out"
}

cat >see.sh <<'END'
echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE" \
	"$GROUP_RANK/$GROUP_WORLD_SIZE $MASTER_ADDR" \
	"$TORCHELASTIC_RESTART_COUNT $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"
echo "port $MASTER_PORT"
END

# On hosts a node has an address of its own, which Slurm knows by its name.
torch_sees() {
	local first=127.0.0.1
	[ ${#sb_host[@]} -eq 0 ] || first=n1
	launched see bash "$WORK/see.sh"
	cat see.out
	grep / see.out | sort | diff - <(
		echo "0/4 0/2 0/2 $first 0 n1 0,1"
		echo "1/4 1/2 0/2 $first 0 n1 0,1"
		echo "2/4 0/2 1/2 $first 0 n2 0,1"
		echo "3/4 1/2 1/2 $first 0 n2 0,1"
	) && tail -n 1 see.out | grep -x 'exit code 0'
}

one_port() {
	[ "$(grep -E '^port [23][0-9]{4}$' see.out | sort | uniq -c |
		awk '{ print $1 }')" = 4 ]
}

cat >doom.sh <<'END'
echo "rank $RANK lives" >&2
# Not before the others have come so far.
[ "$RANK" -ne 2 ] || { sleep 1.5 && kill -KILL $$; }
sleep 20
END

culprit_named() {
	launched doom --max-restarts=1 --json-log="$WORK/doom.json" \
		--log-dir="$WORK/doom.logs" bash "$WORK/doom.sh"
	cat doom.out
	grep -q 'rank 2 on n2 was killed by signal 9 (Killed); its last' \
		doom.out && grep -q '  | rank 2 lives' doom.out
}

nobody_else_blamed() {
	! grep -E 'rank [013] on' doom.out
}

gives_up() {
	grep -q 'restart 1 of 1' doom.out && grep -q 'giving up' doom.out &&
		grep -x 'exit code 137' doom.out
}

told_in_json() {
	jq -c . doom.json
	jq -se '(map(.event) == ["start", "fault", "start", "done"]) and
		(.[1] | .rank == 2 and .node == "n2" and .signal == 9 and
		.code == 137 and .lines == "rank 2 lives\n") and
		.[3].code == 137' doom.json
}

logged_by_rank() {
	head doom.logs/gen-*/*
	[ "$(ls doom.logs)" = "$(printf 'gen-0001\ngen-0002')" ] &&
		[ "$(head -n 1 doom.logs/gen-0002/rank-0003.log)" = \
			"rank 3 lives" ]
}

own_code() {
	launched code bash -c "'[ \$RANK != 1 ] || exit 9; sleep 20'"
	cat code.out
	grep -q 'rank 1 on n1 ended with exit code 9' code.out &&
		! grep -q restart code.out && grep -x 'exit code 9' code.out
}

# Counts to $1, one in 50 ms; saves on USR1, and on the signals $2.
cat >count.sh <<'END'
n=$(cat "$POLLUX_CHECKPOINT_DIR/count" 2>/dev/null || echo 0)
trap 'stop=1' USR1 ${2:-}
while [ "$n" -lt "$1" ] && [ -z "${stop:-}" ]; do
	sleep 0.05
	n=$((n + 1))
	[ "$RANK" -ne 0 ] || echo "$WORLD_SIZE $n"
done
[ "$RANK" -ne 0 ] || echo "$n" >"$POLLUX_CHECKPOINT_DIR/count"
[ -z "${stop:-}" ] || exit 85
END

resized_by_signal() {
	local job
	job=$(sb sbatch --parsable --scheduler-params=pollux,min=1,max=2 \
		-o "$WORK/count.out" --wrap "srun pollux-launch \
			--on-resize=signal --checkpoint-dir $WORK/count.ckpt \
			bash $WORK/count.sh 200")
	wait_until "ended $job" 40 && cat count.out &&
		[ "$(job_state "$job")" = COMPLETED ] &&
		grep -q '1 -> 2 GPUs on n' count.out
}

nothing_lost() {
	seq 200 | diff - <(grep -E '^[12] ' count.out | cut -d ' ' -f 2) &&
		[ "$(grep -E '^[12] ' count.out | cut -d ' ' -f 1 | uniq |
			xargs)" = "1 2" ]
}

# counting NAME SIGNALS: a job that counts without end. Sets $job.
counting() {
	job=$(sb sbatch --parsable --scheduler-params=pollux,min=1,max=1 \
		-o "$WORK/$1.out" --wrap "srun pollux-launch \
			--checkpoint-dir $WORK/$1.ckpt \
			bash $WORK/count.sh 1000000 $2")
	wait_until "grep -q '^1 20$' $1.out" 40
}

# ended_with_all NAME: all that it has counted was saved.
ended_with_all() {
	wait_until "ended $job" 40 && cat "$1.out" && tail "$1.ckpt/count" &&
		[ "$(grep -E '^1 ' "$1.out" | tail -n 1)" = \
			"1 $(cat "$1.ckpt/count")" ]
}

saves_when_cancelled() {
	local job
	counting both TERM && sb scancel "$job" && ended_with_all both
}

saves_before_it_is_cancelled() {
	local job
	counting first "" && sb scancel --signal=USR1 "$job" &&
		wait_until "[ -e first.ckpt/count ]" 20 &&
		sb scancel "$job" && wait_until "ended $job" 40 &&
		cat first.out first.ckpt/count &&
		[ "$(cat first.ckpt/count)" -ge 20 ]
}

# It hears the signal, and stays.
cat >stay.sh <<'END'
trap : USR1
while sleep 0.1; do
	:
done
END

is_killed_as_it_stays() {
	local job
	job=$(sb sbatch --parsable --scheduler-params=pollux,min=1,max=2 \
		-o "$WORK/stay.out" --wrap "srun pollux-launch \
			--save-timeout=2 --checkpoint-dir $WORK/stay.ckpt \
			bash $WORK/stay.sh")
	wait_until "grep killing stay.out" 60
	local rc=$?
	sb scancel "$job"
	wait_until "ended $job" 40 && cat stay.out && [ $rc -eq 0 ] &&
		grep -qE "leave within 2.[0-9]* s \(--save-timeout\), killing" stay.out
}

no_notes_left() {
	ls -A see.ckpt/.pollux doom.ckpt/.pollux count.ckpt/.pollux
	[ -z "$(ls -A see.ckpt/.pollux)$(ls -A count.ckpt/.pollux)" ] &&
		[ -z "$(ls -A doom.ckpt/.pollux)" ]
}

outside_refused() {
	local code=0
	env -u SLURM_JOB_ID pollux-launch true >refused.txt 2>&1 || code=$?
	cat refused.txt
	[ $code -eq 2 ] && grep -q 'not inside a Slurm job' refused.txt
}

resize_refused() {
	fails pollux-launch --job=1 --resize=2 >refused.txt 2>&1 &&
		grep -q 'of a Slurm job the scheduler decides' refused.txt
}

ok "every rank finds torchrun's environment and its node's GPUs" torch_sees
ok "all of them the same port to meet at" one_port
ok "a rank that is killed is named, with its last lines" culprit_named
ok "those that srun killed for it are not" nobody_else_blamed
ok "it is tried again, then given up with the code of that rank" gives_up
ok "the log of events has it all" told_in_json
ok "each generation has its ranks' logs" logged_by_rank
ok "the program's own exit code comes through, without a restart" own_code
ok "a program without libpollux is resized by a signal" resized_by_signal
ok "and goes on where it was" nothing_lost
ok "cancelled it saves, where it has the handler for SIGTERM, too" \
	saves_when_cancelled
ok "scancel --signal=USR1 has it save before it is cancelled" \
	saves_before_it_is_cancelled
ok "one that hears it and stays is killed, and told of --save-timeout" \
	is_killed_as_it_stays
ok "no note of its ranks is left" no_notes_left
ok "outside a job it says what to do" outside_refused
ok "the size of a Slurm job cannot be asked for" resize_refused
