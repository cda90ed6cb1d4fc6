/* Merges old steps when the file reaches its limit, so that resolution fades with age:
 * neighbours that are short for their age are merged first. The rows of a merged step
 * get a new block at the end of the table; the old rows are deleted and their pages
 * reused. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "history/writer_in.h"

#define STEPS_LEAST  16u /* rows that always stay */
#define CHUNK_SERIES 512u
/* Limits of the merges in a transaction: its pages go to the -wal, which counts too. */
#define WAL_LEAST  ((uint64_t)256 << 10)
#define SLICE_MOST ((uint64_t)16 << 20)
#define ROW_BYTES  256u   /* of a point */
#define PAIR_BYTES 40960u /* pages that merging a pair of small steps changes */

/* The points of a range of series in one step. */
struct history_chunk {
    struct history_point points[CHUNK_SERIES];
    bool used[CHUNK_SERIES];
    size_t at[CHUNK_SERIES]; /* of the histogram, in `blobs` */
    struct buf blobs;
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

/* ---- merging two steps ---- */

static void keep_histogram(struct history_chunk *chunk, uint32_t slot,
                           struct str histogram)
{
    chunk->points[slot].histogram.len = histogram.len;
    chunk->at[slot] = chunk->blobs.len;
    buf_str(&chunk->blobs, histogram);
}

static struct str kept_histogram(const struct history_chunk *chunk, uint32_t slot)
{
    size_t len = chunk->points[slot].histogram.len;

    return len ? str_span(chunk->blobs.at + chunk->at[slot], len) : STR("");
}

static void add_to_chunk(struct history_writer *writer, uint32_t slot,
                         const struct history_point *point)
{
    struct history_chunk *chunk = writer->chunk;
    struct history_point *to = &chunk->points[slot];

    if (chunk->used[slot]) {
        struct str before = kept_histogram(chunk, slot);

        to->histogram = before;
        history_point_merge(to, point, writer->options.codec, &writer->scratch);
        if (to->histogram.at == before.at)
            return; /* unchanged */
    } else {
        *to = *point;
    }
    keep_histogram(chunk, slot, to->histogram);
    chunk->used[slot] = true;
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
        chunk->points[i].histogram = kept_histogram(chunk, i);
        status = history_put_point(writer->insert[HISTORY_TABLE_POINT], block,
                                   &chunk->points[i]);
        ++*n;
    }
    return status;
}

static int merge_points(struct history_writer *writer, const struct history_step *a,
                        const struct history_step *b, uint32_t *ret_n)
{
    int status = SQLITE_OK;

    *ret_n = 0;
    if (a->points + b->points == 0)
        return status;
    for (uint32_t from = 0; from < writer->series_written && status == SQLITE_OK;
         from += CHUNK_SERIES) {
        memset(writer->chunk->used, 0, sizeof writer->chunk->used);
        buf_clear(&writer->chunk->blobs);
        writer->chunk->blobs.bad = false;
        status = read_chunk(writer, a->block, from);
        if (status == SQLITE_OK)
            status = read_chunk(writer, b->block, from);
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

static int merge_scalars(struct history_writer *writer, const struct history_step *a,
                         const struct history_step *b)
{
    int status = SQLITE_OK;

    for (uint32_t name = 0; name < writer->names_written && status == SQLITE_OK;
         name++) {
        struct history_scalar one = {0}, other = {0};
        int has_one = read_scalar(writer, a->block, name, &one);
        int has_other = read_scalar(writer, b->block, name, &other);

        if (has_one < 0 || has_other < 0)
            return sqlite3_errcode(writer->db);
        if (has_one && has_other) {
            history_number_merge(&one.number, &other.number);
            one.last = other.last;
        }
        if (has_one || has_other)
            status = history_put_scalar(writer->insert[HISTORY_TABLE_SCALAR],
                                        writer->next_block, has_one ? &one : &other);
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

static int delete_block(struct history_writer *writer, uint64_t block)
{
    int64_t from = history_point_id(block, 0);
    int64_t to = history_point_id(block, HISTORY_SERIES_MOST - 1);
    int status = delete_range(writer->select[DELETE_POINTS], from, to);

    return status == SQLITE_OK ? delete_range(writer->select[DELETE_SCALARS], from, to)
                               : status;
}

/* Merges b into a; b is then marked by `merged` 0. */
static int merge_pair(struct history_writer *writer, struct history_step *a,
                      struct history_step *b)
{
    struct history_step both = *a;
    uint32_t points = 0;
    int status = merge_points(writer, a, b, &points);

    if (status == SQLITE_OK)
        status = merge_scalars(writer, a, b);
    if (status == SQLITE_OK)
        status = delete_block(writer, a->block);
    if (status == SQLITE_OK)
        status = delete_block(writer, b->block);
    if (status == SQLITE_OK)
        status =
            delete_range(writer->select[DELETE_STEP], (int64_t)a->id, (int64_t)a->id);
    if (status == SQLITE_OK)
        status =
            delete_range(writer->select[DELETE_STEP], (int64_t)b->id, (int64_t)b->id);
    history_step_merge(&both, b);
    both.points = points;
    both.block = writer->next_block++;
    if (status == SQLITE_OK)
        status = history_put(writer->insert[HISTORY_TABLE_STEP], HISTORY_TABLE_STEP,
                             (int64_t)both.id, &both);
    *a = both;
    b->merged = 0;
    writer->merged++;
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

/* The size of the smallest cell (a power of two, aligned) that holds both numbers. */
static double cell_size(uint64_t first, uint64_t last)
{
    uint64_t differ = first ^ last;
    double size = 1;

    for (; differ > 0; differ >>= 1)
        size *= 2;
    return size;
}

/* How long a pair is for its age: pairs with small scores are merged first. Counting
 * cells instead of steps makes steps end at the same numbers in the files of all ranks,
 * so that they can later be merged across ranks. */
static double pair_score(const struct history_writer *writer,
                         const struct history_step *a, const struct history_step *b)
{
    uint64_t age = writer->n_logged - (b->id + b->merged) + 1;

    return cell_size(a->first, b->last) / (double)age;
}

/* Neighbours are of one phase and one segment. Calls visit() for each pair with a score
 * of at most `most`, without overlaps; it returns false to stop. */
struct fade {
    struct history_writer *writer;
    uint64_t need, target; /* bytes */
    uint32_t rows, pairs;  /* left in this transaction */
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

        last[b->phase] = b;
        if (!a || a->segment != b->segment || pair_score(writer, a, b) > most)
            continue;
        if (!visit(fade, a, b))
            return;
        if (b->merged == 0)
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

static bool merge_one(struct fade *fade, struct history_step *a, struct history_step *b)
{
    uint32_t rows = a->points + b->points + 1;

    fade->status = merge_pair(fade->writer, a, b);
    fade->rows -= rows < fade->rows ? rows : fade->rows;
    fade->pairs--;
    fade->steps--;
    return fade->status == SQLITE_OK && fade->rows > 0 && fade->pairs > 0 &&
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
                        .pairs = (uint32_t)(slice / PAIR_BYTES) + 2,
                        .steps = writer->n_steps};

    if (writer->n_steps < writer->options.steps && bytes_used(writer, need) <= limit)
        return SQLITE_OK;
    fade.target = limit - slice;
    while (fade.status == SQLITE_OK && fade.rows > 0 && fade.pairs > 0 &&
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
