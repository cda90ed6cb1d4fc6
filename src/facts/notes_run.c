/* Exceptions in a run, and the origin of NaN and Inf. */
#include "base/base.h"
#include "facts/notes.h"
#include "rows/run_words.h"
#include "text/text.h"

#define MOST_ERROR 400

bool notes_alarmed(const struct activities *activity)
{
    return activity->spoilt_call != RUN_NONE || activity->raising_call != RUN_NONE;
}

/* --- Exceptions */

static uint32_t weight_of(const struct model *model, uint32_t place)
{
    for (uint32_t p = place_first(model, place); p != NO_PLACE;
         p = place_next(model, p))
        if (model->kind[p] == PLACE_TENSOR && str_is(place_name(model, p), "weight"))
            return p;
    return NO_PLACE;
}

/* ", call 3 (net.py:12)": the call index, if there are several, and the call site. */
static void add_which(struct facts *to, const struct show *show, uint32_t c)
{
    const struct run *run = show->session->run;
    const struct run_call *call = &run->calls[c];

    if (show->activity->at[call->place].calls > 1) {
        buf_printf(&to->text, ", call %u", call->number + 1);
    }
    if (call->line) {
        buf_text(&to->text, " (");
        fact_text(to, "line", run_string(run, call->line));
        buf_char(&to->text, ')');
    }
}

/* "; got 3×5, its weight is 2×6" */
static void add_wanted(struct facts *to, const struct show *show, uint32_t c)
{
    const struct run *run = show->session->run;
    uint32_t value = activity_value(run, c, RUN_IN);
    uint32_t weight = weight_of(show->model, run->calls[c].place);

    if (value != RUN_NONE) {
        buf_text(&to->text, "; got ");
        fact_run_shape(to, "got", run, value);
    }
    if (weight != NO_PLACE) {
        buf_text(&to->text,
                 value == RUN_NONE ? "; its weight is " : ", its weight is ");
        fact_tensor_shape(to, "weight", show->model, weight);
    }
}

/* "2.0 raised RuntimeError: mat1 and ... (net.py:44); got 3×5, its weight is 2×6" */
static void raised_fact(struct facts *to, const struct show *show)
{
    uint32_t c = show->activity->raising_call;
    const struct run_call *call;
    struct str error;

    if (c == RUN_NONE)
        return;
    call = &show->session->run->calls[c];
    error = run_string(show->session->run, call->error);
    fact_place(to, "place", show, call->place);
    if (error.len > 0) {
        buf_text(&to->text, " raised ");
        fact_text(to, "error",
                  str_head(error, error.len < MOST_ERROR ? error.len : MOST_ERROR));
    } else {
        buf_text(&to->text, call->flags & RUN_ABORTED ? " did not come back"
                                                      : " raised an exception");
    }
    add_which(to, show, c);
    add_wanted(to, show, c);
    fact_end_as(to, "raised", "✗ alarm", COLOUR_ALARM);
}

/* "expects …×2048": the input dimension that its weight requires. */
static void add_wants(struct buf *to, const struct model *model, uint32_t place,
                      const struct tensor *weight)
{
    const int64_t *shape = tensor_shape(model, weight);
    struct str name = class_short(place_class(model, place));
    const struct object *object = place_object(model, place);
    bool transposed = str_find(name, STR("Transpose")) >= 0;
    const struct value *groups;
    uint32_t id;
    int64_t channels;

    if (str_find(name, STR("Conv")) >= 0 && weight->rank > 2) {
        channels = shape[transposed ? 0 : 1];
        if (!transposed && object &&
            value_get(&model->values, object->args, "groups", &id)) {
            groups = value_at(&model->values, id);
            channels *= groups->kind == VALUE_INT ? groups->integer : 1;
        }
        buf_printf(to, "expects …×%lld", (long long)channels);
        for (int i = 2; i < weight->rank; i++)
            buf_text(to, "×…");
    } else if (str_find(name, STR("Linear")) >= 0 && weight->rank == 2) {
        buf_printf(to, "expects …×%lld", (long long)shape[1]);
    } else {
        buf_text(to, "is ");
        text_shape(to, shape, weight->rank);
    }
}

static void place_raised(struct facts *to, const struct show *show, uint32_t place)
{
    const struct model *model = show->model;
    const struct run *run = show->session->run;
    uint32_t c = show->activity->at[place].newest, weight, value;
    const struct run_call *call = &run->calls[c];

    if (call->error)
        escape_terminal(&to->text, run_string(run, call->error));
    else
        buf_text(&to->text,
                 call->flags & RUN_ABORTED ? "it did not come back" : "an exception");
    fact_end_as(to, "raised", "✗ raised", COLOUR_ALARM);
    value = activity_value(run, c, RUN_IN);
    if (value != RUN_NONE) {
        fact_run_shape(to, "shape", run, value);
        fact_end_as(to, "got", "  got", COLOUR_NONE);
    }
    weight = weight_of(model, place);
    if (weight != NO_PLACE) {
        add_wants(&to->text, model, place, place_tensor(model, weight));
        fact_named(to, "weight", FIGURE_PLACE, weight);
        fact_end_as(to, "weight", "  weight", COLOUR_NONE);
    }
    if (call->line) {
        fact_text(to, "line", run_string(run, call->line));
        fact_end_as(to, "called", "  called", COLOUR_NONE);
    }
}

/* --- NaN and Inf */

/* The statistics of its first result that is not finite. */
static const struct stats *bad_result(const struct run *run,
                                      const struct run_call *call)
{
    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++)
        if (run->ios[i].kind == RUN_OUT && !run_finite(run, run->ios[i].value))
            return &run->stats[run->values[run->ios[i].value].stats];
    return NULL;
}

/* The earlier NaN or Inf: in a parameter, else in an input. */
static void add_earlier(struct facts *to, const struct show *show,
                        const struct run_call *call)
{
    const struct model *model = show->model;
    const struct run *run = show->session->run;
    uint32_t place = model->objects[call->object].place;

    for (uint32_t i = 0; i < run->n_params; i++) {
        const struct run_param *param = &run->params[i];
        uint32_t at = model->tensors[param->tensor].place;

        if (param->gradient || param->step > call->step || at < place ||
            place >= model->n_places || at >= model->end[place] ||
            run_finite(run, param->value))
            continue;
        fact_place(to, "earlier", show, at);
        buf_text(&to->text, " had some before");
        return;
    }
    buf_text(&to->text, "its input had some already");
}

/* "log made the first NaN (net.py:35): 5 of the 12 values of its result; all that went
 * in was finite" */
static void not_finite_fact(struct facts *to, const struct show *show,
                            const char *label)
{
    const struct activities *all = show->activity;
    const struct run *run = show->session->run;
    bool produced = all->producing_call != RUN_NONE;
    uint32_t c = produced ? all->producing_call : all->spoilt_call;
    const struct stats *stats;

    if (all->spoilt_call == RUN_NONE)
        return;
    stats = bad_result(run, &run->calls[c]);
    fact_place(to, "place", show, run->calls[c].place);
    buf_printf(&to->text, " %s the first %s", produced ? "made" : "gave",
               stats->nan ? "NaN" : "Inf");
    add_which(to, show, c);
    buf_text(&to->text, ": ");
    fact_count(to, stats->nan ? "nan" : "inf",
               stats->nan ? stats->nan : stats->pos_inf + stats->neg_inf);
    buf_text(&to->text, " of the ");
    fact_plural(to, "values", stats->count, "value", "values");
    buf_text(&to->text, " of its result; ");
    if (produced)
        buf_text(&to->text, "all inputs were finite");
    else
        add_earlier(to, show, &run->calls[c]);
    fact_end_as(to, "not_finite", label, COLOUR_ALARM);
}

static void place_not_finite(struct facts *to, const struct show *show, uint32_t place)
{
    const struct activities *all = show->activity;
    const struct activity *at = &all->at[place];

    if (place == all->first_producer) {
        not_finite_fact(to, show, "✗ values");
    } else if (at->flags & ACTIVITY_PRODUCER) {
        buf_text(&to->text, "made ");
        run_not_finite(&to->text, at->nan, at->inf);
        buf_text(&to->text, "; all inputs were finite");
        fact_end_as(to, "not_finite", "✗ values", COLOUR_ALARM);
    } else if (at->nan + at->inf > 0) {
        run_not_finite(&to->text, at->nan, at->inf);
        buf_text(&to->text, " in its results, passed on");
        fact_end_as(to, "not_finite", "values", COLOUR_ALARM)->target =
            all->first_producer == NO_PLACE ? NO_TARGET : all->first_producer;
    }
}

/* --- All alarms */

/* "log made the first NaN", "fc raised an exception" */
static void add_module(struct facts *to, const struct show *show, uint32_t place)
{
    const struct activity *at = &show->activity->at[place];

    fact_place(to, "place", show, place);
    if (at->flags & ACTIVITY_RAISED)
        buf_text(&to->text, " raised an exception");
    else
        buf_printf(&to->text, " made %s%s",
                   place == show->activity->first_producer ? "the first " : "",
                   at->nan > 0 ? "NaN" : "Inf");
}

void note_module(struct facts *to, const struct show *show, uint32_t place)
{
    add_module(to, show, place);
    fact_end_as(to, "module", "✗ alarm", COLOUR_ALARM);
}

/* The first alarm below it. */
static void below_fact(struct facts *to, const struct show *show, uint32_t place)
{
    const struct activity *at = show->activity->at;

    for (uint32_t p = place + 1; p < show->model->end[place]; p++) {
        if (!(at[p].flags & (ACTIVITY_RAISED | ACTIVITY_PRODUCER)))
            continue;
        add_module(to, show, p);
        fact_end_as(to, "below", "! below", COLOUR_WARNING);
        return;
    }
}

void notes_place(struct facts *to, const struct show *show, uint32_t place)
{
    const struct activity *at;

    if (!show->activity || show->model->kind[place] != PLACE_MODULE)
        return;
    at = &show->activity->at[place];
    if (at->flags & ACTIVITY_RAISED && at->newest != RUN_NONE)
        place_raised(to, show, place);
    place_not_finite(to, show, place);
    if (at->flags & ACTIVITY_BELOW)
        below_fact(to, show, place);
    notes_no_gradient_at(to, show, place);
}

void notes_alarms(struct facts *to, const struct show *show)
{
    raised_fact(to, show);
    not_finite_fact(to, show, "✗ alarm");
    notes_no_gradient(to, show);
}

int notes_run(struct facts *to, const struct show *show, struct err *err)
{
    notes_alarms(to, show);
    return notes_gaps(to, show, err);
}
