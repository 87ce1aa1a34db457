# SPDX-License-Identifier: MIT
# test_sizes.t - sizes= and step=: the numbers of GPUs that a job runs on
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/shapes.sh" || exit 1

sandbox_up --nodes 2 --gpus-per-node 4 \
	--conf-extra AccountingStorageEnforce=associations,limits,qos \
	--params "pollux_min_gap=0.2"
plan 24
watch_start
sb sacctmgr -i add qos six >"$WORK/sacctmgr.txt"
sb sacctmgr -i modify qos six set MaxTRESPerUser=gres/gpu=6 \
	>>"$WORK/sacctmgr.txt"
sb sacctmgr -i modify user root set qos+=six >>"$WORK/sacctmgr.txt"

# starts_as NODES TASKS PARAMS: the request of a job that waits.
starts_as() {
	local job got
	job=$(sb sbatch --parsable --hold -o /dev/null \
		--scheduler-params="pollux,$3" --wrap true) || return 1
	got="$(sb squeue -h -j "$job" -o '%D %C')"
	sb scancel "$job"
	echo "$got"
	[ "$got" = "$1 $2" ]
}

told() {
	sb scontrol show job "$1" | grep -q "why=.*$2"
}

# It never had another number of GPUs than one of these.
only_had() {
	grep -oE "JobId=$1 (has|hands over on) [0-9]+ GPU" \
		"$SB/log/slurmctld.log" | grep -oE '[0-9]+ GPU' |
		sort -u | tee "$WORK/had.txt"
	[ -s "$WORK/had.txt" ] && ! grep -vE "^($2) GPU" "$WORK/had.txt"
}

ok "numbers that do not rise are refused" \
	refused "sizes=8,4: want rising numbers" sizes=8,4
ok "so is a limit that is none of the sizes" \
	refused "max=3: is none of sizes=1,2,4" sizes=1,2,4,max=3
ok "or no multiple of the step" \
	refused "min=4: is no multiple of step=8" step=8,min=4
ok "so are sizes that no even shape has" \
	refused "the job cannot start with sizes=5,7 GPUs" sizes=5,7
ok "and a number of GPUs that is none of them" \
	refused "the job cannot start with sizes=2,4 GPUs" sizes=2,4 --gpus=3
ok "a job starts on the smallest" starts_as 1 3 sizes=3,6
ok "on several nodes where one is too small" starts_as 2 6 sizes=6,8
ok "on the smallest that is even" starts_as 2 8 sizes=5,8
ok "a step is the least" starts_as 1 2 step=2

# Seven GPUs are free: it has four of them, and says what it lacks.
one=$(submit_rigid -w n2 --gpus-per-node=1 -- 600)
wait_until "is_state $one RUNNING" 20
job=$(submit_light powers pollux,sizes=1,2,4,8 -- --live=0.2 --profiled=8)
ok "a job has the largest of its sizes that there is" \
	wait_until "has_gpus $job 4" 30
ok "its record says that the next one is not free" \
	wait_until "told $job 'its next size is 8, and 3 more are free'" 20
ok "so does pollux-top" \
	wait_until 'sb pollux-top --once | grep "its next size"' 10
sb scancel "$one"
ok "it grows by a whole size" wait_until "has_gpus $job 8" 30
one=$(submit_rigid --gpus-per-node=1 -- 600)
ok "a rigid job that needs one GPU makes it give up four" \
	wait_until "is_state $one RUNNING && has_gpus $job 4" 30
ok "which slurmctld's log explains" \
	grep -q "JobId=$job asked for 4 GPUs.*its next size below" \
	"$SB/log/slurmctld.log"
beside=$(submit_light beside pollux,step=2,max=8 -- --live=0.2 --profiled=8)
ok "a job with a step takes a multiple of it of the rest" \
	wait_until "has_gpus $beside 2 && has_gpus $job 4" 30
sb scancel "$one" "$beside"
wait_until "has_gpus $job 8" 30
ok "no other number was ever asked for" only_had "$job" '1|2|4|8'
sb scancel "$job"
wait_until cluster_is_idle 30

# To have measured one GPU allows two; the next of its sizes is four.
gap=$(submit_light gap pollux,sizes=1,4 -- --live=0.2 --profiled=1)
ok "a gap wider than twice what was measured is crossed" \
	wait_until "has_gpus $gap 4" 30
sb scancel "$gap"
wait_until cluster_is_idle 30

# A limit of six that two jobs share: what one cannot use is the other's.
a=$(submit_light a pollux,sizes=1,2,4,8 --qos=six -- --profiled=8)
b=$(submit_light b pollux,max=8 --qos=six -- --profiled=8)
ok "a limit is shared in sizes, and used up" \
	wait_until '[ $(($(gpus_of "$a") + $(gpus_of "$b"))) = 6 ] &&
		! is_moving "$a" && ! is_moving "$b"' 40
sb scancel "$b"
ok "alone under it, a job says which of its sizes is below" \
	wait_until "told $a 'limit of 6 GPUs .*of its sizes 4 is the largest'" 30
sb scancel "$a"
wait_until cluster_is_idle 30

# Free are three on each node; evenly, in one of its sizes, that is four.
one=$(submit_rigid -N2 --gpus-per-node=1 -- 600)
wait_until "is_state $one RUNNING" 20
mold=$(submit_light mold pollux,mode=requeue,sizes=1,4,5 -- )
ok "a moldable job starts on one of its sizes" \
	wait_until "is_state $mold RUNNING && has_counts $mold 2,2" 40
sb scancel "$one" "$mold"
wait_until cluster_is_idle 30

# With a node it loses three of its six GPUs; three are none of its sizes.
one=$(submit_rigid -N2 --gpus-per-node=1 -- 600)
wait_until "is_state $one RUNNING" 20
train=$(submit_elastic train pollux,sizes=1,6 --samples=20000 \
	--batch=256 --max-batch=256 --emulate-gpu=compute --time-scale=0.3 \
	--epochs=1000000)
ok "ranks train on all six GPUs" \
	wait_until "has_counts $train 3,3 && ranks_are $train 3 3" 90
# Nobody gives it another shape for that.
sed -i 's/pollux_min_gap=0.2/pollux_enabled=no/' "$SB/etc/slurm.conf"
sb scontrol reconfigure
lost=n2
[ "$(job_field "$train" BatchHost)" = n1 ] || lost=n1
sb scontrol update nodename=$lost state=down reason=test
rank_count() {
	pids_of "$train" pollux-train | wc -l
}
ok "of the three that are left one has a rank" \
	wait_until 'has_gpus "$train" 3 && [ "$(rank_count)" = 1 ] &&
		tail -n 1 "$WORK/train.out" | grep " on 1 GPU "' 60
sb scontrol update nodename=$lost state=resume
sb scancel "$train" "$one"
ok "no GPU had two owners" watch_end
