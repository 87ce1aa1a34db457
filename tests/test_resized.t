# SPDX-License-Identifier: MIT
# test_resized.t - what slurmctld and slurmd keep of a job does not grow with
# the number of its resizes
#
# A job that makes room for jobs that come and go on both its nodes, under
# PrologFlags=Contain. RESIZES says how many resizes are waited for; each takes a
# second at least, as accounting tells shapes apart by the second.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

: "${RESIZES:=$([ -n "${POLLUX_THOROUGH:-}" ] && echo 1000 || echo 24)}"

cat >"$WORK/prolog" <<END
#!/bin/sh
echo "prolog \$SLURM_JOB_ID \$SLURM_JOB_NODELIST" >>$WORK/scripts
END
sed 's/prolog/epilog/' "$WORK/prolog" >"$WORK/epilog"
chmod 755 "$WORK/prolog" "$WORK/epilog"

sandbox_up --nodes 2 --gpus-per-node 4 --params pollux_min_gap=0.2 \
	--conf-extra PrologFlags=Contain --conf-extra MinJobAge=2 \
	--conf-extra JobCompType=jobcomp/filetxt \
	--conf-extra JobCompLoc="$WORK/comp" \
	--conf-extra PrologSlurmctld="$WORK/prolog" \
	--conf-extra EpilogSlurmctld="$WORK/epilog"
plan 17

# So often it got another shape, and came back to the second node.
resizes() {
	grep -cE "JobId=$job has [0-9]+ GPUs" "$SB/log/slurmctld.log"
}
growths() {
	grep -cE "JobId=$job: the prolog runs" "$SB/log/slurmctld.log"
}

# slurmctld's, in kB.
rss() {
	awk '/^VmRSS/ { print $2 }' \
		"/proc/$(cat "$SB/run/slurmctld.pid")/status"
}

# Of the job: "STEPS EXTERN STATE-BYTES RSS-KB STEPDS", and a line of it shown.
look() {
	local steps stepds
	sleep 6 # its state is saved every five seconds
	steps=$(sb squeue -h -s -j "$job" -o %i)
	stepds=$(find "$SB" -type s -name "*_$job.*" | wc -l)
	echo "$(grep -c . <<<"$steps") $(grep -c extern <<<"$steps")" \
		"$(stat -c %s "$SB/state/job_state")" \
		"$(rss)" "$stepds"
}

tell() {
	# shellcheck disable=SC2086
	printf '%s resizes, %s growths: %s steps (%s extern), job_state %s bytes, slurmctld %s kB, %s slurmstepd\n' \
		"$(resizes)" "$(growths)" $1 | diag
}

# first, last: at most FACTOR times, and MORE, of the field
bounded() {
	awk -v first="$first" -v last="$last" -v f="$1" -v factor="$2" \
		-v more="$3" 'BEGIN {
			split(first, a, " "); split(last, b, " ")
			print "was " a[f] ", is " b[f]
			exit b[f] > a[f] * factor + more
		}'
}

# Short jobs: one on all of n2, then some on a part of n1, as that is faster.
churn() {
	local i=0 round=$((RESIZES > 100 ? 10 : 4))
	while [ ! -e "$WORK/churn.stop" ]; do
		i=$((i + 1))
		if [ $((i % round)) -eq 1 ]; then
			set -- -w n2 --gpus-per-node=4
		else
			set -- -w n1 --gpus-per-node=$((i % 3 + 1))
		fi
		sb sbatch -Q -o /dev/null --priority=4294910000 "$@" \
			--wrap 'sleep 0.2' >/dev/null 2>&1
		sleep 2
	done
}

job=$(submit_light grows pollux,max=8 -w n1 -- --poll=0.2)
ok "a job grows" wait_until 'has_gpus $job 8 && [ "$(resizes)" -ge 3 ]' 60
first=$(look)
tell "$first"
churn 3>/dev/null &
ok "and shrinks, and grows" \
	wait_until '[ "$(resizes)" -ge $((RESIZES / 2)) ]' $((20 + RESIZES))
warm=$(rss)
ok "again and again" \
	wait_until '[ "$(resizes)" -ge "$RESIZES" ]' $((20 + RESIZES))
touch "$WORK/churn.stop"
wait
ok "slurmctld has forgotten all other jobs" wait_until \
	'[ "$(sb squeue -h -t all | wc -l)" -eq 1 ]' 120
last=$(look)
tell "$last"
ok "it came back to its second node, too" [ "$(growths)" -ge $((RESIZES / 40 + 2)) ]
ok "it has one external step, of all its growths" eval '
	[ "${last#* }" != "$last" ] && set -- $last && [ "$2" -eq 1 ]'
ok "and no other steps than before" bounded 1 1 0
# A busy machine saves later, and the others may be in the file still.
ok "its record takes no more room when it is saved" wait_until \
	'last=$(look) && bounded 3 1.1 1000' 30
ok "nor in memory, since half of them" eval \
	'set -- $last && echo "was $warm, is $4" && [ "$4" -le $((warm * 11 / 10 + 1000)) ]'
ok "each node has one slurmstepd for it at most, beside the script" \
	eval 'set -- $last && [ "$5" -le 3 ]'
sb scancel "$job"
ok "at its end there is none" wait_until \
	'[ -z "$(find "$SB" -type s -name "*_$job.*")" ]' 60

# What jobcomp is told of each shape and of the end (docs/rules.md).
records() {
	grep "^JobId=$job " "$WORK/comp" | grep -c "JobState=$1"
}
shapes() {
	grep -cE "JobId=$job held " "$SB/log/slurmctld.log"
}
ok "jobcomp has one record of its end" eval '
	wait_until "records CANCELLED" 20 && [ "$(records CANCELLED)" -eq 1 ]'
ok "and one of each shape before, which says so" eval '
	echo "$(records RESIZING) records of $(shapes) shapes" &&
	[ "$(records RESIZING)" -eq $(($(shapes) - 1)) ]'
ok "PrologSlurmctld has run once, with its first node" eval '
	grep "^prolog $job " "$WORK/scripts"
	[ "$(grep "^prolog $job " "$WORK/scripts")" = "prolog $job n1" ]'
ok "EpilogSlurmctld, too, at its end" wait_until \
	'[ "$(grep -c "^epilog $job " "$WORK/scripts")" -eq 1 ]' 30

# From 26.05 on the memory of a job that runs can be lowered, where it has an
# external step: on each node, however many GPUs the job has there.
mem_of() {
	sb scontrol -d show job "$job" | grep -oE ' Mem=[0-9]+' | sort -u | xargs
}

has_all() {
	has_gpus "$job" 8 && ! sb scontrol show job "$job" |
		grep -qE 'SystemComment=.* state=(asked|lent|moving)'
}

job=$(submit_light less pollux,max=8 -w n1 --mem=4G -- --ack=0.1)
wait_until has_all 60
lowered=$(sb scontrol update job="$job" MinMemoryNode=1000 2>&1)
if grep -q "no longer pending" <<<"$lowered"; then
	skip "the memory of a job that runs is lowered" "from Slurm 26.05 on"
	skip "and so it is in each shape that it has then" "from Slurm 26.05 on"
else
	ok "the memory of a job that runs is lowered" \
		wait_until '[ "$(mem_of)" = Mem=1000 ]' 30
	way=$(submit_rigid -w n2 --gpus-per-node=4 -- 600)
	ok "and so it is in each shape that it has then" eval '
		wait_until "is_state $way RUNNING && has_gpus $job 4" 60 &&
		[ "$(mem_of)" = Mem=1000 ] && sb scancel "$way" &&
		wait_until has_all 60 && [ "$(mem_of)" = Mem=1000 ]'
fi
sb scancel "$job"
