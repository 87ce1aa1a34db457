# SPDX-License-Identifier: MIT
# test_asks.t - launchers are told what the scheduler wants, and ask rarely
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

sandbox_up --nodes 2 --gpus-per-node 2 --params pollux_interval=1
plan 7
# One that gets faster with each GPU.
training="--quiet --samples=20000 --batch=1024 --max-batch=16384"
training+=" --epochs=1000000 --emulate-gpu=compute --time-scale=2"

# counted REQUEST: RPCs since the count was begun.
counted() {
	sb sdiag | awk -v request="$1" '$1 == request &&
		match($0, /count:[0-9]+/) { n = substr($0, RSTART + 6, RLENGTH - 6) }
		END { print n + 0 }'
}

resized() {
	cat "$WORK/one.ckpt/events.jsonl" 2>/dev/null |
		grep -c '"event": *"resize"'
}

in_training() {
	sb squeue -h -t R -o %k | grep -q phase=training
}

# It has all that it can use, and the first models have been told.
settled() {
	local before
	before=$(resized)
	in_training && has_gpus "$job" 4 && sleep 8 && [ "$before" -eq "$(resized)" ]
}

# at_most LOOKS WRITES: what it writes begins with a look.
at_most() {
	local looks writes
	looks=$(counted REQUEST_JOB_INFO_SINGLE)
	writes=$(counted REQUEST_UPDATE_JOB)
	echo "$looks looks, $writes of them to write; at most $1, $2"
	[ "$looks" -le "$1" ] && [ "$writes" -le "$2" ]
}

# A job that holds a node, for it to give up and to get back.
squeeze() {
	local before
	before=$(resized)
	rigid=$(submit_rigid -w n2 -N1 --gpus-per-node=2 -- 600)
	wait_until "[ \$(resized) -gt $before ]" 20
}

let_go() {
	local before
	before=$(resized)
	sb scancel "$rigid"
	wait_until "[ \$(resized) -gt $before ]" 20
}

# The wake-up of a question goes to a slurmd that is not there.
asked_in_vain() {
	local pid
	pid=$(cat "$SB/run/n1.pid")
	kill -STOP "$pid"
	kill -KILL "$pid"
	rigid=$(submit_rigid -w n2 -N1 --gpus-per-node=2 -- 600)
	wait_until "sb scontrol show job $job | grep -q state=asked" 10
}

# Seconds until the launcher has read what it was asked, from now.
hears_within() {
	local began=$SECONDS
	wait_until "sb scontrol show job $job | grep -qE 'ack=[0-9]+' &&
		! sb scontrol show job $job | grep -q state=asked" 20
	echo "heard after $((SECONDS - began)) s"
	[ $((SECONDS - began)) -le $(($1 * POLLUX_PATIENCE / 2)) ]
}

job=$(submit_elastic one pollux,min=1,max=4 "$training")
ok "it trains, on all it can use" wait_until settled 60
sb sdiag --reset >/dev/null
sleep 60
ok "in a minute of training its launcher looks twice, or before it writes" \
	at_most $((3 + $(counted REQUEST_UPDATE_JOB))) 12
sb sdiag --reset >/dev/null
ok "it is resized when it is asked to" squeeze
ok "and reads its record some ten times for it" at_most 20 10
ok "it grows again" let_go
wait_until settled 60 >/dev/null
ok "it is asked while its node's slurmd is away" asked_in_vain
pollux-sandbox restart --dir "$SB" n1 >"$WORK/restart.out" 2>&1
ok "the wake-up that was lost is sent again" hears_within 10
sb scancel "$job" "$rigid"
