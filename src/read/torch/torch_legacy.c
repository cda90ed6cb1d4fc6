/* torch_legacy.c - the format of torch.save() before 1.6. Five pickles, then raw data:
 *   1 the magic number   2 the protocol version   3 the machine it was written on
 *   4 the object         5 the keys of its storages, sorted
 *   6 for each key: i64 number of elements, then the elements
 * There are no lengths and no index. The persistent ids in pickle 4 have the dtypes, so
 * storages are located after it has run; their data is not read. More saves may follow
 * in the same file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/bytes.h"
#include "read/file/file_source_in.h"
#include "read/file/input_in.h"
#include "read/pickle/pickle_feed_in.h"
#include "read/pickle/pickle_value_in.h"
#include "read/torch/torch_fold_in.h"

#define PROTOCOL_VERSION 1001
#define SAVES_MAX        1000 /* limit for the saves in one file */

/* One storage, as the persistent ids in the object describe it. */
struct legacy_record {
    struct str key;
    enum dtype dtype;
    bool untyped;
    bool listed;    /* its key is in the list of keys */
    bool located;   /* its data was found */
    uint64_t numel; /* as declared */
    uint64_t bytes; /* as declared; UINT64_MAX: unknown dtype */
    uint64_t at;    /* offset of its data */
    uint64_t found; /* size by the count before the data */
    uint32_t storage;
};

struct legacy {
    struct input *input;
    struct build *build;
    struct pickle_feed feed;
    uint32_t place; /* of the current save */
    const char *prefix;
    bool big_endian;
    struct legacy_record *records;
    uint32_t records_room;
    struct name_map keys; /* index in `records` */
    struct map by_view;   /* hash of a view's key -> storage */
    uint64_t missing;     /* bytes that the file lacks */
    bool lost;            /* the offsets of further storages are unknown */
};

/* ---- detection ---- */

static const char magic_value[] = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
static const char magic_text[] = "L119547037146038801333356L\n.";

/* The magic number as protocols 0 and 1, 2 and 3, 4 and 5 write it. */
static bool has_magic(struct str head)
{
    struct str value = {magic_value, sizeof magic_value - 1};

    if (str_starts(head, STR(magic_text)))
        return true;
    if (head.len < 2 || (uint8_t)head.at[0] != 0x80)
        return false;
    if (str_starts(str_from(head, 2), value))
        return true;
    return head.len > 11 && (uint8_t)head.at[2] == 0x95 &&
           str_starts(str_from(head, 11), value);
}

static int knows(const struct input *input)
{
    return input->blob && has_magic(input->head) ? SURE_MAGIC + 5 : 0;
}

/* ---- the storages that the object names ---- */

static struct legacy_record *find_record(struct legacy *self, struct str key)
{
    uint32_t i;

    return name_map_find(&self->keys, key, &i) ? &self->records[i] : NULL;
}

static int add_record(struct legacy *self, const struct torch_storage_id *id)
{
    struct legacy_record record = {.key = id->key,
                                   .dtype = id->dtype,
                                   .untyped = id->untyped,
                                   .numel = id->numel < 0 ? 0 : (uint64_t)id->numel,
                                   .storage = NO_STORAGE};
    uint32_t i;

    record.bytes = torch_storage_bytes(id->dtype, id->untyped, (int64_t)record.numel);
    if (arena_room(&self->build->scratch, &self->records, self->keys.n,
                   &self->records_room, sizeof record) < 0 ||
        name_map_add(&self->keys, id->key, &i) < 0)
        return -1;
    self->records[i] = record;
    return 0;
}

static void compare(struct legacy *self, const struct legacy_record *record,
                    const struct torch_storage_id *id)
{
    if (record->dtype == id->dtype && record->untyped == id->untyped &&
        record->numel == (uint64_t)id->numel)
        return;
    build_finding(self->build, FINDING_SIZE_MISMATCH, SEVERITY_WARNING, self->place,
                  "storage %.*s is declared with two dtypes or sizes: %" PRIu64
                  " of %s, and %" PRId64 " of %s",
                  STR_ARG(record->key), record->numel, dtype_name(record->dtype),
                  id->numel, dtype_name(id->dtype));
}

/* Record every storage that a persistent id names, used or not. */
static int note_records(struct legacy *self, const struct pickle *pickle,
                        struct err *err)
{
    struct torch_storage_id id;
    struct legacy_record *record;

    name_map_init(&self->keys, &self->build->scratch);
    map_init(&self->by_view, &self->build->scratch);
    for (uint32_t i = 0; i < pickle->n_nodes; i++) {
        if (pickle->nodes[i].kind != NODE_PERSISTENT ||
            !torch_storage_id(pickle, i, &id))
            continue;
        record = find_record(self, id.key);
        if (record)
            compare(self, record, &id);
        else if (add_record(self, &id) < 0)
            return arena_err(&self->build->scratch, self->input->path, err);
    }
    return 0;
}

/* ---- the data of storages ---- */

/* The size of a storage by the count before its data, or the declared one if the count
 * cannot be right. */
static uint64_t found_bytes(struct legacy *self, const struct legacy_record *record,
                            const uint8_t count[8])
{
    struct bytes in = bytes_of(count, 8);
    uint64_t numel = bytes_u64(&in), bytes;
    uint64_t left = self->feed.end - self->feed.at;

    if (numel == record->numel)
        return record->bytes;
    bytes = torch_storage_bytes(record->dtype, record->untyped, (int64_t)numel);
    build_finding(self->build, FINDING_SIZE_MISMATCH, SEVERITY_ALARM, self->place,
                  "storage %.*s has %" PRIu64 " elements by the count at byte %" PRIu64
                  "; its tensors declare %" PRIu64,
                  STR_ARG(record->key), numel, self->feed.at - 8, record->numel);
    return bytes <= left ? bytes : record->bytes;
}

/* Locate the storage of one key, which is at feed.at, and move past it. */
static void locate(struct legacy *self, struct str key)
{
    struct legacy_record *record = find_record(self, key);
    uint8_t count[8];

    if (!record || record->bytes == UINT64_MAX) {
        build_finding(self->build, FINDING_DAMAGED, SEVERITY_ALARM, self->place,
                      "storage %.*s %s: its end, and all storages after it, cannot be "
                      "located",
                      STR_ARG(key),
                      record ? "has an unknown dtype" : "belongs to no tensor");
        self->lost = true;
        return;
    }
    if (record->listed) {
        build_finding(self->build, FINDING_DUPLICATE, SEVERITY_ALARM, self->place,
                      "storage %.*s is listed twice", STR_ARG(key));
        return;
    }
    record->listed = true;
    if (self->missing > 0 ||
        pickle_feed_raw(&self->feed, count, sizeof count, NULL) < 0) {
        uint64_t left = self->feed.end - self->feed.at;

        self->missing += sizeof count + record->bytes - left;
        self->feed.at = self->feed.end;
        return;
    }
    record->found = found_bytes(self, record, count);
    record->at = self->feed.at;
    record->located = true;
    if (record->found > self->feed.end - self->feed.at) {
        self->missing = record->found - (self->feed.end - self->feed.at);
        self->feed.at = self->feed.end;
    } else {
        self->feed.at += record->found;
    }
}

static void check_listed(struct legacy *self)
{
    for (uint32_t i = 0; i < self->keys.n && !self->lost; i++)
        if (!self->records[i].listed)
            build_finding(self->build, FINDING_MISSING_RECORD, SEVERITY_ALARM,
                          self->place,
                          "storage %.*s is missing, but a tensor refers to it",
                          STR_ARG(self->records[i].key));
}

static int locate_all(struct legacy *self, const struct pickle *keys)
{
    uint32_t n = pickle_list_n(keys, keys->result);

    if (!pickle_is_list(keys, keys->result)) {
        build_finding(self->build, FINDING_DAMAGED, SEVERITY_ALARM, self->place,
                      "the storage keys are not a list");
        self->lost = true;
    }
    for (uint32_t i = 0; i < n && !self->lost; i++)
        locate(self, pickle_key_text(keys, pickle_list_at(keys, keys->result, i)));
    check_listed(self);
    if (self->missing > 0)
        build_finding(self->build, FINDING_TRUNCATED, SEVERITY_ALARM, self->place,
                      "%.*s is truncated: %" PRIu64
                      " bytes of tensor data are missing. Download it again",
                      STR_ARG(self->input->name), self->missing);
    return !self->lost && self->missing == 0;
}

/* ---- the dialect ---- */

static uint32_t make_storage(struct legacy *self, struct str name,
                             const struct legacy_record *record, uint64_t skip,
                             uint64_t bytes)
{
    struct storage storage = {.bytes = bytes,
                              .at = record->at + skip,
                              .name = build_string(self->build, name),
                              .flags = self->big_endian ? STORAGE_BIG_ENDIAN : 0,
                              .dtype = (uint8_t)record->dtype};

    if (storage.name == INTERN_NONE)
        return NO_STORAGE;
    if (!record->located)
        return file_source_missing(self->build, &storage);
    return file_source_plain(self->build, self->input->blob, &storage);
}

/* A storage that is a part of another: (key, offset, size), in elements. */
static uint32_t view_storage(struct legacy *self, const struct pickle *pickle,
                             node_id view, const struct legacy_record *record)
{
    struct str key = pickle_key_text(pickle, pickle_item(pickle, view, 0));
    uint64_t hash = str_hash(key), skip, bytes;
    uint32_t made;

    if (map_find(&self->by_view, hash, &made))
        return made;
    if (!torch_storage_part(pickle, view, 1, record->dtype, record->numel, &skip,
                            &bytes)) {
        build_finding(self->build, FINDING_BAD_TENSOR, SEVERITY_ALARM, self->place,
                      "storage %.*s is a view that does not fit storage %.*s",
                      STR_ARG(key), STR_ARG(record->key));
        return NO_STORAGE;
    }
    made = make_storage(self, key, record, skip, bytes);
    if (made == NO_STORAGE || map_put(&self->by_view, hash, made) < 0)
        return NO_STORAGE;
    return made;
}

static uint32_t legacy_storage(void *user, const struct pickle *pickle,
                               node_id persistent)
{
    struct legacy *self = user;
    struct torch_storage_id id;
    struct legacy_record *record;
    uint64_t bytes;

    if (!torch_storage_id(pickle, persistent, &id))
        return NO_STORAGE;
    record = find_record(self, id.key);
    if (!record)
        return NO_STORAGE;
    if (pickle_count(pickle, id.view) == 3)
        return view_storage(self, pickle, id.view, record);
    if (record->storage == NO_STORAGE) {
        /* A short storage must not take bytes from the next one. */
        bytes = record->bytes;
        if (record->located && record->found < bytes)
            bytes = record->found;
        record->storage = make_storage(self, record->key, record, 0, bytes);
    }
    return record->storage;
}

/* ('module', class, file, source): a class with its source. */
static bool legacy_class(void *user, const struct pickle *pickle, node_id persistent,
                         node_id *ret_class, struct str *ret_file,
                         struct str *ret_source)
{
    node_id tuple = pickle_callee(pickle, persistent);

    (void)user;
    if (pickle_count(pickle, tuple) != 4 ||
        !str_is(pickle_text(pickle, pickle_item(pickle, tuple, 0)), "module"))
        return false;
    *ret_class = pickle_item(pickle, tuple, 1);
    *ret_file = pickle_text(pickle, pickle_item(pickle, tuple, 2));
    *ret_source = pickle_text(pickle, pickle_item(pickle, tuple, 3));
    return true;
}

/* ---- one save ---- */

static int next_pickle(struct legacy *self, struct pickle *pickle, const char *what,
                       struct err *err)
{
    char *name = arena_printf(&self->build->scratch, "%s%s", self->prefix, what);

    if (!name)
        return arena_err(&self->build->scratch, self->input->path, err);
    return pickle_feed_next(&self->feed, pickle, str_of(name), err);
}

/* Read the three pickles before the object. 1: complete; 0: one is truncated; -1. */
static int read_front(struct legacy *self, struct err *err)
{
    struct pickle pickle;
    int64_t version;
    int status;

    status = next_pickle(self, &pickle, "magic number", err);
    if (status <= 0)
        return status;
    status = next_pickle(self, &pickle, "protocol version", err);
    if (status <= 0)
        return status;
    if (!pickle_int(&pickle, pickle.result, &version) || version != PROTOCOL_VERSION)
        build_finding(self->build, FINDING_UNSUPPORTED, SEVERITY_WARNING, self->place,
                      "unknown protocol version (expected %d)", PROTOCOL_VERSION);
    status = next_pickle(self, &pickle, "system information", err);
    if (status <= 0)
        return status;
    self->big_endian = torch_is_big_endian(&pickle);
    if (self->big_endian)
        torch_say_big_endian(self->build, self->place);
    return 1;
}

static void say_facts(struct legacy *self, const struct pickle *object)
{
    struct build *build = self->build;
    struct values *values = build_values(build);

    if (self->place != 0) /* the facts are about the first save of the outer file */
        return;
    build_fact(
        build, "protocol",
        value_int(values, build->model->pickle.streams[object->stream].protocol));
    build_fact(build, "byteorder",
               value_str(values, self->big_endian ? STR("big") : STR("little")));
    build_fact(build, "storages", value_int(values, self->keys.n));
}

/* Read the save at feed.at into self->place. 1: complete, feed.at is after it. 0:
 * incomplete, so what follows cannot be located. -1: nothing to show. */
static int read_save(struct legacy *self, struct err *err)
{
    const struct torch_dialect dialect = {.storage = legacy_storage,
                                          .class_source = legacy_class,
                                          .user = self,
                                          .input = self->input};
    struct pickle object, keys;
    struct err why = {0};
    int status = read_front(self, err);
    int object_status;

    if (status == 0)
        return err_set_about(
            err, ERR_FORMAT, self->input->path,
            " is an old PyTorch file that is truncated or damaged before its object. "
            "Download it again");
    object_status = status < 0 ? -1 : next_pickle(self, &object, "object", err);
    if (object_status < 0 || note_records(self, &object, err) < 0)
        return -1;
    pickle_run_nested(self->build, &object, STR("object"));
    say_facts(self, &object);
    status = object_status > 0 ? next_pickle(self, &keys, "storage keys", &why) : 0;
    if (why.code == ERR_CANCELLED || why.code == ERR_LIMIT)
        return err_copy(err, &why);
    if (status > 0)
        status = locate_all(self, &keys);
    else
        build_finding(self->build, FINDING_TRUNCATED, SEVERITY_ALARM, self->place,
                      "%.*s is truncated or damaged in its %s: the data of all tensors "
                      "is missing. Download it again",
                      STR_ARG(self->input->name),
                      object_status > 0 ? "list of storages" : "object");
    if (torch_fold(self->build, self->place, &object, object.result, &dialect, err) < 0)
        return -1;
    return status > 0;
}

/* ---- the file ---- */

static bool save_begins(struct legacy *self)
{
    char head[64];
    uint64_t left = self->feed.end - self->feed.at;
    size_t n = left < sizeof head ? (size_t)left : sizeof head;

    return blob_read(self->input->blob, self->feed.at, head, n, NULL) == 0 &&
           has_magic(str_span(head, n));
}

/* Read what follows the first save: more saves, each in a group, or other bytes.
 * torch.load() reads the first save only. */
static int read_more(struct legacy *self, struct err *err)
{
    uint32_t n = 1;
    int status = 1;
    char name[32];

    while (status > 0 && n < SAVES_MAX && self->feed.at < self->feed.end &&
           save_begins(self)) {
        n++;
        snprintf(name, sizeof name, "save %" PRIu32, n);
        self->prefix = arena_printf(&self->build->scratch, "%s, ", name);
        self->place =
            build_node(self->build, self->input->node, PLACE_GROUP, str_of(name));
        if (!self->prefix || self->place == NO_PLACE)
            return arena_err(&self->build->scratch, self->input->path, err);
        status = read_save(self, err);
    }
    self->place = self->input->node;
    if (n > 1)
        build_finding(self->build, FINDING_PICKLE_NESTED, SEVERITY_NOTE, self->place,
                      "%" PRIu32 " more objects were saved after the first one; "
                      "torch.load() reads the first only",
                      n - 1);
    if (status > 0 && self->feed.at < self->feed.end)
        build_finding(self->build, FINDING_TRAILING, SEVERITY_WARNING, self->place,
                      "%" PRIu64 " unused bytes after the last storage, from byte "
                      "%" PRIu64 " on",
                      self->feed.end - self->feed.at, self->feed.at);
    return status < 0 ? -1 : 0;
}

static int read_legacy(struct input *input, struct build *build, struct err *err)
{
    struct legacy self = {
        .input = input,
        .build = build,
        .feed = {.blob = input->blob, .build = build, .end = input->blob->size},
        .place = input->node,
        .prefix = ""};
    int status = read_save(&self, err);

    if (status <= 0)
        return status;
    return read_more(&self, err);
}

const struct reader torch_legacy_reader = {
    .name = "torch legacy", .knows = knows, .read = read_legacy};
