/* Sparse tensors. The dimensions of the tensor and of the blocks inside it are levels
 * of a tree, in traversal order. A dense level has a child for each index; a sparse one
 * lists the indices that exist. The leaves are the stored values, all other elements
 * are 0. Dense values are computed on demand. */
#include "base/base.h"
#include "model/source.h"
#include "read/file/file_source_in.h"
#include "read/flat/tflite_in.h"

#define LEVELS_MOST 16
#define PAGE_BYTES  4096 /* bytes of the stored values that are read at once */
#define PAGES       8

struct sparse_level {
    uint32_t dim;   /* of the tensor */
    uint32_t block; /* size of the block in this dimension; 0: not a block */
    uint32_t size;  /* of a dense level; 0: it is sparse */
    const uint32_t *segments, *indices; /* indices below child i of the level before:
                                           indices[segments[i] .. segments[i + 1]) */
    uint32_t n_segments, n_indices;
};

struct sparse_values {
    struct computed computed; /* first */
    uint32_t stored;          /* the storage of the values */
    uint32_t n_stored, item;  /* how many, bytes of each */
    uint32_t rank, n_levels;
    uint64_t shape[LEVELS_MOST];
    struct sparse_level levels[LEVELS_MOST];
};

/* ---- computing ---- */

/* Finds an index in its sorted list; false: absent. */
static bool find_index(const struct sparse_level *level, uint64_t parent,
                       uint64_t index, uint64_t *ret_at)
{
    uint32_t low = level->segments[parent], high = level->segments[parent + 1];

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (level->indices[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_at = low;
    return low < level->segments[parent + 1] && level->indices[low] == index;
}

/* The position of an element among the stored values; false: it is 0. */
static bool find_value(const struct sparse_values *self, uint64_t element,
                       uint64_t *ret_at)
{
    uint64_t index[LEVELS_MOST], part[LEVELS_MOST], at = 0;

    for (uint32_t d = self->rank; d-- > 0;) {
        index[d] = element % self->shape[d];
        element /= self->shape[d];
    }
    for (uint32_t l = self->n_levels; l-- > 0;) {
        const struct sparse_level *level = &self->levels[l];

        part[l] = level->block ? index[level->dim] % level->block : index[level->dim];
        if (level->block)
            index[level->dim] /= level->block;
    }
    for (uint32_t l = 0; l < self->n_levels; l++) {
        const struct sparse_level *level = &self->levels[l];

        if (level->size)
            at = at * level->size + part[l];
        else if (!find_index(level, at, part[l], &at))
            return false;
    }
    *ret_at = at;
    return true;
}

/* A cache of the stored values. */
struct pages {
    uint64_t first[PAGES]; /* page number + 1; 0: none */
    uint8_t bytes[PAGES][PAGE_BYTES];
};

static int copy_value(const struct sparse_values *self, struct source *source,
                      struct pages *pages, uint64_t at, uint8_t *to, struct err *err)
{
    uint64_t total = (uint64_t)self->n_stored * self->item;
    uint64_t page = at * self->item / PAGE_BYTES, begin = page * PAGE_BYTES;
    size_t slot = page % PAGES;

    if (pages->first[slot] != page + 1) {
        size_t n = total - begin < PAGE_BYTES ? (size_t)(total - begin) : PAGE_BYTES;

        pages->first[slot] = 0;
        if (source_bytes(source, self->stored, begin, pages->bytes[slot], n, err) < 0)
            return -1;
        pages->first[slot] = page + 1;
    }
    memcpy(to, pages->bytes[slot] + (at * self->item - begin), self->item);
    return 0;
}

static int compute(const struct computed *computed, struct source *source, uint64_t at,
                   void *to, size_t n, struct err *err)
{
    const struct sparse_values *self = (const struct sparse_values *)computed;
    struct pages pages;
    uint8_t *next = to;

    memset(pages.first, 0, sizeof pages.first);
    for (size_t done = 0; done < n; done += self->item, next += self->item) {
        uint64_t value;

        if (!find_value(self, (at + done) / self->item, &value))
            memset(next, 0, self->item);
        else if (copy_value(self, source, &pages, value, next, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- reading ---- */

/* A vector of numbers of 1, 2 or 4 bytes, by the kind in the union. */
static const uint32_t *numbers(struct tflite *tflite, struct flat_table table,
                               unsigned field, uint32_t *ret_n)
{
    struct flat *flat = &tflite->flat;
    int64_t kind = flat_int(flat, table, field, 1, 0);
    unsigned size = kind == 1 ? 4 : kind == 2 ? 2 : 1;
    struct flat_vector vector =
        flat_vector(flat, flat_table(flat, table, field + 1), 0, size);
    uint32_t *numbers = NULL, room = 0;

    *ret_n = 0;
    if (kind < 1 || kind > 3)
        return NULL;
    for (uint32_t i = 0; i < vector.n && !flat->bad; i++) {
        if (arena_room(&tflite->build->model->arena, &numbers, i, &room,
                       sizeof *numbers) < 0)
            return NULL;
        numbers[i] = (uint32_t)flat_number(flat, vector.at + size * (uint64_t)i, size);
        *ret_n = i + 1;
    }
    return numbers;
}

/* Are the lists in order, and each of them sorted? */
static bool is_sorted(const struct sparse_level *level, uint64_t size)
{
    for (uint32_t i = 0; i + 1 < level->n_segments; i++) {
        uint32_t begin = level->segments[i], end = level->segments[i + 1];

        if (begin > end || end > level->n_indices)
            return false;
        for (uint32_t k = begin; k < end; k++)
            if (level->indices[k] >= size ||
                (k > begin && level->indices[k - 1] >= level->indices[k]))
                return false;
    }
    return true;
}

/* Reads the levels; false: they are inconsistent. */
static bool read_levels(struct tflite *tflite, struct flat_table sparsity,
                        struct sparse_values *self)
{
    struct flat *flat = &tflite->flat;
    struct flat_vector order = flat_vector(flat, sparsity, 0, 4);
    struct flat_vector map = flat_vector(flat, sparsity, 1, 4);
    struct flat_vector levels = flat_vector(flat, sparsity, 2, 4);

    self->n_levels = levels.n;
    if (levels.n > LEVELS_MOST || order.n != levels.n ||
        levels.n != (uint64_t)self->rank + map.n)
        return false;
    for (uint32_t l = 0; l < levels.n; l++) {
        struct flat_table table = flat_table_at(flat, levels.at + 4 * (uint64_t)l);
        struct sparse_level *level = &self->levels[l];
        uint64_t dim = flat_number(flat, order.at + 4 * (uint64_t)l, 4);
        bool dense = flat_int(flat, table, 0, 1, 0) == 0;

        level->size = dense ? (uint32_t)flat_int(flat, table, 1, 4, 0) : 0;
        if (dim >= self->rank) {
            level->block = level->size;
            if (dim - self->rank >= map.n || !dense)
                return false;
            dim = flat_number(flat, map.at + 4 * (dim - self->rank), 4);
        }
        if (dim >= self->rank || (dense && level->size == 0))
            return false;
        level->dim = (uint32_t)dim;
        if (!dense) {
            level->segments = numbers(tflite, table, 2, &level->n_segments);
            level->indices = numbers(tflite, table, 4, &level->n_indices);
        }
    }
    return !flat->bad;
}

/* Do the levels divide the tensor, and are there as many stored values as they say? */
static bool check_levels(struct sparse_values *self, uint64_t size)
{
    uint64_t rest[LEVELS_MOST], n = 1;
    uint32_t seen = 0;

    memcpy(rest, self->shape, sizeof rest);
    for (uint32_t l = 0; l < self->n_levels; l++) {
        const struct sparse_level *level = &self->levels[l];

        if (level->block && rest[level->dim] % level->block > 0)
            return false;
        if (level->block)
            rest[level->dim] /= level->block;
        else if (seen & 1u << level->dim)
            return false;
        else
            seen |= 1u << level->dim;
    }
    for (uint32_t l = 0; l < self->n_levels; l++) {
        const struct sparse_level *level = &self->levels[l];

        if (level->size) {
            if ((!level->block && level->size != rest[level->dim]) ||
                __builtin_mul_overflow(n, level->size, &n))
                return false;
        } else {
            if (level->n_segments != n + 1 || !is_sorted(level, rest[level->dim]))
                return false;
            n = level->n_indices;
        }
    }
    self->n_stored = (uint32_t)n;
    return n <= UINT32_MAX && n <= size / self->item;
}

static struct sparse_values *
read_sparse(struct tflite *tflite, struct flat_table sparsity, const int64_t *shape,
            int rank, enum dtype dtype, uint64_t size, const char **ret_why)
{
    const struct dtype_info *info = dtype_info(dtype);
    struct sparse_values *self =
        arena_alloc(&tflite->build->model->arena, sizeof *self);

    if (!self)
        return NULL;
    if (info->block != 1 || info->bytes == 0) {
        *ret_why = "sparse tensors of this dtype are not supported";
        return self;
    }
    self->computed = (struct computed){compute, info->bytes};
    self->item = info->bytes;
    self->rank = (uint32_t)rank;
    *ret_why = "the layout of the sparse tensor is damaged";
    if (rank > LEVELS_MOST)
        return self;
    for (int i = 0; i < rank; i++) {
        if (shape[i] <= 0)
            return self;
        self->shape[i] = (uint64_t)shape[i];
    }
    if (read_levels(tflite, sparsity, self) && check_levels(self, size))
        *ret_why = NULL;
    return self;
}

uint32_t tflite_sparse(struct tflite *tflite, struct flat_table sparsity,
                       const int64_t *shape, int rank, struct storage *storage,
                       const char **ret_why)
{
    struct build *build = tflite->build;
    struct storage stored = *storage;
    struct sparse_values *self =
        read_sparse(tflite, sparsity, shape, rank, (enum dtype)storage->dtype,
                    storage->bytes, ret_why);

    if (!self)
        return NO_STORAGE;
    storage->bytes = flat_dense_bytes((enum dtype)storage->dtype, shape, rank);
    if (*ret_why || storage->bytes == 0)
        return file_source_missing(build, storage);
    self->stored = file_source_plain(build, tflite->input->blob, &stored);
    return self->stored == NO_STORAGE
               ? NO_STORAGE
               : file_source_computed(build, &self->computed, storage->bytes, storage);
}
