/* The numbers of every module of a training run, by column: the document `modules`. */
#include <math.h>

#include "base/base.h"
#include "export/json/json_history_in.h"

#define MOST_POINTS 80000u /* to read for a quick answer: under a tenth of a second */

struct modules_writing {
    struct history_writing writing;
    const struct export_modules_wanted *wanted;
    struct overview *overview;
    struct history_grid grid;
    struct overview_table table;
    struct close_up close_up;
    bool has_close_up;
};

static const char *const keys[OVERVIEW_NUMBERS] = {"gradient", "ratio", "dead", "bad"};

/* ---- a module ---- */

static const struct overview_cell *row_of(const struct modules_writing *self,
                                          const struct overview_cell *cells,
                                          uint32_t module)
{
    return cells + (size_t)module * self->table.columns;
}

static void put_cells(struct modules_writing *self, const char *key,
                      const struct overview_cell *row, int which)
{
    struct json *json = self->writing.json;
    bool some = false;

    for (uint32_t i = 0; i < self->table.columns; i++)
        some = some || !isnan(row[i].of[which]);
    if (!some)
        return;
    json_array(json, key);
    for (uint32_t i = 0; i < self->table.columns; i++)
        if (isfinite(row[i].of[which]))
            export_short(json, NULL, (double)row[i].of[which], 3);
        else
            json_null(json, NULL);
    json_array_end(json);
}

/* Columns with non-finite elements, and their share. */
static void put_bad(struct modules_writing *self, const struct overview_cell *row)
{
    struct json *json = self->writing.json;
    bool some = false;

    json_array(json, "bad");
    for (uint32_t i = 0; i < self->table.columns; i++)
        if (row[i].of[OVERVIEW_BAD] > 0) {
            json_u64(json, NULL, i);
            some = true;
        }
    json_array_end(json);
    if (!some)
        return;
    json_array(json, "bad_share");
    for (uint32_t i = 0; i < self->table.columns; i++)
        if (row[i].of[OVERVIEW_BAD] > 0)
            export_short(json, NULL, (double)row[i].of[OVERVIEW_BAD], 3);
    json_array_end(json);
}

static void put_rank_of(struct modules_writing *self, const char *key,
                        const uint16_t (*ranks)[OVERVIEW_NUMBERS],
                        const struct overview_cell *row, int which)
{
    struct json *json = self->writing.json;

    json_array(json, key);
    for (uint32_t i = 0; i < self->table.columns; i++)
        if (isnan(row[i].of[which]))
            json_null(json, NULL);
        else
            json_u64(json, NULL, self->table.ranks[ranks[i][which]]);
    json_array_end(json);
}

static void put_ranks(struct modules_writing *self, uint32_t module)
{
    static const char *const worst[] = {"gradient_rank", "ratio_rank", "dead_rank"};
    static const char *const least[] = {"gradient_least", "ratio_least", "dead_least"};
    static const char *const least_rank[] = {"gradient_least_rank", "ratio_least_rank",
                                             "dead_least_rank"};
    size_t at = (size_t)module * self->table.columns;
    const struct overview_cell *cells = self->table.cells + at;
    bool known;

    for (int k = OVERVIEW_GRADIENT; k <= OVERVIEW_DEAD; k++) {
        known = false;
        for (uint32_t i = 0; i < self->table.columns; i++)
            known = known || !isnan(cells[i].of[k]);
        if (!known)
            continue;
        put_rank_of(self, worst[k],
                    (const uint16_t(*)[OVERVIEW_NUMBERS])self->table.worst_rank + at,
                    cells, k);
        if (!self->wanted->least)
            continue;
        put_cells(self, least[k], self->table.least + at, k);
        put_rank_of(self, least_rank[k],
                    (const uint16_t(*)[OVERVIEW_NUMBERS])self->table.least_rank + at,
                    self->table.least + at, k);
    }
}

static void put_close_states(struct modules_writing *self, uint32_t module)
{
    static const char letters[] = {
        [CLOSE_UP_NOTHING] = '-', [CLOSE_UP_FINITE] = '0', [CLOSE_UP_BAD] = '1'};
    char text[CLOSE_UP];

    for (uint32_t i = 0; i < self->close_up.n; i++)
        text[i] = letters[self->close_up.states[module][i]];
    json_str(self->writing.json, "close_up", str_span(text, self->close_up.n));
}

static void put_module(struct modules_writing *self, uint32_t module)
{
    const struct overview_cell *row = row_of(self, self->table.cells, module);
    struct history_writing *writing = &self->writing;
    uint32_t place = self->table.places[module];
    struct buf path = BUF_INIT;

    place_path(writing->model, place, &path);
    json_object(writing->json, NULL);
    json_str(writing->json, "name", buf_span(&path));
    json_u64(writing->json, "place", place);
    json_str(writing->json, "class", class_short(place_class(writing->model, place)));
    if (self->table.tied[module] != NO_PLACE) {
        buf_clear(&path);
        place_path(writing->model, self->table.tied[module], &path);
        json_str(writing->json, "tied", buf_span(&path));
    }
    for (int k = OVERVIEW_GRADIENT; k <= OVERVIEW_DEAD; k++)
        put_cells(self, keys[k], row, k);
    put_bad(self, row);
    if (self->table.n_ranks > 1 && self->wanted->rank == OVERVIEW_ALL_RANKS)
        put_ranks(self, module);
    if (self->has_close_up)
        put_close_states(self, module);
    json_object_end(writing->json);
    buf_release(&path);
}

/* ---- the document ---- */

static int make_grid(struct modules_writing *self)
{
    struct history_steady steady = {.phase = HISTORY_TRAIN,
                                    .from = self->wanted->from,
                                    .to = self->wanted->to,
                                    .most = self->wanted->columns,
                                    .points = true,
                                    .since = self->wanted->since};
    struct history_writing *writing = &self->writing;
    struct history_steady any = {.phase = HISTORY_TRAIN, .most = 1, .points = true};
    struct history_grid all;

    if (history_grid_steady(&all, writing->history, &any, writing->arena,
                            writing->err) < 0)
        return -1;
    if (all.columns == 0)
        steady.phase = HISTORY_EVAL;
    writing->phase = (uint8_t)steady.phase;
    return history_grid_steady(&self->grid, writing->history, &steady, writing->arena,
                               writing->err);
}

static int make_close_up(struct modules_writing *self)
{
    const struct export_modules_wanted *wanted = self->wanted;
    uint64_t around = wanted->has_around ? wanted->around : self->table.first_bad;

    if (!wanted->has_around && !self->table.has_bad)
        return 0;
    self->has_close_up = true;
    return overview_close_up(self->overview, &self->table, self->writing.phase, around,
                             wanted->rank, self->writing.arena, &self->close_up,
                             self->writing.err);
}

static int read_table(struct modules_writing *self)
{
    const struct overview_wanted wanted = {.grid = &self->grid,
                                           .rank = self->wanted->rank,
                                           .most =
                                               self->wanted->quick ? MOST_POINTS : 0};

    return overview_read(self->overview, &wanted, self->writing.arena, &self->table,
                         self->writing.err);
}

static void put_close_up(struct modules_writing *self)
{
    struct json *json = self->writing.json;

    if (!self->has_close_up) {
        json_null(json, "close_up");
        return;
    }
    json_object(json, "close_up");
    json_array(json, "first");
    for (uint32_t i = 0; i < self->close_up.n; i++)
        json_u64(json, NULL, self->close_up.first[i]);
    json_array_end(json);
    json_array(json, "last");
    for (uint32_t i = 0; i < self->close_up.n; i++)
        json_u64(json, NULL, self->close_up.last[i]);
    json_array_end(json);
    json_object_end(json);
}

static void put_document(struct modules_writing *self, const struct session *session)
{
    struct history_writing *writing = &self->writing;
    struct json *json = writing->json;

    writing->scalars[writing->phase] = self->grid;
    history_writing_begin(writing, session, "modules");
    history_writing_newest(writing, self->wanted->since);
    json_text(json, "phase", history_writing_phase(writing->phase));
    history_writing_columns(json, "columns", &self->grid);
    json_u64(json, "unread", self->table.unread);
    if (self->table.has_bad)
        json_u64(json, "first_bad", self->table.first_bad);
    else
        json_null(json, "first_bad");
    put_close_up(self);
    if (self->table.n_ranks > 0) {
        json_array(json, "ranks");
        for (uint32_t i = 0; i < self->table.n_ranks; i++)
            json_u64(json, NULL, self->table.ranks[i]);
        json_array_end(json);
    }
    json_array(json, "modules");
    for (uint32_t i = 0; i < self->table.n; i++)
        put_module(self, i);
    json_array_end(json);
    json_object_end(json);
}

int export_modules_json(struct json *json, struct session *session,
                        const struct export_modules_wanted *wanted, struct err *err)
{
    struct modules_writing self = {.wanted = wanted};
    struct arena arena;
    int status = -1;

    if (history_writing_init(&self.writing, json, session, &arena, err) < 0)
        return -1;
    self.overview = session_overview(session, err);
    if (!self.overview || history_hold(session->history, err) < 0)
        return -1;
    arena_init(&arena, GIB);
    if (make_grid(&self) == 0 && read_table(&self) == 0 && make_close_up(&self) == 0) {
        put_document(&self, session);
        status = 0;
    }
    arena_release(&arena);
    history_let_go(session->history);
    return status;
}
