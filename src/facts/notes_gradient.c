/* Trainable parameters without gradient, one note per reason. */
#include "base/base.h"
#include "facts/notes.h"
#include "facts/op_words.h"
#include "rows/run_words.h"

#define MOST_NAMES 3
#define MOST_NOTES 12

static enum severity severity_of(const struct no_gradient *one)
{
    switch (one->why) {
    case NO_GRADIENT_INTACT:
        return SEVERITY_NOTE;
    case NO_GRADIENT_NOT_READ:
    case NO_GRADIENT_NOT_IN_LOSS:
        return SEVERITY_WARNING;
    default:
        return SEVERITY_ALARM;
    }
}

/* Do two parameters have the same reason? A region without autograd counts as one
 * reason, and so do all modules that were not called. */
static bool is_same(const struct no_gradient *a, const struct no_gradient *b)
{
    if (a->why != b->why)
        return false;
    return a->why == NO_GRADIENT_NO_GRAD || a->why == NO_GRADIENT_NOT_READ ||
           a->why == NO_GRADIENT_INTACT || a->op == b->op;
}

static bool was_called(const struct show *show, const struct no_gradient *one)
{
    uint32_t place = show->model->tensors[one->tensor].place;
    uint32_t above = show->model->parent[place];

    return above != NO_PLACE && show->model->kind[above] == PLACE_MODULE &&
           show->activity->at[above].calls > 0;
}

static void add_reason(struct facts *to, const struct show *show,
                       const struct no_gradient *one, bool several)
{
    switch (one->why) {
    case NO_GRADIENT_DETACHED:
        op_words(to, show, one->op);
        buf_text(&to->text, " cut the path");
        break;
    case NO_GRADIENT_NOT_SMOOTH:
        op_words(to, show, one->op);
        buf_text(&to->text, " is not differentiable");
        break;
    case NO_GRADIENT_NO_GRAD:
        op_words(to, show, one->op);
        buf_text(&to->text, " ran without autograd (no_grad)");
        break;
    case NO_GRADIENT_DATA:
        op_words(to, show, one->op);
        buf_text(&to->text, " read a tensor without its gradient (.data)");
        break;
    case NO_GRADIENT_NOT_IN_LOSS:
        buf_text(&to->text, "the loss does not depend on the result of ");
        op_words(to, show, one->op);
        break;
    case NO_GRADIENT_NOT_READ:
        buf_text(&to->text, several                 ? "no operation read them"
                            : was_called(show, one) ? "no operation read it"
                                                    : "its module was not called");
        break;
    default:
        buf_text(&to->text, "backward() was limited to other tensors, or a custom "
                            "function gave None");
        break;
    }
}

static void end_note(struct facts *to, const struct show *show,
                     const struct no_gradient *one)
{
    enum severity severity = severity_of(one);
    static const char *const labels[] = {[SEVERITY_NOTE] = "- gradient",
                                         [SEVERITY_WARNING] = "! gradient",
                                         [SEVERITY_ALARM] = "✗ gradient"};

    fact_end_as(to, "no_gradient", labels[severity], note_role(severity))->target =
        show->model->tensors[one->tensor].place;
}

/* "a.weight, a.bias and 3 more get no gradient: net.py:41 detach() in a cut the path".
 * The operation is the first one of the group. */
static void group_note(struct facts *to, const struct show *show, uint32_t first)
{
    const struct no_gradients *all = show->no_gradients;
    struct no_gradient earliest = all->at[first];
    uint32_t n = 0;

    for (uint32_t i = first; i < all->n; i++) {
        const struct no_gradient *one = &all->at[i];

        if (!is_same(&all->at[first], one))
            continue;
        if (one->op < earliest.op)
            earliest.op = one->op;
        if (n++ >= MOST_NAMES)
            continue;
        buf_text(&to->text, n > 1 ? ", " : "");
        fact_place(to, "parameter", show, show->model->tensors[one->tensor].place);
    }
    if (n > MOST_NAMES) {
        buf_text(&to->text, " and ");
        fact_count(to, "more", n - MOST_NAMES);
        buf_text(&to->text, " more");
    }
    buf_text(&to->text, n > 1 ? " get no gradient: " : " gets no gradient: ");
    add_reason(to, show, &earliest, n > 1);
    end_note(to, show, &all->at[first]);
}

static bool is_first(const struct no_gradients *all, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (is_same(&all->at[k], &all->at[i]))
            return false;
    return true;
}

void notes_no_gradient(struct facts *to, const struct show *show)
{
    const struct no_gradients *all = show->no_gradients;
    uint32_t notes = 0;

    if (!all)
        return;
    for (int severity = SEVERITY_ALARM; severity >= SEVERITY_NOTE; severity--)
        for (uint32_t i = 0; i < all->n && notes <= MOST_NOTES; i++) {
            if ((int)severity_of(&all->at[i]) != severity || !is_first(all, i))
                continue;
            if (notes++ < MOST_NOTES)
                group_note(to, show, i);
        }
    if (notes <= MOST_NOTES)
        return;
    buf_text(&to->text, "other parameters get no gradient: --json lists all ");
    fact_count(to, "parameters", all->n);
    fact_end_as(to, "no_gradient", "- gradient", COLOUR_DIM);
}

enum severity note_no_gradient(struct facts *to, const struct show *show,
                               uint32_t index)
{
    const struct no_gradient *one = &show->no_gradients->at[index];

    if (to) {
        fact_place(to, "parameter", show, show->model->tensors[one->tensor].place);
        buf_text(&to->text, " gets no gradient: ");
        add_reason(to, show, one, false);
        end_note(to, show, one);
    }
    return severity_of(one);
}

void notes_no_gradient_at(struct facts *to, const struct show *show, uint32_t place)
{
    const struct model *model = show->model;

    if (!show->no_gradients)
        return;
    for (uint32_t i = 0; i < show->no_gradients->n; i++) {
        uint32_t at = model->tensors[show->no_gradients->at[i].tensor].place;

        if (at == place || model->parent[at] == place)
            note_no_gradient(to, show, i);
    }
}

bool notes_gradient_alarmed(const struct show *show)
{
    for (uint32_t i = 0; show->no_gradients && i < show->no_gradients->n; i++)
        if (severity_of(&show->no_gradients->at[i]) == SEVERITY_ALARM)
            return true;
    return false;
}
