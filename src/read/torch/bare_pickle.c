#include <stdio.h>

#include "base/base.h"
#include "read/file/file_source_in.h"
#include "read/file/input_in.h"
#include "read/pickle/pickle_load_in.h"
#include "read/pickle/pickle_value_in.h"
#include "read/torch/torch_fold_in.h"

/* A pickle without a container: .pkl, metadata of a distributed checkpoint,
 * training_args, models of other libraries. A file may hold several. */

#define PICKLES_MOST 64
#define SURE_PICKLE  30 /* old torch files also begin with one */

static int bare_pickle_knows(const struct input *input)
{
    if (input->folder || input->zip)
        return 0;
    return pickle_looks_like(input->head) ? SURE_PICKLE : 0;
}

/* Is the result a group in the tree, which can have more children? */
static bool is_group(const struct pickle *pickle)
{
    const struct node *node = pickle_node(pickle, pickle->result);

    return node && node->kind >= NODE_LIST && pickle_holds_tensors(pickle);
}

struct bare {
    struct input *input;
    struct build *build;
    struct str all;
    struct pickle_load load;
    struct bytes in;
    uint32_t n;        /* pickles so far */
    struct map by_key; /* hash of a storage's key -> the storage, which is missing */
};

/* A persistent id in a data.pkl that was taken out of its zip: the storage is missing.
 */
static uint32_t missing_storage(void *user, const struct pickle *pickle,
                                node_id persistent)
{
    struct bare *bare = user;
    struct torch_storage_id id;
    struct storage storage = {0};
    uint64_t bytes;
    uint32_t made;

    if (!torch_storage_id(pickle, persistent, &id))
        return NO_STORAGE;
    if (map_find(&bare->by_key, str_hash(id.key), &made))
        return made;
    bytes = torch_storage_bytes(id.dtype, id.untyped, id.numel < 0 ? 0 : id.numel);
    storage.bytes = bytes == UINT64_MAX ? 0 : bytes;
    storage.dtype = (uint8_t)id.dtype;
    if (build_storage_name(bare->build, &storage, id.key) < 0)
        return NO_STORAGE;
    made = file_source_missing(bare->build, &storage);
    if (made == NO_STORAGE || map_put(&bare->by_key, str_hash(id.key), made) < 0)
        return NO_STORAGE;
    return made;
}

/* The offset of these bytes in the file. */
static bool where(void *user, struct str bytes, uint64_t *ret_at)
{
    const struct bare *bare = user;
    uintptr_t at = (uintptr_t)bytes.at, begin = (uintptr_t)bare->all.at;

    if (at < begin || at - begin > bare->all.len ||
        bytes.len > bare->all.len - (at - begin))
        return false;
    *ret_at = at - begin;
    return true;
}

static int load(void *user, struct str bytes, struct err *err)
{
    const struct bare *bare = user;
    uint64_t at;

    if (!where(user, bytes, &at))
        return 0;
    return pickle_load_rest(bare->input->blob, bare->all, bytes, err);
}

/* Fold what the pickle made into `place`. */
static int fold(struct bare *bare, const struct pickle *pickle, uint32_t place,
                struct err *err)
{
    const struct torch_dialect dialect = {.storage = missing_storage,
                                          .where = where,
                                          .load = load,
                                          .user = bare,
                                          .input = bare->input};

    return torch_fold(bare->build, place, pickle, pickle->result, &dialect, err);
}

/* Does another pickle begin where the last one ended? */
static bool another_follows(const struct bare *bare)
{
    struct str rest = str_span(bare->in.at, bytes_left(&bare->in));

    return rest.len > 0 && pickle_looks_like(str_head(rest, INPUT_HEAD));
}

/* Run and fold the next pickle. The first one becomes the file's own place if that can
 * hold the others as children; each of the others gets a group. */
static int read_next(struct bare *bare, struct pickle *pickle, struct err *err)
{
    struct build *build = bare->build;
    struct str name = bare->input->name;
    uint32_t place = bare->input->node;
    char title[32];

    bare->n++;
    snprintf(title, sizeof title, "pickle %u", bare->n);
    if (bare->n > 1)
        name = str_of(arena_printf(&build->scratch, "%.*s, %s", STR_ARG(name), title));
    if (bare->load.joblib) {
        if (pickle_run_joblib(pickle, build, &bare->in, name, &bare->load, err) < 0)
            return -1;
    } else if (pickle_run(pickle, build, &bare->in, name, err) < 0) {
        return -1;
    }
    pickle_run_nested(build, pickle, name);
    if (bare->n > 1 || (pickle->complete && another_follows(bare) && !is_group(pickle)))
        place = build_node(build, place, PLACE_GROUP, str_of(title));
    if (place == NO_PLACE)
        return arena_err(&build->model->arena, bare->input->path, err);
    return fold(bare, pickle, place, err);
}

/* Read the pickles after the first one. */
static void read_rest(struct bare *bare, struct pickle *pickle)
{
    struct err why = {0};

    while (pickle->complete && bare->n < PICKLES_MOST && another_follows(bare)) {
        build_finding(
            bare->build, FINDING_PICKLE_NESTED, SEVERITY_NOTE, FINDING_NOWHERE,
            "%.*s: another pickle begins at byte %llu, after the first",
            STR_ARG(bare->input->name),
            (unsigned long long)(bare->in.at - (const uint8_t *)bare->all.at));
        if (read_next(bare, pickle, &why) < 0)
            break;
    }
    if (pickle->complete && bytes_left(&bare->in) > 0)
        build_finding(bare->build, FINDING_TRAILING, SEVERITY_WARNING, FINDING_NOWHERE,
                      "%.*s: %zu unused bytes after the end of the pickle",
                      STR_ARG(bare->input->name), bytes_left(&bare->in));
}

static int bare_pickle_read(struct input *input, struct build *build, struct err *err)
{
    struct bare bare = {.input = input, .build = build};
    struct pickle *pickle = arena_alloc(&build->scratch, sizeof *pickle);
    const struct pickle_log *log = &build->model->pickle;
    uint32_t stream = log->n_streams;

    if (!pickle)
        return arena_err(&build->scratch, input->path, err);
    if (pickle_load(&bare.load, input->blob, build, &bare.all, err) < 0)
        return -1;
    bare.in = bytes_of(bare.all.at, bare.all.len);
    map_init(&bare.by_key, &build->scratch);
    if (read_next(&bare, pickle, err) < 0)
        return -1;
    read_rest(&bare, pickle);
    if (bare.by_key.n > 0)
        build_finding(build, FINDING_MISSING_RECORD, SEVERITY_ALARM, input->node,
                      "%.*s is the data.pkl of a PyTorch zip file: the data of its "
                      "tensors is missing. Open the whole file",
                      STR_ARG(input->name));
    if (input->node != 0) /* the facts are about the outer file */
        return 0;
    build_fact(build, "protocol",
               value_int(build_values(build), log->streams[stream].protocol));
    if (pickle->n_raws > 0)
        build_fact(build, "joblib arrays",
                   value_int(build_values(build), pickle->n_raws));
    if (bare.n > 1)
        build_fact(build, "pickles", value_int(build_values(build), bare.n));
    return 0;
}

const struct reader bare_pickle_reader = {
    .name = "pickle", .knows = bare_pickle_knows, .read = bare_pickle_read};
