# SPDX-License-Identifier: MIT
# check_bootstrap.t - bootstrap finds the source of the installed Slurm
#
# With an apt-get, dpkg and slurmctld of this test's own, in a folder of its
# own: nothing is installed and nothing fetched.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

tree=$WORK/tree
bin=$WORK/bin
mirror=$WORK/mirror

# fake NAME: a program from standard input.
fake() {
	{
		echo '#!/bin/bash'
		cat
	} >"$bin/$1"
	chmod +x "$bin/$1"
}

# What bootstrap calls. FAKE_SLURM: the release of Debian's package, or nothing.
mkdir "$bin" "$mirror"
fake dpkg-query <<'END'
case "$*" in
*Version*slurmctld*) [ -z "$FAKE_SLURM" ] || printf %s "$FAKE_SLURM-4+deb13u1" ;;
*) printf installed ;;
esac
END
fake slurmctld <<<'echo "slurm ${FAKE_SLURM:-25.11.8}"'
fake apt-get <<END
echo "\$*" >>"$WORK/apt"
case "\$*" in
*source*--tar-only*) cp "$mirror"/*.orig.tar.gz . ;;
*source*) cp "$mirror"/* . && [ -e *.dsc ] ;;
esac
END
fake dpkg-source <<'END'
mkdir -p "$4" && tar -xf .slurm-src/*.orig.tar.gz -C "$4" --strip-components=1 &&
	echo patched >"$4/patched"
END
fake sudo <<<'exec env "$@"'
fake id <<<'echo 1000'
fake install <<<'exit 0'
fake tee <<<'exec cat'
fake chmod <<<'exit 0'
fake rm <<END
case "\$*" in */etc/*|*/usr/*) ;; *) exec /bin/rm "\$@" ;; esac
END
for name in autoreconf make; do
	fake $name <<<'exit 0'
done

# slurm_tree FOLDER RELEASE
slurm_tree() {
	mkdir -p "$1/src/slurmctld"
	touch "$1/src/slurmctld/slurmctld.h"
	echo "  Version:	$2" >"$1/META"
}

# on_mirror RELEASE [FILE]: the release's own tarball, as a forge makes them.
on_mirror() {
	rm -rf "$mirror" && mkdir "$mirror"
	slurm_tree "$WORK/slurm-slurm-1-2-3" "$1"
	tar -czf "$mirror/slurm-wlm_$1.orig.tar.gz" -C "$WORK" \
		slurm-slurm-1-2-3
	rm -r "$WORK/slurm-slurm-1-2-3"
	[ $# = 1 ] || touch "$mirror/$2"
}

# A fresh clone.
clone() {
	rm -rf "$tree" && mkdir -p "$tree/m4"
	cp "$POLLUX_SRCDIR/bootstrap" "$tree"
	touch "$tree/configure.ac" "$tree/m4/pollux.m4"
	printf '%s\n' '#!/bin/sh' 'ls .slurm-src >configured' >"$tree/configure"
	"$(type -P chmod)" +x "$tree/configure"
}

# boot OPTION...
boot() {
	PATH=$bin:$PATH FAKE_SLURM=$release "$tree/bootstrap" "$@" \
		>"$WORK/said" 2>&1
}

# refuses SENTENCE OPTION...
refuses() {
	local sentence=$1
	shift
	if boot "$@"; then
		echo "went on"
		return 1
	fi
	cat "$WORK/said"
	grep -qF -- "$sentence" "$WORK/said" && ! [ -e "$tree/configured" ]
}

exact() {
	clone && on_mirror 24.11.5 slurm-wlm_24.11.5-4+deb13u1.dsc && boot ||
		{ cat "$WORK/said"; return 1; }
	[ -e "$tree/.slurm-src/slurm-24.11.5/patched" ] &&
		! grep -q 'tar-only' "$WORK/apt"
}

tarball_alone() {
	clone && on_mirror 24.11.5 && boot || { cat "$WORK/said"; return 1; }
	grep -q 'slurm-24.11.5' "$tree/configured" &&
		grep -qF "Debian's changes to it cannot be had" "$WORK/said"
}

none_at_all() {
	clone && rm -f "$mirror"/*
	refuses 'could not fetch the source of slurm-wlm 24.11.5-4+deb13u1' &&
		grep -qF -- '--slurm-source=DIR' "$WORK/said"
}

unpacked() {
	clone && rm -f "$WORK/apt" && slurm_tree "$WORK/mine" 24.11.5 &&
		boot --slurm-source="$WORK/mine" || { cat "$WORK/said"; return 1; }
	[ ! -e "$WORK/apt" ] && grep -q 'slurm-24.11.5' "$tree/configured" &&
		[ "$(readlink "$tree/.slurm-src/slurm-24.11.5")" = "$WORK/mine" ]
}

# What was given once is found again.
again() {
	rm -f "$tree/configured" && boot && [ ! -e "$WORK/apt" ]
}

other_release() {
	clone && slurm_tree "$WORK/other" 23.11.4
	refuses 'is Slurm 23.11.4, but slurmctld is 24.11.5' \
		--slurm-source="$WORK/other"
}

no_tree() {
	clone && mkdir -p "$WORK/empty"
	refuses 'empty is not a Slurm source tree' --slurm-source="$WORK/empty"
}

own_slurm() {
	local release=
	clone && slurm_tree "$WORK/own" 25.11.8 &&
		boot --slurm-source="$WORK/own" &&
		grep -q 'slurm-25.11.8' "$tree/configured"
}

upgraded() {
	clone && on_mirror 24.11.5
	touch "$tree/config.status"
	echo "SLURM_SRC = $tree/.slurm-src/slurm-22.05.8" >"$tree/Makefile"
	boot && grep -q 'slurm-24.11.5' "$tree/configured" &&
		grep -qF 'configured for Slurm 22.05.8 before' "$WORK/said"
}

release=24.11.5
plan 9
ok "the source is taken with Debian's changes where they can be had" exact
ok "the release's own tarball does where they cannot" tarball_alone
ok "where neither can be had that is said, and what to do" none_at_all
ok "a folder that is given is used, and nothing is fetched" unpacked
ok "the next bootstrap finds it without the option" again
ok "a folder of another release is refused, with both releases" other_release
ok "a folder without Slurm's source is refused" no_tree
ok "a Slurm that is not Debian's is served by a folder" own_slurm
ok "after an upgrade of Slurm all is configured anew" upgraded
