# SPDX-License-Identifier: MIT
# test_lost_midway.t - a node lost right before the end of a resize is accounted
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

rounds=5
sandbox_up "$untyped" --nodes 3 --gpus-per-node 2 \
	--params pollux_min_gap=0.2,pollux_interval=2,pollux_ack_timeout=60
plan $((rounds + 2))

# What its launcher would say if it had stopped its ranks.
answer_to() {
	sb scontrol show job "$job" |
		sed -nE "s/^ *Comment=.*(\[pollux [^]]*\]).*/\1/p" |
		sed -E "s/ack=[0-9]+/ack=$1/; s/phase=[a-z]+/phase=waiting/"
}

# Until S of the present second, or of the next one.
until_second() {
	sleep "$(date +%s.%N | awk -v at="$1" '{
		left = at - ($1 - int($1))
		print left < 0.05 ? left + 1 : left }')"
}

# It is to leave n3, which Slurm takes from it at the end of a second; then it
# answers, before the plugin has looked again, and in the next second, mostly.
lost_before_it_left() {
	local asked="JobId=$job asked for 4 GPUs on n\[1-2\], serial" before
	local rigid serial said
	before=$(times_logged "$asked")
	rigid=$(submit_rigid -N1 -w n3 --gpus-per-node=2 -- 600) &&
		wait_until "logged_more '$asked' $before" 30 || return
	serial=$(sed -nE "s/.*$asked ([0-9]+).*/\1/p" "$SB/log/slurmctld.log" |
		tail -n 1)
	said=$(answer_to "$serial")
	before=$(times_logged 'Removing failed node')
	until_second 0.96
	sb scontrol update nodename=n3 state=down reason=test &
	sleep 0.02
	sb scontrol update job="$job" comment="$said"
	wait $!
	wait_until "logged 'JobId=$job has 4 GPUs on .*serial $serial '" 30 &&
		logged_more 'Removing failed node' "$before" || return
	sb scancel "$rigid"
	# Newer releases may have it back by themselves.
	sb scontrol update nodename=n3 state=resume 2>/dev/null
	wait_until "has_gpus $job 6" 60
}

job=$(submit_light left pollux,max=6 -- --ack=5)
ok "an elastic job has the cluster" wait_until "has_gpus $job 6" 90
for ((round = 1; round <= rounds; round++)); do
	ok "in the middle of a resize, $round, a node is lost" lost_before_it_left
done
sb scancel "$job"
wait_until "ended $job" 30
ok "sacct and the log agree on what it had" wait_until accounts_agree 20
