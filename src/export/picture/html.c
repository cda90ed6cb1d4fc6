/* The interactive file: one page with its style, script and data, and no request to
 * anywhere. A Content-Security-Policy allows only this script. */
#include "base/base.h"
#include "export/look/look.h"
#include "export/look/tokens.h"
#include "export/picture/graph_text.h"
#include "export/picture/html_in.h"
#include "text/escape.h"

static void put_title(struct html *html)
{
    const struct picture_wanted *wanted = html->picture->wanted;
    const struct diagram *diagram = html->diagram;

    if (wanted->title)
        escape_html(&html->spare, str_of(wanted->title));
    for (uint32_t i = 0; !wanted->title && i < diagram->n_path; i++) {
        buf_text(&html->spare, i > 0 ? " \xe2\x80\xba " : "");
        escape_html(&html->spare, diagram->path[i]);
    }
    out_str(html->out, buf_span(&html->spare));
    buf_clear(&html->spare);
}

static void put_head(struct html *html)
{
    struct out *out = html->out;
    const struct picture_wanted *wanted = html->picture->wanted;

    out_text(out, "<!doctype html>\n<html lang=\"en\"");
    if (wanted->theme_given)
        out_printf(out, " data-theme=\"%s\"", wanted->dark ? "dark" : "light");
    out_text(out, "><head><meta charset=\"utf-8\">"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                  "'none'; style-src 'unsafe-inline'; script-src 'sha256-");
    look_script_hash(&html->spare, graph_js);
    out_str(out, buf_span(&html->spare));
    buf_clear(&html->spare);
    out_text(out, "'; base-uri 'none'; form-action 'none'\">"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    put_title(html);
    out_text(out, ", torchoscope graph</title>\n<style>\n");
    tokens_css(out);
    out_text(out, graph_css);
    out_text(out, "</style>\n<script>");
    out_text(out, graph_js);
    out_text(out, "</script></head>\n");
}

static void put_body(struct html *html)
{
    struct out *out = html->out;

    out_text(out, "<body><header id=\"bar\"></header><p id=\"facts\"></p>"
                  "<main id=\"stage\" tabindex=\"0\" role=\"application\">"
                  "<span id=\"now\" role=\"img\"></span></main>"
                  "<footer><div id=\"legend\"></div>");
    if (!html->picture->wanted->no_mark)
        out_printf(out, "<div class=\"mark\">%storchoscope</div>", look_logo);
    out_text(out, "</footer><div id=\"toast\" role=\"status\" hidden></div>"
                  "<noscript><p>This graph needs JavaScript. <code>torchoscope graph "
                  "-o graph.svg</code> writes a picture that does not.</p></noscript>\n"
                  "<script type=\"application/json\" id=\"data\">");
}

int picture_html(struct out *out, struct diagram *diagram,
                 const struct picture_wanted *wanted, struct err *err)
{
    struct picture_wanted page = *wanted;
    struct picture picture;
    struct html html = {
        .out = out, .picture = &picture, .diagram = diagram, .plan = &diagram->plan};
    int status;

    page.shapes = true; /* the reader may choose other colours */
    if (picture_init(&picture, diagram, &page, err) < 0)
        return -1;
    arena_init(&html.arena, 0);
    put_head(&html);
    put_body(&html);
    status = html_data(&html, err);
    out_text(out, "</script></body></html>\n");
    buf_release(&html.spare);
    arena_release(&html.arena);
    picture_release(&picture);
    return status;
}
