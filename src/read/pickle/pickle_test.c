#include "base/test.h"

#include "read/pickle/test_pickle_in.h"

/* ---- every opcode ---- */

TEST(constants_and_whole_numbers_of_all_sizes_are_read)
{
    CHECK_PICKLE("N.", "None");
    CHECK_PICKLE("\x80\x02\x88.", "True");
    CHECK_PICKLE("\x80\x02\x89.", "False");
    CHECK_PICKLE("I42\n.", "42");
    CHECK_PICKLE("I00\n.", "False");
    CHECK_PICKLE("I01\n.", "True");
    CHECK_PICKLE("I-7\n.", "-7");
    CHECK_PICKLE("K\xff.", "255");
    CHECK_PICKLE("M\x01\x02.", "513");
    CHECK_PICKLE("J\xff\xff\xff\xff.", "-1");
    CHECK_PICKLE("J\x00\x00\x00\x80.", "-2147483648");
}

TEST(long_numbers_of_any_length_are_read)
{
    CHECK_PICKLE("L5L\n.", "5");
    CHECK_PICKLE("L5\n.", "5");
    CHECK_PICKLE("L-9223372036854775808L\n.", "-9223372036854775808");
    CHECK_PICKLE("L123456789012345678901234567890L\n.",
                 "123456789012345678901234567890");
    CHECK_PICKLE("\x8a\x00.", "0");
    CHECK_PICKLE("\x8a\x01\xff.", "-1");
    CHECK_PICKLE("\x8a\x02\xff\x00.", "255");
    CHECK_PICKLE("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.", "-9223372036854775808");
    /* A redundant sign byte changes nothing. */
    CHECK_PICKLE("\x8a\x0a\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00.", "5");
    CHECK_PICKLE("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.",
                 "119547037146038801333356");
    CHECK_PICKLE("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\xff.",
                 "-18446744073709551616");
    CHECK_PICKLE("\x8b\x03\x00\x00\x00\x01\x02\x03.", "197121");
}

TEST(floats_are_read_from_text_and_from_big_endian_bytes)
{
    CHECK_PICKLE("F2.5\n.", "2.5");
    CHECK_PICKLE("F-1e300\n.", "-1e+300");
    CHECK_PICKLE("G\x40\x04\x00\x00\x00\x00\x00\x00.", "2.5");
    CHECK_BROKEN("(lFnot\na.", "[]", "FLOAT at byte 2");
}

TEST(strings_of_python_2_are_text_if_they_are_valid_utf_8)
{
    CHECK_PICKLE("S'it\\'s \\x41\\n\\101\\\\'\n.", "'it's A\nA\\'");
    CHECK_PICKLE("S\"a\"\n.", "'a'");
    CHECK_PICKLE("S'\\xff\\xfe'\n.", "b'fffe'");
    CHECK_PICKLE("T\x03\x00\x00\x00"
                 "abc.",
                 "'abc'");
    CHECK_PICKLE("U\x02\xff\x00.", "b'ff00'");
    CHECK_BROKEN("]Sbare\na.", "[]", "not quoted");
}

TEST(unicode_strings_of_all_lengths_are_read)
{
    CHECK_PICKLE("Vab\\u00e9\\U0001f600\xe9\n.", "'ab\u00e9\U0001f600\u00e9'");
    CHECK_PICKLE("Va\\\\u0041\n.",
                 "'a\\\\u0041'"); /* the backslash is escaped itself */
    CHECK_PICKLE("X\x02\x00\x00\x00hi.", "'hi'");
    CHECK_PICKLE("\x8c\x02hi.", "'hi'");
    CHECK_PICKLE("\x8d\x02\x00\x00\x00\x00\x00\x00\x00hi.", "'hi'");
}

TEST(bytes_of_all_lengths_are_read)
{
    CHECK_PICKLE("B\x02\x00\x00\x00\x01\xff.", "b'01ff'");
    CHECK_PICKLE("C\x02\x01\xff.", "b'01ff'");
    CHECK_PICKLE("\x8e\x02\x00\x00\x00\x00\x00\x00\x00\x01\xff.", "b'01ff'");
    CHECK_PICKLE("\x96\x02\x00\x00\x00\x00\x00\x00\x00\x01\xff.", "b'01ff'");
    CHECK_PICKLE("\x97.", "<a buffer outside the pickle>");
    CHECK_PICKLE("\x97\x98.", "<a buffer outside the pickle>");
}

TEST(lists_tuples_and_sets_are_read)
{
    CHECK_PICKLE("].", "[]");
    CHECK_PICKLE("(K\x01K\x02l.", "[1, 2]");
    CHECK_PICKLE("]K\x01"
                 "aK\x02"
                 "a.",
                 "[1, 2]");
    CHECK_PICKLE("](K\x01K\x02"
                 "e(K\x03"
                 "e(e.",
                 "[1, 2, 3]");
    CHECK_PICKLE(").", "()");
    CHECK_PICKLE("(t.", "()");
    CHECK_PICKLE("(K\x01K\x02K\x03K\x04t.", "(1, 2, 3, 4)");
    CHECK_PICKLE("K\x01\x85.", "(1)");
    CHECK_PICKLE("K\x01K\x02\x86.", "(1, 2)");
    CHECK_PICKLE("K\x01K\x02K\x03\x87.", "(1, 2, 3)");
    CHECK_PICKLE("\x8f(K\x01K\x02\x90.", "set(1, 2)");
    CHECK_PICKLE("(K\x01K\x02\x91.", "set(1, 2)");
}

TEST(dicts_are_read_in_order)
{
    CHECK_PICKLE("}.", "{}");
    CHECK_PICKLE("(K\x01NK\x02\x88"
                 "d.",
                 "{1: None, 2: True}");
    CHECK_PICKLE("}K\x01Ns.", "{1: None}");
    CHECK_PICKLE("}(K\x02NK\x01Nu(K\x03Nu.", "{2: None, 1: None, 3: None}");
}

TEST(the_stack_can_be_popped_and_doubled)
{
    CHECK_PICKLE("K\x01K\x02"
                 "0.",
                 "1");
    CHECK_PICKLE("K\x01(0.", "1"); /* POP takes the mark off */
    CHECK_PICKLE("K\x01(NN1.", "1");
    CHECK_PICKLE("K\x01"
                 "2\x86.",
                 "(1, 1)");
}

TEST(all_memo_opcodes_work)
{
    CHECK_PICKLE("]p0\ng0\n\x86.", "([], [])");
    CHECK_PICKLE("]q\x05h\x05\x86.", "([], [])");
    CHECK_PICKLE("]r\x00\x00\x01\x00j\x00\x00\x01\x00\x86.", "([], [])");
    CHECK_PICKLE("]r\xff\xff\xff\xffj\xff\xff\xff\xff\x86.", "([], [])");
    CHECK_PICKLE("\x80\x04K\x01\x94K\x02\x94h\x00h\x01\x87.", "(2, 1, 2)");
}

TEST(memo_numbers_in_both_tables_are_counted_once)
{
    struct buf bytes = BUF_INIT;
    struct ran ran;

    /* 8000 is far at first and near later; MEMOIZE must still take the right number. */
    buf_text(&bytes, "]p8000\n");
    for (int i = 0; i < 3000; i++)
        buf_printf(&bytes, "p%d\n", i);
    buf_text(&bytes, "p8000\nI1\n\x94"
                     "0I2\n0g3001\n.");
    ran_init(&ran, bytes.at, bytes.len);
    CHECK_STR(ran_text(&ran), "1");
    buf_release(&bytes);
    ran_release(&ran);
}

TEST(names_come_from_the_opcode_or_the_stack)
{
    CHECK_PICKLE("ctorch\nfloat16\n.", "<torch.float16>");
    CHECK_PICKLE("\x80\x04\x8c\x05torch\x8c\x07"
                 "float16\x93.",
                 "<torch.float16>");
    /* A name may come out of the memo, in any order. */
    CHECK_PICKLE("\x80\x04\x8c\x01n\x94\x8c\x01m\x94h\x01h\x00\x93.", "<m.n>");
}

TEST(names_of_python_2_are_mapped)
{
    CHECK_PICKLE("c__builtin__\nxrange\n.", "<builtins.range>");
    CHECK_PICKLE("c__builtin__\nset\n.", "<builtins.set>");
    CHECK_PICKLE("ccopy_reg\n_reconstructor\n.", "<copyreg._reconstructor>");
    CHECK_PICKLE("cexceptions\nKeyError\n.", "<builtins.KeyError>");
    CHECK_PICKLE("ctorch.tensor\n_rebuild_from_type\n.",
                 "<torch._tensor._rebuild_from_type>");
}

TEST(calls_and_new_objects_are_nodes)
{
    CHECK_PICKLE("cm\nf\n(K\x01tR.", "m.f(1)");
    CHECK_PICKLE("cm\nC\n)\x81.", "m.C()");
    CHECK_PICKLE("cm\nC\nK\x01\x85}K\x02K\x03s\x92.", "m.C(1, {2: 3})");
    CHECK_PICKLE("(K\x01im\nC\n.", "m.C(1)");
    CHECK_PICKLE("(cm\nC\nK\x01o.", "m.C(1)");
    CHECK_PICKLE("cm\nC\n)\x81}\x8c\x01xK\x01sb.", "m.C{'x': 1}");
    /* A second BUILD wins. */
    CHECK_PICKLE("cm\nC\n)\x81}\x8c\x01xK\x01sb}\x8c\x01yK\x02sb.", "m.C{'y': 2}");
    CHECK_PICKLE("cm\nf\n)RK\x01\x85R.", "<computed>(m.f(), 1)");
}

TEST(all_copyreg_forms_of_a_new_object_give_the_same_node)
{
    CHECK_PICKLE("ccopy_reg\n_reconstructor\n(cm\nC\nc__builtin__\nobject\nNtR.",
                 "m.C()");
    CHECK_PICKLE("ccopyreg\n__newobj__\n(cm\nC\nK\x01tR.", "m.C(1)");
    CHECK_PICKLE("ccopyreg\n__newobj_ex__\n(cm\nC\nK\x01\x85}tR.", "m.C(1, {})");
    CHECK_PICKLE("ccopy_reg\n_reconstructor\n(cm\nC\nc__builtin__\ndict\n(\x8c\x01k"
                 "K\x01"
                 "dtR.",
                 "m.C{'k': 1}");
}

TEST(persistent_ids_and_extension_codes_are_kept)
{
    CHECK_PICKLE("Pthe id\n.", "persistent_load('the id')");
    CHECK_PICKLE("K\x07Q.", "persistent_load(7)");
    CHECK_PICKLE("\x82\x05.", "<extension>(5)");
    CHECK_PICKLE("\x83\x05\x01.", "<extension>(261)");
    CHECK_PICKLE("\x84\x05\x00\x00\x00.", "<extension>(5)");
}

TEST(items_can_be_added_to_any_object)
{
    CHECK_PICKLE("ccollections\nOrderedDict\n)R(\x8c\x01"
                 "aK\x01\x8c\x01"
                 "bK\x02u.",
                 "{'a': 1, 'b': 2}");
    CHECK_PICKLE("ccollections\ndeque\n(](K\x01"
                 "eK\x05tR(K\x02K\x03"
                 "e.",
                 "[1, 2, 3]");
    CHECK_PICKLE("cm\nMyDict\n)\x81\x8c\x01"
                 "aK\x01s.",
                 "m.MyDict{'a': 1}");
    CHECK_PICKLE("cm\nMyList\n)\x81K\x01"
                 "a.",
                 "m.MyList([1])");
    /* One object may get both kinds. */
    CHECK_PICKLE("cm\nBoth\n)\x81K\x01"
                 "a\x8c\x01kK\x02s.",
                 "m.Both{'k': 2}");
}

TEST(a_wrong_frame_length_is_a_finding_but_changes_nothing)
{
    static const char lies[] = "\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7fN.";
    struct ran ran;

    CHECK_PICKLE("\x80\x04\x95\x02\x00\x00\x00\x00\x00\x00\x00N.", "None");
    ran_init(&ran, lies, sizeof lies - 1);
    CHECK(ran.pickle.complete);
    CHECK(ran_found(&ran, FINDING_SIZE_MISMATCH, "FRAME at byte 2"));
    ran_release(&ran);
}

TEST(bytes_after_the_stop_are_left_to_the_caller)
{
    struct ran ran;

    ran_init(&ran, "N.trailing", 10);
    CHECK_INT(ran.left, 8);
    CHECK_INT(ran.pickle.size, 2);
    ran_release(&ran);
}

TEST(the_log_has_the_protocol_and_length_of_the_stream)
{
    struct ran ran;
    const struct pickle_stream *stream;

    ran_init(&ran, "\x80\x03NN0.", 6);
    stream = &ran.build.model->pickle.streams[0];
    CHECK(stream->complete);
    CHECK_INT(stream->protocol, 3);
    CHECK_INT(stream->opcodes, 5);
    CHECK_INT(stream->size, 6);
    ran_release(&ran);
}

/* ---- growing containers ---- */

TEST(lists_that_grow_in_turns_keep_their_items_in_order)
{
    struct buf bytes = BUF_INIT;
    struct ran ran;
    node_id first, second;

    /* Two lists in the memo; each is fetched for every single APPEND. */
    buf_add(&bytes, "]q\x00]q\x01", 6);
    for (int i = 0; i < 20000; i++) {
        buf_add(&bytes, "h\x00M", 3);
        buf_add(&bytes, (char[]){(char)i, (char)(i >> 8)}, 2);
        buf_add(&bytes,
                "a0h\x01K\x07"
                "a0",
                8);
    }
    buf_add(&bytes, "\x86.", 2);
    ran_init(&ran, bytes.at, bytes.len);
    CHECK(ran.pickle.complete);
    first = pickle_item(&ran.pickle, ran.pickle.result, 0);
    second = pickle_item(&ran.pickle, ran.pickle.result, 1);
    CHECK_INT(pickle_list_n(&ran.pickle, first), 20000);
    CHECK_INT(pickle_list_n(&ran.pickle, second), 20000);
    for (uint32_t i = 0; i < 20000; i++) {
        int64_t value = -1;

        CHECK(pickle_int(&ran.pickle, pickle_list_at(&ran.pickle, first, i), &value));
        CHECK_INT(value, i);
    }
    CHECK(ran.pickle.n_items < 40000 * 4);
    buf_release(&bytes);
    ran_release(&ran);
}

TEST(the_last_value_of_a_key_wins_in_a_large_dict)
{
    struct buf bytes = BUF_INIT;
    struct ran ran;
    int64_t value = 0;

    buf_text(&bytes, "}(");
    for (int i = 0; i < 1000; i++)
        buf_printf(&bytes, "Vkey%d\nI%d\n", i, i);
    buf_text(&bytes, "Vkey7\nI-7\nu.");
    ran_init(&ran, bytes.at, bytes.len);
    CHECK_INT(pickle_dict_n(&ran.pickle, ran.pickle.result), 1001);
    CHECK(pickle_int(&ran.pickle,
                     pickle_dict_get(&ran.pickle, ran.pickle.result, "key999"),
                     &value));
    CHECK_INT(value, 999);
    CHECK(pickle_int(&ran.pickle,
                     pickle_dict_get(&ran.pickle, ran.pickle.result, "key7"), &value));
    CHECK_INT(value, -7);
    CHECK(pickle_dict_get(&ran.pickle, ran.pickle.result, "key1000") == NO_NODE);
    buf_release(&bytes);
    ran_release(&ran);
}

TEST(python_2s_ordered_dict_of_pairs_is_a_dict)
{
    static const char bytes[] = "ccollections\nOrderedDict\n(]](S'a'\nK\x01"
                                "ea](S'b'\nK\x02"
                                "eatR.";
    struct ran ran;
    node_id key, value;

    ran_init(&ran, bytes, sizeof bytes - 1);
    CHECK(pickle_is_dict(&ran.pickle, ran.pickle.result));
    CHECK_INT(pickle_dict_n(&ran.pickle, ran.pickle.result), 2);
    CHECK(pickle_dict_at(&ran.pickle, ran.pickle.result, 1, &key, &value));
    CHECK(str_is(pickle_text(&ran.pickle, key), "b"));
    CHECK(!pickle_dict_at(&ran.pickle, ran.pickle.result, 2, &key, &value));
    CHECK_STR(ran_text(&ran), "{'a': 1, 'b': 2}");
    ran_release(&ran);
}

TEST(accessors_return_nothing_for_the_wrong_kind_of_node)
{
    struct ran ran;
    int64_t value;
    node_id key;

    ran_init(&ran, "K\x01.", 3);
    CHECK(pickle_node(&ran.pickle, NO_NODE) == NULL);
    CHECK(pickle_text(&ran.pickle, ran.pickle.result).len == 0);
    CHECK(pickle_count(&ran.pickle, ran.pickle.result) == 0);
    CHECK(pickle_item(&ran.pickle, ran.pickle.result, 0) == NO_NODE);
    CHECK(pickle_arg(&ran.pickle, ran.pickle.result, 0) == NO_NODE);
    CHECK(pickle_callee(&ran.pickle, NO_NODE) == NO_NODE);
    CHECK(!pickle_is_dict(&ran.pickle, ran.pickle.result));
    CHECK(!pickle_is_list(&ran.pickle, NO_NODE));
    CHECK(!pickle_int(&ran.pickle, NO_NODE, &value));
    CHECK(!pickle_dict_at(&ran.pickle, NO_NODE, 0, &key, &key));
    CHECK(pickle_dict_get(&ran.pickle, ran.pickle.result, "x") == NO_NODE);
    ran_release(&ran);
}

/* ---- detection ---- */

#define LOOKS(literal) pickle_looks_like(str_span(literal, sizeof(literal) - 1))

TEST(pickles_are_distinguished_from_text)
{
    CHECK(LOOKS("\x80\x02}."));
    CHECK(!LOOKS("\x80\x06}."));
    CHECK(LOOKS("(dp0\nS'a'\np1\nI1\ns."));
    CHECK(LOOKS("(dp0\nS'a'\np1\nI1\nsS'cut he"));
    CHECK(LOOKS("cos\nsystem\n(S'ls'\ntR."));
    CHECK(LOOKS("cos\nsystem\n(S'ls'\ntR\xff\xff garbage"));
    CHECK(LOOKS("N."));
    CHECK(LOOKS("L119547037146038801333356L\n."));
    CHECK(!LOOKS("Hello world"));
    CHECK(!LOOKS(""));
    CHECK(!LOOKS("."));
    CHECK(!LOOKS("I am a text.\n"));
    CHECK(!LOOKS("cat\ndog\nhorse\n"));
    CHECK(!LOOKS("{\"json\": 1}"));
    CHECK(!LOOKS("(a, b)\n(c, d)\n"));
    CHECK(!LOOKS("((((((((((((((("));
    CHECK(!LOOKS("import torch\nfrom torch import nn\n"));
    CHECK(!LOOKS("PK\x03\x04"));
    CHECK(!LOOKS("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\n"));
}
