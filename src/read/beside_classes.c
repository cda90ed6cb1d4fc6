/* beside_classes.c - the classes of transformers' modules, by THE TABLE of families: one
 * rule per place. The names and sizes of the tensors must be those of the family, else
 * nothing is named. tests/python/folder_model_test.py compares it with the library. */
#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "read/beside_in.h"

enum class_rule_kind {
    RULE_CLASS, /* `word` is the class, without the family's prefix */
    RULE_PLAIN, /* `word` is the class */
    RULE_BLOCK, /* one of SIZE_BLOCKS blocks */
    RULE_SIZE,  /* a matrix whose size `dim` is `size` */
};

/* A place below the base model; "*" is any number. */
struct class_rule {
    const char *path;
    enum class_rule_kind kind;
    const char *word;
    int dim;
    enum beside_size size;
};

#define CLASS(path, word)                                                              \
    {                                                                                  \
        path, RULE_CLASS, word, 0, SIZE_COUNT                                          \
    }
#define PLAIN(path, word)                                                              \
    {                                                                                  \
        path, RULE_PLAIN, word, 0, SIZE_COUNT                                          \
    }
#define BLOCK(path)                                                                    \
    {                                                                                  \
        path, RULE_BLOCK, NULL, 0, SIZE_COUNT                                          \
    }
#define SIZE(path, dim, size)                                                          \
    {                                                                                  \
        path, RULE_SIZE, NULL, dim, size                                               \
    }

static const struct class_rule llama_rules[] = {
    PLAIN("layers", "ModuleList"),
    CLASS("layers.*", "DecoderLayer"),
    CLASS("layers.*.self_attn", "Attention"),
    CLASS("layers.*.self_attn.q_norm", "RMSNorm"),
    CLASS("layers.*.self_attn.k_norm", "RMSNorm"),
    CLASS("layers.*.mlp", "MLP"),
    CLASS("layers.*.input_layernorm", "RMSNorm"),
    CLASS("layers.*.post_attention_layernorm", "RMSNorm"),
    CLASS("layers.*.pre_feedforward_layernorm", "RMSNorm"),
    CLASS("layers.*.post_feedforward_layernorm", "RMSNorm"),
    CLASS("norm", "RMSNorm"),
    BLOCK("layers.*"),
    SIZE("embed_tokens.weight", 0, SIZE_VOCABULARY),
    SIZE("embed_tokens.weight", 1, SIZE_EMBEDDING),
    SIZE("layers.*.mlp.down_proj.weight", 1, SIZE_INNER),
};

static const struct class_rule bert_rules[] = {
    CLASS("embeddings", "Embeddings"),
    CLASS("encoder", "Encoder"),
    PLAIN("encoder.layer", "ModuleList"),
    CLASS("encoder.layer.*", "Layer"),
    CLASS("encoder.layer.*.attention", "Attention"),
    CLASS("encoder.layer.*.attention.self", "SelfAttention"),
    CLASS("encoder.layer.*.attention.output", "SelfOutput"),
    CLASS("encoder.layer.*.intermediate", "Intermediate"),
    CLASS("encoder.layer.*.output", "Output"),
    CLASS("pooler", "Pooler"),
    BLOCK("encoder.layer.*"),
    SIZE("embeddings.word_embeddings.weight", 0, SIZE_VOCABULARY),
    SIZE("embeddings.word_embeddings.weight", 1, SIZE_EMBEDDING),
    SIZE("encoder.layer.*.intermediate.dense.weight", 0, SIZE_INNER),
};

static const struct class_rule gpt2_rules[] = {
    PLAIN("h", "ModuleList"),
    CLASS("h.*", "Block"),
    CLASS("h.*.attn", "Attention"),
    CLASS("h.*.mlp", "MLP"),
    BLOCK("h.*"),
    SIZE("wte.weight", 0, SIZE_VOCABULARY),
    SIZE("wte.weight", 1, SIZE_EMBEDDING),
    SIZE("h.*.mlp.c_fc.weight", 1, SIZE_INNER),
};

struct class_family {
    const char *prefix, *base; /* the attribute that is the base model */
    const struct class_rule *rules;
    size_t n;
};

#define FAMILY(prefix, base, rules)                                                    \
    {                                                                                  \
        prefix, base, rules, COUNT_OF(rules)                                           \
    }
/* THE TABLE. */
static const struct class_family families[] = {
    FAMILY("Llama", "model", llama_rules),    FAMILY("Mistral", "model", llama_rules),
    FAMILY("Qwen2", "model", llama_rules),    FAMILY("Qwen3", "model", llama_rules),
    FAMILY("Gemma", "model", llama_rules),    FAMILY("Gemma2", "model", llama_rules),
    FAMILY("Phi3", "model", llama_rules),     FAMILY("Bert", "bert", bert_rules),
    FAMILY("Roberta", "roberta", bert_rules), FAMILY("GPT2", "transformer", gpt2_rules),
};

/* How far a node agrees with the rules. */
struct fit {
    uint32_t rules; /* bits: those whose path begins with that of the node */
    uint16_t depth; /* below the base model */
    uint16_t ends;  /* 1 + the rule for a class that is about the node; 0: none */
};

struct classing {
    struct beside *self;
    const struct beside_config *config;
    const struct class_family *family;
    struct fit *fits; /* by node */
    uint32_t base;    /* the node of the base model: 0 if it is the whole */
    uint64_t blocks;
    bool embedding; /* has the size that the configuration says */
    bool wrong[SIZE_COUNT], any_wrong;
};

/* "ForCausalLM" in LlamaForCausalLM. */
static const struct class_family *family_of(struct str architecture)
{
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        struct str prefix = str_of(families[i].prefix), rest;

        if (!str_starts(architecture, prefix))
            continue;
        rest = str_from(architecture, prefix.len);
        if (str_is(rest, "Model") || str_starts(rest, STR("For")) ||
            str_is(rest, "LMHeadModel") || str_is(rest, "DoubleHeadsModel"))
            return &families[i];
    }
    return NULL;
}

static bool is_base_class(const struct classing *c)
{
    struct str prefix = str_of(c->family->prefix);

    return str_is(str_from(c->config->architecture, prefix.len), "Model");
}

static bool is_number(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.at[i] < '0' || name.at[i] > '9')
            return false;
    return name.len > 0;
}

/* Does the path have this name at this depth? *ret_last: it ends there. */
static bool part_fits(const char *path, uint32_t depth, struct str name, bool *ret_last)
{
    struct str rest = str_of(path), part = STR("");

    for (uint32_t i = 0; i <= depth; i++)
        if (!str_split(&rest, '.', &part))
            return false;
    *ret_last = !rest.at;
    return str_is(part, "*") ? is_number(name) : str_eq(part, name);
}

/* ---- sizes ---- */

/* Once for each size: all blocks have the same. */
static void compare(struct classing *c, uint32_t node, enum beside_size size,
                    int64_t found)
{
    int64_t said = c->config->sizes[size];

    if (said < 0 || said == found || c->wrong[size])
        return;
    c->wrong[size] = c->any_wrong = true;
    build_finding(c->self->build, FINDING_SIZE_MISMATCH, SEVERITY_WARNING, node,
                  "config.json says %s %" PRId64 ", the tensors have %" PRId64,
                  c->config->keys[size], said, found);
}

static bool is_real(const struct tensor *tensor)
{
    const struct dtype_info *info = dtype_info((enum dtype)tensor->dtype);

    return tensor->rank == 2 && !(tensor->flags & TENSOR_INVALID) && !info->quantised &&
           info->kind == DTYPE_KIND_FLOAT;
}

static void check_size(struct classing *c, const struct class_rule *rule, uint32_t node)
{
    const struct model *model = c->self->build->model;
    uint32_t id = build_tensor_at(c->self->build, node);
    int64_t found;

    if (id >= model->n_tensors || !is_real(&model->tensors[id]))
        return;
    found = tensor_shape(model, &model->tensors[id])[rule->dim];
    compare(c, node, rule->size, found);
    if (rule->size == SIZE_EMBEDDING)
        c->embedding = found == c->config->sizes[SIZE_EMBEDDING];
}

/* ---- one pass over the nodes: a parent comes before its children ---- */

static void follow_rule(struct classing *c, uint32_t node, size_t i)
{
    const struct class_rule *rule = &c->family->rules[i];

    switch (rule->kind) {
    case RULE_CLASS:
    case RULE_PLAIN:
        if (build_kind(c->self->build, node) == PLACE_MODULE)
            c->fits[node].ends = (uint16_t)(i + 1);
        break;
    case RULE_BLOCK:
        c->blocks++;
        break;
    case RULE_SIZE:
        check_size(c, rule, node);
        break;
    }
}

static void look_at_node(struct classing *c, uint32_t node)
{
    const struct model *model = c->self->build->model;
    struct fit *fit = &c->fits[node], above = c->fits[model->parent[node]];
    struct str name = model_string(model, model->name[node]);
    bool last;

    if (above.rules == 0)
        return;
    fit->depth = (uint16_t)(above.depth + 1); /* no rule is deeper than its path */
    for (size_t i = 0; i < c->family->n; i++)
        if (above.rules & (1u << i) &&
            part_fits(c->family->rules[i].path, above.depth, name, &last)) {
            fit->rules |= 1u << i;
            if (last)
                follow_rule(c, node, i);
        }
}

/* The node of the base model: "model" in LlamaForCausalLM; else the root. */
static uint32_t find_base(const struct classing *c)
{
    const struct build *build = c->self->build;
    const struct model *model = build->model;

    for (uint32_t node = 1; node < build->n_nodes; node++)
        if (model->parent[node] == 0 && build_kind(build, node) == PLACE_MODULE &&
            str_is(model_string(model, model->name[node]), c->family->base))
            return node;
    return 0;
}

static void set_class(struct beside *self, uint32_t node, struct str name)
{
    uint32_t id = build_class(self->build, name);
    struct object *object = build_object(self->build, node);

    if (!object || id == NO_CLASS)
        return;
    object->class_id = id;
    object->guessed = true;
}

static void set_family_class(struct classing *c, uint32_t node, const char *word)
{
    char name[80];

    snprintf(name, sizeof name, "%s%s", c->family->prefix, word);
    set_class(c->self, node, str_of(name));
}

static void name_modules(struct classing *c)
{
    for (uint32_t node = 1; node < c->self->build->n_nodes; node++) {
        const struct class_rule *rule = &c->family->rules[c->fits[node].ends - 1];

        if (c->fits[node].ends == 0)
            continue;
        if (rule->kind == RULE_PLAIN)
            set_class(c->self, node, str_of(rule->word));
        else
            set_family_class(c, node, rule->word);
    }
    if (c->base != 0)
        set_family_class(c, c->base, "Model");
}

/* The class of the whole. Published checkpoints may hold only the base model of what
 * config.json names, without the name of its attribute. */
static void name_root(struct classing *c)
{
    if (is_base_class(c) && c->base != 0)
        return;
    if (c->base == 0)
        set_family_class(c, 0, "Model");
    else
        set_class(c->self, 0, c->config->architecture);
}

static void name_family(struct classing *c)
{
    struct build *build = c->self->build;

    c->fits = arena_array(&build->scratch, build->n_nodes, sizeof *c->fits);
    if (!c->fits)
        return;
    c->base = find_base(c);
    c->fits[c->base].rules = UINT32_MAX;
    for (uint32_t node = 1; node < build->n_nodes; node++)
        if (node != c->base)
            look_at_node(c, node);
    if (c->blocks > 0 && !build->model->partial)
        compare(c, c->base, SIZE_BLOCKS, (int64_t)c->blocks);
    if (c->any_wrong || !c->embedding || c->config->own_code)
        return;
    name_modules(c);
    name_root(c);
}

void beside_classes(struct beside *self, const struct beside_config *config)
{
    struct classing c = {
        .self = self, .config = config, .family = family_of(config->architecture)};

    if (!self->whole || !(build_flags(self->build, 0) & PLACE_STATE_DICT))
        return;
    if (c.family)
        name_family(&c);
    else if (config->architecture.len > 0)
        set_class(self, 0, config->architecture);
}
