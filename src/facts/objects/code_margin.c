/* The margin of source code: the shapes of one call. Each inner call and each
 * operation recorded the line that made it. */
#include "facts/objects/code.h"

#include <string.h>

#include "facts/run_text.h"
#include "rows/op_words.h"
#include "text/text.h"

#define MOST_INPUTS 3

struct margin {
    struct code_mark *marks;
    const struct code *code;
    const struct run *run;
    struct arena *arena;
    /* By line: */
    bool *called;     /* it called a module, or an operation ran */
    bool *varied;     /* its calls had different shapes */
    uint32_t *values; /* the last result, or RUN_NONE */
    uint32_t op;      /* the next operation to look at */
};

static int put(struct margin *m, uint32_t line, struct buf *text, bool alarm)
{
    const char *kept = arena_str(m->arena, buf_span(text)).at;

    buf_release(text);
    if (!kept)
        return -1;
    m->marks[line].text = kept;
    m->marks[line].alarm |= alarm;
    return 0;
}

/* The index of a line of the class by its string id, or n: "resnet.py:45". */
static uint32_t line_of(const struct margin *m, uint32_t id)
{
    struct str at = run_string(m->run, id);
    ptrdiff_t colon = str_find_last_char(at, ':');
    uint64_t number;
    struct str file;

    if (!id || colon < 0 || !str_to_u64(str_from(at, (size_t)colon + 1), &number))
        return m->code->n;
    file = str_head(at, (size_t)colon);
    if (number < m->code->first || number >= m->code->first + m->code->n)
        return m->code->n;
    if (m->code->file.len > 0 && !str_ends(m->code->file, file))
        return m->code->n;
    return (uint32_t)(number - m->code->first);
}

/* ---- results ---- */

/* Store the result of a line. Did its calls have different shapes? */
static bool varies(struct margin *m, uint32_t line, uint32_t value)
{
    if (m->values[line] != RUN_NONE && !run_same_shape(m->run, m->values[line], value))
        m->varied[line] = true;
    m->values[line] = value;
    return m->varied[line];
}

/* "1×64×56×56"; a * follows if another call on this line had another shape. */
static int mark_result(struct margin *m, uint32_t line, uint32_t call)
{
    const struct run_call *c = &m->run->calls[call];
    uint32_t value = activity_value(m->run, call, RUN_OUT);
    struct buf text = BUF_INIT;
    bool alarm = c->flags & RUN_RAISED;

    m->called[line] = true;
    if (alarm) {
        buf_text(&text, "✗ raised");
    } else if (value != RUN_NONE) {
        const struct run_value *v = &m->run->values[value];

        run_shape(&text, m->run, value);
        if (varies(m, line, value))
            buf_char(&text, '*');
        if (!run_finite(m->run, value)) {
            const struct stats *stats = &m->run->stats[v->stats];

            buf_char(&text, ' ');
            run_not_finite(&text, stats->nan, stats->pos_inf + stats->neg_inf);
            alarm = true;
        }
    }
    if (text.len == 0)
        return 0;
    return put(m, line, &text, alarm);
}

/* ---- operations ---- */

/* The result of the last operation of a line, or of the first one that produced NaN.
 * The operations of an expression have different shapes anyway, so a * would be
 * useless. */
static int mark_op(struct margin *m, uint32_t line, const struct run_op *op)
{
    struct buf text = BUF_INIT;
    uint64_t nan, inf;

    m->called[line] = true;
    if (m->marks[line].alarm)
        return 0;
    op_not_finite(m->run, op, &nan, &inf);
    if (op->flags & OP_RAISED)
        buf_text(&text, "✗ raised");
    else
        op_shapes(&text, m->run, op);
    if (nan > 0 || inf > 0) {
        buf_char(&text, ' ');
        run_not_finite(&text, nan, inf);
    }
    if (text.len == 0)
        return 0;
    return put(m, line, &text, op->flags & OP_RAISED || nan > 0 || inf > 0);
}

/* The operations directly in `call` that began before `until`, from the last one on. */
static int mark_ops(struct margin *m, uint32_t call, uint64_t until)
{
    const struct run_ops *ops = m->run->ops;

    for (; ops && m->op < ops->n_ops && ops->ops[m->op].start_ns < until; m->op++) {
        const struct run_op *op = &ops->ops[m->op];
        uint32_t line;

        if (op->call != call || op->phase == OP_BACKWARD)
            continue;
        line = line_of(m, op->line);
        if (line < m->code->n && mark_op(m, line, op) < 0)
            return -1;
    }
    return 0;
}

/* ---- between two calls ---- */

/* The only line with code between two others, or n. */
static uint32_t only_line(const struct margin *m, uint32_t after, uint32_t before)
{
    uint32_t found = m->code->n;

    for (uint32_t i = after + 1; i < before; i++) {
        struct str line = str_trim(m->code->lines[i]);

        if (line.len == 0 || line.at[0] == '#')
            continue;
        if (found != m->code->n || line.at[line.len - 1] == ':' ||
            str_find_char(line, '=') < 0)
            return m->code->n;
        found = i;
    }
    return found;
}

static bool is_known(const struct margin *m, uint32_t parent, uint32_t call,
                     uint32_t value)
{
    for (uint32_t c = parent; c < call; c++) {
        const struct run_call *other = &m->run->calls[c];

        if (c != parent && other->parent != parent)
            continue;
        for (uint32_t i = other->ios; i < other->ios + other->n_ios; i++)
            if (m->run->ios[i].value == value &&
                m->run->ios[i].kind == (c == parent ? RUN_IN : RUN_OUT))
                return true;
    }
    return false;
}

/* out += identity, without operations: if an input of this call came from no other call,
 * the line between made it, provided there is only one. */
static int mark_between(struct margin *m, uint32_t parent, uint32_t call,
                        uint32_t before, uint32_t line)
{
    uint32_t value = activity_value(m->run, call, RUN_IN), at;
    struct buf text = BUF_INIT;

    if (m->run->ops || value == RUN_NONE || before >= line ||
        is_known(m, parent, call, value))
        return 0;
    at = only_line(m, before, line);
    if (at == m->code->n || m->marks[at].text)
        return 0;
    run_shape(&text, m->run, value);
    return put(m, at, &text, false);
}

/* ---- inputs ---- */

/* The name of parameter `which` of "def forward(self, x, mask=None):", from 0. */
static struct str parameter(struct str line, uint32_t which)
{
    ptrdiff_t open = str_find_char(line, '(');
    struct str rest = str_from(line, (size_t)(open + 1)), part = STR("");
    uint32_t n = 0;
    size_t end = 0;

    while (str_split(&rest, ',', &part) && n++ < which + 1)
        ;
    if (n < which + 2)
        return STR("");
    part = str_trim(part);
    while (end < part.len && !strchr(":=)* ", part.at[end]))
        end++;
    return str_head(part, end);
}

/* "x 1×64×56×56", beside the line that defines forward. */
static int mark_inputs(struct margin *m, const struct run_call *call)
{
    struct str def;
    struct buf text = BUF_INIT;
    uint32_t n = 0;

    if (m->code->forward == m->code->n)
        return 0;
    def = m->code->lines[m->code->forward];
    for (uint32_t i = call->ios; i < call->ios + call->n_ios && n < MOST_INPUTS; i++) {
        const struct run_io *io = &m->run->ios[i];
        struct str path = run_string(m->run, io->path), name = path;
        uint64_t index;

        if (io->kind != RUN_IN || io->value == RUN_NONE)
            continue;
        if (path.len > 2 && path.at[0] == '[' &&
            str_to_u64(str_head(str_from(path, 1), path.len - 2), &index))
            name = parameter(def, (uint32_t)index);
        buf_text(&text, n++ > 0 ? ", " : "");
        escape_terminal(&text, name);
        buf_text(&text, name.len > 0 ? " " : "");
        run_shape(&text, m->run, io->value);
    }
    m->marks[m->code->forward].input = true;
    return text.len > 0 ? put(m, m->code->forward, &text, false) : 0;
}

/* ---- branches ---- */

/* An `if` was taken if an indented line below it called a module, or an operation ran.
 */
static int mark_branches(struct margin *m)
{
    static const char *const words[] = {"if ", "elif ", "else:", NULL};

    for (uint32_t i = 0; i < m->code->n; i++) {
        struct str line = m->code->lines[i];
        size_t indent = code_indent(line);
        struct buf text = BUF_INIT;
        bool branch = false, taken = false;

        for (int k = 0; words[k]; k++)
            branch |= str_starts(str_from(line, indent), str_of(words[k]));
        for (uint32_t j = i + 1; branch && j < m->code->n; j++) {
            struct str below = m->code->lines[j];

            if (str_trim(below).len > 0 && code_indent(below) <= indent)
                break;
            taken |= m->called[j];
        }
        if (!taken || m->marks[i].text)
            continue;
        buf_text(&text, "taken");
        if (put(m, i, &text, false) < 0)
            return -1;
    }
    return 0;
}

int code_marks(struct code_mark *marks, const struct code *code,
               const struct show *show, uint32_t call, struct arena *arena)
{
    const struct run *run = show->session->run;
    struct margin m = {.marks = marks, .code = code, .run = run, .arena = arena};
    uint32_t before = code->forward;

    m.called = arena_array(arena, (size_t)code->n + 1, sizeof *m.called);
    m.varied = arena_array(arena, (size_t)code->n + 1, sizeof *m.varied);
    m.values = arena_array(arena, (size_t)code->n + 1, sizeof *m.values);
    if (!m.called || !m.varied || !m.values || mark_inputs(&m, &run->calls[call]) < 0)
        return -1;
    for (uint32_t i = 0; i < code->n; i++)
        m.values[i] = RUN_NONE;
    for (uint32_t c = call + 1;
         c < run->n_calls && run->calls[c].start_ns <= run->calls[call].end_ns; c++) {
        uint32_t line;

        if (run->calls[c].parent != call)
            continue;
        line = line_of(&m, run->calls[c].line);
        if (mark_ops(&m, call, run->calls[c].start_ns) < 0)
            return -1;
        if (line == code->n)
            continue;
        if (mark_between(&m, call, c, before, line) < 0 || mark_result(&m, line, c) < 0)
            return -1;
        before = line;
    }
    if (mark_ops(&m, call, UINT64_MAX) < 0)
        return -1;
    return mark_branches(&m);
}
