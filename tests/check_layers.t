# SPDX-License-Identifier: MIT
# check_layers.t - who may include whom (docs/layers.md)
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
src=$POLLUX_SRCDIR/src

none() {
	local found
	found=$("$@")
	echo "$found"
	[ -z "$found" ]
}

# Quoted includes of a folder that name another than these (regex).
strangers() {
	grep -rnE '^#include "' --include='*.[ch]' "$src/$1" |
		grep -vE "#include \"(($2)/|config.h\")"
}

# System headers of a vendor outside the folders (regex) that may see it.
vendor() {
	grep -rnE "^#include [<\"]($1)" --include='*.[ch]' "$src" |
		grep -vE "^$src/($2)"
}

impure() {
	grep -rnE '\<(time|clock_gettime|getenv|s?rand|random|exit|printf|fopen|open|read|write|fprintf|puts) ?\(' \
		--include='*.c' "$src/core"
}

# Calls that go by a path, outside the files (regex) that may make them.
by_path() {
	grep -rnE '\<(f?open|openat|freopen|creat|(f|fd)?opendir|mkdir(at)?|unlink(at)?|rename(at2?)?|rmdir|remove|truncate|(sym)?link(at)?) ?\(' \
		--include='*.c' "$src/wire" "$src/agent" "$src/launcher" |
		grep -vE "^$src/($1):"
}

# The last steps to a posed problem, written again somewhere else.
posed_twice() {
	grep -rnE '\<plx_(app_profile_(learn|apply)|problem_set_weights|moldable_assume) ?\(' \
		--include='*.c' "$src" "$POLLUX_SRCDIR/bench" |
		grep -vE "^$src/core/(jobs/(app_profile|moldable|prepare)|problem/weights)\.c:"
}

# Those that open no folder of a run: /proc and /sys, memory, what a test
# names, the folder of the user's program, which is listed alone, and the
# launcher's end of a socket in a folder by mkdtemp().
elsewhere='agent/(memory/nodemem|disk/samplelog).c'
elsewhere+='|launcher/(rank/rank_(bind|gpu|stop)|loop/host_memory|job/local_gpus).c'
elsewhere+='|launcher/(ranks/(peer|relay|srun_step)|loop/script).c'
elsewhere+='|wire/(channel|free_memory|run_page).c'

# Includes in a room of a folder that name another than itself and those above
# it; and files of the folder that are in no room, but for these (regex).
climbs() {
	local folder=$1 room above
	while read -r room above; do
		grep -nE "^#include \"$folder/" "$src/$folder/$room"/*.[ch] |
			grep -vE "\"$folder/(($room|${above// /|})/|pollux.h)"
	done
	find "$src/$folder" -maxdepth 1 -name '*.[ch]' | grep -vE "/($2)$"
}

core_climbs() {
	climbs core none <<-END
		base none
		model base
		records base model
		problem base model records
		search base model records problem
		reserve base model records problem search
		jobs base model records problem search
		policy base model records problem search
		snapshot base model records problem search
	END
}

# pollux.h is what programs include, so it has no room.
agent_climbs() {
	climbs agent pollux.h <<-END
		base none
		gpu base
		comm base gpu
		disk base gpu comm
		memory base gpu
		state base gpu comm disk memory
		gradient base gpu comm disk memory state
		run base gpu comm disk memory state gradient
	END
}

# The two programs are in no room.
launcher_climbs() {
	climbs launcher 'main.c|rank_main.c' <<-END
		rules none
		rank rules
		job rules rank
		ranks rules rank job
		loop rules rank job ranks
	END
}

# docs/layers.md names a folder's files from bottom to top.
disordered() {
	python3 "$POLLUX_SRCDIR/tests/circles.py" "$src" "$1" \
		"$POLLUX_SRCDIR/docs/layers.md"
}

plan 19
ok "core includes only core" none strangers core core
ok "a room of core includes itself and those above it only" none core_climbs
ok "wire includes only core and wire" none strangers wire 'core|wire'
ok "agent includes only core, wire and itself" none strangers agent \
	'core|wire|agent'
ok "a room of agent includes itself and those above it only" none agent_climbs
ok "a file of agent calls none that docs/layers.md names after it" \
	none disordered agent
ok "launcher includes only core, wire and itself" none strangers launcher \
	'client|core|wire|launcher'
ok "a room of launcher includes itself and those above it only" \
	none launcher_climbs
ok "a file of launcher calls none that docs/layers.md names after it" \
	none disordered launcher
ok "a file of sched/pollux calls none that docs/layers.md names after it" \
	none disordered plugins/sched/pollux
ok "report includes only core, chart and itself" none strangers report \
	'client|core|chart|report'
ok "sim includes only core, chart and itself" none strangers sim \
	'core|chart|sim'
ok "chart includes only itself" none strangers chart chart
ok "core reads no clock, environment, file or global random state" none impure
ok "a problem is posed by core/jobs/prepare.c alone" none posed_twice
ok "MPI, CUDA and NCCL are seen by their backends only" none vendor \
	'mpi|nccl|nvrtc|cuda' 'agent/(comm/coll_(mpi|nccl)|gpu/cuda_)'
ok "Slurm's internal headers are seen by the plugins only" none vendor \
	'src/' 'plugins/'
ok "libslurm is seen by plugins and src/client only" none vendor \
	'slurm/' '(plugins|client)/'
ok "folders of a run are opened by wire/dir.c only (docs/security.md)" \
	none by_path "wire/dir.c|$elsewhere"
