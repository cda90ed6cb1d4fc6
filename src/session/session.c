#include "session/session.h"

#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "history/ranks.h"
#include "read/read.h"
#include "run/run_file.h"
#include "session/attach.h"
#include "session/series_tree_in.h"

/* A session grows with the places of its model, which are limited themselves. */
#define SESSION_LIMIT (4 * GIB)

/* ---- opening ---- */

static int prepare(struct session *session, struct err *err)
{
    const struct model *model = session->model;
    struct arena *arena = &session->arena;
    size_t n = (size_t)model->n_tensors + 1;

    session->stats = arena_array(arena, n, sizeof *session->stats);
    session->exponents = arena_array(arena, n, sizeof *session->exponents);
    session->why = arena_array(arena, n, sizeof *session->why);
    session->sha256 = arena_array(arena, n, sizeof *session->sha256);
    if (!session->stats || !session->exponents || !session->why || !session->sha256)
        return arena_err(arena, "opening", err);
    if (counts_places(model, arena, &session->places, err) < 0)
        return -1;
    counts_total(model, &session->total);
    session->verdict = verdict_of(model);
    session->mode = MEASURE_FULL;
    return 0;
}

/* Takes the parameters' statistics from the run; later ones replace earlier ones. */
static int take_statistics(struct session *session, struct err *err)
{
    const struct run *run = session->run;

    for (uint32_t i = 0; i < run->n_params; i++) {
        const struct run_param *param = &run->params[i];
        uint32_t stats = run->values[param->value].stats;

        if (param->gradient || stats == RUN_NONE)
            continue;
        if (session_learn(session, param->tensor, &run->stats[stats], err) < 0)
            return -1;
    }
    return 0;
}

/* Opens a borrowed model or run. */
static struct session *open_on(const struct model *model, const struct run *run,
                               struct err *err)
{
    struct session *session = calloc(1, sizeof *session);

    if (!session) {
        err_set_about(err, ERR_LIMIT, model->path, ": no memory left");
        return NULL;
    }
    arena_init(&session->arena, SESSION_LIMIT);
    arena_init(&session->of_step, 0);
    session->model = model;
    session->run = run;
    if (prepare(session, err) < 0 || (run && take_statistics(session, err) < 0)) {
        session_close(session);
        return NULL;
    }
    return session;
}

struct session *session_of(const struct model *model, struct err *err)
{
    struct session *session = open_on(model, NULL, err);

    if (session)
        session->own_model = model;
    else
        model_free(model);
    return session;
}

struct session *session_on(const struct model *model, struct err *err)
{
    return open_on(model, NULL, err);
}

struct session *session_of_run(struct run *run, struct err *err)
{
    struct session *session = open_on(run->model, run, err);

    if (session)
        session->own_run = run;
    else
        run_free(run);
    return session;
}

/* ---- the history ---- */

/* An unreadable history does not prevent the rest from being shown. */
void session_attach_history(struct session *session, const char *path)
{
    struct arena *arena = &session->arena;
    struct err why = {0};

    session->history = history_open(path, NULL, &why);
    if (!session->history && why.code == ERR_NOT_FOUND)
        return;
    session->history_path = arena_str(arena, str_of(path)).at;
    session->training = arena_alloc(arena, sizeof *session->training);
    if (session->history && session->history_path && session->training &&
        history_summarise(session->history, session->training, &why) == 0)
        return;
    history_close(session->history);
    session->history = NULL;
    session->training = NULL;
    session->history_why =
        arena_printf(arena, "%s", why.code ? err_reason(&why) : "no memory is left");
}

bool session_refresh_training(struct session *session)
{
    return session->history &&
           history_summarise(session->history, session->training, NULL) == 0;
}

/* A folder of ranks has the recording of the first, and its own name. */
static void show_folder(struct session *session)
{
    if (!session->history_path)
        return;
    session->view = *session->model;
    session->view.path = session->history_path;
    session->model = &session->view;
}

struct session *session_on_run(const struct run *run, struct source *source,
                               struct err *err)
{
    struct session *session = open_on(run->model, run, err);

    if (session && source) {
        session->view = *run->model;
        session->view.source = source;
        session->model = &session->view;
    }
    if (session && run->folder) {
        session_attach_history(session, run->folder);
        show_folder(session);
    } else if (session && run->model->n_files > 0 && run_file_is(run->model->path)) {
        session_attach_history(session, run->model->path);
    }
    return session;
}

int session_take_step(struct session *session, const char *step, struct err *err)
{
    struct at_step *at;
    uint64_t number;

    session->step = NULL;
    arena_release(&session->of_step);
    arena_init(&session->of_step, SESSION_LIMIT);
    at = arena_alloc(&session->of_step, sizeof *at);
    if (!at)
        return arena_err(&session->of_step, "the numbers of a step", err);
    if (at_step_parse(str_of(step), &number, err) < 0)
        return -1;
    if (!session->history)
        return err_set(err, ERR_USAGE,
                       "%s: --step is for training runs; this file has no history",
                       session->model->path);
    if (at_step_read(session->history, session->model, number, &session->of_step, at,
                     err) < 0)
        return -1;
    session->step = at;
    return 0;
}

struct overview *session_overview(struct session *session, struct err *err)
{
    if (!session->overview)
        session->overview = overview_new(session->history, session->model);
    if (!session->overview)
        err_set(err, ERR_LIMIT, "the modules: no memory left");
    return session->overview;
}

struct history_memo *session_memo(struct session *session, struct err *err)
{
    if (!session->memo)
        session->memo = history_memo_new(session->history);
    if (!session->memo)
        err_set(err, ERR_LIMIT, "the series: no memory left");
    return session->memo;
}

/* `history`: the same file, or the folder of ranks that contains it. */
static struct session *open_recording(const char *path, const char *history,
                                      struct work *work, struct err *err)
{
    struct err why = {0};
    struct run *run = run_file_read(path, work, &why);
    const struct model *model = run ? NULL : series_tree(path, NULL);
    struct session *session = NULL;

    if (run)
        session = session_of_run(run, err);
    else if (model)
        session = session_of(model, err);
    else if (err)
        *err = why;
    if (session)
        session_attach_history(session, history);
    return session;
}

/* The recording of the first rank, and the histories of all as one. */
static struct session *open_ranks(const char *folder, struct work *work,
                                  struct err *err)
{
    struct session *session;
    struct arena arena;
    const char *first;

    arena_init(&arena, 0);
    first = history_ranks_first(folder, &arena, err);
    session = first ? open_recording(first, folder, work, err) : NULL;
    arena_release(&arena);
    if (session)
        show_folder(session);
    return session;
}

struct session *session_open(const char *path, struct work *work, struct err *err)
{
    const struct model *model;

    if (run_file_is(path))
        return open_recording(path, path, work, err);
    if (history_ranks_is(path))
        return open_ranks(path, work, err);
    model = read_model(path, work, err);
    return model ? session_of(model, err) : NULL;
}

void session_close(struct session *session)
{
    if (!session)
        return;
    overview_free(session->overview);
    history_memo_free(session->memo);
    history_close(session->history);
    model_free(session->own_model);
    run_free(session->own_run);
    arena_release(&session->of_step);
    arena_release(&session->arena);
    free(session);
}

bool session_judged(const struct session *session)
{
    return !session->model->live;
}

/* ---- statistics ---- */

const struct stats *session_known(const struct session *session, uint32_t tensor)
{
    return session->stats[tensor];
}

const struct exponents *session_exponents(const struct session *session,
                                          uint32_t tensor)
{
    return session->exponents[tensor];
}

const char *session_why(const struct session *session, uint32_t tensor)
{
    return session->why[tensor];
}

const char *session_sha256(const struct session *session, uint32_t tensor)
{
    return session->sha256[tensor];
}

/* The base-2 exponent of a bin of the histogram; false for the bins of zeros. */
static bool exponent_of(uint32_t bin, int *ret_exponent)
{
    double low, high;

    if (bin % (HISTOGRAM_BINS / 2) == 0)
        return false;
    histogram_range(bin, &low, &high);
    *ret_exponent = ilogb(fmin(fabs(low), fabs(high)));
    return true;
}

/* Sums bins by whole exponent, from the first to the last one in use. */
static struct exponents *fold_exponents(struct arena *arena,
                                        const struct histogram *histogram)
{
    struct exponents *exponents;
    int first = INT32_MAX, last = INT32_MIN, e;
    uint32_t bin, n;

    for (bin = 0; bin < HISTOGRAM_BINS; bin++) {
        if (!histogram->bins[bin] || !exponent_of(bin, &e))
            continue;
        first = e < first ? e : first;
        last = e > last ? e : last;
    }
    n = last < first ? 0 : (uint32_t)(last - first) + 1;
    exponents = arena_alloc(arena, sizeof *exponents + n * sizeof(uint64_t));
    if (!exponents)
        return NULL;
    exponents->first = n ? first : 0;
    exponents->n = n;
    for (bin = 0; bin < HISTOGRAM_BINS; bin++) {
        if (histogram->bins[bin] && exponent_of(bin, &e))
            exponents->counts[e - first] += histogram->bins[bin];
    }
    return exponents;
}

int session_learn(struct session *session, uint32_t tensor, const struct stats *stats,
                  struct err *err)
{
    if (!session->stats[tensor])
        session->stats[tensor] = arena_alloc(&session->arena, sizeof *stats);
    if (!session->stats[tensor])
        return arena_err(&session->arena, "the statistics", err);
    *session->stats[tensor] = *stats;
    return 0;
}

void session_forget(struct session *session)
{
    for (uint32_t i = 0; i < session->model->n_tensors; i++) {
        session->stats[i] = NULL;
        session->exponents[i] = NULL;
        session->why[i] = session->sha256[i] = NULL;
    }
}

/* Measures a tensor and caches the result; `histogram` is a buffer, or NULL. */
static int measure(struct session *session, uint32_t tensor,
                   struct histogram *histogram, struct work *work, struct err *err)
{
    struct arena *arena = &session->arena;
    struct stats stats;

    if (histogram)
        *histogram = (struct histogram){0};
    if (stats_tensor(session->model, &session->model->tensors[tensor], session->mode,
                     work, histogram, &stats, err) < 0)
        return -1;
    if (histogram) {
        session->exponents[tensor] = fold_exponents(arena, histogram);
        if (!session->exponents[tensor])
            return arena_err(arena, "the statistics", err);
    }
    return session_learn(session, tensor, &stats, err);
}

/* The same, but caches the reason if values are not available. */
static int measure_or_why(struct session *session, uint32_t tensor,
                          struct histogram *histogram, struct work *work,
                          struct err *err)
{
    struct err local = {0};
    const char *why = NULL;

    if (session->stats[tensor] || session->why[tensor])
        return 0;
    if (tensor_readable(session->model, &session->model->tensors[tensor], &why)) {
        if (measure(session, tensor, histogram, work, &local) == 0)
            return 0;
        why = local.text;
        if (local.code == ERR_CANCELLED || local.code == ERR_LIMIT)
            return err_copy(err, &local);
    }
    session->why[tensor] = arena_printf(&session->arena, "%s", why ? why : "not known");
    if (!session->why[tensor])
        return arena_err(&session->arena, "the statistics", err);
    return 0;
}

static struct histogram *histogram_room(const struct session *session)
{
    return session->want_exponents ? malloc(sizeof(struct histogram)) : NULL;
}

int session_stats(struct session *session, uint32_t tensor, struct work *work,
                  const struct stats **ret_stats, struct err *err)
{
    struct histogram *histogram = histogram_room(session);
    int status = measure_or_why(session, tensor, histogram, work, err);

    free(histogram);
    if (status < 0)
        return -1;
    if (!session->stats[tensor])
        return err_set(err, ERR_UNSUPPORTED, "%s", session->why[tensor]);
    *ret_stats = session->stats[tensor];
    return 0;
}

/* ---- many tensors ---- */

/* Computes and caches the digest of a tensor. Unreadable values have none; the reason
 * is cached with the statistics. */
static int digest(struct session *session, uint32_t tensor, struct work *work,
                  struct err *err)
{
    const struct tensor *t = &session->model->tensors[tensor];
    struct err local = {0};
    char hex[65];

    if (session->sha256[tensor] || !tensor_readable(session->model, t, NULL))
        return 0;
    if (elements_sha256(session->model, t, work, hex, &local) < 0) {
        if (local.code != ERR_CANCELLED)
            return 0;
        return err_set(err, ERR_CANCELLED, "%s", local.text);
    }
    session->sha256[tensor] = arena_str(&session->arena, str_of(hex)).at;
    if (!session->sha256[tensor])
        return arena_err(&session->arena, "the digests", err);
    return 0;
}

/* Position of a tensor in the file, for reading from start to end. */
struct session_position {
    uint32_t tensor, file;
    uint64_t at;
};

static struct session_position position_of(const struct model *model, uint32_t tensor)
{
    const struct tensor *t = &model->tensors[tensor];
    const struct dtype_info *info = dtype_info(t->dtype);
    struct session_position position = {.tensor = tensor};

    if (t->storage == NO_STORAGE)
        return position;
    position.file = model->storages[t->storage].file;
    position.at = model->storages[t->storage].at;
    position.at += info->block ? t->offset / info->block * info->bytes : 0;
    return position;
}

static int compare_positions(const void *a, const void *b)
{
    const struct session_position *x = a, *y = b;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

void session_file_order(const struct session *session, uint32_t *tensors, uint32_t n)
{
    struct session_position *order = calloc((size_t)n + 1, sizeof *order);

    if (!order)
        return; /* the order only matters for speed */
    for (uint32_t i = 0; i < n; i++)
        order[i] = position_of(session->model, tensors[i]);
    qsort(order, n, sizeof *order, compare_positions);
    for (uint32_t i = 0; i < n; i++)
        tensors[i] = order[i].tensor;
    free(order);
}

static void expect_bytes(const struct session *session, const uint32_t *tensors,
                         uint32_t n, struct work *work)
{
    const struct model *model = session->model;
    uint64_t total = 0;
    uint32_t i;

    if (!work)
        return;
    for (i = 0; i < n; i++) {
        const struct tensor *tensor = &model->tensors[tensors[i]];

        if (!session->stats[tensors[i]] && tensor_readable(model, tensor, NULL))
            total += tensor_bytes(tensor);
    }
    atomic_store(&work->done, 0);
    atomic_store(&work->total, session->want_sha256 ? 2 * total : total);
}

int session_stats_many(struct session *session, const uint32_t *tensors, uint32_t n,
                       struct work *work, struct err *err)
{
    struct histogram *histogram = NULL;
    struct arena scratch;
    uint32_t *order;
    int status = -1;
    uint32_t i;

    arena_init(&scratch, SESSION_LIMIT);
    order = arena_array(&scratch, (size_t)n + 1, sizeof *order);
    if (!order) {
        arena_err(&scratch, "the statistics", err);
        goto out;
    }
    for (i = 0; i < n; i++)
        order[i] = tensors[i];
    session_file_order(session, order, n);
    expect_bytes(session, tensors, n, work);
    histogram = histogram_room(session);
    for (i = 0; i < n; i++) {
        if (work_cancelled(work)) {
            err_set(err, ERR_CANCELLED, "stopped");
            goto out;
        }
        if (measure_or_why(session, order[i], histogram, work, err) < 0)
            goto out;
        if (session->want_sha256 && digest(session, order[i], work, err) < 0)
            goto out;
    }
    status = 0;

out:
    free(histogram);
    arena_release(&scratch);
    return status;
}
