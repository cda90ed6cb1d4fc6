/* Alarms and gaps of a run, as sentences. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "facts/run_text.h"
#include "text/text.h"

#define MOST_NAMES  6  /* of modules in one line */
#define MOST_GROUPS 32 /* of gaps that are told by their text */
#define MOST_ERROR  400

struct notes {
    const struct show *show;
    const struct run *run;
    struct arena *arena;
    struct run_lines *lines;
    struct buf line;
    bool *ran; /* by place: something below it was called */
};

/* The line is complete. */
static int add_line(struct notes *n, enum severity severity)
{
    struct run_lines *lines = n->lines;
    const char *text = arena_str(n->arena, buf_span(&n->line)).at;

    buf_clear(&n->line);
    if (!text ||
        arena_room(n->arena, &lines->at, lines->n, &lines->room, sizeof *lines->at) < 0)
        return -1;
    lines->at[lines->n++] = (struct run_line){severity, text};
    return 0;
}

/* ---- alarms ---- */

bool run_alarmed(const struct activities *activity)
{
    return activity->spoilt_call != RUN_NONE || activity->raising_call != RUN_NONE;
}

/* ", call 3 (net.py:12)": which of several, and where it was made. */
static void add_which(struct notes *n, const struct run_call *call)
{
    if (n->show->activity->at[call->place].calls > 1)
        buf_printf(&n->line, ", call %u", call->number + 1);
    if (call->line) {
        buf_text(&n->line, " (");
        escape_terminal(&n->line, run_string(n->run, call->line));
        buf_char(&n->line, ')');
    }
}

/* The statistics of its first result that is not finite. */
static const struct stats *bad_result(const struct run *run,
                                      const struct run_call *call)
{
    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++)
        if (run->ios[i].kind == RUN_OUT && !run_finite(run, run->ios[i].value))
            return &run->stats[run->values[run->ios[i].value].stats];
    return NULL;
}

/* What had values that are not finite before this call: an input, or a parameter. */
static void add_earlier(struct notes *n, const struct run_call *call)
{
    const struct model *model = n->show->model;
    uint32_t place = model->objects[call->object].place;

    for (uint32_t i = 0; i < n->run->n_params; i++) {
        const struct run_param *param = &n->run->params[i];
        uint32_t at = model->tensors[param->tensor].place;

        if (param->gradient || param->step > call->step || at < place ||
            place >= model->n_places || at >= model->end[place] ||
            run_finite(n->run, param->value))
            continue;
        run_place(&n->line, n->show, at);
        buf_text(&n->line, " had some before");
        return;
    }
    buf_text(&n->line, "its input had some already");
}

/* "log made the first NaN (net.py:35): 5 of the 12 values of its result; all that went
 * in was finite" */
static int tell_spoilt(struct notes *n)
{
    const struct activities *all = n->show->activity;
    bool produced = all->producing_call != RUN_NONE;
    const struct run_call *call;
    const struct stats *stats;

    if (all->spoilt_call == RUN_NONE)
        return 0;
    call = &n->run->calls[produced ? all->producing_call : all->spoilt_call];
    stats = bad_result(n->run, call);
    run_place(&n->line, n->show, call->place);
    buf_printf(&n->line, " %s the first %s", produced ? "made" : "gave",
               stats->nan ? "NaN" : "Inf");
    add_which(n, call);
    buf_text(&n->line, ": ");
    text_commas(&n->line, stats->nan ? stats->nan : stats->pos_inf + stats->neg_inf);
    buf_text(&n->line, " of the ");
    text_plural(&n->line, stats->count, "value", "values");
    buf_text(&n->line, " of its result; ");
    if (produced)
        buf_text(&n->line, "all that went in was finite");
    else
        add_earlier(n, call);
    return add_line(n, SEVERITY_ALARM);
}

/* ", got 3×5, its weight is 2×6" */
static void add_wanted(struct notes *n, uint32_t c)
{
    const struct model *model = n->show->model;
    uint32_t place = n->run->calls[c].place;
    uint32_t value = activity_value(n->run, c, RUN_IN);

    if (value != RUN_NONE) {
        buf_text(&n->line, "; got ");
        run_shape(&n->line, n->run, value);
    }
    for (uint32_t p = place_first(model, place); p != NO_PLACE;
         p = place_next(model, p)) {
        if (model->kind[p] != PLACE_TENSOR || !str_is(place_name(model, p), "weight"))
            continue;
        buf_text(&n->line, value == RUN_NONE ? "; its weight is " : ", its weight is ");
        text_shape(&n->line, tensor_shape(model, place_tensor(model, p)),
                   place_tensor(model, p)->rank);
        break;
    }
}

/* "2.0 raised RuntimeError: mat1 and ... (net.py:44); got 3×5, its weight is 2×6" */
static int tell_raised(struct notes *n)
{
    uint32_t c = n->show->activity->raising_call;
    const struct run_call *call;
    struct str error;

    if (c == RUN_NONE)
        return 0;
    call = &n->run->calls[c];
    error = run_string(n->run, call->error);
    run_place(&n->line, n->show, call->place);
    if (error.len > 0) {
        buf_text(&n->line, " raised ");
        escape_terminal(
            &n->line, str_head(error, error.len < MOST_ERROR ? error.len : MOST_ERROR));
    } else {
        buf_text(&n->line, call->flags & RUN_ABORTED ? " did not come back"
                                                     : " raised an exception");
    }
    add_which(n, call);
    add_wanted(n, c);
    return add_line(n, SEVERITY_ALARM);
}

/* ---- gaps about modules without calls ---- */

static int find_ran(struct notes *n)
{
    const struct activities *all = n->show->activity;

    n->ran = arena_array(n->arena, (size_t)all->n + 1, sizeof *n->ran);
    for (uint32_t p = all->n; n->ran && p-- > 1;)
        n->ran[n->show->model->parent[p]] |= n->ran[p] || all->at[p].calls > 0;
    return n->ran ? 0 : -1;
}

/* A name is left out where that of what stands around it says it all. */
static void add_names(struct notes *n, const char *word)
{
    const struct model *model = n->show->model;
    uint32_t shown = 0, more = 0;

    for (uint32_t p = 0; p < model->n_places; p++) {
        const char *own = run_gap_word(n->show, p);

        if (!own || strcmp(own, word) != 0)
            continue;
        if (shown < MOST_NAMES) {
            buf_text(&n->line, shown++ == 0 ? ": " : ", ");
            run_place(&n->line, n->show, p);
        } else {
            more++;
        }
        if (!n->ran[p])
            p = model->end[p] - 1;
    }
    if (more > 0) {
        buf_text(&n->line, " and ");
        text_commas(&n->line, more);
        buf_text(&n->line, " more");
    }
}

static uint32_t count_word(const struct show *show, const char *word)
{
    uint32_t count = 0;

    for (uint32_t p = 0; p < show->model->n_places; p++) {
        const char *own = run_gap_word(show, p);

        count += own && strcmp(own, word) == 0;
    }
    return count;
}

static int tell_not_called(struct notes *n)
{
    static const struct {
        const char *word, *text;
    } kinds[] = {
        {"not reached", "not reached"},
        {"not called", "not called"},
        {"fused", "not called, as a fused kernel did the work"},
        {"compiled region", "not seen inside compiled code"},
        {"scripted", "not seen inside TorchScript"},
        {"called directly", "not seen, as forward() was called directly"},
    };

    if (find_ran(n) < 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        uint32_t count = count_word(n->show, kinds[i].word);

        if (count == 0)
            continue;
        text_plural(&n->line, count, "module was ", "modules were ");
        buf_text(&n->line, kinds[i].text);
        add_names(n, kinds[i].word);
        if (add_line(n, SEVERITY_NOTE) < 0)
            return -1;
    }
    return 0;
}

/* ---- other gaps ---- */

struct group {
    uint32_t first, n; /* the first gap with this text, and how many there are */
};

/* "layer1 and 3 more: no gradient could be attached" */
static int tell_group(struct notes *n, const struct group *group)
{
    const struct run_gap *gap = &n->run->gaps[group->first];
    uint32_t place = gap->object < n->show->model->n_objects
                         ? n->show->model->objects[gap->object].place
                         : NO_PLACE;

    if (place < n->show->model->n_places) {
        run_place(&n->line, n->show, place);
        if (group->n > 1) {
            buf_text(&n->line, " and ");
            text_commas(&n->line, group->n - 1);
            buf_text(&n->line, " more");
        }
        buf_text(&n->line, ": ");
    }
    escape_terminal(&n->line, run_string(n->run, gap->text));
    return add_line(n, gap->kind == RUN_GAP_LIMIT || gap->kind == RUN_GAP_ERROR
                           ? SEVERITY_WARNING
                           : SEVERITY_NOTE);
}

/* Does the gap say more than why a module has no calls? */
static bool is_other(const struct notes *n, const struct run_gap *gap)
{
    uint32_t place = gap->object < n->show->model->n_objects
                         ? n->show->model->objects[gap->object].place
                         : NO_PLACE;

    if (!run_is_gap(gap))
        return false;
    return gap->kind > RUN_GAP_CONTAINER || place >= n->show->activity->n ||
           n->show->activity->at[place].calls > 0;
}

static int tell_others(struct notes *n)
{
    struct group groups[MOST_GROUPS];
    uint32_t n_groups = 0, left_out = 0, g;

    for (uint32_t i = 0; i < n->run->n_gaps; i++) {
        const struct run_gap *gap = &n->run->gaps[i];

        if (!is_other(n, gap))
            continue;
        for (g = 0; g < n_groups; g++)
            if (n->run->gaps[groups[g].first].text == gap->text &&
                n->run->gaps[groups[g].first].kind == gap->kind)
                break;
        if (g < n_groups)
            groups[g].n++;
        else if (n_groups < MOST_GROUPS)
            groups[n_groups++] = (struct group){i, 1};
        else
            left_out++;
    }
    for (g = 0; g < n_groups; g++)
        if (tell_group(n, &groups[g]) < 0)
            return -1;
    if (left_out == 0)
        return 0;
    text_commas(&n->line, left_out);
    buf_text(&n->line, " further gaps: --json lists them all");
    return add_line(n, SEVERITY_NOTE);
}

int run_notes(struct run_lines *ret_lines, const struct show *show, struct arena *arena,
              struct err *err)
{
    struct run_lines lines = {0};
    struct notes n = {
        .show = show, .run = show->session->run, .arena = arena, .lines = &lines};
    int result = 0;

    if (tell_raised(&n) < 0 || tell_spoilt(&n) < 0 || tell_not_called(&n) < 0 ||
        tell_others(&n) < 0)
        result = arena_err(arena, "what is to be said of the run", err);
    else
        *ret_lines = lines;
    buf_release(&n.line);
    return result;
}
