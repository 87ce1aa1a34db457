# SPDX-License-Identifier: MIT
# test_twelve.t - small scripts of all kinds are resized and killed, and end
# with the weights of plain PyTorch, or say in a sentence why not
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/python.sh" || exit 1
python_runs
export PYTHONPATH=$bindings/tests:$PYTHONPATH

# kind: what it ends with, "same" or a sentence of the job's; "edited" is the
# same, and edited while it trains; "alike" is the same, and tried with
# POLLUX_THOROUGH=1: test_silent.t has these on three ranks that stay.
table=(
	"validated          same"
	"early              alike"
	"gan                same"
	"accumulation       step() with gradients of more than one batch"
	"average            same"
	"by_steps           alike"
	"stream             alike"
	"unfrozen           alike"
	"extremes           alike"
	"closure            same"
	"searching          alike"
	"left_out           alike"
	"exception          ValueError: sample 50 is broken"
	"edited             edited"
)

tell() {
	pollux-launch --job="$1" "$2"
}

# trains_on KIND RANKS
trains_on() {
	tell "$1" --status 2>/dev/null | grep "^$1: $2 rank.* training"
}

# One of its ranks, by a signal that it cannot see: the one that began last, as
# those of before the resize may still be leaving.
kill_rank() {
	local victim
	victim=$(pgrep -n -f "^$python $1.py $1\$") && kill -KILL "$victim" &&
		wait_until "grep 'restart 1 of' said.txt" 30
}

# reaches KIND RANKS: unless it ends before.
reaches() {
	wait_until "trains_on $1 $2 || ! kill -0 $launcher" 30 &&
		kill -0 $launcher
}

# One rank, two, one of them killed, two again, one: then as fast as it can.
through_it_all() {
	reaches "$1" 1 && tell "$1" --resize=2 && reaches "$1" 2 &&
		kill_rank "$1" && reaches "$1" 2 && tell "$1" --resize=1 &&
		reaches "$1" 1
}

# begin KIND [PACE]
begin() {
	rm -rf "${WORK:?}/$1.before"
	[ ! -e "$WORK/$1/said.txt" ] || mv "$WORK/$1" "$WORK/$1.before"
	mkdir -p "$WORK/$1" && cd "$WORK/$1" || return 1
	# A job is called after its script.
	ln -s "$bindings/tests/twelve.py" "$1.py"
	PACE=${2:-0.1} pollux-launch --local "$python" "$1.py" "$1" \
		>said.txt 2>&1 &
	launcher=$!
}

# A resize with a script that is broken does no harm; mended, it is resized.
edit() {
	wait_until "trains_on $1 1" 30 && cp "$1.py" whole.py &&
		rm "$1.py" && cp whole.py "$1.py" &&
		echo 'this is no Python' >>"$1.py" &&
		fails tell "$1" --resize=2 >refused.txt 2>&1 &&
		grep 'it keeps its 1 rank: new ranks fail' refused.txt &&
		trains_on "$1" 1 && cp whole.py "$1.py" &&
		grep 'cannot be resized: new ranks fail: SyntaxError' said.txt
}

# paced KIND PACE; 2: it ended before it had been through it all.
paced() {
	begin "$1" "$2" || return 1
	local through=0 rc=0
	[ "$1" != edited ] || edit "$1" || through=1
	[ $through -ne 0 ] || through_it_all "$1" || through=1
	[ $through -eq 0 ] || { sleep 1 && kill -0 $launcher; } 2>/dev/null ||
		through=2
	touch hurry
	wait $launcher || rc=$?
	cat said.txt
	[ $rc -eq 0 ] && [ $through -eq 0 ] || return $((rc ? 1 : through))
	grep "^$1: the same, weights are .* apart" said.txt
}

# On a busy machine it takes longer to resize it than to train it.
same() {
	local rc=0
	paced "$1" "$([ "$1" = edited ] && echo 0.3 || echo 0.1)" || rc=$?
	[ $rc -ne 2 ] || { rc=0 && paced "$1" 0.5 || rc=$?; }
	return $rc
}

refuses() {
	mkdir -p "$WORK/$1" && touch "$WORK/$1/hurry" &&
		begin "$1" || return 1
	wait $launcher
	local rc=$?
	cat said.txt
	[ $rc -ne 0 ] && grep -qF "$2" said.txt
}

# In one process, as PyTorch takes longer to be imported than any to be trained.
train_plain() {
	local row kinds=()
	for row in "${table[@]}"; do
		[[ $row =~ (same|edited|alike)$ ]] && kinds+=("${row%% *}")
	done
	mkdir -p "$PLAIN" &&
		"$python" "$bindings/tests/twelve.py" --plain "$PLAIN" "${kinds[@]}"
}

export PLAIN=$WORK/plain
ok "plain PyTorch trains them" train_plain
for row in "${table[@]}"; do
	read -r kind ends <<<"$row"
	[[ $kind =~ ^(${POLLUX_ONLY:-.*})$ ]] || continue
	if [ "$ends" = edited ]; then
		ok "$kind while it trains: it goes on, and ends as plain PyTorch does" \
			same "$kind"
	elif [ "$ends" = alike ]; then
		ok_thorough "$kind: resized and killed, it ends as plain PyTorch does" \
			same "$kind"
	elif [ "$ends" = same ]; then
		ok "$kind: resized and killed, it ends as plain PyTorch does" \
			same "$kind"
	else
		ok "$kind: it is refused, or ends, with a sentence" \
			refuses "$kind" "$ends"
	fi
done
plan "$tap_count"
