#include "facts/histogram_lines.h"

#include <math.h>

#include "text/text.h"

#define MOST_BINS 256u
#define AXIS      COLOUR_DIM

#define HISTOGRAM_MARGIN 8 /* cells left of the first column */
#define HISTOGRAM_TIGHT  6

/* The columns to draw, merged to fit. */
struct columns {
    uint64_t at[MOST_BINS];
    uint32_t n;
    uint64_t most;
    double min, max;
    unsigned margin; /* cells left of the first column */
    unsigned width;  /* of all */
    bool log;
};

/* Merge as many adjacent bins as needed. */
static void fit(struct columns *columns, const struct numbers *numbers, unsigned room,
                bool log)
{
    uint32_t n = numbers->n_bins, each;

    room = room < 1 ? 1 : room > MOST_BINS ? MOST_BINS : room;
    each = (n + room - 1) / room;
    *columns = (struct columns){.n = (n + each - 1) / each,
                                .min = numbers->stats->min,
                                .max = numbers->stats->max,
                                .log = log};
    for (uint32_t i = 0; i < n && numbers->bins; i++)
        columns->at[i / each] += numbers->bins[i];
    for (uint32_t i = 0; i < columns->n; i++)
        columns->most = columns->at[i] > columns->most ? columns->at[i] : columns->most;
}

/* Column height in eighths of a cell; at least one if not empty. */
static int height_of(const struct columns *columns, uint32_t i, unsigned rows)
{
    double part = (double)columns->at[i], whole = (double)columns->most;
    long height;

    if (columns->at[i] == 0)
        return 0;
    if (columns->log) {
        part = log1p(part);
        whole = log1p(whole);
    }
    height = lrint(8.0 * rows * part / whole);
    return height < 1 ? 1 : (int)height;
}

/* The largest count: "6185", or shorter if space is short. */
static void most_text(struct buf *to, const struct columns *columns)
{
    unsigned long long most = columns->most;

    if (most == 0) {
        buf_text(to, "…");
        return;
    }
    buf_printf(to, "%llu", most);
    if (to->len + 2 <= columns->margin)
        return;
    buf_clear(to);
    text_count(to, most);
    if (to->len + 2 <= columns->margin)
        return;
    buf_clear(to);
    if (most < 1000000)
        buf_printf(to, "%lluK", most / 1000);
    else
        buf_printf(to, most < 1000000000 ? "%lluM" : "%lluB",
                   most / (most < 1000000000 ? 1000000 : 1000000000));
}

/* "  6185 ┤" */
static void margin(struct lines *to, const struct columns *columns, unsigned row,
                   unsigned rows)
{
    struct buf text = BUF_INIT;

    if (row == 0)
        most_text(&text, columns);
    else if (row + 1 == rows)
        buf_char(&text, '0');
    else if (row == 1 && columns->log)
        buf_text(&text, "log");
    if (text_width(buf_span(&text)) + 2 < columns->margin)
        lines_pad(to, columns->margin - 2 - text_width(buf_span(&text)));
    lines_add(to, AXIS, 0, buf_span(&text));
    lines_text(to, AXIS, row == 0 || row + 1 == rows ? " ┤" : " │");
    buf_release(&text);
}

static void row_of_columns(struct lines *to, const struct columns *columns,
                           unsigned row, unsigned rows)
{
    struct buf text = BUF_INIT;
    int below = 8 * (int)(rows - 1 - row);

    for (uint32_t i = 0; i < columns->n; i++)
        buf_text(&text, glyph_column(height_of(columns, i, rows) - below, false));
    while (text.len > 0 && text.at[text.len - 1] == ' ')
        text.len--;
    lines_add(to, COLOUR_NONE, 0, buf_span(&text));
    buf_release(&text);
}

/* The inner column that contains zero; n: none. */
static uint32_t zero_column(const struct columns *columns)
{
    uint32_t at;

    if (!(columns->min < 0 && columns->max > 0))
        return columns->n;
    at = (uint32_t)(-columns->min / (columns->max - columns->min) * columns->n);
    return at == 0 || at + 1 >= columns->n ? columns->n : at;
}

static void axis(struct lines *to, const struct columns *columns)
{
    struct buf text = BUF_INIT;
    uint32_t zero = zero_column(columns);

    buf_fill(&text, ' ', columns->margin - 1);
    buf_text(&text, "└");
    for (uint32_t i = 0; i < columns->n; i++)
        buf_text(&text, i == 0 || i == zero || i + 1 == columns->n ? "┴" : "─");
    lines_add(to, AXIS, 0, buf_span(&text));
    lines_end(to);
    buf_release(&text);
}

/* Write a label at this cell, if there is a blank before it. */
static void label(struct lines *to, struct str text, size_t cell)
{
    if (lines_width(to) > 0 && lines_width(to) >= cell)
        return;
    lines_pad(to, cell);
    lines_add(to, AXIS, 0, text);
}

static void labels(struct lines *to, const struct columns *columns)
{
    struct buf low = BUF_INIT, high = BUF_INIT;
    uint32_t zero = zero_column(columns);
    size_t last = columns->margin + columns->n - 1, end;

    text_real(&low, columns->min);
    text_real(&high, columns->max);
    end = last + 2 < columns->width ? last + 2 : columns->width;
    end = end > high.len ? end - high.len : 0;
    label(to, buf_span(&low), columns->margin - 4);
    if (zero < columns->n && columns->margin + zero + 2 < end)
        label(to, STR("0"), columns->margin + zero);
    if (columns->max > columns->min)
        label(to, buf_span(&high), end);
    lines_end(to);
    buf_release(&low);
    buf_release(&high);
}

void histogram_lines(struct lines *to, const struct numbers *numbers, unsigned width,
                     unsigned rows, bool log)
{
    /* A margin narrower by two cells is better than half as many columns. */
    bool tight = width < HISTOGRAM_MARGIN + numbers->n_bins &&
                 width >= HISTOGRAM_TIGHT + numbers->n_bins;
    unsigned left = tight ? HISTOGRAM_TIGHT : HISTOGRAM_MARGIN;
    struct columns columns;

    if (numbers->n_bins == 0 || rows == 0)
        return;
    fit(&columns, numbers, width > left ? width - left : 1, log);
    columns.margin = left;
    columns.width = width;
    for (unsigned row = 0; row < rows; row++) {
        margin(to, &columns, row, rows);
        row_of_columns(to, &columns, row, rows);
        lines_end(to);
    }
    axis(to, &columns);
    labels(to, &columns);
}

void histogram_line(struct lines *to, const struct numbers *numbers, unsigned width,
                    bool log)
{
    struct buf low = BUF_INIT, high = BUF_INIT;
    struct columns columns;
    size_t ends;

    if (numbers->n_bins == 0)
        return;
    text_real(&low, numbers->stats->min);
    text_real(&high, numbers->stats->max);
    ends = low.len + high.len + 3;
    fit(&columns, numbers, width > ends ? width - (unsigned)ends : 1, log);
    lines_text(to, COLOUR_NONE, " ");
    lines_add(to, AXIS, 0, buf_span(&low));
    lines_text(to, COLOUR_NONE, " ");
    if (columns.most > 0)
        row_of_columns(to, &columns, 0, 1);
    else
        lines_text(to, AXIS, "…");
    lines_text(to, COLOUR_NONE, " ");
    lines_add(to, AXIS, 0, buf_span(&high));
    lines_end(to);
    buf_release(&low);
    buf_release(&high);
}
