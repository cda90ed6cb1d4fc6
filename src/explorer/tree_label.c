/* The part before the columns: guides, a sign, the label with matches highlighted;
 * or all labels in one line, like rp's explorer. */
#include <string.h>

#include "explorer/tree_writer_in.h"
#include "rows/args.h"
#include "text/glyph.h"
#include "text/width.h"

#define LEAST_LABEL 16 /* cells of the name in flowing form */

void tree_put(struct tree_writer *w, enum colour colour, unsigned flags,
              struct str text)
{
    lines_add(w->to, colour, flags, text);
    w->used += (unsigned)text_width(text);
}

void tree_pad(struct tree_writer *w, unsigned cells)
{
    struct buf blanks = BUF_INIT;

    if (w->used >= cells)
        return;
    buf_fill(&blanks, ' ', cells - w->used);
    tree_put(w, COLOUR_NONE, 0, buf_span(&blanks));
    buf_release(&blanks);
}

/* --- Guides */

/* The number of levels with guides. */
static unsigned row_levels(const struct tree_writer *w, const struct row *row)
{
    unsigned depth = row->depth > w->layout.left_out ? row->depth - w->layout.left_out
                                                     : (row->depth > 0);

    return depth < w->layout.levels + 2 ? depth : w->layout.levels + 2;
}

unsigned tree_guides(const struct tree_writer *w, const struct row *row)
{
    return 2 * row_levels(w, row);
}

/* Is the branch of this row at `up` levels above it the last of its siblings? */
static bool is_last(const struct tree_writer *w, const struct row *row, unsigned up)
{
    const struct rows *rows = browse_rows(w->explorer->browse);
    struct row at = *row;

    for (; up > 0 && at.above != NO_ROW; up--)
        at = rows_at(rows, at.above);
    return at.flags & ROW_LAST;
}

void tree_put_guides(struct tree_writer *w, const struct row *row)
{
    static const char *const signs[2][4] = {{"│ ", "  ", "├ ", "└ "},
                                            {"| ", "  ", "|-", "`-"}};
    const char *const *sign = signs[w->ascii];
    struct buf text = BUF_INIT;

    for (unsigned up = row_levels(w, row); up-- > 0;)
        buf_text(&text, sign[(up == 0 ? 2 : 0) + is_last(w, row, up)]);
    tree_put(w, COLOUR_DIM, 0, buf_span(&text));
    buf_release(&text);
}

/* A fold sign, or the label's own sign. A row with a fold sign shows its alarm in the
 * gutter. */
void tree_put_sign(struct tree_writer *w, const struct row *row)
{
    struct buf *sign = &w->label.sign;
    struct str all = buf_span(sign);
    ptrdiff_t blank = str_find_char(all, ' ');

    if (row->flags & (ROW_OPEN | ROW_CLOSED) && w->tree) {
        bool open = row->flags & ROW_OPEN;

        tree_put(w, COLOUR_DIM, 0,
                 str_of(glyph(open ? GLYPH_OPEN : GLYPH_FOLDED, w->ascii)));
        tree_put(w, COLOUR_NONE, 0, STR(" "));
    } else if (all.len > 0) {
        tree_put(w, w->label.sign_colour, 0,
                 str_head(all, blank < 0 ? all.len : (size_t)blank + 1));
    } else if (w->tree) {
        tree_put(w, COLOUR_NONE, 0, STR("  "));
    }
    buf_clear(sign);
}

/* --- Matches of a search */

static void add_hit(struct tree_writer *w, size_t begin, size_t end)
{
    if (w->n_hits < MOST_HITS && end > begin)
        w->hits[w->n_hits++] = (struct hit){begin, end};
}

/* Matches in the name, if it is neither cut nor escaped. */
static void find_in_name(struct tree_writer *w, const struct row *row)
{
    const struct model *model = w->explorer->show.model;
    struct str shown = label_part(&w->parts, PART_NAME);
    size_t begin = (size_t)(shown.at - w->parts.text.at), own, at = 0, from, to;

    buf_clear(&w->path);
    place_path(model, row->place, &w->path);
    own = w->tree ? place_name(model, row->place).len : w->path.len;
    if (own > w->path.len ||
        !str_starts(shown, str_from(buf_span(&w->path), w->path.len - own)))
        return;
    while (search_in_name(w->search, buf_span(&w->path), own, at, &from, &to)) {
        add_hit(w, begin + from, begin + to);
        at = to;
    }
}

static void find_in_type(struct tree_writer *w)
{
    size_t begin = w->parts.ends[PART_JOINT], end = w->parts.ends[PART_ARGS];
    struct str about = str_span(w->parts.text.at + begin, end - begin);
    size_t at = 0, from, to;

    while (search_in_type(w->search, about, at, &from, &to)) {
        add_hit(w, begin + from, begin + to);
        at = to;
    }
}

static void find_hits(struct tree_writer *w, const struct row *row)
{
    w->n_hits = 0;
    if (!w->search || !(row->flags & ROW_MATCH) || w->explorer->show.pair)
        return;
    find_in_name(w, row);
    find_in_type(w);
}

/* A part of the label, with matches highlighted. */
static void put_part(struct tree_writer *w, enum label_part part, enum colour colour,
                     unsigned flags)
{
    size_t at = part > 0 ? w->parts.ends[part - 1] : 0, end = w->parts.ends[part];

    for (unsigned i = 0; i < w->n_hits; i++) {
        size_t begin = w->hits[i].begin > at ? w->hits[i].begin : at;
        size_t stop = w->hits[i].end < end ? w->hits[i].end : end;

        if (begin >= stop)
            continue;
        tree_put(w, colour, flags, str_span(w->parts.text.at + at, begin - at));
        tree_put(w, COLOUR_MATCH, flags | SPAN_UNDERLINE,
                 str_span(w->parts.text.at + begin, stop - begin));
        at = stop;
    }
    tree_put(w, colour, flags, str_span(w->parts.text.at + at, end - at));
}

/* --- The label */

bool tree_shows_args(const struct show *show, const struct row *row)
{
    return show_is_leaf(show->model, row->place) ||
           str_starts(place_class(show->model, row->place), STR("torch."));
}

/* Drops the parts that are switched off; tensors and values keep their type. A live
 * model is named after its class, so the class is shown once. */
static void drop_parts(struct tree_writer *w, const struct row *row)
{
    const struct label_set *set = &w->explorer->labels;
    bool type = label_is_on(set, "type");

    if (!w->label.is_class)
        return;
    if (row->place == 0 && w->explorer->show.model->live && type) {
        buf_clear(&w->label.name);
        w->label.joint = "";
    }
    if (!type || !label_is_on(set, "args") ||
        !tree_shows_args(&w->explorer->show, row)) {
        buf_clear(&w->label.args);
        w->label.always = false;
    }
    if (!type)
        buf_clear(&w->label.type);
    if (!label_is_on(set, "name")) {
        buf_clear(&w->label.name);
        w->label.joint = "";
    }
}

static void put_parts(struct tree_writer *w, const struct row *row,
                      struct tree_look look, size_t cells)
{
    label_fit(&w->parts, &w->label, cells);
    find_hits(w, row);
    for (int part = PART_SIGN; part < PART_COUNT; part++) {
        enum colour colour = label_part_colour(&w->label, part);
        bool name = part == PART_NAME;

        if (look.frozen)
            colour = COLOUR_DIM;
        if (look.same && (name || part == PART_TYPE))
            colour = COLOUR_SAME;
        put_part(w, part, colour, name && look.cursor ? SPAN_BOLD : 0);
    }
}

void tree_put_label(struct tree_writer *w, const struct row *row, struct tree_look look,
                    size_t cells)
{
    drop_parts(w, row);
    put_parts(w, row, look, cells);
}

/* --- The flowing form */

static void add_fit(const struct tree_writer *w, struct buf *to, struct str text)
{
    if (w->ascii)
        glyph_to_ascii(to, text.at, text.len);
    else
        buf_str(to, text);
}

/* "(conv2): Conv2d(64, 64, kernel_size=(3, 3))"; the root has no name. */
static void make_flowing(struct tree_writer *w, const struct row *row)
{
    const struct model *model = w->explorer->show.model;
    const struct object *object;
    struct buf name = BUF_INIT;

    if (model->kind[row->place] != PLACE_MODULE || row->flags & (ROW_RUN | ROW_MORE))
        return;
    object = place_object(model, row->place);
    if (w->label.args.len > 0 && object) {
        buf_clear(&w->label.args);
        args_repr(&name, model, object);
        add_fit(w, &w->label.args, buf_span(&name));
        buf_clear(&name);
    }
    if (row->place != 0) {
        buf_printf(&name, "(%s)", buf_cstr(&w->label.name));
        buf_clear(&w->label.name);
        buf_str(&w->label.name, buf_span(&name));
    } else if (w->label.type.len > 0) {
        buf_clear(&w->label.name);
        w->label.joint = "";
    }
    buf_release(&name);
}

static bool is_row_label(const struct label_kind *kind)
{
    return !kind->column;
}

/* Makes the text of every label that is on, in order; the row's own label is an
 * empty text at index *ret_own. Returns the cells of all, with a blank after each. */
static unsigned make_texts(struct tree_writer *w, const struct row *row, int *ret_own)
{
    const struct label_set *set = &w->explorer->labels;
    unsigned cells = 0;

    buf_clear(&w->cell);
    *ret_own = -1;
    for (uint8_t i = 0; i < set->n; i++) {
        const struct label_kind *kind = &label_kinds[set->order[i]];
        size_t begin = w->cell.len;

        if (set->on[set->order[i]] && is_row_label(kind) && set->order[i] != 0 &&
            *ret_own < 0) {
            *ret_own = i;
        } else if (set->on[set->order[i]] && !is_row_label(kind)) {
            buf_clear(&w->cut);
            label_flow(&w->cut, kind, &w->explorer->show, row);
            add_fit(w, &w->cell, buf_span(&w->cut));
        }
        w->ends[i] = w->cell.len;
        if (w->cell.len > begin)
            cells += 1 + (unsigned)text_width(
                             str_span(w->cell.at + begin, w->cell.len - begin));
    }
    return cells;
}

void tree_put_flowing(struct tree_writer *w, const struct row *row,
                      struct tree_look look, size_t cells)
{
    const struct label_set *set = &w->explorer->labels;
    const char *ellipsis = glyph(GLYPH_ELLIPSIS, w->ascii);
    size_t end = w->used + cells;
    int own;
    unsigned others = make_texts(w, row, &own);

    make_flowing(w, row);
    drop_parts(w, row);
    for (int i = 0; i < set->n; i++) {
        size_t begin = i > 0 ? w->ends[i - 1] : 0;
        const char *id = label_kinds[set->order[i]].id;

        if (i == own) {
            size_t room = cells > others + LEAST_LABEL ? cells - others : LEAST_LABEL;

            put_parts(w, row, look, room < end - w->used ? room : end - w->used);
        } else if (w->ends[i] > begin) {
            buf_clear(&w->cut);
            text_cut(&w->cut, str_span(w->cell.at + begin, w->ends[i] - begin),
                     end - w->used, ellipsis);
            tree_put(w, look.frozen ? COLOUR_DIM : COLOUR_NONE,
                     strcmp(id, "in") == 0 ? SPAN_ITALIC : 0, buf_span(&w->cut));
        }
        if ((i == own || w->ends[i] > begin) && w->used < end)
            tree_put(w, COLOUR_NONE, 0, STR(" "));
        if (w->used >= end)
            return;
    }
}
