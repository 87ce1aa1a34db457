# SPDX-License-Identifier: MIT
# check_layers.t - who may include whom (docs/layers.md)
. "${POLLUX_SRCDIR}/tests/lib.sh"
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

plan 10
ok "core includes only core" none strangers core core
ok "wire includes only core and wire" none strangers wire 'core|wire'
ok "agent includes only core, wire and itself" none strangers agent \
	'core|wire|agent'
ok "launcher includes only core, wire and itself" none strangers launcher \
	'client|core|wire|launcher'
ok "report includes only core and itself" none strangers report \
	'client|core|report'
ok "sim includes only core and itself" none strangers sim 'core|sim'
ok "core reads no clock, environment, file or global random state" none impure
ok "MPI, CUDA and NCCL are seen by their backends only" none vendor \
	'mpi|nccl|nvrtc|cuda' 'agent/(coll_(mpi|nccl)|cuda_)'
ok "Slurm's internal headers are seen by the plugins only" none vendor \
	'src/' 'plugins/'
ok "libslurm is seen by plugins and src/client only" none vendor \
	'slurm/' '(plugins|client)/'
