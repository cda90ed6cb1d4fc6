/* The texts of the values and calls of a recording. */
#include "graph/from_in.h"

#include "text/number.h"

/* ---- values ---- */

static bool is_exact(const struct from *from)
{
    return from->graph.exact;
}

/* The type of an edge's value, and its index among all types. */
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

static bool look_at(const struct from *from, uint32_t value, struct looks *ret_looks)
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

static struct str shape_text(struct from *from, const struct looks *looks)
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

struct part_value from_run_look(struct from *from, uint32_t value)
{
    struct part_value of = {.recorded = value};
    struct looks looks;

    if (!look_at(from, value, &looks))
        return of;
    of.shape = shape_text(from, &looks);
    of.dtype = str_of(dtype_name((enum dtype)looks.dtype));
    of.bytes = looks.bytes;
    of.detached = looks.detached;
    if (looks.stats < from->run->n_stats) {
        const struct stats *stats = &from->run->stats[looks.stats];

        of.not_finite = stats->nan + stats->pos_inf + stats->neg_inf > 0;
    }
    return of;
}

/* The argument name under which a module received a tensor from outside; may be
 * empty. */
struct str from_run_outside(struct from *from, const struct op_graph_node *node)
{
    const struct run *run = from->run;

    for (uint32_t c = from->call; c < run->n_calls; c++) {
        const struct run_call *call = &run->calls[c];

        for (uint32_t i = call->ios; from->inside[c] && i < call->ios + call->n_ios;
             i++)
            if (run->ios[i].kind == RUN_IN && run->ios[i].value < run->n_values &&
                run->values[run->ios[i].value].op_value == node->value)
                return run_string(run, run->ios[i].path);
    }
    return STR("");
}

int from_run_group_box(struct from *from, uint32_t part, uint32_t number)
{
    const struct run_call *call = &from->run->calls[number];
    unsigned region = RUN_COMPILED | RUN_FUSED | RUN_SCRIPTED;
    const char *word = call->flags & RUN_COMPILED   ? "compiled region"
                       : call->flags & RUN_FUSED    ? "fused"
                       : call->flags & RUN_SCRIPTED ? "scripted"
                                                    : NULL;
    uint32_t above = number != from->call && call->parent < from->run->n_calls
                         ? from->run->calls[call->parent].place
                         : 0;
    struct diagram_box *box;

    if (from_call_box(from, part, number, call->place, above) < 0)
        return -1;
    box = &from->parts->at[part].box;
    box->line = parts_text(from->parts, run_string(from->run, call->line));
    if (call->flags & region)
        box->flags |= DIAGRAM_REGION;
    if (call->flags & RUN_RAISED)
        box->flags |= DIAGRAM_RAISED;
    return word ? parts_word(from->parts, part, str_of(word)) : 0;
}
