# SPDX-License-Identifier: MIT
# test_updated.t - scontrol update of a running elastic job is obeyed or refused
#
# By its owner, by another user and by an operator; while the job trains, while
# it is resized and while it is parked. What is obeyed the next plan knows.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

[ "$(id -u)" = 0 ] && type -P setpriv >/dev/null ||
	skip_all "several users take root and setpriv"

sandbox_up --like=site "$untyped" --nodes 3 --gpus-per-node 2 \
	--params pollux_interval=1,pollux_min_gap=0.2 \
	--conf-extra Licenses=solver:4
plan 34

for user in daemon bin; do
	install -d -o "$user" "$WORK/$user"
done
cp "$light" "$WORK/light"

# as USER COMMAND...: root is an operator.
as() {
	local user=$1
	shift
	if [ "$user" = root ]; then
		sb "$@"
	else
		(cd "$WORK/$user" && pollux-sandbox exec --dir "$SB" \
			--user "$user" "$@")
	fi
}

# submit NAME [LIGHT-OPTION...]: a job of daemon's that may have all; in $job.
submit() {
	local name=$1
	shift
	job=$(as daemon sbatch --parsable -J "$name" -t 60 -o "$name.out" \
		--scheduler-params=pollux,max=6 --wrap "exec $WORK/light \
		--log=$WORK/daemon/$name.light --restart=0.1 $*")
}

# update USER FIELD=VALUE...: what it said is in update.txt.
update() {
	local user=$1
	shift
	as "$user" scontrol update jobid="$job" "$@" >"$WORK/update.txt" 2>&1
}

# refused USER SENTENCE FIELD=VALUE
refused() {
	# shellcheck disable=SC2086 # several fields are several words
	! update "$1" $3 && cat "$WORK/update.txt" &&
		grep -qE "$2" "$WORK/update.txt"
}

on() {
	[ "$(sb squeue -h -j "$job" -o %N)" = "$1" ] && has_gpus "$job" "$2"
}

# so many nodes with all their GPUs
has_nodes() {
	[ "$(job_field "$job" NumNodes)" = "$1" ] &&
		has_gpus "$job" $((2 * $1))
}

still() {
	eval "$1" && sleep 3 && eval "$1"
}

# Its program was neither ended nor started again.
unharmed() {
	is_state "$job" RUNNING && [ "$(job_field "$job" Restarts)" = 0 ] &&
		[ "$(grep -c event=begin "$WORK/daemon/$1.light")" = 1 ]
}

parked() {
	is_state "$job" RUNNING && has_gpus "$job" 0
}

# Nodes of the job, but that of its script.
others() {
	sb scontrol show hostnames "$(job_field "$job" NodeList)" |
		grep -vx "$(job_field "$job" BatchHost)"
}

blocks() {
	sb sbatch --parsable -o /dev/null --priority=4294910000 "$@" \
		--wrap "sleep 600"
}

watch_start
submit many
ok "a job has the cluster" wait_until "has_gpus $job 6" 60

# ---- what Slurm changes of no running job, elastic or not

# Memory is changed while a job runs from 26.05 on, where it has an extern step.
pending="no longer pending|requires extern step"
all_refused() {
	local user=$1 field
	for field in Partition=none Account=speech QOS=high NumCPUs=2 \
		NumTasks=2 MinCPUsNode=2 MinMemoryNode=10 MinMemoryCPU=10 \
		MinTmpDiskNode=1 Features=fast Contiguous=yes OverSubscribe=yes \
		Gres=gpu:1 TresPerNode=gpu:1 StartTime=now+1hour \
		Dependency=afterok:1 CoreSpec=1 StdOut=/tmp/x; do
		refused "$user" "$pending" "$field" || {
			echo "$user $field"
			return 1
		}
	done
}
ok "what counts before a job starts is refused to its owner" all_refused daemon
ok "and to an operator" all_refused root
ok "what asks for more is refused to its owner" eval '
	refused daemon denied TimeLimit=90 && refused daemon denied Nice=-5 &&
	refused daemon denied Licenses=solver:1 &&
	refused daemon denied AdminComment=x'
ok "another user may update nothing" eval '
	for field in NumNodes=1 ReqNodeList=n1 ExcNodeList=n3 TimeLimit=5 \
		Comment=x Licenses= Requeue=0 Reservation=; do
		refused bin "Invalid user" $field || return 1
	done'
ok "and of all that nothing was done" still 'on "n[1-3]" 6 && unharmed many'

# ---- what is obeyed

told() {
	sb scontrol show job "$job" | grep -qE "$1"
}

ok "its owner lowers its time limit, an operator raises it" eval '
	update daemon TimeLimit=50 && told "TimeLimit=00:50:00" &&
	update root TimeLimit=70 && told "TimeLimit=01:10:00"'
ok "a comment stays, and the status comes back beside it" eval '
	update daemon Comment=mine &&
	wait_until "told \"Comment=mine .pollux v=1\"" 30'
gives_and_takes() {
	way=$(blocks -N3 --gpus-per-node=1) &&
		wait_until "has_gpus $job 3 && is_state $way RUNNING" 60 &&
		sb scancel "$way" && wait_until "$1" 60
}
ok "licences are an operator's, and no resize changes them" eval '
	update root Licenses=solver:3 && gives_and_takes "has_gpus $job 6" &&
	told Licenses=solver:3 &&
	sb scontrol show licenses | tr "\n" " " | grep "Used=3 " &&
	update daemon Licenses= && sb scontrol show licenses | grep Used=0'
reserve() {
	sb scontrol create reservation ReservationName=two Nodes="$1" \
		StartTime=now Duration=60 Users=root,daemon Flags=IGNORE_JOBS \
		>"$WORK/reserve.out"
}
home=$(job_field "$job" BatchHost)
other=$(others | head -n 1)
third=$(others | tail -n 1)
ok "put into a reservation, it gains nothing outside" eval '
	reserve "$home,$other" && update root Reservation=two &&
	way=$(blocks -w "$third" --gpus-per-node=2) &&
	wait_until "is_state $way RUNNING && has_nodes 2" 60 &&
	sb scancel $way && wait_until "ended $way" 30 && still "has_nodes 2"'
ok "taken out, it has the others once that is gone" eval '
	update root Reservation= && sb scontrol delete reservation=two &&
	wait_until "has_gpus $job 6" 60'
limit() {
	sb sacctmgr -i modify qos normal set MaxTRESPerJob="gres/gpu=$1" \
		>"$WORK/sacctmgr.out"
}
ok "a limit of its QOS that is lowered takes nothing away" eval '
	limit 4 && still "has_gpus $job 6"'
ok "and it does not grow past that again" eval '
	gives_and_takes "has_gpus $job 4" && still "has_gpus $job 4"'
ok "raised, it does" eval 'limit -1 && wait_until "has_gpus $job 6" 60'

# ---- its nodes

before=$(times_logged "JobId=$job asked for 4 GPUs")
ok "NumNodes: it leaves a node, as at any resize" eval '
	update daemon NumNodes=2 && wait_until "has_nodes 2" 60 &&
	logged_more "JobId=$job asked for 4 GPUs" $before && unharmed many'
ok "and does not come back against that wish" eval 'still "has_nodes 2" &&
	wait_until "told \"why=stays: 4 GPUs on 2 nodes, as many nodes as it may have\"" 30'
ok "its owner cannot take it back, as a time limit" eval '
	refused daemon denied NumNodes=3 && still "has_nodes 2"'
# From 24.11 on scontrol itself says so of 3-2, and exits with 0.
ok "nor is what makes no sense obeyed" eval '
	refused root "count" NumNodes=0 &&
	{ update root NumNodes=3-2 || :; grep count "$WORK/update.txt"; } &&
	refused root "count" NumNodes=100000 && still "has_nodes 2"'
ok "slurmctld is restarted, and that stays" eval '
	wait_until is_saved 30 && restart_slurmctld &&
	wait_until "is_state $job RUNNING" 30 && still "has_nodes 2"'
ok "an operator allows it more" eval '
	update root NumNodes=3 && wait_until "has_gpus $job 6" 60'

ok "what is refused for a part of it binds in no part" eval '
	refused root "Invalid node name" "NumNodes=1 ExcNodeList=$home" &&
	still "has_gpus $job 6"'

gone=$(others | head -n 1)
left() {
	! sb scontrol show hostnames "$(job_field "$job" NodeList)" |
		grep -qx "$gone"
}
kept=$(echo n1 n2 n3 | sed "s/$gone//")
ok "ReqNodeList: it leaves the others, and stays off them" eval '
	update daemon ReqNodeList="$(echo $kept | tr " " ,)" &&
	wait_until "has_nodes 2 && left" 60 && still "has_nodes 2 && left" &&
	told "ExcNodeList=$gone" && unharmed many'
ok "ReqNodeList without the node of its script is refused" \
	refused root "Invalid node name" ReqNodeList="$(others | head -n 1)"
ok "so is to exclude that" refused root "Invalid node name" \
	ExcNodeList="$home"
ok "its owner may exclude more nodes, not fewer" eval '
	refused daemon denied ExcNodeList= && other=$(others) &&
	update daemon ExcNodeList="$gone,$other" && wait_until "on $home 2" 60'
ok "an operator all" eval '
	update root ExcNodeList= && wait_until "has_gpus $job 6" 60'
sb scancel "$job"
wait_until "ended $job" 30

# ---- while it waits

all=$(blocks -N3 --gpus-per-node=2)
wait_until "is_state $all RUNNING" 30
submit waits
ok "of a job that waits it is obeyed as well" eval '
	is_state "$job" PENDING && update daemon NumNodes=2 &&
	sb scancel $all && wait_until "has_nodes 2" 60'
ok "and it holds for all shapes that the job has then" eval '
	still "has_nodes 2" && wait_until "told \"as many nodes as it may have\"" 30'
sb scancel "$job"
wait_until "ended $job" 30

# ---- in the middle of a resize, and parked

submit slow --ack=3 --live=3
wait_until "has_gpus $job 6" 90
asked() {
	sb scontrol show job "$job" | grep -qE 'serial=[0-9]* state=(asked|lent)'
}
midst() {
	way=$(blocks -N3 --gpus-per-node=1) && wait_until asked 30 &&
		update root NumNodes=2 TimeLimit=80 Licenses=solver:1 &&
		update daemon Comment=mine Nice=5
}
ok "in the middle of a resize: that ends, and all of it is obeyed" eval '
	midst && wait_until "is_state $way RUNNING" 60 &&
	wait_until "[ \"\$(job_field $job NumNodes)\" = 2 ]" 60 &&
	told TimeLimit=01:20:00 && told Licenses=solver:1 &&
	sb scancel $way && wait_until "has_nodes 2" 60 && still "has_nodes 2" &&
	unharmed slow'
park() {
	way=$(blocks -N3 --gpus-per-node=2) && wait_until parked 90 &&
		wait_until "is_state $way RUNNING" 30
}
ok "parked: it wakes with what was asked for meanwhile" eval '
	park && update root NumNodes=1 && update daemon Nice=6 &&
	still parked && sb scancel $way && wait_until "has_nodes 1" 60 &&
	still "has_nodes 1" && unharmed slow'
sb scontrol requeue "$job"
ok "requeued, too" eval '
	begin_now "$job" && wait_until "has_nodes 1" 60 && still "has_nodes 1"'
sb scancel "$job"
wait_until "ended $job" 30

# Slurm hands one request to all tasks in turn; NumNodes= scontrol refuses.
tasks() {
	job=$(as daemon sbatch --parsable --array=1-2 -t 60 -o array.out \
		--scheduler-params=pollux,max=2 --wrap "exec $WORK/light \
		--log=$WORK/daemon/array.light --restart=0.1") &&
		wait_until "[ \"\$(sb squeue -h -r -j $job -t R -o %i | wc -l)\" = 2 ]" 60 &&
		wait_until "[ \"\$(grep -c event=begin $WORK/daemon/array.light)\" = 2 ]" 60
}
one_task() {
	local all=$job
	! update root ExcNodeList=n3 &&
		logged "one task at a time, as JobId=${all}_" || return
	job=${all}_2
	update root ExcNodeList=n3 && logged "JobId=${all}_2.* keeps off n3"
}
ok "of an array it is one task at a time" eval 'tasks && one_task'
sb scancel "${job%_*}"
wait_until "[ -z \"\$(sb squeue -h -j ${job%_*} -o %i)\" ]" 30

# A job that no plan changes: Slurm itself does what is asked.
job=$(as daemon sbatch --parsable -N2 --gpus-per-node=1 -o dumb.out \
	--scheduler-params=pollux,min=2,max=6 --wrap "sleep 600")
wait_until "is_state $job RUNNING && has_gpus $job 2" 60
# 24.11 refuses that of jobs with so many tasks a node, as elastic ones have.
if sb scontrol -V | grep -q ' 22[.]05'; then
	ok "of a job without a launcher Slurm takes the node" eval '
		update daemon NumNodes=1 && has_gpus $job 1 &&
		is_state $job RUNNING'
else
	ok "of a job without a launcher it is Slurm that refuses it" eval '
		! update daemon NumNodes=1 && has_gpus $job 2 &&
		is_state $job RUNNING'
fi
sb scancel "$job"
ok "nothing is leaked, and no GPU had two owners" eval '
	wait_until "ended $job" 30 && wait_until cluster_is_idle 60 &&
	slurmctld_lives && watch_end'
