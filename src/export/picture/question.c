#include "export/picture/question.h"

#include <string.h>

#include "base/base.h"

#define AT(member) offsetof(struct picture_question, member)

const struct option picture_options[PICTURE_OPTIONS + PICTURE_COMMAND_OPTIONS] = {
    {"level", 'l', OPTION_TEXT, "modules|ops", AT(level),
     "boxes are calls of modules, the default, or operations"},
    {"root", 'r', OPTION_TEXT, "NAME", AT(root), "only what is inside this module"},
    {"depth", 'd', OPTION_COUNT, "N", AT(depth),
     "open modules down to this depth; default: what fits one page"},
    {"focus", 0, OPTION_TEXT, "NAME", AT(focus),
     "only this module and what it is connected to"},
    {"neighbours", 0, OPTION_COUNT, "N", AT(neighbours),
     "with --focus: how many lines away; default 1"},
    {"to", 0, OPTION_TEXT, "NAME", AT(to),
     "with --focus: only the paths to this module"},
    {"all", 'a', OPTION_FLAG, NULL, AT(all),
     "do not fold repeated blocks, chains of views and boxes with similar names"},
    {"pass", 0, OPTION_COUNT, "N", AT(pass),
     "which pass of a recording, from 0; default: the newest complete one"},
    {"color", 'c', OPTION_TEXT, "family|params|time|memory|flops|grad", AT(color),
     "what colours show; default: the family of each layer"},
    {"direction", 0, OPTION_TEXT, "tb|lr", AT(direction),
     "top to bottom, the default, or left to right"},
    {"theme", 0, OPTION_TEXT, "light|dark", AT(theme),
     "default: light; HTML follows the reader's system"},
    {"background", 0, OPTION_TEXT, "none|theme", AT(background),
     "none: transparent, for SVG and PNG"},
    {"scale", 0, OPTION_REAL, "X", AT(scale), "PNG: pixels per unit; default 1.5"},
    {"no-mark", 0, OPTION_FLAG, NULL, AT(no_mark),
     "leave out the name of the program in the corner"},
    {"diff", 0, OPTION_TEXT, "NEW", AT(diff),
     "draw what differs from this network, the old one, to NEW"},
    {"output", 'o', OPTION_TEXT, "FILE", AT(output),
     "file to write: svg, png, pdf, html, dot, mmd, json; - is standard output"},
    {"form", 0, OPTION_TEXT, "FORM", AT(form),
     "the format, if the name does not give it"},
    {"inputs", 'i', OPTION_LIST, "WHAT", AT(inputs),
     "live model: 1x3x224x224, 8x128:int64 or FILE.py::FUNCTION; repeatable"},
    {"train", 0, OPTION_FLAG, NULL, AT(train),
     "live model: run in train mode, with backward"},
};

static enum diagram_metric metric_named(const char *name)
{
    for (int i = 0; name && i < DIAGRAM_METRICS; i++)
        if (strcmp(diagram_metric_name((enum diagram_metric)i), name) == 0)
            return (enum diagram_metric)i;
    return DIAGRAM_FAMILY;
}

static bool is_given(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

/* Leaves *place unchanged if no name was given. */
static int find_place(const struct session *session, const char *name, uint32_t *place,
                      struct err *err)
{
    return name ? session_find(session, str_of(name), place, err) : 0;
}

static int read_places(const struct picture_question *question,
                       const struct session *session, struct graph_wanted *graph,
                       struct err *err)
{
    if (question->to && !question->focus)
        return err_set(err, ERR_USAGE, "to needs focus: the module where paths begin");
    if (question->neighbours != OPTION_UNSET && !question->focus)
        return err_set(err, ERR_USAGE, "neighbours requires focus");
    if (find_place(session, question->root, &graph->root, err) < 0 ||
        find_place(session, question->focus, &graph->focus, err) < 0)
        return -1;
    return find_place(session, question->to, &graph->to, err);
}

int picture_question_read(const struct picture_question *question,
                          const struct session *session, struct graph_wanted *ret_graph,
                          struct picture_wanted *ret_picture, struct err *err)
{
    struct graph_wanted graph = GRAPH_WANTED;

    if (read_places(question, session, &graph, err) < 0)
        return -1;
    graph.level = is_given(question->level, "ops") ? GRAPH_OPS : GRAPH_MODULES;
    graph.depth = question->depth; /* OPTION_UNSET is GRAPH_AUTO */
    graph.pass = question->pass;
    graph.neighbours = question->neighbours == OPTION_UNSET ? 1 : question->neighbours;
    graph.all = question->all;
    *ret_graph = graph;
    *ret_picture =
        (struct picture_wanted){.color = metric_named(question->color),
                                .dark = is_given(question->theme, "dark"),
                                .theme_given = question->theme != NULL,
                                .sideways = is_given(question->direction, "lr"),
                                .no_ground = is_given(question->background, "none"),
                                .no_mark = question->no_mark,
                                .scale = question->scale > 0 ? question->scale : 0,
                                .title = question->title};
    return 0;
}

int picture_question_make(const struct picture_question *question,
                          const struct session *session, const struct session *newer,
                          struct diagram *ret_diagram,
                          struct picture_wanted *ret_picture, struct arena *arena,
                          struct err *err)
{
    struct diagram_side old = {.session = session}, new = {.session = newer};

    if (picture_question_read(question, session, &old.wanted, ret_picture, err) < 0)
        return -1;
    if (!newer)
        return diagram_make(ret_diagram, session, &old.wanted, arena, err);
    if (picture_question_read(question, newer, &new.wanted, ret_picture, err) < 0)
        return -1;
    return diagram_make_diff(ret_diagram, &old, &new, arena, err);
}
