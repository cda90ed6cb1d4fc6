/* pair.h - an open diff: two sessions with their places matched. Views show the nodes
 * of a pair (study/diff/diff.h) like the places of a session. */
#ifndef SESSION_PAIR_H
#define SESSION_PAIR_H

#include "session/session.h"
#include "study/diff/diff.h"
#include "study/diverge/divergence.h"
#include "study/diverge/parting.h"

struct pair {
    struct session *left, *right;
    bool borrowed; /* the sessions are not closed with the pair */
    struct diff diff;
    struct divergence *divergence; /* of two recordings; else NULL */
    struct parting *parting;       /* of two training runs; else NULL */
    struct arena arena;
};

/* Opens and compares both. For two recordings the results are compared, not the values
 * of parameters: a recording does not have them. NULL if one cannot be opened. A
 * cancelled comparison returns a pair with an incomplete diff, and sets err->code. */
struct pair *pair_open(const char *left, const char *right,
                       const struct diff_wanted *wanted, struct work *work,
                       struct err *err);
/* Compares two open sessions; takes them, even on failure. */
struct pair *pair_of(struct session *left, struct session *right,
                     const struct diff_wanted *wanted, struct work *work,
                     struct err *err);
/* Compares two borrowed sessions, which must outlive the pair. */
struct pair *pair_on(struct session *left, struct session *right,
                     const struct diff_wanted *wanted, struct work *work,
                     struct err *err);
/* Two training runs with common steps: are these equal? Two recordings with comparable
 * results: do all of them agree? Otherwise: are the models equal? */
bool pair_equal(const struct pair *pair);
/* Were results compared? */
bool pair_has_results(const struct pair *pair);
/* The results at and below a node of the diff; NULL: none were comparable. */
const struct divergence_sum *pair_results(const struct pair *pair, uint32_t node);
void pair_close(struct pair *pair); /* NULL is allowed */

#endif
