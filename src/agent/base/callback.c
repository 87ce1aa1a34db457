/* SPDX-License-Identifier: MIT */
/*
 * callback.c - calls from here into the program
 *
 * Compiled without tables for unwinding (Makefile.am): a search for somebody
 * who catches an exception ends here, and then std::terminate() is called, with
 * the exception still at hand.
 */
#include <config.h>

#include "agent/base/callback.h"

size_t plx_call_size(const struct pollux_blob *blob)
{
	return blob->size(blob->user);
}

int plx_call_save(const struct pollux_blob *blob, void *bytes, size_t size)
{
	return blob->save(blob->user, bytes, size);
}

int plx_call_load(const struct pollux_blob *blob, const void *bytes,
		  size_t size)
{
	return blob->load(blob->user, bytes, size);
}

int plx_call_seek(const struct pollux_config *config, int epoch, uint64_t first,
		  uint64_t count)
{
	return config->seek(config->seek_user, epoch, first, count);
}

double plx_call_lr_rule(const struct pollux_config *config,
			const struct pollux_lr_state *state)
{
	return config->lr_rule(state, config->lr_user);
}

int plx_call_part(const struct pollux_domain *domain, const void **data,
		  size_t *bytes)
{
	return domain->part(domain->user, data, bytes);
}

int plx_call_redistribute(const struct pollux_domain *domain,
			  const struct pollux_domain_part *part)
{
	return domain->redistribute(domain->user, part);
}
