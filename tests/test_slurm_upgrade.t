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

read -ra releases <<<"${POLLUX_SLURM_UPGRADE:-}"
[ ${#releases[@]} -gt 1 ] ||
	skip_all "one release of Slurm: POLLUX_SLURM_UPGRADE names no others"
need_daemons

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
	local program
	for program in "${releases[-1]%:*}"/bin/* "${1#*:}"/bin/*; do
		program=${program##*/}
		ln -sfn "$(PATH=$(path_of "$1") command -v "$program")" \
			"$WORK/bin/$program"
	done
}

# exchange DAEMON RELEASE
exchange() {
	PATH=$(path_of "$2"):$PATH pollux-sandbox restart --dir "$SB" "$1"
}

# Each Slurm has its plugins in a folder of its own, which it finds by itself.
cluster_up() {
	install_commands "${releases[0]}" &&
		pollux-sandbox up --dir "$SB" "$untyped" --nodes 4 \
			--gpus-per-node 2 --params pollux_min_gap=0.2 &&
		learn_environment &&
		sed -i '/^PluginDir=/d' "$SB"/etc/slurm{,dbd}.conf &&
		echo "required spank_pollux.so" >"$SB/etc/plugstack.conf" &&
		sb pollux-doctor --try scheduler submit option
}

# ---- the jobs ----

# trainer NAME: an elastic job of a real program.
trainer() {
	mkdir "$WORK/samples/$1" && POLLUX_SAMPLE_LOG=$WORK/samples/$1 \
		submit_elastic "$1" pollux,min=1,max=2 --samples=$samples \
		--batch=128 --max-batch=128 --emulate-gpu=compute \
		--time-scale=0.3 --epochs=1000000
}

# One trainer has the commands that it began with for ever, the other those that
# are installed.
jobs_begin() {
	runs=$(submit_rigid -w n1 --gpus-per-node=2 -- 10000) &&
		wait_until "is_state $runs RUNNING" 30 &&
		waits=$(submit_rigid -w n1 --gpus-per-node=2 -- 10000) &&
		kept=$(PATH=$first trainer kept) && moved=$(trainer moved) &&
		lit=$(submit_light lit pollux,min=1,max=2 -- --live --ack=0.5) &&
		elastic="$kept $moved $lit" && wait_until "all_have 2" 60 &&
		is_state "$waits" PENDING
}

# all_have GPUS: each elastic job.
all_have() {
	local job
	for job in $elastic; do
		has_gpus "$job" "$1" || return
	done
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
	for job in $runs $elastic; do
		is_state "$job" RUNNING || return
		[ "$(job_field "$job" Restarts)" = 0 ] || return
	done
	is_state "$waits" PENDING && all_have 2 &&
		wait_until "more_epochs kept $was_kept" 60 &&
		wait_until "more_epochs moved $was_moved" 60 &&
		pollux-sandbox status --dir "$SB"
}

# A rigid job takes a GPU from each, and gives it back.
resized() {
	local way
	way=$(submit_rigid -N3 --gpus-per-node=1 -- 600)
	wait_until "is_state $way RUNNING && all_have 1" 60 &&
		sb scancel "$way" && wait_until "all_have 2" 60 && as_they_were
}

checked() {
	sb "$POLLUX_SRCDIR/tests/pollux-check" --log "$SB/log/slurmctld.log"
}

# ---- the upgrade ----

slurmdbd_exchanged() {
	exchange slurmdbd "$1" && as_they_were &&
		wait_until "sb sacct -n -X -j $kept -o state | grep RUNNING" 30
}

# Its plugin starts; one of another release would stand aside.
slurmctld_exchanged() {
	local before
	before=$(grep -c 'sched/pollux: started' "$SB/log/slurmctld.log")
	exchange slurmctld "$1" &&
		[ "$(grep -c 'sched/pollux: started' "$SB/log/slurmctld.log")" \
			-gt "$before" ] && as_they_were
}

slurmds_exchanged() {
	exchange n1 "$1" && exchange n2 "$1" && resized &&
		exchange n3 "$1" && exchange n4 "$1" &&
		install_commands "$1" && as_they_were
}

new_jobs_run() {
	local job
	job=$(sb sbatch --parsable -n1 -o "$WORK/new.out" \
		--wrap 'srun echo new') &&
		wait_until "is_state $job COMPLETED" 30 && grep new "$WORK/new.out"
}

upgraded_to() {
	local name=${1%:*}
	name=Slurm\ $("$name/sbin/slurmctld" -V | sed 's/.* //')
	ok "$name: slurmdbd, and jobs are as they were" slurmdbd_exchanged "$1"
	ok "... slurmctld, too" slurmctld_exchanged "$1"
	ok "... which resizes jobs on slurmds of the release before" resized
	ok "... one slurmd after the other, too" slurmds_exchanged "$1"
	ok "... all jobs are resized" resized
	ok "... new ones run" new_jobs_run
	ok "... and nothing is counted twice or lost" checked
}

# The rigid job that has waited all the time has its turn.
ends_well() {
	local job
	sb scancel "$runs" && wait_until "is_state $waits RUNNING" 60 &&
		sb scancel "$waits" $elastic &&
		wait_until "ended $waits $elastic" 60 &&
		wait_until cluster_is_idle 60 && accounts_agree && checked
}

# used_once NAME
used_once() {
	bash "$POLLUX_SRCDIR/tests/samples.sh" "$WORK/samples/$1" $samples \
		"$(epochs_of "$1")" so-far
}

plan $((5 + 7 * (${#releases[@]} - 1)))
ok "a cluster of the first release is up" cluster_up
ok "elastic jobs train on it beside a rigid one, and another waits" jobs_begin
watch_start
for release in "${releases[@]:1}"; do
	upgraded_to "$release"
done
ok "no GPU had two owners at any time" watch_end
ok "all jobs end, and accounting agrees with slurmctld's log" ends_well
ok "through all of it each sample was used once" eval \
	'used_once kept && used_once moved'
