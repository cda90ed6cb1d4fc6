/* Python syntax colours: keywords, strings, comments. */
#include <ctype.h>
#include <string.h>

#include "base/base.h"
#include "explorer/code_in.h"
#include "text/text.h"

static bool is_keyword(struct str word)
{
    static const char *const words[] = {
        "def",   "class",   "return",   "if",    "elif",   "else",   "for",
        "while", "in",      "is",       "not",   "and",    "or",     "with",
        "as",    "import",  "from",     "raise", "try",    "except", "pass",
        "del",   "finally", "lambda",   "yield", "assert", "break",  "async",
        "await", "None",    "continue", "True",  "global", "False",  "nonlocal"};

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (str_is(word, words[i]))
            return true;
    return false;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The length of the string that begins here, with its quotes; a multi-line string may
 * not end on this line. */
static size_t quoted(struct str s, char *quote)
{
    bool triple = s.len >= 3 && s.at[1] == s.at[0] && s.at[2] == s.at[0];
    char mark = s.at[0];
    size_t i = triple ? 3 : 1;

    for (; i < s.len; i++) {
        if (s.at[i] == '\\')
            i++;
        else if (s.at[i] == mark && (!triple || (i + 2 < s.len && s.at[i + 1] == mark &&
                                                 s.at[i + 2] == mark)))
            return i + (triple ? 3 : 1);
    }
    *quote = triple ? mark : '\0';
    return s.len;
}

/* The rest of a multi-line string. */
static size_t rest_of_text(struct str s, char *quote)
{
    for (size_t i = 0; i + 2 < s.len; i++)
        if (s.at[i] == *quote && s.at[i + 1] == *quote && s.at[i + 2] == *quote) {
            *quote = '\0';
            return i + 3;
        }
    return s.len;
}

/* The length and colour of the next token. */
static size_t piece(struct str s, char *quote, enum colour *ret_colour)
{
    size_t n = 0;

    *ret_colour = COLOUR_DIM;
    if (*quote)
        return rest_of_text(s, quote);
    if (s.at[0] == '#')
        return s.len;
    if (s.at[0] == '"' || s.at[0] == '\'')
        return quoted(s, quote);
    *ret_colour = COLOUR_NONE;
    if (in_word(s.at[0])) {
        while (n < s.len && in_word(s.at[n]))
            n++;
        if (is_keyword(str_head(s, n)))
            *ret_colour = COLOUR_TYPE;
        return n;
    }
    while (n < s.len && !in_word(s.at[n]) && !strchr("#\"'", s.at[n]))
        n++;
    return n > 0 ? n : 1;
}

/* The width of the whole line. */
static size_t line_width(struct str line)
{
    struct buf text = BUF_INIT;
    size_t width;

    escape_terminal(&text, line);
    width = text_width(buf_span(&text));
    buf_release(&text);
    return width;
}

void code_spans(struct lines *to, struct str line, size_t cells, char *quote)
{
    bool whole = line_width(line) <= cells;
    size_t used = 0, room = whole ? cells : cells > 0 ? cells - 1 : 0;

    while (line.len > 0) {
        enum colour colour;
        size_t n = piece(line, quote, &colour);
        struct buf text = BUF_INIT, cut = BUF_INIT;

        escape_terminal(&text, str_head(line, n));
        text_cut(&cut, buf_span(&text), used < room ? room - used : 0, "");
        lines_add(to, colour, 0, buf_span(&cut));
        used += text_width(buf_span(&text));
        line = str_from(line, n);
        buf_release(&text);
        buf_release(&cut);
    }
    if (!whole && cells > 0)
        lines_text(to, COLOUR_DIM, "…");
}
