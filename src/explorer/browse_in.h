/* browse_in.h - internals of browse.h: browse.c (cursor, moving, order), browse_fold.c
 * (folds), browse_search.c (search), browse_next.c (next match). */
#ifndef EXPLORER_BROWSE_IN_H
#define EXPLORER_BROWSE_IN_H

#include "explorer/browse.h"
#include "rows/rows_parts.h"

#define JUMPS     64                  /* length of the Backspace history */
#define BY_SEARCH ((uint32_t)1 << 31) /* jump flag: going back removes the filter */

struct browse {
    const struct show *show; /* borrowed */
    struct rows_of of;
    struct arena arena; /* owns everything below */
    struct rows rows;
    struct view view;

    /* Bit sets, one bit for each place. */
    uint8_t *open;   /* unfolded */
    uint8_t *shown;  /* `open` and ancestors of matches, if only matches are shown */
    uint8_t *single; /* in a run that is expanded */
    uint8_t *in_run; /* in a run, expanded or not */
    uint8_t *hits;   /* the raw result of the latest search */
    uint8_t *match;  /* those of `hits` that count as matches here */
    uint8_t *spare;  /* scratch space */
    uint8_t *keep;   /* visible while only matches are shown */

    bool filtered;  /* there is a pattern with matches */
    bool unlimited; /* &: show all rows, mark the matches */
    uint32_t matches;
    struct buf pattern, message;
    struct search *last; /* the latest search, or NULL */
    uint32_t n_hits;

    uint32_t cursor, top, height; /* rows; height 0: not set yet */
    uint32_t place;               /* of the selected row */
    uint32_t line;                /* the preferred screen line of the cursor */
    uint32_t origin, origin_line; /* where the search began */
    uint32_t chain;       /* initially open: the root and single children below it */
    uint32_t before_flat; /* the place selected when the flat list began */
    bool moved;           /* since the flat list began */
    uint32_t jumps[JUMPS];
    uint32_t n_jumps;

    uint32_t version;         /* number of times the rows were rebuilt */
    struct browse_memo *memo; /* cached answers about the cursor */
};

struct browse_memo {
    /* A place's index within its class. */
    uint32_t place, which, class_id;
    uint32_t *of; /* by class: the number of places */
    /* A match's index in an order other than the model's. */
    uint32_t match_place, match_version, match_number;
};

/* Set the message of the current call. */
void browse_say(struct browse *browse, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Rebuild the rows; the cursor goes to browse->place, or to the nearest row above
 * it. */
void browse_remake(struct browse *browse);
/* The row of a place, or of its nearest visible ancestor; *ret_exact: the place's
 * own. */
uint32_t browse_row_of(const struct browse *browse, uint32_t place, bool *ret_exact);
/* Add a place to the Backspace history; with BY_SEARCH, going back removes the
 * filter. */
void browse_remember(struct browse *browse, uint32_t place);
/* The next search starts here. */
void browse_settle(struct browse *browse);
/* Scroll up to show rows above the cursor, to the first one if it is near. */
void browse_lift(struct browse *browse);

/* Open the ancestors of a place and the runs that hide it; while only matches are
 * shown, only for that time. */
void browse_reveal(struct browse *browse, uint32_t place);

/* Remove the filter without rebuilding the rows. */
void browse_unfilter(struct browse *browse);
/* Repeat the search after the list changed. */
void browse_research(struct browse *browse);

/* The class of a place, or NO_CLASS. */
uint32_t browse_class(const struct browse *browse, uint32_t place);

#endif
