#include "tui/terminfo_in.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>

static const char *move; /* "cup" */

/* A capability by its short name; NULL: missing. */
static const char *terminfo_string(const char *name)
{
    const char *text = tigetstr(name);

    return text == (const char *)(intptr_t)-1 ? NULL : text;
}

int terminfo_open(int fd, struct err *err)
{
    int status = 0;
    const char *name = getenv("TERM");

    if (!name || !*name || setupterm(NULL, fd, &status) != 0)
        return err_set(err, ERR_UNSUPPORTED, "the terminal \"%s\" is not known here",
                       name ? name : "");
    move = terminfo_string("cup");
    if (!move || !terminfo_string("clear")) {
        terminfo_close();
        return err_set(err, ERR_UNSUPPORTED, "the terminal \"%s\" cannot move a cursor",
                       name);
    }
    return 0;
}

void terminfo_close(void)
{
    if (cur_term)
        del_curterm(cur_term);
    move = NULL;
}

int terminfo_number(const char *name)
{
    int number = tigetnum(name);

    return number < 0 ? -1 : number;
}

/* Drop padding such as $<5>, which only very old terminals need. */
static void add_unpadded(struct buf *to, const char *text)
{
    while (*text) {
        const char *end = text[0] == '$' && text[1] == '<' ? strchr(text, '>') : NULL;

        if (!end)
            buf_char(to, *text);
        text = end ? end + 1 : text + 1;
    }
}

void terminfo_add(struct buf *to, const char *name)
{
    const char *text = terminfo_string(name);

    if (text)
        add_unpadded(to, text);
}

void terminfo_move(struct buf *to, unsigned column, unsigned row)
{
    add_unpadded(to, tparm(move, (long)row, (long)column, 0L, 0L, 0L, 0L, 0L, 0L, 0L));
}
