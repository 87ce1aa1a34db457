# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# daemons.sh - starting each daemon and knowing when it answers
#
# Every daemon has a session of its own (Ctrl-C does not reach it), its pid in
# run/NAME.pid and POLLUX_SANDBOX=dir in its environment, by which the whole
# family is found again. Functions that start something return 1 after a
# failure and leave the guilty daemon's name in `guilty`.

guilty=""

# Run a command with the sandbox's environment, not with that of a Slurm job
# in which `up` may have been called.
enter() {
	unset_slurm
	export POLLUX_SANDBOX=$dir SLURM_CONF=$root/etc/slurm.conf
	[ -z "$slurm_prefix" ] || PATH=$(slurm_path)
	unset POLLUX_KEEPER
	"$@"
}

unset_slurm() {
	local name

	for name in "${!SLURM_@}" "${!SLURMD_@}" "${!SBATCH_@}" \
		"${!SALLOC_@}" "${!SACCT_@}" "${!SQUEUE_@}" "${!SINFO_@}"; do
		unset "$name"
	done
}

# What MPI programs need when many ranks of several "hosts" share one machine.
set_mpi_environment() {
	export SLURM_PMIX_FENCE=ring PMIX_MCA_gds=hash
	# Shared memory's names clash between the nodes, which are one host.
	[ "$hosts" = 1 ] ||
		export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo
	export OMPI_MCA_pml=ob1 OMPI_MCA_osc=^ucx OMPI_MCA_coll=^hcoll,ucc
	export OMPI_MCA_mpi_yield_when_idle=1
	# Open MPI 5: sleep for that, so that ranks that wait are not in the way.
	export OMPI_MCA_threads_pthreads_yield_strategy=nanosleep
	export OMPI_MCA_hwloc_base_binding_policy=none
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# Close what the caller had open: a daemon must not hold a lock or a pipe.
close_files() {
	local fd

	for fd in /proc/"$BASHPID"/fd/*; do
		fd=${fd##*/}
		# 255 is how bash reads this script.
		[ "$fd" -lt 3 ] || [ "$fd" = 255 ] || exec {fd}>&-
	done
}

# spawn NAME PROGRAM ARGUMENT...: start a daemon that stays in the foreground
spawn() {
	local name=$1 program output=$dir/log/$1.out host

	shift
	host=$(host_of "$name")
	in_host "$host" || return 1
	# These two have no other log; Slurm's write theirs and say it again.
	[[ $name == m* ]] && output=$dir/log/$name.log
	if ! program=$(find_program "$1"); then
		complain "$1 is not installed"
		return 1
	fi
	shift
	(
		cd "$dir/run" || exit 1
		exec </dev/null >>"$output" 2>&1
		close_files
		# Bash lets what runs in the background ignore these two, and
		# so would every job.
		enter exec env --default-signal=INT,QUIT \
			setsid ${inside[@]+"${inside[@]}"} "$program" "$@"
	) &
	echo $! >"$dir/run/$name.pid"
	disown $!
	[ ${#inside[@]} -eq 0 ] || [ "$host" = ctl ] || adopt "$name" $!
}

# wait_for NAME COMMAND...: until the daemon answers; fails when it has died,
# found its port taken, or when time is up.
wait_for() {
	guilty=$1
	shift
	wait_until "$deadline" answers_or_hopeless "$guilty" "$@" || return 1
	! hopeless "$guilty"
}

answers_or_hopeless() {
	local name=$1

	shift
	"$@" >/dev/null 2>&1 || hopeless "$name"
}

hopeless() {
	! pid_of "$1" >/dev/null || port_was_taken
}

# Did a daemon find its port taken by somebody faster?
port_was_taken() {
	grep -qsF "Address already in use" "$dir"/log/slurm{ctld,dbd}.{log,out} \
		"$dir"/log/n*.{log,out}
}

# listens NAME PORT: does this daemon, and not just somebody?
listens() {
	local pid hex inodes

	printf -v hex '%04X' "$2"
	pid=$(pid_of "$1") || return 1
	inodes=$(awk -v port=":$hex" '$4 == "0A" && index($2, port) {
		print "socket:[" $10 "]"
	}' "/proc/$pid/net/tcp" "/proc/$pid/net/tcp6" 2>/dev/null)
	[ -n "$inodes" ] && readlink "/proc/$pid/fd/"* 2>/dev/null |
		grep -qxF -- "$inodes"
}

# The pid files that daemons write themselves are NAME.own: ours, NAME.pid, must
# never be empty or missing for a moment.
start_munged() {
	local key=$dir/etc/munge.key

	[ -s "$key" ] || (umask 077 && head -c 128 /dev/urandom >"$key")
	# --force: who owns the folders above ours is not our business.
	rm -f "$dir/run/munge.socket"
	spawn munged munged --foreground --force --key-file="$key" \
		--socket="$root/run/munge.socket" \
		--pid-file="$root/run/munged.own" \
		--seed-file="$root/run/munged.seed" \
		--num-threads=4 &&
		wait_for munged test -S "$dir/run/munge.socket"
}

# Everything about the database that can be cheap, is: it is thrown away.
database_options() {
	printf '%s\n' --no-defaults --datadir="$root/db/data" \
		--innodb-log-file-size=16M --innodb-buffer-pool-size=64M \
		--innodb-flush-log-at-trx-commit=0 --skip-name-resolve
	[ "$(id -u)" != 0 ] || echo --user=root
}

create_database() {
	local -a options

	[ -d "$dir/db/data/mysql" ] && return
	mapfile -t options < <(database_options)
	(umask 077 && mkdir -p "$dir/db") || return 1
	copy_database && return
	(
		enter # or it would be missed by who takes us down meanwhile
		PATH=$PATH:/usr/sbin exec mariadb-install-db "${options[@]}" \
			--auth-root-authentication-method=normal --skip-test-db
	) </dev/null >>"$dir/log/mariadb.log" 2>&1 && keep_database
}

# Whoever starts many clusters, as our tests do, names a folder in
# POLLUX_SANDBOX_DATABASES: an empty database is kept there, for each release of
# MariaDB, and copied, which takes a tenth of the time.
kept_database() {
	local version

	[ -n "${POLLUX_SANDBOX_DATABASES:-}" ] &&
		version=$(PATH=$PATH:/usr/sbin mariadbd --no-defaults --version) &&
		kept=$POLLUX_SANDBOX_DATABASES/$(id -u)-${version//[^A-Za-z0-9.]/_}
}

copy_database() {
	local kept

	kept_database && [ -d "$kept/mysql" ] && [ -O "$kept" ] || return 1
	(enter exec cp -a --sparse=always "$kept" "$dir/db/data") 2>/dev/null &&
		return
	rm -rf "$dir/db/data"
	return 1
}

# One that somebody else keeps at the same time is as good.
keep_database() {
	local kept draft

	kept_database && [ ! -e "$kept" ] || return 0
	draft=$kept.$$
	{
		(umask 077 && mkdir -p "$POLLUX_SANDBOX_DATABASES") &&
			[ -O "$POLLUX_SANDBOX_DATABASES" ] &&
			(enter exec cp -a --sparse=always "$dir/db/data" "$draft") &&
			mv -T "$draft" "$kept"
		rm -rf "$draft"
	} 2>/dev/null
	return 0
}

# Its socket lies in db/, which is closed to others: root has no password.
# slurmdbd would make its database, but libmariadb 3.4 (Debian 13) forgets
# after a first connect that failed how much it may receive. And MariaDB 11.6 and
# later end transactions that slurmdbd lets run side by side, unless told not to.
start_mariadb() {
	local -a options

	guilty=mariadb
	create_database || return 1
	mapfile -t options < <(database_options)
	rm -f "$dir/db/socket"
	echo "CREATE DATABASE IF NOT EXISTS slurm_acct_db;" >"$dir/db/init.sql"
	spawn mariadb mariadbd "${options[@]}" --skip-networking \
		--socket="$root/db/socket" --pid-file="$root/run/mariadb.own" \
		--log-error="$root/log/mariadb.log" \
		--init-file="$root/db/init.sql" \
		--innodb-lock-wait-timeout=900 --innodb-doublewrite=0 \
		--loose-innodb-snapshot-isolation=OFF \
		--performance-schema=OFF --skip-log-bin &&
		wait_for mariadb test -S "$dir/db/socket"
}

start_slurmdbd() {
	guilty=slurmdbd
	MYSQL_UNIX_PORT=$root/db/socket spawn slurmdbd slurmdbd -D &&
		wait_for slurmdbd listens slurmdbd "$(port_of slurmdbd)" &&
		wait_for slurmdbd client sacctmgr -n list cluster
}

# slurmctld must find its cluster in the database, or sacct stays empty.
add_cluster() {
	guilty=slurmdbd
	[ "$accounting" = 1 ] || return 0
	client sacctmgr -n list cluster format=cluster |
		grep -q sandbox && return
	if [ "$like" = site ]; then
		add_site
	else
		client sacctmgr -i add cluster sandbox
	fi >>"$dir/log/slurmdbd.out" 2>&1
}

# 25.11 saves the usage of accounts after minutes at first, and killed
# before that does not start again unless it is told to (-i).
start_slurmctld() {
	local -a options=(-D)

	guilty=slurmctld
	old_slurm || [ -e "$dir/state/assoc_usage" ] ||
		options+=(-i)
	spawn slurmctld slurmctld "${options[@]}" &&
		wait_for slurmctld listens slurmctld "$port" &&
		wait_for slurmctld client scontrol ping
}

# start_node NAME: does not wait; all start at once
start_node() {
	guilty=$1
	if [ "$hosts" = 1 ]; then
		spawn "$1" slurmd -D
	else
		# PMIx 5 does not find a rank's peers under another name.
		PMIX_HOSTNAME=$1 spawn "$1" slurmd -D -N "$1"
	fi
}

# What answers for all nodes at once listens on the port of each.
start_slurmds() {
	guilty=slurmds
	spawn slurmds "$slurmds" --gpus="$gpus" &&
		wait_for slurmds listens slurmds "$(port_of "n$nodes")"
}

start_nodes() {
	local i

	if [ -n "$slurmds" ]; then
		start_slurmds && wait_until "$deadline" nodes_ready
		return
	fi
	for ((i = 1; i <= nodes; i++)); do
		start_node "n$i" || return 1
	done
	wait_until "$deadline" nodes_ready_or_dead && nodes_ready
}

nodes_ready() {
	[ "$(client sinfo -h -N -t idle -o %N | sort -u | wc -l)" = "$nodes" ]
}

# Succeeds also when a slurmd has died: there is no use in waiting on.
nodes_ready_or_dead() {
	local i

	for ((i = 1; i <= nodes; i++)); do
		guilty=n$i
		pid_of "n$i" >/dev/null || return 0
	done
	guilty=slurmctld
	nodes_ready
}

# client CMD...: a Slurm command, patient but not for ever
client() {
	(
		exec 9>&-
		in_host ctl || exit
		enter exec ${inside[@]+"${inside[@]}"} timeout --foreground -k 2 30 "$@"
	) 2>/dev/null
}

# Start all of it, in order.
start_all() {
	start_hosts && start_munged || return 1
	if [ "$accounting" = 1 ]; then
		start_mariadb && start_slurmdbd && add_cluster || return 1
	fi
	start_slurmctld && start_nodes
}
