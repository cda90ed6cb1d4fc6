/* test_pickle_in.h - what tests of pickles are written with: run some bytes, and see
 * the result as text. */
#ifndef READ_PICKLE_TEST_PICKLE_IN_H
#define READ_PICKLE_TEST_PICKLE_IN_H

#include "base/buf.h"
#include "read/pickle/pickle_value_in.h"

/* One pickle that was run. */
struct ran {
    struct build build;
    struct pickle pickle;
    struct err err;
    int status;      /* what pickle_run() said */
    size_t left;     /* bytes behind it */
    struct buf text; /* what ran_text() gave */
};

void ran_init(struct ran *ran, const void *at, size_t len);
void ran_release(struct ran *ran);

/* The result as Python would print it, more or less: {'a': [1, 2.5, None]}. Calls are
 * name(arguments), objects name{attribute: value}, names <module.name>, sets set(...),
 * what was left out <why>. */
const char *ran_text(struct ran *ran);

/* Does some finding of this code hold this text? */
bool ran_found(const struct ran *ran, enum finding_code code, const char *text);

/* How often the log says that this was done to the global. */
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

/* Run a literal that breaks off: what is left, and a part of the finding's sentence. */
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
