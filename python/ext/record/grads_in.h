/* grads_in.h - what the files of gradients share.
 *   grads.c           around a call: its edges, marked or hooked
 *   grads_put.c       a call ends: its edges get marks, or hooks
 *   grads_mark.c      marks on nodes: these edges are results and arguments of calls
 *   grads_search.c    a backward begins: who sends gradients across the marked edges
 *   grads_walk.c      without numbered nodes: the nodes of a call, when it ends
 *   grads_edge.c      the edges of tensors in autograd's graph
 *   grads_hook.c      hooks on nodes: gradients are entered
 *   grads_backward.c  a backward under way: its sums, and what each call took */
#ifndef EXT_RECORD_GRADS_IN_H
#define EXT_RECORD_GRADS_IN_H

#include "ext/record/grads.h"
#include "ext/record/recorder_in.h"

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
/* Does Python code hold the tensor that a tensor is a view of? Never raises. */
bool base_is_kept(PyObject *view);
void edge_drop(struct edge *edge);
bool edge_same(const struct edge *a, const struct edge *b);

/* The part of a base that a view shows. Numbers only; counted by its users. */
struct window {
    unsigned users;
    PyObject *shape, *strides; /* tuples of integers */
    int64_t offset;            /* from where the base begins, in elements */
    /* The newest search that met a write in place through a view of the base, made
     * after the call; and one where that leaves the gradient of the view unknown. */
    uint32_t written, unsure;
    uint32_t own;       /* the newest search that met the node that makes the view */
    PyObject *gradient; /* without numbers: of the view, until its base has one */
};
/* NULL if the base is not in C order or cannot be described. Never raises. */
struct window *window_of(PyObject *view);
void window_drop(struct window *window); /* NULL is allowed */
/* One that shows nothing; NULL without memory. */
struct window *window_blank(void);
/* The window of a gradient of the base, as a new reference; or NULL. Never raises. */
PyObject *window_cut(const struct window *window, PyObject *gradient);

/* Is the gradient of the view that part of a gradient of the base? Never raises. */
bool window_is_same(const struct window *window, PyObject *gradient);

/* A call, as its hooks know it. Counted by its users.
 *
 * What a backward of it takes is the time from the first gradient of a result to the
 * end of the node that the call made first. The engine runs nodes in the order opposite
 * to that in which one thread made them, so nodes of a call run side by side. Where
 * several threads made them they do not, and there is a gap instead. */
struct passage {
    unsigned users;
    uint32_t call;
    uint32_t object;
    uint64_t serial;              /* of the trace */
    uint64_t begin, end;          /* numbers of its nodes: begin <= number < end; an
                                     end of 0: it did not come back */
    unsigned results;             /* marks on nodes that it made and that live */
    uint32_t walk;                /* the newest search that reached a result */
    uint32_t ended;               /* the newest search that hooked its last node */
    uint32_t unsure;              /* the newest one that knows no gradients of its
                                     arguments */
    bool met;                     /* some backward reached it */
    bool passed_by;               /* without numbers: a view was written after it */
    struct passage *parent;       /* the call around it; NULL: none */
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
struct grads_spot {
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
    struct grads_spot spot; /* where the total is entered */
};

enum part_kind {
    PART_RESULT,   /* the gradient of a result, or a part of it */
    PART_PASSED,   /* likewise, of a result that the call did not make */
    PART_ARGUMENT, /* what leaves through an argument */
    PART_LAST,     /* no gradient: the node is the last of the call */
    PART_UNKNOWN,  /* more than the gradient of a result: say that it is not known */
    PART_WRITTEN,  /* of the base of a result: say so if the result had none */
};

/* What a hook is to do. */
struct part {
    struct passage *passage;
    struct sum *sum;        /* or NULL */
    struct window *window;  /* or NULL */
    struct window *view;    /* of a result, for PART_WRITTEN; or NULL */
    struct grads_spot spot; /* of a sum: not used */
    uint8_t kind;           /* enum part_kind */
    bool after;             /* the hook runs after the node, else before it */
    bool waits;             /* with a view: enter it once the base has the same */
    uint32_t nr;            /* which of the gradients that the hook is shown */
    uint32_t walk;          /* the search that put it: the next one removes it. 0: it
                              stays */
};

/* How a result relates to an argument that has the same edge. */
enum handed {
    HANDED_NOT,     /* the call made the result; the argument is no result */
    HANDED_ALONE,   /* the caller uses the tensor by way of the result, from then on */
    HANDED_DROPPED, /* nobody uses the result */
    HANDED_UNKNOWN, /* the argument may be used beside the result */
};

/* An edge that is a result or an argument of a call. It stands at the node that the
 * edge leads to, and dies with it. */
struct mark {
    struct passage *passage;
    struct window *window; /* or NULL */
    struct window *view;   /* the tensor is a view of this; or NULL */
    uint32_t path, nr;
    uint8_t kind;   /* RUN_GRAD_OUT or RUN_GRAD_IN */
    uint8_t flags;  /* enum run_io_flag */
    uint8_t handed; /* enum handed */
    uint8_t fired;  /* backwards that were entered */
    bool kept;    /* somebody beside the caller was given the result: a hook, a list */
    bool base;    /* marks the base of a view, for writes in place after the call */
    bool shared;  /* with base: others may use the base too */
    uint64_t own; /* with a window: number of the node that cuts it out */
    /* In the search number `walk`: */
    uint32_t walk;
    uint32_t crossings; /* edges by which gradients cross the border of the call here */
    uint32_t others;    /* edges by which they reach the tensor otherwise */
    uint32_t doubts;    /* edges of which that is not known */
    struct sum *sum;    /* while hooks are put */
};

/* Parts of a hook on one side of a node. */
struct grads_side {
    struct part *parts;
    uint32_t n, room;
};

/* What we know of a node: held by a capsule in the dict that it carries. */
struct hook {
    struct grads *grads;
    uint32_t maker; /* the thread that put it first */
    struct grads_side before, after;
    bool listens[2]; /* torch calls us after the node; before it */
    struct mark *marks;
    uint32_t n_marks, marks_room;
};

#define BACKWARDS_MOST 64    /* of one call that are entered */
#define NODES_MOST     4096  /* between the results and the arguments of a call */
#define NODES_TABLE    16384 /* slots of the table of those that were met */

/* An argument of a call under way. */
struct argument {
    struct edge edge;
    struct edge base; /* of what it is a view of; until forward ended */
    struct window *window;
    const void *tensor; /* only compared */
    struct sum *sum;
    uint32_t path, parts;
    uint8_t flags;  /* enum run_io_flag */
    uint8_t handed; /* enum handed: it is a result too */
    bool dead;      /* stands for nothing: equal to an earlier one, or not known */
};

#define VIEW_STEPS 4

/* A result that is a view. */
struct grads_view {
    struct edge base;
    struct window *window;
    bool shared; /* see struct mark */
    /* Without numbers: the nodes from the view to its base, held. None: not known. */
    PyObject *steps[VIEW_STEPS];
    uint32_t n_steps;
};
/* Find the nodes from that of a view to the one of its base. */
void view_find_steps(struct grads_view *view, PyObject *node);

/* Where gradients leave through an argument. */
struct grads_way {
    PyObject *node; /* held */
    uint32_t nr, argument;
};

/* A result. */
struct result {
    struct edge edge;
    struct window *window;
    struct grads_view view; /* without a base: it is none */
    PyObject *tensor;       /* borrowed, until it is marked; NULL: a parameter */
    uint64_t own;           /* see struct mark */
    uint32_t path;
    uint8_t flags;
    uint8_t handed; /* enum handed */
    bool kept;      /* see struct mark */
    bool used;      /* in the call, as far as the walk of grads_walk.c tells */
};

/* A call under way. */
struct grads_outline {
    uint32_t first;  /* of its arguments */
    uint64_t number; /* of the first node that it may make; 0: not known */
    uint64_t others; /* calls that ended on other threads, when it began */
    struct passage *passage;
    bool keywords; /* arguments by keyword were shown */
};

/* A node that a walk met. */
struct seen_node {
    const void *node;
    uint32_t walk;
};

/* A hook of the recorder under way, before or after forward. */
struct grads_visit {
    struct grads *grads;
    struct thread *thread;
    struct grads_outline outline;
    uint32_t number; /* of the thread */
    bool asked;      /* after forward: the next two are known */
    bool hooked;     /* the module has forward hooks of the user's */
    bool skip;       /* a recomputation whose nodes no gradient passes */
    bool late;       /* after forward: keywords that were not shown before */
    bool mixed;      /* other threads made nodes of the call */
    PyObject *last;  /* the node that the call made first; borrowed from the nodes */
    uint64_t last_number;
};

/* Python may run others wherever it is called, so each thread has its own. */
struct thread {
    struct argument *arguments;
    uint32_t n, room;
    struct grads_outline *calls; /* under way */
    uint32_t n_calls, calls_room;
    struct grads_visit visit; /* the recorder has one hook at a time on a thread */
    uint64_t ended;           /* calls */
    struct result *results;
    uint32_t n_results, results_room;
    struct grads_way *ways;
    uint32_t n_ways, ways_room;
    PyObject **nodes; /* held: an address stays its node's own */
    uint32_t n_nodes;
    struct seen_node *table;
    uint32_t walk;
    /* Nodes of leaves that calls handed on, held until the outermost call ends: nobody
     * else may hold them until something is computed from the leaf. */
    PyObject **leaves;
    uint32_t n_leaves, leaves_room;
};

enum object_flag {
    HAD_NODES = 1,         /* its newest call that was no recomputation made nodes */
    TOO_LARGE = 2,         /* the walk met too many nodes, a gap says so */
    TOLD_HANDED = 4,       /* a gap says that what it passes on is not known */
    TOLD_WRITTEN = 8,      /* a gap says that a view is written after the call */
    TOLD_TRANSFORMED = 16, /* a gap says that it is called inside a transform */
};

/* Hooks may outlive the recording, so this is counted: by the recorder, by each hook,
 * and by whoever is inside. */
struct grads {
    unsigned users;
    unsigned inside;           /* calls of grads.c under way */
    struct recorder *recorder; /* NULL once it ended */
    struct thread **threads;
    uint32_t n_threads;
    uint8_t *objects;           /* by object: enum object_flag */
    uint32_t walk;              /* number of the newest search */
    unsigned searches;          /* under way */
    bool leaves;                /* leaves are marked */
    Py_ssize_t references;      /* to a bare result that nobody keeps; 0: not known */
    uint32_t waiting_calls;     /* outermost, alive, reached by no backward */
    uint32_t waiting_object;    /* of the newest of them */
    uint64_t ended;             /* calls, on all threads */
    PyObject *key;              /* of ours among what is known of a node */
    struct backward *backwards; /* under way */
    struct sum *waiting;
    struct passage *open;
};

/* A call ended: mark its edges; or, where nodes have no numbers, hook them. */
void grads_mark_call(struct grads_visit *visit);
void grads_hook_call(struct grads_visit *visit);
/* Find where gradients leave through the arguments, and the node that the call made
 * first; false: too many nodes. */
bool find_ways(struct grads_visit *visit);

/* The number of a node: those that one thread makes are numbered as they come; 0: not
 * known. */
uint64_t number_of(PyObject *node);
uint64_t number_next(void); /* of the next node that this thread makes */

void grads_drop_user(struct grads *grads);
/* Say once of an object that gradients of what it passes on are not known. */
void grads_tell_handed(struct grads *grads, uint32_t object);
/* Likewise, of a view that it returned and that was written in place. */
void grads_tell_written(struct grads *grads, uint32_t object);

/* Mark an edge. Takes users of what the mark refers to. False: it could not be. Never
 * raises. */
bool mark_put(struct grads *grads, PyObject *node, const struct mark *mark);
/* A mark at the base of a view, beside the mark of the view. */
struct mark mark_of_base(const struct mark *mark, const struct grads_view *view);
void marks_free(struct hook *hook);
/* A backward reaches a result of the call. */
void passage_meet(struct grads *grads, struct passage *passage, uint32_t walk);

/* The hook of a node, borrowed: it is there as long as the node is. NULL: none. */
struct hook *hook_find(struct grads *grads, PyObject *node);
/* The same, made where there is none; NULL: it could not be. */
struct hook *hook_need(struct grads *grads, PyObject *node, uint32_t maker);
/* Remove what earlier searches put. */
void hook_clear(struct hook *hook);
/* Put a hook on a node, or add to that which is there. Takes a copy of *part and users
 * of what it refers to. False: it could not be. Never raises. */
bool hook_put(struct grads *grads, PyObject *node, const struct part *part);
/* Has a call on another thread put a hook on this node? */
bool hook_of_other(struct grads *grads, PyObject *node, uint32_t thread);
void hook_enter(struct recorder *recorder, const struct passage *passage,
                struct grads_spot *spot, PyObject *gradient);
/* A function of Python bound to `user`, which the capsule named `name` frees by
 * `release`; NULL: `user` is as it was. */
PyObject *hook_bind(PyMethodDef *method, void *user, const char *name,
                    PyCapsule_Destructor release);
/* Is the recording under way? If so the recorder is held until hook_let_go(): the GIL
 * may be released while a gradient is measured. */
struct recorder *hook_hold(struct grads *grads);
void hook_let_go(struct recorder *recorder, uint64_t began_ns);

struct passage *passage_new(uint32_t maker, struct passage *parent);
void passage_drop(struct passage *passage);
struct sum *sum_new(struct passage *passage, const struct grads_spot *spot,
                    uint32_t parts);
void sum_drop(struct sum *sum);
/* The first part, which is known before the backward begins. */
void sum_begin(struct sum *sum, PyObject *gradient);
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
