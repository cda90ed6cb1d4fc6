#include "read/file/tar_in.h"

#include <inttypes.h>
#include <string.h>

/* The offsets of the fields of a header. */
enum {
    NAME = 0,
    NAME_LEN = 100,
    SIZE = 124,
    SIZE_LEN = 12,
    CHECKSUM = 148,
    CHECKSUM_LEN = 8,
    TYPE = 156,
    MAGIC = 257,
};

enum header { HEADER_BAD, HEADER_END, HEADER_FILE, HEADER_OTHER };

/* A number in octal digits, with blanks around them. */
static bool octal(const uint8_t *at, size_t n, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t i = 0;

    while (i < n && at[i] == ' ')
        i++;
    if (i == n || at[i] < '0' || at[i] > '7')
        return false;
    for (; i < n && at[i] >= '0' && at[i] <= '7'; i++)
        value = value * 8 + (at[i] - '0'); /* at most twelve digits: 36 bits */
    if (i < n && at[i] != ' ' && at[i] != 0)
        return false;
    *ret_value = value;
    return true;
}

/* Sizes of 8 GiB and more are big-endian bytes. */
static bool read_size(const uint8_t *at, uint64_t *ret_value)
{
    uint64_t value = 0;

    if (at[0] != 0x80)
        return octal(at, SIZE_LEN, ret_value);
    for (int i = 1; i < SIZE_LEN; i++) {
        if (value >> 56)
            return false;
        value = value << 8 | at[i];
    }
    *ret_value = value;
    return true;
}

/* The sum of all bytes, those of the checksum counted as blanks. */
static bool checksum_fits(const uint8_t block[TAR_BLOCK])
{
    uint64_t told, sum = 0;

    if (!octal(block + CHECKSUM, CHECKSUM_LEN, &told))
        return false;
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += i >= CHECKSUM && i < CHECKSUM + CHECKSUM_LEN ? ' ' : block[i];
    return sum == told;
}

static enum header read_header(const uint8_t block[TAR_BLOCK],
                               struct tar_member *member)
{
    static const uint8_t zeros[TAR_BLOCK];

    if (memcmp(block, zeros, TAR_BLOCK) == 0)
        return HEADER_END;
    if (!checksum_fits(block) || !read_size(block + SIZE, &member->size))
        return HEADER_BAD;
    memcpy(member->name, block + NAME, NAME_LEN);
    member->name[NAME_LEN] = '\0';
    member->missing = 0;
    return block[TYPE] == '0' || block[TYPE] == 0 ? HEADER_FILE : HEADER_OTHER;
}

/* Where the next header is: content is padded to whole blocks. */
static uint64_t next_header(uint64_t at, uint64_t size)
{
    uint64_t end;

    if (__builtin_add_overflow(at, size, &end) || end > UINT64_MAX - TAR_BLOCK)
        return UINT64_MAX;
    return (end + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

bool tar_looks_like(struct str head)
{
    return head.len >= TAR_BLOCK && memcmp(head.at + MAGIC, "ustar", 5) == 0;
}

bool tar_first(struct str head, struct tar_member *ret_member)
{
    struct blob *blob = blob_open_memory(head.at, head.len, "", NULL);
    uint64_t at = 0;
    bool found = blob && tar_next(blob, &at, ret_member, NULL) == 1;

    blob_close(blob);
    return found;
}

int tar_next(struct blob *blob, uint64_t *at, struct tar_member *ret_member,
             struct err *err)
{
    uint8_t block[TAR_BLOCK];

    while (*at < blob->size) {
        struct tar_member member = {.at = *at + TAR_BLOCK};
        enum header header;
        uint64_t left;

        if (blob->size - *at < TAR_BLOCK)
            return err_set_about(err, ERR_FORMAT, blob->name,
                                 ": truncated in the tar header at byte %" PRIu64
                                 ". Download it again",
                                 *at);
        if (blob_read(blob, *at, block, sizeof block, err) < 0)
            return -1;
        header = read_header(block, &member);
        if (header == HEADER_END)
            return 0;
        if (header == HEADER_BAD)
            return err_set_about(err, ERR_FORMAT, blob->name,
                                 ": no tar header at byte %" PRIu64, *at);
        left = blob->size - member.at;
        *at = next_header(member.at, member.size);
        if (header == HEADER_OTHER)
            continue;
        if (member.size > left) {
            member.missing = member.size - left;
            member.size = left;
        }
        *ret_member = member;
        return 1;
    }
    return 0;
}
