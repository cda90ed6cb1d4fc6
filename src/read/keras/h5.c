/* h5.c - the reader of HDF5 files: a model of Keras (its configuration is an attribute
 * of the root), weights of Keras, or any other file: groups, datasets, attributes. */
#include "base/base.h"
#include "read/keras/keras_in.h"

static int h5_knows(const struct input *input)
{
    uint64_t at;

    return input->blob && hdf5_looks_like(input->head, &at) ? SURE_MAGIC : 0;
}

/* Facts that older files have as attributes. */
static void add_facts(struct build *build, uint32_t attributes)
{
    static const char *const keys[] = {"keras_version", "backend"};
    uint32_t value;

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (value_json_get(build_values(build), attributes, keys[i], &value))
            build_metadata(build, str_of(keys[i]), value);
}

/* {"optimizer_config": {"class_name": "Adam", ...}} */
static uint32_t optimizer_of(struct build *build, uint32_t attributes)
{
    struct values *values = build_values(build);
    struct str text = keras_text(values, attributes, "training_config");
    uint32_t training, optimizer;

    if (text.len == 0)
        return VALUE_ID_NONE;
    keras_code(build, text, STR("training_config"));
    training = value_json_text(values, text, &build->scratch);
    return value_json_get(values, training, "optimizer_config", &optimizer)
               ? optimizer
               : VALUE_ID_NONE;
}

/* A model: its layers, then their weights. */
static int read_model(struct keras *keras, struct hdf5 *file, uint32_t attributes,
                      struct err *err)
{
    struct build *build = keras->build;
    struct values *values = build_values(build);
    struct str text = keras_text(values, attributes, "model_config");
    uint32_t config = value_json_text(values, text, &build->scratch);
    uint32_t weights = hdf5_child(file, 0, STR("model_weights"));

    keras_code(build, text, STR("model_config"));
    if (config == VALUE_ID_FAILED) {
        build_finding(
            build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
            "the attribute model_config is not JSON: the classes of the layers "
            "are unknown");
        config = VALUE_ID_NONE;
    }
    if (keras_layers(keras, config, err) < 0)
        return -1;
    if (weights && keras_bind_legacy(keras, weights, err) < 0)
        return -1;
    return keras_bind_optimizer(keras, hdf5_child(file, 0, STR("optimizer_weights")),
                                optimizer_of(build, attributes), err);
}

static int read_keras(struct input *input, struct build *build, struct hdf5 *file,
                      uint32_t attributes, struct err *err)
{
    struct keras keras = {.input = input, .build = build, .root = input->node};
    uint32_t config;
    int status;

    if (input->node == 0)
        build->model->format = "Keras HDF5";
    if (keras_begin(&keras, file, err) < 0)
        return -1;
    if (value_json_get(build_values(build), attributes, "model_config", &config))
        status = read_model(&keras, file, attributes, err);
    else if (keras_layers(&keras, VALUE_ID_NONE, err) < 0)
        status = -1;
    else
        status = keras_bind_legacy(&keras, 0, err);
    if (status < 0 || keras_bind_rest(&keras, err) < 0)
        return -1;
    return keras_program(&keras, err);
}

static bool is_keras(const struct values *values, uint32_t attributes)
{
    uint32_t value;

    return value_json_get(values, attributes, "model_config", &value) ||
           value_json_get(values, attributes, "layer_names", &value) ||
           value_json_get(values, attributes, "layer_names0", &value);
}

static int h5_read(struct input *input, struct build *build, struct err *err)
{
    struct hdf5 *file = arena_alloc(&build->scratch, sizeof *file);
    uint32_t attributes;

    if (!file)
        return arena_err(&build->scratch, input->path, err);
    if (hdf5_open(file, input, build, err) < 0 ||
        hdf5_attributes(file, 0, &attributes, err) < 0)
        return -1;
    if (input->node == 0)
        build_fact(build, "superblock", value_int(build_values(build), file->version));
    add_facts(build, attributes);
    if (is_keras(build_values(build), attributes))
        return read_keras(input, build, file, attributes, err);
    return hdf5_add_all(file, 0, input->node, ROLE_PARAMETER, err);
}

const struct reader h5_reader = {.name = "HDF5", .knows = h5_knows, .read = h5_read};
