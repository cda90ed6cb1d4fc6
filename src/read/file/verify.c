/* verify.c - the entries of a zip archive that opening a model leaves alone: those that
 * hold tensor data. Their headers are compared with the directory, and their checksums
 * with their bytes. */
#include <inttypes.h>
#include <zlib.h>

#include "base/base.h"
#include "read/file/inflate_in.h"
#include "read/file/input_in.h"
#include "read/read.h"

#define WINDOW         (256 * KIB)
#define DEFLATED_LIMIT (4 * GIB) /* bytes unpacked of one entry: more may be a bomb */

struct verify {
    struct zip *zip;
    struct build *build;
    struct work *work;
    uint8_t *window;
};

static int stopped(struct err *err)
{
    return err_set(err, ERR_CANCELLED, "stopped");
}

static int sum_stored(struct verify *self, const struct zip_entry *entry, uint64_t at,
                      uint32_t *ret_crc, struct err *err)
{
    uint32_t crc = 0;

    for (uint64_t done = 0; done < entry->packed;) {
        uint64_t left = entry->packed - done;
        size_t n = left < WINDOW ? (size_t)left : WINDOW;

        if (blob_read(self->zip->blob, at + done, self->window, n, err) < 0)
            return -1;
        crc = (uint32_t)crc32_z(crc, self->window, n);
        done += n;
        if (!work_step(self->work, n))
            return stopped(err);
    }
    *ret_crc = crc;
    return 0;
}

static int sum_deflated(struct verify *self, const struct zip_entry *entry, uint64_t at,
                        uint32_t *ret_crc, struct err *err)
{
    struct inflate *inflate =
        inflate_open(self->zip->blob, at, entry->packed, entry->size, err);
    uint32_t crc = 0;
    int status = inflate ? 0 : -1;

    for (uint64_t done = 0; status == 0 && done < entry->size;) {
        uint64_t left = entry->size - done;
        size_t n = left < WINDOW ? (size_t)left : WINDOW;

        status = inflate_read(inflate, self->window, n, err);
        if (status == 0 && !work_step(self->work, n))
            status = stopped(err);
        crc = (uint32_t)crc32_z(crc, self->window, n);
        done += n;
    }
    inflate_close(inflate);
    if (status == 0)
        *ret_crc = crc;
    return status;
}

static int sum_entry(struct verify *self, const struct zip_entry *entry, uint64_t at,
                     struct err *err)
{
    uint32_t crc = 0;
    int status;

    if (entry->method != ZIP_STORED && entry->method != ZIP_DEFLATED)
        return 0; /* told when the directory was read */
    if (entry->method == ZIP_DEFLATED && entry->size > DEFLATED_LIMIT) {
        build_finding(self->build, FINDING_LIMIT, SEVERITY_WARNING, FINDING_NOWHERE,
                      "entry %.*s unpacks to %" PRIu64
                      " bytes: its checksum was not compared",
                      STR_ARG(entry->name), entry->size);
        return 0;
    }
    status = entry->method == ZIP_STORED ? sum_stored(self, entry, at, &crc, err)
                                         : sum_deflated(self, entry, at, &crc, err);
    if (status == 0 && crc != entry->crc)
        zip_wrong_checksum(self->build, entry, crc);
    return status;
}

/* One entry that is wrong never hides the others. -1 only when all must stop. */
static int look_at(struct verify *self, uint32_t id, struct err *err)
{
    const struct zip_entry *entry = &self->zip->entries[id];
    struct err why = {0};
    uint64_t at;

    if (entry->bad)
        return 0; /* told when the directory was read */
    if (zip_data_at(self->zip, id, &at, &why) == 0 &&
        (!self->window || sum_entry(self, entry, at, &why) == 0))
        return 0;
    if (why.code == ERR_CANCELLED || why.code == ERR_LIMIT)
        return err_set(err, why.code, "%s", why.text);
    build_finding(self->build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
                  "entry %.*s: %s", STR_ARG(entry->name), why.text);
    return 0;
}

static int copy_findings(const struct model *model, struct arena *arena,
                         struct finding **ret_findings, uint32_t *ret_n,
                         struct err *err)
{
    struct finding *list =
        arena_array(arena, (size_t)model->n_findings + 1, sizeof *list);

    if (!list)
        return arena_err(arena, "the findings", err);
    for (uint32_t i = 0; i < model->n_findings; i++) {
        list[i] = model->findings[i];
        list[i].text = arena_str(arena, str_of(list[i].text)).at;
        if (!list[i].text)
            return arena_err(arena, "the findings", err);
    }
    *ret_findings = list;
    *ret_n = model->n_findings;
    return 0;
}

/* The directory of a file, or NULL: it has none, or `err` says what is wrong. */
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

int read_verify(const char *path, bool data, struct arena *arena, struct work *work,
                struct finding **ret_findings, uint32_t *ret_n, struct err *err)
{
    struct blob *blob = blob_open_file(path, err);
    struct verify self = {.work = work};
    struct build build = {0};
    struct err why = {0};
    int status = -1;

    if (!blob)
        return -1;
    if (input_build(&build, path, work, err) < 0)
        goto out;
    input_allow(&build, blob->size);
    self.build = &build;
    self.zip = open_directory(blob, &build, &why);
    if (self.zip && data)
        self.window = arena_alloc(&build.scratch, WINDOW);
    status = why.code == ERR_NONE ? 0 : err_set(err, why.code, "%s", why.text);
    for (uint32_t i = 0; self.zip && status == 0 && i < self.zip->n; i++)
        status = look_at(&self, i, err);
    if (status == 0)
        status = copy_findings(build.model, arena, ret_findings, ret_n, err);

out:
    build_release(&build);
    blob_close(blob);
    return status;
}
