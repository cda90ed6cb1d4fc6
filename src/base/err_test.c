#include "base/err.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"

TEST(a_failure_has_a_code_and_a_sentence)
{
    struct err err = {0};

    CHECK(err_set(&err, ERR_FORMAT, "%s: %d bytes", "a.pth", 7) == -1);
    CHECK_INT(err.code, ERR_FORMAT);
    CHECK_STR(err.text, "a.pth: 7 bytes");
}

TEST(a_sentence_may_be_built_around_the_earlier_one)
{
    struct err err = {0};

    err_set(&err, ERR_IO, "no such file");
    err_set(&err, ERR_IO, "shard 2: %s (%s)", err.text, err.text);
    CHECK_STR(err.text, "shard 2: no such file (no such file)");
}

TEST(a_long_sentence_is_cut_between_two_characters)
{
    struct err err = {0};
    char many[1024] = "x";
    size_t i;

    /* Two bytes each: the last byte that fits is half of a character. */
    for (i = 0; i < 510; i++)
        memcpy(many + 2 * i, "\xc3\xa9", 3);
    err_set(&err, ERR_IO, "%s", many);
    CHECK_INT(strlen(err.text), 510);
    err_set(&err, ERR_IO, "x%s", many);
    CHECK_INT(strlen(err.text), 511);
}

TEST(nobody_has_to_want_the_sentence)
{
    CHECK(err_set(NULL, ERR_IO, "gone") == -1);
    errno = ENOENT;
    CHECK(err_set_errno(NULL, "x") == -1);
}

TEST(the_system_says_why)
{
    struct err err = {0};

    errno = ENOENT;
    CHECK(err_set_errno(&err, "model.pth") == -1);
    CHECK_INT(err.code, ERR_IO);
    CHECK_STR(err.text, "model.pth: No such file or directory");
}
