#include "model/build.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"

static const int64_t six[2] = {2, 3};

/* A float32 tensor of shape (2, 3) in the storage. */
static uint32_t add(struct build *b, uint32_t parent, const char *name,
                    uint32_t storage, uint64_t offset)
{
    struct tensor tensor = {.dtype = DTYPE_FLOAT32,
                            .storage = storage,
                            .offset = offset,
                            .class_id = NO_CLASS};
    uint32_t node = build_node(b, parent, PLACE_TENSOR, str_of(name));

    return build_tensor(b, node, &tensor, six, NULL, 2);
}

static uint32_t add_storage(struct build *b, uint64_t bytes)
{
    struct storage storage = {.bytes = bytes, .dtype = DTYPE_FLOAT32};

    return build_storage(b, &storage);
}

static const char *path_of(const struct model *model, uint32_t place)
{
    static struct buf buf;

    buf_clear(&buf);
    place_path(model, place, &buf);
    return buf_cstr(&buf);
}

/* root: a.b.weight, c.bias, a.d.weight, added in that order. */
static const struct model *three_tensors(struct build *b)
{
    static const char *const names[] = {"a.b.weight", "c.bias", "a.d.weight"};
    struct str last;
    uint32_t parent;
    char name[16];

    CHECK(build_init(b, "x.pth", 0, NULL, NULL) == 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        parent = build_dotted(b, 0, str_of(names[i]), &last);
        memcpy(name, last.at, last.len);
        name[last.len] = 0;
        add(b, parent, name, add_storage(b, 24), 0);
    }
    return build_finish(b, NULL);
}

TEST(a_child_is_found_by_its_name_among_few_and_among_many)
{
    struct build b;
    uint32_t ids[3000], other;
    char name[16];
    bool again;

    CHECK(build_init(&b, "x.pth", 0, NULL, NULL) == 0);
    other = build_child(&b, 0, PLACE_MODULE, STR("other"));
    for (uint32_t i = 0; i < COUNT_OF(ids); i++) {
        snprintf(name, sizeof name, "%u", i);
        build_node(&b, other, PLACE_GROUP, str_of(name)); /* not in any list */
        ids[i] = build_child(&b, i % 3 ? 0 : other, PLACE_MODULE, str_of(name));
        CHECK_INT(ids[i], b.n_nodes - 1);
    }
    for (uint32_t i = 0; i < COUNT_OF(ids); i++) {
        snprintf(name, sizeof name, "%u", i);
        CHECK_INT(build_child(&b, i % 3 ? 0 : other, PLACE_MODULE, str_of(name)),
                  ids[i]);
        /* A leaf of that name is something else, until there are two of them. */
        CHECK(build_leaf(&b, 0, PLACE_TENSOR, str_of(name), &again) == b.n_nodes - 1);
        CHECK(!again);
        CHECK(build_leaf(&b, 0, PLACE_TENSOR, str_of(name), &again) == b.n_nodes - 1);
        CHECK(again);
    }
    build_release(&b);
}

TEST(the_name_of_a_storage_reads_back_unchanged)
{
    static const char *const names[] = {
        "data/0",
        "data/17",
        "data/007",
        "data/00",
        "",
        "42",
        "data/x",
        "94250219402912",
        "data/1e9",
        "data/4294967295",
        "data/1000000000000",
        "a name of a storage that is longer than most/12"};
    struct build b;

    CHECK(build_init(&b, "x.pth", 0, NULL, NULL) == 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct storage storage = {0};
        char text[STORAGE_NAME_MAX];

        CHECK(build_storage_name(&b, &storage, str_of(names[i])) == 0);
        CHECK(str_is(storage_name(b.model, &storage, text), names[i]));
    }
    build_release(&b);
}

TEST(storages_that_are_numbered_share_one_string)
{
    struct storage first = {0}, second = {0};
    struct build b;

    CHECK(build_init(&b, "x.pth", 0, NULL, NULL) == 0);
    CHECK(build_storage_name(&b, &first, STR("data/1")) == 0);
    CHECK(build_storage_name(&b, &second, STR("data/999999999")) == 0);
    CHECK(first.name == second.name && first.number != second.number);
    build_release(&b);
}

/* The names of the children of the root, from dotted names given as one text. */
static void children_of_names(const char *names, struct buf *to)
{
    struct str rest = str_of(names), name, last;
    const struct model *model;
    struct build b;
    char text[32];

    CHECK(build_init(&b, "x.pth", 0, NULL, NULL) == 0);
    while (str_split(&rest, ' ', &name)) {
        uint32_t parent = build_dotted(&b, 0, name, &last);

        snprintf(text, sizeof text, "%.*s", STR_ARG(last));
        add(&b, parent, text, add_storage(&b, 24), 0);
    }
    model = build_finish(&b, NULL);
    buf_clear(to);
    for (uint32_t p = 1; p < model->n_places; p = model->end[p])
        buf_printf(to, "%s%.*s", p > 1 ? " " : "", STR_ARG(place_name(model, p)));
    model_free(model);
    build_release(&b);
}

TEST(numbered_siblings_below_dotted_names_are_in_the_order_of_their_numbers)
{
    static const char *const names[][2] = {
        {"0.a 1.a 10.a 11.a 2.a", "0 1 2 10 11"},
        {"7.a 3.a 5.a", "3 5 7"},
        {"head 10.a norm.b 2.a 2.c tail", "head 2 norm 10 tail"},
        {"l_0.a l_1.a l_10.a l_2.a", "l_0 l_1 l_2 l_10"},
        {"l_0.a l_1.a l_10.a l_2.a l_9.a l_11.a", "l_0 l_1 l_2 l_9 l_10 l_11"},
        {"fc2.a fc1.a", "fc2 fc1"},
        {"conv1.a bn1.a conv2.a bn2.a", "conv1 bn1 conv2 bn2"},
        {"conv10.a bn1.a conv2.a", "conv2 bn1 conv10"},
        {"b.a a.a", "b a"},
        {"w0 w1 w10 w2", "w0 w1 w2 w10"},
        {"1111111111111111111.a 2.a 1.a", "1111111111111111111 1 2"},
    };
    struct buf got = BUF_INIT;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        children_of_names(names[i][0], &got);
        CHECK_STR(buf_cstr(&got), names[i][1]);
    }
    buf_release(&got);
}

TEST(registered_siblings_keep_their_order)
{
    const struct model *model;
    struct build b;

    CHECK(build_init(&b, "x.pth", 0, NULL, NULL) == 0);
    build_node(&b, 0, PLACE_MODULE, STR("10"));
    build_node(&b, 0, PLACE_MODULE, STR("2"));
    model = build_finish(&b, NULL);
    CHECK_STR(path_of(model, 1), "10");
    CHECK_STR(path_of(model, 2), "2");
    model_free(model);
    build_release(&b);
}

TEST(places_are_numbered_in_pre_order_for_any_order_of_nodes)
{
    static const char *const paths[] = {"",    "a",          "a.b", "a.b.weight",
                                        "a.d", "a.d.weight", "c",   "c.bias"};
    struct build b;
    const struct model *model = three_tensors(&b);

    CHECK_INT(model->n_places, 8);
    for (uint32_t p = 0; p < 8; p++) {
        CHECK_STR(path_of(model, p), paths[p]);
        CHECK_INT(place_find(model, str_of(paths[p])), p);
    }
    CHECK_INT(model->end[0], 8);
    CHECK_INT(model->end[1], 6);
    CHECK_INT(place_first(model, 1), 2);
    CHECK_INT(place_next(model, 2), 4);
    CHECK_INT(place_next(model, 4), NO_PLACE);
    CHECK_INT(place_first(model, 7), NO_PLACE);
    CHECK_INT(place_depth(model, 5), 3);
    CHECK_INT(place_find(model, STR("a.d.bias")), NO_PLACE);
    CHECK_INT(place_find(model, STR("a.")), NO_PLACE);
    model_free(model);
    build_release(&b);
}

TEST(a_copy_of_a_model_outlives_it)
{
    struct build b;
    const struct model *model = three_tensors(&b), *copy;

    CHECK(model != NULL);
    copy = model_copy(model);
    model_free(model);
    CHECK(copy != NULL && copy->n_places == 8);
    CHECK_STR(path_of(copy, 3), "a.b.weight");
    model_free(copy);
    build_release(&b);
}

TEST(a_truncated_storage_records_its_readable_bytes)
{
    static const uint64_t have[] = {24, 7, 0, 24, 23};
    struct storage storage;
    struct build b;

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    for (uint32_t i = 0; i < COUNT_OF(have); i++) {
        storage = (struct storage){.bytes = 24};
        CHECK_INT(build_storage_part(&b, &storage, have[i]), i);
    }
    for (uint32_t i = 0; i < COUNT_OF(have); i++)
        CHECK_INT(storage_have(b.model, &b.model->storages[i]), have[i]);
    CHECK_INT(b.model->n_parts, 2);
    build_release(&b);
}

/* Linear, ReLU, Linear, ...: a module, and on average one tensor, is two places. */
TEST(a_module_with_a_tensor_takes_152_bytes)
{
    enum { MODULES = 20000 };
    const struct model *model;
    struct build b;
    size_t bytes = 0;
    char name[16];

    CHECK_INT(sizeof(struct tensor), 48);
    CHECK_INT(sizeof(struct storage), 32);
    CHECK_INT(sizeof(struct object), 24);
    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    for (uint32_t i = 0; i < MODULES; i++) {
        uint32_t node;

        snprintf(name, sizeof name, "%u", 100000 + i);
        node = build_child(&b, 0, PLACE_MODULE, str_of(name));
        CHECK(build_object(&b, node) != NULL);
        for (int t = 0; t < 2 && i % 2 == 0; t++)
            add(&b, node, t ? "bias" : "weight", add_storage(&b, 24), 0);
    }
    model = build_finish(&b, NULL);
    CHECK_INT(model->n_places, 1 + 2 * MODULES);
    CHECK_INT(model->n_dims, 4);
    /* Arrays reserve up to twice of their content: count the content. */
    bytes += model->n_places * (4 * sizeof(uint32_t) + 2);
    bytes += model->n_objects * sizeof *model->objects;
    bytes += model->n_tensors * sizeof *model->tensors;
    bytes += model->n_storages * sizeof *model->storages;
    bytes += model->strings.n * sizeof *model->strings.at;
    bytes += (size_t)model->strings.n_pieces << 10;
    CHECK(bytes <= (MODULES + 100) * (size_t)152);
    CHECK(model->arena.used <= 2 * bytes);
    model_free(model);
    build_release(&b);
}

TEST(ordered_and_unordered_nodes_give_the_same_tree)
{
    const struct model *models[2];
    struct build b;

    for (int late = 0; late < 2; late++) {
        uint32_t a, c;

        CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
        a = build_node(&b, 0, PLACE_GROUP, STR("a"));
        if (!late)
            build_node(&b, a, PLACE_VALUE, STR("b"));
        c = build_node(&b, 0, PLACE_MODULE, STR("c"));
        build_node(&b, build_node(&b, c, PLACE_GROUP, STR("d")), PLACE_VALUE, STR("e"));
        build_set_flags(&b, c, PLACE_PREFIX);
        if (late)
            build_node(&b, a, PLACE_VALUE, STR("b"));
        models[late] = build_finish(&b, NULL);
        build_release(&b);
    }
    CHECK_INT(models[0]->n_places, 6);
    CHECK_MEM(models[0]->parent, models[1]->parent, 6 * sizeof(uint32_t));
    CHECK_MEM(models[0]->end, models[1]->end, 6 * sizeof(uint32_t));
    CHECK_MEM(models[0]->kind, models[1]->kind, 6);
    CHECK_MEM(models[0]->flags, models[1]->flags, 6);
    for (uint32_t p = 0; p < 6; p++)
        CHECK(str_eq(place_name(models[0], p), place_name(models[1], p)));
    model_free(models[0]);
    model_free(models[1]);
}

TEST(a_name_below_the_only_state_dict_is_found_without_its_prefix)
{
    struct build b;
    const struct model *model;
    uint32_t dict, place;

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    dict = build_node(&b, 0, PLACE_GROUP, STR("state_dict"));
    build_set_flags(&b, dict, PLACE_STATE_DICT);
    add(&b, dict, "weight", add_storage(&b, 24), 0);
    model = build_finish(&b, NULL);
    place = place_find(model, STR("weight"));
    CHECK_STR(path_of(model, place), "state_dict.weight");
    model_free(model);
    build_release(&b);
}

TEST(keys_with_dots_are_found)
{
    struct build b;
    const struct model *model;
    uint32_t group;

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    group = build_node(&b, 0, PLACE_GROUP, STR("a"));
    build_node(&b, group, PLACE_VALUE, STR("b"));
    group = build_node(&b, 0, PLACE_GROUP, STR("a.b"));
    build_node(&b, group, PLACE_VALUE, STR("c"));
    model = build_finish(&b, NULL);
    CHECK_STR(path_of(model, place_find(model, STR("a.b.c"))), "a.b.c");
    model_free(model);
    build_release(&b);
}

TEST(the_same_elements_of_a_storage_are_one_tensor_and_others_are_not)
{
    struct build b;
    const struct model *model;
    uint32_t storage;

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    storage = add_storage(&b, 48);
    CHECK_INT(add(&b, 0, "first", storage, 0), 0);
    CHECK_INT(add(&b, 0, "view", storage, 6), 1);
    CHECK_INT(add(&b, 0, "again", storage, 0), 0);
    model = build_finish(&b, NULL);
    CHECK_INT(model->n_tensors, 2);
    CHECK_INT(model->tensors[0].places, 2);
    CHECK_INT(model->tensors[0].place, 1);
    CHECK_INT(tensor_next_place(model, 1), 3);
    CHECK_INT(tensor_next_place(model, 3), NO_PLACE);
    CHECK_INT(model->tensors[0].shape, model->tensors[1].shape);
    model_free(model);
    build_release(&b);
}

/* The flags of a tensor with these properties. */
static unsigned flags_of(uint64_t bytes, uint64_t offset, const int64_t *shape,
                         const int64_t *strides, int rank)
{
    struct tensor tensor = {
        .dtype = DTYPE_FLOAT32, .offset = offset, .class_id = NO_CLASS};
    struct build b;
    unsigned flags, findings;
    uint32_t node;

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    tensor.storage = add_storage(&b, bytes);
    node = build_node(&b, 0, PLACE_TENSOR, STR("t"));
    CHECK_INT(build_tensor(&b, node, &tensor, shape, strides, rank), 0);
    flags = b.model->tensors[0].flags;
    findings = b.model->n_findings;
    build_release(&b);
    CHECK_INT(findings, (flags & TENSOR_INVALID) ? 1 : 0);
    return flags;
}

TEST(a_tensor_beyond_its_storage_is_kept_but_marked)
{
    static const int64_t negative[2] = {2, -3}, huge[2] = {INT64_MAX, INT64_MAX},
                         zero[2] = {0, INT64_MAX}, wide[2] = {100, 1},
                         minus[2] = {3, -1}, expand[2] = {0, 0};
    static int64_t many[70];

    CHECK_INT(flags_of(24, 0, six, NULL, 2), 0);
    CHECK_INT(flags_of(23, 0, six, NULL, 2), TENSOR_INVALID);
    CHECK_INT(flags_of(24, 1, six, NULL, 2), TENSOR_INVALID);
    CHECK_INT(flags_of(28, 1, six, NULL, 2), 0);
    CHECK_INT(flags_of(24, (uint64_t)-1, six, NULL, 2), TENSOR_INVALID);
    CHECK_INT(flags_of(24, 0, negative, NULL, 2), TENSOR_INVALID);
    CHECK_INT(flags_of(24, 0, huge, NULL, 2), TENSOR_INVALID);
    CHECK_INT(flags_of(24, 0, zero, six, 2), 0);
    CHECK_INT(flags_of(24, 0, six, wide, 2), TENSOR_INVALID);
    CHECK_INT(flags_of(24, 0, six, huge, 2), TENSOR_INVALID);
    CHECK_INT(flags_of(24, 0, six, minus, 2), TENSOR_INVALID);
    CHECK_INT(flags_of(4, 0, six, expand, 2), 0);
    CHECK_INT(flags_of(4, 0, NULL, NULL, 0), 0);
    CHECK_INT(flags_of(4, 0, many, NULL, 70), TENSOR_INVALID);
}

TEST(a_shared_module_has_two_places_and_one_object)
{
    struct build b;
    const struct model *model;
    uint32_t first, again;

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    first = build_node(&b, 0, PLACE_MODULE, STR("encoder"));
    build_object(&b, first)->class_id = build_class(&b, STR("torch.nn.Linear"));
    again = build_node(&b, 0, PLACE_GROUP, STR("decoder"));
    CHECK(build_same(&b, again, first) == 0);
    model = build_finish(&b, NULL);
    CHECK_INT(model->object[1], model->object[2]);
    CHECK_INT(model->objects[0].place, 1);
    CHECK(model->kind[2] == PLACE_MODULE && (model->flags[2] & PLACE_AGAIN));
    CHECK(str_is(class_short(place_class(model, 2)), "Linear"));
    model_free(model);
    build_release(&b);
}

TEST(findings_follow_their_node_to_its_place)
{
    struct build b;
    const struct model *model;
    uint32_t a, c;

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    a = build_node(&b, 0, PLACE_GROUP, STR("a"));
    c = build_node(&b, 0, PLACE_GROUP, STR("c"));
    build_node(&b, a, PLACE_VALUE, STR("b"));
    build_finding(&b, FINDING_TRUNCATED, SEVERITY_ALARM, c, "cut at %d", 7);
    build_finding(&b, FINDING_TRAILING, SEVERITY_NOTE, FINDING_NOWHERE, "more");
    CHECK(b.model->partial);
    model = build_finish(&b, NULL);
    CHECK_STR(path_of(model, model->findings[0].place), "c");
    CHECK_STR(model->findings[0].text, "cut at 7");
    CHECK_INT(model->findings[1].place, FINDING_NOWHERE);
    model_free(model);
    build_release(&b);
}

TEST(a_build_that_runs_out_of_memory_still_gives_a_partial_model)
{
    struct build b;
    const struct model *model;
    uint32_t node = 0;
    char name[16];

    CHECK(build_init(&b, "x", 256 * KIB, NULL, NULL) == 0);
    for (int i = 0; i < 100000 && node != NO_PLACE; i++) {
        snprintf(name, sizeof name, "n%d", i);
        node = build_node(&b, 0, PLACE_VALUE, str_of(name));
    }
    CHECK_INT(node, NO_PLACE);
    model = build_finish(&b, NULL);
    CHECK(model && model->partial && model->n_places > 100);
    model_free(model);
    build_release(&b);
}

TEST(unreadable_values_have_a_reason)
{
    struct build b;
    const struct model *model = three_tensors(&b);
    const char *why = NULL;

    CHECK(!tensor_readable(model, &model->tensors[0], &why));
    CHECK_STR(why, "no data in this file");
    model_free(model);
    build_release(&b);
}

TEST(dtypes_are_found_by_all_their_names)
{
    bool untyped = false;
    uint64_t bytes;

    CHECK(dtype_by_name(STR("torch.float8_e4m3fn")) == DTYPE_FLOAT8_E4M3FN);
    CHECK(dtype_by_name(STR("half")) == DTYPE_FLOAT16);
    CHECK(dtype_by_name(STR("float33")) == DTYPE_UNKNOWN);
    CHECK(dtype_by_storage_class(STR("torch.cuda.HalfStorage"), NULL) == DTYPE_FLOAT16);
    CHECK(dtype_by_storage_class(STR("torch.storage.UntypedStorage"), &untyped) ==
          DTYPE_UNKNOWN);
    CHECK(untyped);
    CHECK(dtype_by_safetensors(STR("F8_E5M2")) == DTYPE_FLOAT8_E5M2);
    for (int d = DTYPE_UNKNOWN + 1; d < DTYPE_COUNT; d++)
        CHECK(dtype_by_name(str_of(dtype_name((enum dtype)d))) == (enum dtype)d);
    CHECK(dtype_size(DTYPE_QUINT4X2, 3, &bytes) && bytes == 2);
    CHECK(dtype_size(DTYPE_FLOAT6_E2M3, 8, &bytes) && bytes == 6);
    CHECK(!dtype_size(DTYPE_FLOAT64, UINT64_MAX / 4, &bytes));
    CHECK(!dtype_size(DTYPE_UNKNOWN, 1, &bytes));
}

TEST(the_place_of_a_tensor_that_does_not_fit_in_memory_has_no_tensor)
{
    const struct model *model;
    struct build b;
    uint32_t place;

    CHECK(build_init(&b, "x.pth", 0, NULL, NULL) == 0);
    add(&b, 0, "weight", add_storage(&b, 24), 0);
    CHECK(build_node(&b, 0, PLACE_TENSOR, STR("bias")) != NO_PLACE);
    b.model->arena.spent = true; /* before the tensor of this node was added */
    b.guess = true;
    model = build_finish(&b, NULL);
    CHECK(model != NULL);
    place = place_find(model, STR("bias"));
    CHECK(place != NO_PLACE && model->kind[place] == PLACE_VALUE);
    CHECK(model->object[place] == VALUE_ID_NONE);
    CHECK(place_tensor(model, place_find(model, STR("weight"))) != NULL);
    model_free(model);
}
