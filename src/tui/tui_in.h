/* tui_in.h - the state of the terminal explorer: what is open, focused and being typed.
 * All files of the room work on this struct. */
#ifndef TUI_TUI_IN_H
#define TUI_TUI_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/work.h"
#include "explorer/explorer.h"
#include "explorer/tree_lines.h"
#include "tui/cells.h"
#include "tui/commands.h"
#include "tui/config_in.h"
#include "tui/frame_in.h"
#include "tui/keymap.h"
#include "tui/menu_in.h"
#include "tui/prompt_in.h"
#include "tui/term.h"
#include "tui/tui.h"

/* The cached lines of a panel, rebuilt after a change. */
struct panel_lines {
    struct lines lines;
    uint64_t made;          /* value of tui->changes when they were built; 0: never */
    struct panel_room room; /* the space they were built for */
    bool scrolls;           /* they do not fit: there is a scroll bar */
    uint32_t top;           /* the first visible line */
};

/* ?, drawn over the body. */
struct help {
    bool open;
    struct buf filter;
    uint32_t top;
};

/* The hints line and its positions, for clicks. */
#define HINTS_MOST 8

struct hint {
    char text[56]; /* "space fold" */
    uint16_t action, begin, end;
};

struct files; /* files.c: the model files of a folder, shown over the body */

#define AHEAD_MOST 64 /* keys typed ahead; further ones are lost */

struct tui {
    const struct tui_wanted *wanted; /* borrowed */
    struct config config;            /* options already applied */
    struct keymap *keymap;
    struct term *term; /* NULL when printing */
    struct cell_grid cells;
    struct work work;

    /* What is explored. Sessions opened here are closed here. */
    struct explorer explorer;
    bool exploring;  /* `explorer` is initialised */
    bool background; /* compute numbers in threads: there is a terminal */
    struct session *session;
    struct pair *pair;
    struct files *files;       /* the folder's list that is shown, or NULL */
    struct tui_server *server; /* of :serve; or NULL */
    struct files *folder;      /* the same, even while one of its files is shown, for
                                  q */
    /* The session below a comparison, which q returns to; or NULL. */
    struct session *under;
    bool under_ours;       /* close it when done */
    bool under_listed;     /* it was not shown: q goes back to the list of files */
    bool pair_view;        /* panels are laid out for a pair */
    struct buf under_view; /* written by link_options() */

    /* How it is shown. */
    struct frame_wanted view; /* focus, zoom, right or below, sizes, Labels */
    struct frame frame;       /* the last frame's layout, for the mouse */
    uint32_t opened[PANEL_COUNT], clock; /* when each was last opened or focused */
    uint32_t label_cursor, label_top, n_labels;
    struct panel_lines panels[PANEL_COUNT];
    struct lines tree;            /* of the last frame */
    uint64_t changes;             /* counts changes that may affect a panel */
    struct key ahead[AHEAD_MOST]; /* typed during a long operation */
    unsigned n_ahead;
    struct hint hints[HINTS_MOST];
    unsigned n_hints;

    struct prompt prompt;
    struct menu menu;
    enum action menu_of; /* ACTION_COPY, ACTION_SORT; ACTION_COMMAND: completion */
    unsigned menu_row;   /* screen row of its first choice */
    struct help help;
    struct buf trouble;    /* an error, shown until the next key */
    const char *retry;     /* the command that Enter then runs; or NULL */
    char retry_line[4200]; /* its text */
    unsigned drag;         /* what the mouse is dragging: enum drag in mouse.c */
    uint32_t click_row;    /* of the last click, to detect double clicks */
    uint64_t click_ns;
    bool quit;
    /* Enter on a tensor zooms Statistics; Esc goes back to the tree */
    bool visiting;
    bool visit_closes; /* and closes the panel again */
};

/* --- tui.c */

/* tui_begin() sets up the struct; the next call opens the wanted session, pair or path.
 * Call tui_end() even if one of them fails. */
int tui_begin(struct tui *tui, const struct tui_wanted *wanted, struct err *err);
int tui_begin_exploring(struct tui *tui, struct err *err);
void tui_end(struct tui *tui);

/* Show something else and close what was opened before. `pair` may be NULL. Takes
 * ownership of both, even on failure (then nothing else changes). */
int tui_show(struct tui *tui, struct session *session, struct pair *pair,
             struct err *err);
/* Open a file, a recording, or the list of a folder. */
int tui_open(struct tui *tui, const char *path, struct err *err);
/* Show a comparison of the current session, on the left, with `right`; q goes back.
 * Takes ownership of both arguments, even on failure. */
int tui_over(struct tui *tui, struct session *right, struct pair *pair,
             struct err *err);
/* The same for two files of the list, also owned; q goes back to the list. */
int tui_over_list(struct tui *tui, struct session *left, struct session *right,
                  struct pair *pair, struct err *err);
/* q: return to what is below, or to the folder's list; false: there is neither. */
bool tui_leave(struct tui *tui);
/* Apply the options of a view, as written by link_options(). */
void tui_look_at(struct tui *tui, char *words);
/* The screen part of a link. */
struct link_screen tui_screen(const struct tui *tui);
/* tui_open() with progress; Esc stops it. */
int tui_open_busy(struct tui *tui, const char *path, struct err *err);
/* Compare two files with progress; Esc stops it. */
int tui_compare_busy(struct tui *tui, const char *left, const char *right,
                     const struct diff_wanted *wanted, struct err *err);
/* Draw a frame into tui->cells, at their size. */
void tui_frame(struct tui *tui);
/* Show an error until the next key. If `retry` is not NULL, Enter runs that command. */
void tui_trouble(struct tui *tui, const struct err *err, const char *retry);
/* Mark the panels as outdated. */
void tui_changed(struct tui *tui);
/* Set the message in the status line, of the model or of the list of files. */
void tui_say(struct tui *tui, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool tui_job_runs(const struct tui *tui); /* is anything being computed? */

/* --- input.c */

void tui_key(struct tui *tui, const struct key *key);
/* Open a prompt, with an initial text such as "diff ". */
void tui_prompt(struct tui *tui, enum prompt_kind kind, struct str text);
void tui_choose(struct tui *tui, uint32_t choice); /* of the menu, by a click */
/* Set the slice that Statistics shows; "": all. */
void tui_slice(struct tui *tui, struct str text);

/* --- actions.c */

void tui_act(struct tui *tui, enum action action);
/* Where keys apply now: a bit of enum where. */
unsigned tui_where(const struct tui *tui);
/* The selected row. */
struct row tui_row(const struct tui *tui);
void tui_focus(struct tui *tui, unsigned focus); /* opens the panel if needed */
/* Scroll a panel; `cursor`: move its selected line, if it has one. */
void tui_scroll_panel(struct tui *tui, unsigned panel, int64_t by, bool cursor);
/* Jump to a place; Backspace goes back. */
bool tui_go(struct tui *tui, uint32_t place);

/* --- sort_menu.c */

void sort_menu(struct tui *tui);
/* Does this order apply to what is open? Some orders are only for pairs or training
 * runs. */
bool sort_offered(const struct tui *tui, enum rows_sort sort);
void sort_choose(struct tui *tui, char key);
/* A click on a column title. */
void sort_by_column(struct tui *tui, const struct column *column);

/* --- copy_menu.c */

void copy_menu(struct tui *tui);
void copy_choose(struct tui *tui, char key);

/* --- help.c, mouse.c, edit.c */

void help_key(struct tui *tui, const struct key *key);
void help_draw(struct tui *tui, const struct area *area);
void mouse_key(struct tui *tui, const struct key *key);
void edit_source(struct tui *tui);

/* --- files.c */

int files_open(struct tui *tui, const char *folder, struct err *err);
void files_close(struct tui *tui);
const char *files_folder(const struct tui *tui); /* its path */
void files_poll(struct tui *tui); /* add files found since the last call */
int files_fd(const struct tui *tui);
/* Apply the order and the filter of the options. */
int files_look(struct tui *tui, const struct printed_wanted *wanted, struct err *err);
/* Filter by the text typed after /. */
int files_filter(struct tui *tui, struct str text, struct err *err);
/* :sort KEY. */
int files_sort(struct tui *tui, struct str key, bool reverse, struct err *err);
/* i and f: show the menu, apply the choice. */
void files_sort_menu(struct tui *tui);
void files_sort_choose(struct tui *tui, char key);
void files_filter_choose(struct tui *tui, char key);
/* The left file of a comparison: the marked one, else the selected one; NULL: none. */
const char *files_left(const struct tui *tui);
void files_say(struct tui *tui, struct str text); /* "" clears it */
/* A click on a row or a title; `twice` opens the row. */
void files_click(struct tui *tui, unsigned row, unsigned column, bool twice);
void files_act(struct tui *tui, enum action action);
void files_draw(struct tui *tui, const struct area *area); /* with the header line */
void files_status(struct tui *tui, struct lines *to, unsigned width);

/* --- remember.c: saved views */

void remember_save(struct tui *tui);
/* The options of the saved view; false: none. */
bool remember_load(struct tui *tui, struct buf *to);

/* --- serve.c */

/* Stop the server of :serve, if running. */
void serve_end(struct tui *tui);
/* Call it before the explored session is closed: a server may borrow it. */
void serve_session_ends(struct tui *tui);
/* Answer the page's requests about a live model. Returns the delay in ms until the next
 * call; -1: never. */
int serve_look(struct tui *tui);

#endif
