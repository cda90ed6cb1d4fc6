#include "make_training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "history/writer.h"
#include "measure/spread.h"

#define ELEMENTS 256
#define SECOND   1000000000ull
#define BEGIN    (1767323045ull * SECOND) /* 2026-01-02T03:04:05Z */

static const char *const params[] = {"conv1.weight", "layer1.0.weight", "fc.weight"};
enum { PARAMS = sizeof params / sizeof *params };

struct training_play {
    struct history_writer *writer;
    struct spread_counter *counter;
    uint32_t param[PARAMS], grad[PARAMS], update[PARAMS], output, grad_output;
    uint32_t loss, rate, norm;
    uint64_t seed;
    struct buf packed;
};

/* Sums of four uniform numbers: nearly normal, and the same with every libm. */
static double normal(struct training_play *play)
{
    double sum = 0;

    for (int i = 0; i < 4; i++) {
        play->seed = play->seed * 6364136223846793005ull + 1442695040888963407ull;
        sum += (double)(play->seed >> 40) / (1 << 24) - 0.5;
    }
    return sum * 1.7;
}

static void write_point(struct training_play *play, uint32_t series, double scale,
                        double ratio, uint32_t bad)
{
    struct history_point point = {.series = series, .merged = 1};
    struct spread spread = {0};
    float at[ELEMENTS];

    for (uint32_t i = 0; i < ELEMENTS; i++)
        at[i] = i < bad ? NAN : (float)(scale * normal(play));
    stats_init(&point.stats, DTYPE_FLOAT32);
    stats_add(&point.stats, NULL, DTYPE_FLOAT32, at, ELEMENTS, 0, MEASURE_EXACT);
    spread_of(play->counter, DTYPE_FLOAT32, at, ELEMENTS, SPREAD_ALL, &spread, NULL);
    buf_clear(&play->packed);
    spread_pack(&spread, &play->packed);
    spread_release(&spread);
    point.histogram = buf_span(&play->packed);
    if (!(ratio < 0))
        point.extra[EXTRA_RATIO] = history_number_of(ratio);
    history_writer_point(play->writer, &point);
}

static uint32_t declare(struct training_play *play, const struct model *model,
                        const char *name, enum history_kind kind)
{
    const struct history_series series = {.place = place_find(model, str_of(name)),
                                          .kind = (uint8_t)kind,
                                          .name = str_of(name)};

    return history_writer_series(play->writer, &series);
}

static void begin(struct training_play *play, const struct model *model)
{
    for (int i = 0; i < PARAMS; i++) {
        play->param[i] = declare(play, model, params[i], HISTORY_PARAM);
        play->grad[i] = declare(play, model, params[i], HISTORY_GRAD_PARAM);
        play->update[i] = declare(play, model, params[i], HISTORY_UPDATE);
    }
    play->output = declare(play, model, "blocks.0", HISTORY_OUTPUT);
    play->grad_output = declare(play, model, "blocks.0", HISTORY_GRAD_OUTPUT);
    play->loss = history_writer_name(play->writer, STR("loss"));
    play->rate = history_writer_name(play->writer, STR("lr/0"));
    play->norm = history_writer_name(play->writer, STR("grad_norm"));
}

/* A step whose numbers all follow from the loss, the learning rate and the scales. */
struct moment {
    double loss, rate, grad, weight;
    uint32_t bad; /* NaN in each gradient */
};

static void write_step(struct training_play *play, uint64_t number,
                       const struct moment *moment)
{
    double ratio = moment->rate * moment->grad / moment->weight;

    history_writer_begin(play->writer, number, HISTORY_TRAIN, BEGIN + number * SECOND);
    for (int i = 0; i < PARAMS; i++) {
        double part = i + 1;

        write_point(play, play->param[i], moment->weight / part, -1, 0);
        write_point(play, play->grad[i], moment->grad / part, -1, moment->bad);
        write_point(play, play->update[i], moment->grad * moment->rate / part,
                    moment->bad ? NAN : ratio / part, moment->bad);
    }
    write_point(play, play->output, 1, -1, 0);
    write_point(play, play->grad_output, moment->grad, -1, moment->bad);
    history_writer_scalar(play->writer, play->loss, moment->loss);
    history_writer_scalar(play->writer, play->rate, moment->rate);
    history_writer_scalar(play->writer, play->norm,
                          moment->bad ? NAN : moment->grad * 16);
}

static void write_alarm(struct training_play *play, const struct model *model,
                        struct history_alarm alarm, const char *name)
{
    alarm.name = str_of(name);
    alarm.place = place_find(model, alarm.name);
    stats_init(&alarm.stats, DTYPE_FLOAT32);
    history_writer_alarm(play->writer, &alarm);
}

static void write_alarms(struct training_play *play, const struct model *model,
                         uint64_t number)
{
    if (number == 247)
        write_alarm(play, model,
                    (struct history_alarm){
                        .severity = SEVERITY_WARNING,
                        .kind = STR("loss-spike"),
                        .text = STR("54.63, 15 times the median of the last 50 steps")},
                    "");
    if (number == 253)
        write_alarm(play, model,
                    (struct history_alarm){
                        .severity = SEVERITY_WARNING,
                        .kind = STR("exploding"),
                        .text = STR("gradient norm 7.243, 24 times its median")},
                    "conv1.weight");
    if (number == 315)
        write_alarm(play, model,
                    (struct history_alarm){
                        .severity = SEVERITY_ALARM,
                        .kind = STR("inf"),
                        .line = STR("aten::batch_norm, net.py:16"),
                        .text = STR("first Inf: 3,392 of 32,768 outputs; its inputs "
                                    "are finite (to 1.702e+36)")},
                    "layer1.1");
}

static int open_play(struct training_play *play, const char *folder, const char *name,
                     const struct run *run, char path[4096], struct err *err)
{
    const struct history_options options = {.queue = 4096,
                                            .text = STR("host, process 1")};

    snprintf(path, 4096, "%s/%s", folder, name);
    *play = (struct training_play){.seed = 7, .counter = spread_counter_new(err)};
    play->writer = history_writer_create(path, run, NULL, &options, err);
    return play->counter && play->writer ? 0 : -1;
}

static int close_play(struct training_play *play, struct err *err)
{
    int status = history_writer_close(play->writer, err);

    play->writer = NULL;
    return status;
}

static int finish(struct training_play *play, int status, const struct err *err)
{
    spread_counter_free(play->counter);
    buf_release(&play->packed);
    if (status < 0)
        fprintf(stderr, "%s\n", err->text);
    return status;
}

int make_diverged(const char *folder, const struct run *run)
{
    struct training_play play;
    struct err err = {0};
    char path[4096];

    if (open_play(&play, folder, "diverged.scope", run, path, &err) < 0)
        return finish(&play, -1, &err);
    begin(&play, run->model);
    for (uint64_t i = 0; i < 318; i++) {
        double late = i > 230 ? ldexp(1, (int)(i - 230) / 3) : 1;
        struct moment moment = {.loss = 3.6 / (1 + 0.01 * (double)i) * late,
                                .rate = 0.01 + 0.06 * (double)i,
                                .grad = 0.02 / (1 + 0.02 * (double)i) * late,
                                .weight = 0.05 * (i > 250 ? late / 64 : 1)};

        if (i >= 315) {
            moment.loss = NAN;
            moment.bad = ELEMENTS;
        }
        write_step(&play, i, &moment);
        write_alarms(&play, run->model, i);
        history_writer_end(play.writer, 0);
    }
    return finish(&play, close_play(&play, &err), &err);
}

/* Steps from..to of a training that learns. */
static void learn(struct training_play *play, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        struct moment moment = {.loss = 2.3 / (1 + 0.05 * (double)i),
                                .rate = i < 40 ? 0.0025 * (double)(i + 1) : 0.1,
                                .grad = 0.02 / (1 + 0.02 * (double)i),
                                .weight = 0.05};

        write_step(play, i, &moment);
        history_writer_end(play->writer, 0);
        if (i % 50 != 49)
            continue;
        history_writer_begin(play->writer, i, HISTORY_EVAL, BEGIN + i * SECOND);
        history_writer_scalar(play->writer, play->loss, moment.loss * 1.25);
        history_writer_end(play->writer, 0);
    }
}

int make_trained(const char *folder, const struct run *run)
{
    const struct history_options options = {.queue = 4096,
                                            .text = STR("host, process 2")};
    struct training_play play;
    struct err err = {0};
    char path[4096];
    int status;

    if (open_play(&play, folder, "trained.scope", run, path, &err) < 0)
        return finish(&play, -1, &err);
    begin(&play, run->model);
    learn(&play, 0, 200);
    status = close_play(&play, &err);
    if (status == 0)
        play.writer = history_writer_resume(path, &options, &err);
    if (status < 0 || !play.writer)
        return finish(&play, -1, &err);
    begin(&play, run->model);
    learn(&play, 210, 410);
    return finish(&play, close_play(&play, &err), &err);
}
