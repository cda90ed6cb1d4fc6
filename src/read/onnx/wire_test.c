#include "read/onnx/wire_in.h"

#include "base/test.h"
#include "read/onnx/test_onnx_in.h"

/* A cursor over bytes in memory. */
struct reading {
    struct blob *blob;
    struct arena arena;
    struct wire_window window;
    struct wire in;
};

static void begin(struct reading *r, const struct buf *bytes)
{
    arena_init(&r->arena, 0);
    r->blob = blob_open_memory(bytes->at, bytes->len, "bytes", NULL);
    CHECK(wire_init(&r->window, r->blob, &r->arena) == 0);
    r->in = wire_of(&r->window, 0, bytes->len);
}

static void end(struct reading *r)
{
    blob_close(r->blob);
    arena_release(&r->arena);
}

TEST(fields_have_numbers_types_and_values)
{
    struct buf bytes = BUF_INIT;
    struct wire_field field;
    struct reading r;

    pb_number(&bytes, 1, UINT64_MAX);
    pb_text(&bytes, 15000, "abc");
    buf_add(&bytes, "\x15\x01\x02\x03\x04", 5);
    buf_add(&bytes, "\x19\x01\0\0\0\0\0\0\x80", 9);
    begin(&r, &bytes);
    CHECK(wire_next(&r.in, &field) && field.number == 1 && field.value == UINT64_MAX);
    CHECK(wire_next(&r.in, &field) && field.number == 15000 && field.type == WIRE_LEN);
    CHECK(str_is(wire_bytes(&r.window, &field, 100, &r.arena), "abc"));
    CHECK(str_is(wire_bytes(&r.window, &field, 2, &r.arena), "ab"));
    CHECK(wire_next(&r.in, &field) && field.number == 2 && field.value == 0x04030201);
    CHECK(wire_next(&r.in, &field) && field.number == 3 &&
          field.value == 0x8000000000000001);
    CHECK(!wire_next(&r.in, &field) && !r.window.fault && !r.window.cut);
    end(&r);
    buf_release(&bytes);
}

/* The fault in these bytes; NULL: none. */
static const char *fault_of(const void *at, size_t n)
{
    struct buf bytes = BUF_INIT;
    struct wire_field field;
    struct reading r;
    const char *fault;

    buf_add(&bytes, at, n);
    begin(&r, &bytes);
    while (wire_next(&r.in, &field))
        ;
    fault = r.window.fault;
    end(&r);
    buf_release(&bytes);
    return fault;
}

TEST(groups_unknown_types_and_long_numbers_are_faults)
{
    CHECK_STR(fault_of("\x0b\x0c", 2), "a group, which ONNX does not have");
    CHECK_STR(fault_of("\x0e\x01", 2), "an unknown wire type");
    CHECK_STR(fault_of("\x02\x01\x01", 3), "a field without a number");
    CHECK_STR(fault_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11),
              "a number of more than 64 bits");
    CHECK_STR(fault_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12),
              "a number of more than 64 bits");
    CHECK(!fault_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11));
}

TEST(a_wrong_length_is_cut_at_the_end_of_its_message)
{
    struct buf bytes = BUF_INIT, inner = BUF_INIT;
    struct wire_field field, lie;
    struct reading r;
    struct wire in;

    buf_add(&inner,
            "\x0a\x7f"
            "abc",
            5);
    pb_message(&bytes, 1, &inner);
    pb_number(&bytes, 2, 7);
    begin(&r, &bytes);
    CHECK(wire_next(&r.in, &field));
    in = wire_inside(&r.in, &field);
    CHECK(wire_next(&in, &lie) && lie.value == 3);
    CHECK(!wire_next(&in, &lie) && r.window.fault && !r.window.cut);
    CHECK(wire_next(&r.in, &field) && field.value == 7); /* the rest is read */
    end(&r);
    buf_release(&bytes);
}

TEST(a_truncated_message_is_detected_at_every_byte)
{
    struct buf bytes = BUF_INIT;
    struct wire_field field;
    struct reading r;

    pb_number(&bytes, 1, 300);
    pb_text(&bytes, 2, "abcdef");
    pb_number(&bytes, 200, 1);
    for (size_t n = 0; n < bytes.len; n++) {
        struct buf cut = BUF_INIT;

        buf_add(&cut, bytes.at, n);
        begin(&r, &cut);
        while (wire_next(&r.in, &field))
            ;
        CHECK_INT(r.window.cut, n != 0 && n != 3 && n != 11);
        end(&r);
        buf_release(&cut);
    }
    buf_release(&bytes);
}

TEST(numbers_are_read_across_windows)
{
    struct buf bytes = BUF_INIT;
    struct wire_field field;
    struct reading r;
    uint64_t n = 0;

    for (uint64_t i = 0; i < 100000; i++)
        pb_number(&bytes, 1 + (uint32_t)(i % 3), i * i);
    begin(&r, &bytes);
    while (wire_next(&r.in, &field)) {
        CHECK(field.value == n * n && field.number == 1 + n % 3);
        n++;
    }
    CHECK_INT(n, 100000);
    end(&r);
    buf_release(&bytes);
}
