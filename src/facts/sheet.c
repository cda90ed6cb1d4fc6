#include "facts/sheet.h"

#include <math.h>

#include "text/text.h"

bool sheet_fits(const struct tensor *tensor, const int64_t *shape)
{
    return tensor->rank == 4 && tensor->numel > 0 && shape[2] > 1 && shape[3] > 1;
}

int sheet_make(struct sheet *sheet, const struct model *model,
               const struct tensor *tensor, uint64_t item, uint32_t wide, uint32_t high,
               struct arena *arena, struct work *work, struct err *err)
{
    const int64_t *shape = tensor_shape(model, tensor);
    uint64_t plane = (uint64_t)(shape[2] * shape[3]);
    double least = NAN, most = NAN;
    bool has_sign = false;

    *sheet = (struct sheet){.channels = (uint64_t)shape[1], .wide = wide, .high = high};
    sheet->drawn =
        sheet->channels < SHEET_CHANNELS ? (uint32_t)sheet->channels : SHEET_CHANNELS;
    sheet->tiles = arena_array(arena, sheet->drawn, sizeof *sheet->tiles);
    if (!sheet->tiles)
        return arena_err(arena, "the pictures", err);
    for (uint32_t i = 0; i < sheet->drawn; i++) {
        struct blocks *tile = &sheet->tiles[i];
        struct blocks_wanted wanted = {.first = (item * sheet->channels + i) * plane,
                                       .rows = (uint64_t)shape[2],
                                       .columns = (uint64_t)shape[3]};

        blocks_fit(&wanted, high, wide);
        if (blocks_measure(model, tensor, &wanted, arena, work, tile, err) < 0)
            return -1;
        least = fmin(least, tile->least);
        most = fmax(most, tile->most);
        has_sign |= tile->has_sign && tile->least < 0;
    }
    if (has_sign)
        heat_scale_of(&sheet->scale, 0, fmax(fabs(least), fabs(most)), true);
    else
        heat_scale_of(&sheet->scale, least, most, false);
    return 0;
}

uint32_t sheet_across(const struct sheet *sheet, unsigned width)
{
    uint32_t n = width > 1 ? (width - 1 + 1) / (sheet->wide + 1) : 1;

    return n > 0 ? n : 1;
}

/* Each row of pictures has a line of numbers above it; the legend takes one line. */
uint32_t sheet_down(const struct sheet *sheet, unsigned height)
{
    uint32_t n = height > 1 ? (height - 1) / (sheet->high + 1) : 1;

    return n > 0 ? n : 1;
}

static void row_of_tiles(struct lines *to, const struct sheet *sheet, uint32_t first,
                         uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        lines_pad(to, 1 + (i - first) * (sheet->wide + 1));
        lines_printf(to, COLOUR_DIM, "%u", i);
    }
    lines_end(to);
    for (uint32_t row = 0; row < sheet->tiles[first].rows; row++) {
        for (uint32_t i = first; i < end; i++) {
            lines_pad(to, 1 + (i - first) * (sheet->wide + 1));
            heat_row(to, &sheet->tiles[i], row, &sheet->scale);
        }
        lines_end(to);
    }
}

void sheet_lines(struct lines *to, const struct sheet *sheet, uint32_t first,
                 unsigned width, unsigned height)
{
    uint32_t across = sheet_across(sheet, width);

    for (uint32_t row = 0; row < sheet_down(sheet, height) && first < sheet->drawn;
         row++) {
        uint32_t end = first + across;

        end = end < sheet->drawn ? end : sheet->drawn;
        row_of_tiles(to, sheet, first, end);
        first = end;
    }
    lines_text(to, COLOUR_NONE, " ");
    heat_legend(to, &sheet->scale);
    lines_end(to);
}
