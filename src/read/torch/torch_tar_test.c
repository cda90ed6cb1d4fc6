#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "read/file/tar_in.h"
#include "read/file/test_zip_in.h"
#include "read/read.h"
#include "read/torch/test_torch_in.h"

/* A header of a tar: name, size in octal, type, checksum. */
static void put_header(struct buf *to, const char *name, size_t size, char type)
{
    uint8_t block[TAR_BLOCK] = {0};
    unsigned sum = 0;

    snprintf((char *)block, 100, "%s", name);
    snprintf((char *)block + 124, 12, "%011zo", size);
    memset(block + 148, ' ', 8);
    block[156] = (uint8_t)type;
    memcpy(block + 257, "ustar\00000", 8);
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += block[i];
    snprintf((char *)block + 148, 8, "%06o", sum);
    buf_add(to, block, sizeof block);
}

static void put_member(struct buf *to, const char *name, char type,
                       const struct buf *content)
{
    put_header(to, name, content->len, type);
    buf_str(to, buf_span(content));
    buf_fill(to, '\0', (TAR_BLOCK - content->len % TAR_BLOCK) % TAR_BLOCK);
}

static void put_count(struct buf *to, int64_t n)
{
    buf_text(to, "\x80\x02");
    op_int(to, n);
    buf_char(to, '.');
}

/* (key, storage key or location, class) */
static void begin_label(struct buf *to, int64_t key)
{
    buf_text(to, "\x80\x02(");
    op_int(to, key);
}

static void end_label(struct buf *to, const char *class_name)
{
    op_global(to, "torch", class_name);
    buf_text(to, "t.");
}

/* Two tensors: 10 is (2, 3) on storage 20 from element 1, 11 is (2) on its view 21. */
static void make_members(struct buf *object, struct buf *tensors, struct buf *storages)
{
    static const int64_t ten[] = {2, 3, 3, 1, 1}, eleven[] = {2, 1, 0};

    buf_text(object, "\x80\x02}");
    op_text(object, "fc.weight");
    op_text(object, "10");
    buf_text(object, "Qs");
    op_text(object, "fc.bias");
    op_text(object, "11");
    buf_text(object, "Qs.");

    put_count(tensors, 2);
    begin_label(tensors, 10);
    op_int(tensors, 20);
    end_label(tensors, "FloatTensor");
    put64(tensors, 2 | 0xabcdull << 32); /* the upper half is meaningless */
    for (size_t i = 0; i < COUNT_OF(ten); i++)
        put64(tensors, (uint64_t)ten[i]);
    begin_label(tensors, 11);
    op_int(tensors, 21);
    end_label(tensors, "FloatTensor");
    put64(tensors, 1);
    for (size_t i = 0; i < COUNT_OF(eleven); i++)
        put64(tensors, (uint64_t)eleven[i]);

    put_count(storages, 1);
    begin_label(storages, 20);
    op_text(storages, "cpu");
    end_label(storages, "FloatStorage");
    put64(storages, 8);
    for (uint32_t i = 0; i < 8; i++)
        put32(storages, 0x40000000 + i);
    buf_text(storages, "\x80\x02]((");
    op_int(storages, 21);
    op_int(storages, 20);
    op_int(storages, 5);
    op_int(storages, 3);
    buf_text(storages, "te.");
}

static struct buf sample(void)
{
    struct buf file = BUF_INIT, part = BUF_INIT;
    struct buf object = BUF_INIT, tensors = BUF_INIT, storages = BUF_INIT;

    make_members(&object, &tensors, &storages);
    buf_text(&part, "20 mtime=1489000000.5\n");
    put_member(&file, "./PaxHeaders/sys_info", 'x', &part);
    buf_clear(&part);
    buf_text(&part, "\x80\x02}");
    op_text(&part, "little_endian");
    buf_text(&part, "\x88s.");
    put_member(&file, "sys_info", '0', &part);
    put_member(&file, "pickle", '0', &object);
    put_member(&file, "tensors", '0', &tensors);
    put_member(&file, "storages", '0', &storages);
    buf_fill(&file, '\0', 2 * TAR_BLOCK);
    buf_release(&part);
    buf_release(&object);
    buf_release(&tensors);
    buf_release(&storages);
    CHECK(!file.bad);
    return file;
}

static uint32_t first_bits(const struct model *model, const char *name)
{
    const struct tensor *tensor = place_tensor(model, place_find(model, str_of(name)));
    uint32_t bits = 0;

    CHECK(tensor && tensor_readable(model, tensor, NULL));
    CHECK(source_bytes(model->source, tensor->storage, 4 * tensor->offset, &bits, 4,
                       NULL) == 0);
    return bits;
}

TEST(a_tar_of_torch_0_1_gives_names_shapes_and_values)
{
    struct buf file = sample();
    const struct model *model =
        read_model_memory(file.at, file.len, "old.pt", NULL, NULL);
    const struct tensor *weight;

    CHECK(model != NULL);
    CHECK_STR(model->format, "torch tar");
    CHECK_INT(model->n_findings, 0);
    weight = place_tensor(model, place_find(model, STR("fc.weight")));
    CHECK(weight && weight->rank == 2 && weight->dtype == DTYPE_FLOAT32);
    CHECK(tensor_shape(model, weight)[1] == 3 && tensor_strides(model, weight)[0] == 3);
    CHECK_INT(first_bits(model, "fc.weight"), 0x40000001);
    CHECK_INT(first_bits(model, "fc.bias"), 0x40000005);
    CHECK(str_is(tensor_device(model, weight), "cpu"));
    model_free(model);
    buf_release(&file);
}

TEST(a_tar_without_torch_members_is_reported_as_a_tar_archive)
{
    struct buf file = BUF_INIT, content = BUF_INIT;
    struct err err = {0};

    buf_text(&content, "hello");
    put_member(&file, "readme", '0', &content);
    buf_fill(&file, '\0', 2 * TAR_BLOCK);
    CHECK(!read_model_memory(file.at, file.len, "x.tar", NULL, &err));
    CHECK(err.code == ERR_UNSUPPORTED && strstr(err.text, "a tar archive"));
    buf_release(&content);
    buf_release(&file);
}

TEST(a_tar_cut_anywhere_is_reported_as_truncated)
{
    struct buf file = sample();
    size_t end = file.len;

    /* Only padding may be missing without a finding. */
    while (file.at[end - 1] == '\0')
        end--;
    for (size_t cut = 0; cut < end; cut++) {
        struct err err = {0};
        const struct model *model =
            read_model_memory(file.at, cut, "old.pt", NULL, &err);

        CHECK(model ? model->partial : err.code != ERR_NONE);
        model_free(model);
    }
    buf_release(&file);
}

TEST(a_tar_with_any_byte_changed_does_not_crash)
{
    struct buf file = sample();

    for (size_t i = 0; i < file.len - 2 * TAR_BLOCK; i++) {
        file.at[i] = (char)(file.at[i] ^ 0x11);
        model_free(read_model_memory(file.at, file.len, "old.pt", NULL, NULL));
        file.at[i] = (char)(file.at[i] ^ 0x11);
    }
    buf_release(&file);
}

TEST(sizes_in_a_tar_are_octal_or_binary_and_are_checked)
{
    struct buf file = BUF_INIT;
    struct tar_member member;
    struct blob *blob;
    uint64_t at = 0;

    put_header(&file, "big", 0, '0');
    /* 2^40 in binary, with a valid checksum. */
    memset(file.at + 124, 0, 12);
    file.at[124] = (char)0x80;
    file.at[124 + 11 - 5] = 1;
    {
        unsigned sum = 0;

        memset(file.at + 148, ' ', 8);
        for (int i = 0; i < TAR_BLOCK; i++)
            sum += (uint8_t)file.at[i];
        snprintf(file.at + 148, 8, "%06o", sum);
    }
    blob = blob_open_memory(file.at, file.len, "t", NULL);
    CHECK(blob && tar_next(blob, &at, &member, NULL) == 1);
    CHECK(member.size == 0 && member.missing == (uint64_t)1 << 40);
    CHECK(tar_next(blob, &at, &member, NULL) == 0);
    blob_close(blob);
    buf_release(&file);
}
