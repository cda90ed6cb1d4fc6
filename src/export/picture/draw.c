/* A whole picture on a canvas: ground, title, boxes, lines, legend, mark. */
#include "export/picture/canvas_in.h"

#define TITLE_PARTS 33

void draw_words(struct canvas *canvas, const char *class, double x, double y,
                enum canvas_anchor anchor, const struct canvas_run *run)
{
    struct canvas_text text = {x, y, anchor, run, 1, NULL};

    if (run->text.len > 0)
        canvas->form->text(canvas, class, &text);
}

void draw_chevron(struct canvas *canvas, const struct picture *picture, double x,
                  double y, bool down)
{
    struct canvas_ink ink = {
        .stroke = picture_colour(picture, "text2"), .width = 1.75, .round = true};
    struct canvas_path path = {0};

    path_move(&path, x, y);
    path_line(&path, x + 4.5, y + 4.5);
    path_line(&path, down ? x + 9 : x, down ? y : y + 9);
    canvas->form->path(canvas, NULL, &path, &ink);
}

void draw_change_sign(struct canvas *canvas, const struct picture *picture, double x,
                      double y, uint8_t change)
{
    const char *ground = picture_colour(picture, "surface");
    struct canvas_ink disc = {
        .fill = picture_change(picture, change), .stroke = ground, .width = 1.5};
    struct canvas_ink pen = {.stroke = ground, .width = 1.75, .round = true};
    struct canvas_path path = {0};
    double d = 3.5;

    canvas->form->open(canvas, &(struct canvas_tag){.class = "change"});
    canvas->form->circle(canvas, NULL, (double[]){x, y, 7.5}, &disc);
    path_move(&path, x - d, y);
    if (change == DIAGRAM_CHANGED) {
        path_corner(&path, x - d / 2, y - 3.4, x, y);
        path_corner(&path, x + d / 2, y + 3.4, x + d, y);
    } else {
        path_line(&path, x + d, y);
    }
    if (change == DIAGRAM_ADDED) {
        path_move(&path, x, y - d);
        path_line(&path, x, y + d);
    }
    canvas->form->path(canvas, NULL, &path, &pen);
    canvas->form->close(canvas);
}

/* "ResNet-50 › layer1 › 0": the signs between the parts are dim. */
static void draw_title(struct canvas *canvas, const struct picture *picture)
{
    struct canvas_run runs[TITLE_PARTS];
    struct canvas_text text = {PICTURE_MARGIN, 36, CANVAS_START, runs, 0, NULL};
    struct str rest = picture->path, sign = STR(" › ");
    const char *strong = picture_colour(picture, "text");
    const char *dim = picture_colour(picture, "text3");

    while (rest.len > 0 && text.n_runs + 2 < TITLE_PARTS) {
        ptrdiff_t at = str_find(rest, sign);
        struct str part = at < 0 ? rest : str_head(rest, (size_t)at);

        runs[text.n_runs++] = (struct canvas_run){part, strong, 16, 6, true};
        rest = str_from(rest, at < 0 ? rest.len : (size_t)at + sign.len);
        if (at >= 0)
            runs[text.n_runs++] = (struct canvas_run){STR("›"), dim, 16, 6, false};
    }
    if (rest.len > 0)
        runs[text.n_runs++] = (struct canvas_run){rest, strong, 16, 6, true};
    if (text.n_runs > 0)
        canvas->form->text(canvas, "heading", &text);
    for (uint32_t i = 0; i < picture->n_facts; i++)
        draw_words(canvas, "facts", PICTURE_MARGIN, 55 + 16 * (double)i, CANVAS_START,
                   &(struct canvas_run){picture->facts[i],
                                        picture_colour(picture, "text2"), 12, 0,
                                        false});
}

/* The logo: a lens with a bell curve in it; then the name. */
static void draw_mark(struct canvas *canvas, const struct picture *picture)
{
    double x = picture->mark_x, y = picture->mark_y;
    struct canvas_ink ring = {.stroke = picture_colour(picture, "accent"),
                              .width = 1.75};
    struct canvas_ink curve = {
        .stroke = picture_colour(picture, "text"), .width = 1.5, .round = true};
    struct canvas_path path = {0};

    canvas->form->open(canvas, &(struct canvas_tag){.class = "mark"});
    canvas->form->circle(canvas, NULL, (double[]){x + 8, y + 8, 7}, &ring);
    path_move(&path, x + 3.2, y + 10.6);
    path_curve(&path, (double[]){x + 5.6, y + 10.6, x + 6, y + 4.6, x + 8, y + 4.6});
    path_curve(&path,
               (double[]){x + 10, y + 4.6, x + 10.4, y + 10.6, x + 12.8, y + 10.6});
    canvas->form->path(canvas, NULL, &path, &curve);
    draw_words(canvas, NULL, x + 20, y + 12, CANVAS_START,
               &(struct canvas_run){STR("torchoscope"),
                                    picture_colour(picture, "text3"), 11, 0, true});
    canvas->form->close(canvas);
}

void draw_picture(struct canvas *canvas, const struct picture *picture)
{
    struct canvas_ink ground = {.fill = picture_colour(picture, "surface")};

    if (!picture->wanted->no_ground)
        canvas->form->rect(canvas, "ground",
                           (double[]){0, 0, picture->width, picture->height, 0},
                           &ground);
    if (!picture->wanted->inside)
        draw_title(canvas, picture);
    draw_boxes(canvas, picture);
    draw_lines(canvas, picture);
    draw_legend(canvas, picture);
    if (!picture->wanted->no_mark)
        draw_mark(canvas, picture);
}
