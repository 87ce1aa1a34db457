/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * row_queue.c - which jobs wait for the number of their row, and who asks for
 * it
 */

#define _GNU_SOURCE /* pthread_cond_clockwait */
#include <pthread.h>
#include <string.h>

#include "sched/pollux/job_options.h"
#include "sched/pollux/acct/acct.h"
#include "sched/pollux/acct/answer.h"
#include "sched/pollux/acct/first_row.h"
#include "sched/pollux/acct/row_queue.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/record.h"
#include "sched/pollux/monotonic.h"

/* The first time, in seconds; then twice as long, up to: */
#define ASK_S	  0.1
#define ASK_MAX_S 15.0
/* After a start rows are compared before jobs are resized, for so long. */
#define AUDIT_S	     15.0
#define AUDIT_EACH_S 0.4
/*
 * What slurmctld had to tell slurmdbd dies with it, and slurmdbd may have been
 * away: so far before its start rows may be wrong.
 */
#define UNTOLD_S 600
/*
 * Rows are looked at after so long even if there are always messages. Slurm's
 * queue tries again ten seconds after slurmdbd did not answer it.
 */
#define DRAIN_S 15.0
/* How often to look whether jobs have ended, and whether slurmdbd is back. */
#define SWEEP_S 5.0
/*
 * After slurmctld was started, and slurmdbd was away, what jobs had may be
 * lost for so long: Slurm finds out within ten seconds that it is back.
 */
#define LOSES_S 60.0
/*
 * Slurm asks for no number of a resized job. What it asked before has been
 * answered when we are, as there is one connection, and is written down soon.
 */
#define ANSWERED_S 15
/* Jobs in one question. */
#define BATCH 500
/* Of more jobs some are looked for one by one. */
#define PLACES 4096

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_t thread;
	bool stop;
	bool away;	  /* until it has answered once */
	double away_s;	  /* when it was asked in vain; monotonic clock */
	bool fresh;	  /* an entry is new */
	double started_s; /* monotonic clock */
	struct pollux_account *at;
	int count;
	int places[PLACES]; /* where a job with that number was last */
} queue = {
	/* all but the thread protected by the mutex, taken after any lock of
	   slurmctld */
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.cond = PTHREAD_COND_INITIALIZER,
	.away = true,
};

static struct pollux_account *_find(uint32_t job_id)
{
	int *place = &queue.places[job_id % PLACES];

	if (*place < queue.count && queue.at[*place].job_id == job_id)
		return &queue.at[*place];
	for (int i = 0; i < queue.count; i++) {
		if (queue.at[i].job_id == job_id) {
			*place = i;
			return &queue.at[i];
		}
	}
	return NULL;
}

static struct pollux_account *_get(uint32_t job_id)
{
	struct pollux_account *account = _find(job_id);

	if (account)
		return account;
	xrealloc(queue.at, sizeof(*queue.at) * (size_t) (queue.count + 1));
	queue.places[job_id % PLACES] = queue.count;
	account = &queue.at[queue.count++];
	*account =
		(struct pollux_account){ .job_id = job_id, .numbered = true };
	return account;
}

/*
 * A shape or a life of the job is over: its rows are looked at once more when
 * slurmdbd has all that it was told.
 */
static void _look_again(struct pollux_account *account)
{
	if (!account->past)
		account->past = account->submit;
	account->past_s = pollux_now_s();
	account->look = false;
	queue.fresh = true;
	slurm_cond_signal(&queue.cond);
}

/* It was requeued, unless this is the same life. */
static void _follow(struct pollux_account *account, const job_record_t *job)
{
	if (account->submit && account->submit != job->details->submit_time) {
		pollux_account_end_life(job, account);
		_look_again(account);
		account->numbered = true;
		account->ended = false;
		account->shared = account->key == job->details->submit_time;
	}
	account->submit = job->details->submit_time;
}

/* That of the job's present life. */
static struct pollux_account *_of(const job_record_t *job)
{
	struct pollux_account *account = _get(job->job_id);

	_follow(account, job);
	return account;
}

static void _remove(struct pollux_account *account)
{
	pollux_row_free(&account->first);
	pollux_row_free(&account->last);
	*account = queue.at[--queue.count];
}

/* Ask for its number soon. One that the row before has not got closes nothing.
 */
static void _expect(struct pollux_account *account, const job_record_t *job)
{
	if (!account->numbered && account->key != pollux_row_key(job))
		_look_again(account);
	account->key = pollux_row_key(job);
	account->numbered = false;
	queue.fresh = true;
	slurm_cond_signal(&queue.cond);
}

static bool _counts(void)
{
	return POLLUX_SLURMDBD_NUMBERS && slurm_with_slurmdbd() &&
	       !(slurm_conf.accounting_storage_enforce &
		 ACCOUNTING_ENFORCE_NO_JOBS);
}

static bool _is_young(void)
{
	return pollux_now_s() - queue.started_s < AUDIT_S;
}

/* Slurm itself has given it that shape. */
static bool _is_unseen(const struct pollux_account *account,
		       const job_record_t *job)
{
	time_t key = pollux_row_key(job);

	return key != job->details->submit_time &&
	       (!account || account->key != key);
}

/* Its number may be another row's, or one that a killed slurmctld had ended. */
static bool _is_unsure(const struct pollux_account *account,
		       const job_record_t *job)
{
	if (_is_unseen(account, job))
		return true;
	return account && ((account->audit && _is_young()) ||
			   pollux_account_uncertain(account, job));
}

bool pollux_acct_ready(const job_record_t *job)
{
	struct pollux_account *account = NULL;
	struct pollux_row row;
	bool first = false;

	if (!_counts())
		return true;
	slurm_mutex_lock(&queue.mutex);
	account = _find(job->job_id);
	if (pollux_row_numbered(job) && !_is_unsure(account, job)) {
		slurm_mutex_unlock(&queue.mutex);
		return true;
	}
	account = _of(job);
	first = account->numbered || account->key != pollux_row_key(job);
	if (first)
		_expect(account, job);
	if (first && account->key != account->submit)
		pollux_account_keep_up(job, account);
	slurm_mutex_unlock(&queue.mutex);
	/* Slurm tells of a job up to 5 s after it started. */
	if (first) {
		pollux_row_read(job, &row);
		pollux_report_start(job, &row);
		pollux_row_free(&row);
	}
	return false;
}

static void _see(const job_record_t *job)
{
	struct pollux_account *account = _of(job);

	if (_is_unseen(account, job)) {
		_expect(account, job);
		_look_again(account);
		pollux_account_keep_up(job, account);
	}
}

void pollux_acct_see(uint32_t job_id)
{
	job_record_t *job = NULL;

	if (!_counts())
		return;
	pollux_lock(POLLUX_JUDGE);
	job = find_job_record(job_id);
	if (job && job->details) {
		slurm_mutex_lock(&queue.mutex);
		_see(job);
		slurm_mutex_unlock(&queue.mutex);
	}
	pollux_unlock(POLLUX_JUDGE);
}

bool pollux_acct_away(void)
{
	bool away = false;

	slurm_mutex_lock(&queue.mutex);
	away = queue.away && _counts();
	slurm_mutex_unlock(&queue.mutex);
	return away;
}

void pollux_acct_note(const job_record_t *job)
{
	struct pollux_account *account = NULL;

	if (!_counts() || pollux_row_key(job) != job->details->submit_time)
		return;
	slurm_mutex_lock(&queue.mutex);
	account = _of(job);
	pollux_row_free(&account->first);
	pollux_row_read(job, &account->first);
	slurm_mutex_unlock(&queue.mutex);
}

void pollux_acct_end_shape(job_record_t *job)
{
	struct pollux_account *account = NULL;

	if (_counts()) {
		slurm_mutex_lock(&queue.mutex);
		account = _find(job->job_id);
		if (account)
			pollux_account_end_row(job, account);
		slurm_mutex_unlock(&queue.mutex);
	}
	job_pre_resize_acctg(job);
	pollux_first_row_keep(job, pollux_slurm_first_row(job));
}

/* As Slurm's job_post_resize_acctg(), but that nobody waits. */
void pollux_acct_begin_shape(job_record_t *job)
{
	struct pollux_account *account = NULL;
	struct pollux_row row;

	pollux_slurm_begin_shape(job);
	if (!POLLUX_SLURMDBD_NUMBERS)
		return;
	/* Rows without a number are found by the time of the resize. */
	job->db_index = 0;
	if (!_counts())
		return;
	pollux_row_read(job, &row);
	pollux_report_start(job, &row);
	pollux_row_free(&row);
	slurm_mutex_lock(&queue.mutex);
	account = _of(job);
	_expect(account, job);
	pollux_account_keep(job, account);
	slurm_mutex_unlock(&queue.mutex);
}

/*
 * Waiting ones as well: they may have run, and slurmctld has forgotten it; and
 * those that have ended since it was started, or right before.
 */
static bool _may_be_older(const job_record_t *job)
{
	if (!job->details || !pollux_is_elastic(job))
		return false;
	return !IS_JOB_FINISHED(job) ||
	       job->end_time >= slurmctld_config.boot_time - UNTOLD_S;
}

/* Its present row, also if that is the first one. */
static void _note(const job_record_t *job, struct pollux_account *account)
{
	pollux_account_keep(job, account);
	if (account->last.submit)
		return;
	pollux_row_free(&account->first);
	pollux_row_read(job, &account->first);
}

static void _audit(job_record_t *job)
{
	struct pollux_account *account = NULL;

	if (!_may_be_older(job))
		return;
	account = _of(job);
	account->audit = true;
	account->key = job->details->submit_time; /* all rows since */
	/* And those of lives before. */
	account->past =
		MIN(account->submit, slurmctld_config.boot_time - UNTOLD_S);
	account->past = MAX(account->past, 1);
	/* It may be over before slurmdbd answers, and forgotten. */
	if (IS_JOB_PENDING(job) && pollux_row_is_over(job))
		account->over = MIN(job->end_time, time(NULL));
	if (pollux_row_has_begun(job))
		_note(job, account);
}

void pollux_acct_audit(void)
{
	if (!_counts())
		return;
	pollux_lock(POLLUX_JUDGE);
	slurm_mutex_lock(&queue.mutex);
	pollux_record_each(_audit);
	queue.fresh = true;
	slurm_cond_signal(&queue.cond);
	slurm_mutex_unlock(&queue.mutex);
	pollux_unlock(POLLUX_JUDGE);
}

/* ---- the thread ---- */

static void _add_job(slurmdb_job_cond_t *what, uint32_t job_id)
{
	slurm_selected_step_t *job = xmalloc(sizeof(*job));

	job->array_task_id = NO_VAL;
	job->het_job_offset = NO_VAL;
	job->step_id.job_id = job_id;
	job->step_id.step_id = NO_VAL;
	job->step_id.step_het_comp = NO_VAL;
	list_append(what->step_list, job);
}

/* slurmdbd has all that it was told. */
static bool _is_drained(void)
{
	int waiting = 0;

	return acct_storage_g_get_data(acct_db_conn,
				       ACCT_STORAGE_INFO_AGENT_COUNT,
				       &waiting) == SLURM_SUCCESS &&
	       !waiting;
}

/* Are rows of what is over looked at when they come? */
static bool _will_look(const struct pollux_account *account, bool drained)
{
	return account->past &&
	       (drained ||
		pollux_now_s() > MAX(account->past_s, queue.away_s) + DRAIN_S);
}

/* The question: rows of the jobs that wait, as far as they may matter. */
static slurmdb_job_cond_t *_question(void)
{
	slurmdb_job_cond_t *what = xmalloc(sizeof(*what));
	time_t since = time(NULL);
	bool drained = _is_drained();
	int count = 0;

	what->flags =
		JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_STEP | JOBCOND_FLAG_NO_TRUNC;
	what->db_flags = SLURMDB_JOB_FLAG_NOTSET;
	what->cluster_list = list_create(xfree_ptr);
	list_append(what->cluster_list, xstrdup(slurm_conf.cluster_name));
	what->step_list = list_create(slurm_destroy_selected_step);
	for (int i = 0; i < queue.count; i++) {
		struct pollux_account *account = &queue.at[i];

		account->look = _will_look(account, drained);
		account->asked =
			count < BATCH &&
			(!account->numbered || account->audit || account->look);
		if (!account->asked)
			continue;
		_add_job(what, account->job_id);
		if (account->key)
			since = MIN(since, account->key);
		if (account->past)
			since = MIN(since, account->past);
		count++;
	}
	/* Nobody waits, but is slurmdbd there? */
	if (!count && queue.away)
		_add_job(what, 1);
	what->usage_start = since > 1 ? since - 1 : 1;
	what->usage_end = time(NULL) + 3600;
	if (list_count(what->step_list))
		return what;
	slurmdb_destroy_job_cond(what);
	return NULL;
}

/*
 * Slurm itself has asked for this number. Its answer would be taken for that of
 * the job's row at that time, even if the job was resized meanwhile. Of a job
 * that has ended it is we who wrote that (_settle_ended()). Slurm writes it as
 * well when it takes a node away, and leaves it where slurmdbd does not answer.
 */
static bool _slurm_asks(const job_record_t *job)
{
	return job->db_index == NO_VAL64 && !IS_JOB_FINISHED(job) &&
	       job->details->submit_time >= slurmctld_config.boot_time &&
	       (pollux_row_key(job) == job->details->submit_time ||
		time(NULL) - pollux_row_key(job) <= ANSWERED_S);
}

static void _number(job_record_t *job, struct pollux_account *account,
		    const slurmdb_job_rec_t *row, List rows)
{
	if (pollux_row_key(job) != account->key) {
		/* Slurm itself took a lost node away meanwhile. */
		_look_again(account);
		account->key = pollux_row_key(job);
		account->numbered = pollux_row_numbered(job);
		return;
	}
	if (_slurm_asks(job))
		return;
	if (pollux_row_numbered(job) && job->db_index != row->db_index &&
	    account->last.submit)
		pollux_account_part(job, account, row->db_index, rows);
	if (!pollux_row_numbered(job))
		job->db_index = row->db_index;
	account->numbered = true;
}

static bool _is_running(const job_record_t *job)
{
	return IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job);
}

static void _compare(struct pollux_account *account, job_record_t *job,
		     List rows)
{
	if (!account->audit || !rows || IS_JOB_SUSPENDED(job))
		return;
	account->audit = false;
	/* What Slurm has told since slurmctld was started may be on its way. */
	_look_again(account);
	if (pollux_row_has_begun(job)) {
		account->key = pollux_row_key(job);
		account->numbered = pollux_row_numbered(job);
	}
	if (!IS_JOB_RUNNING(job)) {
		pollux_audit_over(job, account, rows);
		return;
	}
	pollux_audit(job, account, rows);
}

/*
 * Put back into the queue, and nothing of it is left to be told, nor will be if
 * it is cancelled there.
 */
static bool _waits(const job_record_t *job,
		   const struct pollux_account *account)
{
	return IS_JOB_PENDING(job) && !IS_JOB_COMPLETING(job) &&
	       account->numbered && !account->audit && !account->past &&
	       !account->shared && !account->first.submit &&
	       !account->last.submit;
}

/* True when there is nothing more to be done for the job, which has ended. */
static bool _settle_ended(struct pollux_account *account, job_record_t *job)
{
	/*
	 * Slurm would tell of it once more, as of its first shape. When
	 * slurmdbd is away Slurm makes that 0 again, so the number has to come.
	 */
	if (!job->db_index)
		job->db_index = NO_VAL64;
	if (!account->numbered || account->audit)
		return false;
	/* One that is to be requeued may be updated until it has completed. */
	if (!account->ended || pollux_account_changed(job, account)) {
		pollux_account_end_row(job, account);
		_look_again(account);
	}
	account->ended = true;
	return !account->past && !IS_JOB_COMPLETING(job);
}

/* True when there is nothing more to be done for the job. */
static bool _settle(struct pollux_account *account, List rows)
{
	job_record_t *job = find_job_record(account->job_id);
	slurmdb_job_rec_t *row = NULL;

	if (!job || !job->details)
		return true;
	if (!account->asked || !rows) {
		rows = NULL;
		account->look = false;
	}
	if (!account->submit)
		account->submit = job->details->submit_time;
	_compare(account, job, rows);
	if (account->audit && account->submit != job->details->submit_time)
		return false;
	_follow(account, job);
	if (account->past && account->look && !account->audit) {
		account->past = 0;
		pollux_audit_past(job, account->over, rows);
	}
	if (!account->numbered && rows)
		row = pollux_audit_find(rows, job->job_id, account->key);
	if (row)
		_number(job, account, row, rows);
	if (_is_running(job))
		pollux_account_mend(job, account);
	if (IS_JOB_FINISHED(job))
		return _settle_ended(account, job);
	return _waits(job, account);
}

/* True when there is nothing more to be done for the job. */
static bool _settle_by(struct pollux_account *account,
		       const struct pollux_answer *answer)
{
	List rows = pollux_answer_of(answer, account->job_id);
	bool settled = _settle(account, rows);

	FREE_NULL_LIST(rows);
	return settled;
}

static void _tell_once(void)
{
	double since_s = 0;

	slurm_mutex_lock(&queue.mutex);
	since_s = MAX(queue.started_s, queue.away_s);
	slurm_mutex_unlock(&queue.mutex);
	if (pollux_now_s() - since_s < LOSES_S)
		pollux_record_each(pollux_account_tell_once);
}

/* Those that were asked about; and all, now and then, as jobs are updated. */
static void _settle_all(List rows)
{
	static double swept_s; /* the thread's own */
	bool all = !rows || pollux_now_s() - swept_s >= SWEEP_S;
	struct pollux_answer answer = pollux_answer_sort(rows);
	int i = 0;

	if (all)
		swept_s = pollux_now_s();
	pollux_lock(POLLUX_ACCOUNT);
	if (all)
		_tell_once();
	slurm_mutex_lock(&queue.mutex);
	while (i < queue.count) {
		if (!all && !queue.at[i].asked) {
			i++;
			continue;
		}
		if (_settle_by(&queue.at[i], &answer))
			_remove(&queue.at[i]);
		else
			i++;
		/* After a restart there are many; nobody else removes one. */
		slurm_mutex_unlock(&queue.mutex);
		pollux_lock_yield(POLLUX_ACCOUNT);
		slurm_mutex_lock(&queue.mutex);
	}
	slurm_mutex_unlock(&queue.mutex);
	pollux_unlock(POLLUX_ACCOUNT);
	pollux_answer_release(&answer);
}

static bool _anyone_waits(void)
{
	for (int i = 0; i < queue.count; i++) {
		if (!queue.at[i].numbered || queue.at[i].audit ||
		    queue.at[i].past)
			return true;
	}
	return false;
}

static void _wait(double seconds)
{
	struct timespec until;
	long nanoseconds = 0;

	if (queue.stop)
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	nanoseconds = until.tv_nsec + (long) (1e9 * seconds);
	until.tv_sec += nanoseconds / 1000000000;
	until.tv_nsec = nanoseconds % 1000000000;
	pthread_cond_clockwait(&queue.cond, &queue.mutex, CLOCK_MONOTONIC,
			       &until);
}

/* Sleep; false when it is time to end. */
static bool _sleep(double *wait_s)
{
	bool go_on = false;

	slurm_mutex_lock(&queue.mutex);
	*wait_s = MIN(2 * *wait_s, _is_young() ? AUDIT_EACH_S : ASK_MAX_S);
	if (!_anyone_waits())
		*wait_s = SWEEP_S;
	if (!queue.fresh)
		_wait(*wait_s);
	/* Slurm's queue is to be first, and others may come. */
	if (queue.fresh) {
		queue.fresh = false;
		*wait_s = ASK_S;
		_wait(ASK_S);
	}
	go_on = !queue.stop;
	slurm_mutex_unlock(&queue.mutex);
	return go_on;
}

/* No lock of slurmctld is held while slurmdbd is asked. */
static List _rows(void)
{
	slurmdb_job_cond_t *what = NULL;
	List rows = NULL;

	slurm_mutex_lock(&queue.mutex);
	what = _question();
	slurm_mutex_unlock(&queue.mutex);
	if (!what)
		return NULL;
	if (acct_db_conn)
		rows = jobacct_storage_g_get_jobs_cond(
			acct_db_conn, slurm_conf.slurm_user_id, what);
	slurmdb_destroy_job_cond(what);
	slurm_mutex_lock(&queue.mutex);
	queue.away = !rows;
	if (!rows)
		queue.away_s = pollux_now_s();
	slurm_mutex_unlock(&queue.mutex);
	return rows;
}

static void *_run(void *unused)
{
	double wait_s = ASK_S;
	List rows = NULL;

	(void) unused;
	while (_sleep(&wait_s)) {
		if (!_counts())
			continue;
		rows = _rows();
		_settle_all(rows);
		FREE_NULL_LIST(rows);
	}
	return NULL;
}

void pollux_acct_start(void)
{
	queue.stop = false;
	queue.away = true;
	queue.fresh = true;
	queue.started_s = pollux_now_s();
	if (pthread_create(&queue.thread, NULL, _run, NULL))
		fatal("sched/pollux: no thread to ask slurmdbd");
}

void pollux_acct_stop(void)
{
	slurm_mutex_lock(&queue.mutex);
	queue.stop = true;
	slurm_cond_signal(&queue.cond);
	slurm_mutex_unlock(&queue.mutex);
	pthread_join(queue.thread, NULL);
	while (queue.count)
		_remove(&queue.at[0]);
	xfree(queue.at);
	pollux_first_row_free();
}
