/* program.h - the computation described by a model file: the operations of one method
 * (usually forward), the module calls around them and the values between them. It has
 * the same form for TorchScript, ONNX and torch.export; pictures and lists of
 * operations use it. Nothing was run: there are no times, and shapes only if the file
 * has them (build_dims()).
 *
 * Everything is in the order of the code. A call of a module is a *call*; functions
 * that are not methods of a module are inlined: their operations belong to the module
 * that called them. Both branches of a condition and the body of a loop are *regions*;
 * an operation in a loop is listed once, whatever the number of iterations.
 *
 * An edge is a value. Lists, tuples and dicts are taken apart: aten::cat([a, b]) has
 * the inputs a and b. An in-place operation makes a new value: later uses of the tensor
 * that it wrote to, and of the tensor that this is a view of, read the new value.
 *
 * Part of a model: frozen, in its arena, read without locks; string and value ids,
 * places, tensors and dims are the model's. */
#ifndef MODEL_PROGRAM_H
#define MODEL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

struct model;

#define PROGRAM_NONE UINT32_MAX /* no op, call, region, value, ... */

enum program_value_kind {
    PROGRAM_RESULT, /* an operation made it: `producer` */
    PROGRAM_INPUT,  /* an argument of the program: `name` */
    PROGRAM_TENSOR, /* a parameter, buffer or constant of the model: `tensor`, `place` */
    PROGRAM_STORED, /* another attribute of the module at `place`: `name` */
    PROGRAM_MERGE,  /* one of its `sources`: after a condition, or in a loop */
    PROGRAM_OPAQUE, /* made by code that was not understood */
};

struct program_value {
    uint8_t kind;    /* enum program_value_kind */
    uint8_t dtype;   /* DTYPE_UNKNOWN: not in the file */
    uint8_t rank;    /* only if `shape` is known */
    bool loop;       /* of MERGE: at the beginning of an iteration. The first `n_before`
                        sources enter the loop, the others come from the previous
                        iteration: following them may lead back here */
    bool number;     /* of INPUT: its type holds no tensors: int, List[bool], str; of
                        TENSOR: sizes or axes, not data of a layer */
    uint16_t output; /* of RESULT: its index among the results; or the item index, if
                        the code unpacks a result that is a list */
    uint32_t name;   /* string id, as in the code: "x0"; 0: unnamed */
    uint32_t shape;  /* index in model->dims; PROGRAM_NONE: unknown. A size of -1 is
                        dynamic: a batch of any size */
    uint32_t producer; /* of RESULT: index in `ops`; of OPAQUE: index of the code in
                          `regions`, or PROGRAM_NONE */
    uint32_t tensor;   /* of TENSOR: index in model->tensors; else PROGRAM_NONE */
    uint32_t place;    /* of TENSOR and STORED; else PROGRAM_NONE */
    uint32_t plain;    /* its value, if it is a constant in the file (a comparison of
                          constants): value id; else PROGRAM_NONE */
    uint32_t sources, n_sources; /* of MERGE: values, in program->sources; constants are
                                    not included, so it may be empty */
    uint32_t n_before;
};

/* A value read or produced by an operation or a call. */
struct program_io {
    uint32_t value;
    uint32_t arg; /* string id: name of the argument ("weight"), or its position from 0;
                      0: of a result */
    uint32_t item; /* position in a list or tuple; PROGRAM_NONE: not in one */
};

/* One operation. Its inputs are ios[io .. io + n_in), followed by n_out results. */
struct program_op {
    uint32_t name; /* string id: "aten::conv2d", "quantized::conv2d", "onnx::Conv" */
    uint32_t overload; /* string id: "Tensor" of aten::add.Tensor; 0: the file does not
                          say, or the default */
    uint32_t attributes; /* value id of a DICT: the constant arguments, by name
                            ("stride") or position ("3"); in a list, an item that is not
                            constant is a GLOBAL with the name of the value; or None */
    uint32_t call;       /* the innermost; index in `calls` */
    uint32_t place;      /* of that call's module */
    uint32_t region;     /* the innermost; or PROGRAM_NONE */
    uint32_t file, line; /* string id of the record with its code, and the line there
                            from 1; 0: unknown. ONNX without source: the node's name */
    uint32_t io;
    uint16_t n_in, n_out;
};

/* One call of a module: of a method of another module than the caller's. Call 0 is the
 * program. Its inputs and results are ios as in an operation; inputs have the names of
 * the method's arguments. */
struct program_call {
    uint32_t place;
    uint32_t parent;     /* call, or PROGRAM_NONE */
    uint32_t region;     /* the innermost one around it; or PROGRAM_NONE */
    uint32_t method;     /* string id: "forward" */
    uint32_t file, line; /* of the call site; 0: unknown */
    uint32_t ops, end;   /* operations of it and of calls inside: [ops, end) */
    uint32_t io;
    uint16_t n_in, n_out;
};

enum program_region_kind {
    PROGRAM_IF,      /* runs if `condition` is true */
    PROGRAM_ELSE,    /* runs if it is false */
    PROGRAM_LOOP,    /* any number of iterations; `condition`: of while, or the count */
    PROGRAM_UNCLEAR, /* code that was not understood: no operations, see `text` */
};

/* Of a region and the ones around it. */
enum program_region_flag {
    PROGRAM_CONDITIONAL = 1, /* it depends on a condition */
    PROGRAM_REPEATED = 2,    /* it is in a loop */
    PROGRAM_DEAD = 4,        /* it is in a branch that is not taken */
};

struct program_region {
    uint8_t kind;       /* enum program_region_kind */
    uint8_t flags;      /* enum program_region_flag; build_program_region() sets them */
    int8_t taken;       /* of IF and ELSE: 1 yes, 0 no, given the file (training is
                           False, an argument is a constant); -1: unknown */
    uint32_t parent;    /* an earlier region, or PROGRAM_NONE */
    uint32_t call;      /* the call that contains it */
    uint32_t condition; /* value, or PROGRAM_NONE: a constant */
    uint32_t text;      /* of UNCLEAR: string id, the code or the reason */
    uint32_t file, line; /* of its beginning */
    uint32_t ops, end;   /* operations inside: [ops, end) */
};

struct program {
    uint32_t method; /* string id: "forward"; 0: a limit was reached before it */
    bool shapes;     /* the file has shapes of values */
    bool cut;        /* a limit was reached: the rest of the program is missing */
    struct program_op *ops;
    uint32_t n_ops, ops_room;
    struct program_call *calls;
    uint32_t n_calls, calls_room;
    struct program_region *regions;
    uint32_t n_regions, regions_room;
    struct program_value *values;
    uint32_t n_values, values_room;
    struct program_io *ios;
    uint32_t n_ios, ios_room;
    uint32_t *sources; /* values */
    uint32_t n_sources, sources_room;
};

/* The name of a region's kind: "if", "else", "loop", "not understood". */
const char *program_region_name(enum program_region_kind kind);

/* Its flags; 0 for PROGRAM_NONE. */
unsigned program_region_flags(const struct program *program, uint32_t region);

/* Finds the operations that made a value: its producer, or through all sources of a
 * PROGRAM_MERGE those of its sources. Each search takes time linear in what it
 * visits. */
struct program_walk {
    const struct program *program;
    uint32_t *found;                        /* the operations of the last search */
    uint32_t *stack, *op_seen, *value_seen; /* private */
    uint32_t search;
};
struct arena;
/* In the arena; -1 if it is spent. */
int program_walk_init(struct program_walk *walk, const struct program *program,
                      struct arena *arena);
/* Fills walk->found and returns its length. */
uint32_t program_walk(struct program_walk *walk, uint32_t value);

#endif
