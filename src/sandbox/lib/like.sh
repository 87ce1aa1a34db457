# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# like.sh - what the cluster is like: a site's, or a plain laboratory
#
# site is what an administrator sets up on an ordinary cluster: Slurm packs jobs
# (no LLN), memory is counted, priority has many factors, one QOS preempts
# another, users have associations that are enforced, there are several
# partitions with time limits, GPUs have a type, and Prolog and Epilog work.
#
# plain leaves all of that out, and jobs start on the node with least load.
#
# Users: `users` are those that may submit jobs, besides who called `up`; one
# after the other they belong to the accounts below.

site_accounts=(vision speech)
# Who is on most machines and does nothing there, the preferred first.
site_users=(daemon bin games nobody)

# Settle what `up` was not told: types of GPUs and users.
choose_likeness() {
	[[ $like =~ ^(site|plain)$ ]] || refuse \
		"POLLUX_SANDBOX_LIKE must be one of site, plain, not '$like'"
	[ "$like" = plain ] || [ "$gpus" = 0 ] ||
		gpu_types=${gpu_types:-a100}
	[ "$gpu_types" != none ] || gpu_types=""
	if [ "$like" = plain ] || [ "$accounting" = 0 ]; then
		[ -z "$users" ] ||
			refuse "--users needs --like=site and accounting"
		[ "$like" = plain ] && return
		say "no accounting: one user, no QOS, no fair share"
		return
	fi
	choose_users
}

# Those of --users, or two that exist. Who is not root can only be himself.
choose_users() {
	local name

	if [ "$(id -u)" != 0 ]; then
		[ -z "$users" ] || refuse "--users is for root"
		users=$(id -un)
		say "not root: $users is the only user, in one account"
		return
	fi
	for name in ${users//,/ }; do
		[[ $name =~ ^[A-Za-z_] ]] && is_user "$name" || refuse \
			"--users: there is no user '$name' on this machine"
	done
	users=${users//,/ }
	[ -z "$users" ] || return 0
	for name in "${site_users[@]}"; do
		[ "$(wc -w <<<"$users")" -lt "${#site_accounts[@]}" ] &&
			is_user "$name" && users+=${users:+ }$name
	done
	return 0
}

is_user() {
	id -u -- "$1" >/dev/null 2>&1
}

# Is there more than one user, and are these others than who called `up`?
has_users() {
	[ -n "$users" ] && [ "$users" != "$(id -un)" ]
}

# account_of INDEX: of the user with this place in `users`, from 0
account_of() {
	echo "${site_accounts[$1 % ${#site_accounts[@]}]}"
}

# Others must reach munged's socket and their programs' folders. What lies
# above our folder is not ours to change.
let_users_in() {
	local name

	has_users || return 0
	chmod 711 "$dir/run" || return 1
	for name in $users; do
		(become "$name" test -x "$dir/run") || say "$name cannot reach" \
			"$dir: some folder above it is closed to other users"
	done
}

# become NAME COMMAND...
become() {
	local name=$1

	shift
	exec ${inside[@]+"${inside[@]}"} env HOME="${TMPDIR:-/tmp}" USER="$name" LOGNAME="$name" setpriv \
		--reuid="$name" --regid="$(id -g -- "$name")" --init-groups "$@"
}

# May jobs share a node?
sharing() {
	[ "$whole" = 1 ] && echo EXCLUSIVE || echo NO
}

# What is not like the laboratory, for the end of slurm.conf.
write_like() {
	if [ "$like" = plain ]; then
		cat <<END
PriorityType=priority/basic
SelectTypeParameters=CR_Core
PartitionName=main Nodes=ALL Default=YES LLN=YES OverSubscribe=$(sharing) \
MaxTime=INFINITE State=UP
END
		return
	fi
	cat <<END
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=$((memory / cpus))
PriorityType=priority/multifactor
PriorityMaxAge=7-0
PriorityWeightAge=1000
PriorityWeightPartition=1000
$(write_site_policies)

Prolog=$root/etc/prolog
Epilog=$root/etc/epilog
PrologFlags=Alloc

PartitionName=DEFAULT Nodes=ALL OverSubscribe=$(sharing) State=UP
PartitionName=main Default=YES PriorityJobFactor=10 DefaultTime=1-0 MaxTime=7-0
PartitionName=short PriorityJobFactor=20 DefaultTime=10 MaxTime=1:00:00
PartitionName=debug Nodes=n1 PriorityJobFactor=30 DefaultTime=5 MaxTime=30 \
MaxNodes=1
END
}

# These need associations.
write_site_policies() {
	[ "$accounting" = 1 ] || return
	cat <<END
PriorityWeightFairshare=10000
PriorityWeightQOS=2000
PreemptType=preempt/qos
PreemptMode=REQUEUE
AccountingStorageEnforce=associations,limits,qos
END
}

# Before slurmctld asks for them: QOS, the cluster, accounts and users, by one
# sacctmgr, as each question of it takes a third of a second. root is in
# Slurm's own account of that name, of which the others are part.
add_site() {
	write_accounts >"$dir/etc/accounts" && write_site_books |
		client sacctmgr -i
}

# What sacctmgr is to do. Only somebody whom the accounts know may load a file,
# and at first these know root alone.
write_site_books() {
	cat <<END
add qos high,low
modify qos where name=high set Priority=1000 Preempt=low
END
	if [ "$(id -u)" = 0 ]; then
		echo "load $root/etc/accounts"
	else
		cat <<END
add cluster sandbox
modify account where name=root set QOS=high,low,normal
add account ${site_accounts[0]} Fairshare=100
add user $users Account=${site_accounts[0]}
END
	fi
	echo exit
}

write_accounts() {
	local name account i=0

	echo "Cluster - 'sandbox':Fairshare=1:QOS='high,low,normal'"
	echo "Parent - 'root'"
	for account in "${site_accounts[@]}"; do
		printf "Account - '%s':Description='%s':%s\n" "$account" \
			"$account" "Organization='site':Fairshare=100"
	done
	for name in $users; do
		printf "Parent - '%s'\nUser - '%s':DefaultAccount='%s'\n" \
			"$(account_of $i)" "$name" "$(account_of $i)"
		i=$((i + 1))
	done
}

# A Prolog that looks after the node and makes the job a folder of its own; an
# Epilog that removes it. Both leave a line.
write_scripts() {
	local name

	[ "$like" = site ] || return 0
	write_prolog >"$dir/etc/prolog" && write_epilog >"$dir/etc/epilog" &&
		chmod 755 "$dir"/etc/{prolog,epilog}
}

# Where a node keeps the folders of jobs, as a shell writes it.
scripts_folder() {
	[ "$hosts" = 1 ] && echo /tmp || echo "$root/tmp/\$SLURMD_NODENAME"
}

# Instances of GPUs are numbered by themselves.
write_prolog() {
	local device=$([ -z "$mig" ] && echo gpu || echo cap)

	cat <<END
#!/bin/sh
# Written by pollux-sandbox.
tmp=$(scripts_folder)
mine=\$tmp/job.\$SLURM_JOB_ID
say() {
	echo "\$(date +%FT%T) prolog job=\$SLURM_JOB_ID node=\$SLURMD_NODENAME" \\
		"gpus=\$SLURM_JOB_GPUS \$*" >>$root/log/scripts
}
fail() {
	say "failed: \$*"
	exit 1
}
set -- \$(stat -f -c '%a %S' "\$tmp")
[ \$((\${1:-0} * \${2:-0})) -gt 1048576 ] || fail "\$tmp is full"
mkdir -p -m 700 "\$mine" || fail "cannot make \$mine"
$([ "$(id -u)" != 0 ] || echo "chown \"\$SLURM_JOB_UID\" \"\$mine\" ||
	fail \"cannot give \$mine away\"")
IFS=,
for gpu in \$SLURM_JOB_GPUS; do
	[ -c "$root/dev/$device\$gpu" ] || fail "GPU \$gpu is gone"
done
say ok
END
}

write_epilog() {
	cat <<END
#!/bin/sh
# Written by pollux-sandbox.
rm -rf "$(scripts_folder)/job.\$SLURM_JOB_ID"
echo "\$(date +%FT%T) epilog job=\$SLURM_JOB_ID node=\$SLURMD_NODENAME" \\
	>>$root/log/scripts
END
}
