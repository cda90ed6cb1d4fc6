/* shards_folder.c - chooses what to read of a folder, in this order: an index; a set of
 * shards NAME-00001-of-00005.EXT; a file with a well-known name; the only file that
 * looks like a model; beside config.json, the only safetensors file. If there are
 * several, the error lists them. A note names the models that are not read. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "read/shards_in.h"

#define FILES_LOOKED_AT 1000
#define NAMES_SHOWN     6
#define NAME_SHOWN      56 /* bytes of a name */

static bool is_index(struct str name)
{
    return str_ends(name, STR(".index.json"));
}

static bool is_safetensors(struct str name)
{
    return str_ends(name, STR(".safetensors")) ||
           str_ends(name, STR(".safetensors.index.json"));
}

/* Names to choose from. */
struct choice {
    struct str names[NAMES_SHOWN];
    uint32_t n, n_safetensors, looked;
    struct str read;        /* is left out, as are the shards */
    struct str safetensors; /* the last of those */
};

static void choice_add(struct choice *choice, struct str name)
{
    if (choice->n < NAMES_SHOWN)
        choice->names[choice->n] = name;
    choice->n++;
    if (is_safetensors(name)) {
        choice->safetensors = name;
        choice->n_safetensors++;
    }
}

/* The only one, or (`safetensors`) the only safetensors file among several. */
static bool choice_one(const struct choice *choice, bool safetensors,
                       struct str *ret_name)
{
    if (choice->n == 1)
        *ret_name = choice->names[0];
    else if (safetensors && choice->n_safetensors == 1)
        *ret_name = choice->safetensors;
    else
        return false;
    return true;
}

/* "a.pth, b.pth and 3 more"; the middle of a long name is left out. */
static void list_names(struct buf *to, const struct choice *choice)
{
    for (uint32_t i = 0; i < choice->n && i < NAMES_SHOWN; i++) {
        struct str name = choice->names[i];

        buf_text(to, i ? ", " : "");
        if (name.len > NAME_SHOWN) {
            buf_str(to, str_head(name, NAME_SHOWN / 2));
            buf_text(to, "...");
            buf_str(to, str_from(name, name.len - NAME_SHOWN / 2));
        } else {
            buf_str(to, name);
        }
    }
    if (choice->n > NAMES_SHOWN)
        buf_printf(to, " and %" PRIu32 " more", choice->n - NAMES_SHOWN);
}

static int say_several(const struct input *input, const struct choice *choice,
                       const char *what, struct err *err)
{
    struct buf names = BUF_INIT;
    int status;

    list_names(&names, choice);
    status =
        err_set_about(err, ERR_USAGE, input->path,
                      " holds several %s: %s. Name the one to open, as in %s/%.*s",
                      what, buf_cstr(&names), input->path, STR_ARG(choice->names[0]));
    buf_release(&names);
    return status;
}

/* ---- sets of shards ---- */

/* "model-00002-of-00005.safetensors" in its parts. */
struct shard_name {
    struct str front, back; /* "model-" and ".safetensors" */
    uint64_t number, count;
    size_t digits;
};

static size_t leading_digits(struct str s)
{
    size_t n = 0;

    while (n < s.len && s.at[n] >= '0' && s.at[n] <= '9')
        n++;
    return n;
}

static bool split_name(struct str name, struct shard_name *ret_parts)
{
    ptrdiff_t of = str_find(name, STR("-of-"));
    struct shard_name parts;
    size_t begin, after, digits;

    if (of <= 0)
        return false;
    begin = (size_t)of;
    while (begin > 0 && name.at[begin - 1] >= '0' && name.at[begin - 1] <= '9')
        begin--;
    after = (size_t)of + 4;
    digits = leading_digits(str_from(name, after));
    parts.digits = (size_t)of - begin;
    parts.front = str_head(name, begin);
    parts.back = str_from(name, after + digits);
    if (!str_to_u64(str_span(name.at + begin, parts.digits), &parts.number) ||
        !str_to_u64(str_span(name.at + after, digits), &parts.count) ||
        parts.number == 0 || parts.number > parts.count)
        return false;
    *ret_parts = parts;
    return true;
}

static bool same_set(const struct shard_name *a, const struct shard_name *b)
{
    return a->count == b->count && str_eq(a->front, b->front) &&
           str_eq(a->back, b->back);
}

/* The first members of all sets in the folder. Entries are sorted by name: those of one
 * set are consecutive. */
static void find_sets(const struct folder *folder, struct choice *choice)
{
    struct shard_name last = {0}, parts;

    for (uint32_t i = 0; i < folder->n; i++) {
        const struct folder_entry *entry = &folder->entries[i];

        if (!entry->is_file || is_index(entry->name) ||
            !split_name(entry->name, &parts))
            continue;
        if (last.count == 0 || !same_set(&last, &parts))
            choice_add(choice, entry->name);
        last = parts;
    }
}

bool shards_is_part(struct str name)
{
    struct shard_name parts;

    return split_name(name, &parts) && parts.count > 1;
}

int shards_list_set(struct shards *self, struct str name)
{
    const struct folder *folder = self->input->folder;
    struct shard_name set, parts;
    struct buf missing = BUF_INIT;
    uint64_t next = 1, n_missing;

    if (!split_name(name, &set))
        return -1;
    for (uint32_t i = 0; i < folder->n; i++) {
        struct str at = folder->entries[i].name;

        if (!folder->entries[i].is_file || !split_name(at, &parts) ||
            !same_set(&set, &parts))
            continue;
        if (parts.number > next && missing.len < 200)
            buf_printf(&missing, "%s%" PRIu64, missing.len ? ", " : "", next);
        if (parts.number > next + 1 && missing.len < 200)
            buf_printf(&missing, " to %" PRIu64, parts.number - 1);
        next = parts.number + 1;
        if (shards_add(self, at) == UINT32_MAX)
            break;
    }
    if (next <= set.count && missing.len < 200)
        buf_printf(&missing, "%s%" PRIu64 "%s", missing.len ? ", " : "", next,
                   next < set.count ? " and following" : "");
    n_missing = set.count > self->n ? set.count - self->n : 0;
    if (n_missing > 0)
        build_finding(self->build, FINDING_MISSING_SHARD, SEVERITY_ALARM,
                      self->input->node,
                      "%" PRIu64 " of %" PRIu64 " shards are missing: %s", n_missing,
                      set.count, buf_cstr(&missing));
    buf_release(&missing);
    return 0;
}

/* ---- single files ---- */

static const char *const usual_names[] = {
    "model.safetensors",         "diffusion_pytorch_model.safetensors",
    "adapter_model.safetensors", "pytorch_model.bin",
    "adapter_model.bin",         "pytorch_model.pt",
};

static bool has_file(const struct folder *folder, const char *name)
{
    for (uint32_t i = 0; i < folder->n; i++)
        if (folder->entries[i].is_file && str_is(folder->entries[i].name, name))
            return true;
    return false;
}

static bool has_usual_name(const struct folder *folder, struct str *ret_name)
{
    for (size_t i = 0; i < COUNT_OF(usual_names); i++)
        if (has_file(folder, usual_names[i])) {
            *ret_name = str_of(usual_names[i]);
            return true;
        }
    return false;
}

/* Do the first bytes of this file look like a model? */
static bool looks_like_model(struct shards *self, int dir_fd, struct str name)
{
    struct input file = {.path = self->input->path, .name = name};
    char head[INPUT_HEAD];
    size_t n;
    bool good = false;

    file.blob = blob_open_at(dir_fd, name.at, name.at, NULL);
    if (!file.blob)
        return false;
    n = file.blob->size < sizeof head ? (size_t)file.blob->size : sizeof head;
    if (n > 0 && blob_read(file.blob, 0, head, n, NULL) == 0) {
        file.head = str_span(head, n);
        good = input_promising(&file);
    }
    blob_close(file.blob);
    return good;
}

static bool is_read(const struct shards *self, const struct choice *choice,
                    struct str name)
{
    uint32_t shard;

    return str_eq(name, choice->read) ||
           name_map_find(&self->shard_names, name, &shard);
}

/* Adds the models in a folder; `below` is its name and a slash, or empty. */
static void find_files(struct shards *self, const struct folder *folder,
                       struct str below, struct choice *choice)
{
    for (uint32_t i = 0; i < folder->n && choice->looked < FILES_LOOKED_AT; i++) {
        const struct folder_entry *entry = &folder->entries[i];
        struct str name = entry->name;

        if (!entry->is_file || entry->size == 0 ||
            (below.len == 0 && is_read(self, choice, name)))
            continue;
        choice->looked++;
        if (!looks_like_model(self, folder->fd, name))
            continue;
        if (below.len > 0 && choice->n < NAMES_SHOWN)
            name = str_of(arena_printf(&self->build->scratch, "%.*s%.*s",
                                       STR_ARG(below), STR_ARG(name)));
        choice_add(choice, name);
    }
}

/* Adds the models in the folders of the folder. Those of an unreadable one are left
 * out. */
static void find_below(struct shards *self, struct choice *choice)
{
    const struct folder *folder = self->input->folder;
    struct arena *arena = &self->build->scratch;

    for (uint32_t i = 0; i < folder->n && choice->looked < FILES_LOOKED_AT; i++) {
        const struct folder_entry *entry = &folder->entries[i];
        struct folder inner;
        char *path, *below;

        if (!entry->is_folder || entry->is_link || entry->name.at[0] == '.')
            continue;
        path = arena_printf(arena, "%s/%.*s", self->input->path, STR_ARG(entry->name));
        below = arena_printf(arena, "%.*s/", STR_ARG(entry->name));
        if (!path || !below || folder_open(&inner, path, arena, NULL) < 0)
            continue;
        find_files(self, &inner, str_of(below), choice);
        folder_close(&inner);
    }
}

void shards_note_others(struct shards *self, struct str read)
{
    struct choice others = {.read = read};
    struct buf names = BUF_INIT;

    find_files(self, self->input->folder, STR(""), &others);
    find_below(self, &others);
    if (others.n > 0) {
        list_names(&names, &others);
        build_finding(
            self->build, FINDING_UNSUPPORTED, SEVERITY_NOTE, self->input->node,
            "not shown: %s. torchoscope check looks at every file of a folder",
            buf_cstr(&names));
    }
    buf_release(&names);
}

/* Unsupported model folders, by a file that only they have. */
static const struct {
    const char *name, *what;
} other_folders[] = {
    {"saved_model.pb", "a TensorFlow SavedModel"},
    {"checkpoint", "a folder of TensorFlow checkpoints"},
    {"latest", "a DeepSpeed checkpoint"},
};

/* -1: the folder is one of these. */
static int name_folder(const struct input *input, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(other_folders); i++)
        if (has_file(input->folder, other_folders[i].name))
            return err_set_about(err, ERR_UNSUPPORTED, input->path,
                                 " is %s, which is not supported. Open the files in it "
                                 "one by one",
                                 other_folders[i].what);
    return 0;
}

/* There is none, but perhaps below it, as in a pipeline of several models. */
static int say_none(struct shards *self, struct err *err)
{
    const char *path = self->input->path;
    struct choice below = {0};
    struct buf names = BUF_INIT;
    int status;

    find_below(self, &below);
    list_names(&names, &below);
    if (below.n == 0)
        status = err_set_about(err, ERR_USAGE, path, ": no model file in this folder");
    else
        status = err_set_about(err, ERR_USAGE, path,
                               "%s: %s. Name the one to open, as in %s/%.*s",
                               has_file(self->input->folder, "model_index.json")
                                   ? " is a pipeline of diffusers, with several models"
                                   : ": no model file in this folder, but below it",
                               buf_cstr(&names), path, STR_ARG(below.names[0]));
    buf_release(&names);
    return status;
}

int shards_choose(struct shards *self, enum folder_choice *ret_choice,
                  struct str *ret_name, struct err *err)
{
    const struct folder *folder = self->input->folder;
    struct choice indices = {0}, sets = {0}, files = {0};
    struct str name;
    bool one_model = has_file(folder, "config.json") ||
                     has_file(folder, "adapter_config.json") ||
                     has_file(folder, "open_clip_config.json");

    for (uint32_t i = 0; i < folder->n; i++)
        if (folder->entries[i].is_file && is_index(folder->entries[i].name))
            choice_add(&indices, folder->entries[i].name);
    if (choice_one(&indices, true, ret_name)) {
        *ret_choice = FOLDER_INDEX;
        return 0;
    }
    if (indices.n > 1)
        return say_several(self->input, &indices, "indexes", err);
    find_sets(folder, &sets);
    if (choice_one(&sets, true, &name)) {
        *ret_choice = FOLDER_SHARDS;
        return shards_list_set(self, name);
    }
    if (sets.n > 1)
        return say_several(self->input, &sets, "sets of shards", err);
    *ret_choice = FOLDER_FILE;
    if (has_usual_name(folder, ret_name))
        return 0;
    find_files(self, folder, STR(""), &files);
    if (choice_one(&files, one_model, ret_name))
        return 0;
    if (name_folder(self->input, err) < 0)
        return -1;
    if (files.n == 0)
        return say_none(self, err);
    return say_several(self->input, &files, "model files", err);
}
