/* Marks on nodes. A mark means that an edge of the node is a result or an argument
 * of a call. Marks are cheap; when a backward begins, grads_search.c puts hooks
 * where its gradients will cross the borders of calls. */
#include "ext/record/grads_in.h"

#include <stdlib.h>

#include "ext/torch/torch.h"

#define MARKS_LEAF 256 /* marks on one node before those of dead graphs are removed */

static bool is_made(const struct mark *mark)
{
    return mark->kind == RUN_GRAD_OUT && mark->handed == HANDED_NOT && !mark->base;
}

static bool is_waiting(const struct passage *passage)
{
    return !passage->parent && passage->results && !passage->met;
}

void passage_meet(struct grads *grads, struct passage *passage, uint32_t walk)
{
    grads->waiting_calls -= is_waiting(passage);
    passage->met = true;
    passage->walk = walk;
}

static void drop_mark(struct grads *grads, struct mark *mark)
{
    struct passage *passage = mark->passage;
    bool was_waiting = is_waiting(passage);

    passage->results -= is_made(mark);
    grads->waiting_calls -= was_waiting && !is_waiting(passage);
    window_drop(mark->window);
    window_drop(mark->view);
    passage_drop(passage);
}

void marks_free(struct hook *hook)
{
    for (uint32_t i = 0; i < hook->n_marks; i++)
        drop_mark(hook->grads, &hook->marks[i]);
    free(hook->marks);
}

/* A leaf's node may live as long as its tensor. Drops the marks of calls whose
 * results are gone. */
static void drop_dead(struct hook *hook)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < hook->n_marks; i++)
        if (hook->marks[i].passage->results == 0)
            drop_mark(hook->grads, &hook->marks[i]);
        else
            hook->marks[left++] = hook->marks[i];
    hook->n_marks = left;
}

static bool make_room(struct hook *hook)
{
    uint32_t room = hook->marks_room ? 2 * hook->marks_room : 2;
    struct mark *moved;

    if (hook->n_marks < hook->marks_room)
        return true;
    if (hook->n_marks >= MARKS_LEAF && !hook->grads->searches)
        drop_dead(hook);
    if (hook->n_marks < hook->marks_room / 2)
        return true;
    moved = realloc(hook->marks, room * sizeof *moved);
    if (!moved)
        return false;
    hook->marks = moved;
    hook->marks_room = room;
    return true;
}

bool mark_put(struct grads *grads, PyObject *node, const struct mark *mark)
{
    struct passage *passage = mark->passage;
    struct hook *hook = hook_need(grads, node, passage->maker);

    if (!hook || !make_room(hook))
        return false;
    if ((PyObject *)Py_TYPE(node) == torch_find()->accumulate)
        grads->leaves = true;
    if (mark->window)
        mark->window->users++;
    if (mark->view)
        mark->view->users++;
    passage->users++;
    if (is_made(mark) && passage->results++ == 0 && !passage->parent) {
        grads->waiting_calls++;
        grads->waiting_object = passage->object;
    }
    hook->marks[hook->n_marks++] = *mark;
    return true;
}

struct mark mark_of_base(const struct mark *mark, const struct grads_view *view)
{
    struct mark base = *mark;

    base.base = true;
    base.window = view->window;
    base.view = NULL;
    base.nr = view->base.nr;
    base.shared = view->shared;
    return base;
}
