# SPDX-License-Identifier: MIT
# again.sh TEST - run a test; when it fails, say so and run it again, twice
#
# Tests on a private cluster depend on how a busy machine schedules twenty
# daemons. What fails three times is a fault; what fails less often is told as
# comments, "run 1: ...", and is worth a look too.
set -u
runs=3
limit_s=900 # of one run; thorough ones have an hour
[ -z "${POLLUX_THOROUGH:-}" ] || limit_s=3600

case ${1##*/} in
test_*)
	output=$(mktemp) || exit 1
	for ((run = 1; run < runs; run++)); do
		if timeout -k 30 $limit_s bash "$1" >"$output" 2>&1; then
			cat "$output"
			rm -f "$output"
			exit 0
		fi
		echo "# $1 failed, run $run of $runs:"
		grep -A 12 '^not ok\|^Bail out' "$output" |
			sed "s/^/# run $run: /"
	done
	rm -f "$output"
	exec timeout -k 30 $limit_s bash "$1"
	;;
esac
exec bash "$1"
