/* A picture as PDF: one page, boxes, lines and text in the fonts that every reader has
 * (Helvetica, Symbol), so nothing is embedded and text stays text. pdf_text.c encodes
 * text. Streams are not compressed: a page of 40 boxes takes about 25 KB. */
#include <stdlib.h>
#include <string.h>

#include "export/picture/canvas_in.h"
#include "export/picture/pdf_in.h"

#define POINTS  0.75    /* per pixel: 96 pixels are an inch of 72 points */
#define LARGEST 14400.0 /* points that a page may have */
#define OBJECTS 8

static void put_colour(struct out *out, const char *colour, const char *operator)
{
    unsigned long rgb = strtoul(colour + 1, NULL, 16);

    for (int shift = 16; shift >= 0; shift -= 8) {
        unsigned thousandths = (unsigned)((rgb >> shift & 255) * 1000 + 127) / 255;

        out_printf(out, "%u.%03u ", thousandths / 1000, thousandths % 1000);
    }
    out_printf(out, "%s\n", operator);
}

static void put_numbers(struct out *out, const double *numbers, int n,
                        const char *operator)
{
    for (int i = 0; i < n; i++) {
        canvas_number(out, numbers[i]);
        out_char(out, ' ');
    }
    out_printf(out, "%s\n", operator);
}

/* Colours and strokes before a path; the operator that paints it after. */
static const char *begin_ink(struct out *out, const struct canvas_ink *ink)
{
    if (ink->fill)
        put_colour(out, ink->fill, "rg");
    if (!ink->stroke)
        return ink->fill ? "f" : "n";
    put_colour(out, ink->stroke, "RG");
    put_numbers(out, (double[]){ink->width > 0 ? ink->width : 1}, 1, "w");
    out_printf(out, "[%s] 0 d %d J %d j\n", ink->dash ? ink->dash : "", ink->round,
               ink->round);
    return ink->fill ? "B" : "S";
}

static void put_path(struct out *out, const struct canvas_path *path)
{
    const double *at = path->numbers;
    double x = 0, y = 0;

    for (uint32_t i = 0; i < path->n_steps; i++) {
        switch (path->steps[i]) {
        case 'M':
        case 'L':
            put_numbers(out, at, 2, path->steps[i] == 'M' ? "m" : "l");
            at += 2;
            break;
        case 'Q': /* a cubic curve with both control points two thirds of the way */
            put_numbers(out,
                        (double[]){x + (at[0] - x) * 2 / 3, y + (at[1] - y) * 2 / 3,
                                   at[2] + (at[0] - at[2]) * 2 / 3,
                                   at[3] + (at[1] - at[3]) * 2 / 3, at[2], at[3]},
                        6, "c");
            at += 4;
            break;
        case 'C':
            put_numbers(out, at, 6, "c");
            at += 6;
            break;
        default:
            out_text(out, "h\n");
        }
        if (at > path->numbers) {
            x = at[-2];
            y = at[-1];
        }
    }
}

static void paint(struct canvas *canvas, const struct canvas_path *path,
                  const struct canvas_ink *ink)
{
    const char *operator= begin_ink(canvas->out, ink);

    put_path(canvas->out, path);
    out_printf(canvas->out, "%s\n", operator);
}

static void pdf_open(struct canvas *canvas, const struct canvas_tag *tag)
{
    (void)canvas;
    (void)tag;
}

static void pdf_close(struct canvas *canvas)
{
    (void)canvas;
}

static void pdf_title(struct canvas *canvas, struct str title)
{
    (void)canvas;
    (void)title;
}

static void pdf_rect(struct canvas *canvas, const char *class, const double at[5],
                     const struct canvas_ink *ink)
{
    double x = at[0], y = at[1], right = at[0] + at[2], bottom = at[1] + at[3];
    double r = at[4];
    struct canvas_path path = {0};

    (void)class;
    path_move(&path, x + r, y);
    path_line(&path, right - r, y);
    if (r > 0)
        path_arc(&path, right, y, right, y + r);
    path_line(&path, right, bottom - r);
    if (r > 0)
        path_arc(&path, right, bottom, right - r, bottom);
    path_line(&path, x + r, bottom);
    if (r > 0)
        path_arc(&path, x, bottom, x, bottom - r);
    path_line(&path, x, y + r);
    if (r > 0)
        path_arc(&path, x, y, x + r, y);
    path_close(&path);
    paint(canvas, &path, ink);
}

static void pdf_circle(struct canvas *canvas, const char *class, const double at[3],
                       const struct canvas_ink *ink)
{
    double r = at[2];

    pdf_rect(canvas, class, (double[]){at[0] - r, at[1] - r, 2 * r, 2 * r, r}, ink);
}

static void pdf_path(struct canvas *canvas, const struct canvas_tag *tag,
                     const struct canvas_path *path, const struct canvas_ink *ink)
{
    (void)tag;
    paint(canvas, path, ink);
}

static void pdf_text(struct canvas *canvas, const char *class,
                     const struct canvas_text *text)
{
    double width = canvas_text_width(text), x = text->x;

    (void)class;
    if (text->anchor != CANVAS_START)
        x -= text->anchor == CANVAS_MIDDLE ? width / 2 : width;
    if (text->halo)
        pdf_rect(canvas, NULL, (double[]){x - 2, text->y - 10, width + 4, 13, 2},
                 &(struct canvas_ink){.fill = text->halo});
    for (uint32_t i = 0; i < text->n_runs; i++) {
        const struct canvas_run *run = &text->runs[i];

        if (i > 0)
            x += run->before;
        put_colour(canvas->out, run->colour, "rg");
        pdf_run(canvas->out, run, x, text->y);
        x +=
            font_size_width(run->text, run->bold ? FONT_BOLD : FONT_REGULAR, run->size);
    }
}

static const struct canvas_form pdf_form = {.open = pdf_open,
                                            .close = pdf_close,
                                            .title = pdf_title,
                                            .rect = pdf_rect,
                                            .circle = pdf_circle,
                                            .path = pdf_path,
                                            .text = pdf_text};

/* Begin object `n` and store its offset. */
static void begin_object(struct buf *file, size_t *offsets, int n)
{
    offsets[n] = file->len;
    buf_printf(file, "%d 0 obj\n", n);
}

static void put_object(struct buf *file, size_t *offsets, int n, const char *text)
{
    begin_object(file, offsets, n);
    buf_printf(file, "%s\nendobj\n", text);
}

static void put_font(struct buf *file, size_t *offsets, int n, const char *name,
                     const char *encoding)
{
    begin_object(file, offsets, n);
    buf_printf(file, "<</Type/Font/Subtype/Type1/BaseFont/%s%s>>\nendobj\n", name,
               encoding);
}

/* A whole number of hundredths, without the decimal sign of a locale. */
static void put_size(struct buf *file, double value)
{
    long hundredths = (long)(value * 100 + 0.5);

    buf_printf(file, "%ld.%02ld", hundredths / 100, hundredths % 100);
}

static void put_file(struct buf *file, const struct picture *picture,
                     const struct buf *content, double scale)
{
    static const char winansi[] = "/Encoding/WinAnsiEncoding";
    size_t offsets[OBJECTS + 1] = {0}, table;

    buf_text(file, "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n");
    put_object(file, offsets, 1, "<</Type/Catalog/Pages 2 0 R>>");
    put_object(file, offsets, 2, "<</Type/Pages/Kids[3 0 R]/Count 1>>");
    begin_object(file, offsets, 3);
    buf_text(file, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 ");
    put_size(file, picture->width * scale);
    buf_char(file, ' ');
    put_size(file, picture->height * scale);
    buf_text(file, "]/Contents 4 0 R/Resources<</Font<</F1 5 0 R/F2 6 0 R/F3 7 0 R>>>>"
                   ">>\nendobj\n");
    begin_object(file, offsets, 4);
    buf_printf(file, "<</Length %zu>>\nstream\n", content->len);
    buf_str(file, buf_span(content));
    buf_text(file, "\nendstream\nendobj\n");
    put_font(file, offsets, 5, "Helvetica", winansi);
    put_font(file, offsets, 6, "Helvetica-Bold", winansi);
    put_font(file, offsets, 7, "Symbol", "");
    begin_object(file, offsets, 8);
    buf_text(file, "<</Producer(torchoscope)/Title");
    pdf_string(file, picture->path);
    buf_text(file, ">>\nendobj\n");
    table = file->len;
    buf_printf(file, "xref\n0 %d\n0000000000 65535 f \n", OBJECTS + 1);
    for (int i = 1; i <= OBJECTS; i++)
        buf_printf(file, "%010zu 00000 n \n", offsets[i]);
    buf_printf(file,
               "trailer\n<</Size %d/Root 1 0 R/Info 8 0 R>>\nstartxref\n%zu\n%%%%EOF\n",
               OBJECTS + 1, table);
}

int picture_pdf(struct out *out, struct diagram *diagram,
                const struct picture_wanted *wanted, struct err *err)
{
    struct picture picture;
    struct buf content = BUF_INIT, file = BUF_INIT;
    struct out into;
    struct canvas canvas = {.form = &pdf_form, .out = &into};
    double scale = POINTS;
    int status = 0;

    if (picture_init(&picture, diagram, wanted, err) < 0)
        return -1;
    if (picture.width * scale > LARGEST)
        scale = LARGEST / picture.width;
    if (picture.height * scale > LARGEST)
        scale = LARGEST / picture.height;
    out_init_buf(&into, &content);
    /* Pixels, y downwards. The matrix needs more digits than canvas_number() gives. */
    out_printf(&into, "0.%06d 0 0 -0.%06d 0 ", (int)(scale * 1e6), (int)(scale * 1e6));
    canvas_number(&into, picture.height * scale);
    out_text(&into, " cm\n");
    draw_picture(&canvas, &picture);
    put_file(&file, &picture, &content, scale);
    if (content.bad || file.bad)
        status = err_set(err, ERR_LIMIT, "not enough memory for the PDF");
    else
        out_str(out, buf_span(&file));
    out_release(&into);
    buf_release(&content);
    buf_release(&file);
    picture_release(&picture);
    return status;
}
