/* A model that changed while its training is watched: a module or parameter was
 * replaced. The recorder then rebuilds the model between two steps. Series keep the
 * places of the model in the file, which are found by name. */
#include <stdlib.h>
#include <string.h>

#include "ext/record/grads.h"
#include "ext/record/recorder_in.h"

#include "base/err.h"
#include "base/map.h"
#include "history/history.h"

/* Adds the names of all places; of equal ones the first place counts. */
static bool name_places(const struct model *model, struct name_map *names,
                        uint32_t *place_of, struct arena *arena)
{
    struct buf path = BUF_INIT;
    bool good = true;

    for (uint32_t p = 0; p < model->n_places && good; p++) {
        uint32_t index;
        int added;

        buf_clear(&path);
        place_path(model, p, &path);
        added = name_map_add(names, arena_str(arena, buf_span(&path)), &index);
        if (added > 0)
            place_of[index] = p;
        good = added >= 0;
    }
    buf_release(&path);
    return good;
}

/* Maps places of `now` to places in the file; `in_file` is the map of `before`, or
 * NULL: identical. NULL: no memory. */
static uint32_t *file_places(const struct model *before, const uint32_t *in_file,
                             const struct model *now)
{
    uint32_t *place_of = calloc(before->n_places + 1, sizeof *place_of);
    uint32_t *places = calloc(now->n_places + 1, sizeof *places);
    struct buf path = BUF_INIT;
    struct name_map names;
    struct arena arena;
    bool good;

    arena_init(&arena, 0);
    name_map_init(&names, &arena);
    good = place_of && places && name_places(before, &names, place_of, &arena);
    for (uint32_t p = 0; good && p < now->n_places; p++) {
        uint32_t index, old = HISTORY_NONE;

        buf_clear(&path);
        place_path(now, p, &path);
        if (name_map_find(&names, buf_span(&path), &index))
            old = place_of[index];
        places[p] = old == HISTORY_NONE || !in_file ? old : in_file[old];
    }
    if (!good) {
        free(places);
        places = NULL;
    }
    buf_release(&path);
    arena_release(&arena);
    free(place_of);
    return places;
}

/* Allocates empty arrays sized by the model. On failure the recorder is unchanged. */
static bool make_tables(struct recorder *recorder, const struct model *model)
{
    uint8_t *about = calloc(model->n_objects + 1, 1);
    PyObject **names = calloc(model->n_objects + 1, sizeof *names);
    struct trace *trace = about && names ? trace_new(model, &recorder->wanted) : NULL;
    struct grads *grads = recorder->grads;

    if (!trace) {
        free(about);
        free(names);
        return false;
    }
    recorder->grads = NULL;
    grads_free(grads);
    trace_free(recorder->trace);
    free(recorder->about);
    recorder_forget_names(recorder);
    recorder->trace = trace;
    recorder->model = model;
    recorder->about = about;
    recorder->names = names;
    recorder->n_names = model->n_objects;
    if (grads)
        recorder->grads = grads_new(recorder);
    return !grads || recorder->grads;
}

PyObject *recorder_look_again(struct recorder *recorder, PyObject *args)
{
    uint32_t *places = NULL;
    struct live *live = NULL;
    const struct model *model;
    struct err err = {0};
    const char *name;
    PyObject *object;
    int has_file;

    if (!PyArg_ParseTuple(args, "Osp:look_again", &object, &name, &has_file))
        return NULL;
    if (!recorder->watch || !recorder->trace || !recorder_is_idle(recorder) ||
        !live_has_new(recorder->live))
        Py_RETURN_FALSE;
    recorder_settle(recorder); /* it has the old model */
    model = live_model(object, name, &live, &err);
    if (!model)
        return PyErr_Occurred() ? NULL : ext_raise(&err);
    if (has_file)
        places = file_places(recorder->model, recorder_places(recorder->watch), model);
    if ((has_file && !places) || !make_tables(recorder, model)) {
        free(places);
        live_free(live);
        return PyErr_NoMemory(); /* the model is the trace's, or lost with the memory */
    }
    live_free(recorder->live);
    recorder->live = live;
    recorder_watch_forget(recorder->watch, places);
    recorder_forget_trace(recorder);
    recorder->epoch = trace_epoch(recorder->trace);
    Py_RETURN_TRUE;
}
