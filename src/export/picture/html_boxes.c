/* The boxes of the page's data: what the script needs to place, draw and describe them. */
#include <math.h>
#include <stdio.h>

#include "base/base.h"
#include "export/look/look.h"
#include "export/picture/html_in.h"
#include "rows/args.h"
#include "text/escape.h"
#include "text/number.h"

/* A column's number for row i; NONE is -1. */
#define COLUMN(function, expression)                                                   \
    static int64_t function(struct html *html, uint32_t i)                             \
    {                                                                                  \
        return (expression);                                                           \
    }

#define BOX   (&html->diagram->boxes[i])
#define PLAN  (&html->plan->boxes[i])
#define TEXTS (&html->picture->boxes[i])

COLUMN(box_size, PLAN->end - i)
COLUMN(box_hidden, BOX->n_hidden)
COLUMN(box_flags, PLAN->flags)
COLUMN(box_kind, BOX->kind)
COLUMN(box_family, BOX->family)
COLUMN(box_change, BOX->change)
COLUMN(box_marks, BOX->flags)
COLUMN(box_shape, TEXTS->shape)
COLUMN(box_width, PLAN->width)
COLUMN(box_height, PLAN->height)
COLUMN(box_gap, PLAN->gap)
COLUMN(box_rank, PLAN->rank)
COLUMN(box_last, (int64_t)PLAN->last - PLAN->rank)
COLUMN(box_column, PLAN->column)
COLUMN(box_name, html_text(html, TEXTS->name))
COLUMN(box_full, html_text(html, BOX->name))
COLUMN(box_detail, html_text(html, TEXTS->detail))
COLUMN(box_calls_text, html_text(html, TEXTS->calls))
COLUMN(box_same, BOX->n_same)
COLUMN(box_number, BOX->number)
COLUMN(box_calls, BOX->n_calls)
COLUMN(box_ops, BOX->n_ops)
COLUMN(box_line, html_text(html, BOX->line))

/* The model that contains a box; for a removed box of a diff, the old one. */
static const struct model *model_of(struct html *html, uint32_t i)
{
    const struct diagram *diagram = html->diagram;
    const struct session *session = diagram->old && BOX->change == DIAGRAM_REMOVED
                                        ? diagram->old
                                        : diagram->session;

    return session ? session->model : NULL;
}

static bool has_place(struct html *html, uint32_t i)
{
    const struct model *model = model_of(html, i);

    return model && BOX->place < model->n_places &&
           (BOX->kind == DIAGRAM_MODULE || BOX->kind == DIAGRAM_REPEAT);
}

/* The full name of a module's place. */
static int64_t box_at(struct html *html, uint32_t i)
{
    struct buf name = BUF_INIT;
    int64_t text;

    if (has_place(html, i))
        place_path(model_of(html, i), BOX->place, &name);
    text = html_text(html, buf_span(&name));
    buf_release(&name);
    return text;
}

/* All arguments of a module, as torch prints them. */
static int64_t box_extra(struct html *html, uint32_t i)
{
    const struct model *model = model_of(html, i);
    const struct object *object = BOX->kind == DIAGRAM_MODULE && has_place(html, i)
                                      ? place_object(model, BOX->place)
                                      : NULL;

    if (object && !object->guessed)
        args_repr(&html->spare, model, object);
    return html_spare(html);
}

/* Class and arguments, a line each. */
static int64_t box_words(struct html *html, uint32_t i)
{
    const struct diagram_box *box = BOX;

    for (uint32_t k = 0; k < box->n_words; k++) {
        if (k > 0)
            buf_char(&html->spare, '\n');
        escape_terminal(&html->spare, html->diagram->words[box->words + k]);
    }
    return html_spare(html);
}

static const struct html_column box_columns[] = {
    {"size", box_size},     {"hidden", box_hidden}, {"at", box_at},
    {"extra", box_extra},   {"flags", box_flags},   {"kind", box_kind},
    {"family", box_family}, {"change", box_change}, {"marks", box_marks},
    {"shape", box_shape},   {"width", box_width},   {"height", box_height},
    {"gap", box_gap},       {"rank", box_rank},     {"last", box_last},
    {"column", box_column}, {"name", box_name},     {"full", box_full},
    {"detail", box_detail}, {"words", box_words},   {"callsText", box_calls_text},
    {"same", box_same},     {"number", box_number}, {"calls", box_calls},
    {"ops", box_ops},       {"line", box_line},
};

/* The backward time of a call, in ns; negative: unknown. */
static double backward_of(struct html *html, uint32_t i)
{
    const struct session *session = html->diagram->session;
    const struct run *run = session ? session->run : NULL;
    bool known = run && BOX->change != DIAGRAM_REMOVED && BOX->call < run->n_calls;

    return known && run->calls[BOX->call].backward_ns > 0
               ? (double)run->calls[BOX->call].backward_ns
               : -1;
}

double html_backward(struct html *html)
{
    return backward_of(html, 0);
}

static int64_t metric_text(struct html *html, uint32_t i)
{
    if (html->metric < DIAGRAM_METRICS)
        diagram_value(&html->spare, html->diagram, i,
                      (enum diagram_metric)html->metric);
    else if (backward_of(html, i) >= 0)
        text_time(&html->spare, backward_of(html, i) / 1e9);
    return html_spare(html);
}

static double metric_value(struct html *html, uint32_t i)
{
    double value = html->metric < DIAGRAM_METRICS ? BOX->metric[html->metric]
                                                  : backward_of(html, i);

    return isfinite(value) ? value : -1;
}

/* Numbers for heat and shares, and their texts. */
static void put_metric(struct html *html, const char *name)
{
    bool exact = html->metric == DIAGRAM_PARAMS || html->metric == DIAGRAM_FLOPS;
    char text_name[32];
    struct html_column text = {text_name, metric_text};

    out_printf(html->out, ",\"%s\":[", name);
    for (uint32_t i = 0; i < html->plan->n_boxes; i++)
        out_printf(html->out, "%s%.*g", i > 0 ? "," : "", exact ? 15 : 7,
                   metric_value(html, i));
    out_char(html->out, ']');
    snprintf(text_name, sizeof text_name, "%sText", name);
    html_column(html, &text, html->plan->n_boxes);
}

void html_boxes(struct html *html)
{
    html_table(html, "boxes", html->plan->n_boxes, box_columns, COUNT_OF(box_columns));
    for (html->metric = 0; html->metric < DIAGRAM_METRICS; html->metric++)
        if (html->metric == DIAGRAM_PARAMS || html->diagram->has[html->metric])
            put_metric(html, diagram_metric_name((enum diagram_metric)html->metric));
    if (html_backward(html) >= 0)
        put_metric(html, "backward");
    out_text(html->out, "},\n\"ids\":[");
    for (uint32_t i = 0; i < html->plan->n_boxes; i++) {
        out_text(html->out, i > 0 ? "," : "");
        escape_terminal(&html->spare, html->diagram->boxes[i].id);
        look_json(html->out, buf_span(&html->spare));
        buf_clear(&html->spare);
    }
    out_char(html->out, ']');
}
