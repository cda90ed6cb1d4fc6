/* stats_table.h - the statistics of many tensors as a text table. THE TABLE of its
 * columns is in stats_table.c; each column is also a sort key. */
#ifndef FACTS_STATS_TABLE_H
#define FACTS_STATS_TABLE_H

#include "base/out.h"
#include "rows/show.h"

struct stats_table {
    const struct show *show;
    const uint32_t *places; /* of tensors, in output order */
    uint32_t n;
    unsigned width; /* in cells; 0: no limit */
    bool ascii;
    bool isolate;   /* isolate right-to-left names */
    bool exponents; /* show the histogram of exponents */
};

int stats_table_text(struct out *out, const struct stats_table *table, struct err *err);

/* The sort keys, as --sort takes them. */
#define STATS_TABLE_KEYS "model|name|numel|bytes|min|max|mean|std|l2|nan|inf|zeros"

/* Sort the places by a key: names ascending, numbers descending. Tensors without a
 * number come last; equal ones keep their order. */
int stats_table_sort(const struct show *show, uint32_t *places, uint32_t n,
                     struct str key, struct arena *arena, struct err *err);

#endif
