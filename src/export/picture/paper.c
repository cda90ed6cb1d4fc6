/* The page around the drawing: title, facts, legends, mark. look.md, section 7. */
#include <math.h>

#include "export/picture/picture_in.h"
#include "text/escape.h"
#include "text/font.h"

#define NARROWEST  480
#define FACTS_MOST 620 /* facts may have this width even if the drawing is narrower */
#define TITLE_MOST 860
#define TITLE_SIZE 16
#define FACTS_SIZE 12
#define TEXT_SIZE  11
#define SPARE      1.15
#define FACTS_LINE 16
#define LEGEND_ROW 18
#define SHIFT      96
#define INSIDE_TOP 16
#define MARK_WIDTH 89
#define HEAT_WIDTH (PICTURE_HEAT_STEPS * PICTURE_HEAT_WIDTH + 12)
#define SWATCH     21 /* a sign of the legend and the space after it */

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* "ResNet-50 › layer1 › 0", without middle parts if that is too long. */
static void make_path(struct picture *picture)
{
    const struct diagram *diagram = picture->diagram;
    uint32_t most = TITLE_MOST * 1000 / TITLE_SIZE;
    struct buf all = BUF_INIT, cut = BUF_INIT;

    if (picture->wanted->title)
        escape_terminal(&all, str_of(picture->wanted->title));
    for (uint32_t i = 0; !picture->wanted->title && i < diagram->n_path; i++) {
        buf_text(&all, i > 0 ? " › " : "");
        escape_terminal(&all, diagram->path[i]);
    }
    font_cut_middle(&cut, buf_span(&all), FONT_BOLD, most);
    picture->path = picture_keep(picture, &cut);
    buf_release(&all);
    buf_release(&cut);
}

/* Append a sentence as lines of at most `most` pixels; no line ends in a middle dot. */
static void add_facts(struct picture *picture, struct str raw, int32_t most)
{
    struct str rest = picture_text(picture, raw);
    size_t n = sizeof picture->facts / sizeof *picture->facts;

    while (rest.len > 0 && picture->n_facts < n) {
        size_t fits = rest.len, at = 0;

        if (font_size_width(rest, FONT_REGULAR, FACTS_SIZE) > most) {
            for (fits = 0; at < rest.len; at++)
                if (rest.at[at] == ' ') {
                    if (fits > 0 && font_size_width(str_head(rest, at), FONT_REGULAR,
                                                    FACTS_SIZE) > most)
                        break;
                    fits = at;
                }
            fits = fits > 0 ? fits : rest.len;
        }
        picture->facts[picture->n_facts] = str_trim(str_head(rest, fits));
        if (str_ends(picture->facts[picture->n_facts], STR(" ·")))
            picture->facts[picture->n_facts].len -= STR(" ·").len;
        picture->n_facts++;
        rest = str_trim(str_from(rest, fits));
    }
}

static void look_at_boxes(struct picture *picture, bool *ret_sheets, bool *ret_closed,
                          uint32_t *ret_changes)
{
    const struct diagram *diagram = picture->diagram;

    for (uint32_t i = 1; i < diagram->plan.n_boxes; i++) {
        const struct diagram_box *box = &diagram->boxes[i];

        if (diagram->plan.boxes[i].w == 0)
            continue;
        *ret_changes |= 1u << box->change;
        if (!picture_is_node(picture, i))
            continue;
        *ret_sheets |= box->n_same > 1;
        *ret_closed |= picture->boxes[i].chevron;
        if (picture->boxes[i].shape != PICTURE_ENDS && box->family != FAMILY_NONE)
            picture->families |= 1u << box->family;
    }
    for (uint32_t e = 0; e < diagram->plan.n_ends; e++)
        if (diagram->plan.ends[e].n_points > 0)
            *ret_changes |= 1u << diagram->ends[e].change;
}

static void add_item(struct picture *picture, enum picture_key key, uint32_t which,
                     const char *text)
{
    if (picture->n_items < PICTURE_ITEMS)
        picture->items[picture->n_items++] =
            (struct picture_item){.key = key, .which = which, .text = text};
}

const char *picture_family_title(enum family family)
{
    static const char *const names[FAMILY_COUNT] = {"",
                                                    "convolution",
                                                    "linear, matmul",
                                                    "normalisation",
                                                    "activation",
                                                    "pooling",
                                                    "attention",
                                                    "embedding",
                                                    "view, reshape (no data moved)",
                                                    "elementwise",
                                                    "loss",
                                                    "other"};

    return names[family];
}

static void add_families(struct picture *picture)
{
    for (uint32_t f = 1; f < FAMILY_COUNT; f++)
        if (f != FAMILY_VIEW && picture->families & 1u << f)
            add_item(picture, PICTURE_KEY_FAMILY, f,
                     picture_family_title((enum family)f));
    if (picture->families & 1u << FAMILY_VIEW)
        add_item(picture, PICTURE_KEY_FAMILY, FAMILY_VIEW,
                 picture_family_title(FAMILY_VIEW));
}

/* Widths of lines if there are several; strong shapes if there are others too. */
static void add_lines(struct picture *picture)
{
    static const char *const names[] = {"tensor under 1MB", "1MB to 16MB",
                                        "16MB to 256MB", "above 256MB"};
    const struct diagram *diagram = picture->diagram;
    uint32_t classes = 0;
    bool strong = false, weak = false;

    for (uint32_t n = 0; n < diagram->plan.n_nets; n++) {
        const struct plan_net *net = &diagram->plan.nets[n];
        const struct diagram_net *what = &diagram->nets[n];

        if (net->n_ends == 0 || diagram->plan.ends[net->ends].n_points == 0)
            continue;
        classes |= 1u << picture_width_class(what->bytes);
        if (net->label_width > 0 && what->n_tensors <= 1) {
            strong |= picture->labels[n].strong;
            weak |= !picture->labels[n].strong;
        }
    }
    for (uint32_t i = 0; i < 4; i++)
        if (classes & 1u << i && classes != 1u << i)
            add_item(picture, PICTURE_KEY_WIDTH, i, names[i]);
    if (strong && weak)
        add_item(picture, PICTURE_KEY_STRONG, 0, "shape: changed by the node above");
}

static void add_changes(struct picture *picture, uint32_t changes)
{
    for (uint32_t c = DIAGRAM_ADDED; c < DIAGRAM_CHANGES; c++)
        if (changes & 1u << c)
            add_item(picture, PICTURE_KEY_CHANGE, c,
                     diagram_change_name((enum diagram_change)c));
}

static double item_width(const struct picture_item *item)
{
    double width = font_size_width(str_of(item->text), FONT_REGULAR, TEXT_SIZE);

    if (item->key == PICTURE_KEY_STRONG) /* a bold word instead of a sign */
        return SPARE * (width + font_size_width(STR("strong"), FONT_BOLD, TEXT_SIZE)) +
               4 + 12;
    return SWATCH + (item->key == PICTURE_KEY_SHEETS ? 12 : 0) + SPARE * width + 12;
}

/* Items flow in rows; the signs of lines begin a new one. Returns the end of the last
 * row; *y is its top. */
static double flow(struct picture *picture, double right, double *y)
{
    double x = PICTURE_MARGIN;

    for (uint32_t i = 0; i < picture->n_items; i++) {
        struct picture_item *item = &picture->items[i];
        double width = item_width(item);
        bool next = i > 0 && item->key != PICTURE_KEY_FAMILY &&
                    item[-1].key == PICTURE_KEY_FAMILY;

        if (x > PICTURE_MARGIN && (next || x + width - 12 > right)) {
            x = PICTURE_MARGIN;
            *y += LEGEND_ROW;
        }
        item->x = x;
        item->y = *y;
        x += width;
    }
    return x;
}

/* The right end of the content in the rows that the heat legend covers. */
static int32_t taken_until(const struct picture *picture, int32_t bottom)
{
    const struct plan *plan = &picture->diagram->plan;
    int32_t right = 0;

    bottom -= picture->top;
    for (uint32_t i = 1; i < plan->n_boxes; i++)
        if (plan->boxes[i].w > 0 && plan->boxes[i].y < bottom)
            right = larger(right, plan->boxes[i].x + plan->boxes[i].w);
    for (uint32_t n = 0; n < plan->n_nets; n++)
        if (plan->nets[n].label_width > 0 && plan->nets[n].label_y < bottom)
            right = larger(right, plan->nets[n].label_x + plan->nets[n].label_width);
    for (uint32_t p = 0; p + 1 < plan->n_points; p++)
        if (plan->points[p].y < bottom)
            right = larger(right, plan->points[p].x);
    return right + picture->left;
}

static void put_heat(struct picture *picture)
{
    int32_t taken;

    if (picture->wanted->color == DIAGRAM_FAMILY)
        return;
    picture->heat_y = picture->top;
    taken = taken_until(picture, picture->heat_y + PICTURE_HEAT_HEIGHT + 12);
    picture->heat_x =
        larger(picture->width - PICTURE_MARGIN - HEAT_WIDTH, taken + PICTURE_MARGIN);
    picture->width =
        larger(picture->width, picture->heat_x + HEAT_WIDTH + PICTURE_MARGIN);
}

/* Title and facts; omitted inside a page, which has its own. Returns their width. */
static double put_title(struct picture *picture)
{
    const struct plan *plan = &picture->diagram->plan;
    double widest;

    make_path(picture);
    picture->top = INSIDE_TOP;
    if (picture->wanted->inside)
        return 0;
    add_facts(picture, picture->diagram->facts, larger(plan->width, FACTS_MOST));
    add_facts(picture, picture->diagram->note, larger(plan->width, FACTS_MOST));
    widest = SPARE * font_size_width(picture->path, FONT_BOLD, TITLE_SIZE);
    for (uint32_t i = 0; i < picture->n_facts; i++)
        widest = fmax(widest, SPARE * font_size_width(picture->facts[i], FONT_REGULAR,
                                                      FACTS_SIZE));
    picture->top = 36 + (picture->n_facts > 0 ? 3 : 0) +
                   (int32_t)picture->n_facts * FACTS_LINE + 29;
    return widest;
}

static void put_top(struct picture *picture)
{
    const struct plan *plan = &picture->diagram->plan;
    double widest = put_title(picture);
    int32_t spare;

    picture->width = larger(plan->width, (int32_t)ceil(widest)) + 2 * PICTURE_MARGIN;
    picture->width = larger(picture->width, NARROWEST);
    /* Centre a drawing that is narrower than its title. */
    spare = picture->width - 2 * PICTURE_MARGIN - plan->width;
    picture->left = PICTURE_MARGIN + (spare > 3 * SHIFT ? SHIFT : spare / 3);
}

int picture_paper(struct picture *picture, struct err *err)
{
    const struct plan *plan = &picture->diagram->plan;
    bool sheets = false, closed = false;
    uint32_t changes = 0;
    double x, y, right;

    picture->n_facts = picture->n_items = picture->families = 0;
    put_top(picture);
    put_heat(picture);
    look_at_boxes(picture, &sheets, &closed, &changes);
    if (picture->wanted->color == DIAGRAM_FAMILY)
        add_families(picture);
    add_lines(picture);
    if (sheets)
        add_item(picture, PICTURE_KEY_SHEETS, 0, "repeated blocks, folded into one");
    if (closed)
        add_item(picture, PICTURE_KEY_CLOSED, 0,
                 picture->wanted->inside ? "contains more" : "opens in the HTML file");
    add_changes(picture, changes);

    y = picture->top + plan->height + 21;
    right = picture->width - PICTURE_MARGIN;
    x = flow(picture, right, &y);
    if (!picture->wanted->no_mark && x + MARK_WIDTH > right && picture->n_items > 0)
        y += LEGEND_ROW;
    picture->mark_x = picture->width - PICTURE_MARGIN - MARK_WIDTH;
    picture->mark_y = (int32_t)y - 2;
    picture->height = (int32_t)y + 9 + 18;
    return picture->arena.spent ? arena_err(&picture->arena, "the picture", err) : 0;
}
