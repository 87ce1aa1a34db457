# SPDX-License-Identifier: MIT
# test_request.t - pollux_request(3): a program asks for less GPUs, and for more
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/moods.sh" || exit 1

sandbox_up --nodes 1 --gpus-per-node 4 --params \
	pollux_interval=1,pollux_min_gap=0.2
plan 8

moods_params=pollux,min=2,max=4
job=$(submit_moods wishes 200)

# has_for_long N: it has so many GPUs, and still has in three seconds.
has_for_long() {
	wait_until "has_gpus $job $1 && trains $job" 60 && sleep 3 &&
		has_gpus "$job" "$1"
}

told() {
	wait_until "sb scontrol show job $job | grep -E 'SystemComment=.*$1'" 30
}

# asks N: rank 0 does.
asks() {
	does wishes 0 "request $1" &&
		wait_until "says wishes 'the program asks for $2'" 20
}

ok "a job that scales has all GPUs" has_for_long 4
ok "its program asks for three, and has them" eval \
	'asks 3 "3 ranks" && has_for_long 3'
ok "its record says that this is why" told "its program asks for no more"
ok "less than its min= it does not get" eval 'asks 1 "1 rank$" && has_for_long 2'
ok "nor more than its max=, when it asks for more" eval \
	'asks 100 "100 ranks" && has_for_long 4'
ok "or for as many as are of use" eval 'asks 2 "2 ranks" && has_for_long 2 &&
	asks 0 "as many ranks as are of use" && has_for_long 4'
ok "no step was lost" loses_no_step "$job" wishes 5000
ok "nothing is left" wait_until cluster_is_idle 60
