/* canvas_in.h - one drawing, several formats: draw*.c draws a picture with the few
 * operations of a canvas; svg.c and pdf.c implement them. Units are pixels, y grows
 * downwards; y of a text is its baseline. */
#ifndef EXPORT_PICTURE_CANVAS_IN_H
#define EXPORT_PICTURE_CANVAS_IN_H

#include "export/picture/picture_in.h"
#include "text/font.h"

struct canvas_ink {
    const char *fill, *stroke; /* "#RRGGBB"; NULL: none */
    double width;              /* of the stroke; 0: 1 */
    const char *dash;          /* "3 2.5"; NULL: solid */
    bool round;                /* ends and corners */
};

/* A path: M and L take a point, Q two (control, end), C three, Z none. */
#define CANVAS_PATH 96
struct canvas_path {
    uint32_t n_steps, n_numbers;
    char steps[CANVAS_PATH];
    double numbers[6 * CANVAS_PATH];
};
void path_move(struct canvas_path *path, double x, double y);
void path_line(struct canvas_path *path, double x, double y);
/* A rounded corner: the curve ends at x, y; the corner itself is at cx, cy. */
void path_corner(struct canvas_path *path, double cx, double cy, double x, double y);
/* The same as a quarter of a circle. */
void path_arc(struct canvas_path *path, double cx, double cy, double x, double y);
void path_curve(struct canvas_path *path, const double points[6]);
void path_close(struct canvas_path *path);
/* Is there room for `n` more steps? */
bool path_has_room(const struct canvas_path *path, uint32_t n);

struct canvas_run {
    struct str text;
    const char *colour;
    double size;
    double before; /* space before it */
    bool bold;
};
enum canvas_anchor { CANVAS_START, CANVAS_MIDDLE, CANVAS_END };
struct canvas_text {
    double x, y;
    enum canvas_anchor anchor;
    const struct canvas_run *runs;
    uint32_t n_runs;
    const char *halo; /* a colour around the letters; NULL: none */
};

/* Describes a group or a path, for styling or scripting the SVG. */
struct canvas_tag {
    const char *class;
    struct str id, kind, name, from, to; /* data-id ...; `at` NULL: none */
    uint8_t change;                      /* enum diagram_change: data-change */
};

struct canvas {
    const struct canvas_form *form;
    struct out *out;
    const struct picture_inside *inside; /* SVG; or NULL */
    int32_t width, height;
};

struct canvas_form {
    void (*open)(struct canvas *canvas, const struct canvas_tag *tag);
    void (*close)(struct canvas *canvas);
    void (*title)(struct canvas *canvas, struct str title); /* of the open group */
    /* Links what follows to a module, by its full name; .at NULL ends the link. Only
     * for a canvas inside a page. */
    void (*link)(struct canvas *canvas, struct str name);
    void (*rect)(struct canvas *canvas, const char *class, const double at[5],
                 const struct canvas_ink *ink); /* x, y, width, height, radius */
    void (*circle)(struct canvas *canvas, const char *class, const double at[3],
                   const struct canvas_ink *ink); /* centre, radius */
    void (*path)(struct canvas *canvas, const struct canvas_tag *tag,
                 const struct canvas_path *path, const struct canvas_ink *ink);
    void (*text)(struct canvas *canvas, const char *class,
                 const struct canvas_text *text);
};

/* Draws the whole picture. */
void draw_picture(struct canvas *canvas, const struct picture *picture);

/* Its parts: draw_boxes.c, draw_lines.c, draw_legend.c. */
void draw_boxes(struct canvas *canvas, const struct picture *picture);
void draw_lines(struct canvas *canvas, const struct picture *picture);
void draw_legend(struct canvas *canvas, const struct picture *picture);
/* An arrow that opens a group: to the right, or down if it is open. */
void draw_chevron(struct canvas *canvas, const struct picture *picture, double x,
                  double y, bool down);
/* +, − or ~ on a disc whose middle is at x, y. */
void draw_change_sign(struct canvas *canvas, const struct picture *picture, double x,
                      double y, uint8_t change);
/* One run of text in the ordinary size. */
void draw_words(struct canvas *canvas, const char *class, double x, double y,
                enum canvas_anchor anchor, const struct canvas_run *run);

/* 12, 12.5, -0.25: two decimals at most, so that the same picture has the same bytes
 * everywhere. */
void canvas_number(struct out *out, double value);
/* The width of all runs, by the table of Arial. */
double canvas_text_width(const struct canvas_text *text);

#endif
