/* Statements and expressions. The depths of code, data and calls are limited, so the
 * recursion here is bounded. */
#include <string.h>

#include "base/base.h"
#include "read/torch/script_machine_in.h"

#define STEPS_MOST 4000000 /* about half a second */
#define DEPTH_MOST 1000
#define FULL_EVERY 64 /* steps */

bool script_step(struct script_machine *m)
{
    if (++m->steps > STEPS_MOST ||
        (m->steps % FULL_EVERY == 0 && build_program_full(m->build)) || m->arena.spent)
        m->stop = true;
    return !m->stop;
}

/* ---- regions ---- */

/* Begins a region inside the current one; returns it. */
static uint32_t begin_region(struct script_machine *m, enum program_region_kind kind,
                             const struct datum *condition, int taken)
{
    struct program_region region = {
        .kind = (uint8_t)kind,
        .taken = (int8_t)taken,
        .parent = m->region,
        .call = m->call,
        .condition = condition->kind == DATUM_VALUE ? script_newest(m, condition->id)
                                                    : PROGRAM_NONE,
        .file = m->file,
        .line = m->line,
        .ops = m->program->n_ops,
        .end = m->program->n_ops,
    };

    m->region = build_program_region(m->build, &region);
    if (m->region == PROGRAM_NONE)
        m->stop = true;
    return m->region;
}

static void end_region(struct script_machine *m, uint32_t region)
{
    if (region == PROGRAM_NONE)
        return;
    m->program->regions[region].end = m->program->n_ops;
    m->region = m->program->regions[region].parent;
}

struct datum script_unclear(struct script_machine *m, struct str text)
{
    struct datum made = script_opaque(m);
    uint32_t region = begin_region(m, PROGRAM_UNCLEAR, &script_nothing, -1);
    uint32_t id = build_string(m->build, text);

    if (region != PROGRAM_NONE && id != INTERN_NONE)
        m->program->regions[region].text = id;
    if (region != PROGRAM_NONE && made.id < m->program->n_values)
        m->program->values[made.id].producer = region;
    end_region(m, region);
    return made;
}

/* ---- expressions ---- */

static struct datum eval_items(struct script_machine *m, struct script_frame *frame,
                               const struct script_node *node, enum datum_kind kind)
{
    struct datum *items = script_items_new(m, node->n);
    uint32_t n = 0;

    for (const struct script_node *at = node->first; items && at; at = at->next)
        items[n++] = script_eval(m, frame, at, 1);
    return script_container(m, kind, items, n);
}

static struct datum eval_attr(struct script_machine *m, struct script_frame *frame,
                              const struct script_node *node)
{
    struct datum owner = script_eval(m, frame, node->first, 1);

    if (owner.kind == DATUM_INSTANCE)
        return script_attr(m, owner.id, node->text);
    return owner; /* an attribute of it: (x).value */
}

/* `x[i]` is an operation; `(x)[i]` is an item of a tuple if x is a name or a tuple. */
static struct datum eval_index(struct script_machine *m, struct script_frame *frame,
                               const struct script_node *node)
{
    const struct script_node *of = node->first;
    struct datum owner = script_eval(m, frame, of, 1), index;
    const struct value *at;
    uint32_t from = m->n_args;
    bool tuple = owner.kind == DATUM_TUPLE || (of->paren && of->kind == SCRIPT_LOCAL);

    if (node->n != 2)
        return owner;
    index = script_eval(m, frame, of->next, 1);
    if (tuple) {
        at = value_at(build_values(m->build),
                      index.kind == DATUM_PLAIN ? index.id : VALUE_ID_NONE);
        if (owner.kind != DATUM_TUPLE || at->kind != VALUE_INT)
            return owner;
        if (at->integer < 0 && at->integer + owner.n >= 0)
            return owner.items[at->integer + owner.n];
        return at->integer >= 0 && at->integer < owner.n ? owner.items[at->integer]
                                                         : owner;
    }
    for (int i = 0; i < 2; i++) {
        if (arena_room(&m->arena, &m->args, m->n_args, &m->args_room, sizeof *m->args) <
            0) {
            m->stop = true;
            return script_nothing;
        }
        m->args[m->n_args++] = (struct script_arg){.datum = i == 0 ? owner : index};
    }
    m->line = node->line;
    owner = script_op(m, STR("aten"), STR("__getitem__"), from, 1);
    m->n_args = from;
    return owner;
}

/* A class or function by its full name, a constant, or an unknown name. */
static struct datum eval_global(struct script_machine *m,
                                const struct script_node *node)
{
    uint32_t index;

    if (str_starts(node->text, STR("CONSTANTS.")))
        return script_constant(m, str_from(node->text, 10));
    if (name_map_find(&m->code->names, node->text, &index))
        return (struct datum){.kind = DATUM_CODE, .id = index};
    return script_text(m, node->text);
}

static struct datum eval_kind(struct script_machine *m, struct script_frame *frame,
                              const struct script_node *node, uint32_t wanted)
{
    switch ((enum script_kind)node->kind) {
    case SCRIPT_LOCAL:
        return m->slots[frame->base + node->slot].datum;
    case SCRIPT_GLOBAL:
        return eval_global(m, node);
    case SCRIPT_PLAIN:
        return script_plain(node->slot);
    case SCRIPT_TUPLE:
        return eval_items(m, frame, node, DATUM_TUPLE);
    case SCRIPT_LIST:
        return eval_items(m, frame, node, DATUM_LIST);
    case SCRIPT_DICT:
        return eval_items(m, frame, node, DATUM_DICT);
    case SCRIPT_CALL:
        return script_call(m, frame, node, wanted);
    case SCRIPT_ATTR:
        return eval_attr(m, frame, node);
    case SCRIPT_INDEX:
        return eval_index(m, frame, node);
    case SCRIPT_KEYWORD:
    case SCRIPT_SLICE:
        return script_eval(m, frame, node->first, 1);
    default:
        return script_nothing;
    }
}

struct datum script_eval(struct script_machine *m, struct script_frame *frame,
                         const struct script_node *node, uint32_t wanted)
{
    struct datum datum = script_nothing;

    if (!node || !script_step(m))
        return datum;
    if (++m->depth > DEPTH_MOST)
        m->stop = true;
    else
        datum = eval_kind(m, frame, node, wanted);
    m->depth--;
    return datum;
}

/* ---- assignments ---- */

/* A value keeps the first name that the code gives it. */
static void name_value(struct script_machine *m, struct script_frame *frame,
                       uint32_t slot, uint32_t value)
{
    uint32_t *name = &frame->names[slot];

    if (m->program->values[value].name)
        return;
    if (*name == 0)
        *name = build_string(m->build, frame->function->names[slot]);
    if (*name == INTERN_NONE)
        *name = 0;
    m->program->values[value].name = *name;
}

static void assign(struct script_machine *m, struct script_frame *frame,
                   const struct script_node *target, const struct datum *datum)
{
    struct datum owner;

    if (target->kind == SCRIPT_LOCAL) {
        if (datum->kind == DATUM_VALUE)
            name_value(m, frame, target->slot, datum->id);
        script_set(m, CELL_SLOT, frame->base + target->slot, datum);
        return;
    }
    owner = script_eval(m, frame, target->first, 1);
    if (owner.kind == DATUM_INSTANCE)
        script_attr_set(m, owner.id, target->text, datum);
}

/* Item i of a list that an operation made: a separate value, because an operation in
 * place may change only this item. */
static struct datum list_item(struct script_machine *m, const struct datum *list,
                              uint32_t i)
{
    struct program_value value;
    uint32_t newest, id;

    newest = script_newest(m, list->id);
    value = m->program->values[newest];
    if (value.kind != PROGRAM_RESULT || value.n_sources > 0 || i > UINT16_MAX)
        return *list;
    value.output = (uint16_t)i;
    value.name = 0;
    value.plain = PROGRAM_NONE;
    id = script_value_new(m, &value);
    if (id != PROGRAM_NONE)
        m->view_of[id] = m->view_of[newest];
    return script_value(id);
}

static void follow_assign(struct script_machine *m, struct script_frame *frame,
                          const struct script_node *node)
{
    uint32_t n = node->n - 1, i = 0;
    struct datum datum = script_eval(m, frame, node->first, node->unpacks ? 1 : n),
                 item;

    for (const struct script_node *at = node->first->next; at && !m->stop;
         at = at->next, i++) {
        if (node->unpacks && datum.kind == DATUM_VALUE)
            item = list_item(m, &datum, i);
        else
            item = n == 1 && !node->unpacks ? datum : script_item(&datum, i, n);
        assign(m, frame, at, &item);
    }
}

/* ---- conditions and loops ---- */

/* Is it true? -1: the file does not determine it. */
static int truth(struct script_machine *m, const struct datum *condition)
{
    uint32_t known = script_known(m, condition);
    const struct value *value;

    if (known == PROGRAM_NONE)
        return -1;
    value = value_at(build_values(m->build), known);
    return value->kind == VALUE_BOOL ? value->integer != 0 : -1;
}

static void follow_if(struct script_machine *m, struct script_frame *frame,
                      const struct script_node *node)
{
    const struct script_node *body = node->first->next;
    struct datum condition = script_eval(m, frame, node->first, 1);
    int taken = truth(m, &condition);
    struct script_mark mark = script_branch_begin(m);
    struct script_changes first;
    uint32_t region = begin_region(m, PROGRAM_IF, &condition, taken);

    script_follow(m, frame, body);
    end_region(m, region);
    first = script_branch_undo(m, mark);
    mark = script_branch_begin(m);
    if (body && body->next && !m->stop) {
        m->line = body->next->line;
        region = begin_region(m, PROGRAM_ELSE, &condition, taken < 0 ? -1 : !taken);
        script_follow(m, frame, body->next);
        end_region(m, region);
    }
    script_branch_join(m, &first, mark, taken);
}

/* The variables that the body changes get their value at the start of an iteration. */
static void enter_loop(struct script_machine *m, struct script_frame *frame,
                       const struct script_node *node, struct datum *before,
                       struct datum *loop)
{
    for (uint32_t i = 0; i < node->n_writes && !m->stop; i++) {
        uint32_t slot = frame->base + node->writes[i];

        before[i] = m->slots[slot].datum;
        loop[i] = script_loop_begin(m, &before[i]);
        if (loop[i].kind == DATUM_VALUE && m->program->values[loop[i].id].loop)
            name_value(m, frame, node->writes[i], loop[i].id);
        script_set(m, CELL_SLOT, slot, &loop[i]);
    }
}

static void leave_loop(struct script_machine *m, struct script_frame *frame,
                       const struct script_node *node, const struct datum *before,
                       const struct datum *loop)
{
    for (uint32_t i = 0; i < node->n_writes && !m->stop; i++) {
        uint32_t slot = frame->base + node->writes[i];
        struct datum end = m->slots[slot].datum;

        if (before[i].kind == DATUM_NOTHING)
            continue;
        script_loop_end(m, &loop[i], &before[i], &end);
        script_set(m, CELL_SLOT, slot, &loop[i]);
    }
}

static void follow_loop(struct script_machine *m, struct script_frame *frame,
                        const struct script_node *node)
{
    struct datum *before = script_items_new(m, node->n_writes);
    struct datum *loop = script_items_new(m, node->n_writes), condition, turn;
    bool counted = node->kind == SCRIPT_FOR;
    uint32_t region;

    if (!before || !loop)
        return;
    if (counted)
        condition = script_eval(m, frame, node->first->next, 1);
    enter_loop(m, frame, node, before, loop);
    if (!counted)
        condition = script_eval(m, frame, node->first, 1);
    region = begin_region(m, PROGRAM_LOOP, &condition, -1);
    if (counted) {
        /* The loop makes the iteration index, a value. */
        turn = script_loop_begin(m, &(struct datum){.kind = DATUM_PLAIN});
        assign(m, frame, node->first, &turn);
    }
    script_follow(m, frame, node->last);
    end_region(m, region);
    leave_loop(m, frame, node, before, loop);
}

/* ---- statements ---- */

static void follow_return(struct script_machine *m, struct script_frame *frame,
                          const struct script_node *node)
{
    struct datum datum = node->first ? script_eval(m, frame, node->first, 1)
                                     : script_plain(VALUE_ID_NONE);

    frame->result = script_merge(m, &frame->result, &datum);
}

static void follow_statement(struct script_machine *m, struct script_frame *frame,
                             const struct script_node *node)
{
    switch ((enum script_kind)node->kind) {
    case SCRIPT_ASSIGN:
        follow_assign(m, frame, node);
        break;
    case SCRIPT_DO:
        script_eval(m, frame, node->first, 0);
        break;
    case SCRIPT_RETURN:
        follow_return(m, frame, node);
        break;
    case SCRIPT_IF:
        follow_if(m, frame, node);
        break;
    case SCRIPT_FOR:
    case SCRIPT_WHILE:
        follow_loop(m, frame, node);
        break;
    case SCRIPT_WITH:
        script_eval(m, frame, node->first, 1);
        script_follow(m, frame, node->last);
        break;
    case SCRIPT_DEF:
        script_set(m, CELL_SLOT, frame->base + node->slot,
                   &(struct datum){.kind = DATUM_INNER, .inner = node->first});
        break;
    case SCRIPT_UNCLEAR:
        script_unclear(m, node->text);
        break;
    default:
        break;
    }
}

void script_follow(struct script_machine *m, struct script_frame *frame,
                   const struct script_node *block)
{
    if (!block)
        return;
    if (++m->depth > DEPTH_MOST)
        m->stop = true;
    for (const struct script_node *at = block->first; at && script_step(m);
         at = at->next) {
        m->file = frame->file;
        m->line = at->line;
        follow_statement(m, frame, at);
    }
    m->depth--;
}

/* ---- functions ---- */

static void set_params(struct script_machine *m, struct script_frame *frame,
                       uint32_t from)
{
    const struct script_function *function = frame->function;
    uint32_t n = m->n_args - from;

    for (uint32_t i = 0; i < function->n_params && script_step(m); i++) {
        const struct script_param *param = &function->params[i];
        struct datum datum = script_nothing;

        if (i < n && m->args[from + i].name.len == 0)
            datum = m->args[from + i].datum;
        for (uint32_t a = n; a > 0 && m->args[from + a - 1].name.len && script_step(m);
             a--)
            if (str_eq(m->args[from + a - 1].name, function->names[param->slot]))
                datum = m->args[from + a - 1].datum;
        if (datum.kind == DATUM_NOTHING && param->preset)
            datum = script_eval(m, frame, param->preset, 1);
        m->slots[frame->base + param->slot].datum = datum;
    }
}

struct datum script_invoke(struct script_machine *m, const struct script_class *class,
                           struct script_method *method, uint32_t from)
{
    struct script_frame frame = {.class = class,
                                 .function = method->function,
                                 .base = m->n_slots,
                                 .names = method->names,
                                 .result = script_nothing};
    uint32_t file = m->file, line = m->line;

    while (m->n_slots < frame.base + frame.function->n_slots) {
        if (arena_room(&m->arena, &m->slots, m->n_slots, &m->slots_room,
                       sizeof *m->slots) < 0) {
            m->stop = true;
            break;
        }
        m->slots[m->n_slots++] =
            (struct script_cell){.datum = script_nothing, .stamp = m->branch};
    }
    frame.file = build_string(m->build, class->record);
    if (frame.file == INTERN_NONE)
        frame.file = 0;
    if (!m->stop && m->depth < DEPTH_MOST) {
        m->depth += 2;
        set_params(m, &frame, from);
        script_follow(m, &frame, frame.function->body);
        m->depth -= 2;
    }
    m->n_slots = frame.base;
    m->file = file;
    m->line = line;
    return frame.result;
}
