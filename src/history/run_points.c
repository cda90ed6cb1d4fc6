#include "history/run_points.h"

#include <math.h>
#include <stdlib.h>

#include "history/parcel.h"

/* State for writing the points of one phase. */
struct run_filling {
    const struct run_points *points;
    struct history_writer *writer;
    enum history_phase phase;
    uint8_t *phases;  /* by call */
    uint32_t *calls;  /* by place: calls of this phase so far */
    uint32_t *places; /* by tensor: its first place, or NO_PLACE */
    struct buf name;
    struct buf *parcel; /* instead of the writer, or NULL */
};

static enum history_phase phase_of(const struct run_points *points,
                                   const struct run_call *root)
{
    return root->flags & RUN_GRAD_MODE ? points->graded : HISTORY_EVAL;
}

bool run_points_has(const struct run_points *points, enum history_phase phase)
{
    const struct run *run = points->run;

    if (phase == HISTORY_TRAIN && (run->n_params > 0 || points->n_updates > 0))
        return true;
    for (uint32_t i = 0; i < run->n_calls; i++)
        if (run->calls[i].parent == RUN_NONE &&
            !(run->calls[i].flags & RUN_RECOMPUTED) &&
            phase_of(points, &run->calls[i]) == phase)
            return true;
    return false;
}

static void add_point(struct run_filling *f, uint32_t place, uint32_t call,
                      enum history_kind kind, struct str path,
                      struct history_point *point)
{
    const uint32_t *in_file = f->points->places;
    struct history_series series = {.place = in_file ? in_file[place] : place,
                                    .call = call,
                                    .kind = (uint8_t)kind,
                                    .phase = (uint8_t)f->phase,
                                    .path = path};

    buf_clear(&f->name);
    place_path(f->points->run->model, place, &f->name);
    series.name = buf_span(&f->name);
    if (f->parcel) {
        parcel_point(f->parcel, &series, point);
        return;
    }
    point->series = history_writer_series(f->writer, &series);
    history_writer_point(f->writer, point);
}

/* Do zeros of this class depend on its inputs? Those of dropout are random. */
static bool has_dead(struct str class_name)
{
    return !str_glob(class_name, "*Dropout*");
}

static bool has_saturated(struct str class_name)
{
    return str_ends(class_name, STR("Tanh")) || str_ends(class_name, STR("Sigmoid")) ||
           str_ends(class_name, STR("tanh")) || str_ends(class_name, STR("sigmoid"));
}

/* Dead and saturated units of a result. Dead ones only if nothing is negative, as after
 * a ReLU; saturated ones only for classes with bounds. */
static void add_units(const struct run *run, uint32_t place, const struct units *units,
                      struct history_point *point)
{
    struct str class_name = place_class(run->model, place);

    if (units->n == 0)
        return;
    if (has_saturated(class_name))
        point->extra[EXTRA_SATURATED] = history_number_of(units->saturated);
    else if (has_dead(class_name) && point->stats.min == 0 && point->stats.zeros > 0)
        point->extra[EXTRA_DEAD] = history_number_of(units->dead);
    else
        return;
    point->units = units->n;
}

/* Adds a value as a point, if it was measured. */
static void add_value(struct run_filling *f, uint32_t place, uint32_t call,
                      enum history_kind kind, struct str path, uint32_t number)
{
    const struct run *run = f->points->run;
    const struct run_value *value;
    struct history_point point = {.merged = 1};

    if (number >= run->n_values || !(f->points->kinds & 1u << kind))
        return;
    value = &run->values[number];
    if (value->stats == RUN_NONE)
        return;
    point.stats = run->stats[value->stats];
    point.histogram = value->spread;
    if (kind == HISTORY_OUTPUT)
        add_units(run, place, &value->units, &point);
    add_point(f, place, call, kind, path, &point);
}

/* The norms of a gradient's samples, if they were measured. */
static void add_norms(struct run_filling *f, uint32_t place, uint32_t call,
                      uint8_t io_kind, struct str path, uint32_t number)
{
    enum history_kind kind =
        io_kind == RUN_GRAD_IN ? HISTORY_GRAD_INPUT_NORM : HISTORY_GRAD_OUTPUT_NORM;
    const struct run *run = f->points->run;
    const struct run_norms *norms =
        number < run->n_values ? run->values[number].norms : NULL;
    struct history_point point = {.merged = 1};

    if (!norms || !(f->points->kinds & 1u << kind) ||
        (io_kind != RUN_GRAD_IN && io_kind != RUN_GRAD_OUT))
        return;
    point.stats = norms->stats;
    point.histogram = norms->spread;
    add_point(f, place, call, kind, path, &point);
}

static enum history_kind kind_of_io(uint8_t kind)
{
    static const enum history_kind kinds[] = {[RUN_IN] = HISTORY_INPUT,
                                              [RUN_OUT] = HISTORY_OUTPUT,
                                              [RUN_GRAD_OUT] = HISTORY_GRAD_OUTPUT,
                                              [RUN_GRAD_IN] = HISTORY_GRAD_INPUT};

    return kinds[kind & 3];
}

/* Did a forward pre-hook (FSDP has one) replace this argument? Then forward got the
 * replacement, which is recorded after it. */
static bool is_replaced(const struct run *run, const struct run_call *call, uint32_t k)
{
    for (uint32_t i = k + 1; i < call->ios + call->n_ios; i++)
        if (run->ios[k].kind == RUN_IN && run->ios[i].kind == RUN_IN &&
            run->ios[i].path == run->ios[k].path)
            return true;
    return false;
}

static void add_calls(struct run_filling *f)
{
    const struct run *run = f->points->run;

    for (uint32_t i = 0; i < run->n_calls; i++) {
        const struct run_call *call = &run->calls[i];
        uint32_t number;

        f->phases[i] = (uint8_t)(call->parent < i ? f->phases[call->parent]
                                                  : phase_of(f->points, call));
        if (call->flags & (RUN_RECOMPUTED | RUN_LIGHT) || f->phases[i] != f->phase)
            continue;
        number = f->calls[call->place]++;
        for (uint32_t k = call->ios; k < call->ios + call->n_ios; k++) {
            const struct run_io *io = &run->ios[k];

            if (is_replaced(run, call, k))
                continue;
            add_value(f, call->place, number, kind_of_io(io->kind),
                      run_string(run, io->path), io->value);
            add_norms(f, call->place, number, io->kind, run_string(run, io->path),
                      io->value);
        }
    }
}

/* Calls that the recording merged share one index after the last separate call. They
 * have no histogram. */
static void add_merged(struct run_filling *f)
{
    const struct run *run = f->points->run;

    for (uint32_t i = 0; i < run->n_merged; i++) {
        const struct run_merged *merged = &run->merged[i];
        uint32_t newest = merged->newest, place;

        if (newest >= run->n_calls || f->phases[newest] != f->phase ||
            run->calls[newest].flags & RUN_RECOMPUTED)
            continue;
        place = run->calls[newest].place;
        for (uint32_t k = merged->ios; k < merged->ios + merged->n_ios; k++) {
            const struct run_merged_io *io = &run->merged_ios[k];
            enum history_kind kind = kind_of_io(io->kind);
            struct history_point point = {.merged = merged->calls};

            if (io->stats == RUN_NONE || !(f->points->kinds & 1u << kind))
                continue;
            point.stats = run->stats[io->stats];
            add_point(f, place, f->calls[place], kind, run_string(run, io->path),
                      &point);
        }
    }
}

static void add_attached(struct run_filling *f)
{
    for (uint32_t i = 0; i < f->points->n_attached; i++) {
        const struct history_attached *item = &f->points->attached[i];
        struct history_point point = {
            .merged = 1, .stats = item->stats, .histogram = item->histogram};

        if ((item->graded ? f->points->graded : HISTORY_EVAL) == f->phase &&
            f->points->kinds & 1u << item->kind)
            add_point(f, item->place, item->call, (enum history_kind)item->kind,
                      item->path, &point);
    }
}

/* Flags those of run->params that are the newest of their parameter or gradient: an
 * optimizer may step twice in a step. */
static bool *find_newest(const struct run *run)
{
    bool *newest = calloc(run->n_params + 1, sizeof *newest);
    uint8_t *seen = calloc(run->model->n_tensors + 1, 2);

    for (uint32_t i = run->n_params; newest && seen && i-- > 0;) {
        const struct run_param *param = &run->params[i];
        uint8_t *one = &seen[2 * param->tensor + param->gradient];

        newest[i] = !*one;
        *one = 1;
    }
    free(seen);
    return newest;
}

static void add_params(struct run_filling *f)
{
    const struct run *run = f->points->run;
    bool *newest = find_newest(run);

    for (uint32_t i = 0; newest && i < run->n_params; i++) {
        const struct run_param *param = &run->params[i];

        if (newest[i] && f->places[param->tensor] != NO_PLACE)
            add_value(f, f->places[param->tensor], 0,
                      param->gradient ? HISTORY_GRAD_PARAM : HISTORY_PARAM, STR(""),
                      param->value);
    }
    free(newest);
    for (uint32_t i = 0; i < f->points->n_updates; i++) {
        const struct history_update *update = &f->points->updates[i];
        struct history_point point = {
            .merged = 1, .stats = update->stats, .histogram = update->histogram};

        if (update->tensor >= run->model->n_tensors ||
            f->places[update->tensor] == NO_PLACE ||
            !(f->points->kinds & 1u << HISTORY_UPDATE))
            continue;
        if (!isnan(update->ratio))
            point.extra[EXTRA_RATIO] = history_number_of(update->ratio);
        add_point(f, f->places[update->tensor], 0, HISTORY_UPDATE, STR(""), &point);
    }
}

static void find_places(const struct model *model, uint32_t *places)
{
    for (uint32_t i = 0; i < model->n_tensors; i++)
        places[i] = NO_PLACE;
    for (uint32_t p = model->n_places; p-- > 0;)
        if (model->kind[p] == PLACE_TENSOR && model->object[p] < model->n_tensors)
            places[model->object[p]] = p;
}

static int write_or_pack(const struct run_points *points, enum history_phase phase,
                         struct history_writer *writer, struct buf *parcel)
{
    const struct model *model = points->run->model;
    struct run_filling f = {
        .points = points,
        .writer = writer,
        .parcel = parcel,
        .phase = phase,
        .phases = calloc(points->run->n_calls + 1, sizeof *f.phases),
        .calls = calloc(model->n_places + 1, sizeof *f.calls),
        .places = calloc(model->n_tensors + 1, sizeof *f.places),
        .name = BUF_INIT,
    };
    int status = f.phases && f.calls && f.places ? 0 : -1;

    if (status == 0) {
        find_places(model, f.places);
        add_calls(&f);
        add_merged(&f);
        add_attached(&f);
        if (phase == HISTORY_TRAIN)
            add_params(&f);
    }
    buf_release(&f.name);
    free(f.phases);
    free(f.calls);
    free(f.places);
    return status;
}

int run_points_write(const struct run_points *points, enum history_phase phase,
                     struct history_writer *writer)
{
    return write_or_pack(points, phase, writer, NULL);
}

int run_points_pack(const struct run_points *points, enum history_phase phase,
                    struct buf *parcel)
{
    return write_or_pack(points, phase, NULL, parcel);
}

struct norm_sum {
    double squares;
    bool some, nan, infinite;
};

/* -1: the gradient has no statistics, so the norm is unknown. */
static int add_gradient(struct norm_sum *sum, const struct run *run,
                        const struct run_value *value)
{
    const struct stats *stats;
    double norm, seen;

    if (value->numel == 0)
        return 0;
    if (value->stats == RUN_NONE)
        return -1;
    stats = &run->stats[value->stats];
    sum->nan = sum->nan || stats->nan > 0;
    sum->infinite = sum->infinite || stats->pos_inf > 0 || stats->neg_inf > 0;
    if (!stats_measured(stats))
        return 0;
    norm = stats_l2(stats);
    seen = stats->sampled ? (double)stats->count : 0;
    sum->squares += norm * norm * (seen > 0 ? (double)value->numel / seen : 1);
    sum->some = true;
    return 0;
}

bool run_points_gradient_norm(const struct run *run, double *ret_norm)
{
    bool *newest = find_newest(run);
    struct norm_sum sum = {0};
    bool known = newest != NULL;

    for (uint32_t i = 0; known && i < run->n_params; i++) {
        const struct run_param *param = &run->params[i];

        if (newest[i] && param->gradient && param->value < run->n_values)
            known = add_gradient(&sum, run, &run->values[param->value]) == 0;
    }
    free(newest);
    if (!known || !(sum.some || sum.nan || sum.infinite))
        return false;
    *ret_norm = sum.nan        ? (double)NAN
                : sum.infinite ? (double)INFINITY
                               : sqrt(sum.squares);
    return true;
}
