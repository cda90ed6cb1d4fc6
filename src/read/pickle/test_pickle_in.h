/* test_pickle_in.h - for tests of pickles: run some bytes and get the result as
 * text. */
#ifndef READ_PICKLE_TEST_PICKLE_IN_H
#define READ_PICKLE_TEST_PICKLE_IN_H

#include "base/buf.h"
#include "read/pickle/pickle_value_in.h"

/* One pickle that was run. */
struct ran {
    struct build build;
    struct pickle pickle;
    struct err err;
    int status;      /* of pickle_run() */
    size_t left;     /* bytes after it */
    struct buf text; /* of ran_text() */
};

void ran_init(struct ran *ran, const void *at, size_t len);
void ran_release(struct ran *ran);

/* The result roughly as Python would print it: {'a': [1, 2.5, None]}. Calls are
 * name(arguments), objects name{attribute: value}, names <module.name>, sets set(...),
 * omitted parts <why>. */
const char *ran_text(struct ran *ran);

/* Does a finding with this code contain this text? */
bool ran_found(const struct ran *ran, enum finding_code code, const char *text);

/* The number of such acts on the global in the log. */
uint64_t ran_acts(const struct ran *ran, const char *global, enum pickle_act act);

/* Run the bytes of a literal and compare the result's text. */
#define CHECK_PICKLE(literal, expected)                                                \
    do {                                                                               \
        struct ran ran_;                                                               \
                                                                                       \
        ran_init(&ran_, literal, sizeof(literal) - 1);                                 \
        CHECK_INT(ran_.status, 0);                                                     \
        CHECK(ran_.pickle.complete);                                                   \
        CHECK_STR(ran_text(&ran_), expected);                                          \
        ran_release(&ran_);                                                            \
    } while (0)

/* Run a malformed literal: compares the partial result and a part of the finding's
 * sentence. */
#define CHECK_BROKEN(literal, expected, why)                                           \
    do {                                                                               \
        struct ran ran_;                                                               \
                                                                                       \
        ran_init(&ran_, literal, sizeof(literal) - 1);                                 \
        CHECK(!ran_.pickle.complete);                                                  \
        CHECK(ran_found(&ran_, FINDING_PICKLE_MALFORMED, why));                        \
        CHECK_STR(ran_text(&ran_), expected);                                          \
        ran_release(&ran_);                                                            \
    } while (0)

#endif
