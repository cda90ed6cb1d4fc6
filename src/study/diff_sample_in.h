/* diff_sample_in.h - for tests: small models over numbers in memory, from lines.
 *
 *     struct model *m = diff_sample("layer1.weight 4x3 7\n"
 *                                   "layer1.bias 4 8\n");
 *
 * A line is a dotted name, a shape and the seed that its float32 values come from: 0
 * gives zeros, equal seeds equal values; "7~" the values of 7, each a little larger;
 * "7'" the transpose of the values of 7; "7+8+9" the values of 7, 8 and 9 one behind
 * the other; "=name" in place of the seed ties it to a tensor above; "lost": its data
 * is missing. A name that ends in running_mean is a buffer. "f16" behind the seed makes
 * a float16 of whole numbers. Instead of a shape, "value N" makes a plain integer,
 * "dict" marks a state_dict, "class NAME" gives a module its class. */
#ifndef STUDY_DIFF_SAMPLE_IN_H
#define STUDY_DIFF_SAMPLE_IN_H

#include "model/model.h"

struct model *diff_sample(const char *lines); /* free it with model_free() */

#endif
