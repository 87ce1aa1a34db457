# SPDX-License-Identifier: MIT
# cluster.sh - the demo's folder and its private cluster
#
# Sourced by demo. $WORK holds all that the demo writes, outside the tree; it
# and the sandbox are gone at the end, whatever the end is.

cluster_workplace() {
	WORK=$(mktemp -d "${TMPDIR:-/tmp}/pollux-demo.XXXXXX") || exit 1
	SB=$WORK/sandbox
	trap cluster_cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
}

cluster_cleanup() {
	local rc=$?

	trap '' INT TERM HUP
	trap - EXIT
	[ ! -d "$SB" ] || pollux-sandbox --dir "$SB" down >/dev/null 2>&1
	cd /
	if [ -n "${DEMO_KEEP:-}" ]; then
		echo "demo: kept $WORK"
	else
		rm -rf "$WORK"
	fi
	exit "$rc"
}

# The programs of the build tree, as if they were installed. Of programs that
# libtool wraps in a script, take what is inside: 16 ranks start at once.
cluster_use_build() {
	local b=$POLLUX_BUILDDIR

	export PATH="$b/src/launcher:$b/src/report:$b/src/sandbox:$PATH"
	export POLLUX_SANDBOX_LIB=$POLLUX_SRCDIR/src/sandbox/lib
	export POLLUX_PLUGIN_PATH=$b/src/plugins/.libs
	TRAIN=$b/examples/pollux-train
	if [ -x "$b/examples/.libs/pollux-train" ]; then
		TRAIN=$b/examples/.libs/pollux-train
		export LD_LIBRARY_PATH="$b/src/agent/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
	fi
	TRAIN=${DEMO_TRAIN:-$TRAIN}
}

cluster_check_build() {
	local file

	cluster_use_build
	for file in src/launcher/pollux-launch src/report/pollux-top \
		examples/pollux-train src/plugins/.libs/sched_pollux.so; do
		[ -e "$POLLUX_BUILDDIR/$file" ] ||
			give_up "$file was not built; run ./bootstrap"
	done
}

cluster_up() {
	pollux-sandbox --dir "$SB" up --nodes 4 --gpus-per-node 4 \
		${DEMO_WHOLE:+--whole-nodes} --owner $$ >"$WORK/up.out" 2>&1 ||
		give_up "the sandbox did not start: $(tail -n 5 "$WORK/up.out")"
	cat "$WORK/up.out"
}

# Any command in the sandbox.
sb() {
	pollux-sandbox --dir "$SB" exec "$@"
}

# What the log and the jobs said last, for whoever has to find out why.
cluster_last_words() {
	local out

	[ -f "$SB/log/slurmctld.log" ] || return 0
	{
		echo "--- slurmctld.log:"
		grep -E "pollux|error|fatal" "$SB/log/slurmctld.log" |
			grep -v "setting comment" | tail -n 20
		for out in "$WORK"/*.out; do
			echo "--- ${out##*/}:"
			tail -n 4 "$out" | cut -c1-160
		done
	} >&2
}
