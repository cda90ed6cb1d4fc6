/* torch_tar.c - the format of torch 0.1 (2016 and 2017): a tar with four members.
 *   sys_info  a pickle: the machine it was written on
 *   pickle    the object; a persistent id is the key of a tensor or a storage, or, for
 *             a class, (class, file, source)
 *   tensors   a pickle n, then n times: the pickle (key, storage key, class), i32 rank,
 *             four unused bytes, sizes and strides as i64, the i64 offset
 *   storages  a pickle n, then n times: the pickle (key, location, class), i64 number
 *             of elements, the elements; then a pickle of a list of views, each (key,
 *             key of the whole, offset, number of elements) */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "base/bytes.h"
#include "read/file/file_source_in.h"
#include "read/file/input_in.h"
#include "read/file/tar_in.h"
#include "read/pickle/pickle_feed_in.h"
#include "read/pickle/pickle_value_in.h"
#include "read/torch/torch_fold_in.h"

#define RANK_MAX 64
#define STEP     512 /* the pickles between the data are small */

enum { SYS_INFO, PICKLE, TENSORS, STORAGES, MEMBERS };
static const char *const member_names[MEMBERS] = {"sys_info", "pickle", "tensors",
                                                  "storages"};

/* A storage, or a tensor on one. */
struct torch_tar_piece {
    struct str key;
    uint32_t storage; /* its number in the model */
    uint16_t device;
    uint8_t dtype, rank;
    bool is_tensor;
    uint64_t at;     /* of a storage: its bytes */
    uint64_t numel;  /* of a storage */
    uint64_t offset; /* of a tensor, in its storage */
    uint32_t dims;   /* of a tensor: sizes, then strides */
};

struct torch_tar {
    struct input *input;
    struct build *build;
    struct tar_member members[MEMBERS]; /* `at` is 0: missing */
    bool big_endian;
    struct torch_tar_piece *pieces;
    uint32_t pieces_room;
    struct name_map keys; /* index in `pieces` */
    int64_t *dims;
    uint32_t n_dims, dims_room;
};

static int member_index(const char *name)
{
    for (int i = 0; i < MEMBERS; i++)
        if (strcmp(name, member_names[i]) == 0)
            return i;
    return -1;
}

static int knows(const struct input *input)
{
    struct tar_member first;

    if (!input->blob || !tar_looks_like(input->head) || !tar_first(input->head, &first))
        return 0;
    return member_index(first.name) >= 0 ? SURE_MAGIC : 0;
}

/* ---- storages and tensors by their keys ---- */

static struct torch_tar_piece *find_piece(struct torch_tar *self, struct str key)
{
    uint32_t i;

    return name_map_find(&self->keys, key, &i) ? &self->pieces[i] : NULL;
}

static int add_piece(struct torch_tar *self, const struct torch_tar_piece *piece,
                     struct err *err)
{
    struct arena *arena = &self->build->scratch;
    uint32_t i;

    if (find_piece(self, piece->key)) {
        build_finding(self->build, FINDING_DUPLICATE, SEVERITY_ALARM, self->input->node,
                      "two tensors or storages have the key %.*s", STR_ARG(piece->key));
        return 0;
    }
    if (arena_room(arena, &self->pieces, self->keys.n, &self->pieces_room,
                   sizeof *piece) < 0 ||
        name_map_add(&self->keys, piece->key, &i) < 0)
        return arena_err(arena, self->input->path, err);
    self->pieces[i] = *piece;
    return 0;
}

/* The three items of the small pickle before a storage or tensor. */
struct torch_tar_label {
    struct pickle pickle;
    struct str key, second, class_name;
};

static int read_label(struct pickle_feed *feed, const char *name,
                      struct torch_tar_label *label, struct err *err)
{
    int status = pickle_feed_next(feed, &label->pickle, str_of(name), err);
    const struct pickle *pickle = &label->pickle;

    if (status < 0)
        return -1;
    if (status == 0 || pickle_count(pickle, pickle->result) != 3)
        return err_set(err, ERR_FORMAT, "the member %s is damaged before byte %" PRIu64,
                       name, feed->at);
    label->key = pickle_key_text(pickle, pickle_item(pickle, pickle->result, 0));
    label->second = pickle_key_text(pickle, pickle_item(pickle, pickle->result, 1));
    label->class_name = pickle_text(pickle, pickle_item(pickle, pickle->result, 2));
    return 0;
}

/* The pickle at the start of a member: the number of items. */
static int read_count(struct pickle_feed *feed, const char *name, int64_t *ret_n,
                      struct err *err)
{
    struct pickle pickle;
    int status = pickle_feed_next(feed, &pickle, str_of(name), err);

    if (status < 0)
        return -1;
    if (status == 0 || !pickle_int(&pickle, pickle.result, ret_n))
        return err_set(err, ERR_FORMAT, "the member %s does not begin with a number",
                       name);
    return 0;
}

static int read_i64(struct pickle_feed *feed, int64_t *ret_value, struct err *err)
{
    uint8_t bytes[8];
    struct bytes in;

    if (pickle_feed_raw(feed, bytes, sizeof bytes, err) < 0)
        return -1;
    in = bytes_of(bytes, sizeof bytes);
    *ret_value = bytes_i64(&in);
    return 0;
}

static int make_storage(struct torch_tar *self, struct torch_tar_piece *piece,
                        uint64_t bytes, struct err *err)
{
    struct storage storage = {.bytes = bytes,
                              .at = piece->at,
                              .name = build_string(self->build, piece->key),
                              .flags = self->big_endian ? STORAGE_BIG_ENDIAN : 0,
                              .dtype = piece->dtype};

    piece->storage = file_source_plain(self->build, self->input->blob, &storage);
    if (storage.name == INTERN_NONE || piece->storage == NO_STORAGE)
        return arena_err(&self->build->model->arena, self->input->path, err);
    return 0;
}

static int read_storage(struct torch_tar *self, struct pickle_feed *feed,
                        struct err *err)
{
    struct torch_tar_piece piece = {0};
    struct torch_tar_label label;
    uint64_t bytes;
    int64_t numel;

    if (read_label(feed, "storages", &label, err) < 0 ||
        read_i64(feed, &numel, err) < 0)
        return -1;
    piece.key = label.key;
    piece.dtype = (uint8_t)dtype_by_storage_class(label.class_name, NULL);
    piece.device = build_device(self->build, label.second);
    piece.at = feed->at;
    if (numel < 0 || !dtype_size(piece.dtype, (uint64_t)numel, &bytes))
        return err_set(err, ERR_FORMAT,
                       "storage %.*s has %" PRId64 " elements of %.*s: its end cannot "
                       "be located",
                       STR_ARG(label.key), numel, STR_ARG(label.class_name));
    piece.numel = (uint64_t)numel;
    if (make_storage(self, &piece, bytes, err) < 0 || add_piece(self, &piece, err) < 0)
        return -1;
    if (bytes > feed->end - feed->at)
        return err_set(err, ERR_FORMAT,
                       "storage %.*s is truncated: %" PRIu64 " bytes are missing",
                       STR_ARG(label.key), bytes - (feed->end - feed->at));
    feed->at += bytes;
    return 0;
}

/* One view: (key, key of the whole, offset, number of elements). */
static int add_view(struct torch_tar *self, const struct pickle *pickle, node_id view,
                    struct err *err)
{
    struct torch_tar_piece piece = {
        .key = pickle_key_text(pickle, pickle_item(pickle, view, 0))};
    struct str whole_key = pickle_key_text(pickle, pickle_item(pickle, view, 1));
    const struct torch_tar_piece *whole = find_piece(self, whole_key);
    uint64_t skip, bytes;
    int64_t numel = 0;

    if (pickle_count(pickle, view) != 4 || !whole || whole->is_tensor ||
        !torch_storage_part(pickle, view, 2, whole->dtype, whole->numel, &skip,
                            &bytes)) {
        build_finding(self->build, FINDING_BAD_TENSOR, SEVERITY_ALARM,
                      self->input->node,
                      "storage %.*s is a view that does not fit storage %.*s",
                      STR_ARG(piece.key), STR_ARG(whole_key));
        return 0;
    }
    pickle_int(pickle, pickle_item(pickle, view, 3), &numel);
    piece.dtype = whole->dtype;
    piece.device = whole->device;
    piece.at = whole->at + skip;
    piece.numel = (uint64_t)numel;
    if (make_storage(self, &piece, bytes, err) < 0)
        return -1;
    return add_piece(self, &piece, err);
}

static int read_storages(struct torch_tar *self, struct pickle_feed *feed,
                         struct err *err)
{
    struct pickle views;
    int64_t n;
    int status;

    if (read_count(feed, "storages", &n, err) < 0)
        return -1;
    for (int64_t i = 0; i < n; i++)
        if (read_storage(self, feed, err) < 0)
            return -1;
    status = pickle_feed_next(feed, &views, STR("storages"), err);
    if (status <= 0)
        return status;
    for (uint32_t i = 0; i < pickle_list_n(&views, views.result); i++)
        if (add_view(self, &views, pickle_list_at(&views, views.result, i), err) < 0)
            return -1;
    return 0;
}

static int add_dim(struct torch_tar *self, int64_t value, struct err *err)
{
    struct arena *arena = &self->build->scratch;

    if (arena_room(arena, &self->dims, self->n_dims, &self->dims_room,
                   sizeof *self->dims) < 0)
        return arena_err(arena, self->input->path, err);
    self->dims[self->n_dims++] = value;
    return 0;
}

static int read_tensor(struct torch_tar *self, struct pickle_feed *feed,
                       struct err *err)
{
    struct torch_tar_piece piece = {.is_tensor = true, .storage = NO_STORAGE};
    const struct torch_tar_piece *storage;
    struct torch_tar_label label;
    int64_t rank, value;

    if (read_label(feed, "tensors", &label, err) < 0 || read_i64(feed, &rank, err) < 0)
        return -1;
    rank &= 0xffffffff; /* the upper half is not initialised in the file */
    if (rank > RANK_MAX)
        return err_set(err, ERR_FORMAT, "tensor %.*s has %" PRId64 " dimensions",
                       STR_ARG(label.key), rank);
    piece.key = label.key;
    piece.rank = (uint8_t)rank;
    piece.dims = self->n_dims;
    for (int64_t i = 0; i < 2 * rank; i++)
        if (read_i64(feed, &value, err) < 0 || add_dim(self, value, err) < 0)
            return -1;
    if (read_i64(feed, &value, err) < 0)
        return -1;
    piece.offset = (uint64_t)value;
    storage = find_piece(self, label.second);
    if (storage && !storage->is_tensor) {
        piece.storage = storage->storage;
        piece.dtype = storage->dtype;
        piece.device = storage->device;
    } else {
        build_finding(self->build, FINDING_MISSING_RECORD, SEVERITY_ALARM,
                      self->input->node,
                      "tensor %.*s refers to storage %.*s, which is missing",
                      STR_ARG(label.key), STR_ARG(label.second));
    }
    return add_piece(self, &piece, err);
}

static int read_tensors(struct torch_tar *self, struct pickle_feed *feed,
                        struct err *err)
{
    int64_t n;

    if (read_count(feed, "tensors", &n, err) < 0)
        return -1;
    for (int64_t i = 0; i < n; i++)
        if (read_tensor(self, feed, err) < 0)
            return -1;
    return 0;
}

/* ---- the dialect ---- */

/* Storages are found through their keys, by tar_tensor(). */
static uint32_t tar_storage(void *user, const struct pickle *pickle, node_id persistent)
{
    (void)user;
    (void)pickle;
    (void)persistent;
    return NO_STORAGE;
}

/* A key names a tensor; a storage by itself is shown as a tensor of one dimension. */
static int tar_tensor(void *user, const struct pickle *pickle, node_id persistent,
                      struct tensor *tensor, int64_t shape[64], int64_t strides[64])
{
    struct torch_tar *self = user;
    node_id key = pickle_callee(pickle, persistent);
    const struct torch_tar_piece *piece;

    if (pickle_count(pickle, key) > 0)
        return -1;
    piece = find_piece(self, pickle_key_text(pickle, key));
    if (!piece)
        return -1;
    tensor->dtype = piece->dtype;
    tensor->device = piece->device;
    tensor->storage = piece->storage;
    tensor->offset = piece->offset;
    if (!piece->is_tensor) {
        shape[0] = (int64_t)piece->numel;
        strides[0] = 1;
        return 1;
    }
    for (int i = 0; i < piece->rank; i++) {
        shape[i] = self->dims[piece->dims + (uint32_t)i];
        strides[i] = self->dims[piece->dims + piece->rank + (uint32_t)i];
    }
    return piece->rank;
}

/* (class, file, source): a class with its source. */
static bool tar_class(void *user, const struct pickle *pickle, node_id persistent,
                      node_id *ret_class, struct str *ret_file, struct str *ret_source)
{
    node_id tuple = pickle_callee(pickle, persistent);
    const struct node *class_node = pickle_node(pickle, pickle_item(pickle, tuple, 0));

    (void)user;
    if (pickle_count(pickle, tuple) != 3 || !class_node ||
        class_node->kind != NODE_GLOBAL)
        return false;
    *ret_class = pickle_item(pickle, tuple, 0);
    *ret_file = pickle_text(pickle, pickle_item(pickle, tuple, 1));
    *ret_source = pickle_text(pickle, pickle_item(pickle, tuple, 2));
    return true;
}

/* ---- the file ---- */

static void find_members(struct torch_tar *self)
{
    struct err why = {0};
    struct tar_member member, *place;
    uint64_t at = 0;
    int status, i;

    while ((status = tar_next(self->input->blob, &at, &member, &why)) > 0) {
        i = member_index(member.name);
        place = i >= 0 ? &self->members[i] : NULL;
        if (place && place->at == 0)
            *place = member;
        else
            build_finding(self->build, place ? FINDING_DUPLICATE : FINDING_TRAILING,
                          SEVERITY_WARNING, self->input->node,
                          "the archive has %s member %s",
                          place ? "a second" : "an unexpected", member.name);
        if (member.missing > 0)
            build_finding(self->build, FINDING_TRUNCATED, SEVERITY_ALARM,
                          self->input->node,
                          "%.*s is truncated: %" PRIu64 " bytes of its member %s are "
                          "missing. Download it again",
                          STR_ARG(self->input->name), member.missing, member.name);
    }
    if (status < 0)
        build_finding(self->build, FINDING_TRUNCATED, SEVERITY_ALARM, self->input->node,
                      "%s", why.text);
}

/* Read one member with `read`. A damaged member is a finding. -1: stop. */
static int read_member(struct torch_tar *self, int index,
                       int (*read)(struct torch_tar *self, struct pickle_feed *feed,
                                   struct err *err),
                       struct err *err)
{
    const struct tar_member *member = &self->members[index];
    struct pickle_feed feed = {.blob = self->input->blob,
                               .build = self->build,
                               .at = member->at,
                               .end = member->at + member->size,
                               .step = STEP};
    struct err why = {0};

    if (member->at == 0) {
        build_finding(self->build, FINDING_MISSING_RECORD, SEVERITY_ALARM,
                      self->input->node, "the archive has no member %s",
                      member_names[index]);
        return 0;
    }
    if (read(self, &feed, &why) == 0)
        return 0;
    if (why.code == ERR_CANCELLED || why.code == ERR_LIMIT)
        return err_copy(err, &why);
    build_finding(self->build, FINDING_DAMAGED, SEVERITY_ALARM, self->input->node, "%s",
                  why.text);
    return 0;
}

static int read_sys_info(struct torch_tar *self, struct pickle_feed *feed,
                         struct err *err)
{
    struct pickle pickle;

    if (pickle_feed_next(feed, &pickle, STR("sys_info"), err) < 0)
        return -1;
    self->big_endian = torch_is_big_endian(&pickle);
    if (self->big_endian)
        torch_say_big_endian(self->build, self->input->node);
    return 0;
}

static int read_object(struct torch_tar *self, struct pickle_feed *feed,
                       struct err *err)
{
    const struct torch_dialect dialect = {.storage = tar_storage,
                                          .class_source = tar_class,
                                          .tensor = tar_tensor,
                                          .user = self,
                                          .input = self->input};
    struct pickle pickle;

    feed->step = 0;
    if (pickle_feed_next(feed, &pickle, STR("pickle"), err) < 0)
        return -1;
    pickle_run_nested(self->build, &pickle, STR("pickle"));
    return torch_fold(self->build, self->input->node, &pickle, pickle.result, &dialect,
                      err);
}

static int read_tar(struct input *input, struct build *build, struct err *err)
{
    struct torch_tar self = {.input = input, .build = build};

    name_map_init(&self.keys, &build->scratch);
    find_members(&self);
    if (self.members[PICKLE].at == 0)
        return err_set_about(
            err, ERR_FORMAT, input->path,
            " is a tar of torch 0.1 without its member `pickle`. Download "
            "it again");
    if (read_member(&self, SYS_INFO, read_sys_info, err) < 0 ||
        read_member(&self, STORAGES, read_storages, err) < 0 ||
        read_member(&self, TENSORS, read_tensors, err) < 0)
        return -1;
    return read_member(&self, PICKLE, read_object, err);
}

const struct reader torch_tar_reader = {
    .name = "torch tar", .knows = knows, .read = read_tar};
