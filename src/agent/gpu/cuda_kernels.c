/* SPDX-License-Identifier: MIT */
/*
 * cuda_kernels.c - functions for the GPU, compiled when they are needed
 *
 * This project's tests have run it against a stand-in for the libraries
 * only, never yet on a GPU.
 */
#include <config.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <cuda.h>
#include <nvrtc.h>
#pragma GCC diagnostic pop

#include "agent/gpu/cuda_calls.h"
#include "agent/gpu/cuda_kernels.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct plx_kernels {
	CUmodule module;
	/* the driver's */
	__typeof__(&cuModuleLoadData) load;
	__typeof__(&cuModuleUnload) unload;
	__typeof__(&cuModuleGetFunction) find;
	__typeof__(&cuLaunchKernel) launch;
	__typeof__(&cuGetErrorString) text;
	/* NVRTC's */
	__typeof__(&nvrtcCreateProgram) program_create;
	__typeof__(&nvrtcDestroyProgram) program_destroy;
	__typeof__(&nvrtcCompileProgram) compile;
	__typeof__(&nvrtcGetPTXSize) ptx_size;
	__typeof__(&nvrtcGetPTX) ptx;
	__typeof__(&nvrtcGetProgramLogSize) log_size;
	__typeof__(&nvrtcGetProgramLog) log;
	__typeof__(&nvrtcGetErrorString) nvrtc_text;
	/* From CUDA 11.1 on; else NULL. */
	__typeof__(&nvrtcGetCUBINSize) cubin_size;
	__typeof__(&nvrtcGetCUBIN) cubin;
};

static const char *const driver_names[] = { "libcuda.so.1", NULL };
static const char *const nvrtc_names[] = {
	"libnvrtc.so.13",   "libnvrtc.so.12", "libnvrtc.so.11.2",
	"libnvrtc.so.11.1", "libnvrtc.so",    NULL,
};

static int open_libraries(struct plx_kernels *k, struct plx_error *err)
{
	const struct plx_symbol of_driver[] = {
		{ "cuModuleLoadData", &k->load },
		{ "cuModuleUnload", &k->unload },
		{ "cuModuleGetFunction", &k->find },
		{ "cuLaunchKernel", &k->launch },
		{ "cuGetErrorString", &k->text },
	};
	const struct plx_symbol of_nvrtc[] = {
		{ "nvrtcCreateProgram", &k->program_create },
		{ "nvrtcDestroyProgram", &k->program_destroy },
		{ "nvrtcCompileProgram", &k->compile },
		{ "nvrtcGetPTXSize", &k->ptx_size },
		{ "nvrtcGetPTX", &k->ptx },
		{ "nvrtcGetProgramLogSize", &k->log_size },
		{ "nvrtcGetProgramLog", &k->log },
		{ "nvrtcGetErrorString", &k->nvrtc_text },
	};
	const struct plx_symbol of_newer_nvrtc[] = {
		{ "nvrtcGetCUBINSize", &k->cubin_size },
		{ "nvrtcGetCUBIN", &k->cubin },
	};
	void *driver = plx_cuda_open(driver_names, err);
	void *nvrtc = driver ? plx_cuda_open(nvrtc_names, err) : NULL;

	if (!nvrtc ||
	    plx_cuda_find(driver, of_driver, ARRAY_SIZE(of_driver), err) < 0 ||
	    plx_cuda_find(nvrtc, of_nvrtc, ARRAY_SIZE(of_nvrtc), err) < 0)
		return -1;
	if (plx_cuda_find(nvrtc, of_newer_nvrtc, ARRAY_SIZE(of_newer_nvrtc),
			  NULL) < 0)
		k->cubin = NULL;
	return 0;
}

static int driver_ok(const struct plx_kernels *k, CUresult code,
		     const char *what, struct plx_error *err)
{
	const char *text = NULL;

	if (code == CUDA_SUCCESS)
		return 0;
	if (k->text(code, &text) != CUDA_SUCCESS || !text)
		text = "unknown error";
	return plx_fail(err, "%s failed: %s", what, text);
}

static int nvrtc_ok(const struct plx_kernels *k, nvrtcResult code,
		    const char *what, struct plx_error *err)
{
	if (code == NVRTC_SUCCESS)
		return 0;
	return plx_fail(err, "%s failed: %s", what, k->nvrtc_text(code));
}

/* The first line of what the compiler says. */
static int compile_failed(const struct plx_kernels *k, nvrtcProgram program,
			  struct plx_error *err)
{
	size_t size = 0;
	char *log = NULL;

	plx_fail(err, "NVRTC cannot compile our kernels");
	if (k->log_size(program, &size) == NVRTC_SUCCESS && size > 1)
		log = calloc(1, size + 1);
	if (log && k->log(program, log) == NVRTC_SUCCESS)
		plx_fail(err, "NVRTC: %.*s", (int) strcspn(log, "\n"), log);
	free(log);
	return -1;
}

/* The current device's code as "sm_XY"; -1 without err. */
static int architecture(char text[64])
{
	const struct plx_cuda *c = plx_cuda_get(NULL);
	int device = 0;
	int major = 0;
	int minor = 0;

	if (!c || c->get_device(&device) != cudaSuccess ||
	    c->attribute(&major, cudaDevAttrComputeCapabilityMajor, device) !=
		    cudaSuccess ||
	    c->attribute(&minor, cudaDevAttrComputeCapabilityMinor, device) !=
		    cudaSuccess)
		return -1;
	snprintf(text, 64, "--gpu-architecture=sm_%d%d", major, minor);
	return 0;
}

/* Code that the driver takes, the caller's to free; NULL with err set. */
static char *image_of(const struct plx_kernels *k, nvrtcProgram program,
		      bool cubin, struct plx_error *err)
{
	char *image = NULL;
	size_t size = 0;
	nvrtcResult code = cubin ? k->cubin_size(program, &size)
				 : k->ptx_size(program, &size);

	if (nvrtc_ok(k, code, "size of NVRTC's code", err) < 0)
		return NULL;
	image = calloc(1, size + 1);
	if (!image) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	code = cubin ? k->cubin(program, image) : k->ptx(program, image);
	if (nvrtc_ok(k, code, "NVRTC's code", err) == 0)
		return image;
	free(image);
	return NULL;
}

/*
 * For exactly this device: it loads fastest, and with a driver older than
 * NVRTC. Or, where NVRTC does not know it, for the oldest one, translated by
 * the driver.
 */
static int build(struct plx_kernels *k, nvrtcProgram program,
		 struct plx_error *err)
{
	char text[64];
	const char *options[] = { text };
	bool exact = k->cubin && architecture(text) == 0 &&
		     k->compile(program, 1, options) == NVRTC_SUCCESS;
	char *image;
	int rc;

	if (!exact && k->compile(program, 0, NULL) != NVRTC_SUCCESS)
		return compile_failed(k, program, err);
	image = image_of(k, program, exact, err);
	if (!image)
		return -1;
	rc = driver_ok(k, k->load(&k->module, image), "cuModuleLoadData", err);
	if (rc < 0)
		k->module = NULL;
	free(image);
	return rc;
}

struct plx_kernels *plx_kernels_create(const char *source,
				       struct plx_error *err)
{
	struct plx_kernels *k = calloc(1, sizeof(*k));
	nvrtcProgram program = NULL;
	int rc = -1;

	if (!k) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	if (open_libraries(k, err) == 0 &&
	    nvrtc_ok(k,
		     k->program_create(&program, source, "pollux.cu", 0, NULL,
				       NULL),
		     "nvrtcCreateProgram", err) == 0) {
		rc = build(k, program, err);
		(void) k->program_destroy(&program);
	}
	if (rc == 0)
		return k;
	plx_kernels_destroy(k);
	return NULL;
}

void plx_kernels_destroy(struct plx_kernels *k)
{
	if (k && k->module)
		(void) k->unload(k->module);
	free(k);
}

void *plx_kernels_find(struct plx_kernels *k, const char *name,
		       struct plx_error *err)
{
	CUfunction function = NULL;

	if (driver_ok(k, k->find(&function, k->module, name), name, err) < 0)
		return NULL;
	return function;
}

int plx_kernels_launch(struct plx_kernels *k, void *function,
		       unsigned int blocks, unsigned int threads,
		       void **arguments, struct plx_error *err)
{
	return driver_ok(k,
			 k->launch(function, blocks, 1, 1, threads, 1, 1, 0,
				   CU_STREAM_LEGACY, arguments, NULL),
			 "cuLaunchKernel", err);
}
