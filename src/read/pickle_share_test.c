/* Empty things are one node as long as they are empty, and nobody may be able to tell.
 */
#include "base/test.h"
#include "read/test_pickle_in.h"

#define ORDERED "ccollections\nOrderedDict\n)R"
#define TAG     "ctorch.jit._pickle\nrestore_type_tag\n"

TEST(two_empty_things_are_two)
{
    CHECK_PICKLE("}}K\x01K\x02s\x86.", "({}, {1: 2})");
    CHECK_PICKLE("}q\x00}q\x01K\x01K\x02s\x86.", "({}, {1: 2})");
    CHECK_PICKLE("]]K\x01"
                 "a]\x87.",
                 "([], [1], [])");
    CHECK_PICKLE("\x80\x04\x8f\x94\x8f\x94(K\x01\x90\x86.", "(set(), set(1))");
    CHECK_PICKLE(ORDERED ORDERED "K\x01K\x02s" ORDERED "\x87.", "({}, {1: 2}, {})");
}

TEST(one_empty_thing_stays_one_when_it_is_met_again)
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

/* A call that gives back what stands in its arguments is a second way to it. */
TEST(what_a_call_gives_back_is_the_same_as_in_its_arguments)
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

TEST(numbers_of_the_memo_count_what_nobody_fetches)
{
    CHECK_PICKLE("\x80\x04]\x94}\x94K\x01K\x02sh\x01\x87.", "([], {1: 2}, {1: 2})");
    CHECK_PICKLE("\x80\x04]\x94q\x00}\x94K\x01K\x02sh\x01\x87.",
                 "([], {1: 2}, {1: 2})");
}

TEST(dicts_with_the_same_items_go_their_own_ways)
{
    CHECK_PICKLE("}q\x00(K\x01K\x02K\x03K\x04u}(K\x01K\x02K\x03K\x04uh\x00K\x05K\x06s"
                 "\x87.",
                 "({1: 2, 3: 4, 5: 6}, {1: 2, 3: 4}, {1: 2, 3: 4, 5: 6})");
    CHECK_PICKLE("}(K\x01K\x02K\x03K\x04u}(K\x01K\x02K\x03K\x04uK\x05K\x06s"
                 "}(K\x01K\x02K\x03K\x04uK\x07K\x08s\x87.",
                 "({1: 2, 3: 4}, {1: 2, 3: 4, 5: 6}, {1: 2, 3: 4, 7: 8})");
    /* One moves away, and what it leaves behind still belongs to the other. */
    CHECK_PICKLE("}q\x00(K\x01K\x02K\x03K\x04u}(K\x01K\x02K\x03K\x04u]K\x09"
                 "ah\x00(K\x05K\x06K\x07K\x08u0](K\x0aK\x0bK\x0cK\x0d"
                 "e\x87h\x00\x86.",
                 "(({1: 2, 3: 4}, [9], [10, 11, 12, 13]), {1: 2, 3: 4, 5: 6, 7: 8})");
}

TEST(a_flood_of_empty_things_takes_no_memory)
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

TEST(a_pickle_that_breaks_off_fills_what_was_empty)
{
    CHECK_BROKEN("}(K\x01K\x02", "{1: 2}", "STOP");
    CHECK_BROKEN("}q\x00(K\x01}q\x01K\x02", "{1: {}}", "STOP");
}
