#include "rows/show.h"

#include "base/base.h"
#include "base/folder.h"

/* Are the numbers of a place counted elsewhere: a repeated place of a tensor, or a
 * module that appears in full elsewhere? */
static bool counted_elsewhere(const struct model *model, uint32_t place)
{
    if (model->kind[place] == PLACE_TENSOR)
        return !counts_here(model, place);
    return (model->flags[place] & PLACE_AGAIN) && place_object(model, place);
}

static void add_tied(struct show *show, uint32_t place)
{
    const struct model *model = show->model;
    const struct place_counts *counts = &show->session->places;
    const struct tensor *tensor;

    if (model->kind[place] == PLACE_TENSOR) {
        tensor = place_tensor(model, place);
        if (tensor->role == ROLE_PARAMETER)
            show->tied_params[place] += counts_elements(model, place);
        show->tied_bytes[place] += tensor_own_bytes(tensor);
    } else {
        uint32_t first = place_object(model, place)->place;

        show->tied_params[place] += counts_params(counts, first);
        show->tied_bytes[place] += counts_bytes(counts, first);
    }
}

static int find_globals(struct show *show, struct arena *arena, struct err *err)
{
    const struct pickle_log *log = &show->model->pickle;

    map_init(&show->globals, arena);
    for (uint32_t i = 0; i < log->n_globals; i++)
        if (map_put(&show->globals, log->globals[i].name, i) < 0)
            return arena_err(arena, "the names in the pickle", err);
    return 0;
}

enum trust show_trust(const struct show *show, uint32_t name)
{
    uint32_t index;

    if (!map_find(&show->globals, name, &index))
        return TRUST_KNOWN;
    return verdict_judge(show->model, &show->session->verdict, index, NULL);
}

/* Children follow their parents, so one backward scan computes all sums. Most models
 * have nothing tied and need no columns for it. */
static int add_up_tied(struct show *show, struct arena *arena, struct err *err)
{
    const struct model *model = show->model;
    uint32_t n = model->n_places;

    for (uint32_t p = n; p-- > 0;) {
        bool elsewhere = counted_elsewhere(model, p);

        if (elsewhere && !show->tied_params) {
            show->tied_params = arena_array(arena, n, sizeof *show->tied_params);
            show->tied_bytes = arena_array(arena, n, sizeof *show->tied_bytes);
            if (!show->tied_params || !show->tied_bytes)
                return arena_err(arena, "the list of tied tensors", err);
        }
        if (!show->tied_params)
            continue;
        if (elsewhere)
            add_tied(show, p);
        /* The tensor itself accounts for its parts. */
        if (p > 0 && model->kind[model->parent[p]] != PLACE_TENSOR) {
            show->tied_params[model->parent[p]] += show->tied_params[p];
            show->tied_bytes[model->parent[p]] += show->tied_bytes[p];
        }
    }
    return 0;
}

static int find_activity(struct show *show, struct arena *arena, struct err *err)
{
    struct activities *activity = arena_alloc(arena, sizeof *activity);

    if (!show->session->run)
        return 0;
    if (!activity)
        return arena_err(arena, "what each module did", err);
    if (activity_of(activity, show->session->run, arena, err) < 0)
        return -1;
    show->activity = activity;
    if (!show->session->run->ops)
        return 0;
    show->ops = op_use_below(show->session->run, 1u << OP_FORWARD, arena, err);
    return show->ops ? 0 : -1;
}

/* Data that only a run with operations has. */
static int find_ops(struct show *show, struct arena *arena, struct err *err)
{
    const struct run *run = show->session->run;
    struct no_gradients *no_gradients;
    struct memory_use *memory;

    if (!run || !run->ops)
        return 0;
    memory = arena_alloc(arena, sizeof *memory);
    no_gradients = arena_alloc(arena, sizeof *no_gradients);
    if (!memory || !no_gradients)
        return arena_err(arena, "what operations did", err);
    if (memory_use_of(memory, run, arena, err) < 0 ||
        no_gradients_of(no_gradients, run, arena, err) < 0)
        return -1;
    show->memory = memory;
    show->no_gradients = no_gradients;
    return 0;
}

int show_init(struct show *show, const struct session *session, struct arena *arena,
              struct err *err)
{
    *show = (struct show){.session = session,
                          .model = session->model,
                          .step = session->step,
                          .file_name = path_last(session->model->path)};
    if (find_globals(show, arena, err) < 0 || find_activity(show, arena, err) < 0 ||
        find_ops(show, arena, err) < 0)
        return -1;
    return add_up_tied(show, arena, err);
}

bool show_is_leaf(const struct model *model, uint32_t place)
{
    for (uint32_t c = place_first(model, place); c != NO_PLACE;
         c = place_next(model, c))
        if (model->kind[c] == PLACE_MODULE || model->kind[c] == PLACE_GROUP)
            return false;
    return true;
}

const char *show_bare(const struct model *model, uint32_t place)
{
    static const struct {
        const char *class_name, *member, *text;
    } kinds[] = {
        {"torch.Tensor", "tensor", "a tensor"},
        {"numpy.ndarray", "array", "an array"},
        {"torch.Storage", "storage", "a storage"},
        {"", "value", "a value"},
    };
    uint32_t member = place_first(model, place);

    if (model->kind[place] != PLACE_GROUP || model->flags[place] & PLACE_STATE_DICT ||
        member == NO_PLACE || place_next(model, member) != NO_PLACE)
        return NULL;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        bool value = kinds[i].class_name[0] == '\0';

        if (str_is(place_class(model, place), kinds[i].class_name) &&
            str_is(place_name(model, member), kinds[i].member) &&
            model->kind[member] == (value ? PLACE_VALUE : PLACE_TENSOR))
            return kinds[i].text;
    }
    return NULL;
}
