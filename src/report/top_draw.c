/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_draw.c - a frame of pollux-top: head, table, foot (top.h) */

#include <string.h>

#include "report/text.h"
#include "report/top.h"

#define COLUMNS_MAX 16
#define SIGN_WIDTH  2 /* before the first column */

/* A column that is shown, and where. */
struct place {
	const struct plx_top_column *column;
	int x;
	int width;
};

static int used_width(const struct place *places, int count)
{
	int width = SIGN_WIDTH;

	for (int i = 0; i < count; i++)
		width += places[i].width + 1;
	return width;
}

/* Of names and numbers, as much as the longest one takes. */
static int useful(const struct plx_top *top, const struct plx_screen *screen,
		  const struct plx_top_column *column)
{
	char text[PLX_TOP_TEXT_SIZE];
	int most = column->width;

	if (!column->word && column->rank > 0)
		return column->widest;
	for (size_t i = 0; i < top->shown && most < column->widest; i++) {
		int width;

		plx_top_text(column, &top->view, &top->view.jobs[top->order[i]],
			     text);
		width = plx_screen_width(screen, text);
		most = width > most ? width : most;
	}
	return most < column->widest ? most : column->widest;
}

/* What is left of the row goes to those who can use it, the first first. */
static void widen(const struct plx_top *top, const struct plx_screen *screen,
		  struct place *places, int count)
{
	int spare = screen->width - used_width(places, count) + 1;
	int x = SIGN_WIDTH;

	for (int i = 0; i < count; i++) {
		int more =
			useful(top, screen, places[i].column) - places[i].width;

		more = more > spare ? spare : more;
		if (more > 0) {
			places[i].width += more;
			spare -= more;
		}
		places[i].x = x;
		x += places[i].width + 1;
	}
}

/* The columns that fit: those of low rank, in the order of the table. */
static int choose(const struct plx_top *top, const struct plx_screen *screen,
		  struct place places[COLUMNS_MAX])
{
	int least = 1 << 20; /* the rank of the first that did not fit */

	for (;;) {
		int count = 0;
		int worst = -1;

		for (size_t c = 0; c < plx_top_column_count; c++) {
			const struct plx_top_column *column =
				&plx_top_columns[c];

			if (!column->width || column->rank >= least)
				continue;
			places[count++] =
				(struct place){ .column = column,
						.width = column->width };
			if (column->rank > worst)
				worst = column->rank;
		}
		if (used_width(places, count) - 1 <= screen->width ||
		    worst <= 0) {
			widen(top, screen, places, count);
			return count;
		}
		least = worst;
	}
}

/* The text in the column's width; an end that is cut shows as one. */
static void put_cell(struct plx_screen *screen, const struct place *place,
		     int y, int paint, const char *text)
{
	int width = plx_screen_width(screen, text);
	int x = place->x;

	if (place->column->right && width < place->width)
		x += place->width - width;
	x = plx_screen_put(screen, x, y, paint, text);
	if (x <= place->x + place->width)
		return;
	/* What comes behind is written over, and the row's end is cut. */
	plx_screen_put(screen, place->x + place->width - 1, y, paint, "~");
	for (int i = place->x + place->width; i < x; i++)
		plx_screen_put(screen, i, y, paint, " ");
}

static void draw_title(const struct plx_top *top, struct plx_screen *screen,
		       const struct place *places, int count, int y)
{
	int paint = PLX_UNDERLINE;

	for (int i = 0; i < count; i++) {
		const struct plx_top_column *column = places[i].column;

		put_cell(screen, &places[i], y, 0, column->title);
	}
	plx_screen_paint(screen, 0, y, screen->width, paint);
	for (int i = 0; i < count; i++) {
		if (places[i].column == top->sort)
			plx_screen_paint(screen, places[i].x, y,
					 places[i].width, paint | PLX_BOLD);
	}
}

/* "####....  25%" */
static void draw_progress(struct plx_screen *screen, const struct place *place,
			  int y, int paint, const struct plx_view_job *job,
			  const char *text)
{
	int bar = place->width - 5;

	if (!job->told || !job->status.has_hint || !job->running) {
		put_cell(screen, place, y, paint, text);
		return;
	}
	plx_screen_bar(screen, place->x, y, bar, paint,
		       job->status.hint.progress);
	plx_screen_printf(screen, place->x + bar, y, paint, "%5s", text);
}

static void draw_row(const struct plx_top *top, struct plx_screen *screen,
		     const struct place *places, int count, int y, size_t row)
{
	const struct plx_view_job *job = &top->view.jobs[top->order[row]];
	int paint = PLX_PLAIN;
	char sign[2] = "";
	int sign_paint;

	if (!job->running && !job->waiting)
		paint = PLX_FAINT;
	if (row == top->row)
		paint = PLX_REVERSE;
	sign[0] = plx_top_sign(top, job, &sign_paint);
	for (int i = 0; i < count; i++) {
		char text[PLX_TOP_TEXT_SIZE];

		plx_top_text(places[i].column, &top->view, job, text);
		if (places[i].column->key == 'd')
			draw_progress(screen, &places[i], y, paint, job, text);
		else
			put_cell(screen, &places[i], y, paint, text);
	}
	plx_screen_paint(screen, SIGN_WIDTH - 1, y, screen->width, paint);
	plx_screen_put(screen, 0, y, sign_paint, sign);
}

static void draw_table(struct plx_top *top, struct plx_screen *screen, int y,
		       int lines)
{
	struct place places[COLUMNS_MAX];
	int count = choose(top, screen, places);
	size_t page = lines > 1 ? (size_t) lines - 1 : 0;

	if (lines < 1)
		return;
	draw_title(top, screen, places, count, y);
	top->page = page;
	if (top->row < top->first)
		top->first = top->row;
	if (page && top->row >= top->first + page)
		top->first = top->row - page + 1;
	if (top->first + page > top->shown)
		top->first = top->shown > page ? top->shown - page : 0;
	for (size_t i = 0; i < page && top->first + i < top->shown; i++)
		draw_row(top, screen, places, count, y + 1 + (int) i,
			 top->first + i);
	if (page && top->seen && !top->shown)
		plx_screen_put(screen, SIGN_WIDTH, y + 1, PLX_PLAIN,
			       top->user ? "no jobs of this user" : "no jobs");
}

static void draw_head(const struct plx_top *top, struct plx_screen *screen,
		      int64_t now_s)
{
	char text[PLX_TOP_TEXT_SIZE];
	const struct plx_view *view = &top->view;

	if (top->trouble.text[0]) {
		int x = 0;

		if (top->seen)
			x = plx_screen_printf(
				screen, 0, 0, PLX_BAD | PLX_BOLD, "%s ago: ",
				plx_text_duration(now_s > view->now_s
							  ? now_s - view->now_s
							  : 0,
						  text, sizeof(text)));
		plx_screen_put(screen, x, 0, PLX_BAD | PLX_BOLD,
			       top->trouble.text);
	} else if (!top->seen) {
		plx_screen_put(screen, 0, 0, PLX_PLAIN, "asking slurmctld ...");
	} else {
		plx_screen_put(screen, 0, 0, PLX_BOLD,
			       plx_top_summary(view, text, sizeof(text)));
	}
}

/* Why the job that is pointed to has what it has, in full width. */
static void draw_why(const struct plx_top *top, struct plx_screen *screen,
		     int y)
{
	const struct plx_view_job *job = plx_top_job(top);
	char why[PLX_TOP_TEXT_SIZE];
	int x;

	if (!job)
		return;
	x = plx_screen_printf(screen, 0, y, PLX_BOLD, "%s: ", job->id);
	plx_screen_put(screen, x, y, PLX_PLAIN,
		       plx_view_why(job, why, sizeof(why)));
}

static void draw_foot(const struct plx_top *top, struct plx_screen *screen,
		      int y)
{
	static const char *const hints[] = {
		[PLX_TOP_TABLE] =
			"Enter or a number: one job  letters: sort  r: reverse"
			"  a: all nodes  h: help  q: quit",
		[PLX_TOP_NODES] = "q: back  h: help",
		[PLX_TOP_STORY] = "q: back  arrows: scroll  h: help",
		[PLX_TOP_HELP] = "q: back",
	};

	if (top->message[0])
		plx_screen_put(screen, 0, y, PLX_WARN | PLX_BOLD, top->message);
	else if (top->typed[0])
		plx_screen_printf(screen, 0, y, PLX_BOLD,
				  "job %s  (Enter: its story, Esc: none)",
				  top->typed);
	else
		plx_screen_put(screen, 0, y, PLX_FAINT, hints[top->mode]);
}

/* What stands above the table of a picture: not more than a third. */
static int picture_lines(const struct plx_top *top,
			 const struct plx_screen *screen)
{
	int want = plx_top_nodes_lines(top, screen->width);
	int most = (screen->height - 4) / 3;

	if (top->mode == PLX_TOP_NODES)
		most = screen->height - 3;
	if (most < 0)
		most = 0;
	return want < most ? want : most;
}

void plx_top_draw(struct plx_top *top, struct plx_screen *screen, int64_t now_s)
{
	int y = 1;
	int end = screen->height;
	int picture = picture_lines(top, screen);

	draw_head(top, screen, now_s);
	if (screen->height >= 4)
		draw_foot(top, screen, --end);
	if (top->mode == PLX_TOP_STORY) {
		plx_top_draw_story(top, screen, y, end - y);
		return;
	}
	if (top->mode == PLX_TOP_HELP) {
		plx_top_draw_help(top, screen, y, end - y);
		return;
	}
	plx_top_draw_nodes(top, screen, y, picture);
	if (top->mode == PLX_TOP_NODES)
		return;
	y += picture;
	if (end - y >= 5)
		draw_why(top, screen, --end);
	draw_table(top, screen, y, end - y);
}
