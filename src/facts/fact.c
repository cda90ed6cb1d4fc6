#include "facts/fact.h"

#include <stdlib.h>

#include "text/width.h"

#define BETWEEN         "   " /* parts */
#define SENTENCE_INDENT 5

void facts_release(struct facts *facts)
{
    buf_release(&facts->text);
    free(facts->parts);
    free(facts->at);
    *facts = (struct facts){0};
}

void facts_clear(struct facts *facts)
{
    buf_clear(&facts->text);
    facts->n_parts = facts->n = facts->part_begun = facts->fact_begun = 0;
    facts->bad = false;
}

/* --- Writing */

void fact_part(struct facts *facts, enum colour role)
{
    size_t begin = facts->part_begun, end = facts->text.len;
    void *parts = facts->parts;

    facts->bad |= facts->text.bad || end > UINT32_MAX;
    facts->part_begun = (uint32_t)end;
    while (end > begin && facts->text.at[end - 1] == ' ')
        end--;
    if (end == begin || facts->bad)
        return;
    if (!buf_grow_array(&parts, facts->n_parts, &facts->parts_room,
                        sizeof *facts->parts)) {
        facts->bad = true;
        return;
    }
    facts->parts = parts;
    facts->parts[facts->n_parts++] =
        (struct fact_part){(uint32_t)begin, (uint32_t)(end - begin), role};
}

struct fact *fact_end(struct facts *facts, const char *label, enum colour role)
{
    static _Thread_local struct fact dummy;
    struct fact fact = {.label = label, .target = NO_TARGET, .role = role};
    void *at = facts->at;

    fact_part(facts, role);
    fact.first = facts->fact_begun;
    fact.n = facts->n_parts - facts->fact_begun;
    facts->fact_begun = facts->n_parts;
    if (fact.n == 0)
        return &dummy;
    if (!buf_grow_array(&at, facts->n, &facts->room, sizeof *facts->at)) {
        facts->bad = true;
        return &dummy;
    }
    facts->at = at;
    facts->at[facts->n] = fact;
    return &facts->at[facts->n++];
}

bool fact_is_empty(const struct facts *facts)
{
    return facts->n_parts == facts->fact_begun && facts->text.len == facts->part_begun;
}

/* --- Reading */

struct str fact_part_text(const struct facts *facts, const struct fact_part *part)
{
    return str_span(facts->text.at + part->at, part->len);
}

size_t fact_cells(const struct facts *facts, const struct fact *fact)
{
    size_t cells = 0;

    for (uint32_t i = 0; i < fact->n; i++)
        cells += (i > 0 ? sizeof BETWEEN - 1 : 0) +
                 text_width(fact_part_text(facts, &facts->parts[fact->first + i]));
    return cells;
}

void fact_pack(struct lines *to, const struct facts *facts, const struct fact *fact,
               unsigned width, unsigned indent)
{
    size_t used = lines_width(to);

    for (uint32_t i = 0; i < fact->n; i++) {
        const struct fact_part *part = &facts->parts[fact->first + i];
        struct str text = fact_part_text(facts, part);
        size_t cells = text_width(text);

        if (i > 0 && width > 0 && used + sizeof BETWEEN - 1 + cells > width) {
            lines_end(to);
            lines_pad(to, indent);
            used = indent;
        } else if (i > 0) {
            lines_text(to, COLOUR_NONE, BETWEEN);
            used += sizeof BETWEEN - 1;
        }
        lines_add(to, part->role, 0, text);
        used += cells;
    }
}

static enum colour label_role(const struct fact *fact, const struct facts_look *look)
{
    bool quiet = fact->role == COLOUR_NONE || fact->role == COLOUR_GOOD;

    if (!look->panel)
        return COLOUR_NONE;
    return quiet ? COLOUR_DIM : fact->role;
}

static void fact_lines(struct lines *to, const struct facts *facts,
                       const struct fact *fact, const struct facts_look *look)
{
    const struct fact_part *part = &facts->parts[fact->first];
    unsigned indent = fact->label ? look->indent : SENTENCE_INDENT;

    lines_text(to, COLOUR_NONE, look->panel ? " " : "");
    if (fact->label) {
        lines_text(to, label_role(fact, look), fact->label);
        lines_pad(to, indent);
    }
    if (fact->n > 1) {
        fact_pack(to, facts, fact, look->width, indent);
        lines_end(to);
    } else {
        lines_fold(to, part->role, fact_part_text(facts, part), look->width, indent,
                   look->panel);
    }
}

void facts_lines(struct lines *to, const struct facts *facts,
                 const struct facts_look *look)
{
    for (uint32_t i = 0; i < facts->n; i++) {
        uint32_t first = to->n;

        fact_lines(to, facts, &facts->at[i], look);
        for (uint32_t k = first; k < to->n; k++)
            to->at[k].target = facts->at[i].target;
    }
    to->bad |= facts->bad;
}

void facts_text(struct buf *to, const struct facts *facts, unsigned indent)
{
    struct facts_look look = {.indent = indent};
    struct lines lines = {0};

    facts_lines(&lines, facts, &look);
    for (uint32_t i = 0; i < lines.n; i++) {
        line_plain(to, &lines, i);
        buf_char(to, '\n');
    }
    lines_release(&lines);
}
