/* pair.h - two sessions side by side, with their places matched: a diff that is open.
 * Views that show a session's places show a pair's nodes (study/diff/diff.h) likewise. */
#ifndef SESSION_PAIR_H
#define SESSION_PAIR_H

#include "session/session.h"
#include "study/diff/diff.h"

struct pair {
    struct session *left, *right;
    bool borrowed; /* the sessions are somebody else's */
    struct diff diff;
    struct arena arena;
};

/* Open both and compare. NULL when one cannot be opened; a cancelled comparison still
 * gives a pair, whose diff is not complete, and err says so (err->code). */
struct pair *pair_open(const char *left, const char *right,
                       const struct diff_wanted *wanted, struct work *work,
                       struct err *err);
/* The same of sessions that are open; it takes them, also when it fails. */
struct pair *pair_of(struct session *left, struct session *right,
                     const struct diff_wanted *wanted, struct work *work,
                     struct err *err);
/* The same of sessions that stay with their owners and outlive the pair. */
struct pair *pair_on(struct session *left, struct session *right,
                     const struct diff_wanted *wanted, struct work *work,
                     struct err *err);
void pair_close(struct pair *pair); /* NULL is allowed */

#endif
