# SPDX-License-Identifier: MIT
# test_local.t - pollux-launch without Slurm: resized from another process
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

use_build_tree
command -v mpirun >/dev/null || skip_all "there is no mpirun"
command -v pollux-train >/dev/null || skip_all "pollux-train is not built"
cd "$WORK" || exit 1
# Its sockets are found below this; a path of $TMPDIR may be too long.
run=$(mktemp -d /tmp/plx.XXXXXX) && chmod 700 "$run"
export XDG_RUNTIME_DIR=$run
trap 'rm -rf "$run"; lib_end' EXIT
plan 35

samples=5000
train="pollux-train --samples=$samples --batch=256 --max-batch=256
	--emulate-gpu=compute"
mkdir samples
export POLLUX_SAMPLE_LOG=$WORK/samples

# launch OPTIONS...: in the background; $launcher is its process.
launch() {
	pollux-launch --local -d ckpt --name=job --params=min=1,max=4 \
		--json-log=json --log-dir=logs "$@" >>out 2>>err &
	launcher=$!
}

tell() {
	pollux-launch --job=job "$@"
}

trains_on() {
	tell --status | tee status.txt | grep -q "^job: $1 rank.* training"
}

refused() {
	fails "$@" >refused.txt 2>&1
	cat refused.txt
}

second_is_refused() {
	refused pollux-launch --local --name=job true &&
		grep -q 'a job called job runs already' refused.txt
}

too_large_is_refused() {
	refused tell --resize=5 && grep -q 'takes 1 to 4' refused.txt &&
		trains_on 2
}

unknown_is_refused() {
	refused pollux-launch --job=nosuch --status &&
		grep -q 'no job is called nosuch; there is: job' refused.txt
}

# kids PID NAME: its children that are called so
kids() {
	pgrep -P "$1" -x "$2"
}

# As Open MPI 4 and 5 call the process.
mpirun='mpirun|prterun'
banners=0
mpirun --version | grep -q '(Open MPI) 4' || banners=2

# The ranks before a resize may take a while to leave.
one_mpirun() {
	[ "$(kids "$launcher" "$mpirun" | wc -l)" -eq 1 ]
}

rank_killed() {
	local shims
	wait_until one_mpirun 10 || return 1
	shims=($(kids "$(kids "$launcher" "$mpirun")" pollux-rank))
	kill -KILL "$(pgrep -P "${shims[1]}")" &&
		wait_until 'grep -q "restart 1 of 3" err' 10 &&
		wait_until 'trains_on 3' 20
}

events() {
	jq -se "map(select(.event == \"$1\")) | $2" json
}

# And Open MPI's own fifty lines about it are left out; those of 5 are six, and
# it cannot be told not to say them.
blamed() {
	grep 'on .* was killed by signal 9 (Killed)' err &&
		! grep -E 'mpirun (noticed|has exited)' err &&
		[ "$(grep -cE '^-{40}' err)" -le "$banners" ] &&
		events fault 'any(.signal == 9 and .code == 137 and .rank >= 0)'
}

checkpoint_told() {
	local before
	before=$(events checkpoint length)
	tell --checkpoint &&
		wait_until "events checkpoint 'length > $before'" 10
}

paused() {
	tell --resize=0 && tell --status | grep '^job: 0 ranks.* waiting' &&
		! kids "$launcher" "$mpirun" && tell --resize=2 && trains_on 2
}

ends_with() {
	local code=0
	wait "$launcher" || code=$?
	echo "exit code $code"
	[ "$code" -eq "$1" ]
}

# Resizes without a pause were handed over.
handed_over() {
	jq -c 'select(.event == "resize") | [.from_gpus, .to_gpus, .pause_s]' \
		json
	events start '.[1].warm and .[1].generation == 2' &&
		events resize '.[0].pause_s < 0.5 and .[1].pause_s < 0.5'
}

samples_once() {
	bash "$POLLUX_SRCDIR/tests/samples.sh" samples $samples 14
}

logs_are_there() {
	ls logs
	grep -q 'ranks on 1 node over mpi' logs/gen-0001/rank-0000.log &&
		grep -q 'finished after' "$(ls -d logs/gen-* |
			tail -n 1)/rank-0000.log"
}

nothing_left() {
	local left
	left=$(grep -lsxzF "XDG_RUNTIME_DIR=$run" /proc/[0-9]*/environ |
		xargs -rn 1 dirname | while read -r pid; do
		grep -qsE "^(pollux|$mpirun)" "$pid/comm" && echo "$pid"
	done)
	echo "processes: $left"
	[ -z "$left" ] && [ -z "$(ls "$run/pollux")" ]
}

# It cannot save: nothing to wait for.
deaf_ends_soon() {
	pollux-launch --local --name=job -d deaf sleep 60 >out 2>err &
	launcher=$!
	wait_until 'grep -q "start 0" err' 10 && sleep 0.5 &&
		kill -TERM "$launcher" && local begun=$SECONDS &&
		ends_with 143 && cat err && [ $((SECONDS - begun)) -lt 15 ]
}

deaf_is_let_be() {
	pollux-launch --local --name=job -n 2 -d deaf sleep 3 >out 2>err &
	launcher=$!
	wait_until 'tell --status | grep -q "^job: 2 ranks"' 10 && sleep 0.5 &&
		refused tell --resize=1 &&
		grep -q 'it cannot be resized (yet)' refused.txt && ends_with 0
}

# mpirun would wait for whoever holds the rank's output.
child_is_not_waited_for() {
	local begun=$SECONDS child
	pollux-launch --local --name=job -d left bash -c \
		'echo here; sleep 300 & echo $! >child' >out 2>err
	local code=$?
	child=$(cat child)
	echo "exit code $code after $((SECONDS - begun)) s"
	kill "$child" && [ $code -eq 0 ] && grep -x here out &&
		[ $((SECONDS - begun)) -lt 100 ]
}

# Asked while it trains, then it ends: its launcher does not hear what follows.
end_is_told() {
	pollux-launch --local --name=job -n 1 -d brief \
		pollux-train --samples=500 --epochs=9999 >out 2>err &
	launcher=$!
	wait_until 'trains_on 1' 20 || return 1
	tell --resize=2 >resize.txt 2>&1 &
	local request=$!
	kill -KILL "$launcher"
	fails wait "$request" && cat resize.txt
	grep -q 'asked, but the job has ended meanwhile' resize.txt ||
		grep -q 'no job called job runs here' resize.txt ||
		grep -q 'the job does not answer' resize.txt ||
		return 1
	refused tell --resize=1 &&
		grep -q 'no job called job runs here.*: it has ended' refused.txt
}

# Counts to $1 in steps of 50 ms, saves on the signal $2: no libpollux.
cat >count.sh <<'END'
n=$(cat "$POLLUX_CHECKPOINT_DIR/count" 2>/dev/null || echo 0)
trap 'stop=1' "$2"
while [ "$n" -lt "$1" ] && [ -z "${stop:-}" ]; do
	sleep 0.05
	n=$((n + 1))
	[ "$RANK" -ne 0 ] || echo "$WORLD_SIZE $n"
done
[ "$RANK" -ne 0 ] || echo "$n" >"$POLLUX_CHECKPOINT_DIR/count"
[ -z "${stop:-}" ] || exit "$3"
END

# counted HOW SIGNAL CODE: a program is resized by a signal, none is lost.
counted() {
	rm -rf alien out err
	pollux-launch --local --name=job -n 2 -d alien "$1" \
		bash count.sh 80 "$2" "$3" >out 2>err &
	launcher=$!
	wait_until 'trains_on 2' 10 && tell --resize=3 && ends_with 0 &&
		seq 80 | diff - <(cut -d ' ' -f 2 out) &&
		[ "$(cut -d ' ' -f 1 out | uniq | xargs)" = "2 3" ]
}

fails_as_it_did() {
	pollux-launch --local --name=job -n 2 -d failed bash -c \
		'echo "rank $RANK is lost" >&2; [ $RANK = 0 ] || exit 7; sleep 9' \
		>out 2>err
	local code=$?
	cat err
	[ $code -eq 7 ] && grep -q 'rank 1 on .* ended with exit code 7' err &&
		grep -q '  | rank 1 is lost' err
}

no_mpirun() {
	mkdir -p bin && ln -sf "$(command -v pollux-launch)" bin/ &&
		refused env PATH="$WORK/bin" pollux-launch --local true &&
		grep -q 'no mpirun in PATH; install' refused.txt
}

# A word of the environment on each rank
torch_sees() {
	pollux-launch --local --name=job -n 3 -d torch bash -c \
		'echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE \
			$GROUP_RANK $MASTER_ADDR ${MASTER_PORT:+port} \
			$TORCHELASTIC_RESTART_COUNT ${OMP_NUM_THREADS:+omp}' \
		>out 2>err
	sort out | diff - <(for rank in 0 1 2; do
		echo "$rank 3 $rank 3 0 127.0.0.1 port 0 omp"
	done)
}

# Set to nothing it is not the same as unset: CUDA would show all of them.
no_gpus_seen() {
	local wanted
	for wanted in '' -1 NoDevFiles; do
		CUDA_VISIBLE_DEVICES=$wanted pollux-launch --local --name=job \
			-n 2 -d torch bash -c 'echo "${CUDA_VISIBLE_DEVICES-all}."' \
			>out 2>err
		# mpirun may put a NUL byte before a line.
		[ "$(tr -d '\0' <out | sort -u)" = . ] || return
	done
}

# Each rank its own instance of a GPU, of a list.
instances_seen() {
	CUDA_VISIBLE_DEVICES=MIG-a,MIG-b pollux-launch --local --name=job \
		-n 2 -d torch bash -c 'echo "$LOCAL_RANK $CUDA_VISIBLE_DEVICES"' \
		>out 2>err
	tr -d '\0' <out | sort | diff - <(printf '%s\n' "0 MIG-a" "0 MIG-b")
}

progress_line() {
	script -qec "pollux-launch --local --name=job -n 2 -d bar \
		$(echo $train) --epochs=2" typescript </dev/null >/dev/null &&
		grep -aE ' %  loss .* 2 ranks  batch 256' typescript
}

no_progress_line() {
	! grep -aq ' %  loss' out err
}

# The program of docs/c.md, with this build's compiler and flags; test_c.t has
# more of it.
guide_builds() {
	local cc
	cc=$(sed -nE 's/^(CC|CFLAGS) = //p' "$POLLUX_BUILDDIR/Makefile" | xargs)
	sed -n '/^```c$/,/^```$/p' "$POLLUX_SRCDIR/docs/c.md" |
		grep -v '^```' >train.c &&
		$cc -Wall -Wextra -Werror -o train train.c \
			-I"$POLLUX_SRCDIR/src/agent" \
			-L"$POLLUX_BUILDDIR/src/agent/.libs" -lpollux
}

guide_works() {
	unset POLLUX_SAMPLE_LOG
	guide_builds || return
	pollux-launch --local -n 2 ./train 1000000 >guide.txt 2>&1 &
	launcher=$!
	wait_until 'pollux-launch --job=train --resize=4' 10 &&
		pollux-launch --job=train --stop && ends_with 0 &&
		cat guide.txt && grep '2 -> 4 ranks' guide.txt
}

launch -n 2 $train --epochs=14
ok "a job begins with the ranks it was given" wait_until 'trains_on 2' 20
ok "another launcher of its name is refused" second_is_refused
ok "so is a name that nobody has" unknown_is_refused
ok "another process gives it more ranks" tell --resize=4
ok "and takes some away" tell --resize=2
ok "but no more than its limits allow" too_large_is_refused
ok "its launcher can be named by its process" \
	pollux-launch --job=$launcher --resize=3
ok "the next ranks were started ahead: no pause to speak of" handed_over
ok "a rank that is killed is started again" rank_killed
ok "the launcher says who failed, and how" blamed
ok "a checkpoint is written when asked for" checkpoint_told
ok "without ranks it is paused, and goes on" paused
ok "it is told to save and end" tell --stop
ok "its exit code says that it has done so" ends_with 0
ok "and so does what it says" grep -q "asked to end: saving, then" err
launch -n 4 $train --epochs=14
ok "a new launcher goes on to the end" ends_with 0
ok "every sample of every epoch was used exactly once" samples_once
ok "each line of the log of events is JSON" jq -se 'length > 8' json
ok "it ends with the exit code" events done '.[1].code == 0'
ok "each generation has its ranks' logs" logs_are_there
ok "no line is drawn where there is no terminal" no_progress_line
ok "a program without libpollux is resized by USR1" \
	counted --on-resize=auto USR1 85
ok "or by another signal, and another exit code" \
	counted --on-resize=signal:TERM,grace=5,exit=9 TERM 9
ok "one that knows neither is let be" deaf_is_let_be
ok "and ended at once when its launcher is told to end" deaf_ends_soon
ok "a child that a rank leaves behind holds nobody up" child_is_not_waited_for
ok "who asks for a resize is told that the job has ended" end_is_told
ok "ranks find torchrun's environment" torch_sees
ok "and no GPU where the user wants none" no_gpus_seen
ok "of a list of instances each rank sees one" instances_seen
ok "a failure is told with its last lines, and its exit code" fails_as_it_did
ok "without mpirun it says what to install" no_mpirun
if command -v script >/dev/null; then
	ok "on a terminal a line shows how far it is" progress_line
else
	skip "on a terminal a line shows how far it is" "no script(1)"
fi
ok "the program of docs/c.md is resized" guide_works
ok "no process and no folder of a job is left" wait_until nothing_left 5
