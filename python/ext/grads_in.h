/* grads_in.h - what the files of gradients share.
 *   grads.c           around a call: its edges, hooks put on
 *   grads_walk.c      the nodes between them
 *   grads_edge.c      the edges of tensors in autograd's graph
 *   grads_hook.c      hooks on nodes: gradients are entered
 *   grads_backward.c  a backward under way: its sums, and what each call took */
#ifndef EXT_GRADS_IN_H
#define EXT_GRADS_IN_H

#include "ext/grads.h"
#include "ext/recorder_in.h"

struct backward; /* one that is under way (grads_backward.c) */

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

/* A call, as its hooks know it. Counted by its users.
 *
 * What a backward of it takes is the time from the first gradient of a result to the
 * end of the node that the call made first. The engine runs nodes in the order opposite
 * to that in which one thread made them, so nodes of a call run side by side. Where
 * several threads made them they do not, and there is a gap instead. */
struct passage {
    unsigned users;
    uint32_t call;
    uint64_t serial;              /* of the trace */
    uint32_t maker;               /* the thread that made its nodes */
    bool mixed;                   /* several did */
    bool timed;                   /* the node that it made first is hooked */
    bool open;                    /* a backward is in it */
    bool left;                    /* and gradients have left through an argument */
    int64_t task;                 /* the backward that is in it */
    uint32_t thread;              /* where that runs */
    uint64_t began_ns, latest_ns; /* without our own time */
    struct passage *next;         /* among those that are open */
};

/* Where a gradient is entered. */
struct spot {
    uint32_t path;
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
    struct passage *passage;
    struct spot spot; /* where the total is entered */
};

enum part_kind {
    PART_RESULT,   /* the gradient of a result: before the node runs */
    PART_PASSED,   /* likewise, of a result that the call did not make */
    PART_ARGUMENT, /* what leaves through an argument: after it */
    PART_LAST,     /* no gradient: the node is the last of the call */
};

/* What a hook is to do. */
struct part {
    struct passage *passage;
    struct sum *sum;       /* or NULL */
    struct window *window; /* or NULL */
    struct spot spot;      /* of a sum: not used */
    uint8_t kind;          /* enum part_kind */
    uint32_t nr;           /* which of the gradients that the hook is shown */
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

/* A call under way. */
struct outline {
    uint32_t first;  /* of its arguments */
    uint64_t number; /* of the first node that it may make; 0: not known */
    uint64_t others; /* calls that ended on other threads, when it began */
    bool keywords;   /* arguments by keyword were shown */
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
    struct outline *calls; /* under way */
    uint32_t n_calls, calls_room;
    uint64_t ended; /* calls */
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
    uint8_t *objects;           /* by object: enum object_flag of grads.c */
    uint64_t ended;             /* calls, on all threads */
    PyObject *key;              /* of ours among what is known of a node */
    struct backward *backwards; /* under way */
    struct sum *waiting;
    struct passage *open;
};

/* Arguments of one call, as they are met. */
struct meeting {
    struct grads *grads;
    struct thread *thread;
    struct outline outline;
    uint32_t number; /* of the thread */
    bool late;       /* after forward: keywords that were not shown before */
    bool mixed;      /* other threads made nodes of the call */
    PyObject *last;  /* the node that the call made first; borrowed from the nodes */
    uint64_t last_number;
};
/* Find where gradients leave through the arguments, and the node that the call made
 * first; false: too many nodes. */
bool find_ways(struct meeting *meeting);

void grads_drop_user(struct grads *grads);

/* Put a hook on a node, or add to that which is there. Takes a copy of *part and users
 * of what it refers to. False: it could not be. Never raises. */
bool hook_put(struct grads *grads, PyObject *node, const struct part *part);
/* Has a call on another thread put a hook on this node? */
bool hook_of_other(struct grads *grads, PyObject *node, uint32_t thread);
void hook_enter(struct recorder *recorder, const struct passage *passage,
                struct spot *spot, PyObject *gradient);
/* A function of Python bound to `user`, which the capsule named `name` frees by
 * `release`; NULL: `user` is as it was. */
PyObject *hook_bind(PyMethodDef *method, void *user, const char *name,
                    PyCapsule_Destructor release);
/* Is the recording under way? If so the recorder is held until hook_let_go(): the GIL
 * may be released while a gradient is measured. */
struct recorder *hook_hold(struct grads *grads);
void hook_let_go(struct recorder *recorder, uint64_t began_ns);

struct passage *passage_new(uint32_t call, uint64_t serial, uint32_t maker);
void passage_drop(struct passage *passage);
struct sum *sum_new(struct passage *passage, const struct spot *spot, uint32_t parts);
void sum_drop(struct sum *sum);
/* Add a part (NULL: it is zero) in the backward that is under way. */
void sum_add(struct grads *grads, struct recorder *recorder,
             const struct backward *backward, struct sum *sum, PyObject *gradient);
/* The backward that is under way, which is followed to its end; NULL if it can not
 * be. Never raises. */
struct backward *backward_find(struct grads *grads);
/* A hook of a call was met in it, at this moment. */
void backward_meets(struct grads *grads, struct backward *backward,
                    const struct part *part, uint32_t thread, uint64_t now_ns);
/* Forget sums and times that are not complete: the recording ended. */
void backwards_forget(struct grads *grads);

#endif
