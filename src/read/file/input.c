#include "read/file/input_in.h"

#include "base/base.h"
#include "read/file/file_source_in.h"

#define MEMORY_MAX (8 * GIB) /* of each arena */

static size_t grown(size_t limit, unsigned times, uint64_t size)
{
    if (size > MEMORY_MAX / times || limit + times * size > MEMORY_MAX)
        return MEMORY_MAX;
    return limit + times * (size_t)size;
}

int input_build(struct build *build, const char *path, struct work *work,
                struct err *err)
{
    if (build_init(build, path, INPUT_MODEL_LIMIT, work, err) < 0)
        return -1;
    build->scratch.limit = INPUT_SCRATCH_LIMIT;
    build->own.limit = INPUT_OWN_LIMIT;
    build->model->table.limit = INPUT_TABLE_LIMIT;
    return 0;
}

/* Scratch memory gets most: the nodes of a pickle take several times its size. */
void input_allow(struct build *build, uint64_t size)
{
    build->model->arena.limit = grown(build->model->arena.limit, 2, size);
    build->model->table.limit = grown(build->model->table.limit, 1, size);
    build->own.limit = grown(build->own.limit, 1, size);
    build->scratch.limit = grown(build->scratch.limit, 4, size);
}

/* Bytes that a tensor takes in the model and in the build, roughly. */
#define TENSOR_IN_MODEL 192
#define TENSOR_IN_BUILD 32

static size_t left_of(const struct arena *arena)
{
    return arena->limit > arena->used ? arena->limit - arena->used : 0;
}

/* Moves memory from one limit to another, so that it has `need`; at most `most`. */
static void move_limit(struct arena *from, struct arena *to, size_t need, size_t most)
{
    size_t more = need > left_of(to) ? need - left_of(to) : 0;

    more = more < most ? more : most;
    from->limit -= more;
    to->limit += more;
}

void input_share_scratch(struct build *build, uint32_t tensors)
{
    struct arena *scratch = &build->scratch;

    move_limit(scratch, &build->model->arena, (size_t)tensors * TENSOR_IN_MODEL,
               left_of(scratch) / 4 * 3);
    move_limit(scratch, &build->own, (size_t)tensors * TENSOR_IN_BUILD,
               left_of(scratch) / 2);
}

int input_look(struct input *input, struct build *build, struct err *err)
{
    struct blob *blob = input->blob;
    uint64_t n = blob->size < INPUT_HEAD ? blob->size : INPUT_HEAD;
    struct err why = {0};

    if (blob_load(blob, 0, n, &build->scratch, &input->head, err) < 0)
        return -1;
    if (!zip_looks_like(input->head))
        return 0;
    input->zip = zip_open(blob, build, &why);
    if (!input->zip && why.code == ERR_NONE)
        input->zip = zip_salvage(blob, build, &why);
    if (why.code != ERR_NONE)
        return err_copy(err, &why);
    if (input->zip)
        input->zip->inner = input->inner;
    return 0;
}

int input_read_inner_as(struct input *outer, struct blob *takes_blob, const char *name,
                        uint32_t node, const struct reader *reader, struct build *build,
                        struct err *err)
{
    struct input inner = {
        .blob = takes_blob, .node = node, .depth = outer->depth + 1, .inner = true};

    if (file_source_keep(build, takes_blob, err) < 0)
        return -1;
    if (inner.depth > INPUT_DEPTH)
        return err_set_about(err, ERR_LIMIT, outer->path,
                             ": %s: files are nested more than %d levels deep", name,
                             INPUT_DEPTH);
    inner.path = arena_printf(&build->scratch, "%s: %s", outer->path, name);
    inner.name = arena_str(&build->scratch, path_last(name));
    if (!inner.path || !inner.name.at)
        return arena_err(&build->scratch, outer->path, err);
    if (input_look(&inner, build, err) < 0)
        return -1;
    return reader ? reader->read(&inner, build, err) : input_run(&inner, build, err);
}

int input_read_inner(struct input *outer, struct blob *takes_blob, const char *name,
                     uint32_t node, struct build *build, struct err *err)
{
    return input_read_inner_as(outer, takes_blob, name, node, NULL, build, err);
}

int input_read_shard(struct input *outer, struct blob *takes_blob, const char *name,
                     struct build *build, struct err *err)
{
    struct input shard = {.blob = takes_blob,
                          .path = takes_blob->name,
                          .node = outer->node,
                          .shard = true,
                          .depth = outer->depth + 1};

    if (file_source_keep_file(build, takes_blob, err) < 0)
        return -1;
    shard.name = arena_str(&build->scratch, str_of(name));
    if (!shard.name.at)
        return arena_err(&build->scratch, outer->path, err);
    input_allow(build, takes_blob->size);
    if (input_look(&shard, build, err) < 0)
        return -1;
    return input_run(&shard, build, err);
}
