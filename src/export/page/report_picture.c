/* Kept activations as pictures: one byte per point, base64. Large ones are averaged
 * down; a point that covers a non-finite value is POINT_BAD. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "export/look/look.h"
#include "export/page/page_in.h"
#include "export/page/report_in.h"
#include "facts/run_text.h"
#include "measure/elements.h"
#include "run/run_file.h"
#include "text/number.h"

#define MOST_CHANNELS 64
#define CHANNEL_SIDE  64  /* points of one channel */
#define MAP_SIDE      256 /* points of a heat map */
#define MOST_BYTES    (8 * MIB)
#define GRID          8 /* rows and columns of values written as numbers */
#define WINDOW        4096
#define POINT_BAD     255 /* not finite; zero is 127, the maximum 254 */

/* Which part of a value is drawn, and at what size. N×C×H×W: the C planes of the
 * first item. */
struct kept_picture {
    const struct run *run;
    uint32_t kept;
    enum dtype dtype;
    uint64_t planes, rows, columns; /* of the part */
    uint64_t shown;                 /* planes drawn */
    uint32_t height, width;         /* points of one plane */
    double *points;                 /* shown × height × width: means */
    double most;                    /* the largest absolute value */
    double grid[GRID][GRID];        /* the first values of the first plane */
};

static uint32_t at_most(uint64_t n, uint32_t most)
{
    return n < most ? (uint32_t)n : most;
}

static void kept_picture_init(struct kept_picture *p, const struct run *run,
                              uint32_t value)
{
    const struct run_value *v = &run->values[value];
    const int64_t *shape = run->dims + v->shape;
    int rank = v->rank;
    uint32_t side;

    *p = (struct kept_picture){.run = run, .kept = v->kept, .dtype = v->dtype};
    p->columns = rank > 0 ? (uint64_t)shape[rank - 1] : 1;
    p->rows = rank > 1 ? (uint64_t)shape[rank - 2] : 1;
    p->planes = rank > 3 ? (uint64_t)shape[rank - 3] : 1;
    p->shown = p->planes < MOST_CHANNELS ? p->planes : MOST_CHANNELS;
    side = p->planes > 1 ? CHANNEL_SIDE : MAP_SIDE;
    p->height = at_most(p->rows, side);
    p->width = at_most(p->columns, side);
}

/* Only real numbers of whole bytes, if all of them are kept. */
static bool can_draw(const struct run *run, uint32_t value)
{
    const struct run_value *v = &run->values[value];
    const struct dtype_info *info = dtype_info(v->dtype);
    const int64_t *shape = run->dims + v->shape;
    uint64_t numel = 1;

    for (int i = 0; i < v->rank; i++)
        if (shape[i] <= 0 || __builtin_mul_overflow(numel, (uint64_t)shape[i], &numel))
            return false;
    return info->block == 1 && info->values == 1 && info->kind != DTYPE_KIND_NONE &&
           info->kind != DTYPE_KIND_COMPLEX && numel == v->numel &&
           numel == run->kept[v->kept].bytes / info->bytes;
}

/* --- Reading */

/* Add `n` values of a row, from `column` on, to the points of that row. */
static void add_values(struct kept_picture *p, const double *values, size_t n,
                       uint64_t plane, uint64_t row, uint64_t column)
{
    uint64_t y = row * p->height / p->rows;
    double *points = p->points + (plane * p->height + y) * p->width;

    for (size_t i = 0; i < n; i++)
        points[(column + i) * p->width / p->columns] += values[i];
    if (plane > 0 || row >= GRID)
        return;
    for (size_t i = 0; i < n && column + i < GRID; i++)
        p->grid[row][column + i] = values[i];
}

static int read_row(struct kept_picture *p, uint64_t plane, uint64_t row,
                    struct err *err)
{
    uint16_t size = dtype_info(p->dtype)->bytes;
    uint8_t bytes[WINDOW * 16];
    double values[WINDOW];

    for (uint64_t column = 0; column < p->columns; column += WINDOW) {
        uint64_t left = p->columns - column, at = (plane * p->rows + row) * p->columns;
        size_t n = left < WINDOW ? (size_t)left : WINDOW;

        if (run_kept_bytes(p->run, p->kept, (at + column) * size, bytes, n * size,
                           err) < 0)
            return -1;
        if (!elements_decode(p->dtype, bytes, 0, n, values))
            return err_set(err, ERR_UNSUPPORTED, "no numbers");
        add_values(p, values, n, plane, row, column);
    }
    return 0;
}

/* The number of n values that fall on point i of m. */
static uint64_t share_of(uint64_t n, uint32_t m, uint32_t i)
{
    /* x falls on i where i <= x * m / n < i + 1 */
    uint64_t begin = (i * n + m - 1) / m, end = ((i + 1) * n + m - 1) / m;

    return end - begin;
}

/* Sums become means. */
static void finish_points(struct kept_picture *p)
{
    for (uint64_t plane = 0; plane < p->shown; plane++)
        for (uint32_t y = 0; y < p->height; y++)
            for (uint32_t x = 0; x < p->width; x++) {
                double *at = &p->points[(plane * p->height + y) * p->width + x];

                *at /= (double)(share_of(p->rows, p->height, y) *
                                share_of(p->columns, p->width, x));
                if (isfinite(*at) && fabs(*at) > p->most)
                    p->most = fabs(*at);
            }
}

static int picture_read(struct kept_picture *p, struct err *err)
{
    p->points = calloc((size_t)p->shown * p->height * p->width, sizeof *p->points);
    if (!p->points)
        return err_set(err, ERR_LIMIT, "no memory for a picture");
    for (uint64_t plane = 0; plane < p->shown; plane++)
        for (uint64_t row = 0; row < p->rows; row++)
            if (read_row(p, plane, row, err) < 0)
                return -1;
    finish_points(p);
    return 0;
}

/* --- Writing */

static uint8_t point_code(double value, double most)
{
    if (!isfinite(value))
        return POINT_BAD;
    return (uint8_t)lround(127 + (most > 0 ? 127 * value / most : 0));
}

/* "first 64 of 256 channels, item 1 of 8, 112×112 averaged to 64×64" */
static void add_note(struct buf *to, const struct kept_picture *p,
                     const struct run_value *value)
{
    uint64_t part = p->planes * p->rows * p->columns;
    int64_t drawn[2] = {p->height, p->width};
    int64_t whole[2] = {(int64_t)p->rows, (int64_t)p->columns};

    if (p->shown < p->planes) {
        buf_printf(to, "first %" PRIu64 " of ", p->shown);
        text_commas(to, p->planes);
        buf_text(to, " channels, ");
    } else if (p->planes > 1) {
        text_plural(to, p->planes, "channel", "channels");
        buf_text(to, ", ");
    }
    if (part < value->numel) {
        buf_text(to, "the first of ");
        text_commas(to, value->numel / part);
        buf_text(to, ", ");
    }
    text_shape(to, whole, 2);
    if (p->height < p->rows || p->width < p->columns) {
        buf_text(to, " averaged to ");
        text_shape(to, drawn, 2);
    }
}

/* A value as a string; a non-finite one as a list of one string. */
static void add_grid_value(struct buf *to, double value)
{
    size_t from;

    buf_text(to, isfinite(value) ? "\"" : "[\"");
    from = to->len;
    text_real(to, value);
    page_minus(to, from);
    buf_text(to, isfinite(value) ? "\"" : "\"]");
}

static void add_grid(struct buf *to, const struct kept_picture *p)
{
    uint32_t down = at_most(p->rows, GRID), across = at_most(p->columns, GRID);

    buf_text(to, ",\"grid\":[");
    for (uint32_t y = 0; y < down; y++) {
        buf_text(to, y > 0 ? ",[" : "[");
        for (uint32_t x = 0; x < across; x++) {
            buf_text(to, x > 0 ? "," : "");
            add_grid_value(to, p->grid[y][x]);
        }
        buf_char(to, ']');
    }
    buf_char(to, ']');
}

/* One byte per point, as base64. */
static void add_points(struct buf *to, const struct kept_picture *p)
{
    struct buf codes = BUF_INIT;

    for (size_t i = 0; i < (size_t)p->shown * p->height * p->width; i++)
        buf_char(&codes, (char)point_code(p->points[i], p->most));
    look_base64(to, (const uint8_t *)codes.at, codes.len);
    buf_release(&codes);
}

/* Nothing here comes from a file, so nothing is escaped. */
static void add_picture(struct buf *to, const struct kept_picture *p,
                        const struct run_value *value)
{
    buf_printf(to, "{\"n\":%" PRIu64 ",\"height\":%" PRIu32 ",\"width\":%" PRIu32,
               p->shown, p->height, p->width);
    buf_text(to, ",\"note\":\"");
    add_note(to, p, value);
    buf_text(to, "\",\"most\":\"");
    text_real(to, p->most);
    buf_text(to, "\",\"more\":");
    buf_text(to, p->rows > GRID || p->columns > GRID || p->planes > 1 ? "1" : "0");
    add_grid(to, p);
    buf_text(to, ",\"points\":\"");
    add_points(to, p);
    buf_text(to, "\"}\n");
}

uint32_t report_picture(struct report *r, uint32_t value)
{
    const struct run_value *v = &r->run->values[value];
    struct err err = {0};
    struct kept_picture p;
    uint32_t number = UINT32_MAX;
    uint64_t size;

    if (v->kept == RUN_NONE || v->kept >= r->run->n_kept || !can_draw(r->run, value))
        return UINT32_MAX;
    if (r->picture_of[v->kept])
        return r->picture_of[v->kept] - 1;
    kept_picture_init(&p, r->run, value);
    size = p.shown * p.height * p.width * 4 / 3;
    if (r->pictures.len + size > MOST_BYTES) {
        r->left_out++;
        return UINT32_MAX;
    }
    if (picture_read(&p, &err) == 0) {
        if (r->n_pictures > 0)
            buf_char(&r->pictures, ',');
        add_picture(&r->pictures, &p, v);
        number = r->n_pictures++;
        r->picture_of[v->kept] = number + 1;
    }
    free(p.points);
    return number;
}
