#include <stdlib.h>

#include "ext/record/recorder_in.h"

struct frames {
    struct stack **stacks; /* allocated one by one, so that they never move */
    uint32_t n, room;
    struct stack *last; /* the last one returned */
};

struct frames *frames_new(void)
{
    return calloc(1, sizeof(struct frames));
}

void frames_free(struct frames *frames)
{
    if (!frames)
        return;
    for (uint32_t i = 0; i < frames->n; i++) {
        free(frames->stacks[i]->frames);
        free(frames->stacks[i]->inputs);
        free(frames->stacks[i]);
    }
    free(frames->stacks);
    free(frames);
}

static struct stack *new_stack(struct frames *frames, unsigned long ident)
{
    struct stack *stack;

    if (!buf_grow_array(&frames->stacks, frames->n, &frames->room,
                        sizeof *frames->stacks))
        return NULL;
    stack = calloc(1, sizeof *stack);
    if (!stack)
        return NULL;
    stack->ident = ident;
    stack->number = frames->n;
    frames->stacks[frames->n++] = stack;
    return stack;
}

struct stack *frames_stack(struct frames *frames)
{
    unsigned long ident = PyThread_get_thread_ident();

    if (frames->last && frames->last->ident == ident)
        return frames->last;
    for (uint32_t i = 0; i < frames->n; i++)
        if (frames->stacks[i]->ident == ident)
            return frames->last = frames->stacks[i];
    return frames->last = new_stack(frames, ident);
}

uint32_t frames_count(const struct frames *frames)
{
    return frames->n;
}

struct stack *frames_at(const struct frames *frames, uint32_t number)
{
    return frames->stacks[number];
}

bool stack_push(struct stack *stack, const struct recorder_frame *frame)
{
    if (!buf_grow_array(&stack->frames, stack->n, &stack->room, sizeof *stack->frames))
        return false;
    stack->frames[stack->n] = *frame;
    stack->frames[stack->n++].inputs = stack->n_inputs;
    return true;
}

bool stack_add(struct stack *stack, const struct recorder_input *input)
{
    if (!buf_grow_array(&stack->inputs, stack->n_inputs, &stack->inputs_room,
                        sizeof *stack->inputs))
        return false;
    stack->inputs[stack->n_inputs++] = *input;
    return true;
}

uint32_t stack_find(const struct stack *stack, const void *module)
{
    for (uint32_t i = stack->n; i > 0; i--)
        if (stack->frames[i - 1].module == module)
            return i;
    return 0;
}

void stack_cut(struct stack *stack, uint32_t index)
{
    if (index >= stack->n)
        return;
    stack->n_inputs = stack->frames[index].inputs;
    stack->n = index;
}
