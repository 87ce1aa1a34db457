# SPDX-License-Identifier: MIT
# test_rules_rest.t - prologs, epilogs, mail, triggers, holds, arrays and what
# else Slurm does around jobs, when these are elastic
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

# What slurmd and slurmctld run leaves a line; a prolog on a node in
# $WORK/fail fails, and one in $WORK/slow takes two seconds.
cat >"$WORK/prolog" <<END
#!/bin/sh
echo "prolog job=\$SLURM_JOB_ID node=\$SLURMD_NODENAME gpus=\$SLURM_JOB_GPUS" \
	>>$WORK/scripts
[ ! -e $WORK/fail.\$SLURMD_NODENAME ] || exit 1
[ ! -e $WORK/slow.\$SLURMD_NODENAME ] || {
	sleep 2
	cat $WORK/grows.light >$WORK/seen
}
exit 0
END
cat >"$WORK/epilog" <<END
#!/bin/sh
echo "epilog job=\$SLURM_JOB_ID node=\$SLURMD_NODENAME" >>$WORK/scripts
END
cat >"$WORK/mail" <<END
#!/bin/sh
echo "mail \$*" >>$WORK/mails
END
cat >"$WORK/trigger" <<END
#!/bin/sh
echo "trigger \$*" >>$WORK/triggers
END
chmod 755 "$WORK/prolog" "$WORK/epilog" "$WORK/mail" "$WORK/trigger"
: >"$WORK/triggers"
: >"$WORK/scripts"

logged_times() {
	grep -cE "$1" "$SB/log/slurmctld.log"
}

squeue_has_any() {
	sb squeue -h -t R,CG,S | grep .
}

# fired WHAT COUNT: its trigger did so often
fired() {
	[ "$(grep -c "^trigger $1\$" "$WORK/triggers")" -eq "$2" ]
}

# still COMMAND: true now, and after decisions that could have changed it.
still() {
	eval "$1" && sleep 3 && eval "$1"
}

# ran WHAT JOB NODE COUNT: the script ran so often
ran() {
	[ "$(grep -c "^$1 job=$2 node=$3\>" "$WORK/scripts")" -eq "$4" ]
}

sandbox_up --nodes 4 --gpus-per-node 2 --params pollux_min_gap=0.2 \
	--conf-extra "Prolog=$WORK/prolog" --conf-extra "Epilog=$WORK/epilog" \
	--conf-extra PrologFlags=Alloc --conf-extra "MailProg=$WORK/mail"
plan 36

touch "$WORK/slow.n2"
job=$(submit_light grows pollux,max=4 -w n1 -x "n[3-4]" \
	--mail-type=ALL --mail-user=nobody -- --live=0.3)
sb strigger --set --jobid="$job" --fini --program="$WORK/trigger"
sb strigger --set --node=n2 --drained --program="$WORK/trigger"
after=$(sb sbatch --parsable -d "afterok:$job" -o /dev/null --wrap true)
any=$(sb sbatch --parsable -d "afterany:$job" -o /dev/null --wrap true)
ok "a job grows onto a second node" \
	wait_until "lit grows 'event=done .*gpus=4'" 40
ok "the prolog ran there, and on its first node, once" \
	eval 'ran prolog $job n1 1 && ran prolog $job n2 1'
ok "it knew the GPUs" \
	grep -q "^prolog job=$job node=n2 gpus=0,1" "$WORK/scripts"
ok "the job got the node when the prolog had ended" \
	eval '[ -s "$WORK/seen" ] &&
		! grep -q "event=done .*gpus=4" "$WORK/seen"'
rigid=$(submit_rigid -w n2 --gpus-per-node=2 -- 2)
ok "it gives the node up for a rigid job" \
	wait_until "is_state $rigid RUNNING" 40
ok "and the epilog ran there" wait_until "ran epilog $job n2 1" 10
ok "when it comes back, so does the prolog" \
	wait_until "ran prolog $job n2 2" 40
ok "no mail but that it began" \
	eval '[ $(wc -l <"$WORK/mails") = 1 ] && grep -q Began "$WORK/mails"'
sb scontrol update node=n2 state=drain reason=test
ok "a node is drained when it has left, and triggers that" \
	wait_until "fired n2 1 && has_gpus $job 2" 60
sb scontrol update node=n2 state=resume
ok "who waits for its end still waits" \
	eval 'is_state $after PENDING && is_state $any PENDING'
ok "it comes back again" \
	wait_until "has_gpus $job 4 && ran prolog $job n2 3" 40
ok "its own end was not triggered by all that" fired "$job" 0
sb scancel "$job"
ok "at its end the epilog runs everywhere" \
	wait_until "ran epilog $job n1 1 && ran epilog $job n2 3" 40
ok "there is one mail about that" \
	wait_until '[ $(wc -l <"$WORK/mails") = 2 ] &&
		grep -qE "Ended|Failed" "$WORK/mails"' 20
ok "and the trigger of its end, once" wait_until "fired $job 1" 60
ok "who waited for any end runs, who waited for success never does" \
	eval 'wait_until "is_state $any COMPLETED" 30 &&
		! is_state $after RUNNING && ! is_state $after COMPLETED'
sb scancel "$after"

touch "$WORK/fail.n4"
job=$(submit_light fails pollux,max=4 -w n3 -x "n[1-2]" -- --live=0.3)
array=$(submit_light array pollux,max=2 -x "n[3-4]" --array=1-2 --)
ok "where the prolog fails the node is drained" \
	wait_until "ran prolog $job n4 1 &&
		sb sinfo -h -n n4 -o %T | grep -q drain" 40
ok "and the job goes on as it was" \
	wait_until "logged 'JobId=$job keeps its [12] GPUs: the prolog failed' &&
		is_state $job RUNNING &&
		[ \"\$(job_field $job NodeList)\" = n3 ]" 40
ok "... and is not given it again for a while, drained or not" \
	logged "JobId=$job: the prolog failed on n4, which is closed to this job"
ok "each task of an array is elastic by itself" \
	wait_until "has_gpus ${array}_1 2 && has_gpus ${array}_2 2" 40
sb scancel "$array"

# A cluster that is free but for n4.
sb scancel "$job"
wait_until "ended $job" 30
array=$(submit_light limited pollux,max=2 -x n4 --array=1-3%2 --)
ok "of an array with %2 two tasks grow, and the third waits" eval '
	wait_until "has_gpus ${array}_1 2 && has_gpus ${array}_2 2" 40 &&
	still "[ $(sb squeue -h -r -j $array -t R | wc -l) = 2 ]" &&
	sb squeue -h -r -j ${array}_3 -o %r | grep -q JobArrayTaskLimit'
sb scancel "${array}_1"
ok "until one has ended" wait_until "has_gpus ${array}_3 2" 40
sb scancel "$array"
wait_until "ended ${array}_2 ${array}_3" 30

# While it is held it keeps what it has, more or less.
held=$(submit_light keeps pollux,max=4 -x "n[3-4]" --)
wait_until "has_gpus $held 4" 40
sb scontrol hold "$held"
rigid=$(submit_rigid -w n2 --gpus-per-node=2 -- 600)
ok "a running job that is held makes no room" \
	still "has_gpus $held 4 && is_state $rigid PENDING"
sb scontrol release "$held"
ok "released, it does" wait_until "is_state $rigid RUNNING" 40
rigids="$rigid $(submit_rigid -w n1 --gpus-per-node=2 \
	--priority=4294910000 -- 600)"
wait_until "has_gpus $held 0" 40
sb scontrol hold "$held"
# shellcheck disable=SC2086
sb scancel $rigids
ok "a parked one that is held stays parked" eval '
	wait_until "ended $rigids" 30 && still "has_gpus $held 0"'
sb scontrol release "$held"
ok "and wakes when it is released" wait_until "has_gpus $held 4" 40
sb scancel "$held"
wait_until "ended $held" 30
held=$(submit_light held pollux,max=4 -H -w n1 -x "n[3-4]" --)
ok "a het job is refused, as by Slurm without sched/backfill" \
	fails sb sbatch -o /dev/null -w n3 -n1 : -w n3 -n1 --wrap "sleep 1"
ok "a held job stays" is_state "$held" PENDING
sb scontrol release "$held"
ok "a released one starts, and grows" wait_until "has_gpus $held 4" 40
sb scontrol suspend "$held"
before=$(logged_times "JobId=$held asked")
rigid=$(submit_rigid -w n2 --gpus-per-node=2 -- 1)
ok "a suspended job keeps what it has" \
	eval 'sleep 3; has_gpus $held 4 && is_state $held SUSPENDED &&
		[ $(logged_times "JobId=$held asked") = $before ]'
sb scontrol resume "$held"
ok "resumed, it makes room as ever" \
	wait_until "is_state $rigid COMPLETED" 40
ok "a time limit may be changed while it runs" \
	eval 'sb scontrol update jobid=$held TimeLimit=90 &&
		wait_until "has_gpus $held 4" 40 &&
		[ "$(job_field $held TimeLimit)" = 01:30:00 ]'
ok "and so may its nodes: it keeps to as many" eval '
	sb scontrol update jobid=$held NumNodes=1 &&
	wait_until "has_gpus $held 2" 60 && still "has_gpus $held 2"'
sb scontrol requeuehold "$held"
ok "requeued and held, it waits in its smallest shape" \
	wait_until "is_state $held PENDING &&
		logged 'JobId=$held was requeued and will start on 1 GPUs'" 40
sb scancel "$held"
timeout 60 pollux-sandbox exec --dir "$SB" salloc -w n3 -J alloc \
	--scheduler-params=pollux,max=2 \
	"$light" --wake=none --log="$WORK/alloc.light" --seconds=12 \
	>"$WORK/salloc.out" 2>&1
ok "an allocation of salloc's grows as well" \
	lit alloc 'event=done .*gpus=2'
ok "all is given back" wait_until "! squeue_has_any" 40
