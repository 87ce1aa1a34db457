/* SPDX-License-Identifier: MIT */
/*
 * test_planted.c - what others lay into a folder of checkpoints harms nobody:
 * neither the files that it points at, nor the training
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/disk/folder.h"
#include "agent/disk/manifest.h"
#include "agent/state/save.h"
#include "agent/state/store.h"
#include "save_world.h"
#include "unit.h"

#define NOBODY 65534
#define THESIS "years of work"
#define LEFT   "step-000000000007.g1.1-0badbeef.tmp"
#define LATE   "step-999999999999"

/* Two folders in one: the checkpoints', and what somebody wants to harm. */
static char root[64];
static char folder[80];
static char victim[80];

static const char *in(const char *where, const char *name)
{
	static char path[2][256];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", where, name);
	return path[turn];
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int setup(void **state)
{
	(void) state;
	strcpy(root, "/tmp/pollux-planted.XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(folder, sizeof(folder), "%s/checkpoints", root);
	snprintf(victim, sizeof(victim), "%s/victim", root);
	assert_int_equal(0, mkdir(folder, 0700));
	assert_int_equal(0, mkdir(victim, 0700));
	write_file(in(victim, "thesis"), THESIS);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void) state;
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	assert_int_equal(0, system(command));
	return 0;
}

static void assert_unharmed(void)
{
	char text[64] = "";
	FILE *file = fopen(in(victim, "thesis"), "r");

	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(THESIS, text);
}

static void plant(const char *name, const char *target)
{
	assert_int_equal(0, symlink(target, in(folder, name)));
}

static bool is_there(const char *name)
{
	struct stat st;

	return lstat(in(folder, name), &st) == 0;
}

/* ---- links ---- */

static void cleaning_up_removes_a_link_and_not_what_it_leads_to(void **state)
{
	(void) state;
	plant(LEFT, victim);
	plx_folder_clean(folder, 1, "");
	assert_unharmed();
	assert_false(is_there(LEFT));
}

static void so_does_setting_aside_what_is_broken(void **state)
{
	const struct plx_folder_entry entry = { .step = 7 };

	(void) state;
	plant("step-000000000007.broken", victim);
	plant("step-000000000007", victim);
	plx_folder_refuse(folder, &entry);
	assert_unharmed();
}

static void a_fence_that_is_a_link_is_not_written(void **state)
{
	struct plx_fence fence;
	struct plx_error err;

	(void) state;
	plant("fence", in(victim, "thesis"));
	assert_int_equal(0, plx_fence_init(&fence, folder, 3, &err));
	assert_int_equal(PLX_FENCE_FOREIGN, plx_fence_enter(&fence, &err));
	assert_unharmed();
	assert_string_equal("cannot open the fence: it is a symbolic link",
			    err.text);
	assert_false(plx_fence_passed(&fence));
	assert_int_equal(-1, plx_fence_retake(&fence, 4, &err));
	assert_unharmed();
}

static void nor_one_that_has_another_name(void **state)
{
	struct plx_fence fence;
	struct plx_error err;

	(void) state;
	assert_int_equal(0, link(in(victim, "thesis"), in(folder, "fence")));
	assert_int_equal(0, plx_fence_init(&fence, folder, 3, &err));
	assert_int_equal(PLX_FENCE_FOREIGN, plx_fence_enter(&fence, &err));
	assert_unharmed();
}

static void a_pipe_keeps_nobody_waiting(void **state)
{
	struct plx_fence fence;
	struct plx_error err;

	(void) state;
	assert_int_equal(0, mkfifo(in(folder, "fence"), 0600));
	assert_int_equal(0, plx_fence_init(&fence, folder, 3, &err));
	alarm(5);
	assert_int_equal(PLX_FENCE_FOREIGN, plx_fence_enter(&fence, &err));
	alarm(0);
	assert_string_equal("cannot open the fence: it is not a file",
			    err.text);
}

static void a_commit_replaces_a_link_of_its_name(void **state)
{
	struct plx_error err;

	(void) state;
	plant("step-000000000007", victim);
	assert_int_equal(0, mkdir(in(folder, "new"), 0700));
	write_file(in(folder, "new/model"), "weights");
	assert_int_equal(0, plx_folder_commit(folder, "new", 7, false, &err));
	assert_unharmed();
	assert_int_equal(0, access(in(folder, "step-000000000007/model"), 0));
	assert_false(is_there("new"));
}

static void a_planted_newest_one_pushes_no_other_out(void **state)
{
	(void) state;
	assert_int_equal(0, mkdir(in(folder, "step-000000000001"), 0700));
	plant(LATE, victim);
	plx_folder_prune(folder, 1, 0);
	assert_unharmed();
	assert_true(is_there("step-000000000001"));
}

/* ---- owners and modes ---- */

/* A folder of another user: made so by root, else the system's. */
static const char *foreign_folder(void)
{
	if (geteuid() != 0)
		return "/usr";
	assert_int_equal(0, chown(folder, NOBODY, NOBODY));
	return folder;
}

static void another_users_folder_is_refused_in_a_sentence(void **state)
{
	const char *foreign = foreign_folder();
	struct plx_error err = { .text = "" };
	char want[256];

	(void) state;
	snprintf(want, sizeof(want),
		 "cannot use folder %s: it belongs to another user (uid %u), "
		 "not to you (uid %u)",
		 foreign, geteuid() ? 0 : NOBODY, geteuid());
	assert_int_equal(-1, plx_folder_make(foreign, &err));
	assert_string_equal(want, err.text);
}

static void one_that_anybody_may_write_to_is_refused(void **state)
{
	struct plx_error err = { .text = "" };

	(void) state;
	assert_int_equal(0, chmod(folder, 0777));
	assert_int_equal(-1, plx_folder_make(folder, &err));
	assert_non_null(strstr(err.text, "others may write to it: take that "
					 "right away first (chmod o-w)"));
	assert_int_equal(0, chmod(folder, 01777));
	assert_int_equal(0, plx_folder_make(folder, &err));
	assert_int_equal(0, chmod(folder, 0770));
	assert_int_equal(0, plx_folder_make(folder, &err));
}

static void a_link_of_the_user_leads_to_his_folder(void **state)
{
	struct plx_error err = { .text = "" };
	char link[96];

	(void) state;
	snprintf(link, sizeof(link), "%s/link", root);
	assert_int_equal(0, symlink(folder, link));
	assert_int_equal(0, plx_folder_make(link, &err));
	if (geteuid() != 0)
		return;
	assert_int_equal(0, lchown(link, NOBODY, NOBODY));
	assert_int_equal(-1, plx_folder_make(link, &err));
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(0, stat(path, &st));
	return st.st_mode & 07777;
}

/* ---- a training ---- */

static void a_training_saves_for_its_user_alone(void **state)
{
	struct world *w = *state;
	struct pollux *p = world_run(w);
	char path[256];

	umask(0);
	world_step(w, p, 1);
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	pollux_destroy(p);
	assert_int_equal(0600, mode_of(world_path(w, "fence")));
	assert_int_equal(0700, mode_of(world_path(w, "step-000000000001")));
	snprintf(path, sizeof(path), "%s",
		 world_path(w, "step-000000000001/" PLX_MANIFEST_FILE));
	assert_int_equal(0600, mode_of(path));
}

static void a_training_goes_on_past_a_planted_checkpoint(void **state)
{
	struct world *w = *state;
	struct pollux *p = world_run(w);
	struct plx_error err;

	world_step(w, p, 1);
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	pollux_destroy(p);
	assert_int_equal(0, symlink("/tmp", world_path(w, LATE)));
	p = world_start(w, &err);
	assert_non_null(p);
	assert_int_equal(1, p->cursor.step);
	pollux_destroy(p);
}

static void a_training_does_not_begin_behind_a_planted_fence(void **state)
{
	struct world *w = *state;
	struct plx_error err;

	assert_int_equal(0, symlink("/tmp/nothing", world_path(w, "fence")));
	assert_null(world_start(w, &err));
	assert_string_equal("cannot open the fence: it is a symbolic link",
			    err.text);
}

static void a_checkpoint_of_another_user_is_not_read(void **state)
{
	struct world *w = *state;
	struct pollux *p = world_run(w);
	struct plx_error err;

	if (geteuid() != 0)
		skip();
	world_step(w, p, 1);
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	pollux_destroy(p);
	assert_int_equal(0, chown(world_path(w, "step-000000000001"), NOBODY,
				  NOBODY));
	assert_null(world_start(w, &err));
	assert_int_equal(0, chown(world_path(w, "step-000000000001"), 0, 0));
	assert_int_equal(
		0, chown(world_path(w, "step-000000000001/" PLX_MANIFEST_FILE),
			 NOBODY, NOBODY));
	assert_null(world_start(w, &err));
}

#define PLANTED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define IN_WORLD(test)                                                         \
	cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLANTED(cleaning_up_removes_a_link_and_not_what_it_leads_to),
		PLANTED(so_does_setting_aside_what_is_broken),
		PLANTED(a_fence_that_is_a_link_is_not_written),
		PLANTED(nor_one_that_has_another_name),
		PLANTED(a_pipe_keeps_nobody_waiting),
		PLANTED(a_commit_replaces_a_link_of_its_name),
		PLANTED(a_planted_newest_one_pushes_no_other_out),
		PLANTED(another_users_folder_is_refused_in_a_sentence),
		PLANTED(one_that_anybody_may_write_to_is_refused),
		PLANTED(a_link_of_the_user_leads_to_his_folder),
		IN_WORLD(a_training_saves_for_its_user_alone),
		IN_WORLD(a_training_goes_on_past_a_planted_checkpoint),
		IN_WORLD(a_training_does_not_begin_behind_a_planted_fence),
		IN_WORLD(a_checkpoint_of_another_user_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
