/* SPDX-License-Identifier: MIT */
/* fuzz_images.c - pollux-train's images and labels, in IDX files */

#include "../../examples/data.h"
#include "fuzz.h"
#include "scratch.h"

/* The labels are as many as an image set has that begins so. */
int fuzz_images(const uint8_t *data, size_t size)
{
	struct scratch_input images = { data, size };
	struct scratch_input labels = { data, size };
	char error[DATA_ERROR_SIZE] = "";
	struct data read;
	float features[4096];
	char paths[2][4200];

	if (size > 8) {
		images.size = size / 2;
		labels.data += images.size;
		labels.size -= images.size;
	}
	scratch_put("images", images);
	scratch_put("labels", labels);
	snprintf(paths[0], sizeof(paths[0]), "%s/images", scratch_folder());
	snprintf(paths[1], sizeof(paths[1]), "%s/labels", scratch_folder());
	if (data_idx(&read, paths[0], paths[1], error) < 0)
		MUST(strlen(error) < sizeof(error));
	else if (read.features <= 4096)
		MUST(data_get(&read, read.samples - 1, features) <
		     read.classes);
	data_release(&read);
	return 0;
}
