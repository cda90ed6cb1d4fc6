/* Calls. The callee is an operation, a module, a function to follow, or a builtin that
 * only affects types. */
#include <string.h>

#include "base/base.h"
#include "read/torch/script_machine_in.h"

/* Python builtins that torch implements as operations. */
static const struct {
    const char *name, *space, *op;
} builtins[] = {
    {"int", "aten", "Int"},
    {"float", "aten", "Float"},
    {"bool", "aten", "Bool"},
    {"complex", "aten", "Complex"},
    {"str", "aten", "str"},
    {"ord", "aten", "ord"},
    {"sorted", "aten", "sorted"},
    {"print", "prim", "Print"},
    {"unwrap_optional", "aten", "_unwrap_optional"},
};

/* annotate(int, x): a tensor used as a number. */
static const struct {
    const char *type, *op;
} implicit[] = {
    {"int", "IntImplicit"},
    {"float", "FloatImplicit"},
    {"number", "ScalarImplicit"},
    {"complex", "ComplexImplicit"},
};

static int push(struct script_machine *m, struct str name, const struct datum *datum)
{
    if (arena_room(&m->arena, &m->args, m->n_args, &m->args_room, sizeof *m->args) <
        0) {
        m->stop = true;
        return -1;
    }
    m->args[m->n_args++] = (struct script_arg){.name = name, .datum = *datum};
    return 0;
}

/* Evaluates arguments onto the stack. */
static void push_args(struct script_machine *m, struct script_frame *frame,
                      const struct script_node *at)
{
    for (; at && !m->stop; at = at->next) {
        bool keyword = at->kind == SCRIPT_KEYWORD;
        struct datum datum = script_eval(m, frame, keyword ? at->first : at, 1);

        push(m, keyword ? at->text : STR(""), &datum);
    }
}

/* ---- modules and functions ---- */

/* Records the arguments and results of a call. */
static void end_call(struct script_machine *m, uint32_t call,
                     const struct script_function *function, uint32_t from,
                     const struct datum *result)
{
    uint32_t first = m->n_ios, n_in;

    for (uint32_t i = 1; i < function->n_params && from + i < m->n_args; i++) {
        uint32_t arg =
            build_string(m->build, function->names[function->params[i].slot]);

        script_collect(m, &m->args[from + i].datum, arg == INTERN_NONE ? 0 : arg,
                       PROGRAM_NONE);
    }
    n_in = m->n_ios - first;
    script_collect(m, result, 0, PROGRAM_NONE);
    if (call != PROGRAM_NONE && !m->stop) {
        if (build_program_call_ios(m->build, call, m->ios + first, n_in,
                                   m->n_ios - first - n_in) < 0)
            m->stop = true;
        m->program->calls[call].end = m->program->n_ops;
    }
    m->n_ios = first;
}

/* A method of another module: recorded as a call. */
struct datum script_enter(struct script_machine *m, uint32_t instance,
                          struct script_method *method, struct str name, uint32_t from)
{
    uint32_t place = m->place, before = m->call;
    uint32_t id = build_string(m->build, name);
    struct program_call call = {.place = instance,
                                .parent = m->call,
                                .region = m->region,
                                .method = id == INTERN_NONE ? 0 : id,
                                .file = m->file,
                                .line = m->line,
                                .ops = m->program->n_ops,
                                .end = m->program->n_ops};
    struct datum result;
    uint32_t made = build_program_call(m->build, &call);

    if (made == PROGRAM_NONE) {
        m->stop = true;
        return script_nothing;
    }
    m->call = made;
    m->place = instance;
    result = script_invoke(m, script_class_of(m, instance), method, from);
    end_call(m, made, method->function, from, &result);
    if (made < m->program->n_calls)
        m->program->calls[made].end = m->program->n_ops;
    m->call = before;
    m->place = place;
    return result;
}

/* A method without code is recorded as an unknown operation. */
static struct datum call_unknown(struct script_machine *m, struct str name,
                                 uint32_t from, uint32_t wanted)
{
    struct datum text = script_plain(value_str(build_values(m->build), name));

    push(m, STR("method"), &text);
    return script_op(m, STR("prim"), STR("CallMethod"), from, wanted);
}

/* The arguments are on the stack, the first is the owner. */
static struct datum call_method(struct script_machine *m, struct str name,
                                uint32_t from, uint32_t wanted)
{
    struct datum owner = m->args[from].datum;
    const struct script_class *class;
    struct script_method *method;

    if (owner.kind != DATUM_INSTANCE && str_is(name, "tolist"))
        return script_op(m, STR("prim"), STR("tolist"), from, wanted);
    class = owner.kind == DATUM_INSTANCE ? script_class_of(m, owner.id) : NULL;
    method = class ? script_method_find(m, class, name) : NULL;
    if (!method)
        return call_unknown(m, name, from, wanted);
    if (script_is_module(m, owner.id) && owner.id != m->place)
        return script_enter(m, owner.id, method, name, from);
    return script_invoke(m, class, method, from);
}

/* A function is followed; a named tuple is a tuple. */
static struct datum call_code(struct script_machine *m, uint32_t index, uint32_t from,
                              uint32_t wanted)
{
    const struct script_class *class = &m->code->classes[index];
    struct script_method *method;
    struct datum *items;
    uint32_t n = m->n_args - from;

    if (str_is(class->base, "def")) {
        method = script_method_find(m, class, STR(""));
        if (method)
            return script_invoke(m, class, method, from);
        return call_unknown(m, class->name, from, wanted);
    }
    items = script_items_new(m, n);
    for (uint32_t i = 0; items && i < n; i++)
        items[i] = m->args[from + i].datum;
    return script_container(m, DATUM_TUPLE, items, n);
}

/* ---- builtins ---- */

/* `__torch__.Point.__new__(__torch__.Point)` */
static struct datum create(struct script_machine *m, struct str class_name)
{
    uint32_t index;

    if (!name_map_find(&m->code->names, class_name, &index))
        return script_opaque(m);
    if (arena_room(&m->arena, &m->created, m->n_created, &m->created_room,
                   sizeof *m->created) < 0) {
        m->stop = true;
        return script_nothing;
    }
    m->created[m->n_created] = index;
    return (struct datum){.kind = DATUM_INSTANCE, .id = m->n_nodes + m->n_created++};
}

/* The text of a plain value. */
static struct str plain_text(struct script_machine *m, const struct datum *datum)
{
    if (datum->kind != DATUM_PLAIN)
        return STR("");
    return value_text(build_values(m->build), datum->id);
}

static struct datum annotate(struct script_machine *m, struct script_frame *frame,
                             const struct script_node *type, uint32_t from)
{
    struct datum datum = script_eval(m, frame, type->next, 1);

    for (size_t i = 0; i < COUNT_OF(implicit); i++)
        if (datum.kind == DATUM_VALUE && type->kind == SCRIPT_GLOBAL &&
            str_is(type->text, implicit[i].type)) {
            if (push(m, STR(""), &datum) < 0)
                return script_nothing;
            return script_op(m, STR("aten"), str_of(implicit[i].op), from, 1);
        }
    return datum;
}

/* fork(f), where f is a nested function: follow it here. */
static struct datum fork_inner(struct script_machine *m, struct script_frame *frame,
                               const struct script_node *node)
{
    struct datum function = script_eval(m, frame, node, 1), before = frame->result;
    struct datum result;

    if (function.kind != DATUM_INNER)
        return script_opaque(m);
    frame->result = script_nothing;
    script_follow(m, frame, function.inner);
    result = frame->result;
    frame->result = before;
    return result;
}

/* Builtins for types and attributes. False: not one of them. */
static bool call_special(struct script_machine *m, struct script_frame *frame,
                         const struct script_node *node, struct datum *ret_result)
{
    const struct script_node *arg = node->first->next;
    struct str name = node->first->text;
    uint32_t from = m->n_args;
    struct datum a, b;

    if (str_is(name, "uninitialized")) {
        *ret_result = script_nothing;
    } else if (arg && arg->next && str_is(name, "annotate")) {
        *ret_result = annotate(m, frame, arg, from);
    } else if (arg && arg->next && str_is(name, "unchecked_cast")) {
        *ret_result = script_eval(m, frame, arg->next, 1);
    } else if (arg && str_is(name, "unchecked_unwrap_optional")) {
        *ret_result = script_eval(m, frame, arg, 1);
    } else if (arg && (str_is(name, "fork") || str_is(name, "awaitable"))) {
        *ret_result = fork_inner(m, frame, arg);
    } else if (arg && arg->next && str_is(name, "getattr")) {
        a = script_eval(m, frame, arg, 1);
        b = script_eval(m, frame, arg->next, 1);
        *ret_result = a.kind == DATUM_INSTANCE ? script_attr(m, a.id, plain_text(m, &b))
                                               : script_opaque(m);
    } else if (arg && node->n == 4 && str_is(name, "setattr")) {
        a = script_eval(m, frame, arg, 1);
        b = script_eval(m, frame, arg->next, 1);
        *ret_result = script_eval(m, frame, arg->next->next, 1);
        if (a.kind == DATUM_INSTANCE && b.kind == DATUM_PLAIN)
            script_attr_set(m, a.id, plain_text(m, &b), ret_result);
    } else if (arg && str_is(name, "isinstance")) {
        a = script_eval(m, frame, arg, 1); /* the second argument is a type */
        push(m, STR(""), &a);
        *ret_result = script_op(m, STR("prim"), STR("isinstance"), from, 1);
    } else {
        return false;
    }
    m->n_args = from;
    return true;
}

/* ---- callees ---- */

/* `torch.append(x, y)` changes the list in the variable x. */
static void list_changed(struct script_machine *m, struct script_frame *frame,
                         const struct script_node *node, struct str name,
                         const struct datum *result)
{
    const struct script_node *arg = node->first->next;
    struct datum now;

    if (!arg || arg->kind != SCRIPT_LOCAL || !script_changes(name))
        return;
    now = script_item(result, 0, result->kind == DATUM_TUPLE ? result->n : 1);
    if (now.kind == DATUM_VALUE)
        script_set(m, CELL_SLOT, frame->base + arg->slot, &now);
}

/* A name with dots, or a builtin; the arguments are on the stack. */
static struct datum call_global(struct script_machine *m, struct script_frame *frame,
                                const struct script_node *node, uint32_t from,
                                uint32_t wanted)
{
    struct str name = node->first->text, space;
    struct datum datum;
    uint32_t index;

    if (str_is(name, "torch.device") && m->n_args == from + 1 &&
        m->args[from].datum.kind == DATUM_PLAIN)
        return m->args[from].datum;
    if (str_starts(name, STR("torch."))) {
        name = str_from(name, 6);
        datum = script_op(m, STR("aten"), name, from, wanted);
        list_changed(m, frame, node, name, &datum);
        return datum;
    }
    if (str_starts(name, STR("ops.")) && str_find_char(str_from(name, 4), '.') > 0) {
        name = str_from(name, 4);
        str_split(&name, '.', &space);
        return script_op(m, space, name, from, wanted);
    }
    if (str_ends(name, STR(".__new__")))
        return create(m, str_head(name, name.len - 8));
    if (name_map_find(&m->code->names, name, &index))
        return call_code(m, index, from, wanted);
    for (size_t i = 0; i < COUNT_OF(builtins); i++)
        if (str_is(name, builtins[i].name))
            return script_op(m, str_of(builtins[i].space), str_of(builtins[i].op), from,
                             wanted);
    return script_unclear(m, name);
}

struct datum script_call(struct script_machine *m, struct script_frame *frame,
                         const struct script_node *node, uint32_t wanted)
{
    const struct script_node *callee = node->first;
    uint32_t from = m->n_args;
    struct datum result, what;

    m->line = node->line;
    if (callee->kind == SCRIPT_GLOBAL && call_special(m, frame, node, &result))
        return result;
    if (callee->kind == SCRIPT_ATTR) {
        what = script_eval(m, frame, callee->first, 1);
        push(m, STR(""), &what);
    }
    push_args(m, frame, callee->next);
    m->line = node->line;
    if (m->stop)
        result = script_nothing;
    else if (callee->kind == SCRIPT_GLOBAL)
        result = call_global(m, frame, node, from, wanted);
    else if (callee->kind == SCRIPT_ATTR)
        result = call_method(m, callee->text, from, wanted);
    else {
        what = script_eval(m, frame, callee, 1);
        result = what.kind == DATUM_CODE ? call_code(m, what.id, from, wanted)
                                         : call_unknown(m, STR("?"), from, wanted);
    }
    m->n_args = from;
    return result;
}
