/* The classes of transformers' modules, from THE TABLE of families
 * (beside_families_in.h). The names and sizes of the tensors must be those of the
 * family, else nothing is named. */
#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "read/beside_families_in.h"

/* How far a node agrees with the rules. */
struct fit {
    uint64_t rules; /* bits: those whose path begins with that of the node */
    uint16_t depth; /* components of the rules' paths that the node has */
    uint16_t ends;  /* 1 + the rule for the class of the node; 0: none */
};

struct classing {
    struct beside *self;
    const struct beside_config *config;
    const struct class_family *family;
    struct fit *fits; /* by node */
    uint32_t base;    /* the node of the base model: 0 if it is the whole */
    uint64_t blocks[SECTION_COUNT][SIZE_COUNT];
    bool embedding; /* has the size that the configuration says */
    bool wrong[SECTION_COUNT][SIZE_COUNT], any_wrong;
};

/* What follows the family's name in the classes of whole models. */
static const char *const heads[] = {
    "For*",         "Model",   "LMHeadModel",         "DoubleHeadsModel",
    "EncoderModel", "MTModel", "ModelWithProjection", "WithLMHeadModel"};

static const struct class_family *family_of(struct str architecture)
{
    for (size_t i = 0; i < n_class_families; i++) {
        struct str prefix = str_of(class_families[i].prefix);

        if (!str_starts(architecture, prefix))
            continue;
        for (size_t k = 0; k < COUNT_OF(heads); k++)
            if (str_glob(str_from(architecture, prefix.len), heads[k]))
                return &class_families[i];
    }
    return NULL;
}

/* False: config.json names the class of the whole, whatever the file holds. */
static bool has_base_class(const struct class_family *family)
{
    return !family->model || *family->model != '\0';
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

/* Is the name this component of a path, or one of its alternatives? */
static bool is_component(struct str part, struct str name)
{
    struct str one;

    if (str_is(part, "*"))
        return is_number(name);
    while (part.at && str_split(&part, '|', &one))
        if (str_eq(one, name))
            return true;
    return false;
}

/* Does the path have this name at this depth? *ret_last: it ends there. */
static bool part_fits(const char *path, uint32_t depth, struct str name, bool *ret_last)
{
    struct str rest = str_of(path), part = STR("");

    for (uint32_t i = 0; i <= depth; i++)
        if (!str_split(&rest, '.', &part))
            return false;
    *ret_last = !rest.at;
    return is_component(part, name);
}

/* ---- sizes ---- */

static const char *const section_names[SECTION_COUNT] = {"", "text_config.",
                                                         "vision_config."};

static enum beside_section section_of(const struct classing *c,
                                      const struct class_rule *rule)
{
    return c->family->within ? SECTION_WHOLE : rule->section;
}

/* Once for each size: all blocks have the same. */
static void compare(struct classing *c, uint32_t node, enum beside_section section,
                    enum beside_size size, int64_t found)
{
    int64_t said = c->config->sizes[section][size];

    if (said < 0 || said == found || c->wrong[section][size])
        return;
    c->wrong[section][size] = c->any_wrong = true;
    build_finding(c->self->build, FINDING_SIZE_MISMATCH, SEVERITY_WARNING, node,
                  "config.json says %s%s %" PRId64 ", the tensors have %" PRId64,
                  section_names[section], c->config->keys[section][size], said, found);
}

static bool is_real(const struct tensor *tensor)
{
    const struct dtype_info *info = dtype_info((enum dtype)tensor->dtype);

    return tensor->rank >= 2 && !(tensor->flags & TENSOR_INVALID) && !info->quantised &&
           info->kind == DTYPE_KIND_FLOAT;
}

static void check_size(struct classing *c, const struct class_rule *rule, uint32_t node)
{
    const struct model *model = c->self->build->model;
    uint32_t id = build_tensor_at(c->self->build, node);
    enum beside_section section = section_of(c, rule);
    int64_t found, said = c->config->sizes[section][rule->size];

    if (id >= model->n_tensors || !is_real(&model->tensors[id]) ||
        rule->dim >= model->tensors[id].rank)
        return;
    found = tensor_shape(model, &model->tensors[id])[rule->dim];
    compare(c, node, section, rule->size, found);
    /* A section leaves out sizes that are the default of transformers. */
    if (rule->size == SIZE_EMBEDDING || rule->size == SIZE_FIRST)
        c->embedding |= said == found || (said < 0 && section != SECTION_WHOLE);
}

static void compare_blocks(struct classing *c)
{
    if (c->self->build->model->partial)
        return;
    for (int i = 0; i < SECTION_COUNT; i++)
        for (int k = 0; k < SIZE_COUNT; k++)
            if (c->blocks[i][k] > 0)
                compare(c, c->base, i, k, (int64_t)c->blocks[i][k]);
}

/* ---- one pass over the nodes: a parent comes before its children ---- */

static void follow_rule(struct classing *c, uint32_t node, size_t i)
{
    const struct model *model = c->self->build->model;
    const struct class_rule *rule = &c->family->rules[i];

    if (rule->when && !beside_is_true(c->config, rule->when))
        return;
    switch (rule->kind) {
    case RULE_CLASS:
    case RULE_PLAIN:
    case RULE_NORM:
        if (build_kind(c->self->build, node) == PLACE_MODULE)
            c->fits[node].ends = (uint16_t)(i + 1);
        break;
    case RULE_ABOVE:
    case RULE_MOE:
        if (build_kind(c->self->build, model->parent[node]) == PLACE_MODULE)
            c->fits[model->parent[node]].ends = (uint16_t)(i + 1);
        break;
    case RULE_BLOCK:
        c->blocks[section_of(c, rule)][rule->size]++;
        break;
    case RULE_SIZE:
        check_size(c, rule, node);
        break;
    }
}

static uint64_t rules_with(const struct classing *c, uint64_t among, uint32_t depth,
                           struct str name, uint64_t *ret_end)
{
    uint64_t rules = 0, end = 0;
    bool last;

    for (size_t i = 0; i < c->family->n; i++) {
        uint64_t bit = UINT64_C(1) << i;

        if (!(among & bit) || !part_fits(c->family->rules[i].path, depth, name, &last))
            continue;
        rules |= bit;
        end |= last ? bit : 0;
    }
    *ret_end = end;
    return rules;
}

static void look_at_node(struct classing *c, uint32_t node)
{
    const struct model *model = c->self->build->model;
    struct fit *fit = &c->fits[node], above = c->fits[model->parent[node]];
    uint64_t end;

    if (above.rules == 0)
        return;
    fit->depth = (uint16_t)(above.depth + 1); /* no rule is deeper than its path */
    fit->rules = rules_with(c, above.rules, above.depth,
                            model_string(model, model->name[node]), &end);
    for (size_t i = 0; i < c->family->n; i++)
        if (end >> i & 1)
            follow_rule(c, node, i);
}

/* The node of the base model: "model" in LlamaForCausalLM; else the root. */
static uint32_t find_base(const struct classing *c)
{
    const struct build *build = c->self->build;
    const struct model *model = build->model;

    for (uint32_t node = 1; c->family->base && node < build->n_nodes; node++)
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
    const char *prefix = c->family->classes ? c->family->classes : c->family->prefix;
    char name[80];

    snprintf(name, sizeof name, "%s%s", prefix, word);
    set_class(c->self, node, str_of(name));
}

static void name_module(struct classing *c, uint32_t node,
                        const struct class_rule *rule)
{
    const char *word = rule->kind == RULE_NORM  ? c->family->norm
                       : rule->kind == RULE_MOE ? c->family->moe
                                                : rule->word;

    if (rule->kind == RULE_PLAIN)
        set_class(c->self, node, str_of(word));
    else if (word)
        set_family_class(c, node, word);
}

/* Published checkpoints may hold only the base model of what config.json names, without
 * the name of its attribute. */
static void name_base(struct classing *c)
{
    bool known = has_base_class(c->family);
    const char *word = c->family->model ? c->family->model : "Model";

    if (known)
        set_family_class(c, c->base, word);
    if (!known || (c->base != 0 && !is_base_class(c)))
        set_class(c->self, 0, c->config->architecture);
}

static void start(struct classing *c)
{
    struct fit *base = &c->fits[c->base];
    uint64_t end;

    base->rules = UINT64_MAX;
    if (!c->family->within)
        return;
    base->rules = rules_with(c, base->rules, 0, str_of(c->family->within), &end);
    base->depth = 1;
}

static void name_family(struct classing *c)
{
    struct build *build = c->self->build;

    c->fits = arena_array(&build->scratch, build->n_nodes, sizeof *c->fits);
    if (!c->fits)
        return;
    c->base = find_base(c);
    start(c);
    for (uint32_t node = 1; node < build->n_nodes; node++)
        if (node != c->base)
            look_at_node(c, node);
    compare_blocks(c);
    if (c->any_wrong || !c->embedding || c->config->own_code)
        return;
    for (uint32_t node = 1; node < build->n_nodes; node++)
        if (c->fits[node].ends > 0)
            name_module(c, node, &c->family->rules[c->fits[node].ends - 1]);
    name_base(c);
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
