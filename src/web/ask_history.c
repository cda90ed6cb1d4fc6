/* Questions about a training run. */
#include <math.h>

#include "base/base.h"
#include "export/export.h"
#include "web/shelf_in.h"
#include "web/web_in.h"

#define MOST_COLUMNS 4000u
#define MOST_ROWS    256u
#define MOST_CLIP    0.25

/* A step number; 0 also means that it is missing. */
static int read_step(struct web_ask *ask, const char *name, uint64_t *ret_step,
                     struct err *err)
{
    return web_number(ask, name, 0, UINT64_MAX - 1, 0, ret_step, err);
}

static int read_columns(struct web_ask *ask, uint32_t usual, uint32_t *ret_columns,
                        struct err *err)
{
    uint64_t columns;

    if (web_number(ask, "columns", 1, MOST_COLUMNS, usual, &columns, err) < 0)
        return -1;
    *ret_columns = (uint32_t)columns;
    return 0;
}

static enum export_live live_of(struct web_ask *ask)
{
    struct shelf *shelf = ask->server->shelf;
    bool live;

    pthread_mutex_lock(&shelf->lock);
    live = ask->item->facts.live;
    pthread_mutex_unlock(&shelf->lock);
    return live ? EXPORT_LIVE : EXPORT_ENDED;
}

int ask_training(struct web_ask *ask, struct json *json, struct err *err)
{
    struct export_training_wanted wanted = {.live = live_of(ask)};

    if (read_columns(ask, 400, &wanted.columns, err) < 0 ||
        read_step(ask, "since", &wanted.since, err) < 0)
        return -1;
    return export_training_json(json, ask->session, &wanted, err);
}

int ask_modules(struct web_ask *ask, struct json *json, struct err *err)
{
    struct export_modules_wanted wanted = EXPORT_MODULES_WANTED;

    wanted.least = web_flag(ask, "least");
    wanted.quick = web_flag(ask, "quick");
    wanted.has_around = web_arg(ask, "around").at != NULL;
    if (read_columns(ask, wanted.columns, &wanted.columns, err) < 0 ||
        read_step(ask, "from", &wanted.from, err) < 0 ||
        read_step(ask, "to", &wanted.to, err) < 0 ||
        read_step(ask, "since", &wanted.since, err) < 0 ||
        read_step(ask, "around", &wanted.around, err) < 0 ||
        web_number(ask, "rank", 0, UINT32_MAX, wanted.rank, &wanted.rank, err) < 0)
        return -1;
    return export_modules_json(json, ask->session, &wanted, err);
}

int ask_step(struct web_ask *ask, struct json *json, struct err *err)
{
    struct str text = web_arg(ask, "step");
    uint64_t step = STEP_NEWEST;

    if (text.len > 0 && at_step_parse(text, &step, err) < 0)
        return -1;
    return export_step_json(json, ask->session, step, err);
}

/* ---- series ---- */

static int read_phase(struct web_ask *ask, bool *ret_eval, struct err *err)
{
    struct str phase = web_arg(ask, "phase");

    *ret_eval = str_is(phase, "eval");
    if (!phase.at || *ret_eval || str_is(phase, "train"))
        return 0;
    return err_set(err, ERR_USAGE, "phase is train or eval, not \"%.*s\"",
                   STR_ARG(str_head(phase, 40)));
}

static int read_shading(struct web_ask *ask, struct history_shading *to,
                        struct err *err)
{
    struct str clip = web_arg(ask, "clip");

    if (web_arg(ask, "log").at)
        to->axis = web_flag(ask, "log") ? AXIS_LOG : AXIS_LINEAR;
    if (!clip.at)
        return 0;
    if (!str_to_double(clip, &to->clip) || !(to->clip >= 0 && to->clip <= MOST_CLIP))
        return err_set(err, ERR_USAGE, "clip is a share from 0 to %g, not \"%.*s\"",
                       MOST_CLIP, STR_ARG(str_head(clip, 40)));
    return 0;
}

int ask_series(struct web_ask *ask, struct json *json, struct err *err)
{
    struct export_series_wanted wanted = EXPORT_SERIES_WANTED;
    uint64_t rows;

    wanted.below = web_flag(ask, "below");
    wanted.has_at = web_arg(ask, "at").at != NULL;
    if (web_place(ask, &wanted.place, err) < 0 ||
        read_columns(ask, wanted.columns, &wanted.columns, err) < 0 ||
        web_number(ask, "rows", 0, MOST_ROWS, wanted.rows, &rows, err) < 0 ||
        read_step(ask, "from", &wanted.from, err) < 0 ||
        read_step(ask, "to", &wanted.to, err) < 0 ||
        read_step(ask, "since", &wanted.since, err) < 0 ||
        read_step(ask, "at", &wanted.at, err) < 0 ||
        read_phase(ask, &wanted.eval, err) < 0 ||
        read_shading(ask, &wanted.shading, err) < 0)
        return -1;
    wanted.rows = (uint32_t)rows;
    return export_series_json(json, ask->session, &wanted, err);
}
