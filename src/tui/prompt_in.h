/* prompt_in.h - a line editor for / : [ and other prompts. Independent of the terminal:
 * keys in, a text with a cursor out. */
#ifndef TUI_PROMPT_IN_H
#define TUI_PROMPT_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "tui/keys.h"

enum prompt_kind {
    PROMPT_NONE,
    PROMPT_SEARCH,
    PROMPT_COMMAND,
    PROMPT_SLICE,
};

#define HISTORY_MOST 64

struct prompt {
    enum prompt_kind kind;
    struct buf text;
    size_t cursor; /* in bytes, between characters */
    bool bad;      /* the text is invalid: shown in red */
    /* Earlier lines, newest last; commands only. */
    char *history[HISTORY_MOST];
    uint32_t n_history, at_history; /* at_history == n_history: the line being typed */
    struct buf typed;               /* that line, while an older one is shown */
};

void prompt_release(struct prompt *prompt);
void prompt_begin(struct prompt *prompt, enum prompt_kind kind, struct str text);
void prompt_set(struct prompt *prompt, struct str text); /* cursor at its end */
/* Add the text to the history. */
void prompt_remember(struct prompt *prompt);

/* Handle typing, arrows, Home and End, ^A ^E ^K ^U ^W, Backspace, Delete, paste. True:
 * the text or cursor changed. */
bool prompt_key(struct prompt *prompt, const struct key *key);
bool prompt_history(struct prompt *prompt, int by); /* -1: older */

#endif
