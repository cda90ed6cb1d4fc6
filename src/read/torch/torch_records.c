#include "read/torch/torch_records_in.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "read/file/file_source_in.h"
#include "read/file/zip_in.h"
#include "read/torch/torch_fold_in.h"

#define PICKLE_LIMIT (1 * GIB)
#define NOTE_LIMIT   64 /* limit for byteorder, version and similar records */
#define KEY_LIMIT    256
#define ASIDE_LIMIT  (16 * MIB) /* limit for a pickle that torch does not load */
#define MOST_ASIDE   64
#define MOST_BEHIND  8
#define FOLDER_LIMIT 16

/* The trimmed text of a small record; empty: there is none. */
static struct str note_of(struct torch_records *self, const char *record)
{
    int64_t entry = zip_find(self->zip, record);
    struct str text = {0};
    struct err why = {0};

    if (entry >= 0 && self->zip->entries[entry].size <= NOTE_LIMIT &&
        zip_load(self->zip, (uint32_t)entry, NOTE_LIMIT, self->build,
                 &self->build->scratch, &text, &why) == 0)
        return str_trim(text);
    return (struct str){0};
}

int torch_records_init(struct torch_records *self, struct input *input,
                       struct build *build, const char *folder, struct err *err)
{
    assert(strlen(folder) <= FOLDER_LIMIT);
    *self = (struct torch_records){
        .zip = input->zip, .build = build, .folder = folder, .place = input->node};
    map_init(&self->missing, &build->scratch);
    self->storage_of =
        arena_array(&build->scratch, self->zip->n, sizeof *self->storage_of);
    if (!self->storage_of)
        return arena_err(&build->scratch, input->path, err);
    build_reserve(build, self->zip->n);
    self->big_endian = str_is(note_of(self, "byteorder"), "big");
    return 0;
}

/* A storage without a record. A truncated file lacks many: torch_records_finish() has
 * one finding for all. */
static uint32_t missing_storage(struct torch_records *self,
                                const struct torch_storage_id *id, struct str record,
                                struct storage *storage)
{
    uint64_t hash = str_hash(record);
    uint32_t made;

    if (map_find(&self->missing, hash, &made))
        return made;
    made = file_source_missing(self->build, storage);
    if (made == NO_STORAGE || map_put(&self->missing, hash, made) < 0)
        return NO_STORAGE;
    if (!self->zip->salvaged && !str_is(id->location, "meta"))
        build_finding(self->build, FINDING_MISSING_RECORD, SEVERITY_ALARM, self->place,
                      "%.*s is missing, but a tensor refers to it", STR_ARG(record));
    return made;
}

/* Two tensors of one storage should agree on its size and dtype. */
static void compare(struct torch_records *self, uint32_t made, struct str record,
                    const struct storage *storage)
{
    const struct storage *old = &self->build->model->storages[made];

    if (old->bytes != storage->bytes)
        build_finding(self->build, FINDING_SIZE_MISMATCH, SEVERITY_WARNING, self->place,
                      "%.*s: tensors disagree on its size: %" PRIu64 " and %" PRIu64
                      " bytes",
                      STR_ARG(record), old->bytes, storage->bytes);
    else if (old->dtype != storage->dtype)
        build_finding(self->build, FINDING_SIZE_MISMATCH, SEVERITY_NOTE, self->place,
                      "%.*s: tensors disagree on its dtype: %s and %s", STR_ARG(record),
                      dtype_name(old->dtype), dtype_name(storage->dtype));
}

/* A storage in the blob of which the zip is a part. */
static uint32_t whole_storage(struct torch_records *self, uint32_t index,
                              struct storage *storage)
{
    const struct zip_entry *entry = &self->zip->entries[index];
    struct err why = {0};
    uint64_t at;

    if (entry->bad || entry->method != ZIP_STORED ||
        zip_data_at(self->zip, index, &at, &why) < 0)
        return file_source_missing(self->build, storage);
    /* A record that is too short has its own finding already. */
    if (storage->bytes > entry->packed)
        return file_source_missing(self->build, storage);
    storage->at = self->base + at;
    return file_source_plain(self->build, self->whole, storage);
}

static uint32_t record_storage(struct torch_records *self, uint32_t index,
                               struct str record, struct storage *storage)
{
    const struct zip_entry *entry = &self->zip->entries[index];
    uint32_t made;

    if (self->storage_of[index] != 0) {
        compare(self, self->storage_of[index] - 1, record, storage);
        return self->storage_of[index] - 1;
    }
    if (!entry->cut && storage->bytes != entry->size)
        build_finding(self->build, FINDING_SIZE_MISMATCH, SEVERITY_ALARM, self->place,
                      "%.*s has %" PRIu64 " bytes; its tensors declare %" PRIu64,
                      STR_ARG(record), entry->size, storage->bytes);
    made = self->whole ? whole_storage(self, index, storage)
                       : file_source_member(self->build, self->zip, index, storage);
    if (made != NO_STORAGE)
        self->storage_of[index] = made + 1;
    return made;
}

/* torch writes the records in the order in which the pickle names them: try the next
 * entry first, unless some names are duplicates. */
static int64_t find_record(struct torch_records *self, struct str record)
{
    const struct zip *zip = self->zip;
    int64_t entry = self->next;

    if (entry >= zip->n || self->build->said[FINDING_DUPLICATE] > 0 ||
        !str_starts(zip->entries[entry].name, zip->root) ||
        !str_eq(zip_record(zip, (uint32_t)entry), record))
        entry = zip_find_str(zip, record);
    if (entry >= 0)
        self->next = (uint32_t)entry + 1;
    return entry;
}

uint32_t torch_records_storage(void *user, const struct pickle *pickle,
                               node_id persistent)
{
    struct torch_records *self = user;
    struct torch_storage_id id;
    struct storage storage = {0};
    char name[KEY_LIMIT + FOLDER_LIMIT];
    size_t folder = strlen(self->folder);
    struct str record;
    int64_t entry;

    if (!torch_storage_id(pickle, persistent, &id) || id.key.len > KEY_LIMIT)
        return NO_STORAGE;
    memcpy(name, self->folder, folder);
    if (id.key.len > 0)
        memcpy(name + folder, id.key.at, id.key.len);
    record = str_span(name, folder + id.key.len);
    storage.bytes = torch_storage_bytes(id.dtype, id.untyped, id.numel);
    storage.dtype = (uint8_t)id.dtype;
    storage.flags = self->big_endian ? STORAGE_BIG_ENDIAN : 0;
    if (build_storage_name(self->build, &storage, record) < 0)
        return NO_STORAGE;
    entry = find_record(self, record);
    if (entry < 0)
        return missing_storage(self, &id, record, &storage);
    return record_storage(self, (uint32_t)entry, record, &storage);
}

void torch_records_facts(struct torch_records *self, const struct pickle *pickle)
{
    struct build *build = self->build;
    struct values *values = build_values(build);
    struct str root = self->zip->root, order = note_of(self, "byteorder");
    struct str version = note_of(self, "version");

    if (self->big_endian)
        torch_say_big_endian(build, self->place);
    if (self->place != 0) /* the facts are about the outer file */
        return;
    if (!version.at)
        version = note_of(self, ".data/version");
    if (root.len > 0)
        root.len--;
    build_fact(build, "entries", value_int(values, self->zip->n));
    build_fact(build, "root", value_str(values, root));
    build_fact(
        build, "protocol",
        value_int(values, build->model->pickle.streams[pickle->stream].protocol));
    if (version.len > 0)
        build_fact(build, "version", value_str(values, version));
    if (order.len > 0)
        build_fact(build, "byteorder", value_str(values, order));
}

void torch_records_finish(struct torch_records *self)
{
    const struct model *model = self->build->model;
    uint32_t readable = 0;

    if (!self->zip->salvaged)
        return;
    for (uint32_t i = 0; i < model->n_tensors; i++)
        readable += tensor_readable(model, &model->tensors[i], NULL);
    build_finding(self->build, FINDING_TRUNCATED, SEVERITY_ALARM, self->place,
                  "truncated: %u of %u tensors can be read", readable,
                  model->n_tensors);
}

/* Run a pickle that torch does not load, for the log only. */
static void run_aside(struct torch_records *self, struct str name, struct bytes *in)
{
    struct pickle *pickle = arena_alloc(&self->build->scratch, sizeof *pickle);
    struct err why = {0};

    if (!pickle)
        self->build->model->pickle.lost = true;
    if (pickle && pickle_run(pickle, self->build, in, name, &why) == 0)
        pickle_run_nested(self->build, pickle, name);
    else
        bytes_take(in, bytes_left(in));
}

/* torch ignores bytes after the STOP: they may be hidden there. */
static void check_rest(struct torch_records *self, struct str name,
                       const struct bytes *behind)
{
    struct bytes in = *behind;
    struct str rest = str_span(in.at, bytes_left(&in));
    bool is_pickle = pickle_looks_like(rest);

    if (rest.len > 0)
        build_finding(self->build, FINDING_TRAILING, SEVERITY_WARNING, self->place,
                      "%.*s: %zu bytes follow the end of the pickle%s", STR_ARG(name),
                      rest.len, is_pickle ? "; they are another pickle" : "");
    for (int i = 0; i < MOST_BEHIND && rest.len > 0 && is_pickle; i++) {
        run_aside(self, name, &in);
        rest = str_span(in.at, bytes_left(&in));
        is_pickle = pickle_looks_like(rest);
    }
}

/* Does the name end in data.pkl, ignoring case? */
static bool is_data_pickle(struct str name)
{
    struct str tail = STR("data.pkl");

    return name.len >= tail.len &&
           str_starts_word(str_from(name, name.len - tail.len), tail);
}

static void look_aside(struct torch_records *self, uint32_t index)
{
    const struct zip_entry *entry = &self->zip->entries[index];
    bool twin = is_data_pickle(entry->name);
    struct str bytes = {0};
    struct err why = {0};
    struct bytes in;
    bool read = entry->size <= ASIDE_LIMIT &&
                zip_load(self->zip, index, ASIDE_LIMIT, self->build,
                         &self->build->scratch, &bytes, &why) == 0;

    if (!twin && !(read && pickle_is_inside(bytes)))
        return;
    build_finding(self->build, FINDING_PICKLE_NESTED, SEVERITY_WARNING, self->place,
                  "%.*s is a pickle that torch does not load, but other programs may",
                  STR_ARG(entry->name));
    in = bytes_of(bytes.at, bytes.len);
    if (read)
        run_aside(self, entry->name, &in);
    else /* an incomplete stream, so that the verdict is not "safe" */
        build_pickle_stream(self->build, entry->name, entry->size);
}

void torch_records_others(struct torch_records *self)
{
    const struct zip *zip = self->zip;
    int64_t data = zip_find(zip, "data.pkl");
    uint32_t looked = 0;

    for (uint32_t i = 0; i < zip->n && looked < MOST_ASIDE; i++) {
        struct str name = zip->entries[i].name;

        if (i == data || (str_starts(name, zip->root) &&
                          str_starts(zip_record(zip, i), str_of(self->folder))))
            continue;
        looked++;
        look_aside(self, i);
    }
}

int torch_records_pickle(struct torch_records *self, const char *record,
                         struct pickle *pickle, struct err *err)
{
    int64_t entry = zip_find(self->zip, record);
    struct str bytes, name;
    struct bytes in;

    if (entry < 0)
        return 1;
    name = self->zip->entries[entry].name;
    if (!str_is(zip_record(self->zip, (uint32_t)entry), record))
        build_finding(self->build, FINDING_ZIP_TRICK, SEVERITY_WARNING, self->place,
                      "%.*s: torch reads this as %s; programs that respect case do not",
                      STR_ARG(name), record);
    if (zip_load(self->zip, (uint32_t)entry, PICKLE_LIMIT, self->build,
                 &self->build->scratch, &bytes, err) < 0)
        return -1;
    in = bytes_of(bytes.at, bytes.len);
    if (pickle_run_dropping(pickle, self->build, &in, name, err) < 0)
        return -1;
    pickle_run_nested(self->build, pickle, name);
    if (pickle->complete)
        check_rest(self, name, &in);
    return 0;
}
