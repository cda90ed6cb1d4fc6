/* Questions about the places of one model: the tree, one place, its code and attributes,
 * and what ran when. */
#include <string.h>

#include "base/base.h"
#include "export/export.h"
#include "session/numbers.h"
#include "web/web_in.h"

#define MOST_QUANTILES 64
#define MOST_BINS      10000u
#define MOST_PICTURE   256u

/* The value of an argument as a C string in the arena; NULL: missing. */
static int arg_text(struct web_ask *ask, const char *name, const char **ret_text,
                    struct err *err)
{
    struct str value = web_arg(ask, name);

    *ret_text = NULL;
    if (!value.at)
        return 0;
    if (memchr(value.at, 0, value.len))
        return err_set(err, ERR_USAGE, "%s has a byte 0", name);
    *ret_text = arena_str(&ask->arena, value).at;
    return *ret_text ? 0 : arena_err(&ask->arena, "the question", err);
}

/* Live values, code and attributes belong to the thread that runs the model. */
static bool is_theirs(const struct web_ask *ask)
{
    const struct source *source = ask->session->model->source;

    return source && !source->any_thread;
}

static int not_ours(const struct web_ask *ask, const char *what, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED,
                   "%s: the %s of a live model can only be read in its own process",
                   ask->session->model->path ? ask->session->model->path : "model",
                   what);
}

/* The index of a call at a place. */
static int read_call(struct web_ask *ask, uint64_t *ret_call, struct err *err)
{
    return web_number(ask, "call", 0, UINT32_MAX, EXPORT_NEWEST, ret_call, err);
}

/* ---- the tree ---- */

int ask_rows(struct web_ask *ask, struct json *json, struct err *err)
{
    struct export_rows_wanted wanted = {0};

    if (arg_text(ask, "columns", &wanted.columns, err) < 0 ||
        arg_text(ask, "step", &wanted.step, err) < 0)
        return -1;
    return export_rows_json(json, ask->session, &wanted, ask->work, err);
}

/* ---- one place ---- */

static int read_quantiles(struct web_ask *ask, struct numbers_wanted *to,
                          struct err *err)
{
    double *at = arena_array(&ask->arena, MOST_QUANTILES, sizeof *at), percent;
    struct str rest = web_arg(ask, "quantiles"), part;

    if (!at)
        return arena_err(&ask->arena, "the quantiles", err);
    if (!rest.at)
        rest = STR("5,25,50,75,95");
    for (; str_split(&rest, ',', &part); at[to->n_quantiles++] = percent / 100)
        if (to->n_quantiles == MOST_QUANTILES || !str_to_double(part, &percent) ||
            !(percent >= 0 && percent <= 100))
            return err_set(err, ERR_USAGE,
                           "quantiles are at most %d percents: 5,50,99.9",
                           MOST_QUANTILES);
    to->quantiles = at;
    return 0;
}

static int read_window(struct web_ask *ask, struct export_show_wanted *to,
                       struct err *err)
{
    uint64_t picture;

    if (arg_text(ask, "slice", &to->slice, err) < 0 ||
        arg_text(ask, "cell", &to->cell, err) < 0 ||
        web_number(ask, "row", 0, INT64_MAX, 0, &to->row, err) < 0 ||
        web_number(ask, "rows", 0, INT64_MAX, 0, &to->rows, err) < 0 ||
        web_number(ask, "column", 0, INT64_MAX, 0, &to->column, err) < 0 ||
        web_number(ask, "columns", 0, INT64_MAX, 0, &to->columns, err) < 0 ||
        web_number(ask, "picture", 1, MOST_PICTURE, 0, &picture, err) < 0 ||
        web_number(ask, "item", 0, INT64_MAX, 0, &to->item, err) < 0 ||
        web_number(ask, "channel", 0, INT64_MAX, 0, &to->channel, err) < 0)
        return -1;
    to->picture = (uint32_t)picture;
    to->sheet = web_flag(ask, "sheet");
    return 0;
}

static int show_place(struct web_ask *ask, uint32_t place, struct json *json,
                      struct err *err)
{
    struct export_show_wanted wanted = {.all = web_flag(ask, "all")};
    uint64_t bins;

    if (read_quantiles(ask, &wanted.numbers, err) < 0 ||
        web_number(ask, "bins", 1, MOST_BINS, NUMBERS_BINS, &bins, err) < 0 ||
        read_window(ask, &wanted, err) < 0 || read_call(ask, &wanted.call, err) < 0)
        return -1;
    wanted.numbers.bins = (uint32_t)bins;
    wanted.numbers.inner = web_flag(ask, "inner");
    wanted.numbers.mean_abs = wanted.all;
    if (is_theirs(ask)) {
        export_show_json(json, ask->session, place, NULL, NULL);
        return 0;
    }
    return export_show_page(json, ask->session, place, &wanted, ask->work, err);
}

int ask_show(struct web_ask *ask, struct json *json, struct err *err)
{
    struct session *session = ask->session;
    const char *step;
    uint32_t place;
    int status;

    if (web_place(ask, &place, err) < 0 || arg_text(ask, "step", &step, err) < 0)
        return -1;
    session->step = NULL;
    if (step && session_take_step(session, step, err) < 0)
        return -1;
    status = show_place(ask, place, json, err);
    session->step = NULL;
    return status;
}

int ask_code(struct web_ask *ask, struct json *json, struct err *err)
{
    uint64_t call;
    uint32_t place;

    if (web_place(ask, &place, err) < 0 || read_call(ask, &call, err) < 0)
        return -1;
    if (is_theirs(ask))
        return not_ours(ask, "code", err);
    return export_code_json(json, ask->session, place, call, err);
}

int ask_attributes(struct web_ask *ask, struct json *json, struct err *err)
{
    uint32_t place;

    if (web_place(ask, &place, err) < 0)
        return -1;
    if (is_theirs(ask))
        return not_ours(ask, "attributes", err);
    return export_attributes_json(json, ask->session, place, web_arg(ask, "open"), err);
}

/* ---- what ran when ---- */

int ask_timeline(struct web_ask *ask, struct json *json, struct err *err)
{
    uint64_t pass;

    if (web_number(ask, "pass", 0, UINT32_MAX - 1, UINT32_MAX, &pass, err) < 0)
        return -1;
    return export_timeline_json(json, ask->session, (uint32_t)pass, ask->work, err);
}
