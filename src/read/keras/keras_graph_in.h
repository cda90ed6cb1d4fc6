/* keras_graph_in.h - the graphs in a configuration, for keras_graph.c, keras_refs.c and
 * keras_program.c.
 *
 * A model lists its layers; each layer lists its calls (`inbound_nodes`), and each call
 * names the tensors that it reads: a layer, the number of its call, and of its result:
 *
 *     Keras 2:  [[["conv", 0, 0, {"training": false}], ["conv", 1, 0, {}]], ...]
 *     Keras 3:  [{"args": [{"class_name": "__keras_tensor__", "config": {"shape":
 *                [null, 8], "dtype": "float32", "keras_history": ["conv", 0, 0]}}],
 *                "kwargs": {...}}, ...]
 *
 * Calls of all models are in one array, `nodes`; results of the calls of one model are
 * its slots, from 0. */
#ifndef READ_KERAS_KERAS_GRAPH_IN_H
#define READ_KERAS_KERAS_GRAPH_IN_H

#include "read/keras/keras_in.h"

#define KERAS_NONE         UINT32_MAX
#define KERAS_RESULTS_MOST 1000 /* results of one call */

/* One tensor that a call reads, or an input or output of a model. */
struct keras_ref {
    uint32_t layer;          /* KERAS_NONE: the configuration does not have it */
    uint32_t number, result; /* which call of the layer, which of its results */
    uint32_t node;           /* the call; KERAS_NONE: there is none */
    uint32_t shape, dtype;   /* value ids; VALUE_ID_NONE: unknown */
    uint32_t arg;            /* string id */
    uint32_t item;           /* position in a list, or PROGRAM_NONE */
    bool tensor;             /* in the form of Keras 3 */
};

/* One call of a layer. */
struct keras_node {
    uint32_t layer; /* KERAS_NONE: the input of a Sequential without an InputLayer */
    uint32_t refs, n_refs;
    uint32_t plain;   /* value id of a DICT: arguments that are constants; or None */
    uint32_t slot, n; /* its results */
    uint8_t state;    /* private: of the search for an order */
};

struct keras_slot {
    uint32_t shape, dtype; /* value ids, or VALUE_ID_NONE */
};

struct keras_graph {
    uint32_t layer;
    bool sequential;
    bool keras_3; /* calls take tensors in the form of Keras 3 */
    bool shapes;  /* of a Sequential: those in its layers fit its input */
    uint32_t nodes, n_nodes;
    uint32_t *order; /* nodes, each after those that it depends on */
    uint32_t n_order;
    uint32_t inputs, n_inputs, outputs, n_outputs; /* refs */
    struct keras_slot *slots;
    uint32_t n_slots;
};

struct keras_graphs {
    struct keras *keras;
    struct build *build;
    struct arena *arena;
    struct keras_node *nodes;
    uint32_t n_nodes, nodes_room;
    struct keras_ref *refs;
    uint32_t n_refs, refs_room;
    struct keras_graph **of_layer;        /* by layer; NULL: it is not a model */
    uint32_t *first_child, *n_children;   /* by layer: listed ones */
    uint32_t *first_node, *n_layer_nodes; /* by layer */
    uint32_t *least; /* by layer: the lowest number of a call in a list of Keras 2 */
    bool said_missing, said_cycle;
};

/* Reads the graphs of all models in the configuration. -1: memory is spent, or the work
 * was stopped. */
int keras_graphs_read(struct keras_graphs *graphs, struct keras *keras,
                      struct err *err);

/* ---- keras_refs.c ---- */

/* Appends the tensors in a value that is an argument `arg` of a call in a model.
 * Returns how many, or -1. `sure`: an unknown layer is a mistake, not another kind of
 * list. */
int64_t keras_refs_add(struct keras_graphs *graphs, uint32_t model, uint32_t value,
                       uint32_t arg, bool sure);
/* The calls that a layer lists: all their tensors and constants. */
int keras_refs_of_call(struct keras_graphs *graphs, uint32_t model, uint32_t call,
                       struct keras_node *node);
/* An argument of a layer: "config" of its configuration. */
bool keras_arg(const struct keras *keras, uint32_t layer, const char *key,
               uint32_t *ret_value);

#endif
