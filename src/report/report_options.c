/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report_options.c - see report_options.h; the letters are sacct's */

#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config.h"
#include "report/group.h"
#include "report/report_options.h"
#include "report/rows.h"

#define EXIT_MISUSE 2

#define JOB_FORMAT                                                             \
	"JobID,JobName,User,State,Queued,Ran,GPUHours,Resizes,Lost,Goodput,"   \
	"Efficiency,FixedGPUs,FixedRange,Rho"
#define GROUP_FORMAT "ALL"

enum {
	KEY_JSON = 0x100,
	KEY_LOG,
	KEY_EVENTS,
	KEY_FROM,
	KEY_FORMAT,
	KEY_BY,
	KEY_HTML,
	KEY_FIXED,
	KEY_GPUS,
	KEY_WHY,
};

static const struct argp_option options[] = {
	/* clang-format off */
	{ NULL, 0, NULL, 0, "Which jobs, as sacct takes it:", 1 },
	{ "jobs", 'j', "JOBS", 0, "only these jobs: 5,7,9", 0 },
	{ "user", 'u', "USERS", 0, "jobs of these users, or of ALL", 0 },
	{ "accounts", 'A', "ACCOUNTS", 0, "jobs of these accounts", 0 },
	{ "partition", 'r', "PARTITIONS", 0, "jobs of these partitions", 0 },
	{ "allusers", 'a', NULL, 0, "jobs of all users", 0 },
	{ "starttime", 'S', "TIME", 0, "jobs that ran after TIME (default: "
	  "midnight; with --jobs: always)", 0 },
	{ "since", 'S', NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ "endtime", 'E', "TIME", 0, "jobs that ran before TIME", 0 },
	{ "until", 'E', NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ "from", KEY_FROM, "FILE", 0, "read FILE (- for standard input), the "
	  "output of sacct -D -X -P -o " PLX_SACCT_FORMAT ", instead of "
	  "running sacct", 0 },
	{ NULL, 0, NULL, 0, "What is printed:", 2 },
	{ "by", KEY_BY, "WHAT", 0, "sums by user, account, partition, state, "
	  "name, hour, day, week, month or year", 0 },
	{ "format", KEY_FORMAT, "FIELDS", 0, "these columns, comma-separated; "
	  "'help' lists them", 0 },
	{ "brief", 'b', NULL, 0, "a line a job with the usual columns", 0 },
	{ "noheader", 'n', NULL, 0, "no line with the names of columns", 0 },
	{ "parsable", 'p', NULL, 0, "columns end with |", 0 },
	{ "parsable2", 'P', NULL, 0, "columns are separated by |", 0 },
	{ "json", KEY_JSON, NULL, 0, "print JSON", 0 },
	{ "why", KEY_WHY, NULL, 0, "a line a shape, with the reason why it "
	  "was left where it is known (see --events and --log)", 0 },
	{ "html", KEY_HTML, "FILE", OPTION_ARG_OPTIONAL, "write a page with "
	  "pictures to FILE (default: standard output)", 0 },
	{ NULL, 0, NULL, 0, "How it is judged:", 3 },
	{ "fixed", KEY_FIXED, "GPUS", 0, "compare with so many GPUs all the "
	  "time (default: the mean of each job)", 0 },
	{ "gpus", KEY_GPUS, "GPUS", 0, "of the cluster, for fairness "
	  "(default: the most held at once)", 0 },
	{ "events", KEY_EVENTS, "FILE", 0, "take reasons from the events.jsonl "
	  "that a job's launcher keeps with its checkpoints; may be repeated",
	  0 },
	{ "log", KEY_LOG, "FILE", 0, "check sacct against sched/pollux's lines "
	  "in slurmctld's log, and take reasons from it; exit code 1 when they "
	  "differ", 0 },
	{ NULL, 'h', NULL, 0, "give this help list", -1 },
	{ NULL, 0, NULL, 0, NULL, 0 },
	/* clang-format on */
};

const char *argp_program_version = "pollux-report " PACKAGE_VERSION;

/* What is read while options come, and judged when all are known. */
struct reading {
	struct plx_report_options *options;
	const char *format;
	bool brief;
};

static int read_gpus(const char *text, struct argp_state *state)
{
	char *rest;
	long value = strtol(text, &rest, 10);

	if (rest == text || *rest || value < 1 || value > 1000000)
		argp_error(state, "'%s': want GPUs, 1 to 1000000", text);
	return (int) value;
}

/* Which jobs; false: the option is about something else. */
static bool read_choice(int key, char *value, struct plx_sacct *sacct)
{
	switch (key) {
	case 'j':
		sacct->jobs = value;
		return true;
	case 'S':
		sacct->since = value;
		return true;
	case 'E':
		sacct->until = value;
		return true;
	case 'u':
		sacct->user = value;
		return true;
	case 'A':
		sacct->account = value;
		return true;
	case 'r':
		sacct->partition = value;
		return true;
	case 'a':
		sacct->all = true;
		return true;
	default:
		return false;
	}
}

static void add_events(struct plx_report_options *o, const char *path)
{
	const char **grown =
		reallocarray(o->events, o->event_count + 1, sizeof(*grown));

	if (!grown) {
		fputs("pollux-report: out of memory\n", stderr);
		exit(EXIT_FAILURE);
	}
	grown[o->event_count++] = path;
	o->events = grown;
}

static bool read_look(int key, char *value, struct reading *reading)
{
	struct plx_report_options *o = reading->options;

	switch (key) {
	case KEY_FORMAT:
		reading->format = value;
		return true;
	case 'b':
		reading->brief = true;
		return true;
	case 'n':
		o->no_header = true;
		return true;
	case 'p':
		o->style = PLX_STYLE_PARSABLE;
		return true;
	case 'P':
		o->style = PLX_STYLE_PARSABLE2;
		return true;
	case KEY_JSON:
		o->json = true;
		return true;
	case KEY_WHY:
		o->whys = true;
		return true;
	case KEY_HTML:
		o->html = value ? value : "-";
		return true;
	default:
		return false;
	}
}

/* All options are known: which columns? */
static void settle(struct reading *reading, struct argp_state *state)
{
	struct plx_report_options *o = reading->options;
	const struct plx_field *table =
		o->by ? plx_fields_group : plx_fields_job;
	const char *format = o->by ? GROUP_FORMAT : JOB_FORMAT;
	struct plx_error err = { .text = "" };

	if (o->by && plx_group_by(o->by, &err) < 0)
		argp_error(state, "%s", err.text);
	if (o->from && (o->sacct.since || o->sacct.until))
		argp_error(state, "--from has all of its file: leave out "
				  "--starttime and --endtime");
	if (o->html && (o->by || o->json))
		argp_error(state, "--html has neither sums nor JSON");
	if (reading->format && !strcasecmp(reading->format, "help")) {
		plx_columns_help(table, stdout);
		exit(EXIT_SUCCESS);
	}
	if (reading->format)
		format = reading->format;
	if (plx_columns_read(table, format, &o->columns, &err) < 0)
		argp_error(state, "%s", err.text);
	o->formatted = reading->format || reading->brief || o->by ||
		       o->no_header || o->style != PLX_STYLE_TABLE;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct reading *reading = state->input;
	struct plx_report_options *o = reading->options;

	if (read_choice(key, value, &o->sacct) ||
	    read_look(key, value, reading))
		return 0;
	switch (key) {
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		break;
	case KEY_LOG:
		o->log = value;
		break;
	case KEY_EVENTS:
		add_events(o, value);
		break;
	case KEY_FROM:
		o->from = value;
		break;
	case KEY_BY:
		o->by = value;
		break;
	case KEY_FIXED:
		o->setting.fixed_gpus = read_gpus(value, state);
		break;
	case KEY_GPUS:
		o->setting.cluster_gpus = read_gpus(value, state);
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", value);
		break;
	case ARGP_KEY_END:
		settle(reading, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

void plx_report_options_read(int argc, char **argv,
			     struct plx_report_options *read)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.doc = "Every job's shapes over time, GPU-hours, resizes, "
		       "goodput and fairness, from Slurm's accounting.",
	};
	struct reading reading = { .options = read };

	*read = (struct plx_report_options){ .style = PLX_STYLE_TABLE };
	argp_err_exit_status = EXIT_MISUSE;
	argp_parse(&argp, argc, argv, 0, NULL, &reading);
}
