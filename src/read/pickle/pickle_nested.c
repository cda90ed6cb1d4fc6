#include "read/file/zip_in.h"
#include "read/pickle/pickle_load_in.h"
#include "read/pickle/pickle_value_in.h"

/* pickle.loads(b'...') is a call with bytes: the log also needs what loading these
 * bytes would do. */

#define NESTED_DEPTH 4
#define NESTED_MOST  64
#define NESTED_MIN   8 /* bytes; the shortest pickle that names a global */

#define FILE_PICKLES 8 /* limit for a torch file, which normally has five */
#define FILE_BYTES   (256u << 20)

/* Bytes that look like a pickle or a torch file, to be run. */
struct nested {
    struct str bytes;
    struct str outer; /* the name of the pickle that holds them */
    int depth;
    bool file; /* a call would load them as a torch file */
};

struct pickle_nested_search {
    struct build *build;
    struct nested found[NESTED_MOST];
    uint32_t n, next;
    bool said_more;
};

static void add(struct pickle_nested_search *search, struct nested nested)
{
    if (search->n < NESTED_MOST && nested.depth <= NESTED_DEPTH) {
        search->found[search->n++] = nested;
        return;
    }
    if (!search->said_more)
        build_finding(
            search->build, FINDING_LIMIT, SEVERITY_ALARM, FINDING_NOWHERE,
            "%.*s: more than %d pickles inside pickles, or more than %d levels: the "
            "rest was not checked",
            STR_ARG(nested.outer), NESTED_MOST, NESTED_DEPTH);
    /* An incomplete stream, so that the verdict is not "safe". */
    if (!search->said_more)
        build_pickle_stream(search->build, nested.outer, nested.bytes.len);
    search->said_more = true;
}

static void add_bytes(struct pickle_nested_search *search, struct nested nested)
{
    if (nested.bytes.len >= NESTED_MIN && !pickle_is_torch_file(nested.bytes) &&
        pickle_is_inside(nested.bytes))
        add(search, nested);
}

/* Older protocols write bytes as Latin-1 text, where a PROTO is these two bytes. Other
 * text is not converted first, as it may be long. */
static void add_encoded(struct pickle_nested_search *search,
                        const struct pickle *pickle, node_id call, struct nested nested)
{
    nested.bytes = pickle_text(pickle, pickle_arg(pickle, call, 0));
    if (str_starts(nested.bytes, STR("\xc2\x80")) &&
        !pickle_bytes(pickle, call, &nested.bytes))
        return;
    add_bytes(search, nested);
}

bool pickle_file_bytes(const struct pickle *pickle, node_id call, struct str *ret_bytes)
{
    node_id argument = pickle_arg(pickle, call, 0);

    /* Python 2 writes bytes as text. */
    if (!pickle_bytes(pickle, argument, ret_bytes))
        *ret_bytes = pickle_text(pickle, argument);
    return ret_bytes->at != NULL;
}

/* Search the bytes of a pickle. Folding it reads its torch files. */
static void search_nodes(struct pickle_nested_search *search,
                         const struct pickle *pickle, struct nested here, bool folded)
{
    /* A GLOBAL precedes every call of it. */
    node_id encode = NO_NODE, load = NO_NODE;

    for (node_id id = 0; id < pickle->n_nodes; id++) {
        const struct node *node = &pickle->nodes[id];
        struct nested nested = here;

        if (node->kind == NODE_BYTES) {
            nested.bytes = pickle_text(pickle, id);
            add_bytes(search, nested);
        } else if (node->kind == NODE_CALL && node->call.callee == encode) {
            add_encoded(search, pickle, id, nested);
        } else if (node->kind == NODE_CALL && node->call.callee == load && !folded) {
            nested.file = true;
            if (pickle_file_bytes(pickle, id, &nested.bytes))
                add(search, nested);
        } else if (pickle_is_global(pickle, id, "_codecs.encode")) {
            encode = id;
        } else if (pickle_is_global(pickle, id, "torch.storage._load_from_bytes")) {
            load = id;
        }
    }
}

/* Run the pickle at the front of `in`, and look inside it. */
static bool run_pickle(struct pickle_nested_search *search, struct bytes *in,
                       struct str name, int depth)
{
    struct pickle *pickle = arena_alloc(&search->build->scratch, sizeof *pickle);
    struct err why = {0};

    if (!pickle) {
        search->build->model->pickle.lost = true;
        return false;
    }
    if (pickle_run(pickle, search->build, in, name, &why) < 0)
        return false;
    search_nodes(search, pickle, (struct nested){.outer = name, .depth = depth + 1},
                 false);
    return pickle->complete;
}

/* A zip: torch loads its data.pkl. */
static bool run_zip(struct pickle_nested_search *search, const struct nested *nested,
                    struct str name)
{
    struct build *build = search->build;
    struct blob *blob;
    struct zip *zip;
    struct err why = {0};
    struct str data;
    struct bytes in;
    int64_t entry = -1;
    bool done = false;

    blob = blob_open_memory(nested->bytes.at, nested->bytes.len, "a file in a pickle",
                            &why);
    zip = blob ? zip_open(blob, build, &why) : NULL;
    if (zip) {
        zip->inner = true;
        entry = zip_find(zip, "data.pkl");
    }
    if (entry >= 0 && zip_load(zip, (uint32_t)entry, FILE_BYTES, build, &build->scratch,
                               &data, &why) == 0) {
        in = bytes_of(data.at, data.len);
        done = run_pickle(search, &in, name, nested->depth);
    }
    blob_close(blob);
    return done;
}

/* An old torch file is a sequence of pickles, then the storages. The last pickle has
 * the keys; stop there. */
static bool run_row(struct pickle_nested_search *search, const struct nested *nested,
                    struct str name)
{
    struct bytes in = bytes_of(nested->bytes.at, nested->bytes.len);
    bool legacy = pickle_is_torch_file(nested->bytes);
    int most = legacy ? 5 : FILE_PICKLES, n = 0;

    while (n < most && bytes_left(&in) > 0) {
        struct str rest = str_span((const char *)in.at, bytes_left(&in));

        if (n > 0 && !legacy && !pickle_looks_like(rest))
            break;
        if (!run_pickle(search, &in, name, nested->depth))
            return false;
        n++;
    }
    return n > 0;
}

static bool run_found(struct pickle_nested_search *search, const struct nested *nested)
{
    struct arena *scratch = &search->build->scratch;
    struct str name = str_of(arena_printf(scratch, "%.*s, in %zu bytes",
                                          STR_ARG(nested->outer), nested->bytes.len));
    struct bytes in = bytes_of(nested->bytes.at, nested->bytes.len);

    if (!name.at) {
        search->build->model->pickle.lost = true;
        return false;
    }
    if (nested->file && zip_looks_like(nested->bytes))
        return run_zip(search, nested, name);
    if (nested->file)
        return run_row(search, nested, name);
    build_finding(search->build, FINDING_PICKLE_NESTED, SEVERITY_WARNING,
                  FINDING_NOWHERE,
                  "%.*s: %zu bytes inside this pickle are another pickle",
                  STR_ARG(nested->outer), nested->bytes.len);
    return run_pickle(search, &in, name, nested->depth);
}

void pickle_note_file(struct build *build)
{
    struct str name = STR("torch.storage._load_from_bytes");
    uint32_t global = build_pickle_global(build, name, sizeof "torch.storage" - 1);

    if (global != UINT32_MAX)
        build_pickle_count(build, global, PICKLE_READS);
}

static void run_all(struct pickle_nested_search *search)
{
    while (search->next < search->n) {
        const struct nested *nested = &search->found[search->next++];

        if (run_found(search, nested) && nested->file)
            pickle_note_file(search->build);
    }
}

void pickle_run_nested(struct build *build, const struct pickle *pickle,
                       struct str name)
{
    struct pickle_nested_search *search = arena_alloc(&build->scratch, sizeof *search);

    if (!search) {
        build->model->pickle.lost = true;
        return;
    }
    search->build = build;
    search_nodes(search, pickle, (struct nested){.outer = name, .depth = 1}, true);
    run_all(search);
}

void pickle_run_file(struct build *build, const struct pickle *pickle, node_id call)
{
    const struct pickle_log *log = &build->model->pickle;
    struct pickle_nested_search *search = arena_alloc(&build->scratch, sizeof *search);
    struct nested nested = {.depth = 1, .file = true};

    if (!search)
        return;
    search->build = build;
    if (pickle->stream < log->n_streams)
        nested.outer = model_string(build->model, log->streams[pickle->stream].name);
    if (!pickle_file_bytes(pickle, call, &nested.bytes)) {
        build_finding(build, FINDING_PICKLE_NESTED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "%.*s: loads a file whose bytes are not in the pickle",
                      STR_ARG(nested.outer));
        return;
    }
    build_finding(build, FINDING_PICKLE_NESTED, SEVERITY_WARNING, FINDING_NOWHERE,
                  "%.*s: loads a file of %zu bytes without using it",
                  STR_ARG(nested.outer), nested.bytes.len);
    add(search, nested);
    run_all(search);
}
