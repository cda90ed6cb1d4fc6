/* link.h - every view is a command, and every command a view:
 *     torchoscope resnet50.scope --at layer1.0.conv2 --labels name,type,time --panel 5
 * The options are read by cli/ into a struct link; link_apply() makes the view of it,
 * link_write() the shortest line that gives the view again. */
#ifndef EXPLORER_LINK_H
#define EXPLORER_LINK_H

#include "base/buf.h"
#include "base/err.h"
#include "explorer/explorer.h"

/* What was asked for; NULL, 0: nothing. All texts are borrowed. */
struct link {
    const char *at;     /* --at NAME */
    const char *open;   /* --open NAMES, separated by commas ("\," is one of a name):
                           these and what leads to them, nothing else; "+NAME" is
                           not open, but seen: one of a run that is shown one by one */
    uint32_t depth;     /* --depth N; ALL_ROWS */
    const char *flat;   /* --flat[=tensors] */
    const char *labels; /* --labels LIST */
    const char *sort;   /* --sort KEY */
    bool reverse;       /* --reverse */
    bool expand;        /* --expand: equal siblings one by one */
    bool hide_equal;    /* --hide-equal: of two models, only what differs */
    const char *filter; /* --filter PATTERN */
    bool mark;          /* --mark: all rows, with matches marked: & */
    const char *panel;  /* --panel N[,N]: those that are open, the focused one last; 0
                           is none, and last: the tree has the focus; L are the
                           Labels */
    const char *view;   /* --view V of the last of them: its number, from 1 */
    bool log;           /* --log: its other scale */
    bool left;          /* --left: of two models, it tells of the left one */
    const char *hist;   /* --hist BINS: steps of histograms */
    const char *slice;  /* --slice S */
    const char *call;   /* --call N, from 1 */
    bool zoom;          /* --zoom: the focused one has the body to itself */
    const char *layout; /* --layout right|below: where panels are */
    const char *size;   /* --size 60%,12: of panels at the right, and below */
};
#define LINK_INIT                                                                      \
    {                                                                                  \
        .depth = ALL_ROWS                                                              \
    }

/* How a view stands on the screen. */
struct link_screen {
    unsigned focus;         /* a panel; PANEL_NONE: the tree; PANEL_COUNT: Labels */
    bool zoom, labels;      /* Labels are open */
    bool below;             /* panels lie below the tree, however wide it is */
    unsigned share, height; /* of panels: percent beside the tree, rows below it */
};
#define LINK_SHARE_LEAST 20
#define LINK_SHARE_MOST  80
/* As a first opening has it. */
void link_screen_init(struct link_screen *screen, const struct explorer *explorer);

bool link_is_empty(const struct link *link); /* nothing was asked for */

/* ERR_USAGE or ERR_NOT_FOUND: one sentence. */
int link_apply(const struct link *link, struct explorer *explorer,
               struct link_screen *ret_screen, struct err *err);
/* The command, fit for a shell; of a live model that was never saved the
 * torchoscope.explore(...) line, with the rest as a comment. */
void link_write(struct buf *to, struct explorer *explorer,
                const struct link_screen *screen);
/* Is it such a live model? */
bool link_is_live(const struct explorer *explorer);
/* The options alone, as words that link_words() reads again: what is remembered. */
void link_options(struct buf *to, struct explorer *explorer,
                  const struct link_screen *screen);
/* Read words as link_options() wrote them; they are changed, and the link borrows them.
 * What is not known is left out. */
void link_words(struct link *link, char *words);

/* The place of the explorer's tree (of a pair: the node) that a person means. */
int link_find(const struct explorer *explorer, struct str name, uint32_t *ret_place,
              struct err *err);

/* What an order is called: "params", "memory", ...; "model" is none. */
int sort_by_word(struct str word, enum rows_sort *ret_sort, struct err *err);

#endif
