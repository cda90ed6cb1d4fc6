#include "base/buf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"

TEST(an_empty_buf_is_empty_text)
{
    struct buf buf = BUF_INIT;

    CHECK_STR(buf_cstr(&buf), "");
    CHECK_INT(buf_span(&buf).len, 0);
    buf_clear(&buf);
    buf_release(&buf);
}

TEST(a_buf_grows_and_ends_in_nul)
{
    struct buf buf = BUF_INIT;
    int i;

    for (i = 0; i < 1000; i++) {
        buf_char(&buf, 'a');
        buf_text(&buf, "bc");
        buf_str(&buf, STR("d"));
        CHECK(buf.at[buf.len] == '\0');
    }
    buf_fill(&buf, '-', 500);
    buf_add(&buf, NULL, 0);
    CHECK_INT(buf.len, 4500);
    CHECK(strlen(buf_cstr(&buf)) == 4500 && !buf.bad);
    CHECK(str_ends(buf_span(&buf), STR("-----")));
    buf_clear(&buf);
    CHECK_STR(buf_cstr(&buf), "");
    buf_release(&buf);
}

TEST(formatted_text_of_any_length_is_complete)
{
    char text[301];
    int len;

    memset(text, 'x', sizeof text);
    for (len = 0; len <= 300; len++) {
        struct buf buf = BUF_INIT;

        buf_printf(&buf, "<%.*s>", len, text);
        buf_printf(&buf, "%d", 7);
        CHECK_INT(buf.len, len + 3);
        CHECK(str_ends(buf_span(&buf), STR(">7")));
        buf_release(&buf);
    }
}

TEST(a_buf_that_failed_to_grow_stays_bad_until_released)
{
    struct buf buf = BUF_INIT;

    buf_text(&buf, "kept");
    buf_fill(&buf, 'x', SIZE_MAX - 2);
    CHECK(buf.bad);
    buf_text(&buf, "dropped");
    buf_printf(&buf, "dropped");
    CHECK_STR(buf_cstr(&buf), "kept");
    buf_release(&buf);
    CHECK(!buf.bad);
    buf_text(&buf, "new");
    CHECK_STR(buf_cstr(&buf), "new");
    buf_release(&buf);
}

TEST(an_array_grows_and_keeps_its_items)
{
    void *at = NULL;
    uint32_t room = 0;

    for (uint32_t n = 0; n < 100; n++) {
        CHECK(buf_grow_array(&at, n, &room, sizeof(uint32_t)));
        CHECK(room > n);
        ((uint32_t *)at)[n] = n;
    }
    for (uint32_t n = 0; n < 100; n++)
        CHECK_INT(((uint32_t *)at)[n], n);
    free(at);
}
