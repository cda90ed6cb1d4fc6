/* Legends on a canvas: the signs at the bottom, the scale of the heat. */
#include <math.h>

#include "export/picture/canvas_in.h"
#include "text/number.h"

/* A small box with its bar; a view is a dashed pill. */
static void draw_family(struct canvas *canvas, const struct picture *picture,
                        const struct picture_item *item)
{
    enum family family = (enum family)item->which;
    bool view = item->which == FAMILY_VIEW;
    struct canvas_ink box = {.fill = picture_family(picture, "t-", family),
                             .stroke = view ? picture_family(picture, "f-", family)
                                            : picture_colour(picture, "line2"),
                             .dash = view ? "3 2.5" : NULL};
    struct canvas_ink bar = {.fill = picture_family(picture, "f-", family)};

    canvas->form->rect(canvas, NULL,
                       (double[]){item->x, item->y, 16, 11, view ? 5.5 : 2.5}, &box);
    if (!view)
        canvas->form->rect(canvas, NULL, (double[]){item->x, item->y, 5, 11, 1.5},
                           &bar);
}

static void draw_sheets(struct canvas *canvas, const struct picture *picture,
                        const struct picture_item *item)
{
    struct canvas_ink ink = {.fill = picture_colour(picture, "surface"),
                             .stroke = picture_colour(picture, "nodeline")};

    for (int sheet = 2; sheet >= 0; sheet--)
        canvas->form->rect(
            canvas, NULL,
            (double[]){item->x + 3 * sheet, item->y - 3 + 3 * sheet, 22, 11, 3}, &ink);
}

static void draw_sign(struct canvas *canvas, const struct picture *picture,
                      const struct picture_item *item)
{
    struct canvas_ink ink = {.stroke = picture_colour(picture, "edge")};
    struct canvas_path path = {0};

    switch (item->key) {
    case PICTURE_KEY_FAMILY:
        draw_family(canvas, picture, item);
        break;
    case PICTURE_KEY_WIDTH:
        ink.width = picture_line_widths[item->which & 3];
        path_move(&path, item->x, item->y + 5.5);
        path_line(&path, item->x + 16, item->y + 5.5);
        canvas->form->path(canvas, NULL, &path, &ink);
        break;
    case PICTURE_KEY_SHEETS:
        draw_sheets(canvas, picture, item);
        break;
    case PICTURE_KEY_CLOSED:
        draw_chevron(canvas, picture, item->x + 5, item->y + 1, false);
        break;
    case PICTURE_KEY_CHANGE:
        draw_change_sign(canvas, picture, item->x + 8, item->y + 5.5,
                         (uint8_t)item->which);
        break;
    case PICTURE_KEY_STRONG:
        break;
    }
}

static void draw_item(struct canvas *canvas, const struct picture *picture,
                      const struct picture_item *item)
{
    struct canvas_run runs[] = {
        {STR("strong"), picture_colour(picture, "text"), 11, 0, true},
        {str_of(item->text), picture_colour(picture, "text2"), 11, 4, false}};
    struct canvas_text text = {item->x, item->y + 9, CANVAS_START, runs, 2, NULL};

    if (item->key != PICTURE_KEY_STRONG) {
        text.x += item->key == PICTURE_KEY_SHEETS ? 33 : 21;
        text.runs = runs + 1;
        text.n_runs = 1;
    }
    draw_sign(canvas, picture, item);
    canvas->form->text(canvas, NULL, &text);
}

static void heat_value(const struct picture *picture, double value, struct buf *to)
{
    if (value == 0) {
        buf_char(to, '0');
        return;
    }
    switch (picture->metric) {
    case DIAGRAM_TIME:
        text_time(to, value * 1e-9);
        break;
    case DIAGRAM_MEMORY:
        text_bytes(to, (uint64_t)value);
        break;
    case DIAGRAM_FLOPS:
        text_flops(to, (uint64_t)value);
        break;
    case DIAGRAM_PARAMS:
        text_count(to, (uint64_t)value);
        break;
    default:
        text_real(to, value);
    }
}

/* The value at the middle of a step: the inverse of step_of() in heat.c. */
static double heat_at(const struct picture *picture, double share)
{
    if (!picture->heat_log)
        return picture->heat_most * share * share;
    return picture->heat_least * pow(picture->heat_most / picture->heat_least, share);
}

static const char *heat_name(enum diagram_metric metric)
{
    static const char *const names[DIAGRAM_METRICS] = {
        "parameters", "time, forward, inclusive", "memory allocated inside",
        "FLOPs of matrix work", "norm of the gradients"};

    return metric < DIAGRAM_METRICS ? names[metric] : "";
}

static void draw_total(struct canvas *canvas, const struct picture *picture)
{
    const struct diagram *diagram = picture->diagram;
    struct buf text = BUF_INIT;

    buf_text(&text, picture->heat_log ? "logarithmic steps" : "square-root steps");
    if (picture->metric != DIAGRAM_GRADIENT && diagram->total[picture->metric] > 0) {
        buf_text(&text, "; total ");
        heat_value(picture, (double)diagram->total[picture->metric], &text);
    }
    if (picture->metric == DIAGRAM_FLOPS && diagram->flops_of > 0)
        buf_printf(&text, " by %u of %u ops", diagram->flops_ops, diagram->flops_of);
    draw_words(canvas, NULL, picture->heat_x, picture->heat_y + 61, CANVAS_START,
               &(struct canvas_run){buf_span(&text), picture_colour(picture, "text3"),
                                    11, 0, false});
    buf_release(&text);
}

static void draw_heat(struct canvas *canvas, const struct picture *picture)
{
    double x = picture->heat_x, y = picture->heat_y;
    struct buf text = BUF_INIT;

    draw_words(canvas, NULL, x, y + 12, CANVAS_START,
               &(struct canvas_run){str_of(heat_name(picture->metric)),
                                    picture_colour(picture, "text"), 11, 0, true});
    if (!picture->diagram->has[picture->metric]) {
        draw_words(canvas, NULL, x, y + 30, CANVAS_START,
                   &(struct canvas_run){STR("not measured"),
                                        picture_colour(picture, "text2"), 11, 0,
                                        false});
        return;
    }
    for (int i = 0; i < PICTURE_HEAT_STEPS; i++) {
        struct canvas_ink ink = {.stroke = picture_colour(picture, "nodeline"),
                                 .width = 0.75};

        ink.fill = picture_heat_step(picture, i);
        canvas->form->rect(
            canvas, NULL,
            (double[]){x + i * PICTURE_HEAT_WIDTH, y + 20, PICTURE_HEAT_WIDTH, 12, 0},
            &ink);
    }
    for (int i = 0; i < 3; i++) {
        buf_clear(&text);
        heat_value(picture, heat_at(picture, i / 2.0), &text);
        draw_words(
            canvas, NULL, x + (4 * i + 0.5) * PICTURE_HEAT_WIDTH, y + 45, CANVAS_MIDDLE,
            &(struct canvas_run){buf_span(&text), picture_colour(picture, "text2"), 11,
                                 0, false});
    }
    buf_release(&text);
    draw_total(canvas, picture);
}

void draw_legend(struct canvas *canvas, const struct picture *picture)
{
    bool heat = picture->wanted->color != DIAGRAM_FAMILY;

    if (!heat && picture->n_items == 0)
        return;
    canvas->form->open(canvas, &(struct canvas_tag){.class = "legend"});
    for (uint32_t i = 0; i < picture->n_items; i++)
        draw_item(canvas, picture, &picture->items[i]);
    if (heat)
        draw_heat(canvas, picture);
    canvas->form->close(canvas);
}
