/* program_data.h - which values of a program are data. Code is full of numbers: sizes,
 * comparisons, messages of exceptions. A picture leaves them out, as it would hide what
 * happens to tensors.
 *
 * Data are tensors, what may be one, and lists of them: arguments of the program whose
 * type allows it, parameters and buffers, new tensors, and whatever is made of data.
 * Some operations make numbers of anything: aten::size, prim::device. */
#ifndef STUDY_PROGRAM_DATA_H
#define STUDY_PROGRAM_DATA_H

#include "base/arena.h"
#include "model/model.h"

struct program_data {
    bool *value; /* by value */
    bool *op;    /* by operation: some of its results are data */
};

/* In the arena; linear in the program. -1: spent. */
int program_data_find(struct program_data *ret_data, const struct program *program,
                      const struct model *model, struct arena *arena);
/* A number that matters is data as well, with the numbers that it is made of: a result of
 * the program. `stack` has room for all values. */
void program_data_add(struct program_data *data, const struct program *program,
                      uint32_t value, uint32_t *stack);

#endif
