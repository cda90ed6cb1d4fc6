#include "read/shards_in.h"

#include <inttypes.h>

#include "base/json_read.h"

#define NAMES_SHOWN 5 /* tensors in one finding */

/* ---- reading ---- */

uint32_t shards_add(struct shards *self, struct str name)
{
    struct arena *arena = &self->build->scratch;
    uint32_t i;
    int added;

    if (arena_room(arena, &self->shards, self->n, &self->room, sizeof *self->shards) <
        0)
        return UINT32_MAX;
    added = name_map_add(&self->shard_names, name, &i);
    if (added < 0)
        return UINT32_MAX;
    if (added)
        self->shards[self->n++] = (struct shard){.name = name, .first = UINT32_MAX};
    return i;
}

static struct promise *find_promise(struct shards *self, struct str name)
{
    uint32_t i;

    return name_map_find(&self->tensor_names, name, &i) ? &self->promises[i] : NULL;
}

/* Add a promise for a name that has none. */
static int new_promise(struct shards *self, struct str name, uint32_t shard,
                       uint32_t *ret_index)
{
    if (arena_room(&self->build->scratch, &self->promises, self->tensor_names.n,
                   &self->promises_room, sizeof *self->promises) < 0 ||
        name_map_add(&self->tensor_names, name, ret_index) < 0)
        return -1;
    self->promises[*ret_index] = (struct promise){.shard = shard, .next = UINT32_MAX};
    return 0;
}

/* "tensor": "file". */
static int add_promise(struct shards *self, struct str tensor, struct str file)
{
    uint32_t id = shards_add(self, file), i;
    struct shard *shard;

    if (find_promise(self, tensor)) {
        build_finding(self->build, FINDING_DUPLICATE, SEVERITY_WARNING,
                      self->input->node, "the index names tensor %.*s twice",
                      STR_ARG(tensor));
        return 0;
    }
    if (id == UINT32_MAX || new_promise(self, tensor, id, &i) < 0)
        return -1;
    shard = &self->shards[id];
    if (shard->first == UINT32_MAX)
        shard->first = i;
    else
        self->promises[shard->last].next = i;
    shard->last = i;
    return 0;
}

/* Keras lists the files of each layer: "/layers/dense/vars":
 * ["shard_00000.weights.h5"]. So a tensor may be in any of them. */
static int add_files(struct shards *self, struct json_read *json)
{
    enum json_token token;

    self->has_index = false;
    while ((token = json_next(json)) == JSON_STRING)
        if (shards_add(self, json->text) == UINT32_MAX)
            return -1;
    return token == JSON_ARRAY_END ? 0 : -1;
}

static int read_weight_map(struct shards *self, struct json_read *json)
{
    enum json_token token = json_next(json);

    if (token != JSON_OBJECT)
        return json_skip(json, token);
    while ((token = json_next(json)) == JSON_KEY) {
        struct str tensor = json->text;

        token = json_next(json);
        if (token == JSON_STRING) {
            if (add_promise(self, tensor, json->text) < 0)
                return -1;
            continue;
        }
        if (token == JSON_ARRAY) {
            if (add_files(self, json) < 0)
                return -1;
            continue;
        }
        build_finding(self->build, FINDING_DAMAGED, SEVERITY_WARNING, self->input->node,
                      "the index names no file for tensor %.*s", STR_ARG(tensor));
        if (json_skip(json, token) < 0)
            return -1;
    }
    return token == JSON_OBJECT_END ? 0 : -1;
}

/* "total_size": 123, which some writers give as 123.0. */
static void read_total(struct shards *self, struct json_read *json)
{
    double real;

    self->has_total = json_to_u64(json, &self->total_size);
    if (self->has_total || !str_to_double(json->text, &real) || !(real >= 0) ||
        real >= 9e15)
        return;
    self->has_total = true;
    self->total_size = (uint64_t)real;
}

static int read_metadata(struct shards *self, struct json_read *json)
{
    struct values *values = build_values(self->build);
    enum json_token token = json_next(json);

    if (token != JSON_OBJECT)
        return json_skip(json, token);
    while ((token = json_next(json)) == JSON_KEY) {
        struct str key = json->text;

        token = json_next(json);
        if (token == JSON_NUMBER && str_is(key, "total_size"))
            read_total(self, json);
        if (token == JSON_STRING || token == JSON_NUMBER)
            build_metadata(self->build, key, value_str(values, json->text));
        if (json_skip(json, token) < 0)
            return -1;
    }
    return token == JSON_OBJECT_END ? 0 : -1;
}

static int read_document(struct shards *self, struct json_read *json)
{
    enum json_token token = json_next(json);

    if (token != JSON_OBJECT)
        return -1;
    while ((token = json_next(json)) == JSON_KEY) {
        int status;

        if (str_is(json->text, "weight_map"))
            status = read_weight_map(self, json);
        else if (str_is(json->text, "metadata"))
            status = read_metadata(self, json);
        else
            status = json_skip(json, json_next(json));
        if (status < 0)
            return -1;
    }
    return token == JSON_OBJECT_END && json_next(json) == JSON_END ? 0 : -1;
}

int shards_read_index(struct shards *self, struct str text, struct err *err)
{
    struct arena *arena = &self->build->scratch;
    struct json_read json;

    self->has_index = true;
    json_read_init(&json, text, arena);
    if (read_document(self, &json) == 0)
        return 0;
    if (build_spent(self->build))
        return arena_err(arena, self->input->path, err);
    if (self->n == 0)
        return err_set_about(err, ERR_FORMAT, self->input->path,
                             ": invalid JSON in the index at byte %zu: %s", json.offset,
                             json.error ? json.error : "unexpected value");
    build_finding(self->build, FINDING_TRUNCATED, SEVERITY_ALARM, self->input->node,
                  "the index breaks off at byte %zu: %s", json.offset,
                  json.error ? json.error : "unexpected value");
    return 0;
}

/* ---- comparing ---- */

/* Write the first few tensors that the shard lacks; returns how many it lacks. */
static uint32_t list_missing(const struct shards *self, const struct shard *shard,
                             struct buf *to)
{
    uint32_t n = 0;

    for (uint32_t i = shard->first; i != UINT32_MAX; i = self->promises[i].next) {
        const struct promise *promise = &self->promises[i];

        if (promise->kept)
            continue;
        if (n++ < NAMES_SHOWN)
            buf_printf(to, "%s%.*s", n > 1 ? ", " : "",
                       STR_ARG(str_head(self->tensor_names.names[i], 60)));
    }
    if (n > NAMES_SHOWN)
        buf_printf(to, " and %" PRIu32 " more", n - NAMES_SHOWN);
    return n;
}

static void say_missing(struct shards *self, const struct shard *shard)
{
    struct buf names = BUF_INIT;
    uint32_t n = list_missing(self, shard, &names);

    if (n > 0 && shard->read)
        build_finding(self->build, FINDING_SHARD_MISMATCH, SEVERITY_ALARM,
                      self->input->node,
                      "%.*s lacks %" PRIu32 " tensor%s that the index lists for it: %s",
                      STR_ARG(shard->name), n, n == 1 ? "" : "s", buf_cstr(&names));
    else if (n > 0)
        build_finding(self->build, FINDING_MISSING_SHARD, SEVERITY_ALARM,
                      self->input->node,
                      "%.*s %s, and with it %" PRIu32 " tensor%s: %s",
                      STR_ARG(str_head(shard->name, 100)),
                      shard->refused  ? "was not opened"
                      : shard->broken ? "cannot be read"
                                      : "is missing",
                      n, n == 1 ? "" : "s", buf_cstr(&names));
    buf_release(&names);
}

/* Compare a tensor in the model's file `file` with the index. */
static void check_tensor(struct shards *self, uint32_t node, struct str name,
                         uint32_t file)
{
    struct promise *promise = find_promise(self, name);
    const struct shard *shard = promise ? &self->shards[promise->shard] : NULL;

    if (!promise)
        build_finding(self->build, FINDING_SHARD_MISMATCH, SEVERITY_WARNING, node,
                      "tensor %.*s is in a shard, but not in the index", STR_ARG(name))
            ->named = true;
    else if (promise->kept)
        build_finding(self->build, FINDING_DUPLICATE, SEVERITY_ALARM, node,
                      "tensor %.*s is in two shards", STR_ARG(name))
            ->named = true;
    else if (!shard->read || shard->file != file)
        build_finding(
            self->build, FINDING_SHARD_MISMATCH, SEVERITY_ALARM, node,
            "tensor %.*s is not in %.*s, as the index says, but in another shard",
            STR_ARG(name), STR_ARG(shard->name))
            ->named = true;
    if (promise)
        promise->kept = true;
}

/* Without an index, only duplicate names are found. */
static int note_tensor(struct shards *self, uint32_t node, struct str name)
{
    struct str copy;
    uint32_t i;

    if (find_promise(self, name)) {
        build_finding(self->build, FINDING_DUPLICATE, SEVERITY_ALARM, node,
                      "tensor %.*s is in two shards", STR_ARG(name))
            ->named = true;
        return 0;
    }
    copy = arena_str(&self->build->scratch, name);
    return copy.at ? new_promise(self, copy, 0, &i) : -1;
}

static void check_total(struct shards *self)
{
    const struct model *model = self->build->model;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < model->n_tensors; i++)
        sum += tensor_bytes(&model->tensors[i]);
    for (uint32_t i = 0; i < self->n; i++)
        if (!self->shards[i].read)
            return;
    if (self->has_total && sum != self->total_size)
        build_finding(self->build, FINDING_SHARD_MISMATCH, SEVERITY_NOTE,
                      self->input->node,
                      "the index says that the tensors have %" PRIu64
                      " bytes; they have %" PRIu64,
                      self->total_size, sum);
}

int shards_compare(struct shards *self, struct err *err)
{
    const struct model *model = self->build->model;
    struct buf name = BUF_INIT;
    int status = 0;

    for (uint32_t node = 0; node < self->build->n_nodes && status == 0; node++) {
        uint32_t tensor = build_tensor_at(self->build, node), storage;

        if (tensor == NO_OBJECT)
            continue;
        buf_clear(&name);
        build_path(self->build, node, &name);
        storage = model->tensors[tensor].storage;
        if (!self->has_index)
            status = note_tensor(self, node, buf_span(&name));
        else if (storage != NO_STORAGE)
            check_tensor(self, node, buf_span(&name), model->storages[storage].file);
    }
    buf_release(&name);
    if (status < 0)
        return arena_err(&self->build->scratch, self->input->path, err);
    for (uint32_t i = 0; i < self->n && self->has_index; i++)
        say_missing(self, &self->shards[i]);
    check_total(self);
    return 0;
}
