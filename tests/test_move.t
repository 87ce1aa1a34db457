# SPDX-License-Identifier: MIT
# test_move.t - a whole job goes elsewhere, its batch script included
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

sandbox_up --nodes 3 --gpus-per-node 2 --params pollux_min_gap=0.2
checks=25
[ -z "${POLLUX_THOROUGH:-}" ] || checks=29
plan $checks

mkdir "$WORK/samples"
export POLLUX_SAMPLE_LOG=$WORK/samples
samples=10000
training="--samples=$samples --emulate-gpu=compute --epochs=1000000"

batch_host() {
	job_field "$1" BatchHost
}

runs_on() {
	is_state "$1" RUNNING && [ "$(batch_host "$1")" = "$2" ] && trains "$1"
}

runs_elsewhere() {
	is_state "$1" RUNNING && [ "$(batch_host "$1")" != "$2" ] && trains "$1"
}

ends_at() {
	date -d "$(job_field "$1" EndTime)" +%s
}

rows() {
	sb sacct -n -D -X -P -j "$1" -o state
}

requeued_then_running() {
	rows "$1"
	[ "$(rows "$1" | tail -n 2 | tr '\n' ' ')" = "REQUEUED RUNNING " ]
}

epochs_of() {
	grep -c '^epoch ' "$WORK/$1.out"
}

no_mail() {
	! logged 'email msg to .* Name=moved .*(Requeued|Failed)'
}

# drain NODES [REASON]
drain() {
	sb scontrol update NodeName="$1" State=DRAIN Reason="${2:-leave}"
}

# resume NODE...: drained or not.
resume() {
	local node
	for node; do
		sb scontrol update NodeName="$node" State=RESUME 2>/dev/null
	done
}

# What its record says of it, the line breaks of scontrol left out.
says() {
	sb scontrol show job "$1" | tr -d '\n' | grep -qE "why=$2"
}

evicted() {
	is_state "$1" PENDING && logged "JobId=$1 waits in the queue: $2"
}

counted() {
	grep -qE "^pollux_$1 $2\$" "$SB/log/pollux.prom"
}

no_sample_lost() {
	bash "$POLLUX_SRCDIR/tests/samples.sh" "$POLLUX_SAMPLE_LOG" \
		"$samples" "$(epochs_of "$1")" so-far
}

# Of the two jobs: which one runs, and which one waits?
sort_out() {
	runs=$1 waits=$2
	is_state "$1" RUNNING || runs=$2 waits=$1
	is_state "$runs" RUNNING && is_state "$waits" PENDING
}

told_once() {
	[ "$(ctld_log | grep -c "$1")" -eq 1 ]
}

time_of_moves() {
	ctld_log | grep -oE 'moved in [0-9.]+ s' |
		awk '{ sum += $3; if ($3 > most) most = $3 }
			END { printf "%d moves, %.2f s on average, %.2f s at most\n",
				NR, sum / NR, most }'
}

job=$(sb sbatch --parsable -J moved --time=60 --mail-type=ALL --mail-user=root \
	--scheduler-params=pollux,max=2 -o "$WORK/moved.out" --open-mode=append \
	--wrap "srun pollux-launch -v --checkpoint-dir $WORK/moved.ckpt pollux-train $training")
ok "a job trains" wait_until "has_gpus_or_more $job 2 && trains $job" 60
first=$(batch_host "$job")
before=$(ends_at "$job")
sleep 1
drain "$first"
ok "it leaves the node of its script when that is drained" \
	wait_until "runs_elsewhere $job $first" 30
ok "by a move of the whole job" logged \
	"JobId=$job has 2 GPUs on n[2-3], serial [0-9]* .moved in"
time_of_moves | diag
ok "in seconds, where a requeue of Slurm's takes two minutes" eval '
	[ "$(ctld_log | grep -oE "moved in [0-9]+" | sort -nk3 | tail -n 1 |
		cut -d" " -f3)" -lt $((5 * POLLUX_PATIENCE)) ]'
ok "it does not get more time than it had" \
	eval '[ "$(ends_at "$job")" -le $((before + 1)) ]'
ok "accounting shows it requeued, then running" \
	wait_until "requeued_then_running $job" 10
ok "its user gets no mail of a requeue" no_mail
ok "the node that it left is empty" \
	wait_until "sb scontrol show node $first | grep -q 'State=.*DRAINED\|CPUAlloc=0'" 20

# ---- nowhere to go: it is saved and waits

resume "$first"
drain_all() {
	drain n1,n2,n3
	wait_until "evicted $job 'leaves n[123], which is drained: no other'" 60
}
ok "a job that finds no other place is put into the queue" drain_all
ok "its record says why" says "$job" "leaves n[123], which is drained"
began=$(epochs_of moved)
resume "$first"
ok "it goes on when there is a place again" wait_until \
	"is_state $job RUNNING && trains $job && [ \$(epochs_of moved) -gt $began ]" 60
sb scancel "$job"
wait_until "ended $job" 30
ok "with nothing lost: each sample was used once in each epoch" \
	no_sample_lost moved
ok "both are counted" wait_until \
	"counted moved_total 1 && counted evicted_total 1" 20

# ---- whole nodes for a job of higher priority

drain n3 until=soon
ok "a deadline that is no time is told" \
	wait_until "logged 'node n3 is drained.*until=soon is not a time'" 20
resume n1 n2
one=$(submit_light one pollux,max=2 --priority=1000 --)
wait_until "has_gpus $one 2" 60
two=$(submit_light two pollux,max=2 --priority=1000 --)
ok "two elastic jobs live on two nodes" wait_until "has_gpus $two 2" 60
resume n3
filler=$(submit_rigid -N1 -w n3 --gpus-per-node=1 --priority=2000 -- 600)
wait_until "is_state $filler RUNNING" 30
low=$(submit_rigid -N2 --exclusive --priority=10 -- 600)
whole=$(submit_rigid -N2 --exclusive --gpus-per-node=2 --priority=100000 -- 600)
ok "a job of higher priority gets both nodes for itself" \
	wait_until "is_state $whole RUNNING" 60
ok "one of lower priority does not" is_state "$low" PENDING
sb scancel "$low"
ok "one of the two goes on where there is a GPU left" \
	wait_until "sort_out $one $two && [ \$(batch_host \$runs) = n3 ]" 30
sort_out "$one" "$two"
ok "the other waits, and says for whom" \
	says "$waits" "leaves n[12] to job $whole: no other place"
sb scancel "$whole"
ok "it is started again, and grows" wait_until "has_gpus $waits 2" 60
ok "a deadline that is none was told once" told_once 'until=soon is not a time'
sb scancel "$runs" "$filler"

# ---- a deadline

moved_to() {
	local host
	host=$(batch_host "$1")
	[ -n "$host" ] && [ "$host" != "$2" ] && is_state "$1" RUNNING
}

home=$(batch_host "$waits")
until=$(($(date +%s) + 130))
drain "$home" "spot until=$(date -d "@$until" +%Y-%m-%dT%H:%M:%S)"
ok "it leaves its node before the deadline" \
	wait_until "moved_to $waits $home" 60
at=$(date -d "$(job_field "$waits" StartTime)" +%s)
ok "but not before two minutes of it" [ "$at" -ge $((until - 121)) ]
ok "and long before its end" [ "$at" -lt "$until" ]
sb scancel "$waits"
resume "$home"

# ---- cancelled on its way

# A job that has left its node, and is not anywhere.
is_on_its_way() {
	is_state "$1" PENDING && ! sb scontrol show job "$1" | grep -q COMPLETING
}

rows_are_whole() {
	sb sacct -n -D -X -P -j "$1" -o state,alloctres |
		grep -q '^REQUEUED|.*gres/gpu=2'
}

cancelled_on_its_way() {
	local job home
	job=$(submit_elastic left pollux,max=2 "$training")
	wait_until "has_gpus $job 2 && trains $job" 60 || return 1
	home=$(batch_host "$job")
	drain "$home"
	wait_until "is_on_its_way $job" 30
	sleep 0.3 # it is looked at by then, and starts after a second
	sb scancel "$job"
	resume "$home"
	wait_until "ended $job" 30 && wait_until "rows_are_whole $job" 20 || {
		rows "$job"
		return 1
	}
}
ok "a job cancelled on its way keeps what it had in accounting" \
	cancelled_on_its_way

[ -n "${POLLUX_THOROUGH:-}" ] || exit 0

# ---- a parked job holds its home no less

wait_until "ended $one $two" 30
job=$(submit_elastic parked pollux,max=2 "$training")
sb scontrol update JobId="$job" Priority=1000
wait_until "has_gpus $job 2 && trains $job" 60
blockers=
home=$(batch_host "$job")
# At home last: it is to have no other place to go.
for node in $(echo n1 n2 n3 | sed "s/$home//") $home; do
	blockers+=" $(submit_rigid -w $node --gpus-per-node=2 \
		--priority=100000 -- 600)"
	[ "$node" = "$home" ] ||
		wait_until "is_state ${blockers##* } RUNNING" 30
done
parked() {
	is_state "$1" RUNNING && has_gpus "$1" 0
}
ok "a job is parked at home" wait_until "parked $job" 60
home=$(batch_host "$job")
whole=$(submit_rigid -w "$home" --exclusive --priority=200000 -- 5)
for blocker in $blockers; do
	[ "$(batch_host "$blocker")" != "$home" ] || sb scancel "$blocker"
done
ok "it leaves that, too, to a job of higher priority" wait_until \
	"evicted $job 'leaves $home to job $whole: no other'" 60
ok "which runs" wait_until "is_state $whole COMPLETED" 60
# shellcheck disable=SC2086 # words
sb scancel $blockers
ok "and then trains on" wait_until \
	"is_state $job RUNNING && trains $job && has_gpus $job 2" 60
sb scancel "$job"
wait_until "ended $job" 30
