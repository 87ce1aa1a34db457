/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shape_log.c - see shape_log.h */

#define _GNU_SOURCE

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "core/records/failed.h"
#include "core/records/target.h"
#include "report/shape_log.h"
#include "report/text.h"

#define SENTENCE_SIZE 512

/*
 * After "[time] ": no part of a line can pose as one of ours. A whole line can,
 * as Slurm writes users' words with their line breaks.
 */
static const char *our_line(const char *line)
{
	const char *prefix = "sched/pollux: JobId=";

	if (*line == '[') {
		line = strstr(line, "] ");
		if (!line)
			return NULL;
		line += 2;
	}
	if (strncmp(line, prefix, strlen(prefix)) != 0)
		return NULL;
	return line + strlen(prefix);
}

/* 1: an entry, the caller's to free; 0: another line; -1: no memory. */
static int parse_entry(const char *line, struct plx_shape_log_entry *entry)
{
	char id[64];
	char nodes[1024];
	struct plx_shape_log_entry e = { .id = NULL };

	line = our_line(line);
	if (!line)
		return 0;
	if (sscanf(line,
		   "%63s held %d GPUs on %1023s from %" SCNd64 " to %" SCNd64
		   ": %" SCNd64 " GPU-seconds",
		   id, &e.gpus, nodes, &e.start_s, &e.end_s,
		   &e.gpu_seconds) != 6)
		return 0;
	e.id = strdup(id);
	e.nodes = strdup(nodes);
	if (!e.id || !e.nodes) {
		free(e.id);
		free(e.nodes);
		return -1;
	}
	*entry = e;
	return 1;
}

/*
 * The reason in "5 asked for 4 GPUs on n3, serial 2: why": 1 with both set.
 * Of whole jobs it is "serial 2, to be moved: why".
 */
static int parse_asked(const char *line, char id[64], const char **why)
{
	int at = 0;

	line = our_line(line);
	if (!line ||
	    sscanf(line, "%63s asked for %*d GPUs on %*s serial %*u%n", id,
		   &at) != 1 ||
	    at == 0 || !strchr(":,", line[at]))
		return 0;
	line = strstr(line + at, ": ");
	if (!line)
		return 0;
	*why = line + 2;
	return 1;
}

/* The same in "5 keeps its 2 GPUs: why", of a job whose next ranks fail. */
static int parse_cannot(const char *line, char id[64], const char **why)
{
	line = our_line(line);
	if (!line || sscanf(line, "%63s keeps its %*d GPUs:", id) != 1)
		return 0;
	*why = strstr(line, PLX_FAILED_SAYS);
	return *why != NULL;
}

/* "5 was requeued and will start ...": its shape is closed behind that. */
static bool parse_requeued(const char *line, char id[64])
{
	int at = 0;

	line = our_line(line);
	return line && sscanf(line, "%63s was requeued and %n", id, &at) == 1 &&
	       at > 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct plx_shape_log_entry *x = a;
	const struct plx_shape_log_entry *y = b;
	int order = plx_id_compare(x->id, y->id);

	if (order == 0)
		order = (x->start_s > y->start_s) - (x->start_s < y->start_s);
	if (order == 0)
		order = (x->end_s > y->end_s) - (x->end_s < y->end_s);
	return order;
}

static int append(struct plx_shape_log *shapes,
		  const struct plx_shape_log_entry *entry)
{
	struct plx_shape_log_entry *grown;

	/* Doubles at powers of two. */
	if ((shapes->count & (shapes->count - 1)) == 0) {
		grown = reallocarray(shapes->entries,
				     shapes->count ? 2 * shapes->count : 1,
				     sizeof(*grown));
		if (!grown)
			return -1;
		shapes->entries = grown;
	}
	shapes->entries[shapes->count++] = *entry;
	return 0;
}

static void entry_release(struct plx_shape_log_entry *entry)
{
	free(entry->why);
	free(entry->id);
	free(entry->nodes);
}

/* Requests under way, by job: the last of each of the last so many jobs. */
enum { ASKS = 512 };

struct asks {
	char ids[ASKS][64];
	char whys[ASKS][PLX_WHY_SIZE]; /* "": it was not asked */
	bool requeued[ASKS];
	unsigned next;
};

static int ask_of(const struct asks *asks, const char *id)
{
	for (int i = 0; i < ASKS; i++) {
		if (!strcmp(asks->ids[i], id))
			return i;
	}
	return -1;
}

static int slot_of(struct asks *asks, const char *id)
{
	int i = ask_of(asks, id);

	if (i >= 0)
		return i;
	i = (int) (asks->next++ % ASKS);
	snprintf(asks->ids[i], sizeof(asks->ids[i]), "%s", id);
	asks->whys[i][0] = '\0';
	asks->requeued[i] = false;
	return i;
}

static void keep_ask(struct asks *asks, const char *id, const char *why)
{
	int i = slot_of(asks, id);

	snprintf(asks->whys[i], sizeof(asks->whys[i]), "%.*s",
		 (int) strcspn(why, "\n"), why);
}

static int keep_entry(struct plx_shape_log *shapes, struct asks *asks,
		      struct plx_shape_log_entry *entry)
{
	int i = ask_of(asks, entry->id);

	if (i >= 0) {
		if (asks->whys[i][0])
			entry->why = strdup(asks->whys[i]);
		entry->requeued = asks->requeued[i];
		/* A job's last shape is left without a request. */
		asks->ids[i][0] = '\0';
	}
	if (append(shapes, entry) == 0)
		return 0;
	entry_release(entry);
	return -1;
}

/* Bounded: a line without end is read in pieces, of which none is ours. */
static int read_lines(FILE *log, struct asks *asks,
		      struct plx_shape_log *shapes, struct plx_error *err)
{
	struct plx_shape_log_entry entry;
	char line[4096];
	char id[64];
	const char *why;
	bool whole = true;
	int found;

	while (fgets(line, sizeof(line), log)) {
		found = whole ? parse_entry(line, &entry) : 0;
		if (whole && found == 0 &&
		    (parse_asked(line, id, &why) ||
		     parse_cannot(line, id, &why)))
			keep_ask(asks, id, why);
		else if (whole && found == 0 && parse_requeued(line, id))
			asks->requeued[slot_of(asks, id)] = true;
		whole = strchr(line, '\n');
		if (found > 0 && keep_entry(shapes, asks, &entry) < 0)
			found = -1;
		if (found < 0)
			return plx_fail(err, "out of memory");
	}
	if (ferror(log))
		return plx_fail(err, "the log cannot be read");
	return 0;
}

int plx_shape_log_read(FILE *log, struct plx_shape_log *shapes,
		       struct plx_error *err)
{
	struct plx_shape_log read = { NULL, 0 };
	struct asks *asks = calloc(1, sizeof(*asks));
	int rc = asks ? read_lines(log, asks, &read, err)
		      : plx_fail(err, "out of memory");

	free(asks);
	if (rc < 0) {
		plx_shape_log_release(&read);
		return -1;
	}
	if (read.count > 0)
		qsort(read.entries, read.count, sizeof(*read.entries),
		      compare_entries);
	*shapes = read;
	return 0;
}

void plx_shape_log_release(struct plx_shape_log *shapes)
{
	for (size_t i = 0; i < shapes->count; i++)
		entry_release(&shapes->entries[i]);
	free(shapes->entries);
	*shapes = (struct plx_shape_log){ NULL, 0 };
}

/* One comparison under way. */
struct check {
	void (*tell)(const char *sentence, void *arg);
	void *arg;
	int agreed;
	int differences;
};

__attribute__((format(printf, 2, 3))) static void differ(struct check *check,
							 const char *fmt, ...)
{
	char sentence[SENTENCE_SIZE];
	char clean[SENTENCE_SIZE];
	va_list args;

	va_start(args, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, args);
	va_end(args);
	/* Names of nodes are as somebody wrote them into a log. */
	check->tell(plx_text_clean(sentence, clean, sizeof(clean)), check->arg);
	check->differences++;
}

/* Seconds that the log may have too many. */
static int64_t late_s(const struct plx_shape_log_entry *entry)
{
	return entry->requeued ? 1 : 0;
}

/* Both sides have a shape that began in this second. */
static void compare(struct check *check, const struct plx_record *record,
		    const struct plx_history_span *span,
		    const struct plx_shape_log_entry *entry)
{
	int64_t gpu_seconds = (span->end_s - span->start_s) * span->gpus;
	int64_t more_s = entry->end_s - span->end_s;

	if (span->gpus == entry->gpus && more_s >= 0 &&
	    more_s <= late_s(entry) &&
	    gpu_seconds + more_s * span->gpus == entry->gpu_seconds &&
	    !strcmp(span->nodes, entry->nodes)) {
		check->agreed++;
		return;
	}
	differ(check,
	       "job %s from %" PRId64 ": sacct says %d GPUs on %s to %" PRId64
	       ", %" PRId64 " GPU-seconds; the log %d GPUs on %s to %" PRId64
	       ", %" PRId64 " GPU-seconds",
	       record->id, span->start_s, span->gpus, span->nodes, span->end_s,
	       gpu_seconds, entry->gpus, entry->nodes, entry->end_s,
	       entry->gpu_seconds);
}

static void only_sacct(struct check *check, const struct plx_record *record,
		       const struct plx_history_span *span)
{
	differ(check,
	       "job %s: the log has no %d GPUs on %s from %" PRId64
	       " to %" PRId64 ", sacct has",
	       record->id, span->gpus, span->nodes, span->start_s, span->end_s);
}

static void only_log(struct check *check, const char *id,
		     const struct plx_shape_log_entry *entry)
{
	differ(check,
	       "job %s: sacct has no %d GPUs on %s from %" PRId64 " to %" PRId64
	       ", the log has",
	       id, entry->gpus, entry->nodes, entry->start_s, entry->end_s);
}

/* One of no length is a shape of less than a second: sacct has none. */
static bool may_be_none(const struct plx_shape_log_entry *entry,
			const struct plx_history_span *span)
{
	int64_t length_s = entry->end_s - entry->start_s;

	return length_s <= 0 || (length_s <= late_s(entry) &&
				 (!span || span->start_s != entry->start_s));
}

static void check_job(struct check *check, const struct plx_record *record,
		      const struct plx_shape_log_entry *entries, size_t count)
{
	size_t s = 0;
	size_t e = 0;

	while (s < record->span_count || e < count) {
		const struct plx_history_span *span =
			s < record->span_count ? &record->spans[s] : NULL;
		const struct plx_shape_log_entry *entry =
			e < count ? &entries[e] : NULL;

		if (span && span->open) {
			s++;
		} else if (entry && may_be_none(entry, span)) {
			e++;
		} else if (span && entry && span->start_s == entry->start_s) {
			compare(check, record, span, entry);
			s++;
			e++;
		} else if (span && (!entry || span->start_s < entry->start_s)) {
			only_sacct(check, record, span);
			s++;
		} else {
			only_log(check, record->id, entry);
			e++;
		}
	}
}

/* Entries of this job: first and count; they stand together, by job. */
static struct plx_shape_log_entry *entries_of(
	const struct plx_shape_log *shapes, const char *number, size_t *count)
{
	size_t low = 0;
	size_t high = shapes->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (plx_id_compare(shapes->entries[middle].id, number) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (high = low; high < shapes->count; high++) {
		if (strcmp(shapes->entries[high].id, number) != 0)
			break;
	}
	*count = high - low;
	return *count ? &shapes->entries[low] : NULL;
}

void plx_shape_log_explain(const struct plx_shape_log *shapes,
			   struct plx_history *history)
{
	for (size_t i = 0; i < history->count; i++) {
		struct plx_record *r = &history->records[i];
		size_t count;
		const struct plx_shape_log_entry *e =
			entries_of(shapes, r->number, &count);

		for (size_t s = 0; s < r->span_count && count > 0; s++) {
			while (count > 0 && e->end_s < r->spans[s].end_s) {
				e++;
				count--;
			}
			if (count > 0 && e->end_s == r->spans[s].end_s)
				r->spans[s].why = e->why;
		}
	}
}

int plx_shape_log_check(struct plx_shape_log *shapes,
			const struct plx_history *history, bool only_these,
			void (*tell)(const char *sentence, void *arg),
			void *arg, int *differences)
{
	struct check check = { .tell = tell, .arg = arg };
	struct plx_shape_log_entry *entries;
	size_t count;

	for (size_t i = 0; i < history->count; i++) {
		const struct plx_record *record = &history->records[i];

		entries = entries_of(shapes, record->number, &count);
		for (size_t e = 0; e < count; e++)
			entries[e].known = true;
		if (count > 0 || record->elastic)
			check_job(&check, record, entries, count);
	}
	for (size_t i = 0; i < shapes->count && !only_these; i++) {
		if (!shapes->entries[i].known)
			only_log(&check, shapes->entries[i].id,
				 &shapes->entries[i]);
	}
	*differences = check.differences;
	return check.agreed;
}
