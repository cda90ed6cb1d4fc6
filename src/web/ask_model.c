/* Questions about one model or two, whose documents the command line writes as well. */
#include <stdlib.h>

#include "base/base.h"
#include "export/export.h"
#include "facts/check_text.h"
#include "rows/show.h"
#include "session/pair.h"
#include "web/web_in.h"

#define MOST_QUANTILES 64
#define MOST_BINS      10000u
#define MOST_CELLS     1000000u

int ask_info(struct web_ask *ask, struct json *json, struct err *err)
{
    (void)err;
    export_info_json(json, ask->session);
    return 0;
}

/* ---- show ---- */

static int read_quantiles(struct web_ask *ask, double *to, uint32_t *ret_n,
                          struct err *err)
{
    struct str rest = web_arg(ask, "quantiles"), part;
    double percent;

    if (!rest.at)
        rest = STR("5,25,50,75,95");
    for (*ret_n = 0; str_split(&rest, ',', &part); to[(*ret_n)++] = percent / 100)
        if (*ret_n == MOST_QUANTILES || !str_to_double(part, &percent) ||
            !(percent >= 0 && percent <= 100))
            return err_set(err, ERR_USAGE,
                           "quantiles are at most %d percents: 5,50,99.9",
                           MOST_QUANTILES);
    return 0;
}

/* 1: the tensor is unreadable, and the session knows why. */
static int read_numbers(struct web_ask *ask, uint32_t tensor,
                        struct numbers *ret_numbers, struct err *err)
{
    double at[MOST_QUANTILES], *kept;
    struct numbers_wanted wanted = {0};
    struct err why = {0};
    uint64_t bins;

    if (read_quantiles(ask, at, &wanted.n_quantiles, err) < 0 ||
        web_number(ask, "bins", 1, MOST_BINS, NUMBERS_BINS, &bins, err) < 0)
        return -1;
    kept = arena_array(&ask->arena, MOST_QUANTILES, sizeof *kept);
    if (!kept)
        return arena_err(&ask->arena, "the quantiles", err);
    memcpy(kept, at, wanted.n_quantiles * sizeof *kept);
    wanted.quantiles = kept;
    wanted.bins = (uint32_t)bins;
    if (session_numbers(ask->session, tensor, &wanted, &ask->arena, ask->work,
                        ret_numbers, &why) == 0)
        return 0;
    return session_why(ask->session, tensor) ? 1 : err_copy(err, &why);
}

static int read_slice(struct web_ask *ask, uint32_t place, struct slice *slice,
                      struct cells *ret_cells, struct err *err)
{
    const struct model *model = ask->session->model;
    const struct tensor *tensor = place_tensor(model, place);

    if (slice_parse(slice, web_arg(ask, "slice"), tensor_shape(model, tensor),
                    tensor->rank, err) < 0)
        return -1;
    if (slice->n > MOST_CELLS)
        return err_set(err, ERR_LIMIT,
                       "a slice of %llu values; at most %u are answered at once",
                       (unsigned long long)slice->n, MOST_CELLS);
    return cells_read(model, tensor, slice, &ask->arena, ask->work, ret_cells, err);
}

static int show_tensor(struct web_ask *ask, uint32_t place, struct json *json,
                       struct err *err)
{
    struct export_values values = {.index = web_arg(ask, "slice")};
    struct slice *slice = arena_alloc(&ask->arena, sizeof *slice);
    struct numbers numbers = {0};
    struct cells cells = {0};
    int status;

    if (!slice)
        return arena_err(&ask->arena, "the slice", err);
    status = read_numbers(ask, ask->session->model->object[place], &numbers, err);
    if (status < 0)
        return -1;
    values.slice = slice;
    values.cells = &cells;
    if (values.index.at && status == 0 &&
        read_slice(ask, place, slice, &cells, err) < 0)
        return -1;
    export_show_json(json, ask->session, place, status == 0 ? &numbers : NULL,
                     values.index.at && status == 0 ? &values : NULL);
    return 0;
}

int ask_show(struct web_ask *ask, struct json *json, struct err *err)
{
    struct session *session = ask->session;
    struct str step = web_arg(ask, "step");
    const char *text;
    uint32_t place;
    int status = 0;

    if (web_place(ask, &place, err) < 0)
        return -1;
    session->step = NULL;
    if (step.at) {
        text = arena_str(&ask->arena, step).at;
        if (!text || session_take_step(session, text, err) < 0)
            return -1;
    }
    if (session->model->kind[place] == PLACE_TENSOR)
        status = show_tensor(ask, place, json, err);
    else
        export_show_json(json, session, place, NULL, NULL);
    session->step = NULL;
    return status;
}

/* ---- check, diff ---- */

int ask_check(struct web_ask *ask, struct json *json, struct err *err)
{
    struct session *session = ask->session;
    struct verdict_allow allow = {0};
    struct check_ask wanted = {.allow = &allow};
    struct export_checked checked = {.complete = true};
    struct check check;

    if (session_judged(session) &&
        session_verify(session, false, &ask->arena, ask->work, &wanted, err) < 0)
        return -1;
    if (check_training(session, &ask->arena, &wanted, err) < 0 ||
        check_make(session->model, &wanted, &ask->arena, &check, err) < 0)
        return -1;
    checked.verdict = check.verdict.verdict;
    checked.status = check.status;
    export_check_begin(json);
    export_check_model(json, session, &check);
    export_check_end(json, &checked);
    return 0;
}

int ask_diff(struct web_ask *ask, struct json *json, struct err *err)
{
    const struct diff_wanted wanted = {.values = !web_flag(ask, "structure"),
                                       .no_results = web_flag(ask, "structure")};
    struct pair *pair = pair_on(ask->session, ask->right, &wanted, ask->work, err);
    int status;

    if (!pair)
        return -1;
    status = export_diff_json(json, pair, &wanted.tolerance, web_flag(ask, "all"), err);
    pair_close(pair);
    return status;
}
