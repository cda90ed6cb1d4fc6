/* page_chart.h - a scalar of a training run as a chart: HTML around one SVG, which needs
 * no script. Lines are in the SVG, which stretches with the page; texts and marks are
 * HTML at percentages, so they keep their size. A linear and a logarithmic drawing are
 * in it; the class `is-log` of the chart chooses. */
#ifndef EXPORT_PAGE_PAGE_CHART_H
#define EXPORT_PAGE_PAGE_CHART_H

#include "base/buf.h"
#include "history/grid.h"

/* What all charts of a run share. */
struct page_steps {
    uint64_t first, last; /* of the axis */
    const struct history_segment *segments;
    uint32_t n_segments;
    const struct history_alarm *alarms;
    uint32_t n_alarms;
};

struct page_chart {
    const struct page_steps *steps;
    const struct history_grid *grid;
    const struct history_scalar *const *row; /* by column */
    struct str name;
    const char *note; /* beside the name: HTML, ours */
    bool large;
    bool linear;     /* at first, whatever the values are */
    uint32_t number; /* of the scalar in the file, for the script */
};

void page_chart(struct buf *to, const struct page_chart *chart);

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

/* Where a step is on the axis, in percent. */
double page_step_at(const struct page_steps *steps, double step);

#endif
