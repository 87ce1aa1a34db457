# SPDX-License-Identifier: MIT
# test_given.t - what researchers are told and given: scripts of their own,
# without Slurm
. "${POLLUX_SRCDIR}/tests/lib.sh"

bindings=$POLLUX_SRCDIR/bindings/python
python=$(sed -n 's/^PYTHON = //p' "$POLLUX_BUILDDIR/bindings/python/Makefile" \
	2>/dev/null)
command -v mpirun >/dev/null || skip_all "there is no mpirun"
[ -e "$POLLUX_BUILDDIR/src/agent/.libs/libpollux.so.0" ] ||
	skip_all "built without libpollux"
"${python:-none}" -c 'import torch' 2>/dev/null ||
	skip_all "no PyTorch for '${python:-python3}' (Debian: python3-torch)"
use_build_tree
export PYTHONPATH=$bindings${PYTHONPATH:+:$PYTHONPATH}
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mpi_yield_when_idle=1
cd "$WORK" || exit 1
run=$(mktemp -d /tmp/plx.XXXXXX) && chmod 700 "$run"
export XDG_RUNTIME_DIR=$run
trap 'rm -rf "$run"; lib_end' EXIT

# launch FOLDER OPTIONS... PROGRAM...: all that is said is in said.txt
launch() {
	cd "$WORK/$1" || return 1
	shift
	EPOCHS=1 timeout 120 pollux-launch --local "$@" >said.txt 2>&1
	local rc=$?
	cat said.txt
	return $rc
}

# ---- names and folders ----

named_by_script() {
	mkdir -p names && cp "$bindings/examples/train.py" names/gan.v2.py &&
		launch names "$python" -u gan.v2.py &&
		grep 'pollux-launch: job gan.v2; .*its folder is .*/names/pollux-gan.v2$' said.txt &&
		[ -d pollux-gan.v2 ] && ! ls -d pollux-*python*
}

says_trained() {
	launch names "$python" gan.v2.py &&
		grep "already trained: all 1 epochs, in [0-9]* steps; delete $PWD/pollux-gan.v2 to begin anew" said.txt
}

trains_when_told() {
	launch names "$python" gan.v2.py >/dev/null && rm -r pollux-gan.v2 &&
		launch names "$python" gan.v2.py &&
		! grep 'already trained' said.txt && grep '^epoch 0' said.txt
}

is_up() {
	[ -e "$run/pollux/$1/socket" ]
}

# Two trainings of one name, in different places and in the same.
folders_apart() {
	cd "$WORK" && mkdir -p here || return 1
	pollux-launch --local bash -c 'sleep 60' >/dev/null 2>&1 &
	first=$!
	(cd here && exec pollux-launch --local bash -c 'sleep 60') \
		>here.txt 2>&1 &
	second=$!
	wait_until "is_up bash && is_up bash-2" 20 &&
		wait_until '[ -d here/pollux-bash ]' 20 &&
		launch here true && launch here bash -c true &&
		grep 'job bash-3; .*its folder is .*/here/pollux-bash-2$' \
			said.txt
	local rc=$?
	kill -TERM $first $second
	wait $first $second
	return $rc
}

ok "a local job and its folder are called after the script" named_by_script
ok "a script that has been trained says so, and how to begin anew" says_trained
ok "without its folder it begins anew" trains_when_told
ok "jobs of one name in two places have folders without a number" folders_apart
plan "$tap_count"
