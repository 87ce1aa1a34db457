/* SPDX-License-Identifier: MIT */
/*
 * fake_nvrtc.c - kernels, compiled for the host by the C++ compiler
 *
 * FAKE_NVRTC=old      knows no architecture but the default one
 * FAKE_NVRTC=broken   cannot compile anything; broken:NAME: this file alone
 *
 * What the real NVRTC has made is loaded as well, but not run.
 *
 * FAKE_NVRTC_CACHE    folder that keeps what was compiled, for where there is
 *                     no compiler
 * POLLUX_SRCDIR       where fake_kernel.h is; CXX the compiler
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_cuda.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <cuda.h>
#include <nvrtc.h>
#pragma GCC diagnostic pop

#define EXPORT	__attribute__((visibility("default")))
#define ARGS	16 /* of a kernel at most, of 8 bytes at most */
#define MARK	"extern \"C\" __global__ void "
#define TMPNAME "/tmp/fake-nvrtc.XXXXXX"

struct _nvrtcProgram {
	const char *source; /* borrowed, as the tests' is constant */
	bool broken;
	char image[256]; /* the library made of it */
};

/* A kernel. */
struct CUfunc_st {
	void (*run)(unsigned int blocks, unsigned int threads, void **args);
	size_t (*size)(int i); /* of an argument, 0: there is none */
};

struct launch {
	struct CUfunc_st *function;
	unsigned int blocks;
	unsigned int threads;
	uint64_t args[ARGS];
};

static bool mode(const char *name)
{
	const char *text = getenv("FAKE_NVRTC");

	return text && !strcmp(text, name);
}

static bool broken_by_name(const char *name)
{
	const char *text = getenv("FAKE_NVRTC");

	return text && !strncmp(text, "broken:", 7) && !strcmp(text + 7, name);
}

/* The kernels, and for each a function that runs it on a grid. */
static void write_source(FILE *out, const char *source)
{
	fprintf(out, "#include \"%s/tests/unit/fake_kernel.h\"\n%s\n",
		getenv("POLLUX_SRCDIR"), source);
	for (const char *at = strstr(source, MARK); at;
	     at = strstr(at + 1, MARK)) {
		const char *name = at + strlen(MARK);
		int size = (int) strcspn(name, "(");

		fprintf(out,
			"extern \"C\" void run_%.*s(unsigned int blocks, "
			"unsigned int threads, void **args)\n"
			"{ fake_run(%.*s, blocks, threads, args); }\n"
			"extern \"C\" size_t size_%.*s(int i)\n"
			"{ return fake_size(%.*s, i); }\n",
			size, name, size, name, size, name, size, name);
	}
}

/* Where this source's library is kept, where it is kept. */
static bool find_kept(struct _nvrtcProgram *p)
{
	const char *folder = getenv("FAKE_NVRTC_CACHE");
	uint64_t hash = 14695981039346656037u; /* FNV-1a */

	if (!folder)
		return false;
	for (const char *at = p->source; *at; at++)
		hash = (hash ^ (unsigned char) *at) * 1099511628211u;
	snprintf(p->image, sizeof(p->image), "%s/%016llx.so", folder,
		 (unsigned long long) hash);
	return true;
}

static bool build(struct _nvrtcProgram *p)
{
	const char *compiler = getenv("CXX");
	bool kept = find_kept(p);
	char made[] = TMPNAME;
	char command[512];
	FILE *out;

	if (kept && access(p->image, R_OK) == 0)
		return true;
	close(mkstemp(made));
	snprintf(command, sizeof(command),
		 "%s -x c++ -std=c++17 -O1 -shared -fPIC -static-libgcc "
		 "-static-libstdc++ -o %s -",
		 compiler && *compiler ? compiler : "c++", made);
	out = popen(command, "w");
	if (!out)
		return false;
	write_source(out, p->source);
	if (pclose(out) != 0)
		return false;
	if (kept) {
		snprintf(command, sizeof(command), "mv %s '%s'", made,
			 p->image);
		return system(command) == 0;
	}
	snprintf(p->image, sizeof(p->image), "%s", made);
	return true;
}

EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source,
				      const char *name, int headers,
				      const char *const *sources,
				      const char *const *names)
{
	(void) sources;
	(void) names;
	*program = calloc(1, sizeof(**program));
	(*program)->source = source;
	(*program)->broken = mode("broken") || broken_by_name(name);
	return headers ? NVRTC_ERROR_INVALID_INPUT : NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
	free(*program);
	*program = NULL;
	return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count,
				       const char *const *options)
{
	if (program->broken || (mode("old") && count))
		return NVRTC_ERROR_COMPILATION;
	if (count && strcmp(options[0], "--gpu-architecture=sm_90"))
		return NVRTC_ERROR_INVALID_OPTION;
	return build(program) ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

/* Code is the name of a library. */
EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size)
{
	*size = strlen(program->image) + 1;
	return mode("old") ? NVRTC_ERROR_INVALID_PROGRAM : NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *code)
{
	strcpy(code, program->image);
	return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size)
{
	*size = strlen(program->image) + 1;
	return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *code)
{
	strcpy(code, program->image);
	return NVRTC_SUCCESS;
}

static const char complaint[] = "line 1: this is not C\nline 2: nor this\n";

EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size)
{
	(void) program;
	*size = sizeof(complaint);
	return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log)
{
	(void) program;
	strcpy(log, complaint);
	return NVRTC_SUCCESS;
}

EXPORT const char *nvrtcGetErrorString(nvrtcResult code)
{
	(void) code;
	return "an error of the fake";
}

/* ---- the driver ---- */

/* Made by the real NVRTC: taken, but it cannot be run here. */
static char real;

EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	if (!memcmp(image, "\177ELF", 4)) {
		*module = (CUmodule) &real;
		return CUDA_SUCCESS;
	}
	*module = dlopen(image, RTLD_NOW | RTLD_LOCAL);
	if (!strncmp(image, TMPNAME, strcspn(TMPNAME, "X")))
		unlink(image);
	if (!*module)
		fprintf(stderr, "fake CUDA: %s\n", dlerror());
	return *module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

EXPORT CUresult cuModuleUnload(CUmodule module)
{
	if (module != (CUmodule) &real)
		dlclose(module);
	return CUDA_SUCCESS;
}

static void *symbol(CUmodule module, const char *kind, const char *name)
{
	char full[64];

	snprintf(full, sizeof(full), "%s_%s", kind, name);
	return dlsym(module, full);
}

EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
				    const char *name)
{
	static struct CUfunc_st functions[64];
	static int count;
	struct CUfunc_st *f = &functions[count++];

	*function = f;
	if (module == (CUmodule) &real)
		return CUDA_SUCCESS;
	*(void **) &f->run = symbol(module, "run", name);
	*(void **) &f->size = symbol(module, "size", name);
	return f->run && f->size ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static bool run(void *what)
{
	struct launch *l = what;
	void *args[ARGS];

	for (int i = 0; i < ARGS; i++)
		args[i] = &l->args[i];
	l->function->run(l->blocks, l->threads, args);
	return true;
}

EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned int blocks,
			       unsigned int blocks_y, unsigned int blocks_z,
			       unsigned int threads, unsigned int threads_y,
			       unsigned int threads_z, unsigned int shared,
			       CUstream stream, void **args, void **extra)
{
	struct launch l = { function, blocks, threads, { 0 } };

	if (blocks_y * blocks_z * threads_y * threads_z != 1 || shared || extra)
		fake_die("kernels here have one dimension");
	for (int i = 0; i < ARGS && function->size(i); i++)
		memcpy(&l.args[i], args[i], function->size(i));
	for (int i = 0; i < ARGS; i++)
		fake_check_device((const void *) l.args[i]);
	fake_enqueue_kernel(stream, run, &l, sizeof(l));
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGetErrorString(CUresult code, const char **text)
{
	(void) code;
	*text = "an error of the fake";
	return CUDA_SUCCESS;
}
