#include "tui/keys.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "base/str.h"
#include "base/utf8.h"

#define ESC           '\033'
#define SEQUENCE_MOST 64   /* longer control sequences are invalid */
#define STRING_MOST   4096 /* longer terminal answers are invalid */
#define PARAMETERS    4    /* more than any known sequence has */
#define ESCAPE_MS     25 /* after this an ESC is the key, not the start of a sequence */
#define SEQUENCE_MS   500  /* timeout of an incomplete sequence */
#define PASTE_MS      3000 /* timeout of pasted text */

/* A control sequence, CSI: ESC [ < 0 ; 12 ; 7 M */
struct sequence {
    char mark;   /* '<', '?', '>', '=' before the numbers; or 0 */
    char middle; /* the intermediate byte, or 0 */
    char last;   /* the final byte: the kind of sequence */
    unsigned n;  /* number of parameters */
    unsigned numbers[PARAMETERS];
};

static size_t take_unknown(struct key *key, size_t bytes)
{
    key->code = KEY_UNKNOWN;
    return bytes;
}

/* --- Characters */

/* The length of the character with this first byte; 0: invalid. */
static size_t utf8_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first < 0xe0)
        return 2;
    if (first >= 0xe0 && first < 0xf0)
        return 3;
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

static size_t take_character(const char *bytes, size_t n, bool last, struct key *key)
{
    size_t length = utf8_length((unsigned char)bytes[0]);
    struct str rest = {bytes, n};
    uint32_t code;

    if (length > n && !last) {
        /* Wait only for bytes that can still complete a character. */
        for (size_t i = 1; i < n; i++)
            if ((bytes[i] & 0xc0) != 0x80)
                return take_unknown(key, 1);
        return 0;
    }
    if (length == 0 || length > n || utf8_decode(rest, &code) != (int)length)
        return take_unknown(key, 1);
    if (code == 0 || (code >= 0x80 && code < 0xa0))
        return take_unknown(key, length);
    key->code = code == 0x7f || code == 0x08 ? KEY_BACKSPACE : code;
    return length;
}

/* --- Control sequences */

static uint32_t letter_key(char letter)
{
    static const char letters[] = "ABCDHFEPQRSZ";
    static const uint32_t codes[] = {KEY_UP,     KEY_DOWN,   KEY_RIGHT,   KEY_LEFT,
                                     KEY_HOME,   KEY_END,    KEY_UNKNOWN, KEY_F1,
                                     KEY_F1 + 1, KEY_F1 + 2, KEY_F1 + 3,  KEY_BACK_TAB};
    const char *found = letter ? strchr(letters, letter) : NULL;

    return found ? codes[found - letters] : KEY_UNKNOWN;
}

/* The n of ESC [ n ~, as sent by xterm, tmux, the Linux console and rxvt. */
static uint32_t number_key(unsigned number)
{
    switch (number) {
    case 1:
    case 7:
        return KEY_HOME;
    case 2:
        return KEY_INSERT;
    case 3:
        return KEY_DELETE;
    case 4:
    case 8:
        return KEY_END;
    case 5:
        return KEY_PAGE_UP;
    case 6:
        return KEY_PAGE_DOWN;
    default:
        break;
    }
    if (number >= 11 && number <= 15)
        return KEY_F1 + number - 11;
    if (number >= 17 && number <= 21)
        return KEY_F1 + 5 + number - 17;
    if (number == 23 || number == 24)
        return KEY_F1 + 10 + number - 23;
    return KEY_UNKNOWN;
}

/* A character with its modifiers, as modifyOtherKeys and the kitty protocol send it. */
static void modified_key(struct key *key, unsigned code, unsigned modifier)
{
    unsigned bits = modifier ? modifier - 1 : 0;

    key->alt = bits & 2;
    if (code == 0 || code >= KEY_FIRST || (code >= 0x80 && code < 0xa0)) {
        key->code = KEY_UNKNOWN;
        return;
    }
    if (code == 27)
        key->code = KEY_ESCAPE;
    else if (code == 9 && bits & 1)
        key->code = KEY_BACK_TAB;
    else if (code == 127 || code == 8)
        key->code = KEY_BACKSPACE;
    else if (bits & 4 && code >= '@' && code < 127)
        key->code = KEY_CTRL(code);
    else if (bits & 1 && code >= 'a' && code <= 'z')
        key->code = code - 'a' + 'A';
    else
        key->code = code;
}

/* ESC [ < buttons ; column ; row M; m on release. */
static void mouse_key(struct key *key, const struct sequence *seq)
{
    unsigned buttons = seq->numbers[0];

    key->code = KEY_UNKNOWN;
    if (seq->n != 3 || seq->numbers[1] == 0 || seq->numbers[2] == 0)
        return;
    key->column = seq->numbers[1] - 1;
    key->row = seq->numbers[2] - 1;
    key->button = buttons & 3;
    key->alt = buttons & 8;
    if (buttons & 64) {
        if (key->button > 1) /* horizontal wheel */
            return;
        key->mouse = key->button ? MOUSE_WHEEL_DOWN : MOUSE_WHEEL_UP;
    } else if (buttons & 128) {
        return;
    } else if (buttons & 32) {
        if (key->button == 3) /* motion without a button */
            return;
        key->mouse = MOUSE_DRAG;
    } else {
        key->mouse = seq->last == 'm' ? MOUSE_RELEASE : MOUSE_PRESS;
    }
    key->code = KEY_MOUSE;
}

static void sequence_key(struct key *key, const struct sequence *seq)
{
    unsigned modifier = seq->n > 1 ? seq->numbers[1] : 0;

    key->code = KEY_UNKNOWN;
    if (seq->mark == '<' && (seq->last == 'M' || seq->last == 'm')) {
        mouse_key(key, seq);
    } else if (seq->mark == '?' && (seq->last == 'c' || seq->last == 'y')) {
        key->code = KEY_ANSWER;
    } else if (seq->mark) {
        return;
    } else if (seq->last == '~' && seq->numbers[0] == 27 && seq->n == 3) {
        modified_key(key, seq->numbers[2], modifier);
    } else if (seq->last == 'u') {
        modified_key(key, seq->numbers[0], modifier);
    } else if (seq->last == '~' || seq->last == '$' || seq->last == '^' ||
               seq->last == '@') {
        key->code = number_key(seq->numbers[0]); /* $ ^ @: rxvt's modifiers */
        key->alt = modifier && (modifier - 1) & 2;
    } else if (seq->last >= 'a' && seq->last <= 'd' && seq->n == 0) {
        key->code = letter_key((char)(seq->last - 'a' + 'A')); /* rxvt, with Shift */
    } else if (seq->n == 0 || seq->numbers[0] <= 1) { /* else a report: ESC [ 7;3 R */
        key->code = letter_key(seq->last);
        key->alt = modifier && (modifier - 1) & 2;
    }
}

/* Read the parameters. Returns the position of the final byte; `n` if it is missing so
 * far. */
static size_t read_numbers(const char *bytes, size_t n, struct sequence *seq)
{
    size_t at = 2;

    if (at < n && strchr("<?>=", bytes[at]))
        seq->mark = bytes[at++];
    for (; at < n && at < SEQUENCE_MOST && bytes[at] >= 0x30 && bytes[at] <= 0x3b;
         at++) {
        unsigned *number;

        if (seq->n == 0)
            seq->n = 1;
        if (bytes[at] == ';' || bytes[at] == ':') {
            seq->n++;
            continue;
        }
        number = seq->n <= PARAMETERS ? &seq->numbers[seq->n - 1] : NULL;
        if (number && *number < 1000000)
            *number = *number * 10 + (unsigned)(bytes[at] - '0');
    }
    /* A $ is rxvt's Shift, except in a mode report: ESC [ ? 2026 ; 1 $ y */
    while (at < n && at < SEQUENCE_MOST && bytes[at] >= 0x20 && bytes[at] <= 0x2f &&
           !(bytes[at] == '$' && !seq->mark))
        seq->middle = bytes[at++];
    return at;
}

static size_t take_paste(const char *bytes, size_t begin, size_t n, bool last,
                         struct key *key)
{
    static const struct str end = {"\033[201~", 6};
    struct str rest = {bytes + begin, n - begin};
    ptrdiff_t found = str_find(rest, end);

    if (found < 0 && !last)
        return 0;
    key->code = KEY_PASTE;
    key->text = rest.at;
    key->text_len = found < 0 ? rest.len : (size_t)found;
    return begin + key->text_len + (found < 0 ? 0 : end.len);
}

static size_t take_sequence(const char *bytes, size_t n, bool last, struct key *key)
{
    struct sequence seq = {0};
    size_t at;

    if (n > 2 && bytes[2] == '[') { /* the Linux console: ESC [ [ A is F1 */
        if (n == 3)
            return last ? take_unknown(key, 3) : 0;
        key->code = bytes[3] >= 'A' && bytes[3] <= 'E'
                        ? KEY_F1 + (uint32_t)(bytes[3] - 'A')
                        : KEY_UNKNOWN;
        return (unsigned char)bytes[3] >= 0x20 ? 4 : 3;
    }
    at = read_numbers(bytes, n, &seq);
    if (at >= n && at < SEQUENCE_MOST) {
        if (!last)
            return 0;
        key->alt = n == 2; /* ESC [ alone was Alt and [ */
        key->code = n == 2 ? '[' : KEY_UNKNOWN;
        return n;
    }
    if (at >= SEQUENCE_MOST ||
        ((bytes[at] < 0x40 || bytes[at] > 0x7e) && bytes[at] != '$'))
        return take_unknown(key, at); /* the byte that broke it is a key of its own */
    seq.last = bytes[at++];
    if (seq.last == 'M' && !seq.mark && seq.n == 0) { /* the X10 mouse: three bytes */
        if (n - at < 3 && !last)
            return 0;
        return take_unknown(key, n - at < 3 ? n : at + 3);
    }
    if (seq.last == '~' && seq.numbers[0] == 200)
        return take_paste(bytes, at, n, last, key);
    sequence_key(key, &seq);
    if (key->code == KEY_ANSWER) {
        key->text = bytes + 2;
        key->text_len = at - 2;
    }
    return at;
}

/* ESC O A; rxvt sends lower case with Ctrl, others a number before the letter. */
static size_t take_ss3(const char *bytes, size_t n, bool last, struct key *key)
{
    size_t at = 2;
    char letter;

    while (at < n && at < 5 &&
           ((bytes[at] >= '0' && bytes[at] <= '9') || bytes[at] == ';'))
        at++;
    if (at >= n) {
        if (!last)
            return 0;
        key->alt = n == 2;
        key->code = n == 2 ? 'O' : KEY_UNKNOWN;
        return n;
    }
    letter = bytes[at];
    if (letter == 'M')
        key->code = '\r'; /* Enter on the keypad */
    else if (letter >= 'a' && letter <= 'd')
        key->code = letter_key((char)(letter - 'a' + 'A'));
    else if (letter >= 'j' && letter <= 'y')
        key->code = (uint32_t)(letter - 'j' + '*'); /* other keypad keys */
    else
        key->code = letter_key(letter);
    return (unsigned char)letter >= 0x20 && (unsigned char)letter < 0x7f ? at + 1 : at;
}

/* --- Strings: the terminal's answers, ended by BEL or ESC \ */

static size_t take_string(const char *bytes, size_t n, bool last, struct key *key)
{
    for (size_t at = 2; at < n && at < STRING_MOST; at++) {
        bool st = bytes[at] == ESC && at + 1 < n && bytes[at + 1] == '\\';

        if (bytes[at] == '\a' || st) {
            key->code = bytes[1] == ']' ? KEY_ANSWER : KEY_UNKNOWN;
            key->text = bytes + 2;
            key->text_len = at - 2;
            return at + (st ? 2 : 1);
        }
        if (bytes[at] == ESC && at + 1 < n)
            return take_unknown(key, at); /* another sequence has begun */
    }
    if (n < STRING_MOST && !last)
        return 0;
    key->alt = n == 2;
    key->code = n == 2 ? (unsigned char)bytes[1] : KEY_UNKNOWN;
    return n < STRING_MOST ? n : STRING_MOST;
}

/* --- Any key */

static size_t take_escape(const char *bytes, size_t n, bool last, struct key *key)
{
    size_t taken;

    if (n == 1) {
        key->code = KEY_ESCAPE;
        return last ? 1 : 0;
    }
    switch (bytes[1]) {
    case '[':
        return take_sequence(bytes, n, last, key);
    case 'O':
        return take_ss3(bytes, n, last, key);
    case ']':
    case 'P':
    case '^':
    case '_':
    case 'X':
        return take_string(bytes, n, last, key);
    default:
        break;
    }
    if (bytes[1] == ESC) {
        if (n == 2 && !last)
            return 0;
        /* rxvt: Alt and an arrow. Anything else is the Esc key, followed by more. */
        if (n == 2 || (bytes[2] != '[' && bytes[2] != 'O')) {
            key->code = KEY_ESCAPE;
            return 1;
        }
        taken = take_escape(bytes + 1, n - 1, last, key);
    } else {
        taken = take_character(bytes + 1, n - 1, last, key);
    }
    key->alt = true;
    return taken ? taken + 1 : 0;
}

size_t keys_take(const char *bytes, size_t n, bool last, struct key *ret_key)
{
    struct key key = {0};
    size_t taken = 0;

    if (n > 0 && bytes[0] == ESC)
        taken = take_escape(bytes, n, last, &key);
    else if (n > 0)
        taken = take_character(bytes, n, last, &key);
    if (taken)
        *ret_key = key;
    return taken;
}

size_t keys_take_paste(const char *bytes, size_t n, bool last, struct key *ret_key)
{
    struct key key = {0};
    size_t taken = take_paste(bytes, 0, n, last, &key);

    if (taken)
        *ret_key = key;
    return taken;
}

int keys_patience(const char *bytes, size_t n)
{
    if (str_starts((struct str){bytes, n}, STR("\033[200~")))
        return PASTE_MS;
    return n > 2 && bytes[0] == ESC ? SEQUENCE_MS : ESCAPE_MS;
}

/* --- Names */

static const struct {
    uint32_t code;
    const char *name, *ascii;
} names[] = {
    {KEY_UP, "↑", "Up"},
    {KEY_DOWN, "↓", "Down"},
    {KEY_LEFT, "←", "Left"},
    {KEY_RIGHT, "→", "Right"},
    {KEY_HOME, "Home", "Home"},
    {KEY_END, "End", "End"},
    {KEY_PAGE_UP, "PgUp", "PgUp"},
    {KEY_PAGE_DOWN, "PgDn", "PgDn"},
    {KEY_DELETE, "Delete", "Delete"},
    {KEY_INSERT, "Insert", "Insert"},
    {KEY_BACK_TAB, "Shift-Tab", "Shift-Tab"},
    {KEY_BACKSPACE, "Backspace", "Backspace"},
    {KEY_ESCAPE, "Esc", "Esc"},
    {' ', "space", "space"},
    {'\r', "Enter", "Enter"},
    {'\t', "Tab", "Tab"},
};

void key_name(char name[16], uint32_t code, bool ascii)
{
    char text[5] = "";

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (names[i].code == code) {
            snprintf(name, 16, "%s", ascii ? names[i].ascii : names[i].name);
            return;
        }
    if (code >= KEY_F1 && code <= KEY_F12) {
        snprintf(name, 16, "F%u", (unsigned)(code - KEY_F1 + 1));
    } else if (code > 0 && code < 0x20) {
        snprintf(name, 16, "^%c", (char)(code | 0x40));
    } else if (code < KEY_FIRST && code > 0 && !(ascii && code > 0x7e)) {
        utf8_encode(code, text);
        snprintf(name, 16, "%s", text);
    } else {
        snprintf(name, 16, code < KEY_FIRST ? "U+%04X" : "?", (unsigned)code);
    }
}

uint32_t key_parse(const char *name)
{
    struct str text = str_of(name);
    uint64_t number;
    uint32_t code;

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcasecmp(name, names[i].name) == 0 ||
            strcasecmp(name, names[i].ascii) == 0)
            return names[i].code;
    if (text.len == 2 && name[0] == '^' && name[1] >= '?' && name[1] < 0x7f &&
        KEY_CTRL(name[1]))
        return KEY_CTRL((uint32_t)name[1]);
    if (text.len > 1 && (name[0] == 'F' || name[0] == 'f') &&
        str_to_u64(str_from(text, 1), &number) && number >= 1 && number <= 12)
        return KEY_F1 + (uint32_t)number - 1;
    if (text.len > 0 && utf8_decode(text, &code) == (int)text.len && code >= 0x20 &&
        code != 0x7f)
        return code;
    return KEY_NONE;
}
