#include "study/safety/verdict.h"

#include <stdio.h>

#include "base/base.h"
#include "study/safety/verdict_in.h"

struct judgement {
    enum trust trust;
    const char *about;
    bool runs; /* it runs code or a program */
};

#define COMPUTED "<computed>"

static struct judgement known(const char *about)
{
    return (struct judgement){.trust = TRUST_KNOWN, .about = about};
}

static struct judgement unknown(const char *about)
{
    return (struct judgement){.trust = TRUST_UNKNOWN, .about = about};
}

static struct judgement danger(const char *about)
{
    return (struct judgement){.trust = TRUST_DANGER, .about = about};
}

static struct str global_name(const struct model *model, uint32_t index)
{
    return model_string(model, model->pickle.globals[index].name);
}

/* The name without its module: "print.__class__" of builtins. */
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

/* ---- names ---- */

static bool is_torch(struct str name)
{
    return str_starts(name, STR("torch."));
}

static bool is_numpy(struct str name)
{
    return str_starts(name, STR("numpy."));
}

/* Does it belong to the user's code or another package, not to Python, torch or numpy? */
static bool is_others(struct str name)
{
    return str_find_char(name, '.') >= 0 && !verdict_is_standard(name) &&
           !is_torch(name) && !is_numpy(name);
}

/* "__globals__": an attribute that gives access to Python's internals. */
static bool is_magic(struct str part)
{
    return part.len > 4 && str_starts(part, STR("__")) && str_ends(part, STR("__"));
}

/* Split off the part before the first dot. */
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

/* Protocol 4 resolves a dotted name part by part: "os.system" of a module that imports
 * os. A nested class has dots too, but goes through classes. */
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

/* ---- getattr ---- */

/* getattr(X, "name") with a global X is how Python 3.11 writes members of an Enum,
 * protocol 2 a nested class, and torch its C functions. An attribute of the standard
 * library, a module, or a name like __globals__ gives access to code. */
static bool member_is_plain(struct str owner, struct str name)
{
    struct str last = str_from(owner, (size_t)(str_find_last_char(owner, '.') + 1));

    if (is_magic(name) || verdict_dangerous(owner) || has_magic(owner))
        return false;
    if (is_constant(name) && verdict_is_class_like(owner))
        return true;
    if (str_is(owner, "torch._C._VariableFunctionsClass") ||
        str_is(owner, "torch._C._VariableFunctions"))
        return verdict_is_torch_function(name);
    return is_others(owner) && !verdict_is_standard(last);
}

/* The same with an object X: a method. Files have the hooks of torch's lazy modules;
 * other methods of torch are not trusted. */
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

/* The first argument of a computed call is its callee, the name "X.name" from a getattr.
 * Only the user's own classes may be called this way. */
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

/* Does `plain` hold for the arguments of every use of a global except naming it? False
 * if some uses were not logged. */
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
        return known("names a member");
    return danger("accesses any attribute");
}

static struct judgement judge_computed(const struct model *model, uint32_t index)
{
    const struct pickle_global *global = &model->pickle.globals[index];

    if (global->acts[PICKLE_NAMES])
        return danger("computes a name while loading");
    if (!global->acts[PICKLE_FILLS] && all_uses(model, index, callee_is_plain))
        return unknown("a nested class");
    return danger("calls what another call returned");
}

/* ---- dill ---- */

#define DILL_NAME 512 /* bytes of a dotted name; a longer one is not trusted */

/* dill writes "import M" and "M.name" as calls. With constant names they do the same as
 * GLOBAL, if nothing in the path is dangerous, hidden or another module. */
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

/* The module of _import_module("M") or _import_module("M", True); else empty. */
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

/* False: it does more than naming. */
static bool judge_dill(const struct model *model, uint32_t index, struct str name,
                       struct judgement *ret)
{
    bool plain = false;

    if (str_is(name, "dill._dill._import_module"))
        plain = all_uses(model, index, import_is_plain);
    else if (str_is(name, "dill._dill._get_attr"))
        plain = all_uses(model, index, member_of_import_is_plain);
    if (plain)
        *ret = unknown("imports what it names");
    return plain;
}

/* ---- one global ---- */

/* Judges a name on neither list. Calling parts of Python, torch or numpy outside the
 * allow-list is dangerous; other names are unknown code. */
static struct judgement judge_unknown(const struct pickle_global *global,
                                      struct str name, bool indirect)
{
    bool called = uses_of(global) & (USE_CALL | USE_MAKE | USE_FILL);
    bool function = !verdict_is_class_like(name);
    struct str part = name_part(global, name);

    if (has_magic(part))
        return danger("accesses a hidden attribute");
    if (passes_through_module(part))
        return danger("goes through another module");
    if (verdict_is_standard(name) && (called || (indirect && function)))
        return danger("standard library, outside the allow-list");
    if (is_torch(name) && function && (called || indirect))
        return danger("part of torch, outside the allow-list");
    if (is_numpy(name) && function && (called || indirect))
        return danger("part of numpy, outside the allow-list");
    return unknown("");
}

/* Nested torch files are judged by their content, which is in this log if all of them
 * were read. */
static bool files_were_read(const struct pickle_global *global)
{
    return global->acts[PICKLE_READS] >= global->acts[PICKLE_CALLS] &&
           !(uses_of(global) & ~(unsigned)(USE_NAME | USE_CALL));
}

static bool is_loader(struct str name)
{
    return str_is(name, "torch.storage._load_from_bytes");
}

/* Globals that are judged by more than their name. False: not one of them. */
static bool judge_special(const struct model *model, uint32_t index, struct str name,
                          struct judgement *ret)
{
    const struct pickle_global *global = &model->pickle.globals[index];

    if (global->acts[PICKLE_OVERRIDES])
        *ret = danger("its attributes are replaced");
    else if (global->acts[PICKLE_EXTENSION])
        *ret = danger("its name is not in the file");
    else if (name.len == 0 && !uses_of(global))
        *ret = known("refers to a storage");
    else if (str_is(name, COMPUTED))
        *ret = judge_computed(model, index);
    else if (str_is(name, "builtins.getattr"))
        *ret = judge_getattr(model, index);
    else if (is_loader(name) && files_were_read(global))
        *ret = known("loads a nested torch file");
    else if (is_loader(name))
        *ret = unknown("loads a nested file that was not checked");
    else if (str_is(name, "operator.getitem") || str_is(name, "_operator.getitem"))
        *ret = unknown("reads an item");
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
        return known(row->about);
    row = verdict_dangerous(name);
    if (row)
        return (struct judgement){TRUST_DANGER, row->about, row->uses != 0};
    return judge_unknown(global, name, indirect);
}

/* Did the user allow it? Names of Python, torch and numpy cannot be allowed. */
static bool is_vouched_for(const struct verdict_allow *allow, struct str name)
{
    uint32_t i;

    if (!allow || verdict_is_standard(name) || is_torch(name) || is_numpy(name))
        return false;
    for (i = 0; i < allow->n; i++) {
        if (str_glob(name, allow->patterns[i]))
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
        judgement = known("allowed by you");
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

/* Formats that contain a pickle. */
static bool should_have_pickles(const struct model *model)
{
    struct str format = str_of(model->format);

    return str_starts(format, STR("torch ")) || str_is(format, "TorchScript") ||
           str_is(format, "pickle");
}

/* Could a plain load read something that was not read here: a truncated pickle, a
 * nested one that was not read, headers on which two readers disagree? */
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

/* Machine code, which a load runs without asking. */
static bool has_native_code(const struct model *model)
{
    for (uint32_t i = 0; i < model->n_findings; i++)
        if (model->findings[i].code == FINDING_NATIVE_CODE)
            return true;
    return false;
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

        /* Persistent ids have no name: they are data, not globals. */
        if (trust == TRUST_KNOWN && global_name(model, i).len == 0)
            continue;
        sum.known += trust == TRUST_KNOWN;
        sum.unknown += trust == TRUST_UNKNOWN;
        sum.danger += trust == TRUST_DANGER;
        sum.runs |= judgement.runs;
    }
    if (sum.danger > 0 || has_native_code(model))
        sum.verdict = VERDICT_UNSAFE;
    else if (is_inconclusive(model))
        sum.verdict = VERDICT_INCONCLUSIVE;
    else if (sum.unknown > 0)
        sum.verdict = VERDICT_NEEDS_CODE;
    return sum;
}

/* ---- uses ---- */

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
    static const char *const names[] = {"safe", "needs code", "unsafe", "inconclusive"};

    return names[verdict];
}

const char *trust_name(enum trust trust)
{
    static const char *const names[] = {"known", "unknown", "danger"};

    return names[trust];
}
