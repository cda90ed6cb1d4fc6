#include "read/dcp/dcp_in.h"

#include <stdio.h>

#include "base/base.h"
#include "read/file/file_source_in.h"
#include "read/torch/torch_in.h"

#define METADATA       ".metadata"
#define METADATA_LIMIT (1 * GIB)
#define PATH_MOST      100 /* limit for names from the root to an item */
#define DOTS_MOST      1000

static bool is_part(struct str name)
{
    return str_ends(name, STR(".distcp"));
}

static bool folder_has(const struct folder *folder, bool (*wanted)(struct str name))
{
    for (uint32_t i = 0; i < folder->n; i++)
        if (folder->entries[i].is_file && wanted(folder->entries[i].name))
            return true;
    return false;
}

static bool is_metadata(struct str name)
{
    return str_is(name, METADATA);
}

static int dcp_knows(const struct input *input)
{
    if (input->folder)
        return folder_has(input->folder, is_metadata) ||
                       folder_has(input->folder, is_part) || dcp_is_hf(input->folder)
                   ? SURE_MAGIC
                   : 0;
    if (!input->on_disk)
        return 0;
    if (is_part(input->name))
        return SURE_MAGIC + 2;
    return is_metadata(input->name) && pickle_looks_like(input->head) ? SURE_MAGIC : 0;
}

/* ---- the tree ---- */

/* The name of a key: a text, or the number of an item of a list. */
static struct str key_name(const struct dcp *dcp, node_id key, char text[24])
{
    struct str name = pickle_text(&dcp->pickle, key);
    int64_t number;

    if (!pickle_int(&dcp->pickle, key, &number))
        return str_head(name, 4096);
    return str_span(text, (size_t)snprintf(text, 24, "%lld", (long long)number));
}

bool dcp_is_deep(struct str name)
{
    size_t dots = 0;

    for (size_t i = 0; name.len > DOTS_MOST && i < name.len; i++)
        dots += name.at[i] == '.';
    return dots > DOTS_MOST;
}

/* The place of an item. */
struct dcp_spot {
    uint32_t parent;
    struct str last;
    bool state; /* of an optimizer */
    char text[24];
};

/* The last name may be a dotted name in a state_dict: "layer1.0.weight". */
static void find_last(struct dcp *dcp, struct dcp_spot *spot, struct str name,
                      bool tensor)
{
    spot->last = name;
    if (!tensor || spot->state || dcp_is_deep(name))
        return;
    if (str_find_char(name, '.') > 0)
        build_set_flags(dcp->build, spot->parent, PLACE_STATE_DICT);
    spot->parent = build_dotted(dcp->build, spot->parent, name, &spot->last);
}

/* By the path of the item in the dict that was saved: ("model", "fc.weight"). */
static void find_spot(struct dcp *dcp, struct str fqn, bool tensor,
                      struct dcp_spot *spot)
{
    const struct pickle *pickle = &dcp->pickle;
    struct build *build = dcp->build;
    node_id path = pickle_dict_get(pickle, dcp->path_of, fqn.at);
    uint32_t n = pickle_is_list(pickle, path) ? pickle_list_n(pickle, path) : 0;

    spot->parent = dcp->input->node;
    if (n == 0 || n > PATH_MOST) {
        find_last(dcp, spot, fqn, tensor);
        return;
    }
    for (uint32_t i = 0; i + 1 < n && spot->parent != NO_PLACE; i++) {
        struct str name = key_name(dcp, pickle_list_at(pickle, path, i), spot->text);

        if ((str_is(name, "state") && i + 3 <= n) || str_is(name, "param_groups")) {
            build_set_flags(build, spot->parent, PLACE_OPTIMIZER);
            spot->state = true;
        }
        spot->parent = build_child(build, spot->parent, PLACE_GROUP, name);
    }
    if (spot->parent != NO_PLACE)
        find_last(dcp, spot,
                  key_name(dcp, pickle_list_at(pickle, path, n - 1), spot->text),
                  tensor);
}

/* ---- tensors ---- */

/* Is the part a plain tensor of this dtype and shape? */
static bool is_box(const struct dcp *dcp, const struct dcp_whole *whole,
                   const struct dcp_box *box, uint32_t id)
{
    const struct model *model = dcp->build->model;
    const struct tensor *tensor = &model->tensors[id];

    if (tensor->dtype != whole->dtype || tensor->rank != whole->rank ||
        tensor->layout != LAYOUT_STRIDED || tensor->storage == NO_STORAGE ||
        tensor->flags & (TENSOR_INVALID | TENSOR_META | TENSOR_SHAPE_ONLY |
                         TENSOR_CONJ | TENSOR_NEG))
        return false;
    for (int d = 0; d < whole->rank; d++)
        if (model->dims[tensor->shape + (uint32_t)d] != box->sizes[d])
            return false;
    return true;
}

/* Use the tensor read at the node as a box: record the location of its elements. */
static int take_box(struct dcp *dcp, const struct dcp_whole *whole, struct dcp_box *box,
                    uint32_t node, struct err *err)
{
    struct build *build = dcp->build;
    uint32_t id = build_tensor_at(build, node);
    struct model *model = build->model;
    struct tensor tensor;
    int64_t *strides;

    if (id == NO_OBJECT || !is_box(dcp, whole, box, id)) {
        build_finding(build, FINDING_SIZE_MISMATCH, SEVERITY_ALARM, node,
                      "a part is not the tensor that the metadata describes: another "
                      "dtype or shape");
        if (id != NO_OBJECT)
            build_tensor_undo(build, node, id);
        return 0;
    }
    tensor = model->tensors[id];
    strides = arena_array(&build->scratch, (size_t)whole->rank + 1, sizeof *strides);
    if (!strides)
        return arena_err(&build->scratch, dcp->input->path, err);
    for (int d = 0; d < whole->rank; d++)
        strides[d] = model->dims[tensor.shape + (uint32_t)(whole->rank + d)];
    if (!build_tensor_undo(build, node, id)) {
        build_finding(build, FINDING_DUPLICATE, SEVERITY_ALARM, node,
                      "a part is also another tensor or part of one");
        build_set_kind(build, node, PLACE_VALUE);
        build_set_object(build, node, VALUE_ID_NONE);
    }
    if (!(model->storages[tensor.storage].flags & (STORAGE_MISSING | STORAGE_PARTLY)))
        box->storage = tensor.storage;
    box->begin = tensor.offset;
    box->strides = strides;
    return 0;
}

static bool is_all(const struct dcp_whole *whole)
{
    if (whole->n != 1)
        return false;
    for (int d = 0; d < whole->rank; d++)
        if (whole->boxes[0].sizes[d] != whole->shape[d])
            return false;
    return true;
}

/* Read one box into the node. *ret_status: 1: it is missing. */
static int read_box(struct dcp *dcp, const struct dcp_whole *whole, struct str fqn,
                    uint32_t i, uint32_t node, int *ret_status, struct err *err)
{
    const struct dcp_box *box = &whole->boxes[i];
    const struct dcp_place *place = dcp_find(dcp, fqn, box->offsets, whole->rank);

    if (!place && whole->n == 1)
        place = dcp_find(dcp, fqn, NULL, 0);
    if (!place) {
        build_finding(dcp->build, FINDING_MISSING_RECORD, SEVERITY_ALARM, node,
                      "the metadata has no location for part %u of %u of %.*s", i + 1,
                      whole->n, STR_ARG(str_head(fqn, 200)));
        *ret_status = 1;
        return 0;
    }
    *ret_status = dcp_read(dcp, place, node, err);
    return *ret_status < 0 ? -1 : 0;
}

static void set_role(struct dcp *dcp, uint32_t node, const struct dcp_spot *spot)
{
    uint32_t id = build_tensor_at(dcp->build, node);
    struct tensor *tensor;

    if (id == NO_OBJECT)
        return;
    tensor = &dcp->build->model->tensors[id];
    /* Tensors are saved detached: the model's requires_grad is unknown. */
    tensor->flags &= (uint16_t) ~(TENSOR_GRAD_KNOWN | TENSOR_GRAD);
    tensor->role = spot->state ? ROLE_STATE
                   : build_is_buffer_name(spot->last) && !str_is(spot->last, "weight")
                       ? ROLE_BUFFER
                       : ROLE_PARAMETER;
    if (!spot->state)
        tensor->flags |= TENSOR_ROLE_GUESSED;
}

static int add_tensor(struct dcp *dcp, struct str fqn, node_id item, uint32_t node,
                      const struct dcp_spot *spot, struct err *err)
{
    struct dcp_whole whole;
    const char *why;
    bool filled;
    int status = 0;

    if (!dcp_whole(dcp, item, &whole, &why)) {
        if (build_spent(dcp->build))
            return arena_err(&dcp->build->scratch, dcp->input->path, err);
        build_finding(dcp->build, FINDING_BAD_TENSOR, SEVERITY_ALARM, node, "%.*s: %s",
                      STR_ARG(str_head(fqn, 200)), why);
        return 0;
    }
    dcp->n_boxes += whole.n;
    filled = dcp_check_boxes(dcp, &whole, node, fqn);
    for (uint32_t i = 0; i < whole.n; i++) {
        if (!work_step(dcp->build->work, 1))
            return err_set_about(err, ERR_CANCELLED, dcp->input->path, ": stopped");
        if (read_box(dcp, &whole, fqn, i, node, &status, err) < 0)
            return -1;
        if (status > 0)
            continue;
        if (is_all(&whole) && build_tensor_at(dcp->build, node) != NO_OBJECT &&
            is_box(dcp, &whole, &whole.boxes[0], build_tensor_at(dcp->build, node))) {
            set_role(dcp, node, spot);
            return 0;
        }
        if (take_box(dcp, &whole, &whole.boxes[i], node, err) < 0)
            return -1;
    }
    if (dcp_assemble(dcp->build, &whole, filled, node, fqn, err) < 0)
        return -1;
    set_role(dcp, node, spot);
    return 0;
}

/* ---- items ---- */

static int add_value(struct dcp *dcp, struct str fqn, uint32_t node, struct err *err)
{
    const struct dcp_place *place = dcp_find(dcp, fqn, NULL, 0);
    int status = place ? dcp_read(dcp, place, node, err) : 1;

    if (status < 0)
        return -1;
    if (status > 0) /* not None, which a value may be */
        build_set_object(
            dcp->build, node,
            value_make(build_values(dcp->build), VALUE_CUT, STR("missing"), NULL, 0));
    if (!place)
        build_finding(dcp->build, FINDING_MISSING_RECORD, SEVERITY_ALARM, node,
                      "the metadata has no location for %.*s",
                      STR_ARG(str_head(fqn, 200)));
    return 0;
}

static int add_item(struct dcp *dcp, node_id key, node_id item, struct err *err)
{
    struct dcp_spot spot = {0};
    bool tensor = dcp_is_tensor(dcp, item), again;
    struct str fqn = arena_str(&dcp->build->scratch,
                               str_head(pickle_text(&dcp->pickle, key), 1 << 20));
    uint32_t node;

    if (!fqn.at)
        return arena_err(&dcp->build->scratch, dcp->input->path, err);
    find_spot(dcp, fqn, tensor, &spot);
    if (spot.parent == NO_PLACE)
        return arena_err(&dcp->build->model->arena, dcp->input->path, err);
    node = build_leaf(dcp->build, spot.parent, PLACE_VALUE, spot.last, &again);
    if (node == NO_PLACE)
        return arena_err(&dcp->build->model->arena, dcp->input->path, err);
    if (again)
        build_finding(dcp->build, FINDING_DUPLICATE, SEVERITY_ALARM, node,
                      "two items have the name %.*s", STR_ARG(str_head(fqn, 200)));
    return tensor ? add_tensor(dcp, fqn, item, node, &spot, err)
                  : add_value(dcp, fqn, node, err);
}

static void say_facts(struct dcp *dcp)
{
    struct values *values = build_values(dcp->build);

    if (dcp->input->node != 0)
        return;
    build_fact(dcp->build, "items",
               value_int(values, pickle_dict_n(&dcp->pickle, dcp->items)));
    build_fact(dcp->build, "parts", value_int(values, (int64_t)dcp->n_boxes));
    build_fact(dcp->build, "shards", value_int(values, dcp->file_names.n));
}

static int read_items(struct dcp *dcp, struct err *err)
{
    const struct pickle *pickle = &dcp->pickle;
    uint32_t n = pickle_dict_n(pickle, dcp->items);
    node_id key, value;

    if (dcp_index(dcp, err) < 0)
        return -1;
    for (uint32_t i = 0; i < n && pickle_dict_at(pickle, dcp->items, i, &key, &value);
         i++)
        if (add_item(dcp, key, value, err) < 0)
            return -1;
    say_facts(dcp);
    return dcp_check_spans(dcp, err);
}

/* ---- the reader ---- */

/* Read the metadata in `blob`, which was kept, and the files beside it. */
static int read_metadata(struct dcp *dcp, struct blob *blob, struct err *err)
{
    struct build *build = dcp->build;
    struct str all;
    struct bytes in;

    if (blob->size > METADATA_LIMIT)
        return err_set_about(err, ERR_LIMIT, blob->name, " is too large");
    if (blob_load(blob, 0, blob->size, &build->scratch, &all, err) < 0)
        return -1;
    in = bytes_of(all.at, all.len);
    if (pickle_run(&dcp->pickle, build, &in, STR(METADATA), err) < 0)
        return -1;
    pickle_run_nested(build, &dcp->pickle, STR(METADATA));
    if (!dcp_is_metadata(dcp))
        return err_set_about(err, ERR_FORMAT, blob->name,
                             " is not the metadata of a distributed checkpoint");
    build->model->format = "distributed checkpoint";
    return read_items(dcp, err);
}

static int read_folder(struct dcp *dcp, struct err *err)
{
    char *shown = arena_printf(&dcp->build->scratch, "%s/%s", dcp->folder, METADATA);
    struct blob *blob;

    if (!shown)
        return arena_err(&dcp->build->scratch, dcp->input->path, err);
    if (!folder_has(dcp->input->folder, is_metadata))
        return err_set_about(
            err, ERR_FORMAT, dcp->input->path,
            " has files of a distributed checkpoint, but no %s: the save "
            "did not finish. Save it again",
            METADATA);
    blob = blob_open_at(dcp->dir_fd, METADATA, shown, err);
    if (!blob)
        return -1;
    input_allow(dcp->build, blob->size);
    if (file_source_keep_file(dcp->build, blob, err) < 0)
        return -1;
    return read_metadata(dcp, blob, err);
}

/* The path of the metadata file: read the folder that holds it. */
static int read_path(struct dcp *dcp, struct err *err)
{
    struct arena *arena = &dcp->build->scratch;
    struct str all = str_of(dcp->input->path);
    ptrdiff_t slash = str_find_last_char(all, '/');
    struct folder folder;
    int status;

    if (is_part(dcp->input->name))
        return err_set_about(
            err, ERR_UNSUPPORTED, dcp->input->path,
            " is one file of a distributed checkpoint. Open its folder");
    dcp->folder =
        slash < 0 ? "." : arena_printf(arena, "%.*s", (int)(slash ? slash : 1), all.at);
    if (!dcp->folder)
        return arena_err(arena, dcp->input->path, err);
    if (folder_open(&folder, dcp->folder, arena, err) < 0)
        return -1;
    dcp->dir_fd = folder.fd;
    status = read_metadata(dcp, dcp->input->blob, err);
    folder_close(&folder);
    return status;
}

static int dcp_read_input(struct input *input, struct build *build, struct err *err)
{
    struct dcp dcp = {
        .input = input, .build = build, .dir_fd = -1, .folder = input->path};

    name_map_init(&dcp.file_names, &build->scratch);
    if (!input->folder)
        return read_path(&dcp, err);
    dcp.dir_fd = input->folder->fd;
    return dcp_is_hf(input->folder) && !folder_has(input->folder, is_metadata)
               ? dcp_read_hf(&dcp, err)
               : read_folder(&dcp, err);
}

const struct reader dcp_reader = {
    .name = "distributed checkpoint", .knows = dcp_knows, .read = dcp_read_input};
