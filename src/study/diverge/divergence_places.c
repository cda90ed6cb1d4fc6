#include "study/diverge/divergence_in.h"

static void add_sum(struct divergence_sum *to, const struct divergence_sum *from)
{
    to->results += from->results;
    to->beyond += from->beyond;
    to->first |= from->first;
    if (from->farthest > to->farthest)
        to->farthest = from->farthest;
}

int diverging_sums(struct diverging *d)
{
    struct divergence *divergence = d->divergence;
    const struct model *model = d->run[0]->model;

    divergence->sums =
        arena_array(d->arena, (size_t)model->n_places + 1, sizeof *divergence->sums);
    if (!divergence->sums)
        return -1;
    for (uint32_t i = 0; i < divergence->n_results; i++) {
        const struct divergence_result *result = &divergence->results[i];
        uint32_t place = result->place[0] < model->n_places ? result->place[0] : 0;
        struct divergence_sum one = {.results = 1,
                                     .beyond = result->beyond,
                                     .farthest =
                                         result->beyond ? result->by.distance : 0,
                                     .first = i == divergence->first};

        add_sum(&divergence->sums[place], &one);
    }
    for (uint32_t place = model->n_places; place-- > 1;)
        add_sum(&divergence->sums[model->parent[place]], &divergence->sums[place]);
    return 0;
}

const struct divergence_sum *divergence_at(const struct divergence *divergence,
                                           const struct diff *diff, uint32_t node)
{
    uint32_t place = diff->nodes[node].left;

    return place == NO_PLACE ? NULL : &divergence->sums[place];
}
