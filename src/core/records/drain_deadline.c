/* SPDX-License-Identifier: MIT */
/*
 * drain_deadline.c - what the reason of a drained node says of the time to
 * leave it
 */

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/records/drain_deadline.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define DAY_S	   86400.0
#define TIME_SIZE  40 /* of a time as text, the end included */
#define EPOCH_SIZE 9  /* shorter numbers are dates to Slurm */
#define NUMBER_MAX 12 /* digits */

static bool is_word(char c)
{
	return isalnum((unsigned char) c) || c == '_' || c == '-';
}

/* Past the word if the text begins with it, in any case; else NULL. */
static const char *past(const char *text, const char *word)
{
	while (*word) {
		if (tolower((unsigned char) *text) != *word)
			return NULL;
		text++;
		word++;
	}
	return text;
}

/* The value of until=, its end cut off; false: there is none. */
static bool find_time(const char *reason, char value[TIME_SIZE])
{
	bool begins = true;

	for (const char *at = reason; *at; at++) {
		const char *from = begins ? past(at, "until=") : NULL;
		size_t size;

		begins = !is_word(*at);
		if (!from)
			continue;
		size = strcspn(from, " \t\r\n,;()[]\"'");
		size = size < TIME_SIZE ? size : TIME_SIZE - 1;
		memcpy(value, from, size);
		value[size] = '\0';
		return true;
	}
	return false;
}

/* From min to max digits; past them, or NULL. */
static const char *read_number(const char *text, int min, int max,
			       double *number)
{
	int digits = 0;

	*number = 0;
	while (digits < max && isdigit((unsigned char) text[digits]))
		*number = 10 * *number + (text[digits++] - '0');
	if (digits < min || isdigit((unsigned char) text[digits]))
		return NULL;
	return text + digits;
}

static bool read_epoch(const char *text, double *at_s)
{
	const char *end = read_number(text, EPOCH_SIZE, NUMBER_MAX, at_s);

	return end && !*end;
}

/* now, now+10, now+10minutes; any beginning of a unit will do, as in Slurm. */
static bool read_now(const char *text, double set_s, double *at_s)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {
		{ "seconds", 1 },  { "minutes", 60 },	   { "hours", 3600 },
		{ "days", DAY_S }, { "weeks", 7 * DAY_S },
	};
	const char *at = past(text, "now");
	double count = 0;

	*at_s = set_s;
	if (!at || !*at)
		return at != NULL;
	if (*at != '+' || !(at = read_number(at + 1, 1, 9, &count)))
		return false;
	for (size_t i = 0; i < COUNT(units); i++) {
		size_t size = strlen(at);

		if (size > strlen(units[i].name) ||
		    strncmp(at, units[i].name, size) != 0)
			continue;
		*at_s = set_s + count * units[i].seconds;
		return true;
	}
	return false;
}

/* HH:MM[:SS] up to the end, in seconds of the day. */
static bool read_clock(const char *text, double *of_day_s)
{
	double hours;
	double minutes;
	double seconds = 0;
	const char *at = read_number(text, 1, 2, &hours);

	if (!at || *at != ':' || !(at = read_number(at + 1, 2, 2, &minutes)))
		return false;
	if (*at == ':')
		at = read_number(at + 1, 2, 2, &seconds);
	*of_day_s = 3600 * hours + 60 * minutes + seconds;
	return at && !*at && hours < 24 && minutes < 60 && seconds < 61;
}

/* Days since 1970 of a date of the Gregorian calendar. */
static double days_of(double year, double month, double day)
{
	static const int before[] = { 0,   31,	59,  90,  120, 151,
				      181, 212, 243, 273, 304, 334 };
	int y = (int) year - (month < 3);
	double leaps = floor(y / 4) - floor(y / 100) + floor(y / 400);

	return 365 * (year - 1970) + leaps - 477 + before[(int) month - 1] +
	       day - 1;
}

static bool read_date(const char *text, double *at_s)
{
	static const int lengths[] = { 31, 29, 31, 30, 31, 30,
				       31, 31, 30, 31, 30, 31 };
	double year;
	double month;
	double day;
	double of_day_s = 0;
	const char *at = read_number(text, 4, 4, &year);

	if (!at || *at != '-' || !(at = read_number(at + 1, 1, 2, &month)) ||
	    *at != '-' || !(at = read_number(at + 1, 1, 2, &day)))
		return false;
	if (year < 1970 || month < 1 || month > 12 || day < 1 ||
	    day > lengths[(int) month - 1])
		return false;
	if (*at &&
	    ((*at != 'T' && *at != 't') || !read_clock(at + 1, &of_day_s)))
		return false;
	*at_s = DAY_S * days_of(year, month, day) + of_day_s;
	return true;
}

/* The first time after set_s at which clocks show this. */
static double next_time(double of_day_s, double set_s, double utc_offset_s)
{
	double local_s = set_s + utc_offset_s;
	double at_s = DAY_S * floor(local_s / DAY_S) + of_day_s;

	return (at_s > local_s ? at_s : at_s + DAY_S) - utc_offset_s;
}

static bool read_time(const char *text, double set_s, double utc_offset_s,
		      double *at_s)
{
	if (read_epoch(text, at_s) || read_now(text, set_s, at_s))
		return true;
	if (read_date(text, at_s)) {
		*at_s -= utc_offset_s;
		return true;
	}
	if (!read_clock(text, at_s))
		return false;
	*at_s = next_time(*at_s, set_s, utc_offset_s);
	return true;
}

int plx_drain_deadline_read(const char *reason, double set_s,
			    double utc_offset_s,
			    struct plx_drain_deadline *deadline,
			    struct plx_error *err)
{
	char value[TIME_SIZE];
	const char *after = reason ? past(reason, "leave") : NULL;
	double until_s = 0;

	*deadline =
		(struct plx_drain_deadline){ .kind = PLX_DRAIN_DEADLINE_NONE };
	if (after && !is_word(*after)) {
		deadline->kind = PLX_DRAIN_DEADLINE_LEAVE;
		return 0;
	}
	if (!reason || !find_time(reason, value))
		return 0;
	if (!read_time(value, set_s, utc_offset_s, &until_s)) {
		for (char *c = value; *c; c++)
			*c = isprint((unsigned char) *c) ? *c : '?';
		return plx_fail(err, "until=%s is not a time", value);
	}
	*deadline =
		(struct plx_drain_deadline){ .kind = PLX_DRAIN_DEADLINE_UNTIL,
					     .until_s = until_s };
	return 0;
}

bool plx_drain_deadline_is_due(const struct plx_drain_deadline *deadline,
			       double now_s)
{
	switch (deadline->kind) {
	case PLX_DRAIN_DEADLINE_NONE:
		return false;
	case PLX_DRAIN_DEADLINE_LEAVE:
		return true;
	case PLX_DRAIN_DEADLINE_UNTIL:
		return now_s >= deadline->until_s - PLX_DRAIN_DEADLINE_S;
	}
	return false;
}
