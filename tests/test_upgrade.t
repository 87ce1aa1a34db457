# SPDX-License-Identifier: MIT
# test_upgrade.t - Slurm works while Pollux comes, is upgraded, and goes
#
# What docs/operators.md says, with dpkg, and a job that trains meanwhile. It
# installs Debian packages on this machine and takes them away again: so only
# with POLLUX_THOROUGH=1, as root, and where there is neither Pollux nor a
# cluster.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/package.sh" || exit 1

# Packages that are here, or whose configuration is.
present() {
	dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" \
		2>/dev/null | grep -v '^not-installed'
}

why=$(no_packages)
[ -z "$why" ] || skip_all "$why"
[ "$(id -u)" -eq 0 ] || skip_all "only root installs packages"
! present >/dev/null || skip_all "packages of Pollux are here: $(present | xargs)"
[ ! -e /etc/slurm/slurm.conf ] || skip_all "this machine has a slurm.conf"
need_daemons

SB=$WORK/sb
next=99.0.0
# The release that is upgraded; where none is known yet: this tree.
released=$(git -C "$POLLUX_SRCDIR" tag --list 'v[0-9]*' --merged HEAD \
	--sort=-version:refname 2>/dev/null | head -n 1)
[ -z "$released" ] || version=${released#v}
elastic= # the job that trains through all of it
samples=4000
named=(/etc/slurm/slurm.conf /etc/slurm/plugstack.conf.d/pollux.conf)
unset POLLUX_PLUGIN_PATH POLLUX_SANDBOX_LIB POLLUX_LIBRARY LD_LIBRARY_PATH \
	PYTHONPATH PYTHONDONTWRITEBYTECODE PKG_CONFIG_PATH
mkdir -p "$WORK"/{bin,now,next,samples}
PATH=$WORK/bin:$PATH

# The sandbox's own tool is in a package; this one stays.
keep_sandbox() {
	export POLLUX_SANDBOX_LIB=$POLLUX_SRCDIR/src/sandbox/lib
	ln -sf "$POLLUX_BUILDDIR/src/sandbox/pollux-sandbox" "$WORK/bin/"
	hash -r
}

restore() {
	local rc=$?
	keep_sandbox
	[ ! -d "$SB" ] || pollux-sandbox down --dir "$SB" >/dev/null 2>&1
	rm -f "${named[@]}"
	dpkg --purge "${packages[@]}" >/dev/null 2>&1
	(exit $rc)
	lib_end
}

# What the machine has of us, and how Slurm is configured; not this tree, which
# tests/matrix has in /usr.
machine() {
	find /etc /usr /var/lib /var/cache /var/spool -xdev \
		-path "$POLLUX_BUILDDIR" -prune -o -name '*pollux*' -print |
		sort
	find /etc/slurm -type f -exec md5sum {} +
	ldconfig -p | grep pollux
}

# ---- packages ----

tree=$WORK/pollux-package

released_tree() {
	mkdir "$tree" && git -C "$POLLUX_SRCDIR" archive "$released" |
		tar -x -C "$tree"
}

made() {
	if [ -n "$released" ]; then released_tree; else source_tree; fi &&
		package nocheck noautodbgsym && mv "$WORK"/*.deb "$WORK/now/"
}

# This tree, but for its number; in the folder where it was made before, or that of
# the release.
made_next() {
	if [ -n "$released" ]; then
		rm -rf "$tree" && source_tree || return
	fi
	sed -i "1,/AC_INIT/s/\(\[pollux\], \)\[[0-9.]*\]/\1[$next]/" \
		"$tree/configure.ac" &&
		sed -i "1s/([0-9.]*)/($next)/" "$tree/debian/changelog" &&
		package nocheck noautodbgsym && mv "$WORK"/*.deb "$WORK/next/"
}

all_installed() {
	present
	[ "$(present | grep -c '^installed ')" -eq ${#packages[@]} ] &&
		ldconfig -p | grep libpollux.so.0
}

installs() {
	dpkg -i "$WORK/$1"/*.deb && all_installed
}

has_version() {
	pollux-launch --version | grep -F " $1" &&
		/usr/bin/python3 -m pollux | grep -F "libpollux $1"
}

slurm_is_untouched() {
	diff <(grep /etc/slurm "$WORK/before") <(machine | grep /etc/slurm)
}

# ---- the cluster ----

# The file of the plugin that slurmctld has, by name; "(deleted)" behind it:
# replaced meanwhile.
plugin_in_use() {
	grep -oE '/[^ ]*/sched_pollux\.so.*' \
		"/proc/$(cat "$SB/run/slurmctld.pid")/maps" | sort -u
}

cluster_up() {
	pollux-sandbox up --dir "$SB" "$untyped" --nodes 3 \
		--gpus-per-node 2 &&
		plugin_in_use | grep '^/usr/' &&
		sb pollux-doctor --try scheduler submit option job
}

restart() {
	pollux-sandbox restart --dir "$SB" "$1"
}

built_with_installed() {
	local sources
	sources=$(sed -n '/^pollux_train_SOURCES/,/[^\\]$/p' \
		"$POLLUX_SRCDIR/examples/Makefile.am" | grep -oE '[a-z_]+[.]c')
	# shellcheck disable=SC2046,SC2086 # words
	(cd "$POLLUX_SRCDIR/examples" &&
		gcc -o "$WORK/bin/pollux-train" $sources \
		$(pkg-config --cflags --libs pollux) -lm) &&
		ldd "$WORK/bin/pollux-train" | grep 'libpollux.so.0 => /'
}

# A job that wants two of the three nodes takes GPUs away, and gives them back.
resized() {
	local rigid
	rigid=$(submit_rigid -N2 --gpus-per-node=2 -- 600)
	wait_until "is_state $rigid RUNNING && has_gpus $elastic 2" 60 &&
		sb scancel "$rigid" && wait_until "has_gpus $elastic 4" 60
}

grows() {
	export POLLUX_SAMPLE_LOG=$WORK/samples
	elastic=$(submit_elastic trained pollux,min=1,max=4 --samples=$samples \
		--batch=256 --max-batch=256 --emulate-gpu=compute \
		--time-scale=0.3 --epochs=1000000)
	wait_until "has_gpus $elastic 4" 60
}

upgraded_beside() {
	installs next && has_version $next &&
		plugin_in_use | grep 'sched_pollux.so (deleted)' &&
		is_state "$elastic" RUNNING
}

new_plugin_goes_on() {
	restart slurmctld && plugin_in_use && plugin_in_use | grep -v deleted &&
		trains_on
}

# Its launcher is a program that is no longer on disk.
old_launcher() {
	local pid
	for pid in $(pgrep -x pollux-launch); do
		grep -qszxF "SLURM_CONF=$SB/etc/slurm.conf" "/proc/$pid/environ" &&
			readlink "/proc/$pid/exe" | grep deleted && return
	done
	return 1
}

resized_by_next() {
	old_launcher && resized && old_launcher && is_state "$elastic" RUNNING
}

whole_epochs() {
	grep -c '^epoch ' "$WORK/trained.out"
}

trains_on() {
	local before
	before=$(whole_epochs)
	wait_until "[ \$(whole_epochs) -gt $((before + 1)) ]" 60 &&
		is_state "$elastic" RUNNING
}

rigid_job_runs() {
	local job
	job=$(sb sbatch --parsable -N1 --gpus-per-node="${1:-1}" \
		-o "$WORK/rigid.out" --wrap 'echo it ran on $SLURM_JOB_NODELIST')
	wait_until "is_state $job COMPLETED" 60 && cat "$WORK/rigid.out" &&
		grep -q 'it ran on n' "$WORK/rigid.out"
}

# ---- and back ----

# dpkg asks our scripts, which look where a cluster's files would be.
removal_is_refused() {
	ln -s "$SB/etc/slurm.conf" "${named[0]}" &&
		ln -s "$SB/etc/plugstack.conf" "${named[1]}" || return
	fails dpkg --remove slurm-wlm-pollux-plugins &&
		fails dpkg --remove pollux && all_installed
}

set_slurm_conf() {
	sed -i "$1" "$SB/etc/slurm.conf" && restart slurmctld
}

backfill_again() {
	local gpus
	gpus=$(gpus_of "$elastic")
	set_slurm_conf 's,^SchedulerType=.*,SchedulerType=sched/backfill,' &&
		[ -z "$(plugin_in_use)" ] && trains_on &&
		has_gpus "$elastic" "$gpus"
}

ends_whole() {
	sb scancel "$elastic" && wait_until "ended $elastic" 60 &&
		bash "$POLLUX_SRCDIR/tests/samples.sh" "$POLLUX_SAMPLE_LOG" \
			$samples "$(whole_epochs)" so-far
}

removed() {
	keep_sandbox
	sed -i /spank_pollux/d "$SB/etc/plugstack.conf" &&
		set_slurm_conf /^JobSubmitPlugins/d &&
		dpkg --remove "${packages[@]}" && dpkg --purge "${packages[@]}" &&
		rm "${named[@]}" && fails present
}

# Of what dpkg knew of us, folders apart that others have as well.
no_file_left() {
	local file left=0
	while read -r file; do
		[ ! -e "$file" ] || [ -d "$file" ] || {
			echo "$file"
			left=1
		}
	done <"$WORK/files"
	return $left
}

machine_as_before() {
	diff "$WORK/before" <(machine)
}

slurm_works() {
	restart slurmctld && restart n1 && restart n2 && restart n3 &&
		wait_until "[ \"\$(sb sinfo -h -p main -t idle -o %D)\" = 3 ]" 60 &&
		rigid_job_runs 2 &&
		fails sb sbatch --scheduler-params=pollux --wrap true &&
		sb sacct -n -X -j "$elastic" -o state | grep CANCELLED
}

trap restore EXIT
machine >"$WORK/before"
plan 19
ok "packages of ${released:-this version} can be made" made
ok "and of one that is newer" made_next
[ "$tap_failed" -eq 0 ] || exit # nothing to install
ok "dpkg installs them" installs now
ok "programs and library say their version" has_version "$version"
dpkg -L "${packages[@]}" | sort -u >"$WORK/files"
ok "Slurm's configuration is as it was" slurm_is_untouched
ok "a cluster runs on what is installed" cluster_up
ok "a program can be built with it" built_with_installed
ok "and is grown as an elastic job" grows
ok "the other version is installed while it trains" upgraded_beside
dpkg -L "${packages[@]}" | sort -u >>"$WORK/files"
ok "after a restart slurmctld has it, and the job trains on" \
	new_plugin_goes_on
ok "it is resized under the launcher that it was started with" resized_by_next
ok "dpkg takes nothing away that Slurm's configuration names" \
	removal_is_refused
ok "under sched/backfill it keeps its shape and trains on" backfill_again
ok "and rigid jobs start" rigid_job_runs 1
ok "through all of it each sample was used once" ends_whole
ok "out of the configuration, the packages can be removed and purged" removed
ok "no file of theirs is left" no_file_left
ok "the machine is as it was before" machine_as_before
ok "and Slurm works without them" slurm_works
