#include "rows/run_words.h"

#include "text/text.h"

void run_time(struct buf *to, uint64_t ns)
{
    if (ns >= 1000)
        text_time(to, (double)ns / 1e9);
}

void run_shape(struct buf *to, const struct run *run, uint32_t value)
{
    const struct run_value *v = &run->values[value];

    text_shape(to, run->dims + v->shape, v->rank);
}

bool run_finite(const struct run *run, uint32_t value)
{
    const struct stats *stats;

    if (value == RUN_NONE || run->values[value].stats == RUN_NONE)
        return true;
    stats = &run->stats[run->values[value].stats];
    return stats->nan + stats->pos_inf + stats->neg_inf == 0;
}

void run_not_finite(struct buf *to, uint64_t nan, uint64_t inf)
{
    if (nan > 0) {
        buf_text(to, "NaN ");
        text_count(to, nan);
    }
    if (inf > 0) {
        buf_text(to, nan > 0 ? " Inf " : "Inf ");
        text_count(to, inf);
    }
}

uint64_t run_io_bytes(const struct run *run, uint32_t call, enum run_io_kind kind)
{
    const struct run_call *c = &run->calls[call];
    uint32_t last = RUN_NONE;
    uint64_t sum = 0;

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++) {
        const struct run_io *io = &run->ios[i];

        if (io->kind != kind || io->value == RUN_NONE || io->value == last)
            continue;
        last = io->value;
        sum += run->values[last].bytes;
    }
    return sum;
}

enum run_absent run_absent(const struct show *show, uint32_t place)
{
    const struct activity *at = &show->activity->at[place];

    if (at->calls > 0 || show->model->kind[place] != PLACE_MODULE)
        return RUN_ABSENT_NOT;
    if (at->flags & ACTIVITY_NOT_REACHED)
        return RUN_NOT_REACHED;
    if (at->gap == RUN_NONE ||
        run_fact_id(show->session->run, RUN_CAPSULE_FACT) != VALUE_ID_NONE)
        return RUN_ABSENT_NOT;
    switch (show->session->run->gaps[at->gap].kind) {
    case RUN_GAP_FUSED:
        return RUN_IN_FUSED;
    case RUN_GAP_COMPILED:
        return RUN_IN_COMPILED;
    case RUN_GAP_SCRIPTED:
        return RUN_IN_SCRIPTED;
    case RUN_GAP_DIRECT:
        return RUN_CALLED_DIRECTLY;
    default:
        return RUN_NOT_CALLED;
    }
}

const char *run_gap_word(const struct show *show, uint32_t place)
{
    static const char *const words[] = {
        [RUN_ABSENT_NOT] = NULL,
        [RUN_NOT_REACHED] = "not reached",
        [RUN_NOT_CALLED] = "not called",
        [RUN_IN_FUSED] = "fused",
        [RUN_IN_COMPILED] = "compiled region",
        [RUN_IN_SCRIPTED] = "scripted",
        [RUN_CALLED_DIRECTLY] = "called directly",
    };

    return words[run_absent(show, place)];
}

void run_place(struct buf *to, const struct show *show, uint32_t place)
{
    struct buf path = BUF_INIT;
    struct str class_name = class_short(place_class(show->model, place));

    if (place > 0) {
        place_path(show->model, place, &path);
        escape_terminal(to, buf_span(&path));
        buf_release(&path);
    } else if (class_name.len > 0) {
        escape_terminal(to, class_name);
    } else {
        buf_text(to, "the model");
    }
}

uint64_t run_fact(const struct run *run, const char *key, struct str *ret_text)
{
    uint32_t id = run_fact_id(run, key);
    const struct value *value;

    if (id == VALUE_ID_NONE)
        return 0;
    value = value_at(&run->plain, id);
    if (ret_text && value->kind == VALUE_STR)
        *ret_text = value_text(&run->plain, id);
    return value->kind == VALUE_INT && value->integer > 0 ? (uint64_t)value->integer
                                                          : 0;
}

void run_share(struct buf *to, uint64_t part, uint64_t whole)
{
    struct buf percent = BUF_INIT;

    text_percent(&percent, (double)part, (double)whole);
    buf_str(to, str_trim(buf_span(&percent)));
    buf_release(&percent);
}

uint64_t run_backward(const struct show *show, uint32_t place, bool *ret_least)
{
    uint64_t sum = 0;

    *ret_least = show->activity->at[place].backward_ns == 0;
    for (uint32_t p = place; p < show->model->end[place];) {
        uint64_t ns = show->activity->at[p].backward_ns;

        sum += ns;
        p = ns > 0 ? show->model->end[p] : p + 1;
    }
    return sum;
}
