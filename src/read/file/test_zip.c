#include "read/file/test_zip_in.h"

#include <string.h>
#include <zlib.h>

#include "base/base.h"
#include "base/test.h"
#include "read/file/file_source_in.h"

void put16(struct buf *to, uint16_t value)
{
    uint8_t bytes[2] = {(uint8_t)value, (uint8_t)(value >> 8)};

    buf_add(to, bytes, 2);
}

void put32(struct buf *to, uint32_t value)
{
    put16(to, (uint16_t)value);
    put16(to, (uint16_t)(value >> 16));
}

void put64(struct buf *to, uint64_t value)
{
    put32(to, (uint32_t)value);
    put32(to, (uint32_t)(value >> 32));
}

static struct buf packed(const struct test_member *member, struct str content)
{
    struct buf out = BUF_INIT;
    z_stream stream = {0};
    uint8_t bytes[4096];

    if (!member->deflate) {
        buf_str(&out, content);
        return out;
    }
    CHECK(deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) == Z_OK);
    stream.next_in = (uint8_t *)(uintptr_t)content.at; /* zlib does not say const */
    stream.avail_in = (uInt)content.len;
    do {
        stream.next_out = bytes;
        stream.avail_out = sizeof bytes;
        deflate(&stream, Z_FINISH);
        buf_add(&out, bytes, sizeof bytes - stream.avail_out);
    } while (stream.avail_out == 0);
    deflateEnd(&stream);
    return out;
}

/* The fields that both headers of a member have. */
struct test_zip_facts {
    uint16_t method;
    uint32_t crc, packed, size;
};

static void put_local(struct test_zip *zip, const struct test_member *member,
                      struct str name, const struct test_zip_facts *facts)
{
    bool late = member->descriptor;
    size_t front = zip->bytes.len - zip->hidden + ZIP_LOCAL_SIZE + name.len;
    uint16_t extra = member->pad ? (uint16_t)(4 + (64 - (front + 4) % 64) % 64) : 0;

    put32(&zip->bytes, ZIP_LOCAL_SIGN);
    put16(&zip->bytes, 0);
    put16(&zip->bytes, (uint16_t)(member->local_flags | (late ? 0x0808 : 0)));
    put16(&zip->bytes, facts->method);
    put32(&zip->bytes, 0);
    put32(&zip->bytes, late ? 0 : facts->crc);
    put32(&zip->bytes, late ? 0 : facts->packed);
    put32(&zip->bytes, late ? 0 : facts->size);
    put16(&zip->bytes, (uint16_t)name.len);
    put16(&zip->bytes, extra);
    buf_str(&zip->bytes, name);
    if (extra) {
        buf_text(&zip->bytes, "FB");
        put16(&zip->bytes, (uint16_t)(extra - 4));
        buf_fill(&zip->bytes, 'Z', extra - 4u);
    }
}

static void put_central(struct test_zip *zip, const struct test_member *member,
                        struct str name, const struct test_zip_facts *facts)
{
    struct buf *to = &zip->directory;
    bool wide = member->zip64;

    put32(to, 0x02014b50);
    put32(to, 0);
    put16(to, (uint16_t)(member->flags | (member->descriptor ? 0x0808 : 0)));
    put16(to, facts->method);
    put32(to, 0);
    put32(to, facts->crc);
    put32(to, wide ? UINT32_MAX : facts->packed);
    put32(to, wide ? UINT32_MAX : facts->size + member->more_size);
    put16(to, (uint16_t)name.len);
    put16(to, wide ? 28 : 0);
    put16(to, 0);
    put64(to, 0);
    put32(to, wide ? UINT32_MAX : (uint32_t)zip->last_at);
    buf_str(to, name);
    if (!wide)
        return;
    put16(to, 1);
    put16(to, 24);
    put64(to, facts->size);
    put64(to, facts->packed);
    put64(to, zip->last_at);
}

void test_zip_add(struct test_zip *zip, const struct test_member *member)
{
    struct str name = str_of(member->name), content = str_of(member->content);
    struct buf payload;
    struct test_zip_facts facts;

    if (member->name_len)
        name.len = member->name_len;
    if (member->content_len)
        content.len = member->content_len;
    payload = packed(member, content);
    facts = (struct test_zip_facts){
        .method = member->method    ? member->method
                  : member->deflate ? 8
                                    : 0,
        .crc = (uint32_t)crc32_z(0, (const uint8_t *)content.at, content.len) +
               member->wrong_crc,
        .packed = (uint32_t)payload.len,
        .size = (uint32_t)content.len};
    if (!member->share) {
        zip->last_at = zip->bytes.len - zip->hidden;
        put_local(zip, member, member->local_name ? str_of(member->local_name) : name,
                  &facts);
        buf_str(&zip->bytes, buf_span(&payload));
    }
    if (member->descriptor) {
        put32(&zip->bytes, 0x08074b50);
        put32(&zip->bytes, facts.crc);
        put32(&zip->bytes, facts.packed);
        put32(&zip->bytes, facts.size);
    }
    put_central(zip, member, name, &facts);
    zip->n++;
    buf_release(&payload);
}

static void put_end64(struct test_zip *zip, uint64_t directory_at, uint64_t n)
{
    uint64_t at = zip->bytes.len - zip->hidden;

    put32(&zip->bytes, 0x06064b50);
    put64(&zip->bytes, 44);
    put32(&zip->bytes, 0);
    put64(&zip->bytes, 0);
    put64(&zip->bytes, n);
    put64(&zip->bytes, n);
    put64(&zip->bytes, zip->directory.len);
    put64(&zip->bytes, directory_at);
    put32(&zip->bytes, 0x07064b50);
    put32(&zip->bytes, 0);
    put64(&zip->bytes, at);
    put32(&zip->bytes, 1);
}

void test_zip_end(struct test_zip *zip, const struct test_end *end)
{
    struct str comment = str_of(end->comment);
    uint64_t at = zip->bytes.len - zip->hidden;
    uint64_t n = zip->n + (uint64_t)end->more_entries;

    buf_str(&zip->bytes, buf_span(&zip->directory));
    if (end->zip64)
        put_end64(zip, at, n);
    put32(&zip->bytes, 0x06054b50);
    put32(&zip->bytes, 0);
    put16(&zip->bytes, (uint16_t)(n + (uint64_t)end->more_entries32));
    put16(&zip->bytes, (uint16_t)(n + (uint64_t)end->more_entries32));
    put32(&zip->bytes, (uint32_t)zip->directory.len);
    put32(&zip->bytes, (uint32_t)at);
    put16(&zip->bytes, (uint16_t)comment.len);
    buf_str(&zip->bytes, comment);
    CHECK(!zip->bytes.bad && !zip->directory.bad);
}

void test_zip_release(struct test_zip *zip)
{
    buf_release(&zip->bytes);
    buf_release(&zip->directory);
}

struct blob *test_blob(struct build *build, const void *at, size_t size)
{
    struct blob *blob = blob_open_memory(at, size, "test", NULL);

    CHECK(blob && build_init(build, "test", 64 * MIB, NULL, NULL) == 0);
    CHECK(file_source_keep_file(build, blob, NULL) == 0);
    return blob;
}

int test_findings(const struct build *build, enum finding_code code)
{
    int n = 0;

    for (uint32_t i = 0; i < build->model->n_findings; i++)
        n += build->model->findings[i].code == code;
    return n;
}

const char *test_finding(const struct model *model, enum finding_code code)
{
    for (uint32_t i = 0; i < model->n_findings; i++)
        if (model->findings[i].code == code)
            return model->findings[i].text;
    return NULL;
}
