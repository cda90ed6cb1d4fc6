/* The network of a session inside a page, folded until few boxes show. A page never
 * fails because of its graph: it shows the reason instead. */
#include "base/base.h"
#include "base/folder.h"
#include "export/page/page_in.h"
#include "export/picture/picture.h"
#include "text/escape.h"
#include "text/shell_word.h"

#define MEMORY     GIB
#define BOXES      20  /* what fits on a screen without scrolling for long */
#define MOST_BOXES 100 /* a model without groups shows all its parts */
#define LEAST      4   /* an input, one box and an output are not worth a picture */

/* The command that draws all of it. A live model has no file to name. */
static void add_command(struct buf *to, const struct session *session)
{
    struct str name = path_last(session->model->path);

    if (session->model->n_files == 0 || name.len == 0)
        return;
    buf_text(to, "torchoscope graph ");
    shell_word_write(to, name);
}

static void draw(struct page_graph *graph, struct diagram *diagram,
                 const struct picture_inside *inside, struct err *err)
{
    struct picture_wanted wanted = {
        .color = DIAGRAM_FAMILY, .no_ground = true, .no_mark = true, .inside = inside};
    struct out out;

    out_init_buf(&out, &graph->svg);
    if (picture_form_find(STR("svg"))->write(&out, diagram, &wanted, err) < 0)
        graph->svg.len = 0;
    out_release(&out);
    escape_terminal(&graph->note, diagram->note);
    add_command(&graph->command, diagram->session);
    graph->boxes = diagram->n_shown;
}

void page_graph_make(struct page_graph *graph, const struct session *session,
                     const struct picture_inside *inside)
{
    struct graph_wanted wanted = GRAPH_WANTED;
    struct diagram diagram;
    struct err err = {0};
    struct arena arena;

    *graph = (struct page_graph){.svg = BUF_INIT};
    arena_init(&arena, MEMORY);
    wanted.boxes = BOXES;
    if (diagram_make(&diagram, session, &wanted, &arena, &err) == 0) {
        if (diagram.n_shown > MOST_BOXES)
            err_set(&err, ERR_LIMIT, "it has %u boxes beside one another",
                    diagram.n_shown);
        else if (diagram.n_shown >= LEAST)
            draw(graph, &diagram, inside, &err);
    }
    if (err.code != 0 && err.code != ERR_UNSUPPORTED) {
        buf_clear(&graph->note);
        buf_text(&graph->note, "The graph is not drawn here: ");
        escape_terminal(&graph->note, str_of(err.text));
        buf_clear(&graph->command);
        add_command(&graph->command, session);
    }
    arena_release(&arena);
}

void page_graph_release(struct page_graph *graph)
{
    buf_release(&graph->svg);
    buf_release(&graph->note);
    buf_release(&graph->command);
}
