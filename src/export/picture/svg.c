/* A picture as SVG. Its structure is a contract: docs/svg.md. Colours are attributes, not
 * style sheets: librsvg and office programs read them, any CSS rule overrides them, and
 * several pictures in one page do not disturb one another. Numbers have at most two
 * decimals, so the same picture gives the same bytes everywhere. */
#include "export/picture/canvas_in.h"
#include "text/escape.h"

#define FONTS "Arial, 'Liberation Sans', Arimo, Helvetica, sans-serif"
#define SIZE  11 /* of the root: texts of this size do not repeat it */

static void put_escaped(struct out *out, struct str s)
{
    struct buf text = BUF_INIT;

    escape_html(&text, s);
    out_str(out, buf_span(&text));
    out->bad |= text.bad;
    buf_release(&text);
}

static void put_attribute(struct out *out, const char *name, double value)
{
    out_printf(out, " %s=\"", name);
    canvas_number(out, value);
    out_char(out, '"');
}

static void put_class(struct canvas *canvas, const char *class)
{
    if (class)
        out_printf(canvas->out, " class=\"%s%s\"",
                   canvas->inside ? canvas->inside->classes : "", class);
}

static void put_data(struct out *out, const char *name, struct str value)
{
    if (!value.at)
        return;
    out_printf(out, " data-%s=\"", name);
    put_escaped(out, value);
    out_char(out, '"');
}

static void put_tag(struct canvas *canvas, const struct canvas_tag *tag)
{
    struct out *out = canvas->out;

    if (!tag)
        return;
    put_class(canvas, tag->class);
    put_data(out, "id", tag->id);
    put_data(out, "kind", tag->kind);
    put_data(out, "name", tag->name);
    put_data(out, "from", tag->from);
    put_data(out, "to", tag->to);
    if (tag->change != DIAGRAM_SAME)
        put_data(out, "change",
                 str_of(diagram_change_name((enum diagram_change)tag->change)));
}

static void put_ink(struct out *out, const struct canvas_ink *ink)
{
    out_printf(out, " fill=\"%s\"", ink->fill ? ink->fill : "none");
    if (!ink->stroke)
        return;
    out_printf(out, " stroke=\"%s\"", ink->stroke);
    if (ink->width > 0)
        put_attribute(out, "stroke-width", ink->width);
    if (ink->dash)
        out_printf(out, " stroke-dasharray=\"%s\"", ink->dash);
    if (ink->round)
        out_text(out, " stroke-linecap=\"round\" stroke-linejoin=\"round\"");
}

static void svg_open(struct canvas *canvas, const struct canvas_tag *tag)
{
    out_text(canvas->out, "<g");
    put_tag(canvas, tag);
    out_text(canvas->out, ">\n");
}

static void svg_close(struct canvas *canvas)
{
    out_text(canvas->out, "</g>\n");
}

static void svg_title(struct canvas *canvas, struct str title)
{
    struct str line;

    out_text(canvas->out, "<title>");
    for (bool first = true; str_split(&title, '\n', &line); first = false) {
        out_text(canvas->out, first ? "" : "\n");
        put_escaped(canvas->out, line);
    }
    out_text(canvas->out, "</title>\n");
}

static void svg_link(struct canvas *canvas, struct str name)
{
    if (!name.at) {
        out_text(canvas->out, "</a>\n");
        return;
    }
    out_printf(canvas->out, "<a href=\"%s\"", canvas->inside->link);
    put_data(canvas->out, "name", name);
    out_text(canvas->out, ">\n");
}

static void svg_rect(struct canvas *canvas, const char *class, const double at[5],
                     const struct canvas_ink *ink)
{
    out_text(canvas->out, "<rect");
    put_class(canvas, class);
    put_attribute(canvas->out, "x", at[0]);
    put_attribute(canvas->out, "y", at[1]);
    put_attribute(canvas->out, "width", at[2]);
    put_attribute(canvas->out, "height", at[3]);
    if (at[4] > 0)
        put_attribute(canvas->out, "rx", at[4]);
    put_ink(canvas->out, ink);
    out_text(canvas->out, "/>\n");
}

static void svg_circle(struct canvas *canvas, const char *class, const double at[3],
                       const struct canvas_ink *ink)
{
    out_text(canvas->out, "<circle");
    put_class(canvas, class);
    put_attribute(canvas->out, "cx", at[0]);
    put_attribute(canvas->out, "cy", at[1]);
    put_attribute(canvas->out, "r", at[2]);
    put_ink(canvas->out, ink);
    out_text(canvas->out, "/>\n");
}

static void svg_path(struct canvas *canvas, const struct canvas_tag *tag,
                     const struct canvas_path *path, const struct canvas_ink *ink)
{
    const double *number = path->numbers;

    out_text(canvas->out, "<path");
    put_tag(canvas, tag);
    out_text(canvas->out, " d=\"");
    for (uint32_t i = 0; i < path->n_steps; i++) {
        char step = path->steps[i];
        int n = step == 'Z' ? 0 : step == 'C' ? 6 : step == 'Q' ? 4 : 2;

        out_char(canvas->out, step);
        for (int k = 0; k < n; k++) {
            out_text(canvas->out, k > 0 ? " " : "");
            canvas_number(canvas->out, *number++);
        }
    }
    out_char(canvas->out, '"');
    put_ink(canvas->out, ink);
    out_text(canvas->out, "/>\n");
}

/* How a run looks, as attributes of <text> or <tspan>. */
static void put_run(struct out *out, const struct canvas_run *run, bool inside)
{
    if (run->size != SIZE || inside)
        put_attribute(out, "font-size", run->size);
    if (run->bold || inside)
        out_printf(out, " font-weight=\"%s\"", run->bold ? "bold" : "normal");
    out_printf(out, " fill=\"%s\"", run->colour);
}

static void svg_text(struct canvas *canvas, const char *class,
                     const struct canvas_text *text)
{
    static const char *const anchors[] = {NULL, "middle", "end"};
    struct out *out = canvas->out;

    out_text(out, "<text");
    put_class(canvas, class);
    put_attribute(out, "x", text->x);
    put_attribute(out, "y", text->y);
    if (text->anchor != CANVAS_START)
        out_printf(out, " text-anchor=\"%s\"", anchors[text->anchor]);
    put_run(out, &text->runs[0], false);
    if (text->halo)
        out_printf(out,
                   " stroke=\"%s\" stroke-width=\"4\" stroke-linejoin=\"round\""
                   " paint-order=\"stroke\"",
                   text->halo);
    out_char(out, '>');
    put_escaped(out, text->runs[0].text);
    for (uint32_t i = 1; i < text->n_runs; i++) {
        out_text(out, "<tspan");
        put_attribute(out, "dx", text->runs[i].before);
        put_run(out, &text->runs[i], true);
        out_char(out, '>');
        put_escaped(out, text->runs[i].text);
        out_text(out, "</tspan>");
    }
    out_text(out, "</text>\n");
}

static const struct canvas_form svg_form = {.open = svg_open,
                                            .close = svg_close,
                                            .title = svg_title,
                                            .link = svg_link,
                                            .rect = svg_rect,
                                            .circle = svg_circle,
                                            .path = svg_path,
                                            .text = svg_text};

/* A page's parser knows SVG; a file needs the namespace. */
static void put_root(struct canvas *canvas, const struct picture *picture)
{
    struct out *out = canvas->out;
    bool links = canvas->inside && canvas->inside->link;

    out_printf(out, "<svg%s width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\"",
               canvas->inside ? "" : " xmlns=\"http://www.w3.org/2000/svg\"",
               picture->width, picture->height, picture->width, picture->height);
    out_printf(out, " role=\"%s\" aria-label=\"", links ? "group" : "img");
    put_escaped(out, picture->path);
    out_text(out, "\" font-family=\"" FONTS "\" font-size=\"11\">\n");
}

int picture_svg_sized(struct out *out, struct diagram *diagram,
                      const struct picture_wanted *wanted, int32_t *ret_width,
                      int32_t *ret_height, struct err *err)
{
    struct picture picture;
    struct canvas canvas = {.form = &svg_form, .out = out, .inside = wanted->inside};

    if (picture_init(&picture, diagram, wanted, err) < 0)
        return -1;
    put_root(&canvas, &picture);
    draw_picture(&canvas, &picture);
    out_text(out, "</svg>\n");
    *ret_width = picture.width;
    *ret_height = picture.height;
    picture_release(&picture);
    return 0;
}

int picture_svg(struct out *out, struct diagram *diagram,
                const struct picture_wanted *wanted, struct err *err)
{
    int32_t width, height;

    return picture_svg_sized(out, diagram, wanted, &width, &height, err);
}
