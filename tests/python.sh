# SPDX-License-Identifier: MIT
# python.sh - the Python package as it is in the build tree
#
# Sourced after lib.sh. $python is the interpreter that the package was built
# for, $bindings the package's folder; without them, or PyTorch, all is skipped.

bindings=$POLLUX_SRCDIR/bindings/python
python=$(sed -n 's/^PYTHON = //p' "$POLLUX_BUILDDIR/bindings/python/Makefile" \
	2>/dev/null)
[ -e "$POLLUX_BUILDDIR/src/agent/.libs/libpollux.so.0" ] ||
	skip_all "built without libpollux"
"${python:-none}" -c 'import torch' 2>/dev/null ||
	skip_all "no PyTorch for '${python:-python3}' (Debian: python3-torch)"
use_build_tree
export PYTHONPATH=$bindings${PYTHONPATH:+:$PYTHONPATH}
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
export PYTHONUNBUFFERED=1 # lines of scripts are waited for
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# Local runs, in $WORK. Their sockets are found below XDG_RUNTIME_DIR: a path of
# $TMPDIR may be too long. Ranks that wait leave their processor to others.
python_runs() {
	command -v mpirun >/dev/null || skip_all "there is no mpirun"
	export OMPI_MCA_mpi_yield_when_idle=1
	export OMPI_MCA_threads_pthreads_yield_strategy=nanosleep
	run=$(mktemp -d /tmp/plx.XXXXXX) && chmod 700 "$run"
	export XDG_RUNTIME_DIR=$run
	export TMPDIR=$run # processes of multiprocessing that are killed leave files
	trap 'rm -rf "$run"; lib_end' EXIT
	cd "$WORK" || exit 1
}

# unit_tests MODULE...: lines of their TAP, numbered anew. GRADIENTS=anew has
# each pass begin without gradients, as it does on a GPU (common.py).
unit_tests() {
	local verdict rest ended=no how=
	[ -z "${GRADIENTS:-}" ] || how=", as on a GPU"
	(cd "$bindings/tests" && "$python" tap.py "$@") >"$WORK/unit.tap" \
		2>"$WORK/unit.err"
	while read -r verdict rest; do
		case $verdict in
		ok | not)
			[ "$verdict" = ok ] || tap_failed=$((tap_failed + 1))
			tap_count=$((tap_count + 1))
			echo "$verdict $rest$how" |
				sed "s/ok [0-9]* /ok $tap_count /"
			;;
		1..*) ended=yes ;;
		*) echo "# $verdict $rest" ;;
		esac
	done <"$WORK/unit.tap"
	ok "all unit tests were run: $1$how" test $ended = yes
}
