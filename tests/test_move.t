# SPDX-License-Identifier: MIT
# test_move.t - a whole job goes elsewhere, its batch script included
. "${POLLUX_SRCDIR}/tests/elastic.sh"

sandbox_up --nodes 3 --gpus-per-node 2 --params pollux_min_gap=0.2
plan 7

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
sb scontrol update NodeName="$first" State=DRAIN Reason=leave
ok "it leaves the node of its script when that is drained" \
	wait_until "runs_elsewhere $job $first" 30
ok "by a move of the whole job" logged \
	"JobId=$job has 2 GPUs on n[2-3], serial [0-9]* .moved in"
time_of_moves | diag
ok "it does not get more time than it had" \
	eval '[ "$(ends_at "$job")" -le $((before + 1)) ]'
ok "accounting shows it requeued, then running" \
	wait_until "requeued_then_running $job" 10
ok "its user gets no mail of a requeue" no_mail
ok "the node that it left is empty" \
	wait_until "sb scontrol show node $first | grep -q 'State=.*DRAINED\|CPUAlloc=0'" 20
