/* Makes a picture in steps: fit, order, place, turn, page, lines. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "export/look/tokens.h"
#include "export/picture/picture_in.h"

#define MEMORY    GIB
#define LABEL_PAD 5

const char *picture_colour(const struct picture *picture, const char *token)
{
    for (size_t i = 0; i < n_tokens; i++)
        if (strcmp(tokens[i].name, token) == 0)
            return picture->colours[i];
    return "#FF00FF"; /* an unknown token: a bug that is easy to see */
}

const char *picture_family(const struct picture *picture, const char *prefix,
                           enum family family)
{
    char token[32];

    snprintf(token, sizeof token, "%s%s", prefix, family_name(family));
    return picture_colour(picture, token);
}

const char *picture_heat_step(const struct picture *picture, int step)
{
    char token[32];

    snprintf(token, sizeof token, "heat-%d", step);
    return picture_colour(picture, token);
}

const char *picture_change(const struct picture *picture, uint8_t change)
{
    static const char *const names[DIAGRAM_CHANGES] = {"nodeline", "good", "warn",
                                                       "accent"};

    return picture_colour(picture, names[change < DIAGRAM_CHANGES ? change : 0]);
}

const char *picture_ground(const struct picture *picture, uint32_t group, int deeper)
{
    static const char *const names[] = {"surface", "g1", "g2", "g3", "g4"};
    uint32_t depth = 0;

    for (uint32_t at = group; at > 0; at = picture->diagram->plan.boxes[at].parent)
        depth++;
    if (depth == 0 && picture->wanted->no_ground)
        return NULL;
    if (depth > 3)
        depth = 3;
    return picture_colour(picture, names[depth + (uint32_t)deeper]);
}

/* Literal colours, or variables of the page around the picture. */
static int find_colours(struct picture *picture, struct err *err)
{
    const struct picture_inside *inside = picture->wanted->inside;

    picture->colours = arena_array(&picture->arena, n_tokens, sizeof *picture->colours);
    for (size_t i = 0; picture->colours && i < n_tokens; i++) {
        const char *colour = picture->wanted->dark ? tokens[i].dark : tokens[i].light;

        picture->colours[i] = colour;
        if (inside)
            picture->colours[i] =
                arena_printf(&picture->arena, "var(%s%s,%s)", inside->variables,
                             tokens[i].name, colour);
    }
    return picture->arena.spent ? arena_err(&picture->arena, "the picture", err) : 0;
}

static void swap(int32_t *a, int32_t *b)
{
    int32_t kept = *a;

    *a = *b;
    *b = kept;
}

/* Left to right is top to bottom with exchanged axes; x is mirrored, so that labels,
 * which the plan keeps right of lines, are above them. */
static void swap_sizes(struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_boxes; i++) {
        struct plan_box *box = &plan->boxes[i];

        swap(&box->width, &box->height);
        swap(&box->least_width, &box->least_height);
        box->flags &= (uint8_t)~PLAN_STRETCH;
    }
    for (uint32_t n = 0; n < plan->n_nets; n++)
        swap(&plan->nets[n].label_width, &plan->nets[n].label_height);
}

/* A label above a line keeps a distance from the boxes at both ends. */
static void pad_labels(struct plan *plan, int32_t pad)
{
    for (uint32_t n = 0; n < plan->n_nets; n++) {
        struct plan_net *net = &plan->nets[n];

        if (net->label_width > 0) {
            net->label_x -= pad;
            net->label_width += 2 * pad;
        }
    }
}

static void turn_places(struct plan *plan)
{
    int32_t height = plan->width;

    for (uint32_t i = 0; i < plan->n_boxes; i++) {
        struct plan_box *box = &plan->boxes[i];
        int32_t x = box->x;

        box->x = box->y;
        box->y = height - x - box->w;
        box->axis = box->w - box->axis;
        swap(&box->w, &box->h);
    }
    for (uint32_t i = 0; i < plan->n_points; i++) {
        int32_t x = plan->points[i].x;

        plan->points[i].x = plan->points[i].y;
        plan->points[i].y = height - x;
    }
    for (uint32_t n = 0; n < plan->n_nets; n++) {
        int32_t x = plan->nets[n].label_x;

        plan->nets[n].label_x = plan->nets[n].label_y;
        plan->nets[n].label_y = height - x - plan->nets[n].label_width;
    }
    for (uint32_t e = 0; e < plan->n_ends; e++) {
        int32_t x = plan->ends[e].label_x;

        plan->ends[e].label_x = plan->ends[e].label_y;
        plan->ends[e].label_y = height - x - plan->ends[e].label_width;
        swap(&plan->ends[e].label_width, &plan->ends[e].label_height);
    }
    swap(&plan->width, &plan->height);
}

static struct plan_style style_of(bool sideways)
{
    struct plan_style style = plan_pixels;

    style.margin = 0;
    if (sideways) {
        style.frame_top -= PICTURE_BAND;
        style.frame_right += PICTURE_BAND;
    }
    return style;
}

struct plan_style picture_style(const struct picture_wanted *wanted)
{
    return style_of(wanted->sideways);
}

static int place(struct picture *picture, bool sideways, struct err *err)
{
    struct plan *plan = &picture->diagram->plan;
    struct plan_style style = style_of(sideways);

    arena_release(&picture->places);
    arena_init(&picture->places, MEMORY);
    if (sideways) {
        pad_labels(plan, LABEL_PAD);
        swap_sizes(plan);
        for (uint32_t e = 0; e < plan->n_ends; e++)
            swap(&plan->ends[e].label_width, &plan->ends[e].label_height);
    }
    if (plan_place(plan, &style, &picture->places, err) < 0)
        return -1;
    if (sideways) {
        turn_places(plan);
        swap_sizes(plan);
        pad_labels(plan, -LABEL_PAD);
    }
    return 0;
}

static int place_on_page(struct picture *picture, bool sideways, struct err *err)
{
    if (place(picture, sideways, err) < 0)
        return -1;
    picture_heat(picture);
    return picture_paper(picture, err);
}

/* Closes groups, one after the other, while the page is too large. */
static int place_all(struct picture *picture, struct err *err)
{
    const struct diagram *diagram = picture->diagram;

    if (place_on_page(picture, false, err) < 0)
        return -1;
    while (picture_close_one(picture)) {
        bool labels =
            diagram->n_shown <= PICTURE_FEW && picture->labels_for > PICTURE_FEW;

        if ((labels && picture_fit_labels(picture, err) < 0) ||
            place_on_page(picture, false, err) < 0)
            return -1;
    }
    return picture->wanted->sideways ? place_on_page(picture, true, err) : 0;
}

int picture_init_places(struct picture *picture, struct diagram *diagram,
                        const struct picture_wanted *wanted, struct err *err)
{
    *picture = (struct picture){.diagram = diagram, .wanted = wanted};
    arena_init(&picture->arena, MEMORY);
    arena_init(&picture->places, MEMORY);
    if (find_colours(picture, err) < 0 || picture_fit(picture, err) < 0 ||
        picture_fit_labels(picture, err) < 0 ||
        plan_order(&diagram->plan, &picture->arena, err) < 0 ||
        picture_fit_end_labels(picture, err) < 0 || place_all(picture, err) < 0)
        goto fail;
    if (picture->arena.spent) {
        arena_err(&picture->arena, "the picture", err);
        goto fail;
    }
    return 0;

fail:
    picture_release(picture);
    return -1;
}

int picture_init(struct picture *picture, struct diagram *diagram,
                 const struct picture_wanted *wanted, struct err *err)
{
    if (picture_init_places(picture, diagram, wanted, err) < 0)
        return -1;
    if (picture_route(picture, err) < 0) {
        picture_release(picture);
        return -1;
    }
    return 0;
}

void picture_release(struct picture *picture)
{
    picture_reopen(picture);
    arena_release(&picture->arena);
    arena_release(&picture->places);
}
