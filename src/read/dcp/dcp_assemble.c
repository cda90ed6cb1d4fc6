/* A tensor in boxes as one storage: dense, in C order. A window of it is split into
 * runs of elements in one row of one box. Boxes that follow one another, like the
 * shards of FSDP, are found by binary search. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "read/dcp/dcp_in.h"
#include "read/file/file_source_in.h"

#define AHEAD_BYTES 32768 /* bytes to read at once from a box with short rows */
#define STRAY_BYTES 512   /* the same for a box that is not in C order */
#define FILES_SHOWN 8

/* A box, in the model's arena. Its elements come in rows, runs of elements that follow
 * each other in the whole. */
struct dcp_part {
    uint64_t first, last; /* of its elements, in the whole; last: one past the end */
    uint64_t rows, run;   /* how many; elements of each */
    const int64_t *offsets, *sizes, *strides;
    uint32_t storage;
    int outer;              /* the dimensions before those inside a row */
    bool dense;             /* its elements follow each other in the storage */
    uint64_t begin, behind; /* in the storage: its first element, one after its last */
};

struct dcp_computed {
    struct computed computed; /* first */
    int rank;
    uint32_t size;                           /* of an element */
    int64_t shape[DCP_RANK], step[DCP_RANK]; /* step: elements per index */
    const struct dcp_part *parts;            /* by `first` */
    const uint64_t *reach;                   /* the largest `last` up to here */
    uint32_t n;
};

/* ---- reading ---- */

/* Bytes of the storage of one box that were read ahead. */
struct dcp_ahead {
    uint64_t at, n; /* elements */
    uint8_t bytes[AHEAD_BYTES];
};

/* Where row `row` of a box begins in the whole. */
static uint64_t row_place(const struct dcp_computed *self, const struct dcp_part *part,
                          uint64_t row)
{
    uint64_t place = part->first;

    for (int d = part->outer - 1; d >= 0; d--) {
        uint64_t size = (uint64_t)part->sizes[d];

        place += row % size * (uint64_t)self->step[d];
        row /= size;
    }
    return place;
}

/* The first row that ends after `place`. */
static uint64_t find_row(const struct dcp_computed *self, const struct dcp_part *part,
                         uint64_t place)
{
    uint64_t low = 0, high = part->rows;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (row_place(self, part, middle) + part->run <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The element of the storage that is number `i` of the box. */
static uint64_t element_at(const struct dcp_computed *self, const struct dcp_part *part,
                           uint64_t i)
{
    uint64_t at = part->begin;

    if (part->dense)
        return at + i;
    for (int d = self->rank - 1; d >= 0; d--) {
        at += i % (uint64_t)part->sizes[d] * (uint64_t)part->strides[d];
        i /= (uint64_t)part->sizes[d];
    }
    return at;
}

/* Copy n elements of the storage from `at` on, which follow each other. */
static int copy_run(const struct dcp_computed *self, const struct dcp_part *part,
                    struct source *source, struct dcp_ahead *ahead, uint64_t at,
                    uint64_t n, uint8_t *to, struct err *err)
{
    uint64_t room = (part->dense ? AHEAD_BYTES : STRAY_BYTES) / self->size;

    if (n >= room)
        return source_bytes(source, part->storage, at * self->size, to,
                            (size_t)(n * self->size), err);
    if (at < ahead->at || at + n > ahead->at + ahead->n) {
        ahead->n = part->behind - at < room ? part->behind - at : room;
        ahead->at = at;
        if (source_bytes(source, part->storage, at * self->size, ahead->bytes,
                         (size_t)(ahead->n * self->size), err) < 0) {
            ahead->n = 0;
            return -1;
        }
    }
    memcpy(to, ahead->bytes + (at - ahead->at) * self->size, (size_t)(n * self->size));
    return 0;
}

/* Copy the elements [begin, end) of the whole that are in this box. */
static int copy_part(const struct dcp_computed *self, const struct dcp_part *part,
                     struct source *source, struct dcp_ahead *ahead, uint64_t begin,
                     uint64_t end, uint8_t *to, struct err *err)
{
    for (uint64_t row = find_row(self, part, begin); row < part->rows; row++) {
        uint64_t place = row_place(self, part, row), from, until;

        if (place >= end)
            break;
        from = place > begin ? place : begin;
        until = place + part->run < end ? place + part->run : end;
        while (from < until) {
            uint64_t n = part->dense ? until - from : 1;
            uint64_t i = row * part->run + (from - place);

            if (copy_run(self, part, source, ahead, element_at(self, part, i), n,
                         to + (from - begin) * self->size, err) < 0)
                return -1;
            from += n;
        }
    }
    return 0;
}

static int make_bytes(const struct computed *computed, struct source *source,
                      uint64_t at, void *to, size_t n, struct err *err)
{
    const struct dcp_computed *self = (const struct dcp_computed *)computed;
    uint64_t begin = at / self->size, end = (at + n) / self->size;
    uint32_t low = 0, high = self->n;
    struct dcp_ahead ahead;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (self->reach[middle] <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t i = low; i < self->n && self->parts[i].first < end; i++) {
        ahead.n = 0;
        if (self->parts[i].last > begin &&
            copy_part(self, &self->parts[i], source, &ahead, begin, end, to, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- boxes ---- */

static int64_t *copy_dims(struct build *build, const int64_t *dims, int rank)
{
    int64_t *copy = arena_array(&build->model->arena, (size_t)rank + 1, sizeof *copy);

    if (copy)
        memcpy(copy, dims, (size_t)rank * sizeof *copy);
    return copy;
}

/* The first dimension from which on the box is as wide as the whole. */
static void set_rows(const struct dcp_whole *whole, const struct dcp_computed *self,
                     const struct dcp_box *box, struct dcp_part *part)
{
    int d = whole->rank;
    uint64_t expected = 1;

    part->run = 1;
    while (d > 0) {
        d--;
        part->run *= (uint64_t)box->sizes[d];
        if (box->sizes[d] != whole->shape[d])
            break;
    }
    part->outer = d;
    part->rows = part->run > 0 ? box->numel / part->run : 0;
    part->begin = part->behind = box->begin;
    part->dense = true;
    for (d = whole->rank - 1; d >= 0; d--) {
        if (box->sizes[d] > 1)
            part->dense &= (uint64_t)box->strides[d] == expected;
        expected *= (uint64_t)box->sizes[d];
        part->behind += (uint64_t)(box->sizes[d] - 1) * (uint64_t)box->strides[d];
        part->first += (uint64_t)box->offsets[d] * (uint64_t)self->step[d];
        part->last +=
            (uint64_t)(box->offsets[d] + box->sizes[d] - 1) * (uint64_t)self->step[d];
    }
    part->behind++;
    part->last++;
}

static int by_first(const void *a, const void *b)
{
    const struct dcp_part *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

/* The boxes that have elements and are not missing, in order. */
static int set_parts(struct build *build, const struct dcp_whole *whole,
                     struct dcp_computed *self)
{
    struct arena *arena = &build->model->arena;
    struct dcp_part *parts = arena_array(arena, (size_t)whole->n + 1, sizeof *parts);
    uint64_t *reach = arena_array(arena, (size_t)whole->n + 1, sizeof *reach);

    if (!parts || !reach)
        return -1;
    for (uint32_t i = 0; i < whole->n; i++) {
        const struct dcp_box *box = &whole->boxes[i];
        struct dcp_part *part = &parts[self->n];

        if (box->storage == NO_STORAGE || box->numel == 0)
            continue;
        *part = (struct dcp_part){.storage = box->storage};
        part->offsets = copy_dims(build, box->offsets, whole->rank);
        part->sizes = copy_dims(build, box->sizes, whole->rank);
        part->strides = copy_dims(build, box->strides, whole->rank);
        if (!part->offsets || !part->sizes || !part->strides)
            return -1;
        set_rows(whole, self, box, part);
        self->n++;
    }
    if (self->n > 0)
        qsort(parts, self->n, sizeof *parts, by_first);
    for (uint32_t i = 0; i < self->n; i++)
        reach[i] = i > 0 && reach[i - 1] > parts[i].last ? reach[i - 1] : parts[i].last;
    self->parts = parts;
    self->reach = reach;
    return 0;
}

const struct computed *dcp_computed(struct build *build, const struct dcp_whole *whole)
{
    struct dcp_computed *self = arena_alloc(&build->model->arena, sizeof *self);
    int64_t step = 1;

    if (!self)
        return NULL;
    self->size = dtype_info(whole->dtype)->bytes;
    self->computed = (struct computed){.bytes = make_bytes, .unit = self->size};
    self->rank = whole->rank;
    for (int d = whole->rank - 1; d >= 0; d--) {
        self->shape[d] = whole->shape[d];
        self->step[d] = step;
        step *= whole->shape[d];
    }
    return set_parts(build, whole, self) < 0 ? NULL : &self->computed;
}

/* ---- the tensor ---- */

/* The readable bytes: those before the first missing box. */
static uint64_t bytes_before(const struct dcp_whole *whole, bool all_there)
{
    uint64_t numel = all_there ? whole->numel : 0;
    uint64_t size = dtype_info(whole->dtype)->bytes;
    bool missing = false;

    for (uint32_t i = 0; i < whole->n; i++) {
        const struct dcp_box *box = &whole->boxes[i];
        uint64_t first = 0, step = 1;

        if (box->storage != NO_STORAGE || box->numel == 0)
            continue;
        for (int d = whole->rank - 1; d >= 0; d--) {
            first += (uint64_t)box->offsets[d] * step;
            step *= (uint64_t)whole->shape[d];
        }
        numel = missing && numel < first ? numel : first;
        missing = true;
    }
    return numel * size;
}

/* The dimensions along which the tensor was split: "0", "0 and 1". */
static void add_split(struct buf *to, const struct dcp_whole *whole)
{
    bool first = true;

    for (int d = 0; d < whole->rank; d++)
        for (uint32_t i = 0; i < whole->n; i++) {
            if (whole->boxes[i].sizes[d] == whole->shape[d])
                continue;
            buf_printf(to, "%s%d", first ? "" : " and ", d);
            first = false;
            break;
        }
}

/* Its description: {"parts": 4, "split along": "0", "files": "a, b"}. */
static uint32_t describe(struct build *build, const struct dcp_whole *whole)
{
    struct values *values = build_values(build);
    struct model *model = build->model;
    struct buf text = BUF_INIT;
    uint32_t items[6], last = UINT32_MAX, shown = 0;

    items[0] = value_str(values, STR("parts"));
    items[1] = value_int(values, whole->n);
    items[2] = value_str(values, STR("split along"));
    add_split(&text, whole);
    items[3] = value_str(values, buf_span(&text));
    buf_release(&text);
    items[4] = value_str(values, STR("files"));
    for (uint32_t i = 0; i < whole->n && shown <= FILES_SHOWN; i++) {
        uint32_t storage = whole->boxes[i].storage, file;

        if (storage == NO_STORAGE || model->storages[storage].file == last)
            continue;
        file = last = model->storages[storage].file;
        if (shown++ > 0)
            buf_text(&text, ", ");
        if (shown > FILES_SHOWN)
            buf_text(&text, "…");
        else
            buf_str(&text, path_last(model_string(model, model->files[file].name).at));
    }
    items[5] = value_str(values, buf_span(&text));
    buf_release(&text);
    for (size_t i = 0; i < COUNT_OF(items); i++)
        if (items[i] == VALUE_ID_FAILED)
            return VALUE_ID_NONE;
    return value_make(values, VALUE_DICT, STR(""), items, COUNT_OF(items));
}

/* The first box that is not missing, or NULL. */
static const struct dcp_box *some_box(const struct dcp_whole *whole)
{
    for (uint32_t i = 0; i < whole->n; i++)
        if (whole->boxes[i].storage != NO_STORAGE)
            return &whole->boxes[i];
    return NULL;
}

int dcp_assemble(struct build *build, const struct dcp_whole *whole, bool all_there,
                 uint32_t node, struct str name, struct err *err)
{
    const struct dcp_box *some = some_box(whole);
    struct tensor tensor = {
        .dtype = (uint8_t)whole->dtype, .role = ROLE_PLAIN, .class_id = NO_CLASS};
    struct storage storage = {.dtype = (uint8_t)whole->dtype};
    const struct computed *computed;

    dtype_size(whole->dtype, whole->numel, &storage.bytes);
    if (some) {
        storage.file = build->model->storages[some->storage].file;
        storage.at = build->model->storages[some->storage].at;
        storage.flags =
            build->model->storages[some->storage].flags & STORAGE_BIG_ENDIAN;
    }
    computed = dcp_computed(build, whole);
    if (!computed || build_storage_name(build, &storage, name) < 0)
        return arena_err(&build->model->arena, "the checkpoint", err);
    tensor.extra = describe(build, whole);
    tensor.storage =
        file_source_computed(build, computed, bytes_before(whole, all_there), &storage);
    if (tensor.storage == NO_STORAGE || build_tensor(build, node, &tensor, whole->shape,
                                                     NULL, whole->rank) == NO_OBJECT)
        return arena_err(&build->model->arena, "the checkpoint", err);
    return 0;
}
