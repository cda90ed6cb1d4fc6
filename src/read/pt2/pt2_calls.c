/* Calls of modules. The stack of a node lists the calls that it is in; comparing it
 * with the open calls opens and closes them. The file does not record the inputs and
 * outputs of a call: they are the values that cross its border. */
#include <stdio.h>

#include "base/base.h"
#include "read/pt2/pt2_program_in.h"

#define CROSSINGS_MOST 65535 /* limit for a call's inputs, and for its outputs */

void pt2_leave(struct pt2_making *m, uint32_t n)
{
    while (m->n_open > n && m->n_open > 1) {
        uint32_t call = m->open[--m->n_open].call;

        m->program->calls[call].end = m->program->n_ops;
        m->call_end[call] = m->program->n_calls;
    }
}

static void open_call(struct pt2_making *m, const struct pt2_frame *frame,
                      uint32_t file, uint32_t line)
{
    struct program_call call = {.place = frame->node,
                                .parent = m->open[m->n_open - 1].call,
                                .region = m->region,
                                .method = m->program->method,
                                .file = file,
                                .line = line,
                                .ops = m->program->n_ops};
    uint32_t id = m->program->n_calls;

    if (arena_room(m->arena, &m->open, m->n_open, &m->open_room, sizeof *m->open) < 0 ||
        arena_room(m->arena, &m->call_end, id, &m->call_end_room, sizeof *m->call_end) <
            0 ||
        build_program_call(m->build, &call) == PROGRAM_NONE) {
        m->stop = true;
        return;
    }
    m->open[m->n_open++] = (struct pt2_open_call){.key = frame->key, .call = id};
}

/* A frame that opens a call: not the program itself. */
static bool is_call(const struct pt2_making *m, const struct pt2_frame *frame,
                    uint32_t i)
{
    return frame->node != NO_PLACE && !(i == 0 && frame->node == m->pt2->root);
}

uint32_t pt2_enter(struct pt2_making *m, uint32_t node)
{
    struct pt2_stack stack = pt2_stack_of(m->pt2, node);
    const struct pt2_frame *frames = stack.n > 0 ? m->pt2->frames + stack.first : NULL;
    uint32_t same = 1, i = 0;

    for (; i < stack.n; i++) {
        if (!is_call(m, &frames[i], i))
            continue;
        if (same >= m->n_open || !str_eq(m->open[same].key, frames[i].key))
            break;
        same++;
    }
    if (same < m->base) /* a region is inside a call that is not in the stack */
        return m->open[m->n_open - 1].call;
    pt2_leave(m, same);
    for (; i < stack.n && !m->stop; i++)
        if (is_call(m, &frames[i], i))
            open_call(m, &frames[i], 0, 0);
    return m->open[m->n_open - 1].call;
}

/* ---- values that cross the border of a call ---- */

struct pt2_crossing {
    uint32_t call, value;
    bool out;
};

struct crossings {
    struct pt2_making *m;
    struct pt2_crossing *at; /* in the order of their use */
    uint32_t n, room;
    struct map seen;
};

static bool is_inside(const struct pt2_making *m, uint32_t outer, uint32_t call)
{
    return call >= outer && call < m->call_end[outer];
}

static void add_crossing(struct crossings *c, uint32_t call, uint32_t value, bool out)
{
    struct pt2_making *m = c->m;
    uint64_t key = hash_mix(hash_mix(out, call), value);
    uint32_t before;

    if (m->stop || map_find(&c->seen, key, &before))
        return;
    if (map_put(&c->seen, key, 1) < 0 ||
        arena_room(m->arena, &c->at, c->n, &c->room, sizeof *c->at) < 0) {
        m->stop = true;
        return;
    }
    c->at[c->n++] = (struct pt2_crossing){.call = call, .value = value, .out = out};
}

/* A value is used in a call: it is an input of all enclosing calls in which it was not
 * made, and an output of all calls around its producer that are not around its use. */
static void add_use(struct crossings *c, uint32_t call, uint32_t value)
{
    const struct program *program = c->m->program;
    uint32_t made;

    if (value >= c->m->n_values || program->values[value].kind == PROGRAM_TENSOR)
        return;
    made = c->m->call_of[value];
    for (uint32_t at = call; at != PROGRAM_NONE && at > 0 && !is_inside(c->m, at, made);
         at = program->calls[at].parent)
        add_crossing(c, at, value, false);
    for (uint32_t at = made; at != PROGRAM_NONE && at > 0 && !is_inside(c->m, at, call);
         at = program->calls[at].parent)
        add_crossing(c, at, value, true);
}

static void add_uses(struct crossings *c)
{
    const struct program *program = c->m->program;
    const struct program_call *main = &program->calls[0];

    for (uint32_t i = 0; i < program->n_ops && !c->m->stop; i++)
        for (uint32_t k = 0; k < program->ops[i].n_in; k++)
            add_use(c, program->ops[i].call,
                    program->ios[program->ops[i].io + k].value);
    for (uint32_t i = 0; i < program->n_values && !c->m->stop; i++)
        for (uint32_t k = 0; k < program->values[i].n_sources; k++)
            add_use(c, c->m->call_of[i],
                    program->sources[program->values[i].sources + k]);
    for (uint32_t i = 0; i < program->n_regions && !c->m->stop; i++)
        if (program->regions[i].condition != PROGRAM_NONE)
            add_use(c, program->regions[i].call, program->regions[i].condition);
    for (uint32_t i = 0; i < main->n_out && !c->m->stop; i++)
        add_use(c, 0, program->ios[main->io + main->n_in + i].value);
}

/* The crossings of one call, one way, as ios; returns how many. */
static uint32_t take_crossings(struct pt2_making *m, const struct crossings *c,
                               const uint32_t *order, uint32_t from, uint32_t to,
                               bool out)
{
    uint32_t n = 0;
    char text[16];

    for (uint32_t i = from; i < to && n < CROSSINGS_MOST; i++) {
        const struct pt2_crossing *at = &c->at[order[i]];
        struct program_io io = {.value = at->value, .item = PROGRAM_NONE};

        if (at->out != out)
            continue;
        if (!out) {
            int length = snprintf(text, sizeof text, "%u", n);

            io.arg = build_string(m->build, str_span(text, (size_t)length));
        }
        if (io.arg == INTERN_NONE ||
            arena_room(m->arena, &m->ios, m->n_ios, &m->ios_room, sizeof *m->ios) < 0) {
            m->stop = true;
            return n;
        }
        m->ios[m->n_ios++] = io;
        n++;
    }
    return n;
}

/* The start of each call's crossings in `order`, which lists them by call. */
static uint32_t *sort_crossings(struct pt2_making *m, const struct crossings *c,
                                uint32_t **ret_order)
{
    uint32_t n_calls = m->program->n_calls;
    uint32_t *begin = arena_array(m->arena, (size_t)n_calls + 2, sizeof *begin);
    uint32_t *order = arena_array(m->arena, (size_t)c->n + 1, sizeof *order);

    if (!begin || !order)
        return NULL;
    for (uint32_t i = 0; i < c->n; i++)
        begin[c->at[i].call + 2]++;
    for (uint32_t i = 2; i < n_calls + 2; i++)
        begin[i] += begin[i - 1];
    for (uint32_t i = 0; i < c->n; i++)
        order[begin[c->at[i].call + 1]++] = i;
    *ret_order = order;
    return begin;
}

void pt2_call_ios(struct pt2_making *m)
{
    struct crossings c = {.m = m};
    uint32_t *begin, *order;

    map_init(&c.seen, m->arena);
    add_uses(&c);
    if (m->stop)
        return;
    begin = sort_crossings(m, &c, &order);
    if (!begin) {
        m->stop = true;
        return;
    }
    for (uint32_t call = 1; call < m->program->n_calls && !m->stop; call++) {
        uint32_t n_in, n_out;

        m->n_ios = 0;
        n_in = take_crossings(m, &c, order, begin[call], begin[call + 1], false);
        n_out = take_crossings(m, &c, order, begin[call], begin[call + 1], true);
        if (!m->stop && build_program_call_ios(m->build, call, m->ios, n_in, n_out) < 0)
            m->stop = true;
    }
}
