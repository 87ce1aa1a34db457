# SPDX-License-Identifier: MIT
# moods.sh - trainings that do what they are told: see moods.c
#
# Sourced after elastic.sh, or lib.sh for those without Slurm.

moods=${POLLUX_MOODS:-$POLLUX_BUILDDIR/tests/moods}

# submit_moods NAME EPOCHS [OPTION...]: of the launcher; a job on one GPU or two,
# or as $moods_params says.
submit_moods() {
	local name=$1 epochs=$2
	shift 2
	mkdir -p "$WORK/$name"
	sb sbatch --parsable -J "$name" --scheduler-params="${moods_params:-pollux,min=1,max=2}" \
		-o "$WORK/$name.out" --wrap "pollux-launch -v $* --checkpoint-dir \
		$WORK/$name.ckpt $moods $WORK/$name $epochs"
}

# does NAME RANK WHAT: have a rank do it, and wait until it does.
does() {
	echo "$3" >"$WORK/do" && mv "$WORK/do" "$WORK/$1/do.$2"
	wait_until "[ ! -e $WORK/$1/do.$2 ]" 20
}

# says NAME REGEX, said NAME REGEX: in its output; how often.
says() {
	grep -qE "$2" "$WORK/$1.out"
}

said() {
	grep -cE "$2" "$WORK/$1.out"
}

# grows JOB NAME: to its two GPUs, and trains there.
grows() {
	wait_until "has_gpus $1 2 && trains $1" 60 &&
		wait_until "says $2 '1 -> 2 GPUs'" 20
}

# shrinks NAME: while it is on two GPUs somebody else wants three.
shrinks() {
	rigid=$(submit_rigid --gpus-per-node=3 --priority=4294910000 -- 3600)
	wait_until "says $1 'training -> saving|warming -> handing'" 20
}

# gets_its_gpus JOB: who waits has them, and the job the one that is left.
gets_its_gpus() {
	wait_until "is_state $rigid RUNNING && has_gpus $1 1" 40
}

# loses_no_step JOB NAME STEPS
loses_no_step() {
	wait_until "ended $1" 120
	is_state "$1" COMPLETED && says "$2" "has seen $3 steps"
}
