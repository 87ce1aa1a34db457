# SPDX-License-Identifier: MIT
# test_python_ends.t - the ends of epochs and of scripts: nothing is lost there,
# and no error goes by. Without Slurm.
. "${POLLUX_SRCDIR}/tests/lib.sh"

bindings=$POLLUX_SRCDIR/bindings/python
python=$(sed -n 's/^PYTHON = //p' "$POLLUX_BUILDDIR/bindings/python/Makefile" \
	2>/dev/null)
[ -e "$POLLUX_BUILDDIR/src/agent/.libs/libpollux.so.0" ] ||
	skip_all "built without libpollux"
"${python:-none}" -c 'import torch' 2>/dev/null ||
	skip_all "no PyTorch for '${python:-python3}' (Debian: python3-torch)"
use_build_tree
command -v mpirun >/dev/null || skip_all "there is no mpirun"
export PYTHONPATH=$bindings${PYTHONPATH:+:$PYTHONPATH}
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd "$WORK" || exit 1
# Its sockets are found below this; a path of $TMPDIR may be too long.
run=$(mktemp -d /tmp/plx.XXXXXX) && chmod 700 "$run"
export XDG_RUNTIME_DIR=$run
trap 'rm -rf "$run"; lib_end' EXIT

# train WHAT [ARGUMENT...]: two ranks to their end; all they print is in `out`.
train() {
	rm -rf ckpt out
	timeout 120 pollux-launch --local --name=job -n 2 -d ckpt "$python" \
		"$bindings/tests/ending.py" "$@" >out 2>&1 </dev/null
	local rc=$?
	cat out
	return $rc
}

starts() {
	grep -q "done, exit code $1, after $2 start" out
}

# ends_once WHAT REGEX: it fails, in the first start, with that word.
ends_once() {
	train "$1"
	[ $? -eq 1 ] && starts 1 1 &&
		grep -q "pollux-launch: rank . ended with an error of the \
program, which another start would meet again: $2" out
}

# The traceback, and the launcher's line.
told_once() {
	cat out
	[ "$(grep -c '^Traceback' out)" -eq 1 ] &&
		! grep -q '| Traceback' out &&
		jq -se 'map(select(.event == "done")) | .[0].error |
			test("went wrong")' ckpt/events.jsonl
}

ok "an exception of one rank at the end of an epoch ends the job" \
	ends_once raise "ValueError: the second epoch went wrong"
ok "its traceback is shown once" told_once
ok "one that all ranks raise ends it in the first start, too" \
	ends_once raise-all "ValueError: the second epoch went wrong"
ok "and is shown once" told_once
ok "a rank that leaves the loop alone ends it, and is named" \
	ends_once leave "the script ended at step 8, before its training had"
plan "$tap_count"
