/* tui_in.h - the explorer on a screen: what is open, what has the focus, what is being
 * typed. All parts of the room work on this one struct. */
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

/* The lines of a panel, made anew only when something changed. */
struct panel_lines {
    struct lines lines;
    uint64_t made;          /* tui->changes when they were made; 0: never */
    struct panel_room room; /* what they were made for */
    bool scrolls;           /* they do not fit: there is a scroll bar */
    uint32_t top;           /* the first that is on the screen */
};

/* ?, over the body. */
struct help {
    bool open;
    struct buf filter;
    uint32_t top;
};

/* What the hints line shows, and where: a click on one is its key. */
#define HINTS_MOST 8

struct hint {
    char text[56]; /* "space fold" */
    uint16_t action, begin, end;
};

struct files; /* files.c: the model files of a folder, over the body */

#define AHEAD_MOST 64 /* keys; more are lost */

struct tui {
    const struct tui_wanted *wanted; /* borrowed */
    struct config config;            /* with what the options say already in it */
    struct keymap *keymap;
    struct term *term; /* NULL while it is printed */
    struct cell_grid cells;
    struct work work;

    /* What is explored. Those that we opened are ours to close. */
    struct explorer explorer;
    bool exploring;  /* the explorer was begun */
    bool background; /* numbers are computed by threads: there is a terminal */
    struct session *session;
    struct pair *pair;
    struct files *files;  /* a folder is shown; NULL: none */
    struct files *folder; /* the same, also while a file of it is shown: q leads back */
    /* What lies under a comparison: q leads back to it. NULL: nothing. */
    struct session *under;
    bool under_ours;       /* to close */
    bool under_listed;     /* it was not shown: q leads back to the list of files */
    bool pair_view;        /* panels stand as two models have them */
    struct buf under_view; /* as link_options() wrote it */

    /* How it is shown. */
    struct frame_wanted view; /* focus, zoom, right or below, sizes, Labels */
    struct frame frame;       /* of the last frame: for the mouse */
    uint32_t opened[PANEL_COUNT], clock; /* when each was opened or focused last */
    uint32_t label_cursor, label_top, n_labels;
    struct panel_lines panels[PANEL_COUNT];
    struct lines tree;            /* of the last frame */
    uint64_t changes;             /* counts what may change a panel */
    struct key ahead[AHEAD_MOST]; /* typed while something took long */
    unsigned n_ahead;
    struct hint hints[HINTS_MOST];
    unsigned n_hints;

    struct prompt prompt;
    struct menu menu;
    enum action menu_of; /* ACTION_COPY, ACTION_SORT; ACTION_COMMAND: completion */
    unsigned menu_row;   /* of its first choice, on the screen */
    struct help help;
    struct buf trouble;    /* an error, on the status and hints lines until a key */
    const char *retry;     /* what Enter then does: a command line; or NULL */
    char retry_line[4200]; /* its text */
    unsigned drag;         /* what the mouse holds: enum drag in mouse.c */
    uint32_t click_row;    /* of the last click, to tell a double one */
    uint64_t click_ns;
    bool quit;
    /* Enter on a tensor zooms Statistics; Esc then leads back to the tree. */
    bool visiting;
    bool visit_closes; /* and the panel, which was closed before, goes again */
};

/* --- tui.c */

/* Begin with nothing; then with what is wanted: somebody's session or pair, or a path.
 * To be ended also when one of them fails. */
int tui_begin(struct tui *tui, const struct tui_wanted *wanted, struct err *err);
int tui_begin_exploring(struct tui *tui, struct err *err);
void tui_end(struct tui *tui);

/* Show something else; what was open of ours is closed. `pair` may be NULL; both are
 * taken, also when this fails (then nothing else changes). */
int tui_show(struct tui *tui, struct session *session, struct pair *pair,
             struct err *err);
/* Open a file, a recording, or the list of a folder. */
int tui_open(struct tui *tui, const char *path, struct err *err);
/* Show a comparison of what is shown now, the left one, with `right`; both are taken,
 * also when this fails. q then leads back. */
int tui_over(struct tui *tui, struct session *right, struct pair *pair,
             struct err *err);
/* The same of two files of the list, which are taken too; q leads back to the list. */
int tui_over_list(struct tui *tui, struct session *left, struct session *right,
                  struct pair *pair, struct err *err);
/* q: back to what lies under it, or to the list of the folder; false: to neither. */
bool tui_leave(struct tui *tui);
/* Make the view that options say, as link_options() wrote them. */
void tui_look_at(struct tui *tui, char *words);
/* How it stands on the screen, for a link. */
struct link_screen tui_screen(const struct tui *tui);
/* The same, telling how far it is; Esc stops it. */
int tui_open_busy(struct tui *tui, const char *path, struct err *err);
/* Compare two files, likewise. */
int tui_compare_busy(struct tui *tui, const char *left, const char *right,
                     const struct diff_wanted *wanted, struct err *err);
/* A frame into tui->cells, by their size. */
void tui_frame(struct tui *tui);
/* An error: one sentence, until the next key. Enter then runs the command `retry`, if
 * it is not NULL. */
void tui_trouble(struct tui *tui, const struct err *err, const char *retry);
/* Something changed that panels show. */
void tui_changed(struct tui *tui);
/* A sentence in the status line, of the model or of the list of files. */
void tui_say(struct tui *tui, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool tui_job_runs(const struct tui *tui); /* something is being computed */

/* --- input.c */

void tui_key(struct tui *tui, const struct key *key);
/* Begin to type; a command may be begun already: "diff ". */
void tui_prompt(struct tui *tui, enum prompt_kind kind, struct str text);
void tui_choose(struct tui *tui, uint32_t choice); /* of the menu: a click */
/* Which values Statistics shows; "" is none. */
void tui_slice(struct tui *tui, struct str text);

/* --- actions.c */

void tui_act(struct tui *tui, enum action action);
/* Where keys go now: a bit of enum where. */
unsigned tui_where(const struct tui *tui);
/* The row of the cursor. */
struct row tui_row(const struct tui *tui);
void tui_focus(struct tui *tui, unsigned focus); /* opens the panel if needed */
void tui_close_panel(struct tui *tui, enum panel_number panel);
/* Scroll a panel; `cursor`: move the line that is selected, if it has one. */
void tui_scroll_panel(struct tui *tui, unsigned panel, int64_t by, bool cursor);
/* Go to a place, as a jump: Backspace leads back. */
bool tui_go(struct tui *tui, uint32_t place);

/* --- sort_menu.c */

void sort_menu(struct tui *tui);
void sort_choose(struct tui *tui, char key);
/* A click on a column's title. */
void sort_by_column(struct tui *tui, const struct column *column);

/* --- copy_menu.c */

/* Give a text to the clipboard, and say how in the status line. */
void tui_copy(struct tui *tui, struct str text);
void copy_menu(struct tui *tui);
void copy_choose(struct tui *tui, char key);

/* --- help.c, mouse.c, edit.c */

void help_key(struct tui *tui, const struct key *key);
void help_draw(struct tui *tui, const struct area *area);
void mouse_key(struct tui *tui, const struct key *key);
void edit_source(struct tui *tui);

/* --- files.c: whoever presses keys in it ends up in tui_open() */

int files_open(struct tui *tui, const char *folder, struct err *err);
void files_close(struct tui *tui);
void files_poll(struct tui *tui); /* take what was found since */
int files_fd(const struct tui *tui);
/* The order and the filter that options say. */
int files_look(struct tui *tui, const struct printed_wanted *wanted, struct err *err);
/* What is typed behind / while they are shown. */
int files_filter(struct tui *tui, struct str text, struct err *err);
/* :sort KEY. */
int files_sort(struct tui *tui, struct str key, bool reverse, struct err *err);
/* i and f: what can be chosen, and the choice. */
void files_sort_menu(struct tui *tui);
void files_sort_choose(struct tui *tui, char key);
void files_filter_menu(struct tui *tui);
void files_filter_choose(struct tui *tui, char key);
/* The file that a comparison has at its left: the marked one, else that of the cursor;
 * NULL: there is none. */
const char *files_left(const struct tui *tui);
void files_say(struct tui *tui, struct str text); /* "" ends it */
/* A click on a row of its area, or on a title; `twice`: it is opened. */
void files_click(struct tui *tui, unsigned row, unsigned column, bool twice);
void files_act(struct tui *tui, enum action action);
void files_draw(struct tui *tui, const struct area *area); /* header line included */
void files_status(struct tui *tui, struct lines *to, unsigned width);

/* --- remember.c: views that are kept for each model */

bool remember_is_on(const struct tui *tui);
void remember_save(struct tui *tui);
/* The options of the view that was kept; false: none was. */
bool remember_load(struct tui *tui, struct buf *to);

#endif
