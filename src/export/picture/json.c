/* Nodes and edges of the recording: the document `graph` of docs/json.md. It is the whole
 * graph of the level: what is folded or left out of a picture is in it. */
#include "base/json_write.h"
#include "export/export.h"
#include "export/picture/picture_in.h"
#include "study/op_graph.h"

int picture_json(struct out *out, struct diagram *diagram,
                 const struct picture_wanted *wanted, struct err *err)
{
    const struct run *run = diagram->session ? diagram->session->run : NULL;
    struct op_graph_wanted level = {
        .level = diagram->wanted.level == GRAPH_OPS ? OP_GRAPH_OPS : OP_GRAPH_MODULES};
    struct op_graph graph;
    struct arena arena;
    struct json json;
    int status;

    (void)wanted;
    if (diagram->old)
        return picture_json_diff(out, diagram, err);
    if (!run)
        return err_set(err, ERR_UNSUPPORTED,
                       "json has the graph of a recording; torchoscope ops FILE --json "
                       "lists the operations of a file");
    arena_init(&arena, 0);
    status = op_graph_make(&graph, run, level, &arena, err);
    if (status == 0) {
        json_init_text(&json, out);
        export_graph(&json, run, &graph);
        out_text(out, "\n");
    }
    arena_release(&arena);
    return status;
}
