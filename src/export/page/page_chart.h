/* page_chart.h - a scalar of a training run as one line, for a notebook. */
#ifndef EXPORT_PAGE_PAGE_CHART_H
#define EXPORT_PAGE_PAGE_CHART_H

#include "base/buf.h"
#include "history/grid.h"

/* The steps that all charts of a run show. */
struct page_steps {
    uint64_t first, last;
};

struct page_chart {
    const struct page_steps *steps;
    const struct history_grid *grid;
    const struct history_scalar *const *row; /* by column */
    struct str name;
    bool linear; /* whatever the values are */
};

/* The line alone, in an <svg> of fixed size: for a viewer that removes styles. */
void page_sparkline(struct buf *to, const struct page_chart *chart);

/* The order of charts: the loss, what the user logged, gradient norm, learning rates. */
enum page_chart_order {
    CHART_LOSS,
    CHART_OTHERS,
    CHART_NORM,
    CHART_RATES,
    CHART_ORDERS
};
enum page_chart_order page_chart_order(struct str name);

#endif
