#include <string.h>

#include "base/test.h"
#include "export/check_json_in.h"
#include "export/exporters.h"
#include "export/look/tokens.h"
#include "run/sample_block.h"
#include "run/sample_run.h"
#include "session/sample_session.h"

static struct buf page_of(struct session *session)
{
    struct export_wanted wanted = {.view = PRINTED_WANTED_INIT};
    struct buf page = BUF_INIT;
    struct err err = {0};
    struct out out;

    CHECK(session);
    out_init_buf(&out, &page);
    CHECK(exporter_find(STR("html"))->write(&out, session, &wanted, &err) == 0);
    CHECK(out_release(&out) == 0);
    session_close(session);
    return page;
}

/* The text between the tags of the data. */
static struct str data_of(const struct buf *page)
{
    struct str rest = buf_span(page);

    rest = str_from(rest, (size_t)str_find(rest, STR("id=\"data\">")) + 10);
    return str_head(rest, (size_t)str_find(rest, STR("</script>")));
}

static size_t count(const struct buf *page, const char *part)
{
    size_t n = 0;

    for (const char *at = buf_cstr(page); (at = strstr(at, part)) != NULL; at++)
        n++;
    return n;
}

TEST(rows_of_a_page_are_json_that_cannot_end_the_script)
{
    struct buf page = page_of(sample_session());
    struct buf data = BUF_INIT;

    buf_str(&data, data_of(&page));
    check_json(&data);
    CHECK(has(&data, "\\u003c\\u0026\\u003e"));
    CHECK(count(&page, "<script") == 2 && count(&page, "</script") == 2);
    CHECK(count(&page, "<&>") == 0);
    CHECK(has(&page, "<b>Numbers.</b> NaN 1 in 1 tensor: "
                     "<a href=\"#table\" data-name=\"a.bias\">a.bias</a>."));
    buf_release(&data);
    buf_release(&page);
}

TEST(a_recording_has_a_page_with_its_times)
{
    struct buf page = page_of(session_of_run(sample_run(2), NULL));
    struct buf data = BUF_INIT;

    buf_str(&data, data_of(&page));
    check_json(&data);
    CHECK(has(&data, "{\"id\":\"time\",\"number\":1,\"bar\":1,\"whole\":"));
    CHECK(has(&page, ">forward</th>"));
    buf_release(&data);
    buf_release(&page);
}

TEST(a_recording_with_operations_has_flops_by_module)
{
    struct buf page = page_of(session_of_run(
        sample_block((struct sample_block_wanted){.backward = true}), NULL));

    CHECK(has(&page, "<h2>Where the FLOPs go</h2>"));
    CHECK(has(&page, "<b>block.conv1</b> 147.5K, 42% of forward</span>"));
    CHECK(has(&page, "<b>stem</b> 55.3K, 16% of forward</span>"));
    CHECK(has(&page,
              "<p class=\"dim\">Forward 350.5K by 4 of 16 operations, all matrix "
              "work; backward 294.9K by 1 of 1 operation, all matrix work. A "
              "multiply-add is two FLOPs; only matrix work is counted.</p>"));
    CHECK(has(&page, "<div><b>350.5K</b><span>FLOPs forward by 4 of 16 operations, all "
                     "matrix work</span></div>"));
    CHECK(has(&page, "class=\"c-flops num wide\" "));
    CHECK(has(&page, ">FLOPs</th>"));
    CHECK(has(&page, "<td class=\"num wide\">147.5K</td>"));
    CHECK(has(&page, "{\"id\":\"flops\",\"number\":1,\"bar\":0,\"whole\":350"));
    buf_release(&page);
    page = page_of(session_of_run(
        sample_block((struct sample_block_wanted){.uncounted = true}), NULL));
    CHECK(has(&page, "<div><b>≥203.1K</b><span>FLOPs forward by 3 of 16 operations, "
                     "75% of those that do matrix work</span></div>"));
    buf_release(&page);
    page = page_of(session_of_run(sample_run(2), NULL)); /* no operations */
    CHECK(!has(&page, "FLOPs"));
    buf_release(&page);
}

TEST(a_recording_has_a_graph_whose_boxes_link_to_rows)
{
    struct buf page =
        page_of(session_of_run(sample_block((struct sample_block_wanted){0}), NULL));

    CHECK(count(&page, "<svg width=\"") == 2); /* the logo, the graph */
    CHECK(has(&page, "<h2>Graph</h2>"));
    CHECK(has(&page, "<a href=\"#table\" data-name=\"block.conv1\">"));
    CHECK(has(&page, "fill=\"var(--t-conv,#EAF2FB)\""));
    CHECK(count(&page, "<a href=\"#table\"") == count(&page, "</a>"));
    buf_release(&page);
    page = page_of(sample_session()); /* a state_dict has no graph */
    CHECK(!has(&page, "Graph</h2>") && count(&page, "<svg width=\"") == 1);
    buf_release(&page);
}

TEST(every_colour_has_a_unique_name)
{
    for (size_t i = 0; i < n_tokens; i++) {
        CHECK(strlen(tokens[i].light) == 7 && strlen(tokens[i].dark) == 7);
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(tokens[i].name, tokens[k].name) != 0);
    }
}
