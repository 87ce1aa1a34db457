# SPDX-License-Identifier: MIT
# test_spread.t - a job's least GPUs may lie on several nodes
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

sandbox_up --nodes 4 --gpus-per-node 4
plan 21

# submit NAME PARAMS [SBATCH-OPTION...]
submit() {
	local name=$1 params=$2
	shift 2
	submit_light "$name" "$params" "$@" -- --profiled=16
}

runs_on() {
	is_state "$1" RUNNING && has_gpus "$1" "$2"
}

nodes_of() {
	job_field "$1" NumNodes
}

told() {
	sb scontrol show job "$1" | grep -q "why=.*$2"
}

waited() {
	echo $(($(date -d "$(job_field "$1" StartTime)" +%s) - \
		$(date -d "$(job_field "$1" SubmitTime)" +%s)))
}

# The first row that accounting has of it.
first_row() {
	sb sacct -n -D -X -P -j "$1" -o nnodes,alloctres | head -n 1 |
		grep -q "^$2|.*gres/gpu=$3\(,\|\$\)"
}

end() {
	sb scancel "$@"
	wait_until "ended $*" 30
}

watch_start
pairs=$(submit_rigid -N4 --gpus-per-node=2 -t 60 -- 3600)
ok "a rigid job leaves two GPUs of each node" \
	wait_until "is_state $pairs RUNNING" 30

four=$(submit four pollux,min=4,max=4)
ok "a job of at least 4 GPUs starts on two nodes" \
	wait_until "runs_on $four 4" 30
ok "in its first 10 s" eval '[ "$(waited "$four")" -le 10 ]'
diag "it waited $(waited "$four") s"
ok "two on each" eval '[ "$(nodes_of "$four")" = 2 ]'
ok "accounting has it as its first shape" \
	wait_until "first_row $four 2 4" 20
wait_until "trains $four" 30
end "$four"

one=$(submit one pollux,min=4,max=4 -N1)
pack=$(submit pack pollux,min=4,max=4,pack)
gres=$(submit gres pollux,min=4,max=4 --gpus-per-node=4)
ok "one that wants them on one node waits, and is told why" \
	wait_until "told $one 'no room for its least 4 GPUs'" 30
ok "one with the word pack as well" \
	wait_until "told $pack 'no room for its least 4 GPUs'" 30
ok "and one that has said how many of a node" \
	wait_until "told $gres 'no room for its least 4 GPUs'" 30
eight=$(submit eight pollux,min=8,max=8 -t 10)
ok "one of at least 8 starts on all four nodes past them" \
	wait_until "runs_on $eight 8" 30
ok "those wait on" eval 'is_state "$one" PENDING &&
	is_state "$pack" PENDING && is_state "$gres" PENDING'
end "$eight" "$one" "$pack" "$gres"

wide=$(submit_rigid -N3 --gpus-per-node=4 -t 10 --priority=4294910000 -- 2)
later=$(submit later pollux,min=4,max=4)
ok "it does not take what a job of higher priority waits for" \
	wait_until "told $later 'no room for its least 4 GPUs'" 30
ok "as long as that waits" is_state "$later" PENDING
sb scancel "$wide"
ok "then it starts" wait_until "runs_on $later 4" 30
end "$later"

filler=$(submit filler pollux,max=8)
ok "an elastic job has what is free" wait_until "runs_on $filler 8" 60
second=$(submit second pollux,min=4,max=4)
ok "another gets its least on two nodes of it" \
	wait_until "runs_on $second 4 && has_gpus $filler 4" 60
ok "and the first trains on" is_state "$filler" RUNNING
end "$filler" "$second"

mold=$(sb sbatch --parsable -o /dev/null \
	--scheduler-params=pollux,mode=requeue,min=4,max=4 --wrap 'sleep 600')
ok "a moldable job starts so, too" wait_until "runs_on $mold 4" 60

# Its next start is in its smallest shape again, wherever that is.
again=$(submit again pollux,min=4,max=4 --requeue)
ok "one more has the other two nodes" wait_until "runs_on $again 4" 30
sb scontrol requeue "$again"
wait_until "logged 'JobId=$again was requeued and will start on 4 GPUs'" 30
sb scontrol update jobid="$again" starttime=now
ok "it starts so again when it was put back" \
	wait_until "runs_on $again 4 && [ \"\$(job_field $again Restarts)\" = 1 ]" 60
end "$mold" "$again" "$pairs"
ok "no GPU had two owners" watch_end
# Who was gone before the plugin had looked has no line in the log.
agrees() {
	sb pollux-report -j "$four,$filler,$mold" --log "$SB/log/slurmctld.log"
}
ok "accounting agrees with what was held" wait_until agrees 20
