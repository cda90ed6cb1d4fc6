#include "history/sinks/proto_in.h"

#include <pthread.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* ---- fields ---- */

/* Varint: seven bits per byte, the lowest first; the top bit means that more follow. */
static size_t varint(uint64_t value, uint8_t to[10])
{
    size_t n = 0;

    for (; value >= 0x80; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}

static void add_varint(struct buf *to, uint64_t value)
{
    uint8_t bytes[10];

    buf_add(to, bytes, varint(value, bytes));
}

static void add_key(struct buf *to, unsigned field, unsigned wire)
{
    add_varint(to, (uint64_t)field << 3 | wire);
}

/* The lowest byte first. */
static void add_fixed(struct buf *to, uint64_t bits, int n)
{
    for (int i = 0; i < n; i++)
        buf_char(to, (char)(bits >> 8 * i));
}

static void add_f64(struct buf *to, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    add_fixed(to, bits, 8);
}

void proto_u64(struct buf *to, unsigned field, uint64_t value)
{
    add_key(to, field, WIRE_VARINT);
    add_varint(to, value);
}

void proto_f32(struct buf *to, unsigned field, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    add_key(to, field, WIRE_32);
    add_fixed(to, bits, 4);
}

void proto_f64(struct buf *to, unsigned field, double value)
{
    add_key(to, field, WIRE_64);
    add_f64(to, value);
}

void proto_str(struct buf *to, unsigned field, struct str value)
{
    add_key(to, field, WIRE_BYTES);
    add_varint(to, value.len);
    buf_str(to, value);
}

void proto_f64s(struct buf *to, unsigned field, const double *x, uint32_t n)
{
    add_key(to, field, WIRE_BYTES);
    add_varint(to, (uint64_t)n * 8);
    for (uint32_t i = 0; i < n; i++)
        add_f64(to, x[i]);
}

size_t proto_begin(struct buf *to, unsigned field)
{
    add_key(to, field, WIRE_BYTES);
    return to->len;
}

/* The length is only known now: move the message to make room for it. */
void proto_end(struct buf *to, size_t at)
{
    size_t len = to->len - at, n;
    uint8_t bytes[10];

    n = varint(len, bytes);
    buf_fill(to, 0, n);
    if (to->bad)
        return;
    memmove(to->at + at + n, to->at + at, len);
    memcpy(to->at + at, bytes, n);
}

/* ---- records ---- */

static uint32_t crc_table[8][256]; /* [k]: of a byte that k bytes follow */
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void make_crc_table(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
        crc_table[0][byte] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t byte = 0; byte < 256; byte++)
            crc_table[k][byte] = crc_table[0][crc_table[k - 1][byte] & 0xff] ^
                                 crc_table[k - 1][byte] >> 8;
}

/* Eight bytes at a time: a step of a large model has megabytes. */
uint32_t crc32c(const void *at, size_t n)
{
    const uint8_t *p = at;
    uint32_t crc = ~0u;

    pthread_once(&crc_once, make_crc_table);
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 |
                              (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);

        crc = crc_table[7][low & 0xff] ^ crc_table[6][low >> 8 & 0xff] ^
              crc_table[5][low >> 16 & 0xff] ^ crc_table[4][low >> 24] ^
              crc_table[3][p[4]] ^ crc_table[2][p[5]] ^ crc_table[1][p[6]] ^
              crc_table[0][p[7]];
    }
    for (; n > 0; n--)
        crc = crc >> 8 ^ crc_table[0][(crc ^ *p++) & 0xff];
    return ~crc;
}

/* TensorFlow stores checksums this way, so that the checksum of a record that contains
 * checksums is not trivial. */
static uint32_t masked(const void *at, size_t n)
{
    uint32_t crc = crc32c(at, n);

    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

void record_add(struct buf *to, struct str bytes)
{
    size_t at = to->len;

    add_fixed(to, bytes.len, 8);
    if (!to->bad)
        add_fixed(to, masked(to->at + at, 8), 4);
    buf_str(to, bytes);
    add_fixed(to, masked(bytes.at, bytes.len), 4);
}
