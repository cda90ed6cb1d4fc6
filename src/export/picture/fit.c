/* Sizes of boxes and the texts that fit into them: look.md, section 4. */
#include <math.h>

#include "export/picture/picture_in.h"
#include "text/escape.h"
#include "text/font.h"
#include "text/number.h"

#define NAME_SIZE  12
#define TEXT_SIZE  11
#define SPARE      1.15 /* fonts without Arial's metrics are up to 20 % wider */
#define WIDEST     260
#define WIDEST_NEW 420 /* limit for a box that lists changes */
#define INSET      21  /* 12 left, 9 right */
#define CHEVRON    13
#define TITLE_MOST 360 /* of a frame's least width */

/* What depends on the kind of a box: look.md's table. */
struct fit_kind {
    int32_t height, least, inset, gap;
    double between; /* name and detail */
};
static const struct fit_kind tall = {44, 128, INSET, 18, 6};
static const struct fit_kind flat = {28, 128, INSET, 18, 6};
static const struct fit_kind op = {26, 84, INSET + 8, 18, 6};
static const struct fit_kind view = {20, 44, 18, 14, 5};
static const struct fit_kind ends = {28, 84, 28, 18, 7};

struct str picture_keep(struct picture *picture, struct buf *from)
{
    struct str kept = {"", 0};

    if (from->bad)
        picture->arena.spent = true;
    else if (from->len > 0)
        kept = arena_str(&picture->arena, buf_span(from));
    buf_clear(from);
    return kept.at ? kept : STR("");
}

struct str picture_text(struct picture *picture, struct str raw)
{
    struct buf shown = BUF_INIT;
    struct str kept;

    escape_terminal(&shown, raw);
    kept = picture_keep(picture, &shown);
    buf_release(&shown);
    return kept;
}

/* Descriptions of changes must be readable, so such boxes may be wider. */
static int32_t widest(const struct diagram_box *box)
{
    return box->change == DIAGRAM_CHANGED ? WIDEST_NEW : WIDEST;
}

static int32_t round_up(double width, int32_t least, int32_t most)
{
    int32_t whole = (int32_t)ceil(width / 4 - 1e-9) * 4;

    return whole < least ? least : whole > most ? most : whole;
}

static double name_width(struct str s)
{
    return font_size_width(s, FONT_BOLD, NAME_SIZE);
}

static double text_width_of(struct str s)
{
    return font_size_width(s, FONT_REGULAR, TEXT_SIZE);
}

/* Pixels as thousandths of a font size. */
static uint32_t thousandths(double pixels, double size)
{
    return pixels > 0 ? (uint32_t)(pixels * 1000 / size) : 0;
}

static enum picture_shape shape_of(const struct picture *picture, uint32_t i)
{
    const struct diagram_box *box = &picture->diagram->boxes[i];

    if (box->flags & DIAGRAM_SIGN)
        return PICTURE_SIGN;
    switch (box->kind) {
    case DIAGRAM_VIEW:
        return PICTURE_VIEW;
    case DIAGRAM_INPUT:
    case DIAGRAM_OUTPUT:
    case DIAGRAM_ATTACHED:
        return PICTURE_ENDS;
    case DIAGRAM_OP:
        return PICTURE_FLAT;
    default:
        break;
    }
    if (picture_is_group(picture, i) || box->flags & (DIAGRAM_REGION | DIAGRAM_SHARED))
        return PICTURE_TALL;
    if (picture->diagram->wanted.level == GRAPH_OPS && box->n_ops == 1)
        return PICTURE_FLAT; /* a module drawn as one operation */
    return box->metric[DIAGRAM_PARAMS] > 0 ? PICTURE_TALL : PICTURE_FLAT;
}

static const struct fit_kind *kind_of(const struct picture *picture, uint32_t i)
{
    switch (picture->boxes[i].shape) {
    case PICTURE_VIEW:
        return &view;
    case PICTURE_ENDS:
        return &ends;
    case PICTURE_TALL:
        return &tall;
    default:
        return picture->diagram->boxes[i].kind == DIAGRAM_OP ? &op : &flat;
    }
}

#define MOST_WORDS 16
/* The words of a box's class line, escaped for display, with their separators. */
static uint32_t class_words(struct picture *picture, uint32_t i,
                            struct font_word words[MOST_WORDS])
{
    const struct diagram *diagram = picture->diagram;
    const struct diagram_box *box = &diagram->boxes[i];
    uint32_t n = box->n_words < MOST_WORDS ? box->n_words : MOST_WORDS;

    for (uint32_t k = 0; k < n; k++)
        words[k] =
            (struct font_word){picture_text(picture, diagram->words[box->words + k]),
                               diagram_before_word(diagram, i, k)};
    return n;
}

/* The value in the corner: at most one, and none where it is redundant (look.md). */
static struct str value_of(struct picture *picture, uint32_t i, struct buf *tmp)
{
    const struct diagram_box *box = &picture->diagram->boxes[i];
    double value = box->metric[picture->metric];
    bool by_family = picture->wanted->color == DIAGRAM_FAMILY;

    switch (box->kind) {
    case DIAGRAM_VIEW:
    case DIAGRAM_INPUT:
    case DIAGRAM_OUTPUT:
    case DIAGRAM_ATTACHED:
        return STR("");
    default:
        break;
    }
    if (box->flags & DIAGRAM_SIGN)
        return STR("");
    if (by_family && !(value > 0) && !(box->flags & DIAGRAM_SHARED))
        return STR("");
    diagram_value(tmp, picture->diagram, i, picture->metric);
    return picture_keep(picture, tmp);
}

/* The complete text of a box, uncut; then its position. */
static struct str title_of(struct picture *picture, uint32_t i,
                           const struct font_word *words, uint32_t n, struct buf *tmp)
{
    const struct diagram_box *box = &picture->diagram->boxes[i];
    const struct picture_box *texts = &picture->boxes[i];
    bool elsewhere = box->id.len > 0 && !str_eq(box->id, box->name);

    escape_terminal(tmp, box->name);
    for (uint32_t k = 0; k < n; k++) {
        buf_text(tmp, k == 0 ? " " : words[k].before);
        buf_str(tmp, words[k].text);
    }
    if (texts->calls.len > 0)
        buf_printf(tmp, " %.*s", STR_ARG(texts->calls));
    if (texts->value.len > 0)
        buf_printf(tmp, " %.*s", STR_ARG(texts->value));
    if (elsewhere || box->line.len > 0)
        buf_char(tmp, '\n');
    if (elsewhere)
        escape_terminal(tmp, box->id);
    if (box->line.len > 0) {
        buf_text(tmp, elsewhere ? ", " : "");
        escape_terminal(tmp, box->line);
    }
    return picture_keep(picture, tmp);
}

/* Class line and width of a box with two lines. */
static double fit_two_lines(struct picture *picture, uint32_t i,
                            const struct font_word *words, uint32_t n, struct buf *tmp)
{
    struct picture_box *texts = &picture->boxes[i];
    double room = (widest(&picture->diagram->boxes[i]) - INSET) / SPARE, first, second;
    double fixed = texts->chevron ? CHEVRON : 0;

    if (texts->value.len > 0)
        fixed += 8 + text_width_of(texts->value);
    if (texts->calls.len > 0)
        fixed += 5 + text_width_of(texts->calls);
    font_cut_middle(tmp, texts->name, FONT_BOLD, thousandths(room - fixed, NAME_SIZE));
    texts->name = picture_keep(picture, tmp);
    font_cut_words(tmp, words, n, FONT_REGULAR, thousandths(room, TEXT_SIZE));
    texts->detail = picture_keep(picture, tmp);
    first = fixed + name_width(texts->name);
    second = text_width_of(texts->detail);
    return INSET + SPARE * (first > second ? first : second);
}

/* The number of words of an input or output that fit: shape, then type. Half a shape
 * would be wrong, so a word that does not fit is dropped. */
static uint32_t whole_words(const struct font_word *words, uint32_t n, double room)
{
    uint32_t kept = 0;

    for (double used = 0; kept < n; kept++) {
        used += kept > 0 ? text_width_of(str_of(words[kept].before)) : 0;
        used += text_width_of(words[kept].text);
        if (used > room)
            break;
    }
    return kept;
}

/* The same with one line. */
static double fit_one_line(struct picture *picture, uint32_t i,
                           const struct font_word *words, uint32_t n, struct buf *tmp)
{
    struct picture_box *texts = &picture->boxes[i];
    const struct fit_kind *kind = kind_of(picture, i);
    bool dim = texts->shape == PICTURE_VIEW;
    enum font font = dim ? FONT_REGULAR : FONT_BOLD;
    double size = dim ? TEXT_SIZE : NAME_SIZE;
    double room = (widest(&picture->diagram->boxes[i]) - kind->inset) / SPARE, used = 0;

    if (texts->value.len > 0)
        used += 8 + text_width_of(texts->value);
    if (texts->calls.len > 0)
        used += 5 + text_width_of(texts->calls);
    font_cut_middle(tmp, texts->name, font, thousandths(room - used, size));
    texts->name = picture_keep(picture, tmp);
    used += font_size_width(texts->name, font, size);
    if (texts->shape == PICTURE_ENDS)
        n = whole_words(words, n, room - used - kind->between);
    else if (room - used - kind->between <= 3 * TEXT_SIZE)
        n = 0;
    if (n > 0) {
        used += kind->between;
        font_cut_words(tmp, words, n, FONT_REGULAR,
                       thousandths(room - used, TEXT_SIZE));
        texts->detail = picture_keep(picture, tmp);
        used += text_width_of(texts->detail);
    }
    return kind->inset + SPARE * used;
}

/* Does the text of a module without parameters fit into one line? */
static bool fits_one_line(const struct picture *picture, uint32_t i,
                          const struct font_word *words, uint32_t n)
{
    const struct picture_box *texts = &picture->boxes[i];
    double used = name_width(texts->name);

    if (texts->value.len > 0)
        used += 8 + text_width_of(texts->value);
    if (texts->calls.len > 0)
        used += 5 + text_width_of(texts->calls);
    for (uint32_t k = 0; k < n; k++) {
        used += k > 0 ? text_width_of(str_of(words[k].before)) : flat.between;
        used += text_width_of(words[k].text);
    }
    return flat.inset + SPARE * used <= widest(&picture->diagram->boxes[i]);
}

/* The title band of an open group. */
static void fit_frame(struct picture *picture, uint32_t i,
                      const struct font_word *words, uint32_t n, struct buf *tmp)
{
    const struct diagram *diagram = picture->diagram;
    struct picture_box *texts = &picture->boxes[i];
    struct plan_box *box = &diagram->plan.boxes[i];
    double room = TITLE_MOST / SPARE, used = 25 + 22;
    double total = (double)diagram->total[picture->metric];

    buf_str(tmp, texts->value);
    if (texts->value.len > 0 && picture->wanted->color == DIAGRAM_TIME && total > 0 &&
        diagram->boxes[i].metric[DIAGRAM_TIME] >= 0) {
        buf_printf(tmp, ", %.0f%% of run",
                   100 * diagram->boxes[i].metric[DIAGRAM_TIME] / total);
    }
    texts->frame_value = picture_keep(picture, tmp);
    used += text_width_of(texts->frame_value);
    escape_terminal(tmp, diagram->boxes[i].name);
    texts->frame_name = picture_keep(picture, tmp);
    font_cut_middle(tmp, texts->frame_name, FONT_BOLD,
                    thousandths(room - used, NAME_SIZE));
    texts->frame_name = picture_keep(picture, tmp);
    used += name_width(texts->frame_name) + 6;
    if (n > 0 && room - used > 3 * TEXT_SIZE) { /* the class, no arguments */
        font_cut_words(tmp, words, 1, FONT_REGULAR,
                       thousandths(room - used, TEXT_SIZE));
        texts->frame_detail = picture_keep(picture, tmp);
        used += text_width_of(texts->frame_detail);
    }
    box->least_width = (int32_t)ceil(SPARE * used / 4) * 4;
    box->least_height = PICTURE_BAND + 2 * 16;
}

static void fit_plan(struct picture *picture, uint32_t i, double width)
{
    const struct picture_box *texts = &picture->boxes[i];
    const struct fit_kind *kind = kind_of(picture, i);
    struct plan_box *box = &picture->diagram->plan.boxes[i];
    bool sheets = picture->diagram->boxes[i].n_same > 1 && texts->shape == PICTURE_TALL;

    box->flags &= (uint8_t) ~(PLAN_SIDE | PLAN_STRETCH | PLAN_EARLY);
    box->gap = kind->gap;
    box->height = kind->height + (sheets ? PICTURE_SHEETS : 0);
    box->width = round_up(width, kind->least, widest(&picture->diagram->boxes[i]));
    if (sheets && picture->wanted->sideways) /* lines leave at the right */
        box->width += PICTURE_SHEETS;
    if (texts->shape == PICTURE_SIGN) {
        box->width = box->height = 26;
        box->flags |= PLAN_SIDE;
    } else if (kind == &tall || kind == &flat) {
        box->flags |= PLAN_STRETCH;
    }
    if (picture->diagram->boxes[i].kind == DIAGRAM_INPUT)
        box->flags |= PLAN_EARLY;
}

static void fit_box(struct picture *picture, uint32_t i, struct buf *tmp)
{
    const struct diagram_box *box = &picture->diagram->boxes[i];
    struct picture_box *texts = &picture->boxes[i];
    struct font_word words[MOST_WORDS];
    uint32_t n = class_words(picture, i, words);
    double width = 0;

    texts->shape = (uint8_t)shape_of(picture, i);
    texts->heat = PICTURE_NO_HEAT;
    texts->chevron = picture_is_group(picture, i) && texts->shape == PICTURE_TALL;
    texts->value = value_of(picture, i, tmp);
    if (box->n_calls > 1) {
        buf_printf(tmp, "%u/%u", box->number, box->n_calls);
        texts->calls = picture_keep(picture, tmp);
    }
    texts->title = title_of(picture, i, words, n, tmp);
    texts->name = picture_text(picture, box->name);
    if (texts->shape == PICTURE_FLAT && box->kind == DIAGRAM_MODULE &&
        !fits_one_line(picture, i, words, n))
        texts->shape = PICTURE_TALL;
    if (texts->shape == PICTURE_TALL)
        width = fit_two_lines(picture, i, words, n, tmp);
    else if (texts->shape != PICTURE_SIGN)
        width = fit_one_line(picture, i, words, n, tmp);
    fit_plan(picture, i, width);
    if (picture_is_group(picture, i))
        fit_frame(picture, i, words, n, tmp);
}

int picture_fit(struct picture *picture, struct err *err)
{
    struct diagram *diagram = picture->diagram;
    struct buf tmp = BUF_INIT;

    picture->metric = picture->wanted->color == DIAGRAM_FAMILY ? DIAGRAM_PARAMS
                                                               : picture->wanted->color;
    picture->boxes =
        arena_array(&picture->arena, diagram->plan.n_boxes, sizeof *picture->boxes);
    if (!picture->boxes)
        return arena_err(&picture->arena, "the picture", err);
    for (uint32_t i = 0; i < diagram->plan.n_boxes; i++)
        fit_box(picture, i, &tmp);
    buf_release(&tmp);
    return picture->arena.spent ? arena_err(&picture->arena, "the picture", err) : 0;
}
