#include "ext/record/seen.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define FIRST_ROOM 1024u
#define MOST_ROOM  (1u << 20) /* beyond it the table is cleared */

/* An entry for a tensor's value or, in the second table, for a storage. */
struct seen_entry {
    uint64_t key;   /* 0: free */
    PyObject *weak; /* dead: the entry is invalid */
    const void *at;
    int64_t version;
    uint64_t print;
    uint32_t value;
};

struct seen_table {
    struct seen_entry *entries;
    uint32_t n, mask;
};

struct seen {
    struct seen_table values, storages;
    uint32_t n_storages; /* numbers given out */
};

static bool table_init(struct seen_table *table, uint32_t room)
{
    table->entries = calloc(room, sizeof *table->entries);
    table->mask = room - 1;
    table->n = 0;
    return table->entries;
}

static void table_clear(struct seen_table *table)
{
    for (uint32_t i = 0; table->n > 0 && i <= table->mask; i++)
        if (table->entries[i].key) {
            Py_CLEAR(table->entries[i].weak);
            table->entries[i].key = 0;
        }
    table->n = 0;
}

static void table_release(struct seen_table *table)
{
    if (table->entries)
        table_clear(table);
    free(table->entries);
}

/* The referent, borrowed, or NULL. */
static PyObject *alive(PyObject *weak)
{
    PyObject *object = PyWeakref_GetObject(weak);

    return object == Py_None ? NULL : object;
}

/* The entry of a key, or the free slot for it. */
static struct seen_entry *slot_of(const struct seen_table *table, uint64_t key)
{
    uint32_t i = (uint32_t)key & table->mask;

    while (table->entries[i].key && table->entries[i].key != key)
        i = (i + 1) & table->mask;
    return &table->entries[i];
}

/* Drops dead entries; grows the table if too little room remains. */
static void table_renew(struct seen_table *table)
{
    struct seen_table old = *table;
    uint32_t living = 0, room = old.mask + 1;

    for (uint32_t i = 0; i <= old.mask; i++)
        living += old.entries[i].key && alive(old.entries[i].weak);
    if (living > room / 4)
        room *= 2;
    if (room > MOST_ROOM || !table_init(table, room)) {
        *table = old;
        table_clear(table);
        return;
    }
    for (uint32_t i = 0; i <= old.mask; i++) {
        struct seen_entry *entry = &old.entries[i];

        if (!entry->key)
            continue;
        if (alive(entry->weak)) {
            *slot_of(table, entry->key) = *entry;
            table->n++;
        } else {
            Py_DECREF(entry->weak);
        }
    }
    free(old.entries);
}

/* Adds an entry, replacing one with the same key. */
static struct seen_entry *table_put(struct seen_table *table, uint64_t key,
                                    PyObject *object)
{
    PyObject *weak = PyWeakref_NewRef(object, NULL), *old;
    struct seen_entry *entry;

    if (!weak) {
        ext_swallow();
        return NULL;
    }
    /* There are many of these and they refer to nothing that the garbage collector
     * could follow, so it need not visit them. */
    PyObject_GC_UnTrack(weak);
    if (table->n >= (table->mask + 1) / 2)
        table_renew(table);
    entry = slot_of(table, key);
    old = entry->weak;
    table->n += entry->key == 0;
    entry->key = key;
    entry->weak = weak;
    Py_XDECREF(old);
    return entry;
}

struct seen *seen_new(void)
{
    struct seen *seen = calloc(1, sizeof *seen);

    if (!seen)
        return NULL;
    if (!table_init(&seen->values, FIRST_ROOM) ||
        !table_init(&seen->storages, FIRST_ROOM)) {
        seen_free(seen);
        return NULL;
    }
    return seen;
}

void seen_free(struct seen *seen)
{
    if (!seen)
        return;
    table_release(&seen->values);
    table_release(&seen->storages);
    free(seen);
}

void seen_clear(struct seen *seen)
{
    table_clear(&seen->values);
}

/* A 64-bit hash of all that distinguishes views. Its seed is random, so two
 * different views collide with a probability of 1 in 2^64. */
static uint64_t key_of(const struct live_tensor *tensor)
{
    uint64_t key = hash_mix((uint64_t)(uintptr_t)tensor->at, (uint64_t)tensor->version);

    key = hash_mix(key, (uint64_t)tensor->dtype << 32 | (uint64_t)tensor->rank << 16 |
                            (tensor->flags & (LIVE_CONJ | LIVE_NEG | LIVE_GRAD)));
    for (int i = 0; i < tensor->rank; i++)
        key = hash_mix(hash_mix(key, (uint64_t)tensor->shape[i]),
                       (uint64_t)tensor->strides[i]);
    return key ? key : 1;
}

/* A tensor without a version may have been written since, so it is never looked up;
 * nor is one without elements in memory. */
static bool can_be_known(const struct live_tensor *tensor)
{
    return tensor->version >= 0 && tensor->at && tensor->layout == LAYOUT_STRIDED;
}

uint32_t seen_find(struct seen *seen, const struct live_tensor *tensor, uint64_t print)
{
    struct seen_entry *entry;
    PyObject *object;

    if (!can_be_known(tensor))
        return RUN_NONE;
    entry = slot_of(&seen->values, key_of(tensor));
    object = entry->key ? alive(entry->weak) : NULL;
    /* The tensor that made the entry may have got other memory since (set_(),
     * .data), and its old memory may now belong to this tensor. */
    if (!object || entry->at != tensor->at || entry->version != tensor->version ||
        entry->print != print || tensor_at(object) != entry->at)
        return RUN_NONE;
    return entry->value;
}

void seen_add(struct seen *seen, PyObject *object, const struct live_tensor *tensor,
              uint64_t print, uint32_t value)
{
    struct seen_entry *entry;

    if (!can_be_known(tensor))
        return;
    entry = table_put(&seen->values, key_of(tensor), object);
    if (!entry)
        return;
    entry->at = tensor->at;
    entry->version = tensor->version;
    entry->print = print;
    entry->value = value;
}

uint32_t seen_storage(struct seen *seen, PyObject *object, bool *ret_new)
{
    PyObject *watched = NULL;
    uint64_t number = tensor_storage(object, &watched);
    struct seen_entry *entry;
    uint32_t value = RUN_NONE;

    *ret_new = false;
    if (number != 0 && watched) {
        entry = slot_of(&seen->storages, hash_u64(number) | 1);
        if (entry->key && alive(entry->weak)) {
            value = entry->value;
        } else {
            *ret_new = true;
            value = seen->n_storages++;
            entry = table_put(&seen->storages, hash_u64(number) | 1, watched);
            if (entry)
                entry->value = value;
        }
    }
    Py_XDECREF(watched);
    return value;
}
