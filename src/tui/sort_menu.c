/* i: in order of. */
#include <string.h>

#include "base/base.h"
#include "tui/tui_in.h"

static const struct {
    char key;
    enum rows_sort sort;
    const char *name, *about;
    const char *label; /* the column whose title does the same */
} orders[] = {
    {'n', SORT_NAME, "name", "as people count: layer2 before layer10", "name"},
    {'p', SORT_PARAMS, "params", "biggest first by parameters", "params"},
    {'m', SORT_BYTES, "memory", "biggest first, all tensors below", "memory"},
    {'r', SORT_TIME, "time", "slowest first, inclusive", "time"},
    {'s', SORT_SELF, "self", "slowest first, without what it calls", "self"},
    {'f', SORT_FLOPS, "FLOPs", "most work first", "flops"},
    {'c', SORT_CALLS, "calls", "most often called first", "calls"},
    {'g', SORT_GRAD, "gradient norm", "largest first", "grad"},
    {'z', SORT_ZEROS, "zeros", "most zeros first", "zeros"},
    {'!', SORT_NAN, "NaN", "most NaN first", "nan"},
    {'d', SORT_DELTA, "rel Δ", "most different first", "rel"},
    {'x', SORT_MODEL, "as in the model", "no order of ours", NULL},
};

void sort_menu(struct tui *tui)
{
    if (tui->files) {
        files_sort_menu(tui);
        return;
    }
    menu_clear(&tui->menu);
    tui->menu.title = "i In order of";
    tui->menu_of = ACTION_SORT;
    for (size_t i = 0; i < COUNT_OF(orders); i++)
        if (orders[i].sort != SORT_DELTA || tui->explorer.pair)
            menu_add(&tui->menu, orders[i].key, str_of(orders[i].name),
                     str_of(orders[i].about));
}

/* The same again turns it round. */
static void sort(struct tui *tui, enum rows_sort by)
{
    const struct view *view = browse_view(tui->explorer.browse);
    bool again = view->sort == by && by != SORT_MODEL;

    browse_sort(tui->explorer.browse, by, again && !view->reverse);
    /* Which is the worst? It stands at the top. */
    if (view->flat != FLAT_NO && by != SORT_MODEL)
        browse_first(tui->explorer.browse);
    tui_changed(tui);
}

void sort_choose(struct tui *tui, char key)
{
    if (tui->files) {
        files_sort_choose(tui, key);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(orders); i++)
        if (orders[i].key == key)
            sort(tui, orders[i].sort);
}

/* A share and a bar say the same as the number that they are of. */
static const char *number_of(const char *label)
{
    static const char *const same[][2] = {{"percent", "params"}, {"bar", "params"},
                                          {"memory%", "memory"}, {"outzeros", "zeros"},
                                          {"time%", "time"},     {"timebar", "time"}};

    for (size_t i = 0; i < COUNT_OF(same); i++)
        if (strcmp(label, same[i][0]) == 0)
            return same[i][1];
    return label;
}

void sort_by_column(struct tui *tui, const char *label)
{
    label = number_of(label);
    for (size_t i = 0; i < COUNT_OF(orders); i++)
        if (orders[i].label && strcmp(orders[i].label, label) == 0) {
            sort(tui, orders[i].sort);
            return;
        }
    explorer_say(&tui->explorer, "rows cannot be sorted by %s", label);
}
