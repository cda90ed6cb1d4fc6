/* The title of a diagram: its path and facts, for all front ends. */
#include "graph/from_in.h"

#include "text/number.h"

static int set_path(struct from *from, uint32_t place, struct str name)
{
    const struct model *model = from->model;
    uint32_t n = 0;
    struct str *path;

    for (uint32_t p = place; p != NO_PLACE && p != 0; p = model->parent[p])
        n++;
    path = arena_array(from->parts->arena, (size_t)n + 1, sizeof *path);
    if (!path)
        return -1;
    if (name.len == 0)
        name = class_short(place_class(model, 0));
    path[0] = parts_text(from->parts, name.len > 0 ? name : STR("model"));
    from->about->path = path;
    from->about->n_path = n + 1;
    for (uint32_t p = place; p != NO_PLACE && p != 0; p = model->parent[p])
        path[n--] = parts_text(from->parts, place_name(model, p));
    return 0;
}

/* Pictures have no thousands separators. */
static void calls_fact(struct buf *to, const struct from *from)
{
    uint32_t n_calls = 0, n_ops = 0;

    for (uint32_t i = 1; i < from->parts->n; i++) {
        const struct graph_part *part = &from->parts->at[i];

        n_calls += part->box.kind == DIAGRAM_MODULE && part->n_inside == 0;
        n_ops += part->box.kind == DIAGRAM_OP || part->box.kind == DIAGRAM_VIEW;
    }
    buf_text(to, " · ");
    if (n_calls > 0)
        buf_printf(to, "%u module call%s", n_calls, n_calls == 1 ? "" : "s");
    if (n_calls > 0 && n_ops > 0)
        buf_text(to, " and ");
    if (n_ops > 0 || n_calls == 0)
        buf_printf(to, "%u operation%s", n_ops, n_ops == 1 ? "" : "s");
}

static void set_facts(struct from *from, uint32_t place, struct str middle)
{
    struct str class_name = class_short(place_class(from->model, place));
    struct buf text = BUF_INIT;

    if (class_name.len > 0 && !str_eq(class_name, from->about->path[0])) {
        buf_str(&text, class_name);
        buf_text(&text, " · ");
    }
    text_count(&text, from->about->total[DIAGRAM_PARAMS]);
    buf_text(&text,
             from->about->total[DIAGRAM_PARAMS] == 1 ? " parameter" : " parameters");
    buf_str(&text, middle);
    calls_fact(&text, from);
    from->about->facts = parts_text(from->parts, buf_span(&text));
    buf_release(&text);
}

void from_sentence(struct buf *to)
{
    if (to->len > 0)
        buf_text(to, " ");
}

void from_note_left_out(struct buf *to, const struct from *from)
{
    if (from->n_left_out == 0)
        return;
    from_sentence(to);
    buf_text(to, "Not drawn: ");
    text_plural(to, from->n_left_out, "result", "results");
    buf_text(to, " in ");
    buf_str(to, from->left_out);
    buf_char(to, '.');
}

int from_about(struct from *from, uint32_t place, struct str name, struct str middle)
{
    from->about->place = place;
    from->parts->at[PART_ROOT].box.place = place;
    if (set_path(from, place, name) < 0)
        return -1;
    tree_link(from->parts);
    set_facts(from, place, middle);
    return 0;
}
