/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_story.c - one job's story, and help (top.h) */

#define _GNU_SOURCE

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/text.h"
#include "report/top.h"

#define INDENT	  13 /* of what follows a line's name */
#define BAR_WIDTH 40
#define PART_SIZE 512 /* bytes of a row */
#define SIZES	  9   /* of shapes that are told of: 1, 2, 4 ... 256 GPUs */

static const char *clock_text(int64_t when_s, char text[32])
{
	time_t when = (time_t) when_s;
	struct tm tm;

	text[0] = '\0';
	if (localtime_r(&when, &tm))
		strftime(text, 32, "%m-%d %H:%M:%S", &tm);
	return text;
}

static void write_times(const struct plx_view *view,
			const struct plx_view_job *job, FILE *out)
{
	char text[32];
	char spell[24];

	fprintf(out, "%-*s%s", INDENT, "state", plx_view_state(job));
	if (job->start_s > 0)
		fprintf(out, " for %s, since %s",
			plx_text_duration(job->ran_s, spell, sizeof(spell)),
			clock_text(job->start_s, text));
	putc('\n', out);
	fprintf(out, "%-*s%s", INDENT, "submitted",
		clock_text(job->submit_s, text));
	if (job->running && job->limit_s > 0)
		fprintf(out, "; its time limit ends it in %s",
			plx_text_duration(
				job->start_s + job->limit_s > view->now_s
					? job->start_s + job->limit_s -
						  view->now_s
					: 0,
				spell, sizeof(spell)));
	putc('\n', out);
}

static void write_training(const struct plx_view_job *job, FILE *out)
{
	const struct plx_hint *hint = &job->status.hint;
	double alone = plx_view_promised(job, 1, 1);
	int64_t left_s = plx_view_left_s(job);
	char spell[24];

	fprintf(out, "%-*s%" PRId64 " samples: %d on each GPU, %d pass%s; ",
		INDENT, "batch", plx_view_batch(job), hint->now.per_gpu,
		hint->now.accum + 1, hint->now.accum ? "es" : "");
	fprintf(out, "tuned for %d\n", hint->job.limits.base_batch);
	fprintf(out, "%-*s%.0f useful samples/s, efficiency %.0f %%", INDENT,
		"goodput", hint->goodput, 100 * plx_view_efficiency(job));
	if (alone > 0)
		fprintf(out, ", %.2f times that of one GPU",
			plx_view_promised(job, job->gpus, job->nodes) / alone);
	if (job->target.speedup > 0)
		fprintf(out, ", %.2f times that of its fair share",
			job->target.speedup);
	fprintf(out, "\n%-*s%.1f %%", INDENT, "done", 100 * hint->progress);
	if (left_s >= 0)
		fprintf(out, ", %s left at this goodput",
			plx_text_duration(left_s, spell, sizeof(spell)));
	fputs("\n", out);
	if (hint->lr > 0)
		fprintf(out, "%-*slearning rate %g, loss %g\n", INDENT,
			"training", hint->lr, hint->loss);
}

/* Only of who was on several leaf switches. */
static void write_switches(const struct plx_view_job *job, FILE *out)
{
	const struct plx_model *model = &job->status.hint.job.model;

	if (model->per_switch > 0)
		fprintf(out,
			"%-*seach further one makes its all-reduce %.0f %% "
			"longer\n",
			INDENT, "switches", 100 * model->per_switch);
	else if (model->further > 0)
		fprintf(out,
			"%-*smeasured on %d, and not on fewer: what one costs "
			"is not known\n",
			INDENT, "switches", model->further + 1);
}

/* As few nodes as have so many GPUs. */
static int nodes_for(const struct plx_view *view, int gpus)
{
	int per_node = 1;

	for (size_t i = 0; i < view->node_count; i++) {
		if (view->nodes[i].gpus > per_node)
			per_node = view->nodes[i].gpus;
	}
	return (gpus + per_node - 1) / per_node;
}

/* A bar for each number of GPUs: what its model promises there. */
static void write_model(const struct plx_view *view,
			const struct plx_view_job *job, FILE *out)
{
	double goodput[SIZES] = { 0 };
	double most = 0;

	for (int i = 0; i < SIZES && 1 << i <= view->gpus; i++) {
		goodput[i] =
			plx_view_promised(job, 1 << i, nodes_for(view, 1 << i));
		most = fmax(most, goodput[i]);
	}
	if (!(most > 0))
		return;
	fprintf(out,
		"\nGoodput by GPUs, as its model has it (measured up to "
		"%d):\n",
		job->status.hint.profiled.gpus);
	for (int i = 0; i < SIZES; i++) {
		int bar = (int) (BAR_WIDTH * goodput[i] / most + 0.5);

		if (!(goodput[i] > 0))
			continue;
		fprintf(out, "  %4d %10.0f/s  ", 1 << i, goodput[i]);
		while (bar-- > 0)
			putc('#', out);
		putc('\n', out);
	}
}

static void write_changes(const struct plx_top *top,
			  const struct plx_view_job *job, FILE *out)
{
	const struct plx_top_memory *memory = plx_top_recall(top, job->number);
	char why[PLX_WHY_SIZE];
	char when[32];

	if (top->told != job->number)
		fputs("\nAccounting is being asked ...\n", out);
	else if (top->untold)
		fprintf(out, "\nAccounting: %s\n", top->accounts);
	else
		fprintf(out, "\nShapes, from accounting:\n%s", top->accounts);
	if (memory && memory->change_count)
		fputs("\nChanges seen from here:\n", out);
	for (int i = 0; memory && i < memory->change_count; i++) {
		const struct plx_top_change *change = &memory->changes[i];

		plx_text_clean(change->why, why, sizeof(why));
		fprintf(out, "  %s  %d > %d GPUs on %s: %s\n",
			clock_text(change->when_s, when), change->from,
			change->to, change->to ? change->placement : "no node",
			why);
	}
}

/* Texts of users have no newlines here: nothing can pose as another line. */
static void write_head(const struct plx_view_job *job, FILE *out)
{
	char name[sizeof(job->name)];
	char user[sizeof(job->user)];
	char account[sizeof(job->account)];
	char partition[sizeof(job->partition)];

	plx_text_clean(job->account, account, sizeof(account));
	fprintf(out, "job %s  %s\n", job->id,
		plx_text_clean(job->name, name, sizeof(name)));
	fprintf(out, "%-*s%s; account %s, partition %s\n", INDENT, "user",
		plx_text_clean(job->user, user, sizeof(user)),
		*account ? account : "none",
		plx_text_clean(job->partition, partition, sizeof(partition)));
}

static void write_story(const struct plx_top *top,
			const struct plx_view_job *job, FILE *out)
{
	char why[PLX_TOP_TEXT_SIZE];

	write_head(job, out);
	write_times(&top->view, job, out);
	fprintf(out, "%-*s%d%s%s%s\n", INDENT, "GPUs", job->gpus,
		job->gpus ? " (" : "", job->placement, job->gpus ? ")" : "");
	if (plx_view_measured(job)) {
		write_training(job, out);
		write_switches(job, out);
	}
	if (job->told && job->status.resizes > 0)
		fprintf(out,
			"%-*s%d, training stood still %.2f s (median), %.2f s "
			"(worst)\n",
			INDENT, "resizes", job->status.resizes,
			job->status.pause_s[0], job->status.pause_s[1]);
	plx_view_why(job, why, sizeof(why));
	if (*why)
		fprintf(out, "%-*s%s\n", INDENT, "why", why);
	write_changes(top, job, out);
	if (plx_view_measured(job))
		write_model(&top->view, job, out);
}

/* Copy as much of a line as has room: whole words, or at least characters. */
static size_t take(const struct plx_screen *screen, const char *line,
		   size_t whole, int width, char part[PART_SIZE])
{
	size_t length = whole;

	if (length >= PART_SIZE)
		length = PART_SIZE - 1;
	memcpy(part, line, length);
	part[length] = '\0';
	while (length > 1 && plx_screen_width(screen, part) > width) {
		do
			length--;
		while (length > 1 && (line[length] & 0xc0) == 0x80);
		part[length] = '\0';
	}
	if (length < whole && line[length] != ' ') {
		char *blank = strrchr(part, ' ');

		if (blank && blank > part + length / 2) {
			length = (size_t) (blank - part);
			part[length] = '\0';
		}
	}
	return length;
}

/* Draw the lines of text from the first-th row on; how many rows it has. */
static size_t draw_lines(struct plx_screen *screen, int y, int lines,
			 size_t first, const char *text)
{
	size_t row = 0;

	while (*text) {
		size_t left = strcspn(text, "\n");
		int x = 0;

		do {
			char part[PART_SIZE];
			size_t taken = take(screen, text, left,
					    screen->width - x, part);

			if (row >= first && row - first < (size_t) lines)
				plx_screen_put(screen, x,
					       y + (int) (row - first),
					       row ? PLX_PLAIN : PLX_BOLD,
					       part);
			row++;
			text += taken;
			left -= taken;
			for (; left > 0 && *text == ' '; text++)
				left--;
			if (screen->width > 2 * INDENT)
				x = INDENT;
		} while (left > 0);
		text += *text == '\n';
	}
	return row;
}

/* Not further than to where the last line is the last row. */
static size_t last_first(size_t rows, int lines)
{
	return rows > (size_t) lines ? rows - (size_t) lines : 0;
}

void plx_top_draw_story(struct plx_top *top, struct plx_screen *screen, int y,
			int lines)
{
	const struct plx_view_job *job = plx_top_job(top);
	char *text = NULL;
	size_t size = 0;
	size_t rows;
	FILE *out;

	if (lines < 1)
		return;
	top->page = (size_t) lines;
	if (!job) {
		plx_screen_put(screen, 0, y, PLX_PLAIN,
			       "slurmctld does not know this job any more");
		return;
	}
	out = open_memstream(&text, &size);
	if (!out)
		return;
	write_story(top, job, out);
	if (fclose(out) == 0) {
		rows = draw_lines(screen, y, 0, 0, text);
		if (top->story_first > last_first(rows, lines))
			top->story_first = last_first(rows, lines);
		draw_lines(screen, y, lines, top->story_first, text);
	}
	free(text);
}

void plx_top_draw_help(const struct plx_top *top, struct plx_screen *screen,
		       int y, int lines)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	fputs("Keys\n"
	      "  arrows, PgUp, PgDn, Home, End   point to a job\n"
	      "  Enter, or a job's number   its story; q or Esc leads back\n"
	      "  a   GPUs of all nodes       f   with or without jobs that "
	      "ended\n",
	      out);
	if (top->me)
		fputs("  m   my own jobs, or all\n", out);
	fputs("  space   look now            q   leave\n"
	      "Sorted by, the other way round if pressed again or by r\n",
	      out);
	for (size_t c = 0; c < plx_top_column_count; c++) {
		if (plx_top_columns[c].key)
			fprintf(out, "  %c   %-8s %s\n", plx_top_columns[c].key,
				plx_top_columns[c].title,
				plx_top_columns[c].about);
	}
	fputs("GPUs\n  a letter: that job's   .: idle   ?: held by whom you "
	      "cannot see\n  -: idle on a drained node   x: on one that is "
	      "down or off\n  !: on one that is closed to elastic jobs, as "
	      "ranks failed there\n",
	      out);
	if (fclose(out) == 0)
		draw_lines(screen, y, lines, 0, text);
	free(text);
}
