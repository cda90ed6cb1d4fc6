/* i: the sort menu. */
#include "rows/columns.h"
#include "tui/tui_in.h"

static void add_order(struct tui *tui, enum rows_sort sort)
{
    const struct rows_order *order = &rows_orders[sort];

    menu_add(&tui->menu, order->key, str_of(order->title), str_of(order->about));
}

bool sort_offered(const struct tui *tui, enum rows_sort sort)
{
    if (sort == SORT_DELTA)
        return tui->exploring && tui->explorer.pair;
    if (sort == SORT_UPDATE || sort == SORT_WEIGHT)
        return tui->exploring && explorer_follows(&tui->explorer);
    return true;
}

void sort_menu(struct tui *tui)
{
    if (tui->files) {
        files_sort_menu(tui);
        return;
    }
    menu_clear(&tui->menu);
    tui->menu.title = "i In order of";
    tui->menu_of = ACTION_SORT;
    for (int i = 1; i < SORT_COUNT; i++)
        if (sort_offered(tui, (enum rows_sort)i))
            add_order(tui, (enum rows_sort)i);
    add_order(tui, SORT_MODEL);
}

/* Choosing the current order again reverses it. */
static void sort(struct tui *tui, enum rows_sort by)
{
    const struct view *view = browse_view(tui->explorer.browse);
    bool again = view->sort == by && by != SORT_MODEL;

    browse_sort(tui->explorer.browse, by, again && !view->reverse);
    /* A flat list starts at its largest (or worst) row. */
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
    for (int i = 0; i < SORT_COUNT; i++)
        if (rows_orders[i].key == key)
            sort(tui, (enum rows_sort)i);
}

void sort_by_column(struct tui *tui, const struct column *column)
{
    if (column->sort)
        sort(tui, (enum rows_sort)column->sort);
    else
        explorer_say(&tui->explorer, "rows cannot be sorted by %s", column->id);
}
