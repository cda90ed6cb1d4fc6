/* Turns the instructions of plans into the program. A kernel takes its arguments by
 * position: inputs, the tensors that it writes, then what it returns. A call of a
 * delegate is one operation. */
#include <stdio.h>

#include "base/base.h"
#include "read/file/program_facts_in.h"
#include "read/flat/executorch_program_in.h"

#define NAME_MOST 200

/* ---- reading ---- */

struct flat_table executorch_instruction(struct executorch_making *m, uint32_t i,
                                         int64_t *ret_kind)
{
    struct flat *flat = &m->self->flat;
    struct flat_table table = flat_table_at(flat, m->code.at + 4 * (uint64_t)i);

    *ret_kind = flat_int(flat, table, 0, 1, 0);
    return flat_table(flat, table, 1);
}

/* Appends the items of a list of tensors, without those that are None. */
static void add_items(struct executorch_making *m, struct executorch_call *call,
                      uint32_t index)
{
    struct executorch *self = m->self;
    struct flat_vector items =
        flat_vector(&self->flat, self->values[index].table, 0, 4);

    for (uint32_t i = 0; i < items.n && call->n < EXECUTORCH_ARGS; i++) {
        int64_t item = (int32_t)flat_number(&self->flat, items.at + 4 * (uint64_t)i, 4);

        if (executorch_value(self, item))
            call->args[call->n++] = (uint32_t)item;
    }
}

void executorch_args(struct executorch_making *m, struct executorch_call *call)
{
    struct flat *flat = &m->self->flat;
    struct flat_vector args = flat_vector(flat, call->table, 1, 4);

    call->n = 0;
    for (uint32_t i = 0; i < args.n && call->n < EXECUTORCH_ARGS; i++) {
        int64_t index = (int32_t)flat_number(flat, args.at + 4 * (uint64_t)i, 4);

        if (executorch_value(m->self, index))
            call->args[call->n++] = (uint32_t)index;
    }
}

static bool is_list(const struct executorch *self, uint32_t index)
{
    return self->values[index].kind == EXECUTORCH_TENSORS ||
           self->values[index].kind == EXECUTORCH_OPTIONALS;
}

/* The last argument of a kernel is what it returns, or a list of that. The arguments
 * before it are the same tensors again, as out arguments. */
void executorch_split(struct executorch_making *m, struct executorch_call *call,
                      struct executorch_call *out)
{
    uint32_t last = call->n > 0 ? call->args[--call->n] : 0, n;

    out->n = 0;
    if (m->self->n_values == 0)
        return;
    if (!is_list(m->self, last)) {
        out->args[out->n++] = last;
    } else {
        add_items(m, out, last);
        if (call->n > 0 && is_list(m->self, call->args[call->n - 1])) {
            call->n--;
            return;
        }
    }
    n = out->n;
    while (n > 0 && call->n > 0 && call->args[call->n - 1] == out->args[n - 1]) {
        n--;
        call->n--;
    }
}

/* A delegate is assumed to write the tensors that nothing has written before. */
static void split_delegate(struct executorch_making *m, struct executorch_call *call,
                           struct executorch_call *out)
{
    uint32_t n = call->n;

    call->n = out->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct executorch_value *value = &m->self->values[call->args[i]];
        bool known = value->value != PROGRAM_NONE || value->tensor != NO_OBJECT ||
                     value->kind != EXECUTORCH_TENSOR;

        if (known)
            call->args[call->n++] = call->args[i];
        else
            out->args[out->n++] = call->args[i];
    }
}

/* ---- operations ---- */

void executorch_change_value(struct executorch_making *m, uint32_t index,
                             uint32_t value)
{
    if (m->depth > 0 && arena_room(m->arena, &m->changes, m->n_changes,
                                   &m->changes_room, sizeof *m->changes) < 0)
        m->spent = true;
    else if (m->depth > 0)
        m->changes[m->n_changes++] = (struct executorch_change){
            .index = index, .before = m->self->values[index].value};
    if (executorch_set(m->self, &m->memory, index, value) < 0)
        m->spent = true;
}

uint32_t executorch_string(struct executorch_making *m, struct str text)
{
    uint32_t id = build_string(m->build, text);

    return id == INTERN_NONE ? 0 : id;
}

static uint32_t position(struct executorch_making *m, uint32_t i)
{
    char text[16];

    snprintf(text, sizeof text, "%u", i);
    return executorch_string(m, str_of(text));
}

static void add_io(struct executorch_making *m, struct executorch_ios *ios,
                   struct program_io io)
{
    if (io.value == PROGRAM_NONE)
        return;
    if (ios->n >= UINT16_MAX / 2 ||
        arena_room(m->arena, &ios->at, ios->n, &ios->room, sizeof *ios->at) < 0)
        m->spent = true;
    else
        ios->at[ios->n++] = io;
}

static void add_constant(struct executorch_making *m, struct executorch_ios *ios,
                         uint32_t i, uint32_t plain)
{
    char text[16];

    if (plain == VALUE_ID_NONE || plain == VALUE_ID_FAILED)
        return;
    snprintf(text, sizeof text, "%u", i);
    for (int side = 0; side < 2; side++) {
        if (arena_room(m->arena, &ios->items, ios->n_items, &ios->items_room,
                       sizeof *ios->items) < 0) {
            m->spent = true;
            return;
        }
        ios->items[ios->n_items++] =
            side ? plain : value_str(build_values(m->build), str_of(text));
    }
}

static void add_input(struct executorch_making *m, struct executorch_ios *ios,
                      uint32_t i, uint32_t index)
{
    const struct executorch_value *value = &m->self->values[index];
    struct executorch_call *list = m->list;

    if (value->kind == EXECUTORCH_TENSOR || value->written) {
        add_io(m, ios,
               (struct program_io){.value = executorch_now(m->self, &m->memory, index),
                                   .arg = position(m, i),
                                   .item = PROGRAM_NONE});
        return;
    }
    if (!is_list(m->self, index)) {
        add_constant(m, ios, i, executorch_plain(m->self, index));
        return;
    }
    list->n = 0;
    add_items(m, list, index);
    for (uint32_t k = 0; k < list->n; k++)
        add_io(m, ios,
               (struct program_io){
                   .value = executorch_now(m->self, &m->memory, list->args[k]),
                   .arg = position(m, i),
                   .item = k});
}

/* Names an operation: "aten::add" and "out", or "delegate::XnnpackBackend". */
static void name_op(struct executorch_making *m, const struct executorch_call *call,
                    struct program_op *op)
{
    struct flat *flat = &m->self->flat;
    bool kernel = call->kind == CALL_KERNEL;
    struct flat_vector list = kernel ? m->operators : m->delegates;
    uint64_t index = (uint64_t)flat_int(flat, call->table, 0, 4, 0);
    struct flat_table table = {0};
    struct str name, overload = STR("");
    const char *text;

    if (index < list.n)
        table = flat_table_at(flat, list.at + 4 * index);
    name = flat_text(flat, table, 0, NAME_MOST, m->arena);
    if (kernel)
        overload = flat_text(flat, table, 1, NAME_MOST, m->arena);
    text = arena_printf(m->arena, "%s%.*s", kernel ? "" : "delegate::",
                        STR_ARG(name.len > 0 ? name : STR("unknown")));
    op->name = text ? executorch_string(m, str_of(text)) : 0;
    op->overload = overload.len > 0 ? executorch_string(m, overload) : 0;
}

/* The size of the compiled code of a delegate; -1: unknown. */
static int64_t delegate_bytes(struct executorch_making *m,
                              const struct executorch_call *call)
{
    struct flat *flat = &m->self->flat;
    uint64_t index = (uint64_t)flat_int(flat, call->table, 0, 4, 0), at;
    struct flat_table data;
    bool segment;

    if (index >= m->delegates.n)
        return -1;
    data = flat_table(flat, flat_table_at(flat, m->delegates.at + 4 * index), 1);
    segment = flat_int(flat, data, 0, 1, 0) != 0;
    index = (uint64_t)flat_int(flat, data, 1, 4, 0);
    if (index >= (segment ? m->self->segments.n : m->self->inlined.n))
        return -1;
    at = (segment ? m->self->segments.at : m->self->inlined.at) + 4 * index;
    if (segment)
        return flat_int(flat, flat_table_at(flat, at), 1, 8, 0);
    return flat_vector(flat, flat_table_at(flat, at), 0, 1).n;
}

void executorch_op(struct executorch_making *m, struct executorch_call *call,
                   struct executorch_call *out)
{
    struct values *values = build_values(m->build);
    struct program *program = m->build->program;
    struct executorch_ios ios = {0};
    struct program_op op = {
        .place = m->plan->node, .region = m->region, .call = m->call_id};

    executorch_args(m, call);
    if (call->kind == CALL_KERNEL)
        executorch_split(m, call, out);
    else
        split_delegate(m, call, out);
    name_op(m, call, &op);
    for (uint32_t i = 0; i < call->n; i++)
        add_input(m, &ios, i, call->args[i]);
    op.n_in = (uint16_t)ios.n;
    if (call->kind == CALL_DELEGATE && delegate_bytes(m, call) >= 0) {
        uint32_t pair[2] = {value_str(values, STR("bytes")),
                            value_int(values, delegate_bytes(m, call))};

        op.attributes = value_make(values, VALUE_DICT, STR(""), pair, 2);
    } else if (ios.n_items > 0) {
        op.attributes = value_make(values, VALUE_DICT, STR(""), ios.items, ios.n_items);
    }
    if (op.attributes == VALUE_ID_FAILED)
        op.attributes = VALUE_ID_NONE;
    for (uint32_t i = 0; i < out->n; i++) {
        uint32_t value = executorch_new_value(m->self, out->args[i], PROGRAM_RESULT);

        if (value == PROGRAM_NONE)
            return;
        program->values[value].producer = program->n_ops;
        program->values[value].output = (uint16_t)i;
        executorch_change_value(m, out->args[i], value);
        add_io(m, &ios, (struct program_io){.value = value, .item = PROGRAM_NONE});
    }
    op.n_out = (uint16_t)(ios.n - op.n_in);
    if (!m->spent)
        build_program_op(m->build, &op, ios.at);
}

void executorch_move(struct executorch_making *m, struct flat_table table)
{
    struct flat *flat = &m->self->flat;
    int64_t from = flat_int(flat, table, 0, 4, 0), to = flat_int(flat, table, 1, 4, 0);

    if (executorch_value(m->self, from) && executorch_value(m->self, to))
        executorch_change_value(m, (uint32_t)to,
                                executorch_now(m->self, &m->memory, (uint32_t)from));
}

/* ---- plans ---- */

/* Finds the values that instructions write, and the targets of backward jumps. */
static int prepare(struct executorch_making *m)
{
    struct executorch_call *call = arena_alloc(m->arena, sizeof *call);
    struct executorch_call *out = arena_alloc(m->arena, sizeof *out);
    uint32_t target;
    bool always;

    m->call = call;
    m->out = out;
    m->list = arena_alloc(m->arena, sizeof *m->list);
    m->loop_end = arena_array(m->arena, (size_t)m->code.n + 1, sizeof *m->loop_end);
    m->seen = arena_array(m->arena, (size_t)m->self->n_values + 1, sizeof *m->seen);
    m->other = arena_array(m->arena, (size_t)m->self->n_values + 1, sizeof *m->other);
    if (!call || !out || !m->list || !m->loop_end || !m->seen || !m->other)
        return -1;
    for (uint32_t i = 0; i < m->code.n; i++)
        m->loop_end[i] = PROGRAM_NONE;
    for (uint32_t i = 0; i < m->code.n && !m->self->flat.bad; i++) {
        call->table = executorch_instruction(m, i, &call->kind);
        if (call->kind == CALL_KERNEL) {
            executorch_args(m, call);
            executorch_split(m, call, out);
            for (uint32_t k = 0; k < out->n; k++)
                m->self->values[out->args[k]].written = true;
        } else if (executorch_jump(m, i, &target, &always) && target <= i) {
            m->loop_end[target] = i;
        }
    }
    return 0;
}

/* The name of input or output i: "input" if it is the only one, else "input 1"; with a
 * prefix if there are several methods: "encode:input". */
static uint32_t end_name(struct executorch_making *m, bool in, uint32_t i, uint32_t n)
{
    const char *what = in ? "input" : "output";
    bool several = m->self->n_entries > 1;
    char number[16] = "";
    const char *name;

    if (n > 1)
        snprintf(number, sizeof number, " %u", i);
    name =
        arena_printf(m->arena, "%.*s%s%s%s", STR_ARG(several ? m->plan->name : STR("")),
                     several ? ":" : "", what, number);
    return name ? executorch_string(m, str_of(name)) : 0;
}

/* Adds the inputs or outputs of a method. */
static void add_ends(struct executorch_making *m, unsigned field, bool in,
                     struct executorch_ios *ios)
{
    struct flat *flat = &m->self->flat;
    struct flat_vector ends = flat_vector(flat, m->plan->table, field, 4);

    for (uint32_t i = 0; i < ends.n && i < EXECUTORCH_ARGS && !m->spent; i++) {
        int64_t index = (int32_t)flat_number(flat, ends.at + 4 * (uint64_t)i, 4);
        struct executorch_value *value = executorch_value(m->self, index);
        struct program_io io = {.item = PROGRAM_NONE};

        if (!value)
            continue;
        io.arg = end_name(m, in, i, ends.n);
        if (in) {
            io.value = executorch_new_value(m->self, (uint32_t)index, PROGRAM_INPUT);
            if (io.value != PROGRAM_NONE)
                m->build->program->values[io.value].name = io.arg;
            value->written = true;
            executorch_change_value(m, (uint32_t)index, io.value);
        } else {
            io.value = executorch_now(m->self, &m->memory, (uint32_t)index);
        }
        add_io(m, ios, io);
    }
}

/* Adds the instructions of one method, whose call exists. */
static int walk_plan(struct executorch_making *m)
{
    uint32_t n_in;

    if (prepare(m) < 0)
        return -1;
    m->ins.n = m->outs.n = 0;
    add_ends(m, 3, true, &m->ins);
    n_in = m->ins.n;
    executorch_walk(m, 0, m->code.n);
    add_ends(m, 4, false, &m->outs);
    for (uint32_t i = 0; i < m->outs.n; i++)
        add_io(m, &m->ins, m->outs.at[i]);
    if (m->spent || build_program_full(m->build))
        return -1;
    m->build->program->calls[m->call_id].end = m->build->program->n_ops;
    return build_program_call_ios(m->build, m->call_id, m->ins.at, n_in, m->outs.n);
}

static uint32_t add_call(struct executorch_making *m, uint32_t place, uint32_t parent,
                         struct str method)
{
    struct program_call call = {.place = place,
                                .parent = parent,
                                .region = PROGRAM_NONE,
                                .method = executorch_string(m, method),
                                .ops = m->build->program->n_ops,
                                .end = m->build->program->n_ops};

    return build_program_call(m->build, &call);
}

/* Adds the inputs or outputs of the methods to those of the program. */
static void collect_ends(struct executorch_making *m, bool in,
                         struct executorch_ios *to)
{
    const struct program *program = m->build->program;

    for (uint32_t i = 1; i < program->n_calls && !m->spent; i++) {
        const struct program_call *call = &program->calls[i];
        uint32_t first = call->io + (in ? 0 : call->n_in);

        for (uint32_t k = 0; k < (in ? call->n_in : call->n_out); k++)
            add_io(m, to, program->ios[first + k]);
    }
}

static void begin_plan(struct executorch_making *m, const struct executorch_plan *plan)
{
    struct flat *flat = &m->self->flat;

    m->plan = plan;
    m->code = plan->code;
    m->operators = flat_vector(flat, plan->table, 6, 4);
    m->delegates = flat_vector(flat, plan->table, 7, 4);
    m->self->values = plan->values;
    m->self->n_values = plan->n_values;
    m->region = PROGRAM_NONE;
    m->n_changes = 0;
    map_init(&m->memory, m->arena);
    if (flat_vector(flat, plan->table, 5, 4).n > 1)
        build_finding(m->build, FINDING_UNSUPPORTED, SEVERITY_NOTE, plan->node,
                      "only the first chain of instructions is shown");
}

/* Adds all entries. A single one is the program, several are calls of their modules. */
static int walk_plans(struct executorch_making *m)
{
    struct executorch *self = m->self;
    struct executorch_ios ios = {0};
    bool several = self->n_entries > 1;
    uint32_t n_in;

    for (uint32_t i = 0; i < self->n_plans; i++) {
        const struct executorch_plan *plan = &self->plans[i];

        if (plan->code.n == 0)
            continue;
        m->call_id = add_call(m, plan->node, several ? 0 : PROGRAM_NONE, plan->name);
        if (m->call_id == PROGRAM_NONE)
            return -1;
        begin_plan(m, plan);
        if (walk_plan(m) < 0)
            return -1;
    }
    if (!several)
        return 0;
    collect_ends(m, true, &ios);
    n_in = ios.n;
    collect_ends(m, false, &ios);
    m->build->program->calls[0].end = m->build->program->n_ops;
    return m->spent ? -1
                    : build_program_call_ios(m->build, 0, ios.at, n_in, ios.n - n_in);
}

int executorch_program(struct executorch *self, struct err *err)
{
    struct executorch_making m = {
        .self = self, .build = self->build, .arena = &self->build->scratch};
    struct program *program;

    if (self->n_entries == 0 || self->flat.bad || !build_program(self->build))
        return 0;
    program = self->build->program;
    if (self->n_entries > 1)
        add_call(&m, self->input->node, PROGRAM_NONE, STR("methods"));
    program->cut |= walk_plans(&m) < 0;
    if (program->n_calls == 0)
        build_program_drop(self->build);
    else
        program->method = program->calls[0].method;
    if (!program->cut)
        program_facts(self->build);
    if (!work_step(self->build->work, 0))
        return err_set_about(err, ERR_CANCELLED, self->input->path, ": stopped");
    return 0;
}
