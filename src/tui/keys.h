/* keys.h - decodes terminal input into keys: UTF-8 characters, escape sequences of
 * xterm and similar terminals, the mouse (SGR 1006), pasted text. Pure: no terminal, no
 * clock. */
#ifndef TUI_KEYS_H
#define TUI_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum key_code { /* smaller codes are Unicode characters */
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
                KEY_PASTE,   /* bracketed paste: key.text */
                KEY_RESIZE,  /* made by term.c */
                KEY_JOBS,    /* made by term.c: a result is ready */
                KEY_HANGUP,  /* made by term.c: the terminal hung up */
                KEY_ANSWER,  /* the terminal's answer to a query (OSC 11): key.text */
                KEY_UNKNOWN, /* an unknown sequence, consumed whole */
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
    unsigned column, row, button; /* mouse, from 0 */
    const char *text;             /* borrowed until the next read */
    size_t text_len;
};

/* Decode one key from the front of `bytes`. Returns the bytes it took; 0: incomplete.
 * `last`: no more bytes are coming for now (so a lone ESC is the key). */
size_t keys_take(const char *bytes, size_t n, bool last, struct key *ret_key);

/* The same inside a paste whose end has not arrived yet. */
size_t keys_take_paste(const char *bytes, size_t n, bool last, struct key *ret_key);
/* The number of milliseconds to wait for the rest of an incomplete key before it is
 * decoded as is. People never type more than the first two bytes of a sequence by hand,
 * so after these a slow line gets more time. */
int keys_patience(const char *bytes, size_t n);

/* "^F", "space", "Enter", "→", "k": the name in help and the config file. */
void key_name(char name[16], uint32_t code, bool ascii);
uint32_t key_parse(const char *name); /* the reverse; KEY_NONE: no such key */

#endif
