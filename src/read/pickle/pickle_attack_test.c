#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "read/pickle/test_pickle_in.h"

/* Known attacks on unpicklers and scanners, each in a minimal file. */

#define RAN(ran, literal) ran_init(&(ran), literal, sizeof(literal) - 1)

TEST(a_call_before_an_invalid_opcode_is_in_the_log)
{
    static const char bytes[] = "\x80\x02"
                                "cposix\nsystem\nX\x02\x00\x00\x00id\x85R\xff\xff.";
    struct ran ran;

    RAN(ran, bytes);
    CHECK_INT(ran_acts(&ran, "posix.system", PICKLE_CALLS), 1);
    CHECK(ran_found(&ran, FINDING_PICKLE_MALFORMED, "0xff at byte 25"));
    CHECK_STR(ran_text(&ran), "posix.system('id')");
    ran_release(&ran);
}

TEST(a_call_whose_result_is_dropped_is_in_the_log)
{
    struct ran ran;

    RAN(ran, "cos\nsystem\n(S'id'\ntR0N.");
    CHECK_STR(ran_text(&ran), "None");
    CHECK_INT(ran_acts(&ran, "os.system", PICKLE_NAMES), 1);
    CHECK_INT(ran_acts(&ran, "os.system", PICKLE_CALLS), 1);
    ran_release(&ran);
}

TEST(a_call_before_a_stack_underflow_is_in_the_log)
{
    struct ran ran;

    RAN(ran, "cos\nsystem\n(S'id'\ntR00");
    CHECK_INT(ran.status, 0);
    CHECK(!ran.pickle.complete);
    CHECK_INT(ran_acts(&ran, "os.system", PICKLE_CALLS), 1);
    ran_release(&ran);
}

TEST(a_call_shows_its_arguments_in_the_log)
{
    const struct pickle_log *log;
    struct ran ran;

    RAN(ran, "cos\nsystem\n(S'rm -rf'\ntR.");
    log = &ran.build.model->pickle;
    CHECK_INT(log->n_events, 2);
    CHECK_INT(log->events[1].act, PICKLE_CALLS);
    CHECK_INT(log->events[1].offset, 23);
    CHECK(str_is(
        value_text(build_values(&ran.build),
                   value_items(build_values(&ran.build), log->events[1].args)[0]),
        "rm -rf"));
    ran_release(&ran);
}

TEST(a_name_through_the_memo_is_found)
{
    struct ran ran;

    RAN(ran, "\x80\x04\x8c\x06system\x94\x8c\x05posix\x94"
             "0"
             "0h\x01h\x00\x93\x8c\x02id\x85R.");
    CHECK_INT(ran_acts(&ran, "posix.system", PICKLE_CALLS), 1);
    ran_release(&ran);
}

TEST(inst_and_obj_call_the_class_only_if_there_are_arguments)
{
    struct ran ran;

    RAN(ran, "(S'id'\nios\nsystem\n.");
    CHECK_INT(ran_acts(&ran, "os.system", PICKLE_NAMES), 1);
    CHECK_INT(ran_acts(&ran, "os.system", PICKLE_CALLS), 1);
    ran_release(&ran);
    RAN(ran, "(cos\nsystem\nS'id'\no.");
    CHECK_INT(ran_acts(&ran, "os.system", PICKLE_CALLS), 1);
    ran_release(&ran);
    RAN(ran, "(cmy\nNet\no.");
    CHECK_INT(ran_acts(&ran, "my.Net", PICKLE_CALLS), 0);
    CHECK_INT(ran_acts(&ran, "my.Net", PICKLE_MAKES), 1);
    ran_release(&ran);
}

TEST(a_function_passed_to_a_caller_counts_as_called)
{
    struct ran ran;

    RAN(ran, "ctorch._tensor\n_rebuild_from_type_v2\n(cmy\nrun\ncmy\nT\n(t}tR.");
    CHECK_INT(ran_acts(&ran, "my.run", PICKLE_CALLS), 1);
    CHECK_INT(ran_acts(&ran, "my.T", PICKLE_MAKES), 1);
    ran_release(&ran);
    RAN(ran, "cnumpy.random._pickle\n__randomstate_ctor\n(Vid\ncmy\nrun\ntR.");
    CHECK_INT(ran_acts(&ran, "my.run", PICKLE_CALLS), 1);
    ran_release(&ran);
    RAN(ran, "ccopyreg\n_reconstructor\n(cmy\nT\ncmy\nBase\nVid\ntR.");
    CHECK_INT(ran_acts(&ran, "my.Base", PICKLE_CALLS), 1);
    CHECK_INT(ran_acts(&ran, "my.T", PICKLE_MAKES), 1);
    ran_release(&ran);
}

TEST(items_added_to_an_object_are_in_the_log)
{
    struct ran ran;

    RAN(ran, "\x80\x02"
             "cmy\nT\n)\x81K\x01K\x02s.");
    CHECK_INT(ran_acts(&ran, "my.T", PICKLE_FILLS), 1);
    ran_release(&ran);
    RAN(ran, "\x80\x02"
             "ccollections\nOrderedDict\n)RK\x01K\x02s.");
    CHECK_INT(ran_acts(&ran, "collections.OrderedDict", PICKLE_FILLS), 0);
    ran_release(&ran);
}

TEST(getattr_calls_with_different_arguments_are_all_kept)
{
    struct ran ran;
    char text[4096] = "";
    size_t n = 0;

    for (int i = 0; i < 2 * PICKLE_LOG_KEEP; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "cbuiltins\ngetattr\n(cmy\nE\nVA%d\ntR0"
                              "cbuiltins\ngetattr\n(cmy\nE\nVSAME\ntR0",
                              i);
    snprintf(text + n, sizeof text - n, "N.");
    ran_init(&ran, text, strlen(text));
    CHECK_INT(ran_acts(&ran, "builtins.getattr", PICKLE_CALLS),
              2 * PICKLE_LOG_KEEP + 1);
    ran_release(&ran);
}

TEST(changing_a_class_or_module_is_a_finding)
{
    struct ran ran;

    RAN(ran, "\x80\x02"
             "ctorch\n_utils\n}X\x01\x00\x00\x00xK\x01sb.");
    CHECK_INT(ran_acts(&ran, "torch._utils", PICKLE_OVERRIDES), 1);
    CHECK(ran_found(&ran, FINDING_PICKLE_OVERRIDE, "BUILD at byte 26"));
    ran_release(&ran);
    RAN(ran, "cos\nenviron\nS'PATH'\nS'x'\ns.");
    CHECK(ran_found(&ran, FINDING_PICKLE_OVERRIDE, "SETITEM at byte 25"));
    ran_release(&ran);
    RAN(ran, "csys\npath\nS'x'\na.");
    CHECK(ran_found(&ran, FINDING_PICKLE_OVERRIDE, "APPEND"));
    CHECK_INT(ran_acts(&ran, "sys.path", PICKLE_OVERRIDES), 1);
    ran_release(&ran);
}

TEST(a_computed_name_is_logged_as_computed_and_the_run_continues)
{
    struct ran ran;

    RAN(ran, "\x80\x04"
             "cm\nf\n)R\x8c\x06system\x93\x8c\x02id\x85R.");
    CHECK(ran.pickle.complete);
    CHECK_INT(ran_acts(&ran, "<computed>", PICKLE_NAMES), 1);
    CHECK_INT(ran_acts(&ran, "<computed>", PICKLE_CALLS), 1);
    CHECK_STR(ran_text(&ran), "<computed>('id')");
    ran_release(&ran);
}

TEST(calling_the_result_of_a_call_is_in_the_log)
{
    struct ran ran;

    RAN(ran, "cbuiltins\ngetattr\n(cos\nsystem\nS'x'\ntR(S'id'\ntR.");
    CHECK_INT(ran_acts(&ran, "builtins.getattr", PICKLE_CALLS), 1);
    CHECK_INT(ran_acts(&ran, "<computed>", PICKLE_CALLS), 1);
    ran_release(&ran);
}

TEST(a_missing_memo_entry_ends_the_run_and_its_offset_is_reported)
{
    CHECK_BROKEN("]K\x01"
                 "ah\x09"
                 "a.",
                 "[1]", "opcode BINGET at byte 4: memo 9 was never filled");
    CHECK_BROKEN("]g9\na.", "[]", "opcode GET at byte 1");
    CHECK_BROKEN("]j\xff\xff\xff\x7f"
                 "a.",
                 "[]", "LONG_BINGET");
}

TEST(invalid_memo_numbers_are_refused)
{
    CHECK_BROKEN("]p-1\n.", "[]", "opcode PUT at byte 1");
    CHECK_BROKEN("]p99999999999\n.", "[]", "not a memo number");
    CHECK_BROKEN("]g-1\n.", "[]", "opcode GET at byte 1");
}

TEST(an_empty_stack_is_never_read)
{
    static const char opcodes[] = "0"
                                  "1"
                                  "2"
                                  "alesutdbRo.Q"
                                  "\x81\x92\x93\x85\x86\x87"
                                  "\x90\x91\x94\x98q\x01p1\n";

    for (size_t i = 0; i + 1 < sizeof opcodes; i++) {
        struct ran ran;
        char bytes[] = {opcodes[i], 'x', '\n', 0, 0, 0};

        ran_init(&ran, bytes, sizeof bytes);
        CHECK(!ran.pickle.complete);
        CHECK(ran.build.model->n_findings > 0);
        ran_release(&ran);
    }
}

TEST(values_below_a_mark_cannot_be_popped)
{
    CHECK_BROKEN("K\x01K\x02(\x86.", "1", "TUPLE2 at byte 5");
    CHECK_BROKEN("](a.", "[]", "APPEND at byte 2");
}

TEST(adding_items_to_a_value_that_takes_none_ends_the_run)
{
    CHECK_BROKEN("K\x01K\x02K\x03s.", "1", "SETITEM at byte 6");
    CHECK_BROKEN("N}K\x01K\x02sb.", "None", "BUILD");
    CHECK_BROKEN("]K\x01K\x02s.", "[]", "SETITEM");
    CHECK_BROKEN("}K\x01"
                 "a.",
                 "{}", "APPEND");
    CHECK_BROKEN("}]Ns.", "{}", "a list or a dict cannot be a key");
}

TEST(a_key_without_a_value_ends_the_run_but_keeps_the_pairs)
{
    CHECK_BROKEN("}(K\x01K\x02K\x03u.", "{1: 2}", "opcode SETITEMS at byte 8");
    CHECK_BROKEN("](K\x01K\x02K\x03"
                 "d.",
                 "[]", "opcode DICT at byte 8");
}

TEST(wrong_lengths_allocate_nothing)
{
    CHECK_BROKEN("]\x8d\xff\xff\xff\xff\xff\xff\xff\x3f"
                 "ab.",
                 "[]",
                 "BINUNICODE8 at byte 1: its argument has "
                 "4611686018427387903 bytes, but only 3 are left");
    CHECK_BROKEN("]\x8e\xff\xff\xff\xff\xff\xff\xff\xff"
                 "ab.",
                 "[]", "BINBYTES8");
    CHECK_BROKEN("]\x96\x00\x00\x00\x00\x00\x00\x00\x40.", "[]", "BYTEARRAY8");
    CHECK_BROKEN("]X\xff\xff\xff\xff"
                 "ab.",
                 "[]", "BINUNICODE");
    CHECK_BROKEN("]\x8b\xff\xff\xff\xff.", "[]",
                 "LONG4 at byte 1: its argument has a "
                 "negative length");
    CHECK_BROKEN("]\x8b\xff\xff\xff\x7f.", "[]", "LONG4");
    CHECK_BROKEN("]T\xff\xff\xff\xff.", "[]", "BINSTRING");
    CHECK_BROKEN("]J\x01\x02", "[]", "the pickle ends inside its argument");
    CHECK_BROKEN("]Sno end", "[]", "a line that does not end");
}

TEST(a_pickle_without_a_stop_keeps_its_values)
{
    CHECK_BROKEN("]K\x01"
                 "a",
                 "[1]", "ends at byte 4 without a STOP");
    CHECK_BROKEN("\x80\x07N.", "", "no protocol above 5");
}

TEST(a_second_proto_is_a_finding)
{
    struct ran ran;

    RAN(ran, "\x80\x02N0\x80\x04N.");
    CHECK(ran.pickle.complete);
    CHECK(ran_found(&ran, FINDING_PICKLE_MALFORMED, "PROTO at byte 4"));
    ran_release(&ran);
}

TEST(a_number_of_a_million_digits_stays_text)
{
    struct buf bytes = BUF_INIT;
    struct ran ran;

    buf_char(&bytes, 'L');
    buf_fill(&bytes, '9', 1000000);
    buf_text(&bytes, "L\n.");
    ran_init(&ran, bytes.at, bytes.len);
    CHECK(ran.pickle.complete);
    CHECK_INT(pickle_number_text(&ran.pickle, ran.pickle.result).len, 1000000);
    buf_release(&bytes);
    ran_release(&ran);
}

TEST(a_memo_bomb_stays_small)
{
    struct buf bytes = BUF_INIT;
    struct ran ran;

    /* Each list holds the one before twice: 2^1000 items when expanded. */
    buf_text(&bytes, "](NNe");
    for (int i = 0; i < 1000; i++)
        buf_text(&bytes, "q\1]h\1ah\1a");
    buf_char(&bytes, '.');
    ran_init(&ran, bytes.at, bytes.len);
    CHECK(ran.pickle.complete);
    CHECK(ran.pickle.n_nodes < 1100);
    CHECK(pickle_value(&ran.pickle, ran.pickle.result, NULL) != VALUE_ID_FAILED);
    CHECK(build_values(&ran.build)->n < 1000);
    buf_release(&bytes);
    ran_release(&ran);
}

static void run_repeated(const char *head, const char *repeated, uint32_t times,
                         const char *tail, struct ran *ran, struct buf *bytes)
{
    buf_text(bytes, head);
    for (uint32_t i = 0; i < times; i++)
        buf_text(bytes, repeated);
    buf_text(bytes, tail);
    ran_init(ran, bytes->at, bytes->len);
}

TEST(half_a_million_nested_containers_do_not_overflow_the_stack)
{
    struct buf bytes = BUF_INIT;
    struct ran ran;

    run_repeated(")", "\x85", 500000, ".", &ran, &bytes);
    CHECK(ran.pickle.complete);
    CHECK(pickle_value(&ran.pickle, ran.pickle.result, NULL) != VALUE_ID_FAILED);
    CHECK(!pickle_holds_tensors(&ran.pickle));
    ran_release(&ran);
    buf_clear(&bytes);
    run_repeated("", "]", 200000, "", &ran, &bytes);
    CHECK(!ran.pickle.complete);
    ran_release(&ran);
    buf_release(&bytes);
}

TEST(too_many_marks_end_the_run)
{
    struct buf bytes = BUF_INIT;
    struct ran ran;

    run_repeated("]", "((((((((((", 200000, "", &ran, &bytes);
    CHECK(!ran.pickle.complete);
    CHECK(ran_found(&ran, FINDING_LIMIT, "more than a million marks"));
    ran_release(&ran);
    buf_release(&bytes);
}

TEST(too_many_values_end_the_run_at_the_memory_limit)
{
    struct buf bytes = BUF_INIT;
    struct ran ran;

    run_repeated("", "\x97\x97\x97\x97\x97\x97\x97\x97\x97\x97", 400000, "", &ran,
                 &bytes);
    CHECK(!ran.pickle.complete);
    CHECK(ran.build.scratch.used <= 64 * MIB);
    CHECK(ran_found(&ran, FINDING_LIMIT, "memory"));
    ran_release(&ran);
    buf_release(&bytes);
}

TEST(a_list_that_contains_itself_is_cut)
{
    CHECK_PICKLE("]q\x00h\x00"
                 "a.",
                 "[<leads back to itself>]");
    CHECK_PICKLE("}q\x00\x8c\x01xh\x00s.", "{'x': <leads back to itself>}");
}

TEST(many_events_of_one_kind_are_counted_and_few_are_kept)
{
    struct buf bytes = BUF_INIT;
    struct ran ran;

    run_repeated("cm\nf\nq\1", "h\1)R0", 1000, ".", &ran, &bytes);
    CHECK_INT(ran_acts(&ran, "m.f", PICKLE_CALLS), 1000);
    CHECK_INT(ran.build.model->pickle.n_events, 1 + PICKLE_LOG_KEEP);
    ran_release(&ran);
    buf_release(&bytes);
}

/* ---- truncated pickles: partial results ---- */

TEST(a_state_dict_cut_in_the_middle_shows_the_entries_before_the_cut)
{
    CHECK_BROKEN("\x80\x02}(\x8c\x01"
                 "aK\x01\x8c\x01"
                 "bK\x02\x8c\x01"
                 "c",
                 "{'a': 1, 'b': 2}", "without a STOP");
    CHECK_BROKEN("\x80\x02"
                 "ccollections\nOrderedDict\n)R(\x8c\x01"
                 "aK\x01\x8c\x01"
                 "bcm\nrebuild\n(K\x01K\x02",
                 "{'a': 1}", "without a STOP");
}

TEST(a_module_cut_in_the_middle_shows_the_attributes_before_the_cut)
{
    CHECK_BROKEN("\x80\x02"
                 "cm\nNet\n)\x81}(\x8c\x01"
                 "aK\x01\x8c\x01"
                 "bcm\nConv\n)\x81}(\x8c\x01"
                 "cK\x02\x8c\x01"
                 "d(K\x03K\x04",
                 "m.Net{'a': 1, 'b': m.Conv{'c': 2, 'd': (3, 4)}}", "without a STOP");
}

TEST(a_dict_of_protocol_0_cut_in_the_middle_shows_the_items_before_the_cut)
{
    CHECK_BROKEN("(dp0\nS'a'\np1\n(dp2\nS'b'\np3\nI5\n", "{'a': {'b': 5}}",
                 "without a STOP");
}

TEST(a_pickle_cut_at_any_byte_neither_crashes_nor_leaks)
{
    static const char whole[] =
        "\x80\x02}q\x00(\x8c\x01"
        "aq\x01]q\x02(K\x01M\x01\x02J\x01\x02\x03\x04G\x40\x04\x00\x00\x00\x00\x00\x00"
        "e\x8c\x01"
        "bccollections\nOrderedDict\n)R(\x8c\x01xcm\nC\n)\x81}\x8c\x01yI5\nsb"
        "uF2.5\nS'q\\x41'\nVu\\u0041\nK\x01K\x02K\x03\x87\x8f(N\x90"
        "u.";

    for (size_t n = 0; n < sizeof whole; n++) {
        struct ran ran;

        ran_init(&ran, whole, n);
        CHECK(ran.status == 0 || ran.err.code == ERR_FORMAT);
        ran_text(&ran);
        ran_release(&ran);
    }
}
