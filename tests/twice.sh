# SPDX-License-Identifier: MIT
# twice.sh TEST - run a test; when it fails, say so and run it once more
#
# Tests on a private cluster depend on how a busy machine schedules twenty
# daemons. What fails twice is a fault; what fails once is told as a comment,
# "first run: ...", and is worth a look too.
set -u
output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT

case ${1##*/} in
test_*)
	if bash "$1" >"$output" 2>&1; then
		cat "$output"
		exit 0
	fi
	echo "# $1 failed, once more:"
	grep -A 12 '^not ok\|^Bail out' "$output" | sed 's/^/# first run: /'
	;;
esac
bash "$1"
