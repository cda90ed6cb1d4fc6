/* writer_in.h - a writer and its thread, for writer*.c and fade.c. */
#ifndef HISTORY_WRITER_IN_H
#define HISTORY_WRITER_IN_H

#include <pthread.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/live_file.h"
#include "base/map.h"
#include "history/sink.h"
#include "history/tables_in.h"
#include "history/writer.h"

/* A step on its way to the file. */
struct history_message {
    struct history_message *next;
    struct history_step step;
    struct history_point *points;
    struct history_scalar *scalars;
    struct history_alarm *alarms; /* of dropped steps too */
    struct history_note *notes;   /* likewise */
    uint32_t n_points, n_scalars, n_alarms, n_notes;
    uint32_t points_room, scalars_room, alarms_room, notes_room;
    struct buf blobs; /* histograms, in the order of points */
    struct buf texts; /* of alarms */
    struct buf note_texts;
    struct buf merged;          /* histograms of history_message_settle() */
    uint32_t n_shown;           /* alarms that a sink got with a dropped step */
    uint32_t n_series, n_names; /* declared so far */
    size_t bytes;
    bool bad; /* out of memory: the step is dropped */
};

enum history_select {                /* prepared statements of the thread */
                      SELECT_POINTS, /* ids from ?1 to ?2 */
                      SELECT_SCALARS,
                      DELETE_POINTS,
                      DELETE_SCALARS,
                      DELETE_STEP,
                      ASK_PAGES,
                      ASK_FREE,
                      ASK_SEGMENT,
                      HISTORY_SELECTS
};

struct history_chunk; /* fade.c */

struct history_writer {
    char *path;            /* as given, for messages; "" without a file */
    char *file, *wal_path; /* absolute, without links; NULL without a file */
    struct file_key key;
    unsigned forks; /* live_file_forks() of the process that may write */
    struct history_options options;

    /* Shared with the thread, under `lock`. */
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct arena arena; /* series and names */
    struct map by_key;  /* of series */
    struct history_series *series;
    uint32_t n_series, series_room;
    struct name_map names;
    struct history_message *first, **last; /* the queue */
    struct history_message *spare;
    uint32_t n_queued;
    size_t queued_bytes;
    uint32_t dropped; /* since the last step that went into the queue */
    bool busy, stop;
    const struct run *run; /* to be written into the file; NULL: none */
    struct source *code;
    struct err run_err; /* the result of that */
    struct history_state state;

    /* The step in the making, under `lock` too. */
    struct history_message *building;
    bool in_step;
    uint64_t alarms_left;

    struct history_sink *sinks; /* under `lock`; only added to */

    /* Of the thread alone. */
    pthread_t thread;
    sqlite3 *db; /* NULL without a file */
    sqlite3_stmt *insert[HISTORY_TABLES];
    sqlite3_stmt *select[HISTORY_SELECTS];
    bool wal;
    int64_t page;               /* bytes of a page */
    uint64_t base;              /* bytes size of the file when opened, without steps */
    struct history_step *steps; /* the rows in the file */
    uint32_t n_steps, steps_room;
    uint64_t n_logged;   /* id of the next step */
    uint64_t next_block; /* of points */
    int64_t next_alarm, next_note;
    uint32_t segment; /* of this writer */
    bool segment_written;
    uint32_t series_written, names_written;
    uint32_t lost; /* steps since the last one in the file */
    uint64_t retry_ns, wait_ns;
    uint64_t merged; /* pairs in the current transaction */
    struct history_chunk *chunk;
    struct buf scratch;
};

/* ---- writer.c ---- */
bool history_writer_mine(const struct history_writer *writer);
void history_message_free(struct history_message *message);
/* For the thread: waits for the next step and returns it; NULL: the thread should end.
 * Pass it to history_writer_done() afterwards. */
struct history_message *history_writer_take(struct history_writer *writer);
void history_writer_done(struct history_writer *writer,
                         struct history_message *message);

/* ---- writer_thread.c ---- */
void *history_writer_run(void *writer);
/* Reads the rows of steps and the counters of a new or continued file. */
int history_writer_load(struct history_writer *writer, struct err *err);
/* Reads the rows of steps again. */
int history_writer_load_steps(struct history_writer *writer, struct err *err);
uint64_t history_writer_bytes(const struct history_writer *writer);

/* Writes writer->run into the file, in a transaction. */
int history_writer_put_run(struct history_writer *writer, struct err *err);

/* ---- sink.c ---- */
/* Sorts points and scalars and merges those of one series or name. Call it once, after
 * texts and histograms were placed. */
void history_message_settle(struct history_message *message,
                            const struct history_codec *codec);
/* Passes a settled step to a sink. */
int history_message_give(struct history_writer *writer,
                         const struct history_message *message,
                         struct history_sink *sink, struct err *err);

/* ---- fade.c ---- */
struct history_chunk *history_chunk_new(void);
void history_chunk_free(struct history_chunk *chunk);
/* Merges old steps until `need` more bytes fit. Call it inside a transaction; if it
 * fails, load the steps again. */
int history_fade(struct history_writer *writer, uint64_t need);
/* The bytes that the limit leaves for the -wal while `need` bytes are written. */
uint64_t history_wal_room(const struct history_writer *writer, uint64_t need);

/* ---- place.c ---- */

/* A new name for a history in memory, on the heap; NULL: out of memory. */
char *history_memory_name(void);

/* Does WAL work there, that is, are all users of the file on this machine? False if
 * unsure. */
bool history_wal_works(const char *path);
bool history_wal_works_on(unsigned long type); /* f_type of statfs() */

#endif
