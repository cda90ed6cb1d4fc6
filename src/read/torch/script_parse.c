#include "read/torch/script_parse_in.h"

#include <string.h>

#include "base/base.h"
#include "read/torch/script_parser_in.h"

#define UNCLEAR_MOST 200 /* longest text kept of a line, in bytes */

static struct script_node *block(struct script_parser *in, size_t above);

/* ---- lines ---- */

/* The indentation of the next line that is not empty; false: no more lines. Skips empty
 * lines. */
static bool next_indent(struct script_parser *in, size_t *ret_indent)
{
    for (;;) {
        size_t n = 0;

        while (n < in->rest.len && in->rest.at[n] == ' ')
            n++;
        if (n == in->rest.len)
            return false;
        if (in->rest.at[n] != '\n' && in->rest.at[n] != '\r') {
            *ret_indent = n;
            return true;
        }
        in->line += in->rest.at[n] == '\n';
        in->rest = str_from(in->rest, n + 1);
    }
}

/* Skips the rest of the line. */
static void end_line(struct script_parser *in)
{
    struct str line;

    if (in->rest.len > 0 && str_split(&in->rest, '\n', &line))
        in->line++;
}

/* Skips lines that are indented more than a statement at `indent`. */
static void skip_below(struct script_parser *in, size_t indent)
{
    size_t n;

    while (next_indent(in, &n) && n > indent)
        end_line(in);
}

/* Takes this word if it comes next, but not as the start of a longer one. */
static bool take_word(struct script_parser *in, const char *word)
{
    struct str before = in->rest;

    if (str_eq(script_word(in), str_of(word)))
        return true;
    in->rest = before;
    return false;
}

static uint32_t slot_of(struct script_parser *in, struct str name)
{
    uint32_t slot = 0;

    if (name_map_add(&in->names, name, &slot) < 0)
        in->spent = in->failed = true;
    return slot;
}

/* ---- statements with a block ---- */

/* `:` and the block below. */
static struct script_node *body(struct script_parser *in, size_t indent)
{
    if (!script_take(in, ':') || in->failed) {
        in->failed = true;
        return NULL;
    }
    end_line(in);
    return block(in, indent);
}

static struct script_node *if_statement(struct script_parser *in, size_t indent)
{
    struct script_node *node = script_node(in, SCRIPT_IF);
    struct str before;
    uint32_t line;
    size_t n;

    script_add(node, script_expression(in));
    script_add(node, body(in, indent));
    if (in->failed || !next_indent(in, &n) || n != indent)
        return node;
    before = in->rest;
    line = in->line;
    if (take_word(in, "else")) {
        script_add(node, body(in, indent));
    } else {
        in->rest = before;
        in->line = line;
    }
    return node;
}

/* `for i in range(n):` */
static struct script_node *for_statement(struct script_parser *in, size_t indent)
{
    struct script_node *node = script_node(in, SCRIPT_FOR);
    struct script_node *target = script_node(in, SCRIPT_LOCAL);
    struct str word = script_word(in);

    if (word.len == 0 || !node || !target)
        in->failed = true;
    else
        target->slot = slot_of(in, word);
    script_add(node, target);
    if (!take_word(in, "in") || !take_word(in, "range") || !script_take(in, '('))
        in->failed = true;
    else
        script_add(node, script_expression(in));
    if (in->failed || !script_take(in, ')'))
        in->failed = true;
    else
        script_add(node, body(in, indent));
    return node;
}

static struct script_node *with_block(struct script_parser *in, enum script_kind kind,
                                      size_t indent)
{
    struct script_node *node = script_node(in, kind);

    script_add(node, script_expression(in));
    if (!in->failed)
        script_add(node, body(in, indent));
    return node;
}

/* `def __forked_function0():` inside a function. */
static struct script_node *inner_function(struct script_parser *in, size_t indent)
{
    struct script_node *node = script_node(in, SCRIPT_DEF);
    struct str word = script_word(in);

    if (word.len == 0 || !node || !script_take(in, '(') || !script_take(in, ')')) {
        in->failed = true;
        return NULL;
    }
    node->slot = slot_of(in, word);
    script_add(node, body(in, indent));
    return node;
}

/* ---- statements of one line ---- */

/* Names on the left of `=` become local variables before the right side is read: in a
 * loop, it may use them. */
static void declare(struct script_parser *in, struct script_node *target)
{
    if (target->kind == SCRIPT_GLOBAL && str_find_char(target->text, '.') < 0) {
        target->kind = SCRIPT_LOCAL;
        target->slot = slot_of(in, target->text);
    } else if (target->kind != SCRIPT_LOCAL && target->kind != SCRIPT_ATTR) {
        in->failed = true;
    }
}

/* The right side: one expression, or several as a tuple. */
static struct script_node *right_side(struct script_parser *in)
{
    struct script_node tuple = {.kind = SCRIPT_TUPLE, .line = in->line};
    bool comma = script_items(in, &tuple, 0);

    if (tuple.n == 0)
        in->failed = true;
    if (in->failed || comma || tuple.n > 1)
        return script_keep(in, &tuple);
    return tuple.first;
}

/* `a = x`, `a, b, = x`, `a : T = x`, `self.a = x`, or just an expression. */
static struct script_node *assignment(struct script_parser *in)
{
    struct script_node targets = {.kind = SCRIPT_TUPLE}, *node, *next, *value;
    bool comma = script_items(in, &targets, 0);

    if (!in->failed && script_take(in, ':'))
        script_expression(in); /* the type of a variable */
    if (targets.n == 0)
        in->failed = true;
    if (in->failed)
        return NULL;
    if (!script_take(in, '=')) {
        node = script_node(in, SCRIPT_DO);
        script_add(node, targets.first);
        in->failed = in->failed || targets.n > 1;
        return node;
    }
    for (struct script_node *at = targets.first; at; at = at->next)
        declare(in, at);
    node = script_node(in, SCRIPT_ASSIGN);
    value = in->failed ? NULL : right_side(in);
    if (!value || !node)
        return NULL;
    node->unpacks = comma;
    script_add(node, value);
    for (struct script_node *at = targets.first; at; at = next) {
        next = at->next;
        at->next = NULL;
        script_add(node, at);
    }
    return node;
}

static struct script_node *return_statement(struct script_parser *in)
{
    struct script_node *node = script_node(in, SCRIPT_RETURN);

    if (in->rest.len > 0 && !script_next_is(in, '\n'))
        script_add(node, right_side(in));
    return node;
}

/* ---- blocks ---- */

static struct script_node *known_statement(struct script_parser *in, size_t indent)
{
    if (take_word(in, "if"))
        return if_statement(in, indent);
    if (take_word(in, "for"))
        return for_statement(in, indent);
    if (take_word(in, "while"))
        return with_block(in, SCRIPT_WHILE, indent);
    if (take_word(in, "with"))
        return with_block(in, SCRIPT_WITH, indent);
    if (take_word(in, "def"))
        return inner_function(in, indent);
    if (take_word(in, "return"))
        return return_statement(in);
    if (take_word(in, "pass"))
        return script_node(in, SCRIPT_BLOCK);
    return assignment(in);
}

static bool has_block(const struct script_node *node)
{
    return node->kind >= SCRIPT_IF && node->kind <= SCRIPT_DEF;
}

/* One statement with its block. Skips an unsupported statement with its block. */
static struct script_node *statement(struct script_parser *in, size_t indent)
{
    struct str before = str_from(in->rest, indent), line = before;
    struct script_node *node;
    uint32_t number = in->line;

    in->failed = false;
    node = known_statement(in, indent);
    if (!in->failed && node && has_block(node))
        return node;
    if (!in->failed && node &&
        (in->rest.len == 0 || script_next_is(in, '\n') || script_next_is(in, '#'))) {
        end_line(in);
        return node;
    }
    in->failed = false;
    in->brackets = in->depth = 0;
    in->rest = before;
    in->line = number;
    end_line(in);
    skip_below(in, indent);
    node = script_node(in, SCRIPT_UNCLEAR);
    if (node) {
        str_split(&before, '\n', &line);
        node->text = str_head(str_trim(line), UNCLEAR_MOST);
        node->line = number;
    }
    return node;
}

/* The statements that are indented more than `above`. */
static struct script_node *block(struct script_parser *in, size_t above)
{
    struct script_node *node = script_node(in, SCRIPT_BLOCK);
    size_t indent, n;

    if (++in->blocks >= SCRIPT_DEPTH) {
        in->failed = true;
    } else if (next_indent(in, &indent) && indent > above) {
        while (!in->spent && next_indent(in, &n) && n == indent) {
            script_add(node, statement(in, indent));
            skip_below(in, indent);
        }
        in->failed = in->spent;
        if (next_indent(in, &n) && n > above)
            skip_below(in, above);
    }
    in->blocks--;
    return node;
}

/* ---- functions ---- */

/* Is a type made of numbers, booleans and strings only: "Optional[List[int]]"? */
static bool is_number_type(struct str type)
{
    static const char *const words[] = {"int",  "float",    "bool",  "str",
                                        "List", "Optional", "Tuple", "Dict"};
    size_t at = 0, n;

    for (; at < type.len; at += n) {
        struct str word = str_from(type, at);
        bool known = false;

        for (n = 0; n < word.len && !strchr("[], \n", word.at[n]); n++)
            ;
        for (size_t i = 0; i < COUNT_OF(words) && n > 0; i++)
            known |= str_is(str_head(word, n), words[i]);
        if (n > 0 && !known)
            return false;
        n += n == 0;
    }
    return type.len > 0;
}

/* `x: Tensor=None`. Keeps of the type only whether it is a number. */
static void parameter(struct script_parser *in, struct script_function *function)
{
    struct script_param param = {0};
    struct str word = script_word(in);

    if (word.len == 0 ||
        arena_room(in->arena, &function->params, function->n_params,
                   &function->params_room, sizeof *function->params) < 0) {
        in->failed = true;
        return;
    }
    if (script_take(in, ':')) {
        struct str type = in->rest;

        script_expression(in);
        param.number = is_number_type(str_head(type, type.len - in->rest.len));
    }
    if (!in->failed && script_take(in, '='))
        param.preset = script_expression(in);
    param.slot = slot_of(in, word);
    function->params[function->n_params++] = param;
}

static void header(struct script_parser *in, struct script_function *function)
{
    take_word(in, "def");
    script_word(in);
    in->brackets = 1;
    if (!script_take(in, '('))
        in->failed = true;
    while (!in->failed && !script_take(in, ')')) {
        parameter(in, function);
        if (!in->failed && !script_take(in, ',') && !script_next_is(in, ')'))
            in->failed = true;
    }
    in->brackets = 0;
    if (in->failed || !script_take(in, '-'))
        return;
    if (!script_take(in, '>'))
        in->failed = true;
    else
        script_expression(in);
}

struct script_function *script_parse(struct str text, uint32_t line,
                                     struct values *values, struct arena *arena)
{
    struct script_parser in = {
        .arena = arena, .values = values, .rest = text, .line = line};
    struct script_function *function = arena_alloc(arena, sizeof *function);
    size_t indent = 0;

    if (!function)
        return NULL;
    name_map_init(&in.names, arena);
    next_indent(&in, &indent);
    header(&in, function);
    if (!in.failed)
        function->body = body(&in, indent);
    function->unclear = in.failed || !function->body;
    function->names = in.names.names;
    function->n_slots = in.names.n;
    if (in.spent || (!function->unclear && script_find_writes(function, arena) < 0))
        return NULL;
    return function;
}
