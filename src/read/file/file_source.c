#include "read/file/file_source_in.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/base.h"
#include "read/file/inflate_in.h"

#define BLOB_BITS 29
#define BLOB_MASK (((uint32_t)1 << BLOB_BITS) - 1)

enum spot_kind {
    SPOT_NOTHING,
    SPOT_PLAIN,
    SPOT_STORED,
    SPOT_DEFLATED,
    SPOT_MEMORY,
    SPOT_COMPUTED
};

/* How to read one storage; the model has its offset and size. The offset of a zip member
 * is that of its local header; the header is read when the storage is, which makes
 * opening faster. */
struct spot {
    union {
        _Atomic uint32_t head; /* STORED: length of its header; 0: unknown */
        uint32_t packed;       /* DEFLATED: index in file_source.packed */
        uint32_t memory;       /* MEMORY: index in file_source.memory */
        uint32_t computed;     /* COMPUTED: index in file_source.computed */
    };
    uint32_t kind : 3;
    uint32_t blob : BLOB_BITS; /* index in file_source.kept */
};

struct kept {
    struct blob *blob;
    uint32_t file; /* index in the model's files */
};

struct packed {
    uint64_t size; /* of the member in the archive */
    uint64_t skip; /* unpacked bytes before the storage */
};

struct file_source {
    struct source source;
    const struct model *model; /* borrowed: it owns this source */
    struct spot *spots;        /* by storage number */
    uint32_t n_spots, spots_room;
    struct packed *packed; /* deflated members */
    uint32_t n_packed, packed_room;
    const char **memory; /* bytes from a pickle */
    uint32_t n_memory, memory_room;
    const struct computed **computed; /* in the model's arena */
    uint32_t n_computed, computed_room;
    struct kept *kept;
    uint32_t n_kept, kept_room;
    uint32_t file; /* of blobs kept from now on */
    /* A deflated member is read forwards, from where the last read ended. The lock
     * protects the stream. */
    pthread_mutex_t lock;
    struct inflate *stream;
    uint32_t stream_storage;
};

/* ---- reading ---- */

static struct blob *blob_of(const struct file_source *self, const struct spot *spot)
{
    return self->kept[spot->blob].blob;
}

/* Locate the payload of a member, which must have `size` bytes. */
static int find_payload(struct blob *blob, uint64_t header_at, uint64_t size,
                        uint64_t *ret_at, struct err *err)
{
    struct zip_local local;
    uint64_t at;

    if (zip_payload_at(blob, header_at, &local, &at, err) < 0)
        return -1;
    if (at > blob->size || size > blob->size - at)
        return err_set_about(err, ERR_FORMAT, blob->name,
                             ": the entry at byte %" PRIu64 " is longer than the file",
                             header_at);
    *ret_at = at;
    return 0;
}

static int read_stored(struct file_source *self, uint32_t storage, uint64_t at,
                       void *to, size_t n, struct err *err)
{
    const struct storage *member = &self->model->storages[storage];
    struct spot *spot = &self->spots[storage];
    uint32_t head = atomic_load_explicit(&spot->head, memory_order_relaxed);
    struct blob *blob = blob_of(self, spot);
    uint64_t begin = member->at + head;

    if (head == 0) {
        if (find_payload(blob, member->at, storage_have(self->model, member), &begin,
                         err) < 0)
            return -1;
        atomic_store_explicit(&spot->head, (uint32_t)(begin - member->at),
                              memory_order_relaxed);
    }
    return blob_read(blob, begin + at, to, n, err);
}

/* Skip to the unpacked byte `at`. */
static int skip_to(struct inflate *stream, uint64_t at, struct err *err)
{
    uint8_t dropped[16 * 1024];

    while (inflate_done(stream) < at) {
        uint64_t left = at - inflate_done(stream);
        size_t n = left < sizeof dropped ? (size_t)left : sizeof dropped;

        if (inflate_read(stream, dropped, n, err) < 0)
            return -1;
    }
    return 0;
}

/* Read a packed member. Called with the lock held. */
static int read_packed(struct file_source *self, uint32_t storage, uint64_t at,
                       void *to, size_t n, struct err *err)
{
    const struct storage *member = &self->model->storages[storage];
    const struct spot *spot = &self->spots[storage];
    const struct packed *packed = &self->packed[spot->packed];
    uint64_t begin;

    at += packed->skip;
    if (self->stream &&
        (self->stream_storage != storage || inflate_done(self->stream) > at)) {
        inflate_close(self->stream);
        self->stream = NULL;
    }
    if (!self->stream) {
        if (find_payload(blob_of(self, spot), member->at, packed->size, &begin, err) <
            0)
            return -1;
        self->stream =
            inflate_open(blob_of(self, spot), begin, packed->size,
                         packed->skip + storage_have(self->model, member), err);
        self->stream_storage = storage;
    }
    if (!self->stream)
        return -1;
    if (skip_to(self->stream, at, err) == 0 &&
        inflate_read(self->stream, to, n, err) == 0)
        return 0;
    inflate_close(self->stream);
    self->stream = NULL;
    return -1;
}

/* Compute the part [at, at + n) of one unit, of `have` bytes in all. */
static int make_part(struct file_source *self, const struct computed *computed,
                     uint64_t have, uint64_t at, void *to, size_t n, struct err *err)
{
    uint8_t whole[COMPUTED_UNIT_MAX];
    uint64_t begin = at - at % computed->unit, left = have - begin;
    size_t size = left < computed->unit ? (size_t)left : computed->unit;

    if (computed->bytes(computed, &self->source, begin, whole, size, err) < 0)
        return -1;
    memcpy(to, whole + (at - begin), n);
    return 0;
}

static int read_computed(struct file_source *self, const struct computed *computed,
                         uint64_t have, uint64_t at, void *to, size_t n,
                         struct err *err)
{
    uint32_t unit = computed->unit;
    uint8_t *next = to;
    size_t now;

    if (unit > 1 && at % unit > 0) {
        now = (size_t)(unit - at % unit) < n ? (size_t)(unit - at % unit) : n;
        if (make_part(self, computed, have, at, next, now, err) < 0)
            return -1;
        at += now;
        next += now;
        n -= now;
    }
    now = unit > 1 && at + n < have ? n - n % unit : n;
    if (now > 0 && computed->bytes(computed, &self->source, at, next, now, err) < 0)
        return -1;
    return n == now
               ? 0
               : make_part(self, computed, have, at + now, next + now, n - now, err);
}

static int source_read(struct source *source, uint32_t storage, uint64_t at, void *to,
                       size_t n, struct err *err)
{
    struct file_source *self = (struct file_source *)source;
    struct spot *spot = storage < self->n_spots ? &self->spots[storage] : NULL;
    uint64_t have;
    int status;

    if (!spot || spot->kind == SPOT_NOTHING)
        return err_set(err, ERR_NOT_FOUND, "the values are not in the file");
    have = storage_have(self->model, &self->model->storages[storage]);
    if (at > have || n > have - at)
        return err_set(err, ERR_FORMAT,
                       "cannot read bytes %" PRIu64 " to %" PRIu64
                       " of a storage of %" PRIu64 " bytes",
                       at, at + n, have);
    switch (spot->kind) {
    case SPOT_PLAIN:
        return blob_read(blob_of(self, spot), self->model->storages[storage].at + at,
                         to, n, err);
    case SPOT_STORED:
        return read_stored(self, storage, at, to, n, err);
    case SPOT_DEFLATED:
        pthread_mutex_lock(&self->lock);
        status = read_packed(self, storage, at, to, n, err);
        pthread_mutex_unlock(&self->lock);
        return status;
    case SPOT_COMPUTED:
        return read_computed(self, self->computed[spot->computed], have, at, to, n,
                             err);
    default:
        memcpy(to, self->memory[spot->memory] + at, n);
        return 0;
    }
}

static const void *source_memory(struct source *source, uint32_t storage)
{
    struct file_source *self = (struct file_source *)source;

    if (storage >= self->n_spots || self->spots[storage].kind != SPOT_MEMORY)
        return NULL;
    return self->memory[self->spots[storage].memory];
}

static int any_changed(struct source *source)
{
    struct file_source *self = (struct file_source *)source;

    for (uint32_t i = 0; i < self->n_kept; i++)
        if (blob_changed(self->kept[i].blob))
            return 1;
    return 0;
}

/* Closes blobs in reverse, as a part borrows its whole. The model's arena has the rest.
 */
static void close_all(struct source *source)
{
    struct file_source *self = (struct file_source *)source;

    inflate_close(self->stream);
    while (self->n_kept > 0)
        blob_close(self->kept[--self->n_kept].blob);
    pthread_mutex_destroy(&self->lock);
}

static const struct source_ops file_source_ops = {.bytes = source_read,
                                                  .direct = source_memory,
                                                  .changed = any_changed,
                                                  .close = close_all};

/* ---- building ---- */

/* The model's source, created on first use; NULL: the arena is spent. */
static struct file_source *source_of(struct build *build)
{
    struct model *model = build->model;
    struct file_source *self = (struct file_source *)model->source;

    if (self)
        return self;
    self = arena_alloc(&model->arena, sizeof *self);
    if (!self)
        return NULL;
    self->source = (struct source){&file_source_ops, .any_thread = true};
    self->model = model;
    pthread_mutex_init(&self->lock, NULL);
    model->source = &self->source;
    return self;
}

static const struct kept *find_kept(const struct file_source *self,
                                    const struct blob *blob)
{
    for (uint32_t i = self->n_kept; i-- > 0;)
        if (self->kept[i].blob == blob)
            return &self->kept[i];
    return NULL;
}

static int keep(struct build *build, struct blob *blob, bool is_file, struct err *err)
{
    struct file_source *self = source_of(build);

    if (self && find_kept(self, blob))
        return 0;
    if (!self || arena_room(&build->model->arena, &self->kept, self->n_kept,
                            &self->kept_room, sizeof *self->kept) < 0) {
        arena_err(&build->model->arena, blob->name, err);
        blob_close(blob);
        return -1;
    }
    if (is_file)
        self->file = build_file(build, str_of(blob->name), blob->size);
    self->kept[self->n_kept++] = (struct kept){blob, self->file};
    return 0;
}

int file_source_keep(struct build *build, struct blob *takes_blob, struct err *err)
{
    return keep(build, takes_blob, false, err);
}

int file_source_keep_file(struct build *build, struct blob *takes_blob, struct err *err)
{
    return keep(build, takes_blob, true, err);
}

/* Add the storage, of which `have` bytes can be read, and its spot. */
static uint32_t add_spot(struct build *build, struct storage *storage, uint64_t have,
                         struct spot spot)
{
    struct file_source *self = source_of(build);
    uint32_t id;

    if (!self)
        return NO_STORAGE;
    if (spot.kind == SPOT_NOTHING)
        storage->flags |= STORAGE_MISSING;
    id = build_storage_part(build, storage, have);
    if (id == NO_STORAGE)
        return NO_STORAGE;
    arena_reserve(&build->model->arena, &self->spots, build->model->storages_room,
                  &self->spots_room, sizeof *self->spots);
    /* Storages without a spot may have been made in between. */
    while (self->n_spots <= id) {
        if (arena_room(&build->model->arena, &self->spots, self->n_spots,
                       &self->spots_room, sizeof *self->spots) < 0)
            return NO_STORAGE;
        self->n_spots++;
    }
    self->spots[id] = spot;
    return id;
}

/* The same for bytes of a blob, which must have been kept. */
static uint32_t add_spot_in(struct build *build, struct storage *storage, uint64_t have,
                            struct blob *blob, struct spot spot)
{
    struct file_source *self = source_of(build);
    const struct kept *kept = self ? find_kept(self, blob) : NULL;

    if (!kept)
        return NO_STORAGE;
    storage->file = kept->file;
    spot.blob = (uint32_t)(kept - self->kept) & BLOB_MASK;
    return add_spot(build, storage, have, spot);
}

uint32_t file_source_plain(struct build *build, struct blob *blob,
                           struct storage *storage)
{
    uint64_t inside = storage->at < blob->size ? blob->size - storage->at : 0;

    return add_spot_in(build, storage, inside, blob, (struct spot){.kind = SPOT_PLAIN});
}

static int note_packed(struct build *build, struct packed packed, uint32_t *ret_index)
{
    struct file_source *self = source_of(build);

    if (!self || arena_room(&build->model->arena, &self->packed, self->n_packed,
                            &self->packed_room, sizeof *self->packed) < 0)
        return -1;
    *ret_index = self->n_packed;
    self->packed[self->n_packed++] = packed;
    return 0;
}

uint32_t file_source_member(struct build *build, struct zip *zip, uint32_t entry_id,
                            struct storage *storage)
{
    const struct zip_entry *entry = &zip->entries[entry_id];
    struct spot spot = {.kind = SPOT_STORED};

    if (entry->bad || (entry->method == ZIP_DEFLATED && entry->cut))
        return file_source_missing(build, storage);
    storage->at = entry->header_at;
    if (entry->method != ZIP_DEFLATED)
        return add_spot_in(build, storage, entry->packed, zip->blob, spot);
    return file_source_deflated(build, zip, entry_id, 0, storage);
}

uint32_t file_source_deflated(struct build *build, struct zip *zip, uint32_t entry_id,
                              uint64_t skip, struct storage *storage)
{
    const struct zip_entry *entry = &zip->entries[entry_id];
    struct spot spot = {.kind = SPOT_DEFLATED};
    uint64_t have = entry->size > skip ? entry->size - skip : 0;

    if (entry->bad || entry->cut)
        return file_source_missing(build, storage);
    storage->at = entry->header_at;
    if (note_packed(build, (struct packed){entry->packed, skip}, &spot.packed) < 0)
        return NO_STORAGE;
    return add_spot_in(build, storage, have, zip->blob, spot);
}

uint32_t file_source_bytes(struct build *build, struct str bytes,
                           struct storage *storage)
{
    struct str copy = arena_str(&build->model->arena, bytes);
    struct file_source *self = source_of(build);

    if (!copy.at || !self ||
        arena_room(&build->model->arena, &self->memory, self->n_memory,
                   &self->memory_room, sizeof *self->memory) < 0)
        return NO_STORAGE;
    self->memory[self->n_memory++] = copy.at;
    return add_spot(build, storage, bytes.len,
                    (struct spot){.memory = self->n_memory - 1, .kind = SPOT_MEMORY});
}

uint32_t file_source_computed(struct build *build, const struct computed *computed,
                              uint64_t have, struct storage *storage)
{
    struct file_source *self = source_of(build);

    assert(computed->unit <= COMPUTED_UNIT_MAX);
    if (!self || arena_room(&build->model->arena, &self->computed, self->n_computed,
                            &self->computed_room, sizeof *self->computed) < 0)
        return NO_STORAGE;
    self->computed[self->n_computed++] = computed;
    return add_spot(
        build, storage, have,
        (struct spot){.computed = self->n_computed - 1, .kind = SPOT_COMPUTED});
}

uint32_t file_source_missing(struct build *build, struct storage *storage)
{
    return add_spot(build, storage, 0, (struct spot){.kind = SPOT_NOTHING});
}

bool file_source_any_order(const struct build *build, uint32_t storage)
{
    const struct file_source *self = (struct file_source *)build->model->source;

    return self && storage < self->n_spots &&
           self->spots[storage].kind != SPOT_DEFLATED;
}
