#include "facts/heatmap.h"

#include <math.h>

#include "text/text.h"

#define SHADES 4

void heat_scale_of(struct heat_scale *scale, double least, double most, bool has_sign)
{
    double range = most - least, unit;

    *scale = (struct heat_scale){.base = 0, .step = 1, .has_sign = has_sign};
    if (!isfinite(range))
        return;
    if (range <= 0) {
        /* All values are equal: use the lightest shade. */
        scale->base = least;
        scale->step = least != 0 ? fabs(least) : 1;
        return;
    }
    unit = pow(10, floor(log10(range / SHADES)));
    scale->base = floor(least / unit) * unit;
    scale->step = ceil((most - scale->base) / SHADES / unit) * unit;
}

void heat_scale(struct heat_scale *scale, const struct blocks *blocks)
{
    double most = fmax(fabs(blocks->least), fabs(blocks->most));

    if (blocks->has_sign && blocks->least < 0)
        heat_scale_of(scale, 0, most, true);
    else
        heat_scale_of(scale, blocks->least, blocks->most, false);
}

/* The step of a value, out of HEAT_STEPS. */
static int step_of(const struct heat_scale *scale, double value)
{
    double size = scale->has_sign ? fabs(value) : value;
    /* Rounding must not move a value on an edge below it. */
    double at = (size - scale->base) / scale->step * HEAT_STEPS / SHADES + 1e-9;

    return at < 0 ? 0 : at >= HEAT_STEPS ? HEAT_STEPS - 1 : (int)at;
}

static enum colour colour_of(const struct heat_scale *scale, double value)
{
    int step = step_of(scale, value);

    if (!scale->has_sign)
        return (enum colour)(COLOUR_HEAT + step);
    step = step * HEAT_HALFSTEPS / HEAT_STEPS;
    return (enum colour)((value < 0 ? COLOUR_COLD : COLOUR_WARM) + step);
}

/* Adjacent blocks of one colour form one span. */
void heat_row(struct lines *to, const struct blocks *blocks, uint32_t row,
              const struct heat_scale *scale)
{
    const double *at = blocks->at + (size_t)row * blocks->columns;
    enum colour colour = COLOUR_NONE;
    struct buf run = BUF_INIT;

    for (uint32_t i = 0; i < blocks->columns; i++) {
        bool finite = isfinite(at[i]);
        enum colour own = finite ? colour_of(scale, at[i]) : COLOUR_ALARM;

        if (own != colour) {
            lines_add(to, colour, 0, buf_span(&run));
            buf_clear(&run);
            colour = own;
        }
        if (finite)
            buf_text(&run, glyph_shade(1 + step_of(scale, at[i]) * SHADES / HEAT_STEPS,
                                       false));
        else
            buf_text(&run, isnan(at[i]) ? "×" : "∞");
    }
    lines_add(to, colour, 0, buf_span(&run));
    buf_release(&run);
}

static const char *shade_of(const struct heat_scale *scale, double value)
{
    if (!isfinite(value))
        return isnan(value) ? "×" : "∞";
    return glyph_shade(1 + step_of(scale, value) * SHADES / HEAT_STEPS, false);
}

void heat_rows(struct lines *to, const struct blocks *blocks, uint32_t row,
               const struct heat_scale *scale)
{
    const double *above = blocks->at + (size_t)row * blocks->columns;
    const double *below = above + blocks->columns;

    if (row + 1 >= blocks->rows) {
        heat_row(to, blocks, row, scale);
        return;
    }
    for (uint32_t i = 0; i < blocks->columns; i++) {
        double odd = isfinite(above[i]) ? below[i] : above[i];

        if (isfinite(odd))
            lines_add_halves(to, colour_of(scale, above[i]), colour_of(scale, below[i]),
                             str_of(shade_of(scale, above[i])));
        else
            lines_text(to, COLOUR_ALARM, shade_of(scale, odd));
    }
}

void heat_legend(struct lines *to, const struct heat_scale *scale)
{
    for (int i = 0; i < SHADES; i++) {
        double from = scale->base + i * scale->step;
        struct buf text = BUF_INIT;

        text_real(&text, fabs(from) < scale->step * 1e-9 ? 0 : from);
        lines_text(to,
                   scale->has_sign ? (enum colour)(COLOUR_WARM + i)
                                   : (enum colour)(COLOUR_HEAT + 2 * i),
                   glyph_shade(1 + i, false));
        lines_printf(to, COLOUR_NONE, " %s%s", text.at, i + 1 < SHADES ? "  " : "");
        buf_release(&text);
    }
    lines_text(to, COLOUR_DIM, "     NaN ×   Inf ∞");
}

/* ---- a whole picture ---- */

void heatmap_fit(struct blocks_wanted *wanted, unsigned width, unsigned height,
                 enum heat_style style)
{
    unsigned rows = height > 2 ? height - 1 : 1;

    blocks_fit(wanted, style == HEAT_HALVES ? rows * 2 : rows,
               width > HEATMAP_MARGIN + 1 ? width - HEATMAP_MARGIN : 1);
}

void heatmap_title(struct buf *to, const struct blocks_wanted *wanted)
{
    unsigned long long rows = wanted->rows, columns = wanted->columns;

    if (wanted->block_rows * wanted->block_columns > 1)
        buf_printf(to, "rms of %llu×%llu cells, ",
                   (unsigned long long)wanted->block_rows,
                   (unsigned long long)wanted->block_columns);
    else
        buf_text(to, "single values, ");
    buf_printf(to, "rows 0-%llu, columns 0-%llu", rows ? rows - 1 : 0,
               columns ? columns - 1 : 0);
}

void heatmap_lines(struct lines *to, const struct blocks *blocks,
                   const struct blocks_wanted *wanted, enum heat_style style)
{
    bool halves = style == HEAT_HALVES;
    struct heat_scale scale;

    heat_scale(&scale, blocks);
    for (uint32_t row = 0; row < blocks->rows; row += halves ? 2 : 1) {
        lines_printf(to, COLOUR_DIM, "%*llu ", HEATMAP_MARGIN - 1,
                     (unsigned long long)(row * wanted->block_rows));
        (halves ? heat_rows : heat_row)(to, blocks, row, &scale);
        lines_end(to);
    }
    lines_pad(to, HEATMAP_MARGIN);
    heat_legend(to, &scale);
    lines_end(to);
}
