#include "ext/long_work.h"

/* From within the work, at most every 50 ms. */
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
    self->thread = lock == LONG_WORK_ALONE ? PyEval_SaveThread() : NULL;
}

bool long_work_end(struct long_work *self)
{
    if (self->thread)
        PyEval_RestoreThread(self->thread);
    self->thread = NULL;
    if (!atomic_load(&self->work.cancel))
        return true;
    /* Python's own handler decides what becomes of it. */
    PyErr_SetInterrupt();
    if (PyErr_CheckSignals() == 0)
        PyErr_SetNone(PyExc_KeyboardInterrupt);
    return false;
}
