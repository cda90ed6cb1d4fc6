/* numbers_in.h - reads points of many steps without their distributions: only counts of
 * non-finite elements, mean, m2, ratio, norm and units; other members of the point are
 * 0. An SQL function registered here receives them inside the statement, because
 * fetching result columns takes half of the time (measured). */
#ifndef HISTORY_NUMBERS_IN_H
#define HISTORY_NUMBERS_IN_H

#include "history/reader_in.h"

typedef void take_numbers(void *user, const struct history_point *point);

struct numbers_reader {
    struct history *history;
    take_numbers *take;
    void *user;
    sqlite3_stmt *stmts[4];     /* by enum numbers_of */
    struct history_point point; /* the current one: members that are not read stay 0 */
    int64_t before;             /* id of the previous point */
    bool needs_all;             /* found a point that needs more columns */
};

/* Call it while the history is held. The reader must not move in memory until
 * closed. */
int numbers_open(struct numbers_reader *reader, struct history *history,
                 take_numbers *take, void *user, struct err *err);
void numbers_close(struct numbers_reader *reader);

/* Which columns of points are read. Fewer are faster: a norm takes half the time of all. */
enum numbers_of {
    NUMBERS_NORM,  /* of an unmerged, unsampled tensor: counts, mean, m2 */
    NUMBERS_RATIO, /* of an unmerged tensor: also its ratio */
    NUMBERS_UNITS, /* of an unmerged result: counts and units */
    NUMBERS_ALL    /* everything, also the extremes of merged points */
};

/* Calls take() for the points of series from..to in one row of steps, in order. Returns
 * 1 if a point needs NUMBERS_ALL; take() was already called for some. */
int numbers_read(struct numbers_reader *reader, const struct history_step *step,
                 uint32_t from, uint32_t to, enum numbers_of which, struct err *err);

#endif
