# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: MIT
#
# facts.sh - what pollux-doctor looks at, each in a file of $facts

# gather NAME COMMAND...: what it says, on both channels, is the fact NAME.
gather() {
	local name=$1
	shift
	("$@") >"$facts/$name" 2>&1 </dev/null
}

# What a hanging daemon or file system is given.
soon() {
	command -v "$1" >/dev/null || {
		echo "$1: not found"
		return 127
	}
	timeout -k 2 20 "$@"
}

# Slurm's commands look a minute long for a slurm.conf that is not there.
ask() {
	[ -r "${SLURM_CONF:-/}" ] || {
		echo "SLURM_CONF=$SLURM_CONF cannot be read"
		return 1
	}
	soon "$@"
}

fact() {
	cat "$facts/$1" 2>/dev/null
}

# told NAME KEY: the value behind KEY in a fact of "key value" lines.
told() {
	sed -n "s/^$2 //p" "$facts/$1" 2>/dev/null | head -n 1
}

# The clock before and after the question tells how well it is known.
see_config() {
	date +'asked %s'
	ask scontrol show config
	date +'answered %s'
}

# For which Slurm our plugins were built: a text that is in each of them.
see_plugins() {
	local dir name file built
	while IFS= read -r -d : dir; do
		for name in sched_pollux job_submit_pollux spank_pollux \
			sched_backfill; do
			file=$dir/$name.so
			[ -r "$file" ] || continue
			built=$(grep -aom1 'for Slurm 0x[0-9a-fA-F]*' "$file")
			built=${built##* }
			echo "$name ${built:--} $file"
		done
	done <<<"${config[PluginDir]:-}:"
}

# plugstack.conf with what it includes, one level deep.
see_plugstack() {
	local conf=${config[PlugStackConfig]:-(null)} line
	local slurm_conf=${config[SLURM_CONF]:-/etc/slurm/slurm.conf}
	[ "$conf" != "(null)" ] || conf=${slurm_conf%/*}/plugstack.conf
	echo "file $conf"
	while read -r line; do
		echo "$line"
		case $line in
		include\ *) # shellcheck disable=SC2086 # a pattern
			(cd "${conf%/*}" && cat ${line#include }) ;;
		esac
	done <"$conf"
}

# Does the loader find it, and all that it needs itself? Prints the first.
loadable() {
	local name
	for name; do
		LD_PRELOAD=$name /bin/true 2>&1 | grep -q . || {
			echo "$name"
			return
		}
	done
	echo none
}

see_libraries() {
	[ ! -e /dev/nvidiactl ] || echo "gpu yes"
	echo "driver $(loadable libcuda.so.1)"
	echo "cudart $(loadable libcudart.so.1{3,2} libcudart.so.11.0 \
		libcudart.so)"
	echo "nvrtc $(loadable libnvrtc.so.1{3,2} libnvrtc.so.11.{2,1} \
		libnvrtc.so)"
	echo "nccl $(loadable libnccl.so.2 libnccl.so)"
	echo "pollux $(loadable libpollux.so.0 libpollux.so)"
}

see_launcher() {
	local path
	path=$(command -v pollux-launch) || return
	echo "path $path"
	for path in "${path%/*}/pollux-rank" "$libexec/pollux-rank" \
		"${path%/*}/../libexec/pollux/pollux-rank"; do
		[ -x "$path" ] && echo "rank $path" && return
	done
}

see_checkpoints() {
	local file
	echo "dir $(cd "$folder" 2>/dev/null && pwd || echo "$folder")"
	file=$(mktemp "$folder/.pollux-doctor.XXXXXX") || return
	echo "written" >"$file" && sync "$file" && mv "$file" "$file.moved" &&
		echo "writable yes"
	rm -f "$file" "$file.moved"
	echo "free $(df -Pk "$folder" | awk 'NR == 2 {print $4}')"
	echo "type $(findmnt -no FSTYPE -T "$folder" ||
		stat -f -c %T "$folder")"
}

# As pollux-launch looks for a place for its socket.
see_sockets() {
	local parent dir
	for parent in "${TMPDIR:-}" /tmp /dev/shm; do
		[[ $parent == /* ]] || continue
		dir=$(mktemp -d "$parent/pollux-doctor.XXXXXX") || continue
		rmdir "$dir"
		echo "dir $parent"
		return
	done
}

see_try() {
	local job text=pollux-doctor-was-here
	job=$(ask sbatch -H --parsable -J pollux-doctor -o /dev/null \
		--scheduler-params=pollux,max=1 --wrap true 2>&1)
	[[ $job =~ (^|$'\n')([0-9]+)(;[^$'\n']*)?$ ]] || {
		echo "refused ${job##*$'\n'}"
		return
	}
	job=${BASH_REMATCH[2]}
	echo "submitted $job"
	ask scontrol update "JobId=$job" "Comment=$text" && ask scontrol \
		show job "$job" | grep -q "Comment=$text" && echo "changed yes"
	ask scancel "$job"
}

read_config() {
	local line
	while IFS= read -r line; do
		[[ $line =~ ^([A-Za-z_]+)(\[0\])?\ +=\ (.*)$ ]] || continue
		config["${BASH_REMATCH[1]}"]=${BASH_REMATCH[3]}
	done < <(fact config)
}

gather_all() {
	gather config see_config
	read_config
	gather host hostname -s
	gather client ask scontrol --version
	gather plugins see_plugins
	gather plugstack see_plugstack
	gather sbatch ask sbatch --help
	gather nodes ask scontrol -o show nodes
	gather partitions ask scontrol -o show partitions
	gather clusters ask sacctmgr -nP show cluster format=Cluster
	gather mpi ask srun --mpi=list
	gather openmpi soon ompi_info --parsable
	gather libraries see_libraries
	gather launcher see_launcher
	gather checkpoints see_checkpoints
	gather memory df -Pk /dev/shm
	gather sockets see_sockets
	rm -f "$facts/job"
	[ -z "$try" ] || gather job see_try
}

