# SPDX-License-Identifier: MIT
# test_site.t - a sandbox like a site is what it says, and elastic jobs of two
# users with limits of their own live there, beside a rigid one
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

need_daemons
[ "$(id -u)" = 0 ] && type -P setpriv >/dev/null ||
	skip_all "several users take root and setpriv"
[ -x "$POLLUX_BUILDDIR/examples/.libs/pollux-train" ] ||
	skip_all "built without Open MPI"

# Copies of what users run: the build tree may be closed to them.
mkdir "$WORK/bin" "$WORK/lib"
for program in src/launcher/pollux-{launch,rank} examples/.libs/pollux-train; do
	cp -L "$POLLUX_BUILDDIR/$program" "$WORK/bin"
done
cp -L "$POLLUX_BUILDDIR"/src/agent/.libs/*.so* \
	"$POLLUX_BUILDDIR"/src/plugins/.libs/*_pollux.so "$WORK/lib"
use_build_tree
export POLLUX_PLUGIN_PATH=$WORK/lib LD_LIBRARY_PATH=$WORK/lib
sandbox_up --like=site --nodes 4 --gpus-per-node 4 --params pollux_min_gap=0.5
plan 19

# has REGEX COMMAND...: a line of what it prints is so.
has() {
	local regex=$1
	shift
	sb "$@" | tee "$WORK/seen.txt" | grep -qxE " *$regex *" || {
		cat "$WORK/seen.txt"
		return 1
	}
}

# configured KEY VALUE
configured() {
	has "$1 *= $2" scontrol show config
}

# as USER COMMAND...: in a folder of the user's own.
as() {
	local user=$1
	shift
	(cd "$WORK/$user" && PATH=$WORK/bin:$PATH \
		pollux-sandbox exec --dir "$SB" --user "$user" "$@")
}

users=(daemon bin)
for user in "${users[@]}"; do
	install -d -o "$user" "$WORK/$user"
done

# train USER NAME SBATCH-OPTION...: an elastic job that trains until told;
# prints its id.
train() {
	local user=$1 name=$2
	shift 2
	as "$user" sbatch --parsable -J "$name" -o "$name.out" \
		--scheduler-params=pollux,max=16 "$@" --wrap \
		"srun pollux-launch -v --checkpoint-dir $name.ckpt pollux-train \
		--samples=20000 --epochs=9999 --batch=1280 --max-batch=1280 \
		--emulate-gpu=compute --time-scale=0.3"
}

# account_has ACCOUNT GPUS: its running jobs hold so many, by Slurm's own books.
account_has() {
	sb scontrol show assoc_mgr accounts="$1" flags=assoc |
		sed -n '/UserName= /,/^$/p' | grep -oE 'gres/gpu=[0-9N]+\([0-9]+\)' |
		head -n 1 | tee "$WORK/books.txt" | grep -q "($2)"
}

# --- it is what it says
ok "memory is given out with CPUs" eval '
	configured SelectTypeParameters CR_CORE_MEMORY &&
		configured DefMemPerCPU 8192'
ok "priority has many factors" eval '
	configured PriorityType priority/multifactor &&
		configured PriorityWeightFairShare 10000'
ok "a QOS preempts another" eval '
	configured PreemptType preempt/qos && configured PreemptMode REQUEUE &&
		has "high\|1000\|low" sacctmgr -nP list qos \
			format=name,priority,preempt'
ok "limits and associations are enforced" configured \
	AccountingStorageEnforce associations,limits,qos
ok "two users are in two accounts" eval '
	has "vision\|daemon\|high,low,normal" sacctmgr -nP list assoc \
		format=account,user,qos &&
		has "speech\|bin\|.*" sacctmgr -nP list assoc \
			format=account,user,qos'
ok "the default partition packs, and has a time limit" eval '
	has ".*PartitionName=main .* Default=YES .*DefaultTime=1-00:00:00 .* \
MaxTime=7-00:00:00 .* LLN=NO .*" scontrol -o show partition main'
ok "there are others" eval '
	[ "$(sb sinfo -h -o %R | sort | xargs)" = "debug main short" ]'
ok "GPUs have a type" eval '
	[ "$(sb sinfo -h -N -o %G | sort -u)" = gpu:a100:4 ]'
ok "status tells so" eval '
	pollux-sandbox status --json --dir "$SB" | jq -e ".like == \"site\" and
		.users == {daemon: \"vision\", bin: \"speech\"} and
		.gpu_types == \"a100\""'

ok "others than its users are refused" eval '
	fails setpriv --reuid=nobody --regid=nogroup --clear-groups \
		env "SLURM_CONF=$SB/etc/slurm.conf" sbatch -o /dev/null -D / \
		--wrap true 2>&1 | grep "Invalid account"'

packed() {
	local one two
	one=$(submit_rigid -N1 --gpus-per-node=1 -- 600)
	two=$(submit_rigid -N1 --gpus-per-node=a100:1 -- 600)
	wait_until "is_state $one RUNNING && is_state $two RUNNING" 20 &&
		[ "$(job_field "$one" NodeList)" = "$(job_field "$two" NodeList)" ] &&
		has_gpus "$one" 1 && has_gpus "$two" 1 &&
		sb scontrol show job "$one" | grep "TRES=.*mem=8G,.*gpu:a100=1"
	local rc=$?
	sb scancel "$one" "$two"
	wait_until cluster_is_idle 20 && return $rc
}
ok "jobs with and without a type are packed on a node, with memory" packed

# --- two users
sb sacctmgr -i modify account vision set GrpTRES=gres/gpu=4 >/dev/null
sb sacctmgr -i modify account speech set GrpTRES=gres/gpu=10 >/dev/null

first=$(train daemon first)
ok "a user's job trains with all GPUs that the account may have" \
	wait_until "has_gpus $first 4 && trains $first && account_has vision 4" 60
second=$(train bin second --gpus-per-node=a100:1)
ok "beside it one of another user, with another limit, by type" \
	wait_until "has_gpus $second 10 && trains $second" 60
ok "the books have both" eval 'account_has vision 4 && account_has speech 10'
# ranks_of JOB: how many there are, of whom
ranks_of() {
	# shellcheck disable=SC2046 # a list
	ps -o user= -p $(pids_of "$1" pollux-train | paste -sd,) | sort |
		uniq -c | xargs
}
ok "its ranks are processes of its user" eval '
	[ "$(ranks_of $first) $(ranks_of $second)" = "4 daemon 10 bin" ]'

rigid=$(as bin sbatch --parsable -o /dev/null -N2 --gpus-per-node=a100:2 \
	--wrap "sleep 600")
ok "a rigid job of that user gets its GPUs within the limit" eval '
	wait_until "is_state $rigid RUNNING" 30 && has_gpus $rigid 4 &&
		wait_until "has_gpus $second 6 && has_gpus $first 4" 30'
sb scancel "$rigid"
ok "which come back when it ends" wait_until "has_gpus_or_more $second 8" 60

# Each node of a job has had its Prolog, and its Epilog in the end.
scripts_ran() {
	local what=$1 node
	for node in $(grep -oE "prolog job=$second node=n[1-4]" \
		"$SB/log/scripts" | cut -d= -f3 | sort -u); do
		echo "$node"
		grep -q "$what job=$second node=$node" "$SB/log/scripts" ||
			return 1
	done | tee "$WORK/nodes.txt"
	[ "$(wc -l <"$WORK/nodes.txt")" -ge 3 ]
}
sb scancel "$first" "$second"
ok "each node that a job had was prepared, and cleaned" eval '
	wait_until cluster_is_idle 30 &&
		wait_until "scripts_ran prolog && scripts_ran epilog" 20 &&
		! grep failed "$SB/log/scripts" &&
		wait_until "! ls $SB/tmp/*/job.* 2>/dev/null" 20'
ok "sacct has the GPU-seconds of all of it" accounts_agree
