/* All points and scalars of one row of steps: they are clustered, so this is one scan. */
#include <string.h>

#include "history/reader_in.h"

struct step_rows {
    void *at;
    size_t item;
    uint32_t n, room;
    bool histograms;
};

static bool take_row(struct history_scan *scan, int64_t id, void *row)
{
    struct step_rows *rows = scan->user;

    (void)id;
    if (scan->table == HISTORY_TABLE_POINT) {
        struct history_point *point = row;

        point->histogram =
            rows->histograms ? arena_str(scan->arena, point->histogram) : STR("");
        if (!point->histogram.at)
            return false;
    }
    if (arena_room(scan->arena, &rows->at, rows->n, &rows->room, rows->item) < 0)
        return false;
    memcpy((char *)rows->at + rows->n++ * rows->item, row, rows->item);
    return true;
}

static int read_rows(struct history *history, enum history_table table,
                     const struct history_step *step, struct arena *arena,
                     struct step_rows *rows, struct err *err)
{
    struct history_scan scan = {history, table, arena, rows, err};
    sqlite3_stmt *stmt;

    if (history_begin(history, err) < 0)
        return -1;
    stmt = history_prepare_select(history->db, table,
                                  "WHERE id BETWEEN ?1 AND ?2 ORDER BY id", err);
    if (stmt) {
        sqlite3_bind_int64(stmt, 1, history_point_id(step->block, 0));
        sqlite3_bind_int64(stmt, 2,
                           history_point_id(step->block, HISTORY_SERIES_MOST - 1));
    }
    return history_end(history, history_scan(&scan, stmt, take_row));
}

int history_read_step_points(struct history *history, const struct history_step *step,
                             bool histograms, struct arena *arena,
                             struct history_point **ret_points, uint32_t *ret_n,
                             struct err *err)
{
    struct step_rows rows = {.item = sizeof **ret_points, .histograms = histograms};

    if (read_rows(history, HISTORY_TABLE_POINT, step, arena, &rows, err) < 0)
        return -1;
    *ret_points = rows.at;
    *ret_n = rows.n;
    return 0;
}

int history_read_step_scalars(struct history *history, const struct history_step *step,
                              struct arena *arena, struct history_scalar **ret_scalars,
                              uint32_t *ret_n, struct err *err)
{
    struct step_rows rows = {.item = sizeof **ret_scalars};

    if (read_rows(history, HISTORY_TABLE_SCALAR, step, arena, &rows, err) < 0)
        return -1;
    *ret_scalars = rows.at;
    *ret_n = rows.n;
    return 0;
}
