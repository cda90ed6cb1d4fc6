/* The side of a writer that the training loop calls: the current step and the queue.
 * Everything here works in memory; the lock is never held while the thread writes. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "history/writer_in.h"

#define ALARMS_MOST    10000u /* in one file, by one writer */
#define CARRIED_MOST   256u   /* alarms and notes waiting for a step that is written */
#define TEXT_MOST      4096u  /* bytes of a text */
#define HISTOGRAM_MOST ((size_t)1 << 20)

/* A forked process has a copy of the writer without its thread and with unusable
 * locks. */
bool history_writer_mine(const struct history_writer *writer)
{
    return writer && writer->forks == live_file_forks();
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- declarations ---- */

static uint64_t series_hash(const struct history_series *series)
{
    uint64_t hash = hash_mix(str_hash(series->name), str_hash(series->path));

    hash = hash_mix(hash, (uint64_t)series->place << 32 | series->call);
    return hash_mix(hash, (uint64_t)series->kind << 8 | series->phase);
}

static bool same_series(const struct history_series *a, const struct history_series *b)
{
    return a->place == b->place && a->call == b->call && a->kind == b->kind &&
           a->phase == b->phase && str_eq(a->name, b->name) && str_eq(a->path, b->path);
}

static uint32_t find_series(struct history_writer *writer,
                            const struct history_series *series, uint64_t *hash)
{
    uint32_t found;

    while (map_find(&writer->by_key, *hash, &found)) {
        if (same_series(&writer->series[found], series))
            return found;
        ++*hash;
    }
    return HISTORY_NONE;
}

static uint32_t add_series(struct history_writer *writer,
                           const struct history_series *series)
{
    uint64_t hash = series_hash(series);
    uint32_t found = find_series(writer, series, &hash);
    struct history_series copy = *series;

    if (found != HISTORY_NONE)
        return found;
    copy.name = arena_str(&writer->arena, str_head(series->name, TEXT_MOST));
    copy.path = arena_str(&writer->arena, str_head(series->path, TEXT_MOST));
    if (!copy.name.at || !copy.path.at || writer->n_series >= HISTORY_SERIES_MOST ||
        series->kind >= HISTORY_KINDS || series->phase >= HISTORY_PHASES ||
        arena_room(&writer->arena, &writer->series, writer->n_series,
                   &writer->series_room, sizeof *writer->series) < 0 ||
        map_put(&writer->by_key, hash, writer->n_series) < 0)
        return HISTORY_NONE;
    writer->series[writer->n_series] = copy;
    return writer->n_series++;
}

uint32_t history_writer_series(struct history_writer *writer,
                               const struct history_series *series)
{
    uint32_t id;

    if (!history_writer_mine(writer))
        return HISTORY_NONE;
    pthread_mutex_lock(&writer->lock);
    id = add_series(writer, series);
    pthread_mutex_unlock(&writer->lock);
    return id;
}

static uint32_t add_name(struct history_writer *writer, struct str name)
{
    struct str copy;
    uint32_t id;

    name = str_head(name, TEXT_MOST);
    if (name_map_find(&writer->names, name, &id))
        return id;
    copy = arena_str(&writer->arena, name);
    if (!copy.at || writer->names.n >= HISTORY_SERIES_MOST ||
        name_map_add(&writer->names, copy, &id) < 0)
        return HISTORY_NONE;
    return id;
}

uint32_t history_writer_name(struct history_writer *writer, struct str name)
{
    uint32_t id;

    if (!history_writer_mine(writer))
        return HISTORY_NONE;
    pthread_mutex_lock(&writer->lock);
    id = add_name(writer, name);
    pthread_mutex_unlock(&writer->lock);
    return id;
}

/* ---- a step in the making ---- */

void history_message_free(struct history_message *message)
{
    if (!message)
        return;
    free(message->points);
    free(message->scalars);
    free(message->alarms);
    free(message->notes);
    buf_release(&message->blobs);
    buf_release(&message->texts);
    buf_release(&message->note_texts);
    buf_release(&message->merged);
    free(message);
}

/* Empties it; keeps alarms and notes if they still have to be written. */
static void clear(struct history_message *message, bool keep)
{
    message->n_points = message->n_scalars = 0;
    buf_clear(&message->blobs);
    buf_clear(&message->merged);
    message->bad = message->blobs.bad = message->merged.bad = false;
    if (keep && message->n_alarms + message->n_notes < CARRIED_MOST)
        return;
    message->n_alarms = message->n_notes = message->n_shown = 0;
    buf_clear(&message->texts);
    buf_clear(&message->note_texts);
}

/* Drops the current step. Call it with the lock held. */
static void drop_step(struct history_writer *writer)
{
    struct history_message *message = writer->building;

    writer->dropped++;
    writer->state.dropped++;
    if (message->n_alarms + message->n_notes >= CARRIED_MOST)
        writer->state.alarms_lost += message->n_alarms;
    clear(message, true);
}

void history_writer_begin(struct history_writer *writer, uint64_t number,
                          enum history_phase phase, uint64_t wall_ns)
{
    if (!history_writer_mine(writer))
        return;
    pthread_mutex_lock(&writer->lock);
    if (writer->in_step)
        drop_step(writer);
    if (!writer->building) {
        writer->building = writer->spare;
        writer->spare = NULL;
    }
    if (!writer->building)
        writer->building = calloc(1, sizeof *writer->building);
    writer->in_step = writer->building != NULL;
    if (writer->in_step) {
        if (wall_ns == 0)
            wall_ns = now_ns();
        number = number < HISTORY_STEP_MOST ? number : HISTORY_STEP_MOST - 1;
        writer->building->step = (struct history_step){.first = number,
                                                       .last = number,
                                                       .wall_ns = wall_ns,
                                                       .last_ns = wall_ns,
                                                       .merged = 1,
                                                       .phase = (uint8_t)phase};
    } else {
        writer->dropped++;
        writer->state.dropped++;
    }
    pthread_mutex_unlock(&writer->lock);
}

/* Returns the current step with the lock held, or NULL with the lock released. */
static struct history_message *lock_step(struct history_writer *writer)
{
    if (!history_writer_mine(writer))
        return NULL;
    pthread_mutex_lock(&writer->lock);
    if (writer->in_step)
        return writer->building;
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

void history_writer_point(struct history_writer *writer,
                          const struct history_point *point)
{
    struct history_message *message = lock_step(writer);
    struct history_point *to;

    if (!message)
        return;
    if (point->series >= writer->n_series) {
        /* Not declared: there were too many. */
    } else if (buf_grow_array(&message->points, message->n_points,
                              &message->points_room, sizeof *message->points)) {
        to = &message->points[message->n_points++];
        *to = *point;
        if (to->merged == 0)
            to->merged = 1;
        if (to->histogram.len > HISTOGRAM_MOST)
            to->histogram.len = 0;
        buf_str(&message->blobs, to->histogram);
    } else {
        message->bad = true;
    }
    pthread_mutex_unlock(&writer->lock);
}

void history_writer_scalar(struct history_writer *writer, uint32_t name, double value)
{
    struct history_message *message = lock_step(writer);

    if (!message)
        return;
    if (name < writer->names.n) {
        if (buf_grow_array(&message->scalars, message->n_scalars,
                           &message->scalars_room, sizeof *message->scalars))
            message->scalars[message->n_scalars++] = (struct history_scalar){
                .name = name, .number = history_number_of(value), .last = value};
        else
            message->bad = true;
    }
    pthread_mutex_unlock(&writer->lock);
}

static void copy_text(struct buf *texts, struct str *text)
{
    *text = str_head(*text, TEXT_MOST);
    buf_str(texts, *text);
}

/* Adds an alarm to the message; false: no memory. */
static bool add_alarm(struct history_message *message,
                      const struct history_alarm *alarm)
{
    struct history_alarm *to;

    if (!buf_grow_array(&message->alarms, message->n_alarms, &message->alarms_room,
                        sizeof *message->alarms))
        return false;
    to = &message->alarms[message->n_alarms++];
    *to = *alarm;
    if (to->step == 0)
        to->step = message->step.first;
    if (to->wall_ns == 0)
        to->wall_ns = message->step.wall_ns;
    copy_text(&message->texts, &to->kind);
    copy_text(&message->texts, &to->name);
    copy_text(&message->texts, &to->line);
    copy_text(&message->texts, &to->text);
    return true;
}

void history_writer_alarm(struct history_writer *writer,
                          const struct history_alarm *alarm)
{
    struct history_message *message = lock_step(writer);

    if (!message)
        return;
    if (writer->alarms_left > 0 && message->n_alarms < ALARMS_MOST &&
        add_alarm(message, alarm))
        writer->alarms_left--;
    else
        writer->state.alarms_lost++;
    pthread_mutex_unlock(&writer->lock);
}

void history_writer_note(struct history_writer *writer, struct str text)
{
    struct history_message *message = lock_step(writer);

    if (!message)
        return;
    if (message->n_notes < CARRIED_MOST &&
        buf_grow_array(&message->notes, message->n_notes, &message->notes_room,
                       sizeof *message->notes)) {
        copy_text(&message->note_texts, &text);
        message->notes[message->n_notes++] =
            (struct history_note){message->step.first, message->step.wall_ns, text};
    }
    pthread_mutex_unlock(&writer->lock);
}

/* ---- the queue ---- */

int history_writer_replace_run(struct history_writer *writer, const struct run *run,
                               struct source *code, struct err *err)
{
    int status = 0;

    if (!history_writer_mine(writer))
        return 0;
    pthread_mutex_lock(&writer->lock);
    writer->run = run;
    writer->code = code;
    pthread_cond_broadcast(&writer->change);
    while (writer->run)
        pthread_cond_wait(&writer->change, &writer->lock);
    if (writer->run_err.code) {
        *err = writer->run_err;
        status = -1;
    }
    pthread_mutex_unlock(&writer->lock);
    return status;
}

/* For the thread, with the lock held: writes the pending recording into the file. */
static void put_run(struct history_writer *writer)
{
    struct err err = {0};

    pthread_mutex_unlock(&writer->lock);
    history_writer_put_run(writer, &err);
    pthread_mutex_lock(&writer->lock);
    writer->run_err = err;
    writer->run = NULL;
    writer->code = NULL;
    pthread_cond_broadcast(&writer->change);
}

struct history_message *history_writer_take(struct history_writer *writer)
{
    struct history_message *message;

    pthread_mutex_lock(&writer->lock);
    while (writer->run || (!writer->first && !writer->stop))
        if (writer->run)
            put_run(writer);
        else
            pthread_cond_wait(&writer->change, &writer->lock);
    message = writer->first;
    if (message) {
        writer->first = message->next;
        if (!writer->first)
            writer->last = &writer->first;
        writer->n_queued--;
        writer->queued_bytes -= message->bytes;
        writer->busy = true;
    }
    pthread_mutex_unlock(&writer->lock);
    return message;
}

void history_writer_done(struct history_writer *writer, struct history_message *message)
{
    clear(message, false);
    pthread_mutex_lock(&writer->lock);
    writer->busy = false;
    if (!writer->spare) {
        writer->spare = message;
        message = NULL;
    }
    pthread_cond_broadcast(&writer->change);
    pthread_mutex_unlock(&writer->lock);
    history_message_free(message);
}

static void place_text(const char **at, struct str *text)
{
    text->at = text->len ? *at : "";
    if (text->len)
        *at += text->len;
}

/* Lets texts and histograms point to their copies, which no longer move. */
static void place_copies(struct history_message *message)
{
    const char *at = message->blobs.at;

    for (uint32_t i = 0; i < message->n_points; i++)
        place_text(&at, &message->points[i].histogram);
    at = message->texts.at;
    for (uint32_t i = 0; i < message->n_alarms; i++) {
        place_text(&at, &message->alarms[i].kind);
        place_text(&at, &message->alarms[i].name);
        place_text(&at, &message->alarms[i].line);
        place_text(&at, &message->alarms[i].text);
    }
    at = message->note_texts.at;
    for (uint32_t i = 0; i < message->n_notes; i++)
        place_text(&at, &message->notes[i].text);
}

static size_t message_bytes(const struct history_message *message)
{
    return sizeof *message + message->points_room * sizeof *message->points +
           message->scalars_room * sizeof *message->scalars +
           message->alarms_room * sizeof *message->alarms + message->blobs.room +
           message->texts.room + message->note_texts.room;
}

/* Settling changes the order, so it works on a copy. */
static bool copy_lists(struct history_message *copy,
                       const struct history_message *message)
{
    size_t points = message->n_points * sizeof *copy->points;
    size_t scalars = message->n_scalars * sizeof *copy->scalars;

    *copy = *message;
    copy->merged = (struct buf)BUF_INIT;
    copy->points = malloc(points + 1);
    copy->scalars = malloc(scalars + 1);
    if (!copy->points || !copy->scalars)
        return false;
    if (points)
        memcpy(copy->points, message->points, points);
    if (scalars)
        memcpy(copy->scalars, message->scalars, scalars);
    if (message->n_shown) {
        copy->alarms += message->n_shown;
        copy->n_alarms -= message->n_shown;
    }
    return true;
}

/* Releases the lock while the sink works: it may run Python, which may switch to a
 * thread that waits for the lock. Only this thread changes the step. */
int history_writer_show(struct history_writer *writer, struct history_sink *sink,
                        struct err *err)
{
    struct history_message *message = lock_step(writer), copy;
    int status = -1;

    if (!message)
        return 0;
    pthread_mutex_unlock(&writer->lock);
    place_copies(message);
    if (copy_lists(&copy, message)) {
        history_message_settle(&copy, writer->options.codec);
        status = history_message_give(writer, &copy, sink, err);
        message->n_shown = message->n_alarms;
    } else {
        err_set(err, ERR_LIMIT, "no memory left");
    }
    free(copy.points);
    free(copy.scalars);
    buf_release(&copy.merged);
    return status;
}

void history_writer_add(struct history_writer *writer, struct history_sink *sink)
{
    struct history_sink **last = &writer->sinks;

    pthread_mutex_lock(&writer->lock);
    while (*last)
        last = &(*last)->next;
    *last = sink;
    pthread_mutex_unlock(&writer->lock);
}

/* A step is queued whole or not at all. */
static bool has_room(const struct history_writer *writer,
                     const struct history_message *message)
{
    return !message->bad && !message->blobs.bad && !message->texts.bad &&
           !message->note_texts.bad && writer->n_queued < writer->options.queue &&
           (writer->n_queued == 0 ||
            writer->queued_bytes + message->bytes <= writer->options.queue_bytes);
}

void history_writer_end(struct history_writer *writer, unsigned flags)
{
    struct history_message *message = lock_step(writer);

    if (!message)
        return;
    writer->in_step = false;
    message->bytes = message_bytes(message);
    if (has_room(writer, message)) {
        place_copies(message);
        message->step.flags = flags;
        message->step.skipped = (flags & HISTORY_SKIPPED) != 0;
        message->step.dropped = writer->dropped;
        message->n_series = writer->n_series;
        message->n_names = writer->names.n;
        message->next = NULL;
        *writer->last = message;
        writer->last = &message->next;
        writer->n_queued++;
        writer->queued_bytes += message->bytes;
        writer->dropped = 0;
        writer->building = NULL;
        pthread_cond_broadcast(&writer->change);
    } else {
        drop_step(writer);
    }
    pthread_mutex_unlock(&writer->lock);
}

void history_writer_flush(struct history_writer *writer)
{
    if (!history_writer_mine(writer))
        return;
    pthread_mutex_lock(&writer->lock);
    while (writer->first || writer->busy)
        pthread_cond_wait(&writer->change, &writer->lock);
    pthread_mutex_unlock(&writer->lock);
}

void history_writer_state(struct history_writer *writer,
                          struct history_state *ret_state)
{
    *ret_state = (struct history_state){0};
    if (!history_writer_mine(writer))
        return;
    pthread_mutex_lock(&writer->lock);
    *ret_state = writer->state;
    pthread_mutex_unlock(&writer->lock);
}
