/* The order of execution within a step. Series are numbered in the order in which calls
 * began, so a module's come before those of the modules inside it. Its result is made
 * after theirs, which a stack of open calls tracks. */
#include "study/diverge/parting_in.h"

enum { STAGE_PARAM, STAGE_FORWARD, STAGE_BACKWARD, STAGE_GRADIENT, STAGE_UPDATE };

struct open_call {
    uint32_t first, end; /* its series */
    uint32_t began;
};

struct step_ordering {
    const struct history_series *series;
    uint64_t *order;
    struct open_call *open;
    uint32_t n_open;
    uint32_t now, most; /* events so far; an upper bound of events */
};

static bool same_call(const struct history_series *a, const struct history_series *b)
{
    return !history_kind_is_param(b->kind) && a->call == b->call &&
           a->phase == b->phase && str_eq(a->name, b->name);
}

/* Is b a module inside a? */
static bool holds(const struct history_series *a, const struct history_series *b)
{
    return a->phase == b->phase && b->name.len > a->name.len &&
           (a->name.len == 0 ||
            (str_starts(b->name, a->name) && b->name.at[a->name.len] == '.'));
}

static uint64_t position(int stage, uint32_t at)
{
    return (uint64_t)stage << 32 | at;
}

/* The innermost call ends. The order of backward is the reverse: the earlier its
 * forward ends, the later its backward begins. */
static void end_call(struct step_ordering *self)
{
    const struct open_call *call = &self->open[--self->n_open];
    uint32_t ended = ++self->now;

    for (uint32_t i = call->first; i < call->end; i++) {
        uint32_t forward = self->series[i].kind == HISTORY_INPUT ||
                                   self->series[i].kind == HISTORY_GRAD_INPUT ||
                                   self->series[i].kind == HISTORY_GRAD_INPUT_NORM
                               ? call->began
                               : ended;

        self->order[i] = self->series[i].kind <= HISTORY_OUTPUT
                             ? position(STAGE_FORWARD, forward)
                             : position(STAGE_BACKWARD, self->most - forward);
    }
}

static void order_param(struct step_ordering *self, uint32_t i)
{
    static const int stages[] = {[HISTORY_PARAM] = STAGE_PARAM,
                                 [HISTORY_GRAD_PARAM] = STAGE_GRADIENT,
                                 [HISTORY_UPDATE] = STAGE_UPDATE};
    uint8_t kind = self->series[i].kind;

    self->order[i] =
        position(stages[kind], kind == HISTORY_GRAD_PARAM ? self->most - i : i);
}

uint64_t *parting_order(const struct history_series *series, uint32_t n,
                        struct arena *arena)
{
    struct step_ordering self = {.series = series, .most = 2 * n + 1};
    uint32_t i = 0;

    self.order = arena_array(arena, (size_t)n + 1, sizeof *self.order);
    self.open = arena_array(arena, (size_t)n + 1, sizeof *self.open);
    if (!self.order || !self.open)
        return NULL;
    while (i < n) {
        struct open_call call = {.first = i};

        if (history_kind_is_param(series[i].kind)) {
            order_param(&self, i++);
            continue;
        }
        while (self.n_open > 0 &&
               !holds(&series[self.open[self.n_open - 1].first], &series[i]))
            end_call(&self);
        call.began = ++self.now;
        while (i < n && same_call(&series[call.first], &series[i]))
            i++;
        call.end = i;
        self.open[self.n_open++] = call;
    }
    while (self.n_open > 0)
        end_call(&self);
    return self.order;
}
