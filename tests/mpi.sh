# SPDX-License-Identifier: MIT
# mpi.sh - the training under mpirun on this machine, without any Slurm
#
# Sourced after lib.sh.

use_build_tree
command -v pollux-train >/dev/null || skip_all "built without MPI"
command -v mpirun >/dev/null || skip_all "mpirun is not installed"
train=$(command -v pollux-train)
limit="timeout -k 5 $((60 * POLLUX_PATIENCE))"

# Many ranks on few cores, as root or not, and on nobody's network.
unset POLLUX_SOCKET POLLUX_CHECKPOINT_DIR POLLUX_PARAMS POLLUX_SAMPLE_LOG
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl=tcp,self OMPI_MCA_pml=ob1
export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1
# The same for Open MPI 5.
export OMPI_MCA_threads_pthreads_yield_strategy=nanosleep
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_plm=isolated PMIX_MCA_gds=hash

# ranks N COMMAND...: 0 ranks is without mpirun.
ranks() {
	local n=$1
	shift
	if [ "$n" -eq 0 ]; then
		$limit "$@"
	else
		$limit mpirun -n "$n" "$@"
	fi
}

# field NAME FILE: of the summary in JSON.
field() {
	sed -n '/^{/p' "$2" | tail -n 1 | sed "s/.*\"$1\":\"*\([^,\"}]*\).*/\1/"
}
