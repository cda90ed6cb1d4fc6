/* The interactive file: one page with its style, script and data, without any network
 * requests. A Content-Security-Policy allows only this script. */
#include "base/base.h"
#include "export/look/look.h"
#include "export/look/tokens.h"
#include "export/picture/graph_text.h"
#include "export/picture/picture_in.h"
#include "text/escape.h"

struct page {
    struct out *out;
    const struct diagram *diagram;
    const struct picture_wanted *wanted;
    struct buf spare;
};

static void put_title(struct page *page)
{
    const struct diagram *diagram = page->diagram;

    if (page->wanted->title)
        escape_html(&page->spare, str_of(page->wanted->title));
    for (uint32_t i = 0; !page->wanted->title && i < diagram->n_path; i++) {
        buf_text(&page->spare, i > 0 ? " \xe2\x80\xba " : "");
        escape_html(&page->spare, diagram->path[i]);
    }
    out_str(page->out, buf_span(&page->spare));
    buf_clear(&page->spare);
}

static void put_head(struct page *page)
{
    struct out *out = page->out;
    const struct picture_wanted *wanted = page->wanted;

    out_text(out, "<!doctype html>\n<html lang=\"en\"");
    if (wanted->theme_given)
        out_printf(out, " data-theme=\"%s\"", wanted->dark ? "dark" : "light");
    out_text(out, "><head><meta charset=\"utf-8\">"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                  "'none'; style-src 'unsafe-inline'; script-src 'sha256-");
    look_script_hash(&page->spare, graph_js);
    out_str(out, buf_span(&page->spare));
    buf_clear(&page->spare);
    out_text(out, "'; base-uri 'none'; form-action 'none'\">"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    put_title(page);
    out_text(out, ", torchoscope graph</title>\n<style>\n");
    tokens_css(out);
    out_text(out, graph_css);
    out_text(out, "</style>\n<script>");
    out_text(out, graph_js);
    out_text(out, "</script></head>\n");
}

static void put_body(struct page *page)
{
    struct out *out = page->out;

    out_text(out, "<body><header id=\"bar\"></header><p id=\"facts\"></p>"
                  "<main id=\"stage\"></main>"
                  "<footer><div id=\"legend\"></div>");
    if (!page->wanted->no_mark)
        out_printf(out, "<div class=\"mark\">%storchoscope</div>", look_logo);
    out_text(out, "</footer><div id=\"toast\" role=\"status\" hidden></div>"
                  "<noscript><p>This graph needs JavaScript. <code>torchoscope graph "
                  "-o graph.svg</code> writes a picture that does not.</p></noscript>\n"
                  "<script type=\"application/json\" id=\"data\">");
}

int picture_html(struct out *out, struct diagram *diagram,
                 const struct picture_wanted *wanted, struct err *err)
{
    struct page page = {.out = out, .diagram = diagram, .wanted = wanted};
    int status;

    put_head(&page);
    put_body(&page);
    status = picture_data(out, diagram, wanted, err);
    out_text(out, "</script></body></html>\n");
    buf_release(&page.spare);
    return status;
}
