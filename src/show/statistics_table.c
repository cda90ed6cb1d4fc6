/* Panel 4 of a module: one line for each of its own tensors. */
#include <math.h>

#include "show/statistics_in.h"
#include "text/text.h"

#define MOST_TENSORS 200
#define NAME_CELLS   14
#define CELL         11

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

/* "NaN 12  +Inf 3": only what is there. */
static void add_odd(struct lines *to, const struct stats *stats)
{
    static const char *const names[] = {"NaN", "+Inf", "-Inf"};
    uint64_t counts[] = {stats->nan, stats->pos_inf, stats->neg_inf};

    for (int i = 0; i < 3; i++) {
        struct buf text = BUF_INIT;

        if (counts[i] == 0)
            continue;
        text_commas(&text, counts[i]);
        lines_printf(to, COLOUR_ALARM, "  %s %s", names[i], text.at);
        buf_release(&text);
    }
}

static void tensor_line(struct lines *to, struct explorer *explorer, uint32_t place)
{
    const struct model *model = explorer->show.model;
    struct buf name = BUF_INIT, cell = BUF_INIT;
    const char *why = NULL;
    const struct numbers *numbers =
        explorer_numbers(explorer, model->object[place], &why);

    escape_terminal(&name, place_name(model, place));
    text_pad(&cell, buf_span(&name), NAME_CELLS);
    lines_printf(to, COLOUR_NONE, " %s", cell.at);
    if (numbers && stats_measured(numbers->stats)) {
        const struct stats *stats = numbers->stats;

        add_real(to, stats->min);
        add_real(to, stats->max);
        add_real(to, stats->mean);
        add_real(to, stats_std(stats));
    } else if (!numbers) {
        lines_printf(to, COLOUR_DIM, "  %s", why ? why : "not known");
    }
    if (numbers)
        add_odd(to, numbers->stats);
    lines_end_target(to, place);
    buf_release(&name);
    buf_release(&cell);
}

static void header(struct lines *to)
{
    static const char *const names[] = {"min", "max", "mean", "std"};

    lines_printf(to, COLOUR_DIM, " %-*s", NAME_CELLS, "tensor");
    for (int i = 0; i < 4; i++)
        lines_printf(to, COLOUR_DIM, "%*s", CELL, names[i]);
    lines_end(to);
}

void statistics_table(struct lines *to, struct explorer *explorer, unsigned width)
{
    const struct model *model = explorer->show.model;
    uint32_t place = explorer_place(explorer), n = 0, child;
    const char *why = "no values: it is only in the left one";

    if (place != NO_PLACE && model->kind[place] == PLACE_VALUE) {
        why = "a plain value: panel 1 has it whole";
    } else if (place != NO_PLACE) {
        why = "no tensors of its own; those of its modules are in their rows, "
              ":stats measures all";
        for (child = place_first(model, place); child != NO_PLACE && n < MOST_TENSORS;
             child = place_next(model, child)) {
            if (model->kind[child] != PLACE_TENSOR)
                continue;
            if (n++ == 0)
                header(to);
            tensor_line(to, explorer, child);
        }
    }
    if (n > 0)
        return;
    lines_text(to, COLOUR_NONE, " ");
    lines_wrap(to, COLOUR_DIM, str_of(why), width, 1);
}
