/* What `info` says of a recording. */
#include "cli/info_in.h"
#include "show/performance.h"
#include "show/run_text.h"
#include "text/escape.h"

#define MOST_SLOW 5

/* "torch 2.13.0": a fact that is a text. */
static void add_text(struct info *info, const char *name, const char *key)
{
    struct str text = STR("");

    run_fact(info->session->run, key, &text);
    if (text.len == 0)
        return;
    buf_printf(&info->line, "%s%s", info->line.len > 0 ? ", " : "", name);
    escape_terminal(&info->line, text);
}

/* Each line of what was written becomes one of ours; only the first has the label. */
static void tell_lines(struct info *info, const char *label)
{
    struct buf all = info->line;
    struct str rest = buf_span(&all), line;

    info->line = (struct buf)BUF_INIT;
    while (rest.len > 0 && str_split(&rest, '\n', &line)) {
        buf_str(&info->line, line);
        info_tell(info, label, COLOUR_NONE);
        label = "";
    }
    buf_release(&all);
}

int info_run_lines(struct info *info, struct err *err)
{
    const struct show *show = &info->show;

    add_text(info, "", "when");
    add_text(info, "torch ", "torch");
    add_text(info, "Python ", "python");
    add_text(info, "mode ", "mode");
    if (info->line.len > 0)
        info_tell(info, "recorded", COLOUR_NONE);
    run_passes(&info->line, show);
    info_tell(info, "run", COLOUR_NONE);
    buf_text(&info->line, "recording added ");
    run_cost(&info->line, info->session->run);
    info_tell(info, "cost", COLOUR_NONE);
    if (performance_slowest(&info->line, show, MOST_SLOW, "\n", err) < 0)
        return -1;
    tell_lines(info, "slowest");
    if (performance_classes(&info->line, show, MOST_SLOW, "\n", err) < 0)
        return -1;
    tell_lines(info, "by class");
    performance_measured(&info->line, show);
    info_tell(info, "measured", COLOUR_NONE);
    return 0;
}
