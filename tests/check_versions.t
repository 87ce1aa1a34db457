# SPDX-License-Identifier: MIT
# check_versions.t - plugins and programs compile with other releases of Slurm
#
# POLLUX_SLURM_SOURCES: folders with their sources, colons between; they need
# not be configured (docs/versions.md). Without it the newest that is at hand:
# unpacked beside this tree, in /usr/src, or in a root of tests/matrix.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
src=$POLLUX_SRCDIR/src

# version_of SOURCE: as "26 05 3", from the file that its build reads.
version_of() {
	awk '$1 == "Version:" { gsub(/[.]/, " ", $2); print $2 }' "$1/META"
}

# What its configure would make of that, in $WORK/include.
write_version() {
	local major minor micro

	read -r major minor micro < <(version_of "$1") || return 1
	mkdir -p "$WORK/include/slurm"
	printf '#define SLURM_VERSION_NUMBER 0x%02x%02x%02x\n' \
		$((10#$major)) $((10#$minor)) $((10#$micro)) \
		>"$WORK/include/slurm/slurm_version.h"
	cat >>"$WORK/include/slurm/slurm_version.h" <<'END'
#define SLURM_VERSION_NUM(a, b, c) (((a) << 16) + ((b) << 8) + (c))
END
}

# compiles SOURCE: what is called must be declared: a plugin that calls what
# is not there is only found out when slurmctld loads it.
compiles() {
	write_version "$1" || return 1
	{
		find "$src/plugins" -name '*.c' -print0
		grep -rlZ --include='*.c' 'client/libslurm.h' "$src"
	} | sort -zu | xargs -0 -P 2 -n 1 \
		"${CC:-cc}" -fsyntax-only -std=gnu11 -Wall -Werror \
		-I "$WORK/include" -I "$src/plugins/common/slurm_config" \
		-I "$src" -I "$src/plugins" -isystem "$1" \
		-DPACKAGE_VERSION='""'
}

# The newest of them, if it is not what is built with anyway.
at_hand() {
	local dir built
	built=$(sed -n 's/^SLURM_SRC = //p' "$POLLUX_BUILDDIR/Makefile")
	for dir in "$POLLUX_SRCDIR"/../slurm-* /usr/src/slurm-* \
		"$POLLUX_SRCDIR"/.slurm-src/slurm-* \
		/var/tmp/pollux-matrix/*/usr/src/pollux/.slurm-src/slurm-*; do
		[ -f "$dir/src/slurmctld/slurmctld.h" ] &&
			echo "$(version_of "$dir" | tr ' ' .) $dir"
	done | sort -V | tail -n 1 | while read -r version dir; do
		[ "$version" = "$(version_of "$built" | tr ' ' .)" ] ||
			echo "$dir"
	done
}

IFS=: read -ra sources <<<"${POLLUX_SLURM_SOURCES:-$(at_hand)}"
[ "${#sources[@]}" -gt 0 ] ||
	skip_all "no source of a newer Slurm is at hand (POLLUX_SLURM_SOURCES)"
plan "${#sources[@]}"
for source in "${sources[@]}"; do
	ok "plugins and programs compile with Slurm $(version_of "$source" | tr ' ' .)" \
		compiles "$source"
done
