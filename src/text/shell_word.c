#include "text/shell_word.h"

#include <stdio.h>
#include <string.h>

#include "text/escape.h"

/* ---- writing ---- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_./:,+@%-", c)) || (unsigned char)c >= 0x80;
}

static void write_ansi(struct buf *to, struct str word)
{
    buf_text(to, "$'");
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.at[i];

        if (c == '\'' || c == '\\')
            buf_printf(to, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            buf_printf(to, "\\x%02x", c);
        else
            buf_char(to, (char)c);
    }
    buf_char(to, '\'');
}

void shell_word_write(struct buf *to, struct str word)
{
    struct buf shown = BUF_INIT;
    bool plain = word.len > 0, odd;

    escape_terminal(&shown, word);
    odd = !str_eq(buf_span(&shown), word);
    buf_release(&shown);
    for (size_t i = 0; i < word.len && plain; i++)
        plain = is_plain(word.at[i]);
    if (odd) {
        write_ansi(to, word);
    } else if (plain) {
        buf_str(to, word);
    } else {
        buf_char(to, '\'');
        for (size_t i = 0; i < word.len; i++)
            buf_text(to, word.at[i] == '\'' ? "'\\''" : (char[2]){word.at[i], 0});
        buf_char(to, '\'');
    }
}

/* ---- reading ---- */

/* Unescapes the inside of $'...' or '...' to *end. Returns the position after it. */
static char *take_quoted(char *at, bool ansi, char **end)
{
    unsigned code;

    for (; *at && *at != '\''; at++) {
        if (ansi && at[0] == '\\' && at[1] == 'x' &&
            sscanf(at + 2, "%2x", &code) == 1) {
            *(*end)++ = (char)code;
            at += 3;
        } else {
            at += ansi && at[0] == '\\' && at[1];
            *(*end)++ = *at;
        }
    }
    return at + (*at == '\'');
}

char *shell_word_next(char **rest)
{
    char *at = *rest, *word, *end;

    while (*at == ' ')
        at++;
    if (*at == '\0')
        return NULL;
    word = end = at;
    while (*at && *at != ' ') {
        bool ansi = at[0] == '$' && at[1] == '\'';

        if (ansi || *at == '\'') {
            at = take_quoted(at + 1 + ansi, ansi, &end);
        } else {
            at += at[0] == '\\' && at[1];
            *end++ = *at++;
        }
    }
    *rest = *at ? at + 1 : at;
    *end = '\0';
    return word;
}
