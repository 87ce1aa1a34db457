# SPDX-License-Identifier: MIT
# test_vain.t - who is asked for what cannot be had: once, and who loses nothing
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

sandbox_up --nodes 2 --gpus-per-node 4 \
	--params "pollux_min_gap=0.2,pollux_interval=2"
plan 8

asked() {
	ctld_log | grep -cE "JobId=$job asked for $1 GPUs "
}

kept() {
	ctld_log | grep -cE "JobId=$job keeps its 4 GPUs: limits of partition main forbid it"
}

# It has four GPUs, resized already, and may not have the other four, though
# they are free: its time is more than its partition allows now.
close() {
	beside=$(submit_rigid -N1 --gpus-per-node=4 --priority=4294910000 -- 600)
	wait_until "is_state $beside RUNNING && has_gpus $job 4" 30 || return 1
	asked_before=$(asked 8)
	sb scontrol update PartitionName=main MaxTime=30
	sb scancel "$beside"
	wait_until "[ \$(kept) -ge 2 ]" 60
}

open() {
	sb scontrol update PartitionName=main MaxTime=UNLIMITED
	wait_until "has_gpus $job 8" 60
}

job=$(submit_light live pollux,max=8 -- --live --ack=0.2)
ok "a job that trains on meanwhile has all GPUs" wait_until "has_gpus $job 8" 30
ok "it cannot have them again" close
ok "it was asked for them, and refused; then it is tried before" \
	[ "$(asked 8)" -eq $((asked_before + 1)) ]
ok "it is asked again when it can have them" open
sb scancel "$job"
wait_until "ended $job" 20

job=$(submit_light cold pollux,max=8 -- --ack=0.2)
ok "a job that stops meanwhile has all GPUs" wait_until "has_gpus $job 8" 30
ok "it cannot have them, either" close
ok "and is not asked, as it would stop in vain" \
	[ "$(asked 8)" -eq "$asked_before" ]
ok "it is asked when it can have them" open
