/* test.h - unit tests: a thin layer over cmocka.
 *
 *     TEST(an_empty_arena_holds_nothing)
 *     {
 *         CHECK(arena_bytes(&arena) == 0);
 *     }
 *
 * Tests register themselves; list their file under `tests` in the room's meson.build.
 * All tests of a room become one program; given an argument, it runs the tests whose
 * name contains it.
 *
 * The first check that fails ends its test (by longjmp, so check on the test's own
 * thread only) and prints the file and line. */
#ifndef BASE_TEST_H
#define BASE_TEST_H

#include <stddef.h>

struct test {
    const char *name;  /* the sentence */
    void (*run)(void); /* its body */
    struct test *next; /* in the order of registration */
};

/* Define and register a test; the body follows. */
#define TEST(sentence)                                                                 \
    static void test_##sentence(void);                                                 \
    __attribute__((constructor)) static void register_##sentence(void)                 \
    {                                                                                  \
        static struct test self = {#sentence, test_##sentence, NULL};                  \
        test_register(&self);                                                          \
    }                                                                                  \
    static void test_##sentence(void)

/* The condition must hold. */
#define CHECK(condition)                                                               \
    ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "%s", #condition))

/* Two integers, C strings (or NULL), or runs of bytes must be equal. */
#define CHECK_INT(got, expected)                                                       \
    test_check_int(__FILE__, __LINE__, #got, (long long)(got), (long long)(expected))
#define CHECK_STR(got, expected)                                                       \
    test_check_str(__FILE__, __LINE__, #got, (got), (expected))
#define CHECK_MEM(got, expected, size)                                                 \
    test_check_mem(__FILE__, __LINE__, #got, (got), (expected), (size))

/* Two numbers must differ by at most `tolerance`; NaN equals NaN. */
#define CHECK_NEAR(got, expected, tolerance)                                           \
    test_check_near(__FILE__, __LINE__, #got, (got), (expected), (tolerance))

/* End this test here and count it as skipped. */
#define SKIP(why) test_skip(__FILE__, __LINE__, (why))

/* Four threads start together and each call read(what, text); then the test calls it
 * alone. All must write the same text. The threads run first, so that nothing is
 * cached. read() must not use CHECK; it writes errors to the text. */
#define TEST_THREADS 4
struct buf;
void test_at_once(void (*read)(const void *what, struct buf *text), const void *what);

/* Called by the macros. `test_fail` and `test_skip` do not return. */
void test_register(struct test *test);
__attribute__((noreturn, format(printf, 3, 4))) void
test_fail(const char *file, int line, const char *format, ...);
__attribute__((noreturn)) void test_skip(const char *file, int line, const char *why);
void test_check_int(const char *file, int line, const char *what, long long got,
                    long long expected);
void test_check_str(const char *file, int line, const char *what, const char *got,
                    const char *expected);
void test_check_mem(const char *file, int line, const char *what, const void *got,
                    const void *expected, size_t size);
void test_check_near(const char *file, int line, const char *what, double got,
                     double expected, double tolerance);

#endif
