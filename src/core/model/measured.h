/* SPDX-License-Identifier: MIT */
/*
 * measured.h - the best batch, where measured times correct the model
 *
 * A step model is a few per cent off on any one shape, and differently for
 * each batch a GPU: enough to choose a wrong batch. What was measured on the
 * very shape is known better than any curve through all shapes.
 */
#ifndef PLX_CORE_MEASURED_H
#define PLX_CORE_MEASURED_H

#include <stddef.h>

#include "core/model/fit.h"
#include "core/model/goodput.h"

/*
 * As plx_batch_best(), but times are the model's corrected by what the rows
 * say: by as much as the model was off there, linearly between measured
 * batches a GPU, and as at the nearest beyond. The all-reduce is corrected by
 * rows of the same GPUs in as many nodes (one or more) on as many switches, the
 * pass by these or else by all; of rows with the same batch a GPU the first
 * counts. Without rows it is plx_batch_best().
 */
bool plx_batch_measured(const struct plx_goodput *job,
			const struct plx_sample *rows, size_t count,
			struct plx_shape shape, struct plx_batch *best);

/* As plx_goodput(), corrected in the same way. */
double plx_goodput_measured(const struct plx_goodput *job,
			    const struct plx_sample *rows, size_t count,
			    struct plx_shape shape, struct plx_batch batch);

#endif
