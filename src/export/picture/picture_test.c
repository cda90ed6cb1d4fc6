#include "export/picture/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test.h"
#include "export/look/tokens.h"
#include "export/picture/sketch_in.h"

static const struct picture_wanted plain = {.color = DIAGRAM_FAMILY};

/* The picture in `form` as text; the caller releases it. */
static struct buf written(struct sketch *sketch, const char *form,
                          const struct picture_wanted *wanted)
{
    struct buf text = BUF_INIT;
    struct out out;
    struct err err = {0};

    out_init_buf(&out, &text);
    CHECK(
        picture_form_find(str_of(form))->write(&out, &sketch->diagram, wanted, &err) ==
        0);
    out_release(&out);
    CHECK(!text.bad);
    return text;
}

static size_t count(const struct buf *text, const char *part)
{
    size_t n = 0;

    for (const char *at = buf_cstr(text); (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

#define CHECK_HAS(text, part) CHECK(strstr(buf_cstr(text), part) != NULL)
#define CHECK_NOT(text, part) CHECK(strstr(buf_cstr(text), part) == NULL)

TEST(an_svg_has_the_structure_that_its_contract_fixes)
{
    struct sketch *sketch = sketch_block();
    struct buf svg = written(sketch, "svg", &plain);

    CHECK(
        str_starts(buf_span(&svg), STR("<svg xmlns=\"http://www.w3.org/2000/svg\" ")));
    CHECK(str_ends(buf_span(&svg), STR("</svg>\n")));
    CHECK_INT(count(&svg, "<g class=\"node\""), 14);
    CHECK_INT(count(&svg, "<g class=\"group\""), 2);
    CHECK_INT(count(&svg, "<g class=\"title\">"), 2);
    CHECK_INT(count(&svg, "<path class=\"edge\""), 14);
    CHECK_INT(count(&svg, "class=\"arrow\""), 14);
    CHECK_INT(count(&svg, "class=\"split\""), 1);
    CHECK_INT(count(&svg, "<text class=\"edge-label\""), 11);
    CHECK_INT(count(&svg, "<g class=\"legend\">"), 1);
    CHECK_INT(count(&svg, "<g"), count(&svg, "</g>"));
    CHECK_INT(count(&svg, "<title>"), 16);
    CHECK_HAS(&svg,
              "<g class=\"node\" data-id=\"layer1.0.conv2\" data-kind=\"module\" "
              "data-name=\"conv2\">\n<title>conv2 Conv2d 3×3, 64→64, pad 1 36.9K\n"
              "layer1.0.conv2</title>");
    CHECK_HAS(&svg,
              "data-kind=\"module\" data-name=\"downsample\">\n<rect class=\"frame\"");
    CHECK_HAS(&svg, "data-from=\"layer1.0.bn3\" data-to=\"layer1.0.+\"");
    CHECK_HAS(&svg, "data-from=\"x\" data-to=\"layer1.0.downsample.0\"");
    CHECK_NOT(&svg, "<script");
    CHECK_NOT(&svg, "<style");
    CHECK_NOT(&svg, "foreignObject");
    CHECK_NOT(&svg, "var(");
    CHECK_NOT(&svg, "#FF00FF");
    buf_release(&svg);
    sketch_free(sketch);
}

TEST(a_line_has_a_gap_where_it_crosses_a_title)
{
    struct sketch *sketch = sketch_block();
    struct buf svg = written(sketch, "svg", &plain);
    const char *edge =
        strstr(buf_cstr(&svg), "data-from=\"x\" data-to=\"layer1.0.conv1\" d=\"");
    struct str path = str_of(edge ? strstr(edge, " d=\"") + 4 : "");

    path = str_head(path, (size_t)str_find_char(path, '"'));
    CHECK_INT(path.at[0], 'M');
    CHECK(str_find_char(str_from(path, 1), 'M') > 0);
    buf_release(&svg);
    sketch_free(sketch);
}

TEST(the_same_diagram_gives_the_same_bytes)
{
    for (size_t i = 0; i < n_picture_forms; i++) {
        struct sketch *sketch = sketch_everything();
        struct buf once, again;

        if (strcmp(picture_forms[i].suffix, "png") == 0 ||
            strcmp(picture_forms[i].suffix, "json") == 0) {
            sketch_free(sketch);
            continue; /* needs a library, or a recording: has tests of its own */
        }
        once = written(sketch, picture_forms[i].suffix, &plain);
        again = written(sketch, picture_forms[i].suffix, &plain);
        CHECK(once.len > 100 && str_eq(buf_span(&once), buf_span(&again)));
        buf_release(&once);
        buf_release(&again);
        sketch_free(sketch);
    }
}

TEST(hostile_names_stay_text)
{
    static const char *const forms[] = {"svg", "dot", "mmd", "pdf"};
    struct sketch *sketch = sketch_new();
    uint32_t a = sketch_box(sketch, 0, DIAGRAM_MODULE,
                            "<script>alert('1')</script>\"\n&\x1b[31m\xe2\x80\xae\xff",
                            FAMILY_CONV, "<b>,\"] end");
    uint32_t b = sketch_box(sketch, 0, DIAGRAM_OP, "]]>-->\\N`#", FAMILY_OTHER, "");

    sketch_value(
        sketch, a, &b, 1,
        &(struct diagram_net){.label = STR("<i>\"|"), .changed = true, .n_tensors = 1});
    sketch->path[0] = STR("</svg>%\n\"");
    sketch_end(sketch);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct buf text = written(sketch, forms[i], &plain);

        CHECK_NOT(&text, "\x1b");
        CHECK_NOT(&text, "\xe2\x80\xae");
        CHECK_NOT(&text, "\xff");
        if (i == 0) {
            CHECK_NOT(&text, "<script");
            CHECK_NOT(&text, "<i>");
            CHECK_HAS(&text, "&lt;script&gt;alert(&#39;1&#39;)");
            CHECK_INT(count(&text, "</svg>"), 1);
        }
        if (i == 1)
            CHECK_HAS(&text, "label=\"<i>\\\"|\"");
        if (i == 2) {
            CHECK_HAS(&text, "#60;i#62;#34;#124;");
            CHECK_NOT(&text, "<script");
        }
        buf_release(&text);
    }
    sketch_free(sketch);
}

TEST(marks_show_alarms_changes_and_gradients)
{
    struct sketch *sketch = sketch_everything();
    struct buf svg = written(sketch, "svg", &plain);

    CHECK_HAS(&svg, ">NaN</text>");
    CHECK_INT(count(&svg, "<g class=\"change\">"), 3 + 3); /* and the legend */
    CHECK_INT(count(&svg, " data-change=\"added\""), 1);
    CHECK_INT(count(&svg, " data-change=\"removed\""), 1);
    CHECK_INT(count(&svg, " data-change=\"changed\""), 1);
    CHECK_INT(count(&svg, "class=\"sheet\""), 2);
    CHECK_HAS(&svg, ">skip 82%</text>");
    CHECK_HAS(&svg, ">18%</text>");
    CHECK_HAS(&svg, ">3 tensors</text>");
    CHECK_HAS(&svg, "class=\"detached\"");
    CHECK_HAS(&svg, "embed_the_…_the_context");
    CHECK_HAS(&svg, ">Embedding 131072×4096, padding 0, …<");
    CHECK_HAS(&svg, "<title>embed_the_positions_of_all_the_context Embedding "
                    "131072×4096, padding 0, max norm 1, scaled by frequency 536.9M");
    buf_release(&svg);
    sketch_free(sketch);
}

TEST(heat_has_nine_steps_of_the_square_root)
{
    struct picture_wanted wanted = {.color = DIAGRAM_TIME};
    struct sketch *sketch = sketch_block();
    struct picture picture;
    struct err err = {0};

    CHECK(picture_init(&picture, &sketch->diagram, &wanted, &err) == 0);
    CHECK_NEAR(picture.heat_most, 2460e3, 1);
    CHECK(!picture.heat_log);
    for (uint32_t i = 1; i < sketch->n_boxes; i++) {
        double share = sqrt(sketch->boxes[i].metric[DIAGRAM_TIME] / 2460e3);

        if (picture.boxes[i].heat != PICTURE_NO_HEAT)
            CHECK_INT(picture.boxes[i].heat, lround(8 * share));
    }
    picture_release(&picture);

    sketch->boxes[6].metric[DIAGRAM_TIME] = 1e12; /* conv2 */
    CHECK(picture_init(&picture, &sketch->diagram, &wanted, &err) == 0);
    CHECK(picture.heat_log);
    CHECK_INT(picture.boxes[6].heat, 8);
    CHECK_INT(picture.boxes[5].heat, 0);
    picture_release(&picture);
    sketch_free(sketch);
}

/* Texts must fit with fonts that are 15 % wider, boxes must not overlap. */
static void check_boxes(const struct picture *picture)
{
    const struct plan *plan = &picture->diagram->plan;

    for (uint32_t i = 1; i < plan->n_boxes; i++) {
        const struct plan_box *a = &plan->boxes[i];

        if (a->w == 0)
            continue;
        CHECK(a->x >= 0 && a->y >= 0);
        CHECK(a->x + a->w + picture->left <= picture->width);
        CHECK(a->y + a->h + picture->top <= picture->height);
        for (uint32_t k = i + 1; k < plan->n_boxes; k++) {
            const struct plan_box *b = &plan->boxes[k];

            if (b->w > 0 && k >= a->end)
                CHECK(a->x + a->w <= b->x || b->x + b->w <= a->x ||
                      a->y + a->h <= b->y || b->y + b->h <= a->y);
        }
    }
}

TEST(boxes_of_both_directions_lie_on_the_page_and_apart)
{
    for (int i = 0; i < 4; i++) {
        struct picture_wanted wanted = {.color = DIAGRAM_FAMILY, .sideways = i & 1};
        struct sketch *sketch = i & 2 ? sketch_everything() : sketch_block();
        struct picture picture;
        struct err err = {0};

        CHECK(picture_init(&picture, &sketch->diagram, &wanted, &err) == 0);
        check_boxes(&picture);
        CHECK(picture.n_lines == (i & 2 ? 10 : 14));
        picture_release(&picture);
        sketch_free(sketch);
    }
}

TEST(every_colour_of_a_dark_picture_is_dark)
{
    struct picture_wanted wanted = {.color = DIAGRAM_FAMILY, .dark = true};
    struct sketch *sketch = sketch_everything();
    struct buf svg = written(sketch, "svg", &wanted);

    CHECK_HAS(&svg, "#181B20");
    CHECK_NOT(&svg, "#FFFFFF");
    CHECK_NOT(&svg, "#6B7482");
    buf_release(&svg);
    wanted.no_ground = wanted.no_mark = true;
    svg = written(sketch, "svg", &wanted);
    CHECK_NOT(&svg, "class=\"ground\"");
    CHECK_NOT(&svg, "class=\"mark\"");
    buf_release(&svg);
    sketch_free(sketch);
}

TEST(a_picture_inside_a_page_takes_its_colours_from_there)
{
    static const struct picture_inside inside = {.variables = "--ts-",
                                                 .classes = "ts-g-"};
    struct picture_wanted wanted = {
        .color = DIAGRAM_FAMILY, .no_ground = true, .inside = &inside};
    struct sketch *sketch = sketch_everything();
    struct buf svg = written(sketch, "svg", &wanted);

    CHECK_HAS(&svg, "<svg width=");
    CHECK_HAS(&svg, "fill=\"var(--ts-sunken,#ECEEF2)\"");
    CHECK_HAS(&svg, "class=\"ts-g-node\"");
    CHECK_HAS(&svg, "contains more");
    CHECK_NOT(&svg, "=\"#");
    CHECK_NOT(&svg, "class=\"node");
    CHECK_NOT(&svg, "http");
    CHECK_NOT(&svg, "heading");
    CHECK_NOT(&svg, "<a ");
    CHECK_NOT(&svg, "HTML file");
    buf_release(&svg);
    sketch_free(sketch);
}

TEST(a_pdf_has_the_offsets_of_its_objects)
{
    struct sketch *sketch = sketch_block();
    struct buf pdf = written(sketch, "pdf", &plain);
    struct str file = buf_span(&pdf);
    ptrdiff_t start = str_find(file, STR("startxref\n")), table, length, stream;
    char name[16];

    CHECK(start > 0);
    table = atol(file.at + start + 10);
    CHECK(str_starts(str_from(file, (size_t)table), STR("xref\n0 9\n")));
    for (int i = 1; i <= 8; i++) {
        long offset = atol(file.at + table + 9 + 20 * (ptrdiff_t)i);

        snprintf(name, sizeof name, "%d 0 obj\n", i);
        CHECK(offset > 0 && (size_t)offset < file.len);
        CHECK(str_starts(str_from(file, (size_t)offset), str_of(name)));
    }
    length = str_find(file, STR("/Length "));
    stream = str_find(file, STR("stream\n"));
    CHECK(length > 0 && stream > length);
    CHECK(str_starts(str_from(file, (size_t)(stream + 7 + atol(file.at + length + 8))),
                     STR("\nendstream")));
    CHECK_HAS(&pdf, "(64) Tj ET");    /* 64→64: the arrow is in another font */
    CHECK_HAS(&pdf, "(\\256) Tj ET"); /* of Symbol */
    buf_release(&pdf);
    sketch_free(sketch);
}

TEST(mermaid_gets_fewer_than_500_lines)
{
    struct sketch *sketch = sketch_new();
    uint32_t group[3], before = PLAN_NONE;
    struct diagram_net net = {.n_tensors = 1};
    struct buf text;

    /* 200 boxes in a group within a group, each read by the next three. */
    group[0] = sketch_box(sketch, 0, DIAGRAM_MODULE, "outer", FAMILY_NONE, "Net");
    group[1] =
        sketch_box(sketch, group[0], DIAGRAM_MODULE, "inner", FAMILY_NONE, "Net");
    for (int i = 0; i < 200; i++)
        sketch_box(sketch, group[1], DIAGRAM_OP, "relu", FAMILY_ACTIVATION, "");
    before = sketch_box(sketch, group[0], DIAGRAM_OP, "sum", FAMILY_POOL, "");
    for (uint32_t i = group[1] + 1; i + 3 < before; i++)
        sketch_value(sketch, i, (uint32_t[]){i + 1, i + 2, i + 3}, 3, &net);
    sketch_value(sketch, before - 1, &before, 1, &net);
    sketch_end(sketch)->wanted.depth = 9; /* the requested depth, whatever the page
                                             size */
    text = written(sketch, "mmd", &plain);
    CHECK_HAS(&text, "%% Groups are folded");
    CHECK_INT(count(&text, "-->"), 1);
    CHECK(sketch->plan_boxes[group[1]].flags & PLAN_OPEN);
    buf_release(&text);
    sketch_free(sketch);
}

/* Two blocks of 30 boxes, one inside the other. */
static struct sketch *sketch_high(void)
{
    struct sketch *sketch = sketch_new();
    uint32_t group[2], box = 0;
    struct diagram_net net = {.n_tensors = 1};

    group[0] = sketch_box(sketch, 0, DIAGRAM_MODULE, "outer", FAMILY_NONE, "Net");
    group[1] =
        sketch_box(sketch, group[0], DIAGRAM_MODULE, "inner", FAMILY_NONE, "Net");
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t before = box;

        box = sketch_box(sketch, group[i < 30], DIAGRAM_OP, "relu", FAMILY_ACTIVATION,
                         "");
        if (i > 0)
            sketch_value(sketch, before, &box, 1, &net);
    }
    sketch_end(sketch)->n_shown = 60;
    return sketch;
}

TEST(groups_close_until_the_page_is_not_too_large)
{
    struct sketch *sketch = sketch_high();
    struct diagram *diagram = &sketch->diagram;
    struct picture picture;
    struct err err = {0};

    CHECK(picture_init(&picture, diagram, &plain, &err) == 0);
    CHECK(picture.height <= 2400 && picture.width <= 1200);
    CHECK(diagram->plan.boxes[1].flags & PLAN_OPEN);    /* closing the inner one */
    CHECK(!(diagram->plan.boxes[2].flags & PLAN_OPEN)); /* is enough */
    CHECK_INT(diagram->n_shown, 31);
    picture_release(&picture);
    CHECK(diagram->plan.boxes[2].flags & PLAN_OPEN);
    CHECK_INT(diagram->n_shown, 60);

    diagram->wanted.depth = 9;
    CHECK(picture_init(&picture, diagram, &plain, &err) == 0);
    CHECK(picture.height > 2400);
    CHECK(diagram->plan.boxes[2].flags & PLAN_OPEN);
    picture_release(&picture);
    sketch_free(sketch);
}

TEST(an_output_drops_its_type_and_its_shape_whole)
{
    struct sketch *sketch = sketch_new();
    struct buf svg;

    sketch_box(sketch, 0, DIAGRAM_OUTPUT, "encoder_last_hidden", FAMILY_NONE,
               "1×12×64,float32");
    sketch_box(sketch, 0, DIAGRAM_OUTPUT, "encoder_last_hidden_state", FAMILY_NONE,
               "1×12×64,float32");
    sketch_end(sketch);
    svg = written(sketch, "svg", &plain);
    CHECK_INT(count(&svg, ">1×12×64</tspan>"), 1);
    CHECK_NOT(&svg, "…");
    buf_release(&svg);
    sketch_free(sketch);
}

TEST(a_form_is_chosen_by_the_end_of_a_path)
{
    struct err err = {0};

    CHECK_STR(picture_form_of("a/b.SVG", &err)->suffix, "svg");
    CHECK_STR(picture_form_of("x.tar.pdf", &err)->suffix, "pdf");
    CHECK(!picture_form_of("a.svg/b", &err));
    CHECK_INT(err.code, ERR_USAGE);
    CHECK(strstr(err.text, ".svg, .png, .pdf"));
    CHECK(!picture_form_find(STR("jpg")));
}

TEST(an_empty_diagram_is_a_page_with_a_title)
{
    struct sketch *sketch = sketch_new();
    struct buf svg;

    sketch_end(sketch);
    svg = written(sketch, "svg", &plain);
    CHECK_HAS(&svg, ">Net</text>");
    CHECK_INT(count(&svg, "class=\"node\""), 0);
    buf_release(&svg);
    sketch_free(sketch);
}
