#include "session/file_list.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/background.h"
#include "base/base.h"
#include "base/clock.h"
#include "base/folder.h"
#include "session/file_list_in.h"
#include "session/session.h"
#include "study/safety/check.h"

#define NOTIFY_NS 50000000u /* interval of notifications while many results come */

/* ---- on the threads ---- */

void file_list_notify(struct file_list *list, bool at_once)
{
    uint64_t now = clock_ns();

    list->news = true;
    if (list->notified || (!at_once && now - list->notified_ns < NOTIFY_NS))
        return;
    list->notified_ns = now;
    list->notified = write(list->write_fd, "!", 1) == 1;
}

void file_list_found(struct file_list *list, const char *path,
                     const struct file_row *found)
{
    struct file_row row = *found;
    size_t skip = strlen(list->folder);

    pthread_mutex_lock(&list->lock);
    if (list->n == FILE_LIST_MOST) {
        list->facts.full = true;
        goto out;
    }
    row.path = arena_str(&list->arena, str_of(path)).at;
    if (!row.path || arena_room(&list->arena, &list->rows, list->n, &list->room,
                                sizeof *list->rows) < 0) {
        list->facts.full = true;
        goto out;
    }
    while (row.path[skip] == '/')
        skip++;
    row.name = str_from(str_of(row.path), skip);
    if (row.shards) {
        char *name = arena_printf(&list->arena, "%.*s%s", STR_ARG(row.name),
                                  str_ends(row.name, STR("/")) ? "" : "/");

        row.name = name ? str_of(name) : row.name;
    }
    row.number = list->n;
    list->rows[list->n++] = row;
    list->facts.found = list->n;
    pthread_cond_signal(&list->more);
    file_list_notify(list, false);

out:
    pthread_mutex_unlock(&list->lock);
}

static void *walk_thread(void *argument)
{
    struct file_list *list = argument;

    file_walk(list);
    pthread_mutex_lock(&list->lock);
    list->facts.walking = false;
    pthread_cond_signal(&list->more); /* now the rest can be judged */
    file_list_notify(list, true);
    pthread_mutex_unlock(&list->lock);
    return NULL;
}

/* The row to judge next: one on the screen, else the most recently modified one. The
 * lock is held. */
static uint32_t next_to_judge(struct file_list *list)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < list->n_wanted; i++)
        if (list->rows[list->wanted[i]].state == FILE_PENDING)
            return list->wanted[i];
    /* The others wait until the search is finished, so as not to slow it down. */
    for (uint32_t i = 0; i < list->n && !list->facts.walking; i++)
        if (list->rows[i].state == FILE_PENDING &&
            (best == UINT32_MAX || list->rows[i].mtime_ns > list->rows[best].mtime_ns))
            best = i;
    return best;
}

static void sum_training(struct file_row *row, const struct history_summary *sum)
{
    row->trained = true;
    row->has_loss = sum->has_loss;
    row->loss = sum->newest_loss;
    row->alarm = sum->alarms[SEVERITY_ALARM] > 0     ? SEVERITY_ALARM
                 : sum->alarms[SEVERITY_WARNING] > 0 ? SEVERITY_WARNING
                                                     : SEVERITY_NOTE;
    row->steps = sum->phases[HISTORY_TRAIN].steps;
    row->evals = sum->phases[HISTORY_EVAL].steps;
}

/* Judges like `check`, except for checksums, which need all bytes. Sets only the judged
 * members of the row; `why` and `capsule` point into the session. */
static struct file_row judge(const struct session *session)
{
    struct str capsule = session_capsule(session);
    struct file_row row = {.verdict = (uint8_t)session->verdict.verdict,
                           .params = counts_params(&session->places, 0),
                           .has = (uint8_t)session_has(session),
                           .capsule = capsule.len ? capsule.at : NULL};
    struct check_ask ask = {0};
    struct check check;
    struct arena arena;

    arena_init(&arena, GIB);
    if (check_make(session->model, &ask, &arena, &check, NULL) == 0) {
        row.findings = check.status != 0;
        for (uint32_t i = 0; i < check.n; i++)
            row.damaged |= check.items[i].topic != CHECK_PICKLE &&
                           check.items[i].mark == CHECK_ALARM;
    }
    for (uint32_t i = 0; row.damaged && !row.why && i < session->model->n_findings; i++)
        if (session->model->findings[i].severity == SEVERITY_ALARM)
            row.why = session->model->findings[i].text;
    arena_release(&arena);
    if (session->training)
        sum_training(&row, session->training);
    return row;
}

static const char *kept_text(struct file_list *list, const char *text)
{
    return text ? arena_str(&list->arena, str_of(text)).at : NULL;
}

/* Takes the judged members; the lock is held. */
static void take_judged(struct file_list *list, struct file_row *row,
                        const struct file_row *judged)
{
    row->state = FILE_JUDGED;
    row->verdict = judged->verdict;
    row->findings = judged->findings;
    row->damaged = judged->damaged;
    row->params = judged->params;
    row->has = judged->has;
    row->trained = judged->trained;
    row->has_loss = judged->has_loss;
    row->alarm = judged->alarm;
    row->steps = judged->steps;
    row->evals = judged->evals;
    row->loss = judged->loss;
    row->why = kept_text(list, judged->why);
    row->capsule = kept_text(list, judged->capsule);
    list->facts.trained += judged->trained;
}

static void judge_row(struct file_list *list, uint32_t number)
{
    const char *path = list->rows[number].path;
    struct err err = {0};
    struct session *session;
    struct file_row *row, judged;

    pthread_mutex_unlock(&list->lock);
    session = session_open(path, &list->work, &err);
    judged = session ? judge(session) : (struct file_row){.state = FILE_TROUBLE};
    pthread_mutex_lock(&list->lock);
    row = &list->rows[number]; /* the array may have moved */
    if (session) {
        take_judged(list, row, &judged);
    } else if (err.code != ERR_CANCELLED) {
        row->state = FILE_TROUBLE;
        row->verdict = VERDICT_INCONCLUSIVE;
        row->findings = true;
        /* The format was recognised, but the file cannot be parsed. */
        row->damaged = row->format[0] && err.code == ERR_FORMAT;
        row->why = arena_str(&list->arena, str_of(err.text)).at;
    }
    file_list_notify(list, true);
    pthread_mutex_unlock(&list->lock);
    session_close(session);
    pthread_mutex_lock(&list->lock);
}

static void *judge_thread(void *argument)
{
    struct file_list *list = argument;

    pthread_mutex_lock(&list->lock);
    while (!list->ending) {
        uint32_t number = next_to_judge(list);

        if (number == UINT32_MAX)
            pthread_cond_wait(&list->more, &list->lock);
        else
            judge_row(list, number);
    }
    pthread_mutex_unlock(&list->lock);
    return NULL;
}

/* ---- beginning and ending ---- */

static int make_pipe(struct file_list *list, struct err *err)
{
    int fds[2];

    if (background_pipe(fds, err) < 0)
        return -1;
    list->read_fd = fds[0];
    list->write_fd = fds[1];
    return 0;
}

static int start(struct file_list *list, struct err *err)
{
    bool walks = background_start(&list->walker, walk_thread, list);

    if (walks && background_start(&list->judge, judge_thread, list))
        return 0;
    if (walks) {
        atomic_store(&list->work.cancel, 1);
        pthread_join(list->walker, NULL);
    }
    return err_set_about(err, ERR_LIMIT, list->folder, ": no thread can be started");
}

static void drop(struct file_list *list)
{
    pthread_mutex_destroy(&list->lock);
    pthread_cond_destroy(&list->more);
    if (list->read_fd >= 0) {
        close(list->read_fd);
        close(list->write_fd);
    }
    arena_release(&list->arena);
    free(list->wanted);
    free(list->taken);
    free(list->folder);
    free(list);
}

struct file_list *file_list_new(const char *path, struct err *err)
{
    struct file_list *list = calloc(1, sizeof *list);
    struct arena scratch;
    struct folder folder;
    int status;

    arena_init(&scratch, GIB);
    status = folder_open(&folder, path, &scratch, err);
    if (status == 0)
        folder_close(&folder);
    arena_release(&scratch);
    if (status < 0 || !list) {
        free(list);
        return NULL;
    }
    list->read_fd = -1;
    arena_init(&list->arena, GIB);
    work_init(&list->work);
    pthread_mutex_init(&list->lock, NULL);
    pthread_cond_init(&list->more, NULL);
    list->facts.walking = true;
    list->folder = strdup(path);
    if (!list->folder || make_pipe(list, err) < 0 || start(list, err) < 0) {
        drop(list);
        return NULL;
    }
    return list;
}

void file_list_free(struct file_list *list)
{
    if (!list)
        return;
    atomic_store(&list->work.cancel, 1);
    pthread_mutex_lock(&list->lock);
    list->ending = true;
    pthread_cond_broadcast(&list->more);
    pthread_mutex_unlock(&list->lock);
    pthread_join(list->walker, NULL);
    pthread_join(list->judge, NULL);
    drop(list);
}

/* ---- for the owner ---- */

/* The lock is held. */
static void take_rows(struct file_list *list)
{
    if (list->taken_room < list->n) {
        size_t room = (size_t)list->n + list->n / 2 + 16;
        struct file_row *more = realloc(list->taken, room * sizeof *more);

        if (!more)
            return;
        list->taken = more;
        list->taken_room = (uint32_t)room;
    }
    if (list->n > 0)
        memcpy(list->taken, list->rows, list->n * sizeof *list->taken);
    list->n_taken = list->n;
}

bool file_list_poll(struct file_list *list)
{
    char byte[16];
    bool news;

    while (read(list->read_fd, byte, sizeof byte) > 0)
        ;
    pthread_mutex_lock(&list->lock);
    news = list->news;
    list->notified = list->news = false;
    if (news)
        take_rows(list);
    pthread_mutex_unlock(&list->lock);
    return news;
}

int file_list_fd(const struct file_list *list)
{
    return list->read_fd;
}

uint32_t file_list_n(const struct file_list *list)
{
    return list->n_taken;
}

const struct file_row *file_list_at(const struct file_list *list, uint32_t number)
{
    return &list->taken[number];
}

void file_counts_add(struct file_counts *counts, const struct file_row *row)
{
    if (row->state == FILE_PENDING) {
        counts->pending++;
        return;
    }
    counts->verdicts[row->verdict]++;
    counts->safe_findings += row->verdict == VERDICT_SAFE && row->findings;
    counts->damaged += row->damaged;
}

void file_list_want(struct file_list *list, const uint32_t *numbers, uint32_t n)
{
    pthread_mutex_lock(&list->lock);
    if (n > list->wanted_room) {
        uint32_t *more = realloc(list->wanted, (size_t)n * sizeof *more);

        if (more) {
            list->wanted = more;
            list->wanted_room = n;
        }
    }
    list->n_wanted = n < list->wanted_room ? n : list->wanted_room;
    if (list->n_wanted > 0)
        memcpy(list->wanted, numbers, list->n_wanted * sizeof *numbers);
    pthread_cond_signal(&list->more);
    pthread_mutex_unlock(&list->lock);
}

struct file_list_facts file_list_facts(const struct file_list *list)
{
    struct file_list *mine = (struct file_list *)list; /* only its lock is used */
    struct file_list_facts facts;

    pthread_mutex_lock(&mine->lock);
    facts = list->facts;
    pthread_mutex_unlock(&mine->lock);
    return facts;
}
