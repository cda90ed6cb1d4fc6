/* Panel 4: the selected tensor: statistics, values, a heat map. For a module: the
 * recorded result if it was kept, else the statistics of its own tensors. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explorer/panels_in.h"
#include "explorer/statistics_in.h"
#include "explorer/statistics_lines.h"
#include "facts/heatmap.h"
#include "facts/objects/value_grid.h"
#include "facts/run_text.h"
#include "facts/sheet.h"
#include "rows/slice.h"
#include "text/text.h"

#define SMALL_BYTES (1 * MIB) /* wait for the numbers of smaller tensors */
#define WAIT_MS     8         /* half a frame */
#define TWO_PARTS   110       /* from this width on, both parts are side by side */
#define GAP         2         /* between them */

/* The views of a tensor; a kept N×C×H×W value has two more before them. */
enum { VIEW_NUMBERS, VIEW_VALUES, VIEW_HEAT, VIEW_COUNT };
enum { VIEW_SHEET, VIEW_CHANNEL, SHEET_VIEWS };

/* ---- the tensor ---- */

/* A tensor of the model, or a kept value. */
struct subject {
    const struct model *model;
    const struct tensor *tensor;
    struct whose whose;
    uint32_t call; /* of the kept value */
    bool sheet;    /* it has channels to show side by side */
};

static struct own *own_of(struct panel_state *state, struct explorer *explorer)
{
    struct own *own = state->own;
    uint32_t place = browse_place(explorer->browse);

    if (!own) {
        own = state->own = calloc(1, sizeof *own);
        if (!own)
            return NULL;
        own->place = NO_PLACE;
        own->value = RUN_NONE;
    }
    /* Another row starts at its first value. */
    if (own->place != place) {
        own->left = own->channel = 0;
        state->top = 0;
    }
    own->place = place;
    return own;
}

/* The kept result of the shown call of a module. */
static bool find_kept(struct explorer *explorer, struct own *own, uint32_t place,
                      struct subject *ret)
{
    const struct run *run = explorer->session->run;
    uint32_t value;

    ret->call = explorer_call(explorer, place);
    value = ret->call == RUN_NONE ? RUN_NONE : kept_result(run, ret->call);
    if (value == RUN_NONE)
        return false;
    if (own->value != value) {
        own->value = RUN_NONE;
        if (kept_view_init(&own->kept, run, value, NULL) < 0)
            return false;
        own->value = value;
    }
    ret->whose.run = run;
    ret->whose.value = value;
    ret->model = &own->kept.model;
    ret->tensor = &own->kept.tensor;
    ret->sheet = sheet_fits(ret->tensor, tensor_shape(ret->model, ret->tensor));
    return true;
}

/* False: there is no tensor to show. */
static bool find_subject(struct explorer *explorer, struct own *own,
                         struct subject *ret)
{
    const struct model *model = explorer->show.model;
    uint32_t place = explorer_place(explorer);

    *ret = (struct subject){.whose = {NULL, RUN_NONE, NO_TENSOR}, .call = RUN_NONE};
    if (place == NO_PLACE)
        return false;
    if (model->kind[place] == PLACE_MODULE)
        return find_kept(explorer, own, place, ret);
    if (model->kind[place] != PLACE_TENSOR)
        return false;
    ret->model = model;
    ret->whose.tensor = model->object[place];
    ret->tensor = &model->tensors[ret->whose.tensor];
    return true;
}

static void statistics_subject(struct buf *to, struct explorer *explorer)
{
    const struct model *model = explorer->show.model;
    uint32_t place = explorer_place(explorer), call;

    if (place == NO_PLACE)
        return;
    run_place(to, &explorer->show, place);
    if (model->kind[place] == PLACE_TENSOR) {
        const struct tensor *tensor = place_tensor(model, place);

        buf_text(to, "  ");
        text_shape(to, tensor_shape(model, tensor), tensor->rank);
        buf_printf(to, " %s", dtype_name(tensor->dtype));
        return;
    }
    call = explorer_call(explorer, place);
    if (call != RUN_NONE && kept_result(explorer->session->run, call) != RUN_NONE)
        buf_text(to, " out, kept");
}

/* ---- parts ---- */

struct drawing {
    struct explorer *explorer;
    struct panel_state *state;
    struct own *own;
    struct subject subject;
};

/* The channel views of a kept value come before those of a tensor. */
static uint32_t extra_views(const struct drawing *d)
{
    return d->subject.sheet && !d->explorer->plain ? SHEET_VIEWS : 0;
}

static void sentence(struct lines *to, const char *text, unsigned width)
{
    lines_text(to, COLOUR_NONE, " ");
    lines_wrap(to, COLOUR_DIM, str_of(text), width, 1);
}

/* The numbers of a tensor; small ones are ready in the first frame. */
static const struct numbers *numbers_of(struct drawing *d, const char **ret_why)
{
    struct explorer *explorer = d->explorer;
    const struct whose *whose = &d->subject.whose;
    const struct numbers *numbers;

    if (whose->value != RUN_NONE)
        return own_numbers(d->own, explorer, whose, ret_why);
    numbers = explorer_numbers(explorer, whose->tensor, ret_why);
    if (!explorer->jobs || !*ret_why || tensor_bytes(d->subject.tensor) > SMALL_BYTES)
        return numbers;
    jobs_wait(explorer->jobs, whose->tensor, WAIT_MS);
    return explorer_numbers(explorer, whose->tensor, ret_why);
}

/* The numbers with the requested number of bins. */
static struct numbers with_bins(struct drawing *d, const struct numbers *usual,
                                const char **ret_why)
{
    struct numbers numbers = *usual;

    if (!d->explorer->bins || usual->n_bins == 0 || usual->n_bins == d->explorer->bins)
        return numbers;
    numbers.n_bins = d->explorer->bins;
    numbers.bins = own_bins(d->own, d->explorer, &d->subject.whose, &numbers, ret_why);
    /* Draw empty bins while they are counted, so that the lines below do not move. */
    if (!numbers.bins && !d->own->busy)
        numbers.n_bins = 0;
    return numbers;
}

static void numbers_part(struct lines *to, struct drawing *d, unsigned width,
                         unsigned height)
{
    struct statistics_room room = {.width = width,
                                   .height = height,
                                   .log = d->state->log,
                                   .plain = d->explorer->plain};
    const char *why = NULL;
    const struct numbers *usual = numbers_of(d, &why);
    struct numbers numbers;

    d->own->scale = usual;
    if (!usual) {
        sentence(to, why ? why : "not known", width);
        return;
    }
    /* A recording has only the statistics of parameters. */
    if (!why)
        tensor_readable(d->subject.model, d->subject.tensor, &why);
    numbers = with_bins(d, usual, &why);
    statistics_lines(to, d->subject.model, d->subject.tensor, &numbers, why, &room);
}

static void values_part(struct lines *to, struct buf *title, struct drawing *d,
                        unsigned width, uint32_t rows)
{
    struct value_grid grid = {.model = d->subject.model,
                              .tensor = d->subject.tensor,
                              .slice = str_of(d->state->slice),
                              .left = d->own->left,
                              .width = width,
                              .most_rows = rows};

    value_grid_lines(to, title, &grid);
    d->own->columns = grid.columns;
    d->own->more = grid.more;
}

/* A heat map of the whole tensor. */
static void heat_part(struct lines *to, struct buf *title, struct drawing *d,
                      unsigned width, unsigned height)
{
    const struct blocks *blocks;
    struct blocks_wanted wanted;
    const char *why = NULL;

    if (d->explorer->plain) {
        sentence(to, "no pictures with --plain", width);
        return;
    }
    blocks_whole(&wanted, d->subject.model, d->subject.tensor);
    heatmap_fit(&wanted, width, height, d->explorer->heat);
    buf_text(title, "heat map, ");
    heatmap_title(title, &wanted);
    blocks = own_blocks(d->own, d->explorer, &d->subject.whose, &wanted, &why);
    if (blocks)
        heatmap_lines(to, blocks, &wanted, d->explorer->heat);
    else
        sentence(to, why ? why : "…", width);
}

/* ---- a whole tensor ---- */

static void rule(struct lines *to, const struct buf *title, unsigned width)
{
    struct buf line = BUF_INIT;
    size_t used;

    lines_text(to, COLOUR_DIM, "── ");
    lines_add(to, COLOUR_NONE, 0, buf_span(title));
    lines_text(to, COLOUR_DIM, " ");
    for (used = lines_width(to); used < width; used++)
        buf_text(&line, "─");
    lines_add(to, COLOUR_DIM, 0, buf_span(&line));
    lines_end(to);
    buf_release(&line);
}

/* Statistics on the left; values and, below them, the heat map on the right. */
static void two_parts(struct lines *to, struct drawing *d,
                      const struct panel_room *room)
{
    unsigned left = (room->width - GAP + 1) / 2;
    unsigned width = room->width - left - GAP;
    /* Of 19 lines the values get five, the heat map ten plus its legend. */
    unsigned rows = room->height > 19 ? 5 + (room->height - 19) / 3 : 5;
    struct lines first = {0}, second = {0};
    struct buf title = BUF_INIT;

    d->own->views = extra_views(d) + 1;
    numbers_part(&first, d, left, room->height);
    buf_clear(&d->own->aside);
    values_part(&second, &d->own->aside, d, width, rows);
    d->own->aside_at = left + GAP;
    if (room->height > second.n + 3 && !d->explorer->plain) {
        struct lines picture = {0};
        unsigned height = room->height - second.n - 1;

        heat_part(&picture, &title, d, width, height);
        rule(&second, &title, width);
        panel_beside(&second, &picture, &(struct lines){0}, 0);
        lines_release(&picture);
    }
    panel_beside(to, &first, &second, left + GAP);
    lines_release(&first);
    lines_release(&second);
    buf_release(&title);
}

static void one_part(struct lines *to, struct drawing *d, uint32_t view,
                     const struct panel_room *room)
{
    struct lines body = {0};
    struct buf title = BUF_INIT;

    switch (view) {
    case VIEW_NUMBERS:
        numbers_part(to, d, room->width, room->height);
        break;
    case VIEW_VALUES:
        values_part(&body, &title, d, room->width, 200);
        break;
    default:
        heat_part(&body, &title, d, room->width,
                  room->height > 2 ? room->height - 1 : 2);
        break;
    }
    if (title.len > 0) {
        lines_printf(to, COLOUR_DIM, " %s", title.at);
        lines_end(to);
        panel_beside(to, &body, &(struct lines){0}, 0);
    }
    lines_release(&body);
    buf_release(&title);
}

/* ---- channels of a kept value ---- */

/* The index along N: the first number of the slice. */
static uint64_t chosen_item(const struct drawing *d)
{
    const int64_t *shape = tensor_shape(d->subject.model, d->subject.tensor);
    struct slice slice;

    if (!d->state->slice[0] || slice_parse(&slice, str_of(d->state->slice), shape,
                                           d->subject.tensor->rank, NULL) < 0)
        return 0;
    return (uint64_t)slice.dims[0].start;
}

static void channels_head(struct lines *to, const struct drawing *d, uint64_t item,
                          uint32_t first, uint32_t last)
{
    const struct run *run = d->explorer->session->run;
    const int64_t *shape = tensor_shape(d->subject.model, d->subject.tensor);

    lines_printf(to, COLOUR_NONE, " call %u   [%llu]   ",
                 run->calls[d->subject.call].number + 1, (unsigned long long)item);
    if (first == last)
        lines_printf(to, COLOUR_NONE, "channel %u of %lld", first, (long long)shape[1]);
    else
        lines_printf(to, COLOUR_NONE, "channels %u-%u of %lld", first, last,
                     (long long)shape[1]);
    lines_end(to);
}

static void sheet_part(struct lines *to, struct drawing *d,
                       const struct panel_room *room)
{
    uint64_t item = chosen_item(d);
    uint32_t wide = room->zoomed ? 16 : 8, high = room->zoomed ? 6 : 2, n;
    const char *why = NULL;
    const struct sheet *sheet =
        own_sheet(d->own, d->explorer, &d->subject.whose, item, wide, high, &why);
    unsigned height = room->height > 2 ? room->height - 1 : 2;

    if (!sheet) {
        sentence(to, why, room->width);
        return;
    }
    n = sheet_across(sheet, room->width) * sheet_down(sheet, height);
    d->own->columns = n;
    if (d->own->channel >= sheet->drawn)
        d->own->channel = sheet->drawn - 1;
    n = n < sheet->drawn - d->own->channel ? n : sheet->drawn - d->own->channel;
    d->own->more = d->own->channel + n < sheet->drawn;
    channels_head(to, d, item, d->own->channel, d->own->channel + n - 1);
    sheet_lines(to, sheet, d->own->channel, room->width, height);
}

static void channel_part(struct lines *to, struct drawing *d,
                         const struct panel_room *room)
{
    const int64_t *shape = tensor_shape(d->subject.model, d->subject.tensor);
    uint64_t item = chosen_item(d), channels = (uint64_t)shape[1];
    struct blocks_wanted wanted = {.rows = (uint64_t)shape[2],
                                   .columns = (uint64_t)shape[3]};
    const struct blocks *blocks;
    const char *why = NULL;

    if (d->own->channel >= channels)
        d->own->channel = (uint32_t)channels - 1;
    wanted.first = (item * channels + d->own->channel) * wanted.rows * wanted.columns;
    heatmap_fit(&wanted, room->width, room->height > 2 ? room->height - 1 : 2,
                d->explorer->heat);
    d->own->columns = 1;
    d->own->more = d->own->channel + 1 < channels;
    channels_head(to, d, item, d->own->channel, d->own->channel);
    blocks = own_blocks(d->own, d->explorer, &d->subject.whose, &wanted, &why);
    if (blocks)
        heatmap_lines(to, blocks, &wanted, d->explorer->heat);
    else
        sentence(to, why ? why : "…", room->width);
}

/* ---- the panel ---- */

/* The current view, limited to those available. A slice that was just typed selects the
 * values. */
static uint32_t view_of(struct drawing *d)
{
    uint32_t extra = extra_views(d);

    if (strncmp(d->own->slice, d->state->slice, sizeof d->own->slice) != 0) {
        memcpy(d->own->slice, d->state->slice, sizeof d->own->slice);
        d->own->left = 0;
        if (d->state->slice[0] && !extra)
            d->state->view = VIEW_VALUES;
    }
    /* Without pictures, only numbers and values remain. */
    d->own->views = d->explorer->plain ? VIEW_HEAT : VIEW_COUNT + extra;
    return d->state->view % d->own->views;
}

static void tensor_lines(struct lines *to, struct drawing *d,
                         const struct panel_room *room)
{
    uint32_t extra = extra_views(d), view = view_of(d);
    const char *why = NULL;

    d->own->showing =
        (enum statistics_showing)(view >= extra ? SHOWING_TENSOR : SHOWING_CHANNELS);
    if (view < extra && view == VIEW_SHEET)
        sheet_part(to, d, room);
    else if (view < extra)
        channel_part(to, d, room);
    else if (!tensor_readable(d->subject.model, d->subject.tensor, &why) ||
             dtype_info(d->subject.tensor->dtype)->kind == DTYPE_KIND_NONE)
        numbers_part(to, d, room->width, room->height);
    else if (room->zoomed && room->width >= TWO_PARTS && !d->explorer->plain)
        two_parts(to, d, room);
    else
        one_part(to, d, view - extra, room);
}

static void statistics_panel_lines(struct lines *to, struct explorer *explorer,
                                   struct panel_state *state,
                                   const struct panel_room *room)
{
    struct drawing d = {.explorer = explorer, .state = state};

    d.own = own_of(state, explorer);
    if (!d.own)
        return;
    d.own->aside_at = 0;
    d.own->showing = SHOWING_NOTHING;
    d.own->views = 0;
    d.own->scale = false;
    if (find_subject(explorer, d.own, &d.subject))
        tensor_lines(to, &d, room);
    else
        statistics_table(to, explorer, room->width);
}

static unsigned statistics_aside(struct buf *to, const struct panel_state *state)
{
    const struct own *own = state->own;

    if (!own || own->aside_at == 0)
        return 0;
    buf_str(to, buf_span(&own->aside));
    return own->aside_at;
}

static const struct panel_hint *sheet_hints(const struct panel_state *state)
{
    static const struct panel_hint hints[] = {{"view", NULL, "sheet/one"},
                                              {"previous-call", "next-call", "call"},
                                              {"slice", NULL, "slice"},
                                              {NULL, NULL, NULL}};
    const struct own *own = state->own;

    return own && own->showing == SHOWING_CHANNELS ? hints : NULL;
}

/* Move through values or channels by the number shown. */
static bool move(struct explorer *explorer, struct own *own, bool right)
{
    uint64_t by = own->columns > 0 ? own->columns : 1;
    bool channels = own->showing == SHOWING_CHANNELS;
    uint64_t at = channels ? own->channel : own->left;

    if (own->showing == SHOWING_NOTHING || (right ? !own->more : at == 0)) {
        explorer_say(explorer, right ? "nothing to the right" : "nothing to the left");
        return false;
    }
    at = right ? at + by : at > by ? at - by : 0;
    if (channels)
        own->channel = (uint32_t)at;
    else
        own->left = at;
    return true;
}

static bool statistics_act(struct explorer *explorer, struct panel_state *state,
                           enum panel_act act)
{
    struct own *own = own_of(state, explorer);

    switch (act) {
    case ACT_LEFT:
    case ACT_RIGHT:
        return own && move(explorer, own, act == ACT_RIGHT);
    case ACT_VIEW:
        if (!own || own->views < 2)
            return panel_cannot(explorer, act);
        state->view = state->view + 1 < own->views ? state->view + 1 : 0;
        state->top = 0;
        return true;
    case ACT_LOG:
        if (!own || !own->scale) {
            explorer_say(explorer, "nothing here has a scale");
            return false;
        }
        state->log = !state->log;
        return true;
    case ACT_PREVIOUS:
    case ACT_NEXT:
        return explorer_step(explorer, act == ACT_NEXT ? 1 : -1);
    default:
        return panel_cannot(explorer, act);
    }
}

static void statistics_release(struct panel_state *state)
{
    if (state->own)
        own_free(state->own);
    state->own = NULL;
}

static const struct panel_hint statistics_hints[] = {
    {"view", NULL, "numbers/grid/heat map"},
    {"log", NULL, "linear/log"},
    {"slice", NULL, "slice"},
    {NULL, NULL, NULL},
};

const struct panel statistics_panel = {
    .number = PANEL_STATISTICS,
    .id = "statistics",
    .title = "Statistics",
    .hints = statistics_hints,
    .hints_now = sheet_hints,
    .subject = statistics_subject,
    .lines = statistics_panel_lines,
    .aside = statistics_aside,
    .act = statistics_act,
    .release = statistics_release,
};
