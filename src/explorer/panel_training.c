/* Panel 7: the progress of training at the selected row, by steps. */
#include <stdlib.h>
#include <string.h>

#include "explorer/training_in.h"
#include "rows/run_words.h"
#include "text/text.h"

#define WAIT_MS       8  /* half a frame */
#define PLAIN_COLUMNS 64 /* points of a curve that --plain describes in words */

struct training_question {
    const char *path;
    struct curves_wanted wanted;
    uint64_t version;
};

struct training_own {
    struct curves shown; /* kept until newer ones are read */
    struct training_question of;
    bool has;
    struct training_question asked; /* in the background */
    bool waiting;
    struct made made; /* without threads */
    struct training_room room;
    uint32_t alarm_lines[CURVES_ALARMS]; /* the first line of each */
};

static void training_subject(struct buf *to, struct explorer *explorer)
{
    if (explorer_place(explorer) != NO_PLACE)
        run_place(to, &explorer->show, explorer_place(explorer));
}

/* ---- asking ---- */

/* A reader belongs to one thread, so each request opens its own. */
static int make_curves(const struct model *model, const void *question,
                       struct arena *arena, struct work *work, const void **ret_made,
                       struct err *err)
{
    const struct training_question *q = question;
    struct curves *curves = arena_alloc(arena, sizeof *curves);
    struct history *history;
    int status;

    (void)work;
    if (!curves)
        return arena_err(arena, "the curves", err);
    history = history_open(q->path, NULL, err);
    if (!history)
        return -1;
    status = curves_read(history, model, &q->wanted, curves, err);
    history_close(history);
    *ret_made = curves;
    return status;
}

static const struct curves *ask(struct explorer *explorer, struct training_own *own,
                                const struct training_question *q, bool *ret_busy,
                                const char **ret_why)
{
    const struct making making = {make_curves, q, sizeof *q};

    *ret_busy = false;
    if (explorer->jobs)
        return jobs_made(explorer->jobs, &making, own->has ? 0 : WAIT_MS, ret_busy,
                         ret_why);
    if (!made_answers(&own->made, &making)) {
        made_release(&own->made);
        made_init(&own->made, &making);
        made_make(&own->made, explorer->session->model, NULL);
    }
    *ret_why = own->made.err.code ? own->made.err.text : NULL;
    return *ret_why ? NULL : own->made.at;
}

static bool same_view(const struct training_question *a,
                      const struct training_question *b)
{
    return a->path == b->path && memcmp(&a->wanted, &b->wanted, sizeof a->wanted) == 0;
}

/* Is the room the same, ignoring the column of a scroll bar? If the curves were dropped
 * for that, the bar would disappear with them, and return with them. */
static bool is_near(const struct training_question *a,
                    const struct training_question *b)
{
    uint32_t more = a->wanted.columns, less = b->wanted.columns;

    return more > less ? more - less <= 1 : less - more <= 1;
}

/* Curves of the same row stay visible while newer ones are read. A file that changes
 * faster than it is read does not cancel the reading. */
static const struct curves *curves_of(struct explorer *explorer,
                                      struct training_own *own,
                                      const struct training_question *q,
                                      const char **ret_why)
{
    const struct curves *curves;
    bool busy;

    *ret_why = NULL;
    if (own->has && memcmp(&own->of, q, sizeof *q) == 0)
        return &own->shown;
    if (own->of.wanted.place != q->wanted.place || !is_near(&own->of, q))
        own->has = false;
    if (own->waiting && same_view(&own->asked, q))
        q = &own->asked;
    own->asked = *q;
    curves = ask(explorer, own, q, &busy, ret_why);
    own->waiting = busy;
    if (curves) {
        own->shown = *curves;
        own->of = *q;
        own->has = true;
    }
    if (busy && !own->has)
        *ret_why = "…";
    return own->has ? &own->shown : NULL;
}

static struct training_own *own_of(struct panel_state *state)
{
    if (!state->own)
        state->own = calloc(1, sizeof(struct training_own));
    return state->own;
}

/* ---- lines ---- */

static void say(struct lines *to, const struct panel_room *room, enum colour role,
                const char *text)
{
    lines_text(to, COLOUR_NONE, "  ");
    lines_wrap(to, role, str_of(text), room->width, 2);
}

static void draw(struct lines *to, struct explorer *explorer, struct panel_state *state,
                 struct training_own *own, const struct curves *curves)
{
    const struct at_step *at = explorer->show.step;
    uint32_t went_to = explorer->went_to - curves->earlier_alarms;
    const struct training_look look = {
        .curves = curves,
        .room = &own->room,
        .column = explorer->step == STEP_NEWEST ? TRAINING_NOW
                                                : curves_column(curves, explorer->step),
        .step = explorer->step,
        .at = at && at->asked == explorer->step ? at : NULL,
        .place = explorer_place(explorer),
        .log = state->log,
        .plain = explorer->plain};
    struct lines left = {0}, right = {0};
    struct buf title = BUF_INIT;
    bool heat = own->room.rows > 0 && curves->heat.rows > 0;

    training_curves(&left, &look);
    if (heat)
        training_heat(&right, &look);
    if (heat && own->room.aside == 0) {
        training_heat_title(&title, &curves->heat, own->room.width - 1);
        lines_text(&left, COLOUR_NONE, " ");
        lines_wrap(&left, COLOUR_DIM, buf_span(&title), own->room.width, 1);
    }
    if (own->room.aside > 0) {
        panel_beside(to, &left, &right, own->room.aside);
    } else {
        panel_beside(to, &left, &(struct lines){0}, 0);
        panel_beside(to, &right, &(struct lines){0}, 0);
    }
    training_alarms(to, &look, own->alarm_lines);
    if (explorer->went_to != HISTORY_NONE && went_to < curves->n_alarms)
        state->cursor = own->alarm_lines[went_to];
    explorer->went_to = HISTORY_NONE;
    buf_release(&title);
    lines_release(&left);
    lines_release(&right);
}

static void panel_training(struct lines *to, struct explorer *explorer,
                           struct panel_state *state, const struct panel_room *room)
{
    const struct session *session = explorer->session;
    uint32_t place = explorer_place(explorer);
    struct training_own *own = own_of(state);
    struct training_question q = {.path = session->history_path,
                                  .version = explorer->history_version};
    const struct curves *curves;
    const char *why;

    if (!session->history || place == NO_PLACE || !own) {
        say(to, room, COLOUR_DIM,
            session->history_why ? session->history_why
                                 : "no history: torchoscope.watch() records one");
        return;
    }
    own->room = training_room_of(room, explorer->plain);
    q.wanted = (struct curves_wanted){.place = place,
                                      .columns = own->room.columns ? own->room.columns
                                                                   : PLAIN_COLUMNS,
                                      .rows = own->room.rows,
                                      .view = state->view % CURVES_VIEWS};
    curves = curves_of(explorer, own, &q, &why);
    if (!curves)
        say(to, room, COLOUR_DIM, why);
    else if (curves->columns == 0)
        say(to, room, COLOUR_DIM, "no step was logged yet");
    else
        draw(to, explorer, state, own, curves);
}

static unsigned training_aside(struct buf *to, const struct panel_state *state)
{
    const struct training_own *own = state->own;

    if (!own || !own->has || own->room.aside == 0 || own->shown.heat.rows == 0)
        return 0;
    /* The rule around a title takes some cells. */
    training_heat_title(to, &own->shown.heat, own->room.width - own->room.aside - 4);
    return own->room.aside;
}

/* ---- keys ---- */

/* ( and ): to another column; past the last one to the newest step. */
static bool scrub(struct explorer *explorer, struct training_own *own, int by)
{
    const struct curves *curves = &own->shown;
    uint32_t last = curves->columns - 1, at = last + 1;

    if (explorer->step != STEP_NEWEST)
        at = curves_column(curves, explorer->step);
    if (by < 0 && at == 0) {
        explorer_say(explorer, "this is the first step");
        return false;
    }
    if (by > 0 && at > last) {
        explorer_say(explorer, "this is the newest step");
        return false;
    }
    at = by > 0 ? at + 1 : at - 1;
    explorer->step = at <= last ? curves->first[at] : STEP_NEWEST;
    return true;
}

/* Enter on an alarm: selects its step, and its place if it has one. The alarm stays
 * selected however long it takes to read the curves of that place. */
static bool go_to_alarm(struct explorer *explorer, struct training_own *own,
                        uint32_t line)
{
    const struct curves_alarm *alarm = NULL;

    for (uint32_t i = 0; i < own->shown.n_alarms; i++)
        if (own->alarm_lines[i] <= line)
            alarm = &own->shown.alarms[i];
    if (!alarm)
        return panel_cannot(explorer, ACT_ENTER);
    explorer_show_alarm(
        explorer, own->shown.earlier_alarms + (uint32_t)(alarm - own->shown.alarms),
        alarm->step);
    if (alarm->place != HISTORY_NONE)
        browse_go(explorer->browse, alarm->place);
    return true;
}

static bool training_act(struct explorer *explorer, struct panel_state *state,
                         enum panel_act act)
{
    struct training_own *own = state->own;

    if (!own || !own->has || own->shown.columns == 0) {
        explorer_say(explorer, "no steps to show");
        return false;
    }
    switch (act) {
    case ACT_PREVIOUS:
    case ACT_NEXT:
        return scrub(explorer, own, act == ACT_NEXT ? 1 : -1);
    case ACT_LOG:
        state->log = !state->log;
        return true;
    case ACT_VIEW:
        state->view = (state->view + 1) % CURVES_VIEWS;
        return true;
    case ACT_ENTER:
        return go_to_alarm(explorer, own, state->cursor);
    default:
        return panel_cannot(explorer, act);
    }
}

static void training_release(struct panel_state *state)
{
    struct training_own *own = state->own;

    if (own)
        made_release(&own->made);
    free(own);
    state->own = NULL;
}

static const struct panel_hint training_hints[] = {
    {"previous-call", "next-call", "step"},
    {"view", NULL, "values"},
    {"log", NULL, "log"},
    {"enter", NULL, "go there"},
    {NULL, NULL, NULL},
};
static const struct panel_hint values_hints[] = {
    {"previous-call", "next-call", "step"},
    {"view", NULL, "gradients"},
    {"log", NULL, "log"},
    {"enter", NULL, "go there"},
    {NULL, NULL, NULL},
};

static const struct panel_hint *training_hints_now(const struct panel_state *state)
{
    return state->view == CURVES_VALUES ? values_hints : NULL;
}

const struct panel training_panel = {
    .number = PANEL_TRAINING,
    .id = "training",
    .title = "Training",
    .cursor = true,
    .hints = training_hints,
    .hints_now = training_hints_now,
    .subject = training_subject,
    .lines = panel_training,
    .aside = training_aside,
    .act = training_act,
    .release = training_release,
};
