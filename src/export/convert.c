#include "export/convert.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/whole_file.h"
#include "export/convert_in.h"

#define MOST_LISTED 5       /* names in an error */
#define MOST_NAMES  1000000 /* of shared modules, which repeat everything below them */

/* Names of places, and why they cannot be converted. */
struct refused {
    struct buf list;
    uint32_t n;
};

static void refuse(struct refused *refused, struct str name, const char *why)
{
    if (refused->n++ < MOST_LISTED)
        buf_printf(&refused->list, "%s%.*s (%s)", refused->list.len ? ", " : "",
                   STR_ARG(name), why);
}

/* ---- which part ---- */

/* Does a place hold a whole state: a state_dict, or a module with a class? */
static bool is_state(const struct model *model, uint32_t place)
{
    const struct object *object = place_object(model, place);

    return (model->flags[place] & PLACE_STATE_DICT) ||
           (model->kind[place] == PLACE_MODULE && object && !object->guessed &&
            object->class_id != NO_CLASS);
}

static int find_only_state(const struct model *model, uint32_t *ret_base,
                           struct err *err)
{
    struct buf names = BUF_INIT;
    uint32_t n = 0;

    *ret_base = 0;
    if (model->kind[0] == PLACE_MODULE || (model->flags[0] & PLACE_STATE_DICT))
        return 0;
    for (uint32_t p = 1; p < model->n_places; p++) {
        if (model->flags[p] & PLACE_OPTIMIZER) {
            p = model->end[p] - 1;
        } else if (is_state(model, p) && !(model->flags[p] & PLACE_AGAIN)) {
            if (n++ < MOST_LISTED) {
                buf_text(&names, n > 1 ? ", " : "");
                place_path(model, p, &names);
            }
            *ret_base = p;
            p = model->end[p] - 1;
        }
    }
    if (n > 1)
        err_set(err, ERR_USAGE, "%s: holds %u models; name one with --at: %s%s",
                model->path, (unsigned)n, buf_cstr(&names),
                n > MOST_LISTED ? ", and so on" : "");
    buf_release(&names);
    return n > 1 ? -1 : 0;
}

static int find_base(const struct model *model, const char *at, uint32_t *ret_base,
                     struct err *err)
{
    if (!at || !*at)
        return find_only_state(model, ret_base, err);
    *ret_base = place_find(model, str_of(at));
    if (*ret_base == NO_PLACE)
        return err_set(err, ERR_USAGE,
                       "%s: it has no %s; torchoscope tree lists its names",
                       model->path, at);
    if (model->kind[*ret_base] != PLACE_TENSOR && model->kind[*ret_base] != PLACE_VALUE)
        return 0;
    return err_set(err, ERR_USAGE, "%s: %s is not a module or state_dict", model->path,
                   at);
}

/* ---- what the file also has ---- */

static uint32_t count_tensors(const struct model *model, uint32_t place)
{
    uint32_t n = 0;

    for (uint32_t p = place; p < model->end[place]; p++)
        n += model->kind[p] == PLACE_TENSOR;
    return n;
}

static int note_left(struct conversion *c, uint32_t place)
{
    const struct model *model = c->file.model;
    uint32_t n = model->kind[place] == PLACE_TENSOR ? 0 : count_tensors(model, place);
    struct buf text = BUF_INIT;
    struct str kept;

    place_path(model, place, &text);
    if (n > 0)
        buf_printf(&text, " (%u tensor%s)", (unsigned)n, n == 1 ? "" : "s");
    kept = arena_str(&c->file.arena, buf_span(&text));
    buf_release(&text);
    if (!kept.at || arena_room(&c->file.arena, &c->left, c->n_left, &c->left_room,
                               sizeof *c->left) < 0)
        return -1;
    c->left[c->n_left++] = kept;
    return 0;
}

/* Everything that is neither inside the part nor around it. */
static int note_outside(struct conversion *c)
{
    const struct model *model = c->file.model;

    for (uint32_t p = 1; p < model->n_places; p++) {
        bool around = p <= c->base && c->base < model->end[p];

        if (p >= c->base && p < model->end[c->base]) {
            p = model->end[c->base] - 1;
        } else if (!around) {
            if (note_left(c, p) < 0)
                return -1;
            p = model->end[p] - 1;
        }
    }
    return 0;
}

/* ---- names and tensors ---- */

/* A stretch of the walk: the part itself, or another place of a shared module, whose
 * tensors are only below its first place. */
struct stretch {
    struct str prefix;   /* of its names, with a dot at the end */
    uint32_t skip;       /* bytes of full names that the prefix replaces */
    uint32_t place, end; /* the next place, and one past the last */
};

struct walk {
    struct conversion *c;
    struct refused *refused;
    struct stretch *stack;
    uint32_t n, room;
    uint32_t n_names;
    uint32_t *first_names; /* by tensor: index of its first entry + 1; 0: none */
    struct buf name;
    const char *problem; /* why it cannot be walked */
};

static void name_of(struct walk *w, const struct stretch *stretch, uint32_t place)
{
    struct buf path = BUF_INIT;

    buf_clear(&w->name);
    place_path(w->c->file.model, place, &path);
    buf_str(&w->name, stretch->prefix);
    if (path.len > stretch->skip)
        buf_str(&w->name, str_from(buf_span(&path), stretch->skip));
    w->name.bad |= path.bad;
    buf_release(&path);
}

static int push(struct walk *w, struct str prefix, uint32_t place)
{
    const struct model *model = w->c->file.model;
    struct stretch stretch = {
        .prefix = prefix, .place = place + 1, .end = model->end[place]};
    struct buf path = BUF_INIT;

    place_path(model, place, &path);
    stretch.skip = path.len > 0 ? (uint32_t)path.len + 1 : 0;
    buf_release(&path);
    if (arena_room(&w->c->file.arena, &w->stack, w->n, &w->room, sizeof *w->stack) < 0)
        return -1;
    w->stack[w->n++] = stretch;
    return 0;
}

/* Is a place below this one being walked? */
static bool is_inside(const struct walk *w, uint32_t place)
{
    uint32_t end = w->c->file.model->end[place];

    for (uint32_t i = 0; i < w->n; i++)
        if (w->stack[i].place - 1 >= place && w->stack[i].place - 1 < end)
            return true;
    return false;
}

/* Another place of a shared module: its names are those below the first place. */
static int enter_shared(struct walk *w, const struct stretch *stretch, uint32_t place)
{
    const struct model *model = w->c->file.model;
    const struct object *object = place_object(model, place);
    struct str prefix;

    if (!object || object->place == place || object->place == NO_PLACE)
        return 0;
    if (is_inside(w, object->place)) {
        w->problem = "a module of it contains itself";
        return -1;
    }
    name_of(w, stretch, place);
    buf_char(&w->name, '.');
    prefix = arena_str(&w->c->file.arena, buf_span(&w->name));
    return prefix.at ? push(w, prefix, object->place) : -1;
}

static int add_tensor(struct walk *w, const struct stretch *stretch, uint32_t place)
{
    struct safetensors_file *file = &w->c->file;
    uint32_t tensor = file->model->object[place], first = w->first_names[tensor];
    const char *why = NULL;
    int added;

    if (++w->n_names > MOST_NAMES + file->model->n_places) {
        w->problem = "its shared modules have more than 1,000,000 names";
        return -1;
    }
    name_of(w, stretch, place);
    if (!safetensors_can_hold(file->model, &file->model->tensors[tensor], &why)) {
        refuse(w->refused, buf_span(&w->name), why);
        return 0;
    }
    if (first)
        return safetensors_file_note(file, buf_span(&w->name),
                                     file->entries[first - 1].key);
    added = safetensors_file_add(file, buf_span(&w->name), tensor);
    if (added == 0)
        refuse(w->refused, buf_span(&w->name), "its name is taken");
    w->first_names[tensor] = added == 1 ? file->n : 0;
    return added < 0 ? -1 : 0;
}

/* One place; *skip: nothing below it is part of a state_dict. */
static int take_place(struct walk *w, const struct stretch *stretch, uint32_t place,
                      bool *skip)
{
    const struct model *model = w->c->file.model;
    unsigned flags = model->flags[place];

    *skip = false;
    if (flags & PLACE_EMPTY)
        return 0;
    if (model->kind[place] == PLACE_VALUE ||
        (flags & (PLACE_ATTRIBUTE | PLACE_BUFFER_TEMP))) {
        *skip = true;
        return stretch->prefix.len == 0 ? note_left(w->c, place) : 0;
    }
    if (model->kind[place] == PLACE_TENSOR) {
        *skip = true; /* the parts of a sparse or wrapped tensor */
        if (place_tensor(model, place)->flags & TENSOR_DERIVED &&
            place_tensor(model, place)->layout == LAYOUT_STRIDED)
            return 0; /* its parts are converted */
        return add_tensor(w, stretch, place);
    }
    return flags & PLACE_AGAIN ? enter_shared(w, stretch, place) : 0;
}

static int walk_all(struct walk *w)
{
    const struct model *model = w->c->file.model;

    if (push(w, STR(""), w->c->base) < 0)
        return -1;
    while (w->n > 0) {
        struct stretch *top = &w->stack[w->n - 1];
        struct stretch now = *top;
        bool skip;

        if (now.place >= now.end) {
            w->n--;
            continue;
        }
        top->place++;
        if (take_place(w, &now, now.place, &skip) < 0 || w->name.bad)
            return -1;
        if (skip) /* `top` may have moved */
            w->stack[w->n - 1].place = model->end[now.place];
    }
    return 0;
}

static int collect(struct conversion *c, struct refused *refused, struct err *err)
{
    const struct model *model = c->file.model;
    struct walk w = {.c = c, .refused = refused};
    int status = -1;

    w.first_names =
        arena_array(&c->file.arena, model->n_tensors + 1, sizeof *w.first_names);
    if (w.first_names && note_outside(c) == 0)
        status = walk_all(&w);
    if (status < 0 && w.problem)
        err_set(err, ERR_LIMIT, "%s: %s", model->path, w.problem);
    else if (status < 0)
        arena_err(&c->file.arena, "the list of tensors", err);
    buf_release(&w.name);
    return status;
}

/* ---- conversion ---- */

static int check_whole(const struct conversion *c, const struct refused *refused,
                       struct err *err)
{
    const struct model *model = c->file.model;

    if (model->partial)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: is damaged or incomplete, so names may be missing; "
                       "torchoscope export -o x.safetensors copies what can be read",
                       model->path);
    if (refused->n > 0)
        return err_set(
            err, ERR_UNSUPPORTED,
            "%s: safetensors cannot store %u of %u tensors: %s%s; torchoscope "
            "export -o x.safetensors writes the others, and quantised blocks as "
            "float32",
            model->path, (unsigned)refused->n, (unsigned)(refused->n + c->file.n),
            buf_cstr(&refused->list), refused->n > MOST_LISTED ? ", and so on" : "");
    if (c->file.n == 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: no tensor to convert", model->path);
    return 0;
}

/* The result must not replace a file that it is made from. */
static int check_place(const struct model *model, const char *path, struct err *err)
{
    struct stat from, to;

    if (stat(path, &to) < 0 || stat(model->path, &from) < 0 ||
        from.st_dev != to.st_dev || from.st_ino != to.st_ino)
        return 0;
    return err_set(err, ERR_USAGE, "%s: is the file to convert; give another name",
                   path);
}

static int write_and_compare(struct conversion *c, const char *path, struct work *work,
                             struct err *err)
{
    struct whole_file file;
    struct out out;

    if (whole_file_begin(&file, path, err) < 0)
        return -1;
    out_init_fd(&out, file.fd);
    if (whole_file_end(&file, &out, path,
                       safetensors_file_write(&out, &c->file, work, err), err) < 0)
        return -1;
    if (file.direct)
        return 0; /* a pipe or a device cannot be read again */
    if (convert_compare(&c->file, path, work, err) == 0)
        return 0;
    unlink(path);
    return -1;
}

int convert_file(struct conversion *conversion, struct session *session, const char *at,
                 const char *path, struct work *work, struct err *err)
{
    struct refused refused = {.list = BUF_INIT};
    int status;

    *conversion = (struct conversion){0};
    safetensors_file_init(&conversion->file, session->model);
    status = find_base(session->model, at, &conversion->base, err);
    if (status == 0)
        status = collect(conversion, &refused, err);
    if (status == 0)
        status = check_whole(conversion, &refused, err);
    if (status == 0)
        status = check_place(session->model, path, err);
    if (status == 0)
        status = write_and_compare(conversion, path, work, err);
    buf_release(&refused.list);
    return status;
}

void conversion_release(struct conversion *conversion)
{
    safetensors_file_release(&conversion->file);
}
