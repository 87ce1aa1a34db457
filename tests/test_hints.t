# SPDX-License-Identifier: MIT
# test_hints.t - jobs write what they like into their comment
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

sandbox_up --nodes 2 --gpus-per-node 12 --cpus-per-node 24 \
	--params pollux_ack_timeout=5
plan 15

status="v=1 launcher=none ack=0 phase=training resizes=0 pause=0,0"
limits="batch=128,1024,1,1024,1"
model="model=0.1,0.01,0.05,0.002,0.02,0.001,1.5"
noise="noise=0.25,12.5"
rest="profiled=1,1 now=16,1 progress=0.5 restart=30"

brackets() {
	printf "%${1}s" '' | tr ' ' "$2"
}

# comment | what slurmctld's log says of it, nothing: it is the user's text.
# \ stands for a byte that is written in octal.
cases=(
	"[pollux $status $limits ${model/0.1/nan} $noise $rest]|model: want 7"
	"[pollux $status $limits ${model/0.1/1e999} $noise $rest]|model: want 7"
	"[pollux $status $limits ${model/0.1/-1} $noise $rest]|model: want 7"
	"[pollux $status $limits $model noise=inf,1 $rest]|noise: want 2"
	"[pollux $status batch=1e30,2,1,2,1 $model $noise $rest]|batch: want 5"
	"[pollux $status batch=128,64,1,1,1 $model $noise $rest]|out of range"
	"[pollux $status $limits $model $noise now=1,1]|profiled: missing"
	"[pollux ${status/ack=0/ack=99999999999999999999}]|ack: want a whole"
	"[pollux ${status/ack=0/ack=-1}]|ack: want a whole"
	"[pollux ${status/none/-7}]|launcher: want a whole"
	"[pollux ${status/pause=0,0/pause=0}]|pause: want 2"
	"[pollux ${status/training/%s%n%s%n}]|phase: missing"
	"[pollux]|v: missing"
	"[pollux v=1\\001\\033[2J\\n$status]|"
	"[pollux ${status/training/tra\\001\\033\\377ing}]|phase: missing"
	"$(brackets 1023 '[')|"
	"[pollux $(brackets 1014 ']')|"
)

# Each job says its text itself, then holds its GPU.
cat >"$WORK/hostile" <<'END'
#!/bin/sh
scontrol update job="$SLURM_JOB_ID" comment="$(cat "$1")"
exec sleep 600
END
# This one answers whatever it is asked at once, but its step stays.
cat >"$WORK/forger" <<'END'
#!/bin/sh
srun -n1 sleep 600 &
while :; do
	serial=$(scontrol show job "$SLURM_JOB_ID" |
		grep -oE 'serial=[0-9]+' | cut -d= -f2)
	scontrol update job="$SLURM_JOB_ID" comment="[pollux v=1 \
launcher=batch ack=${serial:-0} phase=training resizes=0 pause=0,0]"
	sleep 0.1
done
END
# And this one begins a step on all that it was lent, then gives it back.
cat >"$WORK/borrower" <<'END'
#!/bin/sh
say() {
	scontrol update job="$SLURM_JOB_ID" comment="[pollux v=1 \
launcher=batch ack=$1 phase=training resizes=0 pause=0,0]"
}
say 0
while :; do
	set -- $(scontrol show job "$SLURM_JOB_ID" |
		sed -n 's/.*pollux serial=\([0-9]*\) state=\([a-z]*\).*/\1 \2/p')
	case $2 in
	asked) say "$1 live=1" ;;
	lent)
		srun --overlap -n1 --gres=gpu:2 sleep 600 &
		sleep 2
		say "$1"
		echo answered
		wait
		;;
	esac
	sleep 0.1
done
END
chmod +x "$WORK/hostile" "$WORK/forger" "$WORK/borrower"

submit() {
	sb sbatch --parsable --scheduler-params="pollux,$1" -o "$WORK/job.out" \
		"${@:2}"
}

jobs=()
submit_cases() {
	local i text
	for i in "${!cases[@]}"; do
		text=${cases[i]%|*}
		printf '%b' "${text//%/%%}" | sed 's/%%/%/g' >"$WORK/text.$i"
		jobs+=("$(submit max=1 "$WORK/hostile" "$WORK/text.$i")")
	done
	[ "${#jobs[@]}" -eq "${#cases[@]}" ]
}

believes() {
	grep -aE "JobId=$1: its status is not believed" "$SB/log/slurmctld.log"
}

# The comment of each job is what it wrote.
all_written() {
	local job
	for job in "${jobs[@]}"; do
		sb scontrol show job "$job" | grep -q 'Comment=' || return 1
	done
}

all_told() {
	local i
	for i in "${!cases[@]}"; do
		[ -z "${cases[i]##*|}" ] || believes "${jobs[i]}" || return 1
	done
}

# Each case has the one line that it should have, or none.
told_once() {
	local i lines wrong=0
	for i in "${!cases[@]}"; do
		lines=$(believes "${jobs[i]}")
		if [ -z "${cases[i]##*|}" ]; then
			[ -z "$lines" ] && continue
		elif [ "$(echo "$lines" | wc -l)" -eq 1 ] &&
			[[ $lines == *"${cases[i]##*|}"* ]]; then
			continue
		fi
		echo "${cases[i]}: $lines"
		wrong=1
	done
	return $wrong
}

all_run() {
	local job
	for job in "${jobs[@]}"; do
		is_state "$job" RUNNING || return 1
	done
}

all_have_one() {
	local job
	for job in "${jobs[@]}"; do
		has_gpus "$job" 1 || return 1
	done
}

comment_of() {
	sb scontrol show job "$1" | sed -n 's/^ *Comment=\(.*[^ ]\) *$/\1/p'
}

keeps_text() {
	[[ $(comment_of "$1") == "$2 [pollux v=1 "*" phase=training "*] ]]
}

# On the one node, the rigid job has room beside one GPU, not beside two.
keeps_what_it_uses() {
	local borrower rigid
	sb scontrol update nodename=n2 state=drain reason=test
	borrower=$(submit min=1,max=2 "$WORK/borrower")
	wait_until "has_gpus $borrower 2" 30 || return 1
	rigid=$(submit_rigid -N 1 --gres=gpu:11 -- 600)
	wait_until "logged 'JobId=$borrower hands over on 2 GPUs'" 30 &&
		wait_until "grep -q answered $WORK/job.out" 15 && sleep 2 &&
		has_gpus "$borrower" 2 && is_state "$rigid" PENDING
}

watch_start
ok "jobs with hostile comments are submitted" submit_cases
ok "all of them start" wait_until all_run 60
ok "each has said its text" wait_until all_written 30
ok "what is wrong with them is logged" wait_until all_told 30

text='mine: [a] ] "b" [pollux'
good=$(submit min=1,max=4 --comment="$text" --wrap "srun pollux-launch \
--checkpoint-dir $WORK/good.ckpt pollux-train --samples=4096 --batch=256 \
--max-batch=256 --emulate-gpu=compute --epochs=1000000")
ok "another job beside them is resized" \
	wait_until "has_gpus_or_more $good 2 && trains $good" 60
ok "the launcher leaves the user's own comment alone" \
	wait_until "keeps_text $good '$text'" 30
sb scontrol update job="$good" comment=other
ok "also when the user writes another while it runs" \
	wait_until "keeps_text $good other" 30

absent=$(submit max=2 --comment="[pollux ${status/none/4242}]" \
	--wrap "sleep 600")
forger=$(submit max=2 "$WORK/forger")
ok "a forged answer does not hide a step that still runs" \
	wait_until "logged 'JobId=$forger did not answer in 5 s'" 60
ok "a job whose launcher is a step that is not there runs on" \
	is_state "$absent" RUNNING
ok "all hostile jobs run on with what they had" \
	eval 'all_run && all_have_one'
ok "each was complained of once, in a sentence" told_once
ok "slurmctld lives" slurmctld_lives
ok "no GPU had two owners in any look" watch_end
sb scancel "${jobs[@]}" "$good" "$absent" "$forger"
ok "afterwards all nodes are idle, with no GPU allocated" \
	wait_until cluster_is_idle 60
ok "GPUs that were lent are not taken from under a step" keeps_what_it_uses
