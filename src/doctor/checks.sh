# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
#
# checks.sh - what pollux-doctor makes of the facts, and how it says so

# Text as JSON's, without the quotes.
quoted() {
	local text=${1//\\/\\\\}
	text=${text//\"/\\\"}
	printf %s "${text//[[:cntrl:]]/ }"
}

# say STATE SENTENCE [MEND]: of the check that runs.
say() {
	[ "$1" != wrong ] || wrongs=$((wrongs + 1))
	[ "$1" != warning ] || warnings=$((warnings + 1))
	if [ "$form" = json ]; then
		printf '%s{"check":"%s","state":"%s","what":"%s","mend":"%s"}' \
			"$comma" "$check" "$1" "$(quoted "$2")" \
			"$(quoted "${3:-}")"
		comma=,
	elif [ -z "$quiet" ] || [[ $1 == w* ]]; then
		printf '%-9s %-11s %s\n' "$1" "$check" "$2${3:+: $3}" |
			tr -d '\001-\010\013-\037'
	fi
}

# Most checks are nothing without slurmctld.
need_config() {
	[ -n "${config[SLURM_VERSION]:-}" ] && return
	say untried "slurmctld's configuration is not known"
	return 1
}

# listed LIST WORD: is it one of a comma-separated list?
listed() {
	[[ ",${1,,}," == *",${2,,},"* ]]
}

# 0x160508 -> 22.05.8
version_of() {
	printf '%d.%02d.%d' $(($1 >> 16)) $(($1 >> 8 & 255)) $(($1 & 255))
}

controller_here() {
	[[ ${config[SlurmctldHost]:-} =~ ^$(fact host)(\(|\.|$) ]]
}

# plugin NAME PARTS: is it here and for slurmctld's version, of which so many
# parts count? Says so if not; where: the machine that needs it is not known.
plugin() {
	local name=$1 parts=$2 number file theirs ours
	read -r number file < <(told plugins "$name")
	theirs=$(cut -d. -f "1-$parts" <<<"${config[SLURM_VERSION]%%-*}")
	if [ -z "${number:-}" ]; then
		say wrong "$name.so is in no folder of PluginDir=${config[PluginDir]:-}" \
			"install it there, or add its folder to PluginDir in slurm.conf"
		return 1
	fi
	[[ $number == 0x* ]] || {
		say warning "$file does not say for which Slurm it was built" \
			"install the plugins of Pollux $version"
		return 1
	}
	ours=$(version_of "$number" | cut -d. -f "1-$parts")
	[ "$ours" = "$theirs" ] || {
		say wrong "$file was built for Slurm $ours, but slurmctld is $theirs" \
			"build it with the source of Slurm ${config[SLURM_VERSION]} (docs/versions.md)"
		return 1
	}
}

# What it would have told is read from slurm.conf then, as far as it is there.
check_slurmctld() {
	local why
	why=$(fact config | grep -m 1 error: || fact config |
		grep -vE '^(asked|answered) ' | tail -n 1)
	if [ -n "$down" ]; then
		say wrong "slurmctld does not answer ($why)${config[SLURM_VERSION]:+; what follows is what ${config[SLURM_CONF]} says}" \
			"start it, set SLURM_CONF, or go where scontrol ping answers"
	elif [ -n "${config[SLURM_VERSION]:-}" ]; then
		say ok "Slurm ${config[SLURM_VERSION]}, cluster ${config[ClusterName]:-?}"
	fi
}

check_versions() {
	local client
	need_config || return
	client=$(sed -n 's/^slurm[^0-9]* //p' "$facts/client")
	if [ -n "$down" ]; then
		say untried "the commands here are $client, slurmctld does not answer"
	elif [ -z "$client" ]; then
		say wrong "no scontrol here" "install Slurm's commands"
	elif [ "${client%.*}" = "$(cut -d. -f1-2 <<<"${config[SLURM_VERSION]}")" ]; then
		say ok "the commands here are $client"
	else
		say warning "the commands here are $client, slurmctld is ${config[SLURM_VERSION]}" \
			"install the same release of Slurm everywhere"
	fi
}

# The first sched_backfill.so of PluginDir, which slurmctld takes, is ours: those
# of ours say for which Slurm they were built, Slurm's own do not. Elsewhere there
# need be no more than the folder.
stands_in() {
	[ "${config[SchedulerType]:-}" = sched/backfill ] || return
	if controller_here; then
		[[ $(told plugins sched_backfill) == 0x* ]]
	else
		[[ ${config[PluginDir]:-}: == */pollux:* ]]
	fi
}

check_stand_in() {
	if ! controller_here; then
		say ok "sched/pollux in the place of sched/backfill; its file is on ${config[SlurmctldHost]:-another machine}"
	elif plugin sched_backfill 3; then
		say ok "sched/pollux in the place of sched/backfill, built for Slurm ${config[SLURM_VERSION]}"
	fi
}

check_scheduler() {
	need_config || return
	if stands_in; then
		check_stand_in
		return
	fi
	[ "${config[SchedulerType]:-}" = sched/pollux ] || {
		say wrong "SchedulerType is ${config[SchedulerType]:-not set}, and is not ours" \
			"set SchedulerType=sched/pollux in slurm.conf, or have the folder pollux of our plugins first in PluginDir, and restart slurmctld"
		return
	}
	if ! controller_here; then
		say ok "sched/pollux; its file is on ${config[SlurmctldHost]:-another machine}"
	elif plugin sched_pollux 3; then
		say ok "sched/pollux, built for Slurm ${config[SLURM_VERSION]}"
	fi
}

check_submit() {
	need_config || return
	if ! listed "${config[JobSubmitPlugins]:-}" pollux &&
		! listed "${config[JobSubmitPlugins]:-}" job_submit/pollux; then
		say wrong "JobSubmitPlugins is ${config[JobSubmitPlugins]:-not set}: options of elastic jobs are not checked, and none gets its first shape" \
			"add pollux to JobSubmitPlugins in slurm.conf and restart slurmctld"
	elif ! controller_here || plugin job_submit_pollux 3; then
		say ok "job_submit/pollux"
	fi
}

# has_spank [WORD]: does plugstack.conf name our plugin, with that word behind it?
has_spank() {
	grep -qE '^[[:space:]]*(required|optional)[[:space:]]+([^#]*/)?spank_pollux\.so'"${1:+([^#]*)?[[:space:]]$1([[:space:]]|\$)}" \
		"$facts/plugstack" 2>/dev/null
}

check_option() {
	need_config || return
	if ! has_spank; then
		say wrong "$(told plugstack file) does not name spank_pollux.so: no --scheduler-params for sbatch here" \
			"add the line 'required spank_pollux.so' to it, on login and compute nodes"
	elif plugin spank_pollux 2; then
		if grep -q -- '--scheduler-params=' "$facts/sbatch"; then
			say ok "sbatch has --scheduler-params"
		else
			say wrong "sbatch does not show --scheduler-params, though plugstack.conf names it" \
				"see what sbatch -vv --version says of spank_pollux.so"
		fi
	fi
}

check_select() {
	need_config || return
	if [ "${config[SelectType]:-}" = select/cons_tres ]; then
		say ok "select/cons_tres"
	else
		say wrong "SelectType is ${config[SelectType]:-not set}: elastic jobs are not resized" \
			"set SelectType=select/cons_tres and SelectTypeParameters=CR_Core (or CR_Core_Memory) in slurm.conf and restart slurmctld"
	fi
}

# number TEXT LOW HIGH
number() {
	[[ $1 =~ ^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$ ]] &&
		awk -v x="$1" -v low="$2" -v high="$3" \
			'BEGIN { exit !(x + 0 >= low + 0 && x + 0 <= high + 0) }'
}

# one_of TEXT WANT: is it one of the words of "a, b or c", or of "..., or c"?
one_of() {
	[[ $1 =~ ^[a-z]+$ && " ${2//,/ } " == *" $1 "* && $1 != or ]]
}

# fits VALUE KIND LOW HIGH WANT: as sched/pollux reads it (params.c)
fits() {
	case $2 in
	NUMBER | MINUTES)
		number "$1" "$3" "$4" || { [[ $5 == *", or "* ]] &&
			one_of "$1" "${5##*, or}"; }
		;;
	RANGE)
		[[ $1 =~ ^[^-]+-[^-+] ]] && number "${1%%-*}" "$3" "$4" &&
			number "${1#*-}" "${1%%-*}" "$4"
		;;
	FOLDER) [[ $1 == /* && ${#1} -lt 256 ]] ;;
	FILE_OR_NO) [[ $1 == no ]] || fits "$1" FOLDER ;;
	YES_NO | WEIGHTS | UNIFORM | BACK) one_of "$1" "$5" ;;
	esac
}

# misread WORD: what is wrong with pollux_KEY=VALUE, and nothing if it is right
misread() {
	local key kind low high want word=${1#pollux_}
	while read -r key kind low high want; do
		[ "$key" != "${word%%=*}" ] || break
	done <<<"$parameters"
	if [ -z "$key" ] || [ "$key" != "${word%%=*}" ]; then
		echo "${1%%=*} is unknown"
	elif [[ $1 != *=* ]] || ! fits "${word#*=}" "$kind" "$low" "$high" "$want"; then
		echo "$1: want $want"
	fi
}

check_parameters() {
	local word said bad=''
	need_config || return
	while IFS= read -r -d , word; do
		[[ $word == pollux_* ]] || continue
		said=$(misread "$word")
		[ -z "$said" ] || bad+="${bad:+; }$said"
	done <<<"${config[SchedulerParameters]:-},"
	if [ -n "$bad" ]; then
		say wrong "SchedulerParameters: $bad" \
			"see sched_pollux(5); until then the default is used"
	elif listed "${config[SchedulerParameters]:-}" pollux_enabled=no; then
		say warning "pollux_enabled=no: elastic jobs keep the shape they have" \
			"take it out of SchedulerParameters and run scontrol reconfigure"
	else
		say ok "all pollux_ words of SchedulerParameters are understood"
	fi
}

# The other plugins that are named: without one a daemon or command ends.
check_files() {
	local option where name file lacking=''
	need_config || return
	while read -r option where name file; do
		[ "$file" = none ] || continue
		[ "$where" = all ] || controller_here || continue
		lacking+="${lacking:+, }$name ($option)"
	done <<<"$(fact named)"
	if [ -n "$lacking" ]; then
		say wrong "not in PluginDir=${config[PluginDir]:-}, but named: $lacking" \
			"install what has them, mend the name, or add their folder to PluginDir"
	else
		say ok "$(grep -c . "$facts/named") other plugins are named, and are there"
	fi
}

check_backfill() {
	need_config || return
	if listed "${config[SchedulerParameters]:-}" pollux_backfill=no; then
		say warning "pollux_backfill=no: no job starts before one of higher priority" \
			"take it out of SchedulerParameters and restart slurmctld"
	elif ! controller_here || grep -qs '^sched_backfill - ' "$facts/plugins"; then
		say ok "Slurm's own backfill runs beside"
	else
		say wrong "no sched_backfill.so in PluginDir=${config[PluginDir]:-}: jobs are never backfilled" \
			"add the folder of Slurm's own plugins to PluginDir"
	fi
}

check_gres() {
	need_config || return
	if listed "${config[GresTypes]:-}" gpu; then
		say ok "GresTypes has gpu"
	else
		say wrong "GresTypes is ${config[GresTypes]:-not set}: Slurm knows of no GPUs" \
			"set GresTypes=gpu in slurm.conf, Gres=gpu:N on its node lines, and write gres.conf"
	fi
}

# Types of GPUs on nodes that have several: "Gres=gpu:a:1(S:0,1),gpu:b:1".
mixed_types() {
	sed -nE 's/.* Gres=([^ ]*).*/\1/; T; s/\([^)]*\)//g; p' "$facts/nodes" |
		awk -F, '{
			split("", here)
			count = 0
			for (i = 1; i <= NF; i++) {
				parts = split($i, part, ":")
				type = parts == 3 ? part[2] : "-"
				if (part[1] == "gpu" && !(type in here)) {
					here[type]
					count++
				}
			}
			for (type in here)
				if (count > 1)
					all[type]
		}
		END { print length(all) }'
}

# Behind CPUs and memory, and some partitions' CPUs, plans have place for so many.
types_max=60

check_gpus() {
	local nodes types
	need_config || return
	nodes=$(grep -cE ' Gres=([^ ]*,)?gpu:' "$facts/nodes")
	types=$(mixed_types)
	if [ "${nodes:-0}" -gt 0 ] && [ "$types" -gt "$types_max" ]; then
		say warning "$types types of GPUs are on nodes that have several: plans count $types_max, and elastic jobs that need others keep the shape they have" \
			"use fewer names of types in gres.conf and slurm.conf"
	elif [ "${nodes:-0}" -gt 0 ]; then
		say ok "$nodes nodes have GPUs"
	else
		say wrong "no node has GPUs" \
			"write Gres=gpu:N on node lines of slurm.conf, and gres.conf"
	fi
}

check_devices() {
	need_config || return
	if ! listed "${config[TaskPlugin]:-}" task/cgroup &&
		! listed "${config[TaskPlugin]:-}" cgroup; then
		say warning "TaskPlugin is ${config[TaskPlugin]:-not set}: a job can open GPUs of others, also those that it gave up" \
			"add task/cgroup to TaskPlugin in slurm.conf, and ConstrainDevices=yes to cgroup.conf"
	elif [ "${config[ConstrainDevices]:-no}" != yes ]; then
		say warning "cgroup.conf does not constrain devices: a job can open GPUs of others, also those that it gave up" \
			"set ConstrainDevices=yes in cgroup.conf, and restart slurmctld and slurmd"
	elif has_spank && ! has_spank no_io_uring_files &&
		[ "$(fact io_uring)" != 2 ]; then
		say warning "tasks may register files with io_uring, where nobody sees that a job has a GPU open which it gave up" \
			"write no_io_uring_files behind spank_pollux.so in $(told plugstack file) on all nodes, or set kernel.io_uring_disabled=2 there"
	else
		say ok "jobs can open no GPU but their own"
	fi
}

check_accounting() {
	need_config || return
	if [ "${config[AccountingStorageType]:-}" != accounting_storage/slurmdbd ]; then
		say warning "AccountingStorageType is ${config[AccountingStorageType]:-not set}: sacct and pollux-report have nothing to tell" \
			"set AccountingStorageType=accounting_storage/slurmdbd in slurm.conf"
	elif grep -qix "${config[ClusterName]:-}" "$facts/clusters"; then
		say ok "slurmdbd knows cluster ${config[ClusterName]}"
	else
		say wrong "slurmdbd does not answer, or does not know cluster ${config[ClusterName]:-?}" \
			"start slurmdbd; then sacctmgr add cluster ${config[ClusterName]:-NAME}"
	fi
}

check_preempt() {
	need_config || return
	local type=${config[PreemptType]:-(null)}
	case $type in
	preempt/pollux_*)
		say ok "elastic jobs give up GPUs before $type preempts them"
		;;
	preempt/qos | preempt/partition_prio)
		say warning "PreemptType=$type: it requeues or ends whole elastic jobs, where they could give up some GPUs" \
			"set PreemptType=preempt/pollux_${type#*/} in slurm.conf and restart slurmctld"
		;;
	*)
		say ok "no job is preempted"
		;;
	esac
}

check_shapes() {
	need_config || return
	if listed "${config[AccountingStorageTRES]:-}" gres/gpu; then
		say ok "AccountingStorageTRES has gres/gpu"
	else
		say warning "AccountingStorageTRES has no gres/gpu: sacct does not tell a job's GPUs, limits of GPUs do not count" \
			"add AccountingStorageTRES=gres/gpu to slurm.conf and restart slurmctld"
	fi
}

check_comments() {
	need_config || return
	if listed "${config[AccountingStoreFlags]:-}" job_comment; then
		say ok "sacct keeps what jobs said last"
	else
		say warning "AccountingStoreFlags has no job_comment: pollux-report cannot tell goodput and pauses of jobs that have ended" \
			"add AccountingStoreFlags=job_comment to slurm.conf and restart slurmctld"
	fi
}

check_prologs() {
	need_config || return
	if [ "${config[PrologSlurmctld]:-(null)}" = "(null)" ]; then
		say ok "no PrologSlurmctld, which would not run for nodes that a job gains"
	else
		say warning "PrologSlurmctld runs when a job starts, not for nodes that it gains" \
			"have Prolog prepare nodes, or keep elastic jobs out of partitions that need PrologSlurmctld"
	fi
}

check_partitions() {
	local all exclusive
	need_config || return
	all=$(grep -c '^PartitionName=' "$facts/partitions")
	exclusive=$(sed -nE 's/^PartitionName=([^ ]*).* OverSubscribe=EXCLUSIVE.*/\1/p' \
		"$facts/partitions" | paste -sd ' ')
	if [ -z "$exclusive" ]; then
		say ok "elastic jobs can be resized in each of $all"
	elif [ "$(wc -w <<<"$exclusive")" -eq "$all" ]; then
		say wrong "every partition gives whole nodes (OverSubscribe=EXCLUSIVE): no job is resized" \
			"let one share its nodes, with OverSubscribe=NO"
	else
		say warning "jobs keep their shape where nodes are given whole (OverSubscribe=EXCLUSIVE): $exclusive" \
			"submit elastic jobs to another partition"
	fi
}

# Slurm's mpi_pmix opens libpmix.so, which Debian has in a package for builders.
check_pmix() {
	local rc last why
	rc=$(told pmix rc)
	last=$(grep -v '^rc ' "$facts/pmix" 2>/dev/null | tail -n 1)
	why=$(sed -n 's/.*Unable to [a-z]* [a-z ]*: //p' "$facts/pmix" 2>/dev/null |
		tail -n 1)
	if ! grep -qE '^[[:space:]]*pmix|pmix_v[0-9]|, *pmix' "$facts/mpi"; then
		say wrong "srun --mpi=list has no pmix: ranks do not find each other" \
			"install Slurm's PMIx plugin (mpi_pmix.so) and libpmix, or give pollux-launch --mpi=TYPE"
	elif grep -qE 'can ?not load PMIx|Invalid MPI type' "$facts/pmix"; then
		say wrong "srun has --mpi=pmix, and cannot load it" \
			"install libpmix.so (Debian: libpmix-dev; libpmix2 is not enough), on every node, and restart slurmd there"
	elif [ "$rc" = 0 ]; then
		say ok "srun --mpi=pmix starts a task"
	elif [ -n "$down" ]; then
		say untried "srun loads pmix; slurmctld does not answer, so no task was started"
	elif [ -n "$why" ]; then
		say untried "no task was started under srun --mpi=pmix ($why)" \
			"run it in a job, as sbatch --wrap pollux-doctor"
	elif [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
		say wrong "srun --mpi=pmix true does not end" \
			"see slurmd's log on the node; restart slurmd where libpmix.so came after it"
	else
		say wrong "srun --mpi=pmix true fails (${last:-no reason given})" \
			"see slurmd's log on the node, and whether it has libpmix.so"
	fi
}

check_openmpi() {
	local release
	release=$(sed -n 's/^ompi:version:full://p' "$facts/openmpi")
	if [ -z "$release" ]; then
		say warning "no Open MPI here (no ompi_info): libpollux runs on MPI" \
			"install Open MPI, or ignore this for programs without libpollux"
	elif [ "${release%%.*}" -ge 5 ] ||
		grep -qE '^mca:pmix:(ext|pmix)[0-9a-z]*:' "$facts/openmpi"; then
		say ok "Open MPI $release speaks PMIx"
	else
		say wrong "Open MPI $release was built without PMIx: each rank would think it is alone" \
			"build it --with-pmix=DIR, the PMIx that Slurm has"
	fi
}

# library KEY NAME MEND: of a machine with GPUs.
library() {
	[ "$(told libraries "$1")" != none ] && return
	say wrong "there are GPUs, but $2 cannot be loaded" "$3"
	return 1
}

gpu_here() {
	[ "$(told libraries gpu)" = yes ] && return
	say untried "no GPU on this machine" \
		"run it on a node with GPUs: srun --gpus=1 pollux-doctor"
	return 1
}

check_cuda() {
	gpu_here || return
	library driver libcuda.so.1 "install the driver's libraries" &&
		library cudart libcudart.so \
			"install CUDA's runtime, or add its folder to LD_LIBRARY_PATH" &&
		library nvrtc libnvrtc.so \
			"install CUDA's NVRTC, or add its folder to LD_LIBRARY_PATH" &&
		say ok "driver, $(told libraries cudart), $(told libraries nvrtc)"
}

check_nccl() {
	gpu_here || return
	library nccl libnccl.so.2 \
		"install NCCL, or add its folder to LD_LIBRARY_PATH; else gradients go through MPI and host memory" &&
		say ok "$(told libraries nccl)"
}

check_launcher() {
	if [ -z "$(told launcher path)" ]; then
		say wrong "no pollux-launch in PATH" \
			"install it on every node, or add its folder to PATH"
	elif [ -z "$(told launcher rank)" ]; then
		say wrong "$(told launcher path) is without its pollux-rank" \
			"install Pollux whole: it belongs into $libexec"
	elif [ "$(told libraries pollux)" = none ]; then
		say warning "libpollux.so cannot be loaded: C programs and the Python package need it" \
			"install it where the loader looks (ldconfig), or set LD_LIBRARY_PATH"
	else
		say ok "$(told launcher path), $(told libraries pollux)"
	fi
}

# How many machines the cluster has: nodes of a test cluster share one.
machines() {
	sed -nE 's/.* NodeHost[Nn]ame=([^ ]*).*/\1/p' "$facts/nodes" | sort -u |
		wc -l
}

check_checkpoints() {
	local dir type free
	dir=$(told checkpoints dir) type=$(told checkpoints type)
	free=$(told checkpoints free)
	if [ "$(told checkpoints writable)" != yes ]; then
		say wrong "cannot write checkpoints into $dir" \
			"choose a folder of your own with --checkpoint-dir"
	elif [ "${free:-0}" -lt 1048576 ]; then
		say wrong "$dir has $((${free:-0} / 1024)) MiB left: checkpoints need two copies of the training's state" \
			"make room, or choose another with --checkpoint-dir"
	elif [[ " ext2 ext2/ext3 ext3 ext4 xfs btrfs zfs f2fs tmpfs ramfs overlay overlayfs " == *" $type "* ]] &&
		[ "$(machines)" -gt 1 ]; then
		say warning "$dir is on a file system of this machine alone ($type): other nodes do not see what is saved there" \
			"choose a shared one with --checkpoint-dir"
	else
		say ok "$dir ($type), $((free / 1048576)) GiB free"
	fi
}

check_memory() {
	local free
	free=$(awk 'NR == 2 {print $4}' "$facts/memory")
	[[ $free =~ ^[0-9]+$ ]] || free=0
	if [ "$free" -lt 1048576 ]; then
		say warning "/dev/shm has $((free / 1024)) MiB left: state that does not fit there goes over the disk at each resize" \
			"mount it larger (size=50% of memory is usual)"
	else
		say ok "/dev/shm has $((free / 1048576)) GiB for state that is handed over"
	fi
}

check_sockets() {
	local dir
	dir=$(told sockets dir)
	if [ -z "$dir" ]; then
		say wrong "no folder can be made in \$TMPDIR, /tmp or /dev/shm: pollux-launch has no place for its socket" \
			"set TMPDIR to a folder that you may write into"
	elif [ ${#dir} -gt 80 ]; then
		say wrong "$dir is too long for the path of a socket" \
			"set TMPDIR to a shorter one, as /tmp"
	else
		say ok "$dir"
	fi
}

check_clock() {
	local theirs asked answered off
	need_config || return
	theirs=$(date -d "$(sed -n 's/^Configuration data as of //p' \
		"$facts/config")" +%s 2>/dev/null)
	asked=$(told config asked) answered=$(told config answered)
	if [ -z "$theirs" ] || [ -z "$asked" ]; then
		say untried "slurmctld does not tell its time"
		return
	fi
	off=$((theirs < asked ? asked - theirs :
		theirs > answered ? theirs - answered : 0))
	if [ "$off" -gt 60 ]; then
		say wrong "this machine's clock and slurmctld's are $off s apart" \
			"set both by NTP (chrony); munge refuses what is 5 minutes old"
	elif [ "$off" -gt 2 ]; then
		say warning "this machine's clock and slurmctld's are $off s apart" \
			"set both by NTP (chrony)"
	else
		say ok "as slurmctld's"
	fi
}

check_job() {
	if [ ! -e "$facts/job" ]; then
		say untried "no job was submitted" "pollux-doctor --try does"
	elif [ -z "$(told job submitted)" ]; then
		say wrong "an elastic job was not taken ($(told job refused))" \
			"see DIAGNOSTICS in pollux(7), and your limits: sacctmgr show assoc user=\$USER"
	elif [ "$(told job changed)" != yes ]; then
		say wrong "you may not change the comment of your own job: the scheduler would hear nothing of it" \
			"see slurmctld's log, and whether a job_submit plugin forbids it in job_modify"
	else
		say ok "job $(told job submitted) was taken, its comment changed, and cancelled"
	fi
}

