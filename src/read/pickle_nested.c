#include "read/pickle_value_in.h"

/* pickle.loads(b'...') is a call with bytes: what these would do when they are loaded
 * in turn belongs in the log as well. */

#define NESTED_DEPTH 4
#define NESTED_MOST  64
#define NESTED_MIN   8 /* bytes; nothing shorter can name anything */

/* Bytes that look like a pickle, to be run. */
struct nested {
    struct str bytes;
    struct str outer; /* the name of the pickle they lie in */
    int depth;
};

struct search {
    struct build *build;
    struct nested found[NESTED_MOST];
    uint32_t n, next;
    bool said_more;
};

/* A torch file of the old kind begins with a pickle of this number. */
static bool is_torch_file(struct str bytes)
{
    static const char magic[] = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

    return str_find(str_head(bytes, 32), str_span(magic, sizeof magic - 1)) >= 0;
}

static void add(struct search *search, struct str bytes, struct str outer, int depth)
{
    if (bytes.len < NESTED_MIN || is_torch_file(bytes) || !pickle_is_inside(bytes))
        return;
    if (search->n < NESTED_MOST && depth <= NESTED_DEPTH) {
        search->found[search->n++] =
            (struct nested){.bytes = bytes, .outer = outer, .depth = depth};
        return;
    }
    if (!search->said_more)
        build_finding(
            search->build, FINDING_LIMIT, SEVERITY_ALARM, FINDING_NOWHERE,
            "%.*s: more pickles inside pickles than the %d, or deeper than the "
            "%d, that are looked at",
            STR_ARG(outer), NESTED_MOST, NESTED_DEPTH);
    search->said_more = true;
}

/* Older protocols write bytes as Latin-1 text, where a PROTO is these two bytes. Text
 * that begins otherwise is plain, and is looked at as it is: it may be much. */
static void add_encoded(struct search *search, const struct pickle *pickle,
                        node_id call, struct str name, int depth)
{
    struct str text = pickle_text(pickle, pickle_arg(pickle, call, 0));

    if (str_starts(text, STR("\xc2\x80")) && !pickle_bytes(pickle, call, &text))
        return;
    add(search, text, name, depth);
}

static void search_nodes(struct search *search, const struct pickle *pickle,
                         struct str name, int depth)
{
    node_id encode = NO_NODE; /* the global, which stands before every call of it */

    for (node_id id = 0; id < pickle->n_nodes; id++) {
        const struct node *node = &pickle->nodes[id];

        if (node->kind == NODE_BYTES)
            add(search, pickle_text(pickle, id), name, depth);
        else if (node->kind == NODE_CALL && node->call.callee == encode)
            add_encoded(search, pickle, id, name, depth);
        else if (pickle_is_global(pickle, id, "_codecs.encode"))
            encode = id;
    }
}

static void run_found(struct search *search, const struct nested *nested)
{
    struct bytes in = bytes_of(nested->bytes.at, nested->bytes.len);
    struct arena *scratch = &search->build->scratch;
    struct err why = {0};
    struct pickle *pickle = arena_alloc(scratch, sizeof *pickle);
    struct str name = str_of(arena_printf(scratch, "%.*s, in %zu bytes",
                                          STR_ARG(nested->outer), nested->bytes.len));

    if (!pickle || !name.at)
        return;
    build_finding(search->build, FINDING_PICKLE_NESTED, SEVERITY_WARNING,
                  FINDING_NOWHERE,
                  "%.*s: %zu bytes inside this pickle are a pickle themselves",
                  STR_ARG(nested->outer), nested->bytes.len);
    if (pickle_run(pickle, search->build, &in, name, &why) == 0)
        search_nodes(search, pickle, name, nested->depth + 1);
}

void pickle_run_nested(struct build *build, const struct pickle *pickle,
                       struct str name)
{
    struct search *search = arena_alloc(&build->scratch, sizeof *search);

    if (!search)
        return;
    search->build = build;
    search_nodes(search, pickle, name, 1);
    while (search->next < search->n)
        run_found(search, &search->found[search->next++]);
}
