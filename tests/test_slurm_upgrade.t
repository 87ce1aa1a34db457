# SPDX-License-Identifier: MIT
# test_slurm_upgrade.t - Slurm is upgraded under jobs that train
#
# What docs/versions.md says of it: slurmdbd, slurmctld, then one slurmd after
# the other and the commands, to the next release and the one after that.
# POLLUX_SLURM_UPGRADE names the releases, oldest first, each with the Pollux
# that was built for it and whose plugins are in that Slurm's own folder:
# "/usr:/opt/pollux-24.11 /opt/slurm-25.11:/opt/pollux-25.11". tests/matrix
# --upgrade makes them.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/devices.sh" || exit 1

read -ra releases <<<"${POLLUX_SLURM_UPGRADE:-}"
[ ${#releases[@]} -gt 1 ] ||
	skip_all "one release of Slurm: POLLUX_SLURM_UPGRADE names no others"
need_daemons
unlike=$(no_devices)
[ -z "$unlike" ] || echo "# jobs can open all GPUs: $unlike"

SB=$WORK/sb
samples=2000
unset POLLUX_PLUGIN_PATH POLLUX_SANDBOX_LIB POLLUX_SLURM_PREFIX LD_LIBRARY_PATH
mkdir "$WORK"/{bin,samples}

# path_of RELEASE: where its programs are.
path_of() {
	echo "${1#*:}/bin:${1%:*}/bin:${1%:*}/sbin"
}

# What is installed on login and compute nodes: links to one release's.
first=$(path_of "${releases[0]}"):$PATH
PATH=$WORK/bin:$PATH

install_commands() {
	local program path
	for program in "${releases[-1]%:*}"/bin/* "${1#*:}"/bin/*; do
		path=$(PATH=$(path_of "$1") command -v "${program##*/}") || continue
		ln -sfn "$path" "$WORK/bin/${program##*/}" || return
	done
}

# exchange DAEMON RELEASE
exchange() {
	PATH=$(path_of "$2"):$PATH pollux-sandbox restart --dir "$SB" "$1"
}

# Nodes are told which GPUs a job gives up, where that can be. Each Slurm has
# its plugins in a folder of its own, which it finds by itself.
cluster_up() {
	install_commands "${releases[0]}" &&
		pollux-sandbox up --dir "$SB" "$untyped" --nodes 6 \
			--gpus-per-node 2 --params pollux_min_gap=0.2 \
			--conf-extra "FirstJobId=$first_job" &&
		learn_environment && { [ -n "$unlike" ] || constrain_devices; } &&
		sed -i '/^PluginDir=/d' "$SB"/etc/slurm{,dbd}.conf &&
		echo "required spank_pollux.so" >"$SB/etc/plugstack.conf" &&
		sb pollux-doctor --try scheduler submit option &&
		sb scontrol update node=n6 state=drain reason=later
}

# ---- the jobs ----

# trainer NAME NODES GPUS: an elastic job of a real program, which has these
# nodes, and half of these GPUs at least.
trainer() {
	mkdir "$WORK/samples/$1" && POLLUX_SAMPLE_LOG=$WORK/samples/$1 \
		sb sbatch --parsable -J "$1" -w "$2" --gpus-per-node=1 \
		--scheduler-params="pollux,min=$(($3 / 2)),max=$3" \
		-o "$WORK/$1.out" --wrap "srun -N1 -n1 pollux-launch -v \
			--checkpoint-dir $WORK/$1.ckpt pollux-train \
			--samples=$samples --batch=128 --max-batch=128 \
			--emulate-gpu=compute --time-scale=0.3 --epochs=1000000"
}

# plugins_of PREFIX
plugins_of() {
	local folder
	for folder in "$1"/lib/slurm "$1"/lib/*/slurm-wlm; do
		[ ! -e "$folder/sched_pollux.so" ] || echo "$folder"
	done
}

# The commands of `kept` are for ever those that it began with, those of `moved`
# what is installed.
jobs_begin() {
	runs=$(submit_rigid -w n1 --gpus-per-node=2 -- 10000) &&
		wait_until "is_state $runs RUNNING" 30 &&
		waits=$(submit_rigid -w n1 --gpus-per-node=2 -- 10000) &&
		kept=$(PATH=$first trainer kept n2 2) &&
		moved=$(trainer moved n[4-5] 4) &&
		lit=$(submit_light lit pollux,min=1,max=3 -w n3 -- \
			--live --ack=0.5) &&
		wait_until "have 2 4 2" 60 && is_state "$waits" PENDING
}

# have GPUS GPUS GPUS: `kept`, `moved` and `lit`.
have() {
	has_gpus "$kept" "$1" && has_gpus "$moved" "$2" && has_gpus "$lit" "$3"
}

epochs_of() {
	grep -c '^epoch ' "$WORK/$1.out"
}

# more_epochs NAME BEFORE
more_epochs() {
	[ "$(epochs_of "$1")" -gt $(($2 + 1)) ]
}

# No job was started again, ended, or told anything but what it has.
as_they_were() {
	local job was_kept was_moved
	was_kept=$(epochs_of kept) was_moved=$(epochs_of moved)
	for job in $runs $kept $moved $lit; do
		is_state "$job" RUNNING || return
		[ "$(job_field "$job" Restarts)" = 0 ] || return
	done
	is_state "$waits" PENDING && have 2 4 2 &&
		wait_until "more_epochs kept $was_kept" 60 &&
		wait_until "more_epochs moved $was_moved" 60 &&
		pollux-sandbox status --dir "$SB"
}

# gives_way NODES BEFORE BESIDE: a rigid job takes a GPU on each of these nodes,
# and gives it back.
gives_way() {
	local way
	way=$(submit_rigid -w "$1" --gpus-per-node=1 -- 600)
	wait_until "is_state $way RUNNING && have $3" 60 &&
		sb scancel "$way" && wait_until "have $2" 60
}

resized() {
	gives_way n[2-5] "2 4 2" "1 2 1" && as_they_were
}

checked() {
	sb "$POLLUX_SRCDIR/tests/pollux-check" --log "$SB/log/slurmctld.log"
}

# ---- the upgrade ----

slurmdbd_exchanged() {
	exchange slurmdbd "$1" && as_they_were &&
		wait_until "sb sacct -n -X -j $kept -o state | grep RUNNING" 30
}

# times REGEX: slurmctld has said so.
times() {
	grep -cE "$1" "$SB/log/slurmctld.log"
}

# One job is parked meanwhile, and another is being asked. The plugin starts;
# one of another release would stand aside.
slurmctld_exchanged() {
	local parks way asked started
	parks=$(submit_rigid -w n3 --gpus-per-node=2 --priority=9999999 -- 600)
	wait_until "is_state $parks RUNNING && has_gpus $lit 0" 60 || return
	asked=$(times "JobId=$kept asked for")
	started=$(times "pollux: started")
	way=$(submit_rigid -w n2 --gpus-per-node=1 -- 600)
	wait_until "[ \$(times 'JobId=$kept asked for') -gt $asked ]" 30 &&
		exchange slurmctld "$1" &&
		[ "$(times 'pollux: started')" -gt "$started" ] &&
		wait_until "is_state $way RUNNING && have 1 4 0" 60 &&
		sb scancel "$parks" "$way" &&
		wait_until "have 2 4 2" 60 && as_they_were
}

leave_n6() {
	sb scontrol update node=n6 state=drain reason="leave it" &&
		wait_until "has_gpus $lit 2" 60
}

# told JOB...: each of them, why it keeps its shape.
told() {
	local job
	for job; do
		sb scontrol show job "$job" | grep 'older slurmd' || return
	done
}

# As packages do it: commands and slurmd at once, first where scripts run. A
# drained node is left all the same.
scripts_nodes_exchanged() {
	sb scontrol update node=n6 state=resume &&
		wait_until "has_gpus $lit 3" 60 &&
		exchange n2 "$1" && exchange n3 "$1" && exchange n4 "$1" &&
		install_commands "$1" && wait_until "told $moved $lit" 30 &&
		leave_n6
}

# Slurm itself: a script on n4, with the new srun, and the old slurmd of n5.
no_step_on_older() {
	local job
	job=$(sb sbatch --parsable -N2 -n2 -w n[4-5] -o "$WORK/older.out" \
		--wrap 'srun -N1 -n1 -w n5 true') &&
		wait_until "is_state $job FAILED" 30 &&
		grep 'Task launch for .* failed on node n5' "$WORK/older.out"
}

# The rigid job that wants a GPU of `moved` waits; `kept` and `lit` give theirs.
others_resized() {
	local way
	way=$(submit_rigid -w n5 --gpus-per-node=1 -- 600)
	gives_way n[2-3] "2 4 2" "1 4 1" && is_state "$way" PENDING &&
		sb scancel "$way" && as_they_were
}

# n6 has the old slurmd, and GPUs that `lit` could use.
not_onto_older() {
	sb scontrol update node=n6 state=resume &&
		wait_until "sb sinfo -h -n n6 -o %t | grep -x idle" 30 &&
		nap 6 && has_gpus "$lit" 2 && exchange n6 "$1" &&
		wait_until "has_gpus $lit 3 && sb scontrol show job $lit |
			grep 'state=done .*n(3,6)'" 60
}

rest_exchanged() {
	leave_n6 &&
		exchange n1 "$1" && exchange n5 "$1" && as_they_were
}

# A rigid one, and an elastic one on n6, beside `lit`.
new_jobs_run() {
	local job new=new${1##*-}
	job=$(sb sbatch --parsable -n1 -o "$WORK/new.out" \
		--wrap 'srun echo new') &&
		wait_until "is_state $job COMPLETED" 30 &&
		grep new "$WORK/new.out" || return
	sb scontrol update node=n6 state=resume && job=$(trainer "$new" n6 2) &&
		wait_until "more_epochs $new 0" 60 && sb scancel "$job" &&
		wait_until "ended $job" 60 && leave_n6
}

# An operator forgets that Pollux is of a release, too.
stands_aside() {
	local folder=$WORK/forgotten before rc
	before=$(times "and the plugin was built for")
	mkdir -p "$folder" && ln -sfn "$(plugins_of "${2%:*}")"/{sched,job_submit}_pollux.so \
		"$folder/" || return
	echo "PluginDir=$folder:$(plugins_of "${1%:*}")" >>"$SB/etc/slurm.conf"
	exchange slurmctld "$1"
	rc=$?
	sed -i '/^PluginDir=/d' "$SB/etc/slurm.conf"
	[ $rc = 0 ] && [ "$(times 'and the plugin was built for')" -gt "$before" ] &&
		as_they_were && exchange slurmctld "$1" && resized
}

# spank_refused BEFORE: by commands, which a full path in plugstack.conf makes
# look at that of the release before.
spank_refused() {
	local said conf=$SB/etc/plugstack.conf
	echo "required $(plugins_of "${1%:*}")/spank_pollux.so" >"$conf"
	said=$(sb sbatch -n1 -o /dev/null --wrap true 2>&1)
	echo "required spank_pollux.so" >"$conf"
	grep 'Incompatible plugin version' <<<"$said" &&
		sb sbatch -n1 -o /dev/null --wrap true
}

# upgraded_to RELEASE BEFORE
upgraded_to() {
	local name=${1%:*}
	name=Slurm\ $("$name/sbin/slurmctld" -V | sed 's/.* //')
	ok "$name: slurmdbd, and jobs are as they were" slurmdbd_exchanged "$1"
	ok "... slurmctld, in the middle of a resize" slurmctld_exchanged "$1"
	ok "... which resizes jobs on slurmds of the release before" resized
	ok "... jobs on an older slurmd, too, than their script's are told" \
		scripts_nodes_exchanged "$1"
	ok "... where an srun of theirs could start nothing" no_step_on_older
	ok "... they keep their shape, and others are resized" others_resized
	ok "... nobody grows onto a node that is not upgraded" \
		not_onto_older "$1"
	ok "... all slurmds are upgraded" rest_exchanged "$1"
	ok "... all jobs are resized" resized
	ok "... new ones run" new_jobs_run "$1"
	ok "... with the plugins of the release before they train on" \
		stands_aside "$1" "$2"
	ok "... commands refuse the SPANK plugin of the release before" \
		spank_refused "$2"
	ok "... and nothing is counted twice or lost" checked
}

# The rigid job that has waited all the time has its turn.
ends_well() {
	sb scontrol update node=n6 state=resume &&
		sb scancel "$runs" && wait_until "is_state $waits RUNNING" 60 &&
		sb scancel "$waits" "$kept" "$moved" "$lit" &&
		wait_until "ended $waits $kept $moved $lit" 60 &&
		wait_until cluster_is_idle 60 && accounts_agree && checked
}

# slurmdbd 26.05 would end one day.
database_is_liked() {
	! grep snapshot_isolation "$SB/log/slurmdbd.log"
}

# used_once NAME
used_once() {
	bash "$POLLUX_SRCDIR/tests/samples.sh" "$WORK/samples/$1" $samples \
		"$(epochs_of "$1")" so-far
}

plan $((6 + 13 * (${#releases[@]} - 1)))
ok "a cluster of the first release is up" cluster_up
ok "elastic jobs train on it beside a rigid one, and another waits" jobs_begin
watch_start
for ((i = 1; i < ${#releases[@]}; i++)); do
	upgraded_to "${releases[i]}" "${releases[i - 1]}"
done
ok "no GPU had two owners at any time" watch_end
ok "all jobs end, and accounting agrees with slurmctld's log" ends_well
ok "slurmdbd has no complaint of how the sandbox's MariaDB is set" \
	database_is_liked
ok "through all of it each sample was used once" eval \
	'used_once kept && used_once moved'
