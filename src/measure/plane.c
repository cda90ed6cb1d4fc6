#include "measure/plane.h"

#include <math.h>

#include "measure/decode_in.h"
#include "measure/elements.h"

#define CHUNK 1024u /* elements decoded at once */

/* A sum and its number of terms. */
struct plane_sum {
    double sum;
    uint64_t n;
};

struct plane_pass {
    const struct plane_wanted *wanted;
    struct plane *plane;
    struct plane_sum *cells, *rows, *columns;
    struct plane_sum all;
    enum dtype dtype;
    uint64_t done; /* elements so far */
};

/* ---- adding up ---- */

static void add_bad(struct plane *plane, uint64_t *bad, double value)
{
    ++*bad;
    if (isnan(value))
        plane->nan++;
    else
        plane->inf++;
}

/* Elements of one row that fall into one cell. */
static void add_part(struct plane_pass *pass, const double *x, size_t n, uint32_t row,
                     uint32_t column)
{
    struct plane *plane = pass->plane;
    uint32_t at = row * plane->wide + column;
    double sum = 0, size = 0, least = plane->least, most = plane->most;
    uint64_t finite = 0;

    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            add_bad(plane, &plane->bad[at], x[i]);
            continue;
        }
        finite++;
        sum += x[i];
        size += fabs(x[i]);
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    plane->least = least;
    plane->most = most;
    pass->cells[at].sum += sum;
    pass->cells[at].n += finite;
    pass->rows[row].sum += size;
    pass->rows[row].n += finite;
    pass->columns[column].sum += size;
    pass->columns[column].n += finite;
}

static void add_values(struct plane_pass *pass, const double *values, size_t n)
{
    const struct plane_wanted *wanted = pass->wanted;
    const struct plane *plane = pass->plane;

    while (n > 0) {
        uint64_t row = pass->done / wanted->columns;
        uint64_t column = pass->done % wanted->columns, left, some;

        /* Cells are counted from the side that comes first. */
        if (wanted->flip_columns) {
            uint64_t from_end = wanted->columns - 1 - column;

            left = from_end % plane->cell_columns + 1;
            column = from_end;
        } else {
            left = plane->cell_columns - column % plane->cell_columns;
            left = left < wanted->columns - column ? left : wanted->columns - column;
        }
        some = left < n ? left : n;
        row = wanted->flip_rows ? wanted->rows - 1 - row : row;
        add_part(pass, values, (size_t)some, (uint32_t)(row / plane->cell_rows),
                 (uint32_t)(column / plane->cell_columns));
        values += some;
        n -= (size_t)some;
        pass->done += some;
    }
}

/* A packed pair counts by its mean. */
static void join_pairs(double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (values[2 * i] + values[2 * i + 1]) / 2;
}

static int add_block(struct plane_pass *pass, const void *at, size_t n, struct err *err)
{
    bool pairs = decode_doubles(pass->dtype) == 2 &&
                 dtype_info(pass->dtype)->kind != DTYPE_KIND_COMPLEX;
    double values[2 * CHUNK];

    for (size_t i = 0; i < n; i += CHUNK) {
        size_t some = n - i < CHUNK ? n - i : CHUNK;

        if (!decode_reals(pass->dtype, at, i, some, values))
            return err_set(err, ERR_UNSUPPORTED, "%s holds no numbers",
                           dtype_name(pass->dtype));
        if (pairs)
            join_pairs(values, some);
        add_values(pass, values, some);
    }
    return 0;
}

static int read_elements(struct plane_pass *pass, const struct model *model,
                         const struct tensor *tensor, struct work *work,
                         struct err *err)
{
    const struct plane_wanted *wanted = pass->wanted;
    struct elements *elements = elements_open(
        model, tensor, wanted->first, wanted->rows * wanted->columns, false, err);
    const void *at;
    size_t n;
    int more;

    if (!elements)
        return -1;
    do {
        more = elements_next(elements, work, &at, &n, err);
        if (more > 0 && add_block(pass, at, n, err) < 0)
            more = -1;
    } while (more > 0);
    elements_close(elements);
    return more;
}

/* ---- the whole ---- */

static uint64_t share(uint64_t n, uint32_t most)
{
    uint64_t each = (n + most - 1) / most;

    return each ? each : 1;
}

static int allocate(struct plane_pass *pass, struct plane *plane, struct arena *arena,
                    struct err *err)
{
    const struct plane_wanted *wanted = pass->wanted;
    size_t cells;

    plane->cell_rows = share(wanted->rows, wanted->most);
    plane->cell_columns = share(wanted->columns, wanted->most);
    plane->high = (uint32_t)((wanted->rows + plane->cell_rows - 1) / plane->cell_rows);
    plane->wide =
        (uint32_t)((wanted->columns + plane->cell_columns - 1) / plane->cell_columns);
    cells = (size_t)plane->high * plane->wide + 1;
    plane->means = arena_array(arena, cells, sizeof *plane->means);
    plane->bad = arena_array(arena, cells, sizeof *plane->bad);
    plane->row_means = arena_array(arena, plane->high + 1u, sizeof *plane->row_means);
    plane->column_means =
        arena_array(arena, plane->wide + 1u, sizeof *plane->column_means);
    pass->cells = arena_array(arena, cells, sizeof *pass->cells);
    pass->rows = arena_array(arena, plane->high + 1u, sizeof *pass->rows);
    pass->columns = arena_array(arena, plane->wide + 1u, sizeof *pass->columns);
    if (!plane->means || !plane->bad || !plane->row_means || !plane->column_means ||
        !pass->cells || !pass->rows || !pass->columns)
        return arena_err(arena, "the picture", err);
    return 0;
}

static double mean_of(struct plane_sum sum)
{
    return sum.n > 0 ? sum.sum / (double)sum.n : NAN;
}

static void finish(struct plane_pass *pass, struct plane *plane)
{
    struct plane_sum all = {0, 0};

    for (size_t i = 0; i < (size_t)plane->high * plane->wide; i++)
        plane->means[i] = mean_of(pass->cells[i]);
    for (uint32_t i = 0; i < plane->wide; i++)
        plane->column_means[i] = mean_of(pass->columns[i]);
    for (uint32_t i = 0; i < plane->high; i++) {
        plane->row_means[i] = mean_of(pass->rows[i]);
        all.sum += pass->rows[i].sum;
        all.n += pass->rows[i].n;
    }
    plane->mean_abs = mean_of(all);
    if (all.n == 0)
        plane->least = plane->most = NAN;
}

int plane_measure(struct plane *ret_plane, const struct model *model,
                  const struct tensor *tensor, const struct plane_wanted *wanted,
                  struct arena *arena, struct work *work, struct err *err)
{
    struct plane plane = {
        .count = wanted->rows * wanted->columns, .least = INFINITY, .most = -INFINITY};
    struct plane_pass pass = {
        .wanted = wanted, .plane = &plane, .dtype = elements_dtype(tensor->dtype)};

    if (allocate(&pass, &plane, arena, err) < 0)
        return -1;
    if (plane.count > 0 && read_elements(&pass, model, tensor, work, err) < 0)
        return -1;
    finish(&pass, &plane);
    *ret_plane = plane;
    return 0;
}
