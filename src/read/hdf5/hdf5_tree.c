#include <stdlib.h>

#include "base/base.h"
#include "read/hdf5/hdf5_parts_in.h"

/* The members of the group that is being listed. */
struct group_listing {
    struct hdf5 *file;
    uint32_t group;
};

static int add_item(struct hdf5 *file, struct hdf5_item item, struct err *err)
{
    if (arena_room(&file->build->scratch, &file->items, file->n_items,
                   &file->items_room, sizeof *file->items) < 0)
        return arena_err(&file->build->scratch, file->path, err);
    file->items[file->n_items++] = item;
    return 0;
}

/* A link into another file is a byte of flags, the name of the file and a path in it. */
static struct str target_of(struct hdf5 *file, const struct hdf5_link *link)
{
    struct str rest = link->target, name;

    if (!link->external)
        return rest;
    rest = str_from(rest, 1);
    if (!str_split(&rest, 0, &name))
        return rest;
    while (rest.len > 0 && rest.at[rest.len - 1] == 0)
        rest.len--;
    return str_of(
        arena_printf(&file->build->scratch, "%.*s:%.*s", STR_ARG(name), STR_ARG(rest)));
}

static int take_link(void *user, const struct hdf5_link *link, struct err *err)
{
    struct group_listing *listing = user;
    struct hdf5 *file = listing->file;
    struct hdf5_item item = {.parent = listing->group,
                             .at = link->at,
                             .same = file->n_items,
                             .kind = HDF5_LINK,
                             .target = target_of(file, link)};

    item.name = arena_str(&file->build->scratch, link->name);
    if (!item.name.at)
        return arena_err(&file->build->scratch, file->path, err);
    item.depth = (uint16_t)(file->items[listing->group].depth + 1);
    if (link->at != HDF5_NOWHERE)
        item.kind = HDF5_BAD; /* until its header was read */
    else if (link->external)
        build_finding(file->build, FINDING_UNSAFE_PATH, SEVERITY_WARNING,
                      FINDING_NOWHERE,
                      "%.*s is a link into another file, which is not followed",
                      STR_ARG(link->name));
    return add_item(file, item, err);
}

/* Is the name a number, as of the weights of Keras: "0", "10"? */
static bool as_number(struct str name, uint64_t *ret_number)
{
    return str_to_u64(name, ret_number) && (name.len == 1 || name.at[0] != '0');
}

static int by_name(const void *left, const void *right)
{
    const struct hdf5_item *a = left, *b = right;
    uint64_t na, nb;

    if (as_number(a->name, &na) && as_number(b->name, &nb) && na != nb)
        return na < nb ? -1 : 1;
    return str_cmp(a->name, b->name);
}

/* Sort the new items and link them as the children of their group. */
static void link_children(struct hdf5 *file, uint32_t group, uint32_t from)
{
    uint32_t n = file->n_items - from;

    if (n == 0)
        return;
    qsort(file->items + from, n, sizeof *file->items, by_name);
    file->items[group].first = from;
    for (uint32_t i = from; i < file->n_items; i++) {
        file->items[i].same = i;
        file->items[i].next = i + 1 < file->n_items ? i + 1 : 0;
    }
}

static enum hdf5_kind kind_of(const struct hdf5_object *object)
{
    if (hdf5_message(object, MESSAGE_LAYOUT) || hdf5_message(object, MESSAGE_SPACE))
        return HDF5_DATASET;
    if (hdf5_message(object, MESSAGE_SYMBOLS) ||
        hdf5_message(object, MESSAGE_LINK_INFO) || hdf5_message(object, MESSAGE_LINK))
        return HDF5_GROUP;
    return hdf5_message(object, MESSAGE_TYPE) ? HDF5_TYPE : HDF5_GROUP;
}

/* The members of a group, even if some cannot be listed. */
static int list_group(struct hdf5 *file, uint32_t item,
                      const struct hdf5_object *object, struct err *err)
{
    struct group_listing listing = {file, item};
    uint32_t from = file->n_items;
    struct err why = {0};

    if (file->items[item].depth >= HDF5_DEPTH)
        err_set_about(&why, ERR_LIMIT, file->path,
                      ": groups more than %d levels deep are left out", HDF5_DEPTH);
    else if (hdf5_links(file, object, take_link, &listing, &why) == 0)
        why.code = ERR_NONE;
    link_children(file, item, from);
    return why.code == ERR_NONE ? 0 : hdf5_note(file, item, FINDING_NOWHERE, &why, err);
}

/* What an item is; an object with several names is one with the first of them. */
static int look_at(struct hdf5 *file, uint32_t item, struct err *err)
{
    struct hdf5_object object;
    struct err why = {0};
    uint32_t first;

    if (file->items[item].kind == HDF5_LINK)
        return 0;
    if (map_find(&file->by_at, file->items[item].at, &first)) {
        file->items[item].same = first;
        file->items[item].kind = file->items[first].kind;
        return 0;
    }
    if (map_put(&file->by_at, file->items[item].at, item) < 0)
        return arena_err(&file->build->scratch, file->path, err);
    if (hdf5_object(file, file->items[item].at, &object, &why) < 0)
        return item == 0 ? err_copy(err, &why)
                         : hdf5_note(file, item, FINDING_NOWHERE, &why, err);
    file->items[item].kind = (uint8_t)kind_of(&object);
    return file->items[item].kind == HDF5_GROUP ? list_group(file, item, &object, err)
                                                : 0;
}

int hdf5_tree(struct hdf5 *file, struct err *err)
{
    struct hdf5_item root = {.at = file->root, .kind = HDF5_BAD};

    if (add_item(file, root, err) < 0)
        return -1;
    /* Children are added behind the items that there are: this reaches all of them. */
    for (uint32_t i = 0; i < file->n_items; i++)
        if (look_at(file, i, err) < 0)
            return -1;
    return 0;
}

uint32_t hdf5_child(const struct hdf5 *file, uint32_t item, struct str name)
{
    uint32_t child = file->items[file->items[item].same].first;

    while (child && !str_eq(file->items[child].name, name))
        child = file->items[child].next;
    return child;
}

void hdf5_path(const struct hdf5 *file, uint32_t item, struct buf *to)
{
    uint32_t path[HDF5_DEPTH + 2], n = 0;

    for (; item != 0 && n < COUNT_OF(path); item = file->items[item].parent)
        path[n++] = item;
    while (n > 0) {
        buf_str(to, file->items[path[--n]].name);
        buf_text(to, n > 0 ? "/" : "");
    }
}
