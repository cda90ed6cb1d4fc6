#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "text/glyph.h"
#include "text/number.h"

#define SECOND   1000000000u
#define PATIENCE (SECOND / 4) /* before anything is said */
#define BAR      10

/* "1.6 of 4.1GB": the unit is said once if both have the same. */
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

static void write_line(struct buf *to, const struct progress *progress, uint64_t now_ns)
{
    uint64_t done = atomic_load(&progress->work->done);
    uint64_t total = atomic_load(&progress->work->total);
    double seconds = (double)(now_ns - progress->begin_ns) / SECOND;
    double share = total > 0 ? (double)done / (double)total : 0;
    double speed = seconds > 0 ? (double)done / seconds : 0;

    share = share > 1 ? 1 : share;
    buf_printf(to, "%s %d%% ", progress->what, (int)(share * 100));
    glyph_bar(to, share, BAR, progress->ascii);
    buf_char(to, ' ');
    if (progress->unit) {
        buf_printf(to, "%" PRIu64 " of %" PRIu64 " %s   Ctrl-C stops", done, total,
                   progress->unit);
        return;
    }
    add_share(to, done < total ? done : total, total);
    buf_text(to, "   ");
    text_bytes(to, (uint64_t)speed);
    buf_text(to, "/s   ");
    if (speed > 0 && total > done)
        buf_printf(to, "%.0fs left   ", (double)(total - done) / speed);
    buf_text(to, "Ctrl-C stops");
}

static void tell(struct work *work)
{
    struct progress *progress = work->user;
    uint64_t now = clock_ns();
    struct buf line = BUF_INIT;

    if (now - progress->begin_ns < PATIENCE ||
        (!progress->terminal && now - progress->told_ns < SECOND))
        return;
    write_line(&line, progress, now);
    if (progress->terminal)
        fprintf(stderr, "\r%s\033[K", buf_cstr(&line));
    else
        fprintf(stderr, "%s\n", buf_cstr(&line));
    fflush(stderr);
    progress->told_ns = now;
    progress->shown = true;
    buf_release(&line);
}

void progress_begin(struct progress *progress, struct work *work, const char *what,
                    bool always, bool ascii)
{
    *progress = (struct progress){.work = work, .what = what, .ascii = ascii};
    progress->terminal = isatty(STDERR_FILENO);
    progress->begin_ns = progress->told_ns = clock_ns();
    if (!progress->terminal && !always)
        return;
    work->user = progress;
    work->progress = tell;
}

void progress_hide(struct progress *progress)
{
    if (progress->terminal && progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}

void progress_end(struct progress *progress)
{
    progress->work->progress = NULL;
    progress_hide(progress);
}
