#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/base.h"
#include "read/hdf5/hdf5_parts_in.h"

/* A dataset is read in bands: a part of it in C order, into which every chunk that reaches
 * into it is unpacked once. All datasets of a file share a few bands, so that memory
 * stays flat. */
#define BANDS     4
#define BAND_MOST (8 * MIB)

struct band {
    const struct blob *of; /* NULL: free */
    uint64_t at, size, used;
    uint8_t *bytes; /* BAND_MOST */
};

struct hdf5_shared {
    pthread_mutex_t lock;
    uint32_t users;
    uint64_t clock;
    struct band bands[BANDS];
};

struct chunked {
    struct blob blob;
    struct blob *file; /* borrowed: the model's source closes it later */
    uint64_t base;
    struct hdf5_layout layout;
    uint64_t row;  /* bytes of one step along the first dimension */
    uint64_t band; /* bytes of a band; the last may be shorter */
    struct hdf5_shared *shared;
};

/* ---- one chunk ---- */

/* The bytes of a chunk in *to, which the caller frees. */
static int load_chunk(const struct chunked *self, const struct hdf5_chunk *chunk,
                      uint8_t **to, struct err *err)
{
    const struct hdf5_layout *layout = &self->layout;
    size_t size = (size_t)layout->chunk_bytes;
    size_t room = (chunk->size > size ? chunk->size : size) + 64;
    uint8_t *a = malloc(room), *b = layout->filters.n > 0 ? malloc(room) : NULL, *got;

    if (!a || (layout->filters.n > 0 && !b)) {
        free(a);
        free(b);
        return err_set_about(err, ERR_LIMIT, self->blob.name, ": out of memory");
    }
    if (blob_read(self->file, self->base + chunk->at, a, chunk->size, err) < 0) {
        free(a);
        free(b);
        return -1;
    }
    got = hdf5_unpack(&layout->filters, chunk->mask, a, b, chunk->size, size);
    if (got != a)
        free(a);
    if (got != b)
        free(b);
    if (!got)
        return err_set_about(
            err, ERR_FORMAT, self->blob.name,
            ": the chunk at byte %llu cannot be unpacked. Download the "
            "file again",
            (unsigned long long)(self->base + chunk->at));
    *to = got;
    return 0;
}

/* Copy the overlap of n bytes at `at` of the dataset into the band. */
static void copy_run(const struct band *band, uint64_t at, const uint8_t *from,
                     uint64_t n)
{
    uint64_t begin = at > band->at ? at : band->at;
    uint64_t end = at + n < band->at + band->size ? at + n : band->at + band->size;

    if (begin < end)
        memcpy(band->bytes + (begin - band->at), from + (begin - at),
               (size_t)(end - begin));
}

/* Copy the part of a chunk that is inside the dataset, run by run along the last
 * dimension. */
static void place_chunk(const struct chunked *self, const struct band *band,
                        const uint64_t *origin, const uint8_t *from)
{
    const struct hdf5_layout *layout = &self->layout;
    int last = layout->rank - 1;
    uint64_t at[HDF5_RANK] = {0}, n[HDF5_RANK];

    for (int i = 0; i < layout->rank; i++)
        n[i] = layout->dims[i] - origin[i] < layout->chunk[i]
                   ? layout->dims[i] - origin[i]
                   : layout->chunk[i];
    for (;;) {
        uint64_t to = 0, source = 0;
        int i;

        for (int k = 0; k < layout->rank; k++) {
            to = to * layout->dims[k] + origin[k] + at[k];
            source = source * layout->chunk[k] + at[k];
        }
        copy_run(band, to * layout->element, from + source * layout->element,
                 n[last] * layout->element);
        for (i = last - 1; i >= 0; i--) {
            if (++at[i] < n[i])
                break;
            at[i] = 0;
        }
        if (i < 0)
            return;
    }
}

/* The first element of a chunk along each dimension. */
static void origin_of(const struct hdf5_layout *layout, uint64_t number,
                      uint64_t *ret_origin)
{
    for (int i = layout->rank - 1; i >= 0; i--) {
        ret_origin[i] = number % layout->grid[i] * layout->chunk[i];
        number /= layout->grid[i];
    }
}

/* Does the chunk reach into the band? */
static bool reaches(const struct chunked *self, const struct band *band,
                    const uint64_t *origin)
{
    const struct hdf5_layout *layout = &self->layout;
    uint64_t first = 0, last = 0;

    for (int i = 0; i < layout->rank; i++) {
        uint64_t end = origin[i] + layout->chunk[i] < layout->dims[i]
                           ? origin[i] + layout->chunk[i]
                           : layout->dims[i];

        first = first * layout->dims[i] + origin[i];
        last = last * layout->dims[i] + end - 1;
    }
    return first * layout->element < band->at + band->size &&
           (last + 1) * layout->element > band->at;
}

/* ---- bands ---- */

static void fill_with_default(const struct chunked *self, struct band *band)
{
    static const uint8_t zeros[sizeof self->layout.fill];
    uint32_t element = self->layout.element;

    if (memcmp(self->layout.fill, zeros, sizeof zeros) == 0) {
        memset(band->bytes, 0, (size_t)band->size);
        return;
    }
    for (uint64_t i = 0; i < band->size; i++)
        band->bytes[i] = self->layout.fill[(band->at + i) % element];
}

/* The first chunk with this number or a greater one. */
static uint32_t first_from(const struct hdf5_layout *layout, uint64_t number)
{
    uint32_t low = 0, high = layout->n_chunks;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (layout->chunks[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int fill_band(const struct chunked *self, struct band *band, struct err *err)
{
    const struct hdf5_layout *layout = &self->layout;
    uint64_t per_row = layout->n_grid / layout->grid[0];
    uint64_t first = band->at / self->row / layout->chunk[0];
    uint64_t last = (band->at + band->size - 1) / self->row / layout->chunk[0];

    fill_with_default(self, band);
    for (uint32_t i = first_from(layout, first * per_row);
         i < layout->n_chunks && layout->chunks[i].number < (last + 1) * per_row; i++) {
        uint64_t origin[HDF5_RANK];
        uint8_t *bytes = NULL;

        origin_of(layout, layout->chunks[i].number, origin);
        if (!reaches(self, band, origin))
            continue;
        if (load_chunk(self, &layout->chunks[i], &bytes, err) < 0)
            return -1;
        place_chunk(self, band, origin, bytes);
        free(bytes);
    }
    return 0;
}

/* The band with the byte at `at`. Called with the lock held. */
static struct band *band_at(struct chunked *self, uint64_t at, struct err *err)
{
    struct hdf5_shared *shared = self->shared;
    struct band *oldest = &shared->bands[0];

    shared->clock++;
    for (int i = 0; i < BANDS; i++) {
        struct band *band = &shared->bands[i];

        if (band->of == &self->blob && at >= band->at && at - band->at < band->size) {
            band->used = shared->clock;
            return band;
        }
        if (band->used < oldest->used)
            oldest = band;
    }
    if (!oldest->bytes)
        oldest->bytes = malloc(BAND_MOST);
    if (!oldest->bytes) {
        err_set_about(err, ERR_LIMIT, self->blob.name, ": out of memory");
        return NULL;
    }
    oldest->of = NULL;
    oldest->at = at / self->band * self->band;
    oldest->size = self->blob.size - oldest->at < self->band
                       ? self->blob.size - oldest->at
                       : self->band;
    if (fill_band(self, oldest, err) < 0)
        return NULL;
    oldest->of = &self->blob;
    oldest->used = shared->clock;
    return oldest;
}

static int chunked_read(struct blob *blob, uint64_t at, void *to, size_t n,
                        struct err *err)
{
    struct chunked *self = (struct chunked *)blob;
    uint8_t *out = to;
    int status = 0;

    pthread_mutex_lock(&self->shared->lock);
    while (n > 0) {
        struct band *band = band_at(self, at, err);
        size_t have, piece;

        if (!band) {
            status = -1;
            break;
        }
        have = (size_t)(band->at + band->size - at);
        piece = n < have ? n : have;
        memcpy(out, band->bytes + (at - band->at), piece);
        out += piece;
        at += piece;
        n -= piece;
    }
    pthread_mutex_unlock(&self->shared->lock);
    return status;
}

static int chunked_changed(struct blob *blob)
{
    return blob_changed(((struct chunked *)blob)->file);
}

static void release_shared(struct hdf5_shared *shared, const struct blob *blob)
{
    bool last;

    pthread_mutex_lock(&shared->lock);
    for (int i = 0; i < BANDS; i++)
        if (shared->bands[i].of == blob)
            shared->bands[i].of = NULL;
    last = --shared->users == 0;
    pthread_mutex_unlock(&shared->lock);
    if (!last)
        return;
    for (int i = 0; i < BANDS; i++)
        free(shared->bands[i].bytes);
    pthread_mutex_destroy(&shared->lock);
    free(shared);
}

static void chunked_close(struct blob *blob)
{
    release_shared(((struct chunked *)blob)->shared, blob);
    free(blob);
}

static const struct blob_ops chunked_ops = {chunked_read, chunked_changed,
                                            chunked_close};

/* ---- opening ---- */

/* The cache of the file, with one more user. */
static struct hdf5_shared *share(struct hdf5 *file)
{
    if (!file->shared) {
        file->shared = calloc(1, sizeof *file->shared);
        if (file->shared)
            pthread_mutex_init(&file->shared->lock, NULL);
    }
    if (file->shared)
        file->shared->users++;
    return file->shared;
}

/* Whole rows of chunks, if they fit. */
static uint64_t band_size(const struct hdf5_layout *layout, uint64_t row)
{
    uint64_t rows;

    if (__builtin_mul_overflow(row, layout->chunk[0], &rows) || rows > BAND_MOST)
        return BAND_MOST;
    return rows >= MIB ? rows : MIB / rows * rows;
}

struct blob *hdf5_chunks_open(struct hdf5 *file, const struct hdf5_layout *layout,
                              uint64_t size, const char *name, struct err *err)
{
    size_t name_size = strlen(name) + 1;
    struct chunked *self = calloc(1, sizeof *self + name_size);

    if (self)
        self->shared = share(file);
    if (!self || !self->shared) {
        free(self);
        err_set_about(err, ERR_LIMIT, file->path, ": out of memory");
        return NULL;
    }
    self->blob.ops = &chunked_ops;
    self->blob.name = memcpy((char *)(self + 1), name, name_size);
    self->blob.size = size;
    self->file = file->blob;
    self->base = file->base;
    self->layout = *layout;
    self->row = size / layout->dims[0];
    self->band = band_size(layout, self->row);
    return &self->blob;
}
