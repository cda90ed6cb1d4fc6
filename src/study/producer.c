#include "study/producer.h"

#include <string.h>

struct producer_search {
    const struct run *run;
    const uint8_t *masks; /* by place */
    bool *outside;        /* by value: an argument of a pass */
    bool *mask;           /* by value: if it holds -Inf, it is a mask */
    uint32_t *bad_step;   /* by place: the first step with a non-finite parameter at or
                             below it; RUN_NONE: never */
};

static const struct stats *stats_of(const struct run *run, uint32_t value)
{
    if (value >= run->n_values || run->values[value].stats == RUN_NONE)
        return NULL;
    return &run->stats[run->values[value].stats];
}

bool producer_finite(const struct run *run, uint32_t value)
{
    const struct stats *stats = stats_of(run, value);

    return !stats || (stats->nan == 0 && stats->pos_inf == 0 && stats->neg_inf == 0);
}

/* -Inf, but no NaN and no +Inf. */
static bool only_negative(const struct run *run, uint32_t value)
{
    const struct stats *stats = stats_of(run, value);

    return stats && stats->neg_inf > 0 && stats->nan == 0 && stats->pos_inf == 0;
}

static bool gives_finite(const struct run *run, const struct run_call *call)
{
    bool some = false;

    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++) {
        if (run->ios[i].kind != RUN_OUT || !stats_of(run, run->ios[i].value))
            continue;
        if (!producer_finite(run, run->ios[i].value))
            return false;
        some = true;
    }
    return some;
}

/* Finds the values that are masks, if they hold -Inf. */
static void find_masks_of(struct producer_search *search, const struct run_call *call)
{
    const struct run *run = search->run;
    unsigned known = search->masks ? search->masks[call->place] : 0;
    bool finite = gives_finite(run, call);

    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++) {
        uint32_t value = run->ios[i].value;

        if (value == RUN_NONE)
            continue;
        if (run->ios[i].kind == RUN_IN) {
            search->mask[value] |= finite || known & PRODUCER_READS_MASKS;
            search->outside[value] |= call->parent == RUN_NONE;
        } else if (run->ios[i].kind == RUN_OUT) {
            search->mask[value] |= known & PRODUCER_MAKES_MASKS;
        }
    }
}

/* Is it designed to read -Inf: attention, a softmax? */
static bool reads_masks(const struct model *model, uint32_t place)
{
    struct str name = class_short(place_class(model, place));

    return str_find(name, STR("Softmax")) >= 0 || str_find(name, STR("Attention")) >= 0;
}

static uint32_t first_place(const struct model *model, uint32_t object)
{
    uint32_t place = model->objects[object].place;

    return place < model->n_places ? place : NO_PLACE;
}

static int find_bad_steps(struct producer_search *search, struct arena *arena)
{
    const struct run *run = search->run;
    const struct model *model = run->model;
    uint32_t n = model->n_places, i;
    uint32_t *by_tensor =
        arena_array(arena, (size_t)model->n_tensors + 1, sizeof *by_tensor);

    search->bad_step = arena_array(arena, (size_t)n + 1, sizeof *search->bad_step);
    if (!by_tensor || !search->bad_step)
        return -1;
    memset(by_tensor, 0xff, model->n_tensors * sizeof *by_tensor);
    memset(search->bad_step, 0xff, n * sizeof *search->bad_step);
    for (i = 0; i < run->n_params; i++) {
        const struct run_param *param = &run->params[i];

        if (!param->gradient && !producer_finite(run, param->value) &&
            param->step < by_tensor[param->tensor])
            by_tensor[param->tensor] = param->step;
    }
    for (i = n; i-- > 0;) {
        uint32_t up = model->parent[i];

        if (model->kind[i] == PLACE_TENSOR && model->object[i] < model->n_tensors)
            search->bad_step[i] = by_tensor[model->object[i]];
        if (up != NO_PLACE && search->bad_step[i] < search->bad_step[up])
            search->bad_step[up] = search->bad_step[i];
    }
    return 0;
}

/* Does a call return non-finite results? Sets whether it made them from finite
 * values. */
static bool is_bad(const struct producer_search *search, const struct run_call *call,
                   bool *ret_made)
{
    const struct run *run = search->run;
    uint32_t place = first_place(run->model, call->object);
    bool bad = false, worse = false, masked = false, given = false;

    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++) {
        uint32_t value = run->ios[i].value;
        bool negative;

        if (producer_finite(run, value))
            continue;
        negative = only_negative(run, value);
        if (run->ios[i].kind == RUN_IN) {
            masked |= negative;
            given |= !negative || !(search->mask[value] || search->outside[value] ||
                                    reads_masks(run->model, call->place));
        } else if (run->ios[i].kind == RUN_OUT && !(negative && search->mask[value])) {
            bad = true;
            worse |= !negative;
        }
    }
    *ret_made = bad && !given && (worse || !masked) &&
                (place == NO_PLACE || search->bad_step[place] > call->step);
    return bad;
}

/* A call comes after its parents, so a backward scan has seen everything inside a
 * call. */
static int find_calls(const struct producer_search *search, struct arena *arena,
                      struct producers *to)
{
    const struct run_call *calls = search->run->calls;
    bool *inside = arena_array(arena, (size_t)search->run->n_calls + 1, sizeof *inside);

    if (!inside)
        return -1;
    for (uint32_t c = search->run->n_calls; c-- > 0;) {
        bool made = false;

        if (is_bad(search, &calls[c], &made) &&
            (to->spoilt == RUN_NONE || calls[c].end_ns < calls[to->spoilt].end_ns))
            to->spoilt = c;
        if (made && !inside[c]) {
            to->calls[c] = inside[c] = true;
            if (to->first == RUN_NONE || calls[c].end_ns < calls[to->first].end_ns)
                to->first = c;
        }
        if (calls[c].parent != RUN_NONE)
            inside[calls[c].parent] |= inside[c];
    }
    return 0;
}

int producers_find(const struct run *run, const uint8_t *masks, struct arena *arena,
                   struct producers *ret_producers)
{
    struct producer_search search = {.run = run, .masks = masks};
    struct producers found = {.first = RUN_NONE, .spoilt = RUN_NONE};

    found.calls = arena_array(arena, (size_t)run->n_calls + 1, sizeof *found.calls);
    search.outside =
        arena_array(arena, (size_t)run->n_values + 1, sizeof *search.outside);
    search.mask = arena_array(arena, (size_t)run->n_values + 1, sizeof *search.mask);
    if (!found.calls || !search.outside || !search.mask ||
        find_bad_steps(&search, arena) < 0)
        return -1;
    for (uint32_t c = 0; c < run->n_calls; c++)
        find_masks_of(&search, &run->calls[c]);
    if (find_calls(&search, arena, &found) < 0)
        return -1;
    *ret_producers = found;
    return 0;
}
