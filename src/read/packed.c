/* packed.c - a model in a gzip file (model.pth.gz, weights.npy.gz), or a pickle in a zlib
 * stream, as joblib writes it. The unpacked bytes are read like any file: the model's
 * format is that of its content. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "read/file/file_source_in.h"
#include "read/file/inflated_in.h"
#include "read/file/input_in.h"
#include "read/pickle/pickle_in.h"

#define SURE_PACKED 55 /* more than not_a_model, which also knows the magic */

static const char *packing_name(enum packing packing)
{
    return packing == PACKING_GZIP ? "gzip" : "zlib";
}

/* A zlib stream has only two bytes of magic: what is in it must be a pickle. A gzip file
 * may be in another one. */
static int packed_knows(const struct input *input)
{
    enum packing packing = packing_of(input->head);
    uint8_t fronts[2][INPUT_HEAD];
    struct input inner = {.name = input->name,
                          .depth = input->depth + 1,
                          .blob = input->blob,
                          .head = input->head};

    if (!input->blob || packing == PACKING_NONE)
        return 0;
    for (int i = 0; packing_of(inner.head) == packing; i++, inner.depth++) {
        if (inner.depth > INPUT_DEPTH)
            return 0;
        inner.head = str_span(fronts[i & 1],
                              inflated_front(inner.head, fronts[i & 1], INPUT_HEAD));
        if (packing == PACKING_ZLIB)
            return pickle_looks_like(inner.head) ? SURE_PACKED : 0;
    }
    if (inner.head.len == 0 || packing_of(inner.head) == PACKING_GZIP)
        return 0;
    return input_promising(&inner) ? SURE_PACKED : 0;
}

/* Do the bytes from `at` on contain anything but zeros? */
static bool has_more(struct input *input, uint64_t at)
{
    char bytes[512];
    uint64_t left = input->blob->size - at;
    size_t n = left < sizeof bytes ? (size_t)left : sizeof bytes;

    if (blob_read(input->blob, at, bytes, n, NULL) < 0)
        return true;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != 0)
            return true;
    return false;
}

static void report(struct input *input, struct build *build, const char *packing,
                   const struct inflated_about *about)
{
    uint64_t size = input->blob->size;

    if (about->cut)
        build_finding(build, FINDING_LIMIT, SEVERITY_ALARM, input->node,
                      "%.*s unpacks to more than %" PRIu64
                      " times its size, which may be an attack: the rest is left out",
                      STR_ARG(input->name), about->size / (size ? size : 1));
    else if (about->why.code != ERR_NONE)
        build_finding(build, FINDING_TRUNCATED, SEVERITY_ALARM, input->node,
                      "%.*s: after %" PRIu64 " unpacked bytes, %s. Download it again",
                      STR_ARG(input->name), about->size, about->why.text);
    else if (about->bad_sum)
        build_finding(build, FINDING_CHECKSUM, SEVERITY_ALARM, input->node,
                      "%.*s: the %s checksum is not that of its content. Download it "
                      "again",
                      STR_ARG(input->name), packing);
    else if (about->used < size && has_more(input, about->used))
        build_finding(build, FINDING_TRAILING, SEVERITY_WARNING, input->node,
                      "%.*s: %" PRIu64 " unused bytes after the %s stream",
                      STR_ARG(input->name), size - about->used, packing);
}

/* Memory for the tables of a file that unpacks to more than it has: the limits follow
 * from the packed size, so that a bomb cannot raise them far. */
static void allow_more(struct build *build, uint64_t packed, uint64_t unpacked)
{
    uint64_t more = unpacked > packed ? unpacked - packed : 0;

    input_allow(build, more < 4 * packed ? more : 4 * packed);
}

static int packed_read(struct input *input, struct build *build, struct err *err)
{
    struct packed_part part = {input->blob, 0, input->blob->size,
                               packing_of(input->head)};
    const char *packing = packing_name(part.packing);
    struct values *values = build_values(build);
    struct input inner = *input;
    struct inflated_about about;

    inner.blob = inflated_open(part, inflated_most(part.size), input->path, build->work,
                               &about, err);
    if (!inner.blob || file_source_keep(build, inner.blob, err) < 0)
        return -1;
    report(input, build, packing, &about);
    if (about.size == 0)
        return err_set_about(err, ERR_FORMAT, input->path,
                             " is a damaged %s file: nothing can be unpacked. Download "
                             "it again",
                             packing);
    allow_more(build, part.size, about.size);
    inner.zip = NULL;
    inner.inner = true;
    inner.on_disk = false;
    inner.depth++;
    if (input->node == 0) {
        build->model->format = ""; /* that of the content */
    }
    if (input->node == 0 && input->depth == 0) {
        build_fact(build, "packed", value_str(values, str_of(packing)));
        build_fact(build, "unpacked bytes", value_int(values, (int64_t)about.size));
    }
    if (input_look(&inner, build, err) < 0)
        return -1;
    return input_run(&inner, build, err);
}

const struct reader packed_reader = {
    .name = "gzip", .knows = packed_knows, .read = packed_read};
