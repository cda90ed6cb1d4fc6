#include "study/counts.h"

#include <stdio.h>

#include "base/test.h"
#include "model/build.h"

static uint32_t add(struct build *b, uint32_t parent, const char *name,
                    enum dtype dtype, enum tensor_role role, const int64_t *shape,
                    int rank)
{
    struct storage storage = {.bytes = 1 << 20};
    struct tensor tensor = {.dtype = (uint8_t)dtype,
                            .role = (uint8_t)role,
                            .storage = build_storage(b, &storage),
                            .class_id = NO_CLASS};
    uint32_t node = build_node(b, parent, PLACE_TENSOR, str_of(name));

    build_tensor(b, node, &tensor, shape, NULL, rank);
    return node;
}

static const int64_t ten[1] = {10};

static const struct model *finish(struct build *b)
{
    const struct model *model = build_finish(b, NULL);

    CHECK(model);
    build_release(b);
    return model;
}

TEST(tied_parameters_are_counted_at_their_first_place)
{
    struct place_counts places;
    struct counts total;
    struct arena arena;
    const struct model *model;
    struct build b;
    uint32_t one, two, node;

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    one = build_node(&b, 0, PLACE_MODULE, STR("one"));
    two = build_node(&b, 0, PLACE_MODULE, STR("two"));
    node = add(&b, one, "w", DTYPE_FLOAT32, ROLE_PARAMETER, ten, 1);
    build_tensor_again(&b, build_node(&b, two, PLACE_TENSOR, STR("w")),
                       build_tensor_at(&b, node));
    model = finish(&b);
    arena_init(&arena, 0);
    counts_total(model, &total);
    CHECK(counts_places(model, &arena, &places, NULL) == 0);
    CHECK_INT(total.stored, 20);
    CHECK_INT(total.params, 10);
    CHECK_INT(total.bytes, 40);
    CHECK_INT(total.tensors, 2);
    CHECK_INT(total.param_tensors, 1);
    CHECK_INT(counts_params(&places, 0), 10);
    CHECK_INT(counts_params(&places, place_find(model, STR("one"))), 10);
    CHECK_INT(counts_params(&places, place_find(model, STR("two"))), 0);
    CHECK_INT(counts_tensors(&places, place_find(model, STR("two"))), 1);
    CHECK(!counts_here(model, place_find(model, STR("two.w"))));
    arena_release(&arena);
    model_free(model);
}

TEST(the_bytes_of_a_place_include_those_of_its_children)
{
    struct place_counts places;
    struct counts total;
    struct arena arena;
    const struct model *model;
    struct build b;
    uint32_t state, optimizer;

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    state = build_node(&b, 0, PLACE_GROUP, STR("state_dict"));
    optimizer = build_node(&b, 0, PLACE_GROUP, STR("optimizer"));
    add(&b, state, "w", DTYPE_FLOAT32, ROLE_PARAMETER, ten, 1);
    add(&b, optimizer, "m", DTYPE_FLOAT64, ROLE_STATE, ten, 1);
    model = finish(&b);
    arena_init(&arena, 0);
    counts_total(model, &total);
    CHECK(counts_places(model, &arena, &places, NULL) == 0);
    CHECK_INT(total.bytes, 40);
    CHECK_INT(total.other_bytes, 80);
    CHECK_INT(total.others, 10);
    CHECK_INT(counts_bytes(&places, 0), 40 + 80);
    CHECK_INT(counts_bytes(&places, place_find(model, STR("optimizer"))), 80);
    CHECK_INT(counts_params(&places, place_find(model, STR("optimizer"))), 0);
    arena_release(&arena);
    model_free(model);
}

TEST(a_sparse_parameter_counts_with_its_stored_values)
{
    static const int64_t wide[2] = {1000000, 1000000};
    static const int64_t indices[2] = {2, 10};
    struct tensor outer = {.dtype = DTYPE_FLOAT32,
                           .role = ROLE_PARAMETER,
                           .layout = LAYOUT_COO,
                           .flags = TENSOR_SHAPE_ONLY,
                           .storage = NO_STORAGE,
                           .class_id = NO_CLASS};
    struct counts total;
    const struct model *model;
    struct build b;
    uint32_t node;

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    node = build_node(&b, 0, PLACE_TENSOR, STR("w"));
    build_tensor(&b, node, &outer, wide, NULL, 2);
    add(&b, node, "indices", DTYPE_INT64, ROLE_PLAIN, indices, 2);
    add(&b, node, "values", DTYPE_FLOAT32, ROLE_PLAIN, ten, 1);
    model = finish(&b);
    counts_total(model, &total);
    CHECK_INT(total.params, 10);
    CHECK_INT(total.bytes, 160 + 40);
    CHECK_INT(total.other_bytes, 0);
    CHECK_INT(total.tensors, 1);
    model_free(model);
}

TEST(packed_elements_are_expanded_in_the_logical_count_only)
{
    struct counts total;
    const struct model *model;
    struct build b;

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    add(&b, 0, "w", DTYPE_FLOAT4_E2M1FN_X2, ROLE_PARAMETER, ten, 1);
    model = finish(&b);
    counts_total(model, &total);
    CHECK_INT(total.params, 10);
    CHECK_INT(total.logical, 20);
    CHECK_INT(total.bytes, 10);
    CHECK_INT(total.grad_known, 0);
    model_free(model);
}

/* Sums that do not fit stay at the top, and leave those beside them alone. */
TEST(the_sum_below_a_place_equals_the_sum_of_its_tensors)
{
    static const int64_t huge[1] = {INT64_MAX};
    struct place_counts places;
    struct arena arena;
    const struct model *model;
    struct build b;
    uint32_t few, many, top;
    char name[16];

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    few = build_node(&b, 0, PLACE_MODULE, STR("few"));
    many = build_node(&b, 0, PLACE_MODULE, STR("many"));
    top = build_node(&b, 0, PLACE_MODULE, STR("top"));
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "%d", i);
        add(&b, i % 10 ? many : few, name, DTYPE_FLOAT32, ROLE_PARAMETER, ten, 1);
    }
    for (int i = 0; i < 3; i++) {
        struct tensor tensor = {
            .dtype = DTYPE_UINT8, .storage = NO_STORAGE, .class_id = NO_CLASS};

        build_tensor(&b, build_node(&b, top, PLACE_TENSOR, STR("w")), &tensor, huge,
                     NULL, 1);
    }
    model = finish(&b);
    arena_init(&arena, 0);
    CHECK(counts_places(model, &arena, &places, NULL) == 0);
    CHECK_INT(counts_params(&places, place_find(model, STR("few"))), 100);
    CHECK_INT(counts_bytes(&places, place_find(model, STR("few"))), 400);
    CHECK_INT(counts_tensors(&places, place_find(model, STR("few"))), 10);
    CHECK_INT(counts_params(&places, place_find(model, STR("many"))), 900);
    CHECK_INT(counts_tensors(&places, 0), 103);
    CHECK(counts_params(&places, 0) == UINT64_MAX);
    CHECK(counts_params(&places, place_find(model, STR("top"))) == UINT64_MAX);
    CHECK(counts_params(&places, place_find(model, STR("top.w"))) == INT64_MAX);
    CHECK_INT(counts_params(&places, place_find(model, STR("many.99"))), 10);
    arena_release(&arena);
    model_free(model);
}
