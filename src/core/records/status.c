/* SPDX-License-Identifier: MIT */
/* status.c - what a job's launcher tells the scheduler (docs/resize.md) */

#include <limits.h>
#include <string.h>

#include "core/base/fields.h"
#include "core/records/options.h"
#include "core/base/section.h"
#include "core/records/status.h"

#define COUNT(a)      (sizeof(a) / sizeof((a)[0]))
#define VERSION	      1
#define PAUSE_MAX_S   1e6
#define LAUNCHER_SIZE 16

static const char *const phases[] = {
	[PLX_PHASE_STARTING] = "starting", [PLX_PHASE_TRAINING] = "training",
	[PLX_PHASE_SAVING] = "saving",	   [PLX_PHASE_WAITING] = "waiting",
	[PLX_PHASE_DONE] = "done",
};

const char *plx_phase_name(enum plx_phase phase)
{
	return (size_t) phase < COUNT(phases) ? phases[phase] : "unknown";
}

static void write_launcher(struct plx_writer *w, uint32_t launcher)
{
	if (launcher == PLX_WAKE_NONE)
		plx_write_text(w, "launcher", "none");
	else if (launcher == PLX_WAKE_BATCH)
		plx_write_text(w, "launcher", "batch");
	else
		plx_write_uint(w, "launcher", launcher);
}

int plx_status_write(const struct plx_status *status, char *fields, size_t size,
		     struct plx_error *err)
{
	struct plx_writer w;

	plx_writer_init(&w, fields, size);
	plx_write_uint(&w, "v", VERSION);
	write_launcher(&w, status->launcher);
	plx_write_uint(&w, "ack", status->ack);
	if (status->live)
		plx_write_uint(&w, "live", 1);
	if (status->busy)
		plx_write_uint(&w, "busy", 1);
	plx_write_text(&w, "phase", plx_phase_name(status->phase));
	if (status->want)
		plx_write_uint(&w, "want", (uint64_t) status->want);
	if (status->lead_s)
		plx_write_uint(&w, "lead", (uint64_t) status->lead_s);
	plx_write_uint(&w, "resizes", (uint64_t) status->resizes);
	plx_write_doubles(&w, "pause", status->pause_s, 2);
	plx_failed_write(&w, &status->failed);
	if (status->has_hint)
		plx_hint_write(&w, &status->hint);
	plx_failed_write_why(&w, &status->failed);
	if (w.overflow)
		return plx_fail(err, "the status does not fit %zu bytes", size);
	return 0;
}

static int read_launcher(const char *fields, uint32_t *launcher,
			 struct plx_error *err)
{
	char text[LAUNCHER_SIZE];
	int step;

	if (!plx_field_text(fields, "launcher", text, sizeof(text)))
		return plx_fail(err, "launcher: missing or too long");
	if (!strcmp(text, "none")) {
		*launcher = PLX_WAKE_NONE;
		return 0;
	}
	if (!strcmp(text, "batch")) {
		*launcher = PLX_WAKE_BATCH;
		return 0;
	}
	if (plx_field_int(fields, "launcher", 0, INT_MAX, &step, err) < 0)
		return -1;
	*launcher = (uint32_t) step;
	return 0;
}

static int read_phase(const char *fields, enum plx_phase *phase,
		      struct plx_error *err)
{
	char text[16];

	if (plx_field_text(fields, "phase", text, sizeof(text))) {
		for (size_t i = 0; i < COUNT(phases); i++) {
			if (!strcmp(text, phases[i])) {
				*phase = (enum plx_phase) i;
				return 0;
			}
		}
	}
	return plx_fail(err, "phase: missing or unknown");
}

/* A whole number that must be there. */
static int read_count(const char *fields, const char *key, int *out,
		      struct plx_error *err)
{
	int found = plx_field_int(fields, key, 0, INT_MAX, out, err);

	if (found == 0)
		return plx_fail(err, "%s: missing", key);
	return found < 0 ? -1 : 0;
}

static int read_fields(const char *fields, struct plx_status *status,
		       struct plx_error *err)
{
	int version;
	int live = 0;
	int busy = 0;
	int ack;
	int found;

	if (read_count(fields, "v", &version, err) < 0)
		return -1;
	if (version != VERSION)
		return plx_fail(err, "v: version %d, this is %d", version,
				VERSION);
	if (read_launcher(fields, &status->launcher, err) < 0 ||
	    read_count(fields, "ack", &ack, err) < 0 ||
	    plx_field_int(fields, "live", 0, 1, &live, err) < 0 ||
	    plx_field_int(fields, "busy", 0, 1, &busy, err) < 0 ||
	    read_phase(fields, &status->phase, err) < 0 ||
	    plx_field_int(fields, "want", 0, PLX_GPUS_MAX, &status->want, err) <
		    0 ||
	    plx_field_int(fields, "lead", 0, PLX_LEAD_MAX_S, &status->lead_s,
			  err) < 0 ||
	    read_count(fields, "resizes", &status->resizes, err) < 0 ||
	    plx_failed_read(fields, &status->failed, err) < 0)
		return -1;
	found = plx_field_doubles(fields, "pause", 0, PAUSE_MAX_S,
				  status->pause_s, 2, err);
	if (found == 0)
		return plx_fail(err, "pause: missing");
	status->ack = (uint32_t) ack;
	status->live = live > 0;
	status->busy = busy > 0;
	return found < 0 ? -1 : 0;
}

/* 1: fields are there and understood, 0: there are none, -1 as above. */
static int read_section(const char *comment, char *fields, size_t size,
			struct plx_status *read, struct plx_error *err)
{
	if (!plx_section_get(comment, fields, size))
		return 0;
	if (err)
		err->text[0] = '\0';
	return read_fields(fields, read, err) < 0 ? -1 : 1;
}

int plx_status_read(const char *comment, struct plx_status *status,
		    struct plx_error *err)
{
	struct plx_status read = { 0 };
	char fields[PLX_FIELDS_MAX];
	int rc = read_section(comment, fields, sizeof(fields), &read, err);

	if (rc <= 0)
		return rc;
	read.has_hint = plx_hint_read(fields, &read.hint, err) > 0;
	*status = read;
	return 1;
}

int plx_status_read_answer(const char *comment, struct plx_status *status,
			   struct plx_error *err)
{
	struct plx_status read = { 0 };
	char fields[PLX_FIELDS_MAX];
	int rc = read_section(comment, fields, sizeof(fields), &read, err);

	if (rc > 0)
		*status = read;
	return rc;
}
