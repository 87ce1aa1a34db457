/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_pollux.c - adds --scheduler-params=pollux[,key=value...] to sbatch,
 * srun and salloc
 *
 * Slurm carries the option's text to slurmctld (spank_job_env of the job) and
 * to slurmstepd. Here it is checked before anything is submitted, and handed
 * to the job as POLLUX_PARAMS.
 */

#define _GNU_SOURCE /* fopen("re") */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/spank.h>

#include "core/records/options.h"
#include "spank/pollux/cgroups.h"
#include "spank/pollux/cpusets.h"
#include "spank/pollux/holders.h"
#include "spank/pollux/late.h"
#include "spank/pollux/rings.h"
#include "wire/env.h"

SPANK_PLUGIN(pollux, 1)

#define TEXT_SIZE   1024
#define USAGE_SIZE  4096  /* what Slurm shows at most */
#define REFUSAL_S   60	  /* longer than slurmctld waits */
#define LOCK_MS	    10000 /* for groups of the job to be written */
#define HELP_INDENT 30	  /* columns that Slurm leaves to the option */

/* In the environment: how Slurm hands the option on, to a step or a shell. */
#define OPTION	  "_SLURM_SPANK_OPTION_pollux_scheduler_params"
#define INHERITED "SLURM_SPANK_" OPTION

/* What was given, "" when nothing was; one job a process, one thread. */
static char params[TEXT_SIZE];
static char usage[USAGE_SIZE];
/* In slurmstepd: a lock of the job's group that is held; -1: none. */
static int lock = -1;
/* A step that was begun without one: it may be late by now. */
static bool unsure;
/* In slurmstepd: why the job keeps its GPUs; NULL: it need not. */
static const char *undone = "Slurm did not write the job's control groups";

/* The program that needs no GPUs, as its ranks are steps of their own. */
#define LAUNCHER "pollux-launch"

/* Not const, as spank_option wants them. */
static char name[] = "scheduler-params";
static char arginfo[] = "pollux[,key=value...]";

/*
 * Before submission: refuse in one sentence. A failing callback would make
 * Slurm add a second one ("Invalid --scheduler-params argument") that repeats
 * the user's text and nothing else, so the command ends here.
 */
static void check(const char *text)
{
	struct plx_options options;
	struct plx_error err;

	if (plx_options_parse(text, &options, &err) == 0 &&
	    strlen(text) < sizeof(params))
		return;
	if (strlen(text) >= sizeof(params))
		plx_fail(&err, "longer than %zu bytes", sizeof(params) - 1);
	slurm_error("--scheduler-params: %s", err.text);
	exit(EXIT_FAILURE);
}

static int option_given(int val, const char *text, int remote)
{
	(void) val;
	if (!text)
		return ESPANK_BAD_ARG;
	if (!remote)
		check(text);
	else if (strlen(text) >= sizeof(params))
		return ESPANK_BAD_ARG;
	strcpy(params, text);
	/* salloc's shell and srun's tasks inherit our own environment. */
	if (!remote)
		setenv(PLX_ENV_PARAMS, params, 1);
	return ESPANK_SUCCESS;
}

static struct spank_option option = {
	.name = name,
	.arginfo = arginfo,
	.usage = usage,
	.has_arg = 1,
	.cb = option_given,
};

/*
 * Slurm wraps the help to the columns that remain and knows no line breaks.
 * So each of our lines is filled with blanks up to where Slurm breaks.
 */
static size_t help_width(void)
{
	const char *text = getenv("COLUMNS");
	char *end = NULL;
	long columns = text ? strtol(text, &end, 10) : 0;

	if (!end || *end || columns < HELP_INDENT + 20 || columns > 500)
		columns = 80;
	return (size_t) columns - HELP_INDENT;
}

/* The length of the first line of text when it is wrapped at blanks. */
static size_t line_length(const char *text, size_t width)
{
	size_t whole = strcspn(text, "\n");
	size_t length = width;

	if (whole <= width)
		return whole;
	while (length > 0 && text[length] != ' ')
		length--;
	return length ? length : width;
}

static void write_usage(void)
{
	const char *text = plx_options_help();
	size_t width = help_width();
	size_t used = snprintf(usage, sizeof(usage), "%-*s ", (int) width,
			       "elastic training; keys:");

	while (*text && used + width + 1 < sizeof(usage)) {
		size_t length = line_length(text, width);

		used += snprintf(usage + used, sizeof(usage) - used, "%-*.*s ",
				 (int) width, (int) length, text);
		text += length;
		text += strspn(text, " \n");
	}
	while (used > 0 && usage[used - 1] == ' ')
		usage[--used] = '\0';
}

/*
 * sbatch and salloc in an elastic job submit another job, which is elastic
 * only if its own command line says so. Steps of the job do inherit.
 */
static void forget_outer_job(void)
{
	if (spank_context() != S_CTX_ALLOCATOR || !getenv("SLURM_JOB_ID"))
		return;
	unsetenv(INHERITED);
	unsetenv(OPTION);
	unsetenv(PLX_ENV_PARAMS);
}

/* What asks for GPUs, or goes with them, where a job's script passes it on. */
static const char *const asked[] = {
	"SLURM_GPUS",	       "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_SOCKET",
	"SLURM_GPUS_PER_TASK", "SLURM_CPUS_PER_GPU",  "SLURM_MEM_PER_GPU",
	"SLURM_GRES",
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool asks_for_gpus(const char *argument)
{
	return !strncmp(argument, "-G", 2) || !strncmp(argument, "--gpu", 5) ||
	       !strncmp(argument, "--gres", 6) ||
	       !strncmp(argument, "--cpus-per-gpu", 14) ||
	       !strncmp(argument, "--mem-per-gpu", 13);
}

/*
 * srun's own command line: does it start the launcher and say no more of GPUs,
 * or say --gres=none?
 */
static bool needs_no_gpus(void)
{
	FILE *file = fopen("/proc/self/cmdline", "re");
	char *argument = NULL;
	size_t size = 0;
	bool is_value = false; /* of --gres */
	bool found = false;

	while (file && !found && getdelim(&argument, &size, '\0', file) > 0) {
		const char *last = strrchr(argument, '/');

		if (is_value || !strncmp(argument, "--gres=", 7)) {
			found = !strcmp(argument + (is_value ? 0 : 7), "none");
			break;
		}
		is_value = !strcmp(argument, "--gres");
		if (!is_value && asks_for_gpus(argument))
			break;
		found = !strcmp(last ? last + 1 : argument, LAUNCHER);
	}
	free(argument);
	if (file)
		fclose(file);
	return found;
}

/*
 * A step gets all GPUs of its job where it does not say otherwise. The launcher
 * lives through resizes, so it must hold none: slurmctld would not take a step
 * with GPUs for a launcher. What the job's script passes on
 * (SLURM_CPUS_PER_GPU) gives a step GPUs although it says --gres=none.
 */
static void idle_gpus(void)
{
	bool in_job = getenv("SLURM_JOB_ID") != NULL;

	if (spank_context() != S_CTX_LOCAL || !needs_no_gpus())
		return;
	for (size_t i = 0; i < COUNT(asked); i++) {
		if (in_job)
			unsetenv(asked[i]);
		else if (getenv(asked[i]))
			return;
	}
	setenv("SLURM_STEP_GRES", "none", 0);
}

int slurm_spank_init(spank_t spank, int ac, char **av)
{
	(void) ac;
	(void) av;
	if (spank_context() == S_CTX_JOB_SCRIPT)
		return ESPANK_SUCCESS;
	forget_outer_job();
	idle_gpus();
	write_usage();
	return spank_option_register(spank, &option);
}

/*
 * slurmstepd's own, by which its task plugin finds the CPUs of the cores that
 * slurmctld counts; not there in srun and its like.
 */
extern int xcpuinfo_abs_to_mac(char *cores, char **cpus) __attribute__((weak));
extern void slurm_xfree(void **text) __attribute__((weak));

/*
 * Is it a step of slurmctld's? A user can set the variable. A number of these
 * slurmctld knows him to have taken (sched/pollux/resize/constrain.c), but for
 * that of a component. With several tasks here it would look several times.
 */
static bool is_constraining(spank_t spank, char text[TEXT_SIZE])
{
	uint32_t step = 0;
	uint32_t tasks = 0;

	return spank_getenv(spank, PLX_ENV_CONSTRAIN, text, TEXT_SIZE) ==
		       ESPANK_SUCCESS &&
	       spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
	       step - PLX_CONSTRAIN_FIRST < PLX_CONSTRAIN_COUNT &&
	       spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks) ==
		       ESPANK_SUCCESS &&
	       tasks == 1 && !plx_late_component();
}

/* What the job may use of this node is about to be written, and less of it. */
static int note_next(spank_t spank, const struct plx_late_job *job,
		     const char *text)
{
	struct plx_known_steps known;
	struct plx_late_note note;
	struct plx_error err = { .text = "not such a word" };
	char terms[TEXT_SIZE];
	bool has_terms = spank_getenv(spank, PLX_ENV_NOTE, terms,
				      sizeof(terms)) == ESPANK_SUCCESS;

	if (!plx_late_lock(lock, true, LOCK_MS)) {
		slurm_error("pollux: job %u: other steps are being begun: the "
			    "job keeps its GPUs",
			    job->id);
		/* Slurm does not call slurm_spank_exit() then. */
		sleep(REFUSAL_S);
		return -1;
	}
	/* Where nothing can be noted, steps are begun as without this. */
	if (plx_known_steps_parse(text, &known) < 0 ||
	    plx_late_parse(has_terms ? terms : NULL, job->node, &note) < 0) {
		slurm_error("pollux: job %u: %s", job->id, err.text);
		return 0;
	}
	note.next = known.next;
	if (plx_late_note(PLX_LATE_FOLDER, job, &note, &err) < 0)
		slurm_error("pollux: job %u: %s", job->id, err.text);
	return 0;
}

static bool is_late(const struct plx_late_job *job, uint32_t step)
{
	if (!plx_late_is(PLX_LATE_FOLDER, job, step, plx_late_component()))
		return false;
	slurm_error("pollux: job %u: its credential is from before the job "
		    "gave up GPUs: step %u is not begun",
		    job->id, step);
	return true;
}

static int ask_whether_late(const struct plx_late_job *job, uint32_t step)
{
	if (!plx_late_lock(lock, false, LOCK_MS)) {
		slurm_error("pollux: job %u: its groups are being written",
			    job->id);
		return -1;
	}
	unsure = lock < 0;
	return is_late(job, step) ? -1 : 0;
}

/* -1: it may not be begun. */
static int begin_step(spank_t spank, const struct plx_late_job *job)
{
	char text[TEXT_SIZE];
	uint32_t step = 0;

	if (spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
		return 0;
	if (job->group >= 0)
		lock = plx_late_open_lock(job->group);
	if (is_constraining(spank, text))
		return note_next(spank, job, text);
	return ask_whether_late(job, step);
}

/* The groups are written. */
static void end_writing(void)
{
	if (lock < 0)
		return;
	plx_late_unlock(lock);
	close(lock);
	lock = -1;
}

static void narrow_cpus(spank_t spank, const char *node, uint32_t uid,
			uint32_t job)
{
	struct plx_error err = { .text = "" };
	char *cores = NULL;
	char *cpus = NULL;
	int folder = -1;

	if (!xcpuinfo_abs_to_mac ||
	    spank_get_item(spank, S_JOB_ALLOC_CORES, &cores) !=
		    ESPANK_SUCCESS ||
	    !cores)
		return;
	folder = plx_cpusets_open(node, uid, job);
	if (folder < 0)
		return;
	if (xcpuinfo_abs_to_mac(cores, &cpus) == 0 && cpus &&
	    plx_cpusets_narrow(folder, cpus, &err) < 0)
		slurm_error("pollux: job %u: %s", job, err.text);
	close(folder);
	if (slurm_xfree)
		slurm_xfree((void **) &cpus);
}

/* False: it is not slurmstepd, or not of a job. The group is to be closed. */
static bool find_job(spank_t spank, struct plx_late_job *job, uid_t *uid)
{
	job->node = getenv("SLURMD_NODENAME");
	if (spank_context() != S_CTX_REMOTE || !job->node ||
	    spank_get_item(spank, S_JOB_ID, &job->id) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_JOB_UID, uid) != ESPANK_SUCCESS)
		return false;
	job->group = plx_cgroup_open_devices(job->node, *uid, job->id);
	return true;
}

/*
 * The groups are written, and its tasks wait to be let go. While it was asked
 * for the first time nodes may have been told: where no group could be locked.
 */
static bool is_late_by_now(spank_t spank)
{
	struct plx_late_job job;
	uint32_t step = 0;
	uid_t uid = 0;
	bool late = false;

	if (!unsure || !find_job(spank, &job, &uid))
		return false;
	unsure = false;
	if (spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS)
		late = is_late(&job, step);
	if (job.group >= 0)
		close(job.group);
	return late;
}

/* In slurmstepd, as root, before the control groups are written. */
int slurm_spank_init_post_opt(spank_t spank, int ac, char **av)
{
	struct plx_late_job job;
	uid_t uid = 0;
	int rc = 0;

	(void) ac;
	(void) av;
	if (!find_job(spank, &job, &uid))
		return ESPANK_SUCCESS;
	rc = begin_step(spank, &job);
	if (job.group >= 0)
		close(job.group);
	/* Slurm 22.05 takes only what is negative for a failure. */
	if (rc < 0)
		return -1;
	narrow_cpus(spank, job.node, uid, job.id);
	return ESPANK_SUCCESS;
}

/*
 * In slurmstepd, as root, once the control groups of the step and its job are
 * written. A step that slurmctld launched where the job gives up GPUs: see
 * holders.h. It does not end while one of them does not die, and slurmctld
 * keeps the GPUs for the job.
 */
int slurm_spank_task_post_fork(spank_t spank, int ac, char **av)
{
	struct plx_known_steps known;
	struct plx_look last;
	struct plx_error err = { .text = "" };
	char text[TEXT_SIZE];
	uint32_t job = 0;
	int killed = 0;

	(void) ac;
	(void) av;
	end_writing();
	if (is_late_by_now(spank))
		return -1;
	undone = NULL;
	if (!is_constraining(spank, text) ||
	    spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS)
		return ESPANK_SUCCESS;
	killed = plx_end_holders(
		job, plx_known_steps_parse(text, &known) == 0 ? &known : NULL,
		&last, &err);
	slurm_verbose("pollux: job %u: its tasks were frozen for %d ms, to "
		      "look at %ld threads and files",
		      job, (int) last.frozen_ms, last.entries);
	if (killed < 0) {
		slurm_error("pollux: job %u: %s", job, err.text);
		undone = "what holds its GPUs was not ended";
	}
	if (killed > 0)
		slurm_info("pollux: job %u: %d processes were ended that held "
			   "GPUs which the job gave up",
			   job, killed);
	return ESPANK_SUCCESS;
}

/*
 * The end of that step. Slurm could not write the groups where the function
 * above was not called. slurmctld takes a step that does not end for a no.
 */
int slurm_spank_exit(spank_t spank, int ac, char **av)
{
	char text[TEXT_SIZE];

	(void) ac;
	(void) av;
	end_writing();
	if (spank_context() != S_CTX_REMOTE || !undone ||
	    !is_constraining(spank, text))
		return ESPANK_SUCCESS;
	slurm_error("pollux: %s, see above: the job keeps its GPUs", undone);
	sleep(REFUSAL_S);
	return ESPANK_SUCCESS;
}

/* Has plugstack.conf this word for us? */
static bool is_told(int ac, char **av, const char *word)
{
	for (int i = 0; i < ac; i++) {
		if (!strcmp(av[i], word))
			return true;
	}
	return false;
}

/*
 * In the process that becomes a task, as root, where the site wants it and
 * Slurm keeps a job from devices that it does not have. Which jobs give up some
 * is not known here but by what a user passes on: so it is the same for all.
 */
int slurm_spank_task_init_privileged(spank_t spank, int ac, char **av)
{
	struct plx_late_job job;
	struct plx_error err = { .text = "" };
	uid_t uid = 0;

	if (!is_told(ac, av, "no_io_uring_files") ||
	    !find_job(spank, &job, &uid) || job.group < 0)
		return ESPANK_SUCCESS;
	close(job.group);
	if (plx_rings_without_files(&err) < 0)
		slurm_error("pollux: a task may keep GPUs in io_uring: %s",
			    err.text);
	return ESPANK_SUCCESS;
}

/*
 * In slurmstepd, with the user's rights. The environment may have been left
 * behind (--export=NONE). A batch step is not told of options, but finds what
 * Slurm keeps for the steps within it.
 */
int slurm_spank_user_init(spank_t spank, int ac, char **av)
{
	(void) ac;
	(void) av;
	end_writing();
	if (!params[0] && spank_getenv(spank, INHERITED, params,
				       sizeof(params)) != ESPANK_SUCCESS)
		return ESPANK_SUCCESS;
	return spank_setenv(spank, PLX_ENV_PARAMS, params, 1);
}
