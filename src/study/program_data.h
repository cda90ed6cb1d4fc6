/* program_data.h - finds the values of a program that are data. Code is full of
 * numbers: sizes, comparisons, messages of exceptions. A graph omits them, because they
 * would hide what happens to tensors.
 *
 * Data are tensors, values that may be tensors, and lists of them: arguments of the
 * program whose type allows it, parameters and buffers, new tensors, and everything
 * computed from data. Some operations always return numbers: aten::size,
 * prim::device. */
#ifndef STUDY_PROGRAM_DATA_H
#define STUDY_PROGRAM_DATA_H

#include "base/arena.h"
#include "model/model.h"

struct program_data {
    bool *value; /* by value */
    bool *op;    /* by operation: some of its results are data */
};

/* Allocates in the arena; linear in the program. -1: the arena is spent. */
int program_data_find(struct program_data *ret_data, const struct program *program,
                      const struct model *model, struct arena *arena);
/* Marks a number as data as well, with the numbers that it is computed from: for a
 * result of the program. `stack` has room for all values. */
void program_data_add(struct program_data *data, const struct program *program,
                      uint32_t value, uint32_t *stack);

#endif
