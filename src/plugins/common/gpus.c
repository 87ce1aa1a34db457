/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpus.c - GPUs as jobs ask for them, and what each brings along */

#include <ctype.h>
#include <string.h>

#include "common/gpus.h"
#include "core/records/gpu_type.h"
#include "core/records/options.h"

#define AMOUNT_MAX 1000000000000ULL
#define CPUS_MAX   65533

/* text behind the word, or NULL when it does not begin with it. */
static const char *after(const char *text, const char *word)
{
	size_t length = strlen(word);

	return strncmp(text, word, length) ? NULL : text + length;
}

/* What follows "gres:gpu": "" or ":..."; NULL for another resource. */
static const char *behind_gpu(const char *tres)
{
	if (after(tres, "gres:") || after(tres, "gres/"))
		tres += strlen("gres:");
	tres = after(tres, "gpu");
	return tres && (!*tres || *tres == ':' || *tres == '=') ? tres : NULL;
}

/* All of the text is a number, at most so large. */
static bool read_number(const char *text, uint64_t most, uint64_t *number)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (uint64_t) (*text - '0');
		if (value > most)
			return false;
	}
	*number = value;
	return true;
}

/* A name of letters, digits and marks, to be followed by a count or nothing. */
static const char *read_type(const char *text, char *type)
{
	size_t length = 0;

	while (isalnum((unsigned char) text[length]) ||
	       (text[length] && strchr(PLX_TYPE_MARKS, text[length])))
		length++;
	if (!isalnum((unsigned char) text[0]) ||
	    length >= POLLUX_GPU_TYPE_SIZE ||
	    (text[length] && text[length] != ':' && text[length] != '='))
		return NULL;
	memcpy(type, text, length);
	type[length] = '\0';
	return text + length;
}

/* Slurm reads "2k" as a number; neither that nor a huge one is a type. */
static bool is_number(const char *type)
{
	size_t digits = strspn(type, "0123456789");

	return digits &&
	       (!type[digits] ||
		(strchr("kKmMgGtTpP", type[digits]) && !type[digits + 1]));
}

static bool read_request(const char *at, struct pollux_gpus *gpus)
{
	uint64_t count = 1;

	*gpus = (struct pollux_gpus){ .count = 1 };
	if (!*at)
		return true;
	if (!read_number(at + 1, PLX_GPUS_MAX, &count)) {
		at = read_type(at + 1, gpus->type);
		if (!at || (*at && !read_number(at + 1, PLX_GPUS_MAX, &count)))
			return false;
		if (is_number(gpus->type))
			return false;
	}
	gpus->count = (uint32_t) count;
	return true;
}

int pollux_gpu_request(const char *tres, struct pollux_gpus *gpus,
		       struct plx_error *err)
{
	struct pollux_gpus read = { 0 };
	const char *at = NULL;

	if (tres && *tres) {
		at = behind_gpu(tres);
		if (!at || !read_request(at, &read))
			return plx_fail(err,
					"an elastic job can ask for GPUs, all "
					"of them of one type or of any, and "
					"for no other resource");
	}
	*gpus = read;
	return 0;
}

uint64_t pollux_gpu_amount(const char *tres)
{
	uint64_t amount = 0;
	const char *at = tres ? behind_gpu(tres) : NULL;

	if (!at || !*at || !read_number(at + 1, AMOUNT_MAX, &amount))
		return 0;
	return amount;
}

/* One entry of a TRES text, `length` bytes: "gres:gpu:2", "gres/gpu=2". */
static bool is_gres(const char *entry, size_t length)
{
	size_t digits = length;

	if (length < sizeof("gres") - 1 || strncmp(entry, "gres", 4) != 0)
		return false;
	while (digits > 0 && entry[digits - 1] == '0')
		digits--;
	/* A count of nothing but zeros. */
	return digits == length || !digits || !strchr(":=", entry[digits - 1]);
}

bool pollux_asks_gres(const char *tres)
{
	while (tres && *tres) {
		size_t length = strcspn(tres, ",;");

		if (is_gres(tres, length))
			return true;
		tres += length;
		tres += *tres != '\0';
	}
	return false;
}

static uint32_t cpus_of(uint64_t cpus)
{
	return cpus < CPUS_MAX ? (uint32_t) cpus : CPUS_MAX;
}

/*
 * As the select plugin reckons: a task a GPU, or more CPUs for each. For the
 * memory of a node Slurm gives each task more CPUs, by how many tasks there
 * are: what it raised that to for one shape is not what another one needs.
 */
struct pollux_needs pollux_needs(const struct pollux_beside *beside)
{
	uint64_t memory = pollux_gpu_amount(beside->mem_per_tres);
	uint64_t most = beside->memory_of_cpu;
	uint32_t cpus = cpus_of(pollux_gpu_amount(beside->cpus_per_tres));
	bool by_gpu = memory && !beside->memory_asked;
	bool by_cpu = !by_gpu && beside->memory && beside->memory_per_cpu;
	bool raised = !by_gpu && !by_cpu && beside->memory && most;
	uint32_t task = raised ? beside->cpus_asked : beside->cpus_per_task;
	struct pollux_needs needs = { .cpus = cpus > task ? cpus : task };

	if (!needs.cpus)
		needs.cpus = 1;
	if (by_gpu)
		needs.memory = memory;
	else if (by_cpu)
		needs.memory = beside->memory < AMOUNT_MAX
				       ? beside->memory * needs.cpus
				       : AMOUNT_MAX;
	else
		needs.node_memory = beside->memory;
	if (raised)
		needs.node_cpus = cpus_of((beside->memory - 1) / most + 1);
	return needs;
}

uint32_t pollux_needs_cpus(const struct pollux_needs *needs, uint32_t gpus)
{
	uint32_t each = (needs->node_cpus + gpus - 1) / gpus;

	return each > needs->cpus ? each : needs->cpus;
}
