/* The numbers of all places at one step: the document `step`. */
#include <math.h>

#include "base/base.h"
#include "export/json/json_history_in.h"

/* A number of a place; false: it has none. */
typedef bool place_number(const struct step_numbers *numbers, int which,
                          double *ret_value);

static bool get_number(const struct step_numbers *numbers, int which, double *ret_value)
{
    if (which == STEP_DEAD)
        return step_dead(numbers, ret_value);
    return step_number(numbers, (enum step_number)which, ret_value);
}

static bool get_bad(const struct step_numbers *numbers, int which, double *ret_value)
{
    (void)which;
    return step_bad(numbers, ret_value);
}

static bool is_listed(const struct step_numbers *numbers)
{
    double unused;

    return numbers->known != 0 || step_bad(numbers, &unused) ||
           step_dead(numbers, &unused);
}

/* A list by place; omitted if no place has the number. */
static void put_numbers(struct json *json, const char *key, const struct at_step *at,
                        place_number *number, int which)
{
    bool some = false;
    double value;

    for (uint32_t p = 0; p < at->n && !some; p++)
        some = number(&at->at[p], which, &value);
    if (!some)
        return;
    json_array(json, key);
    for (uint32_t p = 0; p < at->n; p++)
        if (!is_listed(&at->at[p]))
            continue;
        else if (number(&at->at[p], which, &value))
            json_real(json, NULL, value);
        else
            json_null(json, NULL);
    json_array_end(json);
}

static void put_row(struct json *json, const struct at_step *at)
{
    struct buf text = BUF_INIT;

    at_step_text(&text, at);
    json_str(json, "text", buf_span(&text));
    buf_release(&text);
    if (at->asked == STEP_NEWEST)
        json_null(json, "asked");
    else
        json_u64(json, "asked", at->asked);
    if (at->step.merged == 0)
        return;
    json_text(json, "phase", history_writing_phase(at->phase));
    json_u64(json, "first", at->step.first);
    json_u64(json, "last", at->step.last);
    json_u64(json, "merged", at->step.merged);
    json_u64(json, "skipped", at->step.skipped);
    json_u64(json, "time_ms", at->step.wall_ns / 1000000);
}

static void put_scalars(struct json *json, const struct at_step *at)
{
    json_object(json, "scalars");
    for (uint32_t i = 0; i < at->n_scalars; i++) {
        json_key(json, str_of(at->scalars[i].name));
        json_real(json, NULL, at->scalars[i].value);
    }
    json_object_end(json);
}

static void put_places(struct json *json, const struct at_step *at)
{
    json_array(json, "place");
    for (uint32_t p = 0; p < at->n; p++)
        if (is_listed(&at->at[p]))
            json_u64(json, NULL, p);
    json_array_end(json);
    for (int i = 0; i < STEP_NUMBERS; i++)
        put_numbers(json, step_words[i].key, at, get_number, i);
    put_numbers(json, "bad_share", at, get_bad, 0);
}

static int put_document(struct history_writing *self, const struct session *session,
                        uint64_t step)
{
    struct history_step newest;
    struct at_step at;

    if (at_step_read(self->history, self->model, step, self->arena, &at, self->err) <
            0 ||
        history_newest(self->history, &newest, self->err) < 0)
        return -1;
    history_writing_begin(self, session, "step");
    if (newest.merged > 0)
        json_u64(self->json, "newest", newest.last);
    else
        json_null(self->json, "newest");
    put_row(self->json, &at);
    put_scalars(self->json, &at);
    put_places(self->json, &at);
    json_object_end(self->json);
    return 0;
}

int export_step_json(struct json *json, struct session *session, uint64_t step,
                     struct err *err)
{
    struct history_writing self;
    struct arena arena;
    int status;

    if (history_writing_init(&self, json, session, &arena, err) < 0 ||
        history_hold(session->history, err) < 0)
        return -1;
    arena_init(&arena, GIB);
    status = put_document(&self, session, step);
    arena_release(&arena);
    history_let_go(session->history);
    return status;
}
