/* SPDX-License-Identifier: MIT */
/* copied_blob.h - a blob that is saved and loaded by a copy of user's bytes */
#ifndef PLX_UNIT_COPIED_BLOB_H
#define PLX_UNIT_COPIED_BLOB_H

#include <string.h>

static int copied_blob_save(void *user, void *bytes, size_t size)
{
	memcpy(bytes, user, size);
	return 0;
}

static int copied_blob_load(void *user, const void *bytes, size_t size)
{
	memcpy(user, bytes, size);
	return 0;
}

#endif
