# SPDX-License-Identifier: MIT
# test_leaving.t - docs/faults.md: a rank that leaves in the middle of its
# training, with exit code 0, is named and missed
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/moods.sh" || exit 1

sandbox_up --nodes 1 --gpus-per-node 2 --params pollux_interval=1
plan 18

# leaves NAME RANK HOW: a job on two GPUs, under Slurm.
leaves() {
	job=$(submit_moods "$1" 40)
	grows "$job" "$1" && does "$1" "$2" "$3" &&
		wait_until "says $1 'left in the middle of the training'" 20
}

# named NAME RANK: in one sentence, with the step after which it has left.
named() {
	local step
	step=$(sed -nE "s/.*rank $2 leaves after step ([0-9]+).*/\1/p" "$WORK/$1.out")
	echo "it has left after step $step"
	says "$1" "rank $2 on n1 left in the middle of the training, after \
step $step, with exit code 0"
}

# rescued NAME: the others have saved that step, and nothing was begun anew.
rescued() {
	cat "$WORK/$1.out"
	says "$1" "starting again from step [1-9][0-9]*, which rank . has saved" &&
		jq -se 'map(select(.event == "fault")) | length == 1 and
			.[0].saved and .[0].left > 0' "$WORK/$1.ckpt/events.jsonl"
}

for how in exit _exit; do
	ok "$how(0) of a rank does not end the job" leaves "by$how" 1 $how
	ok "it is named, with the step" named "by$how" 1
	ok "the other saved what it had trained" rescued "by$how"
	ok "and all is trained to its end" loses_no_step "$job" "by$how" 1000
done

# The first rank, which speaks with the launcher, is no other.
ok "rank 0 is missed as well" leaves first 0 _exit
ok "and nothing lost" eval 'named first 0 && loses_no_step $job first 1000'

# ---- by pollux_destroy(), on one rank alone ----

# Its process is there: MPI_Finalize() waits for the others, and they for it.
ends_alone() {
	job=$(submit_moods ends1 40)
	grows "$job" ends1 && does ends1 1 "destroy 1" &&
		wait_until "says ends1 'rank 1 on n1 ended its run'" 20
}

missed() {
	local step
	step=$(sed -nE "s/.*rank 1 ends its run after step ([0-9]+).*/\1/p" "$WORK/ends1.out")
	echo "it has ended after step $step"
	says ends1 "rank 1 on n1 ended its run in the middle of the training, \
after step $step, by pollux_destroy\(\); the others have waited for it"
}

ok "a rank that ends its run alone is not waited for" ends_alone
ok "it is named, with the step" missed
ok "the other saved what it had trained" rescued ends1
ok "and all is trained to its end" loses_no_step "$job" ends1 1000

# ---- without Slurm ----

run=$(mktemp -d /tmp/plx.XXXXXX) && chmod 700 "$run"
export XDG_RUNTIME_DIR=$run
trap 'rm -rf "$run"; lib_end' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# local_run NAME EPOCHS: in the background.
local_run() {
	mkdir -p "$WORK/$1"
	pollux-launch --local --name="$1" -n 2 -d "$WORK/$1.ckpt" $moods \
		"$WORK/$1" "$2" >"$WORK/$1.out" 2>&1 </dev/null &
	launcher=$!
}

local_leaves() {
	local_run here 12
	sleep 2
	does here 1 _exit && wait "$launcher" &&
		says here "rank 1 on .* left in the middle of the training" &&
		says here "has seen 300 steps" &&
		says here "starting again from step"
}

# In each start, before ten seconds of it are over.
never_done() {
	local_run never 4000
	local code=0
	for _ in 1 2 3 4; do
		does never 1 exit || break
	done
	wait "$launcher" || code=$?
	cat "$WORK/never.out"
	[ $code -eq 1 ] && says never "giving up"
}

# On all ranks, by pollux_destroy(): that is the program's will.
proper_end() {
	local_run ends 4000
	sleep 2
	does ends 0 "destroy 600" && does ends 1 "destroy 600"
	wait "$launcher" && says ends "done, exit code 0, after 1 start" &&
		! says ends "in the middle"
}

ok "without Slurm a rank that leaves is named, too, and missed" local_leaves
ok "one that does so in each start ends the job with another code than 0" \
	never_done
ok "ranks that all end their run have not left" proper_end
ok "nothing is left" wait_until cluster_is_idle 60
