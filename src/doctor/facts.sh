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

# The clock before and after the question tells how well it is known. scontrol
# show config takes minutes to find out that nobody answers, scontrol ping not.
see_config() {
	local ping
	date +'asked %s'
	ping=$(ask scontrol ping)
	if [[ $ping == *' is UP'* ]]; then
		ask scontrol show config
	else
		tr -d '*' <<<"$ping" | grep -v '^ *\(RESTORE.*\)\?$'
	fi
	date +'answered %s'
}

# Also where they cannot read slurm.conf.
see_client() {
	local conf
	conf=$(mktemp) || return
	printf '%s\n' ClusterName=none SlurmctldHost=none >"$conf"
	SLURM_CONF=$conf soon scontrol --version
	rm -f "$conf"
}

# Where Slurm's commands look for it, and slurmd's own copy where slurmctld has
# the only one ("configless").
find_conf() {
	local file
	for file in ${SLURM_CONF:-/etc/slurm/slurm.conf \
		/run/slurm/conf/slurm.conf}; do
		[ -r "$file" ] && echo "$file" && return
	done
	return 1
}

# flat FILE DEPTH: lines of slurm.conf and of what it includes, joined where a
# line ends in a backslash, without comments.
flat() {
	local line word file
	[ "$2" -le 8 ] && [ -r "$1" ] || return
	while read -r line || [ -n "$line" ]; do
		line=${line%%#*}
		read -r word file _ <<<"$line"
		if [ "${word,,}" = include ] && [ -n "$file" ]; then
			[[ $file == /* ]] || file=${1%/*}/$file
			flat "$file" $(($2 + 1))
		elif [ -n "$word" ]; then
			echo "$line"
		fi
	done < <(sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' "$1")
}

# What slurmctld would read, when it does not answer.
see_file() {
	local file
	file=$(find_conf) || return
	echo "file $file"
	flat "$file" 0
}

# For which Slurm our plugins were built: a text that is in each of them.
see_plugins() {
	local dir name file built
	for name in sched_pollux job_submit_pollux spank_pollux \
		sched_backfill; do
		for file in $(in_plugstack "$name") $(find_plugins "$name"); do
			[ -r "$file" ] || continue
			built=$(grep -aom1 'for Slurm 0x[0-9a-fA-F]*' "$file")
			built=${built##* }
			echo "$name ${built:--} $file"
		done
	done
}

# find_plugins NAME: its files in the folders of PluginDir, in their order: of
# some that have one name slurmctld takes the first.
find_plugins() {
	local dir
	while IFS= read -r -d : dir; do
		[ ! -r "$dir/$1.so" ] || echo "$dir/$1.so"
	done <<<"${config[PluginDir]:-}:"
}

# find_plugin NAME: its file in the first folder of PluginDir that has it.
find_plugin() {
	local dir
	while IFS= read -r -d : dir; do
		[ ! -r "$dir/$1.so" ] || { echo "$dir/$1.so" && return; }
	done <<<"${config[PluginDir]:-}:"
	return 1
}

# in_plugstack NAME: the path that plugstack.conf has for it, if it has one.
in_plugstack() {
	sed -nE "s,^[[:space:]]*(required|optional)[[:space:]]+(/[^#[:space:]]*/$1\.so).*,\2,p" \
		"$facts/plugstack"
}

# The kinds of plugin that slurm.conf names: option, prefix of the file, and
# whether slurmctld's machine alone needs them.
kinds='AccountingStorageType accounting_storage slurmctld
AcctGatherEnergyType acct_gather_energy all
AuthAltTypes auth all
AuthType auth all
CliFilterPlugins cli_filter all
CredType cred all
JobAcctGatherType jobacct_gather all
JobCompType jobcomp slurmctld
JobContainerType job_container all
JobSubmitPlugins job_submit slurmctld
McsPlugin mcs slurmctld
MpiDefault mpi all
NodeFeaturesPlugins node_features all
PreemptType preempt slurmctld
PrEpPlugins prep all
PriorityType priority slurmctld
PrioritySiteFactorPlugin site_factor slurmctld
ProctrackType proctrack all
SelectType select all
SwitchType switch all
TaskPlugin task all
TopologyPlugin topology slurmctld'

# "OPTION WHERE NAME FILE" of each plugin that slurm.conf and plugstack.conf
# name; FILE is none if it is not there. Pollux's own have checks of their own.
see_named() {
	local option prefix where name file
	while read -r option prefix where; do
		for name in $(tr , ' ' <<<"${config[$option]:-}"); do
			[[ $name == '(null)' || $name =~ (^|/)(none|pollux)$ ]] &&
				continue
			name=${prefix}_${name#"$prefix"/}
			file=$(find_plugin "$name") || file=none
			echo "$option $where $name.so $file"
		done
	done <<<"$kinds"
	while read -r option name _; do
		[ "$option" = required ] && [[ $name != *spank_pollux.so ]] ||
			continue
		file=$name
		[[ $name == /* ]] || file=$(find_plugin "${name%.so}")
		[ -r "$file" ] || file=none
		echo "plugstack.conf all $name $file"
	done <"$facts/plugstack"
}

# plugstack.conf with what it includes.
see_plugstack() {
	local conf=${config[PlugStackConfig]:-(null)}
	local slurm_conf=${config[SLURM_CONF]:-/etc/slurm/slurm.conf}
	[ "$conf" != "(null)" ] || conf=${slurm_conf%/*}/plugstack.conf
	echo "file $conf"
	stack "$conf" 0
}

# stack FILE DEPTH: include takes a pattern, and paths from the file's folder.
stack() {
	local line file
	[ "$2" -le 8 ] && [ -r "$1" ] || return
	while read -r line || [ -n "$line" ]; do
		echo "$line"
		[[ $line =~ ^include[[:space:]]+([^[:space:]]+) ]] || continue
		# shellcheck disable=SC2086 # a pattern
		for file in $(cd "${1%/*}" && echo ${BASH_REMATCH[1]}); do
			[[ $file == /* ]] || file=${1%/*}/$file
			stack "$file" $(($2 + 1))
		done
	done <"$1"
}

# Slurm's list of MPI types has also those that do not load: so a task is
# started. In a job it is a step beside the one that runs us.
see_pmix() {
	local limit=20 job=() unset=()
	[ -z "$down" ] || limit=3
	mapfile -t unset < <(compgen -e SLURM_ | grep -vx SLURM_CONF)
	job=(--immediate=5)
	[ -z "${SLURM_JOB_ID:-}" ] || job=("--jobid=$SLURM_JOB_ID" --overlap)
	command -v srun >/dev/null && [ -r "${SLURM_CONF:-/}" ] || return
	timeout -k 2 $limit env "${unset[@]/#/-u}" srun -J pollux-doctor -t 1 \
		-N1 -n1 --mpi=pmix "${job[@]}" true
	echo "rc $?"
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
	[ -z "${config[SLURM_VERSION]:-}" ] || return
	down=yes
}

# What checks ask for, as slurmctld spells it; slurm.conf may do otherwise.
options='AccountingStorageTRES AccountingStoreFlags ClusterName GresTypes
PluginDir PlugStackConfig SchedulerParameters SchedulerType SlurmctldHost'

# The same from slurm.conf, as far as the checks need it.
read_file() {
	local line option key value
	local -A spelt=()
	for option in $options $(cut -d' ' -f1 <<<"$kinds"); do
		spelt[${option,,}]=$option
	done
	while read -r line; do
		[[ ! ${line,,} =~ ^(nodename|partitionname|file)[=\ ] ]] || continue
		while [[ $line =~ ^[[:space:]]*([A-Za-z_]+)[[:space:]]*=[[:space:]]*(\"[^\"]*\"|[^[:space:]]*)(.*)$ ]]; do
			key=${BASH_REMATCH[1],,} value=${BASH_REMATCH[2]//\"/}
			line=${BASH_REMATCH[3]}
			option=${spelt[$key]:-}
			[ "$key,${config[SlurmctldHost]:+set}" != slurmctldhost,set ] ||
				continue
			[ -z "$option" ] || config[$option]=$value
		done
	done < <(fact file)
	[ -n "$(told file file)" ] || return
	config[SLURM_CONF]=$(told file file)
	config[SLURM_VERSION]=$(sed -n 's/^slurm[^0-9]* //p' "$facts/client")
	: "${config[PluginDir]:=$plugindir}"
}

gather_all() {
	gather config see_config
	gather client see_client
	read_config
	rm -f "$facts/file" "$facts/job"
	if [ -n "$down" ]; then
		gather file see_file
		read_file
		gather nodes grep -i '^NodeName=' "$facts/file"
		gather partitions grep -i '^PartitionName=' "$facts/file"
	else
		gather nodes ask scontrol -o show nodes
		gather partitions ask scontrol -o show partitions
	fi
	gather host hostname -s
	gather plugstack see_plugstack
	gather io_uring cat /proc/sys/kernel/io_uring_disabled
	gather plugins see_plugins
	gather named see_named
	gather sbatch ask sbatch --help
	gather clusters ask sacctmgr -nP show cluster format=Cluster
	gather mpi ask srun --mpi=list
	gather pmix see_pmix
	gather openmpi soon ompi_info --parsable
	gather libraries see_libraries
	gather launcher see_launcher
	gather checkpoints see_checkpoints
	gather memory df -Pk /dev/shm
	gather sockets see_sockets
	[ -z "$try" ] || gather job see_try
}

