#include "base/base.h"
#include "read/pickle/pickle_machine_in.h"
#include "read/pickle/pickle_value_in.h"

/* Pickles of protocol 2 and below have Python 2's names, even if Python 3 wrote them;
 * Python maps them when it loads. An empty name stands for every name of the module. */
struct renamed {
    const char *module, *name;
    const char *new_module, *new_name;
};
static const struct renamed renames[] = {
    {"__builtin__", "xrange", "builtins", "range"},
    {"__builtin__", "reduce", "functools", "reduce"},
    {"__builtin__", "intern", "sys", "intern"},
    {"__builtin__", "unichr", "builtins", "chr"},
    {"__builtin__", "unicode", "builtins", "str"},
    {"__builtin__", "basestring", "builtins", "str"},
    {"__builtin__", "long", "builtins", "int"},
    {"__builtin__", "", "builtins", ""},
    {"exceptions", "StandardError", "builtins", "Exception"},
    {"exceptions", "", "builtins", ""},
    {"copy_reg", "", "copyreg", ""},
    {"itertools", "izip", "builtins", "zip"},
    {"itertools", "imap", "builtins", "map"},
    {"itertools", "ifilter", "builtins", "filter"},
    {"itertools", "ifilterfalse", "itertools", "filterfalse"},
    {"itertools", "izip_longest", "itertools", "zip_longest"},
    {"UserDict", "IterableUserDict", "collections", "UserDict"},
    {"UserDict", "", "collections", ""},
    {"UserList", "", "collections", ""},
    {"UserString", "", "collections", ""},
    {"whichdb", "", "dbm", ""},
    {"_socket", "fromfd", "socket", "fromfd"},
    {"_multiprocessing", "Connection", "multiprocessing.connection", "Connection"},
    {"multiprocessing.process", "Process", "multiprocessing.context", "Process"},
    {"multiprocessing.forking", "Popen", "multiprocessing.popen_fork", "Popen"},
    {"urllib", "ContentTooShortError", "urllib.error", "ContentTooShortError"},
    {"urllib", "getproxies", "urllib.request", "getproxies"},
    {"urllib", "pathname2url", "urllib.request", "pathname2url"},
    {"urllib", "quote_plus", "urllib.parse", "quote_plus"},
    {"urllib", "quote", "urllib.parse", "quote"},
    {"urllib", "unquote_plus", "urllib.parse", "unquote_plus"},
    {"urllib", "unquote", "urllib.parse", "unquote"},
    {"urllib", "url2pathname", "urllib.request", "url2pathname"},
    {"urllib", "urlcleanup", "urllib.request", "urlcleanup"},
    {"urllib", "urlencode", "urllib.parse", "urlencode"},
    {"urllib", "urlopen", "urllib.request", "urlopen"},
    {"urllib", "urlretrieve", "urllib.request", "urlretrieve"},
    {"urllib2", "HTTPError", "urllib.error", "HTTPError"},
    {"urllib2", "URLError", "urllib.error", "URLError"},
    {"urllib2", "", "urllib.request", ""},
    {"urlparse", "", "urllib.parse", ""},
    {"robotparser", "", "urllib.robotparser", ""},
    {"Queue", "", "queue", ""},
    {"SocketServer", "", "socketserver", ""},
    {"ConfigParser", "", "configparser", ""},
    {"repr", "", "reprlib", ""},
    {"Tkinter", "", "tkinter", ""},
    {"markupbase", "", "_markupbase", ""},
    {"_winreg", "", "winreg", ""},
    {"thread", "", "_thread", ""},
    {"dummy_thread", "", "_dummy_thread", ""},
    {"dbhash", "", "dbm.bsd", ""},
    {"dumbdbm", "", "dbm.dumb", ""},
    {"gdbm", "", "dbm.gnu", ""},
    {"anydbm", "", "dbm", ""},
    {"xmlrpclib", "", "xmlrpc.client", ""},
    {"SimpleXMLRPCServer", "", "xmlrpc.server", ""},
    {"DocXMLRPCServer", "", "xmlrpc.server", ""},
    {"httplib", "", "http.client", ""},
    {"htmlentitydefs", "", "html.entities", ""},
    {"HTMLParser", "", "html.parser", ""},
    {"Cookie", "", "http.cookies", ""},
    {"cookielib", "", "http.cookiejar", ""},
    {"BaseHTTPServer", "", "http.server", ""},
    {"SimpleHTTPServer", "", "http.server", ""},
    {"CGIHTTPServer", "", "http.server", ""},
    {"test.test_support", "", "test.support", ""},
    {"commands", "", "subprocess", ""},
    {"_abcoll", "", "collections.abc", ""},
    {"cPickle", "", "pickle", ""},
    {"_elementtree", "", "xml.etree.ElementTree", ""},
    {"StringIO", "", "io", ""},
    {"cStringIO", "", "io", ""},
    /* An old module name of PyTorch. */
    {"torch.tensor", "", "torch._tensor", ""},
};

static void rename_global(struct str *module, struct str *name)
{
    for (size_t i = 0; i < COUNT_OF(renames); i++) {
        const struct renamed *r = &renames[i];

        if (!str_is(*module, r->module) || (r->name[0] && !str_is(*name, r->name)))
            continue;
        *module = str_of(r->new_module);
        if (r->new_name[0])
            *name = str_of(r->new_name);
        return;
    }
}

struct pickle_global_name {
    const char *name;
    uint8_t flags;
};
static const struct pickle_global_name known_globals[] = {
    {"collections.OrderedDict", GLOBAL_DICT},
    {"collections.defaultdict", GLOBAL_DICT},
    {"collections.Counter", GLOBAL_DICT},
    {"builtins.dict", GLOBAL_DICT},
    {"collections.deque", GLOBAL_LIST},
    {"builtins.set", GLOBAL_LIST},
    {"builtins.frozenset", GLOBAL_LIST},
    {"builtins.list", GLOBAL_LIST},
    {"builtins.tuple", GLOBAL_LIST},
    {"torch.Size", GLOBAL_LIST},
    {"torch.jit._pickle.build_intlist", GLOBAL_LIST},
    {"torch.jit._pickle.build_doublelist", GLOBAL_LIST},
    {"torch.jit._pickle.build_boollist", GLOBAL_LIST},
    {"torch.jit._pickle.build_tensorlist", GLOBAL_LIST},
    {"torch.jit._pickle.restore_type_tag", GLOBAL_SAME},
    {"copyreg._reconstructor", GLOBAL_RECONSTRUCTOR},
    {"copyreg.__newobj__", GLOBAL_NEWOBJ},
    {"copyreg.__newobj_ex__", GLOBAL_NEWOBJ_EX},
    {"joblib.numpy_pickle.NumpyArrayWrapper", GLOBAL_RAW},
    {"torch._tensor._rebuild_from_type", GLOBAL_CALLER},
    {"torch._tensor._rebuild_from_type_v2", GLOBAL_CALLER},
    {"numpy.random._pickle.__randomstate_ctor", GLOBAL_CALLER},
    {"numpy.random._pickle.__generator_ctor", GLOBAL_CALLER},
    {"numpy.random._pickle.__bit_generator_ctor", GLOBAL_CALLER},
};

static uint8_t flags_of_global(struct str full)
{
    for (size_t i = 0; i < COUNT_OF(known_globals); i++)
        if (str_is(full, known_globals[i].name))
            return known_globals[i].flags;
    return 0;
}

/* "module.name" in the scratch arena. */
static struct str join_names(struct machine *m, struct str module, struct str name)
{
    char *text = NULL;

    if (name.len < SIZE_MAX - 2 - module.len)
        text = arena_alloc(&m->build->scratch, module.len + name.len + 2);
    if (!text)
        return (struct str){NULL, 0};
    if (module.len > 0)
        memcpy(text, module.at, module.len);
    text[module.len] = '.';
    if (name.len > 0)
        memcpy(text + module.len + 1, name.at, name.len);
    return (struct str){text, module.len + 1 + name.len};
}

static node_id make_global(struct machine *m, struct str full, size_t module_len)
{
    node_id id = machine_listed(m, NODE_GLOBAL, full);
    struct node_more *more = id == NO_NODE ? NULL : machine_more(m, id);

    if (!more)
        return NO_NODE;
    more->aux = (uint32_t)module_len;
    node_at(m, id)->flags = flags_of_global(full);
    node_at(m, id)->listed.log =
        build_pickle_global(m->build, full, (uint32_t)module_len);
    if (str_is(full, "builtins.getattr"))
        m->getattr_log = node_at(m, id)->listed.log;
    return id;
}

static bool is_this_global(const struct machine *m, node_id id, struct str module,
                           struct str name)
{
    struct str full = pickle_text(m->pickle, id);

    return m->pickle->more[node_at(m, id)->more].aux == module.len &&
           str_starts(full, module) && str_eq(str_from(full, module.len + 1), name);
}

/* One node for each name, so that a BUILD on a class is seen wherever it is used. */
static bool find_global(const struct machine *m, struct str module, struct str name,
                        uint64_t *hash, node_id *ret_id)
{
    *hash = hash_mix(str_hash(module), str_hash(name));
    for (; map_find(&m->globals, *hash, ret_id); ++*hash)
        if (is_this_global(m, *ret_id, module, name))
            return true;
    return false;
}

static node_id find_or_make_global(struct machine *m, struct str module,
                                   struct str name)
{
    struct str full;
    uint64_t hash;
    node_id id;

    /* The map has only new names, so a hit needs no renaming. */
    if (find_global(m, module, name, &hash, &id))
        return id;
    rename_global(&module, &name);
    if (find_global(m, module, name, &hash, &id))
        return id;
    full = join_names(m, module, name);
    if (!full.at)
        return machine_no_memory(m);
    id = make_global(m, full, module.len);
    if (id != NO_NODE && map_put(&m->globals, hash, id) < 0)
        return machine_no_memory(m);
    return id;
}

node_id machine_global(struct machine *m, struct str module, struct str name)
{
    node_id id = find_or_make_global(m, module, name);

    if (id != NO_NODE)
        machine_log(m, PICKLE_NAMES, id, NO_NODE);
    return id;
}

node_id machine_computed(struct machine *m)
{
    if (m->computed != NO_NODE)
        return m->computed;
    m->computed = make_global(m, STR("<computed>"), 0);
    return m->computed;
}

static void keep_event(struct machine *m, enum pickle_act act, uint32_t global,
                       node_id args)
{
    struct pickle_event event = {
        .global = global,
        .act = (uint8_t)act,
        .opcode = *m->opcode,
        .stream = m->pickle->stream,
        .offset = machine_offset(m),
        .place = FINDING_NOWHERE,
    };

    if (args != NO_NODE)
        event.args = pickle_value_brief(m->pickle, args);
    if (event.args == VALUE_ID_FAILED)
        event.args = VALUE_ID_NONE;
    build_pickle_event(m->build, &event);
}

void machine_log_number(struct machine *m, enum pickle_act act, uint32_t global,
                        node_id args)
{
    if (global != UINT32_MAX && build_pickle_count(m->build, global, act))
        keep_event(m, act, global, args);
}

/* The verdict on getattr depends on its arguments: keep each different call. */
static void log_reached(struct machine *m, enum pickle_act act, uint32_t global,
                        node_id callee, node_id args)
{
    struct pickle_log *log = &m->build->model->pickle;
    node_id both[2] = {callee, args};
    bool computed = global != m->getattr_log;
    node_id shown = computed ? callee : args;
    uint32_t value = VALUE_ID_NONE, seen;
    uint64_t key;

    if (shown != NO_NODE)
        value = pickle_value_brief(m->pickle, shown);
    key = value | (uint64_t)act << 32 | (uint64_t)computed << 40;
    if (value != VALUE_ID_FAILED && map_find(&m->reached, key, &seen))
        return;
    build_pickle_count(m->build, global, act);
    if (log->globals[global].acts[act] > PICKLE_LOG_KEEP_GETATTR ||
        map_put(&m->reached, key, 0) < 0)
        return;
    if (computed && args != NO_NODE)
        args = machine_tuple(m, both, 2);
    keep_event(m, act, global, args);
}

void machine_log(struct machine *m, enum pickle_act act, node_id callee, node_id args)
{
    node_id known = pickle_class(m->pickle, callee);
    node_id both[2] = {callee, args};
    uint32_t global;

    if (known == NO_NODE)
        known = machine_computed(m);
    if (known == NO_NODE)
        return;
    global = node_at(m, known)->listed.log;
    if (global == UINT32_MAX)
        return;
    if (known == m->computed || global == m->getattr_log) {
        log_reached(m, act, global, callee, args);
        return;
    }
    if (!build_pickle_count(m->build, global, act))
        return;
    /* If the callee is the result of a call, log both. */
    if (node_at(m, callee)->kind != NODE_GLOBAL && args != NO_NODE)
        args = machine_tuple(m, both, 2);
    keep_event(m, act, global, args);
}
