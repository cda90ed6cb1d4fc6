/* All tensors of a model in one safetensors file. Nothing of a pickle is copied: this
 * rescues the tensors of a file that should not be loaded. A tied tensor is written under
 * each of its names; convert.c keeps ties. */
#include "base/base.h"
#include "export/exporters.h"
#include "export/safetensors_file.h"

#define MOST_LISTED 20 /* names of skipped tensors */

struct rescue {
    struct safetensors_file file;
    uint32_t base; /* the only state_dict: keys are names within it; or 0 */
    bool decoded;  /* some tensor is in quantised blocks: written as float32 */
    uint32_t left_out;
    struct buf list; /* names of skipped tensors, with reasons */
    size_t first;    /* length of the first entry in `list` */
};

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

static void add_key(struct buf *to, const struct rescue *r, uint32_t place)
{
    const struct model *model = r->file.model;
    size_t begin = to->len, skip;
    struct buf above = BUF_INIT;

    if (r->base == 0 || place < r->base || place >= model->end[r->base]) {
        place_path(model, place, to);
        return;
    }
    place_path(model, r->base, &above);
    place_path(model, place, to);
    skip = above.len + 1;
    memmove(to->at + begin, to->at + begin + skip, to->len - begin - skip);
    to->len -= skip;
    to->at[to->len] = '\0';
    buf_release(&above);
}

static void leave_out(struct rescue *r, struct str key, const char *why)
{
    if (r->left_out++ < MOST_LISTED)
        buf_printf(&r->list, "%s%.*s: %s", r->list.len ? "; " : "", STR_ARG(key), why);
    if (r->left_out == 1)
        r->first = r->list.len;
}

static int add_tensor(struct rescue *r, uint32_t place, struct buf *key)
{
    const struct model *model = r->file.model;
    const char *why = NULL;
    int added;

    buf_clear(key);
    add_key(key, r, place);
    if (!safetensors_can_decode(model, place_tensor(model, place), &why)) {
        leave_out(r, buf_span(key), why);
        return 0;
    }
    r->decoded |= dtype_info(place_tensor(model, place)->dtype)->scaled;
    added = safetensors_file_add(&r->file, buf_span(key), model->object[place]);
    if (added == 0)
        leave_out(r, buf_span(key), "its name is taken");
    return added < 0 ? -1 : 0;
}

static int collect(struct rescue *r, struct err *err)
{
    const struct model *model = r->file.model;
    struct buf key = BUF_INIT;
    int status = 0;

    for (uint32_t p = 0; p < model->n_places && status == 0; p++)
        if (model->kind[p] == PLACE_TENSOR &&
            !(place_tensor(model, p)->flags & TENSOR_DERIVED))
            status = add_tensor(r, p, &key);
    buf_release(&key);
    if (r->left_out > MOST_LISTED)
        buf_printf(&r->list, "; %u more", (unsigned)(r->left_out - MOST_LISTED));
    if (status == 0 && r->left_out > 0)
        status = safetensors_file_note(&r->file, STR("left_out"), buf_span(&r->list));
    if (status == 0 && r->decoded)
        status =
            safetensors_file_note(&r->file, STR("dequantised"),
                                  STR("tensors in quantised blocks are float32 here"));
    if (status < 0)
        return arena_err(&r->file.arena, "the list of tensors", err);
    if (r->file.n == 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: no tensor can be copied%s%.*s%s",
                       model->path, r->list.len ? ": " : "", (int)r->first,
                       buf_cstr(&r->list), r->left_out > 1 ? ", and so on" : "");
    return 0;
}

int export_safetensors(struct out *out, struct session *session,
                       const struct export_wanted *wanted, struct err *err)
{
    struct rescue r = {.base = find_base(session->model)};
    int status;

    safetensors_file_init(&r.file, session->model);
    status = collect(&r, err);
    if (status == 0)
        status = safetensors_file_write(out, &r.file, wanted->work, err);
    safetensors_file_release(&r.file);
    buf_release(&r.list);
    return status;
}
