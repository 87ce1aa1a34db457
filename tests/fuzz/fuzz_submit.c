/* SPDX-License-Identifier: MIT */
/* fuzz_submit.c - what a submission brings: job_submit/pollux, SPANK, params */

#include <math.h>
#include <setjmp.h>

#include "common/elastic.h"
#include "common/gpus.h"
#include "fuzz.h"
#include "job_submit/pollux/shape.h"
#include "sched/pollux/params.h"

static jmp_buf refused;

static void leave(int code)
{
	(void) code;
	longjmp(refused, 1);
}

#define exit leave
#include "spank/pollux/spank_pollux.c"
#undef exit

static uint32_t number(const uint8_t *data, size_t size, size_t i)
{
	uint32_t value = 0;

	for (size_t k = 4 * i; k < 4 * i + 4; k++)
		value = value << 8 | (k < size ? data[k] : 0);
	/* Small ones, and any. */
	return value & 0x80000000u ? value : value % 70;
}

static void choose(const struct plx_options *wanted, const uint8_t *data,
		   size_t size)
{
	struct shape_request request = { number(data, size, 0),
					 number(data, size, 1),
					 number(data, size, 2),
					 number(data, size, 3) };
	struct shape_cluster cluster = { number(data, size, 4) % 70000,
					 number(data, size, 5) % 5000 };
	struct plx_error err;
	struct shape shape;
	uint64_t all;

	if (shape_choose(wanted, &request, &cluster, &shape, &err) < 0) {
		fuzz_is_a_line(err.text, sizeof(err.text));
		return;
	}
	all = (uint64_t) shape.nodes * shape.gpus_per_node;
	MUST(all >= (uint64_t) wanted->min_gpus && all <= PLX_GPUS_MAX);
	MUST(shape.nodes >= 1 && shape.nodes <= cluster.nodes);
	MUST(shape.gpus_per_node >= 1 && shape.gpus_per_node <= cluster.gpus);
}

int fuzz_submit(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX];
	char entry[TEXT_MAX + 64];
	char *job_env[] = { "OTHER=1", entry };
	struct pollux_beside beside = { 0 };
	struct pollux_needs needs;
	struct plx_options wanted = { .min_gpus = 1 };
	struct plx_error err;
	struct pollux_gpus gpus = { 0 };

	fuzz_text(data, size, text);
	if (pollux_gpu_request(text, &gpus, &err) < 0)
		fuzz_is_a_line(err.text, sizeof(err.text));
	else
		MUST(gpus.count <= PLX_GPUS_MAX);
	MUST(pollux_gpu_amount(text) <= 1000000000000ULL);
	beside.cpus_per_tres = beside.mem_per_tres = text;
	needs = pollux_needs(&beside);
	MUST(needs.cpus >= 1 && needs.cpus < 65536);
	snprintf(entry, sizeof(entry),
		 "_SLURM_SPANK_OPTION_pollux_scheduler_"
		 "params=%s",
		 text);
	MUST(!strcmp(elastic_text(job_env, 2), text));
	(void) pollux_asks_gres(text);
	MUST(!text[0] || strchr(text, ',') || pollux_type_among(text, text));
	MUST(elastic_check_env(job_env, 2, &err) == 0 ||
	     strlen(entry) + 16 > ELASTIC_ENV_BYTES);
	if (elastic_options(job_env, 2, &wanted, &err) < 0)
		fuzz_is_a_line(err.text, sizeof(err.text));
	choose(&wanted, data, size);
	return 0;
}

/* What sched/pollux reads of --nodes; users can write there, too. */
int fuzz_nodes(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX];
	char entry[TEXT_MAX + 16];
	char again[ELASTIC_NODES_SIZE];
	char *job_env[] = { "OTHER=1", NULL, entry };
	struct elastic_nodes nodes;
	struct elastic_nodes same;

	fuzz_text(data, size, text);
	(void) elastic_is_nodes(text);
	snprintf(entry, sizeof(entry), "_POLLUX_NODES=%s", text);
	MUST(elastic_is_nodes(entry));
	nodes = elastic_read_nodes(job_env, 3);
	MUST(nodes.min < 100000 && nodes.max < 100000);
	MUST(!nodes.max || nodes.max >= nodes.min);
	if (!elastic_write_nodes(nodes, again))
		return 0;
	MUST(elastic_is_nodes(again));
	job_env[2] = again;
	same = elastic_read_nodes(job_env, 3);
	MUST(same.min == nodes.min && same.max == nodes.max);
	MUST(same.pack == nodes.pack && same.switches == nodes.switches);
	return 0;
}

/* As a command sees it, which may end; as slurmstepd sees it. */
int fuzz_spank(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX];

	fuzz_text(data, size, text);
	for (int remote = 0; remote < 2; remote++) {
		if (setjmp(refused) == 0)
			(void) option_given(0, text, remote);
		MUST(strlen(params) < sizeof(params));
	}
	return 0;
}

int fuzz_params(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX];
	struct pollux_params read;

	memset(&read, 0, sizeof(read));
	pollux_params_read(fuzz_text(data, size, text), &read);
	pollux_terms_read(text, &read.terms);
	MUST(read.interval_s >= 0.1 && read.interval_s <= 86400);
	MUST(read.min_gap_s >= 0.05 && read.min_gap_s <= 3600);
	MUST(read.ack_timeout_s >= 1 && read.ack_timeout_s <= 3600);
	MUST(!isnan(read.fairness) && read.fairness <= 1);
	MUST(strlen(read.dump) < sizeof(read.dump));
	MUST(!read.dump[0] || read.dump[0] == '/');
	MUST(strlen(read.metrics) < sizeof(read.metrics));
	MUST(read.utility.low >= 0 && read.utility.high <= 10);
	MUST(read.utility.low <= read.utility.high);
	MUST(read.scale_nodes.low >= 0 && read.scale_nodes.high <= 1e6);
	MUST(read.terms.max_job_test > 0 && read.terms.max_job_test <= 1000000);
	MUST(read.terms.window_s >= 60 && read.terms.resolution_s >= 1);
	return 0;
}
