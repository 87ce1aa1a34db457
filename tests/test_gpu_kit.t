# SPDX-License-Identifier: MIT
# test_gpu_kit.t - the GPU kit runs to its end, here and where nothing is
#
# With what stands in for a GPU: so it is not broken on the day there is one.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

command -v mpirun >/dev/null || skip_all "mpirun is not installed"
[ -f "$POLLUX_BUILDDIR/tests/unit/.libs/fake_cuda.so" ] ||
	skip_all "built without NCCL"
command -v "${CXX:-c++}" >/dev/null || skip_all "no C++ compiler"
python=$(sed -n 's/^PYTHON = //p' "$POLLUX_BUILDDIR/bindings/python/Makefile")
kit=$WORK/gpu-kit
cd "$WORK" || exit 1

packed() {
	bash "$POLLUX_SRCDIR/tests/gpu_kit/pack" "$kit" &&
		[ "$(du -sk --apparent-size "$kit" | cut -f1)" -lt 65536 ]
}

# It makes nothing of the user's anew.
keeps_what_is_there() {
	mkdir mine && touch mine/thesis
	fails bash "$POLLUX_SRCDIR/tests/gpu_kit/pack" mine && [ -e mine/thesis ]
}

# whole FILE: TAP, and then its figures; nothing failed.
whole() {
	grep '^1\.\.' "$1" && grep -c '^ok' "$1" && ! grep '^not ok' "$1" &&
		tail -n 1 "$1" | jq -e '.failed == 0 and .passed >= 20 and
			.stand_in and (.results | length > 25)' &&
		tail -n 1 "$1" | jq -c '[.results[] | select(.skipped) |
			.name + ": " + .skipped]'
}

runs_here() {
	"${python:-python3}" "$kit/run" --minutes=9 --json=here.json \
		>here.out 2>&1
	local rc=$?
	cat here.out
	[ $rc -eq 0 ] && whole here.out &&
		[ "$(tail -n 1 here.out)" = "$(cat here.json)" ]
}

nothing_left() {
	! find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'gpu-kit.*' -newer "$kit/run" |
		grep . && ! pgrep -f "$kit/bin"
}

# A machine with a C library, Python 3, and nothing else: not even a shell.
empty_root() {
	local root=$WORK/root library libraries
	python3=$(/usr/bin/python3 -c 'import sys; print(sys.executable)')
	libraries=$(/usr/bin/python3 -c 'import sysconfig
print(sysconfig.get_paths()["stdlib"])')
	mkdir -p "$root"/{proc,dev,tmp,etc,root} "$root/usr/bin" \
		"$root$libraries" "$root/opt/somewhere else"
	ln -s usr/bin usr/lib usr/lib64 "$root/"
	cp -L "$python3" "$root/usr/bin/python3"
	cp -r "$libraries/." "$root$libraries"
	for library in $( (ldd "$python3" "$libraries"/lib-dynload/*.so
		ldconfig -p | grep -E 'lib(c|m|dl|rt|pthread|resolv|util)\.so\.[0-9]' |
		sed 's/.*=>/x =>/') 2>/dev/null |
		sed -n -e 's/.*=> \(\/[^ ]*\).*/\1/p' -e 's/^\t\(\/[^ ]*\).*/\1/p' |
		sort -u); do
		mkdir -p "$root/usr$(dirname "${library#/usr}")"
		cp -L "$library" "$root/usr${library#/usr}"
	done
	cp -r "$kit" "$root/opt/somewhere else/"
}

# Mounts end with the namespace, also when this is killed.
in_empty_root() {
	# shellcheck disable=SC2016
	timeout 600 unshare --mount --pid --fork --kill-child bash -c '
		mount --make-rprivate / && mount --bind /dev "$1/dev" &&
		mount -t proc proc "$1/proc" &&
		exec env -i "$2" "$1" /usr/bin/python3 \
			"/opt/somewhere else/gpu-kit/run" --minutes=9' \
		- "$WORK/root" "$(PATH=$PATH:/usr/sbin command -v chroot)" >empty.out 2>&1
	local rc=$?
	cat empty.out
	[ $rc -eq 0 ] && whole empty.out
}

# A kit that finds nothing wrong is worth nothing.
finds_wrong_kernels() {
	local rc
	mkdir broken && cp -r "$kit" broken/ &&
		FAKE_NVRTC=broken "${python:-python3}" broken/gpu-kit/run \
			--only=kernels,hog >broken.out 2>&1
	rc=$?
	cat broken.out
	[ $rc -eq 1 ] && grep '^not ok 1 - kernels' broken.out &&
		tail -n 1 broken.out | jq -e '.failed >= 1'
}

ends_in_time() {
	local begin=$SECONDS
	"${python:-python3}" "$kit/run" --minutes=0.2 >short.out 2>&1
	cat short.out
	[ $((SECONDS - begin)) -lt 25 ] &&
		grep -c 'SKIP no time is left' short.out &&
		tail -n 1 short.out | jq -e .skipped
}

# By Ctrl-C: what was found is printed, and nothing goes on.
can_be_stopped() {
	"${python:-python3}" "$kit/run" --only=two-ranks >stopped.out 2>&1 &
	local pid=$!
	wait_until "pgrep -f '$kit/bin/coll_probe'" 30
	wait_until "grep -q '^ok 1' stopped.out" 30
	kill -TERM $pid
	wait $pid
	[ $? -eq 143 ] && tail -n 1 stopped.out | jq -e '.results | length > 0' &&
		! pgrep -f "$kit/bin"
}

# With what stands in for one of them: the kit has all that it takes.
resizes_a_framework() {
	mkdir stubs && cp -r "$POLLUX_SRCDIR"/bindings/python/tests/stubs/ranks.py \
		"$POLLUX_SRCDIR"/bindings/python/tests/stubs/lightning stubs/ &&
		PYTHONPATH=$PWD/stubs "$python" "$kit/run" --stand-in \
			--only=frameworks >frameworks.out 2>&1
	local rc=$?
	cat frameworks.out
	[ $rc -eq 0 ] && tail -n 1 frameworks.out | jq -e '.results |
		(map(select(.skipped | . and endswith("is not installed"))) |
			length == 4) and
		(.[5].figures | .steps_before >= 5 and
			.steps_before + .steps_after == 200)'
}

says_no_gpu() {
	"${python:-python3}" "$kit/run" --gpu >none.out 2>&1
	[ $? -eq 77 ] && grep '^# no GPU here: ' none.out
}

# What is typed wrongly is one sentence, and exit code 2.
refuses() {
	local words
	for words in --only=everything --minutes=0 --minutes=x \
		'--gpu --stand-in'; do
		# shellcheck disable=SC2086
		"${python:-python3}" "$kit/run" $words >refused.out 2>&1
		[ $? -eq 2 ] && tail -n 1 refused.out | grep '^gpu-kit/run: error: ' ||
			return 1
	done
}

plan 10
ok "the kit is packed, and small" packed
ok "a folder that is no kit is left alone" keeps_what_is_there
ok "it runs to its end, with TAP and figures" runs_here
ok "... and leaves nothing behind" nothing_left
if [ "$(id -u)" -eq 0 ] && [ -x /usr/bin/python3 ] &&
	unshare --mount --pid --fork true 2>/dev/null; then
	empty_root >/dev/null 2>&1
	ok "it runs where there is only a C library and Python" in_empty_root
else
	skip "it runs where there is only a C library and Python" \
		"needs root, /usr/bin/python3 and namespaces"
fi
ok "it says so where kernels are wrong" finds_wrong_kernels
if "${python:-none}" -c 'import torch' 2>/dev/null; then
	ok "a framework's example goes on with two ranks" resizes_a_framework
else
	skip "a framework's example goes on with two ranks" "no PyTorch"
fi
ok "it ends in time, whatever is left to ask" ends_in_time
ok "it can be stopped" can_be_stopped
if [ -e /dev/nvidiactl ]; then
	skip "without a GPU, --gpu leaves with 77; options are checked" \
		"there is a GPU here"
else
	ok "without a GPU, --gpu leaves with 77; options are checked" \
		eval 'says_no_gpu && refuses'
fi
