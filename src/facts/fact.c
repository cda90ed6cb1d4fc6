#include "facts/fact.h"

#include <stdlib.h>
#include <string.h>

#include "rows/run_words.h"
#include "text/escape.h"
#include "text/number.h"
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

/* End the text appended since the last part; `blanks`: keep trailing blanks. */
static struct fact_part *add_part(struct facts *facts, bool blanks)
{
    size_t begin = facts->part_begun, end = facts->text.len;
    void *parts = facts->parts;

    facts->bad |= facts->text.bad || end > UINT32_MAX;
    facts->part_begun = (uint32_t)end;
    while (!blanks && end > begin && facts->text.at[end - 1] == ' ')
        end--;
    if (end == begin || facts->bad)
        return NULL;
    if (!buf_grow_array(&parts, facts->n_parts, &facts->parts_room,
                        sizeof *facts->parts)) {
        facts->bad = true;
        return NULL;
    }
    facts->parts = parts;
    facts->parts[facts->n_parts] = (struct fact_part){
        .at = (uint32_t)begin, .len = (uint32_t)(end - begin), .joined = facts->joined};
    facts->joined = true;
    return &facts->parts[facts->n_parts++];
}

struct figure fact_figure(struct facts *facts)
{
    add_part(facts, true);
    return (struct figure){.text = &facts->text};
}

void fact_value(struct facts *facts, const char *name, const struct figure *figure)
{
    struct fact_part *part = add_part(facts, true);

    if (!part)
        return;
    part->name = name;
    part->kind = figure->kind;
    part->n = figure->n;
    part->real = figure->real;
    part->dims = figure->dims;
    part->role = figure->role == COLOUR_ALARM ? COLOUR_ALARM : COLOUR_NONE;
}

void fact_count(struct facts *facts, const char *name, uint64_t n)
{
    struct figure figure = fact_figure(facts);

    figure_exact(&figure, n);
    fact_value(facts, name, &figure);
}

void fact_plural(struct facts *facts, const char *name, uint64_t n, const char *one,
                 const char *many)
{
    fact_count(facts, name, n);
    buf_printf(&facts->text, " %s", n == 1 ? one : many);
}

void fact_bytes(struct facts *facts, const char *name, uint64_t n)
{
    struct figure figure = fact_figure(facts);

    figure_bytes(&figure, n);
    fact_value(facts, name, &figure);
}

void fact_time(struct facts *facts, const char *name, uint64_t ns)
{
    struct figure figure = fact_figure(facts);

    text_time(figure.text, (double)ns / 1e9);
    figure.kind = FIGURE_TIME;
    figure.n = ns;
    fact_value(facts, name, &figure);
}

void fact_share(struct facts *facts, const char *name, uint64_t part, uint64_t whole)
{
    struct figure figure = fact_figure(facts);

    run_share(figure.text, part, whole);
    figure.kind = FIGURE_SHARE;
    figure.real = (double)part / (double)whole;
    fact_value(facts, name, &figure);
}

void fact_text(struct facts *facts, const char *name, struct str text)
{
    struct figure figure = fact_figure(facts);

    escape_terminal(figure.text, text);
    fact_value(facts, name, &figure);
}

void fact_shape(struct facts *facts, const char *name, const int64_t *dims, int rank)
{
    struct figure figure = fact_figure(facts);

    figure_shape(&figure, dims, rank);
    fact_value(facts, name, &figure);
}

void fact_tensor_shape(struct facts *facts, const char *name, const struct model *model,
                       uint32_t place)
{
    const struct tensor *tensor = place_tensor(model, place);

    fact_shape(facts, name, tensor_shape(model, tensor), tensor->rank);
}

void fact_run_shape(struct facts *facts, const char *name, const struct run *run,
                    uint32_t value)
{
    const struct run_value *v = &run->values[value];

    fact_shape(facts, name, run->dims + v->shape, v->rank);
}

void fact_dtype(struct facts *facts, enum dtype dtype)
{
    struct figure figure = fact_figure(facts);

    buf_text(figure.text, dtype_name(dtype));
    fact_named(facts, "dtype", FIGURE_DTYPE, dtype);
}

void fact_place(struct facts *facts, const char *name, const struct show *show,
                uint32_t place)
{
    struct figure figure = fact_figure(facts);

    run_place(figure.text, show, place);
    figure.kind = FIGURE_PLACE;
    figure.n = place;
    fact_value(facts, name, &figure);
}

void fact_named(struct facts *facts, const char *name, enum figure_kind kind,
                uint64_t n)
{
    struct figure figure = {.kind = kind, .n = n};

    fact_value(facts, name, &figure);
}

void fact_part(struct facts *facts, enum colour role)
{
    add_part(facts, false);
    for (uint32_t i = facts->n_parts; facts->joined;
         facts->joined = facts->parts[i].joined)
        if (facts->parts[--i].role == COLOUR_NONE)
            facts->parts[i].role = role;
}

/* The first place among the values of the current fact. */
static uint32_t first_place(const struct facts *facts)
{
    for (uint32_t i = facts->fact_begun; i < facts->n_parts; i++)
        if (facts->parts[i].kind == FIGURE_PLACE)
            return (uint32_t)facts->parts[i].n;
    return NO_TARGET;
}

struct fact *fact_end_as(struct facts *facts, const char *id, const char *label,
                         enum colour role)
{
    static _Thread_local struct fact dummy;
    struct fact fact = {.id = id, .label = label, .role = role};
    void *at = facts->at;

    fact_part(facts, role);
    fact.target = first_place(facts);
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

struct fact *fact_end(struct facts *facts, const char *label, enum colour role)
{
    const char *id = label;

    if (!label || !*label)
        id = facts->n > 0 ? facts->at[facts->n - 1].id : "";
    return fact_end_as(facts, id, label, role);
}

bool fact_is_empty(const struct facts *facts)
{
    return facts->n_parts == facts->fact_begun && facts->text.len == facts->part_begun;
}

/* --- Reading */

const struct fact *facts_find(const struct facts *facts, const char *id)
{
    for (uint32_t i = 0; i < facts->n; i++)
        if (strcmp(facts->at[i].id, id) == 0)
            return &facts->at[i];
    return NULL;
}

const struct fact_part *fact_find(const struct facts *facts, const struct fact *fact,
                                  const char *name)
{
    for (uint32_t i = fact->first; i < fact->first + fact->n; i++)
        if (facts->parts[i].name && strcmp(facts->parts[i].name, name) == 0)
            return &facts->parts[i];
    return NULL;
}

struct str fact_part_text(const struct facts *facts, const struct fact_part *part)
{
    return str_span(facts->text.at + part->at, part->len);
}

uint32_t fact_group_length(const struct facts *facts, const struct fact *fact,
                           uint32_t i)
{
    uint32_t n = 1;

    while (i + n < fact->n && facts->parts[fact->first + i + n].joined)
        n++;
    return n;
}

struct str fact_group_text(const struct facts *facts, const struct fact *fact,
                           uint32_t i)
{
    const struct fact_part *first = &facts->parts[fact->first + i];
    const struct fact_part *last = first + fact_group_length(facts, fact, i) - 1;

    return str_span(facts->text.at + first->at, last->at + last->len - first->at);
}

size_t fact_cells(const struct facts *facts, const struct fact *fact)
{
    size_t cells = 0;

    for (uint32_t i = 0; i < fact->n; i += fact_group_length(facts, fact, i))
        cells += (i > 0 ? sizeof BETWEEN - 1 : 0) +
                 text_width(fact_group_text(facts, fact, i));
    return cells;
}

void fact_pack(struct lines *to, const struct facts *facts, const struct fact *fact,
               unsigned width, unsigned indent)
{
    size_t used = lines_width(to);

    for (uint32_t i = 0, end; i < fact->n; i = end) {
        size_t cells = text_width(fact_group_text(facts, fact, i));

        end = i + fact_group_length(facts, fact, i);
        if (i > 0 && width > 0 && used + sizeof BETWEEN - 1 + cells > width) {
            lines_end(to);
            lines_pad(to, indent);
            used = indent;
        } else if (i > 0) {
            lines_text(to, COLOUR_NONE, BETWEEN);
            used += sizeof BETWEEN - 1;
        }
        for (uint32_t k = fact->first + i; k < fact->first + end; k++)
            lines_add(to, facts->parts[k].role, 0,
                      fact_part_text(facts, &facts->parts[k]));
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

    if (look->panel)
        lines_pad(to, look->margin ? look->margin : 1);
    if (fact->label) {
        lines_text(to, label_role(fact, look), fact->label);
        lines_pad(to, indent);
    }
    if (fact_group_length(facts, fact, 0) < fact->n) {
        fact_pack(to, facts, fact, look->width, indent);
        lines_end(to);
    } else {
        lines_fold(to, part->role, fact_group_text(facts, fact, 0), look->width, indent,
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

void facts_join(struct buf *to, const struct facts *facts, const char *between)
{
    for (uint32_t i = 0; i < facts->n; i++) {
        const struct fact *fact = &facts->at[i];

        buf_text(to, i > 0 ? between : "");
        for (uint32_t k = 0; k < fact->n; k += fact_group_length(facts, fact, k)) {
            buf_text(to, k > 0 ? BETWEEN : "");
            buf_str(to, fact_group_text(facts, fact, k));
        }
    }
}
