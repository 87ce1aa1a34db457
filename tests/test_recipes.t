# SPDX-License-Identifier: MIT
# test_recipes.t - what docs/recipes.md tells operators to do works
#
# The pieces of code are taken from the page. Containers and nodes without a
# configuration take namespaces: so only root tries these.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1

page=$POLLUX_SRCDIR/docs/recipes.md
training="--samples=4000 --emulate-gpu=compute --time-scale=5"

# piece LANGUAGE WORD: the first piece of code in it that has the word.
piece() {
	awk -v from="^\`\`\`$1\$" -v word="$2" '
		$0 ~ from { inside = 1; text = ""; next }
		inside && /^```$/ {
			inside = 0
			if (index(text, word)) {
				printf "%s", text
				exit
			}
		}
		inside { text = text $0 "\n" }' "$page"
}

restart_with() {
	sed -i "$1" "$SB/etc/slurm.conf" &&
		pollux-sandbox restart --dir "$SB" slurmctld
}

is_running() {
	[ "$(job_state "$1")" = RUNNING ]
}

has_ended() {
	ended "$1" && [ "$(job_state "$1")" = "$2" ]
}

# train NAME EPOCHS [LAUNCHER'S OPTIONS...]: prints the job
train() {
	local name=$1 epochs=$2
	shift 2
	sb sbatch --parsable --gpus=1 "--scheduler-params=pollux,min=1,max=${MAX:-4}" \
		-o "$WORK/$name.out" --wrap \
		"srun pollux-launch -v --checkpoint-dir $WORK/$name.ckpt $* pollux-train $training --epochs=$epochs"
}

# ---- logs ----

default_level() {
	: >"$SB/log/slurmctld.log"
	restart_with 's/^SlurmctldDebug=.*/SlurmctldDebug=info/' &&
		logged 'sched/pollux: started' && logged 'pollux: .*runs beside' &&
		grep -q 'log: `sched/pollux: started` and log: `runs beside`' \
			"$POLLUX_SRCDIR/docs/operators.md"
}

# ---- job_submit.lua ----

has_lua() {
	[ -e "$(dirname "$(sb scontrol show config | sed -n \
		's/^PluginDir *= .*://p')")/slurm-wlm/job_submit_lua.so" ] &&
		ldconfig -p | grep -q 'liblua5'
}

lua_accepts() {
	piece lua spank_job_env >"$SB/etc/job_submit.lua"
	restart_with 's/^JobSubmitPlugins=.*/JobSubmitPlugins=lua,pollux/
		s/^PartitionName=main \(.*\)Default=YES/&\
PartitionName=elastic \1/' || return
	sb sbatch -H -o /dev/null --wrap true &&
		sb sbatch -H -p elastic --scheduler-params=pollux,max=2 \
			-o /dev/null --wrap true
}

lua_refuses() {
	local partition
	for partition in "" "-p main" "-p elastic,main"; do
		# shellcheck disable=SC2086 # words
		fails sb sbatch -H $partition --scheduler-params=pollux,max=2 \
			-o /dev/null --wrap true 2>"$WORK/said" &&
			cat "$WORK/said" &&
			grep -q "elastic jobs run in partition elastic" \
				"$WORK/said" || return
	done
	sb scancel -u "$(id -un)"
	restart_with 's/^JobSubmitPlugins=.*/JobSubmitPlugins=pollux/'
}

# ---- a signal ----

# told JOB NAME COMMAND: three times, by the job and by its step
told() {
	local n at=0
	for n in "$1" "$1.0" "$1"; do
		wait_until "is_training $2" 30 || return
		at=$((at + 1))
		sb scancel --signal=USR1 "$n" && "$3" "$2" $at || return
	done
	is_running "$1"
}

is_training() {
	[ -n "$(grep -E 'training$|^began' "$WORK/$1.out" | tail -n 1)" ]
}

was_saved() {
	wait_until "[ \$(grep -c 'asking for a checkpoint' $WORK/$1.out) -ge $2 ]" \
		30 && wait_until "grep -A9 'asking for a checkpoint' \
			$WORK/$1.out | tail -n +$2 | grep 'checkpoint of step'" 30
}

was_started_again() {
	wait_until "[ \$(grep -c ^began $WORK/$1.out) -gt $2 ]" 30
}

usr1_saves() {
	local job
	job=$(train signalled 100000 --max-restarts=1)
	wait_until "grep -q 'restored\|rank on\|ranks on' $WORK/signalled.out" 60
	told "$job" signalled was_saved
	local rc=$?
	sb scancel "$job"
	wait_until "ended $job" 60
	[ $rc -eq 0 ] && ! grep 'ranks failed' "$WORK/signalled.out"
}

# A program without libpollux, and without a handler.
usr1_kills() {
	local job
	job=$(sb sbatch --parsable --gpus=1 --scheduler-params=pollux,max=1 \
		-o "$WORK/deaf.out" --wrap "srun pollux-launch -v --max-restarts=1 --checkpoint-dir $WORK/deaf.ckpt sh -c 'echo began; exec sleep 600'")
	told "$job" deaf was_started_again
	local rc=$?
	sb scancel "$job"
	wait_until "ended $job" 60
	return $rc
}

# ---- prolog and epilog ----

scripts() {
	local scratch=$WORK/scratch
	piece sh '# Prolog' | sed "s,/scratch,$scratch,
		s,^check=.*,check=$WORK/well," >"$WORK/prolog"
	piece sh '# Epilog' | sed "s,/scratch,$scratch," >"$WORK/epilog"
	printf '#!/bin/sh\n[ "$SLURMD_NODENAME" != "$(cat %s)" ]\n' \
		"$WORK/sick" >"$WORK/well"
	chmod +x "$WORK"/{prolog,epilog,well}
	echo none >"$WORK/sick"
	grep -q "$WORK/well" "$WORK/prolog" && grep -q scratch "$WORK/epilog" &&
		restart_with "\$a Prolog=$WORK/prolog\nEpilog=$WORK/epilog" &&
		pollux-sandbox restart --dir "$SB" n1 &&
		pollux-sandbox restart --dir "$SB" n2
}

# A rigid job is sent to the node that is not well; an elastic one trains on.
prolog_guards() {
	local job rc
	scripts || return
	job=$(train guarded 100000)
	wait_until "is_training guarded && [ -d $WORK/scratch/$job ]" 30 || return
	echo "n$((3 - $(sb squeue -h -j "$job" -o %B | tr -dc 0-9)))" \
		>"$WORK/sick"
	sb sbatch -w "$(cat "$WORK/sick")" -o /dev/null --wrap 'sleep 600'
	wait_until "sb sinfo -h -n $(cat "$WORK/sick") -o %T | grep drain" 30 &&
		is_running "$job" && ! grep 'ranks failed' "$WORK/guarded.out"
	rc=$?
	sb scancel -u "$(id -un)"
	wait_until "ended $job && [ -z \"\$(ls $WORK/scratch)\" ]" 30 || rc=1
	sb scontrol update nodename="$(cat "$WORK/sick")" state=resume || rc=1
	restart_with '/^Prolog=/d; /^Epilog=/d' &&
		pollux-sandbox restart --dir "$SB" n1 &&
		pollux-sandbox restart --dir "$SB" n2 && return $rc
}

# ---- accounting ----

gpu_seconds() {
	local from to
	from=$(date -d '-1 day' +%FT%T) to=$(date -d '+1 hour' +%FT%T)
	piece sh elapsedraw >"$WORK/query"
	sb env from="$from" to="$to" sh "$WORK/query" | tee "$WORK/seconds"
}

# The same as slurmctld logged of the one job that there was.
pays() {
	local job log all
	job=$(train paid 100000)
	wait_until "has_gpus $job 4" 60 && sb scancel "$job" &&
		wait_until "ended $job" 60 &&
		wait_until "sb sacct -n -X -j $job -o state | grep CANCELLED" 30 ||
		return
	log=$(sed -n 's/.*: \([0-9]*\) GPU-seconds.*/\1/p' \
		"$SB/log/slurmctld.log" | paste -sd+ | bc)
	gpu_seconds
	all=$(awk '{ s += $NF } END { print s }' "$WORK/seconds")
	echo "$all by sacct, $log by the log"
	[ "$log" -gt 2 ] && [ "$all" -eq "$log" ]
}

# As the page says of reports: jobs are counted by their ids.
rows() {
	local jobs rows
	jobs=$(sb sacct -a -X -n -o jobidraw --starttime now-1day | sort -u | wc -l)
	rows=$(sb sacct -a -X -n -D --starttime now-1day | wc -l)
	echo "$jobs jobs, $rows rows"
	[ "$jobs" -gt 0 ] && [ "$rows" -gt "$jobs" ]
}

# ---- containers ----

# box BIND...: a container with the system's programs, ours and these folders
box() {
	local folder binds=
	for folder; do
		binds+=" --bind $folder $folder"
	done
	cat >"$WORK/box" <<END
#!/bin/sh
exec bwrap --ro-bind /usr /usr --ro-bind /etc /etc --symlink usr/lib /lib \
	--symlink usr/lib64 /lib64 --symlink usr/bin /bin --proc /proc \
	--dev /dev --tmpfs /tmp --tmpfs /var --unshare-pid \
	--ro-bind $POLLUX_BUILDDIR $POLLUX_BUILDDIR$binds --chdir / "\$@"
END
	chmod +x "$WORK/box"
}

# boxed NAME EPOCHS: a training in it, to its end; prints the state
boxed() {
	local job
	mkdir -p "$WORK/tmp" "$WORK/$1.ckpt"
	job=$(sb sbatch --parsable --gpus=1 --scheduler-params=pollux,min=1,max=4 \
		-o "$WORK/$1.out" --wrap "export TMPDIR=$WORK/tmp; srun pollux-launch -v --max-restarts=1 --checkpoint-dir $WORK/$1.ckpt $WORK/box pollux-train $training --epochs=$2")
	wait_until "ended $job" 120
	job_state "$job"
}

may_box() {
	[ "$(id -u)" -eq 0 ] && command -v bwrap >/dev/null &&
		bwrap --ro-bind / / true 2>/dev/null &&
		[[ $POLLUX_BUILDDIR != /tmp/* && $POLLUX_BUILDDIR != /usr/* ]]
}

contained() {
	box "$WORK/tmp" "$WORK/whole.ckpt"
	boxed whole 60 | grep -x COMPLETED &&
		grep -E 'pollux-launch: [0-9]+ -> [0-9]+ GPUs .*, pause' \
			"$WORK/whole.out" && grep 'restored step' "$WORK/whole.out" &&
		grep '^finished after' "$WORK/whole.out" &&
		! grep 'ranks failed' "$WORK/whole.out"
}

without_socket() {
	box "$WORK/lone.ckpt"
	boxed lone 60 | grep -x FAILED &&
		grep 'cannot connect to .*/socket' "$WORK/lone.out"
}

# The sentence of what is missing is in the table of the page.
page_says_so() {
	grep -q '^| `$TMPDIR`.*cannot connect to ...socket' "$page"
}

# ---- configless ----

node_without_files() {
	local port
	port=$(sed -n 's/^SlurmctldPort=//p' "$SB/etc/slurm.conf")
	sed -n '/^SchedulerType\|^SchedulerParameters\|^GresTypes/p' \
		"$SB/etc/slurm.conf" >"$SB/etc/pollux.conf"
	restart_with '/^SchedulerType\|^SchedulerParameters\|^GresTypes/d
		$a SlurmctldParameters=enable_configless\ninclude pollux.conf' ||
		return
	kill "$(cat "$SB/run/n2.pid")"
	cat >"$WORK/less" <<END
mount -t tmpfs none /run && mkdir /run/munge &&
	ln -s $SB/run/munge.socket /run/munge/munge.socket.2
[ ! -d /etc/slurm ] || mount -t tmpfs none /etc/slurm
unset SLURM_CONF
cd $WORK
slurmd -N n2 --conf-server 127.0.0.1:$port -D >$WORK/slurmd.log 2>&1 &
trap "kill \$!; wait" EXIT
for try in \$(seq $((30 * POLLUX_PATIENCE))); do
	grep -q pollux /run/slurm/conf/pollux.conf && sinfo -h -n n2 -o %T |
		grep -q idle && break
	sleep 1
done
ls /run/slurm/conf/
timeout $((60 * POLLUX_PATIENCE)) sbatch -W -w n2 --gpus=1 \
	--scheduler-params=pollux,max=2 -o $WORK/less.out \
	--wrap 'srun pollux-launch pollux-train $training --epochs=5' &&
	pollux-doctor slurmctld option scheduler parameters pmix
END
	sb unshare --mount bash "$WORK/less" && cat "$WORK/less.out" &&
		grep -q '^finished after' "$WORK/less.out"
}

may_unshare() {
	[ "$(id -u)" -eq 0 ] && unshare --mount mount -t tmpfs none /run
}

plan 12
sandbox_up --nodes 2
ok "slurmctld's first lines are there at the default level" default_level
ok "GPU-seconds by account are those that were held" pays
ok "sacct has more rows than jobs" rows
if has_lua; then
	ok "job_submit.lua lets rigid jobs and the right partition pass" lua_accepts
	ok "and refuses elastic jobs elsewhere" lua_refuses
else
	skip "job_submit.lua lets rigid jobs and the right partition pass" "no lua"
	skip "and refuses elastic jobs elsewhere" "no lua"
fi
ok "scancel --signal=USR1 has libpollux save, and nothing restarts" usr1_saves
ok "other programs die of it, and that uses up no restart" usr1_kills
ok "a prolog that fails keeps a job off the node, and it trains on" prolog_guards
if may_box; then
	ok "a training in a container is resized in memory" contained
	ok "without the socket's folder it fails" without_socket
	ok "and the page says so" page_says_so
else
	for ((i = 0; i < 3; i++)); do
		skip "containers" "root and bubblewrap, and no tree in /tmp"
	done
fi
if may_unshare; then
	ok "a node without slurm.conf runs elastic jobs" node_without_files
else
	skip "a node without slurm.conf runs elastic jobs" "only root"
fi
