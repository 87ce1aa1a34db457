/* SPDX-License-Identifier: MIT */
/*
 * gpu.c - as much of CUDA as the example needs
 *
 * Tried with what stands in for CUDA only (tests/unit/fake_cuda.h), never yet
 * on a GPU.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

#define BLOCK 256 /* threads */

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2 };     /* cudaMemcpyKind */
enum { ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 }; /* cudaDeviceAttr */

struct gpu {
	void *module;
	/* CUDA's runtime */
	int (*count)(int *count);
	int (*choose)(int device);
	int (*attribute)(int *value, int what, int device);
	int (*alloc)(void **data, size_t bytes);
	int (*release)(void *data);
	int (*copy)(void *to, const void *from, size_t bytes, int kind);
	const char *(*text)(int code);
	/* the driver */
	int (*load)(void **module, const void *image);
	int (*unload)(void *module);
	int (*find)(void **function, void *module, const char *name);
	int (*launch)(void *function, unsigned int blocks_x,
		      unsigned int blocks_y, unsigned int blocks_z,
		      unsigned int threads_x, unsigned int threads_y,
		      unsigned int threads_z, unsigned int shared, void *stream,
		      void **arguments, void **extra);
	/* NVRTC */
	int (*create)(void **program, const char *source, const char *name,
		      int headers, const char *const *sources,
		      const char *const *names);
	int (*destroy)(void **program);
	int (*compile)(void *program, int count, const char *const *options);
	int (*size)(void *program, size_t *size);
	int (*image)(void *program, char *image);
};

static char sentence[256] = "no error";

static int complain(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, args);
	va_end(args);
	return -1;
}

const char *gpu_error(void)
{
	return sentence;
}

static int check(struct gpu *gpu, int code, const char *what)
{
	return code ? complain("%s: %s", what, gpu->text(code)) : 0;
}

/* ---- libraries ---- */

static void *open_first(const char *const *names)
{
	void *library = NULL;

	for (int i = 0; names[i] && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		complain("no GPU can be used: %s", dlerror());
	return library;
}

static int find_calls(struct gpu *gpu)
{
	static const char *const names[3][5] = {
		{ "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
		  "libcudart.so", NULL },
		{ "libcuda.so.1", NULL },
		{ "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
		  "libnvrtc.so", NULL },
	};
	const struct {
		int library;
		const char *name;
		void *slot;
	} calls[] = {
		{ 0, "cudaGetDeviceCount", &gpu->count },
		{ 0, "cudaSetDevice", &gpu->choose },
		{ 0, "cudaDeviceGetAttribute", &gpu->attribute },
		{ 0, "cudaMalloc", &gpu->alloc },
		{ 0, "cudaFree", &gpu->release },
		{ 0, "cudaMemcpy", &gpu->copy },
		{ 0, "cudaGetErrorString", &gpu->text },
		{ 1, "cuModuleLoadData", &gpu->load },
		{ 1, "cuModuleUnload", &gpu->unload },
		{ 1, "cuModuleGetFunction", &gpu->find },
		{ 1, "cuLaunchKernel", &gpu->launch },
		{ 2, "nvrtcCreateProgram", &gpu->create },
		{ 2, "nvrtcDestroyProgram", &gpu->destroy },
		{ 2, "nvrtcCompileProgram", &gpu->compile },
		{ 2, "nvrtcGetCUBINSize", &gpu->size },
		{ 2, "nvrtcGetCUBIN", &gpu->image },
	};
	void *libraries[3];

	for (int i = 0; i < 3; i++) {
		libraries[i] = open_first(names[i]);
		if (!libraries[i])
			return -1;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *call = dlsym(libraries[calls[i].library], calls[i].name);

		if (!call)
			return complain("CUDA has no %s", calls[i].name);
		*(void **) calls[i].slot = call;
	}
	return 0;
}

/* ---- life ---- */

/* The ranks of a node take turns, where each does not see its own alone. */
static int choose(struct gpu *gpu, int *device)
{
	const char *rank = getenv("LOCAL_RANK");
	int count = 0;

	if (!rank)
		rank = getenv("SLURM_LOCALID");
	if (!rank)
		rank = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
	if (check(gpu, gpu->count(&count), "no GPU can be used") < 0)
		return -1;
	if (count < 1)
		return complain("there is no GPU");
	*device = (rank ? atoi(rank) : 0) % count;
	if (check(gpu, gpu->choose(*device), "cudaSetDevice") < 0)
		return -1;
	/* The first call that needs it makes a context. */
	return check(gpu, gpu->release(NULL), "start of the GPU");
}

static int load(struct gpu *gpu, void *program)
{
	size_t size = 0;
	char *image = NULL;
	int rc = -1;

	if (gpu->size(program, &size) == 0)
		image = calloc(1, size + 1);
	if (!image || gpu->image(program, image) != 0)
		complain("the kernels cannot be had from NVRTC");
	else if (gpu->load(&gpu->module, image) != 0)
		complain("the kernels cannot be loaded");
	else
		rc = 0;
	free(image);
	return rc;
}

static int build(struct gpu *gpu, int device, const char *source)
{
	char target[64];
	const char *options[] = { target };
	void *program = NULL;
	int major = 0;
	int minor = 0;
	int rc;

	if (check(gpu, gpu->attribute(&major, ATTRIBUTE_MAJOR, device),
		  "cudaDeviceGetAttribute") < 0 ||
	    check(gpu, gpu->attribute(&minor, ATTRIBUTE_MINOR, device),
		  "cudaDeviceGetAttribute") < 0)
		return -1;
	snprintf(target, sizeof(target), "--gpu-architecture=sm_%d%d", major,
		 minor);
	if (gpu->create(&program, source, "mlp.cu", 0, NULL, NULL) != 0)
		return complain("NVRTC does not start");
	if (gpu->compile(program, 1, options) != 0)
		rc = complain("NVRTC cannot compile the kernels for sm_%d%d",
			      major, minor);
	else
		rc = load(gpu, program);
	gpu->destroy(&program);
	return rc;
}

struct gpu *gpu_open(const char *source)
{
	struct gpu *gpu = calloc(1, sizeof(*gpu));
	int device = 0;

	if (!gpu) {
		complain("out of memory");
		return NULL;
	}
	if (find_calls(gpu) == 0 && choose(gpu, &device) == 0 &&
	    build(gpu, device, source) == 0)
		return gpu;
	gpu_close(gpu);
	return NULL;
}

void gpu_close(struct gpu *gpu)
{
	if (gpu && gpu->module)
		gpu->unload(gpu->module);
	free(gpu);
}

/* ---- work ---- */

void *gpu_alloc(struct gpu *gpu, size_t bytes)
{
	void *data = NULL;

	if (check(gpu, gpu->alloc(&data, bytes), "cudaMalloc") < 0)
		return NULL;
	return data;
}

void gpu_free(struct gpu *gpu, void *data)
{
	if (data)
		gpu->release(data);
}

int gpu_write(struct gpu *gpu, void *to, const void *from, size_t bytes)
{
	return check(gpu, gpu->copy(to, from, bytes, HOST_TO_DEVICE),
		     "copy to the GPU");
}

int gpu_read(struct gpu *gpu, void *to, const void *from, size_t bytes)
{
	return check(gpu, gpu->copy(to, from, bytes, DEVICE_TO_HOST),
		     "copy from the GPU");
}

void *gpu_kernel(struct gpu *gpu, const char *name)
{
	void *kernel = NULL;

	if (gpu->find(&kernel, gpu->module, name) != 0) {
		complain("there is no kernel \"%s\"", name);
		return NULL;
	}
	return kernel;
}

int gpu_run(struct gpu *gpu, void *kernel, size_t threads, void **arguments)
{
	size_t blocks = (threads + BLOCK - 1) / BLOCK;
	int code;

	if (!threads)
		return 0;
	code = gpu->launch(kernel, (unsigned int) blocks, 1, 1, BLOCK, 1, 1, 0,
			   NULL, arguments, NULL);
	return code ? complain("a kernel cannot be started (CUDA error %d)",
			       code)
		    : 0;
}
