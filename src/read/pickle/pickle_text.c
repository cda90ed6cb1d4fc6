#include "base/utf8.h"
#include "read/pickle/pickle_machine_in.h"

static node_id bad(struct machine *m, const char *why)
{
    machine_fault(m, why);
    return NO_NODE;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Could Python read this as an integer? Checks only the characters: digits, prefixes,
 * underscores. */
static bool is_number_text(struct str s)
{
    bool any = false;

    for (size_t i = 0; i < s.len; i++) {
        bool digit = hex_digit(s.at[i]) >= 0;

        if (!digit && !(i == 0 && (s.at[i] == '-' || s.at[i] == '+')) &&
            !(i > 0 && strchr("_xXoO", s.at[i]) && s.at[i]))
            return false;
        any |= digit;
    }
    return any;
}

/* Decimal digits. A number over 64 bits stays text: converting a million digits takes
 * quadratic time, a known attack. */
node_id machine_number(struct machine *m, struct str line, bool bools)
{
    struct str digits = str_trim(line);
    int64_t value;
    node_id id;

    if (bools && str_is(line, "00"))
        return m->no;
    if (bools && str_is(line, "01"))
        return m->yes;
    if (digits.len > 1 && digits.at[digits.len - 1] == 'L')
        digits.len--;
    if (str_to_i64(digits, &value))
        return machine_int(m, value);
    if (digits.len <= PICKLE_MAX_DIGITS && !is_number_text(digits))
        return bad(m, "its argument is not a number");
    id = machine_text(m, NODE_BIGINT, digits);
    if (id != NO_NODE)
        node_at(m, id)->flags |= NODE_DECIMAL;
    return id;
}

node_id machine_real(struct machine *m, struct str line)
{
    double value;
    node_id id;

    if (!str_to_double(str_trim(line), &value))
        return bad(m, "its argument is not a number");
    id = machine_node(m, NODE_REAL);
    if (id != NO_NODE)
        node_at(m, id)->real = value;
    return id;
}

/* LONG1, LONG4: two's complement, the lowest byte first. */
node_id machine_long(struct machine *m, struct str bytes)
{
    uint64_t value = 0;
    size_t len = bytes.len;
    unsigned char fill = len > 0 && bytes.at[len - 1] & 0x80 ? 0xff : 0;

    /* Drop redundant sign bytes at the top. */
    while (len > 8 && (unsigned char)bytes.at[len - 1] == fill &&
           ((unsigned char)bytes.at[len - 2] & 0x80) == (fill & 0x80))
        len--;
    if (len > 8)
        return machine_text(m, NODE_BIGINT, str_head(bytes, len));
    for (size_t i = 8; i-- > 0;)
        value = value << 8 | (i < len ? (unsigned char)bytes.at[i] : fill);
    return machine_int(m, (int64_t)value);
}

/* Python 2's str holds bytes, mostly text: a STR if it is valid UTF-8. */
node_id machine_python2(struct machine *m, struct str bytes)
{
    node_id id = machine_text(m, utf8_valid(bytes) ? NODE_STR : NODE_BYTES, bytes);

    if (id != NO_NODE)
        node_at(m, id)->flags |= NODE_PYTHON2;
    return id;
}

/* The byte of the escape at `s` (after the backslash), or -1: none; *ret_len is its
 * length. */
static int unescape(struct str s, size_t *ret_len)
{
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    const char *plain = s.at[0] ? strchr(from, s.at[0]) : NULL;
    int value = 0;
    size_t i = 0;

    *ret_len = 1;
    if (plain)
        return (unsigned char)to[plain - from];
    if (s.at[0] == 'x' && s.len >= 3 && hex_digit(s.at[1]) >= 0 &&
        hex_digit(s.at[2]) >= 0) {
        *ret_len = 3;
        return hex_digit(s.at[1]) * 16 + hex_digit(s.at[2]);
    }
    while (i < 3 && i < s.len && s.at[i] >= '0' && s.at[i] <= '7')
        value = value * 8 + s.at[i++] - '0';
    if (i == 0)
        return -1;
    *ret_len = i;
    return value & 0xff;
}

static struct str unescape_all(struct machine *m, struct str s)
{
    char *to = arena_alloc(&m->build->scratch, s.len + 1);
    size_t n = 0, step;

    if (!to) {
        machine_no_memory(m);
        return (struct str){NULL, 0};
    }
    for (size_t i = 0; i < s.len; i++) {
        int c = -1;

        if (s.at[i] == '\\' && i + 1 < s.len)
            c = unescape(str_from(s, i + 1), &step);
        if (c >= 0)
            i += step;
        to[n++] = c >= 0 ? (char)c : s.at[i];
    }
    return (struct str){to, n};
}

/* STRING: the repr() of Python 2, in quotes. */
node_id machine_string(struct machine *m, struct str line)
{
    struct str s = str_trim(line);

    if (s.len < 2 || (s.at[0] != '\'' && s.at[0] != '"') || s.at[s.len - 1] != s.at[0])
        return bad(m, "its argument is not quoted");
    s = (struct str){s.at + 1, s.len - 2};
    if (str_find_char(s, '\\') >= 0) {
        s = unescape_all(m, s);
        if (!s.at)
            return NO_NODE;
    }
    return machine_python2(m, s);
}

/* The code that "uXXXX" or "UXXXXXXXX" at the front of `s` means, or -1. */
static int64_t raw_escape(struct str s, size_t *ret_len)
{
    size_t digits = s.len > 0 && s.at[0] == 'U' ? 8 : 4;
    int64_t code = 0;

    if (s.len < digits + 1 || (s.at[0] != 'u' && s.at[0] != 'U'))
        return -1;
    for (size_t i = 1; i <= digits; i++) {
        int digit = hex_digit(s.at[i]);

        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    *ret_len = digits + 1;
    return code <= 0x10ffff ? code : -1;
}

static bool is_plain_ascii(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] == '\\' || (signed char)s.at[i] < 0)
            return false;
    return true;
}

/* UNICODE: "raw-unicode-escape": Latin-1, with \uXXXX for all other characters. A
 * backslash after an odd number of backslashes does not begin an escape. */
node_id machine_unicode(struct machine *m, struct str line)
{
    char *to;
    size_t n = 0, step = 0;
    bool escaped = false;

    if (is_plain_ascii(line))
        return machine_text(m, NODE_STR, line);
    to = arena_array(&m->build->scratch, line.len, 2);
    if (!to)
        return machine_no_memory(m);
    for (size_t i = 0; i < line.len; i++) {
        int64_t code = -1;

        if (line.at[i] == '\\' && !escaped)
            code = raw_escape(str_from(line, i + 1), &step);
        escaped = line.at[i] == '\\' && !escaped && code < 0;
        if (code >= 0)
            i += step;
        else
            code = (unsigned char)line.at[i];
        n += (size_t)utf8_encode((uint32_t)code, to + n);
    }
    return machine_text(m, NODE_STR, (struct str){to, n});
}
