# SPDX-License-Identifier: MIT
# test_fit.t - a plugin that does not fit slurmctld says so and stands aside
#
# sched_pollux.so is built here as if for another release, with a record that a
# vendor has patched, and with names that slurmctld does not have; each of them
# is loaded by a real slurmctld.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

need_daemons
src=$POLLUX_SRCDIR/src
slurm_src=$(sed -n 's/^SLURM_SRC = //p' "$POLLUX_BUILDDIR/src/plugins/Makefile")
plugins=$WORK/plugins
objects=$WORK/objects
sorry="no job is resized, elastic ones keep what they have, and Slurm's backfill goes on"

sources() {
	find "$src/plugins/common" "$src/plugins/sched/pollux" -name '*.c'
	echo "$src/plugins/job_submit/pollux/shape.c"
}

# compile FOLDER FLAG...: sources on standard input, one object each.
compile() {
	local into=$1 file
	shift
	mkdir -p "$into"
	while read -r file; do
		printf '%s\0%s\0' "$into/$(tr / - <<<"${file#"$src"/}").o" \
			"$file"
	done | xargs -0 -P 2 -n 2 "${CC:-cc}" -c -O0 -fPIC -std=gnu11 -w "$@" \
		-I "$src/plugins/common/slurm_config" -I "$src" \
		-I "$src/plugins" -isystem "$slurm_src" -o
}

# link_as NAME FILE FOLDER...: an object in a later folder counts.
link_as() {
	local into=$plugins/$1 file=$2 name
	local -A of=()
	shift 2
	for name in $(find "$@" -type f -name '*.o'); do
		of[${name##*/}]=$name
	done
	mkdir -p "$into"
	echo '{ global: init; fini; plugin_*; sched_p_reconfig; job_submit;' \
		'job_modify; local: *; };' >"$WORK/exports"
	"${CC:-cc}" -shared -Wl,-z,lazy -Wl,--version-script="$WORK/exports" \
		-o "$into/$file" "${of[@]}" \
		"$POLLUX_BUILDDIR/src/core/libcore.a" -lm -ldl
}

# The rest is made of these.
as_is() {
	sources | compile "$objects" && link_as right sched_pollux.so "$objects"
}

# "22.5" of "22.05.8": its headers are still ours.
other=$(awk '$1 == "Version:" { split($2, n, "."); print n[1] "." n[2] + 0 }' \
	"$slurm_src/META")

other_release() {
	mkdir -p "$WORK/include/slurm"
	cat >"$WORK/include/slurm/slurm_version.h" <<END
#define SLURM_VERSION_NUM(a, b, c) (((a) << 16) + ((b) << 8) + (c))
#define SLURM_VERSION_MAJOR(a) (((a) >> 16) & 0xff)
#define SLURM_VERSION_MINOR(a) (((a) >> 8) & 0xff)
#define SLURM_VERSION_MICRO(a) ((a) & 0xff)
#define SLURM_VERSION_NUMBER SLURM_VERSION_NUM(${other//[.]/, }, 99)
END
	sources | grep -E 'common/(loaded|built)|wrapper|backfill[.]c' |
		compile "$WORK/release" -I "$WORK/include" &&
		link_as release sched_pollux.so "$objects" "$WORK/release" &&
		find "$src/plugins/common" "$src/plugins/job_submit" -name '*.c' |
		compile "$WORK/submit" -I "$WORK/include" &&
		link_as release job_submit_pollux.so "$WORK/submit"
}

# patched NAME STRUCT FIELD: one more field before this one, and all that is
# behind it is elsewhere.
patched() {
	local file
	file=$(grep -rlE "^(typedef )?struct $2 [{]" --include='*.h' "$slurm_src/src" |
		head -n 1)
	[ -n "$file" ] || return
	file=${file#"$slurm_src"/}
	mkdir -p "$WORK/$1.h/${file%/*}"
	sed -E "/^(typedef )?struct $2 [{]/,/^}/ s/^.*[ *]$3;.*/	char *vendors;\n&/" \
		"$slurm_src/$file" >"$WORK/$1.h/$file"
	fails cmp -s "$slurm_src/$file" "$WORK/$1.h/$file" &&
		sources | compile "$WORK/$1.o" -isystem "$WORK/$1.h" &&
		link_as "$1" sched_pollux.so "$WORK/$1.o"
}

# renamed NAME WHAT FILES: these use a name that slurmctld does not have.
renamed() {
	local name=$1 what=$2

	# As slurm_weak.h has it.
	echo "#pragma weak ${what}_of_another" >"$WORK/$name.h"
	sources | grep -E "$3" | compile "$WORK/$name.o" \
		-include "$WORK/$name.h" -D"$what=${what}_of_another" &&
		link_as "$name" sched_pollux.so "$objects" "$WORK/$name.o"
}

# All that would keep the plugin from being mapped is weak.
all_weak() {
	local so strong rc=0
	for so in sched_pollux job_submit_pollux preempt_pollux_qos \
		preempt_pollux_partition_prio; do
		so=$POLLUX_BUILDDIR/src/plugins/.libs/$so.so
		strong=$(comm -12 \
			<(readelf -rW "$so" | awk '$3 ~ /GLOB_DAT|_64$/ && $5 !~ /@/ { print $5 }' | sort -u) \
			<(nm -D --undefined-only "$so" | awk '$1 == "U" { print $2 }' | sort -u))
		[ -z "$strong" ] || { echo "${so##*/}: not in slurm_weak.h:" $strong; rc=1; }
	done
	return $rc
}

no_comparison() {
	! nm "$POLLUX_BUILDDIR/src/plugins/.libs/sched_pollux.so" |
		grep -E ' (plx_)?(ga_|osdi)'
}

# --- loaded by slurmctld

use() {
	sed -i "s|^PluginDir=\($plugins/[a-z]*:\)\?|PluginDir=$plugins/$1:|" \
		"$SB/etc/slurm.conf" &&
		: >"$SB/log/slurmctld.log" &&
		sandbox_restarts
}

sandbox_restarts() {
	pollux-sandbox restart slurmctld --dir "$SB"
}

said() {
	grep -q "error: sched/pollux: $sentence" "$SB/log/slurmctld.log"
}

# says SENTENCE: in one line, with what follows from it.
says() {
	local sentence=$1

	grep 'sched/pollux' "$SB/log/slurmctld.log"
	wait_until said 20 &&
		[ "$(grep -c "error: sched/pollux: .*$sorry" \
			"$SB/log/slurmctld.log")" = 1 ]
}

# A job that waits for all nodes is passed by one that is short.
backfills() {
	local large small rc=0
	large=$(sb sbatch --parsable -N4 --exclusive -t 30 -o /dev/null \
		--wrap "sleep 1") &&
		small=$(sb sbatch --parsable -N1 -n1 -t 1 --nice=100 \
			-o /dev/null --wrap "sleep 1") || return
	wait_until "sb scontrol show job $small | grep -q Scheduler=Backfill" 30 ||
		rc=1
	sb scancel "$large" "$small"
	wait_until "! sb squeue -h -o %i | grep -qE '^($large|$small)\$'" 30
	return $rc
}

# keeps_one: for as long as three cycles take, though all is free.
keeps_one() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		has_gpus "$job" 1 || return
		sleep 1
	done
	! grep "JobId=.* asked for" "$SB/log/slurmctld.log"
}

lives() {
	pollux-sandbox status --dir "$SB" >/dev/null && sb scontrol ping
}

# stands_aside NAME SENTENCE WHAT
stands_aside() {
	ok "slurmctld loads $3" use "$1"
	job=$(submit_light "$1" pollux,min=1,max=16 -t 60 -N1 \
		--gpus-per-node=1 -- --live) &&
		wait_until "has_gpus $job 1" 30
	ok "it is said in one line" says "$2"
	ok "an elastic job keeps what it has" keeps_one
	ok "Slurm's backfill starts a job past a large one" backfills
	ok "slurmctld goes on" lives
	cp -n "$SB/log/slurmctld.log" "$WORK/first.log"
	sb scancel "$job"
	wait_until "! sb squeue -h -o %i | grep -q '^$job\$'" 30
}

grows() {
	use right && job=$(submit_light right pollux,min=1,max=16 -t 60 -- --live) &&
		wait_until "has_gpus $job 16" 60
}

plan 31
ok "no variable of Slurm's keeps a plugin from being mapped" all_weak
ok "published comparisons are not in the plugin" no_comparison
ok "the plugin is built as it is" as_is
ok "as if for another release, and the one that sees submissions" other_release
ok "with a patched job record" patched jobs job_record account
ok "with patched records of cores" patched cores job_resources cpus
ok "with a call of what is not there" renamed call select_g_job_fini \
	'resize/|start/'
ok "with a variable that is not there" renamed variable last_node_update \
	'sched_thread[.]c'
sandbox_up "$untyped"
stands_aside release "this is Slurm .* and the plugin was built for .*[.]99" \
	"one for another release"
ok "so does the plugin that sees submissions" grep \
	"error: job_submit/pollux: this is Slurm" "$WORK/first.log"
stands_aside jobs "job records are not as in the source" \
	"one with a patched job record"
stands_aside cores "records of jobs' cores are not as in the source" \
	"one with patched records of cores"
stands_aside call "this Slurm has no select_g_job_fini_of_another" \
	"one that calls what is not there"
ok "a variable that is not there is named" eval \
	'use variable && says "this Slurm has no last_node_update_of_another"'
ok "the one that fits resizes" grows
