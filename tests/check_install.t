# SPDX-License-Identifier: MIT
# check_install.t - what is installed, in which package, and how it goes again
#
# The scripts that dpkg and rpm run before and after a removal are run here
# against made-up configurations of Slurm; test_upgrade.t runs them for real.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
cd "$POLLUX_SRCDIR" || exit 1

root=$WORK/root

# As configure was told, without the rest of DESTDIR.
folder() {
	make -s -C "$POLLUX_BUILDDIR" --eval "show: ; @echo '\$($1)'" show
}

# Folders have names in the document; the longest first.
learn_folders() {
	local name
	for name in bindir libdir includedir libexecdir mandir docdir datadir \
		slurm_plugindir pythondir; do
		printf '%s %s\n' "$(folder $name)" "${name^^}"
	done | sed 's/SLURM_PLUGINDIR/PLUGINDIR/' |
		awk '{ print length($1), $0 }' | sort -rn | cut -d' ' -f2- \
		>"$WORK/folders"
}

# "MODE NAME/FILE" of each file that is installed; a link has none.
installed() {
	local mode file from to
	find "$root" ! -type d -printf '%m %y %p\n' | while read -r mode type file; do
		file=${file#"$root"}
		while read -r from to; do
			[ "${file#"$from"/}" = "$file" ] || {
				file=$to/${file#"$from"/}
				break
			}
		done <"$WORK/folders"
		[ "$type" = f ] || mode=link
		echo "$mode $file"
	done | grep -v '\.la$\|/__pycache__/' | sort -k2
}

make_install() {
	make -s -C "$POLLUX_BUILDDIR" install DESTDIR="$root" &&
		learn_folders && installed >"$WORK/installed" &&
		[ "$(wc -l <"$WORK/installed")" -gt 40 ]
}

# Rows "MODE PATTERN PACKAGE" of the table of files in docs/install.md.
rows() {
	sed -n '/^| file /,/^$/s/^| //p' docs/install.md | sed 1d |
		awk -F' *[|] *' '$2 ~ /^([0-7]+|link)$/ {
			n = split($1, file, /, */)
			for (i = 1; i <= n; i++) {
				gsub(/`| \(.*\)/, "", file[i])
				print $2, file[i], $4
			}
		}'
}

# Files that no row has, or one with another mode; and rows without a file.
otherwise() {
	local mode file want pattern package hit other
	rows >"$WORK/rows"
	while read -r mode file; do
		hit='' other=''
		while read -r want pattern package; do
			# shellcheck disable=SC2053 # a pattern
			[[ $file == $pattern ]] || continue
			[ "$want" = "$mode" ] || {
				other=$want
				continue
			}
			hit=yes
			echo "$pattern" >>"$WORK/hit"
			echo "$package $file" >>"$WORK/packaged"
			break
		done <"$WORK/rows"
		[ -n "$hit" ] ||
			echo "no row has $mode $file${other:+, but $other}"
	done <"$WORK/installed"
	cut -d' ' -f2 "$WORK/rows" | grep -vxFf "$WORK/hit" | grep -v '\.a$'
}

# As dh_install finds it: below usr/, libraries in a folder of the system's.
in_debian() {
	sed 's,^BINDIR,usr/bin,; s,^PLUGINDIR,usr/lib/x/slurm-wlm,
		s,^LIBEXECDIR,usr/libexec,; s,^INCLUDEDIR,usr/include,
		s,^PYTHONDIR,usr/lib/python3/dist-packages,
		s,^LIBDIR,usr/lib/x,; s,^MANDIR,usr/share/man,
		s,^DOCDIR,debian/tmp/usr/share/doc/pollux,
		s,^DATADIR,usr/share,' <<<"$1"
}

# debian/PACKAGE.install and .examples take another set than the table says.
# What debian/rules removes is in none.
packaged_otherwise() {
	local package file there list pattern
	while read -r package file; do
		there=$(in_debian "$file")
		for list in debian/*.install debian/*.examples; do
			while read -r pattern _; do
				# shellcheck disable=SC2053 # a pattern
				[[ $there == $pattern || $there == $pattern/* ]] ||
					continue
				list=${list#debian/}
				echo "$file ${list%.*}"
			done <"$list"
		done
	done <"$WORK/packaged" | sort -u >"$WORK/found"
	awk '{ print $2, $1 }' "$WORK/packaged" | sort -u |
		diff - "$WORK/found" | grep -v '/installed.py '
}

# Pages of programs that no package has beside them, and the other way round.
lone_pages() {
	diff <(sed -n 's,^\([^ ]*\) MANDIR/man1/\(.*\)\.1$,\1 \2,p' \
		"$WORK/packaged" | sort) \
		<(sed -n 's,^\([^ ]*\) BINDIR/,\1 ,p' "$WORK/packaged" | sort)
}

none() {
	local found
	found=$("$@" | grep -v '^[0-9]*[acd][0-9]*$')
	echo "$found"
	[ -z "$found" ]
}

# ---- the scripts of packages ----

# script NAME: as debian/rules makes it, for a made-up tree.
script() {
	sed -e '/^#NAMED#$/{r debian/named.sh' -e 'd}' "debian/$1.in" |
		sed "s,^root=.*,root='$WORK/tree'," >"$WORK/$1"
}

# tree FILE LINE...: the file that is made anew has these lines.
tree() {
	local file=$WORK/tree$1
	shift
	mkdir -p "${file%/*}"
	printf '%s\n' "$@" >"$file"
}

# refuses PACKAGE TREE...: to be removed, by dpkg and rpm, but not an upgrade.
refuses() {
	rm -rf "$WORK/tree"
	"$2" || return
	fails sh "$WORK/$1.prerm" remove >"$WORK/said" 2>&1 &&
		grep -F "$WORK/tree" "$WORK/said" &&
		fails sh "$WORK/$1.prerm" 0 && sh "$WORK/$1.prerm" upgrade 9 &&
		sh "$WORK/$1.prerm" 1
}

allows() {
	rm -rf "$WORK/tree"
	"$2" && sh "$WORK/$1.prerm" remove && sh "$WORK/$1.prerm" 0
}

our=SchedulerType=sched/pollux

direct() { tree /etc/slurm/slurm.conf ClusterName=x $our; }
in_other_words() { tree /etc/slurm/slurm.conf 'schedulertype = "sched/pollux" # x'; }
behind_another() { tree /etc/slurm/slurm.conf "SlurmctldPort=1 $our"; }
in_place_of_backfill() {
	tree /etc/slurm/slurm.conf SchedulerType=sched/backfill \
		PluginDir=/usr/lib64/slurm/pollux:/usr/lib64/slurm
}
of_a_list() { tree /etc/slurm/slurm.conf JobSubmitPlugins=lua,pollux; }
continued() { tree /etc/slurm/slurm.conf 'JobSubmitPlugins=lua,\' pollux; }
# As the head of etc/pollux.conf.example says.
included() {
	tree /etc/slurm/slurm.conf ClusterName=x 'include /etc/slurm/pollux.conf'
	cp etc/pollux.conf.example "$WORK/tree/etc/slurm/pollux.conf"
}
included_from_there() {
	tree /etc/slurm/slurm.conf 'Include sub/one.conf'
	tree /etc/slurm/sub/one.conf 'INCLUDE two.conf'
	tree /etc/slurm/sub/two.conf $our
}
by_cluster() {
	tree /etc/slurm/slurm.conf ClusterName=tiny 'include /etc/slurm/%c.conf'
	tree /etc/slurm/tiny.conf $our
}
in_a_circle() {
	tree /etc/slurm/slurm.conf 'include slurm.conf' $our
}
of_a_service() {
	tree /etc/default/slurmctld 'SLURMCTLD_OPTIONS="-v -f /srv/slurm/a.conf"'
	tree /srv/slurm/a.conf $our
}
of_a_unit() {
	tree /etc/systemd/system/slurmctld.service.d/a.conf '[Service]' \
		'Environment=SLURM_CONF=/srv/slurm/b.conf'
	tree /srv/slurm/b.conf $our
}
configless() {
	tree /var/spool/slurmd/conf-cache/slurm.conf 'include pollux.conf'
	tree /var/spool/slurmd/conf-cache/pollux.conf $our
}
linked() {
	configless
	mkdir -p "$WORK/tree/run/slurm"
	mv "$WORK/tree/var/spool/slurmd" "$WORK/tree/cache"
	ln -s "$WORK/tree/cache/conf-cache" "$WORK/tree/run/slurm/conf"
}
commented() {
	tree /etc/slurm/slurm.conf "#$our" 'include /nonexistent' \
		'#include pollux.conf' SchedulerType=sched/backfill
	tree /etc/slurm/pollux.conf $our
}
nothing() { mkdir "$WORK/tree"; }
beside_another() {
	tree /etc/slurm/slurm.conf SchedulerType=sched/backfill \
		PluginDir=/opt/pollux/lib/slurm:/usr/lib64/slurm
}
used="direct in_other_words behind_another in_place_of_backfill of_a_list continued included
	included_from_there by_cluster in_a_circle of_a_service of_a_unit
	configless linked"

required='required spank_pollux.so'
stack() { tree /etc/slurm/plugstack.conf "$required"; }
stack_by_path() {
	tree /etc/slurm/plugstack.conf '  required   /usr/lib/spank_pollux.so x=1'
}
stack_of_many() {
	tree /etc/slurm/plugstack.conf 'include /etc/slurm/stack.d/*.conf'
	tree /etc/slurm/stack.d/a.conf 'optional a.so'
	tree /etc/slurm/stack.d/b.conf "$required"
}
stack_from_there() {
	tree /etc/slurm/plugstack.conf 'include stack.d/*'
	tree /etc/slurm/stack.d/b.conf "$required"
}
stack_elsewhere() {
	tree /etc/slurm/slurm.conf 'include b.conf'
	tree /etc/slurm/b.conf PlugStackConfig=/srv/stack.conf
	tree /srv/stack.conf "$required"
}
stack_of_a_service() {
	tree /etc/default/slurmd SLURMD_OPTIONS="-f /srv/slurm/a.conf"
	tree /srv/slurm/a.conf ClusterName=x
	tree /srv/slurm/plugstack.conf "$required"
}
stack_configless() {
	tree /var/lib/slurm/slurmd/conf-cache/slurm.conf ClusterName=x
	tree /var/lib/slurm/slurmd/conf-cache/plugstack.conf "$required"
}
stack_optional() {
	tree /etc/slurm/plugstack.conf 'optional spank_pollux.so' "#$required"
}
stacks="stack stack_by_path stack_of_many stack_from_there stack_elsewhere
	stack_of_a_service stack_configless"

purges() {
	rm -rf "$WORK/tree"
	tree /etc/slurm/slurm.conf SlurmctldLogFile=/srv/log/ctld.log 'include p'
	tree /etc/slurm/p SchedulerParameters=bf_interval=1,pollux_metrics=/srv/m
	for file in /srv/log/pollux.prom /srv/log/pollux.prom.draft /srv/m \
		/var/log/slurm/pollux.prom; do
		tree $file '# HELP pollux_jobs x' x
	done
	tree /srv/log/ctld.log kept
	sh "$WORK/$pkg.postrm" remove && [ -e "$WORK/tree/srv/m" ] &&
		sh "$WORK/$pkg.postrm" purge || return
	find "$WORK/tree" -type f
	[ "$(find "$WORK/tree/srv" "$WORK/tree/var" -type f)" = \
		"$WORK/tree/srv/log/ctld.log" ] || return
	tree /var/log/slurm/pollux.prom "somebody else's"
	sh "$WORK/$pkg.postrm" purge && [ -e "$WORK/tree/var/log/slurm/pollux.prom" ] &&
		rm -rf "$WORK/tree" && sh "$WORK/$pkg.postrm" purge
}

pkg=slurm-wlm-pollux-plugins
script $pkg.prerm
script $pkg.postrm
script pollux.prerm
plan 35
ok "make install works" make_install
ok "docs/install.md has each file, with its mode" none otherwise
ok "each is in the Debian package that it says" none packaged_otherwise
ok "each manual page is in the package of its program" none lone_pages
ok "one of them is a training program" grep -x 'pollux BINDIR/pollux-train' \
	"$WORK/packaged"
for case in $used; do
	ok "the plugins stay while they are named: $case" refuses $pkg "$case"
done
for case in nothing commented stack beside_another; do
	ok "they may go: $case" allows $pkg "$case"
done
for case in $stacks; do
	ok "the option stays while it is required: $case" refuses pollux "$case"
done
ok "the folder stays while PluginDir has it" refuses pollux in_place_of_backfill
for case in stack_optional beside_another direct; do
	ok "it may go: $case" allows pollux "$case"
done
ok "purge takes the numbers for operators away, and nothing else" purges
