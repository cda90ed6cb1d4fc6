/* Merges old steps when the file reaches its limit, so that resolution fades with age:
 * neighbours that are short for their age are merged first. The rows of a merged step
 * get a new block at the end of the table; the old rows are deleted and their pages
 * reused.
 *
 * Neighbours are merged in aligned cells of 1, 4, 16, ... steps. With cells of powers of
 * two, each point would be read, merged and written 1.5 to 3 times as often. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "history/writer_in.h"

#define STEPS_LEAST  16u /* rows that always stay */
#define CHUNK_SERIES 512u
#define GROUP_MOST   8u /* steps that are merged at once */
/* Limits of the merges in a transaction: its pages go to the -wal, which counts too. */
#define WAL_LEAST  ((uint64_t)256 << 10)
#define SLICE_MOST ((uint64_t)16 << 20)
#define ROW_BYTES  256u   /* of a point */
#define STEP_BYTES 20480u /* pages that merging a small step changes */

/* The points of a range of series, without their histograms. */
struct history_chunk {
    struct history_point points[CHUNK_SERIES];
    uint8_t used[CHUNK_SERIES];    /* steps that have the point */
    uint8_t n_parts[CHUNK_SERIES]; /* of these: with a histogram */
    struct chunk_part {
        size_t at, len; /* in `blobs` */
    } parts[CHUNK_SERIES][GROUP_MOST];
    struct buf blobs;
};

/* Neighbouring steps of one phase and one segment, from the first to the last. */
struct step_group {
    struct history_step *steps[GROUP_MOST];
    uint32_t n;
    uint32_t points; /* sum of theirs */
};

struct history_chunk *history_chunk_new(void)
{
    return calloc(1, sizeof(struct history_chunk));
}

void history_chunk_free(struct history_chunk *chunk)
{
    if (chunk)
        buf_release(&chunk->blobs);
    free(chunk);
}

/* ---- merging steps ---- */

static void add_to_chunk(struct history_writer *writer, uint32_t slot,
                         struct history_point *point)
{
    struct history_chunk *chunk = writer->chunk;
    struct str histogram = point->histogram;

    point->histogram = STR("");
    if (chunk->used[slot]++ > 0)
        history_point_merge(&chunk->points[slot], point, writer->options.codec,
                            &writer->scratch);
    else
        chunk->points[slot] = *point;
    if (histogram.len == 0)
        return;
    chunk->parts[slot][chunk->n_parts[slot]++] =
        (struct chunk_part){chunk->blobs.len, histogram.len};
    buf_str(&chunk->blobs, histogram);
}

/* The histogram of all parts, in `blobs` or in the writer's scratch. */
static struct str merged_histogram(struct history_writer *writer, uint32_t slot)
{
    const struct history_chunk *chunk = writer->chunk;
    struct str parts[GROUP_MOST];
    uint32_t n = chunk->n_parts[slot];

    for (uint32_t i = 0; i < n; i++)
        parts[i] = str_span(chunk->blobs.at + chunk->parts[slot][i].at,
                            chunk->parts[slot][i].len);
    if (n < 2)
        return n ? parts[0] : STR("");
    buf_clear(&writer->scratch);
    if (writer->options.codec->merge(parts, n, &writer->scratch) < 0 ||
        writer->scratch.bad)
        return STR("");
    return buf_span(&writer->scratch);
}

/* Adds the points of a step with series from `from` on. */
static int read_chunk(struct history_writer *writer, uint64_t block, uint32_t from)
{
    sqlite3_stmt *stmt = writer->select[SELECT_POINTS];
    struct history_point point = {0};
    int status;
    int64_t id;

    sqlite3_bind_int64(stmt, 1, history_point_id(block, from));
    sqlite3_bind_int64(stmt, 2, history_point_id(block, from + CHUNK_SERIES - 1));
    while ((status = sqlite3_step(stmt)) == SQLITE_ROW)
        if (history_get(stmt, HISTORY_TABLE_POINT, &id, &point))
            add_to_chunk(writer, point.series - from, &point);
    sqlite3_reset(stmt);
    return status == SQLITE_DONE ? SQLITE_OK : status;
}

static int write_chunk(struct history_writer *writer, uint64_t block, uint32_t *n)
{
    struct history_chunk *chunk = writer->chunk;
    int status = chunk->blobs.bad ? SQLITE_NOMEM : SQLITE_OK;

    for (uint32_t i = 0; i < CHUNK_SERIES && status == SQLITE_OK; i++) {
        if (!chunk->used[i])
            continue;
        chunk->points[i].histogram = merged_histogram(writer, i);
        status = history_put_point(writer->insert[HISTORY_TABLE_POINT], block,
                                   &chunk->points[i]);
        ++*n;
    }
    return status;
}

static int merge_points(struct history_writer *writer, const struct step_group *group,
                        uint32_t *ret_n)
{
    struct history_chunk *chunk = writer->chunk;
    int status = SQLITE_OK;

    *ret_n = 0;
    if (group->points == 0)
        return status;
    for (uint32_t from = 0; from < writer->series_written && status == SQLITE_OK;
         from += CHUNK_SERIES) {
        memset(chunk->used, 0, sizeof chunk->used);
        memset(chunk->n_parts, 0, sizeof chunk->n_parts);
        buf_clear(&chunk->blobs);
        chunk->blobs.bad = false;
        for (uint32_t i = 0; i < group->n && status == SQLITE_OK; i++)
            status = read_chunk(writer, group->steps[i]->block, from);
        if (status == SQLITE_OK)
            status = write_chunk(writer, writer->next_block, ret_n);
    }
    return status;
}

/* The scalar `name` of a block. 1: found, 0: not, -1: failed. */
static int read_scalar(struct history_writer *writer, uint64_t block, uint32_t name,
                       struct history_scalar *ret_scalar)
{
    sqlite3_stmt *stmt = writer->select[SELECT_SCALARS];
    int64_t id;
    int status, found = 0;

    sqlite3_bind_int64(stmt, 1, history_point_id(block, name));
    status = sqlite3_step(stmt);
    if (status == SQLITE_ROW)
        found = history_get(stmt, HISTORY_TABLE_SCALAR, &id, ret_scalar);
    sqlite3_reset(stmt);
    return status == SQLITE_ROW || status == SQLITE_DONE ? found : -1;
}

static int merge_scalars(struct history_writer *writer, const struct step_group *group)
{
    int status = SQLITE_OK;

    for (uint32_t name = 0; name < writer->names_written && status == SQLITE_OK;
         name++) {
        struct history_scalar sum = {0}, one = {0};
        bool some = false;

        for (uint32_t i = 0; i < group->n; i++) {
            int found = read_scalar(writer, group->steps[i]->block, name, &one);

            if (found < 0)
                return sqlite3_errcode(writer->db);
            if (!found)
                continue;
            if (some)
                history_number_merge(&sum.number, &one.number);
            else
                sum = one;
            sum.last = one.last;
            some = true;
        }
        if (some)
            status = history_put_scalar(writer->insert[HISTORY_TABLE_SCALAR],
                                        writer->next_block, &sum);
    }
    return status;
}

static int delete_range(sqlite3_stmt *stmt, int64_t from, int64_t to)
{
    sqlite3_bind_int64(stmt, 1, from);
    sqlite3_bind_int64(stmt, 2, to);
    sqlite3_step(stmt);
    return sqlite3_reset(stmt);
}

static int delete_step(struct history_writer *writer, const struct history_step *step)
{
    int64_t from = history_point_id(step->block, 0), id = (int64_t)step->id;
    int64_t to = history_point_id(step->block, HISTORY_SERIES_MOST - 1);
    int status = delete_range(writer->select[DELETE_POINTS], from, to);

    if (status == SQLITE_OK)
        status = delete_range(writer->select[DELETE_SCALARS], from, to);
    if (status == SQLITE_OK)
        status = delete_range(writer->select[DELETE_STEP], id, id);
    return status;
}

/* Merges a group into its first step; the others are then marked by `merged` 0. */
static int merge_group(struct history_writer *writer, const struct step_group *group)
{
    struct history_step both = *group->steps[0];
    uint32_t points = 0;
    int status = merge_points(writer, group, &points);

    if (status == SQLITE_OK)
        status = merge_scalars(writer, group);
    for (uint32_t i = 0; i < group->n; i++) {
        if (status == SQLITE_OK)
            status = delete_step(writer, group->steps[i]);
        if (i > 0)
            history_step_merge(&both, group->steps[i]);
        group->steps[i]->merged = 0;
    }
    both.points = points;
    both.block = writer->next_block++;
    if (status == SQLITE_OK)
        status = history_put(writer->insert[HISTORY_TABLE_STEP], HISTORY_TABLE_STEP,
                             (int64_t)both.id, &both);
    *group->steps[0] = both;
    writer->merged += group->n - 1;
    return status;
}

/* ---- which steps ---- */

static int64_t ask(sqlite3_stmt *stmt)
{
    int64_t number =
        sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;

    sqlite3_reset(stmt);
    return number;
}

/* A file does not shrink, so there is always space for the -wal. A -wal that readers keep
 * from being reset does not count in full: merging would only make it grow. */
uint64_t history_wal_room(const struct history_writer *writer, uint64_t need)
{
    uint64_t limit = writer->options.limit;
    uint64_t wal = limit / 8 > WAL_LEAST ? limit / 8 : WAL_LEAST;
    struct stat info;

    if (writer->wal && stat(writer->wal_path, &info) == 0 &&
        wal < (uint64_t)info.st_size)
        wal = (uint64_t)info.st_size;
    if (wal < 2 * need)
        wal = 2 * need;
    return wal < limit / 4 ? wal : limit / 4;
}

/* Bytes in use now, and after the write. */
static uint64_t bytes_used(const struct history_writer *writer, uint64_t need)
{
    uint64_t pages =
        (uint64_t)(ask(writer->select[ASK_PAGES]) - ask(writer->select[ASK_FREE]));

    return pages * (uint64_t)writer->page + need + history_wal_room(writer, need);
}

/* The smallest cell that holds both numbers has 4^n steps: returns 2 * n. */
static unsigned cell_bits(uint64_t first, uint64_t last)
{
    unsigned bits = 0;

    while (bits < 64 && first >> bits != last >> bits)
        bits += 2;
    return bits;
}

static bool in_cell(uint64_t first, uint64_t last, unsigned bits)
{
    return bits >= 64 || first >> bits == last >> bits;
}

/* How long a pair is for its age: pairs with small scores are merged first. Counting
 * cells instead of steps makes steps end at the same numbers in the files of all ranks,
 * so that they can later be merged across ranks. */
static double pair_score(const struct history_writer *writer,
                         const struct history_step *a, const struct history_step *b)
{
    uint64_t age = writer->n_logged - (b->id + b->merged) + 1;

    return ldexp(1, (int)cell_bits(a->first, b->last)) / (double)age;
}

/* Neighbours are of one phase and one segment. Calls visit() for each pair with a score
 * of at most `most`, without overlaps; it returns false to stop. */
struct fade {
    struct history_writer *writer;
    uint64_t need, target; /* bytes */
    uint32_t rows, merges; /* of points and of steps, left in this transaction */
    uint32_t steps;        /* rows of steps that are left */
    double least;          /* score */
    int status;
};
typedef bool visit_pair(struct fade *fade, struct history_step *a,
                        struct history_step *b);

static void each_pair(struct fade *fade, double most, visit_pair *visit)
{
    struct history_writer *writer = fade->writer;
    struct history_step *last[HISTORY_PHASES] = {NULL};

    for (uint32_t i = 0; i < writer->n_steps; i++) {
        struct history_step *b = &writer->steps[i], *a = last[b->phase];

        if (b->merged == 0) /* merged in this pass */
            continue;
        last[b->phase] = b;
        if (!a || a->segment != b->segment || pair_score(writer, a, b) > most)
            continue;
        if (!visit(fade, a, b))
            return;
        if (b->merged == 0) /* visit() merged it into a */
            last[b->phase] = NULL;
    }
}

static bool note_least(struct fade *fade, struct history_step *a,
                       struct history_step *b)
{
    double score = pair_score(fade->writer, a, b);

    if (fade->least > score)
        fade->least = score;
    return true;
}

static bool is_enough(const struct fade *fade)
{
    const struct history_options *options = &fade->writer->options;

    return fade->steps < options->steps - options->steps / 64 &&
           bytes_used(fade->writer, fade->need) <= fade->target;
}

/* All neighbours in the cell of a pair. */
static void find_group(const struct fade *fade, struct history_step *a,
                       struct history_step *b, struct step_group *group)
{
    const struct history_writer *writer = fade->writer;
    const struct history_step *end = writer->steps + writer->n_steps;
    unsigned bits = cell_bits(a->first, b->last);
    uint32_t most = fade->steps - STEPS_LEAST + 1;

    most = most < GROUP_MOST ? most : GROUP_MOST;
    *group = (struct step_group){{a, b}, 2, a->points + b->points};
    for (struct history_step *next = b + 1; next < end && group->n < most; next++) {
        if (next->phase != a->phase)
            continue;
        if (next->segment != a->segment || !in_cell(a->first, next->last, bits))
            break;
        group->steps[group->n++] = next;
        group->points += next->points;
    }
}

static bool merge_one(struct fade *fade, struct history_step *a, struct history_step *b)
{
    struct step_group group;
    uint32_t rows;

    find_group(fade, a, b, &group);
    fade->status = merge_group(fade->writer, &group);
    rows = group.points + 1;
    fade->rows -= rows < fade->rows ? rows : fade->rows;
    fade->merges -= group.n < fade->merges ? group.n : fade->merges;
    fade->steps -= group.n - 1;
    return fade->status == SQLITE_OK && fade->rows > 0 && fade->merges > 0 &&
           fade->steps > STEPS_LEAST && !is_enough(fade);
}

static void remove_merged(struct history_writer *writer)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < writer->n_steps; i++)
        if (writer->steps[i].merged > 0)
            writer->steps[n++] = writer->steps[i];
    writer->n_steps = n;
}

int history_fade(struct history_writer *writer, uint64_t need)
{
    const uint64_t limit = writer->options.limit;
    const uint64_t slice = limit / 64 < SLICE_MOST ? limit / 64 : SLICE_MOST;
    struct fade fade = {.writer = writer,
                        .need = need,
                        .target = limit,
                        .rows = (uint32_t)(slice / ROW_BYTES) + 1,
                        .merges = (uint32_t)(slice / STEP_BYTES) + 4,
                        .steps = writer->n_steps};

    if (writer->n_steps < writer->options.steps && bytes_used(writer, need) <= limit)
        return SQLITE_OK;
    fade.target = limit - slice;
    while (fade.status == SQLITE_OK && fade.rows > 0 && fade.merges > 0 &&
           fade.steps > STEPS_LEAST && !is_enough(&fade)) {
        fade.least = 1e300;
        each_pair(&fade, 1e300, note_least);
        if (fade.least >= 1e300)
            break;
        each_pair(&fade, fade.least * 1.25, merge_one);
        remove_merged(writer);
    }
    return fade.status;
}
