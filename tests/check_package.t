# SPDX-License-Identifier: MIT
# check_package.t - packages say the same as the source, build, and work
#
# With POLLUX_THOROUGH=1 Debian's and RPM's packages are built and tried: minutes.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/package.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/rpm.sh" || exit 1
cd "$POLLUX_SRCDIR" || exit 1

root=$WORK/root

same_version() {
	echo "configure.ac has $version"
	[ -n "$version" ] &&
		head -n 1 debian/changelog | grep -qF "pollux ($version)" &&
		grep -qE "^Version: +$version\$" etc/pollux.spec
}

# Every file of debian/ is in the tarball.
all_carried() {
	local file missing=0
	while read -r file; do
		grep -qF "$file" Makefile.am && continue
		echo "not in EXTRA_DIST: $file"
		missing=1
	done < <(git ls-files debian 2>/dev/null)
	return $missing
}

# The README's commands, as it has them, and a release's files from the commit.
forge_runs_the_readme() {
	local command
	for command in demo check; do
		grep -qE "^    \./bootstrap && make $command( |\$)" README.md &&
			grep -qE "run: \./bootstrap && make $command\$" \
				.github/workflows/check.yml || return
	done
}

# With a change that is not committed; in a clone, as this tree may have some.
release_refuses() (
	git clone -q . "$WORK/changed" && cd "$WORK/changed" &&
		cp "$POLLUX_SRCDIR/tests/make_release" tests/ &&
		echo x >>NEWS.md && fails tests/make_release out 2>"$WORK/refused" &&
		grep -q 'the tree has changes: commit them' "$WORK/refused" &&
		[ ! -e out ]
)

spec_parses() {
	rpmspec -P etc/pollux.spec >/dev/null
}

# As ./bootstrap leaves it.
configured_in_place() {
	(cd "$WORK/pollux-package" &&
		./configure -q --with-slurm-src="$slurm_src" && [ -f config.status ])
}

lintian_is_content() {
	lintian --allow-root --fail-on error "$WORK"/pollux_*.changes
}

# As dpkg does, without its scripts.
unpack() {
	local deb
	mkdir "$root"
	for deb in "$WORK"/*.deb; do
		dpkg-deb -x "$deb" "$root" || return
	done
}

split_as_told() {
	local package
	for package in slurm-wlm-pollux-plugins:sched_pollux.so \
		slurm-wlm-pollux-plugins:examples/pollux-grafana.json \
		slurm-wlm-pollux-plugins:job_submit_pollux.so \
		slurm-wlm-pollux-plugins:pollux/sched_backfill.so \
		pollux:slurm-wlm/pollux/ \
		pollux:spank_pollux.so pollux:bin/pollux-launch \
		pollux:bin/pollux-doctor pollux:bin/pollux-report \
		pollux:completions/pollux-top pollux:pollux-rank \
		libpollux0:libpollux.so.0 libpollux-dev:libpollux.a \
		libpollux-dev:pollux.h libpollux-dev:pollux.pc \
		python3-pollux:dist-packages/pollux/__init__.py; do
		dpkg-deb -c "$WORK/${package%%:*}"_*.deb |
			grep -q "${package#*:}" || {
			echo "${package%%:*} lacks ${package#*:}"
			return 1
		}
	done
}

none_touches_etc() {
	! find "$root/etc" -type f 2>/dev/null | grep . && ! grep -l slurm.conf \
		"$WORK"/pollux-package/debian/*.postinst 2>/dev/null
}

# The Slurm that the plugins were built for, and no other; those for a newer
# one are newer.
held_at_this_slurm() {
	local made
	made=$(dpkg-deb -f "$WORK"/slurm-wlm-pollux-plugins_*.deb Version)
	[ "$made" = "$version+slurm$(slurm_version)" ] &&
		dpkg --compare-versions "$made" gt "$version+slurm20.02.7" &&
		dpkg --compare-versions "$made" lt "$version.1+slurm20.02.7" &&
		dpkg-deb -f "$WORK"/slurm-wlm-pollux-plugins_*.deb Depends |
		grep -E 'basic-plugins \(>= [0-9.]+\), .*basic-plugins \(<< [0-9.]+~\)'
}

use_packages() {
	libdir=$(dirname "$(find "$root" -name 'libpollux.so.0')")
	export PATH=$root/usr/bin:$PATH LD_LIBRARY_PATH=$libdir
	export POLLUX_SANDBOX_LIB=$root/usr/share/pollux/sandbox
	export POLLUX_PLUGIN_PATH=$libdir/slurm-wlm
}

programs_run() {
	local program
	for program in "$root"/usr/bin/pollux-*; do
		"$program" --help >/dev/null || return
		grep -q "${program##*/}" <<<"$("$program" --help)" || return
	done
}

# links_statically LIBRARY FOLDER-OF-HEADER
links_statically() {
	cat >"$WORK/one.c" <<'END'
#include <pollux.h>
#include <stdio.h>
int main(void) { return puts(pollux_version()) < 0; }
END
	# shellcheck disable=SC2046 # flags
	gcc -o "$WORK/one" "$WORK/one.c" -I"$2" "$1" \
		$(pkg-config --libs ompi-c jansson zlib) \
		-lm -ldl -lpthread && "$WORK/one" | grep -qF "$version"
}

# As --enable-static has it, without which no tree is built here.
static_in_tree() {
	make -s -C "$POLLUX_BUILDDIR/src/agent" libpollux.a &&
		links_statically "$POLLUX_BUILDDIR/src/agent/libpollux.a" \
			"$POLLUX_SRCDIR/src/agent"
}

links_dynamically() {
	PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root \
		pkg-config --cflags --libs pollux >"$WORK/flags" &&
		gcc -o "$WORK/two" "$WORK/one.c" -I"$root/usr/include" \
			$(cat "$WORK/flags") && "$WORK/two" | grep -qF "$version"
}

python_finds_it() {
	PYTHONPATH=$root/usr/lib/python3/dist-packages \
		POLLUX_LIBRARY=$libdir/libpollux.so.0 /usr/bin/python3 -c \
		'import pollux.library; print(pollux.library.__file__)' |
		grep -F "$root"
}

# sandbox_up uses the build tree; this one the packages.
cluster_of_packages() {
	SB=$WORK/sb
	pollux-sandbox up --dir "$SB" --nodes 1 && sb pollux-doctor --try \
		scheduler submit option job
}

# asked REMOVED UPGRADED FILE LINE: the script on stdin, and what it is told,
# is against removing while FILE has the line, and not after.
asked() {
	local script=$WORK/asked
	mkdir -p "$WORK/etc/slurm"
	sed "s,/etc/slurm,$WORK/etc/slurm,g" >"$script"
	[ -s "$script" ] || return
	echo "$4" >"$WORK/etc/slurm/$3"
	fails sh "$script" "$1" && sh "$script" "$2" 9 || return
	echo "#$4" >"$WORK/etc/slurm/$3"
	sh "$script" "$1"
}

# refuses PACKAGE FILE LINE, by dpkg; rpm_refuses by rpm.
refuses() {
	dpkg-deb -I "$WORK/$1"_*.deb prerm | asked remove upgrade "$2" "$3"
}

rpm_refuses() {
	rpm -qp --qf '%{PREUN}' "$(rpm_of "$1")" | asked 0 1 "$2" "$3"
}

thorough=21
plan $((6 + thorough))
ok "Debian's and RPM's packages have the source's version" same_version
ok "the tarball carries all of debian/" all_carried
ok "a forge runs the README's two commands" forge_runs_the_readme
if [ -e .git ] && git rev-parse --git-dir >/dev/null 2>&1; then
	ok "make release refuses a tree with changes" release_refuses
else
	skip "make release refuses a tree with changes" "no git"
fi
if command -v rpmspec >/dev/null; then
	ok "the RPM spec can be parsed" spec_parses
else
	skip "the RPM spec can be parsed" "no rpmspec"
fi
if grep -q '^MPI_LIBS = .' "$POLLUX_BUILDDIR/Makefile"; then
	ok "a program can be linked with this tree's libpollux.a" static_in_tree
else
	skip "a program can be linked with this tree's libpollux.a" "no Open MPI"
fi
why=$(no_packages)
if [ -n "$why" ]; then
	for ((i = 0; i < thorough; i++)); do
		skip "packages" "$why"
	done
	exit
fi
ok "a tarball can be made" eval "source_tree && rpm_tarball"
ok "dpkg-buildpackage builds it, configured before or not, unit tests pass" \
	eval "configured_in_place && package"
if command -v lintian >/dev/null; then
	ok "lintian finds no error" lintian_is_content
else
	skip "lintian finds no error" "no lintian"
fi
ok "the packages unpack" unpack
ok "each has what it is for" split_as_told
ok "none brings or changes configuration" none_touches_etc
ok "the plugins hold Slurm at their version" held_at_this_slurm
if command -v rpmbuild >/dev/null; then
	ok "rpmbuild makes as many packages of the tarball" rpm_package
	ok "RPM's have the files that Debian's have, each in one" same_as_debian
	ok "they hold Slurm, and leave Open MPI to the site" rpm_holds_slurm
	ok "RPM's plugins are not removed while slurm.conf names them" \
		rpm_refuses slurm-pollux-plugins slurm.conf \
		SchedulerType=sched/pollux
	ok "nor is the option while plugstack.conf requires it" rpm_refuses \
		pollux plugstack.conf "required spank_pollux.so"
	ok "RPM's packages unpack" rpm_unpack
else
	for ((i = 0; i < 6; i++)); do
		skip "RPM packages" "no rpmbuild"
	done
fi
use_packages
ok "programs run from where they were unpacked" programs_run
ok "a program can be linked with libpollux.a" \
	links_statically "$libdir/libpollux.a" "$root/usr/include"
ok "and with libpollux.so, by pkg-config" links_dynamically
ok "Python finds the package" python_finds_it
need_daemons
ok "a cluster runs on them, and the doctor finds them well" \
	cluster_of_packages
ok "the plugins are not removed while slurm.conf names them" refuses \
	slurm-wlm-pollux-plugins slurm.conf SchedulerType=sched/pollux
ok "nor is the option while plugstack.conf requires it" refuses \
	pollux plugstack.conf "required spank_pollux.so"
if [ -d "$rpms/root" ]; then
	ok "a cluster runs on what is in RPM's" rpm_cluster
else
	skip "a cluster runs on what is in RPM's" "no rpmbuild"
fi
