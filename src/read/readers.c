#include "read/read.h"

#include "base/base.h"
#include "base/folder.h"
#include "read/beside_in.h"
#include "read/dcp/dcp_in.h"
#include "read/file/file_source_in.h"
#include "read/file/inflate_in.h"
#include "read/file/input_in.h"
#include "read/gguf/gguf_in.h"
#include "read/hub_cache_in.h"
#include "read/onnx/onnx_in.h"
#include "read/pt2/pt2_in.h"
#include "read/quant/quant_in.h"
#include "read/remote/remote_in.h"
#include "read/torch/torch_in.h"

extern const struct reader safetensors_reader;
extern const struct reader shards_reader;
extern const struct reader npy_reader, npz_reader, packed_reader, bundle_reader;
extern const struct reader h5_reader, keras_reader, tflite_reader, executorch_reader;
extern const struct reader litertlm_reader;
extern const struct reader not_a_model_reader;

/* THE TABLE of formats. The reader that is surest of a file reads it; of two that are
 * equally sure, the first. not_a_model is last: it names files that no other reader
 * takes. */
static const struct reader *const readers[] = {
    &safetensors_reader, &torch_zip_reader,   &torchscript_reader, &torch_legacy_reader,
    &torch_tar_reader,   &bare_pickle_reader, &shards_reader,      &npy_reader,
    &npz_reader,         &gguf_reader,        &pt2_reader,         &dcp_reader,
    &packed_reader,      &bundle_reader,      &keras_reader,       &h5_reader,
    &tflite_reader,      &executorch_reader,  &litertlm_reader,    &onnx_reader,
    &not_a_model_reader,
};

const char *read_format_name(size_t i)
{
    return i + 1 < COUNT_OF(readers) ? readers[i]->name : NULL;
}

const char *read_library(void)
{
    return inflate_library();
}

static const struct reader *reader_for(const struct input *input)
{
    const struct reader *best = &not_a_model_reader;
    int surest = 0;

    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        int sure = readers[i]->knows(input);

        if (sure > surest) {
            surest = sure;
            best = readers[i];
        }
    }
    return best;
}

bool input_promising(const struct input *input)
{
    return reader_for(input) != &not_a_model_reader || zip_looks_like(input->head);
}

/* The last resort for an unrecognised file: a zip with other bytes before it. PyTorch
 * does not load it, but a person wants to see what is in there. */
static const struct reader *look_for_late_zip(struct input *input, struct build *build)
{
    struct err why = {0};

    if (input->blob && !input->zip)
        input->zip = zip_open(input->blob, build, &why);
    return reader_for(input);
}

int input_run(struct input *input, struct build *build, struct err *err)
{
    const struct reader *reader = reader_for(input);

    if (reader == &not_a_model_reader)
        reader = look_for_late_zip(input, build);
    if (build->model->format[0] == '\0')
        build->model->format = reader->name;
    return reader->read(input, build, err);
}

const char *read_format(const char *path)
{
    struct blob *blob = blob_open_file(path, NULL);
    struct input input = {
        .path = path, .name = path_last(path), .blob = blob, .on_disk = true};
    const char *format = NULL;
    struct build build;

    if (!blob)
        return NULL;
    if (input_build(&build, path, NULL, NULL) == 0) {
        if (input_look(&input, &build, NULL) == 0 &&
            reader_for(&input) != &not_a_model_reader)
            format = reader_for(&input)->name;
    }
    build_release(&build);
    blob_close(blob);
    return format;
}

/* Is there anything to show? */
static bool has_content(const struct build *build)
{
    return build->n_nodes > 1 || build->model->n_tensors > 0 ||
           build->model->pickle.n_events > 0;
}

/* An error of a reader that has something to show becomes a finding. */
static void note_failure(struct build *build, const struct err *why)
{
    enum finding_code code = FINDING_DAMAGED;

    if (why->code == ERR_LIMIT)
        code = FINDING_LIMIT;
    else if (why->code == ERR_UNSUPPORTED)
        code = FINDING_UNSUPPORTED;
    build_finding(build, code, SEVERITY_ALARM, FINDING_NOWHERE, "%s", why->text);
}

/* Read the input into the build and freeze it. */
static const struct model *finish(struct input *input, struct build *build,
                                  struct err *err)
{
    struct err why = {0};

    if ((input->blob && input_look(input, build, &why) < 0) ||
        input_run(input, build, &why) < 0) {
        if (why.code == ERR_CANCELLED || !has_content(build)) {
            err_copy(err, &why);
            return NULL;
        }
        note_failure(build, &why);
    }
    beside_read(input, build);
    quant_weights(build);
    build->guess = true;
    return build_finish(build, err);
}

/* Read one file; takes the blob. */
static const struct model *read_blob(struct blob *takes_blob, const char *path,
                                     bool on_disk, struct work *work, struct err *err)
{
    struct input input = {
        .path = path, .name = path_last(path), .blob = takes_blob, .on_disk = on_disk};
    const struct model *model = NULL;
    struct build build;

    if (input_build(&build, path, work, err) < 0) {
        blob_close(takes_blob);
        goto out;
    }
    input_allow(&build, takes_blob->size);
    if (file_source_keep_file(&build, takes_blob, err) == 0)
        model = finish(&input, &build, err);

out:
    build_release(&build);
    return model;
}

/* Notes how to open the newest file again. */
void input_note_address(struct build *build, const char *url)
{
    struct model *model = build->model;

    if (model->n_files > 0)
        model->files[model->n_files - 1].address = build_string(build, str_of(url));
}

static int refuse_database(const struct blob *blob, struct str head, struct err *err)
{
    if (!str_starts(head, STR("SQLite format 3")))
        return 0;
    return err_set_about(err, ERR_UNSUPPORTED, blob->name,
                         ": a recording cannot be read on a web server; download it");
}

/* Read a file of a web server. */
static const struct model *read_url(const char *url, struct work *work, struct err *err)
{
    struct blob *blob = remote_open(url, err);
    struct input input = {.url = url, .blob = blob};
    const struct model *model = NULL;
    struct build build;

    if (!blob)
        return NULL;
    input.path = blob->name;
    input.name = path_last(blob->name);
    if (input_build(&build, blob->name, work, err) < 0) {
        blob_close(blob);
        goto out;
    }
    input_allow(&build, blob->size);
    if (file_source_keep_file(&build, blob, err) < 0 ||
        input_look(&input, &build, err) < 0 ||
        refuse_database(blob, input.head, err) < 0)
        goto out;
    input_note_address(&build, url);
    model = finish(&input, &build, err);
    if (model)
        remote_settle(blob);

out:
    build_release(&build);
    return model;
}

/* `cache`: it may be one of Hugging Face's cache, whose snapshot is read. */
static const struct model *read_folder(const char *path, bool cache, struct work *work,
                                       struct err *err)
{
    struct folder folder;
    struct input input = {.path = path, .name = path_last(path), .folder = &folder};
    const struct model *model = NULL;
    const char *snapshot = NULL;
    struct build build;

    if (input_build(&build, path, work, err) < 0)
        goto out;
    if (folder_open(&folder, path, &build.scratch, err) < 0)
        goto out;
    if (cache)
        snapshot = hub_cache_snapshot(&folder, path, &build.scratch);
    model = snapshot ? read_folder(snapshot, false, work, err)
                     : finish(&input, &build, err);
    folder_close(&folder);

out:
    build_release(&build);
    return model;
}

bool read_is_url(const char *path)
{
    return remote_is_url(path);
}

/* A request that waits for its server stops if the work is cancelled. */
static const struct model *read_address(const char *url, struct work *work,
                                        struct err *err)
{
    struct work *before = work_enter(work);
    const struct model *model = read_url(url, work, err);

    work_leave(before);
    return model;
}

const struct model *read_model(const char *path, struct work *work, struct err *err)
{
    struct blob *blob;

    if (remote_is_url(path))
        return read_address(path, work, err);
    if (path_is_folder(path))
        return read_folder(path, true, work, err);
    blob = blob_open_file(path, err);
    return blob ? read_blob(blob, path, true, work, err) : NULL;
}

const struct model *read_model_memory(const void *at, size_t size, const char *name,
                                      struct work *work, struct err *err)
{
    struct blob *blob = blob_open_memory(at, size, name, err);

    return blob ? read_blob(blob, name, false, work, err) : NULL;
}
