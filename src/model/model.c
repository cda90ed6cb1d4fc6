#include "model/model.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"

void model_free(const struct model *model)
{
    struct arena arena, table;

    if (!model)
        return;
    source_close(model->source);
    arena = model->arena; /* the model itself is in its arena */
    table = model->table;
    arena_release(&table);
    arena_release(&arena);
}

struct str model_string(const struct model *model, uint32_t id)
{
    return intern_str(&model->strings, id);
}

struct str storage_name(const struct model *model, const struct storage *storage,
                        char text[STORAGE_NAME_MAX])
{
    struct str name = model_string(model, storage->name);
    int digits;

    if (storage->number == 0 || name.len >= STORAGE_NAME_MAX)
        return name;
    memcpy(text, name.at, name.len);
    digits = snprintf(text + name.len, STORAGE_NAME_MAX - name.len, "%u",
                      (unsigned)(storage->number - 1));
    return str_span(text, name.len + (size_t)digits);
}

uint64_t storage_have(const struct model *model, const struct storage *storage)
{
    uint32_t id = (uint32_t)(storage - model->storages);
    uint32_t low = 0, high = model->n_parts;

    if (storage->flags & STORAGE_MISSING)
        return 0;
    if (!(storage->flags & STORAGE_PARTLY))
        return storage->bytes;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (model->parts[middle].storage < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < model->n_parts && model->parts[low].storage == id
               ? model->parts[low].have
               : 0;
}

struct str place_name(const struct model *model, uint32_t place)
{
    return model_string(model, model->name[place]);
}

/* Appends the names from below the root down to `place`. Fills the text from the end,
 * because only parents are known. */
void place_path(const struct model *model, uint32_t place, struct buf *to)
{
    size_t len = 0, start = to->len;
    struct str name;

    for (uint32_t p = place; p != 0; p = model->parent[p])
        len += place_name(model, p).len + 1;
    if (len == 0)
        return;
    buf_fill(to, '.', len - 1);
    if (to->bad)
        return;
    for (uint32_t p = place; p != 0; p = model->parent[p]) {
        name = place_name(model, p);
        len -= name.len + 1;
        if (name.len)
            memcpy(to->at + start + len, name.at, name.len);
    }
}

uint32_t place_first(const struct model *model, uint32_t place)
{
    return place + 1 < model->end[place] ? place + 1 : NO_PLACE;
}

uint32_t place_next(const struct model *model, uint32_t place)
{
    uint32_t parent = model->parent[place];

    if (parent == NO_PLACE || model->end[place] >= model->end[parent])
        return NO_PLACE;
    return model->end[place];
}

uint32_t place_depth(const struct model *model, uint32_t place)
{
    uint32_t depth = 0;

    for (; model->parent[place] != NO_PLACE; place = model->parent[place])
        depth++;
    return depth;
}

/* If `path` has the name of `place` at `done`: its length with the dot. Else 0. */
static size_t matched(const struct model *model, uint32_t place, struct str path,
                      size_t done)
{
    struct str name = place_name(model, place);
    struct str rest = str_from(path, done);

    if (!str_starts(rest, name))
        return 0;
    if (rest.len == name.len)
        return name.len + 1;
    return rest.at[name.len] == '.' ? name.len + 1 : 0;
}

/* A repeated place of a shared module has no children: the search continues below its
 * first place, with the rest of the path. */
struct hop {
    uint32_t place; /* or NO_PLACE */
    size_t done;    /* length of the path matched so far */
};

static void take_hop(struct hop *hop, const struct model *model, uint32_t place,
                     size_t done)
{
    const struct object *object = place_object(model, place);

    if (hop->place == NO_PLACE && object && object->place < model->n_places &&
        object->place != place)
        *hop = (struct hop){object->place, done};
}

/* Finds `path` below `base`. Descends only where names match; on the way up, the length
 * matched by a level follows from its name. */
static uint32_t find_once(const struct model *model, uint32_t base, struct str path,
                          struct hop *hop)
{
    uint32_t place = base + 1, end = model->end[base];
    size_t done = 0, more;

    while (place < end) {
        more = matched(model, place, path, done);
        if (more && done + more == path.len + 1)
            return place;
        if (more && place + 1 < model->end[place]) {
            done += more;
            place++;
            continue;
        }
        if (more)
            take_hop(hop, model, place, done + more);
        /* The next sibling, or that of the nearest ancestor that has one. */
        while (model->end[place] >= model->end[model->parent[place]]) {
            place = model->parent[place];
            if (place == base)
                return NO_PLACE;
            done -= place_name(model, place).len + 1;
        }
        place = model->end[place];
    }
    return NO_PLACE;
}

uint32_t place_find_below(const struct model *model, uint32_t base, struct str path)
{
    struct hop hop;
    uint32_t place;

    do {
        hop = (struct hop){NO_PLACE, 0};
        place = find_once(model, base, path, &hop);
        base = hop.place;
        path = str_from(path, hop.done);
    } while (place == NO_PLACE && hop.place != NO_PLACE);
    return place;
}

/* The only state_dict of a file, or NO_PLACE. */
static uint32_t only_state_dict(const struct model *model)
{
    uint32_t found = NO_PLACE;

    for (uint32_t p = 0; p < model->n_places; p++) {
        if (!(model->flags[p] & PLACE_STATE_DICT))
            continue;
        if (found != NO_PLACE)
            return NO_PLACE;
        found = p;
    }
    return found;
}

uint32_t place_find(const struct model *model, struct str path)
{
    uint32_t place, dict;

    if (path.len == 0)
        return 0;
    place = place_find_below(model, 0, path);
    if (place != NO_PLACE)
        return place;
    dict = only_state_dict(model);
    return dict == NO_PLACE || dict == 0 ? NO_PLACE
                                         : place_find_below(model, dict, path);
}

const struct tensor *place_tensor(const struct model *model, uint32_t place)
{
    uint32_t id = model->object[place];

    if (model->kind[place] != PLACE_TENSOR || id >= model->n_tensors)
        return NULL;
    return &model->tensors[id];
}

const struct object *place_object(const struct model *model, uint32_t place)
{
    uint32_t id = model->object[place];

    if (model->kind[place] > PLACE_GROUP || id >= model->n_objects)
        return NULL;
    return &model->objects[id];
}

struct str place_class(const struct model *model, uint32_t place)
{
    const struct object *object = place_object(model, place);

    if (!object || object->class_id >= model->n_classes)
        return STR("");
    return model_string(model, model->classes[object->class_id].name);
}

struct str class_short(struct str name)
{
    return str_from(name, (size_t)(str_find_last_char(name, '.') + 1));
}

int class_code(const struct model *model, uint32_t class_id, struct arena *arena,
               struct class_code *ret_code, struct err *err)
{
    const struct class_info *info;

    if (class_id >= model->n_classes)
        return err_set(err, ERR_USAGE, "there is no class %u", class_id);
    info = &model->classes[class_id];
    if (!info->source)
        return source_code(model->source, class_id, arena, ret_code, err);
    *ret_code = (struct class_code){.text = model_string(model, info->source),
                                    .file = model_string(model, info->file),
                                    .line = info->line};
    return 0;
}

bool class_wraps(struct str class_name, struct str child)
{
    static const struct {
        const char *class_name, *child;
    } wrappers[] = {
        {"DataParallel", "module"},
        {"DistributedDataParallel", "module"},
        {"FullyShardedDataParallel", "_fsdp_wrapped_module"},
        {"OptimizedModule", "_orig_mod"},
    };

    for (size_t i = 0; i < COUNT_OF(wrappers); i++)
        if (str_is(child, wrappers[i].child) &&
            str_is(class_short(class_name), wrappers[i].class_name))
            return true;
    return false;
}

const int64_t *tensor_shape(const struct model *model, const struct tensor *tensor)
{
    return model->dims + tensor->shape;
}

const int64_t *tensor_strides(const struct model *model, const struct tensor *tensor)
{
    return model->dims + tensor->shape + tensor->rank;
}

struct str tensor_device(const struct model *model, const struct tensor *tensor)
{
    if (tensor->device >= model->n_devices)
        return STR("");
    return model_string(model, model->devices[tensor->device]);
}

bool tensor_contiguous(const struct model *model, const struct tensor *tensor)
{
    const int64_t *shape = tensor_shape(model, tensor);
    const int64_t *strides = tensor_strides(model, tensor);
    int64_t expected = 1;

    if (tensor->numel == 0)
        return true;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        if (shape[i] != 1 && strides[i] != expected)
            return false;
        expected *= shape[i];
    }
    return true;
}

uint64_t tensor_bytes(const struct tensor *tensor)
{
    uint64_t bytes;

    return dtype_size(tensor->dtype, tensor->numel, &bytes) ? bytes : 0;
}

uint64_t tensor_own_bytes(const struct tensor *tensor)
{
    return tensor->flags & TENSOR_DERIVED ? 0 : tensor_bytes(tensor);
}

/* The bytes of its storage up to the last element of a strided tensor. */
static uint64_t tensor_reach(const struct model *model, const struct tensor *tensor)
{
    const int64_t *shape = tensor_shape(model, tensor);
    const int64_t *strides = tensor_strides(model, tensor);
    uint64_t last = tensor->offset, bytes;

    if (tensor->numel == 0)
        return 0;
    for (int i = 0; i < tensor->rank; i++)
        last += (uint64_t)(shape[i] - 1) * (uint64_t)strides[i];
    return dtype_size(tensor->dtype, last + 1, &bytes) ? bytes : UINT64_MAX;
}

bool tensor_readable(const struct model *model, const struct tensor *tensor,
                     const char **ret_why)
{
    const struct storage *storage = NULL;
    const char *why = NULL;

    if (tensor->storage < model->n_storages)
        storage = &model->storages[tensor->storage];
    if (tensor->flags & TENSOR_INVALID)
        why = "invalid: its description does not fit its storage";
    else if (tensor->flags & TENSOR_META)
        why = "no data (meta)";
    else if (tensor->flags & TENSOR_SHAPE_ONLY)
        why = "its values are in the parts below it";
    else if (tensor->dtype == DTYPE_UNKNOWN)
        why = "its element type is not known";
    else if (tensor->numel == 0)
        why = NULL;
    else if (!source_has_bytes(model->source) && model->no_values)
        why = model->no_values;
    else if (!storage || !source_has_bytes(model->source))
        why = "no data in this file";
    else if (storage->flags & STORAGE_MISSING)
        why = "its data is missing";
    else if (tensor_reach(model, tensor) > storage_have(model, storage))
        why = "cut short";
    if (ret_why)
        *ret_why = why;
    return !why;
}

uint32_t tensor_next_place(const struct model *model, uint32_t place)
{
    uint32_t tensor = model->object[place];

    if (model->tensors[tensor].places < 2)
        return NO_PLACE;
    for (uint32_t p = place + 1; p < model->n_places; p++)
        if (model->kind[p] == PLACE_TENSOR && model->object[p] == tensor)
            return p;
    return NO_PLACE;
}
