#include "study/verdict.h"

#include "study/verdict_in.h"

struct judgement {
    enum trust trust;
    const char *about;
};

#define COMPUTED "<computed>"

static struct str global_name(const struct model *model, uint32_t index)
{
    return model_string(model, model->pickle.globals[index].name);
}

static unsigned uses_of(const struct pickle_global *global)
{
    unsigned uses = 0;

    if (global->acts[PICKLE_NAMES])
        uses |= USE_NAME;
    if (global->acts[PICKLE_CALLS])
        uses |= USE_CALL;
    if (global->acts[PICKLE_MAKES])
        uses |= USE_MAKE;
    if (global->acts[PICKLE_BUILDS])
        uses |= USE_BUILD;
    return uses;
}

static bool is_indirect(const struct model *model)
{
    uint32_t i;

    for (i = 0; i < model->pickle.n_globals; i++) {
        if ((uses_of(&model->pickle.globals[i]) & (USE_CALL | USE_MAKE)) &&
            verdict_calls_others(global_name(model, i)))
            return true;
    }
    return false;
}

/* ---- names reached through getattr ---- */

static bool is_torch(struct str name)
{
    return str_starts(name, STR("torch."));
}

/* getattr(X, "name") is how Python 3.11 spells members of an Enum, and protocol 2 a
 * class within a class: harmless where X is the user's own or names torch's functions.
 * Reaching into the standard library, or for a name like __globals__, is how code is
 * found. */
static bool getattr_is_plain(const struct model *model, uint32_t args)
{
    const struct value *value = value_at(&model->values, args);
    const uint32_t *items = value_items(&model->values, args);
    struct str owner, name;

    if (value->n < 2 || value_at(&model->values, items[1])->kind != VALUE_STR ||
        value_at(&model->values, items[0])->kind != VALUE_GLOBAL)
        return false;
    owner = value_text(&model->values, items[0]);
    name = value_text(&model->values, items[1]);
    if (str_find(name, STR("__")) >= 0 || verdict_dangerous(owner))
        return false;
    if (str_starts(owner, STR("torch._C._VariableFunctions")))
        return true;
    return !verdict_is_standard(owner) && !is_torch(owner);
}

/* The callee of a computed call stands first in its arguments: is it such a getattr? */
static bool callee_is_plain(const struct model *model, uint32_t args)
{
    const struct value *both = value_at(&model->values, args);
    uint32_t callee;

    if (both->kind != VALUE_TUPLE || both->n < 1)
        return false;
    callee = value_items(&model->values, args)[0];
    return value_at(&model->values, callee)->kind == VALUE_CALL &&
           str_is(value_text(&model->values, callee), "builtins.getattr") &&
           getattr_is_plain(model, callee);
}

/* Does `plain` hold for the arguments of every use of a global? Only if all are kept.
 */
static bool all_uses(const struct model *model, uint32_t index,
                     bool (*plain)(const struct model *model, uint32_t args))
{
    const struct pickle_global *global = &model->pickle.globals[index];
    uint64_t expected = 0, seen = 0;
    uint32_t i, act;

    for (act = 0; act < PICKLE_ACT_COUNT; act++) {
        if (act == PICKLE_NAMES && plain == getattr_is_plain)
            continue;
        expected += global->acts[act];
    }
    for (i = global->first; i != NO_EVENT; i = model->pickle.events[i].next) {
        const struct pickle_event *event = &model->pickle.events[i];

        if (event->act == PICKLE_NAMES && plain == getattr_is_plain)
            continue;
        if (!plain(model, event->args))
            return false;
        seen++;
    }
    return seen == expected;
}

static struct judgement judge_getattr(const struct model *model, uint32_t index)
{
    if (all_uses(model, index, getattr_is_plain))
        return (struct judgement){TRUST_KNOWN, "names a member"};
    return (struct judgement){TRUST_DANGER, "reaches any attribute"};
}

static struct judgement judge_computed(const struct model *model, uint32_t index)
{
    if (all_uses(model, index, callee_is_plain))
        return (struct judgement){TRUST_UNKNOWN, "a class within a class"};
    return (struct judgement){TRUST_DANGER, "calls what another call returned"};
}

/* ---- one global ---- */

/* The name behind the module: "print.__class__" of builtins. */
static bool has_dunder(const struct pickle_global *global, struct str name)
{
    struct str last = str_from(name, global->module_len);

    return str_find(last, STR("__")) >= 0;
}

/* A name on neither list. What belongs to Python or torch and is not allowed has no
 * business in a model once it is called; of others we only know that they are code. */
static struct judgement judge_unknown(const struct pickle_global *global,
                                      struct str name, bool indirect)
{
    bool called = uses_of(global) & (USE_CALL | USE_MAKE);
    bool standard = verdict_is_standard(name);
    bool function = !verdict_is_class_like(name);

    if (has_dunder(global, name))
        return (struct judgement){TRUST_DANGER, "reaches a hidden attribute"};
    if (standard && (called || (indirect && function)))
        return (struct judgement){TRUST_DANGER,
                                  "standard library, outside the allow-list"};
    if (is_torch(name) && function && (called || indirect))
        return (struct judgement){TRUST_DANGER,
                                  "part of torch, outside the allow-list"};
    return (struct judgement){TRUST_UNKNOWN, ""};
}

/* Some rows are neither good nor bad: they stand in ordinary files, and we cannot tell.
 */
static bool is_undecided(struct str name, const char **ret_about)
{
    *ret_about = "";
    if (str_is(name, "torch.storage._load_from_bytes"))
        *ret_about = "loads a torch file within this file";
    else if (str_is(name, "operator.getitem") || str_is(name, "_operator.getitem"))
        *ret_about = "takes an item";
    return **ret_about != '\0';
}

/* May the user vouch for it? What comes with Python or torch we know better. */
static bool is_vouched_for(const struct verdict_allow *allow, struct str name)
{
    uint32_t i;

    if (!allow || verdict_is_standard(name) || is_torch(name))
        return false;
    for (i = 0; i < allow->n; i++) {
        if (verdict_fits_glob(allow->patterns[i], name))
            return true;
    }
    return false;
}

static struct judgement judge(const struct model *model, uint32_t index, bool indirect)
{
    const struct pickle_global *global = &model->pickle.globals[index];
    struct str name = global_name(model, index);
    const struct known_global *row;
    const char *about;

    if (global->acts[PICKLE_OVERRIDES])
        return (struct judgement){TRUST_DANGER, "its attributes are replaced"};
    if (global->acts[PICKLE_EXTENSION])
        return (struct judgement){TRUST_DANGER, "a name that is not in the file"};
    if (name.len == 0 && !(uses_of(global) & (USE_CALL | USE_MAKE)))
        return (struct judgement){TRUST_KNOWN, "refers to a storage"};
    if (str_is(name, COMPUTED))
        return judge_computed(model, index);
    if (str_is(name, "builtins.getattr"))
        return judge_getattr(model, index);
    if (is_undecided(name, &about))
        return (struct judgement){TRUST_UNKNOWN, about};
    row = verdict_allowed(name);
    if (row && !(uses_of(global) & ~row->uses))
        return (struct judgement){TRUST_KNOWN, row->about};
    row = verdict_dangerous(name);
    if (row)
        return (struct judgement){TRUST_DANGER, row->about};
    return judge_unknown(global, name, indirect);
}

enum trust verdict_judge(const struct model *model, const struct verdict_sum *sum,
                         uint32_t global_index, const char **ret_about)
{
    struct judgement judgement = judge(model, global_index, sum->indirect);

    if (judgement.trust == TRUST_UNKNOWN &&
        is_vouched_for(sum->allow, global_name(model, global_index)))
        judgement = (struct judgement){TRUST_KNOWN, "allowed by you"};
    if (ret_about)
        *ret_about = judgement.about;
    return judgement.trust;
}

enum trust verdict_global(const struct model *model, uint32_t global_index)
{
    return judge(model, global_index, is_indirect(model)).trust;
}

const char *verdict_about(const struct model *model, uint32_t global_index)
{
    return judge(model, global_index, is_indirect(model)).about;
}

/* ---- the whole file ---- */

/* Formats of which a pickle is part. */
static bool should_have_pickles(const struct model *model)
{
    struct str format = str_of(model->format);

    return str_find(format, STR("orch")) >= 0 || str_find(format, STR("ickle")) >= 0;
}

/* Could a plain load see something else than we did? A pickle that broke off, one that
 * was named but not read, headers that make two readers disagree. */
static bool is_inconclusive(const struct model *model)
{
    uint32_t i;

    for (i = 0; i < model->pickle.n_streams; i++) {
        if (!model->pickle.streams[i].complete)
            return true;
    }
    for (i = 0; i < model->n_findings; i++) {
        enum finding_code code = model->findings[i].code;

        if (code == FINDING_PICKLE_MALFORMED ||
            (code == FINDING_ZIP_TRICK &&
             model->findings[i].severity == SEVERITY_ALARM))
            return true;
    }
    return model->pickle.n_streams == 0 && should_have_pickles(model);
}

struct verdict_sum verdict_of(const struct model *model)
{
    return verdict_with(model, NULL);
}

struct verdict_sum verdict_with(const struct model *model,
                                const struct verdict_allow *allow)
{
    struct verdict_sum sum = {
        .verdict = VERDICT_SAFE, .indirect = is_indirect(model), .allow = allow};
    uint32_t i;

    for (i = 0; i < model->pickle.n_globals; i++) {
        enum trust trust;

        trust = verdict_judge(model, &sum, i, NULL);
        /* Persistent ids have no name: data that the loader looks up, no global. */
        if (trust == TRUST_KNOWN && global_name(model, i).len == 0)
            continue;
        sum.known += trust == TRUST_KNOWN;
        sum.unknown += trust == TRUST_UNKNOWN;
        sum.danger += trust == TRUST_DANGER;
    }
    if (sum.danger > 0)
        sum.verdict = VERDICT_UNSAFE;
    else if (is_inconclusive(model))
        sum.verdict = VERDICT_INCONCLUSIVE;
    else if (sum.unknown > 0)
        sum.verdict = VERDICT_NEEDS_CODE;
    return sum;
}

/* ---- where it happens ---- */

uint32_t verdict_uses(const struct model *model, uint32_t global_index,
                      struct verdict_use *uses, uint32_t room)
{
    const struct pickle_log *log = &model->pickle;
    const struct pickle_global *global = &log->globals[global_index];
    bool only_named = true;
    uint32_t n = 0, act, i;

    for (act = 0; act < PICKLE_ACT_COUNT; act++) {
        if (act != PICKLE_NAMES && global->acts[act])
            only_named = false;
    }
    for (i = global->first; i != NO_EVENT && n < room; i = log->events[i].next) {
        const struct pickle_event *event = &log->events[i];
        struct verdict_use use = {.act = pickle_act_name((enum pickle_act)event->act),
                                  .opcode = pickle_opcode_name(event->opcode),
                                  .offset = event->offset,
                                  .args = event->args};

        if (event->act == PICKLE_NAMES && !only_named)
            continue;
        if (event->stream < log->n_streams)
            use.stream = model_string(model, log->streams[event->stream].name);
        uses[n++] = use;
    }
    return n;
}

const char *verdict_name(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_SAFE:
        return "safe";
    case VERDICT_NEEDS_CODE:
        return "needs code";
    case VERDICT_UNSAFE:
        return "unsafe";
    case VERDICT_INCONCLUSIVE:
        break;
    }
    return "inconclusive";
}

const char *trust_name(enum trust trust)
{
    static const char *const names[] = {"known", "unknown", "danger"};

    return names[trust];
}
