#include <math.h>

#include "judge/judge_in.h"
#include "text/number.h"

void judge_say(struct judge *judge, const char *format, ...)
{
    va_list args;

    buf_clear(&judge->text);
    va_start(args, format);
    buf_vprintf(&judge->text, format, args);
    va_end(args);
}

void judge_add(struct judge *judge, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    buf_vprintf(&judge->text, format, args);
    va_end(args);
}

const struct stats *judge_stats(const struct run *run, uint32_t value)
{
    if (value >= run->n_values || run->values[value].stats == RUN_NONE)
        return NULL;
    return &run->stats[run->values[value].stats];
}

uint32_t judge_place_of(const struct model *model, uint32_t tensor)
{
    for (uint32_t p = 0; p < model->n_places; p++)
        if (model->kind[p] == PLACE_TENSOR && model->object[p] == tensor)
            return p;
    return NO_PLACE;
}

const char *judge_kind(const struct stats *stats)
{
    if (stats->nan > 0)
        return "NaN";
    return stats->pos_inf > 0 ? "Inf" : "-Inf";
}

void judge_share(struct judge *judge, const struct stats *stats)
{
    uint64_t bad = stats->nan > 0 ? stats->nan : stats->pos_inf + stats->neg_inf;

    text_commas(&judge->text, bad);
    buf_text(&judge->text, " of ");
    text_commas(&judge->text, stats->count);
}

void judge_magnitude(struct judge *judge, const struct run *run,
                     const struct run_call *call, enum run_io_kind kind)
{
    double most = -1;

    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++) {
        const struct stats *stats =
            run->ios[i].kind == kind ? judge_stats(run, run->ios[i].value) : NULL;

        if (stats && stats_measured(stats) && !isnan(stats->min))
            most = fmax(most, fmax(fabs(stats->min), fabs(stats->max)));
    }
    if (most < 0)
        return;
    buf_text(&judge->text, " (to ");
    text_real(&judge->text, most);
    buf_char(&judge->text, ')');
}

void judge_followed(struct judge *judge, const struct run *run)
{
    uint32_t nan = 0, bad = 0;

    for (uint32_t i = 0; i < run->n_params; i++) {
        const struct stats *stats = judge_stats(run, run->params[i].value);

        if (!run->params[i].gradient || !stats ||
            producer_finite(run, run->params[i].value))
            continue;
        bad++;
        nan += stats->nan > 0;
    }
    if (bad == 0)
        return;
    buf_text(&judge->text, "; ");
    text_plural(&judge->text, bad, nan == bad ? "NaN gradient" : "bad gradient",
                nan == bad ? "NaN gradients" : "bad gradients");
    buf_text(&judge->text, " followed");
}

struct str judge_class(const struct model *model, uint32_t place)
{
    return place < model->n_places ? class_short(place_class(model, place)) : STR("");
}

struct str judge_place_name(struct judge *judge, const struct model *model,
                            uint32_t place)
{
    buf_clear(&judge->name);
    if (place < model->n_places)
        place_path(model, place, &judge->name);
    if (buf_span(&judge->name).len == 0)
        buf_str(&judge->name, judge_class(model, place));
    return buf_span(&judge->name);
}

void judge_give(struct judge *judge, uint64_t number, enum severity severity,
                const char *kind, uint32_t place, struct str name,
                const struct stats *stats, struct str line)
{
    static const uint32_t most[] = {
        [SEVERITY_NOTE] = 20, [SEVERITY_WARNING] = 40, [SEVERITY_ALARM] = 40};
    struct history_alarm *alarm;

    if (judge->given[severity] >= most[severity] ||
        !buf_grow_array(&judge->alarms, judge->n, &judge->room, sizeof *judge->alarms))
        return;
    judge->given[severity]++;
    alarm = &judge->alarms[judge->n++];
    *alarm = (struct history_alarm){
        .step = number,
        .place = place == NO_PLACE ? HISTORY_NONE : place,
        .severity = (uint8_t)severity,
        .kind = str_of(kind),
        .name = arena_str(&judge->arena, name),
        .line = arena_str(&judge->arena, line),
        .text = arena_str(&judge->arena, buf_span(&judge->text))};
    if (stats)
        alarm->stats = *stats;
    else
        stats_init(&alarm->stats, DTYPE_FLOAT32);
}
