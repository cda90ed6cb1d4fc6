/* Stands in for commands.c and files.c until they are here: whoever writes
 * one of these takes its functions out of this file. */
#include "tui/tui_in.h"

/* --- commands.c */

static int quit_command(struct tui *tui, struct str words, struct err *err)
{
    (void)words;
    (void)err;
    tui->quit = true;
    return 0;
}

const struct tui_command tui_commands[] = {
    {"q", NULL, "quit", quit_command, NULL},
};
const size_t n_tui_commands = 1;

int tui_command(struct tui *tui, struct str line, struct err *err)
{
    uint64_t number;
    uint32_t place;

    line = str_trim(line);
    if (str_is(line, "q"))
        return quit_command(tui, STR(""), err);
    if (str_starts(line, STR("go ")))
        line = str_trim(str_from(line, 3));
    if (str_to_u64(line, &number) && number > 0)
        return browse_select(tui->explorer.browse, (uint32_t)number - 1), 0;
    if (session_find(tui->explorer.session, line, &place, err) < 0)
        return -1;
    return tui_go(tui, place), 0;
}

void tui_complete(struct tui *tui, struct str line, struct menu *to)
{
    (void)tui;
    (void)line;
    (void)to;
}

/* --- files.c */

int files_open(struct tui *tui, const char *folder, struct err *err)
{
    (void)tui;
    return err_set(err, ERR_UNSUPPORTED, "%s: a folder", folder);
}

void files_close(struct tui *tui)
{
    (void)tui;
}

void files_act(struct tui *tui, enum action action)
{
    (void)tui;
    (void)action;
}

void files_draw(struct tui *tui, const struct area *area)
{
    (void)tui;
    (void)area;
}

void files_status(struct tui *tui, struct lines *to, unsigned width)
{
    (void)tui;
    (void)to;
    (void)width;
}
