/* A training run in a notebook: its result and its first curves. */
#include "export/page/notebook_in.h"
#include "export/page/page_chart.h"
#include "export/page/page_in.h"
#include "facts/facts.h"
#include "text/number.h"

#define SPARK_COLUMNS 160
#define MOST_SPARKS   6

struct notebook_training {
    struct notebook *n;
    struct history *history;
    struct arena arena;
    struct history_grid grid;
    struct page_steps steps;
    uint32_t drawn;
    struct err *err;
};

static const struct page_look look = {.prefix = "ts-"};

static void add_facts(struct notebook *n)
{
    struct facts facts = {0};
    struct file_facts of = {.show = &n->printed.show, .to = &facts, .brief = true};

    facts_history(&of);
    buf_text(&n->page, "<ul class=\"ts-notes ts-l\">");
    for (uint32_t i = 0; i < facts.n; i++) {
        buf_printf(&n->page, "<li class=\"ts-%s\">%s: ", page_class(facts.at[i].role),
                   facts.at[i].label ? facts.at[i].label : "");
        page_fact(&n->page, &facts, &facts.at[i], &look);
        buf_text(&n->page, "</li>");
    }
    buf_text(&n->page, "</ul>\n");
    facts_release(&facts);
}

static int add_curve(struct notebook_training *self, uint32_t name, struct str text)
{
    struct buf *to = &self->n->page;
    const struct history_scalar **row;
    uint32_t last = HISTORY_NONE;
    struct page_chart chart = {.steps = &self->steps,
                               .grid = &self->grid,
                               .name = text,
                               .linear = page_chart_order(text) == CHART_RATES};

    if (history_grid_scalars(&self->grid, self->history, name, &self->arena, &row,
                             self->err) < 0)
        return -1;
    for (uint32_t i = 0; i < self->grid.columns; i++)
        last = row[i] ? i : last;
    if (last == HISTORY_NONE)
        return 0;
    chart.row = row;
    buf_text(to, "<div><span><b>");
    page_html(to, text, 40);
    buf_text(to, "</b> ");
    text_real(&self->n->spare, row[last]->last);
    page_minus(&self->n->spare, 0);
    notebook_put(self->n, 0);
    buf_text(to, "</span>");
    page_sparkline(to, &chart);
    buf_text(to, "</div>");
    self->drawn++;
    return 0;
}

static int add_curves(struct notebook_training *self)
{
    uint32_t n;
    struct str *names;

    if (history_grid_make(&self->grid, self->history, HISTORY_TRAIN, SPARK_COLUMNS,
                          &self->arena, self->err) < 0)
        return -1;
    if (self->grid.columns == 0 &&
        history_grid_make(&self->grid, self->history, HISTORY_EVAL, SPARK_COLUMNS,
                          &self->arena, self->err) < 0)
        return -1;
    if (history_read_names(self->history, &self->arena, &names, &n, self->err) < 0)
        return -1;
    if (self->grid.columns == 0)
        return 0;
    self->steps.first = self->grid.first[0];
    self->steps.last = self->grid.last[self->grid.columns - 1];
    for (int order = 0; order < CHART_ORDERS; order++)
        for (uint32_t i = 0; i < n && self->drawn < MOST_SPARKS; i++)
            if ((int)page_chart_order(names[i]) == order &&
                add_curve(self, i, names[i]) < 0)
                return -1;
    return 0;
}

int notebook_training(struct notebook *n, struct err *err)
{
    struct notebook_training self = {
        .n = n, .history = n->session->history, .err = err};
    int status;

    if (!self.history)
        return 0;
    add_facts(n);
    arena_init(&self.arena, 0);
    buf_text(&n->page, "<div class=\"ts-curves\">");
    status = add_curves(&self);
    buf_text(&n->page, "</div>\n");
    arena_release(&self.arena);
    return status;
}
