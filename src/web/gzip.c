/* Answers as gzip, for clients that accept it: a page behind ssh -L or a proxy loads a
 * third of the bytes. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "web/web_in.h"

#define LEAST ((size_t)1024)    /* bytes; smaller bodies are not worth it */
#define MOST  ((size_t)1 << 28) /* sizes below are unsigned int */
#define WRAP  (15 + 16)         /* zlib: the largest window, in a gzip file */
#define FAST  1                 /* for bodies generated for each request */
#define SMALL 6                 /* for the page, which is loaded once */

/* "gzip" or "*" in a list such as "br, gzip;q=0.5", unless its weight is 0. */
static bool accepts_gzip(struct str list)
{
    struct str weight, name;

    while (str_split(&list, ',', &weight)) {
        str_split(&weight, ';', &name);
        name = str_trim(name);
        weight = str_trim(weight);
        if (str_is(name, "gzip") || str_is(name, "*"))
            return !str_is(weight, "q=0") && !str_starts(weight, STR("q=0.0"));
    }
    return false;
}

/* Returns a malloc()ed body; NULL: failed, or not shorter. */
static char *pack(struct str text, int level, size_t *ret_len)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)text.at,
                       .avail_in = (unsigned)text.len};
    char *to = malloc(text.len);
    int status = Z_ERRNO;

    if (to &&
        deflateInit2(&stream, level, Z_DEFLATED, WRAP, 8, Z_DEFAULT_STRATEGY) == Z_OK) {
        stream.next_out = (Bytef *)to;
        stream.avail_out = (unsigned)text.len;
        status = deflate(&stream, Z_FINISH);
        *ret_len = stream.total_out;
        deflateEnd(&stream);
    }
    if (status == Z_STREAM_END)
        return to;
    free(to);
    return NULL;
}

void gzip_answer(const struct web_request *request, struct web_answer *answer)
{
    struct str text =
        answer->own ? (struct str){answer->own, answer->len} : answer->fixed;
    bool is_page = !answer->own || !str_is(str_of(answer->type), "application/json");
    size_t len;
    char *packed;

    if (answer->stream || text.len < LEAST || text.len > MOST ||
        answer->n_headers + 2 > WEB_HEADERS)
        return;
    answer_header(answer, "Vary", "Accept-Encoding");
    if (!accepts_gzip(request->accepts))
        return;
    packed = pack(text, is_page ? SMALL : FAST, &len);
    if (!packed)
        return;
    free(answer->own);
    answer->own = packed;
    answer->len = len;
    answer_header(answer, "Content-Encoding", "gzip");
}
