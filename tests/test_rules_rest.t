# SPDX-License-Identifier: MIT
# test_rules_rest.t - prologs, epilogs, mail, triggers, holds, arrays and what
# else Slurm does around jobs, when these are elastic
. "${POLLUX_SRCDIR}/tests/elastic.sh"
. "${POLLUX_SRCDIR}/tests/light.sh"

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
chmod 755 "$WORK/prolog" "$WORK/epilog" "$WORK/mail"
: >"$WORK/scripts"

# ran WHAT JOB NODE COUNT: the script ran so often
ran() {
	[ "$(grep -c "^$1 job=$2 node=$3\>" "$WORK/scripts")" -eq "$4" ]
}

sandbox_up --nodes 4 --gpus-per-node 2 --params pollux_min_gap=0.2 \
	--conf-extra "Prolog=$WORK/prolog" --conf-extra "Epilog=$WORK/epilog" \
	--conf-extra PrologFlags=Alloc --conf-extra "MailProg=$WORK/mail"
plan 9

touch "$WORK/slow.n2"
job=$(submit_light grows pollux,max=4 -w n1 -x "n[3-4]" -- --live=0.3)
ok "a job grows onto a second node" wait_until "lit grows 'event=done .*gpus=4'" 40
ok "the prolog ran there, and on its first node, once" \
	eval 'ran prolog $job n1 1 && ran prolog $job n2 1'
ok "it knew the GPUs" grep -q "^prolog job=$job node=n2 gpus=0,1" "$WORK/scripts"
ok "the job got the node when the prolog had ended" \
	eval '[ -s "$WORK/seen" ] && ! grep -q "event=done .*gpus=4" "$WORK/seen"'
cat "$WORK/scripts"
rigid=$(submit_rigid -w n2 --gpus-per-node=2 -- 2)
ok "it gives the node up for a rigid job" wait_until "is_state $rigid RUNNING" 40
ok "and the epilog ran there" wait_until "ran epilog $job n2 1" 10
ok "when it comes back, so does the prolog" wait_until "ran prolog $job n2 2" 40
sb scancel "$job"
ok "at its end the epilog runs everywhere" \
	wait_until "ran epilog $job n1 1 && ran epilog $job n2 2" 40

touch "$WORK/fail.n4"
job=$(submit_light fails pollux,max=4 -w n3 -x "n[1-2]" -- --live=0.3)
wait_until "ran prolog $job n4 1" 40
ok "where the prolog fails the node is drained, and the job goes on without it" \
	wait_until "sb sinfo -h -n n4 -o %T | grep -q drain &&
		is_state $job RUNNING && has_gpus $job 2 &&
		[ \"\$(job_field $job NodeList)\" = n3 ]" 40
sb scontrol show node n4 | grep Reason
cat $WORK/scripts $WORK/*.light; cat $WORK/mails
grep -a "JobId=$job\|prolog\|Prolog" $SB/log/slurmctld.log | grep -v "setting comm" | tail -20; sb scontrol show job $job | head -12
