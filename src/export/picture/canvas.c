#include "export/picture/canvas_in.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static void add(struct canvas_path *path, char step, const double *numbers, uint32_t n)
{
    assert(path_has_room(path, 1));
    path->steps[path->n_steps++] = step;
    for (uint32_t i = 0; i < n; i++)
        path->numbers[path->n_numbers++] = numbers[i];
}

bool path_has_room(const struct canvas_path *path, uint32_t n)
{
    return n <= CANVAS_PATH - path->n_steps;
}

void path_move(struct canvas_path *path, double x, double y)
{
    add(path, 'M', (double[]){x, y}, 2);
}

void path_line(struct canvas_path *path, double x, double y)
{
    add(path, 'L', (double[]){x, y}, 2);
}

void path_corner(struct canvas_path *path, double cx, double cy, double x, double y)
{
    add(path, 'Q', (double[]){cx, cy, x, y}, 4);
}

/* A cubic curve is a quarter of a circle, to 0.03 %, if its control points are 0.5523 of
 * the way to the corner. */
void path_arc(struct canvas_path *path, double cx, double cy, double x, double y)
{
    const double part = 0.5523;
    double x0 = path->numbers[path->n_numbers - 2];
    double y0 = path->numbers[path->n_numbers - 1];

    add(path, 'C',
        (double[]){x0 + part * (cx - x0), y0 + part * (cy - y0), x + part * (cx - x),
                   y + part * (cy - y), x, y},
        6);
}

void path_curve(struct canvas_path *path, const double points[6])
{
    add(path, 'C', points, 6);
}

void path_close(struct canvas_path *path)
{
    add(path, 'Z', NULL, 0);
}

double canvas_text_width(const struct canvas_text *text)
{
    double width = 0;

    for (uint32_t i = 0; i < text->n_runs; i++) {
        const struct canvas_run *run = &text->runs[i];

        width +=
            (i > 0 ? run->before : 0) +
            font_size_width(run->text, run->bold ? FONT_BOLD : FONT_REGULAR, run->size);
    }
    return width;
}

void canvas_number(struct out *out, double value)
{
    long long hundredths = llround(value * 100);
    long long part = llabs(hundredths) % 100;

    out_printf(out, "%s%lld", hundredths < 0 ? "-" : "", llabs(hundredths) / 100);
    if (part % 10 != 0)
        out_printf(out, ".%02lld", part);
    else if (part != 0)
        out_printf(out, ".%lld", part / 10);
}
