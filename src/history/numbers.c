#include "history/numbers_in.h"

#include <math.h>
#include <stdio.h>

#include "base/base.h"

#define NUMBERS_FUNCTION "history_take"
#define COUNT_COLUMNS    "id, merged, count, nan, pos_inf, neg_inf"
#define NORM_COLUMNS     COUNT_COLUMNS ", mean, m2"
#define RATIO_COLUMNS    NORM_COLUMNS ", ratio_bad, ratio_sum, norm_bad, norm_sum"
#define ALL_COLUMNS                                                                    \
    RATIO_COLUMNS ", ratio_n, ratio_min, ratio_max, norm_n, norm_min, norm_max, "      \
                  "units, dead_n, dead_bad, dead_sum, dead_min, dead_max"

static bool get_norm(sqlite3_value **values, struct history_point *point);
static bool get_ratio(sqlite3_value **values, struct history_point *point);
static bool get_units(sqlite3_value **values, struct history_point *point);
static bool get_all(sqlite3_value **values, struct history_point *point);

/* By enum numbers_of. The number of columns identifies the list. */
static const struct numbers_form {
    const char *columns;
    int n;
    /* Reads the columns after the counts. False: invalid, or all columns are needed. */
    bool (*get)(sqlite3_value **values, struct history_point *point);
} forms[] = {
    {NORM_COLUMNS ", sampled", 9, get_norm},
    {RATIO_COLUMNS, 12, get_ratio},
    {COUNT_COLUMNS ", units, dead_bad, dead_sum, 0", 10, get_units},
    {ALL_COLUMNS, 24, get_all},
};

static bool get_u32(sqlite3_value *value, uint32_t *ret_number)
{
    int64_t number = sqlite3_value_int64(value);

    *ret_number = (uint32_t)number;
    return number >= 0 && number < UINT32_MAX;
}

static double get_real(sqlite3_value *value)
{
    return sqlite3_value_type(value) == SQLITE_NULL ? NAN : sqlite3_value_double(value);
}

static uint64_t get_u64(sqlite3_value *value)
{
    return (uint64_t)sqlite3_value_int64(value);
}

/* n, min and max of a number whose sum and bad are known. */
static bool get_rest(sqlite3_value **values, struct history_number *number)
{
    number->min = get_real(values[1]);
    number->max = get_real(values[2]);
    return get_u32(values[0], &number->n);
}

/* A single number: its n is not read. */
static bool get_single(sqlite3_value **values, struct history_number *number)
{
    number->sum = get_real(values[1]);
    number->n = !isnan(number->sum);
    return get_u32(values[0], &number->bad);
}

static bool get_norm(sqlite3_value **values, struct history_point *point)
{
    point->stats.mean = get_real(values[6]);
    point->stats.m2 = get_real(values[7]);
    return true;
}

static bool get_ratio(sqlite3_value **values, struct history_point *point)
{
    return get_norm(values, point) &&
           get_single(values + 8, &point->extra[EXTRA_RATIO]) &&
           get_single(values + 10, &point->extra[EXTRA_NORM]);
}

static bool get_units(sqlite3_value **values, struct history_point *point)
{
    point->units = get_u64(values[6]);
    return get_single(values + 7, &point->extra[EXTRA_DEAD]);
}

static bool get_all(sqlite3_value **values, struct history_point *point)
{
    struct history_number *dead = &point->extra[EXTRA_DEAD];

    point->units = get_u64(values[18]);
    dead->sum = get_real(values[21]);
    dead->min = get_real(values[22]);
    dead->max = get_real(values[23]);
    return get_ratio(values, point) &&
           get_rest(values + 12, &point->extra[EXTRA_RATIO]) &&
           get_rest(values + 15, &point->extra[EXTRA_NORM]) &&
           get_u32(values[19], &dead->n) && get_u32(values[20], &dead->bad);
}

static bool get_point(sqlite3_value **values, const struct numbers_form *form,
                      struct history_point *point)
{
    point->stats.count = get_u64(values[2]);
    point->stats.nan = get_u64(values[3]);
    point->stats.pos_inf = get_u64(values[4]);
    point->stats.neg_inf = get_u64(values[5]);
    return get_u32(values[1], &point->merged) && form->get(values, point);
}

static const struct numbers_form *form_of(int n)
{
    const struct numbers_form *form = forms;

    while (form->n != n)
        form++;
    return form;
}

/* Does the point need more columns than were read? */
static bool takes_all(const struct numbers_form *form, sqlite3_value **values,
                      const struct history_point *point)
{
    if (form == &forms[NUMBERS_ALL])
        return false;
    return point->merged != 1 ||
           (form == &forms[NUMBERS_NORM] && sqlite3_value_int64(values[8]) != 0);
}

/* Ids must increase: a damaged tree may contain a cycle. Then the statement is
 * aborted. */
static void take(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct numbers_reader *reader = sqlite3_user_data(context);
    struct history_point *point = &reader->point;
    const struct numbers_form *form = form_of(n);
    int64_t id = sqlite3_value_int64(values[0]);
    bool good;

    if (id <= reader->before) {
        sqlite3_result_error_code(context, SQLITE_CORRUPT);
        return;
    }
    reader->before = id;
    good = get_point(values, form, point);
    if (good && takes_all(form, values, point))
        reader->needs_all = true;
    else if (good && history_point_check(id, point))
        reader->take(reader->user, point);
    else
        reader->history->damaged++;
}

static void take_end(sqlite3_context *context)
{
    (void)context;
}

static bool prepare(struct numbers_reader *reader, enum numbers_of which)
{
    sqlite3 *db = reader->history->db;
    char sql[512];

    snprintf(sql, sizeof sql,
             "SELECT " NUMBERS_FUNCTION "(%s) FROM history_point NOT INDEXED "
             "WHERE id BETWEEN ?1 AND ?2",
             forms[which].columns);
    return sqlite3_create_function(db, NUMBERS_FUNCTION, forms[which].n,
                                   SQLITE_UTF8 | SQLITE_DIRECTONLY, reader, NULL, take,
                                   take_end) == SQLITE_OK &&
           sqlite3_prepare_v2(db, sql, -1, &reader->stmts[which], NULL) == SQLITE_OK;
}

int numbers_open(struct numbers_reader *reader, struct history *history,
                 take_numbers *take_one, void *user, struct err *err)
{
    *reader =
        (struct numbers_reader){.history = history, .take = take_one, .user = user};
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (!prepare(reader, (enum numbers_of)i)) {
            numbers_close(reader);
            return history_sql_err(history->db, history->path, err);
        }
    return 0;
}

void numbers_close(struct numbers_reader *reader)
{
    for (size_t i = 0; i < COUNT_OF(reader->stmts); i++) {
        sqlite3_finalize(reader->stmts[i]);
        reader->stmts[i] = NULL;
    }
}

int numbers_read(struct numbers_reader *reader, const struct history_step *step,
                 uint32_t from, uint32_t to, enum numbers_of which, struct err *err)
{
    struct history *history = reader->history;
    sqlite3_stmt *stmt = reader->stmts[which];
    int status;

    reader->before = -1;
    reader->needs_all = false;
    reader->point = (struct history_point){0};
    sqlite3_reset(stmt);
    sqlite3_bind_int64(stmt, 1, history_point_id(step->block, from));
    sqlite3_bind_int64(stmt, 2, history_point_id(step->block, to));
    status = sqlite3_step(stmt);
    sqlite3_reset(stmt);
    if (status == SQLITE_ROW)
        return reader->needs_all;
    if ((status & 0xff) != SQLITE_CORRUPT)
        return history_sql_err(history->db, history->path, err);
    history->damaged++;
    return reader->needs_all;
}
