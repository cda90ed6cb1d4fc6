/* Detects changes of the shelf. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/folder.h"
#include "base/live_file.h"
#include "history/ranks.h"
#include "web/shelf_in.h"

#define LOOK_NS 250000000u
#define RECENT  120 /* seconds; a run of another machine with newer changes is live */

/* ---- files ---- */

static uint64_t stamp_one(uint64_t stamp, const char *path)
{
    static const char *const ends[] = {"", "-wal"};

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct buf name = BUF_INIT;
        struct stat info;

        buf_printf(&name, "%s%s", path, ends[i]);
        if (!name.bad && stat(name.at, &info) == 0) {
            stamp = hash_mix(stamp, (uint64_t)info.st_ino);
            stamp = hash_mix(stamp, (uint64_t)info.st_size + 1);
            stamp = hash_mix(stamp, (uint64_t)info.st_mtim.tv_sec);
            stamp = hash_mix(stamp, (uint64_t)info.st_mtim.tv_nsec);
        }
        buf_release(&name);
    }
    return stamp;
}

/* Calls `look` with each file of a folder, or with the file itself. */
static uint64_t each_file(const char *path, uint64_t (*look)(uint64_t, const char *))
{
    struct folder folder;
    struct arena arena;
    uint64_t result = 0;

    if (!path_is_folder(path))
        return look(0, path);
    arena_init(&arena, 16 * MIB);
    if (folder_open(&folder, path, &arena, NULL) == 0) {
        for (uint32_t i = 0; i < folder.n; i++) {
            const char *file =
                arena_printf(&arena, "%s/%.*s", path, STR_ARG(folder.entries[i].name));

            if (file && folder.entries[i].is_file &&
                !str_ends(folder.entries[i].name, STR("-wal")) &&
                !str_ends(folder.entries[i].name, STR("-shm")))
                result = look(result, file);
        }
        folder_close(&folder);
    }
    arena_release(&arena);
    return result;
}

uint64_t shelf_stamp(const char *path)
{
    return each_file(path, stamp_one);
}

/* The newest time of a -wal, in seconds; 0: none. A run that was closed properly has
 * none, or an empty one if it was being read. */
static uint64_t newest_wal(uint64_t newest, const char *path)
{
    struct buf name = BUF_INIT;
    struct stat info;

    buf_printf(&name, "%s-wal", path);
    if (!name.bad && stat(name.at, &info) == 0 && info.st_size > 0 &&
        (uint64_t)info.st_mtime > newest)
        newest = (uint64_t)info.st_mtime;
    buf_release(&name);
    return newest;
}

/* ---- training runs ---- */

/* The text of a segment is "HOST PROCESS". */
int shelf_writer(struct history *history)
{
    struct history_segment *segments;
    char host[256] = "";
    struct arena arena;
    uint64_t number = 0;
    uint32_t n = 0;

    arena_init(&arena, 16 * MIB);
    gethostname(host, sizeof host - 1);
    if (history_read_segments(history, &arena, &segments, &n, NULL) == 0 && n > 0) {
        struct str text = segments[n - 1].text;
        ptrdiff_t blank = str_find_last_char(text, ' ');

        if (blank <= 0 || !str_is(str_head(text, (size_t)blank), host) ||
            !str_to_u64(str_from(text, (size_t)blank + 1), &number) ||
            number > INT32_MAX)
            number = 0;
    }
    arena_release(&arena);
    return (int)number;
}

void shelf_learn_training(struct shelf_item *item,
                          const struct history_summary *summary)
{
    struct export_shelf_file *facts = &item->facts;

    facts->steps = 0;
    facts->has_steps = false;
    for (int i = 0; i < HISTORY_PHASES; i++) {
        const struct history_phase_sum *phase = &summary->phases[i];

        facts->steps += phase->steps;
        if (phase->steps > 0 && (!facts->has_steps || phase->last > facts->newest)) {
            facts->newest = phase->last;
            facts->has_steps = true;
        }
    }
    facts->has_loss = summary->has_loss;
    facts->loss = summary->newest_loss;
    facts->alarms = history_summary_alarms(summary);
}

void shelf_learn_live(struct shelf_item *item)
{
    struct export_shelf_file *facts = &item->facts;
    uint64_t wal = facts->path ? each_file(facts->path, newest_wal) : 0;
    bool live = false;

    if (wal > 0 && item->writer > 0)
        live = kill(item->writer, 0) == 0 || errno == EPERM;
    else if (wal > 0)
        live = wal + RECENT > (uint64_t)time(NULL);
    facts->live = live;
    facts->ended = !live;
    facts->died = !live && wal > 0;
}

/* Reads the summary of a run again; call it without locks. */
static bool summarise(const char *path, struct history_summary *ret_summary,
                      int *ret_writer)
{
    struct history *history = history_open(path, NULL, NULL);
    bool fine = history && history_summarise(history, ret_summary, NULL) == 0;

    *ret_writer = fine ? shelf_writer(history) : 0;
    history_close(history);
    return fine;
}

static void look_at_run(struct shelf *shelf, struct shelf_item *item, const char *path,
                        uint64_t stamp)
{
    struct history_summary summary;
    int writer = 0;
    bool fine = summarise(path, &summary, &writer);

    pthread_mutex_lock(&shelf->lock);
    item->seen = stamp;
    if (fine) {
        item->writer = writer;
        shelf_learn_training(item, &summary);
    }
    shelf_learn_live(item);
    shelf_changed(shelf, item);
    pthread_mutex_unlock(&shelf->lock);
}

/* A writing process may have ended without a trace in the file. */
static void look_at_process(struct shelf *shelf, struct shelf_item *item)
{
    pthread_mutex_lock(&shelf->lock);
    if (item->facts.live) {
        shelf_learn_live(item);
        if (!item->facts.live)
            shelf_changed(shelf, item);
    }
    pthread_mutex_unlock(&shelf->lock);
}

/* The values of a live model change with its steps. */
static void look_at_owner(struct shelf *shelf, struct shelf_item *item)
{
    uint64_t steps;

    pthread_mutex_lock(&shelf->lock);
    steps = item->owner ? owner_steps(item->owner) : 0;
    if (steps != item->seen_steps)
        shelf_changed(shelf, item);
    item->seen_steps = steps;
    pthread_mutex_unlock(&shelf->lock);
}

/* Opens a file that the user named, so that the list of files can describe it, or show
 * why it cannot be opened. */
static void open_item(struct shelf *shelf, struct shelf_item *item)
{
    if (shelf_take(shelf, item, NULL, NULL))
        shelf_give(shelf, item);
}

/* Checks open files and all runs. */
static void look_at_item(struct shelf *shelf, struct shelf_item *item)
{
    const char *path;
    uint64_t stamp, seen;
    bool run, looks, pending;

    pthread_mutex_lock(&shelf->lock);
    path = item->facts.path;
    seen = item->seen;
    run = item->facts.has & SESSION_HISTORY;
    looks = path && (item->open || run);
    pending = path && item->asked && !item->facts.opened;
    pthread_mutex_unlock(&shelf->lock);
    if (pending) {
        open_item(shelf, item);
    } else if (!looks) {
        look_at_owner(shelf, item);
    }
    if (pending || !looks)
        return;
    stamp = shelf_stamp(path);
    if (stamp == seen) {
        look_at_process(shelf, item);
    } else if (run) {
        look_at_run(shelf, item, path, stamp);
    } else {
        pthread_mutex_lock(&shelf->lock);
        item->seen = stamp;
        shelf_changed(shelf, item);
        pthread_mutex_unlock(&shelf->lock);
    }
}

/* ---- folders ---- */

static struct export_shelf_file facts_of(const struct file_row *row)
{
    return (struct export_shelf_file){
        .file = row->name,
        .name = row->name,
        .path = row->path,
        .format = row->format,
        .kind = row->trained               ? "run"
                : row->has & SESSION_CALLS ? "recording"
                                           : "file",
        .why = row->state == FILE_TROUBLE ? row->why : NULL,
        .capsule = row->capsule,
        .opened = row->state != FILE_PENDING,
        .judged = row->state == FILE_JUDGED,
        .verdict = row->verdict,
        .has = row->has,
        .bytes = row->size,
        .params = row->params,
        .steps = row->steps,
        .has_loss = row->has_loss,
        .loss = row->loss,
    };
}

/* The lock is held. */
static void take_row(struct shelf *shelf, struct shelf_folder *folder,
                     const struct file_row *row)
{
    struct export_shelf_file facts = facts_of(row);
    struct shelf_item *item;

    if (row->number == folder->n) {
        if (arena_room(&shelf->arena, &folder->items, folder->n, &folder->room,
                       sizeof *folder->items) < 0)
            return;
        item = shelf_put(shelf, &facts);
        if (item)
            folder->items[folder->n++] = item->number;
        return;
    }
    if (row->number > folder->n)
        return;
    item = shelf->items[folder->items[row->number]];
    if (item->facts.opened || !facts.opened)
        return;
    facts.file = item->facts.file;
    facts.name = item->facts.name;
    facts.path = item->facts.path;
    facts.version = item->facts.version;
    item->facts = facts;
    shelf_changed(shelf, item);
}

static void look_at_folders(struct shelf *shelf)
{
    bool searching = false;

    for (uint32_t i = 0; i < shelf->n_folders; i++) {
        struct shelf_folder *folder = &shelf->folders[i];
        bool news = file_list_poll(folder->list);
        uint32_t n = file_list_n(folder->list);

        searching |= file_list_facts(folder->list).walking;
        pthread_mutex_lock(&shelf->lock);
        for (uint32_t k = 0; news && k < n; k++)
            take_row(shelf, folder, file_list_at(folder->list, k));
        pthread_mutex_unlock(&shelf->lock);
    }
    pthread_mutex_lock(&shelf->lock);
    shelf->searching = searching;
    pthread_mutex_unlock(&shelf->lock);
}

/* ---- the door ---- */

uint64_t shelf_news(struct shelf *shelf)
{
    uint64_t news;

    pthread_mutex_lock(&shelf->lock);
    news = shelf->news;
    pthread_mutex_unlock(&shelf->lock);
    return news;
}

static bool is_time(struct shelf *shelf)
{
    uint64_t now = clock_ns();
    bool due;

    pthread_mutex_lock(&shelf->lock);
    due = shelf->looked_ns == 0 || now - shelf->looked_ns >= LOOK_NS;
    if (due)
        shelf->looked_ns = now;
    pthread_mutex_unlock(&shelf->lock);
    return due;
}

uint64_t shelf_look(struct shelf *shelf)
{
    if (!is_time(shelf) || pthread_mutex_trylock(&shelf->looking) != 0)
        return shelf_news(shelf);
    look_at_folders(shelf);
    for (uint32_t i = 0;; i++) {
        struct shelf_item *item;

        pthread_mutex_lock(&shelf->lock);
        item = i < shelf->n ? shelf->items[i] : NULL;
        pthread_mutex_unlock(&shelf->lock);
        if (!item)
            break;
        look_at_item(shelf, item);
    }
    pthread_mutex_unlock(&shelf->looking);
    return shelf_news(shelf);
}
