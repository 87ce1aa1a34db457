# SPDX-License-Identifier: MIT
# again.sh TEST - run a test; when it fails, say so and run it again, twice
#
# Tests on a private cluster depend on how a busy machine schedules twenty
# daemons. What fails three times is a fault; what fails less often is told as
# comments, "run 1: ...", and is worth a look too. A file that has taken ten
# minutes is not begun again: the others would never be reached.
set -u
runs=3
limit_s=1800 # of one run; thorough ones have an hour
again_s=600  # no run begins later
[ -z "${POLLUX_THOROUGH:-}" ] || limit_s=3600

case ${1##*/} in
test_*) ;;
*) exec bash "$1" ;;
esac

output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT
for ((run = 1; ; run++)); do
	timeout -k 30 $limit_s bash "$1" >"$output" 2>&1
	rc=$?
	if [ $rc = 0 ] || [ $run = $runs ] || [ $SECONDS -ge $again_s ]; then
		cat "$output"
		[ $rc != 124 ] || echo "Bail out! it took longer than $limit_s s"
		exit $rc
	fi
	echo "# $1 failed, run $run of $runs:"
	grep -A 12 '^not ok\|^Bail out' "$output" |
		sed "s/^/# run $run: /"
done
