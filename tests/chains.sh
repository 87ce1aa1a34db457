# SPDX-License-Identifier: MIT
# chains.sh - one job shrinks so that another one grows, and something fails
#
# Part of test_shapes.t, for POLLUX_THOROUGH=1. After each fault no GPU has
# two owners or none, nobody is lost, and a step that failed left no trace.

pollux-sandbox down --dir "$SB" >/dev/null 2>&1
cat >"$WORK/prolog" <<END
#!/bin/sh
[ ! -e "$WORK/fail.\$SLURMD_NODENAME" ]
END
chmod +x "$WORK/prolog"
rm -rf "$SB"
sandbox_up --nodes 3 --gpus-per-node 3 \
	--conf-extra SelectTypeParameters=CR_Core_Memory \
	--conf-extra DefMemPerCPU=100 --conf-extra PrologFlags=Alloc \
	--conf-extra "Prolog=$WORK/prolog" \
	--params "pollux_min_gap=0.2,pollux_uniform=no,pollux_interference=no,pollux_ack_timeout=3"

watch_start
give=
grow=
asked_before=0

# The giver has all nine GPUs, on however many nodes.
giver_has_all() {
	has_gpus "$give" 9 && ! is_moving "$give"
}

chain_begins() {
	wait_until 'logged_more "JobId=$give asked for" $asked_before' 30
}

# begin NAME [ACK [-H]]: it answers late, there is time for a fault in the
# middle.
begin() {
	give=$(submit_light "give$1" pollux,max=9 --cpus-per-task=2 \
		--mem-per-cpu=100 -- --ack="${2:-2}" --profiled=9)
	wait_until giver_has_all 60 || return 1
	asked_before=$(times_logged "JobId=$give asked for")
	grow=$(submit_light "grow$1" pollux,max=9 --cpus-per-task=2 \
		--mem-per-cpu=100 ${3:+"$3"} -- --live=0.2 --profiled=9)
	[ -n "${3:-}" ] || chain_begins
}

quiet() {
	local job
	for job; do
		is_state "$job" RUNNING && has_gpus_or_more "$job" 1 &&
			! is_moving "$job" || return 1
	done
}

# Both live, neither is being resized, both have GPUs, all nine are used, and
# each has the CPUs and the memory of what it has.
settled() {
	quiet "$give" "$grow" && shares_are_right "$give" &&
		shares_are_right "$grow" && all_used
}

all_used() {
	[ $(($(gpus_of "$give") + $(gpus_of "$grow"))) -eq "${1:-9}" ]
}

finish() {
	checked || return 1
	sb scancel "$give" "$grow"
	wait_until cluster_is_idle 40
}

plain_chain() {
	begin plain && wait_until settled 60 && shares_of "$give" &&
		shares_of "$grow" && finish
}

# It is overruled when its time is up; later it goes on.
silent_launcher() {
	local pid
	begin silent never || return 1
	pid=$(pids_of "$give" light)
	# shellcheck disable=SC2086
	signal STOP $pid || return 1
	wait_until "logged 'JobId=$give did not answer'" 30 &&
		wait_until "is_state $grow RUNNING && has_gpus_or_more $grow 1" 60
	kill -CONT $pid
	wait_until "quiet $give $grow" 60 && shares_are_right "$give" &&
		shares_are_right "$grow" && finish
}

# The grower gains nodes, and on those the prolog fails: it keeps what it had.
failing_prolog() {
	local home before
	begin prolog 3 || return 1
	wait_until "is_state $grow RUNNING" 60 || return 1
	home=$(job_field "$grow" BatchHost)
	for node in n1 n2 n3; do
		[ "$node" = "$home" ] || touch "$WORK/fail.$node"
	done
	wait_until "logged 'JobId=$grow keeps its [0-9]* GPUs: the prolog failed'" \
		60
	before=$?
	rm -f "$WORK"/fail.*
	sb sinfo -h -o '%n %T'
	[ "$before" = 0 ] && wait_until "quiet $give $grow" 60 &&
		shares_are_right "$give" && shares_are_right "$grow" &&
		checked || return 1
	for node in n1 n2 n3; do
		sb scontrol update NodeName=$node State=RESUME
	done
	wait_until settled 120 && finish
}

cancelled_grower() {
	begin cancelled && sb scancel "$grow" || return 1
	wait_until giver_has_all 90 && shares_are_right "$give" && finish
}

# A rigid job of higher priority takes what the grower was to have.
rigid_between() {
	local rigid
	begin between || return 1
	rigid=$(submit_rigid -N2 --gpus-per-node=2 --priority=4294910000 -- 600)
	wait_until "is_state $rigid RUNNING" 60 &&
		wait_until 'quiet $give $grow && all_used 5' 90 &&
		shares_are_right "$give" && shares_are_right "$grow" &&
		checked && sb scancel "$rigid" || return 1
	wait_until settled 90 && finish
}

# The grower is held until Slurm has saved that it is there: one submitted a
# moment before would not be known any more. That it was released may be lost.
killed_controller() {
	begin killed 2 -H || return 1
	wait_until 'grep -qa growkilled "$SB/state/job_state"' 30 &&
		sb scontrol release "$grow" && chain_begins || return 1
	kill_slurmctld
	restart_slurmctld &&
		wait_until 'sb scontrol release $grow; settled' 90 && finish
}

# A training has to leave two of its three GPUs, and loses a rank when asked.
dying_rank() {
	local home
	give=$(submit_elastic dying pollux,min=3,max=3 --samples=10000 \
		--batch=256 --max-batch=256 --emulate-gpu=compute \
		--epochs=1000000)
	wait_until "has_gpus $give 3 && trains $give" 90 || return 1
	home=$(job_field "$give" BatchHost)
	asked_before=$(times_logged "JobId=$give asked for")
	grow=$(submit_rigid -w "$home" --gpus-per-node=2 -- 600)
	# shellcheck disable=SC2046
	chain_begins && signal KILL $(rank_of "$give" 0) || return 1
	wait_until 'is_state $grow RUNNING && quiet $give &&
		has_gpus $give 3 && trains $give' 120 && finish
}

ok "a chain: one shrinks, the other one grows" plain_chain
ok "the launcher of the one that shrinks is silent" silent_launcher
ok "the prolog fails on the nodes gained" failing_prolog
ok "the one that grows is cancelled in between" cancelled_grower
ok "a rigid job takes the GPUs in between" rigid_between
ok "slurmctld is killed in between" killed_controller
ok "a rank dies in between" dying_rank
ok "no GPU had two owners in all that" watch_end
