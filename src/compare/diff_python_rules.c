/* Rename rules as Python: literals, regular expressions, functions. */
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "compare/diff_moves_in.h"
#include "text/escape.h"

#define WITH_RE (1u << RENAME_PART | 1u << RENAME_SHIFT | 1u << RENAME_SWAP)

/* ---- texts ---- */

/* Appends the escape of bytes that are not UTF-8: a lone surrogate, or one byte as
 * Python's surrogateescape. Returns how many bytes it took. */
static size_t add_odd_bytes(struct buf *to, struct str s)
{
    const unsigned char *at = (const unsigned char *)s.at;

    if (s.len >= 3 && at[0] == 0xed && (at[1] & 0xe0) == 0xa0 &&
        (at[2] & 0xc0) == 0x80) {
        buf_printf(to, "\\u%04x", 0xd000u | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu));
        return 3;
    }
    buf_printf(to, "\\udc%02x", at[0]);
    return 1;
}

void diff_python_text(struct buf *to, struct str s, bool braces)
{
    struct buf quoted = BUF_INIT;
    uint32_t code;

    while (s.len > 0) {
        int len = utf8_decode(s, &code);

        if (len == 0) {
            s = str_from(s, add_odd_bytes(to, s));
            continue;
        }
        if (braces && (code == '{' || code == '}'))
            buf_char(to, (char)code);
        buf_clear(&quoted);
        escape_quoted(&quoted, str_head(s, (size_t)len));
        buf_add(to, quoted.at + 1, quoted.len - 2);
        s = str_from(s, (size_t)len);
    }
    buf_release(&quoted);
}

static void add_literal(struct buf *to, struct str s)
{
    buf_char(to, '"');
    diff_python_text(to, s, false);
    buf_char(to, '"');
}

/* ---- names ---- */

static void write_names(struct buf *to, const struct diff_moves *moves)
{
    buf_text(to, "names = {\n");
    for (uint32_t i = 0; i < moves->rules.n; i++) {
        const struct rename_rule *rule = &moves->rules.at[i];

        if (rule->kind != RENAME_NAME)
            continue;
        buf_text(to, "    ");
        add_literal(to, rule->from);
        buf_text(to, ": ");
        add_literal(to, rule->to);
        buf_text(to, ",\n");
    }
    buf_text(to, "}\n");
}

static void write_prefix(struct buf *to, const struct rename_rule *rule)
{
    if (rule->from.len == 0) {
        buf_text(to, "    name = ");
        add_literal(to, rule->to);
        buf_text(to, " + name\n");
        return;
    }
    buf_text(to, "    if name.startswith(");
    add_literal(to, rule->from);
    buf_text(to, "):\n        name = ");
    if (rule->to.len > 0) {
        add_literal(to, rule->to);
        buf_text(to, " + ");
    }
    buf_text(to, "name[len(");
    add_literal(to, rule->from);
    buf_text(to, "):]\n");
}

/* ---- rules as regular expressions (study/diff/rename.h) ---- */

/* Did the text before `rest` end in a dot? */
static bool ends_in_dot(const struct str *rest, bool first)
{
    return !first && rest->at && rest->at[-1] == '.';
}

/* The pattern that matches these components with their dots; "{}" is a number. */
static void add_pattern(struct buf *to, struct str components)
{
    struct str part;
    bool first = true;

    while (components.len > 0 && str_split(&components, '.', &part)) {
        if (!first)
            buf_text(to, "\\.");
        first = false;
        if (str_is(part, "{}")) {
            buf_text(to, "([0-9]+)");
            continue;
        }
        for (size_t i = 0; i < part.len; i++) {
            if (part.at[i] && strchr("^$*+?{}[]\\|()", part.at[i]))
                buf_char(to, '\\');
            buf_char(to, part.at[i]);
        }
    }
    if (ends_in_dot(&components, first))
        buf_text(to, "\\.");
}

/* The replacement. */
static void add_template(struct buf *to, struct str components)
{
    struct str part;
    unsigned hole = 0;
    bool first = true;

    while (components.len > 0 && str_split(&components, '.', &part)) {
        buf_text(to, first ? "" : ".");
        first = false;
        if (str_is(part, "{}"))
            buf_printf(to, "\\%u", ++hole);
        for (size_t i = 0; i < part.len && !str_is(part, "{}"); i++) {
            if (part.at[i] == '\\')
                buf_char(to, '\\');
            buf_char(to, part.at[i]);
        }
    }
    if (ends_in_dot(&components, first))
        buf_char(to, '.');
}

/* A literal; a raw one if it has backslashes and can be raw. */
static void add_raw(struct buf *to, const struct buf *text)
{
    bool escapes = false, raw = true;

    for (size_t i = 0; i < text->len; i++) {
        raw &= text->at[i] >= ' ' && text->at[i] <= '~' && text->at[i] != '"';
        escapes |= text->at[i] == '\\';
    }
    if (!escapes || !raw || text->at[text->len - 1] == '\\') {
        add_literal(to, buf_span(text));
        return;
    }
    buf_text(to, "r\"");
    buf_str(to, buf_span(text));
    buf_char(to, '"');
}

static void write_sub(struct buf *to, const struct buf *pattern, struct buf *instead)
{
    buf_text(to, "    name = re.sub(");
    add_raw(to, pattern);
    buf_text(to, ", ");
    add_raw(to, instead);
    buf_text(to, ", name)\n");
}

static void write_part(struct buf *to, const struct rename_rule *rule)
{
    struct buf pattern = BUF_INIT, instead = BUF_INIT;

    if (rule->to.len > 0) {
        buf_text(&pattern, "(?<![^.])");
        add_pattern(&pattern, rule->from);
        buf_text(&pattern, "(?![^.])");
        add_template(&instead, rule->to);
    } else {
        buf_text(&pattern, "(?:(?<![^.])");
        add_pattern(&pattern, rule->from);
        buf_text(&pattern, "\\.)+|(?:\\.");
        add_pattern(&pattern, rule->from);
        buf_text(&pattern, ")+\\Z");
    }
    write_sub(to, &pattern, &instead);
    buf_release(&pattern);
    buf_release(&instead);
}

static void write_swap(struct buf *to, const struct rename_rule *rule)
{
    struct buf pattern = BUF_INIT;

    buf_text(&pattern, "(?<![^.])(?:(");
    add_pattern(&pattern, rule->from);
    buf_text(&pattern, ")|");
    add_pattern(&pattern, rule->to);
    buf_text(&pattern, ")(?![^.])");
    buf_text(to, "    name = re.sub(");
    add_raw(to, &pattern);
    buf_text(to, ", lambda m: ");
    add_literal(to, rule->to);
    buf_text(to, " if m[1] else ");
    add_literal(to, rule->from);
    buf_text(to, ", name)\n");
    buf_release(&pattern);
}

static void write_shift(struct buf *to, const struct rename_rule *rule)
{
    struct buf pattern = BUF_INIT;

    add_pattern(&pattern, rule->from);
    buf_text(to, "    name = shift(name, ");
    add_raw(to, &pattern);
    buf_printf(to, ", %" PRIu64 ", ", rule->first);
    if (rule->last == UINT64_MAX)
        buf_text(to, "float(\"inf\")");
    else
        buf_printf(to, "%" PRIu64, rule->last);
    buf_printf(to, ", %" PRId64 ")\n", rule->shift);
    buf_release(&pattern);
}

static void write_shift_function(struct buf *to)
{
    buf_text(to, "def shift(name, head, first, last, by):\n"
                 "    def move(m):\n"
                 "        n = int(m[m.lastindex])\n"
                 "        return f\"{m[1]}{n + by}\" if first <= n <= last else m[0]\n"
                 "    number = r\"(0|[1-9][0-9]{0,17})(?![^.])\"\n"
                 "    return re.sub(rf\"\\A({head}){number}\", move, name)\n");
}

static bool has_rule(const struct rename_rules *rules, unsigned kinds)
{
    for (uint32_t i = 0; i < rules->n; i++)
        if (kinds >> rules->at[i].kind & 1)
            return true;
    return false;
}

static void write_rename_function(struct buf *to, const struct diff_moves *moves,
                                  bool names)
{
    const struct rename_rules *rules = &moves->rules;

    if (has_rule(rules, 1u << RENAME_SHIFT))
        write_shift_function(to);
    buf_text(to, "def rename(name):\n");
    if (names)
        buf_text(to, "    if name in names:\n        return names[name]\n");
    for (uint32_t i = 0; i < rules->n; i++) {
        if (rules->at[i].kind == RENAME_PREFIX)
            write_prefix(to, &rules->at[i]);
        else if (rules->at[i].kind == RENAME_PART)
            write_part(to, &rules->at[i]);
        else if (rules->at[i].kind == RENAME_SHIFT)
            write_shift(to, &rules->at[i]);
        else if (rules->at[i].kind == RENAME_SWAP)
            write_swap(to, &rules->at[i]);
    }
    buf_text(to, "    return name\n");
}

void diff_python_rename(struct buf *to, const struct diff_moves *moves)
{
    const struct rename_rules *rules = &moves->rules;
    bool names = rules->names > 0, rule = rules->n > rules->names;

    if (names)
        write_names(to, moves);
    if (rule)
        write_rename_function(to, moves, names);
    buf_printf(to, "state = {%s: tensor for name, tensor in state.items()}\n",
               rule ? "rename(name)" : "names.get(name, name)");
}

bool diff_python_needs_re(const struct diff_moves *moves)
{
    return moves->renames && has_rule(&moves->rules, WITH_RE);
}
