#include "study/diff/rename.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"

/* Pairs of names that a test gathers, and the rules found for them, as text. */
struct puzzle {
    struct arena arena;
    struct rename_pair *pairs;
    uint32_t n, room;
    struct rename_rules rules;
    struct buf text;
};

static void puzzle_init(struct puzzle *puzzle)
{
    *puzzle = (struct puzzle){0};
    arena_init(&puzzle->arena, 0);
}

static void puzzle_release(struct puzzle *puzzle)
{
    buf_release(&puzzle->text);
    arena_release(&puzzle->arena);
}

static void add_strs(struct puzzle *puzzle, struct str from, struct str to)
{
    CHECK(arena_room(&puzzle->arena, &puzzle->pairs, puzzle->n, &puzzle->room,
                     sizeof *puzzle->pairs) == 0);
    puzzle->pairs[puzzle->n++] = (struct rename_pair){from, to};
}

/* Both may hold %d, for the number `i`. */
static void add_i(struct puzzle *puzzle, const char *from, const char *to, int i, int j)
{
    const char *formats[2] = {from, to};
    int numbers[2] = {i, j};
    struct str names[2];
    int k;

    for (k = 0; k < 2; k++) {
        struct buf name = BUF_INIT;
        const char *hole = strstr(formats[k], "%d");

        buf_add(&name, formats[k],
                hole ? (size_t)(hole - formats[k]) : strlen(formats[k]));
        if (hole) {
            buf_printf(&name, "%d", numbers[k]);
            buf_text(&name, hole + 2);
        }
        names[k] = arena_str(&puzzle->arena, buf_span(&name));
        buf_release(&name);
    }
    add_strs(puzzle, names[0], names[1]);
}

static void add(struct puzzle *puzzle, const char *from, const char *to)
{
    add_i(puzzle, from, to, 0, 0);
}

/* weight and bias of a module, and what a batch norm has besides. */
static void add_linear(struct puzzle *puzzle, const char *from, const char *to)
{
    char a[128], b[128];
    static const char *const tails[] = {"weight", "bias"};
    size_t i;

    for (i = 0; i < 2; i++) {
        snprintf(a, sizeof a, "%s.%s", from, tails[i]);
        snprintf(b, sizeof b, "%s.%s", to, tails[i]);
        add(puzzle, a, b);
    }
}

static void add_norm(struct puzzle *puzzle, const char *from, const char *to)
{
    char a[128], b[128];
    static const char *const tails[] = {"running_mean", "running_var",
                                        "num_batches_tracked"};
    size_t i;

    add_linear(puzzle, from, to);
    for (i = 0; i < 3; i++) {
        snprintf(a, sizeof a, "%s.%s", from, tails[i]);
        snprintf(b, sizeof b, "%s.%s", to, tails[i]);
        add(puzzle, a, b);
    }
}

static void write_rule(struct buf *text, const struct rename_rule *rule)
{
    static const char *const kinds[] = {"prefix", "part", "shift", "swap", "name"};

    buf_printf(text, "%s %.*s", kinds[rule->kind], STR_ARG(rule->from));
    if (rule->kind != RENAME_SHIFT)
        buf_printf(text, " -> %.*s", STR_ARG(rule->to));
    else if (rule->last == UINT64_MAX)
        buf_printf(text, "%d.. %+d", (int)rule->first, (int)rule->shift);
    else
        buf_printf(text, "%d..%d %+d", (int)rule->first, (int)rule->last,
                   (int)rule->shift);
    buf_text(text, "\n");
}

/* The rules must do what they promise, whatever they are. */
static void check_all(const struct puzzle *puzzle)
{
    struct buf name = BUF_INIT;
    uint32_t i;

    for (i = 0; i < puzzle->n; i++) {
        buf_clear(&name);
        rename_apply(&puzzle->rules, puzzle->pairs[i].from, &name);
        if (!str_eq(buf_span(&name), puzzle->pairs[i].to))
            printf("%.*s became %s, not %.*s\n", STR_ARG(puzzle->pairs[i].from),
                   buf_cstr(&name), STR_ARG(puzzle->pairs[i].to));
        CHECK(str_eq(buf_span(&name), puzzle->pairs[i].to));
    }
    buf_release(&name);
}

static const char *solve(struct puzzle *puzzle)
{
    struct err err = {0};
    uint32_t i;

    CHECK(rename_find(puzzle->pairs, puzzle->n, &puzzle->arena, &puzzle->rules, &err) ==
          0);
    buf_clear(&puzzle->text);
    for (i = 0; i < puzzle->rules.n; i++)
        write_rule(&puzzle->text, &puzzle->rules.at[i]);
    check_all(puzzle);
    return buf_cstr(&puzzle->text);
}

/* torchvision's ResNet-18, with names made from two formats: where the name stands. */
static void add_resnet(struct puzzle *puzzle, const char *from, const char *to)
{
    char inner[64], a[128], b[128];
    int layer, block, i;

#define BOTH(add_it)                                                                   \
    (snprintf(a, sizeof a, "%s%s", from, inner),                                       \
     snprintf(b, sizeof b, "%s%s", to, inner), add_it(puzzle, a, b))
    snprintf(inner, sizeof inner, "conv1.weight");
    BOTH(add);
    snprintf(inner, sizeof inner, "bn1");
    BOTH(add_norm);
    for (layer = 1; layer <= 4; layer++)
        for (block = 0; block < 2; block++) {
            for (i = 1; i <= 2; i++) {
                snprintf(inner, sizeof inner, "layer%d.%d.conv%d.weight", layer, block,
                         i);
                BOTH(add);
                snprintf(inner, sizeof inner, "layer%d.%d.bn%d", layer, block, i);
                BOTH(add_norm);
            }
            if (layer == 1 || block > 0)
                continue;
            snprintf(inner, sizeof inner, "layer%d.0.downsample.0.weight", layer);
            BOTH(add);
            snprintf(inner, sizeof inner, "layer%d.0.downsample.1", layer);
            BOTH(add_norm);
        }
#undef BOTH
}

#define SOLVE_RESNET(from, to, expected)                                               \
    do {                                                                               \
        struct puzzle puzzle;                                                          \
        puzzle_init(&puzzle);                                                          \
        add_resnet(&puzzle, from, to);                                                 \
        add_linear(&puzzle, from "fc", to "fc");                                       \
        CHECK_STR(solve(&puzzle), expected);                                           \
        puzzle_release(&puzzle);                                                       \
    } while (0)

TEST(wrappers_in_front_are_one_prefix)
{
    SOLVE_RESNET("module.", "", "prefix module. -> \n");
    SOLVE_RESNET("", "module.", "prefix  -> module.\n");
    SOLVE_RESNET("_orig_mod.", "", "prefix _orig_mod. -> \n");
    SOLVE_RESNET("module._orig_mod.", "", "prefix module._orig_mod. -> \n");
    SOLVE_RESNET("_orig_mod.module.", "", "prefix _orig_mod.module. -> \n");
    SOLVE_RESNET("module.", "_orig_mod.", "prefix module. -> _orig_mod.\n");
    SOLVE_RESNET("model.", "", "prefix model. -> \n");
    SOLVE_RESNET("", "model.", "prefix  -> model.\n");
    SOLVE_RESNET("model.", "net.backbone.", "prefix model. -> net.backbone.\n");
    SOLVE_RESNET("", "", "");
}

TEST(a_prefix_may_have_an_exception)
{
    struct puzzle puzzle;

    puzzle_init(&puzzle);
    add_resnet(&puzzle, "", "backbone.");
    add_linear(&puzzle, "fc", "fc");
    CHECK_STR(solve(&puzzle), "prefix  -> backbone.\nprefix backbone.fc. -> fc.\n");
    puzzle_release(&puzzle);

    puzzle_init(&puzzle);
    add_resnet(&puzzle, "", "backbone.");
    add_linear(&puzzle, "fc", "head.fc");
    CHECK_STR(solve(&puzzle),
              "prefix  -> backbone.\nprefix backbone.fc. -> head.fc.\n");
    puzzle_release(&puzzle);
}

TEST(wrappers_inside_go_as_often_as_they_stand)
{
    struct puzzle puzzle;
    int i;

    puzzle_init(&puzzle);
#define FSDP       "_fsdp_wrapped_module."
#define CHECKPOINT "_checkpoint_wrapped_module."
    add(&puzzle, FSDP "embed.weight", "embed.weight");
    add(&puzzle, FSDP "norm.weight", "norm.weight");
    for (i = 0; i < 6; i++) {
        add_i(&puzzle, FSDP "layers.%d." FSDP CHECKPOINT "attn.wq.weight",
              "layers.%d.attn.wq.weight", i, i);
        add_i(&puzzle, FSDP "layers.%d." FSDP CHECKPOINT "attn." FSDP "wo.weight",
              "layers.%d.attn.wo.weight", i, i);
        add_i(&puzzle, FSDP "layers.%d." FSDP CHECKPOINT "mlp." FSDP FSDP "w1.weight",
              "layers.%d.mlp.w1.weight", i, i);
    }
    CHECK_STR(solve(&puzzle), "part _fsdp_wrapped_module -> \n"
                              "part _checkpoint_wrapped_module -> \n");
    puzzle_release(&puzzle);
}

TEST(what_comes_behind_an_index_is_put_in_with_a_hole)
{
    struct puzzle puzzle;
    int i;

    puzzle_init(&puzzle);
    add(&puzzle, "embed.weight", "embed.weight");
    for (i = 0; i < 6; i++) {
        add_i(&puzzle, "layers.%d.attn.wq.weight",
              "layers.%d._checkpoint_wrapped_module.attn.wq.weight", i, i);
        add_i(&puzzle, "layers.%d.mlp.w1.weight",
              "layers.%d._checkpoint_wrapped_module.mlp.w1.weight", i, i);
    }
    CHECK_STR(solve(&puzzle),
              "part layers.{} -> layers.{}._checkpoint_wrapped_module\n");
    puzzle_release(&puzzle);
}

TEST(gpt2_of_transformers_becomes_nano_gpt)
{
    struct puzzle puzzle;
    int i;

    puzzle_init(&puzzle);
    add(&puzzle, "transformer.wte.weight", "tok_emb.weight");
    add(&puzzle, "transformer.wpe.weight", "pos_emb.weight");
    for (i = 0; i < 12; i++) {
        add_i(&puzzle, "transformer.h.%d.ln_1.weight", "blocks.%d.norm1.weight", i, i);
        add_i(&puzzle, "transformer.h.%d.ln_1.bias", "blocks.%d.norm1.bias", i, i);
        add_i(&puzzle, "transformer.h.%d.attn.c_attn.weight",
              "blocks.%d.attn.qkv.weight", i, i);
        add_i(&puzzle, "transformer.h.%d.attn.c_attn.bias", "blocks.%d.attn.qkv.bias",
              i, i);
        add_i(&puzzle, "transformer.h.%d.attn.c_proj.weight",
              "blocks.%d.attn.out.weight", i, i);
        add_i(&puzzle, "transformer.h.%d.attn.c_proj.bias", "blocks.%d.attn.out.bias",
              i, i);
        add_i(&puzzle, "transformer.h.%d.ln_2.weight", "blocks.%d.norm2.weight", i, i);
        add_i(&puzzle, "transformer.h.%d.ln_2.bias", "blocks.%d.norm2.bias", i, i);
        add_i(&puzzle, "transformer.h.%d.mlp.c_fc.weight", "blocks.%d.mlp.fc1.weight",
              i, i);
        add_i(&puzzle, "transformer.h.%d.mlp.c_fc.bias", "blocks.%d.mlp.fc1.bias", i,
              i);
        add_i(&puzzle, "transformer.h.%d.mlp.c_proj.weight", "blocks.%d.mlp.fc2.weight",
              i, i);
        add_i(&puzzle, "transformer.h.%d.mlp.c_proj.bias", "blocks.%d.mlp.fc2.bias", i,
              i);
    }
    add_linear(&puzzle, "transformer.ln_f", "norm");
    CHECK_STR(solve(&puzzle), "name transformer.wpe.weight -> pos_emb.weight\n"
                              "name transformer.wte.weight -> tok_emb.weight\n"
                              "prefix transformer.h. -> blocks.\n"
                              "part c_fc -> fc1\n"
                              "part c_attn -> qkv\n"
                              "part mlp.c_proj -> mlp.fc2\n"
                              "part attn.c_proj -> attn.out\n"
                              "part ln_1 -> norm1\n"
                              "part ln_2 -> norm2\n"
                              "prefix transformer.ln_f. -> norm.\n");
    puzzle_release(&puzzle);
}

TEST(bert_of_transformers_loses_words_and_keeps_its_order)
{
    struct puzzle puzzle;
    static const char *const parts[][2] = {
        {"attention.self.query", "attn.q"},
        {"attention.self.key", "attn.k"},
        {"attention.self.value", "attn.v"},
        {"attention.output.dense", "attn.out"},
        {"attention.output.LayerNorm", "norm1"},
        {"intermediate.dense", "mlp.fc1"},
        {"output.dense", "mlp.fc2"},
        {"output.LayerNorm", "norm2"},
    };
    char from[128], to[128];
    size_t j;
    int i;

    puzzle_init(&puzzle);
    add(&puzzle, "bert.embeddings.word_embeddings.weight", "embed.tok.weight");
    add(&puzzle, "bert.embeddings.position_embeddings.weight", "embed.pos.weight");
    add(&puzzle, "bert.embeddings.token_type_embeddings.weight", "embed.seg.weight");
    add_linear(&puzzle, "bert.embeddings.LayerNorm", "embed.norm");
    for (i = 0; i < 12; i++)
        for (j = 0; j < 8; j++) {
            snprintf(from, sizeof from, "bert.encoder.layer.%d.%s", i, parts[j][0]);
            snprintf(to, sizeof to, "encoder.layers.%d.%s", i, parts[j][1]);
            add_linear(&puzzle, from, to);
        }
    add_linear(&puzzle, "bert.pooler.dense", "pooler");
    CHECK_STR(solve(&puzzle),
              "name bert.embeddings.position_embeddings.weight -> embed.pos.weight\n"
              "name bert.embeddings.token_type_embeddings.weight -> embed.seg.weight\n"
              "name bert.embeddings.word_embeddings.weight -> embed.tok.weight\n"
              "prefix bert.encoder.layer. -> encoder.layers.\n"
              "part attention.self.key -> attn.k\n"
              "part attention.self.query -> attn.q\n"
              "part attention.self.value -> attn.v\n"
              "part attention.output.dense -> attn.out\n"
              "part attention.output.LayerNorm -> norm1\n"
              "part output.dense -> mlp.fc2\n"
              "part intermediate.dense -> mlp.fc1\n"
              "part output.LayerNorm -> norm2\n"
              "prefix bert. -> \n"
              "part embeddings -> embed\n"
              "prefix embed.LayerNorm. -> embed.norm.\n"
              "prefix pooler.dense. -> pooler.\n");
    puzzle_release(&puzzle);
}

TEST(gamma_and_beta_become_weight_and_bias)
{
    struct puzzle puzzle;
    int i;

    puzzle_init(&puzzle);
    for (i = 0; i < 4; i++) {
        add_i(&puzzle, "layer.%d.LayerNorm.gamma", "layer.%d.LayerNorm.weight", i, i);
        add_i(&puzzle, "layer.%d.LayerNorm.beta", "layer.%d.LayerNorm.bias", i, i);
        add_i(&puzzle, "layer.%d.dense.weight", "layer.%d.dense.weight", i, i);
        add_i(&puzzle, "layer.%d.dense.bias", "layer.%d.dense.bias", i, i);
    }
    CHECK_STR(solve(&puzzle), "part gamma -> weight\npart beta -> bias\n");
    puzzle_release(&puzzle);
}

TEST(a_dropout_in_a_sequential_shifts_what_follows)
{
    struct puzzle puzzle;

    puzzle_init(&puzzle);
    add_linear(&puzzle, "features.0", "features.0");
    add_linear(&puzzle, "features.3", "features.3");
    add_linear(&puzzle, "classifier.1", "classifier.1");
    add_linear(&puzzle, "classifier.3", "classifier.4");
    add_linear(&puzzle, "classifier.5", "classifier.6");
    CHECK_STR(solve(&puzzle), "shift classifier.3.. +1\n");
    puzzle_release(&puzzle);

    puzzle_init(&puzzle);
    add_linear(&puzzle, "0", "0");
    add_linear(&puzzle, "2", "3");
    add_linear(&puzzle, "4", "5");
    CHECK_STR(solve(&puzzle), "shift 2.. +1\n");
    puzzle_release(&puzzle);
}

/* Blocks of a transformer, each at another index; -1: it went. */
static void add_blocks(struct puzzle *puzzle, const int *to, int n)
{
    char a[64], b[64];
    static const char *const parts[] = {"norm1", "attn.qkv", "attn.proj",
                                        "norm2", "mlp.fc1",  "mlp.fc2"};
    size_t j;
    int i;

    add_linear(puzzle, "patch_embed.proj", "patch_embed.proj");
    for (i = 0; i < n; i++)
        for (j = 0; j < 6 && to[i] >= 0; j++) {
            snprintf(a, sizeof a, "blocks.%d.%s", i, parts[j]);
            snprintf(b, sizeof b, "blocks.%d.%s", to[i], parts[j]);
            add_linear(puzzle, a, b);
        }
    add_linear(puzzle, "norm", "norm");
}

#define SOLVE_BLOCKS(expected, ...)                                                    \
    do {                                                                               \
        static const int to[] = {__VA_ARGS__};                                         \
        struct puzzle puzzle;                                                          \
        puzzle_init(&puzzle);                                                          \
        add_blocks(&puzzle, to, (int)(sizeof to / sizeof *to));                        \
        CHECK_STR(solve(&puzzle), expected);                                           \
        puzzle_release(&puzzle);                                                       \
    } while (0)

TEST(blocks_that_moved_are_shifts_that_do_not_meet)
{
    SOLVE_BLOCKS("shift blocks.0.. +1\n", 1, 2, 3, 4, 5, 6);
    SOLVE_BLOCKS("shift blocks.3.. +1\n", 0, 1, 2, 4, 5, 6);
    SOLVE_BLOCKS("shift blocks.4.. -2\n", 0, 1, -1, -1, 2, 3, 4, 5);
    SOLVE_BLOCKS("shift blocks.2..3 -1\nshift blocks.5.. -2\n", 0, -1, 1, 2, -1, 3, 4);
    SOLVE_BLOCKS("shift blocks.4.. +2\nshift blocks.2..3 +1\n", 0, 1, 3, 4, 6, 7, 8);
    SOLVE_BLOCKS("shift blocks.1..2 +1\n", 0, 2, 3, -1, 4, 5);
    SOLVE_BLOCKS("swap blocks.1 -> blocks.3\n", 0, 3, 2, 1, 4, 5);
    SOLVE_BLOCKS("swap blocks.0 -> blocks.3\nswap blocks.0 -> blocks.1\nswap blocks.1 "
                 "-> blocks.2\n",
                 3, 0, 1, 2, 4, 5);
}

TEST(two_layers_that_changed_places_are_a_swap)
{
    struct puzzle puzzle;

    puzzle_init(&puzzle);
    add_linear(&puzzle, "conv1", "conv2");
    add_linear(&puzzle, "conv2", "conv1");
    add_linear(&puzzle, "fc", "fc");
    CHECK_STR(solve(&puzzle), "swap conv1 -> conv2\n");
    puzzle_release(&puzzle);

    puzzle_init(&puzzle);
    add(&puzzle, "a.weight", "b.weight");
    add(&puzzle, "b.weight", "a.weight");
    CHECK_STR(solve(&puzzle), "name a.weight -> b.weight\nname b.weight -> a.weight\n");
    puzzle_release(&puzzle);
}

TEST(names_that_each_take_the_next_ones_place_go_in_order)
{
    struct puzzle puzzle;
    int i;

    puzzle_init(&puzzle);
    for (i = 0; i < 20; i++) {
        add_i(&puzzle, "layer%d.weight", "layer%d.weight", i, i + 1);
        add_i(&puzzle, "layer%d.bias", "layer%d.bias", i, i + 1);
    }
    solve(&puzzle);
    CHECK_INT(puzzle.rules.n, 20);
    CHECK_INT(puzzle.rules.names, 0);
    puzzle_release(&puzzle);
}

TEST(modules_of_a_sequential_get_names)
{
    struct puzzle puzzle;

    puzzle_init(&puzzle);
    add_linear(&puzzle, "features.0", "stem.conv");
    add_norm(&puzzle, "features.1", "stem.bn");
    add_linear(&puzzle, "features.3", "features.0");
    add_norm(&puzzle, "features.4", "features.1");
    add_linear(&puzzle, "features.6", "features.3");
    add_linear(&puzzle, "classifier", "head");
    CHECK_STR(solve(&puzzle), "prefix features.1. -> stem.bn.\n"
                              "prefix features.0. -> stem.conv.\n"
                              "prefix features.4. -> features.1.\n"
                              "shift features.3.. -3\n"
                              "prefix classifier. -> head.\n");
    puzzle_release(&puzzle);
}

TEST(resnet_of_torchvision_becomes_another)
{
    struct puzzle puzzle;
    char a[128], b[128];
    int layer, block, i;

    puzzle_init(&puzzle);
    add(&puzzle, "conv1.weight", "stem.conv.weight");
    add_norm(&puzzle, "bn1", "stem.norm");
    for (layer = 1; layer <= 4; layer++)
        for (block = 0; block < 2; block++) {
            for (i = 1; i <= 2; i++) {
                snprintf(a, sizeof a, "layer%d.%d.conv%d.weight", layer, block, i);
                snprintf(b, sizeof b, "stages.%d.blocks.%d.conv%d.weight", layer - 1,
                         block, i);
                add(&puzzle, a, b);
                snprintf(a, sizeof a, "layer%d.%d.bn%d", layer, block, i);
                snprintf(b, sizeof b, "stages.%d.blocks.%d.norm%d", layer - 1, block,
                         i);
                add_norm(&puzzle, a, b);
            }
            if (layer == 1 || block > 0)
                continue;
            snprintf(a, sizeof a, "layer%d.0.downsample.0.weight", layer);
            snprintf(b, sizeof b, "stages.%d.blocks.0.shortcut.conv.weight", layer - 1);
            add(&puzzle, a, b);
            snprintf(a, sizeof a, "layer%d.0.downsample.1", layer);
            snprintf(b, sizeof b, "stages.%d.blocks.0.shortcut.norm", layer - 1);
            add_norm(&puzzle, a, b);
        }
    add_linear(&puzzle, "fc", "head.fc");
    CHECK_STR(solve(&puzzle), "name conv1.weight -> stem.conv.weight\n"
                              "prefix layer3. -> stages.2.blocks.\n"
                              "prefix layer4. -> stages.3.blocks.\n"
                              "prefix layer1. -> stages.0.blocks.\n"
                              "prefix layer2. -> stages.1.blocks.\n"
                              "part downsample.1 -> shortcut.norm\n"
                              "part bn1 -> norm1\n"
                              "part bn2 -> norm2\n"

                              "prefix norm1. -> stem.norm.\n"
                              "part downsample.0 -> shortcut.conv\n"
                              "prefix fc. -> head.fc.\n");
    puzzle_release(&puzzle);
}

TEST(an_old_vit_changes_inside_its_blocks)
{
    struct puzzle puzzle;
    int i;

    puzzle_init(&puzzle);
    add(&puzzle, "cls_token", "class_token");
    add(&puzzle, "pos_embed", "encoder.pos_embedding");
    for (i = 0; i < 12; i++) {
        add_i(&puzzle, "blocks.%d.norm1.weight", "encoder.layers.%d.ln_1.weight", i, i);
        add_i(&puzzle, "blocks.%d.norm1.bias", "encoder.layers.%d.ln_1.bias", i, i);
        add_i(&puzzle, "blocks.%d.attn.qkv.weight",
              "encoder.layers.%d.self_attention.in_proj_weight", i, i);
        add_i(&puzzle, "blocks.%d.attn.qkv.bias",
              "encoder.layers.%d.self_attention.in_proj_bias", i, i);
        add_i(&puzzle, "blocks.%d.attn.proj.weight",
              "encoder.layers.%d.self_attention.out_proj.weight", i, i);
        add_i(&puzzle, "blocks.%d.attn.proj.bias",
              "encoder.layers.%d.self_attention.out_proj.bias", i, i);
        add_i(&puzzle, "blocks.%d.mlp.fc1.weight", "encoder.layers.%d.mlp.0.weight", i,
              i);
        add_i(&puzzle, "blocks.%d.mlp.fc1.bias", "encoder.layers.%d.mlp.0.bias", i, i);
        add_i(&puzzle, "blocks.%d.mlp.fc2.weight", "encoder.layers.%d.mlp.3.weight", i,
              i);
        add_i(&puzzle, "blocks.%d.mlp.fc2.bias", "encoder.layers.%d.mlp.3.bias", i, i);
    }
    add_linear(&puzzle, "head", "heads.head");
    CHECK_STR(solve(&puzzle), "name cls_token -> class_token\n"
                              "name pos_embed -> encoder.pos_embedding\n"
                              "prefix blocks. -> encoder.layers.\n"
                              "part attn -> self_attention\n"
                              "part fc1 -> 0\n"
                              "part fc2 -> 3\n"
                              "part norm1 -> ln_1\n"
                              "part proj -> out_proj\n"
                              "part qkv.bias -> in_proj_bias\n"
                              "part qkv.weight -> in_proj_weight\n"
                              "prefix head. -> heads.head.\n");
    puzzle_release(&puzzle);
}

TEST(odd_names_are_names_too)
{
    struct puzzle puzzle;
    static const char *const tails[] = {"weight", "bias", "a+b(c)[d]*", "\xc3\xa9\n$"};
    char from[64], to[64];
    size_t i;

    puzzle_init(&puzzle);
    for (i = 0; i < 4; i++) {
        snprintf(from, sizeof from, "^mod(ule).%s", tails[i]);
        snprintf(to, sizeof to, "m\\1.\xe2\x82\xac.%s", tails[i]);
        add(&puzzle, from, to);
        snprintf(from, sizeof from, "..%s.", tails[i]);
        snprintf(to, sizeof to, ".%s", tails[i]);
        add(&puzzle, from, to);
        snprintf(from, sizeof from, "h.{}.%s", tails[i]);
        snprintf(to, sizeof to, "g.{}.x.%s", tails[i]);
        add(&puzzle, from, to);
    }
    add(&puzzle, "", "empty");
    add(&puzzle, ".", "..");
    add(&puzzle, "...", "");
    add(&puzzle, "{}", "{}.{}");
    solve(&puzzle);
    CHECK(puzzle.rules.n < 12);
    puzzle_release(&puzzle);
}

TEST(of_two_pairs_with_one_name_the_first_counts)
{
    struct puzzle puzzle;
    struct rename_rules rules;

    puzzle_init(&puzzle);
    add(&puzzle, "a", "b");
    add(&puzzle, "a", "c");
    CHECK(rename_find(puzzle.pairs, 2, &puzzle.arena, &rules, NULL) == 0);
    CHECK_INT(rules.n, 1);
    CHECK(str_is(rules.at[0].to, "b"));
    CHECK(rename_find(NULL, 0, &puzzle.arena, &rules, NULL) == 0);
    CHECK_INT(rules.n, 0);
    puzzle_release(&puzzle);
}

/* ---- many ---- */

TEST(a_hundred_thousand_names_have_as_few_rules)
{
    struct puzzle puzzle;
    static const char *const parts[][2] = {
        {"ln_1.weight", "norm1.weight"},
        {"attn.q_proj.weight", "self_attn.q.weight"},
        {"attn.k_proj.weight", "self_attn.k.weight"},
        {"mlp.up.weight", "mlp.up.weight"},
        {"ln_2.weight", "norm2.weight"},
    };
    char a[128], b[128];
    int i;

    puzzle_init(&puzzle);
    for (i = 0; i < 100000; i++) {
        snprintf(a, sizeof a, "module.h.%d.%s", i / 5, parts[i % 5][0]);
        snprintf(b, sizeof b, "blocks.%d.%s", i / 5 + (i >= 50000), parts[i % 5][1]);
        add(&puzzle, a, b);
    }
    CHECK_STR(solve(&puzzle), "prefix module.h. -> blocks.\n"
                              "part attn.q_proj -> self_attn.q\n"
                              "shift blocks.10000.. +1\n"
                              "part attn -> self_attn\n"
                              "part ln_1 -> norm1\n"
                              "part ln_2 -> norm2\n"
                              "part k_proj -> k\n");
    puzzle_release(&puzzle);
}

static uint64_t chance(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

TEST(names_without_any_rule_go_by_name)
{
    struct puzzle puzzle;
    char a[64], b[64];
    uint64_t state = 1;
    int i;

    puzzle_init(&puzzle);
    for (i = 0; i < 20000; i++) {
        snprintf(a, sizeof a, "a%d.%x.w", (int)(chance(&state) % 50),
                 (unsigned)chance(&state));
        snprintf(b, sizeof b, "b%d.%x.v", (int)(chance(&state) % 50),
                 (unsigned)chance(&state));
        add(&puzzle, a, b);
    }
    solve(&puzzle);
    CHECK(puzzle.rules.names > 19000);
    puzzle_release(&puzzle);
}

/* ---- rules by chance ---- */

static const char *word(uint64_t *state)
{
    static const char *const words[] = {"attn", "mlp",  "norm", "conv", "proj", "gate",
                                        "up",   "down", "bn",   "fc",   "q",    "k"};

    return words[chance(state) % 12];
}

/* A tree of modules: stages, with blocks, with layers, all by chance. */
static uint32_t random_names(struct puzzle *puzzle, uint64_t *state)
{
    int stage, block, layer, stages = 1 + (int)(chance(state) % 3);
    char name[128];

    for (stage = 0; stage < stages; stage++) {
        const char *parts[4];

        for (layer = 0; layer < 4; layer++)
            parts[layer] = word(state);
        for (block = 0; block < 6; block++)
            for (layer = 0; layer < 4; layer++) {
                snprintf(name, sizeof name, "s%d.blocks.%d.%s.%s%d", stage, block,
                         parts[layer], parts[(layer + 1) % 4], layer);
                add_linear(puzzle, name, name);
            }
    }
    add_linear(puzzle, "head", "head");
    return puzzle->n;
}

static struct rename_rule random_rule(struct puzzle *puzzle, uint64_t *state, int i)
{
    struct rename_rule rule = {.kind = RENAME_PART};

    switch (chance(state) % 5) {
    case 0:
        rule.kind = RENAME_PREFIX;
        rule.to = STR("model.");
        break;
    case 1:
        rule.kind = RENAME_SHIFT;
        rule.from = rule.to = STR("s0.blocks.");
        rule.first = chance(state) % 4;
        rule.last = UINT64_MAX;
        rule.shift = 1 + (int64_t)(chance(state) % 3);
        break;
    case 2:
        rule.from = STR("blocks.{}");
        rule.to = STR("layers.{}.inner");
        break;
    default:
        rule.from = str_of(word(state));
        rule.to = str_of(arena_printf(&puzzle->arena, "new%d", i));
    }
    return rule;
}

/* Is no name twice on either side? Else there is nothing to find. */
static bool all_differ(const struct puzzle *puzzle)
{
    uint32_t i, j;

    for (i = 0; i < puzzle->n; i++)
        for (j = 0; j < i; j++)
            if (str_eq(puzzle->pairs[i].to, puzzle->pairs[j].to) ||
                str_eq(puzzle->pairs[i].from, puzzle->pairs[j].from))
                return false;
    return true;
}

TEST(rules_by_chance_are_found_again)
{
    uint64_t state = 7;
    uint32_t made_all = 0, found = 0;
    int round, i, seen = 0;

    for (round = 0; round < 300; round++) {
        struct rename_rule made[4];
        struct rename_rules rules = {made, 1 + (uint32_t)(chance(&state) % 4), 0};
        struct puzzle puzzle;
        uint32_t j;

        puzzle_init(&puzzle);
        random_names(&puzzle, &state);
        for (i = 0; i < (int)rules.n; i++)
            made[i] = random_rule(&puzzle, &state, i);
        for (j = 0; j < puzzle.n; j++) {
            struct buf name = BUF_INIT;

            rename_apply(&rules, puzzle.pairs[j].from, &name);
            puzzle.pairs[j].to = arena_str(&puzzle.arena, buf_span(&name));
            buf_release(&name);
        }
        if (all_differ(&puzzle)) {
            solve(&puzzle);
            CHECK(puzzle.rules.n <= 4 * rules.n);
            made_all += rules.n;
            found += puzzle.rules.n;
            seen++;
        }
        puzzle_release(&puzzle);
    }
    CHECK(seen > 100);
    CHECK(found < made_all + made_all / 4);
}
