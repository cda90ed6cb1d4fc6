/* op_use.h - sums over the operations of a run: by name, by module, by phase.
 *
 * The source is run->ops->totals, so operations beyond the limit of the recording count
 * too. All views (the command `ops`, JSON, panels) take their sums from here. Call
 * these functions only for a run with operations (run->ops is not NULL). */
#ifndef STUDY_OP_USE_H
#define STUDY_OP_USE_H

#include "base/arena.h"
#include "base/err.h"
#include "run/run.h"

struct op_sum {
    uint64_t count, ns, new_bytes;
    uint64_t flops;          /* of operations whose FLOPs are known */
    uint64_t unknown;        /* number of the others */
    uint64_t matrix;         /* number that do matrix work: op_family_is_matrix() */
    uint64_t matrix_unknown; /* number of these without FLOPs */
};

/* One row of a list. Members that vary within the row are those of the operation that
 * ran first. */
struct op_use {
    uint32_t kind;             /* index in run->ops->kinds */
    uint32_t place;            /* NO_PLACE: outside the model */
    uint32_t line;             /* string id, or 0 */
    uint32_t first;            /* the first operation; RUN_NONE: it was not kept */
    struct str name, overload; /* of its kind */
    struct op_sum sum;
    uint64_t key; /* private: sorting */
};
struct op_use_list {
    struct op_use *at; /* the largest time first */
    uint32_t n;
    struct op_sum sum; /* of all rows: shares are relative to this */
};

enum op_use_by {
    OP_USE_BY_NAME,     /* aten::add, with all overloads */
    OP_USE_BY_OVERLOAD, /* aten::add.Tensor */
    OP_USE_BY_MODULE,   /* by place; operations outside the model are one row */
    OP_USE_BY_LINE,     /* by place and source line */
};

/* Sets of phases: 1u << OP_FORWARD | 1u << OP_BACKWARD. */
#define OP_PHASES_ALL ((1u << OP_PHASES) - 1)

/* Makes a row for each name (overload, module, line) with operations in these phases,
 * in the arena. A module's row has its own operations, not those of modules inside
 * it. */
int op_use_of(struct op_use_list *ret_list, const struct run *run, enum op_use_by by,
              unsigned phases, struct arena *arena, struct err *err);

/* The same for one place and everything below it. */ int
op_use_at(struct op_use_list *ret_list, const struct run *run, uint32_t place,
          enum op_use_by by, unsigned phases, struct arena *arena, struct err *err);

enum op_use_order {
    OP_USE_TIME,
    OP_USE_COUNT,
    OP_USE_FLOPS,
    OP_USE_MEMORY, /* new_bytes */
    OP_USE_NAME,   /* name and overload */
    OP_USE_FIRST,  /* the order of first use */
    OP_USE_ORDERS
};
/* "time", "count", ... */
const char *op_use_order_name(enum op_use_order order);
/* Sorts in descending order; names and first uses in ascending order. */
void op_use_sort(struct op_use_list *list, enum op_use_order order);

/* The sums of each phase. */
void op_use_phases(const struct run *run, struct op_sum ret_sums[OP_PHASES]);
/* The same for one place and all below it. */
void op_use_phases_at(const struct run *run, uint32_t place,
                      struct op_sum ret_sums[OP_PHASES]);
/* The same for one call and all calls inside it, as far as operations were kept. */
void op_use_call(const struct run *run, uint32_t call,
                 struct op_sum ret_sums[OP_PHASES]);
/* By place: the sums of its operations and those of all places below it, in these
 * phases; in the arena. */
struct op_sum *op_use_below(const struct run *run, unsigned phases, struct arena *arena,
                            struct err *err);

void op_sum_add(struct op_sum *sum, const struct op_sum *more);
/* Add one operation. */
void op_sum_op(struct op_sum *sum, const struct run *run, const struct run_op *op);
/* The share of matrix work that has FLOPs, 0..1; 1 if there is no matrix work. */
double op_sum_coverage(const struct op_sum *sum);

#endif
