/* grads_in.h - shared by the files that record gradients.
 *   grads.c           collects the edges of a call's arguments and results
 *   grads_put.c       puts marks or hooks on these edges when the call ends
 *   grads_mark.c      marks on nodes: edges that are results or arguments of calls
 *   grads_search.c    at the start of a backward: finds the nodes to hook
 *   grads_walk.c      without node numbers: finds the nodes of a call when it ends
 *   grads_edge.c      edges of tensors in autograd's graph
 *   grads_hook.c      hooks on nodes, which record gradients
 *   grads_backward.c  a running backward: sums of gradients, and times of calls */
#ifndef EXT_RECORD_GRADS_IN_H
#define EXT_RECORD_GRADS_IN_H

#include "ext/record/grads.h"
#include "ext/record/recorder_in.h"

struct backward; /* a running backward (grads_backward.c) */

/* A tensor's position in autograd's graph: output `nr` of a node. torch reuses a
 * node's Python wrapper only while a reference to it exists. Edges therefore hold it
 * as long as they are compared: during a call, never longer. */
struct edge {
    PyObject *node; /* owned reference; NULL: none */
    uint32_t nr;
};

/* The tensor's current edge; for a leaf, that of its AccumulateGrad. `node` is NULL
 * if no gradient flows. Never raises. */
struct edge edge_of(PyObject *tensor);
/* The edge of a view's base. */
struct edge edge_of_base(PyObject *tensor);
/* Whether Python code holds a reference to the view's base. Never raises. */
bool base_is_kept(PyObject *view);
void edge_drop(struct edge *edge);
bool edge_same(const struct edge *a, const struct edge *b);

/* The part of a base that a view shows. Holds numbers only; reference-counted. */
struct window {
    unsigned users;
    PyObject *shape, *strides; /* tuples of integers */
    int64_t offset;            /* from the start of the base, in elements */
    /* The newest search that found an in-place write through a view of the base
     * after the call; and the newest where that makes the view's gradient unknown. */
    uint32_t written, unsure;
    uint32_t own;       /* the newest search that found the view's own node */
    PyObject *gradient; /* without node numbers: waits for the base's gradient */
};
/* NULL if the base is not in C order or cannot be described. Never raises. */
struct window *window_of(PyObject *view);
void window_drop(struct window *window); /* NULL is allowed */
/* An empty window; NULL if out of memory. */
struct window *window_blank(void);
/* Cuts the window out of a gradient of the base: a new reference, or NULL. Never
 * raises. */
PyObject *window_cut(const struct window *window, PyObject *gradient);

/* Whether the view's gradient equals its part of the base's `gradient`. Never
 * raises. */
bool window_is_same(const struct window *window, PyObject *gradient);

/* A call, as its hooks see it. Reference-counted.
 *
 * The duration of its backward runs from the first gradient of a result to the end
 * of the node that the call created first. The engine runs the nodes of one thread
 * in reverse order of creation, so the nodes of a call run consecutively. That does
 * not hold if several threads created them; a gap is recorded instead. */
struct passage {
    unsigned users;
    uint32_t call;
    uint32_t object;
    uint64_t serial;     /* from the trace */
    uint64_t begin, end; /* of its nodes; end is exclusive, 0: it did not return */
    unsigned results;    /* marks on live nodes that it created */
    uint32_t walk;       /* the newest search that reached a result */
    uint32_t ended;      /* the newest search that hooked its last node */
    uint32_t unsure; /* the newest search that cannot tell its arguments' gradients */
    bool met;        /* some backward reached it */
    bool passed_by;  /* without node numbers: a view was written after it */
    struct passage *parent;       /* the enclosing call; NULL: none */
    uint32_t maker;               /* the thread that created its nodes */
    bool mixed;                   /* several threads created them */
    bool timed;                   /* the node that it created first is hooked */
    bool open;                    /* a backward is inside it */
    bool left;                    /* gradients have left through an argument */
    int64_t task;                 /* the backward that is inside it */
    uint32_t thread;              /* the thread that runs this backward */
    uint64_t began_ns, latest_ns; /* without our own time */
    struct passage *next;         /* in the list of open passages */
};

/* Where a gradient is recorded. */
struct grads_spot {
    uint32_t path;
    uint8_t kind, flags; /* enum run_io_kind, enum run_io_flag */
    uint8_t fired;       /* backwards seen */
};

/* A gradient that arrives in parts: that of an argument used several times in the
 * call. */
struct sum {
    unsigned users;
    uint32_t parts, arrived;
    int64_t task;     /* the backward it belongs to */
    PyObject *total;  /* detached; NULL between backwards */
    struct sum *next; /* in the list of sums that wait for parts */
    bool waits;
    struct passage *passage;
    struct grads_spot spot; /* where the total is recorded */
};

enum part_kind {
    PART_RESULT,   /* the gradient of a result, or a part of it */
    PART_PASSED,   /* likewise, for a result that the call did not create */
    PART_ARGUMENT, /* a gradient that leaves through an argument */
    PART_LAST,     /* no gradient: marks the last node of the call */
    PART_UNKNOWN, /* includes other gradients than the result's: record it as unknown */
    PART_WRITTEN, /* the gradient of a result's base: a gap if the result had none */
};

/* One task of a hook. */
struct part {
    struct passage *passage;
    struct sum *sum;        /* or NULL */
    struct window *window;  /* or NULL */
    struct window *view;    /* the result's view, for PART_WRITTEN; or NULL */
    struct grads_spot spot; /* unused if `sum` is set */
    uint8_t kind;           /* enum part_kind */
    bool after;             /* the hook runs after the node, not before it */
    bool waits;    /* with a view: record its gradient once the base has the same */
    uint32_t nr;   /* index among the gradients passed to the hook */
    uint32_t walk; /* the search that added it; the next one removes it. 0: permanent */
};

/* How a result relates to an argument that has the same edge. */
enum handed {
    HANDED_NOT,   /* the call created the result; the argument is not a result */
    HANDED_ALONE, /* from then on the caller uses the tensor only through the result */
    HANDED_DROPPED, /* the result is not used */
    HANDED_UNKNOWN, /* the argument may be used beside the result */
};

/* An edge that is a result or an argument of a call. Stored on the node that the
 * edge leads to, and freed with it. */
struct mark {
    struct passage *passage;
    struct window *window; /* or NULL */
    struct window *view; /* if the tensor is a view: its window on the base; or NULL */
    uint32_t path, nr;
    uint8_t kind;   /* RUN_GRAD_OUT or RUN_GRAD_IN */
    uint8_t flags;  /* enum run_io_flag */
    uint8_t handed; /* enum handed */
    uint8_t fired;  /* backwards recorded */
    bool kept;      /* others than the caller hold the result: a hook, a list */
    bool base;      /* marks the base of a view, for writes in place after the call */
    bool shared;    /* with base: others may use the base too */
    uint64_t own;   /* with a window: number of the node that cuts it out of the base */
    /* Counted by search number `walk`: */
    uint32_t walk;
    uint32_t crossings; /* edges on which gradients cross the border of the call here */
    uint32_t others;    /* edges on which they reach the tensor without crossing it */
    uint32_t doubts;    /* edges where this is unknown */
    struct sum *sum;    /* while hooks are added */
};

/* Parts of a hook on one side of a node. */
struct grads_side {
    struct part *parts;
    uint32_t n, room;
};

/* Our data on a node. Held by a capsule in the node's metadata dict. */
struct hook {
    struct grads *grads;
    uint32_t maker; /* the thread that created it */
    struct grads_side before, after;
    bool listens[2]; /* torch calls us: [0] after the node, [1] before it */
    struct mark *marks;
    uint32_t n_marks, marks_room;
};

#define BACKWARDS_MOST 64    /* backwards recorded per call */
#define NODES_MOST     4096  /* nodes walked from a call's results */
#define NODES_TABLE    16384 /* slots in the hash table of visited nodes */

/* An argument of a call under way. */
struct argument {
    struct edge edge;
    struct edge base; /* if a view: its base's edge, until forward ends */
    struct window *window;
    const void *tensor; /* compared, never dereferenced */
    struct sum *sum;
    uint32_t path, parts;
    uint8_t flags;  /* enum run_io_flag */
    uint8_t handed; /* enum handed: it is a result too */
    bool dead;      /* ignored: same edge as an earlier argument, or edge unknown */
};

#define VIEW_STEPS 4

/* A result that is a view. */
struct grads_view {
    struct edge base;
    struct window *window;
    bool shared; /* see struct mark */
    /* Without node numbers: the nodes from the view to its base; owned references.
     * Empty: unknown. */
    PyObject *steps[VIEW_STEPS];
    uint32_t n_steps;
};
/* Finds the nodes from a view's node to its base's. */
void view_find_steps(struct grads_view *view, PyObject *node);

/* An edge on which gradients leave through an argument. */
struct grads_way {
    PyObject *node; /* held */
    uint32_t nr, argument;
};

/* A result. */
struct result {
    struct edge edge;
    struct window *window;
    struct grads_view view; /* base.node is NULL if the result is not a view */
    PyObject *tensor;       /* borrowed, until marked; NULL: a parameter */
    uint64_t own;           /* see struct mark */
    uint32_t path;
    uint8_t flags;
    uint8_t handed; /* enum handed */
    bool kept;      /* see struct mark */
    bool used; /* the call itself uses it, as far as the walk of grads_walk.c finds */
};

/* A call under way. */
struct grads_outline {
    uint32_t first;  /* index of its first argument */
    uint64_t number; /* number of the next node at its start; 0: unknown */
    uint64_t others; /* calls that had ended on other threads when it began */
    struct passage *passage;
    bool keywords; /* keyword arguments were passed before forward */
};

/* A node visited by a walk. */
struct seen_node {
    const void *node;
    uint32_t walk;
};

/* A hook of the recorder under way, before or after forward. */
struct grads_visit {
    struct grads *grads;
    struct thread *thread;
    struct grads_outline outline;
    uint32_t number; /* the thread's */
    bool asked;      /* after forward: `hooked` and `skip` are set */
    bool hooked;     /* the user registered forward hooks on the module */
    bool skip;       /* a recomputation; no gradient flows through its nodes */
    bool late;       /* after forward: keyword arguments not passed before it */
    bool mixed;      /* other threads created nodes of the call */
    PyObject *last;  /* the node that the call created first; borrowed */
    uint64_t last_number;
};

/* State per thread: any call into Python may switch threads. */
struct thread {
    struct argument *arguments;
    uint32_t n, room;
    struct grads_outline *calls; /* under way */
    uint32_t n_calls, calls_room;
    struct grads_visit visit; /* the recorder runs one hook at a time on a thread */
    uint64_t ended;           /* calls */
    struct result *results;
    uint32_t n_results, results_room;
    struct grads_way *ways;
    uint32_t n_ways, ways_room;
    PyObject **nodes; /* owned, so that no address is reused */
    uint32_t n_nodes;
    struct seen_node *table;
    uint32_t walk;
    /* Nodes of leaves that calls returned unchanged; held until the outermost call
     * ends, because torch may free such a node until something is computed from the
     * leaf. */
    PyObject **leaves;
    uint32_t n_leaves, leaves_room;
};

enum object_flag {
    HAD_NODES = 1,       /* its newest call, other than recomputations, created nodes */
    TOO_LARGE = 2,       /* a gap was added: the walk found too many nodes */
    REPORTED_HANDED = 4, /* a gap was added: it returns an argument unchanged */
    REPORTED_WRITTEN = 8,      /* a gap was added: a view is written after the call */
    REPORTED_TRANSFORMED = 16, /* a gap was added: called inside a function transform */
};

/* Reference-counted, because hooks may outlive the recording. References are held by
 * the recorder, by each hook and by running functions. */
struct grads {
    unsigned users;
    unsigned inside;           /* running functions of grads.c */
    struct recorder *recorder; /* NULL after the end */
    struct thread **threads;
    uint32_t n_threads;
    uint8_t *objects;       /* by object: enum object_flag */
    uint32_t walk;          /* the newest search's number */
    unsigned searches;      /* under way */
    bool leaves;            /* leaves are marked */
    Py_ssize_t references;  /* of a bare result that only the caller gets; 0: unknown */
    uint32_t waiting_calls; /* outermost calls, alive, not yet reached by a backward */
    uint32_t waiting_object;    /* the object of the newest of them */
    uint64_t ended;             /* calls ended, on all threads */
    PyObject *key;              /* our key in a node's metadata dict */
    struct backward *backwards; /* under way */
    struct sum *waiting;
    struct passage *open;
};

/* A call ended: marks its edges or, if nodes have no numbers, hooks them. */
void grads_mark_call(struct grads_visit *visit);
void grads_hook_call(struct grads_visit *visit);
/* Finds where gradients leave through the arguments, and the node that the call
 * created first. False: too many nodes. */
bool find_ways(struct grads_visit *visit);

/* A node's sequence number: each thread numbers its nodes in order of creation. 0:
 * unknown. */
uint64_t number_of(PyObject *node);
uint64_t number_next(void); /* the number of this thread's next node */

void grads_drop_user(struct grads *grads);
/* Adds a gap, once per object: gradients of tensors it returns unchanged are
 * unknown. */
void grads_report_handed(struct grads *grads, uint32_t object);
/* Likewise, for a view that it returned and that was written in place. */
void grads_report_written(struct grads *grads, uint32_t object);

/* Marks an edge; takes references to what the mark points to. False on failure.
 * Never raises. */
bool mark_put(struct grads *grads, PyObject *node, const struct mark *mark);
/* Returns the mark for a view's base, given the view's own. */
struct mark mark_of_base(const struct mark *mark, const struct grads_view *view);
void marks_free(struct hook *hook);
/* A backward reaches a result of the call. */
void passage_meet(struct grads *grads, struct passage *passage, uint32_t walk);

/* A node's hook, borrowed: valid as long as the node lives. NULL: none. */
struct hook *hook_find(struct grads *grads, PyObject *node);
/* The same, created if missing; NULL on failure. */
struct hook *hook_need(struct grads *grads, PyObject *node, uint32_t maker);
/* Removes what earlier searches added. */
void hook_clear(struct hook *hook);
/* Adds a part to a node's hook, creating the hook if needed. Copies *part and takes
 * references to what it points to. False on failure. Never raises. */
bool hook_put(struct grads *grads, PyObject *node, const struct part *part);
/* Whether a call on another thread put a hook on this node. */
bool hook_of_other(struct grads *grads, PyObject *node, uint32_t thread);
void hook_enter(struct recorder *recorder, const struct passage *passage,
                struct grads_spot *spot, PyObject *gradient);
/* Creates a Python function bound to `user`, owned by a capsule named `name` with
 * destructor `release`. NULL on failure: `user` is not freed. */
PyObject *hook_bind(PyMethodDef *method, void *user, const char *name,
                    PyCapsule_Destructor release);
/* Returns the recorder, held until hook_let_go(), or NULL if the recording ended.
 * The GIL may be released while a gradient is measured. */
struct recorder *hook_hold(struct grads *grads);
void hook_let_go(struct recorder *recorder, uint64_t began_ns);

struct passage *passage_new(uint32_t maker, struct passage *parent);
void passage_drop(struct passage *passage);
struct sum *sum_new(struct passage *passage, const struct grads_spot *spot,
                    uint32_t parts);
void sum_drop(struct sum *sum);
/* Sets the first part, known before the backward begins. */
void sum_begin(struct sum *sum, PyObject *gradient);
/* Adds a part (NULL: zero) in the running backward. */
void sum_add(struct grads *grads, struct recorder *recorder,
             const struct backward *backward, struct sum *sum, PyObject *gradient);
/* The running backward, followed to its end; NULL on failure. Never raises. */
struct backward *backward_find(struct grads *grads);
/* The backward reached a hook of a call at time `now_ns`. */
void backward_meets(struct grads *grads, struct backward *backward,
                    const struct part *part, uint32_t thread, uint64_t now_ns);
/* Drops incomplete sums and times: the recording ended. */
void backwards_forget(struct grads *grads);

#endif
