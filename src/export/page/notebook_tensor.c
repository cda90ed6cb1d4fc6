/* One tensor in a notebook: statistics, histogram, first values. */
#include "export/page/notebook_in.h"

#include <math.h>

#include "base/base.h"
#include "export/export_in.h"
#include "export/page/page_in.h"
#include "facts/statistics.h"
#include "rows/grid.h"
#include "session/numbers.h"
#include "text/escape.h"
#include "text/number.h"

#define BINS        64u
#define PLOT_WIDTH  384 /* units of the picture */
#define PLOT_HEIGHT 96
#define MOST_CELLS  400 /* per text */

/* --- Statistics */

/* The number in `spare`, with its minus drawn as U+2212. */
static void put_number(struct notebook *n)
{
    page_minus(&n->spare, 0);
    notebook_put(n, MOST_CELLS);
}

static void write_statistics(struct notebook *n, const struct tensor *tensor,
                             const struct numbers *numbers)
{
    struct page_look look = {.prefix = "ts-", .cells = MOST_CELLS};
    struct facts facts = {0};

    statistics_facts(&facts, n->model, tensor, numbers, STATISTICS_ODD_COUNTS);
    buf_text(&n->page, "<table class=\"ts-t\">");
    for (uint32_t i = 0; i < facts.n; i++) {
        bool alarm = facts.at[i].role == COLOUR_ALARM;

        buf_printf(&n->page, "<tr%s><th>", alarm ? " class=\"ts-alarm\"" : "");
        buf_text(&n->spare, facts.at[i].label);
        put_number(n);
        buf_text(&n->page, "</th><td>");
        page_fact(&n->page, &facts, &facts.at[i], &look);
        buf_text(&n->page, "</td></tr>\n");
    }
    buf_text(&n->page, "</table>\n");
    facts_release(&facts);
}

/* --- The histogram */

static void write_columns(struct notebook *n, const struct numbers *numbers)
{
    double width = (double)PLOT_WIDTH / numbers->n_bins;
    uint64_t most = 1;

    for (uint32_t i = 0; i < numbers->n_bins; i++)
        most = numbers->bins[i] > most ? numbers->bins[i] : most;
    for (uint32_t i = 0; i < numbers->n_bins; i++) {
        double height = PLOT_HEIGHT * (double)numbers->bins[i] / (double)most;

        if (numbers->bins[i] == 0)
            continue;
        height = height < 1 ? 1 : height;
        buf_printf(&n->page,
                   "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>",
                   i * width, PLOT_HEIGHT - height, width - 0.75, height);
    }
}

static void write_histogram(struct notebook *n, const struct numbers *numbers)
{
    double min = numbers->stats->min, max = numbers->stats->max;

    if (numbers->n_bins == 0 || !(min < max) || !isfinite(max - min))
        return;
    buf_printf(&n->page,
               "<figure><svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
               "fill=\"#498FDF\" role=\"img\" aria-label=\"histogram\">",
               PLOT_WIDTH, PLOT_HEIGHT, PLOT_WIDTH, PLOT_HEIGHT);
    write_columns(n, numbers);
    if (min < 0 && max > 0)
        buf_printf(&n->page,
                   "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%d\" "
                   "stroke=\"#7B8493\" stroke-dasharray=\"3 3\"/>",
                   PLOT_WIDTH * -min / (max - min), PLOT_WIDTH * -min / (max - min),
                   PLOT_HEIGHT);
    buf_text(&n->page, "</svg><figcaption><span>");
    text_real(&n->spare, min);
    put_number(n);
    buf_printf(&n->page, "</span> <span>%u equal steps%s</span> <span>",
               numbers->n_bins, min < 0 && max > 0 ? ", zero dashed" : "");
    text_real(&n->spare, max);
    put_number(n);
    buf_text(&n->page, "</span></figcaption></figure>\n");
}

/* --- The first values */

static int write_values(struct notebook *n, const struct tensor *tensor,
                        struct err *err)
{
    const int64_t *shape = tensor_shape(n->model, tensor);
    struct slice slice;
    struct cells cells;

    if (slice_all(&slice, shape, tensor->rank, err) < 0)
        return -1;
    for (int d = 0; d < tensor->rank; d++)
        slice_cut(&slice, d, d + 1 == tensor->rank ? 8 : d + 2 == tensor->rank ? 4 : 1);
    if (slice.n == 0)
        return 0;
    if (cells_read(n->model, tensor, &slice, &n->printed.arena, n->wanted->work, &cells,
                   err) < 0)
        return -1;
    grid_text(&n->spare, &slice, &cells, shape, 0, false);
    buf_text(&n->page, "<pre>"); /* only digits and brackets: nothing to escape */
    buf_str(&n->page, buf_span(&n->spare));
    buf_text(&n->page, "</pre>\n");
    buf_clear(&n->spare);
    return 0;
}

/* --- The whole */

static void write_title(struct notebook *n, uint32_t place)
{
    struct page_look look = {.prefix = "ts-", .between = ", ", .cells = MOST_CELLS};
    const struct tensor *tensor = place_tensor(n->model, place);
    struct facts facts = {0};
    struct buf path = BUF_INIT;

    place_path(n->model, place, &path);
    escape_terminal(&n->spare, buf_span(&path));
    buf_release(&path);
    buf_text(&n->page, "<div class=\"ts-title\"><strong>");
    notebook_put(n, MOST_CELLS);
    buf_text(&n->page, "</strong></div>\n<div class=\"ts-facts\">");
    statistics_subject(&facts, n->session, place);
    if (facts.n > 0)
        page_fact(&n->page, &facts, &facts.at[0], &look);
    buf_printf(&n->page, ", %s", export_role_name(tensor->role));
    if (tensor->flags & TENSOR_GRAD_KNOWN)
        buf_text(&n->page, tensor->flags & TENSOR_GRAD ? ", trainable" : ", frozen");
    buf_text(&n->page, "</div>\n");
    facts_release(&facts);
}

int notebook_tensor(struct notebook *n, uint32_t place, struct err *err)
{
    static const double at[] = {0.05, 0.25, 0.5, 0.75, 0.95};
    const struct numbers_wanted wanted = {
        .quantiles = at, .n_quantiles = COUNT_OF(at), .bins = BINS};
    const struct tensor *tensor = place_tensor(n->model, place);
    struct err why = {0};
    struct numbers numbers;

    write_title(n, place);
    if (session_numbers(n->session, n->model->object[place], &wanted, &n->printed.arena,
                        n->wanted->work, &numbers, &why) < 0) {
        if (why.code == ERR_CANCELLED) {
            *err = why;
            return -1;
        }
        buf_text(&n->page, "<div>Its values cannot be read: ");
        escape_terminal(&n->spare, str_of(why.text));
        notebook_put(n, MOST_CELLS);
        buf_text(&n->page, "</div>\n");
        return 0;
    }
    buf_text(&n->page, "<div class=\"ts-tensor\">");
    write_statistics(n, tensor, &numbers);
    buf_text(&n->page, "<div>");
    write_histogram(n, &numbers);
    if (tensor_readable(n->model, tensor, NULL) && write_values(n, tensor, &why) < 0) {
        escape_terminal(&n->spare, str_of(why.text));
        notebook_put(n, MOST_CELLS);
    }
    buf_text(&n->page, "</div></div>\n");
    return 0;
}
