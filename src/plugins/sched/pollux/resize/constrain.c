/* SPDX-License-Identifier: GPL-2.0-or-later */
/* constrain.c - control groups of nodes follow what a job gives up */

#define _GNU_SOURCE /* accept4() */

#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sched/pollux/monotonic.h"
#include "sched/pollux/resize/constrain.h"
#include "sched/pollux/resize/gres_alloc.h"
#include "sched/pollux/resize/noted.h"
#include "sched/pollux/rules/slurmds.h"
#include "wire/env.h"

/* For all nodes of a job to agree. */
#define ANSWER_S 45
/* Between two looks whether the step has ended: at first, and at most. */
#define LOOK_S	   0.05
#define LOOK_MAX_S 0.4
/* A job that starts steps all the time undoes it as often. */
#define TRIES 5
/* Of slurmstepd's messages, which are small. */
#define MESSAGE_MAX 65536
#define PATIENCE_US 500000
/* Of the job's steps that are told to a node. */
#define STEPS_MAX 64

enum state { ASKED, AGREED, FAILED, STUCK };

/* What nodes were told of a job. */
struct word {
	uint32_t job_id;
	uint32_t step;	    /* ours */
	uint32_t next_step; /* of the job, then */
	bitstr_t **keeps;   /* [count]: devices that stay; NULL: not told */
	int count;	    /* of nodes then */
	int tries;
	time_t suspended; /* or resumed, last, when they were told */
	enum state state; /* protected by mutex, as is: */
	struct plx_error err;
	struct word *next;
};

/* What a thread needs to ask the nodes; its own. */
struct question {
	slurm_msg_t message;
	char *nodes;
	int node_count;
	uint32_t job_id;
	uint32_t step;
	int listens; /* socket, for slurmstepd's messages; -1: none */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static int threads;	   /* protected by mutex, as are: */
static bool stopping;	   /* ... */
static struct word *words; /* ... the states and errors in there */
static uint32_t last_step;

bool pollux_constrain_wanted(void)
{
	return xstrcasestr(slurm_conf.task_plugin, "cgroup") &&
	       pollux_slurm_constrains_devices();
}

/* --- in a thread: ask the nodes --- */

static bool _is_stopping(void)
{
	bool is = false;

	slurm_mutex_lock(&mutex);
	is = stopping;
	slurm_mutex_unlock(&mutex);
	return is;
}

/*
 * slurmstepd tells whoever launched a step how that goes, and tries for some
 * seconds where nobody listens. What it says is not believed, as anybody can
 * connect; the nodes are asked.
 */
static void _listen(struct question *question)
{
	launch_tasks_request_msg_t *step = question->message.data;
	struct sockaddr_storage own;
	socklen_t size = sizeof(own);

	question->listens = pollux_slurm_listen();
	if (question->listens < 0 ||
	    getsockname(question->listens, (struct sockaddr *) &own, &size) < 0)
		return;
	step->num_resp_port = 1;
	step->resp_port = xcalloc(1, sizeof(*step->resp_port));
	step->resp_port[0] =
		ntohs(own.ss_family == AF_INET6
			      ? ((struct sockaddr_in6 *) &own)->sin6_port
			      : ((struct sockaddr_in *) &own)->sin_port);
}

/* Read one message, and forget it. */
static bool _read_message(int connection)
{
	double until_s = pollux_now_s() + PATIENCE_US * 1e-6;
	char buffer[4096];
	uint32_t left = 0;

	if (recv(connection, &left, sizeof(left), MSG_WAITALL) != sizeof(left))
		return false;
	for (left = ntohl(left); left && left <= MESSAGE_MAX;) {
		ssize_t got =
			recv(connection, buffer, MIN(left, sizeof(buffer)), 0);

		/* Whoever sends a byte now and then holds nobody up. */
		if (got <= 0 || pollux_now_s() > until_s)
			return false;
		left -= (uint32_t) got;
	}
	return left == 0;
}

/* For so long; answer who connects meanwhile. */
static void _pause(const struct question *question, double pause_s)
{
	struct pollfd wait = { .fd = question->listens, .events = POLLIN };
	const struct timeval patience = { .tv_usec = PATIENCE_US };
	int connection = -1;

	if (poll(&wait, 1, (int) (pause_s * 1e3)) <= 0)
		return;
	connection = accept4(question->listens, NULL, NULL, SOCK_CLOEXEC);
	if (connection < 0)
		return;
	(void) setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience,
			  sizeof(patience));
	if (_read_message(connection))
		pollux_slurm_confirm(connection,
				     question->message.protocol_version);
	close(connection);
}

static int _launch(struct question *question, struct plx_error *err)
{
	List answers =
		slurm_send_recv_msgs(question->nodes, &question->message, 0);
	ret_data_info_t *answer = NULL;
	int count = 0;
	int rc = 0;

	while (answers && (answer = list_pop(answers))) {
		int code =
			(int) slurm_get_return_code(answer->type, answer->data);

		if (code != SLURM_SUCCESS)
			rc = plx_fail(err, "node %.60s: %.80s",
				      answer->node_name, slurm_strerror(code));
		count++;
		destroy_data_info(answer);
	}
	FREE_NULL_LIST(answers);
	if (rc == 0 && count != question->node_count)
		rc = plx_fail(err, "%d of %d nodes answer", count,
			      question->node_count);
	return rc;
}

/* Is "job.step" one of "1, 2.0, 2.extern"? */
static bool _is_listed(const char *list, const char *step)
{
	size_t length = strlen(step);

	for (const char *at = list; (at = strstr(at, step)); at += length) {
		bool begins = at == list || at[-1] == ' ' || at[-1] == ',';
		bool ends = !at[length] || at[length] == ',';

		if (begins && ends)
			return true;
	}
	return false;
}

/* On how many nodes has it ended, as they say; how many say anything? */
static int _count_ended(const struct question *question, const char *step,
			int *answered)
{
	slurm_msg_t message;
	List answers = NULL;
	ret_data_info_t *answer = NULL;
	int ended_on = 0;

	slurm_msg_t_init(&message);
	pollux_slurm_to_slurmd(&message);
	message.msg_type = REQUEST_DAEMON_STATUS;
	message.protocol_version = question->message.protocol_version;
	*answered = 0;
	answers = slurm_send_recv_msgs(question->nodes, &message, 0);
	while (answers && (answer = list_pop(answers))) {
		if (answer->type == RESPONSE_SLURMD_STATUS) {
			slurmd_status_t *status = answer->data;

			(*answered)++;
			ended_on += status->step_list &&
				    !_is_listed(status->step_list, step);
			/* Slurm's own function does not know the type. */
			slurm_free_slurmd_status(status);
			answer->type = RESPONSE_SLURM_RC;
			answer->data = NULL;
		}
		destroy_data_info(answer);
	}
	FREE_NULL_LIST(answers);
	return ended_on;
}

static enum state _await(const struct question *question, struct plx_error *err)
{
	double until_s = pollux_now_s() + ANSWER_S;
	double pause_s = LOOK_S;
	char step[32];
	int answered = 0;

	snprintf(step, sizeof(step), "%u.%u", question->job_id, question->step);
	while (!_is_stopping() && pollux_now_s() < until_s) {
		_pause(question, pause_s);
		pause_s = MIN(LOOK_MAX_S, pause_s * 1.5);
		if (_count_ended(question, step, &answered) ==
		    question->node_count)
			return AGREED;
	}
	plx_fail(err, "nodes %.60s do not confirm what it gives up",
		 question->nodes);
	return answered == question->node_count ? STUCK : FAILED;
}

static void _answer(const struct question *question, enum state state,
		    const struct plx_error *err)
{
	slurm_mutex_lock(&mutex);
	for (struct word *word = words; word; word = word->next) {
		if (word->job_id == question->job_id &&
		    word->step == question->step) {
			word->state = state;
			word->err = *err;
		}
	}
	threads--;
	slurm_cond_broadcast(&ended);
	slurm_mutex_unlock(&mutex);
}

static void _free_question(struct question *question)
{
	if (question->listens >= 0)
		close(question->listens);
	slurm_free_launch_tasks_request_msg(question->message.data);
	xfree(question->nodes);
	xfree(question);
}

static void *_ask(void *argument)
{
	struct question *question = argument;
	struct plx_error err = { .text = "" };
	enum state state = FAILED;

	_listen(question);
	if (_launch(question, &err) == 0)
		state = _await(question, &err);
	_answer(question, state, &err);
	_free_question(question);
	return NULL;
}

static int _start(struct question *question)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int rc = -1;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attributes, _ask, question) == 0)
		rc = 0;
	pthread_attr_destroy(&attributes);
	return rc;
}

/* --- what nodes are told --- */

static struct word *_find(uint32_t job_id)
{
	struct word *word = words;

	while (word && word->job_id != job_id)
		word = word->next;
	return word;
}

bool pollux_constrain_busy(uint32_t job_id)
{
	const struct word *word = NULL;
	bool busy = false;

	slurm_mutex_lock(&mutex);
	word = _find(job_id);
	busy = word && word->state == ASKED;
	slurm_mutex_unlock(&mutex);
	return busy;
}

static void _free_keeps(struct word *word)
{
	for (int n = 0; word->keeps && n < word->count; n++)
		FREE_NULL_BITMAP(word->keeps[n]);
	xfree(word->keeps);
}

static struct word *_make(uint32_t job_id)
{
	struct word *word = xcalloc(1, sizeof(*word));

	word->job_id = job_id;
	word->next = words;
	words = word;
	return word;
}

void pollux_constrain_forget(uint32_t job_id)
{
	slurm_mutex_lock(&mutex);
	for (struct word **at = &words; *at; at = &(*at)->next) {
		struct word *word = *at;

		if (word->job_id != job_id)
			continue;
		*at = word->next;
		_free_keeps(word);
		xfree(word);
		break;
	}
	slurm_mutex_unlock(&mutex);
}

/* Node n stays the job's, and devices of it do not. */
static bool _loses(const job_record_t *job, bitstr_t *had, bitstr_t *has, int n)
{
	if (!had || !bit_test(job->job_resrcs->node_bitmap, n))
		return false;
	return !has || bit_size(has) != bit_size(had) ||
	       !bit_super_set(had, has);
}

static bool _is_same(bitstr_t *one, bitstr_t *other)
{
	return bit_size(one) == bit_size(other) && bit_equal(one, other);
}

/* Do nodes where it loses devices know, and know nothing else? */
static bool _covers(const struct word *word, const job_record_t *job,
		    bitstr_t *const *had, bitstr_t *const *has)
{
	bool covers = word->count == node_record_count &&
		      word->next_step == job->next_step_id;

	for (int n = 0; covers && n < node_record_count; n++) {
		bitstr_t *keeps = word->keeps[n];

		if (!_loses(job, had[n], has[n], n))
			continue;
		covers = keeps && (has[n] ? _is_same(keeps, has[n])
					  : bit_ffs(keeps) < 0);
	}
	return covers;
}

static bitstr_t *_losing(const job_record_t *job, bitstr_t *const *had,
			 bitstr_t *const *has)
{
	bitstr_t *nodes = bit_alloc(node_record_count);

	for (int n = 0; n < node_record_count; n++) {
		if (_loses(job, had[n], has[n], n))
			bit_set(nodes, n);
	}
	return nodes;
}

/*
 * "NEXT:ID,ID": steps of the job that run; those below NEXT and not named do
 * not. "NEXT:*": too many to say.
 */
static char *_steps_text(const job_record_t *job)
{
	char *text = xstrdup_printf("%u:", job->next_step_id);
	ListIterator iter = NULL;
	const step_record_t *step = NULL;
	int count = 0;

	if (!job->step_list)
		return text;
	iter = list_iterator_create(job->step_list);
	while ((step = list_next(iter))) {
		if (step->step_id.step_id < SLURM_MAX_NORMAL_STEP_ID)
			xstrfmtcat(text, "%s%u", count++ ? "," : "",
				   step->step_id.step_id);
	}
	list_iterator_destroy(iter);
	if (count > STEPS_MAX) {
		xfree(text);
		text = xstrdup_printf("%u:*", job->next_step_id);
	}
	return text;
}

/* PLX_ENV_NOTE. */
static char *_note_text(const job_record_t *job)
{
	return xstrdup_printf("%d %s", pollux_slurmds_credential_s(),
			      job->batch_flag ? job->batch_host : "-");
}

static launch_tasks_request_msg_t *_step(job_record_t *job,
					 const struct question *question)
{
	launch_tasks_request_msg_t *step = xcalloc(1, sizeof(*step));
	char *steps = _steps_text(job);
	char *note = _note_text(job);

	step->step_id = pollux_slurm_step_id(job, question->step);
	step->nnodes = step->ntasks = question->node_count;
	step->tasks_to_launch = xcalloc(step->nnodes, sizeof(uint16_t));
	step->global_task_ids = xcalloc(step->nnodes, sizeof(uint32_t *));
	for (uint32_t i = 0; i < step->nnodes; i++) {
		step->tasks_to_launch[i] = 1;
		step->global_task_ids[i] = xcalloc(1, sizeof(uint32_t));
		step->global_task_ids[i][0] = i;
	}
	step->complete_nodelist = xstrdup(question->nodes);
	step->cpus_per_task = 1;
	step->cpu_bind_type = CPU_BIND_NONE;
	step->flags = LAUNCH_NO_ALLOC;
	step->cwd = xstrdup("/");
	step->ifname = xstrdup("/dev/null");
	step->ofname = xstrdup("/dev/null");
	step->efname = xstrdup("/dev/null");
	/* No port: no connection for its output is made. */
	step->num_io_port = 1;
	step->io_port = xcalloc(1, sizeof(*step->io_port));
	step->argc = 1;
	step->argv = xcalloc(2, sizeof(char *));
	step->argv[0] = xstrdup("/bin/true");
	env_array_append(&step->env, "SLURM_MPI_TYPE", "none");
	env_array_append(&step->env, "PATH", "/usr/bin:/bin");
	env_array_append(&step->env, PLX_ENV_CONSTRAIN, steps);
	env_array_append(&step->env, PLX_ENV_NOTE, note);
	step->envc = envcount(step->env);
	xfree(steps);
	xfree(note);
	return step;
}

static uint32_t _next_number(void)
{
	if (!last_step)
		last_step = (uint32_t) time(NULL) * 251;
	last_step++;
	return PLX_CONSTRAIN_FIRST + last_step % PLX_CONSTRAIN_COUNT;
}

static struct question *_question(job_record_t *job, bitstr_t *nodes)
{
	struct question *question = xcalloc(1, sizeof(*question));
	launch_tasks_request_msg_t *step = NULL;

	question->listens = -1;
	question->job_id = job->job_id;
	question->step = _next_number();
	question->nodes = bitmap2node_name(nodes);
	question->node_count = bit_set_count(nodes);
	step = _step(job, question);
	slurm_msg_t_init(&question->message);
	pollux_slurm_to_slurmd(&question->message);
	question->message.msg_type = REQUEST_LAUNCH_TASKS;
	question->message.protocol_version =
		pollux_slurmds_protocol(nodes, job->start_protocol_ver);
	question->message.data = step;
	step->cred_version = question->message.protocol_version;
	pollux_slurm_step_of(job, question->nodes, step);
	return question;
}

/* Tell these nodes that of their devices the job has `has` alone. */
static int _tell(job_record_t *job, struct word *word, bitstr_t *nodes,
		 bitstr_t *const *has, struct plx_error *err)
{
	struct question *question = _question(job, nodes);
	launch_tasks_request_msg_t *step = question->message.data;

	if (!step->cred) {
		_free_question(question);
		return plx_fail(err, "Slurm makes no credential");
	}
	_free_keeps(word);
	word->count = node_record_count;
	word->keeps = xcalloc(word->count, sizeof(*word->keeps));
	for (int n = 0; n < word->count; n++) {
		if (bit_test(nodes, n))
			word->keeps[n] =
				has[n] ? bit_copy(has[n]) : bit_alloc(1);
	}
	word->step = question->step;
	word->next_step = job->next_step_id;
	word->tries++;
	word->suspended = job->suspend_time;
	word->state = ASKED;
	if (_start(question) < 0) {
		_free_question(question);
		word->state = FAILED;
		return plx_fail(err, "no thread to ask nodes with");
	}
	threads++;
	return POLLUX_CONSTRAINING;
}

/*
 * A user can have any number for a step. Where he took one of ours, nodes could
 * take his steps for ours.
 */
static bool _took_ours(const job_record_t *job)
{
	return job->next_step_id > PLX_CONSTRAIN_FIRST;
}

/* They do not agree: is that the job's doing? */
static int _disagree(const job_record_t *job, const struct word *word,
		     struct plx_error *err)
{
	*err = word->err;
	if (job->suspend_time != word->suspended)
		return plx_fail(err, "it was suspended while its nodes were "
				     "told what it gives up");
	return word->state == STUCK ? POLLUX_STUCK : POLLUX_UNHEARD;
}

/* Locked: what is to become of a job that would lose devices on `nodes`. */
static int _judge(job_record_t *job, bitstr_t *nodes, bitstr_t *const *had,
		  bitstr_t *const *has, struct plx_error *err)
{
	struct word *word = _find(job->job_id);

	if (stopping)
		return plx_fail(err, "the plugin ends");
	if (_took_ours(job)) {
		plx_fail(err,
			 "it began a step of a number that is slurmctld's");
		return POLLUX_RESTLESS;
	}
	if (word && word->state == ASKED)
		return POLLUX_CONSTRAINING;
	if (word && (word->state == FAILED || word->state == STUCK))
		return _disagree(job, word, err);
	if (word && _covers(word, job, had, has))
		return 0;
	if (word && word->tries >= TRIES) {
		/* Each step tells its nodes otherwise. */
		plx_fail(err, "it starts steps all the time");
		return POLLUX_RESTLESS;
	}
	return _tell(job, word ? word : _make(job->job_id), nodes, has, err);
}

static void _agreed(job_record_t *job, bitstr_t *nodes)
{
	struct pollux_job_state *state = pollux_job_state_find(job->job_id);

	if (state)
		pollux_noted_add(job, state, nodes, pollux_now_s());
}

int pollux_constrain(job_record_t *job, bitstr_t *const *had,
		     struct plx_error *err)
{
	bitstr_t **has = NULL;
	bitstr_t *nodes = NULL;
	int rc = 0;

	if (!pollux_constrain_wanted())
		return 0;
	has = pollux_gres_devices(job);
	nodes = _losing(job, had, has);
	if (bit_ffs(nodes) >= 0) {
		slurm_mutex_lock(&mutex);
		rc = _judge(job, nodes, had, has, err);
		slurm_mutex_unlock(&mutex);
		if (rc == 0)
			_agreed(job, nodes);
	}
	if (rc != POLLUX_CONSTRAINING)
		pollux_constrain_forget(job->job_id);
	FREE_NULL_BITMAP(nodes);
	pollux_gres_devices_free(has);
	return rc;
}

void pollux_constrain_stop(void)
{
	slurm_mutex_lock(&mutex);
	stopping = true;
	while (threads)
		slurm_cond_wait(&ended, &mutex);
	stopping = false;
	slurm_mutex_unlock(&mutex);
	while (words)
		pollux_constrain_forget(words->job_id);
}
