/* Copies a model. All references are indexes, so arrays are copied unchanged. Strings
 * keep their ids because they are interned in the same order. */
#include <string.h>

#include "model/model.h"

static int copy_strings(struct model *to, const struct model *from)
{
    for (uint32_t i = 1; i < from->strings.n; i++)
        if (intern_add(&to->strings, intern_str(&from->strings, i)) != i)
            return -1;
    return 0;
}

/* Replaces the array at `at`, which still belongs to the original. */
static int again(struct model *to, void *at, size_t n, size_t item)
{
    const void *old;
    void *copy = arena_array(&to->arena, n + 1, item);

    memcpy(&old, at, sizeof old);
    if (!copy)
        return -1;
    if (n)
        memcpy(copy, old, n * item);
    memcpy(at, &copy, sizeof copy);
    return 0;
}

#define AGAIN(array, n) again(to, &(array), (n), sizeof *(array))

static int copy_places(struct model *to)
{
    uint32_t n = to->n_places;

    return AGAIN(to->parent, n) < 0 || AGAIN(to->end, n) < 0 ||
                   AGAIN(to->name, n) < 0 || AGAIN(to->object, n) < 0 ||
                   AGAIN(to->kind, n) < 0 || AGAIN(to->flags, n) < 0
               ? -1
               : 0;
}

static int copy_values(struct model *to)
{
    struct values *values = &to->values;

    values->arena = &to->arena;
    values->strings = &to->strings;
    map_init(&values->by_hash, &to->arena);
    values->room = values->n;
    values->items_room = values->n_items;
    return AGAIN(values->at, values->n) < 0 || AGAIN(values->items, values->n_items) < 0
               ? -1
               : 0;
}

static int copy_findings(struct model *to)
{
    if (AGAIN(to->findings, to->n_findings) < 0)
        return -1;
    for (uint32_t i = 0; i < to->n_findings; i++) {
        struct finding *finding = &to->findings[i];

        finding->text = arena_str(&to->arena, str_of(finding->text)).at;
        if (!finding->text)
            return -1;
    }
    return 0;
}

static int copy_arrays(struct model *to)
{
    struct pickle_log *log = &to->pickle;

    return AGAIN(to->facts, to->n_facts) < 0 ||
                   AGAIN(to->metadata, to->n_metadata) < 0 ||
                   AGAIN(to->files, to->n_files) < 0 ||
                   AGAIN(to->objects, to->n_objects) < 0 ||
                   AGAIN(to->tensors, to->n_tensors) < 0 ||
                   AGAIN(to->storages, to->n_storages) < 0 ||
                   AGAIN(to->parts, to->n_parts) < 0 ||
                   AGAIN(to->classes, to->n_classes) < 0 ||
                   AGAIN(to->dims, to->n_dims) < 0 ||
                   AGAIN(to->devices, to->n_devices) < 0 ||
                   AGAIN(log->events, log->n_events) < 0 ||
                   AGAIN(log->globals, log->n_globals) < 0 ||
                   AGAIN(log->streams, log->n_streams) < 0
               ? -1
               : 0;
}

static int copy_program(struct model *to)
{
    struct program *program;

    if (!to->program)
        return 0;
    program = arena_alloc(&to->arena, sizeof *program);
    if (!program)
        return -1;
    *program = *to->program;
    to->program = program;
    return AGAIN(program->ops, program->n_ops) < 0 ||
                   AGAIN(program->calls, program->n_calls) < 0 ||
                   AGAIN(program->regions, program->n_regions) < 0 ||
                   AGAIN(program->values, program->n_values) < 0 ||
                   AGAIN(program->ios, program->n_ios) < 0 ||
                   AGAIN(program->sources, program->n_sources) < 0
               ? -1
               : 0;
}

static int fill(struct model *to, const struct model *from)
{
    to->path = arena_str(&to->arena, str_of(from->path)).at;
    to->format = arena_str(&to->arena, str_of(from->format)).at;
    to->source = NULL;
    if (!to->path || !to->format || intern_init(&to->strings, &to->arena) < 0)
        return -1;
    if (copy_strings(to, from) < 0 || copy_values(to) < 0 || copy_places(to) < 0)
        return -1;
    return copy_arrays(to) < 0 || copy_findings(to) < 0 || copy_program(to) < 0 ? -1
                                                                                : 0;
}

const struct model *model_copy(const struct model *model)
{
    struct arena arena;
    struct model *copy;

    arena_init(&arena, 0);
    copy = arena_alloc(&arena, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *model;
    copy->source = NULL;
    copy->arena = arena;
    arena_init(&copy->table, 0); /* the original keeps its own */
    if (fill(copy, model) < 0) {
        model_free(copy);
        return NULL;
    }
    return copy;
}
