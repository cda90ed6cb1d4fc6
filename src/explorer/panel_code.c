/* Panel 2: the source of the selected module's class, with the shapes its lines
 * produced in the margin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explorer/code_in.h"
#include "explorer/panels_in.h"
#include "facts/run_text.h"
#include "text/text.h"

#define CODE_MEMORY (64 * MIB)
#define NARROW      90 /* below this width, indentation is halved */

/* The source of a class, cached until another is selected. */
struct panel_code_own {
    const struct model *model;
    uint32_t class_id; /* NO_CLASS: none yet */
    struct arena arena;
    struct class_source source;

    uint32_t call; /* the call whose shapes are in the margin, or RUN_NONE */
    struct code_mark *marks, *base_marks;
    struct arena marks_arena;
};

#define BETWEEN 2 /* lines between a class and the inherited forward */

/* The module whose code is shown: the selected one, or the one around the row. */
static uint32_t module_of(struct explorer *explorer)
{
    uint32_t place = explorer_place(explorer);

    return place == NO_PLACE ? NO_PLACE : code_module(explorer->show.model, place);
}

static uint32_t class_of(struct explorer *explorer)
{
    uint32_t module = module_of(explorer);

    return module == NO_PLACE ? NO_CLASS : code_class(explorer->show.model, module);
}

static void read_class(struct panel_code_own *own, const struct model *model,
                       uint32_t class_id)
{
    arena_release(&own->arena);
    arena_init(&own->arena, CODE_MEMORY);
    own->model = model;
    own->class_id = class_id;
    own->marks = NULL;
    class_source_read(&own->source, model, class_id, &own->arena);
}

/* The first line to show: the definition of forward. */
static uint32_t first_line(const struct panel_code_own *own)
{
    if (own->source.code.forward < own->source.code.n)
        return own->source.code.forward;
    return own->source.base.n > 0 ? own->source.code.n + BETWEEN - 1 : 0;
}

/* The cached source for the row's class; NULL: it has none. Another class is shown from
 * its forward on. */
static struct panel_code_own *own_of(struct explorer *explorer,
                                     struct panel_state *state)
{
    const struct model *model = explorer->show.model;
    uint32_t class_id = class_of(explorer);
    struct panel_code_own *own = state->own;

    if (class_id == NO_CLASS)
        return NULL;
    if (!own) {
        own = state->own = calloc(1, sizeof *own);
        if (!own)
            return NULL;
        own->class_id = NO_CLASS;
    }
    if (own->model != model || own->class_id != class_id) {
        read_class(own, model, class_id);
        state->top = state->cursor = first_line(own);
    }
    return own;
}

/* The margin of the class or of its base; NULL: out of memory. */
static struct code_mark *marks_of(struct panel_code_own *own, const struct code *code,
                                  struct explorer *explorer)
{
    struct code_mark *marks =
        arena_array(&own->marks_arena, (size_t)code->n + 1, sizeof *marks);

    if (marks && code->n > 0 && own->call != RUN_NONE &&
        code_marks(marks, code, &explorer->show, own->call, &own->marks_arena) < 0)
        return NULL;
    return marks;
}

static void find_marks(struct panel_code_own *own, struct explorer *explorer)
{
    uint32_t place = module_of(explorer);
    uint32_t call = explorer_call(explorer, place);

    if (own->marks && own->call == call)
        return;
    arena_release(&own->marks_arena);
    arena_init(&own->marks_arena, CODE_MEMORY);
    own->call = call;
    own->marks = marks_of(own, &own->source.code, explorer);
    own->base_marks = marks_of(own, &own->source.base, explorer);
}

/* --- Lines */

/* Are most lines indented by multiples of four (strings and long calls may not be)?
 * Then they can be indented by twos. */
static bool is_by_four(const struct code *code)
{
    uint32_t odd = 0;

    for (uint32_t i = 0; i < code->n; i++)
        odd += code_indent(code->lines[i]) % 4 != 0;
    return odd <= code->n / 2;
}

struct panel_code_drawing {
    struct lines *to;
    const struct code *code;
    const struct code_mark *marks; /* or NULL */
    unsigned width;
    int digits; /* width of line numbers */
    bool halved;
    char quote;
};

/* The width of a line without its margin. */
static size_t line_cells(const struct panel_code_drawing *d, struct str line)
{
    struct buf text = BUF_INIT;
    size_t cells;

    escape_terminal(&text, line);
    cells = (size_t)d->digits + 3 + text_width(buf_span(&text));
    buf_release(&text);
    return cells;
}

static void code_line(struct panel_code_drawing *d, uint32_t i)
{
    const struct code_mark *mark = d->marks ? &d->marks[i] : NULL;
    struct str line = d->code->lines[i];
    size_t indent = code_indent(line), end = d->width, begin = d->width;
    size_t margin = mark && mark->text ? text_width(str_of(mark->text)) : 0;

    lines_printf(d->to, COLOUR_DIM, " %*u  ", d->digits, d->code->first + i);
    if (d->halved && !d->quote)
        line = str_from(line, indent - indent / 2);
    /* Two blanks before and one after the shapes, if there is space. */
    if (margin > 0 && margin < d->width) {
        bool tight = line_cells(d, line) + 2 + margin + 1 > d->width;

        begin = d->width - margin - (tight ? 0 : 1);
        end = begin > 2 ? begin - (tight ? 1 : 2) : 0;
    }
    code_spans(d->to, line, end > lines_width(d->to) ? end - lines_width(d->to) : 0,
               &d->quote);
    if (margin > 0 && margin < d->width) {
        lines_pad(d->to, begin);
        lines_add(d->to, mark->alarm ? COLOUR_ALARM : COLOUR_NONE,
                  mark->input ? SPAN_ITALIC : 0, str_of(mark->text));
    }
    lines_end(d->to);
}

static void all_lines(struct lines *to, const struct code *code,
                      const struct code_mark *marks, unsigned width)
{
    struct panel_code_drawing d = {
        .to = to, .code = code, .marks = marks, .width = width};
    char last[16];

    d.digits = snprintf(last, sizeof last, "%u", code->first + code->n);
    d.halved = width < NARROW && is_by_four(code);
    for (uint32_t i = 0; i < code->n; i++)
        code_line(&d, i);
}

static void add_escaped(struct lines *to, struct str name)
{
    struct buf text = BUF_INIT;

    escape_terminal(&text, name);
    lines_add(to, COLOUR_TYPE, 0, buf_span(&text));
    buf_release(&text);
}

static void sentence(struct lines *to, struct str text, unsigned width)
{
    lines_text(to, COLOUR_NONE, " ");
    lines_wrap(to, COLOUR_DIM, text, width, 1);
}

/* There is no source: show the other facts. */
static void no_code(struct lines *to, struct explorer *explorer,
                    const struct panel_code_own *own, unsigned width)
{
    const struct model *model = explorer->show.model;
    struct buf text = BUF_INIT;

    if (own) {
        buf_text(&text, "no source: ");
        escape_terminal(&text, str_of(own->source.why));
        sentence(to, buf_span(&text), width);
        buf_clear(&text);
        buf_text(&text, "class ");
        escape_terminal(&text, model_string(model, model->classes[own->class_id].name));
        sentence(to, buf_span(&text), width);
    } else {
        sentence(to, str_of(code_why_none(model)), width);
    }
    buf_release(&text);
}

static void code_lines(struct lines *to, struct explorer *explorer,
                       struct panel_state *state, const struct panel_room *room)
{
    struct panel_code_own *own = own_of(explorer, state);

    if (!own || own->source.why) {
        no_code(to, explorer, own, room->width);
        return;
    }
    find_marks(own, explorer);
    all_lines(to, &own->source.code, own->marks, room->width);
    if (own->source.base.n == 0)
        return;
    lines_end(to);
    lines_printf(to, COLOUR_DIM, " forward() is inherited from ");
    add_escaped(to, own->source.base.name);
    lines_end(to);
    all_lines(to, &own->source.base, own->base_marks, room->width);
}

/* --- The panel */

/* "models/resnet.py:30 Bottleneck": the end of the path. */
static void code_subject(struct buf *to, struct explorer *explorer)
{
    struct panel_code_own *own = own_of(explorer, &explorer->panels[PANEL_CODE]);
    struct str file, folder;
    ptrdiff_t slash;

    if (!own) {
        if (explorer_place(explorer) != NO_PLACE)
            run_place(to, &explorer->show, explorer_place(explorer));
        return;
    }
    file = own->source.code.file;
    slash = str_find_last_char(file, '/');
    if (slash > 0) {
        folder = str_head(file, (size_t)slash);
        file = str_from(file, (size_t)(str_find_last_char(folder, '/') + 1));
    }
    if (file.len > 0) {
        escape_terminal(to, file);
        buf_printf(to, ":%u ", own->source.code.first);
    }
    escape_terminal(to, own->source.code.name);
}

static bool code_act(struct explorer *explorer, struct panel_state *state,
                     enum panel_act act)
{
    (void)state;
    if (act != ACT_PREVIOUS && act != ACT_NEXT)
        return panel_cannot(explorer, act);
    return explorer_step(explorer, act == ACT_NEXT ? 1 : -1);
}

static void code_release(struct panel_state *state)
{
    struct panel_code_own *own = state->own;

    if (own) {
        arena_release(&own->arena);
        arena_release(&own->marks_arena);
    }
    free(own);
    state->own = NULL;
}

static const struct panel_hint code_hints[] = {
    {"previous-call", "next-call", "call"},
    {"edit", NULL, "editor"},
    {NULL, NULL, NULL},
};

const struct panel code_panel = {
    .number = PANEL_CODE,
    .id = "code",
    .title = "Code",
    .cursor = true,
    .hints = code_hints,
    .subject = code_subject,
    .lines = code_lines,
    .act = code_act,
    .release = code_release,
};
