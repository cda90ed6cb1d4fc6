#include "base/test.h"

#include "read/pickle/test_pickle_in.h"

/* The bytes were written by Python's own pickle, protocols 0, 2 and 4. */

TEST(bytes_are_read_in_all_protocols)
{
    CHECK_PICKLE("c_codecs\nencode\n(V\\u0000\xff\nVlatin1\ntR.", "b'00ff'");
    CHECK_PICKLE("\x80\x02"
                 "c_codecs\nencode\nX\x03\x00\x00\x00\x00\xc3\xbf"
                 "X\x06\x00\x00\x00latin1\x86R.",
                 "b'00ff'");
    CHECK_PICKLE("\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00"
                 "C\x02\x00"
                 "\xff.",
                 "b'00ff'");
    CHECK_PICKLE("c__builtin__\nbytearray\n(c_codecs\nencode\n(V\x01\x02\n"
                 "Vlatin1\ntRtR.",
                 "b'0102'");
    CHECK_PICKLE("\x80\x02"
                 "c__builtin__\nbytearray\nc_codecs\nencode\nX\x02"
                 "\x00\x00\x00\x01\x02X\x06\x00\x00\x00latin1\x86R\x85R.",
                 "b'0102'");
    CHECK_PICKLE("\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x08"
                 "b"
                 "uiltins\x8c\x09"
                 "bytearray\x93"
                 "C\x02\x01\x02\x85R.",
                 "b'0102'");
}

TEST(builtin_values_are_shown_as_python_shows_them)
{
    CHECK_PICKLE("\x80\x02"
                 "c__builtin__\ncomplex\nG\?\xf0\x00\x00\x00\x00"
                 "\x00\x00G@\x00\x00\x00\x00\x00\x00\x00\x86R.",
                 "complex(1.0, 2.0)");
    CHECK_PICKLE("\x80\x02"
                 "c__builtin__\nxrange\nK\x01K\x05K\x01\x87R.",
                 "range(1, 5, 1)");
    CHECK_PICKLE("\x80\x02"
                 "c__builtin__\nslice\nK\x01NK\x02\x87R.",
                 "slice(1, None, 2)");
    CHECK_PICKLE("c__builtin__\nset\n((lI3\natR.", "set(3)");
    CHECK_PICKLE("\x80\x02"
                 "c__builtin__\nset\n]K\x03"
                 "a\x85R.",
                 "set(3)");
    CHECK_PICKLE("\x80\x04\x95\x06\x00\x00\x00\x00\x00\x00\x00\x8f(K\x03\x90"
                 ".",
                 "set(3)");
    CHECK_PICKLE("\x80\x02"
                 "c__builtin__\nfrozenset\n]K\x03"
                 "a\x85R.",
                 "set(3)");
}

TEST(dates_and_times_are_text)
{
    CHECK_PICKLE("cdatetime\ndatetime\n(c_codecs\nencode\n(V\x07\xe8\x01\x02"
                 "\x03\x04\x05\\u0000\\u0000\x06\nVlatin1\ntRtR.",
                 "'2024-01-02 03:04:05.000006'");
    CHECK_PICKLE("\x80\x02"
                 "cdatetime\ndatetime\nc_codecs\nencode\nX\x0b\x00"
                 "\x00\x00\x07\xc3\xa8\x01\x02\x03\x04\x05\x00\x00\x06X\x06"
                 "\x00\x00\x00latin1\x86R\x85R.",
                 "'2024-01-02 03:04:05.000006'");
    CHECK_PICKLE("\x80\x04\x95$\x00\x00\x00\x00\x00\x00\x00\x8c\x08"
                 "date"
                 "time\x8c\x08"
                 "datetime\x93"
                 "C\n\x07\xe8\x01\x02\x03\x04"
                 "\x05\x00\x00\x06\x85R.",
                 "'2024-01-02 03:04:05.000006'");
    CHECK_PICKLE("\x80\x02"
                 "cdatetime\ndate\nc_codecs\nencode\nX\x05\x00\x00"
                 "\x00\x07\xc3\xa4\x02\x03X\x06\x00\x00\x00latin1\x86R\x85"
                 "R.",
                 "'2020-02-03'");
    CHECK_PICKLE("\x80\x02"
                 "cdatetime\ntime\nc_codecs\nencode\nX\x06\x00\x00"
                 "\x00\x01\x02\x03\x00\x00\x00X\x06\x00\x00\x00latin1\x86R"
                 "\x85R.",
                 "'01:02:03'");
    CHECK_PICKLE("\x80\x02"
                 "cdatetime\ntimedelta\nK\x01K\x02K\x03\x87R.",
                 "datetime.timedelta(1, 2, 3)");
}

TEST(paths_uuids_and_decimals_are_read)
{
    CHECK_PICKLE("\x80\x02"
                 "cpathlib\nPurePosixPath\nX\x01\x00\x00\x00/X\x01"
                 "\x00\x00\x00"
                 "aX\x01\x00\x00\x00"
                 "b\x87R.",
                 "pathlib.PurePosixPath('/a/b')");
    CHECK_PICKLE("ccopy_reg\n_reconstructor\n(cuuid\nUUID\nc__builtin__\no"
                 "bject\nNtR(dVint\nL2419785716101171516217183963698877810"
                 "4L\nsb.",
                 "uuid.UUID{'int': 24197857161011715162171839636988778104}");
    CHECK_PICKLE("\x80\x02"
                 "cuuid\nUUID\n)\x81}X\x03\x00\x00\x00int\x8a\x10"
                 "xV4\x12xV4\x12xV4\x12xV4\x12sb.",
                 "'12345678-1234-5678-1234-567812345678'");
    CHECK_PICKLE("\x80\x04\x95*\x00\x00\x00\x00\x00\x00\x00\x8c\x04uuid\x8c"
                 "\x04UUID\x93)\x81}\x8c\x03int\x8a\x10xV4\x12xV4\x12xV4\x12"
                 "xV4\x12sb.",
                 "'12345678-1234-5678-1234-567812345678'");
    CHECK_PICKLE("\x80\x02"
                 "cdecimal\nDecimal\nX\x04\x00\x00\x00"
                 "1.50\x85"
                 "R.",
                 "decimal.Decimal('1.50')");
}

TEST(containers_of_the_standard_library_are_plain_containers)
{
    CHECK_PICKLE("ccollections\nOrderedDict\n(tRVa\nI1\ns.", "{'a': 1}");
    CHECK_PICKLE("\x80\x02"
                 "ccollections\nOrderedDict\n)RX\x01\x00\x00\x00"
                 "aK\x01s.",
                 "{'a': 1}");
    CHECK_PICKLE("\x80\x04\x95$\x00\x00\x00\x00\x00\x00\x00\x8c\x0b"
                 "coll"
                 "ections\x8c\x0bOrderedDict\x93)R\x8c\x01"
                 "aK\x01s.",
                 "{'a': 1}");
    CHECK_PICKLE("\x80\x02"
                 "ccollections\ndefaultdict\nc__builtin__\nlist"
                 "\n\x85RX\x01\x00\x00\x00kK\x01s.",
                 "{'k': 1}");
    CHECK_PICKLE("\x80\x02"
                 "ccollections\nCounter\n}(X\x01\x00\x00\x00"
                 "a"
                 "K\x02X\x01\x00\x00\x00"
                 "bK\x01u\x85R.",
                 "{'a': 2, 'b': 1}");
    CHECK_PICKLE("\x80\x02"
                 "ccollections\ndeque\n)K\x05\x86R(K\x01K\x02"
                 "e"
                 ".",
                 "[1, 2]");
}

TEST(objects_show_their_attributes)
{
    CHECK_PICKLE("\x80\x02"
                 "cfunctools\npartial\nc__builtin__\nlong\nq\x00"
                 "\x85R(h\x00X\x02\x00\x00\x00"
                 "11\x85}X\x04\x00\x00\x00"
                 "b"
                 "aseK\x02sNtb.",
                 "functools.partial(<builtins.int>, ('11'), {'base': 2})");
    CHECK_PICKLE("ccopy_reg\n_reconstructor\n(cargparse\nNamespace\nc__bui"
                 "ltin__\nobject\nNtR(dVlr\nF0.5\nsVname\nVx\nsb.",
                 "argparse.Namespace{'lr': 0.5, 'name': 'x'}");
    CHECK_PICKLE("\x80\x02"
                 "cargparse\nNamespace\n)\x81}(X\x02\x00\x00\x00"
                 "lrG\?\xe0\x00\x00\x00\x00\x00\x00X\x04\x00\x00\x00nameX\x01"
                 "\x00\x00\x00xub.",
                 "argparse.Namespace{'lr': 0.5, 'name': 'x'}");
    CHECK_PICKLE("\x80\x04\x95"
                 "3\x00\x00\x00\x00\x00\x00\x00\x8c\x08"
                 "a"
                 "rgparse\x8c\x09Namespace\x93)\x81}(\x8c\x02lrG\?\xe0\x00"
                 "\x00\x00\x00\x00\x00\x8c\x04name\x8c\x01xub.",
                 "argparse.Namespace{'lr': 0.5, 'name': 'x'}");
    CHECK_PICKLE("\x80\x02"
                 "ctypes\nSimpleNamespace\n)R}X\x01\x00\x00\x00"
                 "aK\x01sb.",
                 "types.SimpleNamespace{'a': 1}");
}

TEST(numpy_numbers_are_numbers)
{
    CHECK_PICKLE("cnumpy._core.multiarray\nscalar\n(cnumpy\ndtype\n(Vf4\nI"
                 "00\nI01\ntR(I3\nV<\nNNNI-1\nI-1\nI0\ntbc_codecs\nencode\n"
                 "(V\\u0000\\u0000\xc0\?\nVlatin1\ntRtR.",
                 "1.5");
    CHECK_PICKLE("\x80\x02"
                 "cnumpy._core.multiarray\nscalar\ncnumpy\ndtyp"
                 "e\nX\x02\x00\x00\x00"
                 "f4\x89\x88\x87R(K\x03X\x01\x00\x00"
                 "\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tbc_codec"
                 "s\nencode\nX\x05\x00\x00\x00\x00\x00\xc3\x80\?X\x06\x00\x00"
                 "\x00latin1\x86R\x86R.",
                 "1.5");
    CHECK_PICKLE("\x80\x04\x95X\x00\x00\x00\x00\x00\x00\x00\x8c\x16numpy._"
                 "core.multiarray\x8c\x06scalar\x93\x8c\x05numpy\x8c\x05"
                 "d"
                 "type\x93\x8c\x02"
                 "f4\x89\x88\x87R(K\x03\x8c\x01<NNNJ\xff"
                 "\xff\xff\xffJ\xff\xff\xff\xffK\x00tbC\x04\x00\x00\xc0\?\x86"
                 "R.",
                 "1.5");
    CHECK_PICKLE("\x80\x02"
                 "cnumpy._core.multiarray\nscalar\ncnumpy\ndtyp"
                 "e\nX\x02\x00\x00\x00i8\x89\x88\x87R(K\x03X\x01\x00\x00\x00"
                 "<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tbc_codecs\ne"
                 "ncode\nX\x10\x00\x00\x00\xc3\xbd\xc3\xbf\xc3\xbf\xc3\xbf"
                 "\xc3\xbf\xc3\xbf\xc3\xbf\xc3\xbfX\x06\x00\x00\x00latin1\x86"
                 "R\x86R.",
                 "-3");
    CHECK_PICKLE("\x80\x02"
                 "cnumpy._core.multiarray\nscalar\ncnumpy\ndtyp"
                 "e\nX\x02\x00\x00\x00u8\x89\x88\x87R(K\x03X\x01\x00\x00\x00"
                 "<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tbc_codecs\ne"
                 "ncode\nX\x10\x00\x00\x00\xc3\xbf\xc3\xbf\xc3\xbf\xc3\xbf"
                 "\xc3\xbf\xc3\xbf\xc3\xbf\xc3\xbfX\x06\x00\x00\x00latin1\x86"
                 "R\x86R.",
                 "18446744073709551615");
}

TEST(numpy_flags_text_and_complex_numbers_are_read)
{
    CHECK_PICKLE("\x80\x02"
                 "cnumpy._core.multiarray\nscalar\ncnumpy\ndtyp"
                 "e\nX\x02\x00\x00\x00"
                 "b1\x89\x88\x87R(K\x03X\x01\x00\x00"
                 "\x00|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tbc_codec"
                 "s\nencode\nX\x01\x00\x00\x00\x01X\x06\x00\x00\x00latin1\x86"
                 "R\x86R.",
                 "True");
    CHECK_PICKLE("\x80\x02"
                 "cnumpy._core.multiarray\nscalar\ncnumpy\ndtyp"
                 "e\nX\x02\x00\x00\x00U2\x89\x88\x87R(K\x03X\x01\x00\x00\x00"
                 "<NNNK\x08K\x04K\x08tbc_codecs\nencode\nX\x09\x00\x00\x00"
                 "h\x00\x00\x00\xc3\xa9\x00\x00\x00X\x06\x00\x00\x00latin1"
                 "\x86R\x86R.",
                 "'h\u00e9'");
    CHECK_PICKLE("\x80\x02"
                 "cnumpy._core.multiarray\nscalar\ncnumpy\ndtyp"
                 "e\nX\x02\x00\x00\x00"
                 "c8\x89\x88\x87R(K\x03X\x01\x00\x00"
                 "\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tbc_codec"
                 "s\nencode\nX\x09\x00\x00\x00\x00\x00\xc2\x80\?\x00\x00\x00"
                 "@X\x06\x00\x00\x00latin1\x86R\x86R.",
                 "complex(1.0, 2.0)");
    CHECK_PICKLE("\x80\x02"
                 "cnumpy._core.multiarray\nscalar\ncnumpy\ndtyp"
                 "e\nX\x02\x00\x00\x00"
                 "f2\x89\x88\x87R(K\x03X\x01\x00\x00"
                 "\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tbc_codec"
                 "s\nencode\nX\x03\x00\x00\x00\x00\xc2\xb8X\x06\x00\x00\x00"
                 "latin1\x86R\x86R.",
                 "-0.5");
}

TEST(numpy_types_and_arrays_are_named)
{
    CHECK_PICKLE("\x80\x02"
                 "cnumpy\ndtype\nX\x02\x00\x00\x00"
                 "f4\x89\x88"
                 "\x87R(K\x03X\x01\x00\x00\x00>NNNJ\xff\xff\xff\xffJ\xff\xff"
                 "\xff\xffK\x00tb.",
                 "numpy.dtype('>f4')");
    CHECK_PICKLE("\x80\x02"
                 "cnumpy._core.multiarray\n_reconstruct\ncnumpy"
                 "\nndarray\nK\x00\x85"
                 "c_codecs\nencode\nq\x00X\x01\x00\x00"
                 "\x00"
                 "bX\x06\x00\x00\x00latin1q\x01\x86R\x87R(K\x01K\x03"
                 "\x85"
                 "cnumpy\ndtype\nX\x02\x00\x00\x00i4\x89\x88\x87R(K"
                 "\x03X\x01\x00\x00\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff"
                 "K\x00tb\x89h\x00X\x0c\x00\x00\x00\x00\x00\x00\x00\x01\x00"
                 "\x00\x00\x02\x00\x00\x00h\x01\x86Rtb.",
                 "numpy.ndarray{'shape': (3), 'dtype': numpy.dtype('i4')}");
}

TEST(sizes_devices_and_dtypes_of_torch_are_shown_briefly)
{
    CHECK_PICKLE("\x80\x02"
                 "ctorch\ndevice\nX\x04\x00\x00\x00"
                 "cudaK\x01"
                 "\x86R.",
                 "torch.device('cuda:1')");
    CHECK_PICKLE("\x80\x02"
                 "ctorch\nSize\nK\x02K\x03\x86\x85R.",
                 "(2, 3)");
    CHECK_PICKLE("\x80\x02"
                 "ctorch\nfloat16\n.",
                 "<torch.float16>");
}

TEST(enum_members_and_methods_are_shown_by_name)
{
    CHECK_PICKLE("cbuiltins\ngetattr\n(cm\nColour\nVRED\ntR.", "<m.Colour.RED>");
    CHECK_PICKLE("cm\nColour\n(I1\ntR.", "m.Colour(1)");
    CHECK_PICKLE("ctorch.serialization\n_get_layout\n(Vtorch.sparse_coo\ntR.",
                 "<torch.sparse_coo>");
}

TEST(torchscript_lists_and_type_tags_are_unwrapped)
{
    CHECK_PICKLE("ctorch.jit._pickle\nbuild_intlist\n(](I1\nI2\netR.", "[1, 2]");
    CHECK_PICKLE("ctorch.jit._pickle\nrestore_type_tag\n(}VDict[str, int]\ntR.", "{}");
}

TEST(omegaconf_shows_its_content_without_its_parent)
{
    CHECK_PICKLE("comegaconf.dictconfig\nDictConfig\n)\x81p0\n}(V_content\n}Vlr\n"
                 "comegaconf.nodes\nAnyNode\n)\x81}(V_val\nF0.5\nV_parent\ng0\nub"
                 "sV_parent\nNub.",
                 "{'lr': 0.5}");
}

TEST(slots_and_unusual_states_are_shown)
{
    CHECK_PICKLE("cm\nC\n)\x81N}Vx\nI1\ns\x86"
                 "b.",
                 "m.C{'x': 1}");
    CHECK_PICKLE("cm\nC\n)\x81}Va\nI0\ns}Vx\nI1\ns\x86"
                 "b.",
                 "m.C{'a': 0, 'x': 1}");
    CHECK_PICKLE("cm\nC\n)\x81I5\nb.", "m.C{'__setstate__': 5}");
    CHECK_PICKLE("cm\nC\n(I1\nt\x81}Va\nI0\nsb.", "m.C{'__init__': (1), 'a': 0}");
    /* pydantic keeps its attributes one level down. */
    CHECK_PICKLE("cm\nC\n)\x81}(V__dict__\n}Va\nI1\nsV__fields_set__\n(\x91ub.",
                 "m.C{'a': 1}");
}

TEST(a_module_inside_a_value_is_shown_by_name_only)
{
    CHECK_PICKLE("]cm\nNet\n)\x81}(V_modules\n}V_parameters\n}ub"
                 "a.",
                 "[m.Net{}]");
}

TEST(embedded_code_stays_a_call)
{
    CHECK_PICKLE("cdill._dill\n_create_function\n(ctypes\nCodeType\n(I1\ntR}tR.",
                 "dill._dill._create_function(types.CodeType(1), {})");
}

TEST(a_class_with_its_source_is_shown_by_name)
{
    CHECK_PICKLE(
        "\x80\x02(Vmodule\ncm\nNet\nVnet.py\nVclass Net: pass\ntQ)\x81}Va\nI1\n"
        "sb.",
        "m.Net{'a': 1}");
}

static uint32_t tensor_if_called(void *user, node_id node)
{
    const struct pickle *pickle = user;

    return pickle_is_call(pickle, node, "m.tensor") ? 7 : NO_OBJECT;
}

TEST(tensors_inside_values_come_from_the_callback)
{
    static const char bytes[] = "]cm\ntensor\n)Ra.";
    struct pickle_value_hooks hooks = {.tensor = tensor_if_called};
    struct ran ran;
    uint32_t list;
    const struct values *values;

    ran_init(&ran, bytes, sizeof bytes - 1);
    hooks.user = &ran.pickle;
    list = pickle_value(&ran.pickle, ran.pickle.result, &hooks);
    values = build_values(&ran.build);
    CHECK_INT(value_at(values, value_items(values, list)[0])->kind, VALUE_TENSOR);
    CHECK_INT(value_at(values, value_items(values, list)[0])->integer, 7);
    ran_release(&ran);
}

TEST(a_long_list_is_cut_and_shows_how_many_items_are_left)
{
    struct buf bytes = BUF_INIT;
    const struct values *values;
    const struct value *list, *last;
    struct ran ran;

    buf_text(&bytes, "](");
    for (int i = 0; i < 10005; i++)
        buf_printf(&bytes, "I%d\n", i);
    buf_text(&bytes, "e.");
    ran_init(&ran, bytes.at, bytes.len);
    values = build_values(&ran.build);
    list = value_at(values, pickle_value(&ran.pickle, ran.pickle.result, NULL));
    CHECK_INT(list->n, 10001);
    last = value_at(values, values->items[list->items + 10000]);
    CHECK_INT(last->kind, VALUE_CUT);
    CHECK_INT(last->n, 5);
    buf_release(&bytes);
    ran_release(&ran);
}

static void check_key(const char *pickled, size_t len, const char *expected)
{
    struct ran ran;
    struct str text;

    ran_init(&ran, pickled, len);
    text = pickle_key_text(&ran.pickle, ran.pickle.result);
    CHECK_STR(text.at, expected);
    ran_release(&ran);
}

TEST(keys_of_any_kind_become_text)
{
    check_key("I12\n.", 5, "12");
    check_key("N.", 2, "None");
    check_key("F0.5\n.", 6, "0.5");
    check_key("(Va\nI1\nt.", 9, "('a', 1)");
    check_key("(Va\nt.", 6, "('a',)");
    check_key("cm\nCallback\n.", 13, "<class m.Callback>");
    check_key("cm\nf\n)R.", 8, "<object m.f>");
}

TEST(plain_values_are_distinguished_from_values_with_tensors)
{
    struct ran ran;

    ran_init(&ran, "](I1\n}Va\nVb\nse.", 15);
    CHECK(!pickle_holds_tensors(&ran.pickle));
    ran_release(&ran);
    ran_init(&ran, "](I1\nctorch._utils\n_rebuild_tensor_v2\n)Re.", 42);
    CHECK(pickle_holds_tensors(&ran.pickle));
    ran_release(&ran);
    ran_init(&ran, "}Va\nPstorage\ns.", 15);
    CHECK(pickle_holds_tensors(&ran.pickle));
    ran_release(&ran);
}
