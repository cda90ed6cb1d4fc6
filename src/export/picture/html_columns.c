/* Columns of numbers as text. Neighbours are often equal or near, so a number is
 * written as its difference to the previous one: the sign in the lowest bit, then five
 * bits per digit, lowest first; a digit of 32 or more means that another one follows.
 * "Minus zero" marks a run of zero differences, followed by its length. */
#include "export/picture/html_in.h"
#include "text/escape.h"

#define RUN_LEAST 3 /* shorter runs are written without a count */

static void put_digits(struct out *out, uint64_t number)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    do {
        uint64_t rest = number >> 5;

        out_char(out, digits[(number & 31) | (rest > 0 ? 32 : 0)]);
        number = rest;
    } while (number > 0);
}

static void put_run(struct out *out, uint64_t zeros)
{
    if (zeros >= RUN_LEAST) {
        put_digits(out, 1);
        put_digits(out, zeros);
        return;
    }
    for (; zeros > 0; zeros--)
        put_digits(out, 0);
}

void html_column(struct html *html, const struct html_column *column, uint32_t n)
{
    int64_t last = 0;
    uint64_t zeros = 0;

    out_printf(html->out, ",\"%s\":\"", column->name);
    for (uint32_t i = 0; i < n; i++) {
        int64_t value = column->value(html, i), by = value - last;

        last = value;
        if (by == 0) {
            zeros++;
            continue;
        }
        put_run(html->out, zeros);
        zeros = 0;
        put_digits(html->out, by < 0 ? (uint64_t)-by << 1 | 1 : (uint64_t)by << 1);
    }
    put_run(html->out, zeros);
    out_char(html->out, '"');
}

void html_table(struct html *html, const char *name, uint32_t n,
                const struct html_column *columns, size_t n_columns)
{
    out_printf(html->out, ",\n\"%s\":{\"n\":%u", name, n);
    for (size_t i = 0; i < n_columns; i++)
        html_column(html, &columns[i], n);
}

int64_t html_text(struct html *html, struct str raw)
{
    escape_terminal(&html->spare, raw);
    return html_spare(html);
}

int64_t html_spare(struct html *html)
{
    uint32_t id = intern_add(&html->texts, buf_span(&html->spare));

    buf_clear(&html->spare);
    return id == INTERN_NONE ? 0 : id; /* spent: html_data() checks */
}
