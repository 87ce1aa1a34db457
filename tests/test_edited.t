# SPDX-License-Identifier: MIT
# test_edited.t - docs/faults.md: whoever breaks a script while it trains, under
# Slurm, loses nothing: the job cannot be resized, and says why
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/moods.sh" || exit 1

sandbox_up --nodes 1 --gpus-per-node 4 --params \
	pollux_interval=1,pollux_min_gap=0.2,pollux_ack_timeout=10,pollux_busy=25
plan 17

broken="the script is broken by an edit"

# write_script NAME: one that trains.
write_script() {
	printf '#!/bin/sh\nexec %s "$@"\n' "$moods" >"$WORK/$1.sh"
}

break_script() {
	printf '#!/bin/sh\necho "%s" >&2\nexit 3\n' "$broken" >"$WORK/$1.sh"
}

# submit_script NAME EPOCHS [OPTION...]: of the launcher.
submit_script() {
	local moods="sh $WORK/$1.sh"
	submit_moods "$@"
}

# keeps NAME [OPTION...]: it is to shrink, but its script was broken.
keeps() {
	local name=$1
	shift
	write_script "$name"
	job=$(submit_script "$name" "$epochs" "$@")
	grows "$job" "$name" && break_script "$name" || return 1
	rigid=$(submit_rigid --gpus-per-node=3 --priority=4294910000 -- 3600)
	wait_until "logged 'JobId=$job keeps its 2 GPUs: cannot be resized: new ranks fail: $broken'" 40 &&
		says "$name" "cannot be resized: new ranks fail: $broken"
}

trains_on() {
	has_gpus "$job" 2 && is_state "$job" RUNNING &&
		wait_until "says $1 'returning -> training'" 20 &&
		! says "$1" "ranks failed"
}

# Where its user looks: as soon as its record says so.
shown() {
	wait_until "sb pollux-top --once | grep 'cannot be resized: new ranks'" 20 &&
		wait_until "sb scontrol show job $job | grep 'fail: $broken'" 20
}

# It is asked again, and makes way.
mended() {
	write_script "$1"
	gets_its_gpus "$job"
}

undisturbed() {
	loses_no_step "$job" "$1" 1500 && ! says "$1" "ranks failed"
}

epochs=60
for name in cold warm; do
	option=
	[ $name = warm ] || option=--no-prewarm
	# shellcheck disable=SC2086
	ok "$name: a job whose script was broken keeps its GPUs" \
		keeps $name $option
	ok "$name: its ranks train on" trains_on $name
	ok "$name: pollux-top and its record say why" shown
	ok "$name: with the script mended who waits gets them" mended $name
	ok "$name: and no step was lost" undisturbed $name
	sb scancel "$rigid"
	wait_until cluster_is_idle 30
done

ok "one rank was tried before the others were to be stopped" says cold \
	"trying it on one rank before these are stopped"
ok "with a handover the next ranks themselves show it" \
	fails says warm "trying it on one rank"

# It left its shape for no other.
report_says() {
	wait_until "ended $job" 60 && wait_until "sb pollux-report --why \
		--log $SB/log/slurmctld.log |
		grep -E '2@n1 .*cannot be resized: new ranks fail: $broken'" 20
}

# Nobody mends it, and somebody waits.
not_for_ever() {
	wait_until "is_state $rigid RUNNING" 40 &&
		[ "$(grep -c "JobId=$job keeps its 2 GPUs: cannot" \
			"$SB/log/slurmctld.log")" -ge 2 ] &&
		logged "JobId=$job did not answer in 10 s"
}

epochs=40
ok "one whose script is never mended trains to its end" keeps unmended
ok "pollux-report says why it has kept its size" report_says
sb scancel "$rigid"
wait_until cluster_is_idle 30

epochs=4000
ok "another one keeps them" keeps never --no-prewarm
ok "but not for ever, as somebody waits" not_for_ever
sb scancel "$job" "$rigid"
ok "nothing is left" wait_until cluster_is_idle 60
