/* Merging two networks: small ones written by hand, and random ones. */
#include "base/test.h"
#include "graph/parts_in.h"

struct net_pair {
    struct arena arena, scratch;
    struct parts old, new, both;
};

static void init(struct net_pair *pair)
{
    arena_init(&pair->arena, 0);
    arena_init(&pair->scratch, 0);
    parts_init(&pair->old, &pair->arena, &pair->scratch);
    parts_init(&pair->new, &pair->arena, &pair->scratch);
    parts_init(&pair->both, &pair->arena, &pair->scratch);
    parts_add(&pair->old, DIAGRAM_MODULE, PART_NONE);
    parts_add(&pair->new, DIAGRAM_MODULE, PART_NONE);
}

static void release(struct net_pair *pair)
{
    arena_release(&pair->arena);
    arena_release(&pair->scratch);
}

/* Words are separated by ", ". */
static uint32_t add(struct parts *parts, enum diagram_kind kind, uint32_t parent,
                    const char *name, const char *words)
{
    uint32_t part = parts_add(parts, kind, parent);
    struct str rest = str_of(words), word;

    parts->at[part].box.name = parts_text(parts, str_of(name));
    parts->at[part].box.id = parts->at[part].box.name;
    while (rest.len > 0 && str_split(&rest, ',', &word))
        CHECK_INT(parts_word(parts, part, str_trim(word)), 0);
    return part;
}

static uint32_t module(struct parts *parts, uint32_t parent, const char *name,
                       const char *words)
{
    return add(parts, DIAGRAM_MODULE, parent, name, words);
}

static uint32_t op(struct parts *parts, uint32_t parent, const char *name,
                   const char *words)
{
    return add(parts, DIAGRAM_OP, parent, name, words);
}

/* A new value from one part to another; returns its number. */
static uint32_t line(struct parts *parts, uint32_t source, uint32_t target,
                     const char *shape)
{
    uint32_t value = parts_value(
        parts, (struct part_value){.shape = str_of(shape), .dtype = STR("float32")});

    CHECK_INT(parts_link(parts, source, target, value), 0);
    return value;
}

/* "+ name: word, word", one line per part, followed by the links between parts. */
static const char *merged(struct net_pair *pair)
{
    static const char signs[] = " +-~";
    struct buf text = BUF_INIT;
    struct str copy;

    CHECK_INT(parts_merge(&pair->both, &pair->old, &pair->new), 0);
    for (uint32_t i = 1; i < pair->both.n; i++) {
        const struct diagram_box *box = &pair->both.at[i].box;

        buf_printf(&text, "%c %.*s", signs[box->change], STR_ARG(box->name));
        for (uint32_t k = 0; k < box->n_words; k++)
            buf_printf(&text, "%s %.*s", k > 0 ? "," : ":",
                       STR_ARG(parts_words_at(&pair->both, i, k)));
        buf_char(&text, '\n');
    }
    for (uint32_t i = 0; i < pair->both.n_links; i++) {
        const struct part_link *link = &pair->both.links[i];

        buf_printf(&text, "%c %.*s>%.*s\n", signs[link->change],
                   STR_ARG(pair->both.at[link->source].box.name),
                   STR_ARG(pair->both.at[link->target].box.name));
    }
    copy = arena_str(&pair->arena, buf_span(&text));
    buf_release(&text);
    return copy.at;
}

TEST(differences_are_described_in_words)
{
    struct net_pair pair;

    init(&pair);
    module(&pair.old, 0, "conv", "Conv2d, 3×3, 64→64, stride 1, bias False");
    module(&pair.new, 0, "conv", "Conv2d, 3×3, 64→128, stride 2, frozen");
    module(&pair.old, 0, "act", "ReLU");
    module(&pair.new, 0, "act", "GELU");
    add(&pair.old, DIAGRAM_INPUT, 0, "x", "1×8, float32");
    add(&pair.new, DIAGRAM_INPUT, 0, "x", "1×9, float32");
    CHECK_STR(merged(&pair),
              "~ conv: Conv2d, 64→128 (was 64→64), stride 2 (was 1), frozen (new), was "
              "bias False, 3×3\n"
              "~ act: GELU (was ReLU)\n"
              "~ x: 1×9 (was 1×8), float32\n");
    release(&pair);
}

TEST(another_result_is_a_change)
{
    struct net_pair pair;
    uint32_t a, b;

    init(&pair);
    a = module(&pair.old, 0, "a", "Custom");
    b = module(&pair.old, 0, "b", "ReLU");
    line(&pair.old, a, b, "1×8");
    a = module(&pair.new, 0, "a", "Custom");
    b = module(&pair.new, 0, "b", "ReLU");
    line(&pair.new, a, b, "1×9");
    CHECK_STR(merged(&pair), "~ a: Custom, result 1×9 (was 1×8)\n"
                             "  b: ReLU\n"
                             "  a>b\n");
    release(&pair);
}

TEST(hidden_parameters_are_a_change)
{
    struct net_pair pair;

    init(&pair);
    pair.old.at[module(&pair.old, 0, "a", "Custom")].box.metric[DIAGRAM_PARAMS] = 10;
    pair.new.at[module(&pair.new, 0, "a", "Custom")].box.metric[DIAGRAM_PARAMS] = 20;
    CHECK_STR(merged(&pair), "~ a: Custom, 20 parameters (was 10)\n");
    release(&pair);
}

TEST(a_renamed_module_shows_its_old_name)
{
    struct net_pair pair;
    uint32_t old, new;

    init(&pair);
    old = module(&pair.old, 0, "features", "Body");
    module(&pair.old, old, "a", "Linear, 2→3");
    module(&pair.old, 0, "act", "ReLU");
    new = module(&pair.new, 0, "trunk", "Body");
    module(&pair.new, new, "a", "Linear, 2→3");
    module(&pair.new, 0, "act", "ReLU");
    CHECK_STR(merged(&pair), "~ trunk: Body, renamed from features\n"
                             "  a: Linear, 2→3\n"
                             "  act: ReLU\n");
    release(&pair);
}

TEST(a_renaming_that_is_a_guess_is_not_made)
{
    struct net_pair pair;

    init(&pair);
    module(&pair.old, 0, "p", "ReLU");
    module(&pair.new, 0, "q", "ReLU");
    module(&pair.new, 0, "r", "ReLU");
    CHECK_STR(merged(&pair), "- p: ReLU\n+ q: ReLU\n+ r: ReLU\n");
    release(&pair);
}

TEST(numbers_that_moved_up_are_renamed)
{
    struct net_pair pair;

    init(&pair);
    module(&pair.old, 0, "0", "Linear, 2→3");
    module(&pair.old, 0, "1", "BatchNorm1d, 3");
    module(&pair.old, 0, "2", "ReLU");
    module(&pair.old, 0, "3", "Conv1d, 3→4");
    module(&pair.new, 0, "0", "Linear, 2→3");
    module(&pair.new, 0, "1", "ReLU");
    module(&pair.new, 0, "2", "Conv1d, 3→4");
    CHECK_STR(merged(&pair), "  0: Linear, 2→3\n"
                             "- 1: BatchNorm1d, 3\n"
                             "~ 1: ReLU, renamed from 2\n"
                             "~ 2: Conv1d, renamed from 3, 3→4\n");
    release(&pair);
}

TEST(a_module_that_became_a_container_is_another_one)
{
    struct net_pair pair;

    init(&pair);
    module(&pair.old, 0, "norm", "LayerNorm, 8");
    module(&pair.new, module(&pair.new, 0, "norm", "Sequential"), "0", "LayerNorm, 8");
    CHECK_STR(merged(&pair),
              "- norm: LayerNorm, 8\n+ norm: Sequential\n+ 0: LayerNorm, 8\n");
    release(&pair);
}

TEST(modules_match_in_any_order_and_operations_in_theirs)
{
    struct net_pair pair;

    init(&pair);
    module(&pair.old, 0, "a", "Linear");
    op(&pair.old, 0, "relu", "");
    module(&pair.old, 0, "b", "Linear");
    op(&pair.old, 0, "mul", "2");
    op(&pair.old, 0, "sum", "");
    module(&pair.new, 0, "b", "Linear");
    op(&pair.new, 0, "gelu", "");
    module(&pair.new, 0, "a", "Linear");
    op(&pair.new, 0, "mul", "3");
    op(&pair.new, 0, "exp", "");
    op(&pair.new, 0, "sum", "");
    CHECK_STR(merged(&pair), "  b: Linear\n"
                             "+ gelu\n"
                             "  a: Linear\n"
                             "- relu\n"
                             "~ mul: 3 (was 2)\n"
                             "+ exp\n"
                             "  sum\n");
    release(&pair);
}

TEST(an_operation_between_the_same_neighbours_was_replaced)
{
    struct net_pair pair;

    init(&pair);
    op(&pair.old, 0, "addmm", "2→3");
    op(&pair.old, 0, "relu", "");
    op(&pair.old, 0, "sum", "");
    op(&pair.new, 0, "addmm", "2→3");
    op(&pair.new, 0, "gelu", "");
    op(&pair.new, 0, "sum", "");
    CHECK_STR(merged(&pair), "  addmm: 2→3\n~ gelu: was relu\n  sum\n");
    release(&pair);
}

TEST(a_value_that_others_read_now_is_the_same_value)
{
    struct net_pair pair;
    uint32_t a, b, c, value;

    init(&pair);
    a = module(&pair.old, 0, "a", "A");
    b = module(&pair.old, 0, "b", "B");
    c = module(&pair.old, 0, "c", "C");
    value = line(&pair.old, a, b, "1×8");
    CHECK_INT(parts_link(&pair.old, a, c, value), 0);
    a = module(&pair.new, 0, "a", "A");
    b = module(&pair.new, 0, "b", "B");
    c = module(&pair.new, 0, "c", "C");
    value = line(&pair.new, a, b, "1×8");
    line(&pair.new, b, c, "1×8");
    CHECK_STR(merged(&pair), "  a: A\n  b: B\n  c: C\n  a>b\n+ b>c\n- a>c\n");
    CHECK_INT(pair.both.links[2].value, value);
    CHECK_INT(pair.both.n_values, 2);
    release(&pair);
}

/* ---- random networks ---- */

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* A random tree of modules and operations with few names, so that many parts are
 * alike. */
static void grow(struct parts *parts, uint64_t seed, uint32_t n)
{
    static const char *const names[] = {"a", "b", "0", "1", "2", "relu"};
    static const char *const classes[] = {"Linear, 2→3", "Linear, 3→3", "ReLU",
                                          "Block"};
    uint64_t state = seed;
    uint32_t groups[4] = {0, 0, 0, 0}, depth = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t dice = next(&state) % 10;
        const char *name = names[next(&state) % 6], *words = classes[next(&state) % 4];
        uint32_t parent = groups[depth], part;

        if (dice < 2 && depth < 3)
            groups[++depth] = module(parts, parent, name, "Block");
        else if (dice < 4 && depth > 0)
            depth--;
        else if (dice < 7)
            module(parts, parent, name, words);
        else
            op(parts, parent, name, dice == 7 ? "3" : "");
        part = parts->n - 1;
        if (part > 1 && next(&state) % 2)
            line(parts, (uint32_t)(1 + next(&state) % (part - 1)), part, "1×8");
    }
}

static void count(const struct parts *parts, uint32_t boxes[DIAGRAM_CHANGES],
                  uint32_t lines[DIAGRAM_CHANGES])
{
    for (uint32_t i = 1; i < parts->n; i++)
        boxes[parts->at[i].box.change]++;
    for (uint32_t i = 0; i < parts->n_links; i++)
        lines[parts->links[i].change]++;
}

TEST(from_b_to_a_is_the_mirror_image_of_from_a_to_b)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint32_t there[2][DIAGRAM_CHANGES] = {{0}}, back[2][DIAGRAM_CHANGES] = {{0}};
        uint32_t n_old, n_new;
        struct net_pair pair;

        init(&pair);
        grow(&pair.old, seed, 30);
        grow(&pair.new, seed + (seed % 3 ? 1 : 0), 30 + (uint32_t)(seed % 5));
        n_old = pair.old.n;
        n_new = pair.new.n;
        CHECK_INT(parts_merge(&pair.both, &pair.old, &pair.new), 0);
        count(&pair.both, there[0], there[1]);
        parts_init(&pair.both, &pair.arena, &pair.scratch);
        CHECK_INT(parts_merge(&pair.both, &pair.new, &pair.old), 0);
        count(&pair.both, back[0], back[1]);
        for (int i = 0; i < 2; i++) {
            CHECK_INT(there[i][DIAGRAM_SAME], back[i][DIAGRAM_SAME]);
            CHECK_INT(there[i][DIAGRAM_CHANGED], back[i][DIAGRAM_CHANGED]);
            CHECK_INT(there[i][DIAGRAM_ADDED], back[i][DIAGRAM_REMOVED]);
            CHECK_INT(there[i][DIAGRAM_REMOVED], back[i][DIAGRAM_ADDED]);
        }
        CHECK_INT(1 + there[0][DIAGRAM_SAME] + there[0][DIAGRAM_CHANGED] +
                      there[0][DIAGRAM_ADDED],
                  n_new);
        CHECK_INT(1 + there[0][DIAGRAM_SAME] + there[0][DIAGRAM_CHANGED] +
                      there[0][DIAGRAM_REMOVED],
                  n_old);
        release(&pair);
    }
}

TEST(equal_networks_have_no_change)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint32_t n[2][DIAGRAM_CHANGES] = {{0}};
        struct net_pair pair;

        init(&pair);
        grow(&pair.old, seed, 60);
        grow(&pair.new, seed, 60);
        CHECK_INT(parts_merge(&pair.both, &pair.old, &pair.new), 0);
        count(&pair.both, n[0], n[1]);
        CHECK_INT(n[0][DIAGRAM_SAME], pair.new.n - 1);
        CHECK_INT(n[1][DIAGRAM_SAME], pair.new.n_links);
        release(&pair);
    }
}

TEST(a_hundred_thousand_operations_in_one_list_are_compared)
{
    static const char *const names[] = {"add", "mul", "exp", "log", "sin"};
    uint32_t n[2][DIAGRAM_CHANGES] = {{0}};
    struct net_pair pair;
    uint64_t state = 7;

    init(&pair);
    for (uint32_t i = 0; i < 100000; i++) {
        const char *name = names[next(&state) % 5];

        if (i % 1000 != 500)
            op(&pair.old, 0, name, "");
        if (i % 1500 != 700)
            op(&pair.new, 0, name, "");
    }
    CHECK_INT(parts_merge(&pair.both, &pair.old, &pair.new), 0);
    count(&pair.both, n[0], n[1]);
    CHECK(n[0][DIAGRAM_SAME] > 99000);
    release(&pair);
}
