# SPDX-License-Identifier: MIT
# pollux.m4 - what configure looks for, and how it says what it found

# POLLUX_WARNINGS: WARN_CFLAGS for our own code. A function that is not there is
# an error when it is compiled, not when slurmctld loads it.
AC_DEFUN([POLLUX_WARNINGS], [
AC_SUBST([WARN_CFLAGS], ["-std=gnu11 -Wall -Wextra -Wundef -Wvla dnl
-Werror=implicit-function-declaration dnl
-Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings"])
])

# POLLUX_SANITIZE: --enable-sanitize, of the unit tests and what they link.
AC_DEFUN([POLLUX_SANITIZE], [
AC_ARG_ENABLE([sanitize], [AS_HELP_STRING([--enable-sanitize],
	[build with AddressSanitizer and UndefinedBehaviorSanitizer])])
AS_IF([test "x$enable_sanitize" = xyes], [
	CFLAGS="$CFLAGS -fsanitize=address,undefined -fno-sanitize-recover=all"
	CFLAGS="$CFLAGS -fno-omit-frame-pointer"
])
])

# POLLUX_COVERAGE: --enable-coverage, for make coverage. Needs gcc and its gcov.
AC_DEFUN([POLLUX_COVERAGE], [
AC_ARG_ENABLE([coverage], [AS_HELP_STRING([--enable-coverage],
	[build with gcc's counters of lines run, for make coverage])])
AS_IF([test "x$enable_coverage" = xyes], [
	CFLAGS="$CFLAGS -O0 --coverage"
	LIBS="$LIBS -lgcov"
])
])

# POLLUX_NEED(VAR, module, package): a library nothing works without.
AC_DEFUN([POLLUX_NEED], [
PKG_CHECK_MODULES([$1], [$2], [],
	[AC_MSG_ERROR([$2 not found; install $3 or run ./bootstrap])])
])

# POLLUX_WANT(VAR, module, package, what it is for): optional, auto.
AC_DEFUN([POLLUX_WANT], [
PKG_CHECK_MODULES([$1], [$2], [have_$2=yes],
	[have_$2="no ($4 left out; Debian: $3)"])
AM_CONDITIONAL([HAVE_$1], [test "x$have_$2" = xyes])
AS_IF([test "x$have_$2" = xyes],
	[AC_DEFINE([HAVE_$1], [1], [Define when $2 is there])])
])

# POLLUX_MPI: Open MPI's compile and link flags, without using mpicc as CC.
AC_DEFUN([POLLUX_MPI], [
PKG_CHECK_MODULES([MPI], [ompi-c], [have_mpi=yes],
	[PKG_CHECK_MODULES([MPI], [ompi], [have_mpi=yes],
		[have_mpi="no (agent library and examples left out; Debian: libopenmpi-dev)"])])
AM_CONDITIONAL([HAVE_MPI], [test "x$have_mpi" = xyes])
])

# POLLUX_CUDA: --with-cuda[=DIR], auto.
AC_DEFUN([POLLUX_CUDA], [
AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
	[CUDA runtime for the GPU backend @<:@auto@:>@])],
	[], [with_cuda=auto])
have_cuda=no
AS_CASE([$with_cuda],
	[no], [],
	[yes|auto], [cuda_dir=/usr/local/cuda],
	[cuda_dir=$with_cuda])
AS_IF([test "x$with_cuda" != xno], [
	save_CPPFLAGS=$CPPFLAGS
	CPPFLAGS="$CPPFLAGS -I$cuda_dir/include"
	AC_CHECK_HEADER([cuda_runtime_api.h], [
		have_cuda=yes
		CUDA_CPPFLAGS="-isystem $cuda_dir/include"
	])
	CPPFLAGS=$save_CPPFLAGS
	AS_IF([test "x$have_cuda$with_cuda" != xnoauto && test $have_cuda = no],
		[AC_MSG_ERROR([no cuda_runtime_api.h in $cuda_dir/include])])
])
AC_SUBST([CUDA_CPPFLAGS])
AM_CONDITIONAL([HAVE_CUDA], [test $have_cuda = yes])
AS_IF([test $have_cuda = yes],
	[AC_DEFINE([HAVE_CUDA], [1], [Define when CUDA's headers are there])])
])

# POLLUX_NCCL: --with-nccl[=DIR], auto; only with CUDA. The libraries are
# opened at run time, so that one build runs with and without GPUs.
AC_DEFUN([POLLUX_NCCL], [
AC_ARG_WITH([nccl], [AS_HELP_STRING([--with-nccl@<:@=DIR@:>@],
	[NCCL headers for the GPU backend @<:@auto@:>@])],
	[], [with_nccl=auto])
have_nccl=no
NCCL_CPPFLAGS=
AS_CASE([$with_nccl],
	[no|yes|auto], [],
	[NCCL_CPPFLAGS="-isystem $with_nccl/include"])
AS_IF([test "x$with_nccl" != xno && test $have_cuda = yes], [
	save_CPPFLAGS=$CPPFLAGS
	CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS $NCCL_CPPFLAGS"
	AC_CHECK_HEADER([nccl.h], [have_nccl=yes])
	CPPFLAGS=$save_CPPFLAGS
])
AS_IF([test "x$with_nccl" != xno && test "x$with_nccl" != xauto &&
	test $have_nccl = no],
	[AC_MSG_ERROR([NCCL was asked for, but nccl.h (and CUDA) not found])])
AC_SUBST([NCCL_CPPFLAGS])
AM_CONDITIONAL([HAVE_NCCL], [test $have_nccl = yes])
AS_IF([test $have_nccl = yes],
	[AC_DEFINE([HAVE_NCCL], [1], [Define when the NCCL backend is built])])
])

# POLLUX_SLURM: libslurm for launcher and report; the source tree of exactly
# the installed slurmctld for the plugins, which use its internal headers.
AC_DEFUN([POLLUX_SLURM], [
AC_ARG_WITH([slurm-src], [AS_HELP_STRING([--with-slurm-src=DIR],
	[Slurm source tree, the version of the installed slurmctld;
	default .slurm-src/slurm-* of the source or build folder])],
	[], [with_slurm_src=auto])
AC_ARG_WITH([slurm-plugindir], [AS_HELP_STRING([--with-slurm-plugindir=DIR],
	[where Slurm looks for plugins @<:@LIBDIR/slurm-wlm, as Debian@:>@])],
	[], [with_slurm_plugindir=auto])
AC_ARG_WITH([slurm], [AS_HELP_STRING([--with-slurm=DIR],
	[a Slurm installed under DIR, in place of the system's])],
	[], [with_slurm=])
AS_CASE([$with_slurm], [yes|no], [with_slurm=])
AS_IF([test -n "$with_slurm"], [
	test -f "$with_slurm/include/slurm/slurm.h" ||
		AC_MSG_ERROR([no Slurm is installed under $with_slurm (no include/slurm/slurm.h)])
	CPPFLAGS="$CPPFLAGS -isystem $with_slurm/include"
	LDFLAGS="$LDFLAGS -L$with_slurm/lib -Wl,-rpath,$with_slurm/lib"
])

AC_CHECK_HEADER([slurm/slurm.h], [have_libslurm=yes],
	[have_libslurm="no (launcher for --local alone, no pollux-top and plugins; Debian: libslurm-dev)"])
AM_CONDITIONAL([HAVE_LIBSLURM], [test "x$have_libslurm" = xyes])

slurm_src=
AS_CASE([$with_slurm_src],
	[no], [],
	[yes|auto], [
		for dir in "$srcdir"/.slurm-src/slurm-* .slurm-src/slurm-*; do
			test -f "$dir/src/slurmctld/slurmctld.h" &&
				slurm_src=$(cd "$dir" && pwd)
		done
	],
	[
		test -f "$with_slurm_src/src/slurmctld/slurmctld.h" ||
			AC_MSG_ERROR([$with_slurm_src is not a Slurm source tree (no src/slurmctld/slurmctld.h)])
		test "x$have_libslurm" = xyes ||
			AC_MSG_ERROR([Slurm's source was given, but there is no slurm/slurm.h: install libslurm-dev (RHEL: slurm-devel), or give --with-slurm=PREFIX, under which Slurm is installed])
		slurm_src=$(cd "$with_slurm_src" && pwd)
	])

have_plugins="no (no Slurm source: give --with-slurm-src=DIR or run ./bootstrap)"
AS_IF([test -n "$slurm_src" && test "x$have_libslurm" = xyes], [
	AC_MSG_CHECKING([that Slurm's source and slurmctld agree])
	slurm_src_version=$($AWK '$[]1 == "Version:" {print $[]2}' "$slurm_src/META")
	slurmctld=$(PATH=${with_slurm:+$with_slurm/sbin:}$PATH:/usr/sbin:/usr/local/sbin command -v slurmctld)
	AS_IF([test -n "$slurmctld"],
		[slurmctld_version=$("$slurmctld" -V | $AWK '{print $[]2}' | sed 's/^.*-wlm //; s/^wlm-//')],
		[slurmctld_version="none"])
	AS_IF([test "$slurmctld_version" = none],
		[AC_MSG_RESULT([no slurmctld here, trusting $slurm_src_version])],
		[test "x$slurm_src_version" = "x$slurmctld_version"],
		[AC_MSG_RESULT([both $slurm_src_version])],
		[AC_MSG_RESULT([no])
		AC_MSG_ERROR([the Slurm source in $slurm_src is $slurm_src_version, but $slurmctld is $slurmctld_version: the plugins would not load. Give --with-slurm-src the source of $slurmctld_version, or --without-slurm-src])])
	AC_MSG_CHECKING([which Slurm slurm/slurm.h is of])
	AC_COMPUTE_INT([slurm_h_number], [SLURM_VERSION_NUMBER],
		[#include <slurm/slurm.h>], [slurm_h_number=0])
	slurm_h_version=$($AWK "BEGIN { n = $slurm_h_number
		printf \"%d.%02d.%d\", n / 65536, n / 256 % 256, n % 256 }")
	AC_MSG_RESULT([$slurm_h_version])
	AS_CASE([$slurm_src_version],
		[$slurm_h_version|$slurm_h_version-*], [],
		[AC_MSG_ERROR([the Slurm source in $slurm_src is $slurm_src_version, but slurm/slurm.h is of $slurm_h_version: what is built would not fit. Give --with-slurm-src the source of $slurm_h_version, or the slurm/slurm.h of $slurm_src_version by --with-slurm])])
	have_plugins="yes (Slurm $slurm_src_version)"
])
AM_CONDITIONAL([HAVE_SLURM_SRC], [test -n "$slurm_src" && test "x$have_libslurm" = xyes])
# For what speaks Slurm's protocol itself, which each release changes.
AM_CONDITIONAL([HAVE_SLURM_22_05_SRC],
	[AS_CASE([$slurm_src_version], [22.05.*], [test "x$have_libslurm" = xyes], [false])])
AC_SUBST([SLURM_SRC], [$slurm_src])
AS_IF([test "x$with_slurm_plugindir" != xauto],
	[slurm_plugindir=$with_slurm_plugindir],
	[test -n "$with_slurm"], [slurm_plugindir=$with_slurm/lib/slurm],
	[slurm_plugindir='${libdir}/slurm-wlm'])
AC_SUBST([slurm_plugindir])
])

# POLLUX_SUMMARY: what will be built, in words.
AC_DEFUN([POLLUX_SUMMARY], [
plugins_in=$slurm_plugindir
for round in 1 2 3; do
	eval "plugins_in=\"$plugins_in\""
done
cat <<EOF

pollux $PACKAGE_VERSION will build
  core, wire           yes
  pollux-launch        $have_libslurm
  pollux-report, -top  $have_libslurm
  Slurm plugins        $have_plugins
  libpollux, examples  $have_mpi
  NCCL backend         $have_nccl (CUDA $have_cuda)
  unit tests           $have_cmocka
  hwloc                $have_hwloc
  Python package       $have_python
and install under $prefix, plugins in $plugins_in

EOF
])
