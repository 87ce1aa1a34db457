# SPDX-License-Identifier: MIT
# light.sh - many elastic jobs, cheaply: see light.c
#
# Sourced after elastic.sh.

light=$POLLUX_BUILDDIR/tests/light

# submit_light NAME PARAMS [SBATCH-OPTION...] -- [LIGHT-OPTION...]: prints the
# job's id. What it did is in $WORK/NAME.light, a line an event:
#
#	job=$(submit_light small pollux,max=8 --priority=5 -- --live --ack=0.5)
#	wait_until "has_gpus $job 8" 30
#	wait_until "lit small ' event=done .*gpus=8'" 30
submit_light() {
	local name=$1 params=$2 options=()
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	sb sbatch --parsable -J "$name" --scheduler-params="$params" \
		-o "$WORK/$name.out" "${options[@]}" --wrap \
		"exec $light --log=$WORK/$name.light $*"
}

# lit NAME REGEX: it has said so.
lit() {
	grep -qE "$2" "$WORK/$1.light"
}
