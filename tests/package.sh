# SPDX-License-Identifier: MIT
# package.sh - Debian packages of the source, made in a test's folder
#
# Sourced after lib.sh. It takes minutes, so only with POLLUX_THOROUGH=1.

version=$(sed -nE 's/^AC_INIT\(\[pollux\], \[([0-9.]+)\].*/\1/p' \
	"$POLLUX_SRCDIR/configure.ac")
slurm_src=$(sed -n 's/^SLURM_SRC = //p' "$POLLUX_BUILDDIR/Makefile")
mapfile -t packages < <(sed -n 's/^Package: //p' "$POLLUX_SRCDIR/debian/control")

# "22.05.8", of the source that the plugins are built with.
slurm_version() {
	awk '$1 == "Version:" { print $2 }' "$slurm_src/META"
}

# Why none can be made here; nothing where they can.
no_packages() {
	if [ -z "${POLLUX_THOROUGH:-}" ]; then
		echo "POLLUX_THOROUGH=1 builds packages"
	elif [ -z "$slurm_src" ]; then
		echo "built without the Slurm source"
	elif ! command -v dh >/dev/null || ! command -v dh_python3 >/dev/null; then
		echo "no debhelper or no dh-python"
	fi
}

# $WORK/pollux-package, as the tarball has it.
source_tree() {
	local name=pollux-package-$$
	make -s -C "$POLLUX_BUILDDIR" dist-gzip distdir="$name" &&
		tar -xzf "$POLLUX_BUILDDIR/$name.tar.gz" -C "$WORK" &&
		rm "$POLLUX_BUILDDIR/$name.tar.gz" &&
		mv "$WORK/$name" "$WORK/pollux-package"
}

# package [OPTION...]: *.deb in $WORK; the words are for DEB_BUILD_OPTIONS.
package() {
	(
		cd "$WORK/pollux-package" && unset MAKEFLAGS MAKELEVEL MFLAGS &&
			SLURM_SRC=$slurm_src DEB_BUILD_OPTIONS="parallel=2 $*" \
				dpkg-buildpackage -us -uc -b -d
	)
}
