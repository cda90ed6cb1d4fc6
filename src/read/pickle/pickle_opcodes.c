#include "read/pickle/pickle_machine_in.h"

/* Both parts must be strings. A part that is the result of a call hides the name: it is
 * logged as computed. */
int machine_run_stack_global(struct machine *m)
{
    node_id parts[2];
    node_id args, computed;

    if (machine_needs(m, 2) < 0)
        return -1;
    parts[1] = machine_pop(m);
    parts[0] = machine_pop(m);
    if (node_at(m, parts[0])->kind == NODE_STR &&
        node_at(m, parts[1])->kind == NODE_STR)
        return machine_push(m, machine_global(m, pickle_text(m->pickle, parts[0]),
                                              pickle_text(m->pickle, parts[1])));
    computed = machine_computed(m);
    args = machine_tuple(m, parts, 2);
    if (computed == NO_NODE || args == NO_NODE)
        return -1;
    machine_log(m, PICKLE_NAMES, computed, args);
    return machine_push(m, computed);
}

/* A new object of `callee`, made by an opcode or one of copyreg's functions. */
static node_id make_new(struct machine *m, node_id callee, node_id args)
{
    machine_log(m, PICKLE_MAKES, callee, args);
    return machine_call(m, NODE_NEW, callee, args);
}

/* OBJ and INST: without arguments Python makes an object without calling its class;
 * with arguments it calls the class. */
static node_id make_instance(struct machine *m, node_id callee, node_id args)
{
    bool calls = pickle_count(m->pickle, args) > 0;

    machine_log(m, calls ? PICKLE_CALLS : PICKLE_MAKES, callee, args);
    return machine_call(m, NODE_NEW, callee, args);
}

/* torch's (function, class, ...) calls the function and makes an object of the class;
 * numpy's (name, function) calls the function, and (class) the class. */
static void log_given(struct machine *m, node_id callee, node_id args)
{
    bool torch = str_starts(pickle_text(m->pickle, callee), STR("torch."));
    node_id first = pickle_item(m->pickle, args, 0);
    node_id second = pickle_item(m->pickle, args, 1);
    const struct node *node = pickle_node(m->pickle, first);

    if (node && (torch || node->kind == NODE_GLOBAL))
        machine_log(m, PICKLE_CALLS, first, args);
    node = pickle_node(m->pickle, second);
    if (node && (torch || node->kind == NODE_GLOBAL))
        machine_log(m, torch ? PICKLE_MAKES : PICKLE_CALLS, second, args);
}

/* copyreg._reconstructor(class, base, state): an object, or, where the base is dict or
 * list, one that begins with the items of `state`. */
static node_id make_reconstructed(struct machine *m, node_id args)
{
    node_id class_id = pickle_item(m->pickle, args, 0);
    node_id base = pickle_item(m->pickle, args, 1);
    node_id state, made;

    if (pickle_is_global(m->pickle, base, "builtins.object"))
        return make_new(m, class_id, m->empty_tuple);
    state = machine_own_item(m, args, 2);
    if (state == NO_NODE)
        return NO_NODE;
    /* Runs the base's __init__ with the state: the same as calling it. */
    if (!str_starts(pickle_text(m->pickle, base), STR("builtins.")))
        machine_log(m, PICKLE_CALLS, base, args);
    made = make_new(m, class_id, machine_tuple(m, &state, 1));
    if (made != NO_NODE &&
        (node_at(m, state)->kind == NODE_DICT ||
         node_at(m, state)->kind == NODE_LIST) &&
        machine_set_extra(m, made, state) < 0)
        return NO_NODE;
    return made;
}

/* The items of a tuple from `skip` on, then `more` unless it is NO_NODE. They go over
 * the stack, as the pool of items may move while the new tuple is made. */
static node_id copy_tuple(struct machine *m, node_id args, uint32_t skip, node_id more)
{
    uint32_t below = m->n_stack, n = pickle_count(m->pickle, args);
    node_id made = NO_NODE;

    for (uint32_t i = skip; i < n; i++)
        if (machine_push(m, pickle_item(m->pickle, args, i)) < 0)
            goto out;
    if (more != NO_NODE && machine_push(m, more) < 0)
        goto out;
    made = machine_tuple(m, m->stack + below, m->n_stack - below);

out:
    m->n_stack = below;
    return made;
}

/* copyreg.__newobj__(class, *arguments). */
static node_id make_newobj(struct machine *m, node_id args)
{
    node_id rest = copy_tuple(m, args, 1, NO_NODE);

    if (rest == NO_NODE)
        return NO_NODE;
    return make_new(m, pickle_item(m->pickle, args, 0), rest);
}

/* NEWOBJ_EX and copyreg.__newobj_ex__: the dict of keyword arguments becomes the last
 * argument. */
static node_id make_newobj_ex(struct machine *m, node_id callee, node_id args,
                              node_id keywords)
{
    node_id all = copy_tuple(m, args, 0, keywords);
    node_id made = all == NO_NODE ? NO_NODE : make_new(m, callee, all);

    if (made != NO_NODE)
        node_at(m, made)->flags |= NODE_KEYWORDS;
    return made;
}

/* The node for a call with a simpler meaning. NO_NODE without a fault: not such a call.
 */
static node_id make_plainer(struct machine *m, node_id callee, node_id args)
{
    unsigned flags = node_at(m, callee)->flags;
    uint32_t n = pickle_count(m->pickle, args);

    if (node_at(m, args)->kind != NODE_TUPLE)
        return NO_NODE;
    if (flags & GLOBAL_CALLER)
        log_given(m, callee, args);
    if (flags & GLOBAL_SAME && n >= 1)
        return machine_own_item(m, args, 0);
    if (flags & GLOBAL_RECONSTRUCTOR && n == 3)
        return make_reconstructed(m, args);
    if (flags & GLOBAL_NEWOBJ && n >= 1)
        return make_newobj(m, args);
    if (flags & GLOBAL_NEWOBJ_EX && n == 3)
        return make_newobj_ex(m, pickle_item(m->pickle, args, 0),
                              pickle_item(m->pickle, args, 1),
                              pickle_item(m->pickle, args, 2));
    return NO_NODE;
}

int machine_run_reduce(struct machine *m)
{
    const struct node *callee_node;
    node_id callee, args, made = NO_NODE;

    if (machine_needs(m, 2) < 0)
        return -1;
    args = machine_pop(m);
    callee = machine_pop(m);
    machine_log(m, PICKLE_CALLS, callee, args);
    callee_node = node_at(m, callee);
    if (callee_node->kind == NODE_GLOBAL && callee_node->flags > GLOBAL_LIST)
        made = make_plainer(m, callee, args);
    else if (callee_node->kind == NODE_GLOBAL && callee_node->flags != 0 &&
             (args == m->empty_tuple || machine_is_shared(m, args)))
        made = machine_empty_call(m, callee, args);
    if (made == NO_NODE)
        made = machine_call(m, NODE_CALL, callee, args);
    return machine_push(m, made);
}

/* NEWOBJ: class, arguments. NEWOBJ_EX: class, arguments, keyword arguments. */
int machine_run_new(struct machine *m, bool with_keywords)
{
    node_id callee, args, keywords = NO_NODE;

    if (machine_needs(m, with_keywords ? 3 : 2) < 0)
        return -1;
    if (with_keywords)
        keywords = machine_pop(m);
    args = machine_pop(m);
    callee = machine_pop(m);
    return machine_push(m, with_keywords ? make_newobj_ex(m, callee, args, keywords)
                                         : make_new(m, callee, args));
}

/* OBJ: mark, class, arguments. */
int machine_run_obj(struct machine *m)
{
    const node_id *items;
    node_id callee, args;
    uint32_t n;

    if (machine_pop_mark(m, &items, &n) < 0)
        return -1;
    if (n == 0)
        return machine_fault(m, "it needs a class above the mark");
    callee = items[0];
    args = machine_tuple(m, items + 1, n - 1);
    return args == NO_NODE ? -1 : machine_push(m, make_instance(m, callee, args));
}

/* INST: mark, arguments; the class is named by two lines. */
int machine_run_inst(struct machine *m, struct str module, struct str name)
{
    const node_id *items;
    node_id callee, args;
    uint32_t n;

    callee = machine_global(m, module, name);
    if (callee == NO_NODE || machine_pop_mark(m, &items, &n) < 0)
        return -1;
    args = machine_tuple(m, items, n);
    return args == NO_NODE ? -1 : machine_push(m, make_instance(m, callee, args));
}

/* The file changes a class or module itself, so that its name means something else. No
 * legitimate file does this. */
static void report_override(struct machine *m, node_id target, node_id with)
{
    struct str name = pickle_text(m->pickle, pickle_class(m->pickle, target));

    machine_log(m, PICKLE_OVERRIDES, target, with);
    build_finding(m->build, FINDING_PICKLE_OVERRIDE, SEVERITY_ALARM, FINDING_NOWHERE,
                  "%.*s: %s at byte %llu changes %.*s itself: every later use of it is "
                  "suspect",
                  STR_ARG(m->name), pickle_opcodes[*m->opcode].name,
                  (unsigned long long)machine_offset(m), STR_ARG(name));
}

/* A value that BUILD, SETITEM and APPEND cannot change. */
static bool is_plain(const struct node *node)
{
    return node->kind <= NODE_BYTES || node->kind == NODE_TUPLE;
}

/* joblib writes the raw elements of an array after the BUILD of its wrapper. Python's
 * pickle would run them as opcodes. */
static bool is_raw(const struct machine *m, node_id callee)
{
    const struct node *node = node_at(m, callee);

    return node->kind == NODE_GLOBAL && node->flags & GLOBAL_RAW;
}

int machine_run_build(struct machine *m)
{
    node_id state, target;
    const struct node *node;

    if (machine_needs(m, 2) < 0)
        return -1;
    state = machine_pop(m);
    target = m->stack[m->n_stack - 1];
    node = node_at(m, target);
    if (is_plain(node)) {
        /* Python ignores an empty state, and fails with any other. */
        if (node_at(m, state)->kind == NODE_NONE ||
            (node_at(m, state)->kind == NODE_DICT && !node_at(m, state)->items.n))
            return 0;
        return machine_fault(m, "it sets attributes on a plain value");
    }
    target = machine_own(m, 0);
    if (target == NO_NODE)
        return -1;
    node = node_at(m, target);
    if (pickle_class(m->pickle, target) != NO_NODE)
        report_override(m, target, state);
    else if (node_is_made(node))
        machine_log(m, PICKLE_BUILDS, node->call.callee, state);
    node = node_at(m, target);
    if (machine_set_state(m, target, state) < 0)
        return -1;
    if (node->kind == NODE_NEW && is_raw(m, node->call.callee))
        return machine_skip_raw(m, target);
    return 0;
}

/* An OrderedDict, a deque, ...: adding items to it does not run code of the file. */
static bool is_container(const struct machine *m, const struct node *node)
{
    const struct node *callee;

    if (!node_is_made(node))
        return false;
    callee = node_at(m, node->call.callee);
    return callee->kind == NODE_GLOBAL && callee->flags & (GLOBAL_DICT | GLOBAL_LIST);
}

/* Add items to the top of the stack, which should be of this kind. */
static int add_to_top(struct machine *m, enum node_kind kind, const node_id *items,
                      uint32_t n)
{
    node_id target = machine_own(m, 0);
    const struct node *node;

    if (target == NO_NODE)
        return -1;
    node = node_at(m, target);
    if (node->kind == kind)
        return machine_add_items(m, target, items, n);
    if (is_plain(node) || node->kind == NODE_LIST || node->kind == NODE_DICT ||
        node->kind == NODE_SET)
        return machine_fault(m, "it adds items to a value that does not take them");
    if (pickle_class(m->pickle, target) != NO_NODE)
        report_override(m, target, items[0]);
    else if (!is_container(m, node))
        machine_log(m, PICKLE_FILLS, node_is_made(node) ? node->call.callee : target,
                    items[0]);
    target = machine_extra(m, target, kind);
    return target == NO_NODE ? -1 : machine_add_items(m, target, items, n);
}

static int check_keys(struct machine *m, const node_id *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += 2) {
        enum node_kind kind = node_at(m, items[i])->kind;

        if (kind == NODE_LIST || kind == NODE_DICT)
            return machine_fault(m, "a list or a dict cannot be a key");
    }
    return 0;
}

/* APPEND, SETITEM: the popped values stay valid until they are copied. */
int machine_run_append(struct machine *m)
{
    if (machine_needs(m, 2) < 0)
        return -1;
    m->n_stack--;
    return add_to_top(m, NODE_LIST, m->stack + m->n_stack, 1);
}

int machine_run_setitem(struct machine *m)
{
    if (machine_needs(m, 3) < 0)
        return -1;
    m->n_stack -= 2;
    if (check_keys(m, m->stack + m->n_stack, 2) < 0)
        return -1;
    return add_to_top(m, NODE_DICT, m->stack + m->n_stack, 2);
}

int machine_run_items(struct machine *m, enum node_kind kind)
{
    const node_id *items;
    uint32_t n;

    if (machine_pop_mark(m, &items, &n) < 0 || machine_needs(m, 1) < 0)
        return -1;
    if (n == 0)
        return 0;
    if (kind == NODE_DICT && check_keys(m, items, n) < 0)
        return -1;
    if (kind == NODE_DICT && n % 2 != 0) {
        /* Keep the complete pairs. */
        if (n > 1 && add_to_top(m, kind, items, n - 1) < 0)
            return -1;
        return machine_fault(m, "a key has no value");
    }
    return add_to_top(m, kind, items, n);
}

int machine_run_container(struct machine *m, enum node_kind kind)
{
    const node_id *items;
    uint32_t n;
    node_id id;

    if (machine_pop_mark(m, &items, &n) < 0)
        return -1;
    if (kind == NODE_DICT && n % 2 != 0)
        return machine_fault(m, "a key has no value");
    if (kind == NODE_DICT && check_keys(m, items, n) < 0)
        return -1;
    id = machine_node(m, kind);
    if (id == NO_NODE || machine_add_items(m, id, items, n) < 0)
        return -1;
    if (kind == NODE_SET)
        node_at(m, id)->flags |= NODE_FROZEN;
    return machine_push(m, id);
}

int machine_run_tuple(struct machine *m, uint32_t n)
{
    if (machine_needs(m, n) < 0)
        return -1;
    m->n_stack -= n;
    return machine_push(m, machine_tuple(m, m->stack + m->n_stack, n));
}

int machine_run_tuple_to_mark(struct machine *m)
{
    const node_id *items;
    uint32_t n;

    if (machine_pop_mark(m, &items, &n) < 0)
        return -1;
    return machine_push(m, machine_tuple(m, items, n));
}

int machine_run_persistent(struct machine *m, node_id id)
{
    node_id made = id == NO_NODE ? NO_NODE : machine_node(m, NODE_PERSISTENT);

    if (made == NO_NODE)
        return -1;
    node_at(m, made)->call.callee = id;
    node_at(m, made)->call.args = NO_NODE;
    if (m->persistent_log == UINT32_MAX)
        m->persistent_log = build_pickle_global(m->build, STR(""), 0);
    machine_log_number(m, PICKLE_PERSISTENT, m->persistent_log, id);
    return machine_push(m, made);
}

int machine_run_extension(struct machine *m, int64_t code)
{
    node_id made = machine_node(m, NODE_EXTENSION);
    node_id number = machine_int(m, code);

    if (made == NO_NODE || number == NO_NODE)
        return -1;
    node_at(m, made)->integer = code;
    if (m->extension_log == UINT32_MAX)
        m->extension_log = build_pickle_global(m->build, STR("<extension>"), 0);
    machine_log_number(m, PICKLE_EXTENSION, m->extension_log, number);
    return machine_push(m, made);
}
