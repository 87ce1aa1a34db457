# SPDX-License-Identifier: MIT
# test_c.t - programs that link libpollux, as their authors build and run them
. "${POLLUX_SRCDIR}/tests/lib.sh"
. "${POLLUX_SRCDIR}/tests/mpi.sh"
cd "$WORK" || exit 1

# A value of this build's Makefile.
made_with() {
	sed -nE "s/^$1 = //p" "$POLLUX_BUILDDIR/Makefile" | xargs
}

# build COMPILER SOURCE OPTIONS...: into a program of that name.
build() {
	local compiler=$1 source=$2
	shift 2
	$compiler -o "${source%.*}" "$source" "$@" \
		-I"$POLLUX_SRCDIR/src/agent" \
		-L"$POLLUX_BUILDDIR/src/agent/.libs" -lpollux
}

c="$(made_with CC) $(made_with CFLAGS) -Wall -Wextra -Werror"
cxx=$(command -v c++ g++ clang++ | head -n 1)
mpicc=$(command -v mpicc)

# without SENTENCE WHAT: there is no such compiler here.
without() {
	skip "$1" "no $2"
}

# ---- the program of docs/c.md ----

guide_builds() {
	sed -n '/^```c$/,/^```$/p' "$POLLUX_SRCDIR/docs/c.md" |
		grep -v '^```' >train.c && build "$c" train.c
}

# One epoch, after which it is still learning.
same_on_all() {
	local n
	for n in 0 1 2 3 4; do
		ranks "$n" ./train 1 >"guide.$n" || return 1
		cat "guide.$n"
		cmp "guide.0" "guide.$n" || return 1
	done
	! grep -F '1.000 2.000 ... 32.000' guide.0
}

learns() {
	ranks 2 ./train | grep -xF 'after 10 epochs: 1.000 2.000 ... 32.000'
}

# ---- one run after the other ----

cat >twice.c <<'END'
#include <mpi.h>
#include <pollux.h>
#include <stdio.h>
#include <string.h>

static int run(const char *folder)
{
	struct pollux_config config;
	struct pollux_pass pass;
	float gradient = 1;
	struct pollux *p;
	int more;

	pollux_config_init(&config);
	config.samples = 100;
	config.checkpoint_dir = folder;
	config.quiet = true;
	p = pollux_create(&config);
	more = pollux_start(p);
	while (more >= 0 && (more = pollux_next(p, &pass)) > 0) {
		more = pollux_reduce(p, &gradient, 1, 0);
		if (more >= 0 && pass.sync)
			more = pollux_commit(p);
	}
	if (more < 0)
		fprintf(stderr, "twice: %s\n", pollux_error(p));
	pollux_destroy(p);
	return more;
}

int main(int argc, char **argv)
{
	int one = 1;
	int sum = 0;
	int rc;

	if (argc > 1 && !strcmp(argv[1], "own"))
		MPI_Init(NULL, NULL);
	rc = run("first") < 0 ? 1 : 0;
	/* The program's own MPI, which the run has begun. */
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (run("second") < 0)
		rc += 2;
	if (argc > 1)
		MPI_Finalize();
	printf("%d ranks, %d\n", sum, rc);
	return rc;
}
END

twice() {
	rm -rf first second
	ranks 2 ./twice "$@" >twice.out 2>&1
	local rc=$?
	cat twice.out
	[ $rc -eq 0 ] && [ "$(grep -c '^2 ranks, 0$' twice.out)" -eq 2 ] &&
		[ -d first ] && [ -d second ]
}

# A launcher has one run a job.
twice_is_refused() {
	local run
	run=$(mktemp -d /tmp/plx.XXXXXX) && chmod 700 "$run"
	rm -rf first second
	XDG_RUNTIME_DIR=$run pollux-launch --local -n 2 -d launched \
		--max-restarts=0 ./twice >twice.out 2>&1
	local rc=$?
	rm -rf "$run"
	cat twice.out
	[ $rc -eq 2 ] && [ ! -d second ] &&
		grep -q 'this process has had its run under the launcher' \
			twice.out
}

# ---- C++ ----

cat >throws.cc <<'END'
#include <pollux.h>
#include <cstdio>
#include <stdexcept>
#include <string>

static std::string what;

static size_t size(void *)
{
	return 1;
}

static int save(void *, void *, size_t)
{
	if (what == "save")
		throw std::runtime_error("the tape is torn");
	return 0;
}

static int load(void *, const void *, size_t)
{
	return 0;
}

static int seek(void *, int, uint64_t, uint64_t)
{
	if (what == "seek")
		throw std::runtime_error("the tape is torn");
	return 0;
}

static double rule(const struct pollux_lr_state *, void *)
{
	if (what == "rule")
		throw std::runtime_error("the tape is torn");
	return 1;
}

static void run()
{
	struct pollux_config config;
	struct pollux_pass pass;
	struct pollux_blob blob = {};
	float gradient = 1;

	pollux_config_init(&config);
	config.samples = 100;
	config.order = POLLUX_SEQUENTIAL;
	config.seek = seek;
	config.lr_rule = rule;
	config.checkpoint_dir = "thrown";
	struct pollux *p = pollux_create(&config);
	blob.name = "tape";
	blob.size = size;
	blob.save = save;
	blob.load = load;
	pollux_register_blob(p, &blob);
	if (pollux_start(p) < 0)
		throw std::logic_error(pollux_error(p));
	while (pollux_next(p, &pass) > 0) {
		pollux_reduce(p, &gradient, 1, 0);
		if (pass.sync)
			pollux_commit(p);
	}
	pollux_destroy(p);
}

int main(int, char **argv)
{
	what = argv[1];
	try {
		run();
	} catch (...) {
		std::puts("caught, with the library's frames unwound");
		return 0;
	}
	return 0;
}
END

# The core is of no use here.
throws() {
	rm -rf thrown
	(ulimit -c 0 && ranks 0 ./throws "$1") >throws.out 2>&1
	local rc=$?
	cat throws.out
	[ $rc -eq 134 ] && grep -q 'what():  the tape is torn' throws.out &&
		! grep -q caught throws.out
}

all_throw() {
	build "$cxx -Wall -Wextra -Werror" throws.cc &&
		throws seek && throws rule && throws save &&
		ranks 0 ./throws nothing
}

ok "the program of docs/c.md builds without a warning" guide_builds
ok "it prints the same on any number of ranks" same_on_all
ok "and it learns" learns
if [ -n "$mpicc" ]; then
	ok "a process has one run after the other" eval \
		'build "$mpicc -Wall" twice.c && twice'
	ok "so has one that initialises and finalises MPI" twice own
	ok "under a launcher the second is refused in a sentence" \
		twice_is_refused
else
	without "a process has one run after the other" mpicc
	without "so has one that initialises and finalises MPI" mpicc
	without "under a launcher the second is refused in a sentence" mpicc
fi
if [ -n "$cxx" ]; then
	ok "what a C++ callback throws ends the process with its message" \
		all_throw
else
	without "what a C++ callback throws ends the process with its message" \
		"C++ compiler"
fi
plan $tap_count
