/* long_work.h - long work called from Python: Ctrl-C stops it, and other threads run
 * meanwhile if the data it reads allows that.
 *
 *     long_work_begin(&long_work, LONG_WORK_ALONE);
 *     session = session_open(path, &long_work.work, &err);
 *     if (!long_work_end(&long_work)) ... an exception is set: it was stopped
 *
 * No Python code runs in between, not even a signal handler: it would see half-read
 * data. An interrupt is remembered and raised at the end. */
#ifndef EXT_LONG_WORK_H
#define EXT_LONG_WORK_H

#include "ext/ext.h"

#include "base/err.h"
#include "base/work.h"

enum long_work_lock {
    LONG_WORK_ALONE, /* touches no Python objects: releases the GIL */
    LONG_WORK_TURNS, /* likewise, but uses shared data: one thread at a time */
    LONG_WORK_LOCKED /* reads a live model: holds the GIL */
};

struct long_work {
    struct work work;
    PyThreadState *thread; /* NULL: the GIL is held */
    bool has_turn;
};

void long_work_begin(struct long_work *self, enum long_work_lock lock);
/* Opens the file at `path` (str, bytes, PathLike) with `open`, without the GIL. NULL:
 * an exception is set. After an interrupt the opened file is passed to `close`. */
void *long_work_open(PyObject *path,
                     void *(*open)(const char *path, struct work *work,
                                   struct err *err),
                     void (*close)(void *opened));
/* Acquires the GIL again. False: interrupted, and an exception is set. */
bool long_work_end(struct long_work *self);

#endif
