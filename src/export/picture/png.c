/* A picture as PNG: the SVG, rendered by librsvg. The library is loaded on first use
 * and its few functions are looked up by name: so neither the program nor the wheel
 * needs it to start, the build needs no headers, and there is no second binary to
 * install. */
#include <dlfcn.h>
#include <math.h>

#include "export/picture/picture_in.h"

#define LIBRARY "librsvg-2.so.2"
#define SCALE   1.5
#define LONGEST 32767     /* pixels: cairo's limit */
#define MOST    400000000 /* pixels: 1.6 GB while painting */
#define ARGB32  0         /* CAIRO_FORMAT_ARGB32 */

/* GError and RsvgRectangle, as their documentation fixes them. */
struct rsvg_error {
    uint32_t domain;
    int code;
    char *message;
};
struct rsvg_area {
    double x, y, width, height;
};

/* The functions, with their real types: see load(). */
struct rsvg {
    void *(*new_from_data)(const void *data, size_t len, struct rsvg_error **error);
    int (*render)(void *handle, void *cairo, const struct rsvg_area *area,
                  struct rsvg_error **error);
    void (*unref)(void *object);
    void *(*surface_new)(int format, int width, int height);
    int (*surface_status)(void *surface);
    void *(*create)(void *surface);
    void (*destroy)(void *cairo);
    int (*write_png)(void *surface,
                     int (*write)(void *, const unsigned char *, unsigned),
                     void *closure);
    void (*surface_destroy)(void *surface);
};

/* dlsym() also finds the symbols of librsvg's dependencies: cairo, gobject. */
static int load(struct rsvg *rsvg, struct err *err)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const struct {
        void **function;
        const char *name;
    } wanted[] = {
        {(void **)&rsvg->new_from_data, "rsvg_handle_new_from_data"},
        {(void **)&rsvg->render, "rsvg_handle_render_document"},
        {(void **)&rsvg->unref, "g_object_unref"},
        {(void **)&rsvg->surface_new, "cairo_image_surface_create"},
        {(void **)&rsvg->surface_status, "cairo_surface_status"},
        {(void **)&rsvg->create, "cairo_create"},
        {(void **)&rsvg->destroy, "cairo_destroy"},
        {(void **)&rsvg->write_png, "cairo_surface_write_to_png_stream"},
        {(void **)&rsvg->surface_destroy, "cairo_surface_destroy"},
    };

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        *wanted[i].function = library ? dlsym(library, wanted[i].name) : NULL;
        if (!*wanted[i].function)
            return err_set(
                err, ERR_UNSUPPORTED,
                "PNG needs librsvg 2.46 or newer, which was not found. Install "
                "the package librsvg2-2, or write .svg or .pdf, which need no "
                "library");
    }
    return 0;
}

static int write_part(void *closure, const unsigned char *bytes, unsigned n)
{
    struct out *out = closure;

    out_add(out, bytes, n);
    return 0;
}

static int check_size(int32_t width, int32_t height, double scale, struct err *err)
{
    double w = ceil(width * scale), h = ceil(height * scale);

    if (scale > 0 && w <= LONGEST && h <= LONGEST && w * h <= MOST)
        return 0;
    return err_set(err, ERR_USAGE,
                   "the PNG would have %.0f × %.0f pixels; the limit is %d each and %d "
                   "million in all. Choose a smaller scale or depth, or write .svg or "
                   ".pdf",
                   w, h, LONGEST, MOST / 1000000);
}

static int paint(const struct rsvg *rsvg, struct out *out, struct str svg,
                 const struct rsvg_area *area, struct err *err)
{
    struct rsvg_error *problem = NULL;
    void *surface = rsvg->surface_new(ARGB32, (int)area->width, (int)area->height);
    void *cairo = rsvg->create(surface);
    void *handle = rsvg->new_from_data(svg.at, svg.len, &problem);
    int status = -1;

    if (!handle || !rsvg->render(handle, cairo, area, &problem))
        err_set(err, ERR_FORMAT, "librsvg cannot paint the picture: %s",
                problem && problem->message ? problem->message : "unknown error");
    else if (rsvg->surface_status(surface) != 0 ||
             rsvg->write_png(surface, write_part, out) != 0)
        err_set(err, ERR_LIMIT, "not enough memory for a PNG of %.0f × %.0f pixels",
                area->width, area->height);
    else
        status = 0;
    if (handle)
        rsvg->unref(handle);
    rsvg->destroy(cairo);
    rsvg->surface_destroy(surface);
    return status;
}

int picture_png(struct out *out, struct diagram *diagram,
                const struct picture_wanted *wanted, struct err *err)
{
    double scale = wanted->scale != 0 ? wanted->scale : SCALE;
    struct rsvg rsvg;
    struct buf svg = BUF_INIT;
    struct out into;
    int32_t width, height;
    int status = -1;

    if (load(&rsvg, err) < 0)
        return -1;
    out_init_buf(&into, &svg);
    if (picture_svg_sized(&into, diagram, wanted, &width, &height, err) == 0 &&
        check_size(width, height, scale, err) == 0) {
        struct rsvg_area area = {0, 0, ceil(width * scale), ceil(height * scale)};

        status = svg.bad ? err_set(err, ERR_LIMIT, "not enough memory for the picture")
                         : paint(&rsvg, out, buf_span(&svg), &area, err);
    }
    out_release(&into);
    buf_release(&svg);
    return status;
}
