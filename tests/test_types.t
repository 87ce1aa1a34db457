# SPDX-License-Identifier: MIT
# test_types.t - an elastic job that asks for no type of GPU keeps to one
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

# n1 and n3 have GPUs 0-3 of type big, n2 of small; n4 0-1 of big, 2-3 of small.
sandbox_up --nodes 4 --gpus-per-node 4 --cpus-per-node 8 \
	--gpu-types big,small,big,big+small --params pollux_interval=1
plan 16

gone() {
	sb scancel --user="$(id -un)"
	wait_until '[ -z "$(sb squeue -h)" ] && cluster_is_idle' 30
}

# told JOB REGEX: its record says so.
told() {
	sb scontrol show job -o "$1" | grep -qE "SystemComment=.*$2"
}

job=$(submit_light one pollux -- --live --ack=0.1)
ok "one that begins on a node of one type grows over that type alone" \
	wait_until "has_just $job 'n1 0-3' 'n3 0-3' 'n4 0-1'" 40
ok "its record says that others are free, and what to do to have them" \
	wait_until "told $job 'no big is free, small is: mix=yes lets it use both'" \
	30
ok "nobody has refused it anything" eval '! logged "JobId=$job keeps its"'

# Everything of its own type goes to others.
first=$(submit_rigid -N2 -w n1,n3 --gpus-per-node=big:4 \
	--priority=4294910000 -- 600)
second=$(submit_rigid -N1 -w n4 --gpus-per-node=4 \
	--priority=4294910000 -- 600)
ok "it is parked where others take its type, and not given another one" eval '
	wait_until "is_state $first RUNNING && is_state $second RUNNING" 40 &&
	wait_until "told $job state=parked" 20 && has_just $job'
ok "its record keeps the type" told "$job" " types=big "
pollux-sandbox --dir "$SB" restart slurmctld >"$WORK/restart.txt" 2>&1
ok "a slurmctld that is started again knows it, too" eval '
	wait_until "told $job \"types=big .*why=.*small\"" 30 && has_just $job &&
	told $job " types=big "'
sb scancel "$second"
ok "it comes back on GPUs of its type" wait_until "has_just $job 'n4 0-1'" 40
sb scancel "$first"
ok "and has all of them again" \
	wait_until "has_just $job 'n1 0-3' 'n3 0-3' 'n4 0-1'" 40
gone

job=$(submit_light small pollux -x "n[1,3]" -- --live --ack=0.1)
ok "one that begins on the other type grows over the other" \
	wait_until "has_just $job 'n2 0-3' 'n4 2-3'" 40
gone

job=$(submit_light mixed pollux,mix=yes -- --live --ack=0.1)
ok "with mix=yes it grows over all" \
	wait_until "has_just $job 'n1 0-3' 'n2 0-3' 'n3 0-3' 'n4 0-1,2-3'" 40
gone

both=$(submit_light both pollux,min=4,max=4 -w n4 -- --live --ack=0.1)
wait_until "is_state $both RUNNING" 20
ok "one that Slurm starts on two types goes on with these" eval '
	has_just $both "n4 0-1,2-3" && ! logged "JobId=$both keeps its"'
gone

# Its whole node is to be left: of the others n4 alone has GPUs of its type,
# and has two of the other one before them.
job=$(submit_light moves pollux,min=2,max=2 -x "n[1,3,4]" -- --live --ack=0.1)
wait_until "has_gpus $job 2 && trains $job" 20
sb scontrol update "JobId=$job" ExcNodeList=
sb scontrol update NodeName=n2 State=DRAIN Reason=leave
ok "one that leaves its node has GPUs of its type elsewhere" \
	wait_until "has_just $job 'n4 2-3'" 60
ok "and keeps to it there" eval '
	sb scontrol update NodeName=n2 State=RESUME &&
	! logged "JobId=$job keeps its"'
gone

cat >"$WORK/mold.sh" <<-'END'
	#!/bin/bash
	while :; do sleep 1; done
END
rigid=$(submit_rigid -N1 -w n4 --gpus-per-node=4 -- 600)
wait_until "is_state $rigid RUNNING" 20
mold=$(sb sbatch --parsable -o /dev/null --time=60 \
	--scheduler-params=pollux,mode=requeue,max=16,checkpoint=86400 \
	"$WORK/mold.sh")
ok "a moldable job starts on the type of which most are free" \
	wait_until "has_just $mold 'n1 0-3' 'n3 0-3'" 40
gone

refused() {
	! submit_light wrong "$1" -- 2>"$WORK/wrong" && grep -q "$2" "$WORK/wrong"
}
ok "mix= takes yes and no alone" refused pollux,mix=maybe \
	"mix=maybe: want no or yes"
job=$(submit_light asked pollux,mix=yes --gpus-per-node=big:1 -- --live \
	--ack=0.1)
ok "with mix=yes, too, one that asks for a type has that alone" \
	wait_until "has_just $job 'n1 0-3' 'n3 0-3' 'n4 0-1'" 40
gone
