/* Empty containers share one node. The results must be as if they did not. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "read/pickle/test_pickle_in.h"

#define ORDERED "ccollections\nOrderedDict\n)R"
#define TAG     "ctorch.jit._pickle\nrestore_type_tag\n"

TEST(two_empty_containers_change_independently)
{
    CHECK_PICKLE("}}K\x01K\x02s\x86.", "({}, {1: 2})");
    CHECK_PICKLE("}q\x00}q\x01K\x01K\x02s\x86.", "({}, {1: 2})");
    CHECK_PICKLE("]]K\x01"
                 "a]\x87.",
                 "([], [1], [])");
    CHECK_PICKLE("\x80\x04\x8f\x94\x8f\x94(K\x01\x90\x86.", "(set(), set(1))");
    CHECK_PICKLE(ORDERED ORDERED "K\x01K\x02s" ORDERED "\x87.", "({}, {1: 2}, {})");
}

TEST(an_empty_container_fetched_again_is_the_same_object)
{
    CHECK_PICKLE("}q\x00h\x00K\x01K\x02s\x86.", "({1: 2}, {1: 2})");
    CHECK_PICKLE("}K\x01K\x02sq\x00h\x00K\x03K\x04s\x86.",
                 "({1: 2, 3: 4}, {1: 2, 3: 4})");
    CHECK_PICKLE("]p0\ng0\nK\x01"
                 "a\x86.",
                 "([1], [1])");
    CHECK_PICKLE("]r\x00\x00\x07\x00j\x00\x00\x07\x00K\x01"
                 "a\x86.",
                 "([1], [1])");
    CHECK_PICKLE("}2K\x01K\x02s\x86.", "({1: 2}, {1: 2})");
    CHECK_PICKLE(ORDERED "q\x00h\x00K\x01K\x02s\x86.", "({1: 2}, {1: 2})");
    CHECK_PICKLE("]\x85q\x00h\x00\x86.", "(([]), ([]))");
}

/* A call that returns one of its arguments is a second reference to it. */
TEST(a_call_may_return_the_same_object_as_in_its_arguments)
{
    CHECK_PICKLE(TAG "]X\x01\x00\x00\x00t\x86q\x00RK\x01"
                     "ah\x00\x86.",
                 "([1], ([1], 't'))");
    CHECK_PICKLE(TAG "]\x85q\x00RK\x01"
                     "ah\x00\x86.",
                 "([1], ([1]))");
    CHECK_PICKLE(TAG "]\x85RK\x01"
                     "a]\x86.",
                 "([1], [])");
}

TEST(memo_numbers_count_entries_that_are_never_fetched)
{
    CHECK_PICKLE("\x80\x04]\x94}\x94K\x01K\x02sh\x01\x87.", "([], {1: 2}, {1: 2})");
    CHECK_PICKLE("\x80\x04]\x94q\x00}\x94K\x01K\x02sh\x01\x87.",
                 "([], {1: 2}, {1: 2})");
}

TEST(dicts_with_the_same_items_change_independently)
{
    CHECK_PICKLE("}q\x00(K\x01K\x02K\x03K\x04u}(K\x01K\x02K\x03K\x04uh\x00K\x05K\x06s"
                 "\x87.",
                 "({1: 2, 3: 4, 5: 6}, {1: 2, 3: 4}, {1: 2, 3: 4, 5: 6})");
    CHECK_PICKLE("}(K\x01K\x02K\x03K\x04u}(K\x01K\x02K\x03K\x04uK\x05K\x06s"
                 "}(K\x01K\x02K\x03K\x04uK\x07K\x08s\x87.",
                 "({1: 2, 3: 4}, {1: 2, 3: 4, 5: 6}, {1: 2, 3: 4, 7: 8})");
    /* One moves; its old items still belong to the other. */
    CHECK_PICKLE("}q\x00(K\x01K\x02K\x03K\x04u}(K\x01K\x02K\x03K\x04u]K\x09"
                 "ah\x00(K\x05K\x06K\x07K\x08u0](K\x0aK\x0bK\x0cK\x0d"
                 "e\x87h\x00\x86.",
                 "(({1: 2, 3: 4}, [9], [10, 11, 12, 13]), {1: 2, 3: 4, 5: 6, 7: 8})");
}

TEST(many_empty_containers_take_little_memory)
{
    struct buf bytes = BUF_INIT;
    struct ran ran;

    buf_text(&bytes, "](");
    for (uint32_t i = 0; i < 20000; i++)
        buf_add(&bytes, "]r\x01\x02\x03\x00" ORDERED "}", 6 + sizeof ORDERED);
    buf_text(&bytes, "e.");
    ran_init(&ran, bytes.at, bytes.len);
    CHECK(ran.pickle.complete);
    CHECK_INT(pickle_list_n(&ran.pickle, ran.pickle.result), 60000);
    CHECK(ran.pickle.n_nodes < 32);
    ran_release(&ran);
    buf_release(&bytes);
}

TEST(a_truncated_pickle_fills_a_shared_empty_container)
{
    CHECK_BROKEN("}(K\x01K\x02", "{1: 2}", "STOP");
    CHECK_BROKEN("}q\x00(K\x01}q\x01K\x02", "{1: {}}", "STOP");
}

#define SHORT_TEXTS 100000
#define LONG_EVERY  30000

static void add_text(struct buf *to, const char *text, size_t len)
{
    const char count[4] = {(char)len, (char)(len >> 8), (char)(len >> 16), 0};

    buf_char(to, 'X');
    buf_add(to, count, sizeof count);
    buf_add(to, text, len);
    buf_add(to, "q\x00", 2);
}

/* A list of many short texts, and a long one now and then. */
static void add_texts(struct buf *to)
{
    static char text[100 * KIB];

    memset(text, 'x', sizeof text);
    buf_text(to, "](");
    for (int i = 0; i < SHORT_TEXTS; i++) {
        char name[32];

        add_text(to, name, (size_t)snprintf(name, sizeof name, "layer%d.weight", i));
        if (i % LONG_EVERY == 0)
            add_text(to, text, sizeof text - (size_t)i / LONG_EVERY);
    }
    buf_text(to, "e.behind");
}

TEST(texts_stay_valid_when_the_input_that_was_run_is_freed)
{
    struct buf bytes = BUF_INIT;
    struct ran ran = {.status = 0};
    struct bytes in;
    struct str text;
    char name[32];
    char *own;

    add_texts(&bytes);
    CHECK(bytes.len > 2 * PICKLE_DROP);
    CHECK(build_init(&ran.build, "test", 64 * MIB, NULL, &ran.err) == 0);
    own = arena_alloc(&ran.build.scratch, bytes.len);
    memcpy(own, bytes.at, bytes.len);
    in = bytes_of(own, bytes.len);
    CHECK(pickle_run_dropping(&ran.pickle, &ran.build, &in, STR("test"), &ran.err) ==
          0);
    CHECK(ran.pickle.complete);
    CHECK(str_is(str_span(in.at, bytes_left(&in)), "behind"));
    for (uint32_t i = 0, at = 0; i < SHORT_TEXTS; i++) {
        snprintf(name, sizeof name, "layer%u.weight", i);
        text = pickle_text(&ran.pickle,
                           pickle_list_at(&ran.pickle, ran.pickle.result, at++));
        CHECK(str_is(text, name));
        if (i % LONG_EVERY != 0)
            continue;
        text = pickle_text(&ran.pickle,
                           pickle_list_at(&ran.pickle, ran.pickle.result, at++));
        CHECK_INT(text.len, 100 * KIB - i / LONG_EVERY);
        CHECK(text.at[0] == 'x' && text.at[text.len - 1] == 'x');
    }
    ran_release(&ran);
    buf_release(&bytes);
}
