# SPDX-License-Identifier: MIT
# again.sh BUILDDIR - run once more, alone, what failed beside other tests
#
# Tests on a private cluster depend on how a busy machine schedules twenty
# daemons. What fails alone as well is a fault. What failed only beside others is
# told, and is worth a look too. Exit code 0: all is built; count.sh says what has
# failed.
set -u
most=12 # where more fail, it is not because of the machine

make=${MAKE:-make}
here=$(cd "$(dirname "$0")" && pwd)
cd "$1" || exit 1

# Rules and unit tests depend on nobody's speed.
mapfile -t names < <(
	grep -lE '^:test-result: (FAIL|XPASS|ERROR)' tests/test_*.trs 2>/dev/null |
		sed 's|^tests/||; s|\.trs$||'
)
if [ ${#names[@]} -gt 0 ] && [ ${#names[@]} -le $most ]; then
	bash "$here/count.sh" .
	echo "run once more, alone: ${names[*]}"
	"$make" --no-print-directory -C tests -f Makefile check \
		TESTS="${names[*]/%/.t}"
	echo "failed beside others, then run alone: ${names[*]}"
fi
# Nothing is tested by this; make knows whether all is built.
exec "$make" --no-print-directory -s -k -f Makefile check TESTS= >/dev/null
