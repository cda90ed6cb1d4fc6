#include "explorer/tree_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "explorer/resnet_in.h"
#include "rows/below.h"
#include "text/width.h"

/* A screen without its panels and hints: title, tree, status. */
struct scene {
    struct sample s;
    struct explorer e;
    struct activities activity; /* invented, for tests that need times */
    struct run run;
    struct tree_room room;
    bool beside; /* the tree is beside panels: the screen is larger */
    struct lines lines;
    struct buf text;
};

static void begin_scene(struct scene *w)
{
    CHECK(explorer_begin(&w->e, w->s.session, NULL, false, NULL) == 0);
    w->lines = (struct lines){.n = 0};
    w->text = (struct buf)BUF_INIT;
    w->activity = (struct activities){.at = NULL};
    w->run = (struct run){.model = NULL};
    w->room = (struct tree_room){.no_colour = true};
    w->beside = false;
    browse_resize(w->e.browse, 20);
}

static void begin_resnet(struct scene *w)
{
    resnet_begin(&w->s, false);
    sample_change(&w->s)->live = true;
    begin_scene(w);
}

static void end_scene(struct scene *w)
{
    explorer_end(&w->e);
    lines_release(&w->lines);
    buf_release(&w->text);
    free(w->activity.at);
    if (w->s.session->run == &w->run) {
        w->s.session->run = NULL;
    }
    sample_release(&w->s);
}

static void go(struct scene *w, const char *name)
{
    uint32_t place = place_find(w->s.model, str_of(name));

    CHECK(place != NO_PLACE);
    CHECK(browse_go(w->e.browse, place) || browse_place(w->e.browse) == place);
}

static void make_lines(struct scene *w, unsigned columns, unsigned rows)
{
    w->room.width = columns;
    w->room.height = rows - 2;
    w->room.narrow = !w->beside && columns < 100;
    w->room.small = !w->beside && (columns < 80 || rows < 24);
    browse_resize(w->e.browse, w->room.height - 1);
    lines_clear(&w->lines);
    title_line(&w->lines, &w->e, columns);
    tree_lines(&w->lines, &w->e, &w->room);
    status_line(&w->lines, &w->e, columns);
    CHECK_INT(w->lines.n, rows);
}

/* The screen as text, without trailing blanks and empty lines; checks that every line
 * has the full width. */
static const char *screen(struct scene *w, unsigned columns, unsigned rows)
{
    make_lines(w, columns, rows);
    buf_clear(&w->text);
    for (uint32_t i = 0; i < w->lines.n; i++) {
        size_t begin = w->text.len;

        line_plain(&w->text, &w->lines, i);
        CHECK_INT(text_width(str_span(w->text.at + begin, w->text.len - begin)),
                  columns);
        while (w->text.len > begin && w->text.at[w->text.len - 1] == ' ')
            w->text.len--;
        if (w->text.len > begin)
            buf_char(&w->text, '\n');
    }
    return buf_cstr(&w->text);
}

/* The screen must equal src/explorer/screens/NAME.txt. With REWRITE in the environment,
 * rewrites the file: read the difference. */
static void check_screen(struct scene *w, const char *name, unsigned columns,
                         unsigned rows)
{
    const char *got = screen(w, columns, rows);
    bool rewrite = getenv("REWRITE") != NULL;
    char path[128], expected[16384];
    size_t len;
    FILE *file;

    snprintf(path, sizeof(path), "src/explorer/screens/%s.txt", name);
    file = fopen(path, rewrite ? "w" : "r");
    CHECK(file);
    if (rewrite) {
        fputs(got, file);
    } else {
        len = fread(expected, 1, sizeof(expected) - 1, file);
        expected[len] = '\0';
    }
    fclose(file);
    if (!rewrite)
        CHECK_STR(got, expected);
}

/* One line of it: 0 is the title, 1 the header. */
static const char *line(struct scene *w, unsigned columns, unsigned number)
{
    make_lines(w, columns, 24);
    buf_clear(&w->text);
    line_plain(&w->text, &w->lines, number);
    while (w->text.len > 0 && w->text.at[w->text.len - 1] == ' ')
        w->text.len--;
    buf_char(&w->text, '\0');
    return w->text.at;
}

/* The spans of a line with this role, separated by |. */
static const char *in_role(struct scene *w, unsigned number, enum colour colour,
                           unsigned flags)
{
    const struct line *at = &w->lines.at[number];

    buf_clear(&w->text);
    for (uint32_t i = at->first; i < at->first + at->n; i++) {
        const struct span *span = &w->lines.spans[i];

        if (span->colour != colour || (span->flags & flags) != flags)
            continue;
        buf_text(&w->text, w->text.len > 0 ? "|" : "");
        buf_str(&w->text, span_text(&w->lines, span));
    }
    return buf_cstr(&w->text);
}

/* Invented times: a leaf took a microsecond for every parameter plus one; other modules
 * took one microsecond themselves. */
static void make_up_times(struct scene *w)
{
    const struct model *model = w->s.model;
    struct activities *all = &w->activity;

    *all = (struct activities){.n = model->n_places,
                               .first_producer = NO_PLACE,
                               .producing_call = RUN_NONE,
                               .spoilt_call = RUN_NONE,
                               .raised = NO_PLACE,
                               .raising_call = RUN_NONE};
    all->at = calloc(model->n_places, sizeof *all->at);
    CHECK(all->at);
    for (uint32_t p = model->n_places; p-- > 0;) {
        struct activity *at = &all->at[p];

        at->gap = at->newest = RUN_NONE;
        if (model->kind[p] != PLACE_MODULE)
            continue;
        at->calls = 1;
        at->self_ns = 1000;
        if (show_is_leaf(model, p))
            at->self_ns += 1000 * counts_params(&w->s.session->places, p);
        at->total_ns += at->self_ns;
        if (p > 0)
            all->at[model->parent[p]].total_ns += at->total_ns;
    }
    all->total_ns = all->at[0].total_ns;
    w->e.show.activity = all;
    w->s.session->run = &w->run;
}

/* --- Whole screens */

TEST(a_model_at_80x24)
{
    struct scene w;

    begin_resnet(&w);
    check_screen(&w, "model_80x24", 80, 24);
    end_scene(&w);
}

TEST(a_model_at_120x36_with_rows_of_the_same_class_marked)
{
    struct scene w;

    begin_resnet(&w);
    go(&w, "layer1.0.conv2");
    check_screen(&w, "same_class_120x36", 120, 36);
    end_scene(&w);
}

TEST(a_model_at_200x60_has_all_enabled_labels)
{
    struct scene w;

    begin_resnet(&w);
    label_set_group(&w.e.labels, 'p');
    label_set_group(&w.e.labels, 'm');
    CHECK(label_set_parse(&w.e.labels,
                          STR("name,type,args,params,percent,own_params,trainable,"
                              "memory,memory%,own_mem,device,dtype,shapes"),
                          NULL) == 0);
    check_screen(&w, "labels_200x60", 200, 60);
    end_scene(&w);
}

TEST(under_80x24_there_is_one_column_of_numbers)
{
    struct scene w;

    begin_resnet(&w);
    check_screen(&w, "model_60x20", 60, 20);
    check_screen(&w, "model_40x8", 40, 8);
    CHECK(browse_sort(w.e.browse, SORT_PARAMS, false));
    check_screen(&w, "sorted_40x8", 40, 8);
    end_scene(&w);
}

TEST(times_at_80x24_and_beside_a_panel_and_at_120x36)
{
    struct scene w;

    begin_resnet(&w);
    make_up_times(&w);
    check_screen(&w, "times_80x24", 80, 24);
    check_screen(&w, "times_120x24", 120, 24);
    CHECK(label_set_parse(&w.e.labels, STR("name,type,args,calls,self,time%,time"),
                          NULL) == 0);
    check_screen(&w, "times_100x24", 100, 24);
    end_scene(&w);
}

TEST(repeated_blocks_and_tied_tensors_at_80x24)
{
    struct scene w;

    gpt2_begin(&w.s);
    begin_scene(&w);
    sample_change(&w.s)->live = true;
    browse_depth(w.e.browse, 5);
    CHECK(browse_runs(w.e.browse)); /* one by one, and as one row again */
    CHECK(browse_runs(w.e.browse));
    CHECK(browse_move(w.e.browse, 5));
    check_screen(&w, "repeats_80x24", 80, 24);
    end_scene(&w);
}

TEST(the_flowing_form_has_rps_texts)
{
    struct scene w;

    begin_resnet(&w);
    make_up_times(&w);
    CHECK(label_set_parse(&w.e.labels, STR("flowing,memory,time,name,type,args,shapes"),
                          NULL) == 0);
    go(&w, "layer1.0.conv2");
    check_screen(&w, "flowing_80x24", 80, 24);
    end_scene(&w);
}

TEST(a_flat_list_has_full_names_and_shares_of_the_whole)
{
    struct scene w;

    begin_resnet(&w);
    CHECK(browse_flat(w.e.browse, FLAT_LEAVES));
    CHECK(browse_sort(w.e.browse, SORT_PARAMS, false));
    browse_first(w.e.browse);
    check_screen(&w, "flat_80x10", 80, 10);
    make_up_times(&w);
    CHECK(browse_sort(w.e.browse, SORT_SELF, false));
    check_screen(&w, "flat_times_80x10", 80, 10);
    end_scene(&w);
}

/* --- Columns and their headers */

TEST(narrow_trees_drop_columns_in_this_order)
{
    static const struct {
        unsigned width;
        const char *header;
    } expected[] = {
        {149,
         " name                           params    %    own   memory calls      time  "
         "  %      self █ self ░ children        average   out mean dtype   device"},
        {139, " name »1                        params    %    own   memory calls      "
              "time    %      self █ self ░ children        out mean dtype   device"},
        {131, " name »2                          params    %    own   memory calls     "
              " time    % █ self ░ children        out mean dtype   device"},
        {119, " name »3                     params    %   memory calls      time    % "
              "█ self ░ children        out mean dtype   device"},
        {114, " name »4                           params    %   memory calls      time "
              "   % █ self ░ children      dtype   device"},
        {96, " name »5                      params    %   memory calls      time    % "
             "█ self ░ children device"},
        {90, " name »6                       params    %   memory calls      time    % "
             "█ self ░ children"},
        {84, " name                                      params    %   memory calls    "
             "  time  %»6"},
        {70, " name                        params    %   memory calls      time  %»6"},
        {60, " name                        params   memory calls    time»8"},
        {50, " name                             params   time»10"},
        {40, " name                            time»11"},
    };
    struct scene w;

    begin_resnet(&w);
    make_up_times(&w);
    CHECK(label_set_parse(&w.e.labels,
                          STR("name,type,args,params,percent,own_params,memory,calls,"
                              "time,time%,self,average,outmean,dtype,device"),
                          NULL) == 0);
    w.beside = true;
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        CHECK_STR(line(&w, expected[i].width, 1), expected[i].header);
    end_scene(&w);
}

TEST(labels_switched_on_by_the_user_are_kept_longest)
{
    struct scene w;

    begin_resnet(&w);
    make_up_times(&w);
    w.beside = true;
    CHECK_STR(line(&w, 50, 1), " name                             params    time»2");
    label_set_group(&w.e.labels, 'f');
    CHECK_STR(line(&w, 50, 1), " name                       in out calls    time»3");
    label_set_group(&w.e.labels, 'f');
    CHECK_STR(line(&w, 50, 1), " name                             params    time»2");
    end_scene(&w);
}

TEST(the_header_marks_the_sort_column)
{
    struct scene w;

    begin_resnet(&w);
    w.beside = true;
    CHECK(browse_sort(w.e.browse, SORT_PARAMS, false));
    CHECK_STR(line(&w, 60, 1),
              " name                       params▾    %              memory");
    CHECK(browse_sort(w.e.browse, SORT_NAME, true));
    CHECK_STR(line(&w, 60, 1),
              " name▴                       params    %              memory");
    label_set_group(&w.e.labels, 'b');
    CHECK(browse_sort(w.e.browse, SORT_BYTES, true)); /* is shown though it is off */
    CHECK_STR(line(&w, 60, 1),
              " name                        params    %             memory▴");
    w.e.ascii = true;
    CHECK_STR(line(&w, 60, 1),
              " name                        params    %             memory^");
    end_scene(&w);
}

TEST(the_tree_does_not_move_when_labels_are_switched)
{
    struct scene w;
    char before[64];

    begin_resnet(&w);
    snprintf(before, sizeof(before), "%.34s", line(&w, 100, 4));
    label_set_group(&w.e.labels, 'd');
    CHECK(strncmp(line(&w, 100, 4), before, 34) == 0);
    label_set_group(&w.e.labels, 'p');
    CHECK(strncmp(line(&w, 100, 4), before, 34) == 0);
    end_scene(&w);
}

TEST(labels_shrink_from_the_right_and_names_in_their_middle)
{
    struct scene w;

    begin_resnet(&w);
    go(&w, "layer1.0.conv2");
    label_set_parse(&w.e.labels, STR("name,type,args"), NULL);
    CHECK_STR(line(&w, 36, 11), "▌│ │ ├ ▸ conv2: Conv2d(64→64, 3×3)");
    CHECK_STR(line(&w, 33, 11), "▌│ │ ├ ▸ conv2: Conv2d(64→64, …)");
    CHECK_STR(line(&w, 31, 11), "▌│ │ ├ ▸ conv2: Conv2d(…)");
    CHECK_STR(line(&w, 24, 11), "▌│ │ ├ ▸ conv2: Conv2d…");
    CHECK_STR(line(&w, 20, 11), "▌│ │ ├ ▸ conv2: Con…");
    CHECK_STR(line(&w, 13, 11), "▌│ │ ├ ▸ co…2");
    end_scene(&w);
}

/* --- Roles */

TEST(types_frozen_rows_and_zeros_have_their_roles)
{
    struct scene w;

    resnet_begin(&w.s, true);
    begin_scene(&w);
    go(&w, "fc");
    make_lines(&w, 80, 24);
    CHECK_STR(in_role(&w, 12, COLOUR_TYPE, 0), "Linear");
    CHECK_STR(in_role(&w, 12, COLOUR_NONE, SPAN_BOLD), "fc");
    CHECK(strstr(in_role(&w, 3, COLOUR_DIM, 0), "conv1|: |Conv2d|(3→64, 7×7)|"));
    CHECK(strstr(in_role(&w, 5, COLOUR_DIM, 0), "0| 0%|0B")); /* relu */
    CHECK_STR(line(&w, 80, 0), " ResNet   torch zip   320 tensors   2.0M of 25.6M "
                               "trainable       ? INCONCLUSIVE");
    end_scene(&w);
}

TEST(rows_of_the_same_class_are_marked_by_colour_or_a_sign)
{
    struct scene w;

    begin_resnet(&w);
    go(&w, "layer1.1");
    w.room.no_colour = false;
    make_lines(&w, 80, 24);
    CHECK_STR(in_role(&w, 8, COLOUR_SAME, 0), " |0|Bottleneck");
    w.room.no_colour = true;
    make_lines(&w, 80, 24);
    CHECK_STR(in_role(&w, 8, COLOUR_SAME, 0), "=|0|Bottleneck");
    end_scene(&w);
}

/* The highlighted text in the cursor's row after a search for this. */
static const char *found(struct scene *w, const char *text)
{
    unsigned i = 1;

    CHECK(browse_search(w->e.browse, str_of(text), NULL) == 0);
    make_lines(w, 80, 24);
    while (w->lines.at[i].target != browse_cursor(w->e.browse))
        i++;
    return in_role(w, i, COLOUR_MATCH, SPAN_UNDERLINE);
}

TEST(matched_letters_are_highlighted)
{
    struct scene w;

    begin_resnet(&w);
    CHECK_STR(found(&w, "onv"), "onv");
    CHECK_STR(found(&w, "Conv2d(64→"), "Conv2d|(64→");
    CHECK_STR(found(&w, "layer1.0.c"), "c");
    CHECK_STR(found(&w, "/layer1.*v[12]/"), "conv1");
    CHECK_STR(found(&w, "conv*"), "conv1");
    CHECK_STR(found(&w, "!conv"), "");
    CHECK_STR(found(&w, "trainable"), "");
    end_scene(&w);
}

TEST(alarms_are_shown_in_the_gutter)
{
    struct scene w;
    uint32_t relu;

    begin_resnet(&w);
    make_up_times(&w);
    relu = place_find(w.s.model, STR("layer1.0.relu"));
    w.activity.at[relu].flags = ACTIVITY_PRODUCER;
    w.activity.at[relu].nan = 3;
    w.activity.first_producer = relu;
    w.activity.at[0].flags = ACTIVITY_BELOW;
    go(&w, "layer1.0.bn3");
    CHECK_STR(line(&w, 80, 2), "!▾ ResNet                                      25.6M   "
                               " 25.56s ░░░░░░░░░░░░░░░░░");
    CHECK_STR(line(&w, 80, 15),
              "✗│ │ ├ ✗ relu: ReLU(inplace=True)                  0    1.00μs ▏");
    CHECK_STR(in_role(&w, 15, COLOUR_ALARM, 0), "✗|✗ ");
    CHECK_STR(line(&w, 80, 0), " ResNet  live   25.6M params, all trainable   97.7MB  "
                               "    forward 25.56s   ✗ NaN");
    w.activity.spoilt_call = 0;
    CHECK_STR(line(&w, 80, 15), "✗│ │ ├ ✗ relu: ReLU(inplace=True)         0    1.00μs "
                                "▏                    NaN 3");
    CHECK_STR(in_role(&w, 15, COLOUR_ALARM, 0), "✗|✗ |NaN 3");
    w.activity.at[relu].nan = 15100; /* all of it, or nothing */
    CHECK(strstr(line(&w, 80, 15), "NaN 15.1K") || strstr(line(&w, 80, 15), "NaN…"));
    end_scene(&w);
}

/* --- Odd trees */

TEST(a_hundred_levels_leave_room_for_names)
{
    struct scene w;
    uint32_t node = 0;

    sample_begin(&w.s, "deep.pt");
    for (int i = 0; i < 120; i++) {
        char name[24];

        snprintf(name, sizeof(name), "level%d", i);
        node = sample_module(&w.s, node, name, "Level", "");
    }
    sample_tensor(&w.s, node, "weight", "3 3");
    sample_finish(&w.s);
    begin_scene(&w);
    browse_depth(w.e.browse, 1000);
    browse_last(w.e.browse);
    check_screen(&w, "deep_60x12", 60, 12);
    end_scene(&w);
}

TEST(wide_combining_and_hidden_letters_keep_the_columns_in_place)
{
    struct scene w;

    sample_begin(&w.s, "names.pt");
    sample_dotted(&w.s, "卷积卷积卷积卷积卷积卷积卷积卷积卷积卷积.weight", "3 3");
    sample_dotted(&w.s, "e\u0301tage.weight", "3 3");
    sample_dotted(&w.s, "שלום.weight", "3 3");
    sample_dotted(&w.s, "\033[31mred.weight", "3 3");
    sample_dotted(&w.s, "\u202egnp.weight", "3 3");
    sample_finish(&w.s);
    begin_scene(&w);
    check_screen(&w, "letters_80x24", 80, 24);
    check_screen(&w, "letters_40x8", 40, 8);
    for (unsigned width = 10; width < 100; width++)
        screen(&w, width, 10); /* checks the width of every line */
    end_scene(&w);
}

TEST(in_ascii_lines_have_only_ascii_and_fit)
{
    struct scene w;

    sample_begin(&w.s, "ascii.pt");
    sample_dotted(&w.s, "卷积.weight", "3 3");
    sample_dotted(&w.s, "b.weight", "3 3");
    sample_finish(&w.s);
    begin_scene(&w);
    browse_depth(w.e.browse, 9);
    w.e.ascii = true;
    label_set_group(&w.e.labels, 't');
    for (int flowing = 0; flowing < 2; flowing++) {
        w.e.labels.flowing = flowing;
        make_lines(&w, 60, 12);
        for (uint32_t i = 1; i + 1 < w.lines.n; i++) {
            buf_clear(&w.text);
            line_plain(&w.text, &w.lines, i);
            CHECK_INT(w.text.len, 60);
            for (size_t k = 0; k < w.text.len; k++)
                CHECK(w.text.at[k] >= ' ' && w.text.at[k] <= '~');
        }
    }
    w.e.labels.flowing = false;
    label_set_group(&w.e.labels, 't');
    CHECK_STR(line(&w, 60, 3),
              " |-+ \\u5377\\u79ef                                        36B");
    CHECK_STR(line(&w, 60, 4),
              " `-+ b                                                   36B");
    end_scene(&w);
}

/* --- The mouse, and large models */

TEST(the_mouse_finds_columns_and_arrows)
{
    struct scene w;

    begin_resnet(&w);
    make_lines(&w, 80, 24);
    CHECK_STR(tree_column_at(&w.e, &w.room, 3)->id, "name");
    CHECK_STR(tree_column_at(&w.e, &w.room, 52)->id, "params");
    CHECK_STR(tree_column_at(&w.e, &w.room, 79)->id, "memory");
    CHECK(tree_column_at(&w.e, &w.room, 80) == NULL);
    CHECK(tree_is_arrow(&w.e, &w.room, 0, 1));
    CHECK(tree_is_arrow(&w.e, &w.room, 1, 3));
    CHECK(!tree_is_arrow(&w.e, &w.room, 1, 1));
    CHECK(!tree_is_arrow(&w.e, &w.room, 3, 3)); /* relu has nothing below */
    CHECK(!tree_is_arrow(&w.e, &w.room, 99, 3));
    end_scene(&w);
}

TEST(an_index_agrees_with_a_walk_through_the_places)
{
    struct sample s;
    struct below walked, asked;

    resnet_begin(&s, true);
    for (uint32_t p = 0; p < s.model->n_places; p++) {
        struct show plain = s.show;

        if (!s.show.index)
            below_index(&s.show, &s.arena);
        CHECK(s.show.index);
        plain.index = NULL;
        below_sum(&plain, p, &walked);
        below_sum(&s.show, p, &asked);
        CHECK(memcmp(&walked, &asked, sizeof(walked)) == 0);
        CHECK_INT(below_members(&s.show, p), below_members(&plain, p));
        CHECK_INT(below_members(&s.show, p), below_members(&plain, p));
    }
    sample_release(&s);
}

TEST(a_tensor_of_a_recording_keeps_its_numbers_though_its_values_are_not_there)
{
    struct scene w;

    begin_resnet(&w);
    sample_change(&w.s)->no_values = "values are not in a recording";
    w.beside = true;
    go(&w, "layer1.0.conv2.weight");
    screen(&w, 80, 36);
    CHECK(strstr(w.text.at, "▪ weight  64×64×3×3"));
    CHECK(!strstr(w.text.at, "values are not"));
    CHECK(strstr(strstr(w.text.at, "▪ weight  64×64×3×3"), "  36.9K 100%"));
    end_scene(&w);
}

TEST(a_narrow_title_shortens_parameters_before_dropping_them)
{
    static const struct {
        unsigned width;
        const char *title;
    } expected[] = {
        {90, " ResNet  live   25.6M params (27.6M untied)   97.7MB"},
        {51, " ResNet  live   25.6M params (27.6M untied)"},
        {45, " ResNet  live   25.6M params   97.7MB"},
        {30, " ResNet  live   25.6M params"},
        {20, " ResNet  live"},
    };
    struct scene w;

    begin_resnet(&w);
    w.s.session->total.stored = w.s.session->total.params + 2000000;
    w.s.session->total.trainable = w.s.session->total.frozen = 0;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        struct str line;

        lines_clear(&w.lines);
        title_line(&w.lines, &w.e, expected[i].width);
        buf_clear(&w.text);
        line_plain(&w.text, &w.lines, 0);
        line = buf_span(&w.text);
        while (line.len > 0 && line.at[line.len - 1] == ' ')
            line.len--;
        CHECK(str_is(line, expected[i].title));
    }
    end_scene(&w);
}
