#include "read/pickle/pickle_fold_in.h"

#include <stdio.h>
#include <string.h>

#include "base/json_write.h"

#define DECIMAL_BYTES 256 /* a longer number is shown in base 16, cut */
#define KEY_DEPTH     3
#define KEY_ITEMS     8

/* Write the decimal digits of a little-endian number, which is divided by 10^9 until it
 * is zero. Written backwards from `end`; returns their begin. */
static char *write_digits(uint32_t *words, size_t n, char *end)
{
    while (n > 0) {
        uint64_t rest = 0;

        for (size_t i = n; i-- > 0;) {
            rest = rest << 32 | words[i];
            words[i] = (uint32_t)(rest / 1000000000);
            rest %= 1000000000;
        }
        while (n > 0 && words[n - 1] == 0)
            n--;
        for (int digit = 0; digit < 9 && (n > 0 || rest > 0); digit++, rest /= 10)
            *--end = (char)('0' + rest % 10);
    }
    return end;
}

/* A little-endian two's complement number as decimal digits. */
static struct str decimal_of_bytes(struct arena *arena, struct str bytes)
{
    uint32_t words[DECIMAL_BYTES / 4 + 1] = {0};
    char text[DECIMAL_BYTES * 5 / 2 + 16];
    char *end = text + sizeof text, *begin;
    bool negative = bytes.len > 0 && bytes.at[bytes.len - 1] & 0x80;
    uint32_t carry = negative;

    for (size_t i = 0; i < sizeof words; i++) {
        uint32_t byte = i < bytes.len ? (unsigned char)bytes.at[i]
                        : negative    ? 0xff
                                      : 0;

        if (negative) {
            byte = (byte ^ 0xff) + carry;
            carry = byte >> 8;
        }
        words[i / 4] |= (byte & 0xff) << 8 * (i % 4);
    }
    begin = write_digits(words, sizeof words / 4, end);
    if (negative)
        *--begin = '-';
    return arena_str(arena, str_span(begin, (size_t)(end - begin)));
}

static struct str hex_of_bytes(struct arena *arena, struct str bytes)
{
    char digits[2 * 16 + 1];

    for (size_t i = 0; i < 16; i++)
        snprintf(digits + 2 * i, 3, "%02x", (unsigned char)bytes.at[bytes.len - 1 - i]);
    return str_of(arena_printf(arena, "0x%s… (%zu bytes)", digits, bytes.len));
}

struct str pickle_number_text(const struct pickle *pickle, node_id id)
{
    const struct node *node = pickle_node(pickle, id);
    struct arena *arena = &pickle->build->scratch;
    char text[32];

    if (!node)
        return (struct str){NULL, 0};
    if (node->kind == NODE_INT || node->kind == NODE_BOOL)
        return str_of(arena_printf(arena, "%lld", (long long)node->integer));
    if (node->kind == NODE_REAL) {
        int len = real_text(node->real, text);

        return arena_str(arena, str_span(text, (size_t)len));
    }
    if (node->kind != NODE_BIGINT)
        return (struct str){NULL, 0};
    if (node->flags & NODE_DECIMAL)
        return pickle_text(pickle, id);
    if (pickle_text(pickle, id).len > DECIMAL_BYTES)
        return hex_of_bytes(arena, pickle_text(pickle, id));
    return decimal_of_bytes(arena, pickle_text(pickle, id));
}

/* A string, cut at a limit. */
struct key_text {
    char at[512];
    size_t n;
};

static void add(struct key_text *to, struct str s)
{
    size_t room = sizeof to->at - to->n;

    if (s.len > room)
        s.len = room;
    if (s.len > 0)
        memcpy(to->at + to->n, s.at, s.len);
    to->n += s.len;
}

static void add_key(struct key_text *to, const struct pickle *pickle, node_id id,
                    int depth);

static void add_items(struct key_text *to, const struct pickle *pickle, node_id id,
                      int depth)
{
    uint32_t n = pickle_count(pickle, id);

    add(to, STR("("));
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            add(to, STR(", "));
        if (i == KEY_ITEMS || depth == KEY_DEPTH) {
            add(to, STR("…"));
            break;
        }
        add_key(to, pickle, pickle_item(pickle, id, i), depth + 1);
    }
    add(to, n == 1 ? STR(",)") : STR(")"));
}

static void add_quoted(struct key_text *to, struct str text, const char *open)
{
    add(to, str_of(open));
    add(to, text);
    add(to, STR("'"));
}

static void add_named(struct key_text *to, const char *what, struct str name)
{
    add(to, STR("<"));
    add(to, str_of(what));
    add(to, STR(" "));
    add(to, name);
    add(to, STR(">"));
}

static void add_key(struct key_text *to, const struct pickle *pickle, node_id id,
                    int depth)
{
    const struct node *node = pickle_node(pickle, id);

    switch (node ? (enum node_kind)node->kind : NODE_NONE) {
    case NODE_NONE:
        add(to, STR("None"));
        break;
    case NODE_BOOL:
        add(to, node->integer ? STR("True") : STR("False"));
        break;
    case NODE_INT:
    case NODE_REAL:
    case NODE_BIGINT:
        add(to, pickle_number_text(pickle, id));
        break;
    case NODE_STR:
        add_quoted(to, pickle_text(pickle, id), "'");
        break;
    case NODE_BYTES:
        add_quoted(to, pickle_text(pickle, id), "b'");
        break;
    case NODE_TUPLE:
        add_items(to, pickle, id, depth);
        break;
    case NODE_GLOBAL:
        add_named(to, "class", pickle_text(pickle, id));
        break;
    case NODE_CALL:
    case NODE_NEW:
        add_named(to, "object",
                  pickle_text(pickle, pickle_class(pickle, pickle_callee(pickle, id))));
        break;
    default:
        add(to, STR("<object>"));
    }
}

struct str pickle_key_text(const struct pickle *pickle, node_id key)
{
    const struct node *node = pickle_node(pickle, key);
    struct key_text text = {.n = 0};

    if (node && node->kind == NODE_STR)
        return pickle_text(pickle, key);
    add_key(&text, pickle, key, 0);
    return arena_str(&pickle->build->scratch, str_span(text.at, text.n));
}
