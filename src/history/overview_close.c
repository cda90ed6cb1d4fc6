/* The close-up: everything that was logged in a few neighbouring steps. */
#include <string.h>

#include "base/base.h"
#include "history/overview_in.h"

#define STEPS_BEFORE 10u
#define CLOSE_LIMIT  (256 * MIB) /* of lists of steps */

struct close_making {
    struct overview *overview;
    const struct overview_table *table;
    uint8_t phase;
    struct arena scratch;
    uint32_t *row_of; /* by place: row of the table, or HISTORY_NONE */
    struct close_up to;
    struct err *err;
};

/* The steps to show: with points, of all ranks. */
static int choose_steps(struct close_making *self, uint64_t around)
{
    const struct history_range range = {.phase = self->phase};
    struct history_step *steps;
    uint32_t n, kept = 0, at = 0, from;

    if (history_read_steps(self->overview->history, &range, &self->scratch, &steps, &n,
                           self->err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        if (steps[i].points > 0)
            at += steps[i].last < around;
    for (uint32_t i = 0; i < n; i++)
        kept += steps[i].points > 0;
    from = at > STEPS_BEFORE ? at - STEPS_BEFORE : 0;
    if (from + CLOSE_UP > kept)
        from = kept > CLOSE_UP ? kept - CLOSE_UP : 0;
    at = 0;
    for (uint32_t i = 0; i < n && self->to.n < CLOSE_UP; i++) {
        if (steps[i].points == 0 || at++ < from)
            continue;
        self->to.first[self->to.n] = steps[i].first;
        self->to.last[self->to.n++] = steps[i].last;
    }
    return 0;
}

static void add_row(struct close_making *self, const struct overview_file *file,
                    const struct overview_row *row, uint32_t column)
{
    for (uint32_t m = 0; m < file->n_modules; m++) {
        uint32_t at = self->row_of[file->modules[m]];
        float bad = row->cells[m].of[OVERVIEW_BAD];
        uint8_t state = bad > 0    ? CLOSE_UP_BAD
                        : bad >= 0 ? CLOSE_UP_FINITE
                                   : CLOSE_UP_NOTHING;

        if (at != HISTORY_NONE && self->to.states[at][column] < state)
            self->to.states[at][column] = state;
    }
}

static int add_rows(struct close_making *self, struct overview_file *file,
                    struct numbers_reader *reader)
{
    const struct history_range range = {.from = self->to.first[0],
                                        .to = self->to.last[self->to.n - 1],
                                        .phase = self->phase};
    struct history_step *steps;
    uint32_t n;

    if (history_read_steps(file->history, &range, &self->scratch, &steps, &n,
                           self->err) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t column = history_column(self->to.first, self->to.n, steps[i].first);
        const struct overview_row *row;

        if (steps[i].points == 0)
            continue;
        row = overview_row_read(file, reader, &steps[i], true, self->err);
        if (!row)
            return -1;
        add_row(self, file, row, column);
    }
    return 0;
}

static int add_file(struct close_making *self, struct overview_file *file)
{
    struct numbers_reader reader;
    int status;

    if (history_hold(file->history, self->err) < 0)
        return -1;
    status = overview_reader_open(file, &reader, self->err);
    if (status == 0) {
        status = add_rows(self, file, &reader);
        numbers_close(&reader);
    }
    history_let_go(file->history);
    return status;
}

static int make_rows(struct close_making *self, struct arena *arena)
{
    uint32_t n_places = self->overview->model->n_places;

    self->to.states =
        arena_array(arena, (size_t)self->table->n + 1, sizeof *self->to.states);
    self->row_of =
        arena_array(&self->scratch, (size_t)n_places + 1, sizeof *self->row_of);
    if (!self->to.states || !self->row_of)
        return arena_err(arena, "the modules", self->err);
    memset(self->row_of, 0xff, n_places * sizeof *self->row_of);
    for (uint32_t i = 0; i < self->table->n; i++)
        self->row_of[self->table->places[i]] = i;
    return 0;
}

int overview_close_up(struct overview *overview, const struct overview_table *table,
                      uint8_t phase, uint64_t around, uint64_t rank,
                      struct arena *arena, struct close_up *ret_close_up,
                      struct err *err)
{
    struct close_making self = {
        .overview = overview, .table = table, .phase = phase, .err = err};
    int status;

    if (!history_ranks_of(overview->history))
        rank = OVERVIEW_ALL_RANKS;
    arena_init(&self.scratch, CLOSE_LIMIT);
    status = make_rows(&self, arena);
    if (status == 0)
        status = choose_steps(&self, around);
    for (uint32_t i = 0; status == 0 && self.to.n > 0 && i < overview->n; i++)
        if (overview_wants(overview->files[i], rank))
            status = add_file(&self, overview->files[i]);
    arena_release(&self.scratch);
    if (status == 0)
        *ret_close_up = self.to;
    return status;
}
