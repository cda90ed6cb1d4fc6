#include "read/torch/script_parser_in.h"

#include <string.h>

#include "base/base.h"
#include "base/buf.h"

static void skip_blanks(struct script_parser *in)
{
    while (in->rest.len > 0) {
        char c = in->rest.at[0];

        if (c == '\n' && in->brackets > 0)
            in->line++;
        else if (c != ' ' && c != '\t' && c != '\r')
            return;
        in->rest = str_from(in->rest, 1);
    }
}

bool script_next_is(struct script_parser *in, char c)
{
    skip_blanks(in);
    return in->rest.len > 0 && in->rest.at[0] == c;
}

bool script_take(struct script_parser *in, char c)
{
    if (!script_next_is(in, c))
        return false;
    in->rest = str_from(in->rest, 1);
    return true;
}

struct script_node *script_node(struct script_parser *in, enum script_kind kind)
{
    struct script_node *node = arena_alloc(in->arena, sizeof *node);

    if (!node) {
        in->spent = in->failed = true;
        return NULL;
    }
    node->kind = (uint8_t)kind;
    node->line = in->line;
    return node;
}

void script_add(struct script_node *to, struct script_node *child)
{
    if (!to || !child)
        return;
    if (to->last)
        to->last->next = child;
    else
        to->first = child;
    to->last = child;
    to->n++;
    if (to->height <= child->height)
        to->height = (uint16_t)(child->height + 1);
}

static struct script_node *fail(struct script_parser *in)
{
    in->failed = true;
    return NULL;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (c >= '0' && c <= '9');
}

struct str script_word(struct script_parser *in)
{
    struct str word;
    size_t n = 0;

    skip_blanks(in);
    while (n < in->rest.len && is_word(in->rest.at[n]))
        n++;
    if (n > 0 && in->rest.at[0] >= '0' && in->rest.at[0] <= '9')
        n = 0;
    word = str_head(in->rest, n);
    in->rest = str_from(in->rest, n);
    return word;
}

/* ---- constants ---- */

static struct script_node *plain(struct script_parser *in, uint32_t value)
{
    struct script_node *node = script_node(in, SCRIPT_PLAIN);

    if (value == VALUE_ID_FAILED) {
        in->spent = true;
        return fail(in);
    }
    if (node)
        node->slot = value;
    return node;
}

static struct script_node *number(struct script_parser *in)
{
    size_t n = 0;
    struct str text;
    int64_t integer;
    double real;

    while (n < in->rest.len &&
           (is_word(in->rest.at[n]) || in->rest.at[n] == '.' ||
            ((in->rest.at[n] == '-' || in->rest.at[n] == '+') &&
             (n == 0 || in->rest.at[n - 1] == 'e' || in->rest.at[n - 1] == 'E'))))
        n++;
    text = str_head(in->rest, n);
    in->rest = str_from(in->rest, n);
    if (str_to_i64(text, &integer))
        return plain(in, value_int(in->values, integer));
    if (str_to_double(text, &real))
        return plain(in, value_real(in->values, real));
    if (n > 1 && text.at[n - 1] == 'j')
        return plain(in, value_make(in->values, VALUE_GLOBAL, text, NULL, 0));
    return fail(in);
}

/* Takes the character of an escape, after the backslash. */
static char escape(struct script_parser *in)
{
    static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
    char c = in->rest.at[0];
    const char *found = memchr(from, c, sizeof from - 1);
    unsigned octal = 0;
    size_t n = 0;

    while (n < 3 && n < in->rest.len && in->rest.at[n] >= '0' && in->rest.at[n] <= '7')
        octal = octal * 8 + (unsigned)(in->rest.at[n++] - '0');
    in->rest = str_from(in->rest, n > 0 ? n : 1);
    if (n > 0)
        return (char)octal;
    return found ? to[found - from] : c;
}

/* A string, after its opening quote. */
static struct script_node *quoted(struct script_parser *in, char quote)
{
    struct buf text = BUF_INIT;
    struct script_node *node = NULL;
    bool closed = false;

    while (in->rest.len > 0 && in->rest.at[0] != '\n' && !closed) {
        char c = in->rest.at[0];

        in->rest = str_from(in->rest, 1);
        if (c == quote)
            closed = true;
        else if (c == '\\' && in->rest.len > 0 && in->rest.at[0] != '\n')
            buf_char(&text, escape(in));
        else
            buf_char(&text, c);
    }
    if (closed)
        node = plain(in, value_str(in->values, buf_span(&text)));
    else
        in->failed = true;
    buf_release(&text);
    return node;
}

/* ---- names ---- */

/* A constant that is a word, a local variable, or a global name with its dots. */
static struct script_node *name(struct script_parser *in)
{
    struct str word = script_word(in), part;
    struct script_node *node;
    uint32_t slot;
    double real;

    if (word.len == 0)
        return fail(in);
    if (str_is(word, "None"))
        return plain(in, VALUE_ID_NONE);
    if (str_is(word, "True") || str_is(word, "False"))
        return plain(in, value_bool(in->values, str_is(word, "True")));
    if (name_map_find(&in->names, word, &slot)) {
        node = script_node(in, SCRIPT_LOCAL);
        if (node)
            node->slot = slot;
        return node;
    }
    if ((str_is(word, "inf") || str_is(word, "nan")) && str_to_double(word, &real))
        return plain(in, value_real(in->values, real));
    while (in->rest.len > 1 && in->rest.at[0] == '.' && is_word(in->rest.at[1])) {
        in->rest = str_from(in->rest, 1);
        part = script_word(in);
        if (part.len == 0)
            return fail(in);
        word.len = (size_t)(part.at + part.len - word.at);
    }
    node = script_node(in, SCRIPT_GLOBAL);
    if (node)
        node->text = word;
    return node;
}

/* ---- brackets ---- */

static bool enter(struct script_parser *in)
{
    in->brackets++;
    return ++in->depth < SCRIPT_DEPTH;
}

static void leave(struct script_parser *in)
{
    in->brackets--;
    in->depth--;
}

/* `name=value` in a call. */
static struct script_node *argument(struct script_parser *in)
{
    struct str before = in->rest, word;
    struct script_node *node;
    uint32_t line = in->line;

    word = script_word(in);
    if (word.len == 0 || !script_next_is(in, '=')) {
        in->rest = before;
        in->line = line;
        return script_expression(in);
    }
    script_take(in, '=');
    node = script_node(in, SCRIPT_KEYWORD);
    if (node)
        node->text = word;
    script_add(node, script_expression(in));
    return node;
}

bool script_items(struct script_parser *in, struct script_node *to, char close)
{
    bool comma = false; /* after the last one */

    while (!in->failed) {
        if (close ? script_take(in, close)
                  : in->rest.len == 0 || script_next_is(in, '\n') ||
                        script_next_is(in, '='))
            return comma;
        script_add(to, to && to->kind == SCRIPT_CALL ? argument(in)
                                                     : script_expression(in));
        if (in->failed)
            break;
        comma = script_take(in, ',');
        if (comma)
            continue;
        if (close)
            in->failed = !script_take(in, close);
        return false;
    }
    return comma;
}

struct script_node *script_keep(struct script_parser *in,
                                const struct script_node *node)
{
    struct script_node *kept =
        in->failed ? NULL : script_node(in, (enum script_kind)node->kind);

    if (kept)
        *kept = *node;
    return kept;
}

/* `(a, b)`, `(a,)`, or one expression in parentheses. */
static struct script_node *in_parentheses(struct script_parser *in)
{
    struct script_node tuple = {.kind = SCRIPT_TUPLE, .line = in->line};
    bool comma = script_items(in, &tuple, ')');

    if (in->failed || comma || tuple.n != 1)
        return script_keep(in, &tuple);
    tuple.first->paren = true;
    return tuple.first;
}

static struct script_node *dict(struct script_parser *in)
{
    struct script_node *node = script_node(in, SCRIPT_DICT);

    while (!in->failed && !script_take(in, '}')) {
        script_add(node, script_expression(in));
        if (in->failed || !script_take(in, ':'))
            return fail(in);
        script_add(node, script_expression(in));
        if (!script_take(in, ',') && !script_next_is(in, '}'))
            return fail(in);
    }
    return in->failed ? NULL : node;
}

static struct script_node *bracketed(struct script_parser *in, char open)
{
    struct script_node *node = NULL;

    if (!enter(in)) {
        in->failed = true;
    } else if (open == '(') {
        node = in_parentheses(in);
    } else if (open == '[') {
        node = script_node(in, SCRIPT_LIST);
        script_items(in, node, ']');
    } else {
        node = dict(in);
    }
    leave(in);
    return in->failed ? NULL : node;
}

static struct script_node *atom(struct script_parser *in)
{
    char c;

    skip_blanks(in);
    if (in->rest.len == 0)
        return fail(in);
    c = in->rest.at[0];
    if (str_starts(in->rest, STR("-inf"))) {
        in->rest = str_from(in->rest, 4);
        return plain(in, value_real(in->values, -__builtin_inf()));
    }
    if ((c >= '0' && c <= '9') || c == '-' || c == '.')
        return number(in);
    if (c != '"' && c != '\'' && c != '(' && c != '[' && c != '{')
        return name(in);
    in->rest = str_from(in->rest, 1);
    return c == '"' || c == '\'' ? quoted(in, c) : bracketed(in, c);
}

/* ---- calls, attributes and indices after an atom ---- */

static struct script_node *call(struct script_parser *in, struct script_node *callee)
{
    struct script_node *node = script_node(in, SCRIPT_CALL);

    script_add(node, callee);
    if (enter(in))
        script_items(in, node, ')');
    else
        in->failed = true;
    leave(in);
    return node;
}

/* `x[0]`, `(x)[0:2]`; in types also `Tuple[int, int]`. */
static struct script_node *subscript(struct script_parser *in,
                                     struct script_node *owner)
{
    struct script_node *node = script_node(in, SCRIPT_INDEX);

    script_add(node, owner);
    if (!enter(in))
        in->failed = true;
    while (!in->failed && node && !script_take(in, ']')) {
        if (script_take(in, ':')) {
            node->kind = SCRIPT_SLICE;
            continue;
        }
        script_add(node, script_expression(in));
        script_take(in, ',');
    }
    leave(in);
    return node;
}

static struct script_node *attribute(struct script_parser *in,
                                     struct script_node *owner)
{
    struct script_node *node = script_node(in, SCRIPT_ATTR);
    struct str word = script_word(in);

    if (word.len == 0)
        return fail(in);
    script_add(node, owner);
    if (node)
        node->text = word;
    return node;
}

struct script_node *script_expression(struct script_parser *in)
{
    struct script_node *node = atom(in);

    while (!in->failed && node && node->height < SCRIPT_HEIGHT) {
        if (script_take(in, '('))
            node = call(in, node);
        else if (script_take(in, '['))
            node = subscript(in, node);
        else if (script_take(in, '.'))
            node = attribute(in, node);
        else
            return node;
    }
    return fail(in);
}
