/* keras_in.h - the public header of read/keras: models of Keras.
 *
 *   h5.c            the reader of HDF5 files: models and weights of Keras, or any other
 *   keras_file.c    the reader of .keras: a zip with config.json and model.weights.h5
 *   keras_layers.c  turns the configuration into a tree of layers
 *   keras_bind.c    assigns weights of Keras 3 to layers: layers/dense/vars/0
 *   keras_legacy.c  the same for older .h5 files: model_weights/dense/dense/kernel:0
 *   keras_names.c   names that Keras gives to classes and weights
 *   keras_graph.c   the graphs of models: which layer reads which (keras_graph_in.h)
 *   keras_program.c turns these graphs into the program of the file
 *   keras_code.c    logs every class that the configuration names
 *
 * Keras builds a model from its configuration: it imports classes by name, and lambdas
 * are Python bytecode. This reader imports and runs nothing. */
#ifndef READ_KERAS_KERAS_IN_H
#define READ_KERAS_KERAS_IN_H

#include "model/value_json.h"
#include "read/hdf5/hdf5_in.h"

/* One layer of the configuration, or a part of a layer that only the weights have. */
struct keras_layer {
    uint32_t config; /* value id of {"class_name": ..., "config": {...}}; or None */
    uint32_t node;
    uint32_t item;   /* its group in the HDF5 file; 0: none */
    uint32_t parent; /* index; that of the model itself is 0 */
    struct str class_name, name;
    bool listed; /* in the list of layers of a model */
};

struct keras {
    struct input *input;
    struct build *build;
    struct hdf5 *file; /* NULL: no weights */
    uint32_t root;     /* node of the model */
    struct keras_layer *layers;
    uint32_t n_layers, layers_room;
    struct map by_name; /* parent and name -> the first layer with them */
    bool *used;         /* by item: its dataset is in the tree */
    struct str mode;    /* how the first quantised layer is quantised; or empty */
    /* Two layers that read the same weights: the node of an item. */
    uint32_t *nodes;
};

/* Make the tree of layers below keras->root; `config` is the value of the document. */
int keras_layers(struct keras *keras, uint32_t config, struct err *err);
/* Add a layer that the configuration does not have; its index, or UINT32_MAX. */
uint32_t keras_add_layer(struct keras *keras, uint32_t parent, uint32_t node,
                         struct str class_name, struct str name);
/* The child of a layer with this name in the configuration; UINT32_MAX: none. */
uint32_t keras_layer_find(const struct keras *keras, uint32_t parent, struct str name);

/* Add the dataset of an item as a weight of the node. */
int keras_add_weight(struct keras *keras, uint32_t item, uint32_t node, struct str name,
                     enum tensor_role role, struct err *err);
/* The dataset of an item is a parameter, although it has integers. */
void keras_keep_role(struct keras *keras, uint32_t item);

/* The layers in the configuration of a model: its LIST; VALUE_ID_NONE: it has none. Old
 * files have this list in place of a configuration. */
uint32_t keras_list(const struct values *values, uint32_t config);

/* The graph of the configuration as the program, once the tree is complete. */
int keras_program(struct keras *keras, struct err *err);

/* Call keras_begin() first, then one of the next two for weights of Keras 3 (below
 * `item`) or older ones, and keras_bind_rest() last: it adds all remaining datasets. */
int keras_begin(struct keras *keras, struct hdf5 *file, struct err *err);
int keras_bind(struct keras *keras, uint32_t item, struct err *err);
int keras_bind_legacy(struct keras *keras, uint32_t item, struct err *err);
int keras_bind_optimizer(struct keras *keras, uint32_t item, uint32_t config,
                         struct err *err);
int keras_bind_rest(struct keras *keras, struct err *err);

/* Log all classes and functions that a configuration names. */
void keras_code(struct build *build, struct str text, struct str name);

/* Weight i of n of a layer, whose arguments are in the DICT. The mode of quantisation
 * decides between two layouts with as many weights. */
struct keras_weight {
    struct str name; /* empty: unknown */
    bool buffer;     /* it is not trained */
    bool packed;     /* a quantised weight: integers, but a parameter */
};
struct keras_weight keras_weight_name(const struct values *values,
                                      struct str class_name, uint32_t args,
                                      struct str mode, uint32_t i, uint32_t n);
/* How a layer is quantised, from {"dtype": {"config": {"mode": "int8"}}}, or empty. */
struct str keras_mode(const struct values *values, uint32_t args);
/* The class of a part that is not in the configuration, such as the cell of an LSTM; or
 * empty. */
struct str keras_part_class(struct str class_name, struct str part);
/* The name that Keras gives to the first instance of a class: "batch_normalization". */
struct str keras_snake_case(struct arena *arena, struct str class_name);
/* The module of a class of Keras, for files that omit it: "keras.layers"; empty: not a
 * class of Keras. */
struct str keras_module_of(struct str class_name);

/* The class "MODULE.NAME" in the model; Keras' own module if `module` is empty. */
uint32_t keras_class(struct keras *keras, struct str module, struct str class_name);

/* The text of a key of an object in the configuration; empty: missing. */
struct str keras_text(const struct values *values, uint32_t object, const char *key);
/* The attribute `name` of the group `vars` of an item: the name of its layer. */
struct str keras_item_name(struct keras *keras, uint32_t item);

#endif
