/* executorch_in.h - ExecuTorch, for executorch*.c only. */
#ifndef READ_FLAT_EXECUTORCH_IN_H
#define READ_FLAT_EXECUTORCH_IN_H

#include "base/map.h"
#include "read/flat/flat_in.h"

/* The union of values. */
enum executorch_kind {
    EXECUTORCH_NULL = 1,
    EXECUTORCH_INT,
    EXECUTORCH_BOOL,
    EXECUTORCH_DOUBLE,
    EXECUTORCH_TENSOR,
    EXECUTORCH_STRING,
    EXECUTORCH_INTS, /* indices of values */
    EXECUTORCH_DOUBLES,
    EXECUTORCH_BOOLS,
    EXECUTORCH_TENSORS, /* indices of values, as the next */
    EXECUTORCH_OPTIONALS,
};

#define EXECUTORCH_RANK      64
#define EXECUTORCH_NAME_MOST 4096

/* One value of a plan. */
struct executorch_value {
    struct flat_table table; /* what the union holds */
    uint8_t kind;            /* enum executorch_kind; 0: unknown */
    bool written;            /* an instruction or the caller of the plan writes it */
    uint32_t node, tensor;   /* of a constant; else NO_PLACE, NO_OBJECT */
    uint32_t value;          /* of the program, now; PROGRAM_NONE: none yet */
};

/* One method. */
struct executorch_plan {
    struct flat_table table;
    struct str name;
    struct flat_vector code; /* instructions of its first chain */
    uint32_t node;
    struct executorch_value *values;
    uint32_t n_values, values_room;
};

struct executorch {
    struct flat flat;
    struct input *input;
    struct build *build;
    struct flat_table program;
    uint64_t base;                 /* where segments begin */
    struct flat_vector offsets;    /* of the constants, in their segment */
    uint64_t constants, end;       /* where that segment is */
    struct flat_vector in_program; /* constants of old files */
    struct flat_vector segments;   /* data behind the program */
    struct flat_vector inlined;    /* data of delegates inside it */
    struct map storages;           /* place in the file -> storage */
    struct executorch_plan *plans;
    uint32_t n_plans, n_entries; /* entries: plans with instructions */
    uint32_t n_other_file;       /* tensors whose values are in another file */
    /* The plan being read. */
    struct executorch_value *values;
    uint32_t n_values;
};

/* torch's numbers of dtypes. */
enum dtype executorch_dtype(int64_t type);

/* ---- executorch_tensors.c ---- */

/* Finds the segment with the constants. */
void executorch_find_constants(struct executorch *self);
/* Reads the values of a plan; constants become tensors below its node. */
int executorch_read_values(struct executorch *self, struct executorch_plan *plan,
                           struct err *err);

/* ---- executorch_program.c ---- */

/* The instructions of the entries, whose values are read, as the program. */
int executorch_program(struct executorch *self, struct err *err);

/* ---- executorch_values.c ---- */

/* Value `index` of the plan; NULL: there is none. */
struct executorch_value *executorch_value(struct executorch *self, int64_t index);
/* A new program value for value `index` of the plan, with its shape and dtype. */
uint32_t executorch_new_value(struct executorch *self, uint32_t index,
                              enum program_value_kind kind);
/* The current content of value `index`: a constant, or the result of its last writer. A
 * tensor without a writer is a view of the last value written to its memory. */
uint32_t executorch_now(struct executorch *self, struct map *memory, uint32_t index);
/* Sets the content of value `index`. */
int executorch_set(struct executorch *self, struct map *memory, uint32_t index,
                   uint32_t value);
/* A number, string or list of numbers in the file, as a plain value; VALUE_ID_NONE:
 * another kind, or an instruction writes it. */
uint32_t executorch_plain(struct executorch *self, uint32_t index);

#endif
