#include "session/session.h"

#include <stdlib.h>
#include <string.h>

/* ---- suffixes ---- */

/* Does the full name of `place` end in `name`? *ret_above is then the place above the
 * matching part. Compares from the end, place by place. */
static bool ends_in(const struct model *model, uint32_t place, struct str name,
                    uint32_t *ret_above)
{
    while (place != 0 && place != NO_PLACE) {
        struct str part = place_name(model, place);

        if (!str_ends(name, part))
            return false;
        name = str_head(name, name.len - part.len);
        place = model->parent[place];
        if (name.len == 0) {
            *ret_above = place;
            return true;
        }
        if (name.at[name.len - 1] != '.')
            return false;
        name = str_head(name, name.len - 1);
    }
    return false;
}

/* The child that holds all parameters of the model, or NO_PLACE; also NO_PLACE if its
 * siblings hold tensors (tied ones). */
static uint32_t only_child(const struct session *session, uint32_t place)
{
    const struct model *model = session->model;
    const struct place_counts *counts = &session->places;
    uint32_t child, found = NO_PLACE, modules = 0;

    for (child = place_first(model, place); child != NO_PLACE;
         child = place_next(model, child)) {
        if (model->kind[child] == PLACE_TENSOR)
            continue;
        if (model->kind[child] == PLACE_MODULE && counts_tensors(counts, child) > 0)
            modules++;
        if (found == NO_PLACE &&
            counts_params(counts, child) == counts_params(counts, 0))
            found = child;
    }
    if (found != NO_PLACE && model->kind[found] == PLACE_MODULE && modules > 1)
        return NO_PLACE;
    return found;
}

/* The deepest place that holds all parameters of the model. Users may give names
 * relative to it, or to a place above it. */
static uint32_t common_place(const struct session *session)
{
    uint32_t place = 0, child;

    if (counts_params(&session->places, 0) == 0)
        return 0;
    for (;;) {
        child = only_child(session, place);
        if (child == NO_PLACE)
            return place;
        place = child;
    }
}

static int too_many(const struct model *model, struct str name, uint32_t first,
                    uint32_t second, struct err *err)
{
    struct buf a = BUF_INIT, b = BUF_INIT;

    place_path(model, first, &a);
    place_path(model, second, &b);
    err_set(err, ERR_NOT_FOUND,
            "%.120s: \"%.*s\" could be %.120s or %.120s: give more of the name",
            model->path, name.len > 100 ? 100 : (int)name.len, name.at, buf_cstr(&a),
            buf_cstr(&b));
    buf_release(&a);
    buf_release(&b);
    return -1;
}

/* ---- similar names ---- */

#define NEAREST 3
#define LONGEST 200     /* longer names are not compared */
#define LOOK_AT 200000u /* places to compare at most */

struct nearest {
    uint32_t place[NEAREST];
    unsigned distance[NEAREST];
    uint32_t n;
};

/* Edit distance between `a` and `b`; if above `limit`, any number above it. Keeps only
 * one row of the table. */
static unsigned distance(struct str a, struct str b, unsigned limit)
{
    unsigned row[LONGEST + 1];
    size_t i, j;

    if (a.len > LONGEST || b.len > LONGEST)
        return limit + 1;
    if ((a.len > b.len ? a.len - b.len : b.len - a.len) > limit)
        return limit + 1;
    for (j = 0; j <= b.len; j++)
        row[j] = (unsigned)j;
    for (i = 1; i <= a.len; i++) {
        unsigned corner = row[0], least = (unsigned)i;

        row[0] = (unsigned)i;
        for (j = 1; j <= b.len; j++) {
            unsigned change = corner + (a.at[i - 1] != b.at[j - 1]);
            unsigned other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

            corner = row[j];
            row[j] = change < other ? change : other;
            least = row[j] < least ? row[j] : least;
        }
        if (least > limit)
            return limit + 1;
    }
    return row[b.len];
}

/* Keeps the nearest names, sorted; among equals the first. */
static void keep_near(struct nearest *near, uint32_t place, unsigned far)
{
    uint32_t i;

    if (near->n == NEAREST && far >= near->distance[NEAREST - 1])
        return;
    i = near->n < NEAREST ? near->n++ : NEAREST - 1;
    for (; i > 0 && near->distance[i - 1] > far; i--) {
        near->place[i] = near->place[i - 1];
        near->distance[i] = near->distance[i - 1];
    }
    near->place[i] = place;
    near->distance[i] = far;
}

/* Compares a full name both with and without the common prefix. */
static unsigned how_far(struct str path, struct str prefix, struct str name,
                        unsigned limit)
{
    unsigned far = distance(path, name, limit), other;

    if (prefix.len == 0 || path.len <= prefix.len + 1 || !str_starts(path, prefix))
        return far;
    other = distance(str_from(path, prefix.len + 1), name, limit);
    return other < far ? other : far;
}

static void find_nearest(const struct session *session, struct str name,
                         struct nearest *near)
{
    const struct model *model = session->model;
    unsigned limit = name.len < 6 ? 2 : (unsigned)(name.len / 3);
    struct buf path = BUF_INIT, prefix = BUF_INIT;
    uint32_t place;

    place_path(model, common_place(session), &prefix);
    for (place = 1; place < model->n_places && place < LOOK_AT; place++) {
        unsigned far;

        buf_clear(&path);
        place_path(model, place, &path);
        far = how_far(buf_span(&path), buf_span(&prefix), name, limit);
        if (far <= limit)
            keep_near(near, place, far);
    }
    buf_release(&path);
    buf_release(&prefix);
}

static int not_found(const struct session *session, struct str name, struct err *err)
{
    struct nearest near = {.n = 0};
    struct buf text = BUF_INIT;
    uint32_t i;

    find_nearest(session, name, &near);
    for (i = 0; i < near.n; i++) {
        buf_text(&text, i == 0 ? "; near it: " : ", ");
        place_path(session->model, near.place[i], &text);
    }
    if (near.n == 0)
        buf_text(&text, "; `torchoscope tree --flat` lists the names");
    err_set(err, ERR_NOT_FOUND, "%.120s: nothing is called \"%.*s\"%s",
            session->model->path, name.len > 120 ? 120 : (int)name.len, name.at,
            buf_cstr(&text));
    buf_release(&text);
    return -1;
}

/* ---- lookup ---- */

int session_find(const struct session *session, struct str name, uint32_t *ret_place,
                 struct err *err)
{
    const struct model *model = session->model;
    uint32_t place = place_find(model, name), above, common;
    uint32_t first = NO_PLACE, second = NO_PLACE;

    if (place != NO_PLACE) {
        *ret_place = place;
        return 0;
    }
    if (name.len == 0)
        return not_found(session, name, err);
    common = common_place(session);
    for (place = 1; place < model->n_places; place++) {
        if (!ends_in(model, place, name, &above))
            continue;
        /* The part above the match is the common place or above it. */
        if (above <= common && common < model->end[above]) {
            *ret_place = place;
            return 0;
        }
        if (first == NO_PLACE)
            first = place;
        else if (second == NO_PLACE)
            second = place;
    }
    if (first == NO_PLACE)
        return not_found(session, name, err);
    if (second != NO_PLACE)
        return too_many(model, name, first, second, err);
    *ret_place = first;
    return 0;
}
