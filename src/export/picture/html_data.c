/* The data of the page: lines, groups and all that is not a box (html_boxes.c). */
#include "base/base.h"
#include "export/look/look.h"
#include "export/look/tokens.h"
#include "export/picture/html_in.h"
#include "text/escape.h"
#include "text/number.h"

/* A column's number for row i; NONE is -1. */
#define COLUMN(function, expression)                                                   \
    static int64_t function(struct html *html, uint32_t i)                             \
    {                                                                                  \
        return (expression);                                                           \
    }
#define INDEX(number) ((number) == PLAN_NONE ? -1 : (int64_t)(number))

/* --- Nets and their ends */

#define NET   (&html->plan->nets[i])
#define VALUE (&html->diagram->nets[i])

COLUMN(net_source, NET->source)
COLUMN(net_n_ends, NET->n_ends)
COLUMN(net_label_width, NET->label_width)
COLUMN(net_label_height, NET->label_height)
COLUMN(net_slot, NET->slot)
COLUMN(net_track, INDEX(NET->track))
COLUMN(net_lane, INDEX(NET->lane))
COLUMN(net_first_row, INDEX(NET->first_row))
COLUMN(net_last_row, INDEX(NET->last_row))
COLUMN(net_second, html_text(html, html->picture->labels[i].more))
COLUMN(net_more, html_text(html, VALUE->more))
COLUMN(net_dtype, html_text(html, VALUE->dtype))
COLUMN(net_changed, VALUE->changed)
COLUMN(net_tensors, VALUE->n_tensors)
COLUMN(net_bad, VALUE->not_finite)
COLUMN(net_width, picture_width_class(VALUE->bytes))
COLUMN(net_label, html_text(html, NET->label_width > 0 ? html->picture->labels[i].text
                                                       : VALUE->label))

static int64_t net_bytes(struct html *html, uint32_t i)
{
    if (VALUE->bytes > 0)
        text_bytes(&html->spare, VALUE->bytes);
    return html_spare(html);
}

static const struct html_column net_columns[] = {
    {"source", net_source},
    {"nEnds", net_n_ends},
    {"label", net_label},
    {"labelWidth", net_label_width},
    {"labelHeight", net_label_height},
    {"second", net_second},
    {"slot", net_slot},
    {"track", net_track},
    {"lane", net_lane},
    {"firstRow", net_first_row},
    {"lastRow", net_last_row},
    {"more", net_more},
    {"dtype", net_dtype},
    {"changed", net_changed},
    {"tensors", net_tensors},
    {"bad", net_bad},
    {"width", net_width},
    {"bytes", net_bytes},
};

#define END (&html->plan->ends[i])

COLUMN(end_target, END->target)
COLUMN(end_inner, INDEX(END->inner))
COLUMN(end_outer, INDEX(END->outer))
COLUMN(end_label, html_text(html, html->picture->end_labels[i]))
COLUMN(end_label_width, END->label_width)
COLUMN(end_label_height, END->label_height)
COLUMN(end_way, END->way)
COLUMN(end_detached, html->diagram->ends[i].detached)
COLUMN(end_change, html->diagram->ends[i].change)
COLUMN(end_slot, END->slot)
COLUMN(end_track, INDEX(END->track))

static const struct html_column end_columns[] = {
    {"target", end_target}, {"inner", end_inner},
    {"outer", end_outer},   {"label", end_label},
    {"way", end_way},       {"labelWidth", end_label_width},
    {"slot", end_slot},     {"labelHeight", end_label_height},
    {"track", end_track},   {"detached", end_detached},
    {"change", end_change},
};

/* --- Groups */

#define GROUP  (&html->plan->groups[i])
#define AROUND GROUP->box

COLUMN(group_box, AROUND)
COLUMN(group_rows, GROUP->rows)
COLUMN(group_first_column, GROUP->first_column)
COLUMN(group_n_columns, GROUP->n_columns)
COLUMN(group_n_nets, GROUP->n_nets)
COLUMN(group_n_lanes, GROUP->n_lanes)
COLUMN(group_least_width, html->plan->boxes[AROUND].least_width)
COLUMN(group_least_height, html->plan->boxes[AROUND].least_height)
COLUMN(group_name, html_text(html, html->picture->boxes[AROUND].frame_name))
COLUMN(group_detail, html_text(html, html->picture->boxes[AROUND].frame_detail))

static const struct html_column group_columns[] = {
    {"box", group_box},
    {"rows", group_rows},
    {"firstColumn", group_first_column},
    {"nColumns", group_n_columns},
    {"nNets", group_n_nets},
    {"nLanes", group_n_lanes},
    {"leastWidth", group_least_width},
    {"leastHeight", group_least_height},
    {"name", group_name},
    {"detail", group_detail},
};

/* --- Tracks and lanes: lists of all groups, one behind the other */

COLUMN(list_number, html->list[i])
static const struct html_column list_columns[] = {{"text", list_number}};

/* The numbers of each group in `from`: `count` of them, from index `first` (by
 * group). */
static int put_list(struct html *html, const char *name, const uint32_t *from,
                    uint32_t (*first)(const struct plan_group *group),
                    uint32_t (*count)(const struct plan_group *group))
{
    const struct plan *plan = html->plan;
    uint32_t n = 0;

    for (uint32_t g = 0; g < plan->n_groups; g++)
        n += count(&plan->groups[g]);
    html->list = arena_array(&html->arena, (size_t)n + 1, sizeof *html->list);
    if (!html->list)
        return -1;
    n = 0;
    for (uint32_t g = 0; g < plan->n_groups; g++)
        for (uint32_t i = 0; i < count(&plan->groups[g]); i++)
            html->list[n++] = from[first(&plan->groups[g]) + i];
    html_table(html, name, n, list_columns, COUNT_OF(list_columns));
    out_char(html->out, '}');
    return 0;
}

static uint32_t channels_at(const struct plan_group *group)
{
    return group->channels;
}
static uint32_t n_channels(const struct plan_group *group)
{
    return group->rows + 1;
}
static uint32_t lanes_at(const struct plan_group *group)
{
    return group->lanes;
}
static uint32_t n_lanes(const struct plan_group *group)
{
    return group->n_lanes;
}

static int put_groups(struct html *html)
{
    html_table(html, "groups", html->plan->n_groups, group_columns,
               COUNT_OF(group_columns));
    out_char(html->out, '}');
    if (put_list(html, "tracks", html->plan->tracks, channels_at, n_channels) < 0)
        return -1;
    return put_list(html, "lanes", html->plan->lanes, lanes_at, n_lanes);
}

/* --- The rest */

static void put_string(struct html *html, const char *name, struct str raw)
{
    out_printf(html->out, ",\n\"%s\":", name);
    escape_terminal(&html->spare, raw);
    look_json(html->out, buf_span(&html->spare));
    buf_clear(&html->spare);
}

static const char *const metric_titles[DIAGRAM_METRICS] = {
    "parameters", "time, forward, inclusive", "memory", "FLOPs", "gradient norm"};

static void put_metrics(struct html *html)
{
    bool first = true;

    out_text(html->out, ",\n\"metrics\":[");
    for (enum diagram_metric m = 0; m < DIAGRAM_METRICS; m++) {
        if (!html->diagram->has[m])
            continue;
        out_printf(html->out, "%s{\"name\":\"%s\",\"title\":\"%s\",\"total\":%.7g",
                   first ? "" : ",", diagram_metric_name(m), metric_titles[m],
                   (double)html->diagram->total[m]);
        diagram_value(&html->spare, html->diagram, 0, m);
        out_text(html->out, ",\"totalText\":");
        look_json(html->out, buf_span(&html->spare));
        buf_clear(&html->spare);
        out_char(html->out, '}');
        first = false;
    }
    if (html_backward(html) >= 0) {
        out_printf(html->out,
                   ",{\"name\":\"backward\",\"title\":\"backward\","
                   "\"colour\":false,\"total\":%.7g,\"totalText\":\"\"}",
                   html_backward(html));
    }
    out_char(html->out, ']');
}

static void put_words(struct html *html, const char *name, size_t n,
                      const char *(*word)(size_t i))
{
    out_printf(html->out, ",\n\"%s\":[", name);
    for (size_t i = 0; i < n; i++)
        out_printf(html->out, "%s\"%s\"", i > 0 ? "," : "", word(i));
    out_char(html->out, ']');
}

static const char *kind_word(size_t i)
{
    return diagram_kind_name((enum diagram_kind)i);
}
static const char *family_word(size_t i)
{
    return family_name((enum family)i);
}
static const char *family_title(size_t i)
{
    return picture_family_title((enum family)i);
}
static const char *colour_word(size_t i)
{
    return tokens[i].name;
}

static void put_style(struct html *html)
{
    const struct plan_style style = picture_style(html->picture->wanted);

    out_printf(html->out,
               ",\n\"style\":{\"channel\":%d,\"labelGap\":%d,\"labelSpace\":%d,"
               "\"trackFirst\":%d,\"track\":%d,\"trackLast\":%d,\"column\":%d,"
               "\"laneFirst\":%d,\"lane\":%d,\"slot\":%d,\"side\":%d,\"corner\":%d,"
               "\"frameTop\":%d,\"frameLeft\":%d,\"frameRight\":%d,\"frameBottom\":%d,"
               "\"margin\":%d,\"roundTo\":%d}",
               style.channel, style.label_gap, style.label_space, style.track_first,
               style.track, style.track_last, style.column, style.lane_first,
               style.lane, style.slot, style.side, style.corner, style.frame_top,
               style.frame_left, style.frame_right, style.frame_bottom, style.margin,
               style.round_to);
}

static void put_head(struct html *html)
{
    const struct diagram *diagram = html->diagram;
    const struct picture_wanted *wanted = html->picture->wanted;

    out_text(html->out, "{\"torchoscope\":1,\"kind\":\"picture\",\"path\":[");
    for (uint32_t i = 0; i < diagram->n_path; i++) {
        out_text(html->out, i > 0 ? "," : "");
        escape_terminal(&html->spare, diagram->path[i]);
        look_json(html->out, buf_span(&html->spare));
        buf_clear(&html->spare);
    }
    out_char(html->out, ']');
    if (wanted->title)
        put_string(html, "title", str_of(wanted->title));
    put_string(html, "facts", diagram->facts);
    put_string(html, "note", diagram->note);
    out_printf(html->out, ",\n\"level\":\"%s\"",
               graph_level_name(diagram->wanted.level));
    out_printf(html->out, ",\n\"colour\":\"%s\",\"sideways\":%s",
               diagram_metric_name(wanted->color), wanted->sideways ? "true" : "false");
    put_words(html, "kinds", DIAGRAM_KINDS, kind_word);
    put_words(html, "families", FAMILY_COUNT, family_word);
    put_words(html, "familyNames", FAMILY_COUNT, family_title);
    put_words(html, "colours", n_tokens, colour_word);
    put_metrics(html);
    put_style(html);
}

static int put_data(struct html *html, struct err *err)
{
    if (intern_init(&html->texts, &html->arena) < 0)
        return arena_err(&html->arena, "the page", err);
    put_head(html);
    html_boxes(html);
    html_table(html, "nets", html->plan->n_nets, net_columns, COUNT_OF(net_columns));
    out_char(html->out, '}');
    html_table(html, "ends", html->plan->n_ends, end_columns, COUNT_OF(end_columns));
    out_char(html->out, '}');
    if (put_groups(html) < 0)
        return arena_err(&html->arena, "the page", err);
    out_text(html->out, ",\n\"texts\":[");
    for (uint32_t i = 0; i < html->texts.n; i++) {
        out_text(html->out, i > 0 ? "," : "");
        look_json(html->out, intern_str(&html->texts, i));
    }
    out_text(html->out, "]}");
    if (html->arena.spent || html->spare.bad)
        return arena_err(&html->arena, "the page", err);
    return 0;
}

int picture_data(struct out *out, struct diagram *diagram,
                 const struct picture_wanted *wanted, struct err *err)
{
    struct picture_wanted page = *wanted;
    struct picture picture;
    struct html html = {
        .out = out, .picture = &picture, .diagram = diagram, .plan = &diagram->plan};
    int status;

    page.shapes = true; /* the reader may choose other colours */
    if (picture_init_places(&picture, diagram, &page, err) < 0)
        return -1;
    arena_init(&html.arena, 0);
    status = put_data(&html, err);
    buf_release(&html.spare);
    arena_release(&html.arena);
    picture_release(&picture);
    return status;
}
