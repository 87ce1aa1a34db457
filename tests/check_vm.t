# SPDX-License-Identifier: MIT
# check_vm.t - what make check-vm runs can be read, and its judge judges
#
# The machines themselves are not started here: docs/vm.md.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
cd "$POLLUX_SRCDIR/tests/vm" || exit 1

all_parse() {
	local script bad=0
	for script in check ../mirror.sh ./*.sh guest/*; do
		case $script in
		*.awk | *.conf | *.py) ;;
		*) bash -n "$script" || bad=1 ;;
		esac
	done
	return $bad
}

all_carried() {
	local file missing=0
	for file in check ./*.sh guest/*; do
		file=vm/${file#./}
		grep -qE "(^|[[:space:]])$file( |\$)" ../Makefile.am || {
			echo "not in EXTRA_DIST: $file"
			missing=1
		}
	done
	return $missing
}

# refused OPTION...: with status 2, before anything is made.
refused() {
	local rc=0
	bash ./check --dir="$WORK/vm" "$@" || rc=$?
	[ $rc -eq 2 ] && [ ! -e "$WORK/vm" ]
}

has_help() {
	bash ./check --help >"$WORK/help" && grep -q -- --keep "$WORK/help"
}

# judged WANT: of job 8, which gave GPUs 1-3 of n1 up, and job 9, which has 1-2.
judged() {
	awk -v look=1 -v phase=x -f guest/judge.awk "$WORK/before" "$WORK/after" \
		"$WORK/answers" >"$WORK/verdicts"
	cat "$WORK/verdicts"
	[ "$(awk '{ print $NF }' "$WORK/verdicts" | xargs)" = "$1" ]
}

after() {
	printf '%s\n' '8 n1 0 3 150' '9 n1 1-2 0 100'
}

answers() {
	printf '1 batch n1 8 %s 3 150\n1 rank.1.0 n1 8 %s 3 150\n1 batch n1 9 %s 0 100\n' \
		"$@" >"$WORK/answers"
}

plan 14
ok "all scripts parse" all_parse
ok "the tarball carries all of them" all_carried
ok "tests/vm/check has --help" has_help
ok "an option that is not known is refused" refused --nonsense
after >"$WORK/after"
cp "$WORK/after" "$WORK/before"
answers 0 0 1,2
ok "who opens exactly his own is ok" judged "ok ok ok"
answers 0,1,2,3 0 1,2
ok "who opens another job's GPU, too, is caught" judged "shares-1-9 ok ok"
answers 0,3 0 1,2
ok "who opens one that nobody has is caught" judged "keeps-3 ok ok"
answers - - 1
ok "who cannot open his own is caught" judged "lacks-0 lacks-any lacks-2"
echo "8 n1 0-3 0-3 600" >"$WORK/before"
answers 0,3 3 -
ok "while a job changes both its shapes are right" judged "moving moving moving"
answers 0,1 2 1
ok "but for what another job has already" judged "shares-1-9 moving moving"
# Job 8 answers at 100, when job 9 has begun, or not yet.
answered() {
	printf '1 batch n1 8 0,1 0-3 600 10 100\n1 batch n1 9 1,2 0 100 %s 150\n' \
		"$1" >"$WORK/answers"
}
answered 99
ok "be it for a moment" judged "shares-1-9 moving"
answered 101
ok "before the other job began it was not another job's" judged "moving moving"
after >"$WORK/before"
echo '1 rank.1.0 n1 8 0 0-3 150' >"$WORK/answers"
ok "a cgroup with more CPUs than the job is caught" judged cpus
echo '1 rank.1.0 n1 8 0 3 600' >"$WORK/answers"
ok "as is one with more memory" judged mem
