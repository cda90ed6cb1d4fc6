/* numbers_in.h - points of many steps, without what only their distribution needs: counts
 * of bad elements, mean and m2, ratio, norm and units. An SQL function registered here
 * reads them inside the statement, because fetching a column of a result costs more than
 * reading it (measured: half of the time). Other members of a point are 0. */
#ifndef HISTORY_NUMBERS_IN_H
#define HISTORY_NUMBERS_IN_H

#include "history/reader_in.h"

typedef void take_numbers(void *user, const struct history_point *point);

struct numbers_reader {
    struct history *history;
    take_numbers *take;
    void *user;
    sqlite3_stmt *stmts[4];     /* by enum numbers_of */
    struct history_point point; /* being read: what is not read stays 0 */
    int64_t before;             /* the id of the point before */
    bool needs_all;             /* a point was found that the columns do not describe */
};

/* While the history is held. It may not move until it is closed. */
int numbers_open(struct numbers_reader *reader, struct history *history,
                 take_numbers *take, void *user, struct err *err);
void numbers_close(struct numbers_reader *reader);

/* Which columns of points are read. Fewer are faster: a norm takes half the time of all. */
enum numbers_of {
    NUMBERS_NORM,  /* of a single tensor that was not sampled: counts, mean, m2 */
    NUMBERS_RATIO, /* of a single tensor: also its ratio */
    NUMBERS_UNITS, /* of a single result: counts and units */
    NUMBERS_ALL    /* everything, also the extremes of merged ones */
};

/* Takes the points of series from..to of a row of steps, by number. 1: there is one that
 * needs NUMBERS_ALL; some were taken. */
int numbers_read(struct numbers_reader *reader, const struct history_step *step,
                 uint32_t from, uint32_t to, enum numbers_of which, struct err *err);

#endif
