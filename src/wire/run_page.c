/* SPDX-License-Identifier: MIT */
/* run_page.c - is a rank's run under way? In memory, for pollux-rank */
#include <config.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/env.h"
#include "wire/run_page.h"

#define MARK	  0x706f6c6c75782d72u /* one of ours */
#define PATH_SIZE 64

struct plx_run_page {
	uint64_t mark;
	_Atomic uint32_t runs;
	_Atomic uint64_t step;
};

static struct plx_run_page *map(int fd)
{
	void *page = mmap(NULL, sizeof(struct plx_run_page),
			  PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return page == MAP_FAILED ? NULL : page;
}

/* Another process finds it below /proc, whatever it has closed. */
struct plx_run_page *plx_run_page_create(void)
{
	int fd = memfd_create("pollux-rank", MFD_CLOEXEC);
	struct plx_run_page *page = NULL;
	char path[PATH_SIZE];

	if (fd < 0)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long) getpid(), fd);
	if (ftruncate(fd, sizeof(*page)) == 0 &&
	    setenv(PLX_ENV_PAGE, path, 1) == 0)
		page = map(fd);
	if (!page) {
		close(fd);
		unsetenv(PLX_ENV_PAGE);
		return NULL;
	}
	page->mark = MARK;
	return page;
}

/* In a container the same name may be something else. */
static bool is_page(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == geteuid() &&
	       st.st_size == sizeof(struct plx_run_page);
}

struct plx_run_page *plx_run_page_open(void)
{
	const char *path = getenv(PLX_ENV_PAGE);
	struct plx_run_page *page = NULL;
	int fd;

	if (!path || strncmp(path, "/proc/", 6) != 0)
		return NULL;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (is_page(fd))
		page = map(fd);
	close(fd);
	if (page && page->mark != MARK) {
		munmap(page, sizeof(*page));
		page = NULL;
	}
	return page;
}

void plx_run_page_write(struct plx_run_page *page, bool runs, uint64_t step)
{
	if (!page)
		return;
	page->step = step;
	page->runs = runs;
}

bool plx_run_page_read(const struct plx_run_page *page, uint64_t *step)
{
	if (!page || !page->runs)
		return false;
	*step = page->step;
	return true;
}
