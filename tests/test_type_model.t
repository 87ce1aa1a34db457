# SPDX-License-Identifier: MIT
# test_type_model.t - docs/rules.md: times measured on one type of GPU are not
# believed on another
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

# n1 and n3 have GPUs of type big, n2 of small, which take five times as long.
sandbox_up --nodes 3 --gpus-per-node 4 --cpus-per-node 8 \
	--gpu-types big,small,big --params pollux_interval=1
plan 10

gone() {
	sb scancel --user="$(id -un)"
	wait_until '[ -z "$(sb squeue -h)" ] && cluster_is_idle' 30
}

# What only says so: both have measured 16 GPUs, one of them of another type.
known=$(submit_light known pollux,max=4 -w n1 -- --live --profiled=16 \
	--type=big)
ok "a job that measured its own type has the GPUs that it asks for" \
	wait_until "has_gpus $known 4" 40
gone
wrong=$(submit_light wrong pollux,max=4 -w n1 -- --live --profiled=16 \
	--type=small)
ok "one that measured another type begins as one that measured nothing" eval '
	wait_until "has_gpus $wrong 2" 40 && sleep 5 && has_gpus $wrong 2'
gone

for node in n1 n2 n3; do
	slower=1
	[ $node != n2 ] || slower=5
	awk -v s=$slower 'BEGIN {
		print "alpha_c", 0.004 * s
		print "beta_c", 0.0005 * s
		print "alpha_n 0.006\nbeta_n 0.0002"
		print "alpha_r 0.002\nbeta_r 0.0001\ngamma 2"
	}' >"$WORK/$node.profile"
done
cat >"$WORK/train" <<-'END'
	#!/bin/sh
	exec pollux-train --emulate-gpu="${0%/*}/$SLURMD_NODENAME.profile" "$@"
END
chmod +x "$WORK/train"

comment_of() {
	sb scontrol show job -o "$1" | grep -o '\[pollux v=1 [^]]*\]'
}

# says JOB REGEX: its status does.
says() {
	comment_of "$1" | grep -qE "$2"
}

# pass_of JOB: seconds of a pass over 64 samples, by the model that it tells.
pass_of() {
	comment_of "$1" | sed -n 's/.* model=\([^,]*\),\([^,]*\),.*/\1 \2/p' |
		awk '{ print $1 + 64 * $2 }'
}

# ratio A B LOW HIGH: A is between LOW and HIGH times B.
ratio() {
	echo "pass of $1 s, and of $2 s"
	awk -v a="$1" -v b="$2" -v low="$3" -v high="$4" \
		'BEGIN { exit !(b > 0 && a >= low * b && a <= high * b) }'
}

job=$(sb sbatch --parsable -J moved --requeue -w n1 \
	--scheduler-params=pollux,max=4 -o "$WORK/moved.out" --wrap "
	srun pollux-launch -v --checkpoint-dir $WORK/moved.ckpt \
		--hint-interval 1 $WORK/train --batch=64 --max-batch=256 \
		--checkpoint-every=1 --epochs=1000000")
ok "a training measures all GPUs of its node" \
	wait_until "says $job ' profiled=1,4 '" 60
ok "its model says which type they are" says "$job" ' type=big'
fast=$(pass_of "$job")
ok "and how fast they are" ratio "$fast" 0.036 0.8 1.25

# One GPU of the other type is free.
filler=$(submit_rigid -N1 -w n2 --gpus-per-node=3 -- 600)
wait_until "is_state $filler RUNNING" 20
# Requeued, it may begin elsewhere, and holds what it had until it does.
sb scontrol requeuehold "$job"
wait_until "is_state $job PENDING" 40
sb scontrol update job="$job" ReqNodeList=n2
sb scontrol release "$job"
ok "requeued, it begins on the one GPU that is free of the other type" \
	wait_until "is_state $job RUNNING && has_gpus $job 1 && trains $job" 60
ok "after some steps there its model is of this type" \
	wait_until "says $job ' type=small'" 40
slow=$(pass_of "$job")
ok "passes are scaled by what was measured" ratio "$slow" "$fast" 4 6.5
ok "and what it knows of more GPUs holds for these" \
	says "$job" ' profiled=1,4 '
ok "it went on from its checkpoint" eval \
	'grep -c "restored\|step [1-9]" "$WORK/moved.out"'
gone
