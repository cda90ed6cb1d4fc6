/* A picture for Graphviz: boxes, groups as clusters, lines. Graphviz does the
 * layout. */
#include "export/picture/picture_in.h"
#include "text/escape.h"

/* Text in a quoted string: Graphviz expands backslashes (\N) and entities (&amp;). */
static void put_text(struct buf *to, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];

        if (c == '"' || c == '\\')
            buf_char(to, '\\');
        if (c == '&')
            buf_text(to, "&amp;");
        else if (c == '\n')
            buf_text(to, "\\n");
        else
            buf_char(to, c);
    }
}

static void put_attribute(struct buf *to, const char *name, struct str value)
{
    buf_printf(to, " %s=\"", name);
    put_text(to, value);
    buf_char(to, '"');
}

/* An id with any characters. */
static void put_id(struct buf *to, struct str id)
{
    struct buf shown = BUF_INIT;

    escape_terminal(&shown, id);
    put_attribute(to, "id", buf_span(&shown));
    buf_release(&shown);
}

static const char *fill_of(const struct picture *picture, uint32_t i)
{
    const struct diagram_box *box = &picture->diagram->boxes[i];
    const struct picture_box *texts = &picture->boxes[i];

    if (texts->heat != PICTURE_NO_HEAT)
        return picture_heat_step(picture, texts->heat);
    if (box->family == FAMILY_NONE || texts->shape == PICTURE_ENDS)
        return picture_colour(picture, "sunken");
    return picture_family(picture, "t-", (enum family)box->family);
}

static const char *const change_signs[DIAGRAM_CHANGES] = {"", "+ ", "− ", "~ "};

static void put_change(struct buf *to, const struct picture *picture, uint8_t change)
{
    if (change != DIAGRAM_SAME)
        buf_printf(to, " color=\"%s\" penwidth=2", picture_change(picture, change));
}

static void put_node(struct buf *to, const struct picture *picture, uint32_t i)
{
    const struct diagram_box *box = &picture->diagram->boxes[i];
    const struct picture_box *texts = &picture->boxes[i];
    bool pill = texts->shape == PICTURE_VIEW || texts->shape == PICTURE_ENDS;
    bool sign = texts->shape == PICTURE_SIGN;

    buf_printf(to, "n%u [label=\"", i);
    put_text(to, str_of(change_signs[box->change & 3]));
    put_text(to, texts->name);
    if (texts->detail.len > 0) {
        buf_text(to, texts->shape == PICTURE_TALL ? "\\n" : " ");
        put_text(to, texts->detail);
    }
    if (texts->value.len > 0) {
        buf_text(to, "\\n");
        put_text(to, texts->value);
    }
    buf_char(to, '"');
    put_id(to, box->id);
    put_attribute(to, "tooltip", texts->title);
    if (sign)
        buf_text(to, " shape=circle width=0.3 fixedsize=true");
    if (box->n_same > 1)
        buf_text(to, " peripheries=2");
    if (texts->shape == PICTURE_VIEW || (pill && box->change == DIAGRAM_REMOVED))
        buf_text(to, " style=\"rounded,filled,dashed\"");
    else if (pill)
        buf_text(to, " style=\"rounded,filled\"");
    else if (box->change == DIAGRAM_REMOVED)
        buf_text(to, " style=\"filled,dashed\"");
    put_change(to, picture, box->change);
    buf_printf(to, " fillcolor=\"%s\"];\n", fill_of(picture, i));
}

static void put_group(struct buf *to, const struct picture *picture, uint32_t i)
{
    const struct picture_box *texts = &picture->boxes[i];

    buf_printf(to, "subgraph cluster_%u {\nlabel=\"", i);
    put_text(to, str_of(change_signs[picture->diagram->boxes[i].change & 3]));
    put_text(to, texts->frame_name);
    if (texts->frame_detail.len > 0) {
        buf_char(to, ' ');
        put_text(to, texts->frame_detail);
    }
    buf_char(to, '"');
    put_id(to, picture->diagram->boxes[i].id);
    put_attribute(to, "tooltip", texts->title);
    put_change(to, picture, picture->diagram->boxes[i].change);
    buf_printf(to, " bgcolor=\"%s\"\n", picture_ground(picture, i, 0));
}

static void put_boxes(struct buf *to, const struct picture *picture)
{
    const struct plan *plan = &picture->diagram->plan;
    uint32_t inside = 0;

    for (uint32_t i = 1; i <= plan->n_boxes; i++) {
        while (inside > 0 && i >= plan->boxes[inside].end) {
            buf_text(to, "}\n");
            inside = plan->boxes[inside].parent;
        }
        if (i == plan->n_boxes)
            break;
        if (picture_is_frame(picture, i)) {
            put_group(to, picture, i);
            inside = i;
        } else if (picture_is_node(picture, i)) {
            put_node(to, picture, i);
        }
    }
}

static void put_lines(struct buf *to, const struct picture *picture)
{
    for (uint32_t l = 0; l < picture->n_lines; l++) {
        const struct picture_line *line = &picture->lines[l];
        uint64_t bytes = picture->diagram->nets[line->net].bytes;
        uint8_t change = picture->diagram->ends[line->end].change;

        buf_printf(
            to, "n%u -> n%u [penwidth=%s", line->from, line->to,
            (const char *[]){"1", "1.5", "2.25", "3"}[picture_width_class(bytes)]);
        if (change != DIAGRAM_SAME)
            buf_printf(to, " color=\"%s\" style=%s", picture_change(picture, change),
                       change == DIAGRAM_REMOVED ? "dashed" : "bold");
        if (!line->branch && picture->labels[line->net].text.len > 0)
            put_attribute(to, "label", picture->labels[line->net].text);
        buf_text(to, "];\n");
    }
}

/* The title; for a diff with its counts. */
static struct str heading(struct picture *picture)
{
    struct buf text = BUF_INIT;
    struct str kept;

    buf_str(&text, picture->path);
    for (uint32_t i = 0; picture->diagram->old && i < picture->n_facts; i++) {
        buf_char(&text, '\n');
        buf_str(&text, picture->facts[i]);
    }
    kept = picture_keep(picture, &text);
    buf_release(&text);
    return kept;
}

int picture_dot(struct out *out, struct diagram *diagram,
                const struct picture_wanted *wanted, struct err *err)
{
    struct picture picture;
    struct buf text = BUF_INIT;
    const char *line;
    int status = 0;

    if (picture_init(&picture, diagram, wanted, err) < 0)
        return -1;
    line = picture_colour(&picture, "edge");
    buf_text(&text, "digraph {\n");
    put_attribute(&text, "label", heading(&picture));
    buf_printf(&text, " labelloc=t rankdir=%s fontname=\"Arial\" fontcolor=\"%s\"",
               wanted->sideways ? "LR" : "TB", picture_colour(&picture, "text"));
    buf_printf(&text, " color=\"%s\" bgcolor=\"%s\"\n",
               picture_colour(&picture, "line"),
               wanted->no_ground ? "transparent" : picture_colour(&picture, "surface"));
    buf_printf(
        &text,
        "node [shape=box style=filled fontname=\"Arial\" fontsize=11 color=\"%s\" "
        "fontcolor=\"%s\" height=0.3]\n",
        picture_colour(&picture, "nodeline"), picture_colour(&picture, "text"));
    buf_printf(&text,
               "edge [fontname=\"Arial\" fontsize=11 color=\"%s\" fontcolor=\"%s\" "
               "arrowsize=0.7]\n",
               line, picture_colour(&picture, "text3"));
    put_boxes(&text, &picture);
    put_lines(&text, &picture);
    buf_text(&text, "}\n");
    if (text.bad)
        status = err_set(err, ERR_LIMIT, "not enough memory for the picture");
    else
        out_str(out, buf_span(&text));
    buf_release(&text);
    picture_release(&picture);
    return status;
}
