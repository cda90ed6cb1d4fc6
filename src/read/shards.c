#include "read/shards_in.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/base.h"
#include "read/remote/remote_in.h"

#define INDEX_LIMIT (100 * MIB)

static int knows(const struct input *input)
{
    struct str text = str_trim(input->head);

    if (input->folder)
        return SURE_TRACE;
    if (input->on_disk && str_starts(input->head, STR("GGUF")) &&
        shards_is_part(input->name))
        return SURE_MAGIC + 1;
    if ((!input->on_disk && !input->url) || text.len == 0 || text.at[0] != '{')
        return 0;
    if (str_find(text, STR("\"weight_map\"")) >= 0)
        return SURE_SHAPE + 1;
    return str_ends(input->name, STR(".index.json")) ? SURE_SHAPE : 0;
}

/* ---- reading the shards ---- */

/* A shard could not be read, because of `why`. -1: stop. */
static int note_broken(struct shards *self, struct shard *shard, const struct err *why,
                       struct err *err)
{
    shard->broken = true;
    if (self->why.code == ERR_NONE)
        self->why = *why;
    if (why->code == ERR_CANCELLED || why->code == ERR_LIMIT)
        return err_copy(err, why);
    build_finding(self->build, FINDING_DAMAGED, SEVERITY_ALARM, self->input->node, "%s",
                  why->text);
    return 0;
}

/* The shard that the user opened: it becomes the model's first file. */
static int read_opened(struct shards *self, struct shard *shard, struct err *err)
{
    struct err why = {0};

    shard->read = input_read_shard(self->input, self->input->blob, shard->name.at,
                                   self->build, &why) == 0;
    return shard->read ? 0 : note_broken(self, shard, &why, err);
}

/* The shard `name`, in the folder `dir_fd` or beside the index on its server. */
static struct blob *open_shard(struct shards *self, const char *name, int dir_fd,
                               const char *shown, const char **ret_url, struct err *err)
{
    const char *url = self->input->url;

    *ret_url = NULL;
    if (!url)
        return blob_open_at(dir_fd, name, shown, err);
    *ret_url = remote_beside(url, str_of(name), &self->build->scratch);
    if (*ret_url)
        return remote_open(*ret_url, err);
    arena_err(&self->build->scratch, self->input->path, err);
    return NULL;
}

/* Read one shard. A damaged shard is a finding and does not stop the others. -1: stop.
 */
static int read_shard(struct shards *self, struct shard *shard, int dir_fd,
                      const char *folder, struct err *err)
{
    struct build *build = self->build;
    struct err why = {0};
    struct blob *blob;
    const char *shown, *name, *url;

    if (shard->refused)
        return 0;
    if (self->input->blob && str_eq(shard->name, self->input->name))
        return read_opened(self, shard, err);
    name = arena_str(&build->scratch, shard->name).at;
    shown = name ? arena_printf(&build->scratch, "%s/%s", folder, name) : NULL;
    if (!shown)
        return arena_err(&build->scratch, self->input->path, err);
    blob = open_shard(self, name, dir_fd, shown, &url, &why);
    if (!blob) {
        /* With an index, shards_compare() names its tensors. */
        if (!self->has_index)
            build_finding(build, FINDING_MISSING_SHARD, SEVERITY_ALARM,
                          self->input->node, "%s", why.text);
        return 0;
    }
    shard->file = build->model->n_files;
    shard->read = input_read_shard(self->input, blob, name, build, &why) == 0;
    if (shard->read && url) {
        build->model->files[shard->file].address = build_string(build, str_of(url));
        remote_settle(blob);
    }
    return shard->read ? 0 : note_broken(self, shard, &why, err);
}

/* A name in an index must not lead out of the folder. */
static void refuse_paths(struct shards *self)
{
    for (uint32_t i = 0; i < self->n; i++) {
        struct shard *shard = &self->shards[i];

        if (folder_name_is_plain(shard->name))
            continue;
        shard->refused = true;
        build_finding(
            self->build, FINDING_UNSAFE_PATH, SEVERITY_ALARM, self->input->node,
            "the index names %.*s, which is a path, not a file in its folder; it was "
            "not opened",
            STR_ARG(str_head(shard->name, 200)));
    }
}

static int by_name(const void *a, const void *b)
{
    const struct shard *const *x = a, *const *y = b;

    return str_cmp((*x)->name, (*y)->name);
}

/* Shards are read in the order of their names, so that the tree begins with the first.
 */
static struct shard **sorted(struct shards *self)
{
    struct shard **order = arena_array(&self->build->scratch, self->n, sizeof *order);

    if (!order)
        return NULL;
    for (uint32_t i = 0; i < self->n; i++)
        order[i] = &self->shards[i];
    if (self->n > 0)
        qsort(order, self->n, sizeof *order, by_name);
    return order;
}

static void say_facts(struct shards *self)
{
    struct build *build = self->build;
    bool safetensors = false, gguf = false, hdf5 = false;

    for (uint32_t i = 0; i < self->n; i++) {
        safetensors |= str_ends(self->shards[i].name, STR(".safetensors"));
        gguf |= str_ends(self->shards[i].name, STR(".gguf"));
        hdf5 |= str_ends(self->shards[i].name, STR(".h5"));
    }
    build->model->format = safetensors ? "safetensors shards"
                           : gguf      ? "GGUF shards"
                           : hdf5      ? "Keras shards"
                                       : "torch shards";
    build_fact(build, "shards", value_int(build_values(build), self->n));
}

/* Read all shards of the folder `dir_fd` into one tree. */
static int read_all(struct shards *self, int dir_fd, const char *folder,
                    struct err *err)
{
    struct model *model = self->build->model;
    struct shard **order = sorted(self);
    bool some = false;

    if (!order)
        return arena_err(&self->build->scratch, self->input->path, err);
    refuse_paths(self);
    say_facts(self);
    for (uint32_t i = 0; i < self->n; i++) {
        uint32_t n_facts = model->n_facts, n_metadata = model->n_metadata;

        if (read_shard(self, order[i], dir_fd, folder, err) < 0)
            return -1;
        /* Facts about one shard are not facts about the model. */
        model->n_facts = n_facts;
        if (i > 0)
            model->n_metadata = n_metadata;
        some |= order[i]->read;
    }
    if (!some && self->why.code != ERR_NONE)
        return err_copy(err, &self->why);
    return shards_compare(self, err);
}

/* ---- the reader ---- */

/* The folder of a path. Links are not resolved: in a download cache the shards are
 * beside the link. */
static char *folder_of(const char *path, struct arena *arena)
{
    struct str all = str_of(path);
    ptrdiff_t slash = str_find_last_char(all, '/');

    if (slash < 0)
        return arena_printf(arena, ".");
    return arena_printf(arena, "%.*s", (int)(slash ? slash : 1), path);
}

/* Read an index and the shards it names, in the folder open as `dir_fd`. */
static int read_index(struct shards *self, struct blob *blob, int dir_fd,
                      const char *folder, struct err *err)
{
    struct str text;

    if (blob->size > INDEX_LIMIT)
        return err_set_about(err, ERR_LIMIT, blob->name,
                             " has %" PRIu64 " bytes, too many for an index",
                             blob->size);
    if (blob_load(blob, 0, blob->size, &self->build->scratch, &text, err) < 0 ||
        shards_read_index(self, text, err) < 0)
        return -1;
    if (self->n == 0)
        return err_set_about(err, ERR_FORMAT, blob->name,
                             " is an index that names no file");
    return read_all(self, dir_fd, folder, err);
}

static int read_index_file(struct shards *self, struct err *err)
{
    struct arena *arena = &self->build->scratch;
    char *path = folder_of(self->input->path, arena);
    struct folder folder;
    int status;

    if (self->input->url)
        return read_index(self, self->input->blob, -1, path ? path : "", err);
    if (!path)
        return arena_err(arena, self->input->path, err);
    if (folder_open(&folder, path, arena, err) < 0)
        return -1;
    status = read_index(self, self->input->blob, folder.fd, path, err);
    folder_close(&folder);
    return status;
}

/* Read all files of the set that the opened file is a part of. */
static int read_set_of_file(struct shards *self, struct err *err)
{
    struct arena *arena = &self->build->scratch;
    char *path = folder_of(self->input->path, arena);
    struct folder folder;
    int status;

    if (!path)
        return arena_err(arena, self->input->path, err);
    if (folder_open(&folder, path, arena, err) < 0)
        return -1;
    self->input->folder = &folder;
    status = shards_list_set(self, self->input->name);
    if (status == 0)
        status = read_all(self, folder.fd, path, err);
    self->input->folder = NULL;
    folder_close(&folder);
    return status;
}

/* Open a file of the folder; the build keeps it as one of the model's files. */
static struct blob *open_inside(struct shards *self, struct str name, struct err *err)
{
    char *shown = arena_printf(&self->build->scratch, "%s/%.*s", self->input->path,
                               STR_ARG(name));

    if (!shown) {
        arena_err(&self->build->scratch, self->input->path, err);
        return NULL;
    }
    return blob_open_at(self->input->folder->fd, name.at, shown, err);
}

static int read_folder_index(struct shards *self, struct str name, struct err *err)
{
    struct blob *blob = open_inside(self, name, err);
    int status;

    if (!blob)
        return -1;
    input_allow(self->build, blob->size);
    status = read_index(self, blob, self->input->folder->fd, self->input->path, err);
    blob_close(blob);
    return status;
}

static int read_folder_file(struct shards *self, struct str name, struct err *err)
{
    struct blob *blob = open_inside(self, name, err);

    if (!blob)
        return -1;
    self->build->model->format = ""; /* the file's reader sets it */
    return input_read_shard(self->input, blob, name.at, self->build, err);
}

static int read_folder(struct shards *self, struct err *err)
{
    enum folder_choice choice;
    struct str name = {0};
    int status;

    if (shards_choose(self, &choice, &name, err) < 0)
        return -1;
    if (choice == FOLDER_INDEX)
        status = read_folder_index(self, name, err);
    else if (choice == FOLDER_SHARDS)
        status = read_all(self, self->input->folder->fd, self->input->path, err);
    else
        status = read_folder_file(self, name, err);
    if (status == 0)
        shards_note_others(self, name);
    return status;
}

static int read_shards(struct input *input, struct build *build, struct err *err)
{
    struct shards self = {.input = input, .build = build};

    name_map_init(&self.tensor_names, &build->scratch);
    name_map_init(&self.shard_names, &build->scratch);
    if (input->folder)
        return read_folder(&self, err);
    return shards_is_part(input->name) && str_starts(input->head, STR("GGUF"))
               ? read_set_of_file(&self, err)
               : read_index_file(&self, err);
}

const struct reader shards_reader = {
    .name = "shards", .knows = knows, .read = read_shards};
