# SPDX-License-Identifier: MIT
# test_options.t - --scheduler-params from the command line into the job
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

sandbox_up --nodes 3 --gpus-per-node 4
entry=_SLURM_SPANK_OPTION_pollux_scheduler_params

# The job's fields but for those that differ between any two jobs.
fields() {
	sb scontrol show job -o "$1" | tr ' ' '\n' |
		grep -vE '^(JobId|.*Time|Priority|LastSchedEval|Reason|StdOut|AccrueTime|.*Sid)='
}

field() {
	sb scontrol show job -o "$1" | grep -oE "(^| )$2=[^ ]*" |
		head -n 1 | cut -d= -f2-
}

# held OPTIONS...: submit a job that will not start; prints its id.
held() {
	sb sbatch --parsable --hold -o /dev/null "$@" --wrap true
}

# one_sentence SENTENCE COMMAND...: fails, and says only that.
one_sentence() {
	local sentence=$1
	shift
	if sb "$@" >"$WORK/refused.out" 2>&1; then
		echo "was accepted: $*"
		return 1
	fi
	cat "$WORK/refused.out"
	[ "$(wc -l <"$WORK/refused.out")" = 1 ] &&
		grep -qF -- "$sentence" "$WORK/refused.out"
}

# says SENTENCE COMMAND...: fails, and says that among other things.
says() {
	local sentence=$1
	shift
	if sb "$@" >"$WORK/refused.out" 2>&1; then
		echo "was accepted: $*"
		return 1
	fi
	cat "$WORK/refused.out"
	grep -qF -- "$sentence" "$WORK/refused.out"
}

# refused SENTENCE OPTIONS...: slurmctld does not take such an elastic job.
refused() {
	local sentence=$1
	shift
	says "$sentence" sbatch --scheduler-params=pollux,min=2,max=8 "$@" \
		--wrap true
}

# starts_as "NODES GPUS-PER-NODE TASKS" OPTIONS...
starts_as() {
	local want=$1 job got
	shift
	job=$(held "$@") || return 1
	got="$(field "$job" NumNodes) $(field "$job" TresPerNode) $(field "$job" NumTasks)"
	sb scancel "$job"
	echo "$got"
	got=${got/gres\//gres:} # as 25.05 writes it
	# A job that waits shows a range of nodes.
	[ "${got/-[0-9]*gres/ gres}" = "${want/ / gres:gpu:}" ]
}

helps() {
	sb "$1" --help >"$WORK/help.out"
	for key in min max batch max-batch min-gpu-batch max-gpu-batch; do
		grep -qE "^ +$key=(GPUS|SAMPLES) " "$WORK/help.out" || return 1
	done
	grep -qE "^ +mode=live\|requeue " "$WORK/help.out" || return 1
	grep -qE "^ +checkpoint=SECONDS " "$WORK/help.out" || return 1
	grep -q -- "--scheduler-params=pollux" "$WORK/help.out"
}

# NODE, or NO: since 26.05 OverSubscribe tells of the partition.
exclusive() {
	case $(field "$1" Exclusive)$(field "$1" OverSubscribe) in
	NODE* | NO) echo NODE ;;
	*) echo NO ;;
	esac
}

# Fields of a job with a request of its own: as without Pollux's job_submit.
untouched() {
	local want=$1 job got
	shift
	job=$(held "$@") || return 1
	got="$(field "$job" NumTasks) $(field "$job" TresPerNode) $(exclusive "$job")"
	got=${got/gres\//gres:}
	fields "$job" >"$WORK/fields.out"
	sb scancel "$job"
	cat "$WORK/fields.out"
	# The folder of this test may well be called so.
	[ "$got" = "$want" ] &&
		! grep -v '^[^=]*=/' "$WORK/fields.out" | grep -i pollux
}

# sees WANT COMMAND...: the program's output has this line, and no other.
sees() {
	local want=$1
	shift
	sb "$@" >"$WORK/sees.out" 2>"$WORK/sees.err"
	cat "$WORK/sees.out" "$WORK/sees.err"
	[ "$(sort -u "$WORK/sees.out")" = "$want" ]
}

batch_sees() {
	local want=$1
	shift
	sb sbatch -W -o "$WORK/batch.out" "$@" "$WORK/show.sh"
	cat "$WORK/batch.out"
	[ "$(sort -u "$WORK/batch.out")" = "$want" ]
}

forged_refused() {
	local out
	if out=$(sb "$POLLUX_BUILDDIR/tests/forge" "$@" 2>&1); then
		echo "was accepted: $out"
		return 1
	fi
	echo "$out"
	[[ $out == *Pollux:* ]]
}

# Many damaged texts; whatever becomes of them, slurmctld answers.
survives_storm() {
	local i text base=pollux,min=2,max=4,batch=64,max-batch=128
	for ((i = 0; i < ${#base}; i++)); do
		text="${base:0:i}$(printf '%b' "\\x$(printf %02x $((i * 37 % 255 + 1)))")${base:i+1}"
		sb "$POLLUX_BUILDDIR/tests/forge" "$entry=$text" >/dev/null 2>&1
	done
	sb scontrol ping | grep -q "is UP"
}

cat >"$WORK/show.sh" <<'END'
#!/bin/bash
echo "params=$POLLUX_PARAMS"
srun --overlap -n1 -N1 /bin/sh -c 'echo "params=$POLLUX_PARAMS"'
END
# shellcheck disable=SC2016 # the variable is for the job's shell
show='echo "params=$POLLUX_PARAMS"'

plan 41
for command in sbatch srun salloc; do
	ok "$command --help shows the option and its keys" helps $command
	ok "$command refuses a bad key in one sentence" one_sentence \
		"$command: error: --scheduler-params: mox: unknown key, did you mean max?" \
		$command --scheduler-params=pollux,mox=3 "$WORK/show.sh"
	ok "$command refuses a bad value in one sentence" one_sentence \
		"max=0: want GPUs from 1 to 4096" \
		$command --scheduler-params=pollux,max=0 "$WORK/show.sh"
	ok "$command refuses another scheduler's name" one_sentence \
		'"fifo": unknown scheduler' \
		$command --scheduler-params=fifo "$WORK/show.sh"
done

ok "a job without the option keeps what it asked for" untouched \
	"3 gres:gpu:1 NODE" -n3 -N3 --gres=gpu:1 --exclusive
ok "a job without any request stays without GPUs" untouched "1  NO"

ok "an elastic job starts with one GPU" starts_as "1 1 1" \
	--scheduler-params=pollux
ok "or with as few as it wants, on one node" starts_as "1 3 3" \
	--scheduler-params=pollux,min=3
ok "or with the same number on as few nodes as possible" starts_as "2 3 6" \
	--scheduler-params=pollux,min=6
ok "never with more than it wants" starts_as "3 1 3" \
	--scheduler-params=pollux,min=3,max=3 --nodes=3
ok "a uniform start of the user's own is kept" starts_as "2 2 4" \
	--scheduler-params=pollux -N2 --gpus-per-node=2
ok "GPUs asked for in all are spread evenly" starts_as "2 4 8" \
	--scheduler-params=pollux --gpus=8

ok "more GPUs than max are refused" refused \
	"cannot start with min=2 to max=8 GPUs" --gpus=12
ok "a GPU type that no node has is refused" refused \
	"no node of this cluster has GPUs of type none" --gres=gpu:none:1
ok "an elastic job with whole nodes starts with all GPUs of one" starts_as \
	"1 4 4" --scheduler-params=pollux --exclusive
ok "--gpus-per-task is refused" refused "leave out --gpus-per-task" \
	--gpus-per-task=1 -n2
ok "GPUs of two types are refused" refused "all of them of one type" \
	--gres=gpu:a:1,gpu:b:1
ok "more than the whole cluster is refused" says \
	"min=13: the cluster has 3 nodes of at most 4 GPUs" \
	sbatch --scheduler-params=pollux,min=13 --wrap true
ok "srun with fewer tasks than nodes is refused" says \
	"leave out --ntasks" srun -n1 --scheduler-params=pollux,min=6 true

ok "the batch script and its steps are told the options" batch_sees \
	"params=pollux,min=2" --scheduler-params=pollux,min=2
if [ -n "${POLLUX_SLURM_PREFIX:-}" ]; then
	skip "also when the environment is left behind" \
		"with it goes the PATH that leads to this Slurm"
else
	ok "also when the environment is left behind" batch_sees \
		"params=pollux,max=4" --export=NONE \
		--scheduler-params=pollux,max=4
fi
ok "srun alone creates an elastic job" sees "params=pollux,min=3" \
	srun --scheduler-params=pollux,min=3 /bin/sh -c "$show"
ok "salloc's shell is told the options" sees "params=pollux,min=2" \
	salloc --scheduler-params=pollux,min=2 /bin/sh -c "$show"
ok "a job submitted by an elastic job is not elastic by that" sees "" \
	salloc --scheduler-params=pollux /bin/sh -c \
	"sbatch -W -o $WORK/inner.out --wrap 'env | grep POLLUX_PARAMS' >/dev/null; cat $WORK/inner.out"

ok "a forged RPC with a bad text is refused" forged_refused \
	"$entry=pollux,min=0"
ok "one with another name is refused" forged_refused A=b "$entry="
ok "one of 60,000 bytes is refused" forged_refused \
	"$entry=$(printf '%060000d' 0)"
ok "one with control characters and formats is refused" forged_refused \
	"$entry=pollux,min=$(printf '\033[2J\n%%s%%n')"
ok "what it said is one line in the log" logged \
	'job_submit/pollux: job of uid [0-9]+ refused: min=\?\[2J\?%s%n: want'
ok "300 SPANK entries are refused, of any job" forged_refused --many=300
ok "300,000 are as well, of an elastic one" forged_refused --many=300000 \
	"$entry=pollux"
ok "200 are not" sb "$POLLUX_BUILDDIR/tests/forge" --many=200
ok "slurmctld lives through damaged texts" survives_storm
