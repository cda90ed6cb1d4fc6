#include "read/torch/test_fold_in.h"

#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "read/file/file_source_in.h"

/* Each key is a storage with the size in its persistent id. */
static uint32_t any_storage(void *user, const struct pickle *pickle, node_id persistent)
{
    struct build *build = user;
    struct torch_storage_id id;
    struct storage storage = {0};
    uint64_t bytes = 0;

    if (!torch_storage_id(pickle, persistent, &id))
        return NO_STORAGE;
    storage.name = build_string(build, id.key);
    for (uint32_t i = 0; i < build->model->n_storages; i++)
        if (build->model->storages[i].name == storage.name)
            return i;
    dtype_size(id.untyped ? DTYPE_UINT8 : id.dtype, (uint64_t)id.numel, &bytes);
    storage.bytes = bytes;
    return file_source_missing(build, &storage);
}

static bool no_class(void *user, const struct pickle *pickle, node_id persistent,
                     node_id *ret_class, struct str *ret_file, struct str *ret_source)
{
    node_id id = pickle_callee(pickle, persistent);

    (void)user;
    *ret_class = pickle_item(pickle, id, 1);
    *ret_file = pickle_text(pickle, pickle_item(pickle, id, 2));
    *ret_source = pickle_text(pickle, pickle_item(pickle, id, 3));
    return str_is(pickle_text(pickle, pickle_item(pickle, id, 0)), "module");
}

static enum tensor_role flat_role(void *user, struct str class_name,
                                  struct str attribute)
{
    (void)user;
    (void)class_name;
    if (str_is(attribute, "running_mean"))
        return ROLE_BUFFER;
    return str_is(attribute, "weight") ? ROLE_PARAMETER : ROLE_PLAIN;
}

static void fold_dialect(struct folded *folded, const char *at, size_t len, bool flat)
{
    struct torch_dialect dialect = {.storage = any_storage, .class_source = no_class};
    struct bytes in = bytes_of(at, len);
    struct pickle pickle;
    struct build build;
    struct err err = {0};

    memset(folded, 0, sizeof *folded);
    CHECK(build_init(&build, "test", 256 * MIB, NULL, &err) == 0);
    dialect.user = &build;
    dialect.flat_state = flat;
    dialect.flat_role = flat_role;
    CHECK(pickle_run(&pickle, &build, &in, STR("test"), &err) == 0);
    CHECK(torch_fold(&build, 0, &pickle, pickle.result, &dialect, &err) == 0);
    folded->model = build_finish(&build, &err);
    CHECK(folded->model != NULL);
    build_release(&build);
}

void fold_bytes(struct folded *folded, const char *at, size_t len)
{
    fold_dialect(folded, at, len, false);
}

void fold_text(struct folded *folded, const char *pickle)
{
    fold_dialect(folded, pickle, strlen(pickle), false);
}

void fold_flat_text(struct folded *folded, const char *pickle)
{
    fold_dialect(folded, pickle, strlen(pickle), true);
}

void folded_release(struct folded *folded)
{
    model_free(folded->model);
    buf_release(&folded->text);
}

static void show_value(struct buf *to, const struct values *values, uint32_t id)
{
    const struct value *value = value_at(values, id);
    const uint32_t *items = value_items(values, id);

    switch ((enum value_kind)value->kind) {
    case VALUE_NONE:
        buf_text(to, "None");
        break;
    case VALUE_BOOL:
        buf_text(to, value->integer ? "True" : "False");
        break;
    case VALUE_INT:
        buf_printf(to, "%lld", (long long)value->integer);
        break;
    case VALUE_REAL:
        buf_printf(to, "%g", value->real);
        break;
    case VALUE_TENSOR:
        buf_printf(to, "tensor %lld", (long long)value->integer);
        break;
    case VALUE_LIST:
    case VALUE_TUPLE:
    case VALUE_DICT:
    case VALUE_OBJECT:
        buf_str(to, value_text(values, id));
        buf_char(to, '[');
        for (uint32_t i = 0; i < value->n && i < 20; i++) {
            buf_text(to, i > 0 ? " " : "");
            show_value(to, values, items[i]); /* tests write shallow values only */
        }
        buf_char(to, ']');
        break;
    default:
        buf_str(to, value_text(values, id));
        break;
    }
}

static void show_dims(struct buf *to, const int64_t *dims, int rank)
{
    for (int i = 0; i < rank; i++)
        buf_printf(to, "%s%lld", i > 0 ? "x" : "", (long long)dims[i]);
}

static void show_tensor(struct buf *to, const struct model *model,
                        const struct tensor *tensor)
{
    static const char *const roles[] = {"parameter", "buffer", "state", "plain"};
    static const struct {
        unsigned flag;
        const char *text;
    } flags[] = {{TENSOR_ROLE_GUESSED, "?"},   {TENSOR_GRAD, " grad"},
                 {TENSOR_CONJ, " conj"},       {TENSOR_NEG, " neg"},
                 {TENSOR_INVALID, " INVALID"}, {TENSOR_META, " meta"},
                 {TENSOR_SHAPE_ONLY, " outer"}};
    int rank = tensor->rank;

    buf_printf(to, "%s ", dtype_name(tensor->dtype));
    show_dims(to, tensor_shape(model, tensor), rank);
    if (!tensor_contiguous(model, tensor)) {
        buf_char(to, '/');
        show_dims(to, tensor_strides(model, tensor), rank);
    }
    if (tensor->offset > 0)
        buf_printf(to, "+%llu", (unsigned long long)tensor->offset);
    buf_printf(to, " %s", roles[tensor->role]);
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (tensor->flags & flags[i].flag)
            buf_text(to, flags[i].text);
    if (tensor->class_id != NO_CLASS)
        buf_printf(to, " %.*s",
                   STR_ARG(class_short(
                       model_string(model, model->classes[tensor->class_id].name))));
    if (tensor->extra) {
        buf_char(to, ' ');
        show_value(to, &model->values, tensor->extra);
    }
}

static void show_object(struct buf *to, const struct model *model, uint32_t place)
{
    const struct object *object = place_object(model, place);

    buf_text(to, model->kind[place] == PLACE_MODULE ? "module" : "group");
    if (!object)
        return;
    if (object->class_id != NO_CLASS)
        buf_printf(to, " %.*s", STR_ARG(place_class(model, place)));
    if (object->version)
        buf_printf(to, " v%u", object->version);
    if (object->training >= 0)
        buf_text(to, object->training ? " training" : " eval");
    if (object->args) {
        buf_char(to, ' ');
        show_value(to, &model->values, object->args);
    }
    if (object->hidden) {
        buf_text(to, " hidden");
        show_value(to, &model->values, object->hidden);
    }
    if (object->hooks) {
        buf_text(to, " hooks");
        show_value(to, &model->values, object->hooks);
    }
}

static void show_place(struct buf *to, const struct model *model, uint32_t place)
{
    static const char *const flags[] = {"again",  "state_dict", "optimizer",
                                        "prefix", "not saved",  "attribute",
                                        "empty"};

    buf_fill(to, ' ', 2 * place_depth(model, place));
    if (place > 0) {
        buf_str(to, place_name(model, place));
        buf_char(to, ' ');
    }
    if (model->kind[place] == PLACE_TENSOR)
        show_tensor(to, model, place_tensor(model, place));
    else if (model->kind[place] == PLACE_VALUE)
        show_value(to, &model->values, model->object[place]);
    else
        show_object(to, model, place);
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (model->flags[place] & 1u << i)
            buf_printf(to, " (%s)", flags[i]);
    buf_char(to, '\n');
}

const char *folded_tree(struct folded *folded)
{
    buf_clear(&folded->text);
    for (uint32_t place = 0; place < folded->model->n_places; place++)
        show_place(&folded->text, folded->model, place);
    return buf_cstr(&folded->text);
}

const char *folded_findings(struct folded *folded)
{
    const struct model *model = folded->model;

    buf_clear(&folded->text);
    for (uint32_t i = 0; i < model->n_findings; i++)
        buf_printf(&folded->text, "%s: %s\n", finding_name(model->findings[i].code),
                   model->findings[i].text);
    return buf_cstr(&folded->text);
}
