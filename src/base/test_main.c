#include "base/test.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

static struct test *first;
static struct test **last = &first;

void test_register(struct test *test)
{
    *last = test;
    last = &test->next;
}

void test_fail(const char *file, int line, const char *format, ...)
{
    char sentence[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    print_error("%s\n", sentence);
    _fail(file, line);
    abort(); /* not reached: _fail() leaves by longjmp */
}

void test_skip(const char *file, int line, const char *why)
{
    print_message("skipped: %s\n", why);
    _skip(file, line);
    abort(); /* not reached: _skip() leaves by longjmp */
}

void test_check_int(const char *file, int line, const char *what, long long got,
                    long long expected)
{
    if (got != expected)
        test_fail(file, line, "%s is %lld, expected %lld", what, got, expected);
}

void test_check_str(const char *file, int line, const char *what, const char *got,
                    const char *expected)
{
    if (got == expected || (got && expected && strcmp(got, expected) == 0))
        return;
    test_fail(file, line, "%s is\n  \"%s\"\nexpected\n  \"%s\"", what,
              got ? got : "(null)", expected ? expected : "(null)");
}

void test_check_mem(const char *file, int line, const char *what, const void *got,
                    const void *expected, size_t size)
{
    const uint8_t *a = got, *b = expected;

    for (size_t i = 0; i < size; i++)
        if (a[i] != b[i])
            test_fail(file, line, "%s differs at byte %zu: 0x%02x, expected 0x%02x",
                      what, i, a[i], b[i]);
}

void test_check_near(const char *file, int line, const char *what, double got,
                     double expected, double tolerance)
{
    double difference = got > expected ? got - expected : expected - got;

    if (got == expected || (got != got && expected != expected))
        return;
    if (!(difference <= tolerance))
        test_fail(file, line, "%s is %.17g, expected %.17g within %g", what, got,
                  expected, tolerance);
}

/* ---- threads ---- */

struct test_thread {
    void (*read)(const void *what, struct buf *text);
    const void *what;
    pthread_barrier_t *start;
    pthread_t thread;
    struct buf text;
};

static void *read_at_once(void *user)
{
    struct test_thread *mine = user;

    pthread_barrier_wait(mine->start);
    mine->read(mine->what, &mine->text);
    return NULL;
}

void test_at_once(void (*read)(const void *what, struct buf *text), const void *what)
{
    struct test_thread threads[TEST_THREADS] = {0};
    struct buf alone = {0};
    pthread_barrier_t start;

    pthread_barrier_init(&start, NULL, TEST_THREADS);
    for (int i = 0; i < TEST_THREADS; i++) {
        threads[i] = (struct test_thread){.read = read, .what = what, .start = &start};
        CHECK(!pthread_create(&threads[i].thread, NULL, read_at_once, &threads[i]));
    }
    for (int i = 0; i < TEST_THREADS; i++)
        CHECK(!pthread_join(threads[i].thread, NULL));
    pthread_barrier_destroy(&start);
    read(what, &alone);
    CHECK(buf_span(&alone).len > 0);
    for (int i = 0; i < TEST_THREADS; i++) {
        CHECK_STR(buf_cstr(&threads[i].text), buf_cstr(&alone));
        buf_release(&threads[i].text);
    }
    buf_release(&alone);
}

/* cmocka passes each test its state, here the test itself. */
static void run_case(void **state)
{
    const struct test *test = *state;

    test->run();
}

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : "";
    const char *slash = strrchr(argv[0], '/');
    struct CMUnitTest *cases;
    size_t count = 0;
    int failed;

    for (struct test *test = first; test; test = test->next)
        count++;
    cases = calloc(count + 1, sizeof *cases);
    if (!cases)
        return 2;
    count = 0;
    for (struct test *test = first; test; test = test->next)
        if (strstr(test->name, wanted))
            cases[count++] =
                (struct CMUnitTest){test->name, run_case, NULL, NULL, test};
    failed =
        _cmocka_run_group_tests(slash ? slash + 1 : argv[0], cases, count, NULL, NULL);
    free(cases);
    if (count == 0) {
        fprintf(stderr, "no test has \"%s\" in its name\n", wanted);
        return 2;
    }
    return failed ? 1 : 0;
}
