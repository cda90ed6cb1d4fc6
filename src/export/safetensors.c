/* All tensors of a model in one safetensors file: u64 N, N bytes of JSON, the data.
 *     {"__metadata__": {"format": "pt"},
 *      "conv1.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
 * Nothing of a pickle is copied: this rescues the tensors of a file that should not be
 * loaded. Bytes are copied in windows. A tied tensor is written under each of its
 * names: the format has no ties. ggml's quantised blocks are written as float32. */
#include <errno.h>

#include "base/base.h"
#include "base/map.h"
#include "export/export_in.h"
#include "export/exporters.h"
#include "measure/elements.h"

#define MOST_TOLD 20 /* names of skipped tensors */

struct written_tensor {
    uint32_t place;
    uint64_t bytes;
};

struct safetensors_writing {
    const struct model *model;
    uint32_t base; /* the only state_dict: keys are names within it; or 0 */
    struct arena arena;
    struct written_tensor *entries;
    uint32_t n, room;
    struct map seen; /* hash of a key -> entry */
    bool decoded; /* some tensor is in blocks with scales: written as float32 */
    uint32_t left_out;
    struct buf told; /* names of skipped tensors, with reasons */
    size_t first;    /* length of the first entry in `told` */
};

/* ---- which tensors ---- */

/* The only state_dict of the file, or the root. */
static uint32_t find_base(const struct model *model)
{
    uint32_t found = 0;

    for (uint32_t p = 0; p < model->n_places; p++) {
        if (!(model->flags[p] & PLACE_STATE_DICT))
            continue;
        if (found || p == 0)
            return 0;
        found = p;
    }
    return found;
}

static void add_key(struct buf *to, const struct safetensors_writing *w, uint32_t place)
{
    size_t begin = to->len, skip;
    struct buf above = BUF_INIT;

    if (w->base == 0 || place < w->base || place >= w->model->end[w->base]) {
        place_path(w->model, place, to);
        return;
    }
    place_path(w->model, w->base, &above);
    place_path(w->model, place, to);
    skip = above.len + 1;
    memmove(to->at + begin, to->at + begin + skip, to->len - begin - skip);
    to->len -= skip;
    to->at[to->len] = '\0';
    buf_release(&above);
}

static void leave_out(struct safetensors_writing *w, struct str key, const char *why)
{
    if (w->left_out++ < MOST_TOLD)
        buf_printf(&w->told, "%s%.*s: %s", w->told.len ? "; " : "", STR_ARG(key), why);
    if (w->left_out == 1)
        w->first = w->told.len;
}

/* Is the key unused? Two names may be spelt alike. */
static int is_new(struct safetensors_writing *w, struct str key, bool *ret_new)
{
    struct buf other = BUF_INIT;
    uint64_t hash = str_hash(key);
    uint32_t entry;

    *ret_new = true;
    while (*ret_new && map_find(&w->seen, hash, &entry)) {
        buf_clear(&other);
        add_key(&other, w, w->entries[entry].place);
        *ret_new = !str_eq(buf_span(&other), key);
        hash++;
    }
    buf_release(&other);
    return *ret_new ? map_put(&w->seen, hash, w->n) : 0;
}

static int add_tensor(struct safetensors_writing *w, uint32_t place, struct buf *key)
{
    const struct tensor *tensor = place_tensor(w->model, place);
    const char *why = NULL;
    uint64_t bytes = 0;
    bool fresh = true;

    buf_clear(key);
    add_key(key, w, place);
    if (!tensor_readable(w->model, tensor, &why)) {
        leave_out(w, buf_span(key), why);
        return 0;
    }
    if (!dtype_safetensors(elements_dtype(tensor->dtype))) {
        leave_out(w, buf_span(key), dtype_name(tensor->dtype));
        return 0;
    }
    if (is_new(w, buf_span(key), &fresh) < 0)
        return -1;
    if (!fresh || str_is(buf_span(key), "__metadata__")) {
        leave_out(w, buf_span(key), "its name is taken");
        return 0;
    }
    if (arena_room(&w->arena, &w->entries, w->n, &w->room, sizeof *w->entries) < 0)
        return -1;
    if (!dtype_size(elements_dtype(tensor->dtype), tensor->numel, &bytes)) {
        leave_out(w, buf_span(key), "it is too large");
        return 0;
    }
    w->entries[w->n++] = (struct written_tensor){place, bytes};
    w->decoded |= elements_dtype(tensor->dtype) != tensor->dtype;
    return 0;
}

/* Wide elements first, so that all are aligned. */
static int collect(struct safetensors_writing *w, struct err *err)
{
    const struct model *model = w->model;
    struct buf key = BUF_INIT;
    int status = 0;

    for (unsigned wide = 16; wide > 0 && status == 0; wide /= 2) {
        for (uint32_t p = 0; p < model->n_places && status == 0; p++) {
            const struct dtype_info *info;
            unsigned bytes;

            if (model->kind[p] != PLACE_TENSOR)
                continue;
            info = dtype_info(elements_dtype(place_tensor(model, p)->dtype));
            bytes = info->block == 1 ? info->bytes : 1;
            if (bytes == wide || (wide == 1 && bytes == 0))
                status = add_tensor(w, p, &key);
        }
    }
    buf_release(&key);
    if (status < 0)
        return arena_err(&w->arena, "the list of tensors", err);
    if (w->n == 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: no tensor can be copied%s%.*s%s",
                       model->path, w->told.len ? ": " : "", (int)w->first,
                       buf_cstr(&w->told), w->left_out > 1 ? ", and so on" : "");
    return 0;
}

/* ---- the file ---- */

static void write_entry(struct json *json, const struct safetensors_writing *w,
                        const struct written_tensor *entry, uint64_t at)
{
    const struct tensor *tensor = place_tensor(w->model, entry->place);

    json_text(json, "dtype", dtype_safetensors(elements_dtype(tensor->dtype)));
    export_list(json, "shape", tensor_shape(w->model, tensor), tensor->rank);
    json_array(json, "data_offsets");
    json_u64(json, NULL, at);
    json_u64(json, NULL, at + entry->bytes);
    json_array_end(json);
}

static void write_header(struct buf *to, struct safetensors_writing *w)
{
    struct buf key = BUF_INIT;
    struct json json;
    struct out out;
    uint64_t at = 0;

    out_init_buf(&out, to);
    json_init_text(&json, &out);
    json_object(&json, NULL);
    json_object(&json, "__metadata__");
    json_text(&json, "format", "pt");
    if (w->decoded)
        json_text(&json, "dequantised", "tensors in quantised blocks are float32 here");
    if (w->left_out > MOST_TOLD)
        buf_printf(&w->told, "; %u more", (unsigned)(w->left_out - MOST_TOLD));
    if (w->left_out > 0)
        json_text(&json, "left_out", buf_cstr(&w->told));
    json_object_end(&json);
    for (uint32_t i = 0; i < w->n; i++) {
        buf_clear(&key);
        add_key(&key, w, w->entries[i].place);
        json_key(&json, buf_span(&key));
        json_object(&json, NULL);
        write_entry(&json, w, &w->entries[i], at);
        json_object_end(&json);
        at += w->entries[i].bytes;
    }
    json_object_end(&json);
    out_release(&out);
    while (to->len > 0 && to->at[to->len - 1] == '\n')
        to->len--;
    while (to->len % 8 != 0)
        buf_char(to, ' ');
    buf_release(&key);
}

static int write_data(struct out *out, const struct model *model,
                      const struct written_tensor *entry, struct work *work,
                      struct err *err)
{
    const struct tensor *tensor = place_tensor(model, entry->place);
    struct elements *elements;
    const void *at;
    size_t n;
    uint64_t done = 0;
    int more;

    if (tensor->numel == 0)
        return 0;
    elements = elements_open(model, tensor, 0, UINT64_MAX, false, err);
    if (!elements)
        return -1;
    while ((more = elements_next(elements, work, &at, &n, err)) == 1 && !out->bad) {
        n = elements_size(elements_dtype(tensor->dtype), n);
        out_add(out, at, n);
        done += n;
    }
    elements_close(elements);
    if (more == 0 && done != entry->bytes)
        return err_set(err, ERR_CHANGED,
                       "%s: a tensor of %llu bytes now has %llu; the file changed",
                       model->path, (unsigned long long)entry->bytes,
                       (unsigned long long)done);
    return more < 0 ? -1 : 0;
}

static int write_file(struct out *out, struct safetensors_writing *w, struct work *work,
                      struct err *err)
{
    struct buf header = BUF_INIT;
    uint8_t size[8];
    int status = 0;

    write_header(&header, w);
    for (int i = 0; i < 8; i++)
        size[i] = (uint8_t)((uint64_t)header.len >> (8 * i));
    if (header.bad)
        status =
            err_set(err, ERR_LIMIT, "%s: out of memory for the names", w->model->path);
    out_add(out, size, sizeof size);
    out_str(out, buf_span(&header));
    buf_release(&header);
    for (uint32_t i = 0; i < w->n && status == 0 && !out->bad; i++)
        status = write_data(out, w->model, &w->entries[i], work, err);
    return status;
}

int export_safetensors(struct out *out, struct session *session,
                       const struct export_wanted *wanted, struct err *err)
{
    struct safetensors_writing w = {.model = session->model,
                                    .base = find_base(session->model)};
    int status;

    arena_init(&w.arena, 4 * GIB);
    map_init(&w.seen, &w.arena);
    status = collect(&w, err);
    if (status == 0 && wanted->work)
        for (uint32_t i = 0; i < w.n; i++)
            wanted->work->total += w.entries[i].bytes;
    if (status == 0)
        status = write_file(out, &w, wanted->work, err);
    arena_release(&w.arena);
    buf_release(&w.told);
    return status;
}
