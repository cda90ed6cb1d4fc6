/* verify.c - checks the entries of a zip archive that opening a model does not read:
 * those with tensor data. Compares their local headers with the directory, and their
 * checksums with their bytes. */
#include <inttypes.h>

#include "base/base.h"
#include "read/file/file_source_in.h"
#include "read/file/inflate_in.h"
#include "read/file/inflated_in.h"
#include "read/file/input_in.h"
#include "read/read.h"
#include "read/remote/remote_in.h"

#define WINDOW         (256 * KIB)
#define DEFLATED_LIMIT (4 * GIB) /* an entry that unpacks to more may be a zip bomb */

struct verify {
    struct zip *zip;
    struct build *build;
    struct work *work;
    uint8_t *window; /* NULL: do not read the data */
};

/* The checksum of the unpacked bytes of an entry, whose payload begins at `at`. */
static int sum_bytes(struct verify *self, const struct zip_entry *entry, uint64_t at,
                     uint32_t *ret_crc, struct err *err)
{
    struct blob *blob = self->zip->blob;
    bool deflated = entry->method == ZIP_DEFLATED;
    uint64_t size = deflated ? entry->size : entry->packed;
    struct inflate *inflate = NULL;
    int status = 0;

    if (deflated) {
        inflate = inflate_open(blob, at, entry->packed, size, err);
        status = inflate ? 0 : -1;
    }
    for (uint64_t done = 0; status == 0 && done < size;) {
        size_t n = size - done < WINDOW ? (size_t)(size - done) : WINDOW;

        status = deflated ? inflate_read(inflate, self->window, n, err)
                          : blob_read(blob, at + done, self->window, n, err);
        if (status == 0 && !work_step(self->work, n))
            status = err_set(err, ERR_CANCELLED, "stopped");
        *ret_crc = zip_checksum(*ret_crc, self->window, n);
        done += n;
    }
    inflate_close(inflate);
    return status;
}

static int sum_entry(struct verify *self, const struct zip_entry *entry, uint64_t at,
                     struct err *err)
{
    uint32_t crc = 0;

    if (entry->method != ZIP_STORED && entry->method != ZIP_DEFLATED)
        return 0; /* a finding since the directory was read */
    if (entry->method == ZIP_DEFLATED && entry->size > DEFLATED_LIMIT) {
        build_finding(self->build, FINDING_LIMIT, SEVERITY_WARNING, FINDING_NOWHERE,
                      "entry %.*s unpacks to %" PRIu64
                      " bytes: its checksum was not compared",
                      STR_ARG(entry->name), entry->size)
            ->entry = zip_finding_entry(self->zip, entry);
        return 0;
    }
    if (sum_bytes(self, entry, at, &crc, err) < 0)
        return -1;
    zip_compare_checksum(self->zip, entry, crc);
    return 0;
}

/* A damaged entry is a finding and does not hide the others. -1: stop. */
static int look_at(struct verify *self, uint32_t id, struct err *err)
{
    const struct zip_entry *entry = &self->zip->entries[id];
    struct err why = {0};
    uint64_t at;

    if (entry->bad)
        return 0; /* a finding since the directory was read */
    if (zip_data_at(self->zip, id, &at, &why) == 0 &&
        (!self->window || sum_entry(self, entry, at, &why) == 0))
        return 0;
    if (why.code == ERR_CANCELLED || why.code == ERR_LIMIT)
        return err_copy(err, &why);
    build_finding(self->build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
                  "entry %.*s: %s", STR_ARG(entry->name), why.text)
        ->entry = zip_finding_entry(self->zip, entry);
    return 0;
}

/* The findings from `first` on. */
static int copy_findings(const struct model *model, uint32_t first, struct arena *arena,
                         struct finding **ret_findings, uint32_t *ret_n,
                         struct err *err)
{
    uint32_t n = model->n_findings - first;
    struct finding *list = arena_array(arena, (size_t)n + 1, sizeof *list);

    if (!list)
        return arena_err(arena, "the findings", err);
    for (uint32_t i = 0; i < n; i++) {
        list[i] = model->findings[first + i];
        list[i].text = arena_str(arena, str_of(list[i].text)).at;
        if (!list[i].text)
            return arena_err(arena, "the findings", err);
    }
    *ret_findings = list;
    *ret_n = n;
    return 0;
}

/* The unpacked content of a gzip file, or the blob itself; takes the blob. */
static struct blob *open_content(struct blob *takes_blob, struct build *build,
                                 struct err *err)
{
    struct packed_part part = {takes_blob, 0, takes_blob->size, PACKING_NONE};
    struct inflated_about about;
    struct blob *content;
    struct str head;

    if (file_source_keep(build, takes_blob, err) < 0 ||
        blob_load(takes_blob, 0, part.size < 3 ? part.size : 3, &build->scratch, &head,
                  err) < 0)
        return NULL;
    part.packing = packing_of(head);
    if (part.packing != PACKING_GZIP)
        return takes_blob;
    content = inflated_open(part, inflated_most(part.size), takes_blob->name,
                            build->work, &about, err);
    if (!content || file_source_keep(build, content, err) < 0)
        return NULL;
    return content;
}

/* The directory of a zip file. NULL: not a zip, or `err` is set. */
static struct zip *open_directory(struct blob *blob, struct build *build,
                                  struct err *err)
{
    struct str head;

    if (blob->size < ZIP_LOCAL_SIZE ||
        blob_load(blob, 0, ZIP_LOCAL_SIZE, &build->scratch, &head, err) < 0 ||
        !zip_looks_like(head))
        return NULL;
    return zip_open(blob, build, err);
}

static int verify_file(const char *path, bool data, struct arena *arena,
                       struct work *work, struct finding **ret_findings,
                       uint32_t *ret_n, struct err *err)
{
    struct blob *blob =
        remote_is_url(path) ? remote_open(path, err) : blob_open_file(path, err);
    struct verify self = {.work = work};
    struct build build = {0};
    struct err why = {0};
    uint32_t first;
    int status = -1;

    if (!blob)
        return -1;
    if (input_build(&build, path, work, err) < 0) {
        blob_close(blob);
        return -1;
    }
    input_allow(&build, blob->size);
    self.build = &build;
    blob = open_content(blob, &build, err);
    if (!blob)
        goto out;
    self.zip = open_directory(blob, &build, &why);
    first = build.model->n_findings; /* read_model() found these too */
    if (self.zip && data)
        self.window = arena_alloc(&build.scratch, WINDOW);
    status = why.code == ERR_NONE ? 0 : err_copy(err, &why);
    for (uint32_t i = 0; self.zip && status == 0 && i < self.zip->n; i++)
        status = look_at(&self, i, err);
    if (status == 0)
        status = copy_findings(build.model, first, arena, ret_findings, ret_n, err);

out:
    build_release(&build);
    return status;
}

int read_verify(const char *path, bool data, struct arena *arena, struct work *work,
                struct finding **ret_findings, uint32_t *ret_n, struct err *err)
{
    struct work *before = work_enter(work);
    int status = verify_file(path, data, arena, work, ret_findings, ret_n, err);

    work_leave(before);
    return status;
}
