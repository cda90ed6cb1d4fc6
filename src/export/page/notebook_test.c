#include "export/page/notebook_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "export/check_json_in.h"
#include "model/build.h"
#include "session/sample_session.h"

static void write_page(struct buf *page, struct session *session, uint32_t place)
{
    struct export_wanted wanted = {.view = PRINTED_WANTED_INIT, .place = place};
    struct out out;

    out_init_buf(&out, page);
    CHECK(exporter_find(STR("notebook"))->write(&out, session, &wanted, NULL) == 0);
    CHECK(out_release(&out) == 0);
    CHECK(page->len <= NOTEBOOK_MOST && !has(page, "<script"));
}

static uint32_t count(const struct buf *page, const char *word)
{
    uint32_t n = 0;

    for (const char *at = page->at; (at = strstr(at, word)); at++)
        n++;
    return n;
}

/* `outer` modules of `inner` ones each, whose names begin with `name`; no two are
 * equal, so none fold. */
static struct session *many(uint32_t outer, uint32_t inner, const char *name)
{
    struct build build;
    struct session *session;
    uint32_t node;
    char text[2000];

    CHECK(build_init(&build, "many", (size_t)1 << 30, NULL, NULL) == 0);
    build_set_kind(&build, 0, PLACE_MODULE);
    for (uint32_t i = 0; i < outer; i++) {
        snprintf(text, sizeof(text), "%s%u", name, i);
        node = build_node(&build, 0, PLACE_MODULE, str_of(text));
        for (uint32_t k = 0; k < inner; k++) {
            snprintf(text, sizeof(text), "Class%u", (i * inner + k) % 1000);
            build_object(&build, build_node(&build, node, PLACE_MODULE, str_of("leaf")))
                ->class_id = build_class(&build, str_of(text));
        }
    }
    session = session_of(build_finish(&build, NULL), NULL);
    build_release(&build);
    return session;
}

TEST(a_notebook_shows_the_tree_with_names_escaped)
{
    struct session *session = sample_session();
    struct buf page = BUF_INIT;

    write_page(&page, session, 0);
    CHECK(has(&page, "<b>a</b> Linear"));
    CHECK(has(&page, "<b>=x\\n</b>") && has(&page, "&lt;&amp;&gt;"));
    CHECK(count(&page, "<details") == count(&page, "</details>"));
    buf_release(&page);
    session_close(session);
}

TEST(columns_and_a_filter_apply_to_a_notebook)
{
    struct export_wanted wanted = {.view = PRINTED_WANTED_INIT, .theme = "dark"};
    struct session *session = sample_session();
    struct buf page = BUF_INIT;
    struct out out;

    wanted.view.columns = "params,percent,dtype";
    wanted.view.filter = "/^a$/";
    out_init_buf(&out, &page);
    CHECK(export_notebook(&out, session, &wanted, NULL) == 0);
    CHECK(out_release(&out) == 0);
    CHECK(has(&page, "<div class=\"torchoscope ts-dark\">"));
    CHECK(has(&page, "<b>a</b> Linear") && !has(&page, "<b>=x"));
    CHECK(has(&page, ">parameters</span>") && has(&page, ">dtype</span>"));
    CHECK(has(&page, "<span class=\"ts-p\">") && !has(&page, ">memory</span>"));
    CHECK(!has(&page, "of parameters") && !has(&page, "with buffers"));
    wanted.view.columns = "pixels";
    CHECK(export_notebook(&out, session, &wanted, NULL) < 0);
    buf_release(&page);
    session_close(session);
}

TEST(a_notebook_shows_one_tensor)
{
    struct session *session = sample_session();
    struct buf page = BUF_INIT;

    write_page(&page, session, sample_place(session, "a.weight"));
    CHECK(has(&page, "<th>min</th><td>−6 at [1, 2]</td>") && has(&page, "<rect "));
    buf_clear(&page);
    write_page(&page, session, sample_place(session, "a.bias"));
    CHECK(has(&page, "<tr class=\"ts-alarm\"><th>NaN</th><td>1 of 2</td>"));
    buf_clear(&page);
    write_page(&page, session, sample_place(session, "lost"));
    CHECK(has(&page, "its data is missing"));
    buf_release(&page);
    session_close(session);
}

TEST(rows_that_do_not_fit_are_counted)
{
    struct session *session = many(200, 50, "block");
    struct buf page = BUF_INIT;
    uint32_t shown, rest = 0;

    write_page(&page, session, 0);
    CHECK(page.len > NOTEBOOK_MOST * 9 / 10);
    CHECK(has(&page, "<b>block199</b>")); /* breadth first */
    shown = count(&page, "<b>leaf</b>");
    for (const char *at = page.at; (at = strstr(at, "ts-more\">… ")); at++)
        rest += (uint32_t)strtoul(at + strlen("ts-more\">… "), NULL, 10);
    CHECK(shown > 100 && shown + rest == 200 * 50);
    CHECK(count(&page, "<details") == 201 && count(&page, "</details>") == 201);
    buf_release(&page);
    session_close(session);
}

TEST(names_of_any_length_fit)
{
    char name[1000];
    struct session *session;
    struct buf page = BUF_INIT;

    memset(name, '<', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    session = many(3000, 1, name);
    write_page(&page, session, 0);
    CHECK(has(&page, "more modules") && !has(&page, "<<"));
    buf_release(&page);
    session_close(session);
}

TEST(a_tree_deeper_than_browsers_go_ends_in_a_count)
{
    struct buf page = BUF_INIT;
    struct build build;
    struct session *session;
    uint32_t node = 0;

    CHECK(build_init(&build, "deep", (size_t)1 << 30, NULL, NULL) == 0);
    build_set_kind(&build, 0, PLACE_MODULE);
    for (uint32_t i = 0; i < 300; i++) {
        build_object(&build, node)->class_id = build_class(&build, STR("Deep"));
        node = build_node(&build, node, PLACE_MODULE, STR("x"));
    }
    build_object(&build, node)->class_id = build_class(&build, STR("Deep"));
    session = session_of(build_finish(&build, NULL), NULL);
    build_release(&build);
    write_page(&page, session, 0);
    CHECK(has(&page, "… 200 more modules"));
    buf_release(&page);
    session_close(session);
}
