#include "base/err.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"

TEST(a_failure_has_a_code_and_a_message)
{
    struct err err = {0};

    CHECK(err_set(&err, ERR_FORMAT, "%s: %d bytes", "a.pth", 7) == -1);
    CHECK_INT(err.code, ERR_FORMAT);
    CHECK_STR(err.text, "a.pth: 7 bytes");
}

TEST(a_message_may_contain_the_earlier_one)
{
    struct err err = {0};

    err_set(&err, ERR_IO, "no such file");
    err_set(&err, ERR_IO, "shard 2: %s (%s)", err.text, err.text);
    CHECK_STR(err.text, "shard 2: no such file (no such file)");
}

TEST(a_long_message_is_cut_between_two_characters)
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

TEST(a_null_err_is_allowed)
{
    CHECK(err_set(NULL, ERR_IO, "gone") == -1);
    errno = ENOENT;
    CHECK(err_set_errno(NULL, "x") == -1);
}

TEST(errno_gives_the_reason)
{
    struct err err = {0};

    errno = ENOENT;
    CHECK(err_set_errno(&err, "model.pth") == -1);
    CHECK_INT(err.code, ERR_IO);
    CHECK_STR(err.text, "model.pth: No such file or directory");
}

TEST(a_file_error_keeps_name_and_reason_separate)
{
    struct err err = {0}, copy = {0};

    CHECK(err_set_about(&err, ERR_FORMAT, "a: b.pth", ": truncated at byte %d", 7) ==
          -1);
    CHECK_STR(err.text, "a: b.pth: truncated at byte 7");
    CHECK(str_is(err_subject(&err), "a: b.pth"));
    CHECK_STR(err_reason(&err), "truncated at byte 7");
    err_set_about(&err, ERR_FORMAT, "b.pth", " is empty");
    CHECK_STR(err.text, "b.pth is empty");
    CHECK_STR(err_reason(&err), "is empty");
    errno = ENOENT;
    err_set_errno(&err, "c.pth");
    CHECK(err_copy(&copy, &err) == -1);
    CHECK(str_is(err_subject(&copy), "c.pth"));
    CHECK_STR(err_reason(&copy), "No such file or directory");
    CHECK(err_set_about(NULL, ERR_IO, "c.pth", " is gone") == -1);
    CHECK(err_copy(NULL, &err) == -1);
}

TEST(a_message_without_a_file_is_its_own_reason)
{
    struct err err = {0};

    err_set_about(&err, ERR_IO, "a.pth", ": gone");
    err_set(&err, ERR_LIMIT, "no memory left");
    CHECK_INT(err_subject(&err).len, 0);
    CHECK_STR(err_reason(&err), "no memory left");
}

TEST(a_long_file_name_leaves_no_reason)
{
    struct err err = {0};
    char many[1024] = "";

    for (size_t i = 0; i < 510; i++)
        memcpy(many + 2 * i, "\xc3\xa9", 3);
    err_set_about(&err, ERR_IO, many, ": gone");
    CHECK_INT(strlen(err.text), 511);
    CHECK_STR(err_reason(&err), "");
    many[506] = '\0';
    err_set_about(&err, ERR_IO, many, ": gone");
    CHECK_INT(strlen(err.text), 511);
    CHECK_STR(err_reason(&err), "gon");
}
