#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "model/build.h"

/* The guess for a module with this name and these tensors: "conv in=3 out=64". */
struct given {
    const char *name;
    int64_t shape[5];
    int rank;
};

static void add(struct build *b, uint32_t parent, const struct given *given)
{
    struct tensor tensor = {
        .dtype = DTYPE_FLOAT32, .storage = NO_STORAGE, .class_id = NO_CLASS};
    uint32_t node = build_node(b, parent, PLACE_TENSOR, str_of(given->name));

    build_tensor(b, node, &tensor, given->shape, NULL, given->rank);
}

static const char *guess(const char *name, const struct given *given, int n)
{
    static struct buf text;
    struct build b;
    const struct model *model;
    const struct object *object;
    const struct value *args;
    const uint32_t *items;
    uint32_t parent;

    buf_clear(&text);
    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    build_set_flags(&b, 0, PLACE_STATE_DICT);
    parent = build_node(&b, 0, PLACE_MODULE, str_of(name));
    for (int i = 0; i < n; i++)
        add(&b, parent, &given[i]);
    b.guess = true;
    model = build_finish(&b, NULL);
    CHECK(model);
    object = place_object(model, 1);
    buf_str(&text, place_class(model, 1));
    if (object) {
        CHECK(object->guessed);
        args = value_at(&model->values, object->args);
        items = value_items(&model->values, object->args);
        for (uint32_t i = 0; i < args->n; i += 2)
            buf_printf(&text, " %.*s=%lld",
                       STR_ARG(value_text(&model->values, items[i])),
                       (long long)value_at(&model->values, items[i + 1])->integer);
    }
    model_free(model);
    build_release(&b);
    return buf_cstr(&text);
}

#define GUESS(name, ...)                                                               \
    guess(name, (const struct given[]){__VA_ARGS__},                                   \
          (int)COUNT_OF(((const struct given[]){__VA_ARGS__})))

TEST(layers_are_guessed_from_names_and_shapes)
{
    CHECK_STR(GUESS("conv1", {"weight", {64, 3, 7, 7}, 4}),
              "conv in=3 out=64 kernel_size=0");
    CHECK_STR(GUESS("up", {"weight", {64, 32, 2, 2}, 4}, {"bias", {32}, 1}),
              "convtranspose in=64 out=32 kernel_size=0");
    CHECK_STR(GUESS("fc", {"weight", {10, 84}, 2}, {"bias", {10}, 1}),
              "linear in=84 out=10");
    CHECK_STR(GUESS("c_attn", {"weight", {768, 2304}, 2}, {"bias", {2304}, 1}),
              "linear in=768 out=2304");
    CHECK_STR(GUESS("tok_embeddings", {"weight", {50257, 768}, 2}),
              "embedding num=50257 dim=768");
    CHECK_STR(GUESS("bn1", {"weight", {64}, 1}, {"running_mean", {64}, 1}),
              "batchnorm features=64");
    CHECK_STR(GUESS("ln_f", {"weight", {768}, 1}, {"bias", {768}, 1}),
              "layernorm features=768");
    CHECK_STR(GUESS("norm2", {"weight", {768}, 1}), "norm features=768");
    CHECK_STR(GUESS("rnn", {"weight_ih_l0", {40, 8}, 2}, {"weight_hh_l0", {40, 10}, 2},
                    {"weight_ih_l1", {40, 10}, 2}, {"weight_hh_l1", {40, 10}, 2}),
              "lstm in=8 hidden=10 layers=2");
    CHECK_STR(GUESS("rnn", {"weight_ih_l0", {30, 8}, 2}, {"weight_hh_l0", {30, 10}, 2}),
              "gru in=8 hidden=10 layers=1");
    CHECK_STR(GUESS("attn", {"in_proj_weight", {192, 64}, 2}), "attention dim=64");
}

TEST(other_modules_are_not_guessed_as_layers)
{
    CHECK_STR(GUESS("relu", {"alpha", {1}, 1}), "");
    CHECK_STR(GUESS("odd", {"weight", {0}, 0}), "");
    CHECK_STR(GUESS("spline", {"weight", {8, 8, 16}, 3}, {"bias", {9}, 1}), "");
    CHECK_STR(GUESS("table", {"weight", {8, 16}, 2}, {"bias", {9}, 1}), "");
    CHECK_STR(GUESS("rnn", {"weight_ih_l0", {7, 8}, 2}, {"weight_hh_l0", {7, 5}, 2}),
              "");
    CHECK_STR(GUESS("rnn", {"weight_ih_l0", {7}, 1}, {"weight_hh_l0", {0, 0}, 2}), "");
}

TEST(wrapper_prefixes_are_detected_only_if_all_names_have_them)
{
    struct build b;
    const struct model *model;
    uint32_t outer, inner;

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    build_set_flags(&b, 0, PLACE_STATE_DICT);
    outer = build_node(&b, 0, PLACE_MODULE, STR("_orig_mod"));
    inner = build_node(&b, outer, PLACE_MODULE, STR("module"));
    build_node(&b, inner, PLACE_MODULE, STR("fc"));
    build_node(&b, inner, PLACE_MODULE, STR("module"));
    b.guess = true;
    model = build_finish(&b, NULL);
    CHECK(model);
    CHECK(model->flags[1] & PLACE_PREFIX);
    CHECK(model->flags[2] & PLACE_PREFIX);
    CHECK(!(model->flags[4] & PLACE_PREFIX));
    model_free(model);
    build_release(&b);
}

TEST(two_lora_matrices_are_one_layer)
{
    CHECK_STR(
        GUESS("q_proj", {"lora_A.weight", {8, 64}, 2}, {"lora_B.weight", {96, 8}, 2}),
        "lora in=64 out=96 rank=8");
    CHECK_STR(GUESS("conv", {"lora_down.weight", {4, 3, 5, 5}, 4},
                    {"lora_up.weight", {16, 4, 1, 1}, 4}, {"alpha", {0}, 0}),
              "lora in=3 out=16 rank=4");
    CHECK_STR(
        GUESS("q", {"lora_A.x.weight", {8, 64}, 2}, {"lora_B.x.weight", {96, 4}, 2}),
        ""); /* no pair */
    CHECK_STR(GUESS("q", {"lora_A.weight", {8, 64}, 2}), "");
}

TEST(names_of_lora_matrices_do_not_become_modules)
{
    static const char *const names[][2] = {
        {"q.lora_A.weight", "lora_A.weight"},
        {"q.lora_up.default.weight", "lora_up.default.weight"},
        {"q.lora_A.a.b.weight", "weight"},
        {"q.lora_A.bias", "bias"},
        {"q.lora_A", "lora_A"},
        {"q.lora_Ax.weight", "weight"},
    };
    struct build b;
    struct str last;

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CHECK(build_dotted(&b, 0, str_of(names[i][0]), &last) != NO_PLACE);
        CHECK(str_is(last, names[i][1]));
    }
    build_release(&b);
}
