/* The part of torchoscope info that says whether it would be safe to load a file. */
#include <inttypes.h>

#include "base/base.h"
#include "cli/info_in.h"
#include "show/check_text.h"
#include "show/summary.h"
#include "text/escape.h"
#include "text/width.h"

#define MOST_GLOBALS 40
#define WIDE_GLOBAL  64 /* cells; the name of a longer one sticks out */

/* "✗ posix.system                          1 use   runs a shell command" */
static void tell_global(struct info *info, uint32_t index, size_t cells)
{
    static const char *const signs[] = {"✓", "!", "✗"};
    static const enum colour roles[] = {COLOUR_NONE, COLOUR_WARNING, COLOUR_ALARM};
    const struct pickle_global *global = &info->model->pickle.globals[index];
    const char *about;
    enum trust trust =
        verdict_judge(info->model, &info->session->verdict, index, &about);
    struct buf name = BUF_INIT, uses = BUF_INIT;

    escape_terminal(&name, model_string(info->model, global->name));
    info_number(&uses, check_uses(global), "use ", "uses");
    buf_printf(&info->line, "%s ", signs[trust]);
    text_pad(&info->line, buf_span(&name), cells);
    buf_char(&info->line, ' ');
    text_pad_left(&info->line, buf_span(&uses), 9);
    if (*about)
        buf_printf(&info->line, "  %s", about);
    buf_release(&name);
    buf_release(&uses);
    info_tell(info, "", roles[trust]);
}

/* The cells that names of globals take, as far as they can be aligned. */
static size_t globals_width(const struct info *info)
{
    const struct pickle_log *log = &info->model->pickle;
    size_t most = 0;

    for (uint32_t i = 0; i < log->n_globals; i++) {
        size_t width = text_width(model_string(info->model, log->globals[i].name));

        if (width > most && width <= WIDE_GLOBAL)
            most = width;
    }
    return most;
}

/* Every global, the dangerous ones first. */
static void tell_globals(struct info *info)
{
    static const enum trust order[] = {TRUST_DANGER, TRUST_UNKNOWN, TRUST_KNOWN};
    const struct pickle_log *log = &info->model->pickle;
    size_t cells = globals_width(info);
    uint32_t all = 0;

    for (size_t k = 0; k < COUNT_OF(order); k++)
        for (uint32_t i = 0; i < log->n_globals; i++)
            if (verdict_judge(info->model, &info->session->verdict, i, NULL) ==
                    order[k] &&
                model_string(info->model, log->globals[i].name).len > 0 &&
                all++ < MOST_GLOBALS)
                tell_global(info, i, cells);
    if (all > MOST_GLOBALS) {
        buf_printf(&info->line, "%" PRIu32 " more: --json lists them all",
                   all - MOST_GLOBALS);
        info_tell(info, "", COLOUR_NONE);
    }
}

static void add_meaning(struct info *info)
{
    const struct verdict_sum *sum = &info->session->verdict;

    switch (sum->verdict) {
    case VERDICT_SAFE:
        if (info->model->pickle.n_streams == 0) {
            buf_text(&info->line, "the format holds no code");
        } else if (sum->known == 0) {
            buf_text(&info->line, "it names nothing that a load would call");
        } else {
            info_number(&info->line, sum->known, "global", "globals");
            buf_text(&info->line, ", all on the allow-list");
        }
        break;
    case VERDICT_NEEDS_CODE:
        info_number(&info->line, sum->unknown, "global", "globals");
        buf_text(&info->line, " outside the allow-list; nothing of them was run");
        break;
    case VERDICT_UNSAFE:
        buf_text(&info->line,
                 "a plain load would run something; torchoscope ran nothing");
        break;
    case VERDICT_INCONCLUSIVE:
        buf_text(&info->line, "it could not be decoded to its end");
        break;
    }
}

void info_safety(struct info *info)
{
    enum verdict verdict = info->session->verdict.verdict;

    buf_printf(&info->line, "%s: ", summary_verdict_word(verdict));
    add_meaning(info);
    info_tell(info, "safety", summary_verdict_colour(verdict));
    tell_globals(info);
}
