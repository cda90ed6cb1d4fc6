#include <inttypes.h>

#include "base/base.h"
#include "read/hdf5/hdf5_parts_in.h"

#define SIGNATURE "\x89HDF\r\n\x1a\n"

/* ---- numbers ---- */

uint64_t hdf5_number(struct bytes *in, unsigned n)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < n; i++) {
        uint64_t byte = bytes_u8(in);

        value |= i < 8 ? byte << 8 * i : 0;
    }
    return value;
}

uint64_t hdf5_offset(const struct hdf5 *file, struct bytes *in)
{
    uint64_t value = hdf5_number(in, file->offset_size);

    if (file->offset_size < 8 && value == ((uint64_t)1 << 8 * file->offset_size) - 1)
        return HDF5_NOWHERE;
    return value;
}

uint64_t hdf5_length(const struct hdf5 *file, struct bytes *in)
{
    return hdf5_number(in, file->length_size);
}

unsigned hdf5_number_size(uint64_t most)
{
    unsigned bits = 0;

    while (bits < 63 && most >> (bits + 1))
        bits++;
    return bits / 8 + 1;
}

/* ---- blocks ---- */

int hdf5_damaged(const struct hdf5 *file, uint64_t at, const char *what,
                 struct err *err)
{
    return err_set_about(err, ERR_FORMAT, file->path, ": %s at byte %" PRIu64, what,
                         file->base + at);
}

int hdf5_load(struct hdf5 *file, uint64_t at, uint64_t n, struct str *ret_bytes,
              struct err *err)
{
    uint64_t cost = n + 64;

    if (at > file->end || n > file->end - at)
        return err_set_about(err, ERR_FORMAT, file->path,
                             ": %" PRIu64 " bytes at byte %" PRIu64
                             " lie beyond the end of the file. Download it again",
                             n, at);
    if (cost > file->left)
        return err_set_about(err, ERR_LIMIT, file->path,
                             ": its parts refer to each other too often, which may be "
                             "an attack: the rest is left out");
    file->left -= cost;
    if (!work_step(file->work, 0))
        return err_set_about(err, ERR_CANCELLED, file->path, ": stopped");
    return blob_load(file->blob, file->base + at, n, &file->build->scratch, ret_bytes,
                     err);
}

static uint32_t rotated(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

uint32_t hdf5_sum(const uint8_t *at, size_t n)
{
    uint32_t a = 0xdeadbeefu + (uint32_t)n, b = a, c = a;
    uint8_t last[12] = {0};

    while (n > 12) {
        struct bytes in = bytes_of(at, 12);

        a += bytes_u32(&in), b += bytes_u32(&in), c += bytes_u32(&in);
        a -= c, a ^= rotated(c, 4), c += b;
        b -= a, b ^= rotated(a, 6), a += c;
        c -= b, c ^= rotated(b, 8), b += a;
        a -= c, a ^= rotated(c, 16), c += b;
        b -= a, b ^= rotated(a, 19), a += c;
        c -= b, c ^= rotated(b, 4), b += a;
        at += 12;
        n -= 12;
    }
    if (n == 0)
        return c;
    memcpy(last, at, n);
    struct bytes in = bytes_of(last, 12);
    a += bytes_u32(&in), b += bytes_u32(&in), c += bytes_u32(&in);
    c ^= b, c -= rotated(b, 14);
    a ^= c, a -= rotated(c, 11);
    b ^= a, b -= rotated(a, 25);
    c ^= b, c -= rotated(b, 16);
    a ^= c, a -= rotated(c, 4);
    b ^= a, b -= rotated(a, 14);
    c ^= b, c -= rotated(b, 24);
    return c;
}

static void check_sum(struct hdf5 *file, uint64_t at, struct str bytes)
{
    struct bytes in = bytes_of(bytes.at + bytes.len - 4, 4);

    if (bytes_u32(&in) == hdf5_sum((const uint8_t *)bytes.at, bytes.len - 4) ||
        file->said_sum)
        return;
    file->said_sum = true;
    build_finding(file->build, FINDING_CHECKSUM, SEVERITY_ALARM, FINDING_NOWHERE,
                  "%s: the checksum of the block at byte %" PRIu64
                  " is wrong. Download it again",
                  file->path, file->base + at);
}

int hdf5_block(struct hdf5 *file, uint64_t at, uint64_t n, const char *sign, bool sum,
               struct bytes *ret_in, struct err *err)
{
    struct str bytes;

    if (hdf5_load(file, at, n, &bytes, err) < 0)
        return -1;
    if (n < 8 || memcmp(bytes.at, sign, 4) != 0)
        return err_set_about(err, ERR_FORMAT, file->path,
                             ": expected a block \"%s\" at byte %" PRIu64, sign,
                             file->base + at);
    if (sum)
        check_sum(file, at, bytes);
    *ret_in = bytes_of(bytes.at + 4, bytes.len - (sum ? 8 : 4));
    return 0;
}

/* ---- the superblock ---- */

bool hdf5_looks_like(struct str head, uint64_t *ret_at)
{
    for (uint64_t at = 0; at + 8 <= head.len; at = at ? 2 * at : 512)
        if (memcmp(head.at + at, SIGNATURE, 8) == 0) {
            *ret_at = at;
            return true;
        }
    return false;
}

static bool is_size(uint8_t size)
{
    return size == 2 || size == 4 || size == 8;
}

/* Versions 0 and 1: the root group is an entry of a symbol table. */
static void read_old(struct hdf5 *file, struct bytes *in, uint64_t *ret_eof)
{
    bytes_skip(in, 4); /* versions of other parts */
    file->offset_size = bytes_u8(in);
    file->length_size = bytes_u8(in);
    bytes_skip(in, file->version == 1 ? 13 : 9);
    hdf5_offset(file, in); /* the base address: ours is where the signature is */
    hdf5_offset(file, in);
    *ret_eof = hdf5_offset(file, in);
    hdf5_offset(file, in);
    hdf5_offset(file, in);
    file->root = hdf5_offset(file, in);
}

static void read_new(struct hdf5 *file, struct bytes *in, uint64_t *ret_eof)
{
    file->offset_size = bytes_u8(in);
    file->length_size = bytes_u8(in);
    bytes_skip(in, 1);
    hdf5_offset(file, in);
    hdf5_offset(file, in);
    *ret_eof = hdf5_offset(file, in);
    file->root = hdf5_offset(file, in);
}

static int read_superblock(struct hdf5 *file, struct err *err)
{
    uint64_t n = file->end < 128 ? file->end : 128, eof = 0;
    struct str bytes;
    struct bytes in;

    if (hdf5_load(file, 0, n, &bytes, err) < 0)
        return -1;
    in = bytes_of(bytes.at, bytes.len);
    bytes_skip(&in, 8);
    file->version = bytes_u8(&in);
    if (!in.bad && file->version > 3)
        return err_set_about(err, ERR_UNSUPPORTED, file->path,
                             ": HDF5 superblock of version %u; known are 0 to 3",
                             file->version);
    if (file->version < 2)
        read_old(file, &in, &eof);
    else
        read_new(file, &in, &eof);
    if (in.bad)
        return err_set_about(err, ERR_FORMAT, file->path,
                             " ends inside its HDF5 superblock. Download it again");
    if (!is_size(file->offset_size) || !is_size(file->length_size))
        return hdf5_damaged(file, 13, "addresses of an impossible size", err);
    if (eof != HDF5_NOWHERE && eof > file->end + file->base)
        build_finding(file->build, FINDING_TRUNCATED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "truncated: %" PRIu64 " of its %" PRIu64
                      " bytes are missing. Download it again",
                      eof - file->end - file->base, eof);
    return 0;
}

int hdf5_open(struct hdf5 *file, struct input *input, struct build *build,
              struct err *err)
{
    uint64_t at;

    *file = (struct hdf5){.blob = input->blob,
                          .build = build,
                          .path = input->path,
                          .work = build->work,
                          .heap_at = HDF5_NOWHERE};
    if (!hdf5_looks_like(input->head, &at))
        return err_set_about(err, ERR_FORMAT, input->path, " is not an HDF5 file");
    file->base = at;
    file->end = input->blob->size - at;
    file->left = file->end < UINT64_MAX / 32 ? 16 * file->end + MIB : UINT64_MAX;
    map_init(&file->by_at, &build->scratch);
    if (read_superblock(file, err) < 0)
        return -1;
    return hdf5_tree(file, err);
}

int hdf5_note(struct hdf5 *file, uint32_t item, uint32_t node, const struct err *why,
              struct err *err)
{
    enum finding_code code = FINDING_DAMAGED;
    struct buf path = BUF_INIT;

    if (why->code == ERR_CANCELLED || build_spent(file->build))
        return err_copy(err, why);
    if (why->code == ERR_LIMIT)
        code = FINDING_LIMIT;
    else if (why->code == ERR_UNSUPPORTED)
        code = FINDING_UNSUPPORTED;
    hdf5_path(file, item, &path);
    build_finding(file->build, code,
                  code == FINDING_UNSUPPORTED ? SEVERITY_WARNING : SEVERITY_ALARM, node,
                  "/%.*s: %s", STR_ARG(buf_span(&path)), err_reason(why));
    buf_release(&path);
    return 0;
}
