#include "text/progress_text.h"

#include <string.h>

#include "text/glyph.h"
#include "text/number.h"

#define SECOND 1000000000u
#define BAR    10

void text_progress_bar(struct buf *to, const char *what, uint64_t done, uint64_t total,
                       bool ascii)
{
    double share = total > 0 ? (double)done / (double)total : 0;

    share = share > 1 ? 1 : share;
    buf_printf(to, "%s %d%% ", what, (int)(share * 100));
    glyph_bar(to, share, BAR, ascii);
    buf_char(to, ' ');
}

/* "1.6 of 4.1GB": a common unit is written once. */
static void add_share(struct buf *to, uint64_t done, uint64_t total)
{
    struct buf a = BUF_INIT, b = BUF_INIT;
    size_t unit_a, unit_b;

    text_bytes(&a, done);
    text_bytes(&b, total);
    unit_a = strspn(buf_cstr(&a), "0123456789.");
    unit_b = strspn(buf_cstr(&b), "0123456789.");
    if (strcmp(buf_cstr(&a) + unit_a, buf_cstr(&b) + unit_b) == 0)
        buf_printf(to, "%.*s of %s", (int)unit_a, buf_cstr(&a), buf_cstr(&b));
    else
        buf_printf(to, "%s of %s", buf_cstr(&a), buf_cstr(&b));
    buf_release(&a);
    buf_release(&b);
}

void text_progress_bytes(struct buf *to, uint64_t done, uint64_t total, uint64_t ns)
{
    double seconds = (double)ns / SECOND;
    double speed = seconds > 0 ? (double)done / seconds : 0;

    add_share(to, done < total ? done : total, total);
    buf_text(to, "   ");
    text_bytes(to, (uint64_t)speed);
    buf_text(to, "/s   ");
    if (speed > 0 && total > done)
        buf_printf(to, "%.0fs left   ", (double)(total - done) / speed);
}
