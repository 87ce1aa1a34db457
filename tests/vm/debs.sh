# SPDX-License-Identifier: MIT
# debs.sh - the Debian packages of this tree
#
# Sourced by check. They are made by what tests/check_package.t makes them by,
# and made again when a file of the tree that git knows has changed.

debs=$vm_dir/debs

tree_sum() {
	# Without git nobody knows: made each time.
	git -C "$POLLUX_SRCDIR" rev-parse >/dev/null 2>&1 || {
		echo "without git $$"
		return
	}
	(
		cd "$POLLUX_SRCDIR" && git ls-files -z --cached --others \
			--exclude-standard -- ':!docs' ':!tests' ':!bench' ':!*.md' |
			xargs -0 sha256sum 2>/dev/null
	) | sha256sum | cut -c 1-16
}

debs_are_there() {
	[ -d "$debs" ] &&
		[ "$(cat "$vm_dir/debs.sum" 2>/dev/null)" = "$(tree_sum)" ]
}

debs_build() {
	local sum
	sum=$(tree_sum)
	WORK=$vm_run/debs
	rm -rf "$debs" "$vm_dir/debs.sum"
	mkdir -p "$WORK" "$debs"
	# shellcheck source=/dev/null
	. "$POLLUX_SRCDIR/tests/package.sh"
	[ -n "$slurm_src" ] || {
		echo "built without the source of Slurm: ./bootstrap unpacks it"
		return 1
	}
	source_tree && package nocheck noautodbgsym &&
		mv "$WORK"/*.deb "$debs/" && echo "$sum" >"$vm_dir/debs.sum"
	local rc=$?
	rm -rf "$WORK"
	return $rc
}
