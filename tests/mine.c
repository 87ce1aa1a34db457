/* SPDX-License-Identifier: MIT */
/*
 * mine.c - kill a process at a chosen instruction
 *
 *	mine PID FUNCTION [STEPS [WITHIN]]
 *
 * Waits until a thread of the process enters FUNCTION of the program or one
 * of its libraries, lets that thread execute STEPS more instructions (default
 * 0) and kills the process with SIGKILL. With WITHIN, FUNCTION counts only in
 * a thread that has entered WITHIN before. Prints "laid" when it waits.
 *
 * "hold" for STEPS: the thread stands there, and the others go on, until mine
 * itself is killed. Prints "held" then.
 *
 * Exit code 0: killed; 1: could not; 3: the process ended by itself; 77: not
 * on this processor.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __x86_64__

int main(void)
{
	return 77;
}

#else

#define TRAP 0xcc
#define HOLD (-1) /* of steps */

struct mine {
	uintptr_t at;
	long was; /* the word there */
	bool laid;
};

static pid_t target;

/* Offset of a function in a mapped file, 0: it has none. */
static uintptr_t find_in(const char *file, size_t size, const char *name)
{
	const Elf64_Ehdr *head = (const void *) file;
	const Elf64_Shdr *parts = (const void *) (file + head->e_shoff);

	for (int i = 0; i < head->e_shnum; i++) {
		const Elf64_Sym *symbols =
			(const void *) (file + parts[i].sh_offset);
		const char *names = NULL;

		if ((parts[i].sh_type != SHT_SYMTAB &&
		     parts[i].sh_type != SHT_DYNSYM) ||
		    parts[i].sh_offset + parts[i].sh_size > size)
			continue;
		names = file + parts[parts[i].sh_link].sh_offset;
		for (size_t j = 0; j < parts[i].sh_size / sizeof(*symbols);
		     j++) {
			if (ELF64_ST_TYPE(symbols[j].st_info) == STT_FUNC &&
			    symbols[j].st_value &&
			    !strcmp(names + symbols[j].st_name, name))
				return symbols[j].st_value;
		}
	}
	return 0;
}

static uintptr_t find_in_file(const char *path, const char *name)
{
	struct stat info;
	uintptr_t found = 0;
	char *file = MAP_FAILED;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return 0;
	if (fstat(fd, &info) == 0 && info.st_size > (off_t) sizeof(Elf64_Ehdr))
		file = mmap(NULL, (size_t) info.st_size, PROT_READ, MAP_PRIVATE,
			    fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		return 0;
	if (!memcmp(file, ELFMAG, SELFMAG))
		found = find_in(file, (size_t) info.st_size, name);
	munmap(file, (size_t) info.st_size);
	return found;
}

/* Our own plugin first: its names are ours. */
static uintptr_t find_function(const char *name, bool plugin)
{
	char path[64];
	char line[4500];
	uintptr_t found = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int) target);
	maps = fopen(path, "r");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		unsigned long base;
		unsigned long offset;
		char *file = strchr(line, '/');

		if (!file ||
		    sscanf(line, "%lx-%*x %*s %lx", &base, &offset) != 2 ||
		    offset != 0)
			continue;
		file[strcspn(file, "\n")] = '\0';
		if (plugin != (strstr(file, "sched_pollux.so") != NULL))
			continue;
		found = find_in_file(file, name);
		found += found ? base : 0;
	}
	if (maps)
		fclose(maps);
	return found;
}

static bool aim(const char *name, struct mine *mine)
{
	mine->at = find_function(name, true);
	if (!mine->at)
		mine->at = find_function(name, false);
	if (!mine->at)
		fprintf(stderr, "mine: no function %s in process %d\n", name,
			(int) target);
	return mine->at != 0;
}

static bool is_over(pid_t thread)
{
	int status;

	return waitpid(thread, &status, __WALL) < 0 || WIFEXITED(status) ||
	       WIFSIGNALED(status);
}

/* All threads there are; those to come are traced by themselves. */
static bool seize(void)
{
	char path[64];
	struct dirent *entry;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int) target);
	threads = opendir(path);
	if (!threads)
		return false;
	while ((entry = readdir(threads))) {
		pid_t thread = atoi(entry->d_name);

		if (thread > 0)
			ptrace(PTRACE_SEIZE, thread, NULL,
			       (void *) PTRACE_O_TRACECLONE);
	}
	closedir(threads);
	return true;
}

/* The process's memory is written through a thread that stands still. */
static bool lay(pid_t thread, struct mine *mine)
{
	errno = 0;
	mine->was = ptrace(PTRACE_PEEKTEXT, thread, (void *) mine->at, NULL);
	if (errno)
		return false;
	mine->laid = ptrace(PTRACE_POKETEXT, thread, (void *) mine->at,
			    (void *) ((mine->was & ~0xffL) | TRAP)) == 0;
	return mine->laid;
}

static void lift(pid_t thread, struct mine *mine)
{
	ptrace(PTRACE_POKETEXT, thread, (void *) mine->at, (void *) mine->was);
	mine->laid = false;
}

/* Is this thread on the mine? Then it is put back to where it begins. */
static bool has_hit(pid_t thread, const struct mine *mine)
{
	struct user_regs_struct regs;

	if (!mine->laid || ptrace(PTRACE_GETREGS, thread, NULL, &regs) < 0 ||
	    regs.rip != mine->at + 1)
		return false;
	regs.rip = mine->at;
	return ptrace(PTRACE_SETREGS, thread, NULL, &regs) == 0;
}

static bool step(pid_t thread)
{
	return ptrace(PTRACE_SINGLESTEP, thread, NULL, NULL) == 0 &&
	       !is_over(thread);
}

/* Not the one we wait for: over the mine, and on. */
static void pass(pid_t thread, struct mine *mine)
{
	lift(thread, mine);
	if (!step(thread))
		return;
	lay(thread, mine);
	ptrace(PTRACE_CONT, thread, NULL, NULL);
}

static int explode(pid_t thread, struct mine *mine, long steps)
{
	lift(thread, mine);
	while (steps-- > 0) {
		if (!step(thread))
			return 3;
	}
	kill(target, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	return 0;
}

/*
 * The kernel lets it go when we end. It would get SIGTRAP then, was it not in a
 * stop that is no signal's.
 */
static bool hold(pid_t thread, struct mine *mine)
{
	lift(thread, mine);
	if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) < 0 ||
	    ptrace(PTRACE_CONT, thread, NULL, NULL) < 0 || is_over(thread))
		return false;
	puts("held");
	fflush(stdout);
	return true;
}

/* What is none of our business: signals go where they were to go. */
static void let_go(pid_t thread, int status)
{
	int signal = WSTOPSIG(status);

	if (status >> 16)
		signal = 0;
	ptrace(PTRACE_CONT, thread, NULL, (void *) (long) signal);
}

/* First `within` (if any) is laid, then `mine`, for the thread that came. */
static int watch(struct mine *mine, struct mine *within, long steps)
{
	pid_t inside = 0;
	pid_t thread;
	int status;

	while ((thread = waitpid(-1, &status, __WALL)) > 0) {
		bool trap = WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP &&
			    !(status >> 16);

		if (!WIFSTOPPED(status)) {
			if (thread == target)
				return 3;
		} else if (trap && has_hit(thread, mine)) {
			if (inside && inside != thread)
				pass(thread, mine);
			else if (steps != HOLD)
				return explode(thread, mine, steps);
			else if (!hold(thread, mine))
				return 3;
		} else if (trap && has_hit(thread, within)) {
			inside = thread;
			lift(thread, within);
			if (!lay(thread, mine))
				return 1;
			ptrace(PTRACE_CONT, thread, NULL, NULL);
		} else {
			let_go(thread, status);
		}
	}
	return 3;
}

int main(int argc, char **argv)
{
	struct mine mine = { 0 };
	struct mine within = { 0 };
	struct mine *first = argc > 4 ? &within : &mine;
	long steps = 0;
	int status;

	if (argc < 3 || argc > 5) {
		fputs("Usage: mine PID FUNCTION [STEPS [WITHIN]]\n", stderr);
		return 1;
	}
	if (argc > 3)
		steps = strcmp(argv[3], "hold") ? atol(argv[3]) : HOLD;
	target = atoi(argv[1]);
	if (!aim(argv[2], &mine) || (argc > 4 && !aim(argv[4], &within)))
		return 1;
	if (!seize() || ptrace(PTRACE_INTERRUPT, target, NULL, NULL) < 0 ||
	    waitpid(target, &status, __WALL) != target || !lay(target, first)) {
		perror("mine");
		return 1;
	}
	ptrace(PTRACE_CONT, target, NULL, NULL);
	puts("laid");
	fflush(stdout);
	return watch(&mine, &within, steps);
}

#endif
