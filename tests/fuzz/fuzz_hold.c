/* SPDX-License-Identifier: MIT */
/* fuzz_hold.c - who had the folder of checkpoints before, as the file says */

#include "fuzz.h"

#include "launcher/loop/folder_lock.c"

#include "scratch.h"

int fuzz_hold(const uint8_t *data, size_t size)
{
	static const struct scratch_input none = { NULL, 0 };
	char owner[LOCK_SIZE];
	uint64_t newest = 0;
	int fd;

	if (!size)
		return 0;
	scratch_put("hold", (struct scratch_input){ data, size });
	fd = plx_dir_file_at(scratch_folder(), "hold", O_RDONLY, NULL);
	MUST(fd >= 0);
	read_lock(fd, &newest, owner);
	MUST(owner[0] && strlen(owner) < sizeof(owner));
	MUST(!strchr(owner, '\n'));
	close(fd);
	scratch_put("hold", none);
	return 0;
}
