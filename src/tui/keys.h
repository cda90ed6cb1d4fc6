/* keys.h - bytes of a terminal in, keys out: letters in UTF-8, escape sequences of
 * xterm and its kin, the mouse (SGR 1006), pasted text. Pure: no terminal, no clock. */
#ifndef TUI_KEYS_H
#define TUI_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum key_code { /* below: a character; these lie beyond Unicode */
                KEY_NONE = 0,
                KEY_FIRST = 0x110000,
                KEY_UP,
                KEY_DOWN,
                KEY_LEFT,
                KEY_RIGHT,
                KEY_HOME,
                KEY_END,
                KEY_PAGE_UP,
                KEY_PAGE_DOWN,
                KEY_DELETE,
                KEY_INSERT,
                KEY_BACK_TAB,
                KEY_BACKSPACE, /* 0x7f and 0x08 */
                KEY_ESCAPE,    /* alone */
                KEY_F1,        /* to F12 */
                KEY_F12 = KEY_F1 + 11,
                KEY_MOUSE,
                KEY_PASTE,   /* text between brackets: key.text */
                KEY_RESIZE,  /* made by term.c */
                KEY_JOBS,    /* likewise: something was computed */
                KEY_HANGUP,  /* likewise: the terminal went away */
                KEY_ANSWER,  /* of the terminal to a question of ours (OSC 11): key.text
                              */
                KEY_UNKNOWN, /* a sequence that means nothing to us: swallowed whole */
};
#define KEY_CTRL(letter) ((letter)&0x1f) /* Enter is ^M, Tab ^I */

enum mouse_kind {
    MOUSE_PRESS,
    MOUSE_RELEASE,
    MOUSE_DRAG,
    MOUSE_WHEEL_UP,
    MOUSE_WHEEL_DOWN
};

struct key {
    uint32_t code;
    bool alt;
    enum mouse_kind mouse;
    unsigned column, row, button; /* of the mouse, from 0 */
    const char *text;             /* borrowed until more is read */
    size_t text_len;
};

/* Take one key off the front of `bytes`; how many bytes it took, or 0: more are needed
 * to know. `last`: no more will come for now (an ESC alone is the key). */
size_t keys_take(const char *bytes, size_t n, bool last, struct key *ret_key);

/* The same, behind a part of a pasted text whose end had not come yet. */
size_t keys_take_paste(const char *bytes, size_t n, bool last, struct key *ret_key);
/* How long, in milliseconds, what is not complete may wait for its rest before it is
 * taken for what it is. Nobody types more than the first two bytes of a sequence: where
 * a slow line brings it in pieces, the rest must not become keys. */
int keys_patience(const char *bytes, size_t n);

/* "^F", "space", "Enter", "→", "k": as help and the config file write it; and back. */
void key_name(char name[16], uint32_t code, bool ascii);
uint32_t key_parse(const char *name); /* KEY_NONE: no key */

#endif
