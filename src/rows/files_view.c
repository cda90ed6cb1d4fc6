#include "rows/files_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "rows/search_in.h"
#include "rows/sort.h"
#include "text/escape.h"
#include "text/nearest.h"
#include "text/width.h"

#define MARKS_MOST 2

struct files_view {
    struct file_list *list;
    uint32_t *order;   /* ids of all n_known rows, sorted */
    uint32_t *scratch; /* as many, for sorting */
    uint32_t *shown;   /* ids that pass the filter, in the same order */
    uint32_t *cells;   /* by id: width of the name */
    uint32_t n_known, n_shown, room;
    uint32_t pending; /* rows without a verdict */

    enum files_sort sort;
    bool reverse;
    struct buf filter;
    struct search *search; /* the parsed filter; NULL: show all */
    bool by_verdict;       /* the filter has a word of files_kinds */

    uint32_t marks[MARKS_MOST], n_marks; /* numbers */
};

const struct files_choice files_orders[FILES_SORT_COUNT] = {
    [FILES_NAME] = {'n', "name", "as people count: step2 before step10"},
    [FILES_SIZE] = {'m', "size", "biggest first"},
    [FILES_PARAMS] = {'p', "params", "most parameters first"},
    [FILES_VERDICT] = {'v', "verdict", "unsafe first, safe last"},
    [FILES_CHANGED] = {'x', "changed", "newest first, as it comes"},
};

enum kind { UNSAFE, NEEDS_CODE, INCONCLUSIVE, SAFE, DAMAGED, NO_MODEL };

const struct files_choice files_kinds[] = {
    [UNSAFE] = {'u', "unsafe", "a load would run something"},
    [NEEDS_CODE] = {'c', "needs code", "needs code that is not in the file"},
    [INCONCLUSIVE] = {'i', "inconclusive", "cannot be judged"},
    [SAFE] = {'s', "safe", "tensors and plain values only"},
    [DAMAGED] = {'d', "damaged", "cut short, or parts cannot be read"},
    [NO_MODEL] = {'n', "not a model",
                  "cannot be opened; the status line shows the reason"},
};
const size_t n_files_kinds = COUNT_OF(files_kinds);

/* --- Filtering */

static int find_kind(const struct search *search)
{
    for (size_t i = 0; i < n_files_kinds && !search->regex; i++)
        if (str_is_word(search->text, files_kinds[i].word))
            return (int)i;
    return -1;
}

static bool is_kind(const struct file_row *row, int kind)
{
    switch ((enum kind)kind) {
    case UNSAFE:
        return row->verdict == VERDICT_UNSAFE;
    case NEEDS_CODE:
        return row->verdict == VERDICT_NEEDS_CODE;
    case INCONCLUSIVE:
        return row->verdict == VERDICT_INCONCLUSIVE;
    case SAFE:
        return row->verdict == VERDICT_SAFE;
    case DAMAGED:
        return row->damaged;
    case NO_MODEL:
        return row->state == FILE_TROUBLE && !row->damaged;
    }
    return false;
}

/* The last part of a name; a folder's ends in a slash. */
static struct str last_part(struct str name)
{
    if (str_ends(name, STR("/")))
        name = str_head(name, name.len - 1);
    return str_from(name, (size_t)(str_find_last_char(name, '/') + 1));
}

static bool choice_passes(struct search *choice, const struct file_row *row)
{
    int kind = find_kind(choice);

    if (kind >= 0)
        return is_kind(row, kind);
    return search_text(choice, row->name, 0) ||
           (choice->glob && search_text(choice, last_part(row->name), 0));
}

static bool passes(const struct files_view *view, const struct file_row *row)
{
    bool found = false;

    if (!view->search)
        return true;
    if (view->by_verdict && row->state == FILE_PENDING)
        return false;
    for (struct search *one = view->search; one && !found; one = one->other)
        found = choice_passes(one, row);
    return found != view->search->inverse;
}

static void filter_rows(struct files_view *view)
{
    view->n_shown = 0;
    for (uint32_t i = 0; i < view->n_known; i++)
        if (passes(view, file_list_at(view->list, view->order[i])))
            view->shown[view->n_shown++] = view->order[i];
}

static bool gave_up(const struct search *search)
{
    while (search && !search->gave_up)
        search = search->other;
    return search != NULL;
}

static void filter_by(struct files_view *view, struct search *search)
{
    view->search = search;
    view->by_verdict = false;
    for (const struct search *one = search; one; one = one->other)
        view->by_verdict |= find_kind(one) >= 0;
    filter_rows(view);
}

int files_view_filter(struct files_view *view, struct str text, struct err *err)
{
    struct search *before = view->search, *now = NULL;

    if (text.len > 0 && !str_is(text, "!")) {
        now = search_new(text, err);
        if (!now)
            return -1;
    }
    filter_by(view, now);
    if (gave_up(now)) {
        filter_by(view, before);
        search_free(now);
        return err_set(err, ERR_LIMIT, "%.*s takes too many steps on a name",
                       STR_ARG(text));
    }
    search_free(before);
    buf_clear(&view->filter);
    buf_str(&view->filter, text);
    return 0;
}

struct str files_view_filtered(const struct files_view *view)
{
    return buf_span(&view->filter);
}

/* --- Sorting */

/* In the order of the verdict column: worst first. */
static int rank(const struct file_row *row)
{
    static const int ranks[] = {[VERDICT_UNSAFE] = 0,
                                [VERDICT_NEEDS_CODE] = 2,
                                [VERDICT_INCONCLUSIVE] = 4,
                                [VERDICT_SAFE] = 6};

    return ranks[row->verdict] + !row->damaged;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static bool is_unknown(const struct files_view *view, const struct file_row *row)
{
    return (view->sort == FILES_PARAMS && row->state != FILE_JUDGED) ||
           (view->sort == FILES_VERDICT && row->state == FILE_PENDING);
}

static int compare_by(enum files_sort sort, const struct file_row *a,
                      const struct file_row *b)
{
    switch (sort) {
    case FILES_SIZE:
        return compare_numbers(b->size, a->size);
    case FILES_PARAMS:
        return compare_numbers(b->params, a->params);
    case FILES_VERDICT:
        return rank(a) - rank(b);
    case FILES_CHANGED:
        return (b->mtime_ns > a->mtime_ns) - (b->mtime_ns < a->mtime_ns);
    case FILES_NAME:
    case FILES_SORT_COUNT:
        break;
    }
    return sort_names(a->name, b->name);
}

/* Unknown values come last in either direction; ties are sorted by name. */
static int compare_rows(const void *about, uint32_t left, uint32_t right)
{
    const struct files_view *view = about;
    const struct file_row *a = file_list_at(view->list, left);
    const struct file_row *b = file_list_at(view->list, right);
    bool no_a = is_unknown(view, a), no_b = is_unknown(view, b);
    int order = 0;

    if (no_a != no_b)
        return no_a ? 1 : -1;
    if (!no_a)
        order = compare_by(view->sort, a, b);
    if (order != 0)
        return view->reverse ? -order : order;
    return sort_names(a->name, b->name);
}

static void sort_rows(struct files_view *view)
{
    sort_ids(view->order, view->n_known, view->scratch, compare_rows, view);
    filter_rows(view);
}

void files_view_sort(struct files_view *view, enum files_sort sort, bool reverse)
{
    view->sort = sort;
    view->reverse = reverse;
    sort_rows(view);
}

enum files_sort files_view_sorted(const struct files_view *view, bool *ret_reverse)
{
    *ret_reverse = view->reverse;
    return view->sort;
}

int files_sort_by_word(struct str word, enum files_sort *ret_sort, struct err *err)
{
    const char *nearest;
    char text[32];

    if (str_is_word(word, "bytes") || str_is_word(word, "memory"))
        word = STR("size");
    for (int i = 0; i < FILES_SORT_COUNT; i++)
        if (str_is_word(word, files_orders[i].word)) {
            *ret_sort = (enum files_sort)i;
            return 0;
        }
    snprintf(text, sizeof text, "%.*s", STR_ARG(str_head(word, 30)));
    nearest = text_nearest(text, &files_orders[0].word, FILES_SORT_COUNT,
                           sizeof files_orders[0]);
    return err_set(err, ERR_USAGE,
                   "unknown order \"%s\"%s%s%s use name, size, params, verdict or "
                   "changed",
                   text, nearest ? "; did you mean " : "", nearest ? nearest : "",
                   nearest ? "?" : ";");
}

/* --- Results of the scan */

/* One block holds the four lists of numbers. */
static bool make_room(struct files_view *view, uint32_t n)
{
    size_t room = (size_t)n + n / 2 + 16;
    uint32_t *block;

    if (n <= view->room)
        return true;
    block = malloc(4 * room * sizeof *block);
    if (!block)
        return false;
    if (view->n_known > 0) {
        memcpy(block, view->order, view->n_known * sizeof *block);
        memcpy(block + 3 * room, view->cells, view->n_known * sizeof *block);
    }
    free(view->order);
    view->order = block;
    view->scratch = block + room;
    view->shown = block + 2 * room;
    view->cells = block + 3 * room;
    view->n_shown = 0; /* until it is filtered again */
    view->room = (uint32_t)room;
    return true;
}

static uint32_t name_cells(const struct file_row *row)
{
    struct buf text = BUF_INIT;
    size_t cells;

    escape_terminal(&text, row->name);
    cells = text_width(buf_span(&text));
    buf_release(&text);
    return (uint32_t)cells;
}

bool files_view_poll(struct files_view *view)
{
    uint32_t n;

    if (!file_list_poll(view->list))
        return false;
    n = file_list_n(view->list);
    if (!make_room(view, n))
        n = view->n_known; /* out of memory: omit the new rows */
    for (; view->n_known < n; view->n_known++) {
        view->order[view->n_known] = view->n_known;
        view->cells[view->n_known] =
            name_cells(file_list_at(view->list, view->n_known));
    }
    view->pending = 0;
    for (uint32_t i = 0; i < n; i++)
        view->pending += file_list_at(view->list, i)->state == FILE_PENDING;
    sort_rows(view);
    return true;
}

struct files_view *files_view_new(const char *folder, struct err *err)
{
    struct files_view *view = calloc(1, sizeof *view);

    if (!view) {
        err_set(err, ERR_LIMIT, "%s: no memory left", folder);
        return NULL;
    }
    view->sort = FILES_CHANGED;
    view->list = file_list_new(folder, err);
    if (!view->list) {
        free(view);
        return NULL;
    }
    return view;
}

void files_view_free(struct files_view *view)
{
    if (!view)
        return;
    file_list_free(view->list);
    search_free(view->search);
    buf_release(&view->filter);
    free(view->order);
    free(view);
}

int files_view_fd(const struct files_view *view)
{
    return file_list_fd(view->list);
}

bool files_view_ready(const struct files_view *view)
{
    struct file_list_facts facts = file_list_facts(view->list);

    return !facts.walking && view->pending == 0 &&
           (facts.full || facts.found == view->n_known);
}

/* --- Rows */

uint32_t files_view_n(const struct files_view *view)
{
    return view->n_shown;
}

const struct file_row *files_view_at(const struct files_view *view, uint32_t row)
{
    return file_list_at(view->list, view->shown[row]);
}

uint32_t files_view_row(const struct files_view *view, uint32_t number)
{
    for (uint32_t i = 0; i < view->n_shown; i++)
        if (view->shown[i] == number)
            return i;
    return UINT32_MAX;
}

void files_view_want(struct files_view *view, uint32_t first, uint32_t n)
{
    if (first > view->n_shown)
        first = view->n_shown;
    if (n > view->n_shown - first)
        n = view->n_shown - first;
    if (n > 0)
        file_list_want(view->list, view->shown + first, n);
}

struct file_list_facts files_view_facts(const struct files_view *view)
{
    return file_list_facts(view->list);
}

struct file_counts files_view_counts(const struct files_view *view)
{
    struct file_counts counts = {0};

    for (uint32_t i = 0; i < view->n_shown; i++)
        file_counts_add(&counts, files_view_at(view, i));
    return counts;
}

uint32_t files_view_unknown(const struct files_view *view)
{
    bool needed =
        view->by_verdict || view->sort == FILES_PARAMS || view->sort == FILES_VERDICT;

    return needed ? view->pending : 0;
}

size_t files_view_widest(const struct files_view *view, size_t most)
{
    size_t widest = 0;

    for (uint32_t i = 0; i < view->n_shown; i++) {
        size_t cells = view->cells[view->shown[i]];

        if (cells <= most && cells > widest)
            widest = cells;
    }
    return widest;
}

/* --- Marks */

bool files_view_mark(struct files_view *view, uint32_t row)
{
    uint32_t number = view->shown[row], kept = 0;

    for (uint32_t i = 0; i < view->n_marks; i++)
        if (view->marks[i] != number)
            view->marks[kept++] = view->marks[i];
    if (kept == view->n_marks) {
        if (kept == MARKS_MOST)
            return false;
        view->marks[kept++] = number;
    }
    view->n_marks = kept;
    return true;
}

bool files_view_marked(const struct files_view *view, uint32_t row)
{
    for (uint32_t i = 0; i < view->n_marks; i++)
        if (view->marks[i] == view->shown[row])
            return true;
    return false;
}

uint32_t files_view_n_marks(const struct files_view *view)
{
    return view->n_marks;
}

const struct file_row *files_view_mark_at(const struct files_view *view, uint32_t mark)
{
    return file_list_at(view->list, view->marks[mark]);
}

void files_view_unmark(struct files_view *view)
{
    view->n_marks = 0;
}
