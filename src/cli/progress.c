#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "text/progress_text.h"

#define SECOND   1000000000u
#define PATIENCE (SECOND / 4) /* before the first output */

static void write_line(struct buf *to, const struct progress *progress, uint64_t now_ns)
{
    uint64_t done = atomic_load(&progress->work->done);
    uint64_t total = atomic_load(&progress->work->total);

    text_progress_bar(to, progress->what, done, total, progress->ascii);
    if (progress->unit)
        buf_printf(to, "%" PRIu64 " of %" PRIu64 " %s   ", done, total, progress->unit);
    else
        text_progress_bytes(to, done, total, now_ns - progress->begin_ns);
    buf_text(to, "Ctrl-C stops");
}

static void tell(struct work *work)
{
    struct progress *progress = work->user;
    uint64_t now = clock_ns();
    struct buf line = BUF_INIT;

    if (now - progress->begin_ns < PATIENCE ||
        (!progress->terminal && now - progress->reported_ns < SECOND))
        return;
    write_line(&line, progress, now);
    if (progress->terminal)
        fprintf(stderr, "\r%s\033[K", buf_cstr(&line));
    else
        fprintf(stderr, "%s\n", buf_cstr(&line));
    fflush(stderr);
    progress->reported_ns = now;
    progress->shown = true;
    buf_release(&line);
}

void progress_begin(struct progress *progress, struct work *work, const char *what,
                    bool always, bool ascii)
{
    *progress = (struct progress){.work = work, .what = what, .ascii = ascii};
    progress->terminal = isatty(STDERR_FILENO);
    progress->begin_ns = progress->reported_ns = clock_ns();
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
