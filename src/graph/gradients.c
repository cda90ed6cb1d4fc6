/* Splits gradients among the lines they flow back along (study/grad_paths.h). If a
 * value has several readers, its gradient is the sum of their contributions: y = f(x) +
 * x. */
#include <math.h>

#include "graph/parts_in.h"
#include "study/grad_paths.h"

/* The lines of one value from one box. */
struct fork {
    const struct grad_paths *paths;
    struct diagram *diagram;
    struct grad_reader *readers; /* space for all ends of a net */
    uint32_t *ends;              /* the end of each reader */
    double *shares;
};

/* Find the operation or call that reads the value at an end. False if no single one
 * sends a gradient back: an output, or several equal blocks. */
static bool find_reader(const struct diagram *diagram, uint32_t end,
                        struct grad_reader *ret_reader)
{
    const struct plan_end *of = &diagram->plan.ends[end];
    const struct diagram_box *box = &diagram->boxes[of->target];
    struct grad_reader reader = {RUN_NONE, RUN_NONE};

    if (of->target == diagram->plan.nets[of->net].group)
        return false;
    if (box->kind == DIAGRAM_MODULE)
        reader.call = box->call;
    else if (box->kind == DIAGRAM_OP || box->kind == DIAGRAM_VIEW)
        reader.op = box->op;
    *ret_reader = reader;
    return reader.call != RUN_NONE || reader.op != RUN_NONE;
}

/* Fill in the ends first .. first + n of a net, which carry one value. */
static void fill_ends(struct fork *fork, uint32_t first, uint32_t n)
{
    struct diagram_end *ends = fork->diagram->ends;
    uint32_t value = ends[first].value, n_readers = 0;

    for (uint32_t e = first; e < first + n; e++) {
        struct grad_reader reader;

        if (!find_reader(fork->diagram, e, &reader))
            continue;
        ends[e].gradient = grad_paths_l2(fork->paths, value, reader);
        fork->ends[n_readers] = e;
        fork->readers[n_readers++] = reader;
    }
    if (n_readers < 2)
        return;
    grad_paths_shares(fork->paths, value, fork->readers, n_readers, fork->shares);
    for (uint32_t i = 0; i < n_readers; i++)
        ends[fork->ends[i]].share = fork->shares[i];
}

static void fill_net(struct fork *fork, uint32_t n)
{
    const struct plan_net *net = &fork->diagram->plan.nets[n];
    const struct diagram_end *ends = fork->diagram->ends;
    uint32_t last = net->ends + net->n_ends, same;

    for (uint32_t e = net->ends; e < last; e += same) {
        uint32_t value = ends[e].value;

        for (same = 1; e + same < last && ends[e + same].value == value; same++)
            ;
        if (value >= fork->paths->n_values)
            continue;
        fill_ends(fork, e, same);
        if (same == net->n_ends)
            fork->diagram->nets[n].gradient = fork->paths->total[value];
    }
}

static int allocate(struct fork *fork, struct arena *scratch)
{
    uint32_t most = 0;

    for (uint32_t n = 0; n < fork->diagram->plan.n_nets; n++)
        if (fork->diagram->plan.nets[n].n_ends > most)
            most = fork->diagram->plan.nets[n].n_ends;
    fork->readers = arena_array(scratch, (size_t)most + 1, sizeof *fork->readers);
    fork->ends = arena_array(scratch, (size_t)most + 1, sizeof *fork->ends);
    fork->shares = arena_array(scratch, (size_t)most + 1, sizeof *fork->shares);
    return fork->readers && fork->ends && fork->shares ? 0 : -1;
}

int gradients_fill(struct diagram *diagram, struct arena *scratch, struct err *err)
{
    struct grad_paths paths;
    struct fork fork = {.paths = &paths, .diagram = diagram};

    if (!diagram->session->run)
        return 0;
    if (grad_paths_make(&paths, diagram->session->run, scratch, err) < 0)
        return -1;
    if (!paths.any)
        return 0;
    if (allocate(&fork, scratch) < 0)
        return arena_err(scratch, "the gradients of lines", err);
    for (uint32_t n = 0; n < diagram->plan.n_nets; n++)
        fill_net(&fork, n);
    return 0;
}
