/* A label as a line of text, as wide as there is room. */
#include <string.h>

#include "show/labels.h"
#include "text/glyph.h"
#include "text/width.h"

#define LEAST_TYPE  4  /* cells; a type with less room goes */
#define LEAST_LABEL 12 /* cells; where there are fewer before it, any tail goes */

/* Where the last argument of args[0 .. len) begins, with the comma before it; 0 if
 * there is only one. Commas inside brackets and quotes belong to a value. */
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

/* Guesses are quiet, classes have a colour, plain values none. */
static enum colour type_colour(const struct label *label)
{
    if (label->type.len > 0 && label->type.at[0] == '~')
        return COLOUR_DIM;
    return label->is_class ? COLOUR_TYPE : COLOUR_NONE;
}

static void add_coloured(struct buf *to, struct str text, enum colour role, bool on)
{
    if (text.len == 0)
        return;
    buf_text(to, colour_begin(role, on));
    buf_str(to, text);
    buf_text(to, colour_end(role, on));
}

static const char *ellipsis(const struct label *label)
{
    return glyph(GLYPH_ELLIPSIS, label->ascii);
}

/* How much of a label is written. */
struct extent {
    struct str args;
    bool cut; /* some arguments are left out */
    struct str tail;
};

static void compose(struct buf *to, const struct label *label, struct extent extent,
                    bool colour)
{
    bool args = extent.args.len > 0 || extent.cut || label->always;

    add_coloured(to, buf_span(&label->sign), label->sign_colour, colour);
    buf_str(to, buf_span(&label->name));
    if (label->type.len > 0 || args)
        buf_text(to, label->joint);
    add_coloured(to, buf_span(&label->type), type_colour(label), colour);
    if (args) {
        buf_text(to, label->brackets ? "(" : " ");
        buf_str(to, extent.args);
        buf_text(to, extent.cut && extent.args.len > 0 ? ", " : "");
        buf_text(to, extent.cut ? ellipsis(label) : "");
        buf_text(to, label->brackets ? ")" : "");
    }
    buf_str(to, extent.tail);
}

/* Try this much of the label; true if it fits. What does not fit is taken back. */
static bool fits(struct buf *to, const struct label *label, struct extent extent,
                 size_t cells)
{
    size_t begin = to->len;
    bool fit;

    compose(to, label, extent, false);
    fit = text_width(str_span(to->at + begin, to->len - begin)) <= cells;
    if (!fit || label->colour)
        to->len = begin;
    if (fit && label->colour)
        compose(to, label, extent, true);
    return fit;
}

/* The name alone: a path keeps its end, any other name both of its ends. */
static void write_name(struct buf *to, const struct label *label, size_t cells)
{
    size_t sign = text_width(buf_span(&label->sign));
    struct str name = buf_span(&label->name);

    if (sign < cells) {
        buf_str(to, buf_span(&label->sign));
        cells -= sign;
    }
    if (label->is_path)
        text_cut_front(to, name, cells, ellipsis(label));
    else
        text_cut_middle(to, name, cells, ellipsis(label));
}

/* Name and type, with a … for what is missing. */
static void write_short(struct buf *to, const struct label *label, size_t cells)
{
    size_t before = text_width(buf_span(&label->sign)) +
                    text_width(buf_span(&label->name)) + strlen(label->joint);
    struct label plain = *label; /* the same texts, without brackets */
    struct buf whole = BUF_INIT;

    if (before + LEAST_TYPE > cells) {
        write_name(to, label, cells);
    } else if (label->is_shape) {
        buf_str(to, buf_span(&label->sign));
        buf_str(to, buf_span(&label->name));
        buf_text(to, label->joint);
        text_cut_shape(to, buf_span(&label->type), cells - before, ellipsis(label),
                       glyph(GLYPH_TIMES, label->ascii));
    } else {
        plain.always = false;
        compose(&whole, &plain, (struct extent){0}, false);
        buf_text(&whole, ellipsis(label));
        text_cut(to, buf_span(&whole), cells, ellipsis(label));
        buf_release(&whole);
    }
}

void label_write(struct buf *to, const struct label *label, size_t cells)
{
    struct extent extent = {.args = buf_span(&label->args),
                            .tail = buf_span(&label->tail)};

    if (cells == 0) {
        compose(to, label, extent, label->colour);
        return;
    }
    if (fits(to, label, extent, cells))
        return;
    if (label->keep_tail && cells > text_width(extent.tail) + LEAST_LABEL) {
        write_short(to, label, cells - text_width(extent.tail));
        buf_str(to, extent.tail);
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
    write_short(to, label, cells);
}
