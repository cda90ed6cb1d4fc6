#include "study/safety/verdict.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "model/build.h"
#include "study/safety/verdict_in.h"

/* A log being written. */
static void begin(struct build *b)
{
    CHECK(build_init(b, "x", 0, NULL, NULL) == 0);
    b->model->format = "pickle";
    build_pickle_stream(b, STR("data.pkl"), 10);
    b->model->pickle.streams[0].complete = true;
}

static void use_with(struct build *b, const char *name, enum pickle_act act,
                     uint32_t args)
{
    struct str text = str_of(name);
    ptrdiff_t dot = str_find_last_char(text, '.');
    struct pickle_event event = {.act = (uint8_t)act, .args = args};

    event.global = build_pickle_global(b, text, dot < 0 ? 0 : (uint32_t)dot);
    if (build_pickle_count(b, event.global, act))
        build_pickle_event(b, &event);
}

static void use(struct build *b, const char *name, enum pickle_act act)
{
    use_with(b, name, PICKLE_NAMES, 0);
    if (act != PICKLE_NAMES)
        use_with(b, name, act, 0);
}

static enum verdict judge(struct build *b)
{
    const struct model *model = build_finish(b, NULL);
    enum verdict verdict;

    CHECK(model);
    build_release(b);
    verdict = verdict_of(model).verdict;
    model_free(model);
    return verdict;
}

static enum verdict judge_one(const char *name, enum pickle_act act)
{
    struct build b;

    begin(&b);
    use(&b, name, act);
    return judge(&b);
}

TEST(a_state_dict_is_safe)
{
    struct build b;

    begin(&b);
    use(&b, "collections.OrderedDict", PICKLE_CALLS);
    use(&b, "torch._utils._rebuild_tensor_v2", PICKLE_CALLS);
    use(&b, "torch.FloatStorage", PICKLE_NAMES);
    use(&b, "torch.bfloat16", PICKLE_NAMES);
    use_with(&b, "", PICKLE_PERSISTENT, 0);
    CHECK(judge(&b) == VERDICT_SAFE);
}

TEST(a_whole_module_of_torch_classes_is_safe)
{
    struct build b;

    begin(&b);
    use(&b, "torch.nn.modules.container.Sequential", PICKLE_MAKES);
    use(&b, "torch.nn.modules.linear.Linear", PICKLE_BUILDS);
    use(&b, "torch.nn.functional.relu", PICKLE_NAMES);
    CHECK(judge(&b) == VERDICT_SAFE);
}

TEST(classes_outside_the_allow_list_need_code)
{
    CHECK(judge_one("__main__.CifarCNN", PICKLE_MAKES) == VERDICT_NEEDS_CODE);
    CHECK(judge_one("models.yolo.Model", PICKLE_CALLS) == VERDICT_NEEDS_CODE);
    CHECK(judge_one("pytorch_lightning.callbacks.EarlyStopping", PICKLE_NAMES) ==
          VERDICT_NEEDS_CODE);
    CHECK(judge_one("somewhere.make_it", PICKLE_CALLS) == VERDICT_NEEDS_CODE);
}

TEST(a_file_that_runs_code_is_unsafe)
{
    static const char *const names[] = {
        "posix.system",       "builtins.eval",        "subprocess.Popen",
        "os.execve",          "pickle.loads",         "torch.hub.load",
        "ctypes.CDLL",        "requests.api.get",     "pip.main",
        "pty.spawn",          "runpy.run_path",       "timeit.timeit",
        "types.CodeType",     "operator.attrgetter",  "importlib.import_module",
        "pip._internal.main", "dill._dill._load_type"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK(judge_one(names[i], PICKLE_CALLS) == VERDICT_UNSAFE);
        CHECK(judge_one(names[i], PICKLE_NAMES) == VERDICT_UNSAFE);
    }
}

TEST(python_and_torch_outside_the_list_are_unsafe_once_called)
{
    CHECK(judge_one("statistics.mean", PICKLE_CALLS) == VERDICT_UNSAFE);
    CHECK(judge_one("statistics.mean", PICKLE_NAMES) == VERDICT_NEEDS_CODE);
    CHECK(judge_one("torch.utils.something.run", PICKLE_CALLS) == VERDICT_UNSAFE);
    CHECK(judge_one("torch.nn.functional.relu", PICKLE_CALLS) == VERDICT_UNSAFE);
    CHECK(judge_one("torch.jit._script.ScriptModule", PICKLE_MAKES) ==
          VERDICT_NEEDS_CODE);
}

TEST(a_function_passed_to_a_caller_counts_as_called)
{
    struct build b;

    begin(&b);
    use(&b, "torch._tensor._rebuild_from_type_v2", PICKLE_CALLS);
    use(&b, "statistics.mean", PICKLE_NAMES);
    CHECK(judge(&b) == VERDICT_UNSAFE);
}

TEST(replacing_attributes_of_code_is_unsafe_for_any_name)
{
    CHECK(judge_one("torch._utils._rebuild_tensor", PICKLE_OVERRIDES) ==
          VERDICT_UNSAFE);
    CHECK(judge_one("collections.OrderedDict", PICKLE_OVERRIDES) == VERDICT_UNSAFE);
}

TEST(extension_codes_and_computed_names_are_unsafe)
{
    CHECK(judge_one("", PICKLE_EXTENSION) == VERDICT_UNSAFE);
    CHECK(judge_one("<computed>", PICKLE_CALLS) == VERDICT_UNSAFE);
    CHECK(judge_one("collections.OrderedDict.__init__", PICKLE_NAMES) ==
          VERDICT_UNSAFE);
}

static uint32_t getattr_args(struct build *b, const char *owner, const char *name)
{
    struct values *values = build_values(b);
    uint32_t items[2] = {value_make(values, VALUE_GLOBAL, str_of(owner), NULL, 0),
                         value_str(values, str_of(name))};

    return value_make(values, VALUE_TUPLE, STR(""), items, 2);
}

TEST(getattr_of_an_enum_is_plain_and_of_the_standard_library_is_not)
{
    struct build b;

    begin(&b);
    use_with(&b, "builtins.getattr", PICKLE_NAMES, 0);
    use_with(&b, "builtins.getattr", PICKLE_CALLS,
             getattr_args(&b, "my.Colour", "RED"));
    use(&b, "my.Colour", PICKLE_NAMES);
    CHECK(judge(&b) == VERDICT_NEEDS_CODE);
    begin(&b);
    use_with(&b, "builtins.getattr", PICKLE_CALLS, getattr_args(&b, "bdb.Bdb", "run"));
    CHECK(judge(&b) == VERDICT_UNSAFE);
    begin(&b);
    use_with(&b, "builtins.getattr", PICKLE_CALLS,
             getattr_args(&b, "my.Colour", "__init__"));
    CHECK(judge(&b) == VERDICT_UNSAFE);
}

TEST(getattr_calls_that_were_not_logged_are_not_trusted)
{
    struct build b;

    begin(&b);
    for (int i = 0; i < 2 * PICKLE_LOG_KEEP; i++)
        use_with(&b, "builtins.getattr", PICKLE_CALLS,
                 getattr_args(&b, "my.Colour", "RED"));
    CHECK(judge(&b) == VERDICT_UNSAFE);
}

TEST(a_truncated_stream_is_never_called_safe)
{
    struct build b;

    begin(&b);
    b.model->pickle.streams[0].complete = false;
    use(&b, "collections.OrderedDict", PICKLE_CALLS);
    CHECK(judge(&b) == VERDICT_INCONCLUSIVE);
    begin(&b);
    b.model->pickle.streams[0].complete = false;
    use(&b, "posix.system", PICKLE_CALLS);
    CHECK(judge(&b) == VERDICT_UNSAFE);
}

TEST(an_incomplete_log_is_never_called_safe)
{
    struct build b;

    begin(&b);
    b.model->pickle.lost = true;
    use(&b, "collections.OrderedDict", PICKLE_CALLS);
    CHECK(judge(&b) == VERDICT_INCONCLUSIVE);
}

TEST(a_format_without_pickles_is_safe_and_one_that_lost_its_pickle_is_not)
{
    struct build b;

    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    b.model->format = "safetensors";
    CHECK(judge(&b) == VERDICT_SAFE);
    CHECK(build_init(&b, "x", 0, NULL, NULL) == 0);
    b.model->format = "torch zip";
    CHECK(judge(&b) == VERDICT_INCONCLUSIVE);
}

static const struct known_global *allowed(const char *module, const char *name)
{
    char full[200];

    snprintf(full, sizeof full, "%s.%s", module, name);
    return verdict_allowed(str_of(full), strlen(module), false);
}

TEST(patterns_do_not_reach_into_what_a_module_imports)
{
    CHECK(allowed("torch.nn.modules.linear", "Linear"));
    CHECK(!allowed("torch.nn.modules", "linear.Linear"));
    CHECK(!allowed("torch.nn.modules.module", "torch.hub.Popen"));
    CHECK(!allowed("torch.ao.quantization.observer", "ABCMeta"));
    CHECK(!allowed("torch.ao.quantization.fx.convert", "Graph"));
    CHECK(!allowed("torch.utils.data.datapipes.datapipe",
                   "_IterDataPipeSerializationWrapper"));
    CHECK(allowed("torch.nn.functional", "relu"));
    CHECK(!allowed("torch.nn.functional", "importlib.import_module"));
    CHECK(!allowed("torch.nn.functional", "boolean_dispatch"));
    CHECK(!allowed("torch._jit_internal", "builtins.eval"));
    CHECK(allowed("torch.nn.init", "xavier_uniform_"));
    CHECK(!allowed("__torch__", "Net"));
    CHECK(verdict_allowed(STR("__torch__.Net"), 9, true));
}

TEST(patterns_match_whole_names)
{
    CHECK(verdict_matches("torch.*Storage", STR("torch.FloatStorage")));
    CHECK(!verdict_matches("torch.*Storage", STR("torch.a.b.FloatStorage")));
    CHECK(!verdict_matches("torch.*Storage", STR("torch.FloatStorage.x")));
    CHECK(verdict_matches("torch.optim.*", STR("torch.optim.adam.Adam")));
    CHECK(!verdict_matches("torch.optim.*", STR("torch.optim.")));
    CHECK(!verdict_matches("torch.optim.*", STR("torch.optimizer.Adam")));
    CHECK(!allowed("torch.nn.modules.module", "register_hook"));
    CHECK(strcmp(allowed("torch", "float8_e4m3fn")->about, "names a dtype") == 0);
}

static enum verdict judge_allowing(const char *name, enum pickle_act act,
                                   const char *pattern)
{
    const struct verdict_allow allow = {.patterns = &pattern, .n = 1};
    struct verdict_sum sum;
    const struct model *model;
    struct build b;

    begin(&b);
    use(&b, name, act);
    model = build_finish(&b, NULL);
    CHECK(model);
    build_release(&b);
    sum = verdict_with(model, &allow);
    CHECK(sum.allow == &allow);
    CHECK((verdict_judge(model, &sum, 0, NULL) == TRUST_KNOWN) ==
          (sum.verdict == VERDICT_SAFE));
    model_free(model);
    return sum.verdict;
}

TEST(the_user_can_only_allow_unknown_classes)
{
    CHECK(judge_allowing("models.yolo.Model", PICKLE_MAKES, "models.yolo.*") ==
          VERDICT_SAFE);
    CHECK(judge_allowing("models.yolo.Model", PICKLE_MAKES, "models.*.Mod*") ==
          VERDICT_SAFE);
    CHECK(judge_allowing("models.common.Conv", PICKLE_MAKES, "models.yolo.*") ==
          VERDICT_NEEDS_CODE);
    CHECK(judge_allowing("models.yolo.Model", PICKLE_OVERRIDES, "*") == VERDICT_UNSAFE);
    CHECK(judge_allowing("posix.system", PICKLE_CALLS, "*") == VERDICT_UNSAFE);
    CHECK(judge_allowing("statistics.mean", PICKLE_NAMES, "*") == VERDICT_NEEDS_CODE);
    CHECK(judge_allowing("torch.jit._script.ScriptModule", PICKLE_MAKES, "*") ==
          VERDICT_NEEDS_CODE);
}

TEST(globs_backtrack)
{
    CHECK(str_glob(STR("a.x.b.b.c"), "a*b*c"));
    CHECK(str_glob(STR(""), "*"));
    CHECK(!str_glob(STR("a.b.c"), "a*b"));
    CHECK(!str_glob(STR("abc"), "ab"));
}

TEST(the_uses_of_a_global_have_locations)
{
    struct verdict_use uses[2];
    const struct model *model;
    struct build b;

    begin(&b);
    use(&b, "posix.system", PICKLE_CALLS);
    use(&b, "my.Net", PICKLE_NAMES);
    model = build_finish(&b, NULL);
    CHECK(model);
    build_release(&b);
    CHECK(verdict_uses(model, 0, uses, 2) == 1);
    CHECK(strcmp(uses[0].act, "calls") == 0 && str_is(uses[0].stream, "data.pkl"));
    CHECK(verdict_uses(model, 1, uses, 2) == 1);
    CHECK(strcmp(uses[0].act, "names") == 0);
    CHECK(strcmp(pickle_opcode_name('R'), "REDUCE") == 0);
    model_free(model);
}

TEST(modules_of_the_standard_library_are_found)
{
    static const char *const names[] = {
        "BaseHTTPServer", "__builtin__", "_thread",  "abc", "os",
        "posix",          "subprocess",  "zoneinfo", "this"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK(verdict_is_standard(str_of(names[i])));
    CHECK(verdict_is_standard(STR("os.path.join")));
    CHECK(!verdict_is_standard(STR("oslo.config")));
    CHECK(!verdict_is_standard(STR("")));
    CHECK(!verdict_is_standard(STR("zzz")));
}

TEST(a_nested_file_is_known_once_it_was_read)
{
    const char *name = "torch.storage._load_from_bytes";
    struct build b;

    CHECK(judge_one(name, PICKLE_CALLS) == VERDICT_INCONCLUSIVE);
    begin(&b);
    use(&b, name, PICKLE_CALLS);
    use_with(&b, name, PICKLE_READS, 0);
    CHECK(judge(&b) == VERDICT_SAFE);
}

TEST(items_added_to_a_non_container_are_not_trusted)
{
    CHECK(judge_one("torch._utils._rebuild_tensor_v2", PICKLE_FILLS) == VERDICT_UNSAFE);
    CHECK(judge_one("torch.nn.modules.linear.Linear", PICKLE_FILLS) ==
          VERDICT_NEEDS_CODE);
    CHECK(judge_one("my.Config", PICKLE_FILLS) == VERDICT_NEEDS_CODE);
}
