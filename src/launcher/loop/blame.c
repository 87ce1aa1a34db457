/* SPDX-License-Identifier: GPL-2.0-or-later */
/* blame.c - ranks were started and failed: on which of their nodes? */
#include "config.h"

#include <signal.h>
#include <string.h>

#include "launcher/loop/blame.h"

/* What CUDA, NCCL and the driver say of a GPU that is lost or broken. */
static const char *const words[] = {
	"Xid",
	"uncorrectable ECC",
	"ECC error",
	"cudaErrorECCUncorrectable",
	"CUDA_ERROR_ECC_UNCORRECTABLE",
	"cudaErrorNoDevice",
	"CUDA_ERROR_NO_DEVICE",
	"no CUDA-capable device",
	"cudaErrorDevicesUnavailable",
	"CUDA-capable device(s) is/are busy or unavailable",
	"fallen off the bus",
	"cudaErrorHardwareStackError",
	"CUDA_ERROR_HARDWARE_STACK_ERROR",
	"NVLink error",
	"CUDA_ERROR_SYSTEM_NOT_READY",
};

static const char *const crowded[] = {
	"out of memory",
	"OutOfMemory",
	"MemoryError",
	"Cannot allocate memory",
	"can't allocate memory",
	"No space left",
	"busy or unavailable",
	"cudaErrorDevicesUnavailable",
	"already in use",
	"Resource temporarily unavailable",
	"is taken by another program",
};

bool plx_blame_is_new(const struct plx_layout *shape,
		      const struct plx_layout *good)
{
	for (int i = 0; i < shape->count; i++) {
		if (!plx_layout_on(good, shape->nodes[i].name))
			return true;
	}
	return false;
}

static bool has_one(const char *lines, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strstr(lines, list[i]))
			return true;
	}
	return false;
}

bool plx_blame_gpu(const char *lines)
{
	return has_one(lines, words, sizeof(words) / sizeof(words[0]));
}

bool plx_blame_crowd(const char *lines)
{
	return has_one(lines, crowded, sizeof(crowded) / sizeof(crowded[0]));
}

bool plx_blame_itself(const struct plx_exit *how)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE,
				       SIGABRT };

	if (!how || !how->signal)
		return how != NULL;
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++) {
		if (how->signal == crashes[i])
			return true;
	}
	return false;
}

static void blame_silent(const struct plx_evidence *evidence,
			 struct plx_failed *failed)
{
	const struct plx_layout *shape = evidence->shape;
	int heard = 0;

	for (int i = 0; evidence->here && i < shape->count; i++)
		heard += evidence->here[i];
	for (int i = 0; heard && i < shape->count; i++) {
		if (!evidence->here[i])
			(void) plx_failed_add(failed, shape->nodes[i].name);
	}
}

void plx_blame(const struct plx_evidence *evidence, struct plx_failed *failed)
{
	const struct plx_exit *how = evidence->how;
	const char *node = how ? how->node : "";

	failed->nodes[0] = '\0';
	if (!plx_blame_itself(how))
		blame_silent(evidence, failed);
	if (!failed->nodes[0] && *node &&
	    plx_layout_on(evidence->shape, node) >
		    plx_layout_on(evidence->good, node))
		(void) plx_failed_add(failed, node);
}
