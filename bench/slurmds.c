/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmds.c - one process that answers slurmctld for all nodes of slurm.conf
 *
 *	slurmds --gpus=8		nodes n1, n2, ... with as many GPUs each
 *
 * For measurements of slurmctld with more nodes than a machine can run
 * slurmds. It registers each node, answers on its port, runs batch scripts as
 * children, passes on signals and tells of ends. It knows no steps, prologs,
 * cgroups or users: all scripts run as who started it. Ends at TERM, and its
 * scripts with it.
 */
/* libslurm has them under names of its own. */
#define USE_ALIAS 1
#include "src/common/slurm_xlator.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/common/gres.h"
#include "src/common/pack.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"

#define JOBS_MAX    65536
#define REPLY_AGAIN 5	     /* times that an end is told */
#define GPU_ID	    0x757067 /* "gpu" as Slurm numbers it */
#define STACK_BYTES (256 * 1024)
#define NODE_CPUS   64
#define NODE_MEMORY 524288

struct node {
	char name[16];
	int fd; /* listens */
};

/* A script that runs: its job and node, in the order of its start. */
struct script {
	uint32_t job_id;
	uint32_t uid;
	pid_t pid;
	int node;
};

static struct node *nodes;
static int node_count;
static buf_t *gpus_packed;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct script scripts[JOBS_MAX]; /* protected by mutex, as is: */
static int script_count;

struct call {
	int fd;
	int node;
	slurm_addr_t from;
};

static void pack_text(const char *text, buf_t *buffer)
{
	packmem((char *) text, text ? (uint32_t) strlen(text) + 1 : 0, buffer);
}

/* What a slurmd with File=/dev/gpu[0-N] says of its GPUs. */
static buf_t *pack_gpus(int gpus)
{
	buf_t *buffer = init_buf(1024);

	pack16(SLURM_PROTOCOL_VERSION, buffer);
	pack16(1, buffer);
	pack32(GRES_MAGIC, buffer);
	pack64((uint64_t) gpus, buffer);
	pack32(NODE_CPUS, buffer);
	pack32(GRES_CONF_HAS_FILE, buffer);
	pack32(GPU_ID, buffer);
	pack_text(NULL, buffer); /* cores */
	pack_text(NULL, buffer); /* links */
	pack_text("gpu", buffer);
	pack_text(NULL, buffer); /* type */
	pack_text(NULL, buffer); /* unique id */
	return buffer;
}

static int steps_of(int node, slurm_step_id_t *steps)
{
	int count = 0;

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < script_count; i++) {
		if (scripts[i].node != node)
			continue;
		steps[count].job_id = scripts[i].job_id;
		steps[count].step_id = SLURM_BATCH_SCRIPT;
		steps[count++].step_het_comp = NO_VAL;
	}
	pthread_mutex_unlock(&mutex);
	return count;
}

static int register_node(int node)
{
	static char arch[] = "x86_64", os[] = "Linux";
	static time_t began;
	char version[16];
	slurm_step_id_t steps[256];
	slurm_node_registration_status_msg_t note = {
		.arch = arch,
		.os = os,
		.boards = 1,
		.sockets = 1,
		.cores = NODE_CPUS,
		.threads = 1,
		.cpus = NODE_CPUS,
		.real_memory = NODE_MEMORY,
		.tmp_disk = 1024,
		.up_time = 100000,
		.free_mem = NODE_MEMORY,
		.hash_val = slurm_conf.hash_val,
		.version = version,
		.timestamp = time(NULL),
	};
	slurm_msg_t asks, answer;
	int rc;

	snprintf(version, sizeof(version), "%d.%02d.%d",
		 SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
		 SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER),
		 SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
	if (!began)
		began = time(NULL);
	note.slurmd_start_time = began;
	note.hostname = note.node_name = nodes[node].name;
	note.gres_info = gpus_packed;
	note.step_id = steps;
	note.job_count = (uint32_t) steps_of(node, steps);
	slurm_msg_t_init(&asks);
	slurm_msg_t_init(&answer);
	asks.msg_type = MESSAGE_NODE_REGISTRATION_STATUS;
	asks.data = &note;
	rc = slurm_send_recv_controller_msg(&asks, &answer, NULL);
	if (rc >= 0)
		slurm_free_msg_data(answer.msg_type, answer.data);
	return rc;
}

static void tell(int type, void *data)
{
	slurm_msg_t note;

	slurm_msg_t_init(&note);
	note.msg_type = (uint16_t) type;
	note.data = data;
	for (int i = 0; i < REPLY_AGAIN; i++) {
		if (slurm_send_only_controller_msg(&note, NULL) >= 0)
			return;
		sleep(1);
	}
}

static void tell_epilog(int node, uint32_t job_id)
{
	epilog_complete_msg_t note = { .job_id = job_id,
				       .node_name = nodes[node].name };

	tell(MESSAGE_EPILOG_COMPLETE, &note);
}

/* slurmctld has to have it: it would keep the job. */
static void report_end(const struct script *script, int status)
{
	complete_batch_script_msg_t note = {
		.job_id = script->job_id,
		.job_rc = (uint32_t) status,
		.user_id = script->uid,
		.node_name = nodes[script->node].name,
	};
	slurm_msg_t asks;
	int rc;

	slurm_msg_t_init(&asks);
	asks.msg_type = REQUEST_COMPLETE_BATCH_SCRIPT;
	asks.data = &note;
	for (int i = 0; i < REPLY_AGAIN; i++) {
		if (slurm_send_recv_controller_rc_msg(&asks, &rc, NULL) >= 0)
			return;
		sleep(1);
	}
}

static bool take_script(pid_t pid, struct script *out)
{
	bool found = false;

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < script_count && !found; i++) {
		found = scripts[i].pid == pid;
		if (found) {
			*out = scripts[i];
			scripts[i] = scripts[--script_count];
		}
	}
	pthread_mutex_unlock(&mutex);
	return found;
}

static void *reap(void *unused)
{
	(void) unused;
	for (;;) {
		struct script script;
		int status;
		pid_t pid = waitpid(-1, &status, 0);

		if (pid > 0 && take_script(pid, &script))
			report_end(&script, status);
		else if (pid < 0)
			usleep(50000);
	}
	return NULL;
}

static int signal_script(int node, uint32_t job_id, int sig)
{
	int rc = ESRCH;

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < script_count; i++)
		if (scripts[i].job_id == job_id && scripts[i].node == node)
			rc = kill(-scripts[i].pid, sig) < 0 ? errno : 0;
	pthread_mutex_unlock(&mutex);
	return rc;
}

static char **with_ours(batch_job_launch_msg_t *job, int node)
{
	static char path[] = "PATH=/usr/bin:/bin";
	char **all = calloc(job->envc + 6, sizeof(*all));
	uint32_t count = 0;

	if (!all)
		return NULL;
	for (uint32_t i = 0; i < job->envc; i++)
		all[count++] = job->environment[i];
	if (asprintf(&all[count++], "SLURM_JOB_ID=%u", job->job_id) < 0 ||
	    asprintf(&all[count++], "SLURMD_NODENAME=%s", nodes[node].name) <
		    0 ||
	    asprintf(&all[count++], "SLURM_CONF=%s", getenv("SLURM_CONF")) < 0)
		return NULL;
	all[count] = path;
	return all;
}

/* A child that the script replaces: of what is ours it keeps nothing. */
static pid_t run_script(batch_job_launch_msg_t *job, int node)
{
	const char *text =
		job->script ? job->script : get_buf_data(job->script_buf);
	char **environment = with_ours(job, node);
	int fd = memfd_create("script", 0);
	char path[32];
	char *argv[] = { path, NULL };
	pid_t pid;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!environment || fd < 0 ||
	    write(fd, text, strlen(text)) != (ssize_t) strlen(text))
		return -1;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		setsid();
		for (int i = 0; i < 3; i++)
			dup2(null, i);
		close_range(3, (unsigned) fd - 1, 0);
		close_range((unsigned) fd + 1, ~0U, 0);
		if (chdir(job->work_dir) == 0 || chdir("/") == 0)
			execve(path, argv, environment);
		_exit(127);
	}
	close(fd);
	return pid;
}

static int launch(batch_job_launch_msg_t *job, int node)
{
	struct script script = { .job_id = job->job_id,
				 .uid = job->uid,
				 .node = node };

	if (job->uid != getuid())
		return ESLURM_USER_ID_MISSING;
	pthread_mutex_lock(&mutex);
	if (script_count < JOBS_MAX)
		script.pid = run_script(job, node);
	if (script.pid > 0)
		scripts[script_count++] = script;
	pthread_mutex_unlock(&mutex);
	return script.pid > 0 ? SLURM_SUCCESS : ESLURMD_CREATE_BATCH_DIR_ERROR;
}

static void answer_ping(slurm_msg_t *msg)
{
	ping_slurmd_resp_msg_t data = { .free_mem = NODE_MEMORY };
	slurm_msg_t answer;

	slurm_msg_t_copy(&answer, msg);
	answer.msg_type = RESPONSE_PING_SLURMD;
	answer.data = &data;
	slurm_send_node_msg(msg->conn_fd, &answer);
}

static void end_job(slurm_msg_t *msg, int node)
{
	kill_job_msg_t *asked = msg->data;
	uint32_t job_id = asked->step_id.job_id;

	signal_script(node, job_id, SIGKILL);
	slurm_send_rc_msg(msg, SLURM_SUCCESS);
	if (msg->msg_type == REQUEST_TERMINATE_JOB)
		tell_epilog(node, job_id);
}

static void handle(slurm_msg_t *msg, int node)
{
	signal_tasks_msg_t *signaled = msg->data;

	switch (msg->msg_type) {
	case REQUEST_PING:
		answer_ping(msg);
		break;
	case REQUEST_NODE_REGISTRATION_STATUS:
		slurm_send_rc_msg(msg, SLURM_SUCCESS);
		register_node(node);
		break;
	case REQUEST_BATCH_JOB_LAUNCH:
		slurm_send_rc_msg(msg, launch(msg->data, node));
		break;
	case REQUEST_SIGNAL_TASKS:
		slurm_send_rc_msg(msg,
				  signal_script(node, signaled->step_id.job_id,
						signaled->signal));
		break;
	case REQUEST_TERMINATE_JOB:
	case REQUEST_KILL_TIMELIMIT:
	case REQUEST_KILL_PREEMPTED:
	case REQUEST_ABORT_JOB:
		end_job(msg, node);
		break;
	default:
		slurm_send_rc_msg(msg, SLURM_SUCCESS);
	}
}

static void *serve(void *arg)
{
	struct call *call = arg;
	slurm_msg_t *msg = malloc(sizeof(*msg));

	slurm_msg_t_init(msg);
	if (slurm_receive_msg_and_forward(call->fd, &call->from, msg) == 0)
		handle(msg, call->node);
	if (msg->conn_fd >= 0)
		close(msg->conn_fd);
	slurm_free_msg_members(msg);
	free(msg);
	free(call);
	return NULL;
}

static void take_call(int node)
{
	struct call *call = calloc(1, sizeof(*call));
	pthread_attr_t attr;
	pthread_t thread;

	call->node = node;
	call->fd = slurm_accept_msg_conn(nodes[node].fd, &call->from);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (call->fd < 0 || pthread_create(&thread, &attr, serve, call)) {
		if (call->fd >= 0)
			close(call->fd);
		free(call);
	}
	pthread_attr_destroy(&attr);
}

static int listen_for_all(void)
{
	int all = epoll_create1(EPOLL_CLOEXEC);

	for (int i = 0; i < node_count; i++) {
		uint16_t port = slurm_conf_get_port(nodes[i].name);
		struct epoll_event event = { .events = EPOLLIN,
					     .data.u32 = (uint32_t) i };

		nodes[i].fd = slurm_init_msg_engine_port(port);
		if (nodes[i].fd < 0 ||
		    epoll_ctl(all, EPOLL_CTL_ADD, nodes[i].fd, &event) < 0) {
			fprintf(stderr, "slurmds: %s: port %u: %s\n",
				nodes[i].name, port, strerror(errno));
			return -1;
		}
	}
	return all;
}

static void *register_all(void *unused)
{
	(void) unused;
	for (int i = 0; i < node_count; i++)
		for (int tries = 0; tries < 60 && register_node(i) < 0; tries++)
			sleep(1);
	return NULL;
}

static void end_all(int sig)
{
	for (int i = 0; i < script_count; i++)
		kill(-scripts[i].pid, SIGKILL);
	_exit(128 + sig);
}

/* n1, n2, ... as many as slurm.conf has. */
static int find_nodes(void)
{
	struct node node;

	for (;;) {
		snprintf(node.name, sizeof(node.name), "n%d", node_count + 1);
		if (!slurm_conf_get_port(node.name))
			return node_count > 0 ? 0 : -1;
		nodes = realloc(nodes,
				(size_t) (node_count + 1) * sizeof(*nodes));
		nodes[node_count++] = node;
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int gpus = 0;
	int all;

	if (argc != 2 || sscanf(argv[1], "--gpus=%d", &gpus) != 1) {
		fprintf(stderr, "Usage: slurmds --gpus=N\n");
		return 2;
	}
	slurm_conf_init(NULL);
	gpus_packed = pack_gpus(gpus);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, end_all);
	if (find_nodes() < 0 || (all = listen_for_all()) < 0)
		return 1;
	if (pthread_create(&thread, NULL, reap, NULL) ||
	    pthread_create(&thread, NULL, register_all, NULL))
		return 1;
	for (;;) {
		struct epoll_event event;

		if (epoll_wait(all, &event, 1, -1) == 1)
			take_call((int) event.data.u32);
	}
}
