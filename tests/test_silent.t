# SPDX-License-Identifier: MIT
# test_silent.t - trainings that would go wrong silently: right, or refused
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/python.sh" || exit 1

# apart WHAT: three ranks; all that they print is in $WORK/apart.out.
apart() {
	timeout 120 mpirun --oversubscribe -n 3 "$python" \
		"$bindings/tests/apart.py" "$1" "$WORK/$1.ckpt" \
		>"$WORK/apart.out" 2>&1
}

# ... and end with the same state.
alike() {
	apart "$1"
	local rc=$?
	tail -n 20 "$WORK/apart.out"
	grep -o 'rank .: crc [0-9a-f]*' "$WORK/apart.out" >"$WORK/crcs"
	[ $rc -eq 0 ] && [ "$(wc -l <"$WORK/crcs")" -eq 3 ] &&
		[ "$(cut -d' ' -f4 "$WORK/crcs" | sort -u | wc -l)" -eq 1 ]
}

# Three ranks in each of two starts, no number twice.
draws_anew() {
	apart chance && cp "$WORK/apart.out" "$WORK/first.out" &&
		apart chance || return 1
	cat "$WORK/first.out" "$WORK/apart.out"
	cat "$WORK/first.out" "$WORK/apart.out" | grep '^drawn' >"$WORK/drawn"
	[ "$(wc -l <"$WORK/drawn")" -ge 6 ] &&
		[ -z "$(sort "$WORK/drawn" | uniq -d)" ]
}

# differs WHAT: the job ends.
differs() {
	apart "$1"
	local rc=$?
	tail -n 20 "$WORK/apart.out"
	[ $rc -ne 0 ] && grep -q '"model.[03].weight" differs between rank 0 and rank' \
		"$WORK/apart.out"
}

names_what_differs() {
	differs apart && ! ls "$WORK/apart.ckpt" | grep -q '^step-[0-9]*$'
}

# left_out: three ranks, of which each leaves other batches out.
left_out() {
	timeout 120 mpirun --oversubscribe -n 3 "$python" \
		"$bindings/tests/skips.py" >"$WORK/left_out" 2>&1
}

# ... in a training of this kind, whose end is "alike" on all of them.
steps_alike() {
	grep -v ': alike' "$WORK/left_out" | tail -n 20
	[ "$(grep -o "rank .: $1: alike" "$WORK/left_out" | sort -u |
		wc -l)" -eq 3 ]
}

ranks_leave_out() {
	local kind
	left_out
	for kind in kind adam groups scaled frozen removed accumulated sparse \
		fillers counted two; do
		ok "ranks that leave batches out step as all do: $kind$1" \
			steps_alike "$kind"
	done
}

unit_tests test_silent test_worlds test_gradients
for what in gan gan_rarely together unfrozen extremes closure searching \
	left_out average by_steps early stream validated; do
	ok "$what: three ranks have the weights of plain PyTorch" alike $what
done
ranks_leave_out ""
ok "random numbers are no other rank's, nor those of the start" draws_anew
ok "ranks that train apart are told which tensor, and not saved" \
	names_what_differs
ok "so are those whose schedule follows a loss of their own" differs own_loss
ok "that follow the mean of all do not" alike mean_loss

# The same where each pass begins without gradients, as on a GPU.
export GRADIENTS=anew
unit_tests test_silent test_worlds
for what in gan together unfrozen searching left_out; do
	ok "$what: so have three ranks whose passes begin as on a GPU" alike $what
done
ranks_leave_out ", as on a GPU"
plan "$tap_count"
