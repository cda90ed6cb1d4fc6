/* Assigns calls to steps. run.h defines a step.
 *
 * Steps are numbered while recording. At first each root call is a step. From the first
 * step() of an optimizer on, a step is a round in which every known optimizer stepped.
 * If another optimizer joins, all steps so far were parts of one step: `first` is its
 * number, which becomes 0 at the end. */
#include "run/trace_in.h"

/* Drops an optimizer that did not step while another stepped this often. */
#define PATIENCE 256u

static void drop(struct trace_steps *steps, uint32_t i)
{
    steps->optimizers[i] = steps->optimizers[--steps->n];
}

static struct trace_optimizer *find(struct trace_steps *steps, uint32_t number)
{
    for (uint32_t i = 0; i < steps->n; i++)
        if (steps->optimizers[i].number == number)
            return &steps->optimizers[i];
    return NULL;
}

/* Adds an optimizer; NULL: there are too many. */
static struct trace_optimizer *add(struct trace_steps *steps, uint32_t number)
{
    if (steps->n == TRACE_OPTIMIZERS)
        return NULL;
    if (!steps->by_optimizer ||
        (steps->n > 0 && steps->now - steps->first < PATIENCE)) {
        steps->first = steps->now;
        for (uint32_t i = 0; i < steps->n; i++)
            steps->optimizers[i].times = 1;
    }
    steps->by_optimizer = true;
    steps->optimizers[steps->n] = (struct trace_optimizer){.number = number};
    return &steps->optimizers[steps->n++];
}

/* If every optimizer stepped since the last round, begins the next one. */
static void close_round(struct trace_steps *steps)
{
    for (uint32_t i = 0; i < steps->n; i++)
        if (steps->optimizers[i].times == 0)
            return;
    for (uint32_t i = 0; i < steps->n; i++)
        steps->optimizers[i].times = 0;
    steps->now++;
}

void trace_stepped(struct trace *trace, uint32_t optimizer)
{
    struct trace_steps *steps = &trace->steps;
    struct trace_optimizer *found = find(steps, optimizer);

    if (!found)
        found = add(steps, optimizer);
    if (!found)
        return;
    if (++found->times > PATIENCE)
        for (uint32_t i = steps->n; i-- > 0;)
            if (steps->optimizers[i].times == 0)
                drop(steps, i);
    close_round(steps);
}

void trace_optimizer_gone(struct trace *trace, uint32_t optimizer)
{
    struct trace_optimizer *found = find(&trace->steps, optimizer);

    if (found)
        drop(&trace->steps, (uint32_t)(found - trace->steps.optimizers));
}

void trace_root_begins(struct trace_steps *steps)
{
    if (!steps->by_optimizer)
        steps->now = steps->passes;
    steps->passes++;
}

static uint32_t final_step(const struct trace_steps *steps, uint32_t step)
{
    return step > steps->first ? step - steps->first : 0;
}

void trace_number_steps(const struct trace_steps *steps, struct run *run)
{
    run->passes = steps->passes;
    for (uint32_t i = 0; i < run->n_calls; i++)
        run->calls[i].step = final_step(steps, run->calls[i].step);
    for (uint32_t i = 0; i < run->n_params; i++)
        run->params[i].step = final_step(steps, run->params[i].step);
    for (uint32_t i = 0; run->ops && i < run->ops->n_ops; i++)
        run->ops->ops[i].step = final_step(steps, run->ops->ops[i].step);
}
