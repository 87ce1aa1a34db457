# SPDX-License-Identifier: MIT
# test_rules_limits.t - a growth is limited exactly as a new job of that size
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

sandbox_up --nodes 2 --gpus-per-node 8 --cpus-per-node 32 \
	--conf-extra AccountingStorageEnforce=associations,limits,qos,safe \
	--conf-extra PriorityType=priority/multifactor \
	--conf-extra PriorityCalcPeriod=1 \
	--conf-extra Licenses=solver:4 \
	--params pollux_interval=1,pollux_min_gap=0.2
plan 48

acct() {
	sb sacctmgr -i "$@" >"$WORK/sacctmgr.txt" 2>&1
}
acct add account phys
acct add account bio parent=phys
acct add user root account=bio
# Newer releases let in what is below an account that is let in.
acct add account chem
acct add user daemon account=bio
for qos in job user team minutes running part cpus node nodes spent; do
	acct add qos $qos
done
acct modify qos job set MaxTRESPerJob=gres/gpu=6
acct modify qos user set MaxTRESPerUser=gres/gpu=6
acct modify qos team set MaxTRESPerAccount=gres/gpu=6
acct modify qos minutes set MaxTRESMinsPerJob=gres/gpu=300
acct modify qos running set GrpTRESRunMins=gres/gpu=420
acct modify qos part set GrpTRES=gres/gpu=5
acct modify qos cpus set GrpTRES=cpu=14
acct modify qos node set MaxTRESPerNode=gres/gpu=3
acct modify qos nodes set MaxTRESPerJob=node=1
acct modify qos spent set GrpTRESMins=gres/gpu=330
acct modify user root set \
	qos=normal,job,user,team,minutes,running,part,cpus,node,nodes,spent
acct modify user daemon set qos=normal,user,team

# elastic NAME QOS [SBATCH-OPTION...]: 60 minutes, up to 16 GPUs.
elastic() {
	local name=$1 qos=$2
	shift 2
	submit_light "$name" pollux,max=16 -A bio -q "$qos" -t 60 "$@" \
		-- --profiled=16 --restart=0.1 ${log:+--log=$log}
}

pends_for() {
	[ "$(sb squeue -h -j "$1" -o %r)" = "$2" ]
}

# The same for a rigid job of the same user, account, QOS and time limit.
rigid() {
	local gpus=$1 qos=$2
	shift 2
	submit_rigid -A bio -q "$qos" -t 60 -N1 --gpus-per-node="$gpus" \
		--ntasks-per-node="$gpus" "$@" \
		-- 600
}

# stops_at NAME QOS GPUS REASON [SBATCH-OPTION...]: a job of that QOS grows to
# so many GPUs; a new job of one more has to wait for REASON, a job of as many
# starts when the elastic one is gone.
stops_at() {
	local name=$1 qos=$2 gpus=$3 reason=$4 job more same
	shift 4
	job=$(elastic "$name" "$qos" "$@")
	wait_until "has_gpus $job $gpus" 20 || return 1
	sb scancel "$job"
	wait_until "ended $job" 10 || return 1
	grep -oE 'gpus=[0-9]+' "$WORK/$name.light" | sort -u
	! grep -qE "gpus=($((gpus + 1))|$((gpus + 2)))( |\$)" \
		"$WORK/$name.light" || return 1
	more=$(rigid $((gpus + 1)) "$qos" "$@")
	wait_until "pends_for $more $reason" 10 || return 1
	sb scancel "$more"
	same=$(rigid "$gpus" "$qos" "$@")
	wait_until "is_state $same RUNNING" 10 || return 1
	sb scancel "$same"
	wait_until "ended $same" 10
}

# What stands in the books: book FLAGS... KEY TRES prints "limit(used)".
book() {
	sb scontrol show assoc_mgr "flags=$1" "$2" |
		awk -v key="$3" -v user="${5:-}" '
			/UserName=/ { mine = !user || index($0, "=" user "(") }
			/^QOS=/ { mine = 1 }
			mine && $1 ~ "^" key "=" { print; exit }' |
		grep -oE "$4=[^,]*" | head -n 1 | cut -d= -f2
}

user_books() {
	book assoc account=bio "$1" "$2" root
}

books_are() {
	local want=$1 gpus cpus
	gpus=$(user_books GrpTRES gres/gpu)
	cpus=$(user_books GrpTRES "cpu")
	echo "association: $gpus GPUs, $cpus CPUs"
	[ "$gpus" = "N($want)" ] && [ "$cpus" = "N($want)" ] &&
		[ "$(book qos qos=normal GrpTRES gres/gpu)" = "N($want)" ]
}

# TRES-minutes that running jobs may still use: between two bounds.
running_minutes() {
	local minutes
	minutes=$(user_books GrpTRESRunMins gres/gpu | tr -dc 0-9)
	echo "$minutes minutes, want $1 to $2"
	[ "$minutes" -ge "$1" ] && [ "$minutes" -le "$2" ]
}

# When Slurm last took what had passed off the running minutes.
decay_ran() {
	od -An -tu1 -N8 "$SB/state/priority_last_decay_ran" |
		awk '{ for (i = 1; i <= 8; i++) t = t * 256 + $i; print t }'
}

seconds_of() {
	date -d "$(job_field "$1" "$2")" +%s
}

# What Slurm would have in the books of a job that had its present shape from
# its start: the time from the decay thread's last run to the job's end. With
# a second argument, this QOS has no other job.
counted_exactly() {
	local ran from gpus want user all=-
	ran=$(decay_ran)
	gpus=$(gpus_of "$1")
	from=$(seconds_of "$1" StartTime)
	[ "$ran" -lt "$from" ] || from=$ran
	want=$((gpus * ($(seconds_of "$1" EndTime) - from) / 60))
	user=$(user_books GrpTRESRunMins gres/gpu)
	[ -z "${2:-}" ] || all=$(book qos "qos=$2" GrpTRESRunMins gres/gpu)
	echo "$gpus GPUs from $from: $want, association $user, QOS $all"
	[ "$ran" = "$(decay_ran)" ] && [ "$gpus" = "$(gpus_of "$1")" ] &&
		[ "$user" = "N($want)" ] &&
		{ [ -z "${2:-}" ] || [ "$all" = "N($want)" ]; }
}

has_gpus_or_less() {
	[ "$(gpus_of "$1")" -le "$2" ]
}

no_underflow() {
	! grep -E 'underflow|[Ll]icense.*(error|negative)' \
		"$SB/log/slurmctld.log"
}

licences_in_use() {
	sb scontrol show lic solver | grep -q " Used=$1 "
}

# Slurm soon ends a job whose QOS has used up its minutes.
used_up() {
	local job beside more
	beside=$(rigid 8 normal)
	wait_until "is_state $beside RUNNING" 20 || return 1
	acct modify qos spent set GrpTRESMins=gres/gpu=-1
	job=$(elastic used spent)
	wait_until "has_gpus $job 8" 20 || return 1
	acct modify qos spent set GrpTRESMins=gres/gpu=0
	sb scancel "$beside"
	wait_until "ended $job ||
		logged 'JobId=$job stays: at its limit of 8 GPUs .set by its account'" 20 &&
		! grep -E 'gpus=(9|1[0-9])' "$WORK/used.light" || return 1
	more=$(rigid 1 spent)
	wait_until "pends_for $more QOSGrpGRESMinutes" 20 || return 1
	sb scancel "$job" "$more"
	wait_until "ended $job $more" 20
}

ok "MaxTRESPerJob of a QOS: up to 6 GPUs, as a new job" \
	stops_at perjob job 6 QOSMaxGRESPerJob
ok "MaxTRESMinsPerJob: 5 GPUs for 60 minutes" \
	stops_at minutes minutes 5 QOSMaxGRESMinutesPerJob
ok "GrpTRESRunMins: 7 GPUs for 60 minutes" \
	stops_at running running 7 QOSGrpGRESRunMinutes
ok "GrpTRESMins, with safe: 5 GPUs for 60 minutes, beside what was spent" \
	stops_at spent spent 5 QOSGrpGRESMinutes
ok "GrpTRES of CPUs: 7 GPUs with two CPUs each" \
	stops_at cpus cpus 7 QOSGrpCpuLimit -c2
acct modify account phys set GrpTRES=gres/gpu=4
ok "GrpTRES of the account above its own: 4 GPUs" \
	stops_at parent normal 4 AssocGrpGRES
acct modify account phys set GrpTRES=gres/gpu=-1
acct modify user root account=bio set MaxTRES=gres/gpu=3
ok "MaxTRES of an association: 3 GPUs" \
	stops_at assoc normal 3 AssocMaxGRESPerJob
acct modify user root account=bio set MaxTRES=gres/gpu=-1
sb scontrol update PartitionName=main QOS=part
ok "GrpTRES of the partition's QOS: 5 GPUs" \
	stops_at part normal 5 QOSGrpGRES
sb scontrol update PartitionName=main QOS=

job=$(elastic pernode node)
ok "MaxTRESPerNode: 3 GPUs on each of two nodes" \
	wait_until "has_gpus $job 6" 20
sb scancel "$job"
wait_until "ended $job" 10
ok "a new job may have as many there, and no more" eval '
	more=$(rigid 4 node) && wait_until "pends_for $more QOSMaxGRESPerNode" 10
	same=$(rigid 3 node -N2 -n6) && wait_until "is_state $same RUNNING" 10'
sb scancel "$more" "$same"
wait_until "ended $more $same" 10
job=$(elastic onenode nodes)
ok "MaxTRESPerJob of nodes: all GPUs of one" wait_until "has_gpus $job 8" 20
sb scancel "$job"
wait_until "ended $job" 10

# kept_out REGEX: so a new job is told why it waits, or is not taken.
kept_out() {
	local more rc=0
	more=$(rigid 1 normal --uid=daemon 2>"$WORK/kept_out.txt") || {
		grep -E "$1" "$WORK/kept_out.txt"
		return
	}
	wait_until "sb squeue -h -j $more -o %r | grep -E '$1'" 20 || {
		sb squeue -o "%i %T %r"
		rc=1
	}
	sb scancel "$more"
	return $rc
}

# shut_out SETTING OPEN WHY REGEX: while its partition is closed to it, a new
# job is kept out, and one that runs does not grow over GPUs that become free.
shut_out() {
	local beside told says rc=1
	says="JobId=$job keeps its 8 GPUs: $3"
	beside=$(rigid 8 normal --priority=4294910000)
	wait_until "is_state $beside RUNNING && has_gpus $job 8" 20 || return 1
	told=$(grep -c "$says" "$SB/log/slurmctld.log")
	sb scontrol update PartitionName=main "$1"
	sb scancel "$beside"
	wait_until "[ \$(grep -c '$says' $SB/log/slurmctld.log) -gt $told ]" 20 &&
		has_gpus "$job" 8 && rc=0
	kept_out "$4" || rc=1
	sb scontrol update PartitionName=main "${1%%=*}=$2"
	wait_until "has_gpus $job 16" 40 && return $rc
}

# Of a user other than root, who is in all groups; it has to reach slurmctld.
chmod 711 "$SB/run"
cp "$light" "$WORK/light"
job=$(light=$WORK/light log=/dev/null elastic shutout normal --uid=daemon \
	--chdir=/ -o /dev/null)
wait_until "has_gpus $job 16" 20
denied="its account or QOS may not use"
not_permitted="not permitted to use|PartitionConfig"
ok "DenyAccounts: no growth, until it is allowed again" \
	shut_out DenyAccounts=bio "" "$denied" "$not_permitted"
ok "AllowAccounts" \
	shut_out AllowAccounts=chem ALL "$denied" "$not_permitted"
ok "AllowQos" shut_out AllowQos=part ALL "$denied" "$not_permitted"
ok "DenyQos" shut_out DenyQos=normal "" "$denied" "$not_permitted"
forbids="limits of partition main forbid it"
ok "AllowGroups" \
	shut_out AllowGroups=root ALL "no group of its user may use partition main" \
	"group (not )?permitted"
ok "ReqResv" shut_out ReqResv=YES NO "$forbids" "permission denied"
ok "MaxTime" \
	shut_out MaxTime=30 UNLIMITED "$forbids" PartitionTimeLimit
sb scancel "$job"
wait_until "ended $job" 10

# Two jobs under one limit of their user, and another user's beside them.
one=$(elastic one user)
ok "MaxTRESPerUser: one job grows up to it" wait_until "has_gpus $one 6" 20
two=$(elastic two user)
ok "it shrinks for a second one, and they share" \
	wait_until "has_gpus_or_more $two 2 && has_gpus_or_more $one 3" 20
other=$(rigid 4 user --uid=daemon)
ok "another user's job is not held back" \
	wait_until "is_state $other RUNNING" 20
wide=$(rigid 4 user --priority=4294910000)
ok "both shrink for a job of 4 GPUs under the limit" \
	wait_until "is_state $wide RUNNING" 20
ok "and have what is left" eval 'has_gpus $one 1 && has_gpus $two 1'
sb scancel "$wide"
ok "afterwards they grow again" \
	wait_until "[ \$((\$(gpus_of $one) + \$(gpus_of $two))) -eq 6 ]" 30
ok "no growth was refused by a limit" fails logged 'keeps its .* allows'
sb scancel "$one" "$two" "$other"

one=$(elastic one team)
ok "MaxTRESPerAccount: a job grows up to it" wait_until "has_gpus $one 6" 20
# Slurm has looked at the other one first, and said what it waits for.
sb scontrol suspend "$one"
other=$(rigid 2 team --uid=daemon --priority=4294910000)
ok "another user's job of that account waits for that limit" \
	wait_until "pends_for $other MaxGRESPerAccount" 20
sb scontrol resume "$one"
ok "it shrinks for that job" \
	wait_until "is_state $other RUNNING && has_gpus $one 4" 20
sb scancel "$other"
ok "afterwards it grows again" wait_until "has_gpus $one 6" 20
sb scancel "$one"

# costly NAME MINUTES: a job that loses two minutes by a restart.
costly() {
	submit_light "$1" pollux,max=16 -A bio -q normal -t "$2" \
		-- --profiled=16 --restart=120
}

near=$(costly near 1)
ok "a job that ends sooner than a restart would pay is not grown" eval '
	wait_until "lit near event=begin" 20 && sleep 5 && has_gpus $near 1'
sb scancel "$near"
far=$(costly far 60)
ok "one that has more time is" wait_until "has_gpus_or_more $far 8" 20
sb scancel "$far"
wait_until "ended $near $far" 20

# Books, licences and time limit of one job through many resizes.
job=$(elastic books normal -L solver:2)
wait_until "has_gpus $job 16" 20
ends=$(job_field "$job" EndTime)
ok "after growths the books have what it has" wait_until 'books_are 16' 20
ok "and what it may use of its time limit, to the minute" \
	wait_until "counted_exactly $job" 20
ok "a job that waits for both nodes makes it smaller" eval '
	waits=$(submit_rigid -A bio --uid=daemon -N2 --gpus-per-node=6 \
		--priority=4294910000 -- 600)
	wait_until "is_state $waits RUNNING" 20'
ran=$(decay_ran)
ok "then it may use fewer minutes, just as many fewer" \
	wait_until "has_gpus_or_less $job 4 && counted_exactly $job" 20
ok "and what has passed is not among them" eval '
	wait_until "[ \$(decay_ran) != $ran ]" 90 &&
	wait_until "has_gpus_or_less $job 4 && counted_exactly $job" 20'
sb scancel "$waits"
ok "when it has grown again they are right, in the QOS as well" \
	wait_until "has_gpus $job 16 && counted_exactly $job normal" 40
ok "after that the books have what it has" \
	wait_until "books_are 16" 20
ok "its time limit is what it was" \
	eval '[ -n "$ends" ] && [ "$(job_field "$job" EndTime)" = "$ends" ]'
ok "it has its two licences, once" licences_in_use 2

# The books count a limit in whole minutes.
counted_to_a_minute() {
	local ran gpus left
	ran=$(decay_ran)
	gpus=$(gpus_of "$1")
	left=$((gpus * ($(seconds_of "$1" EndTime) - ran) / 60))
	[ "$ran" = "$(decay_ran)" ] && running_minutes "$left" $((left + gpus))
}
waits=$(submit_rigid -A bio --uid=daemon -N2 --gpus-per-node=8 \
	--priority=4294910000 -- 12)
ok "parked for a while, its limit is longer by that" eval '
	wait_until "has_gpus $job 0" 20 &&
	wait_until "has_gpus_or_more $job 8" 60 &&
	wait_until "logged \"JobId=$job: [1-9][0-9]+ s so far are given back\"" 20 &&
	wait_until "has_gpus $job 16" 20'
ok "and so is what it may use, to the minute" \
	wait_until "counted_to_a_minute $job" 40
sb scontrol update JobId="$job" TimeLimit=60
wait_until "books_are 16" 20
sed -i '/^AccountingStorageEnforce/s/,safe//' "$SB/etc/slurm.conf"
sb pollux-sandbox --dir "$SB" restart slurmctld >"$WORK/restart.txt" 2>&1 ||
	pollux-sandbox --dir "$SB" restart slurmctld >"$WORK/restart.txt" 2>&1
ok "slurmctld started again has the same in its books" \
	wait_until "books_are 16" 20
sb scancel "$job"
wait_until "ended $job" 20
ok "used up, without safe: it does not grow, and a new job waits" used_up
ok "at its end the books are empty" wait_until 'books_are 0' 20
ok "so are those of minutes" wait_until 'running_minutes 0 0' 20
ok "and the licences are back" wait_until 'licences_in_use 0' 10
ok "Slurm has found no count below zero" no_underflow
