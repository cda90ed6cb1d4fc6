#include "read/torch/script_program_in.h"

#include <string.h>

#include "base/base.h"
#include "read/torch/script_machine_in.h"

#define MEMORY_LEAST (32 * MIB) /* for following the code; released afterwards */

/* ---- functions ---- */

/* The text and line of "  def NAME(" in the source of a class; "*" finds the first
 * method. A function is returned whole. */
static bool find_text(const struct script_class *class, struct str name,
                      struct str *ret_text, uint32_t *ret_line)
{
    struct str rest = class->source, line, method;
    uint32_t number = class->line;

    *ret_text = class->source;
    *ret_line = class->line;
    if (name.len == 0)
        return str_is(class->base, "def");
    for (; rest.len > 0 && str_split(&rest, '\n', &line); number++) {
        method = str_starts(line, STR("  def ")) ? str_from(line, 6) : STR("");
        if (method.len == 0 ||
            !(str_is(name, "*") || (str_starts(method, name) && method.len > name.len &&
                                    method.at[name.len] == '(')))
            continue;
        ret_text->at = line.at;
        ret_text->len -= (size_t)(line.at - class->source.at);
        *ret_line = number;
        return true;
    }
    return false;
}

static struct script_method *
add_method(struct script_machine *m, const struct script_class *class, struct str name)
{
    struct script_method *method = arena_alloc(&m->arena, sizeof *method);
    struct str text;
    uint32_t line;

    m->steps += class->source.len / 256;
    if (!method || arena_room(&m->arena, &m->methods, m->n_methods, &m->methods_room,
                              sizeof *m->methods) < 0)
        return NULL;
    if (find_text(class, name, &text, &line)) {
        method->function = script_parse(text, line, build_values(m->build), &m->arena);
        if (!method->function)
            return NULL;
        method->names = arena_array(&m->arena, (size_t)method->function->n_slots + 1,
                                    sizeof *method->names);
        if (!method->names)
            return NULL;
        if (method->function->unclear)
            method->function = NULL;
    }
    m->methods[m->n_methods++] = method;
    return method;
}

struct script_method *script_method_find(struct script_machine *m,
                                         const struct script_class *class,
                                         struct str name)
{
    uint64_t key = hash_mix(str_hash(name), (uint64_t)(class - m->code->classes));
    uint32_t index = m->n_methods;

    if (!map_find(&m->by_method, key, &index) &&
        (!add_method(m, class, name) || map_put(&m->by_method, key, index) < 0)) {
        m->stop = true;
        return NULL;
    }
    return m->methods[index]->function ? m->methods[index] : NULL;
}

/* ---- the program ---- */

static uint32_t add_input(struct script_machine *m, struct str name, bool number)
{
    uint32_t id = build_string(m->build, name);
    struct program_value value = build_program_blank(PROGRAM_INPUT);

    value.number = number;
    value.name = id == INTERN_NONE ? 0 : id;
    return script_value_new(m, &value);
}

/* The arguments of the method: the module, then a value for each of the others. */
static void push_inputs(struct script_machine *m,
                        const struct script_function *function)
{
    for (uint32_t i = 0; i < function->n_params; i++) {
        struct datum datum = {.kind = DATUM_INSTANCE, .id = m->root};

        if (i > 0)
            datum = script_value(add_input(m, function->names[function->params[i].slot],
                                           function->params[i].number));
        if (m->stop || arena_room(&m->arena, &m->args, m->n_args, &m->args_room,
                                  sizeof *m->args) < 0) {
            m->stop = true;
            return;
        }
        m->args[m->n_args++] = (struct script_arg){.datum = datum};
    }
}

/* The name of a function: "  def forward(self" gives "forward". */
static struct str method_name(const struct script_class *class, struct str name)
{
    struct str text;
    uint32_t line;
    ptrdiff_t open;

    if (!find_text(class, name, &text, &line))
        return name;
    text = str_from(text, 6);
    open = str_find_char(text, '(');
    return open > 0 ? str_head(text, (size_t)open) : name;
}

static void follow_root(struct script_machine *m, const struct script_class *class)
{
    struct str name = STR("forward");
    struct script_method *method = script_method_find(m, class, name);

    if (!method && !m->stop) {
        name = method_name(class, STR("*"));
        method = script_method_find(m, class, name);
    }
    if (!method)
        return;
    push_inputs(m, method->function);
    if (!m->stop)
        script_enter(m, m->root, method, name, 0);
}

void script_program(struct build *build, const struct script_code *code, uint32_t root,
                    const uint32_t *class_of)
{
    struct script_machine m = {.build = build,
                               .code = code,
                               .class_of = class_of,
                               .root = root,
                               .call = PROGRAM_NONE,
                               .region = PROGRAM_NONE,
                               .place = NO_PLACE};
    size_t limit = build->model->arena.limit;

    if (!class_of[root] || build_spent(build))
        return;
    m.program = build_program(build);
    if (!m.program)
        return;
    if (limit > 0 && limit < MEMORY_LEAST)
        limit = MEMORY_LEAST;
    arena_init(&m.arena, limit);
    map_init(&m.children, &m.arena);
    map_init(&m.by_method, &m.arena);
    map_init(&m.by_attr, &m.arena);
    map_init(&m.by_stored, &m.arena);
    if (script_tree_index(&m) < 0 ||
        arena_room(&m.arena, &m.ios, 0, &m.ios_room, sizeof *m.ios) < 0)
        m.stop = true;
    else
        follow_root(&m, &code->classes[class_of[root] - 1]);
    m.program->cut = m.program->cut || m.stop;
    if (m.program->n_calls > 0)
        m.program->method = m.program->calls[0].method;
    else if (!m.program->cut)
        build_program_drop(build); /* it has no method */
    arena_release(&m.arena);
}
