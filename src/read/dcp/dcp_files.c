#include <inttypes.h>
#include <stdlib.h>

#include "base/base.h"
#include "read/dcp/dcp_in.h"
#include "read/file/file_source_in.h"
#include "read/torch/torch_in.h"

/* ---- files ---- */

/* Refuse to open a file: its parts are missing. */
static void refuse(struct dcp *dcp, struct str name)
{
    build_finding(dcp->build, FINDING_UNSAFE_PATH, SEVERITY_ALARM, dcp->input->node,
                  "the metadata names %.*s, which is a path, not a file in its folder; "
                  "it was not opened",
                  STR_ARG(str_head(name, 200)));
}

static struct blob *open_file(struct dcp *dcp, struct str name, struct err *err)
{
    struct build *build = dcp->build;
    const char *own = arena_str(&build->scratch, name).at, *shown;
    struct err why = {0};
    struct blob *blob;

    shown = own ? arena_printf(&build->scratch, "%s/%s", dcp->folder, own) : NULL;
    if (!shown) {
        arena_err(&build->scratch, dcp->input->path, err);
        return NULL;
    }
    if (!folder_name_is_plain(name)) {
        refuse(dcp, name);
        return NULL;
    }
    blob = blob_open_at(dcp->dir_fd, own, shown, &why);
    if (!blob) {
        build_finding(build, FINDING_MISSING_SHARD, SEVERITY_ALARM, dcp->input->node,
                      "%s", why.text);
        return NULL;
    }
    input_allow(build, blob->size);
    return file_source_keep_file(build, blob, err) < 0 ? NULL : blob;
}

const struct dcp_file *dcp_file(struct dcp *dcp, struct str name, uint32_t *ret_index,
                                struct err *err)
{
    uint32_t index;
    struct err why = {0};
    int added = name_map_add(&dcp->file_names, name, &index);

    *ret_index = index;
    if (added == 0)
        return &dcp->files[index];
    if (added < 0 || arena_room(&dcp->build->scratch, &dcp->files, index,
                                &dcp->files_room, sizeof *dcp->files) < 0) {
        arena_err(&dcp->build->scratch, dcp->input->path, err);
        return NULL;
    }
    dcp->files[index] = (struct dcp_file){.blob = open_file(dcp, name, &why)};
    if (!dcp->files[index].blob && why.code != ERR_NONE) {
        err_copy(err, &why);
        return NULL;
    }
    return &dcp->files[index];
}

/* ---- parts ---- */

/* Can the part not be read? Then adds a finding at the node. */
static bool is_unreadable(struct dcp *dcp, const struct dcp_place *place,
                          const struct dcp_file *file, uint32_t node)
{
    struct build *build = dcp->build;

    if (!file->blob)
        return true;
    if (place->at > file->blob->size || place->size > file->blob->size - place->at) {
        build_finding(build, FINDING_TRUNCATED, SEVERITY_ALARM, node,
                      "%s has %" PRIu64 " bytes; a part of the tensor or value should "
                      "end at byte %" PRIu64,
                      file->blob->name, file->blob->size, place->at + place->size);
        return true;
    }
    if (!place->transformed)
        return false;
    build_finding(
        build, FINDING_UNSUPPORTED, SEVERITY_ALARM, node,
        "%s: this part is transformed with %.*s, which is not supported. Save "
        "the checkpoint without extensions",
        file->blob->name,
        STR_ARG(place->transform.len > 0 ? str_head(place->transform, 40)
                                         : STR("an extension")));
    return true;
}

static int note_span(struct dcp *dcp, uint32_t file, const struct dcp_place *place,
                     uint32_t node)
{
    if (arena_room(&dcp->build->scratch, &dcp->spans, dcp->n_spans, &dcp->spans_room,
                   sizeof *dcp->spans) < 0)
        return -1;
    dcp->spans[dcp->n_spans++] = (struct dcp_span){
        .file = file, .at = place->at, .end = place->at + place->size, .node = node};
    return 0;
}

/* Log a pickle that was not read, so that the verdict is not "safe". */
static void note_unread(struct dcp *dcp, const struct dcp_place *place)
{
    build_pickle_stream(dcp->build, place->file, place->size);
}

int dcp_read(struct dcp *dcp, const struct dcp_place *place, uint32_t node,
             struct err *err)
{
    struct build *build = dcp->build;
    struct err why = {0};
    struct arena before;
    const struct dcp_file *file;
    struct torch_part part;
    uint32_t index;
    int status;

    file = dcp_file(dcp, place->file, &index, err);
    if (!file)
        return -1;
    if (is_unreadable(dcp, place, file, node)) {
        note_unread(dcp, place);
        return 1;
    }
    dcp->files[index].n_parts++;
    if (note_span(dcp, index, place, node) < 0)
        return arena_err(&build->scratch, dcp->input->path, err);
    before = build_scratch_begin(build);
    part =
        (struct torch_part){.whole = file->blob, .at = place->at, .size = place->size};
    part.name = arena_printf(&build->scratch, "%.*s at byte %" PRIu64,
                             STR_ARG(place->file), place->at);
    status = part.name ? torch_read_part(&part, node, build, &why)
                       : arena_err(&build->scratch, dcp->input->path, &why);
    build_scratch_end(build, before);
    if (status == 0)
        return 0;
    if (why.code == ERR_CANCELLED || build_spent(build))
        return err_copy(err, &why);
    build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, node, "%s", why.text);
    note_unread(dcp, place);
    return 1;
}

/* ---- overlaps ---- */

static int by_place(const void *a, const void *b)
{
    const struct dcp_span *x = a, *y = b;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

int dcp_check_spans(struct dcp *dcp, struct err *err)
{
    uint64_t end = 0;

    if (!work_step(dcp->build->work, 0))
        return err_set_about(err, ERR_CANCELLED, dcp->input->path, ": stopped");
    if (dcp->n_spans > 0)
        qsort(dcp->spans, dcp->n_spans, sizeof *dcp->spans, by_place);
    for (uint32_t i = 0; i < dcp->n_spans; i++) {
        const struct dcp_span *span = &dcp->spans[i];

        if (i > 0 && span->file != span[-1].file)
            end = 0;
        if (span->at < end)
            build_finding(dcp->build, FINDING_OVERLAP, SEVERITY_ALARM, span->node,
                          "its bytes in %s overlap those of another part",
                          dcp->files[span->file].blob->name);
        if (span->end > end)
            end = span->end;
    }
    return 0;
}
