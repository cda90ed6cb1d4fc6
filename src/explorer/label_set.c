#include "explorer/label_set.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "rows/labels.h"
#include "text/nearest.h"
#include "text/width.h"

#define ALIGNED 0 /* first in the table: has no text; aligns all others in columns */

/* The progress of training matters more than the size of modules and their times in its
 * first step. */
static const char *const on_in_training[] = {"grad", "update"};
static const char *const off_in_training[] = {"percent", "memory", "time"};

void label_set_init(struct label_set *set, const struct show *show)
{
    bool training = show && !show->pair && show->session->history;

    *set = (struct label_set){.n = (uint8_t)n_label_kinds};
    for (uint8_t i = 0; i < set->n; i++) {
        set->order[i] = i;
        set->on[i] = label_kinds[i].first;
    }
    for (size_t i = 0; training && i < COUNT_OF(on_in_training); i++)
        set->on[label_kind_find(str_of(on_in_training[i]))] = true;
    for (size_t i = 0; training && i < COUNT_OF(off_in_training); i++)
        set->on[label_kind_find(str_of(off_in_training[i]))] = false;
}

static bool is_on(const struct label_set *set, uint32_t kind)
{
    return kind == ALIGNED ? !set->flowing : set->on[kind];
}

static void turn(struct label_set *set, uint32_t kind, bool on)
{
    if (kind == ALIGNED)
        set->flowing = !on;
    else
        set->on[kind] = on;
    set->asked[kind] = on;
    set->chosen = true;
}

bool label_is_on(const struct label_set *set, const char *id)
{
    int kind = label_kind_find(str_of(id));

    return kind >= 0 && is_on(set, (uint32_t)kind);
}

/* --- Switching */

void label_set_group(struct label_set *set, char key)
{
    bool any_on = false, any_last = false;

    key = key == 'm' ? 'b' : key;
    for (uint32_t i = 0; i < n_label_kinds; i++) {
        if (label_kinds[i].key != key)
            continue;
        any_on = any_on || is_on(set, i);
        any_last = any_last || set->last[i];
    }
    for (uint32_t i = 0; i < n_label_kinds; i++) {
        if (label_kinds[i].key != key)
            continue;
        if (any_on)
            set->last[i] = is_on(set, i);
        turn(set, i, !any_on && (set->last[i] || !any_last));
    }
}

const char *label_group_why(const struct show *show, char key)
{
    if (show->pair)
        return "a diff has its own columns";
    if (key == 'f' && !show->activity)
        return "nothing was recorded: no shapes, no calls";
    return key == 'r' && !show->activity ? "nothing was recorded: no times" : NULL;
}

void label_set_toggle(struct label_set *set, uint32_t at)
{
    if (at < set->n)
        turn(set, set->order[at], !is_on(set, set->order[at]));
}

void label_set_move(struct label_set *set, uint32_t from, uint32_t to)
{
    uint8_t moved;

    if (from >= set->n || to >= set->n)
        return;
    moved = set->order[from];
    if (from < to)
        memmove(set->order + from, set->order + from + 1, to - from);
    else
        memmove(set->order + to + 1, set->order + to, from - to);
    set->order[to] = moved;
    set->chosen = true;
}

/* --- As text */

static int unknown(struct str word, struct err *err)
{
    char text[32];
    const char *nearest;

    snprintf(text, sizeof(text), "%.*s", STR_ARG(word));
    nearest =
        text_nearest(text, &label_kinds[0].id, n_label_kinds, sizeof(label_kinds[0]));
    if (nearest)
        return err_set(err, ERR_USAGE, "unknown label %.*s; did you mean %s?",
                       STR_ARG(word), nearest);
    return err_set(err, ERR_USAGE, "unknown label %.*s", STR_ARG(word));
}

/* The name is always shown: first, unless the list has a position for it. */
static void keep_name(struct label_set *set, bool *named, uint8_t *n)
{
    int name = label_kind_find(STR("name"));

    if (name < 0 || named[name])
        return;
    named[name] = set->on[name] = true;
    memmove(set->order + 1, set->order, *n);
    set->order[0] = (uint8_t)name;
    ++*n;
}

/* Labels in the list come first, in its order. All others are off, except the name,
 * which "-name" switches off. */
int label_set_parse(struct label_set *set, struct str list, struct err *err)
{
    struct label_set made = {.n = (uint8_t)n_label_kinds, .chosen = true};
    bool named[LABELS_MOST] = {false};
    bool nameless = false;
    uint8_t n = 0;
    struct str word;

    while (list.len > 0 && str_split(&list, ',', &word)) {
        int kind;

        word = str_trim(word);
        if (word.len == 0)
            continue;
        if (str_is_word(word, "flowing")) {
            made.flowing = true;
            continue;
        }
        if (str_is(word, "-name")) {
            nameless = true;
            continue;
        }
        kind = label_kind_find(word);
        if (kind < 0)
            return unknown(word, err);
        if (named[kind])
            continue;
        named[kind] = made.on[kind] = made.asked[kind] = true;
        made.order[n++] = (uint8_t)kind;
    }
    if (!nameless)
        keep_name(&made, named, &n);
    for (uint8_t i = 0; i < made.n; i++)
        if (!named[i])
            made.order[n++] = i;
    *set = made;
    return 0;
}

void label_set_text(const struct label_set *set, struct buf *to)
{
    const char *comma = "";

    if (set->flowing) {
        buf_text(to, "flowing");
        comma = ",";
    }
    if (!label_is_on(set, "name")) {
        buf_printf(to, "%s-name", comma);
        comma = ",";
    }
    for (uint8_t i = 0; i < set->n; i++) {
        if (set->order[i] == ALIGNED || !set->on[set->order[i]])
            continue;
        buf_printf(to, "%s%s", comma, label_kinds[set->order[i]].id);
        comma = ",";
    }
}

/* --- The panel */

#define TITLE_CELLS 24
#define KEY_CELLS   4

static void add_sample(struct buf *to, const struct label_set *set, uint32_t kind,
                       const struct show *show, const struct row *row)
{
    if (kind == ALIGNED)
        buf_text(to, set->flowing ? "flowing" : "columns");
    else if (row && !show->pair)
        label_flow(to, &label_kinds[kind], show, row);
}

void label_set_lines(struct lines *to, const struct label_set *set,
                     const struct show *show, const struct row *row, unsigned width)
{
    struct buf text = BUF_INIT, cut = BUF_INIT;

    for (uint8_t i = 0; i < set->n; i++) {
        const struct label_kind *kind = &label_kinds[set->order[i]];
        bool on = is_on(set, set->order[i]);

        buf_clear(&text);
        buf_printf(&text, " %s %s", on ? "■" : "□", kind->title);
        lines_add(to, COLOUR_NONE, 0, buf_span(&text));
        lines_pad(to, 2 + TITLE_CELLS);
        buf_clear(&text);
        if (kind->key == 'b')
            buf_text(&text, "b m ");
        else
            buf_printf(&text, "%c   ", kind->key ? kind->key : ' ');
        lines_add(to, COLOUR_DIM, 0, buf_span(&text));
        buf_clear(&text);
        buf_clear(&cut);
        add_sample(&text, set, set->order[i], show, row);
        if (width > 2 + TITLE_CELLS + KEY_CELLS)
            text_cut(&cut, str_trim(buf_span(&text)),
                     width - 2 - TITLE_CELLS - KEY_CELLS, "…");
        lines_add(to, on ? COLOUR_NONE : COLOUR_DIM,
                  str_is(str_of(kind->id), "in") ? SPAN_ITALIC : 0, buf_span(&cut));
        lines_end_target(to, i);
    }
    buf_release(&text);
    buf_release(&cut);
}

/* "Output mean" inside a sentence: "output mean". "FLOPs" stays. */
static void add_title(struct buf *to, const char *title)
{
    bool capitals = title[1] >= 'A' && title[1] <= 'Z';

    buf_char(to, capitals ? title[0] : (char)(title[0] | 0x20));
    buf_text(to, title + 1);
}

void label_set_more(struct lines *to, const struct label_set *set, uint32_t first,
                    unsigned width)
{
    struct buf text = BUF_INIT;
    size_t end;

    buf_printf(&text, " ▾ %u more:", set->n > first ? set->n - first : 0);
    end = text.len;
    for (uint32_t i = first; i < set->n; i++) {
        buf_text(&text, i > first ? ", " : " ");
        add_title(&text, label_kinds[set->order[i]].title);
        /* Do not begin a name that does not fit. */
        if (text_width(buf_span(&text)) + (i + 1 < set->n ? 2 : 0) > width) {
            text.len = end;
            buf_text(&text, " …");
            break;
        }
        end = text.len;
    }
    lines_add(to, COLOUR_DIM, 0, buf_span(&text));
    lines_end(to);
    buf_release(&text);
}
