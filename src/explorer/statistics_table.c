/* Panel 4 of a module: one line for each of its own tensors. */
#include <math.h>
#include <string.h>

#include "explorer/statistics_in.h"
#include "text/text.h"

#define MOST_TENSORS 200
#define NAME_CELLS   14 /* or as many as the names need, if space is short */
#define CELL         11
#define CELLS        4

static void add_real(struct lines *to, double value)
{
    struct buf text = BUF_INIT, cell = BUF_INIT;

    if (!isnan(value))
        text_real(&text, value);
    text_pad_left(&cell, buf_span(&text), CELL);
    lines_add(to, COLOUR_NONE, 0, buf_span(&cell));
    buf_release(&text);
    buf_release(&cell);
}

/* "  NaN 12  +Inf 3": only those present. */
static void add_odd(struct buf *to, const struct stats *stats)
{
    static const char *const names[] = {"NaN", "+Inf", "-Inf"};
    uint64_t counts[] = {stats->nan, stats->pos_inf, stats->neg_inf};

    for (int i = 0; i < 3; i++) {
        if (counts[i] == 0)
            continue;
        buf_printf(to, "  %s ", names[i]);
        text_commas(to, counts[i]);
    }
}

/* The table's layout: the last columns are dropped if the names need their space. */
struct statistics_table {
    unsigned width;
    unsigned name; /* cells */
    unsigned n;    /* numbers */
};

static void tensor_line(struct lines *to, struct explorer *explorer, uint32_t place,
                        const struct statistics_table *table)
{
    const struct model *model = explorer->show.model;
    struct buf name = BUF_INIT, cut = BUF_INIT, cell = BUF_INIT, odd = BUF_INIT;
    unsigned n = table->n;
    const char *why = NULL;
    const struct numbers *numbers =
        explorer_numbers(explorer, model->object[place], &why);

    escape_terminal(&name, place_name(model, place));
    text_cut(&cut, buf_span(&name), table->name, "…");
    text_pad(&cell, buf_span(&cut), table->name);
    lines_printf(to, COLOUR_NONE, " %s", cell.at);
    if (numbers && stats_measured(numbers->stats)) {
        const struct stats *stats = numbers->stats;
        double values[CELLS] = {stats->min, stats->max, stats->mean, stats_std(stats)};

        /* Non-finite values are always reported. */
        add_odd(&odd, stats);
        while (n > 0 && 1 + table->name + n * CELL + odd.len > table->width)
            n--;
        for (unsigned i = 0; i < n; i++)
            add_real(to, values[i]);
    } else if (!numbers) {
        lines_printf(to, COLOUR_DIM, "  %s", why ? why : "not known");
    }
    if (numbers && odd.len == 0)
        add_odd(&odd, numbers->stats);
    lines_add(to, COLOUR_ALARM, 0, buf_span(&odd));
    lines_end_target(to, place);
    buf_release(&name);
    buf_release(&cut);
    buf_release(&cell);
    buf_release(&odd);
}

static void fit(struct statistics_table *table, const struct model *model,
                uint32_t place, unsigned width)
{
    unsigned widest = (unsigned)strlen("tensor");
    struct buf name = BUF_INIT;
    uint32_t n = 0;

    for (uint32_t p = place_first(model, place); p != NO_PLACE && n < MOST_TENSORS;
         p = place_next(model, p)) {
        unsigned cells;

        if (model->kind[p] != PLACE_TENSOR)
            continue;
        n++;
        buf_clear(&name);
        escape_terminal(&name, place_name(model, p));
        cells = (unsigned)text_width(buf_span(&name));
        widest = cells > widest ? cells : widest;
    }
    buf_release(&name);
    *table = (struct statistics_table){.width = width, .name = NAME_CELLS, .n = CELLS};
    if (widest > NAME_CELLS && width > 1 + CELLS * CELL + NAME_CELLS) {
        table->name = width - 1 - CELLS * CELL;
        table->name = table->name < widest ? table->name : widest;
        return;
    }
    if (widest > NAME_CELLS)
        widest = NAME_CELLS;
    while (table->n > 1 && 1 + widest + table->n * CELL > width)
        table->n--;
    if (1 + NAME_CELLS + table->n * CELL > width)
        table->name = width > 1 + table->n * CELL + 6 ? width - 1 - table->n * CELL : 6;
}

static void header(struct lines *to, const struct statistics_table *table)
{
    static const char *const names[CELLS] = {"min", "max", "mean", "std"};

    lines_printf(to, COLOUR_DIM, " %-*s", (int)table->name, "tensor");
    for (unsigned i = 0; i < table->n; i++)
        lines_printf(to, COLOUR_DIM, "%*s", CELL, names[i]);
    lines_end(to);
}

void statistics_table(struct lines *to, struct explorer *explorer, unsigned width)
{
    const struct model *model = explorer->show.model;
    uint32_t place = explorer_place(explorer), n = 0, child;
    const char *why = "no values: it is only in the left one";
    struct statistics_table table;

    if (place != NO_PLACE && model->kind[place] == PLACE_VALUE) {
        why = "a plain value: Details shows all of it";
    } else if (place != NO_PLACE) {
        why = "no direct tensors; those of its modules are in their rows, "
              ":stats measures all";
        fit(&table, model, place, width);
        for (child = place_first(model, place); child != NO_PLACE && n < MOST_TENSORS;
             child = place_next(model, child)) {
            if (model->kind[child] != PLACE_TENSOR)
                continue;
            if (n++ == 0)
                header(to, &table);
            tensor_line(to, explorer, child, &table);
        }
    }
    if (n > 0)
        return;
    lines_text(to, COLOUR_NONE, " ");
    lines_wrap(to, COLOUR_DIM, str_of(why), width, 1);
}
