/* torch_fold.c - walks the things of a pickle from the root down. */
#include "read/torch/torch_fold_in.h"

#include <string.h>

#include "base/base.h"
#include "read/file/input_in.h"
#include "read/pickle/pickle_value_in.h"
#include "read/torch/torch_fold_state_in.h"
#include "read/torch/torch_tensor_in.h"

#define LOOKS      4096 /* items between two checks for cancellation */
#define INNER_NAME "a torch file in a pickle"
#define LONG_TEXT  64 /* the values of longer texts are cached */

bool fold_go_on(struct torch_fold *fold)
{
    if (build_spent(fold->build))
        return false;
    if (fold->looks_left % LOOKS == 0 && work_cancelled(fold->build->work))
        return false;
    if (fold->looks_left > 0) {
        fold->looks_left--;
        return true;
    }
    if (!fold->said_looks)
        build_finding(fold->build, FINDING_LIMIT, SEVERITY_ALARM, FINDING_NOWHERE,
                      "the pickle refers to the same objects too many times: the rest "
                      "is left out");
    fold->said_looks = true;
    return false;
}

struct str fold_key(const struct torch_fold *fold, node_id key)
{
    return str_head(pickle_text(fold->pickle, key), FOLD_MAX_NAME);
}

struct str fold_index_name(char text[16], uint32_t i)
{
    char *end = text + 16, *at = end;

    do {
        *--at = (char)('0' + i % 10);
        i /= 10;
    } while (i > 0);
    return str_span(at, (size_t)(end - at));
}

/* Is there room for another place of a plain value? */
static bool has_plain_room(struct torch_fold *fold, uint32_t place)
{
    if (fold->n_plain < FOLD_MAX_PLAIN) {
        fold->n_plain++;
        return true;
    }
    if (!fold->said_plain)
        build_finding(fold->build, FINDING_LIMIT, SEVERITY_WARNING, place,
                      "more than %u plain values: the rest is left out",
                      FOLD_MAX_PLAIN);
    fold->said_plain = true;
    return false;
}

/* The id of a tensor inside a plain value, if it has a place in the tree. */
static uint32_t tensor_in_value(void *user, node_id node)
{
    struct torch_fold *fold = user;
    enum thing thing = fold_thing(fold, node);

    if ((thing == THING_TENSOR || thing == THING_ARRAY) && fold->mark[node] != 0)
        return fold->mark[node] - 1;
    return NO_OBJECT;
}

uint32_t fold_value(struct torch_fold *fold, node_id node)
{
    const struct pickle_value_hooks hooks = {.tensor = tensor_in_value, .user = fold};
    enum torch_name name = fold_callee_name(fold, node);
    bool array = name == NAME_NUMPY_RECONSTRUCT || name == NAME_NUMPY_FROMBUFFER ||
                 (name == NAME_JOBLIB_ARRAY && pickle_raw_at(fold->pickle, node));
    bool keep = array || pickle_text(fold->pickle, node).len >= LONG_TEXT;
    uint32_t value;

    if (keep && map_find(&fold->values, node, &value))
        return value;
    value = array ? numpy_value(fold, node) : pickle_value(fold->pickle, node, &hooks);
    if (keep && value != VALUE_ID_FAILED)
        map_put(&fold->values, node, value);
    return value;
}

static void put_value(struct torch_fold *fold, uint32_t place, node_id node)
{
    uint32_t value = fold_value(fold, node);

    build_set_kind(fold->build, place, PLACE_VALUE);
    build_set_object(fold->build, place, value == VALUE_ID_FAILED ? 0 : value);
}

static enum place_kind kind_of(enum thing thing)
{
    if (thing == THING_MODULE)
        return PLACE_MODULE;
    return thing > THING_MODULE ? PLACE_GROUP : PLACE_VALUE;
}

/* Push a thing that will be unfolded later, if it is not too deep. */
static void push(struct torch_fold *fold, struct fold_task task)
{
    if (task.depth > FOLD_MAX_DEPTH) {
        if (!fold->said_depth)
            build_finding(fold->build, FINDING_LIMIT, SEVERITY_WARNING, task.place,
                          "nested more than %d levels deep: the rest is left out",
                          FOLD_MAX_DEPTH);
        fold->said_depth = true;
        return;
    }
    if (arena_room(&fold->build->scratch, &fold->tasks, fold->n_tasks,
                   &fold->tasks_room, sizeof *fold->tasks) == 0)
        fold->tasks[fold->n_tasks++] = task;
}

/* Fold the leaf at `task->place`; push anything else. */
static void settle(struct torch_fold *fold, const struct fold_task *task, unsigned role)
{
    enum thing thing = fold_thing(fold, task->node);

    switch (thing) {
    case THING_TENSOR:
    case THING_STORAGE:
    case THING_ARRAY:
        fold_tensor(fold, task, task->place, task->node, role);
        break;
    case THING_VALUE:
        put_value(fold, task->place, task->node);
        break;
    default:
        build_set_kind(fold->build, task->place, kind_of(thing));
        push(fold, *task);
        break;
    }
}

/* Make the place of a new task; false: no room. The empty slots of modules (a bias that
 * is None) do not count as plain values: half a million layers have as many. */
static bool place_task(struct torch_fold *fold, const struct fold_task *up,
                       uint32_t parent, struct str name, node_id node, unsigned flags,
                       struct fold_task *ret_task)
{
    struct fold_task task = *up;
    enum thing thing;

    task.node = fold_inner(fold, node);
    task.depth++;
    thing = fold_thing(fold, task.node);
    if (thing == THING_VALUE && !(flags & PLACE_EMPTY) && !has_plain_room(fold, parent))
        return false;
    task.place = build_node(fold->build, parent, kind_of(thing), name);
    *ret_task = task;
    return task.place != NO_PLACE;
}

void fold_add(struct torch_fold *fold, const struct fold_task *up, uint32_t parent,
              struct str name, node_id node, unsigned role, unsigned flags)
{
    struct fold_task task;

    if (!place_task(fold, up, parent, name, node, flags, &task))
        return;
    if (flags)
        build_set_flags(fold->build, task.place, flags);
    settle(fold, &task, role);
}

void fold_add_later(struct torch_fold *fold, const struct fold_task *up,
                    uint32_t parent, struct str name, node_id node)
{
    struct fold_task task;

    if (node < fold->n_nodes && place_task(fold, up, parent, name, node, 0, &task))
        push(fold, task);
}

/* A whole torch file in bytes, as pickle and joblib write tensors and storages. */
static void fold_file(struct torch_fold *fold, const struct fold_task *task)
{
    const struct pickle_raw *raw = pickle_raw_at(fold->pickle, task->node);
    struct err err = {0};

    if (raw) /* an array of objects */
        torch_fold(fold->build, task->place, raw->inner, raw->inner->result,
                   fold->dialect, &err);
    else if (fold_open_bytes(fold, task->place, task->node, &err) < 0)
        build_finding(fold->build, FINDING_PICKLE_NESTED, SEVERITY_WARNING, task->place,
                      "cannot read a torch file inside the pickle: %s", err.text);
}

/* The bytes in the argument of the call `node` as a blob: a part of the file, or a copy
 * in the model's arena, as the bytes of the pickle will be freed. */
static struct blob *open_bytes(struct torch_fold *fold, node_id node, struct err *err)
{
    const struct torch_dialect *dialect = fold->dialect;
    struct str bytes;
    uint64_t at;

    if (!pickle_file_bytes(fold->pickle, node, &bytes)) {
        err_set(err, ERR_FORMAT, "its bytes are missing");
        return NULL;
    }
    if (!dialect->input) {
        err_set(err, ERR_UNSUPPORTED, "not supported here");
        return NULL;
    }
    if (dialect->where && dialect->where(dialect->user, bytes, &at))
        return blob_open_part(dialect->input->blob, at, bytes.len, INNER_NAME, err);
    bytes = arena_str(&fold->build->model->arena, bytes);
    if (!bytes.at) {
        arena_err(&fold->build->model->arena, INNER_NAME, err);
        return NULL;
    }
    return blob_open_memory(bytes.at, bytes.len, INNER_NAME, err);
}

int fold_open_bytes(struct torch_fold *fold, uint32_t place, node_id node,
                    struct err *err)
{
    struct blob *blob = open_bytes(fold, node, err);
    struct arena before;
    uint32_t seen;
    int status;

    if (!blob)
        return -1;
    before = build_scratch_begin(fold->build);
    status = input_read_inner(fold->dialect->input, blob, INNER_NAME, place,
                              fold->build, err);
    build_scratch_end(fold->build, before);
    if (status < 0)
        return -1;
    if (!map_find(&fold->opened, node, &seen) &&
        map_put(&fold->opened, node, place) == 0)
        pickle_note_file(fold->build);
    return 0;
}

/* Run the pickles of a file in bytes that the tree does not use. */
static void run_other_file(struct torch_fold *fold, node_id call)
{
    const struct torch_dialect *dialect = fold->dialect;
    node_id argument = pickle_arg(fold->pickle, call, 0);
    struct arena before;
    struct str bytes;

    /* If this fails the bytes stay zero, which is no complete pickle. */
    if (dialect->load && pickle_bytes(fold->pickle, argument, &bytes))
        dialect->load(dialect->user, bytes, NULL);
    before = build_scratch_begin(fold->build);
    pickle_run_file(fold->build, fold->pickle, call);
    build_scratch_end(fold->build, before);
}

/* torch also loads the files whose tensors are nowhere in the tree. */
static void run_other_files(struct torch_fold *fold)
{
    uint32_t seen;

    for (node_id id = 0; id < fold->n_nodes; id++)
        if (fold_is(fold, id, NODE_CALL) &&
            fold_callee_name(fold, id) == NAME_LOAD_FROM_BYTES &&
            !map_find(&fold->opened, id, &seen))
            run_other_file(fold, id);
}

/* Unfold one thing below its place, unless it was unfolded at another place. */
static void unfold(struct torch_fold *fold, const struct fold_task *task)
{
    enum thing thing = fold_thing(fold, task->node);
    uint32_t pushed = fold->n_tasks;

    if (thing < THING_MODULE) {
        settle(fold, task, task->role);
        return;
    }
    if (fold->mark[task->node] != 0) {
        build_same(fold->build, task->place, fold->mark[task->node] - 1);
        return;
    }
    fold->mark[task->node] = task->place + 1;
    switch (thing) {
    case THING_MODULE:
        unfold_module(fold, task);
        break;
    case THING_DICT:
        unfold_dict(fold, task);
        break;
    case THING_LIST:
        unfold_items(fold, task);
        break;
    case THING_FILE:
        fold_file(fold, task);
        break;
    default:
        unfold_object(fold, task);
        break;
    }
    /* Reverse the new tasks, so that a thing with several places is unfolded at the
     * first. */
    for (uint32_t a = pushed, b = fold->n_tasks; b > a + 1; a++) {
        struct fold_task swap = fold->tasks[a];

        fold->tasks[a] = fold->tasks[--b];
        fold->tasks[b] = swap;
    }
}

/* A file with one bare tensor or value. The root stays a group and gets one child. */
static void fold_bare(struct torch_fold *fold, const struct fold_task *task,
                      struct str name, struct str class_name)
{
    struct object *object = build_object(fold->build, task->place);

    if (object && class_name.len > 0)
        object->class_id = build_class(fold->build, class_name);
    fold_add(fold, task, task->place, name, task->node, ROLE_PLAIN, 0);
}

static void fold_root(struct torch_fold *fold, uint32_t place, node_id root)
{
    struct fold_task task = {
        .node = fold_inner(fold, root), .place = place, .role = ROLE_PLAIN};
    enum thing thing;

    if (task.node >= fold->n_nodes)
        return;
    thing = fold_thing(fold, task.node);
    if (place != 0 || thing >= THING_MODULE)
        settle(fold, &task, ROLE_PLAIN);
    else if (thing == THING_VALUE)
        fold_bare(fold, &task, STR("value"), STR(""));
    else if (thing == THING_ARRAY)
        fold_bare(fold, &task, STR("array"), STR("numpy.ndarray"));
    else if (thing == THING_STORAGE)
        fold_bare(fold, &task, STR("storage"), STR("torch.Storage"));
    else
        fold_bare(fold, &task, STR("tensor"), STR("torch.Tensor"));
}

/* A pickle that used up its memory can still be shown in part: allow an eighth more.
 * Less is in use than was allocated, as the last array that grew is mostly
 * untouched. */
static void allow_more(struct build *build)
{
    if (build->scratch.spent) {
        build->scratch.limit += build->scratch.limit / 8;
        build->scratch.spent = false;
    }
}

static int make_columns(struct torch_fold *fold)
{
    struct arena *arena = &fold->build->scratch;

    fold->mark = arena_array(arena, fold->n_nodes, sizeof *fold->mark);
    fold->thing = arena_array(arena, fold->n_nodes, sizeof *fold->thing);
    fold->weight = arena_array(arena, fold->n_nodes, sizeof *fold->weight);
    return fold->mark && fold->thing && fold->weight ? 0 : -1;
}

static int fold_begin(struct torch_fold *fold, struct build *build,
                      const struct pickle *pickle, const struct torch_dialect *dialect,
                      struct err *err)
{
    *fold = (struct torch_fold){.build = build,
                                .pickle = pickle,
                                .dialect = dialect,
                                .n_nodes = pickle->n_nodes,
                                .looks_left = 16 * (uint64_t)pickle->n_items + 100000,
                                .mesh = NO_NODE,
                                .storage_word = NO_NODE,
                                .storage_class = NO_NODE};
    allow_more(build);
    if (make_columns(fold) < 0) {
        allow_more(build);
        if (make_columns(fold) < 0)
            return arena_err(&build->scratch, "the pickle", err);
    }
    map_init(&fold->values, &build->scratch);
    map_init(&fold->files, &build->scratch);
    map_init(&fold->opened, &build->scratch);
    fold->parameter_class = build_class(build, STR("torch.nn.parameter.Parameter"));
    return 0;
}

/* Unfold everything on the stack. */
static int fold_all(struct torch_fold *fold, uint32_t place, struct err *err)
{
    struct build *build = fold->build;

    while (fold->n_tasks > 0 && !build_spent(build)) {
        struct fold_task task = fold->tasks[--fold->n_tasks];

        if (!work_step(build->work, 1))
            return err_set(err, ERR_CANCELLED, "stopped");
        unfold(fold, &task);
    }
    run_other_files(fold);
    if (build_spent(build))
        build_finding(build, FINDING_LIMIT, SEVERITY_ALARM, place,
                      "the file needs more memory than allowed: the rest is left out");
    return 0;
}

int torch_fold(struct build *build, uint32_t place, const struct pickle *pickle,
               node_id root, const struct torch_dialect *dialect, struct err *err)
{
    struct torch_fold fold;

    if (pickle->n_nodes == 0)
        return 0;
    if (fold_begin(&fold, build, pickle, dialect, err) < 0)
        return -1;
    fold_root(&fold, place, root);
    return fold_all(&fold, place, err);
}

int torch_fold_entries(struct build *build, const struct pickle *pickle, node_id root,
                       const struct torch_dialect *dialect,
                       const struct torch_entries *entries, struct err *err)
{
    struct torch_fold fold;
    struct fold_pairs pairs;
    node_id key, value;

    if (pickle->n_nodes == 0)
        return 0;
    if (fold_begin(&fold, build, pickle, dialect, err) < 0)
        return -1;
    pairs = fold_pairs(&fold, fold_content(&fold, fold_inner(&fold, root)));
    while (fold_next(&fold, &pairs, &key, &value)) {
        struct fold_task task = {
            .node = fold_inner(&fold, value),
            .place = entries->place(entries->user, fold_key(&fold, key)),
            .role = ROLE_PLAIN};

        if (task.place != NO_PLACE && task.node < fold.n_nodes)
            settle(&fold, &task, ROLE_PLAIN);
    }
    return fold_all(&fold, FINDING_NOWHERE, err);
}
