# SPDX-License-Identifier: MIT
# rpm.sh - RPM packages of the source, made by Debian's rpmbuild
#
# Part of check_package.t, sourced after package.sh. What RHEL's rpmbuild
# defines and Debian's does not is given; names of RHEL's packages are not asked.

rpms=$WORK/rpms
rhel=(
	--define "dist .el9"
	--define "_docdir /usr/share/doc"
	--define "_docdir_fmt %%{NAME}"
	--define "_libdir /usr/lib64"
	--define "__python3 /usr/bin/python3"
	--define "python3_sitelib /usr/lib/python3.9/site-packages"
	--define "build_cflags -O2 -g -flto=auto -ffat-lto-objects -Wp,-D_FORTIFY_SOURCE=2 -fstack-protector-strong -fcf-protection"
	--define "build_ldflags -Wl,-z,relro -Wl,--as-needed -Wl,-z,now"
)

# Before Debian's packages are built there: the tarball as it is released.
rpm_tarball() {
	tar -czf "$WORK/pollux-$version.tar.gz" -C "$WORK" \
		--transform "s,^pollux-package,pollux-$version," pollux-package
}

# As a site's module of Open MPI: what PKG_CONFIG_PATH has goes first.
mpi_module() {
	local from
	from=$(pkg-config --variable=pcfiledir ompi-c) && mkdir "$WORK/module" &&
		sed "s,^Libs:,& -L$WORK/module," "$from/ompi-c.pc" \
			>"$WORK/module/ompi-c.pc"
}

# What docs/operators.md says. Debian's packages have run the unit tests.
rpm_package() {
	mpi_module && (
		unset MAKEFLAGS MAKELEVEL MFLAGS
		export PKG_CONFIG_PATH=$WORK/module
		rpmbuild -tb "$WORK/pollux-$version.tar.gz" \
			--define "slurm_src $slurm_src" --nodeps --nocheck \
			--define "_topdir $rpms" --define "_smp_mflags -j2" \
			"${rhel[@]}"
	) >"$WORK/rpm.log" 2>&1 || {
		tail -n 30 "$WORK/rpm.log"
		return 1
	}
	grep -q -- "-L$WORK/module -L.* -lmpi" "$WORK/rpm.log" &&
		! grep '^error:' "$WORK/rpm.log" &&
		find "$rpms/RPMS" -name '*.rpm' ! -name '*-debug*' \
			-exec mv {} "$rpms/" \; && ls "$rpms/" &&
		[ "$(find "$rpms" -maxdepth 1 -name '*.rpm' | wc -l)" -eq \
			${#packages[@]} ]
}

rpm_of() {
	find "$rpms" -maxdepth 1 -name "$1-[0-9]*.rpm"
}

# "PACKAGE FILE", under the names of RPM packages and of configure's folders;
# of documents the examples alone.
rpm_files() {
	rpm -qp --qf '[%{=NAME} %{FILEMODES:perms} %{FILENAMES}\n]' \
		"$rpms"/*.rpm | sed -E -n -e '/^[^ ]+ d/d' \
		-e 's, [^ ]+ /usr/lib64/slurm/, PLUGINDIR/,' \
		-e 's, [^ ]+ /usr/lib64/, LIBDIR/,' \
		-e 's, [^ ]+ /usr/lib/python[0-9.]+/site-packages/, PYTHONDIR/,' \
		-e 's, [^ ]+ /usr/, usr/,' -e p | sed -E -e 's,[.]gz$,,' \
		-e '/ usr.lib.[.]build-id/d' -e '/__pycache__/d' \
		-e '/ usr.share.licenses/d' \
		-e 's, usr/share/doc/.*/(.*[.]example|.*[.]json|train.py)$, DOCDIR/\1,' \
		-e '/ usr.share.doc/d' | sort
}

deb_files() {
	local deb name
	for deb in "$WORK"/*.deb; do
		name=${deb##*/}
		case ${name%%_*} in
		*-dbgsym) continue ;;
		slurm-wlm-pollux-plugins) name=slurm-pollux-plugins ;;
		libpollux0) name=pollux-libs ;;
		libpollux-dev) name=pollux-devel ;;
		*) name=${name%%_*} ;;
		esac
		dpkg-deb --fsys-tarfile "$deb" | tar -t | sed -E \
			-e '/[/]$/d' -e 's,[.]gz$,,' \
			-e 's,^[.]/usr/lib/[^/]+/slurm-wlm/,PLUGINDIR/,' \
			-e 's,^[.]/usr/lib/[^/]+-linux-gnu/,LIBDIR/,' \
			-e 's,^[.]/usr/lib/python3/dist-packages/,PYTHONDIR/,' \
			-e 's,^[.]/,,' -e '/^usr.share.lintian/d' \
			-e 's,^usr/share/doc/.*/(.*[.]example|.*[.]json|train.py)$,DOCDIR/\1,' \
			-e '/^usr.share.doc/d' -e "s/^/$name /"
	done | sort
}

same_as_debian() {
	rpm_files | tee "$WORK/rpm-files" | grep -q 'PLUGINDIR/sched_pollux.so' &&
		diff <(deb_files) "$WORK/rpm-files"
}

# rpm_requires PACKAGE REGEX: as a line of its own.
rpm_requires() {
	rpm -qp --requires "$(rpm_of "$1")" | grep -xE "$2"
}

# Slurm at the version of its source; Open MPI may be the site's own.
rpm_holds_slurm() {
	local slurm
	slurm=$(slurm_version)
	rpm -qp "$(rpm_of slurm-pollux-plugins)" |
		grep -F "plugins-$version-1.slurm$slurm.el9." &&
		rpm_requires slurm-pollux-plugins "slurm-slurmctld = $slurm" &&
		rpm_requires pollux "slurm >= ${slurm%.*}" &&
		rpm_requires pollux "slurm < ${slurm%.*}[.]99" &&
		rpm_requires pollux 'libpollux[.]so[.]0.*' &&
		fails rpm_requires pollux-libs 'libmpi.*'
}

# As rpm does, without its scripts.
rpm_unpack() {
	local rpm
	mkdir "$rpms/root"
	for rpm in "$rpms"/*.rpm; do
		rpm2archive -n - <"$rpm" | tar -x -C "$rpms/root" || return
	done
}

rpm_cluster() (
	export PATH=$rpms/root/usr/bin:$PATH
	export LD_LIBRARY_PATH=$rpms/root/usr/lib64
	export POLLUX_SANDBOX_LIB=$rpms/root/usr/share/pollux/sandbox
	export POLLUX_PLUGIN_PATH=$LD_LIBRARY_PATH/slurm
	SB=$WORK/sb-rpm
	pollux-sandbox up --dir "$SB" --nodes 1 &&
		grep -q "$POLLUX_PLUGIN_PATH/sched_pollux.so" \
			"/proc/$(cat "$SB/run/slurmctld.pid")/maps" &&
		sb pollux-doctor --try scheduler submit option job
	rc=$?
	pollux-sandbox down --dir "$SB"
	exit $rc
)
