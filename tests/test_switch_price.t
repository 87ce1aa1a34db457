# SPDX-License-Identifier: MIT
# test_switch_price.t - docs/rules.md: what a second switch costs a job is what
# it has measured
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/shapes.sh" || exit 1

# n1, n3 and n5 are on one switch, the others on the second one.
sandbox_up --nodes 6 --gpus-per-node 1 --cpus-per-node 2 --switches 2 \
	"$untyped" --params pollux_interval=1
plan 9

# profile NAME ALPHA_N: of GPUs whose all-reduce over nodes takes that long.
profile() {
	cat >"$WORK/$1.profile" <<-END
		alpha_c 0.01
		beta_c 0.002
		alpha_n $2
		beta_n 0.0001
		alpha_r 0.002
		beta_r 0.0001
		gamma 1.5
	END
}
profile near 0.02
profile far 0.4

# Its all-reduce takes twenty times as long on two switches, if it cares.
cat >"$WORK/train" <<'END'
#!/bin/sh
here=${0%/*} how=near
if [ "$CARES" = yes ]; then
	how=$(scontrol show hostnames "$SLURM_STEP_NODELIST" | awk '
		{ seen[substr($1, 2) % 2] = 1 }
		END { print (length(seen) > 1 ? "far" : "near") }')
fi
exec pollux-train --emulate-gpu="$here/$how.profile" "$@"
END
chmod +x "$WORK/train"

# train NAME CARES MAX [SBATCH-OPTION...]: submit a job. Those that care and
# those that do not are not of a kind, which would lend each other models.
train() {
	local most=512
	[ "$2" = yes ] || most=500
	sb sbatch --parsable -J "$1" --scheduler-params="pollux,max=$3" \
		-o "$WORK/$1.out" "${@:4}" --wrap "
		export CARES=$2
		srun pollux-launch -v --checkpoint-dir $WORK/$1.ckpt \
			--hint-interval 1 $WORK/train --batch=64 --max-batch=$most \
			--checkpoint-every=1 --epochs=1000000"
}

comment_of() {
	sb scontrol show job -o "$1" | grep -o '\[pollux v=1 [^]]*\]'
}

# says JOB REGEX: its status does.
says() {
	comment_of "$1" | grep -qE "$2"
}

# part_of JOB: by which an all-reduce takes longer for a further switch.
part_of() {
	comment_of "$1" | sed -n 's/.* switches=\([^,]*\),0 .*/\1/p'
}

# is_priced JOB LOW HIGH: that part is at least LOW, and below HIGH.
is_priced() {
	local part
	part=$(part_of "$1")
	echo "1 + $part of $1"
	awk -v part="$part" -v low="$2" -v high="$3" \
		'BEGIN { exit !(part > 0 && part >= low && part < high) }'
}

dear=$(train dear yes 6)
ok "a job grows onto a second switch" \
	wait_until "[ \"\$(switches_of $dear)\" = 2 ]" 60
ok "its all-reduce takes far longer there: it goes to one with more GPUs" \
	wait_until "rests_on $dear 3 1 && says $dear ' profiled=4,4 '" 90
ok "what it has measured says how much longer" \
	wait_until "is_priced $dear 3 30" 60
before=$(comment_of "$dear" | grep -o 'resizes=[0-9]*')
sleep 6
ok "it does not go there again" eval \
	'rests_on "$dear" 3 1 && says "$dear" "$before "'
sb scancel "$dear"
wait_until cluster_is_idle 30

calm=$(train calm no 6)
ok "a job whose all-reduce does not care grows over both" \
	wait_until "rests_on $calm 6 2 && says $calm ' profiled=6,6 '" 90
# More ranks on a few cores take longer, too, which it cannot tell from that.
ok "as it has measured that a second one costs little" \
	wait_until "is_priced $calm 0 2" 60
sb scancel "$calm"
wait_until cluster_is_idle 30

wide=$(train wide yes 2,min=2 -w n1,n2)
ok "a job that was on two switches alone says so, and no price" \
	wait_until "says $wide ' profiled=2,2 ' && says $wide ' switches=0,1 '" 60
sb scancel "$wide"
wait_until cluster_is_idle 30
one=$(train one yes 2,min=2 -w n1,n3)
ok "one that was on one switch says nothing of them" eval \
	'wait_until "says $one \" profiled=2,2 \"" 60 && ! says "$one" " switches="'
sb scancel "$one"
ok "the jobs are gone" wait_until cluster_is_idle 30
