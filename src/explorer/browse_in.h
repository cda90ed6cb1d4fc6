/* browse_in.h - a walk through a tree, from inside: browse.c (cursor, moving, order),
 * browse_fold.c (what is open), browse_search.c (what is found), browse_next.c (from
 * one match to the next). */
#ifndef EXPLORER_BROWSE_IN_H
#define EXPLORER_BROWSE_IN_H

#include "explorer/browse.h"
#include "rows/rows_parts.h"

#define JUMPS     64                  /* so many Backspace leads back */
#define BY_SEARCH ((uint32_t)1 << 31) /* of a jump: its filter goes with it */

struct browse {
    const struct show *show; /* borrowed */
    struct rows_of of;
    struct arena arena; /* of all below */
    struct rows rows;
    struct view view;

    /* A bit for each place. */
    uint8_t *open;   /* unfolded */
    uint8_t *shown;  /* while only matches are shown: `open`, and what leads to them */
    uint8_t *single; /* it stands in a run that is shown one by one */
    uint8_t *in_run; /* it stands in a run, folded or not */
    uint8_t *hits;   /* what the latest search found, as it is */
    uint8_t *match;  /* what of that is a match here */
    uint8_t *spare;  /* of whoever needs it for a while */
    uint8_t *keep;   /* shown while only matches are */

    bool filtered;  /* there is a pattern, and something matches */
    bool unlimited; /* &: all rows are shown, matches marked */
    uint32_t matches;
    struct buf pattern, message;
    struct search *last; /* the latest search, or NULL */
    uint32_t n_hits;

    uint32_t cursor, top, height; /* rows; a height of 0: not told yet */
    uint32_t place;               /* the cursor's */
    uint32_t line; /* where on the screen the cursor is to be, if there is room */
    uint32_t origin, origin_line; /* where the search began */
    uint32_t chain;       /* open from the first: the root, and single ones below it */
    uint32_t before_flat; /* the place that the flat list was begun at */
    bool moved;           /* since then */
    uint32_t jumps[JUMPS];
    uint32_t n_jumps;

    uint32_t version;         /* how often rows were made */
    struct browse_memo *memo; /* what was asked about the cursor before */
};

struct browse_memo {
    /* Which of its class a place is. */
    uint32_t place, which, class_id;
    uint32_t *of; /* by class: how many there are */
    /* Which match a place is, in an order that is not the model's. */
    uint32_t match_place, match_version, match_number;
};

/* Say something about the call that is being made. */
void browse_say(struct browse *browse, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Make the rows anew; the cursor goes to browse->place, or to the nearest row above it.
 */
void browse_remake(struct browse *browse);
/* The row of a place, or of the nearest that it stands in; *ret_exact: of itself. */
uint32_t browse_row_of(const struct browse *browse, uint32_t place, bool *ret_exact);
/* Put the cursor on a row, in sight. */
void browse_put(struct browse *browse, uint32_t row);
/* Backspace leads back to this place; with BY_SEARCH it takes the filter off. */
void browse_remember(struct browse *browse, uint32_t place);
/* A search that is typed now begins here. */
void browse_settle(struct browse *browse);
/* Show the rows above the cursor, from the first on if that is near. */
void browse_lift(struct browse *browse);

/* Open what leads to a place: parents, and the runs that hide it. While only matches
 * are shown, for as long as they are. */
void browse_reveal(struct browse *browse, uint32_t place);
/* Are equal siblings one row? */
bool browse_has_runs(const struct browse *browse);
/* Does a folded run hide this place itself? */
bool browse_in_run(const struct browse *browse, uint32_t place);

/* Drop the filter; rows are not made anew. */
void browse_unfilter(struct browse *browse);
/* Search once more, as the list that is filtered is another one. */
void browse_research(struct browse *browse);

/* The class of a place, or NO_CLASS. */
uint32_t browse_class(const struct browse *browse, uint32_t place);

#endif
