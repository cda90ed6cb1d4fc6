#include "measure/blocks.h"

#include <math.h>

#include "measure/decode_in.h"
#include "measure/elements.h"

#define CHUNK 1024u /* elements decoded at once */

void blocks_whole(struct blocks_wanted *wanted, const struct model *model,
                  const struct tensor *tensor)
{
    const int64_t *shape = tensor_shape(model, tensor);
    uint64_t rows = tensor->rank > 1 ? (uint64_t)shape[0] : 1;

    *wanted = (struct blocks_wanted){.rows = rows,
                                     .columns = rows ? tensor->numel / rows : 0,
                                     .block_rows = 1,
                                     .block_columns = 1};
}

static uint64_t share(uint64_t n, uint32_t parts)
{
    uint64_t each = parts ? (n + parts - 1) / parts : n;

    return each ? each : 1;
}

void blocks_fit(struct blocks_wanted *wanted, uint32_t rows, uint32_t columns)
{
    wanted->block_rows = share(wanted->rows, rows);
    wanted->block_columns = share(wanted->columns, columns);
}

/* ---- one pass ---- */

struct pass {
    const struct blocks_wanted *wanted;
    struct blocks *blocks;
    enum dtype dtype;
    unsigned values; /* doubles for each element: complex and packed pairs have two */
    bool is_complex;
    uint64_t done; /* elements so far */
};

/* The magnitude of an element that has two doubles; else its value. */
static double one_value(const struct pass *pass, const double *at)
{
    if (pass->values == 1)
        return at[0];
    if (pass->is_complex)
        return decode_absolute(at[0], at[1]);
    return sqrt((at[0] * at[0] + at[1] * at[1]) / 2);
}

/* The sum of squares of elements in one row of one block. */
static double add_up(const struct pass *pass, const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        double value = one_value(pass, values + i * pass->values);

        sum += value * value;
    }
    return sum;
}

static void add_elements(struct pass *pass, const double *values, size_t n)
{
    const struct blocks_wanted *wanted = pass->wanted;
    struct blocks *blocks = pass->blocks;

    while (n > 0) {
        uint64_t row = pass->done / wanted->columns;
        uint64_t column = pass->done % wanted->columns;
        uint64_t left = wanted->block_columns - column % wanted->block_columns;
        double *block = &blocks->at[row / wanted->block_rows * blocks->columns +
                                    column / wanted->block_columns];
        size_t some;

        left = left < wanted->columns - column ? left : wanted->columns - column;
        some = left < n ? (size_t)left : n;
        if (blocks->has_sign)
            *block = one_value(pass, values);
        else
            *block += add_up(pass, values, some);
        values += some * pass->values;
        n -= some;
        pass->done += some;
    }
}

static int add_block(struct pass *pass, const void *at, size_t n, struct err *err)
{
    double values[2 * CHUNK];

    for (size_t i = 0; i < n; i += CHUNK) {
        size_t some = n - i < CHUNK ? n - i : CHUNK;

        if (!elements_decode(pass->dtype, at, i, some, values))
            return err_set(err, ERR_UNSUPPORTED, "%s holds no numbers",
                           dtype_name(pass->dtype));
        add_elements(pass, values, some);
    }
    return 0;
}

static void finish(const struct blocks_wanted *wanted, struct blocks *blocks)
{
    blocks->least = blocks->most = NAN;
    for (uint32_t r = 0; r < blocks->rows; r++)
        for (uint32_t c = 0; c < blocks->columns; c++) {
            uint64_t down = wanted->rows - r * wanted->block_rows;
            uint64_t across = wanted->columns - c * wanted->block_columns;
            double *block = &blocks->at[r * blocks->columns + c];

            down = down < wanted->block_rows ? down : wanted->block_rows;
            across = across < wanted->block_columns ? across : wanted->block_columns;
            if (!blocks->has_sign)
                *block = sqrt(*block / ((double)down * (double)across));
            if (!isfinite(*block))
                continue;
            blocks->least = fmin(blocks->least, *block);
            blocks->most = fmax(blocks->most, *block);
        }
}

static int read_elements(struct pass *pass, const struct model *model,
                         const struct tensor *tensor, struct work *work,
                         struct err *err)
{
    const struct blocks_wanted *wanted = pass->wanted;
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

int blocks_measure(const struct model *model, const struct tensor *tensor,
                   const struct blocks_wanted *wanted, struct arena *arena,
                   struct work *work, struct blocks *ret_blocks, struct err *err)
{
    const struct dtype_info *info = dtype_info(tensor->dtype);
    struct blocks blocks = {.has_sign =
                                wanted->block_rows * wanted->block_columns == 1};
    struct pass pass = {
        .wanted = wanted, .blocks = &blocks, .dtype = elements_dtype(tensor->dtype)};
    uint64_t rows = (wanted->rows + wanted->block_rows - 1) / wanted->block_rows;
    uint64_t columns =
        (wanted->columns + wanted->block_columns - 1) / wanted->block_columns;

    pass.is_complex = info->kind == DTYPE_KIND_COMPLEX;
    pass.values = pass.is_complex || info->values == 2 ? 2 : 1;
    if (rows > UINT32_MAX || columns > UINT32_MAX)
        return err_set(err, ERR_LIMIT, "the picture would have more than 2^32 blocks");
    blocks.rows = (uint32_t)rows;
    blocks.columns = (uint32_t)columns;
    blocks.at = arena_array(arena, rows * columns + 1, sizeof *blocks.at);
    if (!blocks.at)
        return arena_err(arena, "the picture", err);
    if (rows * columns > 0 && read_elements(&pass, model, tensor, work, err) < 0)
        return -1;
    finish(wanted, &blocks);
    *ret_blocks = blocks;
    return 0;
}
