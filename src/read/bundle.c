/* bundle.c - a zip of model files: what Stable-Baselines, TorchServe (.mar) and people
 * who zip a folder write. Every member that a reader recognises is read below its name;
 * the others are listed. Code that the program of the bundle runs goes into the log. */
#include "read/bundle_in.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "model/value_json.h"
#include "read/file/file_source_in.h"
#include "read/file/inflate_in.h"

#define SURE_BUNDLE   45 /* more than not_a_model, less than any format in a zip */
#define MODELS_MOST   1000
#define DEFLATED_MOST 256 /* an open one takes memory for as long as the model */
#define LISTED_MOST   10000

extern const struct reader not_a_model_reader;

static bool is_folder(const struct zip_entry *entry)
{
    return entry->size == 0 && str_ends(entry->name, STR("/"));
}

/* Does the name have the suffix of a model? Only to recognise a zip of models: formats
 * of members are detected by content. */
static bool is_model_name(struct str name)
{
    static const char *const endings[] = {
        ".pt",     ".pth",    ".ckpt", ".bin",         ".pkl", ".pickle",
        ".joblib", ".npy",    ".npz",  ".safetensors", ".h5",  ".hdf5",
        ".keras",  ".tflite", ".onnx", ".gguf",        ".pte", ".task",
    };
    ptrdiff_t folder = str_find_last_char(name, '/');

    /* The language models of MediaPipe: "TF_LITE_PREFILL_DECODE". */
    if (str_starts(str_from(name, (size_t)(folder + 1)), STR("TF_LITE_")))
        return true;

    for (size_t i = 0; i < COUNT_OF(endings); i++)
        if (str_ends(name, str_of(endings[i])))
            return true;
    return false;
}

static int bundle_knows(const struct input *input)
{
    const struct zip *zip = input->zip;

    if (!zip || zip_find(zip, ".data/extern_modules") >= 0)
        return 0;
    for (uint32_t i = 0; i < zip->n; i++)
        if (is_model_name(zip->entries[i].name))
            return SURE_BUNDLE;
    return 0;
}

/* The first unpacked bytes of a member; none if they cannot be read. */
static struct str front_of(struct zip *zip, uint32_t index, uint8_t *to)
{
    const struct zip_entry *entry = &zip->entries[index];
    uint64_t n = entry->size < INPUT_HEAD ? entry->size : INPUT_HEAD, at;
    struct inflate *inflate;
    int status = -1;

    if (n == 0 || zip_data_at(zip, index, &at, NULL) < 0)
        return STR("");
    if (entry->method == ZIP_STORED) {
        if (n <= entry->packed)
            status = blob_read(zip->blob, at, to, (size_t)n, NULL);
    } else if (entry->method == ZIP_DEFLATED) {
        inflate = inflate_open(zip->blob, at, entry->packed, entry->size, NULL);
        status = inflate ? inflate_read(inflate, to, (size_t)n, NULL) : -1;
        inflate_close(inflate);
    }
    return status < 0 ? STR("") : str_span(to, (size_t)n);
}

/* Readers look at the first bytes and at the size. */
static bool is_promising(const struct bundle *bundle, uint32_t index, struct str front)
{
    const struct zip_entry *entry = &bundle->input->zip->entries[index];
    struct blob sized = {.name = "", .size = entry->size};
    struct input inner = {.path = "",
                          .name = entry->name,
                          .head = front,
                          .blob = &sized,
                          .depth = bundle->input->depth + 1,
                          .inner = true};

    return front.len > 0 && input_promising(&inner);
}

/* The node of a member: its folders are groups. */
static uint32_t make_node(struct bundle *bundle, struct str name)
{
    struct build *build = bundle->build;
    uint32_t parent = bundle->input->node;
    struct str part;
    bool again;

    while (parent != NO_PLACE && str_find_char(name, '/') >= 0 &&
           str_split(&name, '/', &part))
        if (part.len > 0)
            parent = build_child(build, parent, PLACE_GROUP, part);
    if (parent == NO_PLACE)
        return NO_PLACE;
    return build_leaf(build, parent, PLACE_GROUP, name, &again);
}

/* ---- members ---- */

static void cannot_read(struct bundle *bundle, uint32_t node, uint32_t index,
                        const char *why)
{
    const struct zip *zip = bundle->input->zip;

    build_finding(bundle->build, FINDING_DAMAGED, SEVERITY_ALARM, node,
                  "entry %.*s: %s", STR_ARG(zip->entries[index].name), why)
        ->entry = zip_finding_entry(zip, &zip->entries[index]);
}

/* Memory for a member that unpacks to more than it has in the archive. The limit
 * follows from the packed size, so that a bomb cannot raise it far. */
static void allow_more(struct build *build, const struct zip_entry *entry)
{
    uint64_t more = entry->size > entry->packed ? entry->size - entry->packed : 0;

    input_allow(build, more < 4 * entry->packed ? more : 4 * entry->packed);
}

static int read_member(struct bundle *bundle, uint32_t index, uint32_t node,
                       struct err *err)
{
    struct zip *zip = bundle->input->zip;
    struct build *build = bundle->build;
    const struct zip_entry *entry = &zip->entries[index];
    uint32_t streams = build->model->pickle.n_streams;
    struct blob *blob;
    struct err why = {0};

    if (entry->method == ZIP_DEFLATED)
        allow_more(build, entry);
    blob = zip_open_member(zip, index, build, &why);
    if (blob &&
        input_read_inner(bundle->input, blob,
                         arena_printf(&build->scratch, "%.*s", STR_ARG(entry->name)),
                         node, build, &why) == 0) {
        bundle->n_models++;
        return 0;
    }
    if (why.code == ERR_CANCELLED || build_spent(build))
        return err_copy(err, &why);
    /* What could not be read may run something: the verdict must not be "safe". */
    if (build->model->pickle.n_streams == streams && why.code != ERR_UNSUPPORTED)
        build_pickle_stream(build, entry->name, entry->size);
    cannot_read(bundle, node, index, err_reason(&why));
    return 0;
}

/* A member that is not a model: its size, and what it is. */
static int list_member(struct bundle *bundle, uint32_t index, struct err *err)
{
    struct build *build = bundle->build;
    struct values *values = build_values(build);
    const struct zip_entry *entry = &bundle->input->zip->entries[index];
    uint32_t items[2], node, value;

    if (bundle->n_listed == LISTED_MOST)
        build_finding(build, FINDING_LIMIT, SEVERITY_WARNING, bundle->input->node,
                      "%.*s: only the first %d other files are listed",
                      STR_ARG(bundle->input->name), LISTED_MOST);
    if (bundle->n_listed++ >= LISTED_MOST)
        return 0;
    node = make_node(bundle, entry->name);
    items[0] = value_str(values, STR("bytes"));
    items[1] = value_int(values, (int64_t)entry->size);
    value = value_make(values, VALUE_OBJECT, STR("file"), items, 2);
    if (node == NO_PLACE || value == VALUE_ID_FAILED)
        return arena_err(&build->model->arena, bundle->input->path, err);
    build_set_kind(build, node, PLACE_VALUE);
    build_set_object(build, node, value);
    return 0;
}

/* Is there room for another open member? */
static bool has_room(struct bundle *bundle, uint32_t index)
{
    bool deflated = bundle->input->zip->entries[index].method == ZIP_DEFLATED;

    if (bundle->n_models < MODELS_MOST &&
        (!deflated || bundle->n_deflated++ < DEFLATED_MOST))
        return true;
    if (!bundle->full) {
        build_finding(bundle->build, FINDING_LIMIT, SEVERITY_ALARM, bundle->input->node,
                      "%.*s: more than %d models, or %d compressed ones, in one zip: "
                      "the rest is listed only",
                      STR_ARG(bundle->input->name), MODELS_MOST, DEFLATED_MOST);
        build_pickle_stream(bundle->build, bundle->input->name, 0);
    }
    bundle->full = true;
    return false;
}

static int add_member(struct bundle *bundle, uint32_t index, struct err *err)
{
    struct zip *zip = bundle->input->zip;
    const struct zip_entry *entry = &zip->entries[index];
    uint8_t bytes[INPUT_HEAD];
    struct str front = front_of(zip, index, bytes);
    uint32_t node;

    if (front.len == 0 && entry->size > 0) {
        bundle->n_listed++;
        node = make_node(bundle, entry->name);
        if (node == NO_PLACE)
            return arena_err(&bundle->build->model->arena, bundle->input->path, err);
        build_set_kind(bundle->build, node, PLACE_VALUE);
        build_pickle_stream(bundle->build, entry->name, entry->size);
        cannot_read(bundle, node, index, "it cannot be unpacked");
        return 0;
    }
    if (bundle_is_known(bundle, index))
        return bundle_add_known(bundle, index, make_node(bundle, entry->name), err);
    if (!is_promising(bundle, index, front) || !has_room(bundle, index))
        return list_member(bundle, index, err);
    node = make_node(bundle, entry->name);
    if (node == NO_PLACE)
        return arena_err(&bundle->build->model->arena, bundle->input->path, err);
    return read_member(bundle, index, node, err);
}

/* Is any member a model? */
static bool has_model(struct bundle *bundle)
{
    struct zip *zip = bundle->input->zip;
    uint8_t bytes[INPUT_HEAD];

    for (uint32_t i = 0; i < zip->n; i++)
        if (bundle_is_known(bundle, i) ||
            is_promising(bundle, i, front_of(zip, i, bytes)))
            return true;
    return false;
}

static int bundle_read(struct input *input, struct build *build, struct err *err)
{
    struct bundle bundle = {.input = input, .build = build};
    const struct zip *zip = input->zip;

    if (!has_model(&bundle))
        return not_a_model_reader.read(input, build, err);
    for (uint32_t i = 0; i < zip->n; i++) {
        struct arena before = build_scratch_begin(build);
        int status = is_folder(&zip->entries[i]) ? 0 : add_member(&bundle, i, err);

        build_scratch_end(build, before);
        if (status < 0)
            return -1;
        if (!work_step(build->work, 0))
            return err_set_about(err, ERR_CANCELLED, input->path, ": stopped");
    }
    if (zip->salvaged)
        build_finding(build, FINDING_TRUNCATED, SEVERITY_ALARM, input->node,
                      "truncated: the archive has no directory; %u of its files were "
                      "found. Download it again",
                      zip->n);
    if (input->node == 0) {
        build_fact(build, "entries", value_int(build_values(build), zip->n));
        build_fact(build, "models", value_int(build_values(build), bundle.n_models));
    }
    return 0;
}

const struct reader bundle_reader = {
    .name = "zip bundle", .knows = bundle_knows, .read = bundle_read};
