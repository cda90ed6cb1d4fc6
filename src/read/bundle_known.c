#include "read/bundle_in.h"

#include "base/base.h"
#include "base/base64.h"
#include "model/value_json.h"
#include "read/file/file_source_in.h"
#include "read/torch/torch_in.h"

#define JSON_MOST (64 * MIB)

/* ---- Stable-Baselines ----
 * `data` is a JSON object of settings. What JSON cannot hold is an object with the text
 * of a pickle, which loading executes:
 *     {"gamma": 0.99, "policy_class": {":type:": "<class ...>", ":serialized:": "gAWV.."}}
 */

/* The pickle behind a setting; false: it has none. */
static bool is_serialised(const struct values *values, uint32_t setting,
                          uint32_t *ret_text)
{
    return value_json_get(values, setting, ":serialized:", ret_text) &&
           value_at(values, *ret_text)->kind == VALUE_STR;
}

static int read_serialised(struct bundle *bundle, struct str name, uint32_t text,
                           uint32_t node, struct err *err)
{
    struct build *build = bundle->build;
    struct str bytes,
        title = str_of(arena_printf(&build->scratch, "data: %.*s", STR_ARG(name)));
    struct blob *blob = NULL;
    struct err why = {0};

    /* The model's source reads from these bytes later. */
    if (title.at && base64_decode(value_text(build_values(build), text),
                                  &build->model->arena, &bytes))
        blob = blob_open_memory(bytes.at, bytes.len, title.at, &why);
    else
        err_set(&why, ERR_FORMAT, "its text is not base64");
    if (blob && input_read_inner_as(bundle->input, blob, title.at, node,
                                    &bare_pickle_reader, build, &why) == 0)
        return 0;
    if (why.code == ERR_CANCELLED || build_spent(build))
        return err_copy(err, &why);
    build_pickle_stream(build, title.at ? title : name, 0);
    build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, node,
                  "the pickle of %.*s cannot be read: %s", STR_ARG(name),
                  err_reason(&why));
    return 0;
}

static int add_setting(struct bundle *bundle, uint32_t parent, struct str name,
                       uint32_t setting, struct err *err)
{
    struct build *build = bundle->build;
    bool again;
    uint32_t text, node = build_leaf(build, parent, PLACE_VALUE, name, &again);

    if (node == NO_PLACE)
        return arena_err(&build->model->arena, bundle->input->path, err);
    if (is_serialised(build_values(build), setting, &text)) {
        build_set_kind(build, node, PLACE_GROUP);
        return read_serialised(bundle, name, text, node, err);
    }
    build_set_object(build, node, setting);
    return 0;
}

static int add_settings(struct bundle *bundle, uint32_t node, uint32_t settings,
                        struct err *err)
{
    struct values *values = build_values(bundle->build);

    for (uint32_t i = 0; i + 1 < value_at(values, settings)->n; i += 2) {
        const uint32_t *items = value_items(values, settings);

        if (add_setting(bundle, node, value_text(values, items[i]), items[i + 1], err) <
            0)
            return -1;
    }
    return 0;
}

/* ---- TorchServe ----
 * {"model": {"modelName": "x", "serializedFile": "x.pt", "handler": "x.py:entry"}} */

/* The handler is code that serving the archive runs. */
static void note_handler(struct bundle *bundle, uint32_t node, struct str manifest_name,
                         uint32_t manifest)
{
    struct build *build = bundle->build;
    struct values *values = build_values(build);
    uint32_t model, handler, stream;
    struct str name;
    ptrdiff_t colon;

    if (!value_json_get(values, manifest, "model", &model) ||
        !value_json_get(values, model, "handler", &handler) ||
        value_at(values, handler)->kind != VALUE_STR)
        return;
    name = value_text(values, handler);
    colon = str_find_char(name, ':');
    name = str_head(name, colon < 0 ? name.len : (size_t)colon);
    if (str_ends(name, STR(".py")))
        name = str_head(name, name.len - 3);
    stream = build_code_stream(build, manifest_name, 0);
    build_code_use(build, stream, name, STR("handle"), 0, VALUE_ID_NONE, node);
    build_finding(build, FINDING_UNSUPPORTED, SEVERITY_NOTE, node,
                  "serving this archive runs its handler, the Python code in %.*s",
                  STR_ARG(value_text(values, handler)));
}

/* ---- */

static bool is_data(struct str name)
{
    return str_is(name, "data");
}

static bool is_manifest(struct str name)
{
    return str_is(name, "MAR-INF/MANIFEST.json");
}

bool bundle_is_known(const struct bundle *bundle, uint32_t index)
{
    const struct zip *zip = bundle->input->zip;
    struct str name = zip->entries[index].name;
    bool baselines = zip_find_name(zip, STR("policy.pth")) >= 0 ||
                     zip_find_name(zip, STR("parameter_list")) >= 0;

    return (is_data(name) && baselines) || is_manifest(name);
}

int bundle_add_known(struct bundle *bundle, uint32_t index, uint32_t node,
                     struct err *err)
{
    struct build *build = bundle->build;
    struct str text, name = bundle->input->zip->entries[index].name;
    struct err why = {0};
    uint32_t value;

    if (node == NO_PLACE)
        return arena_err(&build->model->arena, bundle->input->path, err);
    if (zip_load(bundle->input->zip, index, JSON_MOST, build, &build->scratch, &text,
                 &why) < 0)
        value = VALUE_ID_FAILED;
    else
        value = value_json_text(build_values(build), text, &build->scratch);
    if (build_spent(build))
        return arena_err(&build->model->arena, bundle->input->path, err);
    if (value == VALUE_ID_FAILED ||
        value_at(build_values(build), value)->kind != VALUE_DICT) {
        build_set_kind(build, node, PLACE_VALUE);
        build_pickle_stream(build, name, text.len);
        build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, node,
                      "entry %.*s is not a JSON object", STR_ARG(name));
        return 0;
    }
    if (is_manifest(name))
        note_handler(bundle, node, name, value);
    if (is_data(name))
        return add_settings(bundle, node, value, err);
    build_set_kind(build, node, PLACE_VALUE);
    build_set_object(build, node, value);
    return 0;
}
