# SPDX-License-Identifier: MIT
# test_devices.t - docs/security.md: who can open which GPU, after each resize
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/devices.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

why=$(no_devices)
[ -z "$why" ] || skip_all "$why"
need_readers
devices_up --nodes 2 --gpus-per-node 4 --cpus-per-node 16 \
	--params pollux_interval=1,pollux_min_gap=0.2,pollux_ack_timeout=4
plan 30

# The script of an elastic job looks, and so does each rank. Beside the script
# a process holds one of the GPUs, but that it does not train there.
cat >"$WORK/rank" <<END
#!/bin/sh
$WORK/opener "rank\$SLURM_PROCID" 0.2 &
exec pollux-train --samples=200000 --batch=256 --max-batch=2048 \\
	--emulate-gpu=compute --epochs=1000000
END
cat >"$WORK/elastic" <<END
#!/bin/sh
$WORK/opener script 0.1 &
sh -c 'echo \$\$ >$WORK/holder; exec sleep 600 <$SB/dev/gpu1' &
srun pollux-launch --checkpoint-dir $WORK/ckpt $WORK/rank
END
chmod 755 "$WORK/rank" "$WORK/elastic"

# rigid USER OPTION...: a job of another user that looks all the time.
rigid() {
	local user=$1 id
	shift
	id=$(pollux-sandbox exec --dir "$SB" --user "$user" sbatch --parsable \
		-o /dev/null "$@" --wrap "exec $WORK/opener rigid 0.1") &&
		sb scontrol update job="$id" priority=4294910000 && echo "$id"
}

holder_lives() {
	kill -0 "$(cat "$WORK/holder")" 2>/dev/null
}

# gpus_on JOB NODE: those that Slurm says it has there, as "013".
gpus_on() {
	devices_of "$1" | awk -v node="$2" '$1 == node { print $2 }' |
		awk -v RS='[,\n]' '{
			n = split($0, ends, "-")
			for (i = ends[1]; n && i <= ends[n]; i++)
				printf "%d", i
		}'
}

# All that look at this moment can open just what Slurm says.
rigid_has_its_own() {
	can_open "$1" "$2" rigid "$(gpus_on "$1" "$2")"
}

# Of its own, and of no other GPU, its ranks can open one each.
ranks_have_their_own() {
	local gpus node all=""

	for node in n1 n2; do
		gpus=$(awk -v job="$1" -v node="$node" -v now="$EPOCHREALTIME" '
			$2 == job && $3 == node && $4 ~ /^rank/ &&
			now - $1 < 2 { can[$4] = $5 }
			END { for (rank in can) print can[rank] }' \
			"$WORK/opens" | sort -u | tr -d '\n')
		[ "$gpus" = "$(gpus_on "$1" "$node")" ] || return 1
		all+=$gpus
	done
	[ -n "$all" ]
}

job=$(sb sbatch --parsable -o "$WORK/elastic.out" --gres=gpu:2 \
	--scheduler-params=pollux,min=2,max=4 "$WORK/elastic")
wait_until "is_state $job RUNNING" 30
home=$(job_field "$job" BatchHost)
other=n$((3 - ${home#n}))
ok "a script can open the GPUs that its job begins with" \
	wait_until "can_open $job $home script 01" 30
ok "the job grows onto all of them" wait_until "has_gpus $job 4" 60
ok "each rank can open one of them" wait_until "ranks_have_their_own $job" 30
ok "what holds one of its GPUs is left alone" holder_lives

two=$(rigid daemon -w "$home" --gres=gpu:2)
ok "it gives up two for a job of another user" wait_until \
	"is_state $two RUNNING" 60
ok "who can open just these" wait_until "rigid_has_its_own $two $home" 30
ok "its own ranks can open what it has" wait_until \
	"ranks_have_their_own $job" 30
ok "and its script no more than that" eval '
	own=$(gpus_on "$job" "$home")
	wait_until "can_open $job $home script \$(echo $own | tr -d 23 | grep . ||
		echo -)" 10'

more=$(rigid bin -w "$home" --gres=gpu:2)
ok "it leaves the node of its script to a third one" wait_until \
	"is_state $more RUNNING && [ -z \"\$(gpus_on $job $home)\" ]" 60
ok "its script can open none then" wait_until \
	"can_open $job $home script -" 10
ok "and what held one has been ended" fails holder_lives
ok "the log of the node says so" grep -q \
	"job $job: 1 processes were ended that held GPUs" "$SB/log/$home.log"
ok "both others have theirs" wait_until \
	"rigid_has_its_own $two $home && rigid_has_its_own $more $home" 10
ok "it trains on another node" wait_until "ranks_have_their_own $job" 30

pollux-sandbox restart --dir "$SB" "$home" >>"$WORK/restart.out" 2>&1
pollux-sandbox restart --dir "$SB" slurmctld >>"$WORK/restart.out" 2>&1
last=$(rigid daemon -w "$other" --gres=gpu:4)
ok "daemons are restarted, and it is parked" wait_until \
	"is_state $last RUNNING && has_gpus $job 0" 60
ok "its script can open none" wait_until "can_open $job $home script -" 10
sb scancel "$two" "$more" "$last"
ok "they end, and it comes back" wait_until "ranks_have_their_own $job" 60
sb scancel "$job"
wait_until cluster_is_idle 60

# The launcher is killed, and the script goes on, with one of its GPUs open.
sed 's/^srun .*/&; exec sleep 600/' "$WORK/elastic" >"$WORK/crash"
chmod 755 "$WORK/crash"
job=$(sb sbatch --parsable -o "$WORK/crash.out" --gres=gpu:2 \
	--scheduler-params=pollux,min=1,max=2 "$WORK/crash")
wait_until "is_state $job RUNNING" 30
home=$(job_field "$job" BatchHost)
ok "another job trains on two GPUs of a node" eval '
	wait_until "ranks_have_their_own $job" 60 &&
	[ "$(job_field "$job" NumNodes)" = 1 ]'
last=$(rigid daemon -w "n$((3 - ${home#n}))" --gres=gpu:4)
wait_until "is_state $last RUNNING" 60
kill -KILL $(launcher_of "$job")
ok "its launcher is killed, and its ranks end" wait_until \
	'[ -z "$(rank_of "$job" 0)$(rank_of "$job" 1)" ]' 60
more=$(rigid bin -w "$home" --gres=gpu:3)
ok "it gives up one for a job of another user all the same" wait_until \
	"is_state $more RUNNING && has_gpus $job 1" 120
ok "who can open just its own, and the script the rest" wait_until \
	"rigid_has_its_own $more $home &&
	can_open $job $home script \$(gpus_on $job $home)" 20
sb scancel "$more" "$last"
ok "no GPU was ever open to two jobs" eval '
	found=$(opened_twice) && { [ -z "$found" ] || { echo "$found"; false; }; }'
ok "which would have been seen" eval '
	printf "%s\n" "1 7 n1 rigid 0" "2 8 n1 script 0" "3 7 n1 rigid 0" |
		awk -f "$POLLUX_SRCDIR/tests/opened_twice.awk" | grep -q "job 8"'
sb scancel "$job"
ok "it ends" wait_until cluster_is_idle 60

write_agree
# A step is reported ended and runs on.
cat >"$WORK/liar" <<END
#!/bin/bash
srun --overlap --gres=gpu:2 sh -c 'echo \$\$ >$WORK/stale; exec sleep 600' &
sleep 2
$POLLUX_BUILDDIR/tests/forge_end "\$SLURM_JOB_ID" 0 && echo believed
exec $WORK/agree
END
# Steps all the time: each has the node's groups written as they were.
cat >"$WORK/restless" <<END
#!/bin/bash
$WORK/agree &
while :; do
	srun --overlap -n1 --gres=none sleep 0.3 &
	sleep 0.2
done
END
chmod 755 "$WORK/liar" "$WORK/restless"
attack() {
	sb sbatch --parsable -o "$WORK/$1.out" --gres=gpu:2 \
		--scheduler-params=pollux,min=1,max=2 "$WORK/$1"
}

if [ -x "$POLLUX_BUILDDIR/tests/forge_end" ]; then
	job=$(attack liar)
	ok "a step can be reported ended that runs on" wait_until \
		"grep -q believed $WORK/liar.out" 30
	home=$(job_field "$job" BatchHost)
	other=n$((3 - ${home#n}))
	two=$(rigid daemon -w "$other" --gres=gpu:4)
	more=$(rigid bin -w "$home" --gres=gpu:4)
	ok "when its job gives up GPUs it is ended" eval '
		wait_until "is_state $more RUNNING" 60 &&
		fails kill -0 "$(cat "$WORK/stale")"'
	sb scancel "$job" "$two" "$more"
	wait_until cluster_is_idle 60
else
	skip "a step can be reported ended that runs on" "no source of Slurm"
	skip "when its job gives up GPUs it is ended" "no source of Slurm"
fi

job=$(attack restless)
wait_until "is_state $job RUNNING && trains $job" 30
home=$(job_field "$job" BatchHost)
other=n$((3 - ${home#n}))
two=$(rigid daemon -w "$other" --gres=gpu:4)
more=$(rigid bin -w "$home" --gres=gpu:4)
ok "a job that starts steps all the time loses its place" wait_until \
	"is_state $more RUNNING" 120
# A node may be told between two of its steps: then it goes on with what is left.
ok "slurmctld's log says why, where it is put back into the queue" eval '
	[ "$(job_field "$job" Restarts)" = 0 ] && is_state "$job" RUNNING ||
		logged "JobId=$job keeps GPUs that others wait for, as its steps do not end"'
sb scancel "$job" "$two" "$more"
ok "nothing is left" wait_until cluster_is_idle 60
ok "nor a control group of a job" wait_until "! job_groups | grep -q ." 30
pollux-sandbox down --dir "$SB" >>"$WORK/restart.out" 2>&1
devices_down
