/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loaded.c - is the Slurm that loads a plugin the one it was built for? */

#define _GNU_SOURCE /* dladdr1 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include <slurm/slurm.h>

#include "common/loaded.h"

#define OBJECTS_MAX 256

#define PARTS(version)                                                         \
	((version) >> 16) & 0xff, ((version) >> 8) & 0xff, (version) &0xff

/* Written once, by the dynamic linker's thread, before anybody reads. */
static struct {
	uint32_t release; /* 0: not known */
	char folder[PATH_MAX];
} slurm;

struct objects {
	const char *names[OBJECTS_MAX];
	int count;
};

static int _note(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct objects *objects = arg;

	(void) size;
	if (info->dlpi_name && info->dlpi_name[0] == '/' &&
	    objects->count < OBJECTS_MAX)
		objects->names[objects->count++] = info->dlpi_name;
	return 0;
}

/* "select/cons_tres" and so on, but none of ours. */
static bool _is_slurms(const char *type)
{
	return type && strchr(type, '/') && !strstr(type, "/pollux");
}

static bool _learn_from(const char *path)
{
	void *plugin = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	const uint32_t *version = NULL;
	const char *type = NULL;
	const char *slash = strrchr(path, '/');

	if (!plugin)
		return false;
	type = dlsym(plugin, "plugin_type");
	version = dlsym(plugin, "plugin_version");
	if (version && _is_slurms(type)) {
		slurm.release = *version;
		snprintf(slurm.folder, sizeof(slurm.folder), "%.*s",
			 (int) (slash - path), path);
	}
	dlclose(plugin);
	return slurm.release;
}

void pollux_loaded_learn(uint32_t *version)
{
	struct objects objects = { .count = 0 };

	dl_iterate_phdr(_note, &objects);
	for (int i = 0; i < objects.count; i++) {
		if (_learn_from(objects.names[i])) {
			*version = slurm.release;
			return;
		}
	}
}

uint32_t pollux_loaded_release(void)
{
	return slurm.release ? slurm.release : SLURM_VERSION_NUMBER;
}

const char *pollux_loaded_folder(void)
{
	return slurm.folder[0] ? slurm.folder : NULL;
}

static bool _may_be_ours(const char *path)
{
	const char *file = strrchr(path, '/');

	return file && (!strcmp(file, "/sched_pollux.so") ||
			!strcmp(file, "/sched_backfill.so"));
}

void *pollux_loaded_scheduler(void)
{
	struct objects objects = { .count = 0 };

	dl_iterate_phdr(_note, &objects);
	for (int i = 0; i < objects.count; i++) {
		void *plugin = NULL;
		const char *type = NULL;

		if (_may_be_ours(objects.names[i]))
			plugin = dlopen(objects.names[i],
					RTLD_LAZY | RTLD_NOLOAD);
		if (plugin)
			type = dlsym(plugin, "plugin_type");
		if (type && !strcmp(type, "sched/pollux"))
			return plugin;
		if (plugin)
			dlclose(plugin);
	}
	return NULL;
}

/* An address in the dynamic section; most systems have moved it already. */
static const void *_at(const struct link_map *map, ElfW(Addr) address)
{
	return (const void *) (address < map->l_addr ? map->l_addr + address
						     : address);
}

/* What the dynamic linker knows of this plugin. */
struct table {
	const ElfW(Sym) * symbols;
	const char *names;
	uint32_t count; /* those that are not defined are among these */
};

static bool _read_table(const struct link_map *map, struct table *table)
{
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL;
	     entry++) {
		const void *at = _at(map, entry->d_un.d_ptr);

		if (entry->d_tag == DT_SYMTAB)
			table->symbols = at;
		else if (entry->d_tag == DT_STRTAB)
			table->names = at;
		else if (entry->d_tag == DT_GNU_HASH)
			/* It has those that are defined, which come last. */
			table->count = ((const uint32_t *) at)[1];
		else if (entry->d_tag == DT_HASH && !table->count)
			table->count = ((const uint32_t *) at)[1];
	}
	return table->symbols && table->names && table->count;
}

/* What compilers put in themselves may be missing. */
static bool _is_needed(const char *name)
{
	return name[0] && strncmp(name, "__", 2) && strncmp(name, "_ITM_", 5);
}

/* Not only what is called at once: Slurm binds late. */
static const char *_missing(void)
{
	struct table table = { .count = 0 };
	struct link_map *map = NULL;
	Dl_info info;

	if (!dladdr1((void *) &slurm, &info, (void **) &map, RTLD_DL_LINKMAP) ||
	    !_read_table(map, &table))
		return "its own list of symbols";
	for (uint32_t i = 1; i < table.count; i++) {
		const char *name = table.names + table.symbols[i].st_name;

		if (table.symbols[i].st_shndx == SHN_UNDEF &&
		    _is_needed(name) && !dlsym(RTLD_DEFAULT, name))
			return name;
	}
	return NULL;
}

bool pollux_loaded_wrong(char *text, size_t size)
{
	uint32_t release = pollux_loaded_release();
	const char *missing = NULL;

	if (release != SLURM_VERSION_NUMBER) {
		snprintf(
			text, size,
			"this is Slurm %u.%02u.%u and the plugin was built for "
			"%u.%02u.%u",
			PARTS(release), PARTS(SLURM_VERSION_NUMBER));
		return true;
	}
	missing = _missing();
	if (missing)
		snprintf(text, size, "this Slurm has no %s", missing);
	return missing;
}
