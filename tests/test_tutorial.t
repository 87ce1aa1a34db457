# SPDX-License-Identifier: MIT
# test_tutorial.t - docs/tutorial.md works as typed
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

need_daemons
[ -x "$POLLUX_BUILDDIR/examples/pollux-train" ] ||
	skip_all "built without Open MPI"

# What a reader types: the page's commands are indented by four.
typed() {
	sed -n 's/^    //p' "$POLLUX_SRCDIR/docs/tutorial.md"
}

# A shell reads these lines, and so do the shells that they start. The folder
# looks like a reader's build tree.
type_it() {
	mkdir "$WORK/src" && ln -s "$POLLUX_BUILDDIR/examples" "$WORK" &&
		ln -s "$POLLUX_BUILDDIR/src/"{launcher,report,plugins,sandbox} \
			"$WORK/src" &&
		(cd "$WORK" && typed | timeout $((110 * POLLUX_PATIENCE)) bash) \
			>"$WORK/seen.txt" 2>"$WORK/wrong.txt"
}

seen() {
	grep -E -- "$1" "$WORK/seen.txt" || {
		tail -n 40 "$WORK/seen.txt"
		return 1
	}
}

nothing_wrong() {
	! grep -vE '^(scancel|slurmstepd|srun):' "$WORK/wrong.txt"
}

export POLLUX_SANDBOX_LIB=$POLLUX_SRCDIR/src/sandbox/lib
SB=$WORK/pollux-sandbox.d # where it is by default; lib.sh takes it down

plan 8
ok "all of it can be typed" type_it
ok "without a complaint" nothing_wrong
ok "the table shows the first job's GPUs" seen '^ +1 +first +RUNNING +n1:'
ok "its output tells of resizes" seen '^pollux-launch: .* GPUs .* pause'
ok "its record says why" seen '^why=[a-z]'
ok "the cancelled job goes on where it was" seen '^pollux: restored step [0-9]+'
ok "the report has each job, and shapes of the first" \
	eval "seen '^ +1 +first .* [1-9][0-9]* +[0-9.]+/' &&
		seen '^ +3 +rigid ' && seen '^ +1@n1 .*[2-8]@n'"
ok "no daemon is left" fails pgrep -f "$SB"
