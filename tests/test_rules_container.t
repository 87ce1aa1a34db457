# SPDX-License-Identifier: MIT
# test_rules_container.t - job_container/tmpfs follows a job that is resized
#
# It gives each job a /tmp of its own on each node, so nothing that its jobs
# need may be there: all is in /var/tmp.
export TMPDIR=/var/tmp
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

need_daemons
unshare -m true 2>/dev/null || skip_all "no mount namespaces for us here"
sandbox_up --nodes 2 --gpus-per-node 2 --no-accounting \
	--params pollux_min_gap=0.2
plan 9

# What a failed test leaves mounted could not be removed.
unmount() {
	local rc=$? at
	pollux-sandbox down --dir "$SB" >/dev/null 2>&1
	for at in $(awk -v work="$WORK/" 'index($2, work) == 1 { print $2 }' \
		/proc/mounts | sort -r); do
		umount -l "$at"
	done
	(exit "$rc")
	lib_end
}
trap unmount EXIT

cp "$light" "$WORK/light"
light=$WORK/light
cp -L -r "$POLLUX_BUILDDIR/src/plugins/.libs" "$WORK/plugins"
mkdir "$WORK/base"
cat >"$SB/etc/job_container.conf" <<END
AutoBasePath=true
BasePath=$WORK/base
END
sed -i "s#$POLLUX_BUILDDIR/src/plugins/.libs#$WORK/plugins#" "$SB"/etc/*.conf
cat >>"$SB/etc/slurm.conf" <<END
JobContainerType=job_container/tmpfs
PrologFlags=Contain
END
ok "daemons start again with job_container/tmpfs" eval '
	for daemon in slurmctld n1 n2; do
		pollux-sandbox --dir "$SB" restart $daemon || exit 1
	done'

# Newer releases have a folder for each of the job's own ones.
own=/_tmp
! sb scontrol -V | grep -q ' 22[.]05' || own=

# Where the /tmp of the job is on that node.
tmp_of() {
	echo "$WORK/base/$2/$1/.$1$own"
}

# nodes_are JOB NODES
nodes_are() {
	[ "$(sb squeue -h -j "$1" -o %N)" = "$2" ]
}

# A step on n2 leaves a file in what it takes for /tmp.
leaves_a_file() {
	sb srun --overlap --jobid="$job" -w n2 -N1 -n1 touch "/tmp/$mark"
}

mark=pollux-$$
job=$(submit_light contained pollux,max=4 -w n1 -- --profiled=4)
ok "a job has a /tmp on its node" wait_until '[ -d "$(tmp_of $job n1)" ]' 30
touch "$(tmp_of "$job" n1)/$mark"
ok "and one on a node that it gains" eval '
	wait_until "nodes_are $job \"n[1-2]\"" 30 &&
	wait_until "[ -e $WORK/base/n2/$job/.ns ]" 30'
ok "where its steps are in it" \
	wait_until 'leaves_a_file && [ -e "$(tmp_of $job n2)/$mark" ]' 30
ok "and in no other" [ ! -e "/tmp/$mark" ]
rigid=$(submit_rigid -w n2 --gpus-per-node=2 -- 600)
ok "that is gone when it gives the node up" eval '
	wait_until "is_state $rigid RUNNING && nodes_are $job n1" 30 &&
	wait_until "[ ! -e $WORK/base/n2/$job ]" 30'
ok "and the one that it had is as it was" [ -e "$(tmp_of "$job" n1)/$mark" ]
sb scancel "$rigid"
ok "when it comes back it has a new one" eval '
	wait_until "nodes_are $job \"n[1-2]\"" 30 &&
	wait_until "[ -d $(tmp_of $job n2) ]" 30 &&
	[ ! -e "$(tmp_of $job n2)/$mark" ]'
sb scancel "$job"
ok "at its end all are gone" \
	wait_until '[ -z "$(ls "$WORK"/base/n1 "$WORK"/base/n2 | grep "^[0-9]")" ]' 30
