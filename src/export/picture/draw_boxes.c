/* Boxes and frames of groups on a canvas: look.md, sections 4, 6 and 8. */
#include "export/picture/canvas_in.h"
#include "text/escape.h"

#define RADIUS       4
#define FRAME_RADIUS 8
#define BAR          5
#define PILL         17

/* The box being drawn: its texts and its position on the page. */
struct drawn_box {
    struct canvas *canvas;
    const struct picture *picture;
    const struct diagram_box *box;
    const struct picture_box *texts;
    uint32_t index;
    double x, y, w, h;
};

static const char *colour(const struct drawn_box *b, const char *token)
{
    return picture_colour(b->picture, token);
}

static bool is_hot(const struct drawn_box *b)
{
    return b->texts->heat != PICTURE_NO_HEAT;
}

static bool has_bar(const struct drawn_box *b)
{
    return b->picture->wanted->color == DIAGRAM_FAMILY &&
           b->box->family != FAMILY_NONE &&
           !(b->box->flags & (DIAGRAM_REGION | DIAGRAM_NOT_CALLED));
}

static const char *fill_of(const struct drawn_box *b)
{
    if (b->texts->shape == PICTURE_VIEW)
        return colour(b, "t-view");
    if (b->box->flags & DIAGRAM_NOT_CALLED)
        return colour(b, "surface");
    if (b->texts->shape == PICTURE_ENDS)
        return colour(b, "sunken");
    if (is_hot(b))
        return picture_heat_step(b->picture, b->texts->heat);
    if (b->picture->wanted->color != DIAGRAM_FAMILY)
        return colour(b, "surface"); /* not measured */
    if (b->box->family == FAMILY_NONE || b->box->flags & DIAGRAM_REGION)
        return colour(b, "sunken");
    return picture_family(b->picture, "t-", (enum family)b->box->family);
}

static struct canvas_ink ink_of(const struct drawn_box *b)
{
    struct canvas_ink ink = {.fill = fill_of(b), .stroke = colour(b, "nodeline")};

    if (b->texts->shape == PICTURE_VIEW) {
        ink.stroke = colour(b, "f-view");
        ink.dash = "3 2.5";
    }
    if (b->box->flags & DIAGRAM_NOT_CALLED)
        ink.dash = "1.5 2";
    if (b->box->change != DIAGRAM_SAME) {
        ink.stroke = picture_change(b->picture, b->box->change);
        ink.width = 1.75;
        if (b->box->change == DIAGRAM_REMOVED)
            ink.dash = "5 3";
    }
    if (b->box->flags & DIAGRAM_CARRIES && !(b->box->flags & DIAGRAM_MADE)) {
        ink.stroke = colour(b, "alarm");
        ink.width = 1.75;
    }
    return ink;
}

static void draw_bar(const struct drawn_box *b)
{
    struct canvas_ink ink = {
        .fill = picture_family(b->picture, "f-", (enum family)b->box->family)};
    double x = b->x, y = b->y, bottom = b->y + b->h;
    struct canvas_path path = {0};

    path_move(&path, x + BAR, y);
    path_line(&path, x + BAR, bottom);
    path_line(&path, x + RADIUS, bottom);
    path_arc(&path, x, bottom, x, bottom - RADIUS);
    path_line(&path, x, y + RADIUS);
    path_arc(&path, x, y, x + RADIUS, y);
    path_close(&path);
    b->canvas->form->path(b->canvas, &(struct canvas_tag){.class = "bar"}, &path, &ink);
}

/* + or × as a path; another sign as text. */
static void draw_sign(const struct drawn_box *b)
{
    struct canvas_ink ink = ink_of(b);
    struct canvas_ink pen = {.stroke = colour(b, "text"), .width = 1.75, .round = true};
    double x = b->x + b->w / 2, y = b->y + b->h / 2, d = 5;
    struct canvas_path path = {0};

    b->canvas->form->circle(b->canvas, NULL, (double[]){x, y, b->h / 2}, &ink);
    if (str_is(b->texts->name, "×"))
        d = 3.6;
    else if (!str_is(b->texts->name, "+")) {
        draw_words(
            b->canvas, NULL, x, y + 4, CANVAS_MIDDLE,
            &(struct canvas_run){b->texts->name, colour(b, "text"), 12, 0, true});
        return;
    }
    path_move(&path, x - d, d == 5 ? y : y - d);
    path_line(&path, x + d, d == 5 ? y : y + d);
    path_move(&path, d == 5 ? x : x + d, y - d);
    path_line(&path, d == 5 ? x : x - d, y + d);
    b->canvas->form->path(b->canvas, NULL, &path, &pen);
}

/* Name, then detail and calls if they are in the same line. */
static void draw_name(const struct drawn_box *b, double x, double y,
                      enum canvas_anchor anchor)
{
    bool dim = b->texts->shape == PICTURE_VIEW;
    bool tall = b->texts->shape == PICTURE_TALL, hot = is_hot(b);
    const char *name = dim || b->box->flags & DIAGRAM_NOT_CALLED ? "text3" : "text";
    double gap = dim ? 5 : b->texts->shape == PICTURE_ENDS ? 7 : 6;
    struct canvas_run runs[3];
    struct canvas_text text = {x, y, anchor, runs, 0, NULL};

    runs[text.n_runs++] =
        (struct canvas_run){b->texts->name, colour(b, name), dim ? 11 : 12, 0, !dim};
    if (!tall && b->texts->detail.len > 0)
        runs[text.n_runs++] = (struct canvas_run){b->texts->detail,
                                                  colour(b, hot   ? "text"
                                                            : dim ? "text3"
                                                                  : "text2"),
                                                  11, gap, false};
    if (b->texts->calls.len > 0)
        runs[text.n_runs++] = (struct canvas_run){
            b->texts->calls, colour(b, hot ? "text" : "text3"), 11, 5, false};
    if (b->texts->name.len > 0 || text.n_runs > 1)
        b->canvas->form->text(b->canvas, "name", &text);
}

static void draw_texts(const struct drawn_box *b)
{
    bool hot = is_hot(b), tall = b->texts->shape == PICTURE_TALL;
    double line = tall ? b->y + 18 : b->y + b->h / 2 + 4;
    double left = b->x + 12;

    if (b->texts->shape == PICTURE_VIEW || b->texts->shape == PICTURE_ENDS) {
        draw_name(b, b->x + b->w / 2, line, CANVAS_MIDDLE);
        return;
    }
    if (b->texts->chevron)
        draw_chevron(b->canvas, b->picture, b->x + 13, b->y + 9.5, false);
    draw_name(b, b->texts->chevron ? left + 13 : left, line, CANVAS_START);
    draw_words(b->canvas, "value", b->x + b->w - 9, line, CANVAS_END,
               &(struct canvas_run){b->texts->value, colour(b, hot ? "text" : "text3"),
                                    11, 0, false});
    if (tall)
        draw_words(b->canvas, "detail", left, b->y + 34, CANVAS_START,
                   &(struct canvas_run){b->texts->detail,
                                        colour(b, hot ? "text" : "text2"), 11, 0,
                                        false});
}

/* A filled pill with a triangle on the top left corner. */
static void draw_alarm(const struct drawn_box *b, struct str word)
{
    const char *on = colour(b, "on-alarm");
    struct canvas_ink ink = {
        .fill = colour(b, "alarm"), .stroke = colour(b, "surface"), .width = 1.5};
    double x = b->x - 6, y = b->y - 13;
    double width = 24 + 1.2 * font_size_width(word, FONT_BOLD, 11);
    struct canvas_path path = {0};

    b->canvas->form->open(b->canvas, &(struct canvas_tag){.class = "alarm"});
    b->canvas->form->rect(b->canvas, NULL, (double[]){x, y, width, PILL, 8.5}, &ink);
    path_move(&path, x + 11, y + 3.5);
    path_line(&path, x + 15.6, y + 11.5);
    path_line(&path, x + 6.4, y + 11.5);
    path_close(&path);
    b->canvas->form->path(b->canvas, NULL, &path, &(struct canvas_ink){.fill = on});
    draw_words(b->canvas, NULL, x + 18, y + 12.5, CANVAS_START,
               &(struct canvas_run){word, on, 11, 0, true});
    b->canvas->form->close(b->canvas);
}

/* At the top right corner; a narrow pill contains only its text. */
static void draw_change(const struct drawn_box *b)
{
    bool pill = b->texts->shape == PICTURE_VIEW;

    draw_change_sign(b->canvas, b->picture, b->x + b->w - (pill ? -1 : 2),
                     b->y - (pill ? 3 : 0), b->box->change);
}

static void draw_marks(const struct drawn_box *b)
{
    if (b->box->flags & DIAGRAM_RAISED)
        draw_alarm(b, STR("raised"));
    else if (b->box->flags & DIAGRAM_MADE)
        draw_alarm(b, STR("NaN"));
    if (b->box->change != DIAGRAM_SAME)
        draw_change(b);
}

/* The box, or the title of a frame, as a link to its module. */
static bool begin_link(const struct drawn_box *b)
{
    const struct picture_inside *inside = b->canvas->inside;
    const struct session *session = b->picture->diagram->session;
    struct buf path = BUF_INIT, name = BUF_INIT;

    if (!inside || !inside->link || !session || b->box->place == NO_PLACE)
        return false;
    place_path(session->model, b->box->place, &path);
    escape_terminal(&name, buf_span(&path));
    b->canvas->form->link(b->canvas, str_of(buf_cstr(&name)));
    buf_release(&path);
    buf_release(&name);
    return true;
}

static void end_link(const struct drawn_box *b, bool begun)
{
    if (begun)
        b->canvas->form->link(b->canvas, (struct str){NULL, 0});
}

static void draw_node(struct drawn_box *b)
{
    bool sheets = b->box->n_same > 1 && b->texts->shape == PICTURE_TALL;
    bool pill = b->texts->shape == PICTURE_VIEW || b->texts->shape == PICTURE_ENDS;
    struct canvas_ink ink = ink_of(b);
    bool link;

    b->canvas->form->open(
        b->canvas, &(struct canvas_tag){.class = "node",
                                        .id = b->box->id,
                                        .kind = str_of(diagram_kind_name(b->box->kind)),
                                        .name = b->box->name,
                                        .change = b->box->change});
    b->canvas->form->title(b->canvas, b->texts->title);
    link = begin_link(b);
    if (b->texts->shape == PICTURE_SIGN) {
        draw_sign(b);
    } else {
        if (sheets)
            b->h -= PICTURE_SHEETS;
        if (sheets && b->picture->wanted->sideways)
            b->w -= PICTURE_SHEETS;
        for (int sheet = sheets ? 2 : 0; sheet >= 0; sheet--)
            b->canvas->form->rect(b->canvas, sheet > 0 ? "sheet" : "box",
                                  (double[]){b->x + 3 * sheet, b->y + 3 * sheet, b->w,
                                             b->h, pill ? b->h / 2 : RADIUS},
                                  &ink);
        if (!pill && has_bar(b))
            draw_bar(b);
        draw_texts(b);
    }
    draw_marks(b);
    end_link(b, link);
    b->canvas->form->close(b->canvas);
}

static void draw_band(const struct drawn_box *b, const struct canvas_ink *ink)
{
    double x = b->x, y = b->y, right = b->x + b->w, bottom = b->y + PICTURE_BAND;
    struct canvas_path path = {0};

    path_move(&path, x, bottom);
    path_line(&path, x, y + FRAME_RADIUS);
    path_arc(&path, x, y, x + FRAME_RADIUS, y);
    path_line(&path, right - FRAME_RADIUS, y);
    path_arc(&path, right, y, right, y + FRAME_RADIUS);
    path_line(&path, right, bottom);
    path_close(&path);
    b->canvas->form->path(b->canvas, NULL, &path, ink);
}

/* An open group: its frame and title band; its boxes follow inside. */
static void draw_frame(const struct drawn_box *b)
{
    struct canvas_run runs[] = {
        {b->texts->frame_name, colour(b, "text"), 12, 0, true},
        {b->texts->frame_detail, colour(b, "text2"), 11, 6, false}};
    struct canvas_text text = {b->x + 25,
                               b->y + 16,
                               CANVAS_START,
                               runs,
                               b->texts->frame_detail.len > 0 ? 2u : 1u,
                               NULL};
    struct canvas_ink ink = {.fill = picture_ground(b->picture, b->index, 0),
                             .stroke = b->box->change == DIAGRAM_SAME
                                           ? colour(b, "line")
                                           : picture_change(b->picture, b->box->change),
                             .dash = b->box->change == DIAGRAM_REMOVED ? "5 3" : NULL};
    bool link;

    b->canvas->form->open(
        b->canvas, &(struct canvas_tag){.class = "group",
                                        .id = b->box->id,
                                        .kind = str_of(diagram_kind_name(b->box->kind)),
                                        .name = b->box->name,
                                        .change = b->box->change});
    b->canvas->form->rect(b->canvas, "frame",
                          (double[]){b->x, b->y, b->w, b->h, FRAME_RADIUS}, &ink);
    b->canvas->form->open(b->canvas, &(struct canvas_tag){.class = "title"});
    b->canvas->form->title(b->canvas, b->texts->title);
    link = begin_link(b);
    ink.fill = picture_ground(b->picture, b->index, 1);
    draw_band(b, &ink);
    draw_chevron(b->canvas, b->picture, b->x + 10, b->y + 10, true);
    b->canvas->form->text(b->canvas, "name", &text);
    draw_words(
        b->canvas, "value", b->x + b->w - 10, b->y + 16, CANVAS_END,
        &(struct canvas_run){b->texts->frame_value, colour(b, "text2"), 11, 0, false});
    if (b->box->change != DIAGRAM_SAME)
        draw_change(b);
    end_link(b, link);
    b->canvas->form->close(b->canvas);
}

/* The boxes are in pre-order: a group stays open on the canvas until its end. */
void draw_boxes(struct canvas *canvas, const struct picture *picture)
{
    const struct plan *plan = &picture->diagram->plan;
    uint32_t inside = 0; /* the innermost open frame; 0: the page */

    for (uint32_t i = 1; i <= plan->n_boxes; i++) {
        struct drawn_box b = {canvas, picture, NULL, NULL, i, 0, 0, 0, 0};

        while (inside > 0 && i >= plan->boxes[inside].end) {
            canvas->form->close(canvas);
            do
                inside = plan->boxes[inside].parent;
            while (inside > 0 && !picture_is_frame(picture, inside));
        }
        if (i == plan->n_boxes || plan->boxes[i].w == 0)
            continue;
        b.box = &picture->diagram->boxes[i];
        b.texts = &picture->boxes[i];
        b.x = plan->boxes[i].x + picture->left;
        b.y = plan->boxes[i].y + picture->top;
        b.w = plan->boxes[i].w;
        b.h = plan->boxes[i].h;
        if (picture_is_frame(picture, i)) {
            draw_frame(&b);
            inside = i;
        } else {
            draw_node(&b);
        }
    }
}
