# SPDX-License-Identifier: MIT
# check_build.t - the tarball builds elsewhere, under sanitizers, and installs
#
# With POLLUX_THOROUGH=1 it is built without Slurm's source and CUDA, too.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

# A test within a build of this test's own would have no end.
[ -z "${POLLUX_IN_CHECK_BUILD:-}" ] || skip_all "already within check_build.t"
export POLLUX_IN_CHECK_BUILD=1
unset MAKEFLAGS MAKELEVEL MFLAGS

slurm_src=$(sed -n 's/^SLURM_SRC = //p' "$POLLUX_BUILDDIR/Makefile")
root=$WORK/root
# Not optimised, as that takes longer than it saves: each test runs once.
cflags='-O0 -g1 -Werror'
with_slurm=(${POLLUX_SLURM_PREFIX:+--with-slurm="$POLLUX_SLURM_PREFIX"})

tarball() {
	make -s -C "$POLLUX_BUILDDIR" dist-gzip &&
		tar -xzf "$POLLUX_BUILDDIR"/pollux-*.tar.gz -C "$WORK" &&
		rm "$POLLUX_BUILDDIR"/pollux-*.tar.gz &&
		mv "$WORK"/pollux-* "$WORK/source"
}

# In a folder, with a prefix and a plugin folder of its own.
configured() {
	mkdir "$WORK/build" && cd "$WORK/build" &&
		"$WORK/source/configure" -q -C --prefix=/opt/pollux \
			--enable-sanitize --with-slurm-src="$slurm_src" \
			"${with_slurm[@]}" \
			--with-slurm-plugindir=/opt/slurm/plugins \
			CFLAGS="$cflags"
}

unit_tests() {
	make -s -C "$WORK/build/tests/unit" check 2>&1 |
		grep -E '^(FAIL|ERROR|# (TOTAL|PASS|FAIL))|rror:'
	return "${PIPESTATUS[0]}"
}

has() {
	local file missing=0
	for file; do
		[ -s "$root/$file" ] && continue
		echo "missing: $file"
		missing=1
	done
	return $missing
}

# A source tree of another Slurm than the installed one.
other_slurm() {
	mkdir -p "$WORK/other/src/slurmctld" "$WORK/refused"
	touch "$WORK/other/src/slurmctld/slurmctld.h"
	echo '  Version:	99.11.1' >"$WORK/other/META"
	cd "$WORK/refused" &&
		"$WORK/source/configure" -q CFLAGS="$cflags" \
			--cache-file="$WORK/build/config.cache" \
			--with-slurm-src="$WORK/other"
}

refused_clearly() {
	fails other_slurm >"$WORK/refused.txt" 2>&1 &&
		grep -q '99.11.1, but .*slurmctld is ' "$WORK/refused.txt"
}

# A machine where Slurm's packages are built and none is installed: headers alone
# tell which Slurm is there.
other_headers() {
	local headers
	headers=$(echo '#include <slurm/slurm.h>' |
		gcc ${POLLUX_SLURM_PREFIX:+-I"$POLLUX_SLURM_PREFIX/include"} -E - |
		sed -n 's,^# 1 "\(/.*\)/slurm[.]h".*,\1,p')
	mkdir -p "$WORK"/slurm/{include,sbin} "$WORK/headers" &&
		cp -r "$headers" "$WORK/slurm/include/" &&
		number=$(sed -n 's/.*define SLURM_VERSION_NUMBER //p' \
			"$WORK/slurm/include/slurm/slurm_version.h") &&
		sed -i 's/\(define SLURM_VERSION_NUMBER\).*/\1 0x170b01/' \
			"$WORK/slurm/include/slurm/slurm_version.h" &&
		ln -s "$(PATH=$PATH:/usr/sbin command -v slurmctld)" \
			"$WORK/slurm/sbin/" && cd "$WORK/headers" || return 0
	"$WORK/source/configure" -q CFLAGS="$cflags" \
		--with-slurm="$WORK/slurm" --with-slurm-src="$slurm_src"
}

headers_refused() {
	fails other_headers >"$WORK/headers.txt" 2>&1 &&
		grep 'slurm.h is of 23.11.1: ' "$WORK/headers.txt"
}

# With the right headers there, plugins go where that Slurm looks.
own_prefix() {
	sed -i 's/\(define SLURM_VERSION_NUMBER\).*/\1 '"$number"'/' \
		"$WORK/slurm/include/slurm/slurm_version.h" &&
		cd "$WORK/headers" && "$WORK/source/configure" -q \
		CFLAGS="$cflags" --with-slurm="$WORK/slurm" \
		--with-slurm-src="$slurm_src" >"$WORK/own.txt" &&
		grep "plugins in $WORK/slurm/lib/slurm\$" "$WORK/own.txt"
}

# As where Slurm has a prefix that nobody told.
no_headers() {
	mkdir -p "$WORK/none" && cd "$WORK/none" || return 0
	ac_cv_header_slurm_slurm_h=no "$WORK/source/configure" -q \
		CFLAGS="$cflags" --with-slurm-src="$slurm_src"
}

no_headers_refused() {
	fails no_headers >"$WORK/none.txt" 2>&1 &&
		grep 'give --with-slurm=PREFIX' "$WORK/none.txt"
}

# In the same folder, as what never saw a header of theirs is the same.
plain() {
	cd "$WORK/build" && make -s -C src/plugins clean &&
		rm src/launcher/pollux-launch &&
		find . -name '*.Po' -exec grep -lE '/(slurm|cuda|nccl)' {} + |
		sed -E 's|\.deps/(.*)\.Po|\1.o|' | xargs rm -f &&
		"$WORK/source/configure" --enable-sanitize \
			--without-slurm-src --without-cuda \
			CFLAGS="$cflags" >"$WORK/plain.txt" &&
		make -s -j2 && grep 'Slurm plugins  *no' "$WORK/plain.txt" &&
		test -x src/launcher/pollux-launch -a \
			! -e src/plugins/sched_pollux.la
}

plan 11
ok "a source package can be made" tarball
ok "it configures in a folder of its own" configured
ok "and builds there without a warning" make -s -j2 -C "$WORK/build"
ok "unit tests pass under AddressSanitizer and UBSan" unit_tests
ok "make install honours DESTDIR" \
	make -s -C "$WORK/build" install DESTDIR="$root"
if [ -n "$slurm_src" ]; then
	ok "programs, plugins and manuals are where they are looked for" has \
		opt/pollux/bin/pollux-{launch,report,top,sandbox} \
		opt/pollux/libexec/pollux/pollux-rank \
		opt/pollux/lib/libpollux.so \
		opt/pollux/include/pollux.h \
		opt/pollux/lib/pkgconfig/pollux.pc \
		opt/pollux/share/man/man1/pollux-launch.1 \
		opt/slurm/plugins/{sched,job_submit,spank}_pollux.so
else
	skip "plugins are installed" "built without the Slurm source"
fi
ok "the source of another Slurm is refused, with both versions named" \
	refused_clearly
if [ -n "$slurm_src" ]; then
	ok "and headers of another, too" headers_refused
	ok "with those of its own prefix, plugins go where it looks" own_prefix
	ok "its own source without headers is refused" no_headers_refused
else
	skip "plugins go to a prefix of Slurm's" "built without the Slurm source"
	skip "so is its own without headers" "built without the Slurm source"
	skip "headers of another are refused" "built without the Slurm source"
fi
ok_thorough "without Slurm's source and CUDA all but the plugins is built" plain
