/* SPDX-License-Identifier: MIT */
/*
 * rows_world.h - slurmdbd and what slurmctld has of a job's rows, played
 *
 * slurmdbd finds a row by its number, or by the job and the time of its
 * submission, as the real one does. Include once, behind headers of Slurm.
 */
#ifndef UNIT_ROWS_WORLD_H
#define UNIT_ROWS_WORLD_H

#include <pthread.h>
#include <time.h>

#include "slurm_memory.h"
#include "unit.h"

enum { JOB = 5, ROWS = 16, PATIENCE_S = 20 };

slurm_conf_t slurm_conf;
slurmctld_config_t slurmctld_config;
void *acct_db_conn = &acct_db_conn;
time_t last_job_update;

static struct {
	job_record_t job;
	job_details_t details;
	pthread_mutex_t lock; /* slurmctld's, and the row's */
	slurmdb_job_rec_t rows[ROWS];
	int count;
	int told; /* messages */
	bool away;
	bool full;  /* its queue has messages */
	bool waits; /* and none of them gets there */
	int asked;
	double later_s; /* than the clock says */
} ctld = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* TRES of so many GPUs, each on a node of its own. */
static char one[] = "1=1,4=1,1001=1";
static char two[] = "1=2,4=2,1001=2";

/* ---- slurmdbd */

static slurmdb_job_rec_t *row_of(time_t submit)
{
	for (int i = 0; i < ctld.count; i++) {
		if (ctld.rows[i].submit == submit)
			return &ctld.rows[i];
	}
	return NULL;
}

static slurmdb_job_rec_t *add(time_t submit, time_t start, time_t end)
{
	slurmdb_job_rec_t *row = &ctld.rows[ctld.count++];

	*row = (slurmdb_job_rec_t){
		.jobid = JOB,
		.db_index = (uint64_t) ctld.count,
		.submit = submit,
		.eligible = submit,
		.start = start,
		.end = end,
		.state = JOB_RUNNING,
	};
	return row;
}

/* The data base has texts of its own. */
static char *stored(const char *text)
{
	static char texts[ROWS][64];
	int i = 0;

	while (texts[i][0] && strcmp(texts[i], text) != 0)
		i++;
	assert_true(i < ROWS - 1 && strlen(text) < sizeof(texts[i]));
	return texts[i][0] ? texts[i] : strcpy(texts[i], text);
}

static time_t key_of(const job_record_t *job)
{
	return job->resize_time ? job->resize_time : job->details->submit_time;
}

/* ---- its queue */

static struct message {
	int (*act)(job_record_t *job);
	job_record_t job;
	job_details_t details;
} queue[ROWS];
static int queued;

static int job_starts(job_record_t *job)
{
	slurmdb_job_rec_t *row = row_of(key_of(job));

	if (!row)
		row = add(key_of(job), 0, 0);
	row->start = job->start_time;
	row->eligible = job->details->begin_time;
	if (job->tres_alloc_str)
		row->tres_alloc_str = stored(job->tres_alloc_str);
	return SLURM_SUCCESS;
}

/* A row of which only the end was told: sacct -S does not show it. */
static slurmdb_job_rec_t *add_ended(const job_record_t *job)
{
	slurmdb_job_rec_t *row =
		add(key_of(job),
		    job->resize_time ? job->resize_time : job->start_time, 0);

	row->eligible = 0;
	return row;
}

static int job_ends(job_record_t *job)
{
	slurmdb_job_rec_t *row = NULL;

	if (job->db_index && job->db_index != NO_VAL64)
		row = &ctld.rows[job->db_index - 1];
	else
		row = row_of(key_of(job));
	if (!row)
		row = add_ended(job);
	row->end = IS_JOB_RESIZING(job) ? job->resize_time : job->end_time;
	row->state = IS_JOB_RESIZING(job) ? JOB_RESIZING : job->job_state;
	row->exitcode = (int32_t) job->exit_code;
	if (job->tres_alloc_str && !(job->bit_flags & TRES_STR_CALC))
		row->tres_alloc_str = stored(job->tres_alloc_str);
	return SLURM_SUCCESS;
}

static int tell(int (*act)(job_record_t *job), job_record_t *job)
{
	struct message *message = &queue[queued];

	ctld.told++;
	if (!ctld.waits)
		return act(job);
	assert_true(queued < ROWS);
	queued++;
	*message = (struct message){ act, *job, *job->details };
	return SLURM_SUCCESS;
}

static void all_get_there(void)
{
	for (int i = 0; i < queued; i++) {
		queue[i].job.details = &queue[i].details;
		queue[i].act(&queue[i].job);
	}
	queued = 0;
	ctld.waits = ctld.full = false;
}

int jobacct_storage_g_job_start(void *conn, job_record_t *job)
{
	(void) conn;
	return tell(job_starts, job);
}

int jobacct_storage_g_job_complete(void *conn, job_record_t *job)
{
	(void) conn;
	return tell(job_ends, job);
}

int acct_storage_g_get_data(void *conn, acct_storage_info_t what, void *data)
{
	(void) conn;
	assert_int_equal(ACCT_STORAGE_INFO_AGENT_COUNT, what);
	*(int *) data = ctld.full;
	return SLURM_SUCCESS;
}

/* ---- what slurmctld has for the queue */

struct xlist {
	void *items[ROWS];
	int count;
};

struct listIterator {
	List list;
	int next;
};

List list_create(ListDelF f)
{
	(void) f;
	return calloc(1, sizeof(struct xlist));
}

void *list_append(List list, void *item)
{
	assert_true(list->count < ROWS);
	return list->items[list->count++] = item;
}

int list_count(List list)
{
	return list->count;
}

void list_destroy(List list)
{
	free(list);
}

ListIterator list_iterator_create(List list)
{
	ListIterator iter = calloc(1, sizeof(*iter));

	iter->list = list;
	return iter;
}

void *list_next(ListIterator iter)
{
	return iter->next < iter->list->count ? iter->list->items[iter->next++]
					      : NULL;
}

void list_iterator_destroy(ListIterator iter)
{
	free(iter);
}

/* As for jobs that are named: also those that were never eligible. */
static List rows_since(time_t start)
{
	List rows = list_create(NULL);

	for (int i = 0; i < ctld.count; i++) {
		if (!ctld.rows[i].end || ctld.rows[i].end >= start)
			list_append(rows, &ctld.rows[i]);
	}
	return rows;
}

static List all_rows(void)
{
	return rows_since(0);
}

List jobacct_storage_g_get_jobs_cond(void *conn, uint32_t uid,
				     slurmdb_job_cond_t *what)
{
	List rows = NULL;

	(void) conn, (void) uid;
	pthread_mutex_lock(&ctld.lock);
	ctld.asked++;
	if (!ctld.away)
		rows = rows_since(what->usage_start);
	pthread_mutex_unlock(&ctld.lock);
	return rows;
}

void slurmdb_destroy_job_cond(void *object)
{
	slurmdb_job_cond_t *what = object;

	for (int i = 0; i < what->step_list->count; i++)
		free(what->step_list->items[i]);
	for (int i = 0; i < what->cluster_list->count; i++)
		free(what->cluster_list->items[i]);
	list_destroy(what->step_list);
	list_destroy(what->cluster_list);
	free(what);
}

job_record_t *find_job_record(uint32_t job_id)
{
	return job_id == JOB ? &ctld.job : NULL;
}

void pollux_record_each(void (*act)(job_record_t *job))
{
	act(&ctld.job);
}

bool pollux_is_elastic(const job_record_t *job)
{
	return job == &ctld.job;
}

void pollux_lock(enum pollux_purpose purpose)
{
	(void) purpose;
	pthread_mutex_lock(&ctld.lock);
}

void pollux_unlock(enum pollux_purpose purpose)
{
	(void) purpose;
	pthread_mutex_unlock(&ctld.lock);
}

void pollux_lock_yield(enum pollux_purpose purpose)
{
	(void) purpose;
}

double pollux_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec + ctld.later_s;
}

void pollux_info(const char *format, ...)
{
	(void) format;
}

void pollux_save_jobs(void)
{
}

int error(const char *format, ...)
{
	(void) format;
	return SLURM_ERROR;
}

bool slurm_with_slurmdbd(void)
{
	return true;
}

void slurm_destroy_selected_step(void *object)
{
	(void) object;
}

void job_pre_resize_acctg(job_record_t *job)
{
	(void) job;
}

void acct_policy_add_job_submit(job_record_t *job)
{
	(void) job;
}

void acct_policy_job_begin(job_record_t *job)
{
	(void) job;
}

void job_set_alloc_tres(job_record_t *job, bool new_alloc)
{
	(void) job, (void) new_alloc;
}

void job_claim_resv(job_record_t *job)
{
	(void) job;
}

void xfree_ptr(void *item)
{
	free(item);
}

int xstrcmp(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

/* ---- what tests say */

static int set_up(void **state)
{
	(void) state;
	memset(&ctld.job, 0, sizeof(ctld.job));
	memset(&ctld.details, 0, sizeof(ctld.details));
	ctld.count = ctld.told = ctld.asked = 0;
	ctld.away = ctld.full = ctld.waits = false;
	slurmctld_config.boot_time = 0;
	queued = 0;
	ctld.job.job_id = JOB;
	ctld.job.job_state = JOB_RUNNING;
	ctld.job.details = &ctld.details;
	ctld.job.start_time = 100;
	ctld.details.submit_time = ctld.details.begin_time = 90;
	return 0;
}

/* The record's present row begins then, and has that number. */
static void is_since(time_t time, uint64_t number)
{
	ctld.job.resize_time = time;
	ctld.job.db_index = number;
}

static void audit(void)
{
	struct pollux_account account = { .job_id = JOB, .numbered = true };
	job_record_t *job = &ctld.job;
	List rows = all_rows();

	if (IS_JOB_PENDING(job))
		account.over = job->end_time;
	if (IS_JOB_RUNNING(job))
		pollux_audit(job, &account, rows);
	else
		pollux_audit_over(job, &account, rows);
	list_destroy(rows);
	pollux_row_free(&account.first);
}

/* What is waited for, of a row or of the job. */
struct wanted {
	time_t submit;
	time_t end;
	uint64_t number;
	const char *tres;
};

/* In time; asked under slurmctld's lock. */
static bool becomes(bool (*is)(const struct wanted *), struct wanted wanted)
{
	bool so = false;

	for (int i = 0; i < 100 * PATIENCE_S && !so; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		pthread_mutex_lock(&ctld.lock);
		so = is(&wanted);
		pthread_mutex_unlock(&ctld.lock);
	}
	return so;
}

static bool has_that_end(const struct wanted *wanted)
{
	const slurmdb_job_rec_t *row = row_of(wanted->submit);

	return row && row->end == wanted->end;
}

static bool ends_at(time_t submit, time_t end)
{
	return becomes(has_that_end,
		       (struct wanted){ .submit = submit, .end = end });
}

static bool has_that_number(const struct wanted *wanted)
{
	return ctld.job.db_index == wanted->number;
}

static bool has_number(uint64_t number)
{
	return becomes(has_that_number, (struct wanted){ .number = number });
}

/* Slurm itself tells that the present row has ended. */
static void tell_end(time_t end, uint32_t state)
{
	job_record_t copy = ctld.job;

	copy.job_state = state;
	copy.end_time = end;
	if (state & JOB_RESIZING)
		copy.resize_time = end;
	jobacct_storage_g_job_complete(NULL, &copy);
}

static void stop(void)
{
	pollux_acct_stop();
}

#endif
