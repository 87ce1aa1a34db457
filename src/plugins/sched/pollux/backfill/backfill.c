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

/* Path of the file in the first of the folders that has it, or NULL. */
static char *_find(const char *all)
{
	char *folders = xstrdup(all);
	char *path = NULL;
	char *rest = NULL;

	for (char *folder = folders ? strtok_r(folders, ":", &rest) : NULL;
	     folder; folder = strtok_r(NULL, ":", &rest)) {
		path = xstrdup_printf("%s/%s", folder, FILE_NAME);
		if (!access(path, R_OK))
			break;
		xfree(path);
	}
	xfree(folders);
	return path;
}

static void *_symbol(const char *name)
{
	void *symbol = dlsym(plugin.handle, name);

	if (!symbol)
		error("sched/pollux: %s has no %s()", FILE_NAME, name);
	return symbol;
}

/* It must be of this very Slurm: it sees the same structures. */
static int _load(const char *path)
{
	const uint32_t *version = NULL;

	plugin.handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!plugin.handle) {
		error("sched/pollux: %s: %s", path, dlerror());
		return -1;
	}
	version = _symbol("plugin_version");
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

static void _unload(void)
{
	if (plugin.handle)
		dlclose(plugin.handle);
	memset(&plugin, 0, sizeof(plugin));
}

void pollux_backfill_start(const char *folders)
{
	char *path = _find(folders);

	if (plugin.handle)
		goto done;
	if (!path) {
		error("sched/pollux: no %s in PluginDir=%s: jobs are started "
		      "in the order of their priority and never backfilled",
		      FILE_NAME, folders ? folders : "");
		goto done;
	}
	if (_load(path) < 0 || plugin.init() != SLURM_SUCCESS) {
		error("sched/pollux: %s cannot be used: jobs are not "
		      "backfilled",
		      path);
		_unload();
		goto done;
	}
	info("sched/pollux: %s runs beside", path);
done:
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
