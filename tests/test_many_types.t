# SPDX-License-Identifier: MIT
# test_many_types.t - docs/rules.md: a type counts, however many others there are
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

# Three nodes with two GPUs each of thirty-two types of their own.
types() {
	seq -f t%g -s + "$1" "$2"
}
sandbox_up --nodes 3 --gpus-per-node 64 --cpus-per-node 80 \
	--gpu-types "$(types 1 32),$(types 33 64),$(types 65 96)" \
	--params pollux_interval=1
plan 4

# One of each of the others is idle.
for i in {1..19}; do
	submit_light "of$i" pollux,max=1 --gpus-per-node="t$i:1" -- \
		--live --ack=0.1
done >"$WORK/others"
job=$(submit_light last pollux,max=16 --gpus-per-node=t20:1 -- \
	--live --ack=0.1)

ok "one of the last type has both of that type" wait_until \
	"has_gpus $job 2 && trains $job" 60
ok "it stays on these, and is asked for no more" eval '
	wait_until "logged \"JobId=$job stays: 2 GPUs\"" 40 &&
	fails logged "JobId=$job (asked for ([3-9]|1[0-9]) |keeps its)"'

# A plan has place for 64 kinds, CPUs and memory among them.
for i in {21..66}; do
	submit_light "of$i" pollux,max=1 --gpus-per-node="t$i:1" -- \
		--live --ack=0.1
done >"$WORK/others"
held() {
	ctld_log | grep -oE 'and [0-9]+ jobs that need others keep what they have'
}
ok "with more types than a plan has place for, it is said that some jobs stay" \
	wait_until held 60
ok "... once" eval 'nap 5; held; [ "$(held | wc -l)" = 1 ]'
