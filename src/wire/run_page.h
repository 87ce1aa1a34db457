/* SPDX-License-Identifier: MIT */
/*
 * run_page.h - is a rank's run under way? In memory, for pollux-rank
 *
 * A process that ends with exit code 0 says nothing about its training.
 * pollux-rank makes a page of memory, and tells the program in PLX_ENV_PAGE
 * where it is. libpollux writes into it whether a run is under way, and the
 * step. When the program has ended pollux-rank looks. The page costs no system
 * call, and it is there also after _exit().
 */
#ifndef PLX_WIRE_RUN_PAGE_H
#define PLX_WIRE_RUN_PAGE_H

#include <stdbool.h>
#include <stdint.h>

struct plx_run_page;

/*
 * Make one, and name it in the environment of what is started from now on. It
 * is there as long as this process. NULL: there is none, with errno set.
 */
struct plx_run_page *plx_run_page_create(void);

/*
 * That of the pollux-rank that has started this program; NULL: there is none,
 * or it is not seen from here. Each call maps it; it is never unmapped.
 */
struct plx_run_page *plx_run_page_open(void);

/* A run is under way, or is not any more; NULL is fine. */
void plx_run_page_write(struct plx_run_page *page, bool runs, uint64_t step);

/* True: a run is under way, and has committed so many steps; NULL: false. */
bool plx_run_page_read(const struct plx_run_page *page, uint64_t *step);

#endif
