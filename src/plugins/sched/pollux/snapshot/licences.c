/* SPDX-License-Identifier: GPL-2.0-or-later */
/* licences.c - which licences are free, and what jobs that wait want of them */

#include "common/slurm_compat.h"
#include "sched/pollux/snapshot/licences.h"

/* Not those that are in a reservation: Slurm's own test knows of these. */
static void _fill_free(List all, struct pollux_snapshot *snapshot)
{
	ListIterator iter = list_iterator_create(all);
	const bf_license_t *licence = NULL;

	snapshot->licences =
		xcalloc(list_count(all) + 1, sizeof(*snapshot->licences));
	while ((licence = list_next(iter)))
		snapshot->licences[snapshot->licence_count++] =
			licence->remaining;
	list_iterator_destroy(iter);
}

/* Of each licence in turn; false: any of several would do. */
static bool _add(List all, const licenses_t *wanted, double *draws)
{
	ListIterator iter = list_iterator_create(all);
	const bf_license_t *licence = NULL;

	for (int i = 0; (licence = list_next(iter)); i++) {
		if (pollux_slurm_license_is(licence, wanted))
			draws[i] += wanted->total;
	}
	list_iterator_destroy(iter);
	return !pollux_slurm_license_or(wanted);
}

static double *_draws(List all, const job_record_t *job)
{
	double *draws = xcalloc(list_count(all) + 1, sizeof(*draws));
	ListIterator iter = list_iterator_create(job->license_list);
	const licenses_t *wanted = NULL;
	bool adds = true;

	while (adds && (wanted = list_next(iter)))
		adds = _add(all, wanted, draws);
	list_iterator_destroy(iter);
	if (!adds)
		xfree(draws);
	return draws;
}

static bool _suffices(const struct pollux_snapshot *snapshot,
		      const double *draws)
{
	for (int i = 0; draws && i < snapshot->licence_count; i++) {
		if (draws[i] > snapshot->licences[i])
			return false;
	}
	return true;
}

/* What is lacking of free ones is core's to say, who may keep them for it. */
static void _fill(List all, const job_record_t *job, bool turning,
		  struct pollux_snapshot *snapshot,
		  struct pollux_waiting *waiting)
{
	if (!job->license_list)
		return;
	waiting->draws = _draws(all, job);
	/* Slurm's test asks the reservations, too. */
	waiting->unlicensed = !turning && _suffices(snapshot, waiting->draws) &&
			      license_job_test((job_record_t *) job, time(NULL),
					       true) != SLURM_SUCCESS;
}

static bool _any(const struct plx_backlog_entry *chosen, int count)
{
	for (int i = 0; i < count; i++) {
		if (((const job_record_t *) chosen[i].job)->license_list)
			return true;
	}
	return false;
}

void pollux_licences_fill(const struct plx_backlog_entry *chosen, bool turning,
			  struct pollux_snapshot *snapshot)
{
	List all = NULL;

	if (!_any(chosen, snapshot->waiting_count))
		return;
	all = bf_licenses_initial(false);
	if (!all)
		return;
	_fill_free(all, snapshot);
	for (int i = 0; i < snapshot->waiting_count; i++)
		_fill(all, chosen[i].job, turning, snapshot,
		      &snapshot->waiting[i]);
	FREE_NULL_LIST(all);
}
