/* ops_table.h - the operations that a run used as a text table, and their sums as
 * sentences. THE TABLE of its columns is in ops_table.c. */
#ifndef FACTS_OPS_TABLE_H
#define FACTS_OPS_TABLE_H

#include "base/out.h"
#include "study/op_use.h"

struct op_use_table {
    const struct run *run;          /* NULL: the operations of a file */
    const struct model *model;      /* of the program; unused if there is a run */
    const struct op_use_list *uses; /* by name and overload, in output order */
    uint32_t top;                   /* only the first rows; UINT32_MAX: all */
    unsigned width;                 /* in cells; 0: no limit */
    bool ascii;
    bool isolate; /* isolate right-to-left names */
};

int ops_table_text(struct out *out, const struct op_use_table *table, struct err *err);

/* "aten::add.Tensor", escaped. */
void ops_table_name(struct buf *to, const struct op_use *use);
/* "layer1.0 net.py:41", escaped: the first execution of an operation. */
void ops_table_first(struct buf *to, const struct run *run, const struct op_use *use);

/* The sums of a program, a line each: the number of operations, and what the counts
 * omit: loops, branches, code that was not understood. */
void ops_program_sums(struct buf *to, const struct model *model,
                      const struct op_use_list *uses);

/* The sums, a line each: the number of operations, their time, memory and FLOPs by
 * phase, and how much of the work the FLOPs cover. */
void ops_table_sums(struct buf *to, const struct run *run,
                    const struct op_use_list *uses, unsigned phases);
/* "54 of 175 operations have a FLOPs formula: 100% of the matrix work", or "...; 1 of 54
 * matrix operations has none" */
void ops_table_coverage(struct buf *to, const struct op_sum *sum);

#endif
