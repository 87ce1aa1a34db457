# SPDX-License-Identifier: MIT
# test_costs.t - bench/costs ends when it is told to, and leaves nothing behind
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
need_daemons

plan 3
mkdir "$WORK/tmp"
# More jobs than are submitted until it is stopped.
TMPDIR=$WORK/tmp "$POLLUX_SRCDIR/bench/costs" --nodes=2 --gpus=2 --elastic=1 \
	--pending=100000 >"$WORK/costs.out" 2>&1 &
costs=$!
alongside+=("$costs")
submits() {
	pgrep -P "$costs" -x pending >/dev/null
}
ok "it submits jobs" wait_until submits 120
kill -TERM "$costs"
ends() {
	! kill -0 "$costs" 2>/dev/null
}
ok "a signal ends it then" wait_until ends 60
ok "with its cluster and its folder" test -z "$(ls "$WORK/tmp")"
