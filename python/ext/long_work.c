#include "ext/long_work.h"

#include <pthread.h>

/* Serialises LONG_WORK_TURNS. Taken only without the GIL, so that no thread waits for
 * this mutex while it holds the GIL. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* In a forked child the thread that held the mutex no longer exists. */
static void renew_turn(void)
{
    pthread_mutex_init(&turn, NULL);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, renew_turn);
}

static void take_turn(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&turn);
}

/* Progress callback, called at most every 50 ms. */
static void look_for_interrupt(struct work *work)
{
    struct long_work *self = work->user;
    bool released = self->thread != NULL;

    if (released)
        PyEval_RestoreThread(self->thread);
    if (PyOS_InterruptOccurred())
        atomic_store(&work->cancel, 1);
    if (released)
        self->thread = PyEval_SaveThread();
}

void long_work_begin(struct long_work *self, enum long_work_lock lock)
{
    work_init(&self->work);
    self->work.progress = look_for_interrupt;
    self->work.user = self;
    self->thread = lock == LONG_WORK_LOCKED ? NULL : PyEval_SaveThread();
    self->has_turn = lock == LONG_WORK_TURNS;
    if (self->has_turn)
        take_turn();
}

bool long_work_end(struct long_work *self)
{
    if (self->has_turn)
        pthread_mutex_unlock(&turn);
    if (self->thread)
        PyEval_RestoreThread(self->thread);
    self->thread = NULL;
    if (!atomic_load(&self->work.cancel))
        return true;
    /* Run Python's SIGINT handler. */
    PyErr_SetInterrupt();
    if (PyErr_CheckSignals() == 0)
        PyErr_SetNone(PyExc_KeyboardInterrupt);
    return false;
}

void *long_work_open(PyObject *path,
                     void *(*open)(const char *path, struct work *work,
                                   struct err *err),
                     void (*close)(void *opened))
{
    struct long_work long_work;
    struct err err = {0};
    const char *file;
    PyObject *bytes;
    void *opened;
    bool whole;

    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    file = PyBytes_AsString(bytes);
    long_work_begin(&long_work, LONG_WORK_ALONE);
    opened = open(file, &long_work.work, &err);
    whole = long_work_end(&long_work);
    Py_DECREF(bytes);
    if (whole && !opened)
        ext_raise(&err);
    if (whole || !opened)
        return opened;
    close(opened);
    return NULL;
}
