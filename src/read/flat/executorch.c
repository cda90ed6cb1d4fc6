/* executorch.c - ExecuTorch (.pte): a flatbuffer with the identifier ET12, then
 * segments. Constants become tensors, the instructions of every method a program. With
 * one method that has instructions, its constants are at the root of the tree; others
 * are modules. Methods without instructions return constants, and are metadata. */
#include "base/base.h"
#include "read/flat/executorch_in.h"

#define NAMES_MOST 1000 /* operators in the facts */
#define PLANS_MOST 1000

static int executorch_knows(const struct input *input)
{
    return input->blob && input->head.len >= 8 &&
                   memcmp(input->head.at + 4, "ET12", 4) == 0
               ? SURE_MAGIC
               : 0;
}

/* ---- metadata ---- */

/* The strings in field 0 of the tables in a vector, as a LIST: with `more`, that of
 * field 1 follows after a dot. */
static uint32_t names_of(struct executorch *self, struct flat_vector tables, bool more)
{
    struct flat *flat = &self->flat;
    struct values *values = build_values(self->build);
    struct arena *arena = &self->build->scratch;
    uint32_t n = tables.n < NAMES_MOST ? tables.n : NAMES_MOST;
    uint32_t *items = arena_array(arena, n + 1, sizeof *items);

    for (uint32_t i = 0; items && i < n; i++) {
        struct flat_table table = flat_table_at(flat, tables.at + 4 * (uint64_t)i);
        struct str name = flat_text(flat, table, 0, EXECUTORCH_NAME_MOST, arena);
        struct str overload = STR("");
        const char *text;

        if (more)
            overload = flat_text(flat, table, 1, EXECUTORCH_NAME_MOST, arena);
        text = arena_printf(arena, "%.*s%s%.*s", STR_ARG(name),
                            overload.len > 0 ? "." : "", STR_ARG(overload));
        items[i] = value_str(values, str_of(text));
    }
    return items ? value_make(values, VALUE_LIST, STR(""), items, n) : VALUE_ID_FAILED;
}

/* The metadata of a method: its key begins with the method if there are several. */
static void add_metadata(struct executorch *self, const struct executorch_plan *plan,
                         const char *key, uint32_t value)
{
    struct build *build = self->build;
    const char *text = key;

    if (self->n_entries > 1)
        text = arena_printf(&build->scratch, "%.*s.%s", STR_ARG(plan->name), key);
    if (text && value != VALUE_ID_FAILED)
        build_metadata(build, str_of(text), value);
}

/* What a method without instructions returns. */
static void add_constant_method(struct executorch *self,
                                const struct executorch_plan *plan)
{
    struct flat *flat = &self->flat;
    struct flat_vector outputs = flat_vector(flat, plan->table, 4, 4);
    uint32_t items[16], n = 0, value;

    self->values = plan->values;
    self->n_values = plan->n_values;
    for (; n < outputs.n && n < COUNT_OF(items); n++) {
        int64_t index = (int32_t)flat_number(flat, outputs.at + 4 * (uint64_t)n, 4);

        items[n] = executorch_value(self, index)
                       ? executorch_plain(self, (uint32_t)index)
                       : VALUE_ID_NONE;
    }
    value = n == 1
                ? items[0]
                : value_make(build_values(self->build), VALUE_TUPLE, STR(""), items, n);
    if (value != VALUE_ID_FAILED)
        build_metadata(self->build, plan->name, value);
}

static void add_facts(struct executorch *self)
{
    struct flat *flat = &self->flat;
    struct build *build = self->build;

    build_fact(build, "version",
               value_int(build_values(build), flat_int(flat, self->program, 0, 4, 0)));
    for (uint32_t i = 0; i < self->n_plans && !flat->bad; i++) {
        const struct executorch_plan *plan = &self->plans[i];
        struct flat_vector operators = flat_vector(flat, plan->table, 6, 4);
        struct flat_vector delegates = flat_vector(flat, plan->table, 7, 4);

        if (plan->code.n == 0 && self->n_entries > 0) {
            add_constant_method(self, plan);
            continue;
        }
        build_metadata(build, STR("method"),
                       value_str(build_values(build), plan->name));
        if (operators.n > 0)
            add_metadata(self, plan, "operators", names_of(self, operators, true));
        if (delegates.n > 0)
            add_metadata(self, plan, "backends", names_of(self, delegates, false));
    }
}

/* ---- methods ---- */

static int find_plans(struct executorch *self, struct flat_vector plans,
                      struct err *err)
{
    struct flat *flat = &self->flat;
    struct arena *arena = &self->build->scratch;
    uint32_t n = plans.n < PLANS_MOST ? plans.n : PLANS_MOST;

    self->plans = arena_array(arena, n, sizeof *self->plans);
    if (!self->plans)
        return arena_err(arena, self->input->path, err);
    for (uint32_t i = 0; i < n && !flat->bad; i++) {
        struct executorch_plan *plan = &self->plans[i];
        struct flat_vector chains;

        plan->table = flat_table_at(flat, plans.at + 4 * (uint64_t)i);
        plan->name = flat_text(flat, plan->table, 0, EXECUTORCH_NAME_MOST, arena);
        if (plan->name.len == 0)
            plan->name = STR("forward");
        chains = flat_vector(flat, plan->table, 5, 4);
        if (chains.n > 0)
            plan->code = flat_vector(flat, flat_table_at(flat, chains.at), 2, 4);
        self->n_entries += plan->code.n > 0;
        self->n_plans = i + 1;
    }
    if (plans.n > PLANS_MOST)
        build_finding(self->build, FINDING_LIMIT, SEVERITY_ALARM, FINDING_NOWHERE,
                      "only the first %d of %u methods are shown", PLANS_MOST, plans.n);
    return 0;
}

static int add_plans(struct executorch *self, struct err *err)
{
    struct build *build = self->build;

    for (uint32_t i = 0; i < self->n_plans && !self->flat.bad; i++) {
        struct executorch_plan *plan = &self->plans[i];
        bool delegates = flat_vector(&self->flat, plan->table, 7, 4).n > 0;

        plan->node = NO_PLACE;
        if (self->n_entries <= 1 && (plan->code.n > 0 || self->n_plans == 1))
            plan->node = self->input->node;
        else if (plan->code.n > 0)
            plan->node =
                build_child(build, self->input->node, PLACE_MODULE, plan->name);
        if (plan->node == NO_PLACE && plan->code.n > 0)
            return arena_err(&build->model->arena, self->input->path, err);
        if (delegates && plan->code.n > 0)
            build_finding(build, FINDING_UNSUPPORTED, SEVERITY_NOTE, plan->node,
                          "parts of the program are compiled for other backends: their "
                          "weights cannot be shown");
        if (executorch_read_values(self, plan, err) < 0)
            return -1;
    }
    return 0;
}

static int executorch_read(struct input *input, struct build *build, struct err *err)
{
    struct executorch *self = arena_alloc(&build->scratch, sizeof *self);
    struct flat_vector plans;

    if (!self)
        return arena_err(&build->scratch, input->path, err);
    self->input = input;
    self->build = build;
    map_init(&self->storages, &build->scratch);
    flat_init(&self->flat, input->blob);
    self->program = flat_root(&self->flat);
    plans = flat_vector(&self->flat, self->program, 1, 4);
    executorch_find_constants(self);
    if (self->flat.bad || plans.n == 0)
        return err_set_about(err, ERR_FORMAT, input->path,
                             " is a damaged ExecuTorch file. Download it again");
    if (find_plans(self, plans, err) < 0 || add_plans(self, err) < 0)
        return -1;
    if (input->node == 0) {
        add_facts(self);
        if (executorch_program(self, err) < 0)
            return -1;
    }
    if (self->n_other_file > 0)
        build_finding(build, FINDING_MISSING_RECORD, SEVERITY_WARNING, FINDING_NOWHERE,
                      "the values of %u %s are in another file (.ptd), which is not "
                      "read",
                      self->n_other_file,
                      self->n_other_file == 1 ? "tensor" : "tensors");
    if (self->flat.bad)
        build_finding(
            build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
            "an offset points outside the file: the rest was skipped. Download "
            "it again");
    return 0;
}

const struct reader executorch_reader = {
    .name = "ExecuTorch", .knows = executorch_knows, .read = executorch_read};
