#include <inttypes.h>

#include "base/base.h"
#include "read/hdf5/hdf5_parts_in.h"

#define LEVELS_MOST 64

/* The nodes of one level of a tree, from left to right. Trees are walked level by level:
 * the list of the next level is made while this one is read. */
struct nodes {
    struct node {
        uint64_t at, n; /* n: records, of version 2 */
    } * at;
    uint32_t n, room;
};

static int add_node(struct hdf5 *file, struct nodes *nodes, struct node node,
                    struct err *err)
{
    if (arena_room(&file->build->scratch, &nodes->at, nodes->n, &nodes->room,
                   sizeof *nodes->at) < 0)
        return arena_err(&file->build->scratch, file->path, err);
    nodes->at[nodes->n++] = node;
    return 0;
}

/* ---- version 1 ---- */

struct btree1 {
    struct hdf5 *file;
    int type;
    uint32_t key_size;
    hdf5_entry *entry;
    void *user;
    struct nodes next;
};

/* "TREE", type, level, number of entries, siblings; then key, child, key, child, ... */
static int read_node1(struct btree1 *self, uint64_t at, int *level, struct err *err)
{
    struct hdf5 *file = self->file;
    uint64_t head = 8 + 2 * (uint64_t)file->offset_size;
    struct bytes in;
    int found;
    uint32_t n;

    if (hdf5_block(file, at, head, "TREE", false, &in, err) < 0)
        return -1;
    if (bytes_u8(&in) != self->type)
        return hdf5_damaged(file, at, "a B-tree of another type", err);
    found = bytes_u8(&in);
    n = bytes_u16(&in);
    if (*level >= 0 && found != *level)
        return hdf5_damaged(file, at, "a node of another level of its B-tree", err);
    *level = found;
    if (hdf5_block(file, at, head + n * ((uint64_t)self->key_size + file->offset_size),
                   "TREE", false, &in, err) < 0)
        return -1;
    bytes_skip(&in, head - 4);
    for (uint32_t i = 0; i < n; i++) {
        struct str key = bytes_take(&in, self->key_size);
        uint64_t child = hdf5_offset(file, &in);
        int status;

        if (found == 0)
            status = self->entry(self->user, bytes_of(key.at, key.len), child, err);
        else
            status = add_node(file, &self->next, (struct node){child, 0}, err);
        if (status < 0)
            return -1;
    }
    return 0;
}

int hdf5_btree1(struct hdf5 *file, uint64_t at, int type, uint32_t key_size,
                hdf5_entry *entry, void *user, struct err *err)
{
    struct btree1 self = {file, type, key_size, entry, user, {0}};
    struct nodes nodes = {0};
    int level = -1;

    if (add_node(file, &nodes, (struct node){at, 0}, err) < 0)
        return -1;
    while (nodes.n > 0) {
        self.next = (struct nodes){0};
        for (uint32_t i = 0; i < nodes.n; i++)
            if (read_node1(&self, nodes.at[i].at, &level, err) < 0)
                return -1;
        nodes = self.next;
        level--;
    }
    return 0;
}

/* ---- version 2 ---- */

struct btree2 {
    struct hdf5 *file;
    uint32_t node_size;
    uint16_t record_size, depth;
    uint8_t type, count_bytes;
    uint8_t total_bytes[LEVELS_MOST]; /* by level: of the records below a node */
    hdf5_entry *entry;
    void *user;
    struct nodes next;
};

/* How many records a node can have decides how long the numbers in its parent are. */
static void set_sizes(struct btree2 *self)
{
    uint64_t most = (self->node_size - 10) / self->record_size, total = most;

    self->count_bytes = (uint8_t)hdf5_number_size(most);
    for (int level = 1; level <= self->depth; level++) {
        uint64_t pointer = self->file->offset_size + (uint64_t)self->count_bytes +
                           self->total_bytes[level - 1];
        uint64_t n =
            (self->node_size - 10 > pointer ? self->node_size - 10 - pointer : 0) /
            (self->record_size + pointer);

        if (__builtin_mul_overflow(n + 1, total, &total) ||
            __builtin_add_overflow(total, n, &total))
            total = UINT64_MAX;
        self->total_bytes[level] = (uint8_t)hdf5_number_size(total);
    }
}

static int read_header2(struct btree2 *self, uint64_t at, struct node *ret_root,
                        struct err *err)
{
    struct hdf5 *file = self->file;
    struct bytes in;

    if (hdf5_block(file, at, 22 + (uint64_t)file->offset_size + file->length_size,
                   "BTHD", true, &in, err) < 0)
        return -1;
    bytes_u8(&in);
    self->type = bytes_u8(&in);
    self->node_size = bytes_u32(&in);
    self->record_size = bytes_u16(&in);
    self->depth = bytes_u16(&in);
    bytes_u16(&in); /* when nodes are split and merged */
    ret_root->at = hdf5_offset(file, &in);
    ret_root->n = bytes_u16(&in);
    if (in.bad || self->record_size == 0 || self->depth >= LEVELS_MOST ||
        self->node_size < 10u + self->record_size || self->node_size > file->end)
        return hdf5_damaged(file, at, "a damaged B-tree", err);
    set_sizes(self);
    return 0;
}

/* "BTLF" or "BTIN", version, type, records; then the children, of an inner node. */
static int read_node2(struct btree2 *self, const struct node *node, int level,
                      struct err *err)
{
    struct hdf5 *file = self->file;
    struct bytes in;

    if (node->n > self->node_size / self->record_size)
        return hdf5_damaged(file, node->at, "a node with too many records", err);
    if (hdf5_block(file, node->at, self->node_size, level > 0 ? "BTIN" : "BTLF", false,
                   &in, err) < 0)
        return -1;
    bytes_skip(&in, 2);
    for (uint64_t i = 0; i < node->n; i++) {
        struct str record = bytes_take(&in, self->record_size);

        if (in.bad)
            return hdf5_damaged(file, node->at, "a truncated node", err);
        if (self->entry(self->user, bytes_of(record.at, record.len), 0, err) < 0)
            return -1;
    }
    for (uint64_t i = 0; level > 0 && i <= node->n; i++) {
        struct node child = {.at = hdf5_offset(file, &in)};

        child.n = hdf5_number(&in, self->count_bytes);
        if (level > 1)
            hdf5_number(&in, self->total_bytes[level - 1]);
        if (in.bad)
            return hdf5_damaged(file, node->at, "a truncated node", err);
        if (add_node(file, &self->next, child, err) < 0)
            return -1;
    }
    return 0;
}

int hdf5_btree2(struct hdf5 *file, uint64_t at, uint8_t *ret_type, uint16_t *ret_size,
                hdf5_entry *entry, void *user, struct err *err)
{
    struct btree2 self = {.file = file, .entry = entry, .user = user};
    struct nodes nodes = {0};
    struct node root;

    if (read_header2(&self, at, &root, err) < 0)
        return -1;
    if (ret_type)
        *ret_type = self.type;
    if (ret_size)
        *ret_size = self.record_size;
    if (root.at == HDF5_NOWHERE)
        return 0;
    if (add_node(file, &nodes, root, err) < 0)
        return -1;
    for (int level = self.depth; level >= 0; level--) {
        self.next = (struct nodes){0};
        for (uint32_t i = 0; i < nodes.n; i++)
            if (read_node2(&self, &nodes.at[i], level, err) < 0)
                return -1;
        nodes = self.next;
    }
    return 0;
}
