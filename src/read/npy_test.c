#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/test.h"
#include "model/source.h"
#include "read/file/test_zip_in.h"
#include "read/npy_in.h"
#include "read/read.h"

/* A .npy file of this version: the header as it is, padded, then data. */
static void make_npy(struct buf *to, int version, const char *header, struct str data)
{
    size_t head = version == 1 ? 10 : 12, text = strlen(header) + 1;
    size_t all = (head + text + 63) / 64 * 64;

    buf_text(to, "\x93NUMPY");
    buf_char(to, (char)version);
    buf_char(to, 0);
    if (version == 1)
        put16(to, (uint16_t)(all - head));
    else
        put32(to, (uint32_t)(all - head));
    buf_text(to, header);
    buf_fill(to, ' ', all - head - text);
    buf_char(to, '\n');
    buf_add(to, data.at, data.len);
}

static const struct model *read_bytes(const struct buf *file, const char *name)
{
    struct err err = {0};

    return read_model_memory(file->at, file->len, name, NULL, &err);
}

static const struct model *read_npy(struct buf *file, const char *header,
                                    struct str data)
{
    buf_clear(file);
    make_npy(file, 1, header, data);
    return read_bytes(file, "x.npy");
}

static bool has(const struct model *model, enum finding_code code, const char *text)
{
    for (uint32_t i = 0; i < model->n_findings; i++)
        if (model->findings[i].code == code && strstr(model->findings[i].text, text))
            return true;
    return false;
}

#define F4(shape) "{'descr': '<f4', 'fortran_order': False, 'shape': (" shape "), }"

/* Why the header of a file with this header cannot be read; NULL: it can. */
static const char *why(const char *header)
{
    static struct npy_header parsed;
    struct buf file = BUF_INIT;
    const char *text;

    make_npy(&file, 1, header, STR(""));
    text = npy_parse(buf_span(&file), &parsed);
    buf_release(&file);
    return text;
}

TEST(headers_of_all_versions_name_dtype_order_and_shape)
{
    for (int version = 1; version <= 3; version++) {
        struct buf file = BUF_INIT;
        struct npy_header header;

        make_npy(&file, version,
                 "{'descr': '>c16', 'fortran_order': True, 'shape': (2, 3L,)}",
                 STR(""));
        CHECK(!npy_parse(buf_span(&file), &header));
        CHECK_INT(header.dtype, DTYPE_COMPLEX128);
        CHECK(header.fortran && header.order == '>');
        CHECK_INT(header.rank, 2);
        CHECK_INT(header.shape[1], 3);
        CHECK_INT(header.major, version);
        CHECK_INT(header.data_at, file.len);
        buf_release(&file);
    }
}

TEST(structured_dtypes_have_a_name_and_a_size)
{
    struct buf file = BUF_INIT;
    struct npy_header header;

    make_npy(&file, 1,
             "{'shape': (4,), 'descr': [('x', '<f4'), (('title', 'y'), '<i4', (2, 3)), "
             "('z', [('a', '|S5'), ('b', '<U2', 2)])], 'fortran_order': False}",
             STR(""));
    CHECK(!npy_parse(buf_span(&file), &header));
    CHECK_INT(header.size, 4 + 24 + 5 + 16);
    CHECK_INT(header.dtype, DTYPE_UNKNOWN);
    CHECK(!header.objects && header.code.len == 0);
    buf_clear(&file);
    make_npy(&file, 1,
             "{'shape': (), 'descr': [('x', '<f4'), ('o', '|O')], "
             "'fortran_order': False}",
             STR(""));
    CHECK(!npy_parse(buf_span(&file), &header));
    CHECK(header.objects);
    CHECK_INT(header.rank, 0);
    buf_release(&file);
}

TEST(a_header_that_is_not_the_expected_dict_is_refused_with_a_reason)
{
    CHECK(!why(F4("1, 2")));
    CHECK_STR(why("[]"), "it is not a dict");
    CHECK_STR(why("{'descr': '<f4', 'fortran_order': False}"),
              "descr, fortran_order or shape is missing");
    CHECK_STR(why(F4("1.5,")), "the shape is not a tuple");
    CHECK_STR(why(F4("1 2")), "the shape is not a tuple");
    CHECK_STR(why(F4("'a'")), "a size is not a whole number");
    CHECK_STR(why(F4("99999999999999999999")), "a size is not a whole number");
    CHECK_STR(why("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}"),
              "fortran_order is not a boolean");
    CHECK_STR(why(F4("1,") " os.system('x')"), "something follows the dict");
    CHECK_STR(why("{'descr': '<f4"), "a string does not end");
    CHECK_STR(why("{'evil': 3}"), "it has an unknown key");
    CHECK_STR(why("{'descr': [[[[[[[[[[[[[[[[[[[['x'"),
              "the dtype is not a list of fields");
    CHECK_STR(why("{'descr': ((((((((((((((((((((((((((((((((((('x',1),1),1)"),
              "the dtype is nested too deep");
}

TEST(the_elements_follow_the_header)
{
    struct buf file = BUF_INIT;
    const struct model *model =
        read_npy(&file, F4("2,"), str_span("\0\0\x80\x3f\0\0\0\x40", 8));
    const struct tensor *tensor = &model->tensors[0];
    float values[2];

    CHECK(model != NULL);
    CHECK_STR(model->format, "npy");
    CHECK_INT(model->n_findings, 0);
    CHECK_INT(model->n_tensors, 1);
    CHECK_INT(tensor->dtype, DTYPE_FLOAT32);
    CHECK(place_find(model, STR("array")) != NO_PLACE);
    CHECK(source_bytes(model->source, tensor->storage, 0, values, 8, NULL) == 0);
    CHECK(values[0] == 1 && values[1] == 2);
    model_free(model);
    buf_release(&file);
}

TEST(fortran_order_is_a_matter_of_strides)
{
    struct buf file = BUF_INIT;
    const struct model *model =
        read_npy(&file, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3, 4)}",
                 str_span("012345678901234567890123456789012345678901234567", 48));
    const int64_t *strides = tensor_strides(model, &model->tensors[0]);

    CHECK_INT(strides[0], 1);
    CHECK_INT(strides[1], 2);
    CHECK_INT(strides[2], 6);
    CHECK_INT(model->n_findings, 0);
    model_free(model);
    buf_release(&file);
}

TEST(sizes_that_do_not_fit_the_file_are_findings)
{
    struct buf file = BUF_INIT;
    const struct model *model = read_npy(&file, F4("3,"), STR("12345678"));

    CHECK(has(model, FINDING_TRUNCATED, "4 of its 12 bytes of data are missing"));
    model_free(model);
    model = read_npy(&file, F4("1,"), STR("12345678"));
    CHECK(has(model, FINDING_TRAILING, "4 unused bytes"));
    model_free(model);
    model = read_npy(&file, F4("4611686018427387904, 4611686018427387904"), STR("1"));
    CHECK(model->tensors[0].flags & TENSOR_INVALID);
    model_free(model);
    model = read_npy(&file, F4("-1,"), STR("1"));
    CHECK(model->tensors[0].flags & TENSOR_INVALID);
    model_free(model);
    buf_release(&file);
}

#define OBJECTS "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"

TEST(an_array_of_objects_is_a_pickle_that_is_judged_and_not_run)
{
    struct buf file = BUF_INIT;
    const struct model *model = read_npy(&file, OBJECTS,
                                         STR("\x80\x02"
                                             "cos\nsystem\nX\x04\0\0\0true\x85R."));

    CHECK_INT(model->pickle.n_streams, 1);
    CHECK(model->pickle.streams[0].complete);
    CHECK_STR(model_string(model, model->pickle.globals[0].name).at, "os.system");
    CHECK(has(model, FINDING_PICKLE_NESTED, "is a pickle, which numpy.load"));
    model_free(model);
    /* Bytes that are not a pickle must not count as safe. */
    model = read_npy(&file, OBJECTS, STR("\xff\xff\xff"));
    CHECK_INT(model->pickle.n_streams, 1);
    CHECK(!model->pickle.streams[0].complete);
    model_free(model);
    model = read_npy(&file, OBJECTS, STR(""));
    CHECK_INT(model->pickle.n_streams, 1);
    CHECK(!model->pickle.streams[0].complete);
    model_free(model);
    buf_release(&file);
}

TEST(a_npy_file_cut_at_any_byte_neither_crashes_nor_leaks)
{
    struct buf file = BUF_INIT;
    struct err err = {0};

    make_npy(&file, 2, F4("2, 2"), STR("0123456789abcdef"));
    for (size_t n = 0; n < file.len; n++) {
        err = (struct err){0};
        model_free(read_model_memory(file.at, n, "x.npy", NULL, &err));
    }
    buf_release(&file);
}

TEST(the_folders_of_an_npz_are_modules_without_a_finding)
{
    struct test_zip zip = {0};
    struct buf file = BUF_INIT;
    const struct model *model;

    make_npy(&file, 1, F4("2,"), str_span("\0\0\x80\x3f\0\0\0\x40", 8));
    test_zip_add(&zip, &(struct test_member){.name = "params/w.npy",
                                             .content = file.at,
                                             .content_len = file.len});
    test_zip_add(&zip, &(struct test_member){.name = "state/w.npy",
                                             .content = file.at,
                                             .content_len = file.len});
    test_zip_end(&zip, &(struct test_end){0});
    model = read_bytes(&zip.bytes, "x.npz");
    CHECK(model && place_find(model, STR("params.w")) != NO_PLACE &&
          place_find(model, STR("state.w")) != NO_PLACE);
    CHECK_INT(model->n_findings, 0);
    model_free(model);
    test_zip_release(&zip);
    buf_release(&file);
}

/* An archive with two arrays of numbers, one of objects, one in a path. */
static void make_npz(struct test_zip *zip, bool deflate)
{
    struct buf file = BUF_INIT;

    make_npy(&file, 1, F4("2,"), str_span("\0\0\x80\x3f\0\0\0\x40", 8));
    test_zip_add(zip, &(struct test_member){.name = "layer.0.weight.npy",
                                            .content = file.at,
                                            .content_len = file.len,
                                            .deflate = deflate});
    test_zip_add(zip, &(struct test_member){.name = "a/b/kernel.npy",
                                            .content = file.at,
                                            .content_len = file.len,
                                            .zip64 = !deflate,
                                            .deflate = deflate});
    buf_clear(&file);
    make_npy(&file, 1, OBJECTS,
             STR("\x80\x02"
                 "cm\nf\n."));
    test_zip_add(zip, &(struct test_member){.name = "objects.npy",
                                            .content = file.at,
                                            .content_len = file.len,
                                            .deflate = deflate});
    buf_clear(&file);
    buf_text(&file, "this is not an array");
    test_zip_add(zip, &(struct test_member){.name = "bad.npy",
                                            .content = file.at,
                                            .content_len = file.len,
                                            .deflate = deflate});
    test_zip_end(zip, &(struct test_end){0});
    buf_release(&file);
}

static void check_npz(bool deflate)
{
    struct test_zip zip = {0};
    const struct model *model;
    uint32_t place;
    float values[2];

    make_npz(&zip, deflate);
    model = read_bytes(&zip.bytes, "x.npz");
    CHECK(model != NULL);
    CHECK_STR(model->format, "npz");
    CHECK_INT(model->n_tensors, 2);
    place = place_find(model, STR("a.b.kernel"));
    CHECK(place != NO_PLACE);
    for (int i = 2; i-- > 0;)
        CHECK(source_bytes(model->source, place_tensor(model, place)->storage,
                           4 * (uint64_t)i, &values[i], 4, NULL) == 0);
    CHECK(values[0] == 1 && values[1] == 2);
    CHECK(place_find(model, STR("layer.0.weight")) != NO_PLACE);
    CHECK_INT(model->pickle.n_streams, 1);
    CHECK(model->pickle.streams[0].complete);
    CHECK(has(model, FINDING_DAMAGED, "bad.npy"));
    CHECK_INT(model->n_findings, 2);
    model_free(model);
    test_zip_release(&zip);
}

TEST(an_npz_is_a_tree_of_its_arrays_stored_or_deflated)
{
    check_npz(false);
    check_npz(true);
}

TEST(an_npz_cut_at_any_byte_neither_crashes_nor_leaks)
{
    for (int deflate = 0; deflate < 2; deflate++) {
        struct test_zip zip = {0};

        make_npz(&zip, deflate);
        for (size_t n = 0; n < zip.bytes.len; n++) {
            struct err err = {0};

            model_free(read_model_memory(zip.bytes.at, n, "x.npz", NULL, &err));
        }
        test_zip_release(&zip);
    }
}
