/* SPDX-License-Identifier: GPL-2.0-or-later */
/* backfill.c - Slurm's own backfill scheduler, run beside ours */

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "common/loaded.h"
#include "common/slurm_compat.h"
#include "sched/pollux/backfill/backfill.h"

#define FILE_NAME "sched_backfill.so"

static struct {
	void *handle; /* NULL: not running */
	int (*init)(void);
	void (*fini)(void);
	int (*reconfig)(void);
} plugin;

static void _unload(void)
{
	if (plugin.handle)
		dlclose(plugin.handle);
	memset(&plugin, 0, sizeof(plugin));
}

static void *_symbol(const char *name)
{
	void *symbol = dlsym(plugin.handle, name);

	if (!symbol)
		error("sched/pollux: %s has no %s()", FILE_NAME, name);
	return symbol;
}

/* It must be of this very Slurm: it sees the same structures. */
static int _check(const char *path)
{
	const uint32_t *version = _symbol("plugin_version");

	*(void **) &plugin.init = _symbol("init");
	*(void **) &plugin.fini = _symbol("fini");
	*(void **) &plugin.reconfig = _symbol("sched_p_reconfig");
	if (!version || !plugin.init || !plugin.fini || !plugin.reconfig)
		return -1;
	if (*version != pollux_loaded_release()) {
		error("sched/pollux: %s is of another version of Slurm", path);
		return -1;
	}
	return 0;
}

/* One of that name may be us: then we stand in for the one that is wanted. */
static bool _is_ours(void)
{
	const char *type = dlsym(plugin.handle, "plugin_type");

	return type && !strcmp(type, "sched/pollux");
}

/* 0, -1 with a line logged, or 1: go on looking. */
static int _open(const char *path)
{
	if (access(path, R_OK))
		return 1;
	plugin.handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!plugin.handle) {
		error("sched/pollux: %s: %s", path, dlerror());
		return -1;
	}
	if (_is_ours()) {
		_unload();
		return 1;
	}
	return _check(path);
}

/* In the first of the folders that has it. As _open(); path is the caller's. */
static int _find(const char *all, char **path)
{
	char *folders = xstrdup(all);
	char *rest = NULL;
	int rc = 1;

	for (char *folder = folders ? strtok_r(folders, ":", &rest) : NULL;
	     folder && rc > 0; folder = strtok_r(NULL, ":", &rest)) {
		xfree(*path);
		*path = xstrdup_printf("%s/%s", folder, FILE_NAME);
		rc = _open(*path);
	}
	xfree(folders);
	return rc;
}

void pollux_backfill_start(const char *folders)
{
	char *path = NULL;
	int rc = 0;

	if (plugin.handle)
		return;
	rc = _find(folders, &path);
	if (rc > 0) {
		error("sched/pollux: no %s in PluginDir=%s: jobs "
		      "are started in the order of their priority and never "
		      "backfilled",
		      FILE_NAME, folders ? folders : "");
	} else if (rc < 0 || plugin.init() != SLURM_SUCCESS) {
		error("sched/pollux: %s cannot be used: jobs are not "
		      "backfilled",
		      path);
		_unload();
	} else {
		info("sched/pollux: %s runs beside", path);
	}
	xfree(path);
}

void pollux_backfill_reconfig(void)
{
	if (plugin.handle)
		plugin.reconfig();
}

void pollux_backfill_stop(void)
{
	if (plugin.handle)
		plugin.fini();
	_unload();
}
