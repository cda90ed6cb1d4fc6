#include "study/safety/verdict.h"

#include <stdio.h>

#include "base/base.h"
#include "study/safety/verdict_in.h"

struct judgement {
    enum trust trust;
    const char *about;
    bool runs; /* code or a program */
};

#define COMPUTED "<computed>"

static struct str global_name(const struct model *model, uint32_t index)
{
    return model_string(model, model->pickle.globals[index].name);
}

/* The name behind the module: "print.__class__" of builtins. */
static struct str name_part(const struct pickle_global *global, struct str name)
{
    return global->module_len < name.len ? str_from(name, global->module_len + 1)
                                         : name;
}

static unsigned uses_of(const struct pickle_global *global)
{
    static const struct {
        enum pickle_act act;
        unsigned use;
    } uses_by_act[] = {{PICKLE_NAMES, USE_NAME},
                       {PICKLE_CALLS, USE_CALL},
                       {PICKLE_MAKES, USE_MAKE},
                       {PICKLE_BUILDS, USE_BUILD},
                       {PICKLE_FILLS, USE_FILL}};
    unsigned uses = 0;

    for (size_t i = 0; i < COUNT_OF(uses_by_act); i++) {
        if (global->acts[uses_by_act[i].act])
            uses |= uses_by_act[i].use;
    }
    return uses;
}

static bool is_indirect(const struct model *model)
{
    uint32_t i;

    for (i = 0; i < model->pickle.n_globals; i++) {
        if ((uses_of(&model->pickle.globals[i]) & (USE_CALL | USE_MAKE | USE_FILL)) &&
            verdict_calls_others(global_name(model, i)))
            return true;
    }
    return false;
}

/* ---- what a name tells ---- */

static bool is_torch(struct str name)
{
    return str_starts(name, STR("torch."));
}

static bool is_numpy(struct str name)
{
    return str_starts(name, STR("numpy."));
}

/* Not of Python, torch or numpy, which we know: of the user, or of a package of his. */
static bool is_others(struct str name)
{
    return str_find_char(name, '.') >= 0 && !verdict_is_standard(name) &&
           !is_torch(name) && !is_numpy(name);
}

/* "__globals__": the attributes through which Python's inside is reached. */
static bool is_magic(struct str part)
{
    return part.len > 4 && str_starts(part, STR("__")) && str_ends(part, STR("__"));
}

/* The part before the first dot, which is cut off `rest`. */
static struct str next_part(struct str *rest)
{
    ptrdiff_t dot = str_find_char(*rest, '.');
    struct str part = str_head(*rest, dot < 0 ? rest->len : (size_t)dot);

    *rest = str_from(*rest, dot < 0 ? rest->len : (size_t)dot + 1);
    return part;
}

static bool has_magic(struct str name)
{
    while (name.len > 0) {
        if (is_magic(next_part(&name)))
            return true;
    }
    return false;
}

/* Protocol 4 looks a name with dots up part by part: "os.system" of a module that
 * imports os. A class within a class has dots as well, but passes through classes. */
static bool passes_through_module(struct str name)
{
    while (str_find_char(name, '.') >= 0) {
        struct str part = next_part(&name);

        if (verdict_is_standard(part) && !verdict_is_class_like(part))
            return true;
    }
    return false;
}

static bool is_constant(struct str name)
{
    size_t i;

    for (i = 0; i < name.len; i++) {
        char c = name.at[i];

        if (!(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
    }
    return name.len > 0;
}

/* ---- names reached through getattr ---- */

/* getattr(X, "name") with a global X: how Python 3.11 spells members of an Enum,
 * protocol 2 a class within a class, and torch its functions in C. Reaching into the
 * standard library, for a module, or for a name like __globals__, is how code is found.
 */
static bool member_is_plain(struct str owner, struct str name)
{
    struct str last = str_from(owner, (size_t)(str_find_last_char(owner, '.') + 1));

    if (is_magic(name) || verdict_dangerous(owner) || has_magic(owner))
        return false;
    if (is_constant(name) && verdict_is_class_like(owner))
        return true;
    if (str_is(owner, "torch._C._VariableFunctionsClass") ||
        str_is(owner, "torch._C._VariableFunctions"))
        return verdict_torch_function(name);
    return is_others(owner) && !verdict_is_standard(last);
}

/* The same with an object for X: a method. Those of torch's classes that stand in files
 * are the hooks of lazy modules; of others we do not know what they do. */
static bool method_is_plain(struct str class, struct str name)
{
    if (str_starts(class, STR("torch.nn.modules.")) && verdict_is_class_like(class))
        return str_is(name, "_infer_parameters") || str_is(name, "_lazy_load_hook");
    return is_others(class) && !is_magic(name) && !verdict_dangerous(class);
}

static bool getattr_is_plain(const struct model *model, uint32_t args)
{
    const struct value *value = value_at(&model->values, args);
    const uint32_t *items = value_items(&model->values, args);
    enum value_kind kind;
    struct str owner, name;

    if (value->kind != VALUE_TUPLE || value->n < 2 ||
        value_at(&model->values, items[1])->kind != VALUE_STR)
        return false;
    owner = value_text(&model->values, items[0]);
    name = value_text(&model->values, items[1]);
    kind = (enum value_kind)value_at(&model->values, items[0])->kind;
    if (kind == VALUE_GLOBAL)
        return member_is_plain(owner, name);
    return (kind == VALUE_CALL || kind == VALUE_OBJECT) && method_is_plain(owner, name);
}

/* The callee of a computed call stands first in its arguments, as the name "X.name"
 * that a getattr gave. Only the user's own classes may be reached so. */
static bool callee_is_plain(const struct model *model, uint32_t args)
{
    const struct value *both = value_at(&model->values, args);
    uint32_t callee;
    struct str name, owner;
    ptrdiff_t dot;

    if (both->kind != VALUE_TUPLE || both->n < 1)
        return false;
    callee = value_items(&model->values, args)[0];
    if (value_at(&model->values, callee)->kind != VALUE_GLOBAL)
        return false;
    name = value_text(&model->values, callee);
    dot = str_find_last_char(name, '.');
    owner = str_head(name, dot < 0 ? 0 : (size_t)dot);
    return is_others(owner) &&
           member_is_plain(owner, str_from(name, (size_t)(dot + 1)));
}

/* Does `plain` hold for the arguments of every use of a global, naming it aside? Only
 * if all are kept. */
static bool all_uses(const struct model *model, uint32_t index,
                     bool (*plain)(const struct model *model, uint32_t args))
{
    const struct pickle_global *global = &model->pickle.globals[index];
    uint64_t expected = 0, seen = 0;
    uint32_t i, act;

    for (act = 0; act < PICKLE_ACT_COUNT; act++) {
        if (act != PICKLE_NAMES)
            expected += global->acts[act];
    }
    for (i = global->first; i != NO_EVENT; i = model->pickle.events[i].next) {
        const struct pickle_event *event = &model->pickle.events[i];

        if (event->act == PICKLE_NAMES)
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
        return (struct judgement){.trust = TRUST_KNOWN, .about = "names a member"};
    return (struct judgement){.trust = TRUST_DANGER, .about = "reaches any attribute"};
}

static struct judgement judge_computed(const struct model *model, uint32_t index)
{
    const struct pickle_global *global = &model->pickle.globals[index];

    if (global->acts[PICKLE_NAMES])
        return (struct judgement){.trust = TRUST_DANGER,
                                  .about = "a name that is put together on load"};
    if (!global->acts[PICKLE_FILLS] && all_uses(model, index, callee_is_plain))
        return (struct judgement){.trust = TRUST_UNKNOWN,
                                  .about = "a class within a class"};
    return (struct judgement){.trust = TRUST_DANGER,
                              .about = "calls what another call returned"};
}

/* ---- dill's way to name things ---- */

#define DILL_NAME 512 /* bytes of a dotted name; a longer one is not trusted */

/* dill writes "import M" and "M.name" as calls. With constant names they do no more
 * than a GLOBAL does, if nothing on the way is dangerous, hidden or another module. */
static bool path_is_plain(struct str module, struct str name)
{
    char text[DILL_NAME];
    int n = snprintf(text, sizeof text, "%.*s.%.*s", STR_ARG(module), STR_ARG(name));
    struct str path = str_span(text, n < 0 ? 0 : (size_t)n), rest = path;

    if (n < 0 || (size_t)n >= sizeof text || module.len == 0 || has_magic(path))
        return false;
    next_part(&rest);
    return !verdict_dangerous(module) && !verdict_dangerous(path) &&
           !passes_through_module(rest);
}

/* _import_module("M"), _import_module("M", True): what it names, or nothing. */
static struct str imported(const struct model *model, const uint32_t *items, uint32_t n)
{
    const struct values *values = &model->values;

    if (n < 1 || n > 2 || value_at(values, items[0])->kind != VALUE_STR ||
        (n == 2 && value_at(values, items[1])->kind != VALUE_BOOL))
        return STR("");
    return value_text(values, items[0]);
}

static bool import_is_plain(const struct model *model, uint32_t args)
{
    const struct value *value = value_at(&model->values, args);

    return value->kind == VALUE_TUPLE &&
           path_is_plain(imported(model, value_items(&model->values, args), value->n),
                         STR("x"));
}

/* _get_attr(_import_module("M"), "name") */
static bool member_of_import_is_plain(const struct model *model, uint32_t args)
{
    const struct values *values = &model->values;
    const struct value *value = value_at(values, args), *owner;
    const uint32_t *items = value_items(values, args);

    if (value->kind != VALUE_TUPLE || value->n != 2 ||
        value_at(values, items[1])->kind != VALUE_STR)
        return false;
    owner = value_at(values, items[0]);
    if (owner->kind != VALUE_CALL ||
        !str_is(value_text(values, items[0]), "dill._dill._import_module"))
        return false;
    return path_is_plain(imported(model, value_items(values, items[0]), owner->n),
                         value_text(values, items[1]));
}

/* False: it does more than that. */
static bool judge_dill(const struct model *model, uint32_t index, struct str name,
                       struct judgement *ret)
{
    bool plain = false;

    if (str_is(name, "dill._dill._import_module"))
        plain = all_uses(model, index, import_is_plain);
    else if (str_is(name, "dill._dill._get_attr"))
        plain = all_uses(model, index, member_of_import_is_plain);
    if (plain)
        *ret = (struct judgement){.trust = TRUST_UNKNOWN,
                                  .about = "imports what it names"};
    return plain;
}

/* ---- one global ---- */

/* A name on neither list. What belongs to Python, torch or numpy and is not allowed has
 * no business in a model once it is called; of others we only know that they are code.
 */
static struct judgement judge_unknown(const struct pickle_global *global,
                                      struct str name, bool indirect)
{
    bool called = uses_of(global) & (USE_CALL | USE_MAKE | USE_FILL);
    bool function = !verdict_is_class_like(name);
    struct str part = name_part(global, name);

    if (has_magic(part))
        return (struct judgement){.trust = TRUST_DANGER,
                                  .about = "reaches a hidden attribute"};
    if (passes_through_module(part))
        return (struct judgement){.trust = TRUST_DANGER,
                                  .about = "reaches through another module"};
    if (verdict_is_standard(name) && (called || (indirect && function)))
        return (struct judgement){.trust = TRUST_DANGER,
                                  .about = "standard library, outside the allow-list"};
    if (is_torch(name) && function && (called || indirect))
        return (struct judgement){.trust = TRUST_DANGER,
                                  .about = "part of torch, outside the allow-list"};
    if (is_numpy(name) && function && (called || indirect))
        return (struct judgement){.trust = TRUST_DANGER,
                                  .about = "part of numpy, outside the allow-list"};
    return (struct judgement){.trust = TRUST_UNKNOWN, .about = ""};
}

/* A torch file in bytes is as good or bad as what stands in it, which is in this same
 * log if every one of them was read. */
static bool files_were_read(const struct pickle_global *global)
{
    return global->acts[PICKLE_READS] >= global->acts[PICKLE_CALLS] &&
           !(uses_of(global) & ~(unsigned)(USE_NAME | USE_CALL));
}

static bool is_loader(struct str name)
{
    return str_is(name, "torch.storage._load_from_bytes");
}

/* Some are judged by more than their name. False: this is none of them. */
static bool judge_special(const struct model *model, uint32_t index, struct str name,
                          struct judgement *ret)
{
    const struct pickle_global *global = &model->pickle.globals[index];

    if (global->acts[PICKLE_OVERRIDES])
        *ret = (struct judgement){.trust = TRUST_DANGER,
                                  .about = "its attributes are replaced"};
    else if (global->acts[PICKLE_EXTENSION])
        *ret = (struct judgement){.trust = TRUST_DANGER,
                                  .about = "a name that is not in the file"};
    else if (name.len == 0 && !uses_of(global))
        *ret = (struct judgement){.trust = TRUST_KNOWN, .about = "refers to a storage"};
    else if (str_is(name, COMPUTED))
        *ret = judge_computed(model, index);
    else if (str_is(name, "builtins.getattr"))
        *ret = judge_getattr(model, index);
    else if (is_loader(name) && files_were_read(global))
        *ret = (struct judgement){.trust = TRUST_KNOWN,
                                  .about = "loads a torch file within this file"};
    else if (is_loader(name))
        *ret = (struct judgement){
            .trust = TRUST_UNKNOWN,
            .about = "loads a file within this file that was not read"};
    else if (str_is(name, "operator.getitem") || str_is(name, "_operator.getitem"))
        *ret = (struct judgement){.trust = TRUST_UNKNOWN, .about = "takes an item"};
    else
        return judge_dill(model, index, name, ret);
    return true;
}

static bool is_script(const struct model *model)
{
    return str_is(str_of(model->format), "TorchScript");
}

static struct judgement judge(const struct model *model, uint32_t index, bool indirect)
{
    const struct pickle_global *global = &model->pickle.globals[index];
    struct str name = global_name(model, index);
    const struct known_global *row;
    struct judgement special;

    if (judge_special(model, index, name, &special))
        return special;
    row = verdict_allowed(name, global->module_len, is_script(model));
    if (row && !(uses_of(global) & ~row->uses))
        return (struct judgement){.trust = TRUST_KNOWN, .about = row->about};
    row = verdict_dangerous(name);
    if (row)
        return (struct judgement){TRUST_DANGER, row->about, row->uses != 0};
    return judge_unknown(global, name, indirect);
}

/* May the user vouch for it? What comes with Python or torch we know better. */
static bool is_vouched_for(const struct verdict_allow *allow, struct str name)
{
    uint32_t i;

    if (!allow || verdict_is_standard(name) || is_torch(name) || is_numpy(name))
        return false;
    for (i = 0; i < allow->n; i++) {
        if (verdict_fits_glob(allow->patterns[i], name))
            return true;
    }
    return false;
}

static struct judgement judge_with(const struct model *model,
                                   const struct verdict_sum *sum, uint32_t index)
{
    struct judgement judgement = judge(model, index, sum->indirect);

    if (judgement.trust == TRUST_UNKNOWN &&
        is_vouched_for(sum->allow, global_name(model, index)))
        judgement = (struct judgement){.trust = TRUST_KNOWN, .about = "allowed by you"};
    return judgement;
}

enum trust verdict_judge(const struct model *model, const struct verdict_sum *sum,
                         uint32_t global_index, const char **ret_about)
{
    struct judgement judgement = judge_with(model, sum, global_index);

    if (ret_about)
        *ret_about = judgement.about;
    return judgement.trust;
}

/* ---- the whole file ---- */

/* Formats of which a pickle is part. */
static bool should_have_pickles(const struct model *model)
{
    struct str format = str_of(model->format);

    return str_starts(format, STR("torch ")) || str_is(format, "TorchScript") ||
           str_is(format, "pickle");
}

/* Could a plain load see something else than we did? A pickle that broke off, one that
 * was named but not read, headers that make two readers disagree. */
static bool is_inconclusive(const struct model *model)
{
    uint32_t i;

    if (model->pickle.lost)
        return true;
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
    for (i = 0; i < model->pickle.n_globals; i++) {
        if (is_loader(global_name(model, i)) &&
            !files_were_read(&model->pickle.globals[i]))
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
        struct judgement judgement = judge_with(model, &sum, i);
        enum trust trust = judgement.trust;

        /* Persistent ids have no name: data that the loader looks up, no global. */
        if (trust == TRUST_KNOWN && global_name(model, i).len == 0)
            continue;
        sum.known += trust == TRUST_KNOWN;
        sum.unknown += trust == TRUST_UNKNOWN;
        sum.danger += trust == TRUST_DANGER;
        sum.runs |= judgement.runs;
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
