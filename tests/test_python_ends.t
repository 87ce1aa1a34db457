# SPDX-License-Identifier: MIT
# test_python_ends.t - the ends of epochs and of scripts: nothing is lost there,
# and no error goes by. Without Slurm.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/python.sh" || exit 1
python_runs

options=()
script=$bindings/tests/ending.py

# train WHAT [ARGUMENT...]: two ranks to their end; all they print is in `out`.
train() {
	rm -rf ckpt out
	timeout 300 pollux-launch --local --name=job -n 2 -d ckpt \
		"${options[@]}" "$python" "$script" "$@" \
		>out 2>&1 </dev/null
	local rc=$?
	cat out
	return $rc
}

starts() {
	grep -q "done, exit code $1, after $2 start" out
}

# ends_once WHAT REGEX: an exception of the script ends the job in its first
# start, with exit code 1, and the launcher says which rank's and its last line.
# No rank is started again: it would raise the same.
ends_once() {
	train "$1"
	[ $? -eq 1 ] && starts 1 1 &&
		grep -q "pollux-launch: rank . ended with an error of the \
program, which another start would meet again: $2" out
}

# One traceback on all ranks together, by the rank that was first; the error is
# in events.jsonl, and its lines are not shown a second time.
told_once() {
	cat out
	[ "$(grep -c '^Traceback' out)" -eq 1 ] &&
		! grep -q '| Traceback' out &&
		jq -se 'map(select(.event == "done")) | .[0].error |
			test("went wrong")' ckpt/events.jsonl
}

# begin WHAT [ARGUMENT...]: the same in the background.
begin() {
	rm -rf ckpt out
	train "$@" >/dev/null &
	launcher=$!
}

ends_with() {
	local code=0
	wait "$launcher" || code=$?
	cat out
	[ "$code" -eq "$1" ]
}

says() {
	grep -q "$1" out
}

# Longer than two steps may be apart, by far.
validation_is_let_be() {
	options=(--hang-timeout=6)
	train validate 15 && starts 0 1 && says "rank 0 is through"
}

busy_is_let_be() {
	options=(--hang-timeout=6)
	train busy 15 && starts 0 1 && says "rank 1 has evaluated" &&
		says "rank 1 validates after step 6"
}

# validates [SECONDS]
validates() {
	begin validate "${1:-20}"
	wait_until 'says "rank 0 validates"' 20 &&
		wait_until 'says "rank 1 validates"' 5
}

# resize_waits [OPTION...]
resize_waits() {
	options=(--hang-timeout=6 --save-timeout=5 "$@")
	validates || return
	# It may be through by then.
	pollux-launch --job=job --resize=1 || :
	ends_with 0 && says "is between two steps, after step 8 since" &&
		says "rank 0 has validated epoch 1" &&
		says "rank 1 has validated epoch 1" && starts 0 2
}

# Ranks that have saved get the time to leave: with torch 2 Python takes most of
# a second of a core to end. One that is killed meanwhile is an error.
stop_waits() {
	options=(--hang-timeout=6 --save-timeout=20)
	validates 35 && pollux-launch --job=job --stop && ends_with 0 &&
		says "waiting for it, until somebody asks once more" &&
		says "rank 1 has validated epoch 1" &&
		fails says "rank 1 has validated epoch 2"
}

stop_twice_does_not() {
	options=(--hang-timeout=6 --save-timeout=5)
	validates && pollux-launch --job=job --stop && sleep 3 &&
		pollux-launch --job=job --stop || return
	wait "$launcher"
	cat out
	fails says "rank 1 has validated epoch 1"
}

# A rank that sleeps in the middle of a step is late, and the other is not.
late_is_named() {
	options=(--hang-timeout=14 --save-timeout=5)
	begin hang
	wait_until 'says "no step for"' 60 || return
	pollux-launch --job=job --stop
	ends_with 0
	says "no step for 1.* s, rank 1 on .* works on step 6 since 1.* s: the ranks hang"
}

# The rank that is left saves the epoch's last step; what it saved says that
# the end of the epoch was not over. What is trained is the same as ever.
end_is_repeated() {
	options=()
	rm -f killed
	train count killed && starts 0 2 &&
		says "pollux: the end of epoch 1 is done again" &&
		[ "$(grep -c "rank 1 has validated epoch 1" out)" -eq 1 ] &&
		says "rank 1 is through, .*, ends 3" || return
	grep -o "crc [0-9a-f]*, ends 3" out | sort -u >repeated
	jq -se 'map(select(.event == "fault")) | .[0].saved' ckpt/events.jsonl &&
		says "starting again from step 8, which rank 0 has saved" || return
	train count killed && starts 0 1 &&
		grep -o "crc [0-9a-f]*, ends 3" out | sort -u |
		diff repeated -
}

# edit_is_survived FILE [OPTION...]: whoever breaks the script, or a module
# beside it, while it trains: a resize is refused with the last line, no rank is
# stopped, and the training ends as it would have. Two new ranks were tried.
edit_is_survived() {
	local file=$WORK/$1
	shift
	options=("$@")
	script=$WORK/edited.py
	cp "$bindings/tests/ending.py" "$script"
	cp "$bindings/tests/common.py" "$WORK/common.py"
	begin validate 20
	wait_until 'says "rank 1 validates"' 20 || return
	echo 'this is no Python' >>"$file"
	fails pollux-launch --job=job --resize=3 2>refused &&
		grep -q 'it keeps its 2 ranks: new ranks fail' refused &&
		ends_with 0 && says "rank 1 has validated epoch 2" &&
		starts 0 3 && says "cannot be resized: new ranks fail: \
SyntaxError: invalid syntax (these train on)"
}

# On its command line, once; of a module nothing is told but that it fails.
change_is_told() {
	cat out
	[ "$(grep -c "edited.py has been changed since the training began" \
		out)" -eq 1 ]
}

# Of two ranks one is left, as it was asked for, and trains the last epoch.
request_is_followed() {
	options=(--params=max=2 --no-prewarm)
	train request 3 && says "the program asks for 1 rank" &&
		says "2 -> 1 ranks on" && starts 0 2
}

# Between two of its sizes there is the lower one.
request_meets_sizes() {
	options=(-n 3 --params=sizes=1,3 --no-prewarm)
	train request-two 3 && says "the program asks for 2 ranks" &&
		says "3 -> 1 ranks on"
}

ok "an exception of one rank at the end of an epoch ends the job" \
	ends_once raise "ValueError: the second epoch went wrong"
ok "its traceback is shown once" told_once
ok "one that all ranks raise ends it in the first start, too" \
	ends_once raise-all "ValueError: the second epoch went wrong"
ok "and is shown once" told_once
ok "a rank that leaves the loop alone ends it, and is named" \
	ends_once leave "the script ended at step 8, before its training had"
ok "a validation is no hang, however long" validation_is_let_be
ok "nor is what is marked as busy, in the middle of an epoch" busy_is_let_be
ok "a rank that hangs is named" late_is_named
ok "an end of an epoch that a rank is lost in is done again" end_is_repeated
ok "a resize waits for a validation" resize_waits
ok "also one without a handover" resize_waits --no-prewarm
ok "--stop waits for it, too" stop_waits
ok "a second one does not" stop_twice_does_not
ok "a script that asks for less ranks gets them" request_is_followed
ok "and the size below, where that is none of its sizes" request_meets_sizes
export PYTHONPATH=$PYTHONPATH:$bindings/tests
ok "a script that is broken while it trains does not end it" \
	edit_is_survived edited.py
ok "that it was changed is told once" change_is_told
ok "nor does it where ranks are to be stopped before the next ones start" \
	edit_is_survived edited.py --no-prewarm
ok "one rank is tried before" says "trying it on one rank before these are"
ok "the same of a module that stands beside it" \
	edit_is_survived common.py --no-prewarm
plan "$tap_count"
