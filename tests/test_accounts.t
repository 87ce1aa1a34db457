# SPDX-License-Identifier: MIT
# test_accounts.t - sacct shows each shape of a job once, whatever happens
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

sandbox_up "$untyped" --nodes 3 --gpus-per-node 1 \
	--params pollux_min_gap=0.2,pollux_interval=2
plan 36

# Rows of a job, oldest first: id state start end GPUs nodes.
rows_of() {
	sb env SLURM_TIME_FORMAT=%s sacct -D -X -n -P -j "$1" -S now-1days \
		-o jobidraw,state,start,end,alloctres,nodelist |
		awk -F'|' '{
			gpus = match($5, /gres\/gpu=[0-9]+/) ? \
				substr($5, RSTART + 9, RLENGTH - 9) : 0
			split($2, state, " ")
			print $1, state[1], $3, $4, gpus, $6
		}' | sort -k3n -k4n
}

# rows_are JOB STATE...: its rows have these states, "RESIZING*" for any
# number of shapes; each begins where the last one ended, but after a requeue.
rows_are() {
	local job=$1 want
	shift
	want=$(printf '%s ' "$@" | sed 's/RESIZING\* /(RESIZING )*/g')
	rows_of "$job" | tee "$WORK/rows.txt"
	cut -d' ' -f2 "$WORK/rows.txt" | tr '\n' ' ' | grep -qxE "$want" &&
		awk 'NR > 1 && $3 < end { print "overlap at", $3; bad = 1 }
			NR > 1 && last == "RESIZING" && $3 != end {
				print "gap at", end; bad = 1 }
			$4 !~ /^[0-9]+$/ && $2 != "RUNNING" {
				print "open row from", $3; bad = 1 }
			$4 ~ /^[0-9]+$/ && $4 <= $3 && $2 == "RESIZING" {
				print "empty row at", $3; bad = 1 }
			{ end = $4; last = $2 }
			END { exit bad }' "$WORK/rows.txt"
}

updated=
# The sum of its rows is that of the shapes in the log, within 0.1 %. A job that
# was requeued has forgotten its end: the log has when it was submitted anew,
# which may be the next second; and a run that is over before the plugin has
# looked is not in the log.
seconds_agree() {
	local job slack
	for job; do
		slack=$(times_logged "Requeuing JobId=$job\$")
		# A row that is told again after an update may be a second short.
		case "$updated " in
		*" $job "*) slack=$((slack + 1)) ;;
		esac
		rows_of "$job" | awk '{ sum += ($4 - $3) * $5 }
			END { print sum }' >"$WORK/sacct.sum"
		grep -oE "JobId=$job held .*: [0-9]+ GPU-s" \
			"$SB/log/slurmctld.log" |
			sed 's/.*: \([0-9]*\) .*/\1/' >"$WORK/log.held"
		awk '{ sum += $1 } END { print sum }' "$WORK/log.held" \
			>"$WORK/log.sum"
		echo "job $job: sacct $(cat "$WORK/sacct.sum")," \
			"log $(cat "$WORK/log.sum")"
		# Slurm may tell of its end once more without the GPUs that it
		# had then (docs/check.md, slurm-tres).
		[ "$(rows_of "$job" | awk 'END { print $5 }')" != 0 ] ||
			slack=$((slack + $(tail -n 1 "$WORK/log.held")))
		paste "$WORK/sacct.sum" "$WORK/log.sum" |
			awk -v slack="$slack" '{
				d = $2 - $1
				exit !($2 > 0 && d <= 1e-3 * $2 + slack &&
					-d <= 1e-3 * $2 + slack)
			}' || return 1
	done
}

# grow NAME: a job that was resized once, and whose row then has a number.
grow() {
	job=$(submit_light "$1" pollux,max=2 --requeue -- --ack=0.1) &&
		wait_until "has_gpus $job 2" 30 &&
		wait_until "rows_are $job RESIZING RUNNING" 20
}

# From two GPUs to one, by a job that takes two nodes.
shrink() {
	local shrunk="JobId=$job has 1 GPUs" before
	before=$(times_logged "$shrunk")
	rigid=$(submit_rigid -N2 --gpus-per-node=1 --priority=4294910000 \
		-- 600) && wait_until "logged_more '$shrunk' $before" 30
}

stop_slurmdbd() {
	kill "$(cat "$SB/run/slurmdbd.pid")"
	wait_until "! sb sacctmgr -n show cluster" 20
}

start_slurmdbd() {
	pollux-sandbox restart --dir "$SB" slurmdbd
}

# The node of its batch script is lost, a second after a resize at least: one
# that ends in its first second leaves no row. Slurm starts it anew.
lose_home() {
	local restarts
	sleep 1.1
	home=$(job_field "$job" BatchHost)
	restarts=$(job_field "$job" Restarts)
	sb scontrol update "nodename=$home" state=down reason=test &&
		wait_until "[ \"\$(job_field $job Restarts)\" -gt $restarts ]" 20 &&
		wait_until "logged 'JobId=$job was requeued and will'" 20
}

mend_home() {
	sb scontrol update "nodename=$home" state=resume
}

# Newer releases number rows in slurmctld, and Slurm's own rows are left alone:
# one that is updated begins with its job then, as when scontrol resizes it.
numbers_rows() {
	! sb scontrol -V | grep -q ' 22[.]05'
}

# ok_if_told SENTENCE COMMAND...: where rows are told again (sched/pollux/acct).
ok_if_told() {
	if numbers_rows; then
		skip "$1" "this slurmctld numbers rows itself"
	else
		ok "$@"
	fi
}

ok "a job grows, and its row has a number" grow cancelled
ok "it shrinks" shrink
sb scancel "$job"
ok "cancelled at once, it has each shape once" \
	wait_until "rows_are $job RESIZING RESIZING CANCELLED" 20
all=$job
sb scancel "$rigid"

# Slurm then tells of the row as if it had begun when the job did.
update() {
	updated="$updated $job"
	sb scontrol hold "$job" && sb scontrol release "$job" &&
		sb scontrol update "job=$job" TimeLimit=50 Priority=77
}

ok "a resized job is held, released and updated" eval 'grow updated && update'
ok_if_told "its row begins when it did" \
	wait_until "rows_are $job RESIZING RUNNING" 30
ok "updated right after a resize, it ends" eval \
	'shrink && update && sb scancel "$job"'
ok_if_told "each of its rows is its own" \
	wait_until "rows_are $job RESIZING RESIZING CANCELLED" 30
numbers_rows || all="$all $job"
sb scancel "$rigid"

# Slurm takes a lost node from it before the plugin has seen the update.
lose_other() {
	sleep 1.1
	home=$(job_field "$job" BatchHost)
	other=$(sb scontrol show hostnames "$(job_field "$job" NodeList)" |
		grep -vx "$home")
	update && sb scontrol update "nodename=$other" state=down reason=test
}

ok "a job is updated, and loses a node" eval 'grow torn && lose_other'
ok_if_told "each of its rows is its own as well" wait_until \
	"rows_are $job RESIZING RESIZING 'RESIZING*' RUNNING" 30
sb scontrol update "nodename=$other" state=resume 2>/dev/null
sb scancel "$job"
numbers_rows || all="$all $job"

# Of a running job that is held, Slurm forgets since when it was eligible; and
# sacct leaves out what never was.
hold_first() {
	rigid=$(submit_rigid -N2 --gpus-per-node=1 -- 600) &&
		wait_until "is_state $rigid RUNNING" 30 || return 1
	job=$(submit_light held pollux,max=2 -- --ack=0.1) &&
		wait_until "has_gpus $job 1" 30 &&
		wait_until "rows_are $job RUNNING" 30 &&
		sb scontrol hold "$job" && sb scontrol release "$job"
}

ok "a job is held and released before it is resized" hold_first
sb scancel "$rigid"
ok "its first row is there when it is" wait_until \
	"has_gpus $job 2 && rows_are $job RESIZING RUNNING" 60
all="$all $job"
updated="$updated $job"
sb scancel "$job"

# Slurm asks every five seconds for numbers of jobs that have none, and waits for
# ten. The answer for the first row comes when the job has another.
loses_one_unnumbered() {
	local slurmdbd
	slurmdbd=$(cat "$SB/run/slurmdbd.pid")
	kill -STOP "$slurmdbd"
	job=$(submit_light unnumbered pollux,max=2 -N2 --gpus-per-node=1 \
		--ntasks-per-node=1 -- --ack=0.1) &&
		wait_until "is_state $job RUNNING" 30 && sleep 6 &&
		home=$(job_field "$job" BatchHost) &&
		other=$(sb scontrol show hostnames "$(job_field "$job" NodeList)" |
			grep -vx "$home") ||
		return
	{ sleep 1; kill -CONT "$slurmdbd"; } &
	sb scontrol update "nodename=$other" state=down reason=test
	wait $!
	kill -CONT "$slurmdbd"
	[ "$(sb scontrol show hostnames "$other" | wc -l)" = 1 ]
}

if numbers_rows; then
	skip "a job loses a node while Slurm asks for its row's number" "as above"
	skip "each row has its own end" "as above"
else
	ok "a job loses a node while Slurm asks for its row's number" eval \
		'loses_one_unnumbered && wait_until \
		"logged \"JobId=$job had the number of another\"" 20'
	sleep 2
	sb scancel "$job"
	ok "each row has its own end" wait_until "rows_are $job RESIZING \
		'RESIZING*' CANCELLED && seconds_agree $job" 30
	all="$all $job"
	sb scontrol update "nodename=$other" state=resume
fi

tries_lost_home() {
	ok "the batch host is lost right after a resize" eval \
		'grow lost && shrink && lose_home'
	sb scancel "$rigid"
	mend_home
	# One that is cancelled while it waits has a row from 0.
	begin_now "$job"
	wait_until "is_state $job RUNNING" 60
	sb scancel "$job"
	# Newer releases let it go on upon its other node for a moment.
	without=
	! numbers_rows || without="'RESIZING*'"
	ok "the shapes before are as they were" wait_until \
		"rows_are $job RESIZING RESIZING $without '(NODE_FAIL|REQUEUED)' \
		'RESIZING*' CANCELLED" 30
	all="$all $job"
}

# In the second in which its last row began, mostly: the next run would have the
# key of that row.
loses_home_at_once() {
	local tries=0
	job=$(submit_light once pollux,max=2 --requeue -- --ack=0.1) &&
		wait_until "is_state $job RUNNING" 30 || return
	home=$(job_field "$job" BatchHost)
	until logged "JobId=$job has 2 GPUs" || [ $((++tries)) = 2000 ]; do
		sleep 0.01
	done
	sb scontrol update "nodename=$home" state=down reason=test &&
		wait_until "logged 'JobId=$job was requeued and will'" 20 || return
	mend_home
	sleep 2
	begin_now "$job"
	wait_until "is_state $job RUNNING" 60 && sleep 1.1
	sb scancel "$job"
	wait_until "rows_are $job RESIZING '(NODE_FAIL|REQUEUED)' 'RESIZING*' \
		CANCELLED && seconds_agree $job" 30 && all="$all $job"
}

lose_home_thrice() {
	local i
	for i in 1 2 3; do
		loses_home_at_once || return
	done
}
if slurm_since 25.11; then
	skip "the batch host is lost right after a resize" \
		"this Slurm has a node back at once that only it calls down"
	skip "one that is lost in the same second has its row as well" "as well"
	skip "the shapes before are as they were" "as the job goes on there"
else
	tries_lost_home
	ok "one that is lost in the same second has its row as well" lose_home_thrice
fi

ok "slurmdbd goes away" eval 'grow away && stop_slurmdbd'
ok "a resize does not wait for it" shrink
sb scancel "$rigid"
ok_if_told "the batch host is lost before its row has a number" lose_home
numbers_rows || mend_home
ok "slurmdbd comes back" start_slurmdbd
ok_if_told "the first shape is told again" wait_until \
	"logged 'JobId=$job was requeued before its row had a number: its'" 30
begin_now "$job"
wait_until "is_state $job RUNNING" 60
sb scancel "$job"
ok_if_told "all its shapes are there, once" wait_until \
	"rows_are $job RESIZING RESIZING '(NODE_FAIL|REQUEUED)' \
	'RESIZING*' CANCELLED" 30
all="$all $job"

# Rows without a number, slurmdbd away: slurmctld ends, then it is killed.
ok "slurmctld is restarted after a resize, with slurmdbd away" eval \
	'grow killed && stop_slurmdbd && shrink && restart_slurmctld'
ok "it is killed, and slurmdbd comes back" eval \
	'kill_slurmctld && restart_slurmctld && start_slurmdbd'
sb scancel "$rigid"
ok "the job is resized again" wait_until "has_gpus $job 2" 60
kill_slurmctld
restart_slurmctld
ok "slurmctld was killed at once, but has the job" \
	wait_until "rows_are $job RESIZING RESIZING 'RESIZING*' RUNNING" 60
sb scancel "$job"
ok_if_told "none of its rows overlap" wait_until \
	"rows_are $job RESIZING RESIZING 'RESIZING*' CANCELLED" 60

saved() {
	stat -c %Y "$SB/state/job_state"
}

# Right after Slurm has saved that it waits: it saves again 5 s later.
dies_early() {
	local before
	job=$(submit_light early pollux,max=1 --hold --requeue --)
	wait_until "rows_of $job | grep PENDING" 30 || return 1
	before=$(saved)
	sb scontrol update "job=$job" comment=saved
	wait_until "[ \$(saved) -gt $before ]" 20
	sb scontrol release "$job"
	wait_until "rows_are $job RUNNING" 20
	kill_slurmctld
	restart_slurmctld
}

# Its start was lost, or on a slow machine it was not.
started_or_not() {
	is_state "$job" RUNNING && return
	wait_until "logged 'JobId=$job: slurmctld lost its start'" 30
	sb scancel "$job"
	wait_until "rows_of $job | grep CANCELLED" 20
	rows_of "$job" | tee "$WORK/rows.txt"
	awk '$3 ~ /^[0-9]+$/ && $3 > 0 { bad = 1 } END { exit bad }' \
		"$WORK/rows.txt"
}

ok "slurmctld is killed right after a job started" dies_early
ok_if_told "what it had not saved never was, for accounting as well" \
	started_or_not
sb scancel "$job"

# Sooner than the plugin looks again, and the next slurmctld does not know what
# an ended job held.
ends_with_slurmctld() {
	local i
	for i in 1 2 3; do
		grow "last$i" || return 1
		sleep 1.1
		sb scancel "$job"
		kill -TERM "$(slurmctld_pid)"
		restart_slurmctld
		wait_until "ended $job" 30 || return 1
		logged "JobId=$job held 2 GPUs" || return 1
		all="$all $job"
	done
}

ok "a job that ends as slurmctld does has its last shape in the log" \
	ends_with_slurmctld

# It waits for its threads then, one of which waits for what a client says.
ends_with_a_killed_slurmctld() {
	local port
	port=$(pollux-sandbox status --dir "$SB" --json | jq .ports.slurmctld)
	grow "lastly" && sleep 1.1 && exec 7<>"/dev/tcp/127.0.0.1/$port" ||
		return
	sleep 0.5
	sb scancel "$job"
	kill -TERM "$(slurmctld_pid)"
	sleep 1
	kill_slurmctld
	exec 7>&-
	logged "JobId=$job held 2 GPUs" && restart_slurmctld
}
ok "also if slurmctld has to be killed then" ends_with_a_killed_slurmctld

# Slurm tells of its end at once, and has it wait when its node has done with it.
# slurmd hangs meanwhile, and slurmdbd was told of nothing when slurmctld died.
is_put_back_untold() {
	local slurmd
	grow "untold" && sleep 1.1 && stop_slurmdbd || return
	slurmd=$(cat "$SB/run/$(job_field "$job" BatchHost).pid")
	kill -STOP "$slurmd"
	sb scontrol requeue "$job"
	put_back=$(date +%s)
	sleep 8
	kill_slurmctld
	restart_slurmctld
	start_slurmdbd
	sleep 3
	kill -CONT "$slurmd"
	wait_until "logged 'Requeuing JobId=$job\$'" 60
}

ends_when_it_was_put_back() {
	rows_of "$job" | tee "$WORK/rows.txt"
	awk -v end="$put_back" '$3 > 0 && $3 < end { last = $4 }
		END { exit !(last ~ /^[0-9]+$/ && last - end <= 1) }' \
		"$WORK/rows.txt"
}

ok "a job is put back while slurmdbd is away, and slurmctld killed" \
	is_put_back_untold
ok_if_told "its last row ends when it was put back" \
	wait_until ends_when_it_was_put_back 30
sb scancel "$job"

# Slurm counts anew what jobs have, once slurmdbd takes a message, and tells all
# their ends again when it is started anew: of those that have ended it would
# tell that they had no GPU.
finds_slurmdbd_again() {
	stop_slurmdbd && restart_slurmctld && start_slurmdbd || return 1
	sb scancel "$(submit_rigid --gpus-per-node=1 -- 1)"
	wait_until "! job_field $job TRES | grep gpu" 60
}

# Its queue for slurmdbd is empty then.
tells_all_ends() {
	restart_slurmctld
	wait_until "sb sdiag | grep -qE 'DBD Agent queue size: 0'" 30
	sleep 2
	rows_are "$job" RESIZING CANCELLED
	rows_of "$job" | awk 'END { exit $5 != 2 }'
}

ok_if_told "slurmdbd comes back after slurmctld, and a job had ended" eval \
	'grow ended && sleep 1.1 && sb scancel "$job" &&
	wait_until "rows_are $job RESIZING CANCELLED" 20 && finds_slurmdbd_again'
ok_if_told "started anew, slurmctld does not tell that it had no GPUs" \
	tells_all_ends
numbers_rows || all="$all $job"

# shellcheck disable=SC2086
ok "sacct's GPU-seconds of the others are those in the log" \
	eval 'wait_until "seconds_agree $all" 10 || { seconds_agree $all; false; }'
