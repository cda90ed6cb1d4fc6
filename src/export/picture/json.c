/* Nodes and edges of the recording, or of the code in a file: the document `graph` of
 * docs/json.md. It holds the whole graph of the level, including parts that a picture
 * folds or omits. */
#include "base/json_write.h"
#include "export/export.h"
#include "export/picture/picture_in.h"
#include "study/op_graph.h"
#include "study/program_graph.h"

static int make_graph(struct op_graph *ret_graph, const struct diagram *diagram,
                      struct arena *arena, struct err *err)
{
    const struct session *session = diagram->session;
    enum op_graph_level level =
        diagram->wanted.level == GRAPH_OPS ? OP_GRAPH_OPS : OP_GRAPH_MODULES;

    if (session->run)
        return op_graph_make(ret_graph, session->run,
                             (struct op_graph_wanted){.level = level}, arena, err);
    return program_graph_make(ret_graph, session->model,
                              (struct program_graph_wanted){.level = level}, arena,
                              err);
}

int picture_json(struct out *out, struct diagram *diagram,
                 const struct picture_wanted *wanted, struct err *err)
{
    const struct session *session = diagram->session;
    struct op_graph graph;
    struct arena arena;
    struct json json;
    int status;

    (void)wanted;
    if (diagram->old)
        return picture_json_diff(out, diagram, err);
    arena_init(&arena, 0);
    status = make_graph(&graph, diagram, &arena, err);
    if (status == 0) {
        json_init_text(&json, out);
        if (session->run)
            export_graph(&json, session->run, &graph);
        else
            export_program_graph(&json, session->model, &graph);
        out_text(out, "\n");
    }
    arena_release(&arena);
    return status;
}
