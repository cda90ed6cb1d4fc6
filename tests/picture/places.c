/* Places of random graphs:
 *
 *     places SEED COUNT BOXES
 *
 * writes a line of JSON for each graph: its plan after plan_order(), and what
 * plan_place() and plan_route() make of it with all groups open and with some of them.
 * tests/python/place_test.py compares it with place.js.
 *
 *     places time BOXES ROUNDS
 *     places dot BOXES 1
 *
 * A chain with random skips: how long its layout takes, in seconds; the graph for
 * Graphviz. For tests/bench/graph_bench.py. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/test.h"
#include "layout/sample_graph.h"

#define STATES 3 /* sets of open groups for each graph */

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list list;

    fprintf(stderr, "%s:%d: ", file, line);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    exit(2);
}

static void put_list(const char *name, const int64_t *list, size_t n, bool last)
{
    printf("\"%s\":[", name);
    for (size_t i = 0; i < n; i++)
        printf(i > 0 ? ",%" PRId64 : "%" PRId64, list[i]);
    printf(last ? "]" : "],");
}

/* One column: `value` for i = 0 .. n - 1. */
#define PUT(name, n, value, last)                                                      \
    do {                                                                               \
        int64_t *list = calloc((size_t)(n) + 1, sizeof *list);                         \
        for (uint32_t i = 0; list && i < (n); i++)                                     \
            list[i] = (value);                                                         \
        put_list(name, list, n, last);                                                 \
        free(list);                                                                    \
    } while (0)
#define INDEX(number) ((number) == PLAN_NONE ? -1 : (int64_t)(number))

static void put_boxes(const struct plan *plan)
{
    uint32_t n = plan->n_boxes;

    printf("\"boxes\":{\"n\":%u,", n);
    PUT("size", n, plan->boxes[i].end - i, false);
    PUT("flags", n, plan->boxes[i].flags, false);
    PUT("width", n, plan->boxes[i].width, false);
    PUT("height", n, plan->boxes[i].height, false);
    PUT("gap", n, plan->boxes[i].gap, false);
    PUT("rank", n, plan->boxes[i].rank, false);
    PUT("last", n, (int64_t)plan->boxes[i].last - plan->boxes[i].rank, false);
    PUT("column", n, plan->boxes[i].column, true);
    printf("},");
}

static void put_nets(const struct plan *plan)
{
    uint32_t n = plan->n_nets;

    printf("\"nets\":{\"n\":%u,", n);
    PUT("source", n, plan->nets[i].source, false);
    PUT("nEnds", n, plan->nets[i].n_ends, false);
    PUT("labelWidth", n, plan->nets[i].label_width, false);
    PUT("labelHeight", n, plan->nets[i].label_height, false);
    PUT("slot", n, plan->nets[i].slot, false);
    PUT("track", n, INDEX(plan->nets[i].track), false);
    PUT("lane", n, INDEX(plan->nets[i].lane), false);
    PUT("firstRow", n, INDEX(plan->nets[i].first_row), false);
    PUT("lastRow", n, INDEX(plan->nets[i].last_row), true);
    n = plan->n_ends;
    printf("},\"ends\":{\"n\":%u,", n);
    PUT("target", n, plan->ends[i].target, false);
    PUT("inner", n, INDEX(plan->ends[i].inner), false);
    PUT("outer", n, INDEX(plan->ends[i].outer), false);
    PUT("labelWidth", n, plan->ends[i].label_width, false);
    PUT("labelHeight", n, plan->ends[i].label_height, false);
    PUT("way", n, plan->ends[i].way, false);
    PUT("slot", n, plan->ends[i].slot, false);
    PUT("track", n, INDEX(plan->ends[i].track), true);
    printf("},");
}

static void put_groups(const struct plan *plan)
{
    uint32_t n = plan->n_groups;
    bool first = true;

    printf("\"groups\":{\"n\":%u,", n);
    PUT("box", n, plan->groups[i].box, false);
    PUT("rows", n, plan->groups[i].rows, false);
    PUT("firstColumn", n, plan->groups[i].first_column, false);
    PUT("nColumns", n, plan->groups[i].n_columns, false);
    PUT("nNets", n, plan->groups[i].n_nets, false);
    PUT("nLanes", n, plan->groups[i].n_lanes, false);
    PUT("leastWidth", n, plan->boxes[plan->groups[i].box].least_width, false);
    PUT("leastHeight", n, plan->boxes[plan->groups[i].box].least_height, true);
    printf("},\"tracks\":[");
    for (uint32_t g = 0; g < n; g++)
        for (uint32_t c = 0; c <= plan->groups[g].rows; c++)
            printf("%s%u", g + c > 0 ? "," : "",
                   plan->tracks[plan->groups[g].channels + c]);
    printf("],\"lanes\":[");
    for (uint32_t g = 0; g < n; g++)
        for (uint32_t i = 0; i < plan->groups[g].n_lanes; i++, first = false)
            printf("%s%u", first ? "" : ",", plan->lanes[plan->groups[g].lanes + i]);
    printf("],");
}

/* What plan_place() made, and all routes. */
static int put_places(const struct plan *plan, struct arena *arena, struct err *err)
{
    uint32_t n = plan->n_boxes;
    bool first = true;

    printf("{");
    PUT("open", n, plan->boxes[i].flags & PLAN_OPEN, false);
    PUT("x", n, plan->boxes[i].x, false);
    PUT("y", n, plan->boxes[i].y, false);
    PUT("w", n, plan->boxes[i].w, false);
    PUT("h", n, plan->boxes[i].h, false);
    PUT("netLabelX", plan->n_nets, plan->nets[i].label_x, false);
    PUT("netLabelY", plan->n_nets, plan->nets[i].label_y, false);
    PUT("endLabelX", plan->n_ends, plan->ends[i].label_x, false);
    PUT("endLabelY", plan->n_ends, plan->ends[i].label_y, false);
    printf("\"lines\":[");
    for (uint32_t e = 0; e < plan->n_ends; e++) {
        struct plan_route route = {0};

        if (!plan_arrives(plan, e))
            continue;
        if (plan_route(plan, e, arena, &route, err) < 0)
            return -1;
        printf("%s[%u,%u,%u,%u", first ? "" : ",", e, route.from, route.to,
               route.first_end);
        for (uint32_t p = 0; p < route.n; p++)
            printf(",%d,%d", route.points[p].x, route.points[p].y);
        printf("]");
        first = false;
    }
    printf("],\"width\":%d,\"height\":%d}", plan->width, plan->height);
    return 0;
}

/* All groups open, then about two thirds and a third of them. */
static void set_open(struct plan *plan, int state)
{
    for (uint32_t i = 1; i < plan->n_boxes; i++) {
        bool open = state == 0 || (i * 2654435761u >> 16) % 3 >= (uint32_t)state;

        plan->boxes[i].flags &= (uint8_t)~PLAN_OPEN;
        if (open && plan->boxes[i].end > i + 1)
            plan->boxes[i].flags |= PLAN_OPEN;
    }
}

static int put_graph(uint64_t seed, uint32_t n, struct err *err)
{
    struct sample_graph graph;
    struct plan *plan = &graph.plan;
    int status;

    sample_random(&graph, seed, n);
    status = plan_order(plan, &graph.arena, err);
    if (status == 0) {
        printf("{");
        put_boxes(plan);
        put_nets(plan);
        put_groups(plan);
        printf("\"states\":[");
    }
    for (int state = 0; status == 0 && state < STATES; state++) {
        printf(state > 0 ? "," : "");
        set_open(plan, state);
        status = plan_place(plan, &plan_pixels, &graph.arena, err);
        if (status == 0)
            status = put_places(plan, &graph.arena, err);
    }
    printf("]}\n");
    sample_release(&graph);
    return status;
}

/* ---- for tests/bench/graph_bench.py ---- */

/* A chain in which every second box also feeds one far below it. */
static void make_skips(struct sample_graph *graph, uint32_t n)
{
    uint64_t state = 1;
    uint32_t *value = calloc(n + 1, sizeof *value);

    sample_init(graph);
    for (uint32_t i = 1; i <= n; i++)
        sample_box(graph, 0, PLAN_STRETCH);
    for (uint32_t i = 1; value && i < n; i++) {
        value[i] = sample_value(graph);
        sample_line(graph, value[i], i, i + 1);
        state = state * 6364136223846793005u + 1442695040888963407u;
        if (state >> 63 && i + 2 <= n)
            sample_line(graph, value[i], i,
                        i + 2 + (uint32_t)(state >> 33) % (n - i - 1));
    }
    free(value);
    sample_finish(graph, 70, 0);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int put_times(uint32_t n, unsigned long rounds, struct err *err)
{
    int status = 0;

    for (unsigned long i = 0; i < rounds && status == 0; i++) {
        struct sample_graph graph;
        double begun;

        make_skips(&graph, n);
        begun = now();
        status = plan_order(&graph.plan, &graph.arena, err);
        if (status == 0)
            status = plan_place(&graph.plan, &plan_pixels, &graph.arena, err);
        printf("%.6f\n", now() - begun);
        sample_release(&graph);
    }
    return status;
}

static int put_dot(uint32_t n)
{
    struct sample_graph graph;
    const struct plan *plan = &graph.plan;

    make_skips(&graph, n);
    printf("digraph {\n  node [shape=box];\n");
    for (uint32_t e = 0; e < plan->n_ends; e++)
        printf("  %u -> %u;\n", plan->nets[plan->ends[e].net].source,
               plan->ends[e].target);
    printf("}\n");
    sample_release(&graph);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned long n[2] = {0, 0};
    struct err err = {0};
    int status = 0;

    if (argc != 4) {
        fprintf(stderr, "places SEED COUNT BOXES, places time BOXES ROUNDS or places "
                        "dot BOXES 1\n");
        return 2;
    }
    for (int i = 0; i < 2; i++)
        n[i] = strtoul(argv[2 + i], NULL, 10);
    if (strcmp(argv[1], "time") == 0)
        status = put_times((uint32_t)n[0], n[1], &err);
    else if (strcmp(argv[1], "dot") == 0)
        status = put_dot((uint32_t)n[0]);
    else
        for (unsigned long i = 0; i < n[0] && status == 0; i++)
            status = put_graph(strtoull(argv[1], NULL, 10) + i, (uint32_t)n[1], &err);
    if (status < 0)
        fprintf(stderr, "places: %s\n", err.text);
    return status < 0;
}
