#include "history/overview.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "history/overview_in.h"

#define MIDDLE_RATIO 1e-3f
#define STEPS_LIMIT  (256 * MIB) /* of lists during a query */
#define MOST_ALARMS  200u

struct overview *overview_new(struct history *history, const struct model *model)
{
    struct overview *overview = calloc(1, sizeof *overview);

    if (overview) {
        overview->history = history;
        overview->model = model;
    }
    return overview;
}

void overview_free(struct overview *overview)
{
    if (!overview)
        return;
    for (uint32_t i = 0; i < overview->n; i++) {
        overview_file_release(overview->files[i]);
        free(overview->files[i]);
    }
    free(overview->files);
    free(overview);
}

/* ---- which is worse ---- */

/* The factor by which a ratio is above or below the middle. */
static float distance(float ratio)
{
    return fmaxf(ratio / MIDDLE_RATIO, MIDDLE_RATIO / ratio);
}

bool overview_worse(enum overview_number which, float a, float b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && !isnan(b);
    if (which == OVERVIEW_RATIO && isfinite(a) && isfinite(b))
        return distance(b) > distance(a);
    return b > a;
}

/* ---- files ---- */

static struct overview_file *find_file(struct overview *overview,
                                       struct history *history)
{
    for (uint32_t i = 0; i < overview->n; i++)
        if (overview->files[i]->history == history)
            return overview->files[i];
    return NULL;
}

static int add_file(struct overview *overview, struct history *history, uint64_t rank,
                    struct err *err)
{
    struct overview_file *file = find_file(overview, history);
    struct overview_file **files;

    if (file)
        return 0;
    files = realloc(overview->files, (overview->n + 1) * sizeof *files);
    if (files)
        overview->files = files;
    file = files ? calloc(1, sizeof *file) : NULL;
    if (!file)
        return err_set(err, ERR_LIMIT, "the modules: no memory left");
    file->history = history;
    file->model = overview->model;
    file->rank = rank;
    file->other = overview->n > 0;
    overview->files[overview->n++] = file;
    return 0;
}

/* Files of ranks may appear later. */
static int find_files(struct overview *overview, struct err *err)
{
    struct history_ranks *ranks = history_ranks_of(overview->history);

    if (!ranks)
        return add_file(overview, overview->history, 0, err);
    for (uint32_t i = 0; i < history_ranks_count(ranks); i++)
        if (add_file(overview, history_ranks_at(ranks, i),
                     history_ranks_number(ranks, i), err) < 0)
            return -1;
    return 0;
}

bool overview_wants(const struct overview_file *file, uint64_t rank)
{
    return rank == OVERVIEW_ALL_RANKS || file->rank == rank;
}

/* A single file has one rank, whatever its number. */
static int check_rank(const struct overview *overview, uint64_t *rank, struct err *err)
{
    if (!history_ranks_of(overview->history))
        *rank = OVERVIEW_ALL_RANKS;
    for (uint32_t i = 0; i < overview->n; i++)
        if (overview_wants(overview->files[i], *rank))
            return 0;
    return err_set(err, ERR_NOT_FOUND, "there is no file of rank %" PRIu64, *rank);
}

/* ---- the table ---- */

/* Modules with parameters at or below them, or with units, of any rank. tied: by place,
 * the module of the first tied tensor below, or NO_PLACE. */
static void mark_modules(const struct overview_file *file, bool *marks, uint32_t *tied)
{
    for (uint32_t i = 0; i < file->n_series; i++) {
        uint32_t at = file->series_at[i];

        if (at == HISTORY_NONE ||
            !(history_kind_is_param(file->series_kind[i]) || file->series_units[i]))
            continue;
        for (; at != HISTORY_NONE; at = file->places[at].parent)
            marks[file->places[at].place] = true;
    }
    for (uint32_t i = 0; i < file->n_ties; i++) {
        const struct overview_tie *tie = &file->ties[i];
        uint32_t from = file->places[tie->from].parent;

        for (uint32_t at = file->places[tie->at].parent; at != tie->top;
             at = file->places[at].parent)
            if (tied[file->places[at].place] == NO_PLACE)
                tied[file->places[at].place] = file->places[from].place;
    }
}

static int list_modules(struct overview_making *self)
{
    const struct model *model = self->overview->model;
    struct overview_table *table = &self->table;
    bool *marks =
        arena_array(&self->scratch, (size_t)model->n_places + 1, sizeof *marks);
    uint32_t *tied =
                 arena_array(&self->scratch, (size_t)model->n_places + 1, sizeof *tied),
             *places, *table_tied;

    self->row_of =
        arena_array(&self->scratch, (size_t)model->n_places + 1, sizeof *self->row_of);
    if (!marks || !tied || !self->row_of)
        return arena_err(&self->scratch, "the modules", self->err);
    memset(self->row_of, 0xff, model->n_places * sizeof *self->row_of);
    memset(tied, 0xff, model->n_places * sizeof *tied);
    for (uint32_t i = 0; i < self->overview->n; i++)
        mark_modules(self->overview->files[i], marks, tied);
    for (uint32_t p = 0; p < model->n_places; p++)
        if ((marks[p] || tied[p] != NO_PLACE) && model->kind[p] != PLACE_TENSOR)
            self->row_of[p] = table->n++;
    places = arena_array(self->arena, (size_t)table->n + 1, sizeof *places);
    table_tied = arena_array(self->arena, (size_t)table->n + 1, sizeof *table_tied);
    if (!places || !table_tied)
        return arena_err(self->arena, "the modules", self->err);
    for (uint32_t p = 0; p < model->n_places; p++) {
        if (self->row_of[p] == HISTORY_NONE)
            continue;
        places[self->row_of[p]] = p;
        table_tied[self->row_of[p]] = marks[p] ? NO_PLACE : tied[p];
    }
    table->places = places;
    table->tied = table_tied;
    return 0;
}

static struct overview_cell *make_cells(struct overview_making *self)
{
    size_t n = (size_t)self->table.n * self->table.columns;
    struct overview_cell *cells = arena_array(self->arena, n + 1, sizeof *cells);

    if (!cells) {
        arena_err(self->arena, "the modules", self->err);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < OVERVIEW_NUMBERS; k++)
            cells[i].of[k] = NAN;
    return cells;
}

static int make_ranks(struct overview_making *self)
{
    const struct overview *overview = self->overview;
    struct overview_table *table = &self->table;
    size_t n = (size_t)table->n * table->columns + 1;

    table->ranks =
        arena_array(self->arena, (size_t)overview->n + 1, sizeof *table->ranks);
    if (!table->ranks)
        return arena_err(self->arena, "the modules", self->err);
    for (uint32_t i = 0; i < overview->n; i++)
        table->ranks[table->n_ranks++] = overview->files[i]->rank;
    table->least = make_cells(self);
    table->worst_rank = arena_array(self->arena, n, sizeof *table->worst_rank);
    table->least_rank = arena_array(self->arena, n, sizeof *table->least_rank);
    if (!table->least || !table->worst_rank || !table->least_rank)
        return arena_err(self->arena, "the modules", self->err);
    return 0;
}

static int read_alarms(struct overview_making *self)
{
    struct history_alarm *alarms;
    uint32_t n;

    if (history_read_alarms(self->overview->history, 0, MOST_ALARMS, &self->scratch,
                            &alarms, &n, self->err) < 0)
        return -1;
    self->alarms = arena_array(&self->scratch, (size_t)n + 1, sizeof *self->alarms);
    if (!self->alarms)
        return arena_err(&self->scratch, "the alarms", self->err);
    for (uint32_t i = 0; i < n; i++)
        if (alarms[i].severity == SEVERITY_ALARM && str_is(alarms[i].kind, "nan"))
            self->alarms[self->n_alarms++] = alarms[i].step;
    return 0;
}

/* ---- files become one table ---- */

static void join_cell(struct overview_table *table, size_t to, int k, float value,
                      uint16_t rank)
{
    if (overview_worse((enum overview_number)k, table->cells[to].of[k], value)) {
        table->cells[to].of[k] = value;
        if (table->worst_rank)
            table->worst_rank[to][k] = rank;
    }
    if (table->least && !isnan(value) &&
        (isnan(table->least[to].of[k]) ||
         overview_worse((enum overview_number)k, value, table->least[to].of[k]))) {
        table->least[to].of[k] = value;
        table->least_rank[to][k] = rank;
    }
}

static void join_file(struct overview_making *self, const struct column_rows *rows,
                      uint16_t rank)
{
    uint32_t columns = self->grid->columns;

    for (uint32_t m = 0; m < rows->file->n_modules; m++) {
        uint32_t row = self->row_of[rows->file->modules[m]];

        for (uint32_t c = 0; row != HISTORY_NONE && c < columns; c++)
            for (int k = 0; k < OVERVIEW_NUMBERS; k++)
                join_cell(&self->table, (size_t)row * columns + c, k,
                          rows->cells[(size_t)m * columns + c].of[k], rank);
    }
}

static int read_file(struct overview_making *self, uint32_t i)
{
    struct column_rows rows = {.file = self->overview->files[i]};
    int status;

    if (!overview_wants(rows.file, self->rank) || self->grid->columns == 0)
        return 0;
    if (history_hold(rows.file->history, self->err) < 0)
        return -1;
    status = overview_file_refresh(rows.file, self->err);
    if (status == 0)
        status = overview_columns(self, &rows);
    history_let_go(rows.file->history);
    if (status == 0)
        join_file(self, &rows, (uint16_t)i);
    return status;
}

/* All files have their lists before the table is made. */
static int refresh(struct overview_making *self)
{
    for (uint32_t i = 0; i < self->overview->n; i++) {
        struct overview_file *file = self->overview->files[i];
        int status;

        if (history_hold(file->history, self->err) < 0)
            return -1;
        status = overview_file_refresh(file, self->err);
        history_let_go(file->history);
        if (status < 0)
            return -1;
    }
    return 0;
}

static int make_table(struct overview_making *self)
{
    if (find_files(self->overview, self->err) < 0 ||
        check_rank(self->overview, &self->rank, self->err) < 0 || refresh(self) < 0 ||
        list_modules(self) < 0 || read_alarms(self) < 0)
        return -1;
    self->table.columns = self->grid->columns;
    self->table.cells = make_cells(self);
    if (!self->table.cells)
        return -1;
    if (history_ranks_of(self->overview->history) && make_ranks(self) < 0)
        return -1;
    for (uint32_t i = 0; i < self->overview->n; i++)
        if (read_file(self, i) < 0)
            return -1;
    return 0;
}

int overview_read(struct overview *overview, const struct overview_wanted *wanted,
                  struct arena *arena, struct overview_table *ret_table,
                  struct err *err)
{
    struct overview_making self = {.overview = overview,
                                   .wanted = wanted,
                                   .grid = wanted->grid,
                                   .rank = wanted->rank,
                                   .arena = arena,
                                   .err = err};
    int status;

    arena_init(&self.scratch, STEPS_LIMIT);
    status = make_table(&self);
    arena_release(&self.scratch);
    if (status == 0)
        *ret_table = self.table;
    return status;
}
