# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# config.sh - ports, plugin folders and configuration files
#
# Ports: port is slurmctld's, port+1 slurmdbd's, port+2.. those of the nodes.
# With hosts they are Slurm's own.

# port_of DAEMON
port_of() {
	case $1,$hosts in
	slurmctld,*) echo "$port" ;;
	slurmdbd,0) echo $((port + 1)) ;;
	slurmdbd,1) echo 6819 ;;
	n*,0) echo $((port + 1 + ${1#n})) ;;
	n*,1) echo 6818 ;;
	esac
}

# Print the ports of this machine that are in use, one a line.
used_ports() {
	awk 'FNR > 1 {
		n = split($2, part, ":")
		print strtonum_hex(part[n])
	}
	function strtonum_hex(text, i, value) {
		for (i = 1; i <= length(text); i++)
			value = value * 16 + \
				index("0123456789ABCDEF", substr(text, i, 1)) - 1
		return value
	}' /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# choose_ports ATTEMPT: a free row of ports at random, below the range from
# which the kernel takes those of clients. Two sandboxes may still choose the
# same row at once: a daemon then fails to bind, and `up` tries again.
# POLLUX_SANDBOX_PORT is tried first, without looking.
choose_ports() {
	local first=10240 last=32000 low high count=$((nodes + 2)) try

	[ "$hosts" = 0 ] || { port=6817 && return; }
	port=${POLLUX_SANDBOX_PORT:-}
	[ "$1" -gt 1 ] || [ -z "$port" ] || return 0
	if read -r low high </proc/sys/net/ipv4/ip_local_port_range &&
	   [ "$low" -gt $((first + 2 * count)) ] && [ "$low" -lt "$last" ]; then
		last=$low
	fi
	for ((try = 0; try < 50; try++)); do
		port=$((first + SRANDOM % (last - first - count)))
		used_ports | awk -v a="$port" -v n="$count" \
			'$1 >= a && $1 < a + n { exit 1 }' && return
	done
	complain "no row of $count free ports between $first and $last"
	return 1
}

# Print the folder with Slurm's own plugins.
slurm_plugindir() {
	local folder

	for folder in "${POLLUX_SLURM_PLUGINDIR:-}" \
		${slurm_prefix:+"$slurm_prefix/lib/slurm"} "$plugindir" \
		/usr/lib/*/slurm-wlm /usr/lib/*/slurm /usr/lib64/slurm \
		/usr/lib/slurm /usr/local/lib/slurm; do
		[ -e "$folder/select_cons_tres.so" ] && echo "$folder" && return
	done
	complain "Slurm's plugin folder was not found;" \
		"set POLLUX_SLURM_PLUGINDIR"
	return 1
}

# Is it our scheduler, by its own name or in the place of Slurm's backfill?
has_pollux() {
	[ "$scheduler" = pollux ] || [ "$scheduler" = stand-in ]
}

scheduler_text() {
	case $scheduler in
	stand-in) echo "sched/pollux in the place of sched/backfill" ;;
	*) echo "sched/$scheduler" ;;
	esac
}

# Print SchedulerType.
scheduler_type() {
	echo "sched/${scheduler/stand-in/backfill}"
}

# A folder in which our scheduler has the name of Slurm's backfill, as the
# packages have one.
link_stand_in() {
	[ "$scheduler" = stand-in ] || return 0
	mkdir -p "$dir/plugins" && ln -sfn "$(find_plugin sched_pollux)" \
		"$dir/plugins/sched_backfill.so"
}

# Print PluginDir: the folders of our plugins that exist, then Slurm's.
plugin_path() {
	local folder slurm result=""
	local -a folders

	slurm=$(slurm_plugindir) || return 1
	[ "$scheduler" != stand-in ] || result=$root/plugins:
	IFS=: read -ra folders <<<"$path"
	for folder in "${folders[@]}"; do
		[ -d "$folder" ] && [ "$folder" != "$slurm" ] &&
			result+=$(realpath -- "$folder"):
	done
	echo "$result$slurm"
}

# find_plugin NAME: prints the path of one of our plugins
find_plugin() {
	local folder
	local -a folders

	IFS=: read -ra folders <<<"$path"
	for folder in "${folders[@]}"; do
		[ -e "$folder/$1.so" ] && realpath -- "$folder/$1.so" && return
	done
	return 1
}

# Are the plugins there that the scheduler needs?
check_plugins() {
	local name

	path=${POLLUX_PLUGIN_PATH:-$plugindir}
	[[ $scheduler =~ ^(pollux|stand-in|backfill|builtin)$ ]] || refuse \
		"POLLUX_SANDBOX_SCHEDULER must be one of pollux, stand-in, backfill, builtin, not '$scheduler'"
	has_pollux || return 0
	for name in sched_pollux job_submit_pollux spank_pollux; do
		find_plugin "$name" >/dev/null && continue
		complain "$name.so is not in '$path';" \
			"install Pollux or set POLLUX_PLUGIN_PATH"
		return 1
	done
}

# Print SchedulerParameters: ours, where --params does not say otherwise.
scheduler_parameters() {
	local ours="bf_interval=2,sched_interval=5,batch_sched_delay=1"
	local setting result=$params
	local -a settings

	has_pollux &&
		ours+=",pollux_interval=2,pollux_ack_timeout=30"
	IFS=, read -ra settings <<<"$ours"
	for setting in "${settings[@]}"; do
		[[ ",$params" == *",${setting%%=*}="* ]] ||
			result+=${result:+,}$setting
	done
	echo "$result"
}

# Slurm's daemons listen on all addresses, or on the one that the machine's
# name means. Their clients come from 127.0.0.1: only where the name means
# that, too, it can be told to keep to it.
is_loopback() {
	[ "$(getent ahostsv4 "$(uname -n)" 2>/dev/null |
		awk '{ print $1; exit }')" = 127.0.0.1 ]
}

write_addresses() {
	if [ "$hosts" = 1 ]; then
		echo "# Nobody but hosts of this sandbox reaches its addresses."
	elif is_loopback; then
		echo "CommunicationParameters=$1"
	else
		echo "# Listens on all addresses: $(uname -n) is not 127.0.0.1 here."
	fi
}

# Where the controller's daemons run, and what that is to them.
controller() {
	if [ "$hosts" = 1 ]; then
		echo ctl
	else
		hostname -s 2>/dev/null || cat /proc/sys/kernel/hostname
	fi
}

controller_address() {
	[ "$hosts" = 1 ] && address_of ctl || echo 127.0.0.1
}

# Folders of slurmd: a host has its own.
write_folders() {
	if [ "$hosts" = 1 ]; then
		printf '%s\n' SlurmdSpoolDir=/var/tmp/slurmd TmpFS=/tmp \
			SlurmdPidFile=/run/slurmd.pid
	else
		printf '%s\n' "SlurmdSpoolDir=$root/spool/%n" \
			"TmpFS=$root/tmp/%n" "SlurmdPidFile=$root/run/%n.own"
	fi
}

write_slurm_conf() {
	local host user plugins

	host=$(controller)
	user=$(id -un)
	plugins=$(plugin_path) || return 1
	cat <<END
# Written by pollux-sandbox.
ClusterName=sandbox
SlurmctldHost=$host($(controller_address))
SlurmctldPort=$port
$(write_addresses NoInAddrAny,NoCtldInAddrAny)
SlurmUser=$user
SlurmdUser=$user
PluginDir=$plugins

AuthType=auth/munge
AuthInfo=socket=$root/run/munge.socket
StateSaveLocation=$root/state
$(write_folders)
SlurmctldPidFile=$root/run/slurmctld.own
SlurmctldLogFile=$root/log/slurmctld.log
SlurmdLogFile=$root/log/%n.log
SlurmctldDebug=verbose
SlurmdDebug=info
LogTimeFormat=iso8601_ms

SchedulerType=$(scheduler_type)
SchedulerParameters=$(scheduler_parameters)
$(! has_pollux || echo JobSubmitPlugins=pollux)
SelectType=select/cons_tres
GresTypes=gpu
$([ "$switches" = 0 ] || echo TopologyPlugin=topology/tree)

# Many daemons on few CPUs: nobody is declared dead in haste.
MessageTimeout=60
SlurmctldTimeout=300
SlurmdTimeout=300
BatchStartTimeout=60
MinJobAge=300
KillWait=5
# A step daemon of Slurm 22.05 may hang in PMIx when its ranks were killed.
UnkillableStepTimeout=600
InactiveLimit=0
ReturnToService=2
PropagateResourceLimits=NONE

ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=pmix
MailProg=/bin/true

SlurmdParameters=config_overrides
$(write_nodes "$host")
$(write_accounting)

$(write_like)
${conf_extra:+
# --conf-extra
$conf_extra}
END
}

# Types are told apart by node, so each then has a line of its own.
write_nodes() {
	local i

	if ! mixed_types; then
		write_node "$1" "n[1-$nodes]" \
			"[$((port + 2))-$((port + 1 + nodes))]" \
			"$([ "$gpus" = 0 ] || echo " Gres=gpu:$(one_type)$gpus")"
		return
	fi
	for ((i = 1; i <= nodes; i++)); do
		write_node "$1" "n$i" "$((port + 1 + i))" \
			" Gres=$(gpus_of "$i" | awk '
				!count[$1]++ { type[++n] = $1 }
				END {
					for (i = 1; i <= n; i++)
						printf ",gpu:%s:%d", type[i], count[type[i]]
				}' | sed -e 's/^,//' -e 's/:-:/:/g')"
	done
}

# write_node HOST NAMES PORTS GRES
write_node() {
	local where="NodeHostname=$1 NodeAddr=127.0.0.1 Port=$3"

	[ "$hosts" = 0 ] || where=Port=$(port_of n1)
	cat <<END
NodeName=$2 $where CPUs=$cpus Boards=1 \
SocketsPerBoard=$sockets CoresPerSocket=$((cpus / sockets)) ThreadsPerCore=1 \
RealMemory=$memory State=UNKNOWN$4
END
}

write_accounting() {
	if [ "$accounting" = 0 ]; then
		echo AccountingStorageType=accounting_storage/none
		return
	fi
	cat <<END

AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=$(controller_address)
AccountingStoragePort=$(port_of slurmdbd)
# Without it slurmctld would sign with the system's munged, and fail.
AccountingStoragePass=$root/run/munge.socket
AccountingStorageTRES=$(counted_gpus)
AccountingStoreFlags=job_comment
END
}

write_slurmdbd_conf() {
	cat <<END
# Written by pollux-sandbox.
DbdHost=$(controller)
DbdAddr=$(controller_address)
DbdPort=$(port_of slurmdbd)
$(write_addresses NoInAddrAny)
SlurmUser=$(id -un)
PluginDir=$(slurm_plugindir)
AuthType=auth/munge
AuthInfo=socket=$root/run/munge.socket
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
PidFile=$root/run/slurmdbd.own
LogFile=$root/log/slurmdbd.log
DebugLevel=info
LogTimeFormat=iso8601_ms
END
}

# A switch above as many as there are, and the nodes in turn on these.
write_topology_conf() {
	local s i names

	echo "# Written by pollux-sandbox."
	for ((s = 1; s <= switches; s++)); do
		names=""
		for ((i = s; i <= nodes; i += switches)); do
			names+=${names:+,}n$i
		done
		[ -z "$names" ] || echo "SwitchName=leaf$s Nodes=$names"
	done
	echo "SwitchName=root Switches=leaf[1-$((switches < nodes ? switches : nodes))]"
}

# Proctrack and task plugins need no cgroup, but slurmd insists on a cgroup
# plugin; left to look by itself it fails where none is mounted. Newer releases
# can be told so, and refuse CgroupAutomount.
write_cgroup_conf() {
	if old_slurm; then
		printf '%s\n' "CgroupPlugin=cgroup/v1" "CgroupAutomount=no"
	else
		echo "CgroupPlugin=disabled"
	fi
}

write_configuration() {
	local i spank

	make_devices && write_scripts || return 1
	for ((i = 1; i <= nodes; i++)); do
		mkdir -p "$dir/spool/n$i" "$dir/tmp/n$i" || return 1
	done
	! has_users || chmod 1777 "$dir"/tmp/n*
	link_stand_in || return 1
	write_slurm_conf >"$dir/etc/slurm.conf" || return 1
	write_gres_conf >"$dir/etc/gres.conf"
	[ -z "$mig" ] || write_found_gpus >"$dir/etc/fake_gpus.conf" || return 1
	write_cgroup_conf >"$dir/etc/cgroup.conf"
	[ "$switches" = 0 ] || write_topology_conf >"$dir/etc/topology.conf"
	# The default tree fence crashes or hangs one start of 16 ranks in six.
	echo "PMIxCollFence=ring" >"$dir/etc/mpi.conf"
	spank=$(find_plugin spank_pollux) &&
		spank="required $spank no_io_uring_files"
	printf '%s\n' "# Written by pollux-sandbox." ${spank:+"$spank"} \
		>"$dir/etc/plugstack.conf"
	if [ "$accounting" = 1 ]; then
		(umask 077 && write_slurmdbd_conf >"$dir/etc/slurmdbd.conf")
	fi
}
