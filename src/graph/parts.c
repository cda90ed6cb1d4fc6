#include <math.h>
#include <stdarg.h>

#include "base/buf.h"
#include "graph/parts_in.h"
#include "text/escape.h"

#define TEXT_MOST 1000 /* bytes: names in a file may have any length */

void parts_init(struct parts *parts, struct arena *arena, struct arena *scratch)
{
    *parts = (struct parts){.arena = arena, .scratch = scratch};
}

uint32_t parts_add(struct parts *parts, enum diagram_kind kind, uint32_t parent)
{
    struct graph_part part = {.box = {.kind = (uint8_t)kind,
                                      .number = 1,
                                      .n_calls = 1,
                                      .n_same = 1,
                                      .place = NO_PLACE,
                                      .call = RUN_NONE,
                                      .op = RUN_NONE},
                              .parent = parent,
                              .into = PART_NONE,
                              .first = PART_NONE,
                              .last = PART_NONE,
                              .next = PART_NONE};

    for (int i = 0; i < DIAGRAM_METRICS; i++)
        part.box.metric[i] = NAN;
    if (arena_room(parts->scratch, &parts->at, parts->n, &parts->room,
                   sizeof *parts->at) < 0)
        return PART_NONE;
    parts->at[parts->n] = part;
    return parts->n++;
}

int parts_link(struct parts *parts, uint32_t source, uint32_t target, uint32_t value)
{
    if (arena_room(parts->scratch, &parts->links, parts->n_links, &parts->links_room,
                   sizeof *parts->links) < 0)
        return -1;
    parts->links[parts->n_links++] =
        (struct part_link){.source = source, .target = target, .value = value};
    return 0;
}

uint32_t parts_value(struct parts *parts, struct part_value value)
{
    if (arena_room(parts->scratch, &parts->values, parts->n_values, &parts->values_room,
                   sizeof *parts->values) < 0)
        return PART_NONE;
    parts->values[parts->n_values] = value;
    return parts->n_values++;
}

struct str parts_text(struct parts *parts, struct str text)
{
    struct buf buf = BUF_INIT;
    struct str copy;
    size_t n = TEXT_MOST;

    if (text.len > n) {
        while (n > 0 && (text.at[n] & 0xC0) == 0x80)
            n--; /* do not split a character */
        text = str_head(text, n);
    }
    escape_terminal(&buf, text);
    copy = arena_str(parts->arena, buf_span(&buf));
    buf_release(&buf);
    return copy.at ? copy : STR("");
}

struct str parts_printf(struct parts *parts, const char *format, ...)
{
    struct buf buf = BUF_INIT;
    struct str copy;
    va_list args;

    va_start(args, format);
    buf_vprintf(&buf, format, args);
    va_end(args);
    copy = arena_str(parts->arena, buf_span(&buf));
    buf_release(&buf);
    return copy.at ? copy : STR("");
}

static int push_word(struct parts *parts, struct str word)
{
    if (arena_room(parts->arena, &parts->words, parts->n_words, &parts->words_room,
                   sizeof *parts->words) < 0)
        return -1;
    parts->words[parts->n_words++] = word;
    return 0;
}

int parts_word(struct parts *parts, uint32_t part, struct str word)
{
    struct diagram_box *box = &parts->at[part].box;
    uint32_t begin = parts->n_words;

    if (word.len == 0)
        return 0;
    if (box->n_words > 0 && box->words + box->n_words != parts->n_words) {
        for (uint32_t i = 0; i < box->n_words; i++)
            if (push_word(parts, parts->words[box->words + i]) < 0)
                return -1;
        box->words = begin;
    }
    if (push_word(parts, word) < 0)
        return -1;
    if (box->n_words++ == 0)
        box->words = begin;
    return 0;
}

struct str parts_words_at(const struct parts *parts, uint32_t part, uint32_t word)
{
    const struct diagram_box *box = &parts->at[part].box;

    return word < box->n_words ? parts->words[box->words + word] : STR("");
}

/* ---- links between boxes ---- */

static uint32_t box_at(const struct parts *parts, uint32_t part)
{
    while (parts->at[part].into != PART_NONE)
        part = parts->at[part].into;
    return parts->box_of[part];
}

/* Does a link end at this box? */
static bool takes_links(const struct parts *parts, uint32_t box)
{
    return box != PART_NONE && parts->end[box] == box + 1;
}

struct box_link *parts_box_links(const struct parts *parts, uint32_t *ret_n)
{
    struct box_link *links =
        arena_array(parts->scratch, (size_t)parts->n_links + 1, sizeof *links);
    uint32_t *at = arena_array(parts->scratch, (size_t)parts->n_boxes + 2, sizeof *at);
    uint32_t *order =
        arena_array(parts->scratch, (size_t)parts->n_links + 1, sizeof *order);
    uint32_t n = 0;

    if (!links || !at || !order)
        return NULL;
    for (uint32_t i = 0; i < parts->n_links; i++) {
        uint32_t source = box_at(parts, parts->links[i].source);
        uint32_t target = box_at(parts, parts->links[i].target);

        order[i] = PART_NONE;
        if (source == target || !takes_links(parts, source) ||
            !takes_links(parts, target))
            continue;
        order[i] = target;
        at[target + 1]++;
        n++;
    }
    for (uint32_t i = 0; i < parts->n_boxes; i++)
        at[i + 1] += at[i];
    for (uint32_t i = 0; i < parts->n_links; i++)
        if (order[i] != PART_NONE)
            links[at[order[i]]++] =
                (struct box_link){.source = box_at(parts, parts->links[i].source),
                                  .target = order[i],
                                  .value = parts->links[i].value,
                                  .change = parts->links[i].change};
    *ret_n = n;
    return links;
}
