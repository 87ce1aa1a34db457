# SPDX-License-Identifier: MIT
# late.sh - users whose jobs begin steps by credentials from before a resize
#
# Sourced after devices.sh, before a cluster is up.

kept=$POLLUX_BUILDDIR/tests/.libs/kept.so
forge=$POLLUX_BUILDDIR/tests/forge_end

why=$(no_devices)
[ -z "$why" ] || skip_all "$why"
need_readers
[ -e "$kept" ] && [ -x "$forge" ] ||
	skip_all "kept.la was not built: no source of Slurm"

# as USER COMMAND...
as() {
	pollux-sandbox exec --dir "$SB" --user "$1" "${@:2}"
}

# What another user's job writes to.
open_file() {
	: >"$1"
	chmod 666 "$1"
}

# rigid OPTION...: another user's job, before all others; prints its number.
rigid() {
	local id
	id=$(as bin sbatch --parsable -o /dev/null "$@" \
		--wrap "exec $WORK/opener rigid 0.1") &&
		sb scontrol update job="$id" priority=4294910000 && echo "$id"
}

done_with() {
	sb scancel "$@"
	wait_until cluster_is_idle 90
}

no_gpu_was_open_twice() {
	local found
	found=$(opened_twice) && { [ -z "$found" ] || { echo "$found"; false; }; }
}
