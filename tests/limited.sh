# SPDX-License-Identifier: MIT
# limited.sh TEST - run a test; end it when it takes too long
set -u
limit_s=1200
[ -z "${POLLUX_THOROUGH:-}" ] || limit_s=3600

case ${1##*/} in
test_*) ;;
*) exec bash "$1" ;;
esac

timeout -k 30 $limit_s bash "$1"
rc=$?
[ $rc != 124 ] || echo "Bail out! it took longer than $limit_s s"
exit $rc
