#include "study/slowest.h"

#include <stdlib.h>

static int by_self(const void *a, const void *b)
{
    const struct slow *x = a, *y = b;

    if (x->self_ns != y->self_ns)
        return x->self_ns > y->self_ns ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static void list_places(struct slow_list *list, const struct activities *activities,
                        const struct model *model)
{
    for (uint32_t place = 0; place < activities->n; place++) {
        const struct object *object = place_object(model, place);
        const struct activity *did = &activities->at[place];

        if (model->kind[place] == PLACE_MODULE && did->calls > 0)
            list->at[list->n++] =
                (struct slow){.place = place,
                              .class_id = object ? object->class_id : NO_CLASS,
                              .places = 1,
                              .calls = did->calls,
                              .self_ns = did->self_ns};
    }
    qsort(list->at, list->n, sizeof *list->at, by_self);
}

/* Modules of unknown class are summed after the last class. */
static void add_up_classes(struct slow_list *sums, const struct slow_list *list,
                           const struct model *model)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const struct slow *one = &list->at[i];
        uint32_t id =
            one->class_id < model->n_classes ? one->class_id : model->n_classes;
        struct slow *sum = &sums->at[id];

        if (sum->places == 0)
            *sum = (struct slow){.place = one->place, .class_id = one->class_id};
        sum->places++;
        sum->calls += one->calls;
        sum->self_ns += one->self_ns;
    }
    for (uint32_t i = 0; i <= model->n_classes; i++)
        if (sums->at[i].places > 0)
            sums->at[sums->n++] = sums->at[i];
    qsort(sums->at, sums->n, sizeof *sums->at, by_self);
}

int slowest_of(struct slow_list *ret_places, struct slow_list *ret_classes,
               const struct activities *activities, const struct model *model,
               struct arena *arena, struct err *err)
{
    struct slow_list list = {0}, sums = {0};

    list.at = arena_array(arena, (size_t)activities->n + 1, sizeof *list.at);
    sums.at = arena_array(arena, (size_t)model->n_classes + 1, sizeof *sums.at);
    if (!list.at || !sums.at)
        return arena_err(arena, "the list of slow modules", err);
    list_places(&list, activities, model);
    add_up_classes(&sums, &list, model);
    *ret_places = list;
    *ret_classes = sums;
    return 0;
}
