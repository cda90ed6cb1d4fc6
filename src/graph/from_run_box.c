/* What the boxes of calls, inputs and outputs say. */
#include "graph/from_run_in.h"

#include "rows/args.h"
#include "rows/op_words.h"
#include "text/number.h"

/* ---- values ---- */

static bool is_exact(const struct from_run *from)
{
    return from->graph.exact;
}

/* The type of a value of an edge, and its number among all types. */
struct looks {
    uint64_t key;
    const int64_t *dims;
    uint8_t rank, dtype;
    uint64_t bytes;
    uint32_t stats;
    bool detached;
};

static bool detaches(const struct run_ops *ops, const struct run_op_value *value)
{
    return value->producer < ops->n_ops &&
           ops->kinds[ops->ops[value->producer].kind].flags & OP_DETACHES;
}

static bool look_at(const struct from_run *from, uint32_t value,
                    struct looks *ret_looks)
{
    const struct run *run = from->run;

    if (is_exact(from) && value < run->ops->n_values) {
        const struct run_op_value *of = &run->ops->values[value];
        const struct run_op_type *type = &run->ops->types[of->type];

        *ret_looks = (struct looks){.key = of->type,
                                    .dims = run->dims + type->shape,
                                    .rank = type->rank,
                                    .dtype = type->dtype,
                                    .bytes = type->bytes,
                                    .stats = of->stats,
                                    .detached = detaches(run->ops, of)};
        return true;
    }
    if (!is_exact(from) && value < run->n_values) {
        const struct run_value *of = &run->values[value];

        *ret_looks = (struct looks){.key = (uint64_t)of->shape << 8 | of->rank,
                                    .dims = run->dims + of->shape,
                                    .rank = of->rank,
                                    .dtype = of->dtype,
                                    .bytes = of->bytes,
                                    .stats = of->stats};
        return true;
    }
    return false;
}

static struct str shape_text(struct from_run *from, const struct looks *looks)
{
    struct buf text = BUF_INIT;
    struct str shape;
    uint32_t found;

    if (map_find(&from->shapes, looks->key, &found))
        return from->texts[found];
    text_shape(&text, looks->dims, looks->rank);
    shape = arena_str(from->parts->arena, buf_span(&text));
    buf_release(&text);
    if (!shape.at ||
        arena_room(from->parts->scratch, &from->texts, from->n_texts, &from->texts_room,
                   sizeof *from->texts) < 0 ||
        map_put(&from->shapes, looks->key, from->n_texts) < 0)
        return STR("");
    from->texts[from->n_texts++] = shape;
    return shape;
}

struct str from_run_shape(struct from_run *from, uint32_t value)
{
    struct looks looks;

    return look_at(from, value, &looks) ? shape_text(from, &looks) : STR("");
}

struct str from_run_dtype(const struct from_run *from, uint32_t value)
{
    struct looks looks;

    if (!look_at(from, value, &looks))
        return STR("");
    return str_of(dtype_name((enum dtype)looks.dtype));
}

uint32_t from_run_value(struct from_run *from, uint32_t value)
{
    struct part_value of = {.recorded = value};
    struct looks looks;
    uint32_t found;

    if (map_find(&from->values, value, &found))
        return found;
    if (look_at(from, value, &looks)) {
        of.shape = shape_text(from, &looks);
        of.dtype = str_of(dtype_name((enum dtype)looks.dtype));
        of.bytes = looks.bytes;
        of.detached = looks.detached;
        if (looks.stats < from->run->n_stats) {
            const struct stats *stats = &from->run->stats[looks.stats];

            of.not_finite = stats->nan + stats->pos_inf + stats->neg_inf > 0;
        }
    }
    found = parts_value(from->parts, of);
    if (found == PART_NONE || map_put(&from->values, value, found) < 0)
        return PART_NONE;
    return found;
}

/* ---- inputs and outputs ---- */

/* The name under which a module took a tensor from outside; empty: none did. */
static struct str outside_name(const struct from_run *from, uint32_t value)
{
    const struct run *run = from->run;

    for (uint32_t c = from->call; c < run->n_calls; c++) {
        const struct run_call *call = &run->calls[c];

        for (uint32_t i = call->ios; from->inside[c] && i < call->ios + call->n_ios;
             i++)
            if (run->ios[i].kind == RUN_IN && run->ios[i].value < run->n_values &&
                run->values[run->ios[i].value].op_value == value)
                return run_string(run, run->ios[i].path);
    }
    return STR("");
}

static struct str io_name(struct from_run *from, const struct op_graph_node *node)
{
    struct str name;

    if (node->io == RUN_NONE)
        name = outside_name(from, node->value);
    else
        name = run_string(from->run, from->run->ios[node->io].path);
    if (node->kind != OP_GRAPH_OUTPUT)
        return name.len > 0 ? name : STR("tensor");
    if (str_starts(name, STR(".")))
        name = str_from(name, 1);
    return name.len > 0 ? name : STR("output");
}

int from_run_io_box(struct from_run *from, uint32_t part, uint32_t node,
                    uint32_t number)
{
    const struct op_graph_node *of = &from->graph.nodes[node];
    struct diagram_box *box = &from->parts->at[part].box;
    struct str name = io_name(from, of);

    box->name = parts_text(from->parts, name);
    box->family = FAMILY_NONE;
    if (of->kind == OP_GRAPH_OUTPUT)
        box->id = parts_printf(from->parts, "out:%u", number);
    else if (of->kind == OP_GRAPH_INPUT)
        box->id = parts_printf(from->parts, "in:%.*s", STR_ARG(box->name));
    else
        box->id = parts_printf(from->parts, "in:%u", number);
    if (parts_word(from->parts, part, from_run_shape(from, of->value)) < 0)
        return -1;
    return parts_word(from->parts, part, from_run_dtype(from, of->value));
}

int from_run_ios_box(struct from_run *from, uint32_t part, struct str name, uint32_t n,
                     uint32_t number)
{
    struct diagram_box *box = &from->parts->at[part].box;

    box->name = parts_text(from->parts, name);
    if (box->kind == DIAGRAM_OUTPUT)
        box->id = parts_printf(from->parts, "out:%u", number);
    else
        box->id = parts_printf(from->parts, "in:%.*s", STR_ARG(box->name));
    return parts_word(from->parts, part, parts_printf(from->parts, "%u tensors", n));
}

/* ---- calls ---- */

/* Its name for the module that calls it: "conv1", "h.0". */
static struct str name_below(struct from_run *from, const struct run_call *call)
{
    const struct model *model = from->model;
    uint32_t above = 0, place = call->place;
    struct buf path = BUF_INIT, around = BUF_INIT;
    struct str name, prefix;

    if (call->parent < from->run->n_calls && call != &from->run->calls[from->call])
        above = from->run->calls[call->parent].place;
    if (model->parent[place] == above) {
        name = parts_text(from->parts, place_name(model, place));
        return name.len > 0 ? name : STR("model");
    }
    place_path(model, place, &path);
    place_path(model, above, &around);
    name = buf_span(&path);
    prefix = buf_span(&around);
    if (prefix.len > 0 && name.len > prefix.len && str_starts(name, prefix) &&
        name.at[prefix.len] == '.')
        name = str_from(name, prefix.len + 1);
    name = parts_text(from->parts, name);
    buf_release(&path);
    buf_release(&around);
    return name.len > 0 ? name : STR("model");
}

static struct str call_id(struct from_run *from, const struct run_call *call,
                          uint32_t number)
{
    struct buf path = BUF_INIT;
    struct str id;

    place_path(from->model, call->place, &path);
    if (path.len == 0)
        buf_text(&path, "model");
    if (number > 1)
        buf_printf(&path, "#%u", number);
    id = parts_text(from->parts, buf_span(&path));
    buf_release(&path);
    return id;
}

/* Class and arguments as a number. */
static uint64_t look_of(const struct from_run *from, uint32_t place)
{
    const struct object *object = place_object(from->model, place);

    if (!object)
        return 0;
    return hash_mix(object->class_id, args_hash(from->model, object)) | 1;
}

/* The class, then its arguments. */
static int module_words(struct from_run *from, uint32_t part, uint32_t place)
{
    const struct object *object = place_object(from->model, place);
    struct str name = class_short(place_class(from->model, place));
    struct args_list list = {0};
    uint32_t begin = 0;
    int status = 0;

    if (name.len > 0 &&
        parts_word(from->parts, part, parts_text(from->parts, name)) < 0)
        return -1;
    if (!object)
        return 0;
    args_words(&list, from->model, object);
    for (uint32_t i = 0; i < list.n && status == 0; i++) {
        struct str word = str_from(str_head(buf_span(&list.text), list.ends[i]), begin);

        status = parts_word(from->parts, part, parts_text(from->parts, word));
        begin = list.ends[i];
    }
    buf_release(&list.text);
    return status;
}

int from_run_call_box(struct from_run *from, uint32_t part, uint32_t number)
{
    const struct run_call *call = &from->run->calls[number];
    struct diagram_box *box = &from->parts->at[part].box;
    unsigned region = RUN_COMPILED | RUN_FUSED | RUN_SCRIPTED;
    const char *word = call->flags & RUN_COMPILED   ? "compiled region"
                       : call->flags & RUN_FUSED    ? "fused"
                       : call->flags & RUN_SCRIPTED ? "scripted"
                                                    : NULL;

    from->parts->at[part].same = look_of(from, call->place);
    box->call = number;
    box->place = call->place;
    box->family = (uint8_t)family_of_place(from->model, call->place);
    box->number = from->number[number] > 0 ? from->number[number] : 1;
    if (call->object < from->model->n_objects && from->n_numbers[call->object] > 0)
        box->n_calls = from->n_numbers[call->object];
    box->name = name_below(from, call);
    box->id = call_id(from, call, box->number);
    box->line = parts_text(from->parts, run_string(from->run, call->line));
    if (call->flags & region)
        box->flags |= DIAGRAM_REGION;
    if (call->flags & RUN_RAISED)
        box->flags |= DIAGRAM_RAISED;
    if (module_words(from, part, call->place) < 0)
        return -1;
    return word ? parts_word(from->parts, part, str_of(word)) : 0;
}
