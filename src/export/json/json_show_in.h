/* json_show_in.h - the values of one tensor that a page shows: json_show_read.c reads
 * them, json_show_values.c writes them. */
#ifndef EXPORT_JSON_JSON_SHOW_IN_H
#define EXPORT_JSON_JSON_SHOW_IN_H

#include "export/export_in.h"
#include "measure/plane.h"
#include "rows/grid.h"
#include "run/kept.h"

#define SHEET_MOST 64 /* channels of one document */
#define SHEET_SIDE 48 /* points per side of a channel, at most */

/* One value in full. */
struct show_cell {
    uint64_t row, column;
    int64_t index[SLICE_RANK]; /* in the tensor */
    struct cells value;
    char bits[40]; /* "0x3f777f1f"; "": it is packed with others */
};

/* Channels as bytes: 127 is 0, 254 the largest, 255 not finite. */
struct show_sheet {
    uint64_t channels, items, item, first;
    uint32_t n, high, wide;
    int64_t rows, columns; /* of a channel */
    double most;
    uint8_t *points; /* (n, high, wide) */
};

struct show_values {
    struct session *session;
    const struct export_show_wanted *wanted;
    struct arena arena;
    const struct model *model; /* the owner of the tensor: the session's model, or that
                                  of `kept` */
    const struct tensor *tensor;
    uint32_t call, value; /* of a kept result; or RUN_NONE */
    struct kept_view kept;
    struct stats stats; /* of a kept result */
    struct numbers numbers;
    bool has_numbers;
    const char *why; /* why there are no values; or NULL */

    struct slice slice, plane; /* as requested; the part that a grid shows */
    int down, across;
    uint64_t rows, columns; /* of the plane */
    struct slice window;    /* of the plane, or the whole slice */
    uint64_t row, column;   /* the first row and column of the window */
    uint64_t window_rows, window_columns;
    struct cells cells;
    const char *format;
    struct plane picture;
    struct show_cell cell;
    struct show_sheet sheet;
    bool has_slice, has_window, has_picture, has_cell, has_sheet;
};

/* Reads the values of a place; nothing for a place without values. Release the arena
 * afterwards. */
int show_values_read(struct show_values *values, uint32_t place, struct work *work,
                     struct err *err);
/* The members that quantiles and histograms have. */
void show_values_numbers(struct json *json, const struct numbers *numbers);
/* The members "slice" and "sheet". */
void show_values_write(struct json *json, const struct show_values *values);
void show_values_cell(struct json *json, const struct cells *cells, uint64_t i);

#endif
