/* The graph as data that the page lays out and draws: the initial view, and the parts
 * that can be opened without another request. */
#include "base/base.h"
#include "export/picture/picture.h"
#include "web/web_in.h"

#define MOST_BOXES 4000u /* some 50 bytes each */
#define MOST_IDS   200u

static int read_wanted(struct web_ask *ask, const struct session *session,
                       struct graph_wanted *wanted, struct err *err)
{
    struct str level = web_arg(ask, "level"), root = web_arg(ask, "root");
    uint64_t depth, pass, call;

    if (level.len > 0 && !str_is(level, "modules") && !str_is(level, "ops"))
        return err_set(err, ERR_USAGE, "level is modules or ops");
    if (web_number(ask, "depth", 0, UINT32_MAX, GRAPH_AUTO, &depth, err) < 0 ||
        web_number(ask, "pass", 0, UINT32_MAX, GRAPH_AUTO, &pass, err) < 0 ||
        web_number(ask, "call", 0, UINT32_MAX, 0, &call, err) < 0 ||
        (root.len > 0 && session_find(session, root, &wanted->root, err) < 0))
        return -1;
    wanted->level = str_is(level, "ops") ? GRAPH_OPS : GRAPH_MODULES;
    wanted->depth = (uint32_t)depth;
    wanted->pass = (uint32_t)pass;
    wanted->call = (uint32_t)call;
    wanted->all = web_flag(ask, "all");
    return 0;
}

static int make(struct web_ask *ask, struct diagram *ret_diagram, struct err *err)
{
    struct diagram_side new = {.session = ask->session, .wanted = GRAPH_WANTED};
    struct diagram_side old = {.session = ask->right, .wanted = GRAPH_WANTED};

    if (read_wanted(ask, ask->session, &new.wanted, err) < 0)
        return -1;
    if (!ask->right)
        return diagram_make(ret_diagram, new.session, &new.wanted, &ask->arena, err);
    if (read_wanted(ask, ask->right, &old.wanted, err) < 0)
        return -1;
    return diagram_make_diff(ret_diagram, &old, &new, &ask->arena, err);
}

int ask_graph(struct web_ask *ask, struct json *json, struct err *err)
{
    const struct picture_wanted wanted = {.color = DIAGRAM_FAMILY};
    struct str rest = web_arg(ask, "inside"), open[MOST_IDS];
    struct diagram diagram;
    uint32_t n = 0;

    while (n < MOST_IDS && rest.len > 0 && str_split(&rest, '\n', &open[n]))
        n++;
    if (make(ask, &diagram, err) < 0 ||
        diagram_shorten(&diagram, MOST_BOXES, open, n, err) < 0)
        return -1;
    return picture_data(json->out, &diagram, &wanted, err);
}
