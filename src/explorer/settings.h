/* settings.h - THE TABLE of view settings. One row gives the command line its option,
 * Python its keyword argument (with _ for -), the config file and :set their names,
 * links and remembered views their words:
 *     torchoscope resnet50.scope --at layer1.0.conv2 --labels name,type,time --panel 5
 * To add a setting: a member of struct settings, a row in settings.c, the code that
 * applies it (link.c) and the code that reads it from a view (link_write.c). */
#ifndef EXPLORER_SETTINGS_H
#define EXPLORER_SETTINGS_H

#include "base/buf.h"
#include "facts/printed.h"
#include "text/options.h"

/* The options of a command are a set of these groups. */
enum settings_group {
    SETTINGS_VIEW = 1,    /* a view of the explorer; written to links */
    SETTINGS_LOOK = 2,    /* the terminal's look; not part of a link */
    SETTINGS_TREE = 4,    /* a printed tree; these are members of `tree` */
    SETTINGS_SUMMARY = 8, /* the settings that a summary supports */
    SETTINGS_CONFIG = 16, /* a line of the config file, and :set */
};

/* NULL, false, OPTION_UNSET: not given. All texts are borrowed. */
struct settings {
    struct printed_wanted tree; /* first: a command that only prints a tree fills just
                                   this. Views use depth, flat, sort, reverse, filter
                                   and expand of it */
    const char *at;             /* name of the selected row */
    const char *open;   /* names of open rows, separated by commas ("\," is a comma in a
                           name); their parents are opened too, nothing else. "+NAME"
                           is visible, not open: it belongs to a run of equal siblings
                           that is shown one by one */
    const char *labels; /* ids, separated by commas */
    bool hide_equal;    /* pair: only rows that differ */
    bool mark;          /* with a filter: show all rows and mark the matches */
    const char *panel;  /* open panels, separated by commas; the last has the focus. L:
                           Labels; 0: the tree */
    const char *flow;   /* "rows" or "boxes": the view of panel 6 */
    uint32_t view;      /* view of the last panel, from 1 */
    bool log;           /* its logarithmic scale */
    bool left;          /* pair: the panel shows the left model */
    const char *slice;  /* which values: "[83, 220:230]" */
    uint32_t call;      /* index of the call of the module, from 1 */
    uint32_t hist;      /* bins of histograms */
    bool zoom;          /* the focused panel fills the screen */
    const char *layout; /* "right" or "below": where panels are */
    const char *size;   /* "60%,12": size of panels on the right and below */
    const char *theme;  /* "dark", "light"; NULL: detected */
    const char *colour; /* "never", "16", "256", "true"; NULL: detected */
    bool ascii, plain, no_mouse, remember;
};
#define SETTINGS_COLOURS "always|never|16|256|true" /* "auto" is the default */
#define SETTINGS_INIT                                                                  \
    {                                                                                  \
        .tree = PRINTED_WANTED_INIT, .view = OPTION_UNSET, .call = OPTION_UNSET,       \
        .hist = OPTION_UNSET                                                           \
    }

struct setting {
    struct option option; /* `at` is an offset in struct settings */
    unsigned groups;
};
extern const struct setting settings_table[];
extern const size_t n_settings;

/* The options of some groups; returns their number. They fill a struct settings or, if
 * all are settings of a tree, its first member. */
#define SETTINGS_MOST 40
size_t settings_options(unsigned groups, struct option ret_options[SETTINGS_MOST]);

/* Is no setting of a view given? */
bool settings_is_empty(const struct settings *settings);
/* Fails with ERR_USAGE if a setting is not one of its allowed words. */
int settings_check(const struct settings *settings, struct err *err);

/* Appends the settings of a view as options, quoted for a shell: " --at x --zoom". */
void settings_write(const struct settings *settings, struct buf *to);
/* Reads options back. It changes `words`, and the settings borrow from it. Returns -1
 * and the first mistake; all other words are used nevertheless. */
int settings_read(struct settings *settings, char *words, struct err *err);

#endif
