/* html_in.h - the interactive file of a graph. Its data is JSON: tables of boxes, nets,
 * ends and groups, each a set of columns of numbers; texts are indices into a table of
 * texts. The script (graph_data.js, ...) places and draws what is open. */
#ifndef EXPORT_PICTURE_HTML_IN_H
#define EXPORT_PICTURE_HTML_IN_H

#include "base/intern.h"
#include "export/picture/picture_in.h"

struct html {
    struct out *out;
    const struct picture *picture;
    const struct diagram *diagram;
    const struct plan *plan;
    struct arena arena;
    struct intern texts;
    struct buf spare;
    uint32_t *list;
    uint8_t
        metric; /* enum diagram_metric: of the column being written; DIAGRAM_METRICS:
                       the backward time */
};

/* The table of boxes and their ids. */
void html_boxes(struct html *html);
/* Backward time of everything drawn, in ns; negative: unknown. */
double html_backward(struct html *html);

/* The number of a text, invisible characters escaped. */
int64_t html_text(struct html *html, struct str raw);
/* The number of the text in `spare`; clears `spare`. */
int64_t html_spare(struct html *html);

/* One column: its name and its number for row i. */
struct html_column {
    const char *name;
    int64_t (*value)(struct html *html, uint32_t i);
};

/* {"n":3,"width":"gCAI"}: graph_data.js documents the encoding. The object stays
 * open. */
void html_table(struct html *html, const char *name, uint32_t n,
                const struct html_column *columns, size_t n_columns);
/* One more column of a table that is open. */
void html_column(struct html *html, const struct html_column *column, uint32_t n);

#endif
