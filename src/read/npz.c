/* npz.c - numpy's .npz: a zip whose members are .npy files, stored or deflated. The
 * name of an array is that of its member without ".npy". */
#include "base/base.h"
#include "read/file/file_source_in.h"
#include "read/npy_in.h"

static bool is_folder(const struct zip_entry *entry)
{
    return entry->size == 0 && str_ends(entry->name, STR("/"));
}

static int npz_knows(const struct input *input)
{
    const struct zip *zip = input->zip;
    uint32_t arrays = 0;

    for (uint32_t i = 0; zip && i < zip->n; i++) {
        if (is_folder(&zip->entries[i]))
            continue;
        if (!str_ends(zip->entries[i].name, STR(".npy")))
            return 0;
        arrays++;
    }
    return arrays > 0 ? SURE_MAGIC : 0;
}

/* The node of an array: "params/dense/kernel" and "dense.kernel" are paths. */
static uint32_t make_node(struct build *build, uint32_t parent, struct str name,
                          bool *ret_again)
{
    struct str part, last;

    while (str_find_char(name, '/') >= 0) {
        if (!str_split(&name, '/', &part))
            break;
        if (part.len > 0)
            parent = build_child(build, parent, PLACE_MODULE, part);
        if (parent == NO_PLACE)
            return NO_PLACE;
    }
    parent = build_dotted(build, parent, name, &last);
    if (parent == NO_PLACE)
        return NO_PLACE;
    return build_leaf(build, parent, PLACE_TENSOR, last, ret_again);
}

static int add_member(struct input *input, struct build *build, uint32_t index,
                      struct err *err)
{
    struct zip *zip = input->zip;
    const struct zip_entry *entry = &zip->entries[index];
    bool deflated = entry->method == ZIP_DEFLATED, again = false;
    struct npy_file file = {.blob = zip->blob,
                            .size = deflated ? entry->size : entry->packed,
                            .zip = deflated ? zip : NULL,
                            .entry = index,
                            .name = entry->name,
                            .weights = true};
    struct npy_header header;
    struct err why = {0};
    uint32_t node = make_node(build, input->node,
                              str_head(entry->name, entry->name.len - 4), &again);

    if (node == NO_PLACE)
        return arena_err(&build->model->arena, input->path, err);
    if (again)
        build_finding(build, FINDING_DUPLICATE, SEVERITY_ALARM, node,
                      "two arrays have the name %.*s", STR_ARG(entry->name));
    if (entry->method != ZIP_DEFLATED && entry->method != ZIP_STORED)
        err_set(&why, ERR_UNSUPPORTED, "it is compressed with method %u",
                entry->method);
    else if (zip_data_at(zip, index, &file.at, &why) == 0 &&
             npy_add(input, build, &file, node, &header, &why) == 0)
        return 0;
    if (why.code == ERR_CANCELLED || build_spent(build))
        return err_copy(err, &why);
    build_set_kind(build, node, PLACE_VALUE);
    build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, node, "entry %.*s: %s",
                  STR_ARG(entry->name), why.text)
        ->entry = zip_finding_entry(zip, entry);
    return 0;
}

static int npz_read(struct input *input, struct build *build, struct err *err)
{
    const struct zip *zip = input->zip;
    struct arena before;

    if (input->node == 0)
        build_fact(build, "entries", value_int(build_values(build), zip->n));
    build_reserve(build, zip->n);
    for (uint32_t i = 0; i < zip->n; i++) {
        int status = 0;

        if (is_folder(&zip->entries[i]))
            continue;
        before = build_scratch_begin(build);
        status = add_member(input, build, i, err);
        build_scratch_end(build, before);
        if (status < 0)
            return -1;
        if (!work_step(build->work, 0))
            return err_set_about(err, ERR_CANCELLED, input->path, ": stopped");
    }
    if (zip->salvaged)
        build_finding(build, FINDING_TRUNCATED, SEVERITY_ALARM, input->node,
                      "truncated: the archive has no directory; %u of its arrays were "
                      "found. Download it again",
                      zip->n);
    return 0;
}

const struct reader npz_reader = {.name = "npz", .knows = npz_knows, .read = npz_read};
