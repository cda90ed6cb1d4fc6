#include "read/pt2/pt2_program_in.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"

#define RESULTS_MOST 65535
#define NAME_MOST    300

/* ---- values ---- */

int pt2_add(struct pt2_making *m, struct pt2_values *to, uint32_t value)
{
    if (m->stop ||
        arena_room(m->arena, &to->at, to->n, &to->room, sizeof *to->at) < 0) {
        m->stop = true;
        return -1;
    }
    to->at[to->n++] = value;
    return 0;
}

int pt2_scope_init(struct pt2_making *m, struct pt2_scope *scope, uint32_t graph)
{
    uint32_t metas = json_doc_get(m->doc, graph, "tensor_values"), index;

    *scope = (struct pt2_scope){.graph = graph};
    name_map_init(&scope->names, m->arena);
    name_map_init(&scope->metas, m->arena);
    for (uint32_t k = json_doc_first(m->doc, metas); k && !m->stop;
         k = json_doc_next(m->doc, k)) {
        int added = name_map_add(&scope->metas, json_doc_text(m->doc, k), &index);

        if (added < 0 || (added > 0 && arena_room(m->arena, &scope->meta_nodes, index,
                                                  &scope->metas_room,
                                                  sizeof *scope->meta_nodes) < 0))
            m->stop = true;
        else
            scope->meta_nodes[index] = json_doc_value(m->doc, k);
    }
    return m->stop ? -1 : 0;
}

/* The dtype and shape of a value, from the metadata of its name. */
static void set_meta(struct pt2_making *m, const struct pt2_scope *scope,
                     struct str name, struct program_value *value)
{
    struct pt2_meta meta;
    uint32_t index, dims;

    if (name.len == 0 || !name_map_find(&scope->metas, name, &index) ||
        !pt2_meta(m->doc, scope->meta_nodes[index], &meta))
        return;
    value->dtype = (uint8_t)meta.dtype;
    dims = build_dims(m->build, meta.shape, meta.rank);
    if (dims == UINT32_MAX)
        return;
    value->rank = (uint8_t)meta.rank;
    value->shape = dims;
    m->program->shapes = true;
}

uint32_t pt2_value(struct pt2_making *m, const struct pt2_scope *scope,
                   enum program_value_kind kind, struct str name)
{
    struct program_value value = build_program_blank(kind);
    uint32_t id;

    if (m->stop || build_program_full(m->build)) {
        m->stop = true;
        return PROGRAM_NONE;
    }
    id = build_string(m->build, name);
    value.name = id == INTERN_NONE ? 0 : id;
    set_meta(m, scope, name, &value);
    id = build_program_value(m->build, &value);
    if (id == PROGRAM_NONE ||
        arena_room(m->arena, &m->view_of, id, &m->view_room, sizeof *m->view_of) < 0 ||
        arena_room(m->arena, &m->call_of, id, &m->call_room, sizeof *m->call_of) < 0) {
        m->stop = true;
        return PROGRAM_NONE;
    }
    m->view_of[id] = PROGRAM_NONE;
    m->call_of[id] = m->n_open > 0 ? m->open[m->n_open - 1].call : 0;
    m->n_values = id + 1;
    return id;
}

void pt2_bind(struct pt2_making *m, struct pt2_scope *scope, struct str name,
              uint32_t value)
{
    uint32_t index;
    int added;

    if (m->stop || value == PROGRAM_NONE)
        return;
    added = name_map_add(&scope->names, name, &index);
    if (added < 0 ||
        (added > 0 && arena_room(m->arena, &scope->values, index, &scope->values_room,
                                 sizeof *scope->values) < 0))
        m->stop = true;
    else
        scope->values[index] = value;
}

uint32_t pt2_named(struct pt2_making *m, struct pt2_scope *scope, struct str name)
{
    uint32_t index, value;

    if (name_map_find(&scope->names, name, &index))
        return scope->values[index];
    value = pt2_value(m, scope, PROGRAM_OPAQUE, name);
    pt2_bind(m, scope, name, value);
    return value;
}

void pt2_flatten(struct pt2_making *m, struct pt2_scope *scope, uint32_t argument,
                 struct pt2_values *to)
{
    struct str kind, name;
    uint32_t value = pt2_union(m->doc, argument, &kind);

    if (str_is(kind, "as_optional_tensor"))
        value = pt2_union(m->doc, value, &kind);
    name = pt2_value_name(m->doc, kind, value);
    if (json_doc_kind(m->doc, value) != JSON_ARRAY) {
        pt2_add(m, to, name.len > 0 ? pt2_named(m, scope, name) : PROGRAM_NONE);
        return;
    }
    for (uint32_t i = json_doc_first(m->doc, value); i && !m->stop;
         i = json_doc_next(m->doc, i)) {
        struct str inner = STR("");
        uint32_t item;

        name = json_doc_text(m->doc, json_doc_get(m->doc, i, "name"));
        if (name.len == 0) {
            item = pt2_union(m->doc, i, &inner);
            name = pt2_value_name(m->doc, inner, item);
        }
        pt2_add(m, to, name.len > 0 ? pt2_named(m, scope, name) : PROGRAM_NONE);
    }
}

/* ---- names of results ---- */

static void add_name(struct pt2_making *m, struct pt2_names *to, struct str name)
{
    if (m->stop ||
        arena_room(m->arena, &to->at, to->n, &to->room, sizeof *to->at) < 0) {
        m->stop = true;
        return;
    }
    to->at[to->n++] = name;
}

void pt2_output_names(struct pt2_making *m, uint32_t outputs, struct pt2_names *to)
{
    const struct json_doc *doc = m->doc;

    for (uint32_t i = json_doc_first(doc, outputs); i && !m->stop;
         i = json_doc_next(doc, i)) {
        struct str kind, inner;
        uint32_t value = pt2_union(doc, i, &kind);

        if (str_is(kind, "as_optional_tensor"))
            value = pt2_union(doc, value, &kind);
        if (json_doc_kind(doc, value) != JSON_ARRAY) {
            add_name(m, to, pt2_value_name(doc, kind, value));
            continue;
        }
        for (uint32_t k = json_doc_first(doc, value); k && !m->stop;
             k = json_doc_next(doc, k)) {
            struct str name = json_doc_text(doc, json_doc_get(doc, k, "name"));
            uint32_t item;

            if (name.len == 0) {
                item = pt2_union(doc, k, &inner);
                name = pt2_value_name(doc, inner, item);
            }
            add_name(m, to, name);
        }
    }
}

/* ---- lines ---- */

/* Code of torch, or without a file? A line of the user's code is more useful. */
static bool is_library(struct str file)
{
    return str_starts(file, STR("<")) || str_starts(file, STR("torch/")) ||
           str_find(file, STR("/torch/")) >= 0;
}

/* The file and line of 'File "X", line N, in f'. */
static bool frame_line(struct str text, struct str *ret_file, uint64_t *ret_line)
{
    struct str head = STR("File \""), middle = STR("\", line ");
    size_t digits = 0;
    ptrdiff_t end;

    text = str_trim(text);
    if (!str_starts(text, head))
        return false;
    text = str_from(text, head.len);
    end = str_find(text, middle);
    if (end < 0)
        return false;
    *ret_file = str_head(text, (size_t)end);
    text = str_from(text, (size_t)end + middle.len);
    while (digits < text.len && text.at[digits] >= '0' && text.at[digits] <= '9')
        digits++;
    return str_to_u64(str_head(text, digits), ret_line) && *ret_line <= UINT32_MAX;
}

void pt2_line(struct pt2_making *m, uint32_t node, uint32_t *ret_file,
              uint32_t *ret_line)
{
    uint32_t metadata = json_doc_get(m->doc, node, "metadata"), id;
    struct str rest =
        json_doc_text(m->doc, json_doc_get(m->doc, metadata, "stack_trace"));
    struct str text, file, best = {0};
    uint64_t line, best_line = 0;
    bool own = false;

    while (rest.len > 0 && str_split(&rest, '\n', &text)) {
        if (!frame_line(text, &file, &line) || (own && is_library(file)))
            continue;
        own = !is_library(file);
        best = file;
        best_line = line;
    }
    if (best.len == 0 || build_program_full(m->build))
        return;
    id = build_string(m->build, best);
    if (id == INTERN_NONE)
        return;
    *ret_file = id;
    *ret_line = (uint32_t)best_line;
}

/* ---- operations ---- */

/* "torch.ops.aten.conv2d.default" becomes aten::conv2d; other targets stay
 * unchanged. */
static void set_name(struct pt2_making *m, struct str target, struct program_op *op,
                     struct str *ret_short)
{
    struct str rest = target, space, name, head = STR("torch.ops.");
    char text[NAME_MOST];

    *ret_short = STR("");
    if (str_starts(target, head)) {
        rest = str_from(target, head.len);
        if (str_split(&rest, '.', &space) && str_split(&rest, '.', &name)) {
            int n =
                snprintf(text, sizeof text, "%.*s::%.*s", STR_ARG(str_head(space, 100)),
                         STR_ARG(str_head(name, 150)));

            target = str_span(text, (size_t)n);
            *ret_short = str_is(space, "aten") ? name : STR("");
            if (!str_is(rest, "default"))
                op->overload = build_string(m->build, str_head(rest, NAME_MOST));
        }
    }
    op->name = build_string(m->build, str_head(target, NAME_MOST));
    if (op->name == INTERN_NONE || op->overload == INTERN_NONE)
        m->stop = true;
}

static uint32_t take_inputs(struct pt2_making *m, struct pt2_scope *scope,
                            uint32_t inputs)
{
    struct values *values = build_values(m->build);
    uint32_t *items = NULL, n = 0, room = 0, position = 0;
    char text[16];

    for (uint32_t i = json_doc_first(m->doc, inputs); i && !m->stop;
         i = json_doc_next(m->doc, i), position++) {
        struct str name = json_doc_text(m->doc, json_doc_get(m->doc, i, "name"));
        uint32_t plain;

        if (name.len == 0) {
            int length = snprintf(text, sizeof text, "%u", position);

            name = str_span(text, (size_t)length);
        }
        if (!pt2_argument(m, scope, name, json_doc_get(m->doc, i, "arg"), &plain))
            continue;
        for (int side = 0; side < 2 && !m->stop; side++) {
            if (arena_room(m->arena, &items, n, &room, sizeof *items) < 0)
                m->stop = true;
            else
                items[n++] = side ? plain : value_str(values, name);
        }
    }
    if (m->stop)
        return VALUE_ID_NONE;
    return n ? value_make(values, VALUE_DICT, STR(""), items, n) : VALUE_ID_NONE;
}

static void add_result(struct pt2_making *m, struct pt2_scope *scope, struct str name,
                       uint32_t output)
{
    uint32_t id = pt2_value(m, scope, PROGRAM_RESULT, name);

    if (m->stop ||
        arena_room(m->arena, &m->ios, m->n_ios, &m->ios_room, sizeof *m->ios) < 0) {
        m->stop = true;
        return;
    }
    m->program->values[id].producer = m->program->n_ops;
    m->program->values[id].output = (uint16_t)output;
    m->ios[m->n_ios++] = (struct program_io){.value = id, .item = PROGRAM_NONE};
}

static bool is_view(struct str op)
{
    static const char *const names[] = {
        "alias",
        "as_strided",
        "chunk",
        "detach",
        "diagonal",
        "expand",
        "expand_as",
        "flatten",
        "lift_fresh",
        "mH",
        "mT",
        "movedim",
        "narrow",
        "numpy_T",
        "permute",
        "ravel",
        "real",
        "reshape",
        "select",
        "slice",
        "split",
        "split_with_sizes",
        "squeeze",
        "swapaxes",
        "swapdims",
        "t",
        "transpose",
        "tensor_split",
        "unbind",
        "unflatten",
        "unfold",
        "unsqueeze",
        "view",
        "view_as",
        "view_as_complex",
        "view_as_real",
    };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_is(op, names[i]))
            return true;
    return false;
}

/* "add_" writes to its first argument, "__and__" does not. */
static bool writes(struct str op)
{
    return str_ends(op, STR("_")) && !str_ends(op, STR("__"));
}

/* Binds the names of a value, and of the value that it is a view of, to the new
 * version. */
static void written(struct pt2_making *m, struct pt2_scope *scope, uint32_t value,
                    uint32_t made)
{
    for (uint32_t at = value; at != PROGRAM_NONE; at = m->view_of[at]) {
        struct str name = model_string(m->build->model, m->program->values[at].name);
        uint32_t index;

        if (name_map_find(&scope->names, name, &index))
            scope->values[index] = made;
    }
    m->view_of[made] = m->view_of[value];
}

/* The first result is the new version of the first argument, or a view of it. */
static void link_first(struct pt2_making *m, struct pt2_scope *scope, struct str op,
                       uint32_t first, uint32_t n_in)
{
    uint32_t value, made;

    if (m->stop || n_in == 0 || m->n_ios <= first + n_in)
        return;
    value = m->ios[first].value;
    made = m->ios[first + n_in].value;
    if (writes(op))
        written(m, scope, value, made);
    else if (is_view(op))
        for (uint32_t i = first + n_in; i < m->n_ios; i++)
            m->view_of[m->ios[i].value] = value;
}

void pt2_op(struct pt2_making *m, struct pt2_scope *scope, uint32_t node)
{
    struct program_op op = {.region = m->region};
    struct pt2_names names = {0};
    struct str name;
    uint32_t n_in;

    op.call = m->open[m->n_open - 1].call;
    op.place = m->program->calls[op.call].place;
    m->n_ios = 0;
    set_name(m, json_doc_text(m->doc, json_doc_get(m->doc, node, "target")), &op,
             &name);
    pt2_line(m, node, &op.file, &op.line);
    op.attributes = take_inputs(m, scope, json_doc_get(m->doc, node, "inputs"));
    n_in = m->n_ios;
    pt2_output_names(m, json_doc_get(m->doc, node, "outputs"), &names);
    for (uint32_t i = 0; i < names.n && i < RESULTS_MOST && !m->stop; i++)
        if (names.at[i].len > 0)
            add_result(m, scope, names.at[i], i);
    if (m->stop || n_in > UINT16_MAX || m->n_ios - n_in > UINT16_MAX ||
        op.attributes == VALUE_ID_FAILED) {
        m->stop = true;
        return;
    }
    op.n_in = (uint16_t)n_in;
    op.n_out = (uint16_t)(m->n_ios - n_in);
    if (build_program_op(m->build, &op, m->ios) == PROGRAM_NONE) {
        m->stop = true;
        return;
    }
    for (uint32_t i = 0, k = n_in; i < names.n && k < m->n_ios; i++)
        if (names.at[i].len > 0)
            pt2_bind(m, scope, names.at[i], m->ios[k++].value);
    link_first(m, scope, name, 0, n_in);
}

void pt2_nodes(struct pt2_making *m, struct pt2_scope *scope)
{
    uint32_t nodes = json_doc_get(m->doc, scope->graph, "nodes");

    for (uint32_t i = json_doc_first(m->doc, nodes); i && !m->stop;
         i = json_doc_next(m->doc, i)) {
        if (!work_step(m->build->work, 1)) {
            m->stop = true;
            return;
        }
        pt2_enter(m, i);
        if (!m->stop && !pt2_control(m, scope, i))
            pt2_op(m, scope, i);
    }
}

/* ---- inputs and outputs of the program ---- */

/* An input that is a tensor or another object of the file; PROGRAM_NONE: an input of
 * the user. */
static uint32_t own_input(struct pt2_making *m, const struct pt2_scope *scope,
                          struct str name, uint32_t spec)
{
    static const char *const kinds[][2] = {{"parameter", "parameter_name"},
                                           {"buffer", "buffer_name"},
                                           {"tensor_constant", "tensor_constant_name"},
                                           {"custom_obj", "custom_obj_name"}};
    struct str kind;
    uint32_t about = pt2_union(m->doc, spec, &kind), value, node, tensor;

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct str full;

        if (!str_is(kind, kinds[i][0]))
            continue;
        full = json_doc_text(m->doc, json_doc_get(m->doc, about, kinds[i][1]));
        node = pt2_place_find(m->pt2, full);
        tensor = node == NO_PLACE ? NO_OBJECT : build_tensor_at(m->build, node);
        value = pt2_value(m, scope,
                          tensor == NO_OBJECT ? PROGRAM_STORED : PROGRAM_TENSOR, name);
        if (m->stop)
            return PROGRAM_NONE;
        m->program->values[value].place = node == NO_PLACE ? m->pt2->root : node;
        if (tensor != NO_OBJECT)
            m->program->values[value].tensor = tensor;
        return value;
    }
    return PROGRAM_NONE;
}

static void add_input(struct pt2_making *m, struct pt2_scope *scope, uint32_t argument,
                      uint32_t spec)
{
    struct str kind, name;
    uint32_t given = pt2_union(m->doc, argument, &kind), value, plain;
    struct program_io io = {.item = PROGRAM_NONE};

    name = pt2_value_name(m->doc, kind, given);
    value = own_input(m, scope, name, spec);
    if (value == PROGRAM_NONE && !m->stop) {
        struct str spec_kind;
        uint32_t about = pt2_union(m->doc, spec, &spec_kind);

        if (name.len == 0 && str_is(spec_kind, "constant_input"))
            name = json_doc_text(m->doc, json_doc_get(m->doc, about, "name"));
        value = pt2_value(m, scope, PROGRAM_INPUT, name);
        if (m->stop)
            return;
        m->program->values[value].number = !str_is(kind, "as_tensor");
        if (str_is(spec_kind, "constant_input") &&
            pt2_argument(m, scope, STR("value"), json_doc_get(m->doc, about, "value"),
                         &plain))
            m->program->values[value].plain = plain;
        io.value = value;
        io.arg = build_string(m->build, name);
        if (io.arg == INTERN_NONE ||
            arena_room(m->arena, &m->ios, m->n_ios, &m->ios_room, sizeof *m->ios) < 0) {
            m->stop = true;
            return;
        }
        m->ios[m->n_ios++] = io;
    }
    if (name.len > 0)
        pt2_bind(m, scope, name, value);
}

static void add_inputs(struct pt2_making *m, struct pt2_scope *scope)
{
    uint32_t inputs = json_doc_get(m->doc, scope->graph, "inputs");
    uint32_t specs = json_doc_get(m->doc, m->pt2->signature, "input_specs");
    uint32_t spec = json_doc_first(m->doc, specs);

    for (uint32_t i = json_doc_first(m->doc, inputs); i && !m->stop;
         i = json_doc_next(m->doc, i)) {
        add_input(m, scope, i, spec);
        spec = json_doc_next(m->doc, spec);
    }
}

/* The inputs of the user, then the outputs. */
static void set_ios(struct pt2_making *m, struct pt2_scope *scope,
                    struct program_io *given, uint32_t n_given)
{
    uint32_t outputs = json_doc_get(m->doc, scope->graph, "outputs");
    struct pt2_values results = {0};

    for (uint32_t i = json_doc_first(m->doc, outputs); i && !m->stop;
         i = json_doc_next(m->doc, i))
        pt2_flatten(m, scope, i, &results);
    m->n_ios = 0;
    for (uint32_t i = 0; i < n_given + results.n && !m->stop; i++) {
        struct program_io io = {.item = PROGRAM_NONE};

        if (i >= n_given)
            io.value = results.at[i - n_given];
        else
            io = given[i];
        if (io.value == PROGRAM_NONE)
            continue;
        if (arena_room(m->arena, &m->ios, m->n_ios, &m->ios_room, sizeof *m->ios) < 0) {
            m->stop = true;
            return;
        }
        m->ios[m->n_ios++] = io;
    }
    if (!m->stop &&
        build_program_call_ios(m->build, 0, m->ios, n_given, m->n_ios - n_given) < 0)
        m->stop = true;
}

/* Call 0 is the program. */
static int begin_program(struct pt2_making *m)
{
    struct program_call call = {
        .place = m->pt2->root, .parent = PROGRAM_NONE, .region = PROGRAM_NONE};

    call.method = build_string(m->build, STR("forward"));
    if (call.method == INTERN_NONE ||
        arena_room(m->arena, &m->open, 0, &m->open_room, sizeof *m->open) < 0 ||
        arena_room(m->arena, &m->call_end, 0, &m->call_end_room, sizeof *m->call_end) <
            0 ||
        build_program_call(m->build, &call) == PROGRAM_NONE)
        return -1;
    m->program->method = call.method;
    m->open[m->n_open++] = (struct pt2_open_call){.call = 0};
    m->base = 1;
    return 0;
}

static void make_program(struct pt2_making *m)
{
    struct program_io *given;
    struct pt2_scope scope;
    uint32_t n_given;

    if (begin_program(m) < 0 || pt2_scope_init(m, &scope, m->pt2->graph) < 0) {
        m->stop = true;
        return;
    }
    add_inputs(m, &scope);
    n_given = m->n_ios;
    given = arena_array(m->arena, (size_t)n_given + 1, sizeof *given);
    if (!given || m->stop) {
        m->stop = true;
        return;
    }
    if (n_given > 0)
        memcpy(given, m->ios, n_given * sizeof *given);
    pt2_nodes(m, &scope);
    pt2_leave(m, 1);
    m->program->calls[0].end = m->program->n_ops;
    m->call_end[0] = m->program->n_calls;
    set_ios(m, &scope, given, n_given);
    if (!m->stop)
        pt2_call_ios(m);
}

void pt2_program(struct pt2 *pt2)
{
    struct pt2_making m = {.pt2 = pt2,
                           .build = pt2->build,
                           .doc = &pt2->doc,
                           .arena = &pt2->build->scratch,
                           .region = PROGRAM_NONE};

    if (build_spent(pt2->build))
        return;
    m.program = build_program(pt2->build);
    if (!m.program)
        return;
    make_program(&m);
    if (m.stop) {
        pt2_leave(&m, 1);
        m.program->cut = true;
    }
    if (m.program->n_calls > 0 && m.stop)
        m.program->calls[0].end = m.program->n_ops;
}
