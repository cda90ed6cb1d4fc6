#include "show/performance.h"

#include "show/run_text.h"
#include "study/slowest.h"
#include "text/text.h"

#define NAME_CELLS  14
#define VALUE_CELLS 10 /* 306.22μs and two blanks */
#define BAR_CELLS   16

/* ---- one module ---- */

/* The shape of its weight, or of another parameter of its own. */
static uint32_t weight_of(const struct model *model, uint32_t place)
{
    uint32_t found = NO_PLACE;

    for (uint32_t p = place_first(model, place); p != NO_PLACE;
         p = place_next(model, p)) {
        if (model->kind[p] != PLACE_TENSOR ||
            place_tensor(model, p)->role != ROLE_PARAMETER)
            continue;
        if (str_is(place_name(model, p), "weight"))
            return p;
        if (found == NO_PLACE)
            found = p;
    }
    return found;
}

static void title_line(struct buf *to, const struct show *show, uint32_t place)
{
    const struct activity *at = &show->activity->at[place];
    uint32_t weight = weight_of(show->model, place);

    run_place(to, show, place);
    if (place > 0) {
        buf_text(to, "   ");
        escape_terminal(to, class_short(place_class(show->model, place)));
    }
    buf_text(to, "   ");
    text_count(to, counts_params(&show->session->places, place));
    buf_text(to, " params");
    if (weight != NO_PLACE) {
        const struct tensor *tensor = place_tensor(show->model, weight);

        buf_text(to, "   Shape: ");
        text_shape(to, tensor_shape(show->model, tensor), tensor->rank);
    }
    buf_text(to, "   Time: ");
    text_time(to, (double)(at->total_ns + at->backward_ns) / 1e9);
    buf_text(to, "   Mem: ");
    text_bytes(to, counts_bytes(&show->session->places, place));
    buf_char(to, '\n');
}

/* "├─ forward()     1.52ms    ████▉             ", ready for what follows. */
static void begin_line(struct buf *to, const char *name, struct str value, double share)
{
    text_pad(to, str_of(name), 3 + NAME_CELLS);
    text_pad(to, value, VALUE_CELLS);
    glyph_bar(to, share, BAR_CELLS, false);
    buf_text(to, "  ");
}

static void end_line(struct buf *to)
{
    while (to->len > 0 && to->at[to->len - 1] == ' ')
        to->len--;
    buf_char(to, '\n');
}

static double share_of(uint64_t ns, const struct activity *at)
{
    uint64_t both = at->total_ns + at->backward_ns;

    return both > 0 ? (double)ns / (double)both : 0;
}

static void add_shape(struct buf *to, const struct show *show, uint32_t place,
                      enum run_io_kind kind)
{
    const struct activity *at = &show->activity->at[place];
    uint32_t value = activity_value(show->session->run, at->newest, kind);

    if (value == RUN_NONE)
        return;
    buf_text(to, kind == RUN_IN ? "Input: " : "Output: ");
    run_shape(to, show->session->run, value);
    if (at->flags & (kind == RUN_IN ? ACTIVITY_IN_VARIES : ACTIVITY_OUT_VARIES))
        buf_char(to, '*');
    buf_text(to, "   ");
}

static bool has_gradient(const struct run *run, uint32_t call)
{
    const struct run_call *c = &run->calls[call];

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++)
        if (run->ios[i].kind == RUN_GRAD_OUT || run->ios[i].kind == RUN_GRAD_IN)
            return true;
    return false;
}

static void backward_line(struct buf *to, const struct show *show, uint32_t place)
{
    const struct activity *at = &show->activity->at[place];
    bool computed = at->backward_ns > 0 || has_gradient(show->session->run, at->newest);
    struct buf value = BUF_INIT;

    if (at->backward_ns > 0)
        text_time(&value, (double)at->backward_ns / 1e9);
    else
        buf_text(&value, computed ? "not known" : "none");
    begin_line(to, "├─ backward()", buf_span(&value), share_of(at->backward_ns, at));
    if (computed)
        buf_text(to, "Gradient: computed");
    end_line(to);
    buf_release(&value);
}

/* "36,864 × 4 bytes"; of parameters of several sizes their number only. */
static void add_parameters(struct buf *to, const struct show *show, uint32_t place)
{
    const struct model *model = show->model;
    uint64_t size = 0, other = 0;
    bool mixed = false;

    for (uint32_t p = place; p < model->end[place]; p++) {
        if (model->kind[p] != PLACE_TENSOR ||
            place_tensor(model, p)->role != ROLE_PARAMETER)
            continue;
        if (!dtype_size(place_tensor(model, p)->dtype, 1, &other))
            mixed = true;
        mixed |= size > 0 && size != other;
        size = other;
    }
    if (counts_params(&show->session->places, place) == 0)
        return;
    buf_text(to, "Parameters: ");
    text_commas(to, counts_params(&show->session->places, place));
    if (!mixed && size > 0)
        buf_printf(to, " × %u %s", (unsigned)size, size == 1 ? "byte" : "bytes");
    buf_text(to, "   ");
}

static void memory_line(struct buf *to, const struct show *show, uint32_t place)
{
    struct buf value = BUF_INIT;

    text_bytes(&value, counts_bytes(&show->session->places, place));
    begin_line(to, "└─ memory", buf_span(&value), 0);
    add_parameters(to, show, place);
    buf_text(to, "Output: ");
    text_bytes(to, run_io_bytes(show->session->run, show->activity->at[place].newest,
                                RUN_OUT));
    end_line(to);
    buf_release(&value);
}

void performance_place(struct buf *to, const struct show *show, uint32_t place)
{
    const struct activity *at = &show->activity->at[place];
    struct buf value = BUF_INIT;

    if (at->calls == 0)
        return;
    title_line(to, show, place);
    text_time(&value, (double)at->total_ns / 1e9);
    begin_line(to, "├─ forward()", buf_span(&value), share_of(at->total_ns, at));
    add_shape(to, show, place, RUN_IN);
    add_shape(to, show, place, RUN_OUT);
    end_line(to);
    backward_line(to, show, place);
    memory_line(to, show, place);
    buf_release(&value);
}

/* ---- the run ---- */

/* " 8.19ms, 9% of run"; behind the first of a list only the share. */
static void add_own_time(struct buf *to, const struct show *show, uint64_t ns,
                         bool first)
{
    buf_char(to, ' ');
    text_time(to, (double)ns / 1e9);
    if (show->activity->total_ns == 0)
        return;
    buf_text(to, ", ");
    run_share(to, ns, show->activity->total_ns);
    buf_text(to, first ? " of run" : "");
}

static int list_slow(struct buf *to, const struct show *show, bool classes,
                     uint32_t most, const char *between, struct err *err)
{
    struct slow_list places, sums;
    const struct slow_list *list = classes ? &sums : &places;
    struct arena arena;

    arena_init(&arena, 0);
    if (slowest_of(&places, &sums, show->activity, show->model, &arena, err) < 0) {
        arena_release(&arena);
        return -1;
    }
    for (uint32_t i = 0; i < list->n && i < most; i++) {
        const struct slow *slow = &list->at[i];
        struct str name = class_short(place_class(show->model, slow->place));

        buf_text(to, i > 0 ? between : "");
        if (classes) {
            text_commas(to, slow->places);
            buf_text(to, " × ");
            escape_terminal(to, name.len > 0 ? name : STR("(class not known)"));
        } else {
            run_place(to, show, slow->place);
        }
        add_own_time(to, show, slow->self_ns, i == 0);
    }
    arena_release(&arena);
    return 0;
}

int performance_slowest(struct buf *to, const struct show *show, uint32_t most,
                        const char *between, struct err *err)
{
    return list_slow(to, show, false, most, between, err);
}

int performance_classes(struct buf *to, const struct show *show, uint32_t most,
                        const char *between, struct err *err)
{
    return list_slow(to, show, true, most, between, err);
}

void performance_measured(struct buf *to, const struct show *show)
{
    const struct run *run = show->session->run;
    uint64_t threads = run_fact(run, "threads", NULL);
    bool device = false;

    for (uint32_t i = 0; i < run->n_devices; i++) {
        struct str name = run_string(run, run->devices[i]);

        device |= name.len > 0 && !str_is(name, "cpu") && !str_is(name, "meta");
    }
    buf_text(to, "CPU clock");
    if (threads > 0) {
        buf_text(to, ", ");
        text_plural(to, threads, "thread", "threads");
    }
    buf_text(to, "; torchoscope's own cost is taken out; ");
    buf_text(to, device ? "host times: work queued on a device is not waited for"
                        : "no device queue to wait for");
}
