#include <math.h>

#include "base/base.h"
#include "graph/parts_in.h"
#include "text/number.h"

const char *diagram_kind_name(enum diagram_kind kind)
{
    static const char *const names[DIAGRAM_KINDS] = {
        "module", "op", "view", "input", "output", "repeat", "control", "attached"};

    return kind < DIAGRAM_KINDS ? names[kind] : "";
}

const char *diagram_metric_name(enum diagram_metric metric)
{
    static const char *const names[DIAGRAM_METRICS + 1] = {"params", "time", "memory",
                                                           "flops",  "grad", "family"};

    return metric <= DIAGRAM_METRICS ? names[metric] : "";
}

const char *diagram_change_name(enum diagram_change change)
{
    static const char *const names[DIAGRAM_CHANGES] = {"", "added", "removed",
                                                       "changed"};

    return change < DIAGRAM_CHANGES ? names[change] : "";
}

const char *graph_level_name(enum graph_level level)
{
    return level == GRAPH_OPS ? "ops" : "modules";
}

/* ---- values ---- */

static void write_value(struct buf *to, double value, enum diagram_metric metric)
{
    uint64_t whole = value < 1.8e19 ? (uint64_t)value : UINT64_MAX;

    switch (metric) {
    case DIAGRAM_PARAMS:
        text_count(to, whole);
        break;
    case DIAGRAM_TIME:
        text_time(to, value / 1e9);
        break;
    case DIAGRAM_MEMORY:
        text_bytes(to, whole);
        break;
    case DIAGRAM_FLOPS:
        text_flops(to, whole);
        break;
    default:
        text_real(to, value);
    }
}

void diagram_value(struct buf *to, const struct diagram *diagram, uint32_t box,
                   enum diagram_metric metric)
{
    const struct diagram_box *of = &diagram->boxes[box];
    double value;

    if (metric >= DIAGRAM_METRICS)
        metric = DIAGRAM_PARAMS;
    value = of->metric[metric];
    if (metric == DIAGRAM_PARAMS && of->flags & DIAGRAM_SHARED) {
        buf_text(to, "shared");
        return;
    }
    if (metric == DIAGRAM_PARAMS && (isnan(value) || value <= 0))
        return;
    if (isnan(value)) {
        buf_text(to, "–");
        return;
    }
    if (metric == DIAGRAM_PARAMS && of->flags & DIAGRAM_TIED)
        buf_char(to, '(');
    write_value(to, value, metric);
    if (metric == DIAGRAM_PARAMS && of->flags & DIAGRAM_TIED)
        buf_char(to, ')');
}

/* ---- words ---- */

/* Words that follow a class after a comma; arguments follow after a blank. */
static bool is_remark(struct str word)
{
    static const char *const remarks[] = {"tied",  "frozen",       "not called",
                                          "fused", "shared",       "inside",
                                          "was ",  "renamed from", "result "};
    static const char *const endings[] = {" modules", " groups", " operations",
                                          " change", " changes"};

    for (size_t i = 0; i < COUNT_OF(remarks); i++)
        if (str_starts(word, str_of(remarks[i])))
            return true;
    for (size_t i = 0; i < COUNT_OF(endings); i++)
        if (str_ends(word, str_of(endings[i])))
            return true;
    return str_find(word, STR(" × ")) >= 0;
}

const char *diagram_before_word(const struct diagram *diagram, uint32_t box,
                                uint32_t word)
{
    const struct diagram_box *of = &diagram->boxes[box];
    bool pill = diagram_is_tensor(of->kind);

    if (pill || (word == 1 && of->kind == DIAGRAM_MODULE &&
                 !is_remark(diagram->words[of->words + word])))
        return " ";
    return ", ";
}

/* ---- making ---- */

static uint8_t plan_flags(const struct diagram_box *box)
{
    if (box->kind == DIAGRAM_INPUT)
        return PLAN_EARLY;
    if (box->flags & DIAGRAM_SIGN)
        return PLAN_SIDE;
    return box->kind == DIAGRAM_MODULE || box->kind == DIAGRAM_REPEAT ||
                   box->kind == DIAGRAM_CONTROL
               ? PLAN_STRETCH
               : 0;
}

int diagram_boxes(struct diagram *diagram, const struct parts *parts)
{
    size_t n = (size_t)parts->n_boxes;

    diagram->boxes = arena_array(parts->arena, n, sizeof *diagram->boxes);
    diagram->plan.boxes = arena_array(parts->arena, n, sizeof *diagram->plan.boxes);
    if (!diagram->boxes || !diagram->plan.boxes)
        return -1;
    diagram->plan.n_boxes = parts->n_boxes;
    for (uint32_t i = 0; i < parts->n_boxes; i++) {
        struct diagram_box *box = &diagram->boxes[i];

        *box = parts->at[parts->part_of[i]].box;
        diagram->plan.boxes[i].parent = parts->up[i];
        diagram->plan.boxes[i].end = parts->end[i];
        diagram->plan.boxes[i].flags = i > 0 ? plan_flags(box) : 0;
        for (int m = 0; m < DIAGRAM_METRICS; m++)
            diagram->has[m] |= i > 0 && !isnan(box->metric[m]) &&
                               (m != DIAGRAM_PARAMS || box->metric[m] > 0);
    }
    diagram->words = parts->words;
    diagram->n_words = parts->n_words;
    return 0;
}

/* The main column follows the data through the layers: a box with parameters weighs as
 * much as its output. Masks, positions and time steps are small, or are made without
 * parameters. */
static void set_weights(struct diagram *diagram)
{
    for (uint32_t n = 0; n < diagram->plan.n_nets; n++) {
        uint32_t source = diagram->plan.nets[n].source;
        const struct diagram_box *box = &diagram->boxes[source];
        struct plan_box *to = &diagram->plan.boxes[source];

        if ((box->metric[DIAGRAM_PARAMS] > 0 || box->flags & DIAGRAM_SHARED) &&
            diagram->nets[n].bytes > to->weight)
            to->weight = diagram->nets[n].bytes;
    }
}

static uint32_t find_frame(const struct parts *parts)
{
    for (uint32_t i = 1; i < parts->n_boxes; i++)
        if (parts->at[parts->part_of[i]].frame)
            return i;
    return PLAN_NONE;
}

/* A file may give two places the same name. */
static int unique_ids(struct parts *parts)
{
    struct name_map ids;
    uint32_t index;

    name_map_init(&ids, parts->scratch);
    for (uint32_t i = 1; i < parts->n_boxes; i++) {
        struct diagram_box *box = &parts->at[parts->part_of[i]].box;
        int added = name_map_add(&ids, box->id, &index);

        if (added == 0) {
            box->id = parts_printf(parts, "%.*s~%u", STR_ARG(box->id), i);
            added = name_map_add(&ids, box->id, &index);
        }
        if (added < 0)
            return -1;
    }
    return 0;
}

static int spent(const struct parts *parts, struct err *err)
{
    return arena_err(parts->scratch->spent ? parts->scratch : parts->arena, "the graph",
                     err);
}

static int shape_tree(struct parts *parts, const struct session *session,
                      const struct graph_wanted *wanted, struct err *err)
{
    tree_link(parts);
    if (tree_merge(parts) < 0 || tree_contents(parts) < 0)
        return spent(parts, err);
    if (focus_apply(parts, session, wanted, err) < 0)
        return -1;
    if (tree_number(parts) < 0 || (!wanted->all && tree_alike(parts) < 0) ||
        (!wanted->all && tree_chains(parts) < 0) || tree_number(parts) < 0 ||
        (!wanted->all && repeats_fold(parts) < 0) || unique_ids(parts) < 0)
        return spent(parts, err);
    return 0;
}

static void set_about(struct diagram *diagram, const struct parts_about *about)
{
    diagram->path = about->path;
    diagram->n_path = about->n_path;
    diagram->facts = about->facts;
    diagram->note = about->note;
    diagram->flops_ops = about->flops_ops;
    diagram->flops_of = about->flops_of;
    memcpy(diagram->total, about->total, sizeof diagram->total);
}

/* Note that only a part of the network is drawn: frames then lack most of their
 * module's content. */
static void note_focus(struct diagram *diagram, struct parts *parts)
{
    const struct graph_wanted *wanted = &diagram->wanted;
    struct buf text = BUF_INIT;

    if (wanted->focus == NO_PLACE)
        return;
    buf_text(&text, wanted->to == NO_PLACE ? "Only " : "Only paths from ");
    place_path(diagram->session->model, wanted->focus, &text);
    if (wanted->to == NO_PLACE) {
        uint32_t n = wanted->neighbours > 0 ? wanted->neighbours : 1;

        buf_printf(&text, " and everything at most %u line%s away", n,
                   n == 1 ? "" : "s");
    } else {
        buf_text(&text, " to ");
        place_path(diagram->session->model, wanted->to, &text);
    }
    buf_text(&text, diagram->note.len > 0 ? ". " : ".");
    buf_str(&text, diagram->note);
    diagram->note = parts_text(parts, buf_span(&text));
    buf_release(&text);
}

/* Enter the parts of a session, with the front end that fits it. */
static int enter(struct parts *parts, struct parts_about *about,
                 const struct session *session, const struct graph_wanted *wanted,
                 struct err *err)
{
    const struct program *program = session->model->program;

    if (session->run)
        return parts_from_run(parts, about, session, wanted, err);
    if (program && program->n_calls > 0)
        return parts_from_program(parts, about, session, wanted, err);
    return parts_from_nothing(session, err);
}

/* Enter the parts of both networks of a diff into `parts`. */
static int enter_both(struct parts *parts, struct parts_about about[2],
                      const struct diagram *diagram,
                      const struct graph_wanted *old_wanted, struct err *err)
{
    struct parts old, new;

    parts_init(&old, parts->arena, parts->scratch);
    parts_init(&new, parts->arena, parts->scratch);
    if (enter(&old, &about[0], diagram->old, old_wanted, err) < 0 ||
        enter(&new, &about[1], diagram->session, &diagram->wanted, err) < 0)
        return -1;
    return parts_merge(parts, &old, &new) < 0 ? spent(parts, err) : 0;
}

static int make(struct diagram *diagram, struct parts *parts,
                const struct graph_wanted *old_wanted, struct err *err)
{
    struct parts_about about[2] = {{0}, {0}};

    if (diagram->old
            ? enter_both(parts, about, diagram, old_wanted, err) < 0
            : enter(parts, &about[1], diagram->session, &diagram->wanted, err) < 0)
        return -1;
    set_about(diagram, &about[1]);
    if (shape_tree(parts, diagram->session, &diagram->wanted, err) < 0)
        return -1;
    if (diagram->old) {
        if (changes_apply(parts, diagram) < 0)
            return spent(parts, err);
        changes_about(parts, diagram, &about[0], &about[1]);
    }
    note_focus(diagram, parts);
    if (diagram_boxes(diagram, parts) < 0 || nets_make(diagram, parts) < 0 ||
        opening_choose(diagram, parts->scratch, find_frame(parts)) < 0)
        return spent(parts, err);
    set_weights(diagram);
    return gradients_fill(diagram, parts->scratch, err);
}

static int make_diagram(struct diagram *ret_diagram, struct diagram diagram,
                        const struct graph_wanted *old_wanted, struct arena *arena,
                        struct err *err)
{
    struct arena scratch;
    struct parts parts;
    int status;

    arena_init(&scratch, 0);
    parts_init(&parts, arena, &scratch);
    status = make(&diagram, &parts, old_wanted, err);
    arena_release(&scratch);
    if (status < 0)
        return -1;
    *ret_diagram = diagram;
    return 0;
}

int diagram_make(struct diagram *ret_diagram, const struct session *session,
                 const struct graph_wanted *wanted, struct arena *arena,
                 struct err *err)
{
    struct diagram diagram = {.session = session, .wanted = *wanted};

    return make_diagram(ret_diagram, diagram, NULL, arena, err);
}

int diagram_make_diff(struct diagram *ret_diagram, const struct diagram_side *old,
                      const struct diagram_side *new, struct arena *arena,
                      struct err *err)
{
    struct diagram diagram = {
        .session = new->session, .wanted = new->wanted, .old = old->session};

    return make_diagram(ret_diagram, diagram, &old->wanted, arena, err);
}
