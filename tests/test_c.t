# SPDX-License-Identifier: MIT
# test_c.t - programs that link libpollux, as their authors build and run them
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/mpi.sh" || exit 1
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

# ---- little memory, and a last save that fails ----

cat >big.c <<'END'
#include <pollux.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MB = 64 };

/* 64 MB of weights. With "full" the disk is, before the end. */
int main(int argc, char **argv)
{
	const struct rlimit full = { 4096, 4096 };
	float *weights = calloc(MB, 1 << 20);
	const struct pollux_tensor tensor = {
		.name = "weights",
		.data = weights,
		.type = POLLUX_F32,
		.dims = 1,
		.shape = { MB << 18 },
	};
	struct pollux_config config;
	struct pollux_pass pass;
	struct pollux *p;
	float gradient = 0;
	int more;

	signal(SIGXFSZ, SIG_IGN);
	pollux_config_init(&config);
	config.samples = 320;
	config.checkpoint_dir = "big.d";
	config.checkpoint_every_s = 0;
	p = pollux_create(&config);
	pollux_register(p, &tensor);
	more = pollux_start(p);
	while (more >= 0 && (more = pollux_next(p, &pass)) > 0) {
		more = pollux_reduce(p, &gradient, 1, 0);
		if (more >= 0 && pass.sync)
			more = pollux_commit(p);
		if (pass.step == 3)
			pollux_checkpoint(p);
		if (pass.step == 8 && argc > 1 && !strcmp(argv[1], "full"))
			setrlimit(RLIMIT_FSIZE, &full);
	}
	if (more < 0)
		fprintf(stderr, "big: %s\n", pollux_error(p));
	pollux_destroy(p);
	return more < 0;
}
END

# Not enough for each of the threads that write; but for one.
saves_in_little_memory() {
	build "$c" big.c && rm -rf big.d &&
		(ulimit -v 190000 && exec ./big) && ls -d big.d/step-*10
}

# The last save fails, the one before is what the next start goes on from.
last_good_stands() {
	rm -rf big.d
	fails ./big full 2>big.err || return 1
	cat big.err
	grep 'big: cannot save step 10 in .*; the checkpoint of step 4 stands' \
		big.err && ./big 2>big.err && grep 'restored step 4' big.err
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

# ---- codes that are no trainings: examples/ ----

run=$(mktemp -d /tmp/plx.XXXXXX) && chmod 700 "$run"
trap 'rm -rf "$run"; lib_end' EXIT
export XDG_RUNTIME_DIR=$run

# example NAME COMPILER SOURCES...: built, without a warning.
example() {
	local name=$1 compiler=$2
	shift 2
	$compiler -Wall -Wextra -Werror -O2 -o "$name" "$@" \
		-I"$POLLUX_SRCDIR/src/agent" \
		-L"$POLLUX_BUILDDIR/src/agent/.libs" -lpollux
}

# undisturbed NAME STEPS: on one, two and three ranks. What it prints.
undisturbed() {
	local n
	for n in 0 2 3; do
		ranks "$n" "./$1" "$2" >"$1.$n" 2>"$1.err" || return 1
		cat "$1.$n"
		grep -q "^after $2 steps: " "$1.$n" || return 1
		cmp "$1.0" "$1.$n" || return 1
	done
}

job() {
	pollux-launch --job="$name" "$@"
}

works_on() {
	job --status | grep "^$name: $1 rank.* training"
}

saved() {
	grep -q '"event":"checkpoint"' "$name.json"
}

# restored TIMES: from a step that is not the first
restored() {
	[ "$(grep -c 'restored step [1-9]' "$name.err")" -eq "$1" ]
}

one_mpirun() {
	[ "$(pgrep -P "$launcher" -x "mpirun|prterun" | wc -l)" -eq 1 ]
}

# Of the last rank, whose wrapper is mpirun's child.
kill_a_rank() {
	wait_until one_mpirun 10 || return 1
	local shims
	shims=($(pgrep -P "$(pgrep -P "$launcher" -x "mpirun|prterun")" -x pollux-rank))
	kill -KILL "$(pgrep -P "${shims[-1]}")"
}

# disturbed NAME STEPS: 1 -> 3 ranks, one is killed, -> 2 ranks. It ends with
# what it prints when nobody does anything.
disturbed() {
	name=$1
	pollux-launch --local -n 1 --params=min=1,max=4 -d "$name.d" \
		--json-log="$name.json" "./$name" "$2" 10 \
		>"$name.out" 2>"$name.err" &
	launcher=$!
	wait_until 'works_on 1' 20 && job --resize=3 &&
		wait_until 'works_on 3' 20 && wait_until saved 10 &&
		kill_a_rank &&
		wait_until 'restored 2 && works_on 3' 20 && job --resize=2 &&
		wait_until 'works_on 2' 20
	local rc=$?
	[ $rc -eq 0 ] || kill "$launcher"
	wait "$launcher" || rc=1
	cat "$name.out" "$name.err"
	[ $rc -eq 0 ] && grep '^after ' "$name.out" | cmp - "$name.0" &&
		restored 3
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
ok "it saves with little memory left (ulimit -v)" saves_in_little_memory
ok "a last save that fails leaves the one before, and says so" last_good_stands
if [ -n "$cxx" ]; then
	ok "what a C++ callback throws ends the process with its message" \
		all_throw
else
	without "what a C++ callback throws ends the process with its message" \
		"C++ compiler"
fi
# of NAME WHAT STEPS LONG BUILD...: an example, if it could be built.
of() {
	local name=$1 what=$2 steps=$3 long=$4
	shift 4
	if ! command -v "${2:-none}" >/dev/null; then
		without "$what is built" compiler
		return
	fi
	ok "$what is built without a warning" example "$@"
	ok "$what prints the same on any number of ranks" \
		undisturbed "$name" "$steps"
	ranks 0 "./$name" "$long" >"$name.0" 2>/dev/null
	ok "also when they are resized and killed meanwhile" \
		disturbed "$name" "$long"
}

of jacobi "the plate of examples/jacobi.c" 100 1000 \
	jacobi mpicc "$POLLUX_SRCDIR/examples/jacobi.c"
of heat "the rod of examples/heat.f90" 100 1000 \
	heat gfortran "$POLLUX_SRCDIR/src/agent/pollux.f90" \
	"$POLLUX_SRCDIR/examples/heat.f90"
of walkers "the crowd of examples/walkers.cc" 100 1000 \
	walkers "${cxx:-none}" "$POLLUX_SRCDIR/examples/walkers.cc"
plan $tap_count
