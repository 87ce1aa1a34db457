# SPDX-License-Identifier: MIT
# test_phases.t - each fault in each phase of a resize (docs/faults.md)
#
# One job is resized again and again. As soon as the launcher says that a
# phase has begun, the fault follows; the training must go on, and in the end
# every sample must have been used once. POLLUX_THOROUGH=1 tries all of them,
# without it some; POLLUX_CELLS="PHASE:FAULT ..." tries those.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

# Phases as the launcher calls them: of a handover, and of a cold resize.
warm="lending warming handing taking training"
cold="saving agreed starting"
faults="old new launcher slurmctld node cancel"
cells=${POLLUX_CELLS:-"warming:new handing:old taking:slurmctld warming:node
	starting:cancel"}
if [ -n "${POLLUX_THOROUGH:-}" ]; then
	cells=
	for phase in $warm $cold; do
		for fault in $faults; do
			case $phase:$fault in
			# There are none of them then.
			lending:new | saving:new | agreed:new) continue ;;
			agreed:old | starting:old) continue ;;
			esac
			cells+=" $phase:$fault"
		done
	done
fi

sandbox_up "$untyped" --nodes 3 --gpus-per-node 2
# shellcheck disable=SC2086
plan $(($(echo $cells | wc -w) + 4))

samples=4096
args="--samples=$samples --batch=256 --max-batch=256 --emulate-gpu=compute
	--checkpoint-every=1"
mkdir "$WORK/tmp"
export TMPDIR=$WORK/tmp

cat >"$WORK/train" <<END
#!/bin/sh
exec pollux-train "\$@" --epochs="\$(cat '$WORK/epochs')"
END
# Without srun, what the launcher says is in the file at once.
cat >"$WORK/script" <<END
#!/bin/bash
until pollux-launch -v --max-restarts=100 --checkpoint-dir "\$1" \
	\$(cat '$WORK/options') $WORK/train $(echo $args); do
	[ -e '$WORK/end' ] && exit 1
done
exit 0
END
chmod +x "$WORK/train" "$WORK/script"
echo 1000000 >"$WORK/epochs"
: >"$WORK/options"

# ---- a job for many cells ----

begin_job() {
	jobs=$((${jobs:-0} + 1))
	name=job$jobs
	mkdir "$WORK/$name.log"
	job=$(POLLUX_SAMPLE_LOG=$WORK/$name.log sb sbatch --parsable \
		-J "$name" --scheduler-params=pollux,min=2,max=6 \
		-o "$WORK/$name.out" --export=ALL \
		"$WORK/script" "$WORK/$name.ckpt")
	wait_until "give_back; is_ready" 60
}

trained_more() {
	[ "$(epochs_of "$name")" -gt $(("$1" + 1)) ]
}

trains_well() {
	local epochs
	epochs=$(epochs_of "$name")
	wait_until "trains $job && trained_more $epochs" 40
}

# On the whole cluster, and no question open.
is_ready() {
	has_gpus_or_more "$job" 6 && trains "$job" &&
		sb scontrol show job "$job" |
		grep -qE 'SystemComment=.* state=(done|refused)'
}

give_back() {
	sb scancel --name=way
}

# A new launcher has not seen handovers fail, and reads its options.
renew() {
	local starts
	echo "$1" >"$WORK/options.new"
	[ -e "$WORK/spoilt" ] || ! cmp -s "$WORK/options.new" \
		"$WORK/options" || return 0
	mv "$WORK/options.new" "$WORK/options"
	starts=$(lines_in "$WORK/$name.out" '^pollux-launch: starting ->')
	# shellcheck disable=SC2046
	signal KILL $(launcher_of "$job")
	wait_until "[ \$(lines_in $WORK/$name.out \
		'^pollux-launch: starting ->') -gt $starts ]" 40
	rm -f "$WORK/spoilt"
}

# ---- faults, as quick as may be ----

prepare() {
	victims=
	# Without the node of its script a job ends, whoever schedules it.
	lost=n3
	[ "$(job_field "$job" BatchHost)" != n3 ] || lost=n2
	case $1 in
	old) victims=$(rank_of "$job" 1) ;;
	launcher) victims=$(launcher_of "$job") ;;
	slurmctld) victims=$(slurmctld_pid) ;;
	esac
	generation=$(tr '\0' '\n' </proc/"$(rank_of "$job" 0)"/environ |
		sed -n 's/^POLLUX_GENERATION=//p')
}

# A rank of the generation that was started last.
newest_rank() {
	local pid file number
	for pid in $(pgrep -x pollux-train | sort -nr); do
		file=/proc/$pid/environ
		grep -qszxF "POLLUX_SANDBOX=$SB" "$file" || continue
		number=$(tr '\0' '\n' <"$file" |
			sed -n 's/^POLLUX_GENERATION=//p')
		[ "${number:-0}" -gt "$generation" ] && echo "$pid" && return
	done
}

# Ranks of the next generation take a while to appear.
kill_new() {
	local pid
	for _ in {1..100}; do
		pid=$(newest_rank)
		[ -z "$pid" ] || break
		sleep 0.02
	done
	[ -n "$pid" ] && kill -KILL "$pid"
}

inject() {
	case $1 in
	old | launcher | slurmctld) kill -KILL $victims ;;
	new) kill_new ;;
	node)
		kill_node $lost
		sb scontrol update nodename=$lost state=down reason=test
		;;
	cancel) sb scancel "$job" ;;
	esac 2>/dev/null
}

# What is broken is mended; the job has to manage by itself.
mend() {
	case $1 in
	slurmctld) restart_slurmctld ;;
	node)
		pollux-sandbox restart --dir "$SB" $lost
		sb scontrol update nodename=$lost state=resume
		;;
	esac >/dev/null 2>&1
	return 0
}

# Wait for the phase, at most so many seconds; say whether it still was.
strike() {
	local phase=$1 fault=$2 line from
	from=$(($(wc -l <"$WORK/$name.out") + 1))
	make_way=$(submit_rigid -J way -N2 --gpus-per-node=2 -- 600)
	while IFS= read -r line; do
		case $line in
		"pollux-launch: "*" -> $phase") break ;;
		esac
	done < <(timeout $((20 * POLLUX_PATIENCE)) \
		tail -n "+$from" -s 0.01 -f "$WORK/$name.out")
	inject "$fault" || echo "there was nobody for this fault"
	tail -n "+$from" "$WORK/$name.out" |
		sed -nE 's/^pollux-launch: [a-z]+ -> ([a-z]+)$/\1/p' >"$WORK/seen"
	grep -qx "$phase" "$WORK/seen" || {
		echo "the launcher was never $phase:"
		cat "$WORK/seen"
		return 1
	}
	echo "$phase:$fault $(tail -n 1 "$WORK/seen")" >>"$WORK/hits"
}

survives() {
	local phase=$1 fault=$2 options=
	case " $cold " in *" $phase "*) options=--no-prewarm ;; esac
	wait_until "give_back; is_ready" 90 && renew "$options" &&
		wait_until is_ready 60 || return 1
	prepare "$fault"
	strike "$phase" "$fault"
	local rc=$?
	touch "$WORK/spoilt"
	mend "$fault"
	[ $rc = 0 ] || return 1
	if [ "$fault" = cancel ]; then
		wait_until "is_state $job CANCELLED" 40 &&
			wait_until "nothing_left $job" 40
		rc=$?
		nothing_left "$job"
		begin_job
		return $rc
	fi
	trains_well
}

completes() {
	local epoch
	wait_until "give_back; trains $job" 90
	epoch=$(grep -oE '^epoch [0-9]+' "$WORK/$name.out" | tail -n 1)
	last=$((${epoch#epoch } + 8))
	echo $last >"$WORK/epochs"
	touch "$WORK/end"
	# shellcheck disable=SC2046
	signal KILL $(rank_of "$job" 0) &&
		wait_until "is_state $job COMPLETED" 60
}

# Of the jobs that were cancelled, all epochs that were finished.
samples_once() {
	local i epochs
	for ((i = 1; i < jobs; i++)); do
		epochs=$(grep -oE '^epoch [0-9]+' "$WORK/job$i.out" |
			cut -d' ' -f2 | sort -n | tail -n 1)
		[ "${epochs:-0}" -lt 2 ] || bash "$POLLUX_SRCDIR/tests/samples.sh" \
			"$WORK/job$i.log" $samples $((epochs - 1)) so-far ||
			return 1
	done
	bash "$POLLUX_SRCDIR/tests/samples.sh" "$WORK/$name.log" $samples \
		"$last"
}

begin_job
for cell in $cells; do
	ok "${cell#*:} in phase ${cell%:*}: training goes on" \
		survives "${cell%:*}" "${cell#*:}"
done
ok "after all that the job completes" completes
ok "every sample of every epoch was used exactly once" samples_once
ok "no process of it is left" wait_until "nothing_left $job" 40
give_back
ok "all nodes are idle, and slurmctld lives" \
	wait_until "cluster_is_idle && slurmctld_lives" 60
[ ! -e "$WORK/hits" ] || awk '
	{ split($1, cell, ":"); n++; hit += cell[1] == $2 }
	END { printf "# %d of %d faults came while the phase lasted\n", hit, n }
	' "$WORK/hits"
