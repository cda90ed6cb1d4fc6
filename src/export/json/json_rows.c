/* Every place of a model, and the columns of THE TABLE, as lists, from which a page
 * draws its tree. A text is an index in the list `texts`. */
#include "export/json/json_rows_in.h"

#include "base/base.h"
#include "rows/below.h"
#include "rows/row_state.h"
#include "study/family.h"

uint32_t rows_writing_text(struct rows_writing *w, struct buf *text)
{
    uint32_t id = intern_add(&w->texts, buf_span(text));

    buf_clear(text);
    return id;
}

int rows_writing_spent(struct rows_writing *w)
{
    return arena_err(&w->arena, "the rows", w->err);
}

bool rows_writing_stopped(struct rows_writing *w, uint32_t i)
{
    return i % 4096 == 0 && !work_step(w->work, 0);
}

/* The numbers at a step: the newest by default. */
static int take_step(struct rows_writing *w, const char *step)
{
    uint64_t number = STEP_NEWEST;

    if (step && at_step_parse(str_of(step), &number, w->err) < 0)
        return -1;
    if (!w->session->history) {
        if (!step)
            return 0;
        return err_set(w->err, ERR_USAGE,
                       "%s: a step needs a training run; this file has no history",
                       w->model->path);
    }
    if (!step && w->show.step)
        return 0; /* the session's */
    if (at_step_read(w->session->history, w->model, number, &w->arena, &w->step,
                     w->err) < 0)
        return -1;
    w->show.step = &w->step;
    return 0;
}

/* ---- runs of equal siblings ---- */

static bool has_row(const struct rows_writing *w, uint32_t place)
{
    return bit_get(w->of.has, place);
}

/* The siblings equal to `place`, starting with it: as the terminal folds them,
 * otherwise blocks of any number. */
static uint32_t run_from(const struct rows_writing *w, uint32_t place, bool *ret_pairs)
{
    uint32_t period = 1, count;

    *ret_pairs = false;
    if (w->model->kind[place] != PLACE_MODULE || !has_row(w, place))
        return 1;
    count = repeats_run(&w->of.repeats, w->model, true, place, &period);
    *ret_pairs = period == 2;
    return *ret_pairs && !has_row(w, w->model->end[place]) ? 1 : count;
}

static int add_run(struct rows_writing *w, struct equal_run run)
{
    struct equal_runs *to = run.count < REPEATS_LEAST ? &w->few : &w->runs;

    if (arena_room(&w->arena, &to->at, to->n, &to->room, sizeof *to->at) < 0)
        return rows_writing_spent(w);
    to->at[to->n++] = run;
    return 0;
}

static int find_runs(struct rows_writing *w)
{
    const uint32_t *end = w->model->end;

    for (uint32_t above = 0; above < w->model->n_places; above++)
        for (uint32_t p = above + 1; p < end[above];) {
            bool pairs;
            uint32_t count = run_from(w, p, &pairs);

            if (count > 1 && add_run(w, (struct equal_run){p, count, pairs}) < 0)
                return -1;
            for (; count > 0; count--)
                p = end[p];
        }
    return 0;
}

struct row rows_writing_row(uint32_t place)
{
    return (struct row){.place = place, .count = 1, .above = place > 0 ? 0 : NO_ROW};
}

struct row rows_writing_run(const struct rows_writing *w, uint32_t i)
{
    struct row row = rows_writing_row(w->runs.at[i].place);

    row.count = w->runs.at[i].count;
    row.flags = ROW_RUN | (w->runs.at[i].pairs ? ROW_PAIRS : 0u);
    return row;
}

/* ---- places ---- */

/* The texts of labels, by part, and the special ones. */
struct label_lists {
    uint32_t *name, *class_name, *args, *tail, *what, *family, *state;
};

static int lists_init(struct label_lists *lists, struct rows_writing *w, uint32_t n)
{
    uint32_t **const all[] = {&lists->name, &lists->class_name, &lists->args,
                              &lists->tail, &lists->what,       &lists->family,
                              &lists->state};

    for (size_t i = 0; i < COUNT_OF(all); i++) {
        *all[i] = arena_array(&w->arena, (size_t)n + 1, sizeof **all[i]);
        if (!*all[i])
            return rows_writing_spent(w);
    }
    return 0;
}

/* Leaves of the same class have the same family. */
static uint32_t family_at(struct rows_writing *w, uint32_t place)
{
    const struct object *object;
    uint8_t *known;

    if (w->model->kind[place] != PLACE_MODULE)
        return FAMILY_NONE;
    object = place_object(w->model, place);
    if (!object || object->class_id >= w->model->n_classes ||
        !show_is_leaf(w->model, place))
        return family_of_place(w->model, place);
    known = &w->families[object->class_id];
    if (*known == 0)
        *known = (uint8_t)(family_of_place(w->model, place) + 1);
    return *known - 1u;
}

static void take_label(struct rows_writing *w, struct label_lists *lists, uint32_t i,
                       struct label *label, const struct row *row)
{
    lists->state[i] = row_state(&w->show, label, row);
    if (!has_row(w, row->place))
        lists->state[i] |= STATE_HIDDEN;
    lists->what[i] = w->model->kind[row->place];
    lists->family[i] = family_at(w, row->place);
    lists->name[i] = rows_writing_text(w, &label->name);
    lists->class_name[i] = rows_writing_text(w, &label->type);
    lists->args[i] = rows_writing_text(w, &label->args);
    lists->tail[i] = intern_add(&w->texts, str_trim(buf_span(&label->tail)));
}

static void put_labels(struct rows_writing *w, const struct label_lists *lists,
                       uint32_t n)
{
    json_u32s(w->json, "name", lists->name, n);
    json_u32s(w->json, "class", lists->class_name, n);
    json_u32s(w->json, "args", lists->args, n);
    json_u32s(w->json, "tail", lists->tail, n);
}

static int put_places(struct rows_writing *w)
{
    struct json *json = w->json;
    uint32_t n = w->model->n_places;
    struct label_lists lists;
    struct label label = {0};

    if (lists_init(&lists, w, n) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        struct row row = rows_writing_row(i);

        if (rows_writing_stopped(w, i)) {
            label_release(&label);
            return err_set(w->err, ERR_CANCELLED, "cancelled");
        }
        label_make(&label, &w->show, &row, LABEL_NAME);
        take_label(w, &lists, i, &label, &row);
    }
    label_release(&label);
    put_labels(w, &lists, n);
    json_u32s(json, "end", w->model->end, n);
    json_u32s(json, "parent", w->model->parent, n);
    json_u32s(json, "what", lists.what, n);
    json_u32s(json, "family", lists.family, n);
    json_u32s(json, "flags", lists.state, n);
    return 0;
}

/* Places and counts of runs. */
static void put_equal(struct rows_writing *w, const struct equal_runs *runs,
                      uint32_t *room)
{
    for (uint32_t i = 0; i < runs->n; i++)
        room[i] = runs->at[i].place;
    json_u32s(w->json, "first", room, runs->n);
    for (uint32_t i = 0; i < runs->n; i++)
        room[i] = runs->at[i].count;
    json_u32s(w->json, "count", room, runs->n);
}

/* The same for rows that represent several equal siblings. */
static int put_runs(struct rows_writing *w)
{
    struct label_lists lists;
    struct label label = {0};
    uint32_t *of;

    if (lists_init(&lists, w, w->runs.n) < 0)
        return -1;
    of = lists.what; /* not written */
    json_object(w->json, "runs");
    for (uint32_t i = 0; i < w->runs.n; i++) {
        struct row row = rows_writing_run(w, i);

        label_make(&label, &w->show, &row, LABEL_NAME);
        take_label(w, &lists, i, &label, &row);
    }
    label_release(&label);
    put_equal(w, &w->runs, of);
    for (uint32_t i = 0; i < w->runs.n; i++)
        of[i] = w->runs.at[i].pairs;
    json_u32s(w->json, "pairs", of, w->runs.n);
    put_labels(w, &lists, w->runs.n);
    json_object_end(w->json);
    return 0;
}

static int put_blocks(struct rows_writing *w)
{
    uint32_t *room = arena_array(&w->arena, w->few.n, sizeof *room);

    if (!room)
        return rows_writing_spent(w);
    json_object(w->json, "blocks");
    put_equal(w, &w->few, room);
    json_object_end(w->json);
    return 0;
}

static void put_words(struct rows_writing *w)
{
    static const char *const kinds[] = {"module", "group", "tensor", "value"};

    json_column(w->json, "kinds");
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        json_text(w->json, NULL, kinds[i]);
    json_array_end(w->json);
    json_column(w->json, "families");
    for (enum family f = 0; f < FAMILY_COUNT; f++)
        json_text(w->json, NULL, family_name(f));
    json_array_end(w->json);
    json_column(w->json, "states");
    for (unsigned i = 0; i < STATES; i++)
        json_text(w->json, NULL, row_state_name(i));
    json_array_end(w->json);
}

/* ---- the document ---- */

static void put_texts(struct rows_writing *w)
{
    json_column(w->json, "texts");
    for (uint32_t i = 0; i < w->texts.n; i++)
        json_str(w->json, NULL, intern_str(&w->texts, i));
    json_array_end(w->json);
}

static int prepare(struct rows_writing *w, const struct export_rows_wanted *wanted)
{
    size_t n = (size_t)w->model->n_places + 1;

    if (n_column_table > ROWS_COLUMNS)
        return err_set(w->err, ERR_LIMIT, "too many columns");
    if (show_init(&w->show, w->session, &w->arena, w->err) < 0 ||
        take_step(w, wanted->step) < 0 || rows_writing_choose(w, wanted->columns) < 0 ||
        rows_prepare(&w->of, &w->show, &w->arena, w->err) < 0 || find_runs(w) < 0)
        return -1;
    below_index(&w->show, &w->arena);
    w->cells = arena_array(&w->arena, n, sizeof *w->cells);
    w->numbers = arena_array(&w->arena, n, sizeof *w->numbers);
    w->known = arena_alloc(&w->arena, bit_bytes(w->model->n_places));
    w->families = arena_alloc(&w->arena, (size_t)w->model->n_classes + 1);
    if (!w->families || !w->cells || !w->numbers || !w->known ||
        intern_init(&w->texts, &w->arena) < 0)
        return rows_writing_spent(w);
    w->show.gaps_in_out = false;
    return 0;
}

static int write_rows(struct rows_writing *w)
{
    struct json *json = w->json;

    json_object(json, NULL);
    json_u64(json, "torchoscope", 1);
    json_text(json, "kind", "rows");
    json_u64(json, "n", w->model->n_places);
    export_step(json, w->show.step);
    if (!w->asked) {
        put_words(w);
        if (put_places(w) < 0 || put_runs(w) < 0 || put_blocks(w) < 0)
            return -1;
    }
    if (rows_writing_columns(w) < 0)
        return -1;
    put_texts(w);
    json_object_end(json);
    return w->arena.spent ? rows_writing_spent(w) : 0;
}

int export_rows_json(struct json *json, const struct session *session,
                     const struct export_rows_wanted *wanted, struct work *work,
                     struct err *err)
{
    struct rows_writing w = {.json = json,
                             .session = session,
                             .model = session->model,
                             .work = work,
                             .err = err};
    int status;

    arena_init(&w.arena, 0);
    status = prepare(&w, wanted);
    if (status == 0)
        status = write_rows(&w);
    buf_release(&w.spare);
    arena_release(&w.arena);
    return status;
}
