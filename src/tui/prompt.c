#include "tui/prompt_in.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void prompt_release(struct prompt *prompt)
{
    buf_release(&prompt->text);
    buf_release(&prompt->typed);
    for (uint32_t i = 0; i < prompt->n_history; i++)
        free(prompt->history[i]);
    *prompt = (struct prompt){0};
}

void prompt_set(struct prompt *prompt, struct str text)
{
    struct buf fresh = BUF_INIT; /* the text may be part of the old one */

    buf_str(&fresh, text);
    buf_release(&prompt->text);
    prompt->text = fresh;
    prompt->cursor = fresh.len;
    prompt->bad = false;
}

void prompt_begin(struct prompt *prompt, enum prompt_kind kind, struct str text)
{
    prompt_set(prompt, text);
    prompt->kind = kind;
    prompt->at_history = prompt->n_history;
    buf_clear(&prompt->typed);
}

/* --- History */

void prompt_remember(struct prompt *prompt)
{
    const char *text = buf_cstr(&prompt->text);
    char *copy;

    if (!*text || (prompt->n_history &&
                   strcmp(prompt->history[prompt->n_history - 1], text) == 0))
        return;
    copy = strdup(text);
    if (!copy)
        return;
    if (prompt->n_history == HISTORY_MOST) {
        free(prompt->history[0]);
        memmove(prompt->history, prompt->history + 1,
                (HISTORY_MOST - 1) * sizeof(prompt->history[0]));
        prompt->n_history--;
    }
    prompt->history[prompt->n_history++] = copy;
}

bool prompt_history(struct prompt *prompt, int by)
{
    if ((by < 0 && prompt->at_history == 0) ||
        (by > 0 && prompt->at_history == prompt->n_history))
        return false;
    if (prompt->at_history == prompt->n_history) {
        buf_clear(&prompt->typed);
        buf_str(&prompt->typed, buf_span(&prompt->text));
    }
    prompt->at_history = by < 0 ? prompt->at_history - 1 : prompt->at_history + 1;
    prompt_set(prompt, prompt->at_history == prompt->n_history
                           ? buf_span(&prompt->typed)
                           : str_of(prompt->history[prompt->at_history]));
    return true;
}

/* --- Typing */

static void replace(struct prompt *prompt, size_t begin, size_t end, struct str by)
{
    struct str old = buf_span(&prompt->text);
    struct buf text = BUF_INIT;

    buf_str(&text, str_head(old, begin));
    buf_str(&text, by);
    buf_str(&text, str_from(old, end));
    if (text.bad) {
        buf_release(&text);
        return;
    }
    buf_release(&prompt->text);
    prompt->text = text;
    prompt->cursor = begin + by.len;
}

/* The start of the character before `at`. */
static size_t before(const struct prompt *prompt, size_t at)
{
    const char *text = buf_cstr(&prompt->text);

    while (at > 0 && (text[--at] & 0xc0) == 0x80)
        ;
    return at;
}

static size_t behind(const struct prompt *prompt, size_t at)
{
    const char *text = buf_cstr(&prompt->text);

    if (at < prompt->text.len)
        at++;
    while (at < prompt->text.len && (text[at] & 0xc0) == 0x80)
        at++;
    return at;
}

static size_t word_before(const struct prompt *prompt)
{
    const char *text = buf_cstr(&prompt->text);
    size_t at = prompt->cursor;

    while (at > 0 && strchr(" .", text[at - 1]))
        at--;
    while (at > 0 && !strchr(" .", text[at - 1]))
        at--;
    return at;
}

/* Insert the first line of a paste, without characters that cannot be shown. */
static void paste(struct prompt *prompt, const struct key *key)
{
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < key->text_len && i < 4096; i++) {
        unsigned char c = (unsigned char)key->text[i];

        if (c == '\n' || c == '\r')
            break;
        if (c >= 0x20 && c != 0x7f)
            buf_char(&text, (char)c);
    }
    if (utf8_valid(buf_span(&text)))
        replace(prompt, prompt->cursor, prompt->cursor, buf_span(&text));
    buf_release(&text);
}

static bool type(struct prompt *prompt, const struct key *key)
{
    char bytes[4];
    int n;

    if (key->alt || key->code < 0x20 || key->code >= KEY_FIRST ||
        prompt->text.len > 4000)
        return false;
    n = utf8_encode(key->code, bytes);
    replace(prompt, prompt->cursor, prompt->cursor, str_span(bytes, (size_t)n));
    return true;
}

bool prompt_key(struct prompt *prompt, const struct key *key)
{
    size_t at = prompt->cursor;

    switch (key->code) {
    case KEY_LEFT:
    case KEY_CTRL('B'):
        prompt->cursor = before(prompt, at);
        return true;
    case KEY_RIGHT:
    case KEY_CTRL('F'):
        prompt->cursor = behind(prompt, at);
        return true;
    case KEY_HOME:
    case KEY_CTRL('A'):
        prompt->cursor = 0;
        return true;
    case KEY_END:
    case KEY_CTRL('E'):
        prompt->cursor = prompt->text.len;
        return true;
    case KEY_BACKSPACE:
        replace(prompt, before(prompt, at), at, STR(""));
        return true;
    case KEY_DELETE:
    case KEY_CTRL('D'):
        replace(prompt, at, behind(prompt, at), STR(""));
        prompt->cursor = at;
        return true;
    case KEY_CTRL('U'):
        replace(prompt, 0, at, STR(""));
        return true;
    case KEY_CTRL('K'):
        replace(prompt, at, prompt->text.len, STR(""));
        return true;
    case KEY_CTRL('W'):
        replace(prompt, word_before(prompt), at, STR(""));
        return true;
    case KEY_PASTE:
        paste(prompt, key);
        return true;
    default:
        return type(prompt, key);
    }
}
