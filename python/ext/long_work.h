/* long_work.h - work that takes a while, from Python: Ctrl-C stops it, and other
 * threads run meanwhile where what it reads allows that.
 *
 *     long_work_begin(&long_work, LONG_WORK_ALONE);
 *     session = session_open(path, &long_work.work, &err);
 *     if (!long_work_end(&long_work)) ... an exception is set: it was stopped
 *
 * No Python code runs in between, not even a signal's handler: it would find what is
 * being read half way. An interrupt is taken note of and handed on at the end. */
#ifndef EXT_LONG_WORK_H
#define EXT_LONG_WORK_H

#include "ext/ext.h"

#include "base/err.h"
#include "base/work.h"

enum long_work_lock {
    LONG_WORK_ALONE, /* it touches nothing of Python's: the lock is released */
    LONG_WORK_TURNS, /* likewise, but what it touches is not its own: one at a time */
    LONG_WORK_LOCKED /* it asks a live model: the lock is held */
};

struct long_work {
    struct work work;
    PyThreadState *thread; /* NULL: the lock is held */
    bool has_turn;
};

void long_work_begin(struct long_work *self, enum long_work_lock lock);
/* Open the file at a path of Python's (str, bytes, PathLike) by `open`, the lock
 * released; NULL: an exception is set. What was opened in vain is given to `close`. */
void *long_work_open(PyObject *path,
                     void *(*open)(const char *path, struct work *work,
                                   struct err *err),
                     void (*close)(void *opened));
/* The lock is held again. False: it was interrupted, and an exception is set. */
bool long_work_end(struct long_work *self);

#endif
