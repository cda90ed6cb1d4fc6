/* A picture for Mermaid, which GitHub draws in Markdown: a flowchart with subgraphs.
 * Its parser refuses more than 500 lines or 50,000 characters; then more groups are
 * folded, innermost first, and a comment says so. If a flat network still has too many
 * lines, the longest ones are dropped, and a box in the picture says so. */
#include <stdlib.h>

#include "export/picture/picture_in.h"

#define LINES 500
#define CHARS 50000

/* Text in a quoted label: Mermaid reads #35; as a character, and HTML and Markdown
 * otherwise. */
static void put_text(struct buf *to, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        bool plain = c >= 0x80 || c == ' ' || c == '_' || c == '.' || c == ',' ||
                     c == '-' || c == '/' || (c >= '0' && c <= '9') ||
                     (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');

        if (plain)
            buf_char(to, (char)c);
        else
            buf_printf(to, "#%u;", c);
    }
}

/* Shapes of Mermaid: brackets around the label. */
static const char *const shapes[][2] = {
    [PICTURE_TALL] = {"[", "]"},   [PICTURE_FLAT] = {"[", "]"},
    [PICTURE_VIEW] = {"([", "])"}, [PICTURE_ENDS] = {"([", "])"},
    [PICTURE_SIGN] = {"((", "))"},
};

static const char *const change_signs[DIAGRAM_CHANGES] = {"", "+ ", "− ", "~ "};

/* A second class: the outline of what changed. */
static void put_change(struct buf *to, char kind, uint32_t i, uint8_t change)
{
    if (change != DIAGRAM_SAME)
        buf_printf(to, "class %c%u %s\n", kind, i,
                   diagram_change_name((enum diagram_change)change));
}

static void put_node(struct buf *to, const struct picture *picture, uint32_t i)
{
    const struct diagram_box *box = &picture->diagram->boxes[i];
    const struct picture_box *texts = &picture->boxes[i];
    const char *const *shape = shapes[texts->shape];
    bool container = box->family == FAMILY_NONE;

    buf_printf(to, "n%u%s\"", i, shape[0]);
    put_text(to, str_of(change_signs[box->change & 3]));
    put_text(to, texts->name);
    if (texts->detail.len > 0) {
        buf_text(to, texts->shape == PICTURE_TALL ? "<br>" : " ");
        put_text(to, texts->detail);
    }
    buf_printf(to, "\"%s:::%s\n", shape[1],
               texts->shape == PICTURE_ENDS || container ? "plain"
                                                         : family_name(box->family));
    put_change(to, 'n', i, box->change);
}

static uint32_t put_boxes(struct buf *to, const struct picture *picture)
{
    const struct plan *plan = &picture->diagram->plan;
    uint32_t inside = 0, families = 0;

    for (uint32_t i = 1; i <= plan->n_boxes; i++) {
        while (inside > 0 && i >= plan->boxes[inside].end) {
            buf_text(to, "end\n");
            inside = plan->boxes[inside].parent;
        }
        if (i == plan->n_boxes)
            break;
        if (picture_is_frame(picture, i)) {
            buf_printf(to, "subgraph g%u[\"", i);
            put_text(to, str_of(change_signs[picture->diagram->boxes[i].change & 3]));
            put_text(to, picture->boxes[i].frame_name);
            buf_char(to, ' ');
            put_text(to, picture->boxes[i].frame_detail);
            buf_text(to, "\"]\n");
            put_change(to, 'g', i, picture->diagram->boxes[i].change);
            inside = i;
        } else if (picture_is_node(picture, i)) {
            put_node(to, picture, i);
            families |= 1u << picture->diagram->boxes[i].family;
        }
    }
    return families;
}

static void put_classes(struct buf *to, const struct picture *picture,
                        uint32_t families)
{
    for (uint32_t f = 1; f < FAMILY_COUNT; f++) {
        const char *name = family_name((enum family)f);

        if (!(families & 1u << f))
            continue;
        buf_printf(to, "classDef %s fill:%s,stroke:%s,color:%s\n", name,
                   picture_family(picture, "t-", (enum family)f),
                   picture_family(picture, "f-", (enum family)f),
                   picture_colour(picture, "text"));
    }
    buf_printf(to, "classDef plain fill:%s,stroke:%s,color:%s\n",
               picture_colour(picture, "sunken"), picture_colour(picture, "nodeline"),
               picture_colour(picture, "text"));
    /* Later classes win. */
    for (uint32_t c = DIAGRAM_ADDED; c < DIAGRAM_CHANGES; c++)
        if (picture->diagram->boxes[0].n_changes > 0)
            buf_printf(to, "classDef %s stroke:%s,stroke-width:2px%s\n",
                       diagram_change_name((enum diagram_change)c),
                       picture_change(picture, (uint8_t)c),
                       c == DIAGRAM_REMOVED ? ",stroke-dasharray:5 3" : "");
}

static uint32_t span(const struct picture_line *line)
{
    return line->to > line->from ? line->to - line->from : line->from - line->to;
}

static int by_span(const void *a, const void *b)
{
    uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;

    return (p > q) - (p < q);
}

/* The largest number of boxes that a drawn line may pass, so that at most LINES are
 * drawn. */
static uint32_t longest_span(struct picture *picture)
{
    uint32_t *spans = arena_array(&picture->arena, picture->n_lines + 1, sizeof *spans);
    uint32_t most = UINT32_MAX;

    if (!spans || picture->n_lines <= LINES)
        return most;
    for (uint32_t l = 0; l < picture->n_lines; l++)
        spans[l] = span(&picture->lines[l]);
    qsort(spans, picture->n_lines, sizeof *spans, by_span);
    most = spans[LINES - 1];
    return spans[LINES] > most ? most : most - 1;
}

/* Thick: added; dotted: removed. */
static const char *const arrows[DIAGRAM_CHANGES] = {"-->", "==>", "-.->", "-->"};

static void put_lines(struct buf *to, struct picture *picture)
{
    uint32_t most = longest_span(picture), missing = 0;

    for (uint32_t l = 0; l < picture->n_lines; l++) {
        const struct picture_line *line = &picture->lines[l];
        struct str label = picture->labels[line->net].text;

        if (span(line) > most) {
            missing++;
            continue;
        }
        buf_printf(to, "n%u %s", line->from,
                   arrows[picture->diagram->ends[line->end].change & 3]);
        if (label.len > 0 && !line->branch) {
            buf_text(to, "|\"");
            put_text(to, label);
            buf_text(to, "\"|");
        }
        buf_printf(to, " n%u\n", line->to);
    }
    if (missing > 0)
        buf_printf(to,
                   "note[\"The %u longest lines are not drawn, Mermaid draws at most "
                   "%d\"]:::plain\n",
                   missing, LINES);
}

static void put_picture(struct buf *to, struct picture *picture)
{
    buf_printf(to, "flowchart %s\n", picture->wanted->sideways ? "LR" : "TD");
    put_classes(to, picture, put_boxes(to, picture));
    put_lines(to, picture);
}

/* Close the innermost open groups that show; false: none is left. */
static bool fold(const struct picture *picture)
{
    struct plan *plan = &picture->diagram->plan;
    uint32_t deepest = 0;

    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 1; i < plan->n_boxes; i++) {
            uint32_t depth = 0;

            if (!picture_is_frame(picture, i))
                continue;
            for (uint32_t at = i; at > 0; at = plan->boxes[at].parent)
                depth++;
            if (pass == 0 && depth > deepest)
                deepest = depth;
            if (pass == 1 && depth == deepest)
                plan->boxes[i].flags &= (uint8_t)~PLAN_OPEN;
        }
    return deepest > 0;
}

static int write_folded(struct buf *text, struct diagram *diagram,
                        const struct picture_wanted *wanted, struct err *err)
{
    bool folded = false, more = true;

    while (more) {
        struct picture picture;

        if (picture_init(&picture, diagram, wanted, err) < 0)
            return -1;
        buf_clear(text);
        buf_text(text, "%% ");
        buf_str(text, picture.path);
        buf_char(text, '\n');
        if (diagram->old)
            buf_printf(text, "%%%% %.*s\n", STR_ARG(diagram->facts));
        if (folded)
            buf_printf(text,
                       "%%%% Groups are folded: Mermaid draws at most %d lines and %d "
                       "characters.\n",
                       LINES, CHARS);
        put_picture(text, &picture);
        more = (picture.n_lines > LINES || text->len > CHARS) && fold(&picture);
        folded |= more;
        picture_release(&picture);
    }
    return text->bad ? err_set(err, ERR_LIMIT, "not enough memory for the picture") : 0;
}

int picture_mermaid(struct out *out, struct diagram *diagram,
                    const struct picture_wanted *wanted, struct err *err)
{
    struct plan *plan = &diagram->plan;
    uint8_t *flags = malloc(plan->n_boxes > 0 ? plan->n_boxes : 1);
    struct buf text = BUF_INIT;
    int status;

    if (!flags)
        return err_set(err, ERR_LIMIT, "not enough memory for the picture");
    for (uint32_t i = 0; i < plan->n_boxes; i++)
        flags[i] = plan->boxes[i].flags;
    status = write_folded(&text, diagram, wanted, err);
    for (uint32_t i = 0; i < plan->n_boxes; i++)
        plan->boxes[i].flags = flags[i];
    if (status == 0)
        out_str(out, buf_span(&text));
    buf_release(&text);
    free(flags);
    return status;
}
