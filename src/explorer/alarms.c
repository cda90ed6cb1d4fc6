/* The list that `!` steps through. Each alarm has its subject; its text is made when
 * shown. */
#include <stdlib.h>

#include "base/base.h"
#include "explorer/alarms_in.h"

#define MOST_ALARMS 10000u

static int add(struct explorer *explorer, struct alarm alarm)
{
    struct alarms *alarms = &explorer->alarms;

    if (alarms->n == MOST_ALARMS)
        return 0;
    if (arena_room(&explorer->alarm_arena, &alarms->at, alarms->n, &alarms->room,
                   sizeof *alarms->at) < 0)
        return -1;
    if (alarm.place == FINDING_NOWHERE)
        alarm.place = 0;
    alarm.order = alarms->n;
    alarms->at[alarms->n++] = alarm;
    return 0;
}

static int add_findings(struct explorer *explorer)
{
    const struct model *model = explorer->show.model;

    for (uint32_t i = 0; i < model->n_findings; i++) {
        const struct finding *finding = &model->findings[i];

        if (finding->severity != SEVERITY_NOTE &&
            add(explorer, (struct alarm){.kind = ALARM_FINDING,
                                         .subject = i,
                                         .severity = finding->severity,
                                         .place = finding->place}) < 0)
            return -1;
    }
    return 0;
}

/* Globals that a load would call or needs. */
struct uses {
    uint8_t *trusts; /* by string id of a global's name: enum trust */
    bool *listed;    /* by global: it has an alarm */
    bool any[TRUST_DANGER + 1];
};

static int uses_init(struct uses *uses, const struct show *show, struct arena *arena)
{
    const struct pickle_log *log = &show->model->pickle;

    *uses = (struct uses){0};
    uses->trusts =
        arena_array(arena, (size_t)show->model->strings.n + 1, sizeof *uses->trusts);
    uses->listed = arena_array(arena, (size_t)log->n_globals + 1, sizeof *uses->listed);
    if (!uses->trusts || !uses->listed)
        return -1;
    for (uint32_t i = 0; i < log->n_globals; i++) {
        uint32_t name = log->globals[i].name;
        enum trust trust = name ? show_trust(show, name) : TRUST_KNOWN;

        uses->trusts[name] = (uint8_t)trust;
        uses->any[trust] = true;
    }
    return 0;
}

static int add_use(struct explorer *explorer, struct uses *uses, uint32_t global,
                   enum trust trust, uint32_t place)
{
    uses->listed[global] = true;
    return add(explorer,
               (struct alarm){.kind = ALARM_GLOBAL,
                              .subject = global,
                              .severity = trust == TRUST_DANGER ? SEVERITY_ALARM
                                                                : SEVERITY_WARNING,
                              .place = place});
}

/* The global that made the value or module at this place: the string id of its name,
 * or 0. */
static uint32_t maker_of(const struct model *model, uint32_t place)
{
    const struct object *object;
    const struct value *value;

    if (model->kind[place] == PLACE_VALUE) {
        value = value_at(&model->values, model->object[place]);
        return value->kind == VALUE_CALL || value->kind == VALUE_OBJECT ||
                       value->kind == VALUE_GLOBAL
                   ? value->text
                   : 0;
    }
    if (model->kind[place] == PLACE_TENSOR)
        return 0;
    object = place_object(model, place);
    return object && object->class_id != NO_CLASS && !object->guessed
               ? model->classes[object->class_id].name
               : 0;
}

/* Alarms for the places made by globals of this trust. */
static int add_uses_of(struct explorer *explorer, struct uses *uses, enum trust trust)
{
    const struct show *show = &explorer->show;
    uint32_t global;

    for (uint32_t p = 0; p < show->model->n_places; p++) {
        uint32_t maker = maker_of(show->model, p);

        if (uses->trusts[maker] == trust && map_find(&show->globals, maker, &global) &&
            add_use(explorer, uses, global, trust, p) < 0)
            return -1;
        if (explorer->alarms.n == MOST_ALARMS)
            break;
    }
    return 0;
}

/* The dangerous globals first, as at most MOST_ALARMS are kept. Globals that made no
 * place have their alarm at the root. */
static int add_uses(struct explorer *explorer)
{
    const struct show *show = &explorer->show;
    const struct pickle_log *log = &show->model->pickle;
    static const enum trust order[] = {TRUST_DANGER, TRUST_UNKNOWN};
    struct uses uses;

    if (show->session->verdict.verdict == VERDICT_SAFE || log->n_globals == 0)
        return 0;
    if (uses_init(&uses, show, &explorer->alarm_arena) < 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(order); i++)
        if (uses.any[order[i]] && add_uses_of(explorer, &uses, order[i]) < 0)
            return -1;
    for (uint32_t i = 0; i < log->n_globals; i++) {
        enum trust trust = verdict_judge(show->model, &show->session->verdict, i, NULL);

        if (trust == TRUST_KNOWN || uses.listed[i] ||
            model_string(show->model, log->globals[i].name).len == 0)
            continue;
        if (add_use(explorer, &uses, i, trust, FINDING_NOWHERE) < 0)
            return -1;
    }
    return 0;
}

/* Modules that raised or made non-finite values, in order of their calls. */
static int add_run(struct explorer *explorer)
{
    const struct activities *all = explorer->show.activity;
    const struct run *run = explorer->session->run;

    for (uint32_t p = 0; all && p < all->n; p++) {
        const struct activity *at = &all->at[p];
        uint32_t call = p == all->first_producer ? all->producing_call : at->newest;
        uint64_t time = call == RUN_NONE ? UINT64_MAX : run->calls[call].start_ns;

        if (at->flags & (ACTIVITY_RAISED | ACTIVITY_PRODUCER) &&
            add(explorer, (struct alarm){.kind = ALARM_MODULE,
                                         .subject = p,
                                         .severity = SEVERITY_ALARM,
                                         .time = time,
                                         .place = p}) < 0)
            return -1;
    }
    return 0;
}

/* Measured tensors with non-finite values. */
static int add_spoilt(struct explorer *explorer)
{
    const struct model *model = explorer->show.model;

    for (uint32_t i = 0; i < model->n_tensors; i++)
        if (model->tensors[i].place != NO_PLACE && measured_spoilt(explorer, i) &&
            add(explorer, (struct alarm){.kind = ALARM_TENSOR,
                                         .subject = i,
                                         .severity = SEVERITY_ALARM,
                                         .time = UINT64_MAX,
                                         .place = model->tensors[i].place}) < 0)
            return -1;
    return 0;
}

/* Parameters that got no gradient. */
static int add_no_gradients(struct explorer *explorer)
{
    const struct show *show = &explorer->show;

    for (uint32_t i = 0; show->no_gradients && i < show->no_gradients->n; i++) {
        uint32_t tensor = show->no_gradients->at[i].tensor;
        enum severity severity = note_no_gradient(NULL, show, i);

        if (severity != SEVERITY_NOTE &&
            add(explorer, (struct alarm){.kind = ALARM_GRADIENT,
                                         .subject = i,
                                         .severity = severity,
                                         .time = UINT64_MAX,
                                         .place = show->model->tensors[tensor].place}) <
                0)
            return -1;
    }
    return 0;
}

/* Alarms of a training run, with their places by number or name. */
static int add_training(struct explorer *explorer)
{
    const struct model *model = explorer->show.model;
    struct alarms *alarms = &explorer->alarms;
    struct history_alarm *found;
    uint32_t n;

    if (!explorer_follows(explorer) ||
        history_read_alarms(explorer->session->history, 0, MOST_ALARMS,
                            &explorer->alarm_arena, &found, &n, NULL) < 0)
        return 0; /* the file is shown without them */
    alarms->of_history = found;
    alarms->training = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place = history_place(explorer->session->history, found[i].place);

        if (place >= model->n_places)
            place = place_find(model, found[i].name);
        if (found[i].severity != SEVERITY_NOTE &&
            add(explorer, (struct alarm){.kind = ALARM_TRAINING,
                                         .subject = i,
                                         .severity = (enum severity)found[i].severity,
                                         .time = found[i].step + 1,
                                         .place = place == NO_PLACE ? 0 : place}) < 0)
            return -1;
    }
    return 0;
}

/* --- All of them */

static int compare(const void *a, const void *b)
{
    const struct alarm *x = a, *y = b;

    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int compare_places(const void *a, const void *b)
{
    const struct alarm_place *x = a, *y = b;

    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->severity > y->severity ? -1 : x->severity < y->severity;
}

static int add_place(struct explorer *explorer, uint32_t place, enum severity severity)
{
    struct alarms *alarms = &explorer->alarms;

    if (arena_room(&explorer->alarm_arena, &alarms->places, alarms->n_places,
                   &alarms->places_room, sizeof *alarms->places) < 0)
        return -1;
    alarms->places[alarms->n_places++] = (struct alarm_place){place, severity};
    return 0;
}

/* Places with a mark in the gutter. A tied tensor has one alarm but a mark at each
 * place. */
static int list_places(struct explorer *explorer)
{
    const struct model *model = explorer->show.model;
    struct alarms *alarms = &explorer->alarms;

    for (uint32_t i = 0; i < alarms->n; i++) {
        uint32_t place = alarms->at[i].place;
        bool tensor = model->kind[place] == PLACE_TENSOR;

        do {
            if (add_place(explorer, place, alarms->at[i].severity) < 0)
                return -1;
            place = tensor ? tensor_next_place(model, place) : NO_PLACE;
        } while (place != NO_PLACE);
    }
    if (alarms->n_places > 0)
        qsort(alarms->places, alarms->n_places, sizeof *alarms->places, compare_places);
    return 0;
}

const struct alarm_place *alarms_at(const struct alarms *alarms, uint32_t place,
                                    uint32_t end)
{
    uint32_t low = 0, high = alarms->n_places;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (alarms->places[middle].place < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low < alarms->n_places && alarms->places[low].place < end
               ? &alarms->places[low]
               : NULL;
}

int alarms_find(struct explorer *explorer, struct err *err)
{
    struct alarms *alarms = &explorer->alarms;

    /* The lists may be borrowed: explorer_again() does that. */
    arena_release(&explorer->alarm_arena);
    *alarms = (struct alarms){0};
    measured_below(&alarms->measured, explorer, 0);
    if (add_findings(explorer) < 0 || add_uses(explorer) < 0 || add_run(explorer) < 0 ||
        add_no_gradients(explorer) < 0 || add_spoilt(explorer) < 0 ||
        add_training(explorer) < 0)
        goto fail;
    if (alarms->n > 0)
        qsort(alarms->at, alarms->n, sizeof *alarms->at, compare);
    if (list_places(explorer) == 0)
        return 0;

fail:
    alarms->n = alarms->n_places = 0;
    return arena_err(&explorer->alarm_arena, "the list of alarms", err);
}

/* Did the training run raise alarms since? */
static bool has_new_training(const struct explorer *explorer)
{
    const struct history_summary *sum = explorer->session->training;
    uint32_t n = 0;

    for (size_t i = 0; sum && i < COUNT_OF(sum->alarms); i++)
        n += sum->alarms[i];
    return explorer_follows(explorer) && n != explorer->alarms.training &&
           explorer->alarms.training < MOST_ALARMS;
}

void alarms_refresh(struct explorer *explorer)
{
    struct alarms *alarms = &explorer->alarms;
    uint32_t next = alarms->next;
    struct measured now;

    if (explorer->pair)
        return;
    measured_below(&now, explorer, 0);
    if (now.spoilt != alarms->measured.spoilt || has_new_training(explorer)) {
        alarms_find(explorer, NULL);
        /* `!` continues where it was. */
        alarms->next = next < alarms->n ? next : 0;
    }
    alarms->measured = now;
}

static void say_none(struct explorer *explorer)
{
    struct buf values = BUF_INIT;

    measured_text(&values, explorer, &explorer->alarms.measured);
    explorer_say(explorer, "no findings%s%s", values.len > 0 ? "   values: " : "",
                 buf_cstr(&values));
    buf_release(&values);
}

/* The fact about an alarm, the same as in other views. */
static void alarm_fact(struct facts *to, const struct explorer *explorer,
                       const struct alarm *alarm)
{
    const struct show *show = &explorer->show;

    switch (alarm->kind) {
    case ALARM_FINDING:
        note_finding(to, show->model, &show->model->findings[alarm->subject]);
        break;
    case ALARM_GLOBAL:
        note_global(to, show->model, alarm->subject, alarm->severity);
        break;
    case ALARM_MODULE:
        note_module(to, show, alarm->subject);
        break;
    case ALARM_TENSOR:
        note_tensor(to, show, alarm->subject);
        break;
    case ALARM_GRADIENT:
        note_no_gradient(to, show, alarm->subject);
        break;
    case ALARM_TRAINING:
        note_training(to, &explorer->alarms.of_history[alarm->subject],
                      history_ranks_of(explorer->session->history) != NULL);
        break;
    }
}

static void say_alarm(struct explorer *explorer, const struct alarm *alarm,
                      uint32_t number)
{
    struct facts facts = {0};
    struct buf text = BUF_INIT;

    alarm_fact(&facts, explorer, alarm);
    facts_join(&text, &facts, "");
    explorer_say(explorer, "%s %s   %u of %u", note_sign(note_role(alarm->severity)),
                 buf_cstr(&text), number, explorer->alarms.n);
    buf_release(&text);
    facts_release(&facts);
}

bool explorer_next_alarm(struct explorer *explorer)
{
    struct alarms *alarms = &explorer->alarms;
    const struct alarm *alarm;

    if (explorer->pair) {
        explorer_say(explorer, "not available in a diff; q returns to one file");
        return false;
    }
    alarms_refresh(explorer);
    if (alarms->n == 0) {
        say_none(explorer);
        return false;
    }
    alarm = &alarms->at[alarms->next];
    alarms->next = (alarms->next + 1) % alarms->n;
    browse_go(explorer->browse, alarm->place);
    if (alarm->kind == ALARM_TRAINING)
        explorer_show_alarm(explorer, alarm->subject,
                            alarms->of_history[alarm->subject].step);
    else
        explorer->panels[PANEL_DETAILS].open = true;
    say_alarm(explorer, alarm, alarms->next == 0 ? alarms->n : alarms->next);
    return true;
}
