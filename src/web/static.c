/* The page itself: the same for everyone, without data. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "export/look/tokens.h"
#include "page/page_text.h"
#include "web/page_file_in.h"

#define FILE_OF(path, type, text)                                                      \
    {                                                                                  \
        path, type,                                                                    \
        {                                                                              \
            text, sizeof text - 1                                                      \
        }                                                                              \
    }

static const struct {
    const char *path, *type;
    struct str text;
} files[] = {
    FILE_OF("", "text/html; charset=utf-8", page_html),
    FILE_OF("page.css", "text/css; charset=utf-8", page_css),
    FILE_OF("page.js", "text/javascript; charset=utf-8", page_js_page),
    FILE_OF("chunk.js", "text/javascript; charset=utf-8", page_js_chunk),
    FILE_OF("more.js", "text/javascript; charset=utf-8", page_js_more),
};

struct page_texts page_texts(void)
{
    return (struct page_texts){
        .html = STR(page_html), .style = STR(page_css), .script = STR(page_whole)};
}

bool static_is_script(struct str path)
{
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (str_is(path, files[i].path))
            return str_ends(path, STR(".js"));
    return false;
}

/* A hash of the bytes, FNV-1a, which is the same in every process (unlike
 * str_hash()). */
static void make_etag(char to[24], struct str text)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.at[i]) * 0x100000001b3u;
    snprintf(to, 24, "\"%016llx\"", (unsigned long long)hash);
}

/* The colours, then the style that uses them. */
static struct buf make_style(void)
{
    struct buf text = BUF_INIT;
    struct out out;

    out_init_buf(&out, &text);
    tokens_css(&out);
    out_text(&out, page_css);
    return text;
}

bool static_answer(struct str path, const struct web_request *request,
                   struct web_answer *answer)
{
    struct buf style = BUF_INIT;
    struct str text;
    char etag[24];
    size_t i = 0;

    while (i < COUNT_OF(files) && !str_is(path, files[i].path))
        i++;
    if (i == COUNT_OF(files))
        return false;
    text = files[i].text;
    if (str_is(path, "page.css")) {
        style = make_style();
        text = buf_span(&style);
    }
    make_etag(etag, text);
    answer_header_text(answer, "ETag", etag);
    answer_header(answer, "Cache-Control", "no-cache");
    answer->status = request->etag.at && str_is(request->etag, etag) ? 304 : 200;
    if (answer->status == 304) {
        buf_release(&style);
        return true;
    }
    answer->type = files[i].type;
    answer->own = style.at;
    answer->len = style.len;
    answer->fixed = style.at ? (struct str){NULL, 0} : text;
    return true;
}
