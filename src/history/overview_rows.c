/* Reads the rows of one file once and caches them by block. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "history/overview_in.h"

#define ROWS_LIMIT (64 * MIB) /* of cached rows of a file; then the cache is emptied */
#define PROBES     3          /* rows that are read whole to find units */

/* ---- the numbers of a row ---- */

/* The worst or best values of the point's steps, as far as merging kept them. */
static struct history_point worst_of(const struct history_point *point,
                                     enum history_kind kind, bool high)
{
    struct history_point worst = *point;
    static const enum history_extra extras[] = {EXTRA_RATIO, EXTRA_DEAD, EXTRA_NORM};

    for (size_t i = 0; i < COUNT_OF(extras); i++) {
        struct history_number *number = &worst.extra[extras[i]];

        if (number->n < 2 || (extras[i] == EXTRA_NORM && kind != HISTORY_GRAD_PARAM))
            continue;
        number->sum = high ? number->max : number->min;
        number->n = 1;
    }
    return worst;
}

static void take_point(void *user, const struct history_point *point)
{
    struct overview_file *file = user;
    uint32_t at =
        point->series < file->n_series ? file->series_at[point->series] : HISTORY_NONE;
    struct history_point worst;
    enum history_kind kind;

    if (at == HISTORY_NONE)
        return;
    kind = (enum history_kind)file->series_kind[point->series];
    if (kind == HISTORY_OUTPUT && point->units > 0 && point->extra[EXTRA_DEAD].n > 0 &&
        !file->series_units[point->series])
        file->series_units[point->series] = file->units_changed = true;
    step_numbers_take(&file->now[at], kind, point);
    worst = worst_of(point, kind, true);
    step_numbers_take(&file->high[at], kind, &worst);
    worst = worst_of(point, kind, false);
    step_numbers_take(&file->low[at], kind, &worst);
}

/* For an unmerged step all three are equal. */
static void take_single(void *user, const struct history_point *point)
{
    struct overview_file *file = user;
    uint32_t at =
        point->series < file->n_series ? file->series_at[point->series] : HISTORY_NONE;

    if (at != HISTORY_NONE)
        step_numbers_take(&file->now[at],
                          (enum history_kind)file->series_kind[point->series], point);
}

static void clear(struct overview_file *file, struct step_numbers *numbers)
{
    memset(numbers, 0, file->n_places * sizeof *numbers);
}

/* Adds numbers up like at_step_read(). Children follow their parents. */
static void add_up(struct overview_file *file, struct step_numbers *numbers)
{
    for (uint32_t i = 0; i < file->n_places; i++)
        step_numbers_close(&numbers[i]);
    for (uint32_t i = file->n_places; i-- > 0;)
        if (file->places[i].parent != HISTORY_NONE)
            step_numbers_add(&numbers[file->places[i].parent], &numbers[i]);
    for (uint32_t i = 0; i < file->n_ties; i++)
        for (uint32_t at = file->places[file->ties[i].at].parent;
             at != file->ties[i].top; at = file->places[at].parent)
            step_numbers_add(&numbers[at], &numbers[file->ties[i].from]);
}

/* ---- cells ---- */

static float cell_of(double value)
{
    if (!isfinite(value))
        return INFINITY;
    return value > (double)FLT_MAX ? FLT_MAX : (float)value;
}

static float number_of(const struct step_numbers *numbers, enum step_number which)
{
    double value;

    return step_number(numbers, which, &value) ? cell_of(value) : NAN;
}

static float share_of(bool known, double share)
{
    return known ? (float)share : NAN;
}

static struct overview_cell make_cell(const struct step_numbers *now,
                                      const struct step_numbers *high,
                                      const struct step_numbers *low, bool skipped)
{
    float a = number_of(high, STEP_RATIO), b = number_of(low, STEP_RATIO);
    struct overview_cell cell;
    double share;
    bool known;

    cell.of[OVERVIEW_GRADIENT] = number_of(high, STEP_GRADIENT);
    cell.of[OVERVIEW_RATIO] = overview_worse(OVERVIEW_RATIO, a, b) ? b : a;
    known = step_dead(high, &share);
    cell.of[OVERVIEW_DEAD] = share_of(known, share);
    known = step_bad(now, &share);
    cell.of[OVERVIEW_BAD] = share_of(known, share);
    for (int i = 0; skipped && i < OVERVIEW_NUMBERS; i++)
        if (isinf(cell.of[i]) || (i == OVERVIEW_BAD && cell.of[i] > 0))
            cell.of[i] = NAN;
    return cell;
}

static void make_cells(struct overview_file *file, const struct history_step *step,
                       bool merged, struct overview_cell *cells)
{
    add_up(file, file->now);
    if (merged) {
        add_up(file, file->high);
        add_up(file, file->low);
    }
    for (uint32_t i = 0; i < file->n_places; i++)
        if (file->places[i].module != HISTORY_NONE)
            cells[file->places[i].module] =
                make_cell(&file->now[i], merged ? &file->high[i] : &file->now[i],
                          merged ? &file->low[i] : &file->now[i], step->skipped > 0);
}

/* ---- reading ---- */

/* 1: there are points that need all columns. */
static int read_spans(struct numbers_reader *reader, const struct history_step *step,
                      const struct series_spans *spans, enum numbers_of which,
                      struct err *err)
{
    for (uint32_t i = 0; i < spans->n; i++) {
        int status =
            numbers_read(reader, step, spans->at[i].from, spans->at[i].to, which, err);

        if (status != 0)
            return status;
    }
    return 0;
}

/* Without parameters each row is read in full. */
static bool is_full(const struct overview_file *file, const struct history_step *step,
                    bool full)
{
    return full || (file->phases[step->phase].params.n == 0 &&
                    file->phases[step->phase].updates.n == 0);
}

static int read_single(struct overview_file *file, struct numbers_reader *reader,
                       const struct history_step *step, struct err *err)
{
    const struct series_phase *phase = &file->phases[step->phase];
    int status;

    clear(file, file->now);
    reader->take = take_single;
    /* Without updates, another point of the parameter may hold the ratio. */
    status = read_spans(reader, step, &phase->params,
                        phase->updates.n > 0 ? NUMBERS_NORM : NUMBERS_RATIO, err);
    if (status == 0)
        status = read_spans(reader, step, &phase->updates, NUMBERS_RATIO, err);
    if (status == 0)
        status = read_spans(reader, step, &phase->units, NUMBERS_UNITS, err);
    return status;
}

static int read_all(struct overview_file *file, struct numbers_reader *reader,
                    const struct history_step *step, bool full, struct err *err)
{
    const struct series_phase *phase = &file->phases[step->phase];

    clear(file, file->now);
    clear(file, file->high);
    clear(file, file->low);
    reader->take = take_point;
    if (full)
        return read_spans(reader, step, &phase->whole, NUMBERS_ALL, err);
    if (read_spans(reader, step, &phase->params, NUMBERS_ALL, err) < 0 ||
        read_spans(reader, step, &phase->updates, NUMBERS_ALL, err) < 0)
        return -1;
    return read_spans(reader, step, &phase->units, NUMBERS_ALL, err);
}

int overview_reader_open(struct overview_file *file, struct numbers_reader *reader,
                         struct err *err)
{
    return numbers_open(reader, file->history, take_point, file, err);
}

/* ---- rows ---- */

static void forget_rows(struct overview_file *file)
{
    arena_release(&file->rows_arena);
    arena_init(&file->rows_arena, ROWS_LIMIT);
    map_init(&file->blocks, &file->rows_arena);
    file->rows = NULL;
    file->n_rows = file->rows_room = 0;
}

struct overview_row *overview_row_known(struct overview_file *file,
                                        const struct history_step *step, bool full)
{
    uint32_t at;

    if (!map_find(&file->blocks, step->block, &at) || !file->rows[at].cells ||
        (full && !file->rows[at].full))
        return NULL;
    return &file->rows[at];
}

/* A row to fill; NULL: the arena is spent. */
static struct overview_row *row_at(struct overview_file *file, uint64_t block)
{
    struct arena *arena = &file->rows_arena;
    struct overview_row *row;
    uint32_t at;

    if (!map_find(&file->blocks, block, &at)) {
        if (arena_room(arena, &file->rows, file->n_rows, &file->rows_room,
                       sizeof *row) < 0 ||
            map_put(&file->blocks, block, file->n_rows) < 0)
            return NULL;
        at = file->n_rows++;
        file->rows[at] = (struct overview_row){0};
    }
    row = &file->rows[at];
    if (!row->cells)
        row->cells =
            arena_array(arena, (size_t)file->n_modules + 1, sizeof *row->cells);
    return row->cells ? row : NULL;
}

struct overview_row *overview_row_read(struct overview_file *file,
                                       struct numbers_reader *reader,
                                       const struct history_step *step, bool full,
                                       struct err *err)
{
    struct overview_row *row;
    bool merged = step->merged > 1 || full;
    int status = 1;

    full = is_full(file, step, full);
    merged = merged || full;
    row = overview_row_known(file, step, full);
    if (row)
        return row;
    if (!merged)
        status = read_single(file, reader, step, err);
    if (status == 1) {
        merged = true;
        status = read_all(file, reader, step, full, err);
    }
    if (status < 0)
        return NULL;
    row = row_at(file, step->block);
    if (!row) {
        forget_rows(file);
        row = row_at(file, step->block);
    }
    if (!row) {
        arena_err(&file->rows_arena, "the modules", err);
        return NULL;
    }
    row->full = full;
    make_cells(file, step, merged, row->cells);
    return row;
}

/* ---- what is new ---- */

/* Finds units by reading a few rows in full. */
static int find_units(struct overview_file *file, struct err *err)
{
    struct numbers_reader reader;
    int status = 0;

    if (overview_reader_open(file, &reader, err) < 0)
        return -1;
    for (uint8_t phase = 0; phase < HISTORY_PHASES && status == 0; phase++) {
        const struct history_range range = {.phase = phase};
        struct history_step *steps;
        struct arena arena;
        uint32_t n;

        arena_init(&arena, PROBES * ROWS_LIMIT);
        status = history_scan_steps(file->history, &range, &arena, &steps, &n, err);
        for (uint32_t i = 0; status == 0 && n > 0 && i < PROBES; i++) {
            uint32_t at = (uint32_t)((uint64_t)i * (n - 1) / (PROBES - 1));

            while (at > 0 && steps[at].points == 0)
                at--;
            status = overview_row_read(file, &reader, &steps[at], true, err) ? 0 : -1;
        }
        arena_release(&arena);
    }
    numbers_close(&reader);
    return status;
}

int overview_file_refresh(struct overview_file *file, struct err *err)
{
    struct history *history = file->history;
    int64_t n =
        history_ask(history->db, "SELECT max(id) FROM history_series NOT INDEXED") + 1;
    bool same = file->key.inode == history->key.inode &&
                file->key.device == history->key.device;

    if (!same || !file->rows_arena.limit || n != file->n_series) {
        file->key = history->key;
        forget_rows(file);
        if (overview_places_make(file, err) < 0 || find_units(file, err) < 0)
            return -1;
    }
    return file->units_changed ? overview_spans_make(file, err) : 0;
}

void overview_file_release(struct overview_file *file)
{
    arena_release(&file->arena);
    arena_release(&file->rows_arena);
}
