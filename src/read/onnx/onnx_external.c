/* Data in files beside the model. A downloaded model must not make us read other files:
 * only regular files in its folder or below are opened. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"
#include "read/file/file_source_in.h"
#include "read/onnx/made_in.h"

#define LOCATION_MOST 4096

/* Opens the folder of the model; -1 with an error. */
static int open_folder(const struct onnx_making *m, struct err *err)
{
    struct str path = str_of(m->input->path);
    ptrdiff_t slash = str_find_last_char(path, '/');
    const char *folder = ".";
    int fd;

    if (slash >= 0)
        folder = arena_printf(m->p->arena, "%.*s", (int)(slash ? slash : 1), path.at);
    if (!folder)
        return arena_err(m->p->arena, m->input->path, err);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? err_set_errno(err, folder) : fd;
}

static struct blob *open_beside(const struct onnx_making *m, struct str location,
                                struct err *err)
{
    struct str path = str_of(m->input->path);
    ptrdiff_t slash = str_find_last_char(path, '/');
    struct blob *blob = NULL;
    const char *shown;
    int fd;

    if (!m->input->on_disk && !m->input->shard) {
        err_set_about(err, ERR_NOT_FOUND, m->input->path,
                      " is inside another file, which has no files beside it");
        return NULL;
    }
    shown = arena_printf(m->p->arena, "%.*s%.*s", (int)(slash + 1), path.at,
                         STR_ARG(str_head(location, LOCATION_MOST)));
    fd = shown ? open_folder(m, err) : arena_err(m->p->arena, m->input->path, err);
    if (fd < 0)
        return NULL;
    blob = blob_open_beneath(fd, location, shown, err);
    close(fd);
    return blob;
}

/* Opens a file and adds it to the model. NULL: a finding says why. */
static struct blob *add_file(struct onnx_making *m, uint32_t location)
{
    struct str name = onnx_text(m->p, location);
    struct err why = {0};
    struct blob *blob = open_beside(m, name, &why);

    if (blob && file_source_keep_file(m->build, blob, &why) < 0)
        blob = NULL;
    if (blob)
        return blob;
    if (why.code == ERR_FORMAT)
        build_finding(m->build, FINDING_UNSAFE_PATH, SEVERITY_ALARM, 0,
                      "the file refers to tensor data in %.*s, which was not opened: "
                      "%s",
                      STR_ARG(str_head(name, 200)), err_reason(&why));
    else
        build_finding(
            m->build, FINDING_MISSING_RECORD, SEVERITY_ALARM, 0,
            "tensor data is in %.*s, which cannot be opened: %s. Put it beside "
            "the model",
            STR_ARG(str_head(name, 200)), err_reason(&why));
    return NULL;
}

struct blob *onnx_external(struct onnx_making *m, uint32_t location)
{
    uint32_t i;

    if (map_find(&m->by_location, location, &i))
        return m->files[i].blob;
    i = m->n_files;
    if (arena_room(m->p->arena, &m->files, m->n_files, &m->files_room,
                   sizeof *m->files) < 0 ||
        map_put(&m->by_location, location, i) < 0)
        return NULL;
    m->n_files++;
    m->files[i] = (struct onnx_file){location, add_file(m, location)};
    return m->files[i].blob;
}
