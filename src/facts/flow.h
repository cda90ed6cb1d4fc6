/* flow.h - the flow of values through one call of a module: a row for each call and
 * each operation directly inside it, in order of time, with the inputs above and the
 * result below, and rails that connect the producer of a value with its users.
 *
 *     ●         x                  1×64×56×56
 *     ├─╮       conv1  Conv2d      1×64×56×56    306.22μs
 *     │ ●       bn1  BatchNorm2d   1×64×56×56    124.24μs
 *     ├─╯       +  net.py:59       1×64×56×56     10.79μs
 *
 * With operations recorded, the edges are exact: each operation names the values that
 * it read, and each value the operations that made it. Operations inside a called
 * module count for that module's row. Consecutive views are one row; a detach with an
 * unread result (autograd's saved tensors) has none; of a very long sequence of
 * operations only the beginning and the end have rows.
 *
 * Without operations, only module calls are known. They prove that one call returned a
 * value and another received the same value. They do not show whether anything else
 * uses a value, nor what happens between modules. If a value shares its storage with a
 * result, an operation viewed it or changed it in place (`out += identity`) and may
 * have used other values too: such an edge ends in `?`, as does a row with an input
 * whose producer was not recorded. Shapes are never used to infer an edge. */
#ifndef FACTS_FLOW_H
#define FACTS_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "run/run.h"

#define FLOW_RAILS 8 /* drawn side by side; further ones share a … */
#define NO_FLOW    UINT32_MAX
/* A longer sequence of operations between two calls has rows for its beginning and its
 * end only. */
#define FLOW_OPS_FIRST 900
#define FLOW_OPS_LAST  100

enum flow_kind {
    FLOW_INPUT,
    FLOW_CALL,
    FLOW_OP,   /* an operation, or a chain of views */
    FLOW_MORE, /* operations without a row of their own */
    FLOW_RESULT,
};

/* How the producer of a value was determined. */
enum flow_source {
    FROM_ROW,       /* a row returned the same value */
    FROM_STORAGE,   /* a row returned a value in the same storage; an operation
                       viewed or changed it */
    FROM_OUTSIDE,   /* an earlier call or operation made it; not drawn */
    FROM_PARAMETER, /* it is a parameter or buffer of the model */
    FROM_OPERATION, /* no recorded call returned it */
    FROM_BEFORE,    /* no operation made it: it existed before */
    FROM_ASIDE,     /* a row below made it meanwhile, on another thread; not drawn */
};

/* A tensor that is an input of a row. */
struct flow_edge {
    uint32_t io;    /* index in run->ios; or RUN_NONE, and it is: */
    uint32_t op_io; /* index in run->ops->ios */
    uint32_t row;   /* for FROM_ROW and FROM_STORAGE; else NO_FLOW */
    uint32_t call;  /* for FROM_OUTSIDE: the call that returned it; or RUN_NONE */
    uint32_t op;    /* and the operation that made it; or RUN_NONE */
    uint8_t source; /* enum flow_source */
};

/* The directions in which lines leave a cell of the rails. */
enum flow_way { WAY_UP = 1, WAY_DOWN = 2, WAY_LEFT = 4, WAY_RIGHT = 8, WAY_NODE = 16 };

struct flow_row {
    uint8_t kind;                 /* enum flow_kind */
    uint8_t column;               /* of its rail; FLOW_RAILS: not drawn */
    uint8_t ways[FLOW_RAILS + 1]; /* enum flow_way; the last is for all other rails */
    uint32_t call;                /* for FLOW_CALL; else the module's own call */
    uint32_t io;                  /* for FLOW_INPUT: index in run->ios */
    uint32_t ops, n_ops;          /* for FLOW_OP and FLOW_MORE: in flow->ops */
    uint32_t from, n_from;        /* its inputs, in flow->from */
    uint32_t to, n_to;            /* rows that use its outputs, in flow->to */
};

/* The first user of the result. */
enum flow_next {
    NEXT_UNKNOWN, /* no module call uses it; an operation may */
    NEXT_CALL,    /* flow->next */
    NEXT_OP,      /* operation flow->next_op in the enclosing call, flow->next */
    NEXT_RESULT,  /* it is the result of the enclosing call, flow->next */
    NEXT_CALLER,  /* there is no enclosing call */
};

struct flow {
    const struct run *run;
    uint32_t call; /* of the module */
    struct flow_row *rows;
    uint32_t n;
    struct flow_edge *from;
    uint32_t *to;
    uint32_t n_from, n_to, rows_room, from_room;
    bool has_ops;  /* its operations were recorded */
    uint32_t *ops; /* in order; the views of a chain from the first on */
    uint32_t n_ops;
    uint32_t columns;    /* columns used, including the one for other rails */
    uint64_t missing_ns; /* time of calls inside it that were merged with others */
    enum flow_next next_kind;
    uint32_t next, next_op;
};

/* Linear in the operations of the run, and in the calls inside and after it. Allocates
 * in the arena. */
int flow_make(struct flow *ret_flow, const struct run *run, uint32_t call,
              struct arena *arena, struct err *err);

/* The call to show for a module that was called: its own if calls or operations are
 * known inside it, else the enclosing one; *ret_inner is then the call inside that one.
 */
uint32_t flow_block(const struct run *run, uint32_t call, uint32_t *ret_inner);

/* Did an input of this row pass through an unrecorded operation? Drawn as `?`. */
bool flow_loose(const struct flow *flow, uint32_t row);

/* The rails of a row, `flow->columns * 2` cells wide. */
void flow_rails(struct buf *to, const struct flow *flow, uint32_t row);

#endif
