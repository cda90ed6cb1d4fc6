/* picture_in.h - shared by the writers of pictures: a diagram whose boxes have sizes
 * and fitted texts, placed on a page with title and legend. */
#ifndef EXPORT_PICTURE_PICTURE_IN_H
#define EXPORT_PICTURE_PICTURE_IN_H

#include "base/arena.h"
#include "export/picture/picture.h"

/* How a closed box or a leaf looks (look.md section 4). */
enum picture_shape {
    PICTURE_TALL, /* name and value above, class and arguments below */
    PICTURE_FLAT, /* all in one line */
    PICTURE_VIEW, /* a dim pill */
    PICTURE_ENDS, /* input or output: a pill */
    PICTURE_SIGN, /* a circle */
};

/* The texts of a box: escaped (text/escape.h), cut to its width according to look.md,
 * section 4. Empty: not drawn. */
struct picture_box {
    uint8_t shape;     /* enum picture_shape */
    uint8_t heat;      /* 0 .. 8; PICTURE_NO_HEAT: colour by family, or not measured */
    bool chevron;      /* a group: it can be opened */
    struct str name;   /* bold; the sign of a circle */
    struct str detail; /* class and arguments: below the name, or beside it */
    struct str calls;  /* "2/3" */
    struct str value;  /* top right */
    struct str title;  /* everything, uncut, for <title> and tooltips */
    struct str frame_name, frame_detail, frame_value; /* of a group's open frame */
};
#define PICTURE_NO_HEAT 255

/* The texts of a net's label, beside its line. */
struct picture_label {
    struct str text, more; /* `more`: a second line */
    bool strong;           /* a shape that differs from the source's, or several
                              tensors */
};

/* A shown line between two boxes, across the borders of groups. Lines with a common
 * trunk leave it at a point marked by a dot; the trunk belongs to the first line. */
struct picture_line {
    uint32_t from, to;         /* boxes */
    uint32_t end;              /* in the plan: its end */
    uint32_t net;              /* the net with its label and width */
    struct plan_point *points; /* on the page; its own part only */
    uint32_t n_points;
    bool branch; /* the first point is a split */
    bool dot;    /* the first line to leave the trunk there */
};

/* A point where a line crosses one that was drawn earlier. */
struct picture_crossing {
    uint32_t line; /* the later one */
    bool upright;  /* it is vertical there */
    int32_t x, y;
    uint32_t group; /* the group whose ground it crosses */
};

/* One entry of the legend at the bottom; x and y are its top left on the page. */
enum picture_key {
    PICTURE_KEY_FAMILY,
    PICTURE_KEY_WIDTH,  /* of lines; `which` is the class */
    PICTURE_KEY_STRONG, /* what a strong shape means */
    PICTURE_KEY_SHEETS, /* folded repeats */
    PICTURE_KEY_CLOSED, /* a chevron */
    PICTURE_KEY_CHANGE, /* `which` is enum diagram_change */
};
struct picture_item {
    enum picture_key key;
    uint32_t which;
    const char *text;
    double x, y;
};
#define PICTURE_ITEMS 32

struct picture {
    struct diagram *diagram; /* its plan has sizes, order and places; after
                                picture_init() all places are those of the page */
    const struct picture_wanted *wanted;
    const char **colours;         /* by token (export/look/tokens.h) */
    enum diagram_metric metric;   /* of the values in the boxes' corners */
    struct picture_box *boxes;    /* by box */
    struct picture_label *labels; /* by net */
    uint32_t labels_for;          /* number of boxes shown when they were chosen */
    struct str *end_labels;       /* by end: "skip 82%" */
    struct picture_line *lines;   /* in drawing order */
    uint32_t n_lines;
    struct picture_crossing *crossings; /* by line */
    uint32_t n_crossings;
    struct plan_point *splits; /* sorted by x, then y */
    uint32_t n_splits;
    uint32_t *frames; /* the open groups that show, outer ones first */
    uint32_t n_frames;
    struct arena arena;
    struct arena places; /* of the newest placing: points of the plan */
    uint32_t *closed, n_closed, closed_room; /* groups that closed for the page */
    uint32_t hidden;                         /* number of boxes hidden by that */
    double heat_most,
        heat_least;      /* the values of step 8 and, by logarithm, of step 0 */
    bool heat_log;       /* steps by logarithm, not by square root */
    uint32_t families;   /* bits 1 << enum family: those of shown boxes */
    struct str path;     /* the title: its parts are in the diagram */
    struct str facts[6]; /* lines below the title */
    uint32_t n_facts;
    struct picture_item items[PICTURE_ITEMS];
    uint32_t n_items;
    int32_t heat_x, heat_y; /* of the heat legend */
    int32_t mark_x, mark_y; /* of logo and name */
    int32_t left, top; /* where the plan's origin lies on the page: below title, ... */
    int32_t width, height; /* of the whole page, legend included */
};

/* Computes sizes and texts of all boxes, then plan_order() and plan_place(), then the
 * page and its lines. The plan's coordinates become those of the page. Unless the
 * request sets a depth, groups of the diagram close until the page is at most 1200 wide
 * and 2400 high, or none is left to close; picture_release() opens them again. */
int picture_init(struct picture *picture, struct diagram *diagram,
                 const struct picture_wanted *wanted, struct err *err);
void picture_release(struct picture *picture);
/* The same without lines: only the order and the open groups. */
int picture_init_places(struct picture *picture, struct diagram *diagram,
                        const struct picture_wanted *wanted, struct err *err);

/* The distances in a picture with this direction. */
struct plan_style picture_style(const struct picture_wanted *wanted);

/* The parts of picture_init(): fit.c, labels.c, heat.c, route.c, paper.c. */
int picture_fit(struct picture *picture, struct err *err);
int picture_fit_labels(struct picture *picture, struct err *err);
int picture_fit_end_labels(struct picture *picture, struct err *err);
void picture_heat(struct picture *picture);
int picture_route(struct picture *picture, struct err *err);
int picture_paper(struct picture *picture, struct err *err);
/* one_page.c: closes a group if the page is too large; false: unchanged.
 * picture_reopen() opens all of them again. */
bool picture_close_one(struct picture *picture);
void picture_reopen(struct picture *picture);
#define PICTURE_FEW 20 /* limit of boxes: with more, unchanged shapes have no label */

/* A token of export/look/tokens.h in this picture's theme: "accent" -> "#0B5FCC"; inside
 * a page "var(--accent,#0B5FCC)": viewers that remove the page's style show the light
 * theme. */
const char *picture_colour(const struct picture *picture, const char *token);
/* The same for a family: prefix "f-" for bars, "t-" for boxes; and for a step of
 * heat. */
const char *picture_family(const struct picture *picture, const char *prefix,
                           enum family family);
const char *picture_heat_step(const struct picture *picture, int step);
/* The legend's name of a family: "convolution". */
const char *picture_family_title(enum family family);
/* The colour of a change: +, − and ~ have one each; "nodeline" if there is none. */
const char *picture_change(const struct picture *picture, uint8_t change);
/* The background inside an open group: surface, g1, g2, g3. `deeper` 1: of its title
 * band. NULL: transparent. */
const char *picture_ground(const struct picture *picture, uint32_t group, int deeper);

static inline bool picture_is_group(const struct picture *picture, uint32_t box)
{
    return picture->diagram->plan.boxes[box].end > box + 1 ||
           picture->diagram->boxes[box].n_hidden > 0;
}
/* Drawn as a frame. */
static inline bool picture_is_frame(const struct picture *picture, uint32_t box)
{
    const struct plan_box *at = &picture->diagram->plan.boxes[box];

    return box > 0 && at->w > 0 && (at->flags & PLAN_OPEN) && at->end > box + 1;
}
static inline bool picture_is_node(const struct picture *picture, uint32_t box)
{
    return box > 0 && picture->diagram->plan.boxes[box].w > 0 &&
           !picture_is_frame(picture, box);
}

/* 0 .. 3, by the bytes of a tensor, and the widths of such lines. */
uint32_t picture_width_class(uint64_t bytes);
extern const double picture_line_widths[4];

/* Text in the picture's arena, with invisible characters escaped. */
struct str picture_text(struct picture *picture, struct str raw);
/* The same from a buf, which is cleared. `at` is NULL when the arena is spent. */
struct str picture_keep(struct picture *picture, struct buf *from);

#define PICTURE_MARGIN 24
#define PICTURE_BAND   24 /* of a frame's title */
#define PICTURE_SHEETS 6  /* added by the sheets drawn for a repeat */

/* Widths of the heat legend's parts. */
#define PICTURE_HEAT_STEPS  9
#define PICTURE_HEAT_WIDTH  22
#define PICTURE_HEAT_HEIGHT 62

int picture_svg(struct out *out, struct diagram *diagram,
                const struct picture_wanted *wanted, struct err *err);
/* The same; also returns the size of the page. */
int picture_svg_sized(struct out *out, struct diagram *diagram,
                      const struct picture_wanted *wanted, int32_t *ret_width,
                      int32_t *ret_height, struct err *err);
int picture_pdf(struct out *out, struct diagram *diagram,
                const struct picture_wanted *wanted, struct err *err);
int picture_png(struct out *out, struct diagram *diagram,
                const struct picture_wanted *wanted, struct err *err);
int picture_html(struct out *out, struct diagram *diagram,
                 const struct picture_wanted *wanted, struct err *err);
int picture_dot(struct out *out, struct diagram *diagram,
                const struct picture_wanted *wanted, struct err *err);
int picture_json(struct out *out, struct diagram *diagram,
                 const struct picture_wanted *wanted, struct err *err);
/* The document of a diagram of two networks. */
int picture_json_diff(struct out *out, const struct diagram *diagram, struct err *err);
int picture_mermaid(struct out *out, struct diagram *diagram,
                    const struct picture_wanted *wanted, struct err *err);

#endif
