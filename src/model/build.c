#include "model/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "model/build_in.h"

#define NUMBER_DIGITS 9
#define NUMBERED_MAX  (STORAGE_NAME_MAX - NUMBER_DIGITS - 1) /* of the text before */

int build_init(struct build *build, const char *path, size_t limit, struct work *work,
               struct err *err)
{
    struct arena arena;
    struct model *model;
    struct str copy;

    memset(build, 0, sizeof *build);
    build->work = work;
    arena_init(&build->scratch, limit);
    arena_init(&build->own, limit);
    arena_init(&arena, limit);
    model = arena_alloc(&arena, sizeof *model);
    if (!model)
        return arena_err(&arena, path, err);
    model->arena = arena;
    arena_init(&model->table, limit);
    build->model = model;
    copy = arena_str(&model->arena, str_of(path));
    model->path = copy.at;
    model->format = "";
    map_init(&build->by_dims, &build->own);
    map_init(&build->by_class, &build->own);
    map_init(&build->by_tensor, &build->own);
    map_init(&build->by_global, &build->own);
    /* The shape of a scalar also needs a valid address: allocate `dims`. */
    if (!copy.at ||
        arena_room(&model->arena, &model->dims, 0, &model->dims_room,
                   sizeof *model->dims) < 0 ||
        intern_init_apart(&model->strings, &model->arena, &model->table) < 0 ||
        values_init(&model->values, &model->arena, &model->strings) < 0 ||
        build_device(build, STR("")) != 0 ||
        build_node(build, NO_PLACE, PLACE_GROUP, STR("")) != 0)
        return arena_err(&model->arena, path, err);
    return 0;
}

void build_release(struct build *build)
{
    model_free(build->model);
    build->model = NULL;
    arena_release(&build->scratch);
    arena_release(&build->own);
}

bool build_spent(const struct build *build)
{
    return build->model->arena.spent || build->scratch.spent || build->own.spent;
}

struct arena build_scratch_begin(struct build *build)
{
    struct arena before = build->scratch;

    arena_init(&build->scratch,
               before.limit > before.used ? before.limit - before.used : 1);
    return before;
}

void build_scratch_end(struct build *build, struct arena before)
{
    before.spent |= build->scratch.spent;
    arena_release(&build->scratch);
    build->scratch = before;
}

void build_reserve(struct build *build, size_t n)
{
    struct model *model = build->model;

    arena_reserve(&model->arena, &model->tensors, n, &model->tensors_room,
                  sizeof *model->tensors);
    arena_reserve(&model->arena, &model->storages, n, &model->storages_room,
                  sizeof *model->storages);
    arena_reserve(&build->own, &build->firsts, n, &build->firsts_room,
                  sizeof *build->firsts);
}

uint32_t build_string(struct build *build, struct str s)
{
    return intern_add(&build->model->strings, s);
}

struct values *build_values(struct build *build)
{
    return &build->model->values;
}

struct object *build_object_at(struct model *model, uint32_t place)
{
    uint32_t id = model->object[place];

    if (id != NO_OBJECT)
        return &model->objects[id];
    if (arena_room(&model->arena, &model->objects, model->n_objects,
                   &model->objects_room, sizeof *model->objects) < 0)
        return NULL;
    id = model->n_objects++;
    model->object[place] = id;
    model->objects[id] =
        (struct object){.class_id = NO_CLASS, .place = place, .training = -1};
    return &model->objects[id];
}

struct object *build_object(struct build *build, uint32_t node)
{
    return build_object_at(build->model, node);
}

int build_same(struct build *build, uint32_t node, uint32_t first)
{
    if (!build_object(build, first))
        return -1;
    build->model->object[node] = build->model->object[first];
    build->nodes[node].kind = build->nodes[first].kind;
    build->nodes[node].flags |= PLACE_AGAIN;
    return 0;
}

uint32_t build_class(struct build *build, struct str qualified_name)
{
    struct model *model = build->model;
    uint32_t name = build_string(build, qualified_name), id;

    if (name == INTERN_NONE)
        return NO_CLASS;
    if (map_find(&build->by_class, name, &id))
        return id;
    if (arena_room(&model->arena, &model->classes, model->n_classes,
                   &model->classes_room, sizeof *model->classes) < 0 ||
        map_put(&build->by_class, name, model->n_classes) < 0)
        return NO_CLASS;
    model->classes[model->n_classes] = (struct class_info){.name = name};
    return model->n_classes++;
}

uint32_t build_file(struct build *build, struct str name, uint64_t size)
{
    struct model *model = build->model;
    uint32_t id = build_string(build, name);

    if (id == INTERN_NONE || arena_room(&model->arena, &model->files, model->n_files,
                                        &model->files_room, sizeof *model->files) < 0)
        return 0;
    model->files[model->n_files] = (struct model_file){.name = id, .size = size};
    model->file_bytes += size;
    return model->n_files++;
}

/* Stores up to nine digits as a number. Leading zeros stay in the text. */
int build_storage_name(struct build *build, struct storage *storage, struct str name)
{
    size_t len = name.len;
    uint64_t number;

    while (len > 0 && name.len - len < NUMBER_DIGITS && name.at[len - 1] >= '0' &&
           name.at[len - 1] <= '9')
        len--;
    while (len + 1 < name.len && name.at[len] == '0')
        len++;
    storage->number = 0;
    if (len <= NUMBERED_MAX && str_to_u64(str_from(name, len), &number)) {
        storage->number = (uint32_t)number + 1;
        name.len = len;
    }
    storage->name = build_string(build, name);
    return storage->name == INTERN_NONE ? -1 : 0;
}

uint32_t build_storage(struct build *build, const struct storage *storage)
{
    struct model *model = build->model;

    if (arena_room(&model->arena, &model->storages, model->n_storages,
                   &model->storages_room, sizeof *model->storages) < 0)
        return NO_STORAGE;
    model->storages[model->n_storages] = *storage;
    return model->n_storages++;
}

uint32_t build_storage_part(struct build *build, struct storage *storage, uint64_t have)
{
    struct model *model = build->model;

    if (have >= storage->bytes)
        return build_storage(build, storage);
    storage->flags |= have == 0 ? STORAGE_MISSING : STORAGE_PARTLY;
    if (have == 0)
        return build_storage(build, storage);
    if (arena_room(&model->arena, &model->parts, model->n_parts, &model->parts_room,
                   sizeof *model->parts) < 0)
        return NO_STORAGE;
    model->parts[model->n_parts++] =
        (struct storage_part){.have = have, .storage = model->n_storages};
    return build_storage(build, storage);
}

uint16_t build_device(struct build *build, struct str name)
{
    struct model *model = build->model;
    uint32_t id = build_string(build, name);

    if (id == INTERN_NONE)
        return 0;
    for (uint32_t i = 0; i < model->n_devices; i++)
        if (model->devices[i] == id)
            return (uint16_t)i;
    /* Devices are searched linearly; beyond this many they become unknown. */
    if (model->n_devices >= 1024 ||
        arena_room(&model->arena, &model->devices, model->n_devices,
                   &model->devices_room, sizeof *model->devices) < 0)
        return 0;
    model->devices[model->n_devices] = id;
    return (uint16_t)model->n_devices++;
}

static void add_fact(struct build *build, struct model_fact **facts, uint32_t *n,
                     uint32_t *room, struct str key, uint32_t value)
{
    uint32_t id = build_string(build, key);

    if (id == INTERN_NONE || value == VALUE_ID_FAILED ||
        arena_room(&build->model->arena, facts, *n, room, sizeof **facts) < 0)
        return;
    (*facts)[(*n)++] = (struct model_fact){.key = id, .value = value};
}

void build_fact(struct build *build, const char *key, uint32_t value)
{
    struct model *model = build->model;

    add_fact(build, &model->facts, &model->n_facts, &model->facts_room, str_of(key),
             value);
}

void build_metadata(struct build *build, struct str key, uint32_t value)
{
    struct model *model = build->model;

    add_fact(build, &model->metadata, &model->n_metadata, &model->metadata_room, key,
             value);
}

/* Findings that mean that parts of the file are missing from the model. */
static bool makes_partial(enum finding_code code)
{
    switch (code) {
    case FINDING_TRUNCATED:
    case FINDING_DAMAGED:
    case FINDING_LIMIT:
    case FINDING_MISSING_RECORD:
    case FINDING_MISSING_SHARD:
    case FINDING_PICKLE_MALFORMED:
        return true;
    default:
        return false;
    }
}

#define FINDINGS_PER_CODE 1000

struct finding *build_finding(struct build *build, enum finding_code code,
                              enum severity severity, uint32_t node, const char *format,
                              ...)
{
    struct model *model = build->model;
    char text[512];
    struct str copy;
    va_list args;

    model->partial |= makes_partial(code);
    if (++build->said[code] > FINDINGS_PER_CODE)
        return &build->dropped;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    copy = arena_str(&model->arena, str_of(text));
    if (!copy.at || arena_room(&model->arena, &model->findings, model->n_findings,
                               &model->findings_room, sizeof *model->findings) < 0)
        return &build->dropped;
    model->findings[model->n_findings] = (struct finding){
        .code = code,
        .severity = severity,
        .place = node,
        .text = copy.at,
        .file = model->n_files > 0 ? model->n_files - 1 : 0,
    };
    return &model->findings[model->n_findings++];
}

uint32_t build_pickle_stream(struct build *build, struct str name, uint64_t size)
{
    struct pickle_log *log = &build->model->pickle;
    uint32_t id = build_string(build, name);

    if (id == INTERN_NONE ||
        arena_room(&build->model->arena, &log->streams, log->n_streams,
                   &log->streams_room, sizeof *log->streams) < 0) {
        log->lost = true;
        return UINT32_MAX;
    }
    log->streams[log->n_streams] = (struct pickle_stream){.name = id, .size = size};
    return log->n_streams++;
}

uint32_t build_pickle_global(struct build *build, struct str name, uint32_t module_len)
{
    struct pickle_log *log = &build->model->pickle;
    uint32_t name_id = build_string(build, name), id;

    if (name_id == INTERN_NONE) {
        log->lost = true;
        return UINT32_MAX;
    }
    if (map_find(&build->by_global, name_id, &id)) {
        /* "a.b" + "c" and "a" + "b.c" are the same text. Keep the shorter module: its
         * dotted name reaches further. */
        if (module_len < log->globals[id].module_len)
            log->globals[id].module_len = module_len;
        return id;
    }
    if (arena_room(&build->model->arena, &log->globals, log->n_globals,
                   &log->globals_room, sizeof *log->globals) < 0 ||
        map_put(&build->by_global, name_id, log->n_globals) < 0) {
        log->lost = true;
        return UINT32_MAX;
    }
    log->globals[log->n_globals] = (struct pickle_global){
        .name = name_id, .module_len = module_len, .first = NO_EVENT, .last = NO_EVENT};
    return log->n_globals++;
}

bool build_pickle_count(struct build *build, uint32_t global_index, enum pickle_act act)
{
    struct pickle_log *log = &build->model->pickle;

    if (global_index >= log->n_globals)
        return false;
    return log->globals[global_index].acts[act]++ < PICKLE_LOG_KEEP;
}

void build_pickle_event(struct build *build, const struct pickle_event *event)
{
    struct pickle_log *log = &build->model->pickle;
    struct pickle_global *global;

    if (event->global >= log->n_globals ||
        arena_room(&build->model->arena, &log->events, log->n_events, &log->events_room,
                   sizeof *log->events) < 0)
        return;
    global = &log->globals[event->global];
    if (global->first == NO_EVENT)
        global->first = log->n_events;
    else
        log->events[global->last].next = log->n_events;
    global->last = log->n_events;
    log->events[log->n_events] = *event;
    log->events[log->n_events++].next = NO_EVENT;
}

uint32_t build_code_stream(struct build *build, struct str name, uint64_t size)
{
    uint32_t stream = build_pickle_stream(build, name, size);

    if (stream != UINT32_MAX)
        build->model->pickle.streams[stream].complete = true;
    return stream;
}

void build_code_use(struct build *build, uint32_t stream, struct str module,
                    struct str name, uint64_t offset, uint32_t args, uint32_t node)
{
    struct pickle_event event = {.act = PICKLE_CALLS,
                                 .stream = stream,
                                 .offset = offset,
                                 .args = args,
                                 .place = node,
                                 .next = NO_EVENT};
    const char *text = arena_printf(&build->scratch, "%.*s%s%.*s", STR_ARG(module),
                                    module.len > 0 ? "." : "", STR_ARG(name));

    if (!text || stream == UINT32_MAX) {
        build->model->pickle.lost = true;
        return;
    }
    event.global = build_pickle_global(build, str_of(text), (uint32_t)module.len);
    if (build_pickle_count(build, event.global, PICKLE_CALLS))
        build_pickle_event(build, &event);
}
