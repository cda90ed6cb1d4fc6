/* keras_file.c - a .keras file: a zip with config.json (the layers), metadata.json (the
 * version) and model.weights.h5. */
#include "base/base.h"
#include "read/file/file_source_in.h"
#include "read/keras/keras_in.h"

#define JSON_MOST (64 * MIB)

static bool has(const struct zip *zip, const char *name)
{
    return zip_find_name(zip, str_of(name)) >= 0;
}

static int keras_knows(const struct input *input)
{
    const struct zip *zip = input->zip;

    if (!zip || !has(zip, "config.json"))
        return 0;
    return has(zip, "model.weights.h5") || has(zip, "metadata.json") ? SURE_MAGIC : 0;
}

/* The JSON value of a member; VALUE_ID_NONE: missing or damaged, which is a finding. */
static uint32_t load_json(struct keras *keras, const char *name, struct str *ret_text)
{
    struct build *build = keras->build;
    struct zip *zip = keras->input->zip;
    int64_t entry = zip_find_name(zip, str_of(name));
    struct err why = {0};
    uint32_t value = VALUE_ID_FAILED;

    *ret_text = STR("");
    if (entry < 0)
        return VALUE_ID_NONE;
    if (zip_load(zip, (uint32_t)entry, JSON_MOST, build, &build->scratch, ret_text,
                 &why) == 0)
        value = value_json_text(build_values(build), *ret_text, &build->scratch);
    if (value != VALUE_ID_FAILED)
        return value;
    build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
                  "%s cannot be read: %s", name,
                  why.code != ERR_NONE ? err_reason(&why) : "it is not JSON");
    return VALUE_ID_NONE;
}

static void add_metadata(struct keras *keras)
{
    static const char *const keys[] = {"keras_version", "date_saved"};
    struct values *values = build_values(keras->build);
    struct str text;
    uint32_t metadata = load_json(keras, "metadata.json", &text), value;

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (value_json_get(values, metadata, keys[i], &value))
            build_metadata(keras->build, str_of(keys[i]), value);
}

/* The optimizer of {"compile_config": {"optimizer": {"class_name": ...}}}. */
static uint32_t optimizer_of(const struct values *values, uint32_t config)
{
    uint32_t compile, optimizer;

    return value_json_get(values, config, "compile_config", &compile) &&
                   value_json_get(values, compile, "optimizer", &optimizer)
               ? optimizer
               : VALUE_ID_NONE;
}

static int bind(struct keras *keras, uint32_t config, struct input *inner,
                struct err *err)
{
    struct hdf5 *file = arena_alloc(&keras->build->scratch, sizeof *file);

    if (!file)
        return arena_err(&keras->build->scratch, keras->input->path, err);
    if (input_look(inner, keras->build, err) < 0 ||
        hdf5_open(file, inner, keras->build, err) < 0 ||
        keras_begin(keras, file, err) < 0 || keras_bind(keras, 0, err) < 0 ||
        keras_bind_optimizer(keras, hdf5_child(file, 0, STR("optimizer")),
                             optimizer_of(build_values(keras->build), config), err) < 0)
        return -1;
    return keras_bind_rest(keras, err);
}

static int add_weights(struct keras *keras, uint32_t config, struct err *err)
{
    struct build *build = keras->build;
    struct zip *zip = keras->input->zip;
    int64_t entry = zip_find_name(zip, STR("model.weights.h5"));
    struct input inner = {.path = keras->input->path,
                          .name = keras->input->name,
                          .depth = keras->input->depth + 1,
                          .inner = true};
    struct err why = {0};

    if (entry < 0) {
        build_finding(
            build, FINDING_MISSING_RECORD, SEVERITY_ALARM, FINDING_NOWHERE,
            "the archive has no model.weights.h5: the layers have no weights. "
            "Save or download it again");
        return 0;
    }
    inner.blob = zip_open_member(zip, (uint32_t)entry, build, &why);
    if (inner.blob && file_source_keep(build, inner.blob, err) < 0)
        return -1;
    if (inner.blob && bind(keras, config, &inner, &why) == 0)
        return 0;
    if (why.code == ERR_CANCELLED || build_spent(build))
        return err_copy(err, &why);
    build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
                  "model.weights.h5: %s", err_reason(&why));
    return 0;
}

static int keras_read(struct input *input, struct build *build, struct err *err)
{
    struct keras keras = {.input = input, .build = build, .root = input->node};
    struct str text;
    uint32_t config = load_json(&keras, "config.json", &text);

    keras_code(build, text, STR("config.json"));
    if (input->node == 0)
        build_fact(build, "entries", value_int(build_values(build), input->zip->n));
    add_metadata(&keras);
    if (keras_layers(&keras, config, err) < 0)
        return -1;
    if (add_weights(&keras, config, err) < 0)
        return -1;
    return keras_program(&keras, err);
}

const struct reader keras_reader = {
    .name = "Keras", .knows = keras_knows, .read = keras_read};
