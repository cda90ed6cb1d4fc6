/* Sums up the rows of one file in columns: the worst of each. Reads parameters and units
 * of every row, all series only where something is not finite. */
#include <math.h>
#include <string.h>

#include "history/overview_in.h"

static uint32_t column_of(const struct history_grid *grid,
                          const struct history_step *step)
{
    return history_column(grid->first, grid->columns, step->first);
}

static void note_bad(struct overview_making *self, const struct history_step *step)
{
    if (self->table.has_bad && self->table.first_bad <= step->first)
        return;
    self->table.has_bad = true;
    self->table.first_bad = step->first;
}

/* Adds a row to its column. Returns whether something in it is not finite. */
static bool add_row(struct column_rows *rows, const struct overview_row *row,
                    uint32_t column, uint32_t columns)
{
    bool bad = false;

    for (uint32_t m = 0; m < rows->file->n_modules; m++) {
        struct overview_cell *to = &rows->cells[(size_t)m * columns + column];
        const struct overview_cell *from = &row->cells[m];

        bad = bad || from->of[OVERVIEW_BAD] > 0;
        for (int k = 0; k < OVERVIEW_NUMBERS; k++)
            if (overview_worse((enum overview_number)k, to->of[k], from->of[k]))
                to->of[k] = from->of[k];
    }
    return bad;
}

static bool has_alarm(const struct overview_making *self,
                      const struct history_step *step)
{
    for (uint32_t i = 0; i < self->n_alarms; i++)
        if (self->alarms[i] >= step->first && self->alarms[i] <= step->last)
            return true;
    return false;
}

/* Reads a whole row again, to find non-finite values outside of parameters. */
static int add_whole(struct overview_making *self, struct column_rows *rows,
                     const struct history_step *step, uint32_t column)
{
    const struct overview_row *row =
        overview_row_read(rows->file, &rows->reader, step, true, self->err);

    if (!row)
        return -1;
    if (add_row(rows, row, column, self->grid->columns))
        note_bad(self, step);
    return 0;
}

/* The rows from..end of a column. */
static int add_column(struct overview_making *self, struct column_rows *rows,
                      uint32_t column, uint32_t from, uint32_t end)
{
    const struct history_step *bad[2] = {NULL, NULL};
    uint64_t unread = 0, k = 0, quota = rows->quota;

    for (uint32_t i = from; i < end; i++)
        unread += !overview_row_known(rows->file, &rows->steps[i], false);
    for (uint32_t i = from; i < end; i++) {
        const struct history_step *step = &rows->steps[i];
        const struct overview_row *row = overview_row_known(rows->file, step, false);

        if (!row && unread > quota && !has_alarm(self, step)) {
            k++;
            if ((k - 1) * quota / unread == k * quota / unread) {
                self->table.unread++;
                continue;
            }
        }
        if (!row)
            row = overview_row_read(rows->file, &rows->reader, step, false, self->err);
        if (!row)
            return -1;
        if (add_row(rows, row, column, self->grid->columns)) {
            note_bad(self, step);
            bad[bad[0] != NULL] = step;
        }
        if (has_alarm(self, step) && add_whole(self, rows, step, column) < 0)
            return -1;
    }
    for (int i = 0; i < 2; i++)
        if (bad[i] && add_whole(self, rows, bad[i], column) < 0)
            return -1;
    return 0;
}

/* Steps with points, in the range of the columns. */
static int list_steps(struct overview_making *self, struct column_rows *rows)
{
    const struct history_grid *grid = self->grid;
    const struct history_range range = {.from = grid->first[0],
                                        .to = grid->last[grid->columns - 1],
                                        .phase = grid->phase};
    struct history_step *steps;
    uint32_t n;

    if (history_read_steps(rows->file->history, &range, &self->scratch, &steps, &n,
                           self->err) < 0)
        return -1;
    rows->steps = arena_array(&self->scratch, (size_t)n + 1, sizeof *steps);
    if (!rows->steps)
        return arena_err(&self->scratch, "the steps", self->err);
    for (uint32_t i = 0; i < n; i++)
        if (steps[i].points > 0)
            rows->steps[rows->n++] = steps[i];
    return 0;
}

static void set_quota(struct overview_making *self, struct column_rows *rows)
{
    const struct series_phase *phase = &rows->file->phases[self->grid->phase];
    uint64_t points = phase->params.points + phase->updates.points;

    points = points > 0 ? points + phase->units.points : phase->whole.points;
    rows->quota = UINT64_MAX;
    if (self->wanted->most > 0)
        rows->quota = self->wanted->most / self->overview->n / (points + 1) /
                          self->grid->columns +
                      1;
}

static int add_columns(struct overview_making *self, struct column_rows *rows)
{
    uint32_t from = 0;

    for (uint32_t i = 0; i < rows->n; i++) {
        uint32_t column = column_of(self->grid, &rows->steps[i]);

        if (i + 1 < rows->n && column_of(self->grid, &rows->steps[i + 1]) == column)
            continue;
        if (add_column(self, rows, column, from, i + 1) < 0)
            return -1;
        from = i + 1;
    }
    return 0;
}

/* ---- all of a file ---- */

int overview_columns(struct overview_making *self, struct column_rows *rows)
{
    size_t n = (size_t)rows->file->n_modules * self->grid->columns;
    int status;

    rows->cells = arena_array(&self->scratch, n + 1, sizeof *rows->cells);
    if (!rows->cells)
        return arena_err(&self->scratch, "the modules", self->err);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < OVERVIEW_NUMBERS; k++)
            rows->cells[i].of[k] = NAN;
    if (list_steps(self, rows) < 0 ||
        overview_reader_open(rows->file, &rows->reader, self->err) < 0)
        return -1;
    set_quota(self, rows);
    status = add_columns(self, rows);
    numbers_close(&rows->reader);
    return status;
}
