#include "text/options.h"

#include "base/base.h"
#include "base/test.h"

struct sample {
    const char *name;
    uint32_t count;
    bool all;
};

static const struct option table[] = {
    {"name", 'n', OPTION_TEXT, "NAME", offsetof(struct sample, name), ""},
    {"count", 'c', OPTION_COUNT, "N", offsetof(struct sample, count), ""},
    {"all", 'a', OPTION_FLAG, NULL, offsetof(struct sample, all), ""},
};

/* The number of leading options of these words, which end with NULL. */
static int leading(const char *const *words)
{
    struct option_set set = {table, COUNT_OF(table), NULL};
    char *argv[16];
    int n = 0;

    for (; words[n]; n++)
        argv[n] = (char *)(uintptr_t)words[n];
    return options_leading(&set, 1, n, argv);
}
#define LEADING(...) leading((const char *const[]){__VA_ARGS__, NULL})

TEST(leading_options_end_at_the_first_other_word)
{
    CHECK_INT(LEADING("train.py", "--all"), 0);
    CHECK_INT(LEADING("--all", "train.py", "--all"), 1);
    CHECK_INT(LEADING("--name", "x", "train.py"), 2);
    CHECK_INT(LEADING("--name=x", "train.py"), 1);
    CHECK_INT(LEADING("-n", "x", "-c3", "-a", "train.py", "-a"), 4);
    CHECK_INT(LEADING("--all", "--", "--all"), 1);
    CHECK_INT(LEADING("-a", "-", "-a"), 1);
    CHECK_INT(LEADING("--unknown", "train.py"), 1);
    CHECK_INT(LEADING("--name"), 1);
    CHECK_INT(LEADING("-a", "-a"), 2);
}
