/* The page itself: the same for everyone, without data. */
#include <stdio.h>

#include "base/base.h"
#include "page/page_text.h"
#include "web/web_in.h"

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
    FILE_OF("page.js", "text/javascript; charset=utf-8", page_js),
};

/* From the bytes, the same in every process (str_hash() is not): FNV-1a. */
static void make_etag(char to[24], struct str text)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.at[i]) * 0x100000001b3u;
    snprintf(to, 24, "\"%016llx\"", (unsigned long long)hash);
}

bool static_answer(struct str path, const struct web_request *request,
                   struct web_answer *answer)
{
    char etag[24];

    for (size_t i = 0; i < COUNT_OF(files); i++) {
        if (!str_is(path, files[i].path))
            continue;
        make_etag(etag, files[i].text);
        answer_header_text(answer, "ETag", etag);
        answer_header(answer, "Cache-Control", "no-cache");
        answer->status = request->etag.at && str_is(request->etag, etag) ? 304 : 200;
        if (answer->status == 200) {
            answer->type = files[i].type;
            answer->fixed = files[i].text;
        }
        return true;
    }
    return false;
}
