/* Lines and their labels on a canvas: look.md, section 5. Lines are drawn after the
 * boxes, which they never touch; where a line crosses a title band, its path has a
 * gap. */
#include <math.h>
#include <stdlib.h>

#include "export/picture/canvas_in.h"

#define CORNER 7
#define TIP    1 /* from the arrow's tip to the box */
#define HEAD   7 /* length of an arrowhead */
#define HALF   3.2
#define DOT    2.6
#define SLASH  14   /* from a box to the slash of several tensors */
#define CASING 3.75 /* added by a casing to the width of a line */
#define TICK   6    /* from an arrow to the tick of an added line */
#define REACH  5    /* of a casing, on both sides of the crossed line */

struct drawn_line {
    struct canvas *canvas;
    const struct picture *picture;
    const struct picture_line *line;
    struct canvas_tag tag;
    struct canvas_ink ink;
    struct canvas_path path;
    double x, y; /* the pen */
};

static void flush_path(struct drawn_line *d)
{
    d->canvas->form->path(d->canvas, &d->tag, &d->path, &d->ink);
    d->path.n_steps = d->path.n_numbers = 0;
}

/* A line with very many corners becomes several paths. */
static void make_room(struct drawn_line *d)
{
    if (path_has_room(&d->path, 4))
        return;
    flush_path(d);
    path_move(&d->path, d->x, d->y);
}

static void go_to(struct drawn_line *d, double x, double y, bool draw)
{
    make_room(d);
    if (draw)
        path_line(&d->path, x, y);
    else
        path_move(&d->path, x, y);
    d->x = x;
    d->y = y;
}

/* The next title band on the way down (or up) to y: its begin and end. */
static bool next_band(const struct drawn_line *d, double y, double *ret_near,
                      double *ret_far)
{
    const struct picture *picture = d->picture;
    bool down = y > d->y, found = false;

    for (uint32_t i = 0; i < picture->n_frames; i++) {
        const struct plan_box *box = &picture->diagram->plan.boxes[picture->frames[i]];
        double left = box->x + picture->left, top = box->y + picture->top;
        double near = down ? top : top + PICTURE_BAND;
        double far = down ? top + PICTURE_BAND : top;

        if (d->x <= left || d->x >= left + box->w)
            continue;
        if (down ? near < d->y || near >= y : near > d->y || near <= y)
            continue;
        if (found && (down ? near >= *ret_near : near <= *ret_near))
            continue;
        *ret_near = near;
        *ret_far = far;
        found = true;
    }
    return found;
}

static void straight_to(struct drawn_line *d, double x, double y)
{
    double near = 0, far = 0;

    while (x == d->x && y != d->y && next_band(d, y, &near, &far)) {
        go_to(d, x, near, true);
        go_to(d, x, far, false);
        if ((y > near) != (y > far)) /* it ends beyond the band */
            return;
    }
    go_to(d, x, y, true);
}

static bool is_split(const struct picture *picture, struct plan_point at)
{
    uint32_t low = 0, high = picture->n_splits;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        struct plan_point p = picture->splits[mid];

        if (p.x == at.x && p.y == at.y)
            return true;
        if (p.x < at.x || (p.x == at.x && p.y < at.y))
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}

static double length_of(struct plan_point a, struct plan_point b)
{
    return fabs((double)a.x - b.x) + fabs((double)a.y - b.y);
}

/* A point `part` pixels from a on the way to b. */
static void point_towards(struct plan_point a, struct plan_point b, double part,
                          double *ret_x, double *ret_y)
{
    double length = length_of(a, b);

    *ret_x = a.x + (length > 0 ? (b.x - a.x) * part / length : 0);
    *ret_y = a.y + (length > 0 ? (b.y - a.y) * part / length : 0);
}

static void draw_stroke(struct drawn_line *d)
{
    const struct plan_point *points = d->line->points;
    uint32_t n = d->line->n_points;
    double x, y;

    go_to(d, points[0].x, points[0].y, false);
    for (uint32_t i = 1; i + 1 < n; i++) {
        double before = length_of(points[i - 1], points[i]);
        double after = length_of(points[i], points[i + 1]);
        double radius = fmin(CORNER, fmin(before, after) / 2);

        if (is_split(d->picture, points[i]))
            radius = 0;
        point_towards(points[i], points[i - 1], radius, &x, &y);
        straight_to(d, x, y);
        if (radius > 0) {
            point_towards(points[i], points[i + 1], radius, &x, &y);
            make_room(d);
            path_corner(&d->path, points[i].x, points[i].y, x, y);
            d->x = x;
            d->y = y;
        }
    }
    point_towards(points[n - 1], points[n - 2],
                  fmin(TIP + HEAD - 1, length_of(points[n - 1], points[n - 2])), &x,
                  &y);
    straight_to(d, x, y);
    flush_path(d);
}

static void draw_arrow(struct drawn_line *d)
{
    const struct plan_point *points = d->line->points;
    uint32_t n = d->line->n_points;
    double x, y, base_x, base_y, across_x, across_y;
    struct canvas_path path = {0};
    struct canvas_ink ink = {.fill = d->ink.stroke};

    point_towards(points[n - 1], points[n - 2], TIP, &x, &y);
    point_towards(points[n - 1], points[n - 2], TIP + HEAD, &base_x, &base_y);
    across_x = points[n - 1].x == points[n - 2].x ? HALF : 0;
    across_y = HALF - across_x;
    path_move(&path, x, y);
    path_line(&path, base_x - across_x, base_y - across_y);
    path_line(&path, base_x + across_x, base_y + across_y);
    path_close(&path);
    d->canvas->form->path(d->canvas, &(struct canvas_tag){.class = "arrow"}, &path,
                          &ink);
}

/* Two short bars across the last straight part: the gradient is cut off. */
static void draw_detached(struct drawn_line *d)
{
    const struct plan_point *points = d->line->points;
    uint32_t n = d->line->n_points;
    struct canvas_ink ink = {.stroke = picture_colour(d->picture, "text"),
                             .width = 1.75};
    bool upright = points[n - 1].x == points[n - 2].x;
    double middle = length_of(points[n - 1], points[n - 2]) / 2;
    struct canvas_path path = {0};

    for (int i = 0; i < 2; i++) {
        double x, y;

        point_towards(points[n - 1], points[n - 2], middle - 2 + 4 * i, &x, &y);
        path_move(&path, upright ? x - 5 : x, upright ? y : y - 5);
        path_line(&path, upright ? x + 5 : x, upright ? y : y + 5);
    }
    d->canvas->form->path(d->canvas, &(struct canvas_tag){.class = "detached"}, &path,
                          &ink);
}

/* One short bar before the arrow: together with the line it forms a plus. */
static void draw_tick(struct drawn_line *d)
{
    const struct plan_point *points = d->line->points;
    uint32_t n = d->line->n_points;
    struct canvas_ink ink = {.stroke = d->ink.stroke, .width = 1.75};
    bool upright = points[n - 1].x == points[n - 2].x;
    struct canvas_path path = {0};
    double x, y;

    point_towards(points[n - 1], points[n - 2], TIP + HEAD + TICK, &x, &y);
    path_move(&path, upright ? x - 4 : x, upright ? y : y - 4);
    path_line(&path, upright ? x + 4 : x, upright ? y : y + 4);
    d->canvas->form->path(d->canvas, &(struct canvas_tag){.class = "tick"}, &path,
                          &ink);
}

/* Short pieces of ground below a line where it crosses earlier ones. */
static void draw_casings(struct drawn_line *d, const struct picture_crossing *first,
                         uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct canvas_ink ink = {.stroke =
                                     picture_ground(d->picture, first[i].group, 0),
                                 .width = d->ink.width + CASING};
        double dx = first[i].upright ? 0 : REACH, dy = REACH - dx;
        struct canvas_path path = {0};

        if (!ink.stroke)
            continue;
        path_move(&path, first[i].x - dx, first[i].y - dy);
        path_line(&path, first[i].x + dx, first[i].y + dy);
        d->canvas->form->path(d->canvas, &(struct canvas_tag){.class = "casing"}, &path,
                              &ink);
    }
}

static struct canvas_ink line_ink(const struct picture *picture,
                                  const struct picture_line *line)
{
    const struct diagram_net *net = &picture->diagram->nets[line->net];
    uint8_t change = picture->diagram->ends[line->end].change;
    struct canvas_ink ink = {
        .stroke = picture_colour(picture, net->not_finite ? "alarm" : "edge"),
        .width = picture_line_widths[picture_width_class(net->bytes)]};

    if (change != DIAGRAM_SAME && !net->not_finite)
        ink.stroke = picture_change(picture, change);
    if (change == DIAGRAM_REMOVED)
        ink.dash = "5 3";
    return ink;
}

static void draw_line(struct canvas *canvas, const struct picture *picture, uint32_t l,
                      uint32_t *crossing)
{
    const struct picture_line *line = &picture->lines[l];
    const struct diagram *diagram = picture->diagram;
    uint32_t first = *crossing;
    struct drawn_line d = {
        .canvas = canvas,
        .picture = picture,
        .line = line,
        .tag = {.class = "edge",
                .from = diagram->boxes[line->from].id,
                .to = diagram->boxes[line->to].id,
                .change = diagram->ends[line->end].change},
        .ink = line_ink(picture, line),
    };

    while (*crossing < picture->n_crossings && picture->crossings[*crossing].line == l)
        ++*crossing;
    if (line->n_points < 2)
        return;
    if (*crossing > first) /* without any, there is no array */
        draw_casings(&d, &picture->crossings[first], *crossing - first);
    draw_stroke(&d);
    draw_arrow(&d);
    if (line->dot)
        canvas->form->circle(canvas, "split",
                             (double[]){line->points[0].x, line->points[0].y, DOT},
                             &(struct canvas_ink){.fill = d.ink.stroke});
    if (diagram->ends[line->end].detached)
        draw_detached(&d);
    if (d.tag.change == DIAGRAM_ADDED)
        draw_tick(&d);
}

/* A slash through a line of several tensors, where it leaves its box. */
static void draw_slash(struct canvas *canvas, const struct picture *picture, uint32_t n)
{
    const struct plan *plan = &picture->diagram->plan;
    const struct plan_point *points =
        plan->points + plan->ends[plan->nets[n].ends].points;
    struct canvas_ink ink = {.stroke = picture_colour(picture, "edge"), .width = 1.25};
    struct canvas_path path = {0};
    double x, y;

    point_towards(points[0], points[1],
                  fmin(SLASH, length_of(points[0], points[1]) / 2), &x, &y);
    x += picture->left;
    y += picture->top;
    path_move(&path, x - 5, y + 3);
    path_line(&path, x + 5, y - 3);
    canvas->form->path(canvas, &(struct canvas_tag){.class = "slash"}, &path, &ink);
}

static void draw_label(struct canvas *canvas, const struct picture *picture, double x,
                       double y, struct str words, const char *token, uint32_t group)
{
    struct canvas_run run = {words, picture_colour(picture, token), 11, 0, false};
    struct canvas_text text = {x + picture->left,
                               y + picture->top,
                               CANVAS_START,
                               &run,
                               1,
                               picture_ground(picture, group, 0)};

    if (words.len > 0)
        canvas->form->text(canvas, "edge-label", &text);
}

static void draw_net_label(struct canvas *canvas, const struct picture *picture,
                           uint32_t n)
{
    const struct plan_net *net = &picture->diagram->plan.nets[n];
    const struct diagram_net *what = &picture->diagram->nets[n];

    if (what->n_tensors > 1 && picture->diagram->plan.ends[net->ends].n_points > 1)
        draw_slash(canvas, picture, n);
    draw_label(canvas, picture, net->label_x, net->label_y + 11,
               picture->labels[n].text, picture->labels[n].strong ? "text" : "text3",
               net->group);
    draw_label(canvas, picture, net->label_x, net->label_y + 25,
               picture->labels[n].more, "text3", net->group);
}

static void draw_labels(struct canvas *canvas, const struct picture *picture)
{
    const struct plan *plan = &picture->diagram->plan;

    for (uint32_t n = 0; n < plan->n_nets; n++) {
        const struct plan_net *net = &plan->nets[n];

        if (net->n_ends == 0 || plan->ends[net->ends].n_points == 0)
            continue;
        if (net->label_width > 0)
            draw_net_label(canvas, picture, n);
        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++)
            draw_label(canvas, picture, plan->ends[e].label_x,
                       plan->ends[e].label_y + 11, picture->end_labels[e], "text3",
                       net->group);
    }
}

void draw_lines(struct canvas *canvas, const struct picture *picture)
{
    uint32_t crossing = 0;

    canvas->form->open(canvas, &(struct canvas_tag){.class = "edges"});
    for (uint32_t l = 0; l < picture->n_lines; l++)
        draw_line(canvas, picture, l, &crossing);
    draw_labels(canvas, picture);
    canvas->form->close(canvas);
}
