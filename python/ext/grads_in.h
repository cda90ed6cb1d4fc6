/* grads_in.h - what the files of gradients share.
 *   grads.c        around a call: its edges, hooks put on
 *   grads_walk.c   the nodes between them
 *   grads_edge.c   the edges of tensors in autograd's graph
 *   grads_hook.c   what runs in a backward */
#ifndef EXT_GRADS_IN_H
#define EXT_GRADS_IN_H

#include "ext/grads.h"
#include "ext/recorder_in.h"

/* Where a tensor stands in autograd's graph: result number `nr` of a node. Wrappers of
 * nodes are the same object only while somebody holds one, so they are held for as long
 * as they are compared: during a call, never longer. */
struct edge {
    PyObject *node; /* held; NULL: none */
    uint32_t nr;
};

/* The edge of a tensor as it is now; of a leaf that of its AccumulateGrad. Without a
 * node where no gradient flows. Never raises. */
struct edge edge_of(PyObject *tensor);
/* The edge of what a tensor is a view of. */
struct edge edge_of_base(PyObject *tensor);
void edge_drop(struct edge *edge);
bool edge_same(const struct edge *a, const struct edge *b);

/* The part of a base that a view shows. Numbers only; counted by its users. */
struct window {
    unsigned users;
    PyObject *shape, *strides; /* tuples of integers */
    int64_t offset;            /* from where the base begins, in elements */
};
/* NULL if the base is not in C order or cannot be described. Never raises. */
struct window *window_of(PyObject *view);
void window_drop(struct window *window); /* NULL is allowed */
/* The window of a gradient of the base, as a new reference; or NULL. Never raises. */
PyObject *window_cut(const struct window *window, PyObject *gradient);

/* Where a gradient is entered. */
struct spot {
    uint32_t call, path;
    uint8_t kind, flags; /* enum run_io_kind, enum run_io_flag */
    uint8_t fired;       /* backwards seen */
};

/* A gradient that arrives in parts: an argument with several users in the call. */
struct sum {
    unsigned users;
    uint32_t parts, arrived;
    int64_t task;     /* the backward that it is of */
    PyObject *total;  /* without a graph of its own; NULL between backwards */
    struct sum *next; /* among those that wait for parts */
    bool waits;
    struct spot spot; /* where the total is entered */
};

/* What a hook is to do. */
struct part {
    struct spot spot;      /* of a sum: not used */
    struct sum *sum;       /* or NULL */
    struct window *window; /* or NULL */
    uint32_t nr;           /* which of the gradients that the hook is shown */
    bool before;           /* before the node runs: gradients of its results */
};

#define NODES_MOST  4096  /* between the results and the arguments of a call */
#define NODES_TABLE 16384 /* slots of the table of those that were met */

/* An argument of a call under way. */
struct argument {
    struct edge edge;
    struct edge base; /* of what it is a view of; until forward ended */
    struct window *window;
    const void *tensor; /* only compared */
    struct sum *sum;
    uint32_t path, parts;
    uint8_t flags; /* enum run_io_flag */
    bool dead;     /* stands for nothing: equal to an earlier one, or not known */
};

/* Where gradients leave through an argument. */
struct way {
    PyObject *node; /* held */
    uint32_t nr, argument;
    bool before;
};

/* A result. */
struct result {
    struct edge edge;
    struct window *window;
    uint32_t path;
    uint8_t flags;
};

/* A node that a walk met. */
struct seen_node {
    const void *node;
    uint32_t walk;
};

/* Python may run others wherever it is called, so each thread has its own. */
struct thread {
    struct argument *arguments;
    uint32_t n, room;
    uint32_t *begins; /* of each call under way, in arguments */
    uint32_t n_calls, calls_room;
    struct result *results;
    uint32_t n_results, results_room;
    struct way *ways;
    uint32_t n_ways, ways_room;
    PyObject **nodes; /* held: an address stays its node's own */
    uint32_t n_nodes;
    struct seen_node *table;
    uint32_t walk;
};

/* Hooks may outlive the recording, so this is counted: by the recorder, by each hook,
 * and by whoever is inside. */
struct grads {
    unsigned users;
    unsigned inside;           /* calls of grads.c under way */
    struct recorder *recorder; /* NULL once it ended */
    struct thread **threads;
    uint32_t n_threads;
    uint8_t *objects; /* by object: enum object_flag of grads.c */
    struct sum *waiting;
    unsigned tokens; /* backwards of which we will hear the end */
    int64_t task;    /* the newest of them */
};

/* Arguments of one call, as they are met. */
struct meeting {
    struct grads *grads;
    struct thread *thread;
    uint32_t first; /* of the call's arguments */
    bool late;      /* after forward: keywords */
};
/* Find where gradients leave through the arguments; false: too many nodes. */
bool find_ways(struct meeting *meeting);

void grads_drop_user(struct grads *grads);

struct sum *sum_new(const struct spot *spot, uint32_t parts);
void sum_drop(struct sum *sum);
/* Put a hook on a node. Takes a copy of *part and users of its sum and window. False:
 * it could not be. Never raises. */
bool hook_put(struct grads *grads, PyObject *node, const struct part *part);
/* Forget sums that wait: the recording ended. */
void hooks_forget(struct grads *grads);

#endif
