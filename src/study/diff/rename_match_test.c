#include "study/diff/rename.h"

#include <stdio.h>

#include "base/test.h"

/* Two lists of names with shapes, which a test fills. */
#define MOST 400
struct lists {
    struct arena arena;
    struct rename_item items[2][MOST];
    uint32_t n[2];
    struct buf text;
};

static void lists_init(struct lists *lists)
{
    *lists = (struct lists){0};
    arena_init(&lists->arena, 0);
}

static void lists_release(struct lists *lists)
{
    buf_release(&lists->text);
    arena_release(&lists->arena);
}

static void add_name(struct lists *lists, int side, const char *name, uint64_t shape)
{
    CHECK(lists->n[side] < MOST);
    lists->items[side][lists->n[side]++] = (struct rename_item){
        arena_str(&lists->arena, str_of(name)), shape, RENAME_NONE};
}

#define SHAPE(a, b) ((uint64_t)(a) << 32 | (b))

/* A linear layer: weight (out, in) and bias (out). */
static void add_linear(struct lists *lists, int side, const char *name, unsigned out,
                       unsigned in)
{
    char text[128];

    snprintf(text, sizeof text, "%s.weight", name);
    add_name(lists, side, text, SHAPE(out, in));
    snprintf(text, sizeof text, "%s.bias", name);
    add_name(lists, side, text, SHAPE(out, 0));
}

static void add_norm(struct lists *lists, int side, const char *name, unsigned n)
{
    add_linear(lists, side, name, n, 0);
}

/* Match, check both sides against each other, and say what was matched to what. */
static const char *match(struct lists *lists)
{
    uint32_t i;

    CHECK(rename_match(lists->items[0], lists->n[0], lists->items[1], lists->n[1],
                       &lists->arena, NULL) == 0);
    buf_clear(&lists->text);
    for (i = 0; i < lists->n[0]; i++) {
        const struct rename_item *item = &lists->items[0][i];

        if (item->match == RENAME_NONE)
            continue;
        CHECK(item->match < lists->n[1]);
        CHECK_INT(lists->items[1][item->match].match, i);
        CHECK(lists->items[1][item->match].shape == item->shape);
        buf_printf(&lists->text, "%.*s = %.*s\n", STR_ARG(item->name),
                   STR_ARG(lists->items[1][item->match].name));
    }
    for (i = 0; i < lists->n[1]; i++)
        if (lists->items[1][i].match != RENAME_NONE)
            CHECK_INT(lists->items[0][lists->items[1][i].match].match, i);
    return buf_cstr(&lists->text);
}

static uint32_t count(const struct lists *lists)
{
    uint32_t i, n = 0;

    for (i = 0; i < lists->n[0]; i++)
        n += lists->items[0][i].match != RENAME_NONE;
    return n;
}

/* What a tensor of the left is, or "". */
static const char *is(const struct lists *lists, const char *name)
{
    uint32_t i;

    for (i = 0; i < lists->n[0]; i++)
        if (str_is(lists->items[0][i].name, name) &&
            lists->items[0][i].match != RENAME_NONE)
            return lists->items[1][lists->items[0][i].match].name.at;
    return "";
}

struct words {
    const char *embed, *block, *norm1, *qkv, *proj, *norm2, *up, *down, *norm, *head;
};

static const struct words gpt2 = {
    "transformer.wte", "transformer.h.%d", "ln_1",
    "attn.c_attn",     "attn.c_proj",      "ln_2",
    "mlp.c_fc",        "mlp.c_proj",       "transformer.ln_f",
    "lm_head"};
static const struct words nano = {"tok_emb",  "blocks.%d", "norm1",   "attn.qkv",
                                  "attn.out", "norm2",     "mlp.fc1", "mlp.fc2",
                                  "norm",     "head"};

static void add_block(struct lists *lists, int side, const struct words *words,
                      unsigned width, int i)
{
    const char *parts[6] = {words->norm1, words->qkv, words->proj,
                            words->norm2, words->up,  words->down};
    const unsigned out[6] = {width, 3 * width, width, width, 4 * width, width};
    const unsigned in[6] = {0, width, width, 0, width, 4 * width};
    char name[128];
    int j, at;

    for (j = 0; j < 6; j++) {
        const char *hole = strstr(words->block, "%d");

        at = snprintf(name, sizeof name, "%.*s%d%s", (int)(hole - words->block),
                      words->block, i, hole + 2);
        snprintf(name + at, sizeof name - (size_t)at, ".%s", parts[j]);
        add_linear(lists, side, name, out[j], in[j]);
    }
}

static void add_gpt(struct lists *lists, int side, const struct words *words,
                    unsigned width, int blocks)
{
    char name[64];
    int i;

    snprintf(name, sizeof name, "%s.weight", words->embed);
    add_name(lists, side, name, SHAPE(50257, width));
    for (i = 0; i < blocks; i++)
        add_block(lists, side, words, width, i);
    add_norm(lists, side, words->norm, width);
}

TEST(a_gpt_is_found_under_other_names)
{
    struct lists lists;

    lists_init(&lists);
    add_gpt(&lists, 0, &gpt2, 768, 12);
    add_gpt(&lists, 1, &nano, 768, 12);
    match(&lists);
    CHECK_STR(is(&lists, "transformer.h.3.attn.c_attn.weight"),
              "blocks.3.attn.qkv.weight");
    CHECK_STR(is(&lists, "transformer.h.11.ln_2.bias"), "blocks.11.norm2.bias");
    CHECK_STR(is(&lists, "transformer.wte.weight"), "tok_emb.weight");
    CHECK_STR(is(&lists, "transformer.ln_f.bias"), "norm.bias");
    CHECK_INT(count(&lists), lists.n[0]);
    lists_release(&lists);
}

TEST(of_a_deeper_model_the_same_blocks_are_matched)
{
    struct lists lists;

    lists_init(&lists);
    add_gpt(&lists, 0, &gpt2, 768, 6);
    add_gpt(&lists, 1, &nano, 768, 8);
    match(&lists);
    CHECK_STR(is(&lists, "transformer.h.3.attn.c_attn.weight"),
              "blocks.3.attn.qkv.weight");
    CHECK_STR(is(&lists, "transformer.h.5.mlp.c_proj.bias"), "blocks.5.mlp.fc2.bias");
    lists_release(&lists);
}

TEST(what_is_matched_shows_the_way)
{
    struct lists lists;
    uint32_t i;

    lists_init(&lists);
    add_gpt(&lists, 0, &gpt2, 768, 4);
    add_gpt(&lists, 1, &nano, 768, 4);
    for (i = 1; i < 25; i++) {
        lists.items[0][i].match = i;
        lists.items[1][i].match = i;
    }
    match(&lists);
    CHECK_INT(count(&lists), lists.n[0]);
    CHECK_STR(is(&lists, "transformer.h.3.ln_1.weight"), "blocks.3.norm1.weight");
    lists_release(&lists);
}

TEST(a_name_that_leads_to_another_shape_is_not_matched)
{
    struct lists lists;

    lists_init(&lists);
    add_gpt(&lists, 0, &gpt2, 768, 12);
    add_gpt(&lists, 1, &nano, 768, 12);
    lists.items[1][30].shape = 1; /* in the third block */
    match(&lists);
    CHECK_INT(lists.items[0][30].match, RENAME_NONE);
    /* Nor is the last norm: its bias might be that one. */
    CHECK_INT(count(&lists), lists.n[0] - 3);
    lists_release(&lists);
}

static void add_mlp(struct lists *lists, int side, const char *const *names, int n)
{
    int i;

    for (i = 0; i < n; i++)
        add_linear(lists, side, names[i], 64, 64);
}

TEST(equal_layers_are_matched_only_if_names_tell)
{
    static const char *const layers[] = {"layers.0", "layers.1", "layers.2",
                                         "layers.3"};
    static const char *const net[] = {"net.0", "net.1", "net.2", "net.3"};
    static const char *const words[] = {"first", "hidden", "other", "out"};
    static const char *const steps[] = {"net.0", "net.2", "net.4", "net.6"};
    struct lists lists;

    lists_init(&lists);
    add_mlp(&lists, 0, layers, 4);
    add_mlp(&lists, 1, net, 4);
    match(&lists);
    CHECK_INT(count(&lists), 8);
    CHECK_STR(is(&lists, "layers.2.bias"), "net.2.bias");
    lists_release(&lists);

    lists_init(&lists);
    add_mlp(&lists, 0, words, 4);
    add_mlp(&lists, 1, net, 4);
    CHECK_STR(match(&lists), "");
    lists_release(&lists);

    lists_init(&lists);
    add_mlp(&lists, 0, layers, 4);
    add_mlp(&lists, 1, steps, 4);
    CHECK_STR(match(&lists), "");
    lists_release(&lists);
}

/* Three projections of one shape in each of n blocks. */
static void add_attention(struct lists *lists, int side, const char *block,
                          const char *const *names, int n)
{
    char name[64];
    int i, j;

    add_name(lists, side, side ? "embed.weight" : "embeddings.weight", SHAPE(1000, 64));
    for (i = 0; i < n; i++)
        for (j = 0; j < 3; j++) {
            snprintf(name, sizeof name, "%s.%d.%s", block, i, names[j]);
            add_linear(lists, side, name, 64, 64);
        }
}

TEST(query_key_and_value_are_not_mixed_up)
{
    static const char *const full[] = {"query", "key", "value"};
    static const char *const letters[] = {"q_proj", "k_proj", "v_proj"};
    static const char *const other_order[] = {"k_proj", "q_proj", "v_proj"};
    static const char *const nothing[] = {"first", "second", "third"};
    struct lists lists;

    lists_init(&lists);
    add_attention(&lists, 0, "layer", full, 4);
    add_attention(&lists, 1, "layers", letters, 4);
    match(&lists);
    CHECK_STR(is(&lists, "layer.2.key.weight"), "layers.2.k_proj.weight");
    CHECK_INT(count(&lists), 25);
    lists_release(&lists);

    lists_init(&lists);
    add_attention(&lists, 0, "layer", full, 4);
    add_attention(&lists, 1, "layers", other_order, 4);
    match(&lists);
    CHECK_STR(is(&lists, "layer.2.key.weight"), "");
    CHECK_STR(is(&lists, "layer.2.query.weight"), "");
    lists_release(&lists);

    lists_init(&lists);
    add_attention(&lists, 0, "layer", full, 4);
    add_attention(&lists, 1, "layers", nothing, 4);
    match(&lists);
    CHECK_STR(is(&lists, "layer.2.key.weight"), "");
    lists_release(&lists);
}

TEST(unrelated_models_have_nothing_in_common)
{
    struct lists lists;
    char name[64];
    int i;

    lists_init(&lists);
    add_gpt(&lists, 0, &gpt2, 64, 6);
    for (i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "features.%d.conv", i);
        add_name(&lists, 1, name, SHAPE(64 << (i / 3), 9000 + i));
        snprintf(name, sizeof name, "features.%d.bn", i);
        add_norm(&lists, 1, name, 64u << (i / 3));
    }
    add_linear(&lists, 1, "classifier.0", 256, 64);
    add_linear(&lists, 1, "classifier.3", 64, 256);
    CHECK_STR(match(&lists), "");
    lists_release(&lists);
}

TEST(a_head_of_its_own_shape_finds_its_new_name)
{
    struct lists lists;
    int i;
    char name[64];

    lists_init(&lists);
    for (i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "blocks.%d.fc", i);
        add_linear(&lists, 0, name, 64, 64);
        add_linear(&lists, 1, name, 64, 64);
    }
    add_linear(&lists, 0, "fc", 10, 64);
    add_linear(&lists, 1, "head", 10, 64);
    add_linear(&lists, 0, "old", 10, 3);
    match(&lists);
    CHECK_STR(is(&lists, "blocks.2.fc.bias"), "blocks.2.fc.bias");
    CHECK_STR(is(&lists, "fc.weight"), "");
    lists.n[0] -= 2; /* now the bias has no rival */
    match(&lists);
    CHECK_STR(is(&lists, "fc.weight"), "head.weight");
    CHECK_STR(is(&lists, "fc.bias"), "head.bias");
    lists_release(&lists);
}

TEST(what_came_elsewhere_is_not_what_went)
{
    struct lists lists;

    lists_init(&lists);
    add_linear(&lists, 0, "a", 4, 4);
    add_linear(&lists, 0, "b", 4, 4);
    add_linear(&lists, 0, "c", 4, 4);
    add_linear(&lists, 1, "a", 4, 4);
    add_linear(&lists, 1, "c", 4, 4);
    add_linear(&lists, 1, "d", 4, 4);
    match(&lists);
    CHECK_INT(count(&lists), 4);
    CHECK_STR(is(&lists, "b.weight"), "");
    lists_release(&lists);
}

TEST(empty_lists_match_nothing)
{
    struct lists lists;

    lists_init(&lists);
    CHECK_STR(match(&lists), "");
    add_name(&lists, 0, "", 1);
    CHECK_STR(match(&lists), "");
    add_name(&lists, 1, "", 1);
    match(&lists);
    CHECK_INT(count(&lists), 1);
    lists_release(&lists);
}
