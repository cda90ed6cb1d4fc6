/* tflite.c - TFLite: a flatbuffer with the identifier TFL3. Constants become tensors
 * below the parts of their names, the operators of all subgraphs that are run a
 * program. */
#include "base/base.h"
#include "read/flat/tflite_in.h"

#define GRAPHS_MOST     1000
#define GRAPH_NAME_MOST 200

static int tflite_knows(const struct input *input)
{
    return input->blob && input->head.len >= 8 &&
                   memcmp(input->head.at + 4, "TFL3", 4) == 0
               ? SURE_MAGIC + 1 /* the file may end with a zip of labels */
               : 0;
}

/* ---- subgraphs ---- */

/* The name of a subgraph's module: that of its signature, its own, or its number. */
static struct str graph_name(struct tflite *tflite, uint32_t i)
{
    struct arena *arena = &tflite->build->scratch;
    const struct tflite_graph *graph = &tflite->graphs[i];
    struct str name = STR("");

    if (graph->signature != TFLITE_NONE)
        name = str_head(tflite->signatures[graph->signature].key, GRAPH_NAME_MOST);
    if (name.len == 0)
        name = flat_text(&tflite->flat, graph->table, 4, GRAPH_NAME_MOST, arena);
    if (name.len == 0)
        name = str_of(arena_printf(arena, "subgraph %u", i));
    return name;
}

/* The module of subgraph i. A name that another one has gets a number. */
static uint32_t graph_node(struct tflite *tflite, uint32_t i, struct name_map *names)
{
    struct build *build = tflite->build;
    struct str name;
    uint32_t index;

    if (i == 0 && tflite->n_entries == 1)
        return tflite->input->node;
    name = graph_name(tflite, i);
    if (name_map_find(names, name, &index))
        name = str_of(arena_printf(&build->scratch, "%.*s#%u", STR_ARG(name), i));
    if (name.len == 0 || name_map_add(names, name, &index) < 0)
        return NO_PLACE;
    tflite->graphs[i].name = name;
    return build_child(build, tflite->input->node, PLACE_MODULE, name);
}

/* Finds the subgraphs that a caller may run. */
static void find_entries(struct tflite *tflite)
{
    tflite->graphs[0].entry = true;
    for (uint32_t i = tflite->n_signatures; i-- > 0;) {
        struct tflite_graph *graph = &tflite->graphs[tflite->signatures[i].graph];

        graph->entry = true;
        graph->signature = i;
    }
    for (uint32_t i = 0; i < tflite->n_graphs; i++)
        tflite->n_entries += tflite->graphs[i].entry;
}

static int find_graphs(struct tflite *tflite, struct flat_table model,
                       struct flat_vector graphs, struct err *err)
{
    struct build *build = tflite->build;

    tflite->n_graphs = graphs.n < GRAPHS_MOST ? graphs.n : GRAPHS_MOST;
    if (graphs.n > GRAPHS_MOST)
        build_finding(build, FINDING_LIMIT, SEVERITY_ALARM, FINDING_NOWHERE,
                      "only the first %d of %u subgraphs are shown", GRAPHS_MOST,
                      graphs.n);
    tflite->graphs =
        arena_array(&build->scratch, tflite->n_graphs, sizeof *tflite->graphs);
    if (!tflite->graphs)
        return arena_err(&build->scratch, tflite->input->path, err);
    for (uint32_t i = 0; i < tflite->n_graphs; i++)
        tflite->graphs[i] = (struct tflite_graph){
            .table = flat_table_at(&tflite->flat, graphs.at + 4 * (uint64_t)i),
            .node = NO_PLACE,
            .signature = TFLITE_NONE};
    if (tflite_signatures(tflite, model, err) < 0)
        return -1;
    find_entries(tflite);
    return 0;
}

static int add_graphs(struct tflite *tflite, struct err *err)
{
    struct build *build = tflite->build;
    struct name_map names;

    name_map_init(&names, &build->scratch);
    for (uint32_t i = 0; i < tflite->n_graphs; i++) {
        struct tflite_graph *graph = &tflite->graphs[i];

        graph->node = graph_node(tflite, i, &names);
        if (graph->node == NO_PLACE)
            return arena_err(&build->model->arena, tflite->input->path, err);
        if (tflite_tensors(tflite, graph, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- the file ---- */

static void add_findings(struct tflite *tflite)
{
    struct build *build = tflite->build;

    if (tflite->n_no_buffer > 0)
        build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "the file has no data for %u of its tensors: their buffers do "
                      "not exist. Download it again",
                      tflite->n_no_buffer);
    if (tflite->n_other_file > 0)
        build_finding(build, FINDING_MISSING_RECORD, SEVERITY_WARNING, FINDING_NOWHERE,
                      "the values of %u %s are in another file, which is not read",
                      tflite->n_other_file,
                      tflite->n_other_file == 1 ? "tensor" : "tensors");
    if (tflite->flat.limit)
        build_finding(
            build, FINDING_LIMIT, SEVERITY_ALARM, FINDING_NOWHERE,
            "tables share their parts too often, possibly an attack: the rest was "
            "skipped");
    else if (tflite->flat.bad)
        build_finding(
            build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
            "an offset points outside the file: the rest was skipped. Download "
            "it again");
}

static int tflite_read(struct input *input, struct build *build, struct err *err)
{
    struct tflite *tflite = arena_alloc(&build->scratch, sizeof *tflite);
    struct flat_table model;
    struct flat_vector graphs;

    if (!tflite)
        return arena_err(&build->scratch, input->path, err);
    tflite->input = input;
    tflite->build = build;
    map_init(&tflite->storages, &build->scratch);
    flat_init(&tflite->flat, input->blob);
    model = flat_root(&tflite->flat);
    tflite->codes = flat_vector(&tflite->flat, model, 1, 4);
    tflite->buffers = flat_vector(&tflite->flat, model, 4, 4);
    graphs = flat_vector(&tflite->flat, model, 2, 4);
    if (tflite->flat.bad || graphs.n == 0)
        return err_set_about(err, ERR_FORMAT, input->path,
                             " is a damaged TFLite file. Download it again");
    if (find_graphs(tflite, model, graphs, err) < 0 || add_graphs(tflite, err) < 0)
        return -1;
    if (input->node == 0) {
        tflite_facts(tflite, model);
        if (tflite_program(tflite, err) < 0)
            return -1;
    }
    add_findings(tflite);
    return 0;
}

const struct reader tflite_reader = {
    .name = "TFLite", .knows = tflite_knows, .read = tflite_read};
