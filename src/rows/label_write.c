/* A label as a line of text, as wide as there is room. */
#include <string.h>

#include "base/base.h"
#include "rows/labels.h"
#include "text/glyph.h"
#include "text/number.h"
#include "text/width.h"

#define LEAST_TYPE  4  /* cells; a type with less room is dropped */
#define LEAST_RUN   10 /* cells; with less room, a run's type is only its count */
#define LEAST_LABEL 12 /* cells; with less room before it, the tail is dropped */

/* The position of the last argument of args[0 .. len), including the comma before it; 0
 * if there is only one. Commas inside brackets and quotes belong to a value. */
static size_t last_comma(struct str args)
{
    size_t found = 0;
    int depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < args.len; i++) {
        char c = args.at[i];

        if (c == '"' && (i == 0 || args.at[i - 1] != '\\'))
            quoted = !quoted;
        else if (!quoted && strchr("([{", c))
            depth++;
        else if (!quoted && strchr(")]}", c))
            depth--;
        else if (!quoted && depth == 0 && c == ',')
            found = i;
    }
    return found;
}

/* Guesses are dim, classes have a colour, plain values none. */
enum colour label_part_colour(const struct label *label, enum label_part part)
{
    if (part == PART_SIGN)
        return label->sign_colour;
    if (part != PART_TYPE && part != PART_ARGS)
        return COLOUR_NONE;
    if (label->guessed)
        return COLOUR_DIM;
    return label->is_class && part == PART_TYPE ? COLOUR_TYPE : COLOUR_NONE;
}

static const char *ellipsis(const struct label *label)
{
    return glyph(GLYPH_ELLIPSIS, label->ascii);
}

/* --- Parts. They are written in order; those left out are empty. */

static void clear(struct label_parts *parts)
{
    buf_clear(&parts->text);
    memset(parts->ends, 0, sizeof(parts->ends));
}

/* End a part: the text appended since the previous part. */
static void end_part(struct label_parts *parts, enum label_part part)
{
    for (size_t i = part; i < PART_COUNT; i++)
        parts->ends[i] = parts->text.len;
}

static void add_part(struct label_parts *parts, enum label_part part, struct str text)
{
    buf_str(&parts->text, text);
    end_part(parts, part);
}

struct str label_part(const struct label_parts *parts, enum label_part part)
{
    size_t begin = part > 0 ? parts->ends[part - 1] : 0;

    return str_span(parts->text.at + begin, parts->ends[part] - begin);
}

/* Which parts of a label to write. */
struct label_write_extent {
    struct str args;
    bool cut; /* some arguments are left out */
    struct str tail;
};

static void compose(struct label_parts *to, const struct label *label,
                    struct label_write_extent extent)
{
    bool args = extent.args.len > 0 || extent.cut || label->always;

    clear(to);
    add_part(to, PART_SIGN, buf_span(&label->sign));
    add_part(to, PART_NAME, buf_span(&label->name));
    if (label->type.len > 0 || args)
        add_part(to, PART_JOINT, str_of(label->joint));
    add_part(to, PART_TYPE, buf_span(&label->type));
    if (args) {
        buf_text(&to->text, label->brackets ? "(" : " ");
        buf_str(&to->text, extent.args);
        buf_text(&to->text, extent.cut && extent.args.len > 0 ? ", " : "");
        buf_text(&to->text, extent.cut ? ellipsis(label) : "");
        buf_text(&to->text, label->brackets ? ")" : "");
    }
    end_part(to, PART_ARGS);
    add_part(to, PART_TAIL, extent.tail);
}

/* Try this extent; true if it fits. */
static bool fits(struct label_parts *to, const struct label *label,
                 struct label_write_extent extent, size_t cells)
{
    compose(to, label, extent);
    return text_width(buf_span(&to->text)) <= cells;
}

/* The name alone: a path keeps its end, any other name both of its ends. */
static void fit_name(struct label_parts *to, const struct label *label, size_t cells)
{
    size_t sign = text_width(buf_span(&label->sign));
    struct str name = buf_span(&label->name);

    clear(to);
    if (sign < cells) {
        add_part(to, PART_SIGN, buf_span(&label->sign));
        cells -= sign;
    }
    if (label->is_path)
        text_cut_front(&to->text, name, cells, ellipsis(label));
    else
        text_cut_middle(&to->text, name, cells, ellipsis(label));
    end_part(to, PART_NAME);
}

/* "encoder_l…r_0-11: 12 ×": the count is never dropped. */
static bool fit_run(struct label_parts *to, const struct label *label, size_t cells)
{
    struct buf count = BUF_INIT, name = BUF_INIT;
    size_t room;

    text_commas(&count, label->times);
    buf_printf(&count, " %s", glyph(GLYPH_TIMES, label->ascii));
    room = text_width(buf_span(&label->sign)) + strlen(label->joint) +
           text_width(buf_span(&count));
    if (label->times == 0 || room + LEAST_TYPE > cells) {
        buf_release(&count);
        return false;
    }
    room = cells - room;
    if (label->is_path)
        text_cut_front(&name, buf_span(&label->name), room, ellipsis(label));
    else
        text_cut_middle(&name, buf_span(&label->name), room, ellipsis(label));
    clear(to);
    add_part(to, PART_SIGN, buf_span(&label->sign));
    add_part(to, PART_NAME, buf_span(&name));
    add_part(to, PART_JOINT, str_of(label->joint));
    add_part(to, PART_TYPE, buf_span(&count));
    buf_release(&count);
    buf_release(&name);
    return true;
}

/* Name and type, with a … for omitted text. */
static void fit_short(struct label_parts *to, const struct label *label, size_t cells)
{
    size_t before = text_width(buf_span(&label->sign)) +
                    text_width(buf_span(&label->name)) + strlen(label->joint);
    struct buf type = BUF_INIT;

    if (before + (label->times > 0 ? LEAST_RUN : LEAST_TYPE) > cells) {
        if (!fit_run(to, label, cells))
            fit_name(to, label, cells);
        return;
    }
    clear(to);
    add_part(to, PART_SIGN, buf_span(&label->sign));
    add_part(to, PART_NAME, buf_span(&label->name));
    if (label->type.len > 0)
        add_part(to, PART_JOINT, str_of(label->joint));
    if (label->is_shape) {
        text_cut_shape(&to->text, buf_span(&label->type), cells - before,
                       ellipsis(label), glyph(GLYPH_TIMES, label->ascii));
    } else {
        buf_str(&type, buf_span(&label->type));
        buf_text(&type, ellipsis(label));
        text_cut(&to->text, buf_span(&type), cells - before, ellipsis(label));
        buf_release(&type);
    }
    end_part(to, PART_TYPE);
}

void label_fit(struct label_parts *to, const struct label *label, size_t cells)
{
    struct label_write_extent extent = {.args = buf_span(&label->args),
                                        .tail = buf_span(&label->tail)};

    if (cells == 0) {
        compose(to, label, extent);
        return;
    }
    if (fits(to, label, extent, cells))
        return;
    if (label->keep_tail && cells > text_width(extent.tail) + LEAST_LABEL) {
        fit_short(to, label, cells - text_width(extent.tail));
        add_part(to, PART_TAIL, extent.tail);
        return;
    }
    extent.tail = STR("");
    if (fits(to, label, extent, cells))
        return;
    extent.cut = true;
    while (extent.args.len > 0) {
        extent.args = str_head(extent.args, last_comma(extent.args));
        if (fits(to, label, extent, cells))
            return;
    }
    fit_short(to, label, cells);
}

void label_write_parts(struct buf *to, const struct label *label,
                       const struct label_parts *parts)
{
    if (!label->colour)
        buf_str(to, buf_span(&parts->text));
    for (int i = 0; i < PART_COUNT && label->colour; i++) {
        struct str text = label_part(parts, i);
        enum colour role = label_part_colour(label, i);

        if (text.len == 0)
            continue;
        buf_text(to, colour_begin(role, true));
        buf_str(to, text);
        buf_text(to, colour_end(role, true));
    }
}

void label_write(struct buf *to, const struct label *label, size_t cells)
{
    struct label_parts parts = {.text = BUF_INIT};

    label_fit(&parts, label, cells);
    label_write_parts(to, label, &parts);
    buf_release(&parts.text);
}

size_t label_width(const struct label *label)
{
    size_t args = text_width(buf_span(&label->args));
    bool has_args = args > 0 || label->always;
    size_t width =
        text_width(buf_span(&label->sign)) + text_width(buf_span(&label->name)) +
        text_width(buf_span(&label->type)) + args + text_width(buf_span(&label->tail));

    if (label->type.len > 0 || has_args)
        width += strlen(label->joint);
    return width + (has_args ? (label->brackets ? 2 : 1) : 0);
}

/* --- Stored labels */

void label_keep(struct label_kept *to, struct buf *texts, const struct label *label)
{
    const struct buf *const parts[] = {&label->sign, &label->name, &label->type,
                                       &label->args, &label->tail};

    *to = (struct label_kept){.begin = (uint32_t)texts->len,
                              .times = label->times,
                              .joint = label->joint,
                              .sign_colour = (uint8_t)label->sign_colour,
                              .brackets = label->brackets,
                              .is_class = label->is_class,
                              .guessed = label->guessed,
                              .always = label->always,
                              .is_shape = label->is_shape,
                              .is_path = label->is_path,
                              .keep_tail = label->keep_tail,
                              .ascii = label->ascii};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        buf_str(texts, buf_span(parts[i]));
        to->ends[i] = (uint32_t)texts->len;
    }
}

struct label label_again(const struct label_kept *kept, const struct buf *texts)
{
    struct label label = {.joint = kept->joint,
                          .times = kept->times,
                          .sign_colour = (enum colour)kept->sign_colour,
                          .brackets = kept->brackets,
                          .is_class = kept->is_class,
                          .guessed = kept->guessed,
                          .always = kept->always,
                          .is_shape = kept->is_shape,
                          .is_path = kept->is_path,
                          .keep_tail = kept->keep_tail,
                          .ascii = kept->ascii};
    struct buf *const parts[] = {&label.sign, &label.name, &label.type, &label.args,
                                 &label.tail};
    uint32_t begin = kept->begin;

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        parts[i]->at = texts->at + begin;
        parts[i]->len = kept->ends[i] - begin;
        begin = kept->ends[i];
    }
    return label;
}
