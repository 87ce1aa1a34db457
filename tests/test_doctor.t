# SPDX-License-Identifier: MIT
# test_doctor.t - pollux-doctor finds each thing that is wrong, nothing else
#
# A folder has what was seen of a healthy cluster; each case changes a word of
# it. Then a real cluster is looked at, and a user's environment is broken.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

need_daemons
use_build_tree
IN=$WORK/in

healthy() {
	rm -rf "$IN"
	mkdir "$IN"
	cat >"$IN/config" <<'END'
asked 1790000000
Configuration data as of 2026-09-21T14:13:20
AccountingStorageTRES   = cpu,mem,gres/gpu
AccountingStorageType   = accounting_storage/slurmdbd
AccountingStoreFlags    = job_comment
ClusterName             = tiny
ConstrainDevices        = yes
GresTypes               = gpu
JobSubmitPlugins        = lua,pollux
PluginDir               = /p:/s
SchedulerParameters     = bf_interval=30,pollux_interval=60
SchedulerType           = sched/pollux
SelectType              = select/cons_tres
SlurmctldHost[0]        = head(10.0.0.1)
SLURM_VERSION           = 22.05.8
TaskPlugin              = affinity,task/cgroup
answered 1790000000
END
	echo head >"$IN/host"
	echo slurm-wlm 22.05.8 >"$IN/client"
	printf '%s 0x160508 /p/%s.so\n' sched_pollux{,} job_submit_pollux{,} \
		spank_pollux{,} >"$IN/plugins"
	echo sched_backfill - /s/sched_backfill.so >>"$IN/plugins"
	printf '%s\n' "SelectType all select_cons_tres.so /s/select_cons_tres.so" \
		"PriorityType slurmctld priority_multifactor.so /s/p.so" \
		>"$IN/named"
	printf '%s\n' "file /etc/slurm/plugstack.conf" \
		"required spank_pollux.so no_io_uring_files" >"$IN/plugstack"
	echo "      --scheduler-params=pollux[,key=value...]" >"$IN/sbatch"
	printf 'NodeName=n%d Gres=gpu:4 NodeHostName=h%d State=IDLE\n' \
		1 1 2 2 >"$IN/nodes"
	printf 'PartitionName=%s Nodes=n1 OverSubscribe=%s State=UP\n' \
		main NO more NO >"$IN/partitions"
	echo tiny >"$IN/clusters"
	printf 'MPI plugin types are...\n\tnone\n\tpmix\n' >"$IN/mpi"
	echo rc 0 >"$IN/pmix"
	printf '%s\n' ompi:version:full:4.1.4 \
		mca:pmix:ext3x:version:x >"$IN/openmpi"
	printf '%s\n' "gpu yes" "driver libcuda.so.1" "cudart libcudart.so.12" \
		"nvrtc libnvrtc.so.12" "nccl libnccl.so.2" \
		"pollux libpollux.so.0" >"$IN/libraries"
	printf '%s\n' "path /b/pollux-launch" "rank /b/pollux-rank" \
		>"$IN/launcher"
	printf '%s\n' "dir /home/u" "writable yes" "free 90000000" \
		"type nfs4" >"$IN/checkpoints"
	printf 'Filesystem\nshm 9000000 0 9000000 0%% /dev/shm\n' >"$IN/memory"
	echo "dir /tmp" >"$IN/sockets"
	printf '%s\n' "submitted 7" "changed yes" >"$IN/job"
}

look() {
	TZ=UTC pollux-doctor --from="$IN" "$@"
}

# finds STATE CHECK WORDS FILE SED-SCRIPT: that alone, once the file is changed
finds() {
	local rc=0 want=0
	healthy
	sed -i "$5" "$IN/$4"
	look --quiet >"$WORK/said" || rc=$?
	cat "$WORK/said"
	[ "$1" != wrong ] || want=1
	[ "$rc" = $want ] && [ "$(wc -l <"$WORK/said")" = 1 ] &&
		grep -qE "^$1 +$2 .*$3" "$WORK/said"
}

# What is looked at; what it says; which fact, and the word that is changed.
cases=(
	"wrong|scheduler|set SchedulerType=sched/pollux|config|s,sched/pollux,sched/backfill,"
	"wrong|scheduler|folder pollux of our plugins first in PluginDir|config|s,sched/pollux,sched/backfill,"
	"wrong|scheduler|built for Slurm 22.05.9, but slurmctld is 22.05.8|plugins|/sched_p/s/508/509/"
	"wrong|scheduler|in no folder of PluginDir=/p:/s|plugins|/sched_p/d"
	"warning|scheduler|does not say for which|plugins|/sched_p/s/0x160508/-/"
	"warning|versions|same release|client|s/22.05/21.08/"
	"wrong|submit|add pollux to JobSubmitPlugins|config|s/lua,pollux/lua/"
	"wrong|submit|built for Slurm 23.02.0|plugins|/submit/s/0x160508/0x170200/"
	"wrong|option|required spank_pollux.so|plugstack|s/^required/#required/"
	"wrong|option|does not show|sbatch|d"
	"wrong|option|built for Slurm 21.08, but|plugins|/spank/s/0x1605/0x1508/"
	"wrong|select|CR_Core|config|s,cons_tres,linear,"
	"wrong|parameters|: pollux_intervall is unknown|config|s/interval=60/intervall=60/"
	"wrong|parameters|pollux_weigh=foo: want service, left or no|config|s/pollux_interval=60/pollux_weigh=foo/"
	"wrong|parameters|: pollux_ack_timeout=99999: want seconds from 1 to 3600|config|s/pollux_interval=60/pollux_ack_timeout=99999/"
	"wrong|parameters|: pollux_ack_timeout: want .*; pollux_fairness=max: want|config|s/pollux_interval=60/pollux_ack_timeout,pollux_fairness=max/"
	"wrong|files|priority_multifactor.so .PriorityType.|named|/priority/s,/s/.*,none,"
	"warning|parameters|keep the shape|config|s/pollux_interval=60/pollux_enabled=no/"
	"warning|preempt|PreemptType=preempt/pollux_qos|config|/PluginDir/iPreemptType = preempt/qos"
	"warning|backfill|no job starts before|config|s/pollux_interval=60/pollux_backfill=no/"
	"wrong|backfill|no sched_backfill.so|plugins|/sched_backfill/d"
	"wrong|gres|set GresTypes=gpu|config|/GresTypes/d"
	"wrong|gpus|no node has GPUs|nodes|s/gpu:4/mps:4/"
	"warning|gpus|61 types of GPUs are on nodes that have several|nodes|s/gpu:4 /$(printf 'gpu:t%d:1(S:0,1),' {1..61})mps:4 /"
	"warning|accounting|nothing to tell|config|s,storage/slurmdbd,storage/none,"
	"wrong|accounting|sacctmgr add cluster tiny|clusters|s/tiny/other/"
	"warning|devices|add task/cgroup|config|/TaskPlugin/d"
	"warning|devices|set ConstrainDevices=yes|config|/ConstrainDevices/d"
	"warning|devices|write no_io_uring_files behind spank_pollux.so in /etc/slurm/plugstack.conf|plugstack|s/ no_io.*/ # no_io_uring_files/"
	"warning|shapes|no gres/gpu|config|s,mem.gres/gpu,mem,"
	"warning|comments|no job_comment|config|s/job_comment/job_script/"
	"warning|prologs|not for nodes that it gains|config|1aPrologSlurmctld = /etc/slurm/up"
	"warning|partitions|given whole .*: more: |partitions|/more/s/=NO/=EXCLUSIVE/"
	"wrong|partitions|every partition|partitions|s/=NO/=EXCLUSIVE/"
	"wrong|pmix|no pmix|mpi|s/pmix/pmi2/"
	"wrong|pmix|Debian: libpmix-dev|pmix|s/rc 0/srun: error: Invalid MPI type 'pmix'/"
	"wrong|pmix|does not end|pmix|s/0/124/"
	"wrong|pmix|fails .srun: error: Task launch failed|pmix|s/rc 0/srun: error: Task launch failed\nrc 1/"
	"warning|openmpi|no Open MPI|openmpi|d"
	"wrong|openmpi|without PMIx|openmpi|s/ext3x/isolated/"
	"wrong|cuda|driver's libraries|libraries|/driver/s/ .*/ none/"
	"wrong|cuda|install CUDA's runtime|libraries|/cudart/s/ .*/ none/"
	"wrong|cuda|NVRTC|libraries|/nvrtc/s/ .*/ none/"
	"wrong|nccl|install NCCL|libraries|/nccl/s/ .*/ none/"
	"wrong|launcher|no pollux-launch in PATH|launcher|d"
	"wrong|launcher|without its pollux-rank|launcher|/rank/{/path/!d}"
	"warning|launcher|libpollux.so cannot|libraries|/pollux/s/ .*/ none/"
	"wrong|checkpoints|cannot write .* /home/u|checkpoints|/writable/d"
	"wrong|checkpoints|has 1 MiB left|checkpoints|s/90000000/1500/"
	"warning|checkpoints|this machine alone .ext4.|checkpoints|s/nfs4/ext4/"
	"warning|memory|has 8 MiB left|memory|s/9000000 0%/9000 0%/"
	"wrong|sockets|set TMPDIR|sockets|d"
	"wrong|sockets|too long|sockets|s,/tmp,/$(printf '%090d' 0),"
	"warning|clock|are 5 s apart|config|s/14:13:20/14:13:25/"
	"wrong|clock|are 3600 s apart|config|s/14:13:20/13:13:20/"
	"wrong|job|was not taken .*No partition|job|s/.*/refused No partition/"
	"wrong|job|may not change|job|/changed/d"
)

all_is_well() {
	healthy
	look
	look | awk '$1 != "ok" { bad = 1 } END { exit bad || NR != 28 }'
}

# Of a type each, and one node has GPUs with and without a type.
types_apart() {
	healthy
	printf 'NodeName=n Gres=gpu:t%d:1(S:0,1) State=IDLE\n' {1..100} \
		>"$IN/nodes"
	echo 'NodeName=m Gres=gpu:t1:1,gpu:1 State=IDLE' >>"$IN/nodes"
	look gpus | tee "$WORK/said"
	grep -q '^ok .*101 nodes have GPUs' "$WORK/said"
}

# The kernel itself can refuse io_uring.
without_io_uring() {
	healthy
	sed -i 's/ no_io.*//' "$IN/plugstack"
	echo 2 >"$IN/io_uring"
	look devices | tee "$WORK/said"
	rm "$IN/io_uring"
	grep -q '^ok .*no GPU but their own' "$WORK/said"
}

gives_before_preempted() {
	healthy
	sed -i '/PluginDir/iPreemptType = preempt/pollux_partition_prio' \
		"$IN/config"
	look preempt | tee "$WORK/said"
	grep -q '^ok .*elastic jobs give up GPUs' "$WORK/said"
}

# Ours has the name of Slurm's backfill, in a folder before Slurm's.
healthy_in_place() {
	healthy
	sed -i 's,sched/pollux,sched/backfill,
		s,/p:/s,/p/pollux:/p:/s,' "$IN/config"
	sed -i 's,^sched_backfill.*,sched_backfill 0x160508 /p/pollux/sched_backfill.so\n&,' \
		"$IN/plugins"
}

says_of() {
	look --quiet >"$WORK/said" || :
	cat "$WORK/said"
	grep -qE "$1" "$WORK/said"
}

in_the_place_of_backfill() {
	healthy_in_place && look --quiet &&
		look | grep -E '^ok +scheduler .*in the place of sched/backfill, built for' &&
		look | grep -E '^ok +backfill' || return
	sed -i '/pollux.sched_b/s/508/509/' "$IN/plugins"
	says_of '^wrong +scheduler .*built for Slurm 22.05.9' || return
	healthy_in_place
	sed -i '/^sched_backfill - /d' "$IN/plugins"
	says_of '^wrong +backfill .*add the folder of Slurm' || return
	healthy_in_place
	echo login >"$IN/host"
	sed -i '/^sched_/d; /submit/d' "$IN/plugins"
	look --quiet && look | grep -E '^ok +scheduler .*its file is on head'
}

# Not slurmctld's machine: its plugins need not be here.
elsewhere() {
	healthy
	echo login >"$IN/host"
	sed -i '/sched_p/d; /submit/d; /backfill/d' "$IN/plugins"
	sed -i '/ slurmctld /s,/s/.*,none,' "$IN/named"
	look --quiet
}

every_check_has_been_wrong() {
	local check
	for check in $(pollux-doctor --list); do
		[ "$check" != slurmctld ] || continue
		printf '%s\n' "${cases[@]}" | grep -q "^[a-z]*|$check|" && continue
		echo "no case breaks $check"
		return 1
	done
}

without_slurmctld() {
	healthy
	echo "scontrol: error: unable to contact" >"$IN/config"
	fails look >"$WORK/said" || return
	cat "$WORK/said"
	grep -q '^wrong *slurmctld .*unable to contact' "$WORK/said" &&
		[ "$(grep -c '^wrong' "$WORK/said")" = 1 ]
}

in_json() {
	healthy
	sed -i 's/lua,pollux/l"u\\a/' "$IN/config"
	look --json | jq -e '.wrong == 1 and (.checks | length) == 28 and
		(.checks[] | select(.check == "submit") |
		.state == "wrong" and (.what | contains("l\"u\\a")))'
}

# exits CODE COMMAND...
exits() {
	local want=$1 rc=0
	shift
	"$@" || rc=$?
	[ $rc = "$want" ]
}

misuse() {
	exits 2 pollux-doctor --nonsense && exits 2 pollux-doctor liver &&
		exits 2 pollux-doctor --from=/nonexistent &&
		exits 0 pollux-doctor --help && exits 0 pollux-doctor --usage &&
		exits 0 pollux-doctor --version
}

# A real cluster; whether this machine has a GPU is none of its business.
real=(slurmctld versions scheduler submit option select parameters files
	backfill gres gpus accounting shapes comments prologs partitions pmix sockets
	clock job)

finds_a_real_cluster_healthy() {
	sb pollux-doctor --try --save="$WORK/kept" "${real[@]}" >"$WORK/said" &&
		[ "$(grep -c '^ok' "$WORK/said")" = ${#real[@]} ]
	local rc=$?
	cat "$WORK/said"
	return $rc
}

sees_the_same_later() {
	TZ='' pollux-doctor --from="$WORK/kept" "${real[@]}" |
		diff - "$WORK/said"
}

# broken STATE CHECK VARIABLE=VALUE... [OPTION...]
broken() {
	local state=$1 check=$2
	shift 2
	sb env "${@:1:1}" pollux-doctor "${@:2}" "$check" >"$WORK/said" 2>&1
	cat "$WORK/said"
	grep -q "^$state *$check " "$WORK/said"
}

bare() {
	mkdir -p "$WORK/bin"
	ln -sf /usr/bin/* "$WORK/bin/" 2>/dev/null
	rm -f "$WORK/bin/pollux-launch"
	ln -sf "$(command -v pollux-doctor)" "$WORK/bin/"
	broken wrong launcher PATH="$WORK/bin"
}

# Held back by Slurm's own rules: the reason is sbatch's last line.
refused() {
	broken wrong job SBATCH_PARTITION=nowhere --try &&
		grep -q 'not taken (.*nvalid partition' "$WORK/said"
}

# no_task WORDS: nothing is wrong with PMIx when no task could be started.
no_task() {
	healthy
	printf '%s\n' "srun: error: Unable to $1" "rc 1" >"$IN/pmix"
	look pmix | grep "^untried *pmix .*${1##*: }"
}

# Values that each row of params.c has, and some that it has not.
words() {
	local key kind low high want
	sed -n "/^parameters='/,/^'/{//!p}" "$POLLUX_BUILDDIR/src/doctor/pollux-doctor" |
		while read -r key kind low high want; do
			case $kind in
			NUMBER | MINUTES)
				printf '%s\n' $low $high -11 1e9 1e0 5x min nan
				;;
			YES_NO | WEIGHTS | UNIFORM | BACK)
				printf '%s\n' no or yes left mostly parked share nonsense 1
				;;
			RANGE) printf '%s\n' $low-$high $high-$low 1- 1-2 2 -1-2 ;;
			FOLDER | FILE_OR_NO)
				printf '%s\n' no "$WORK" tmp /$(printf '%0255d' 0)
				;;
			*) echo "kind $kind is not known here" >&2 ;;
			esac | sed "s|^|pollux_$key=|"
			echo "pollux_$key"
		done
	printf '%s\n' pollux_nonsense=1 pollux_.*=1
}

# What slurmctld says of them all, and what we say.
as_slurmctld_reads_them() {
	local all
	words >"$WORK/words" 2>"$WORK/words.err"
	[ ! -s "$WORK/words.err" ] || { cat "$WORK/words.err" && return 1; }
	all=$(paste -sd, "$WORK/words")
	cp "$SB/etc/slurm.conf" "$WORK/kept.conf"
	sed -i "s|^SchedulerParameters=.*|&,$all|" "$SB/etc/slurm.conf"
	: >"$SB/log/slurmctld.log"
	sb scontrol reconfigure && wait_until "logged pollux_nonsense" 30
	sb pollux-doctor parameters >"$WORK/said"
	cp "$WORK/kept.conf" "$SB/etc/slurm.conf"
	sb scontrol reconfigure || return
	tr ';' '\n' <"$WORK/said" | sed 's/^wrong .*SchedulerParameters: //' |
		grep -oE 'pollux_[^ ]*(: want [^:]*| is unknown)' | sort >"$WORK/ours"
	grep -oE 'Parameters: pollux_[^ ]*(: want [^;]*| is unknown)' \
		"$SB/log/slurmctld.log" | sed 's/^Parameters: //
			s/=: want/: want/' | sort -u >"$WORK/theirs"
	diff "$WORK/ours" "$WORK/theirs" && [ "$(wc -l <"$WORK/ours")" -gt 50 ]
}

# Debian's libpmix2 alone: without the name that only libpmix-dev has.
without_libpmix() {
	local folder name
	folder=$(grep -aom1 '^/[^ ]*/pmix2/lib$' \
		"$(sb sh -c 'ls /usr/lib/*/slurm-wlm/mpi_pmix.so' | head -n 1)" \
		2>/dev/null || echo /usr/lib/x86_64-linux-gnu/pmix2/lib)
	cp -a "$folder" "$WORK/hidden" && rm "$WORK/hidden/libpmix.so" || return
	sb unshare --mount sh -c 'mount --bind "$1" "$2" && shift 2 && "$@"' - \
		"$WORK/hidden" "$folder" pollux-doctor pmix >"$WORK/said"
	cat "$WORK/said"
	grep -q '^wrong *pmix .*libpmix-dev' "$WORK/said"
}

# Newer releases open libpmix.so.2, which no package leaves out.
may_hide_libpmix() {
	[ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null &&
		! grep -qaF libpmix.so.2 /usr/lib/*/slurm-wlm/mpi_pmix.so &&
		[ -e /usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so ]
}

all_busy() {
	local job
	job=$(sb sbatch --parsable --exclusive -o /dev/null --wrap 'sleep 600')
	wait_until "is_running $job" 30 || return
	sb pollux-doctor pmix >"$WORK/said"
	cat "$WORK/said"
	sb scancel "$job"
	wait_until "ended $job" 30 && grep -q '^untried *pmix .*nodes are busy' \
		"$WORK/said"
}

is_running() {
	[ "$(job_state "$1")" = RUNNING ]
}

in_a_job() {
	sb sbatch -W -N1 --exclusive -o "$WORK/said" \
		--wrap 'srun -n1 pollux-doctor pmix'
	cat "$WORK/said"
	grep -q '^ok *pmix' "$WORK/said"
}

# slurm.conf is read, with what it includes, in the spelling of its author.
down_and_misconfigured() {
	kill "$(cat "$SB/run/slurmctld.pid")"
	wait_until "sb scontrol ping | grep -q DOWN" 30 || return
	sb pollux-doctor "${real[@]:0:15}" >"$WORK/said"
	cat "$WORK/said"
	[ "$(grep -c ^wrong "$WORK/said")" = 1 ] &&
		[ "$(grep -c ^ok "$WORK/said")" -ge 12 ] || return
	sed -i 's/^SchedulerType=.*/include sub.conf/' "$SB/etc/slurm.conf"
	printf '%s\n' 'schedulertype = sched/builtin # no' \
		'PRIORITYTYPE=priority/nonsense' \
		'SchedulerParameters=bf_interval=9,\' pollux_interval=x \
		>"$SB/etc/sub.conf"
	sed -i '/^SchedulerParameters=/d; /^PriorityType/d' "$SB/etc/slurm.conf"
	sb pollux-doctor scheduler parameters files >"$WORK/said"
	cat "$WORK/said"
	grep -q '^wrong *scheduler .*is sched/builtin' "$WORK/said" &&
		grep -q '^wrong *parameters .*pollux_interval=x: want' "$WORK/said" &&
		grep -q '^wrong *files .*priority_nonsense.so' "$WORK/said" ||
		return
	echo Nonsense=1 >>"$SB/etc/sub.conf"
	sb pollux-doctor slurmctld scheduler >"$WORK/said"
	cat "$WORK/said"
	grep -q '^wrong *slurmctld .*unrecognized key: Nonsense' "$WORK/said" &&
		grep -q '^wrong *scheduler .*is sched/builtin' "$WORK/said"
}

plan $((25 + ${#cases[@]}))
ok "a healthy cluster is found healthy" all_is_well
ok "a kernel without io_uring is as good" without_io_uring
ok "elastic jobs may give up GPUs before they are preempted" gives_before_preempted
ok "types of which no node has several are not counted" types_apart
ok "only slurmctld's machine needs slurmctld's plugins" elsewhere
ok "sched/pollux in the place of sched/backfill is found" \
	in_the_place_of_backfill
for case in "${cases[@]}"; do
	IFS='|' read -r state check words file script <<<"$case"
	ok "$check: $words" finds "$state" "$check" "$words" "$file" "$script"
done
ok "no check is left out here" every_check_has_been_wrong
ok "without slurmctld that alone is wrong" without_slurmctld
ok "JSON has the same" in_json
ok "a cluster without an idle node is not called wrong" no_task \
	"allocate resources: Requested nodes are busy"
ok "nor is one that refuses the job" no_task \
	"allocate resources: Invalid account"
ok "misuse is told, with exit code 2" misuse
sandbox_up --nodes 1
ok "a real cluster is found healthy, and takes a job" \
	finds_a_real_cluster_healthy
ok "what was kept of it is judged the same" sees_the_same_later
ok "no slurm.conf" eval 'broken wrong slurmctld SLURM_CONF=/nonexistent &&
	grep -qF "SLURM_CONF=/nonexistent cannot be read" "$WORK/said"'
ok "no folder for checkpoints" broken wrong checkpoints A=B \
	--checkpoint-dir=/proc/nonexistent
ok "no launcher in PATH" bare
mkdir "$WORK/$(printf '%090d' 0)"
ok "a long TMPDIR" broken wrong sockets TMPDIR="$WORK/$(printf '%090d' 0)"
sed 's,^PluginDir=[^:]*:,PluginDir=,' "$SB/etc/slurm.conf" >"$WORK/slurm.conf"
ok "another slurm.conf without its plugstack" \
	broken wrong option SLURM_CONF="$WORK/slurm.conf"
ok "a job that is refused" refused
ok "SchedulerParameters are judged as slurmctld reads them" \
	as_slurmctld_reads_them
if may_hide_libpmix; then
	ok "libpmix.so is missing, which srun opens" without_libpmix
else
	skip "libpmix.so is missing, which srun opens" "only root, on Debian 12"
fi
ok "in a busy cluster no task is started, which is told" all_busy
ok "in a job PMIx is tried as a step" in_a_job
ok "without slurmctld, slurm.conf is judged" down_and_misconfigured
