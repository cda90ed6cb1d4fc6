#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/test.h"
#include "read/read.h"

/* A file: the length, the header, then `data` bytes of zeros. */
static const struct model *read_header(const char *header, size_t data,
                                       struct buf *file, struct err *err)
{
    uint64_t size = strlen(header);

    buf_clear(file);
    for (int i = 0; i < 8; i++)
        buf_char(file, (char)(size >> (8 * i)));
    buf_text(file, header);
    buf_fill(file, 0, data);
    return read_model_memory(file->at, file->len, "x.safetensors", NULL, err);
}

/* The first finding with this code, or NULL. */
static const struct finding *finding(const struct model *model, enum finding_code code)
{
    for (uint32_t i = 0; i < model->n_findings; i++)
        if (model->findings[i].code == code)
            return &model->findings[i];
    return NULL;
}

/* Does a file with this header give a finding of this kind, and still a model? */
static bool finds(const char *header, size_t data, enum finding_code code)
{
    struct buf file = BUF_INIT;
    struct err err = {0};
    const struct model *model = read_header(header, data, &file, &err);
    bool found = model && finding(model, code);

    model_free(model);
    buf_release(&file);
    return found;
}

#define A "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}"

TEST(a_valid_file_has_no_findings_and_its_tensors_at_the_right_places)
{
    struct buf file = BUF_INIT;
    struct err err = {0};
    const struct model *model = read_header(
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"fc.bias\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[24,30]},"
        "\"fc.weight\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]}}   ",
        30, &file, &err);
    const struct tensor *tensor;

    CHECK(model);
    CHECK_INT(model->n_findings, 0);
    CHECK(!model->partial);
    CHECK_STR(model->format, "safetensors");
    CHECK_INT(model->n_tensors, 2);
    tensor = place_tensor(model, place_find(model, STR("fc.weight")));
    CHECK(tensor && tensor->dtype == DTYPE_FLOAT32 && tensor->rank == 2);
    CHECK_INT(tensor_strides(model, tensor)[0], 2);
    CHECK_INT(storage_have(model, &model->storages[tensor->storage]), 24);
    CHECK(tensor_readable(model, tensor, NULL));
    CHECK(str_is(model_string(model, model->metadata[0].key), "format"));
    CHECK(str_is(place_class(model, place_find(model, STR("fc"))), "linear"));
    CHECK(model->objects[0].guessed);
    model_free(model);
    buf_release(&file);
}

TEST(every_wrong_value_in_a_header_is_a_finding)
{
    CHECK(finds("{" A "," A "}", 24, FINDING_DUPLICATE));
    CHECK(finds("{" A
                ",\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[20,24]}}",
                24, FINDING_OVERLAP));
    CHECK(finds("{" A
                ",\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[28,32]}}",
                32, FINDING_HOLE));
    CHECK(finds("{" A "}", 25, FINDING_TRAILING));
    CHECK(finds("{" A "}", 23, FINDING_TRUNCATED));
    CHECK(finds("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,24]}}", 24,
                FINDING_SIZE_MISMATCH));
    CHECK(finds("{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8,
                FINDING_BAD_TENSOR));
    CHECK(finds("{\"a\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}", 8,
                FINDING_BAD_TENSOR));
    CHECK(finds("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],"
                "\"data_offsets\":[0,8]}}",
                8, FINDING_BAD_TENSOR));
    CHECK(finds("{\"a\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
                FINDING_UNSUPPORTED));
    CHECK(
        finds("{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, FINDING_BAD_TENSOR));
    CHECK(finds("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8,
                FINDING_BAD_TENSOR));
    CHECK(finds("{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2,
                FINDING_BAD_TENSOR));
    CHECK(finds("{\"__metadata__\":{},\"__metadata__\":{}," A "}", 24,
                FINDING_DUPLICATE));
    CHECK(finds("{\"__metadata__\":[1]," A "}", 24, FINDING_DAMAGED));
    CHECK(finds("{" A ",\"b\":7}", 24, FINDING_DAMAGED));
    CHECK(finds("{" A ",", 24, FINDING_DAMAGED));
}

TEST(a_file_cut_anywhere_is_shown_in_part_or_refused_with_a_clear_error)
{
    struct buf file = BUF_INIT;
    struct err err = {0};
    const struct model *model = read_header("{" A "}", 24, &file, &err);
    size_t shown = 0;

    model_free(model);
    for (size_t n = 0; n < file.len; n++) {
        memset(&err, 0, sizeof err);
        model = read_model_memory(file.at, n, "x", NULL, &err);
        CHECK(model ? model->partial && model->n_findings : err.text[0]);
        shown += model != NULL;
        model_free(model);
    }
    CHECK(shown >= 24);
    buf_release(&file);
}

TEST(a_header_over_the_limit_is_refused_without_allocating_it)
{
    static const char huge[] = "\xff\xff\xff\xff\xff\xff\xff\x7f{\"a\":1}";
    struct err err = {0};

    CHECK(!read_model_memory(huge, sizeof huge - 1, "x", NULL, &err));
    CHECK(err.text[0]);
}

TEST(names_of_tied_tensors_come_from_the_metadata)
{
    struct buf file = BUF_INIT;
    struct err err = {0};
    const struct model *model = read_header(
        "{\"__metadata__\":{\"format\":\"pt\",\"head.weight\":\"a\",\"b\":\"gone\","
        "\"a\":\"a\",\"note\":\"A\"}," A "}",
        24, &file, &err);

    CHECK(model);
    CHECK_INT(model->n_findings, 0);
    CHECK_INT(model->n_tensors, 1);
    CHECK_INT(model->tensors[0].places, 2);
    CHECK(place_tensor(model, place_find(model, STR("head.weight"))) ==
          place_tensor(model, place_find(model, STR("a"))));
    CHECK(place_find(model, STR("b")) == NO_PLACE);
    CHECK(place_find(model, STR("note")) == NO_PLACE);
    CHECK_INT(model->n_metadata, 5);
    model_free(model);
    buf_release(&file);
}
