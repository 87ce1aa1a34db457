# SPDX-License-Identifier: MIT
# python.m4 - the interpreter of the Python package

# POLLUX_PYTHON: PYTHON, preferably one with PyTorch; none is fine too.
AC_DEFUN([POLLUX_PYTHON], [
AS_IF([test -z "$PYTHON"], [
	for candidate in python3 /usr/bin/python3; do
		AS_IF([$candidate -c 'import sys, importlib.util as u; sys.exit(sys.version_info < (3, 8) or not u.find_spec("torch"))' 2>/dev/null],
			[PYTHON=$candidate; break])
	done
])
# Debian's own python3 looks for local packages in dist-packages.
AS_IF([${PYTHON:-python3} -c 'import sys, sysconfig; sys.exit("dist-packages" not in sysconfig.get_path("purelib"))' 2>/dev/null],
	[: ${am_cv_python_pythondir='${prefix}/lib/python${PYTHON_VERSION}/dist-packages'}])
AM_PATH_PYTHON([3.8], [], [:])
have_python=no
AS_IF([test "x$PYTHON" != x:], [have_python="yes ($PYTHON)"])
AM_CONDITIONAL([HAVE_PYTHON], [test "x$PYTHON" != x:])
])
