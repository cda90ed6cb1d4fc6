#include "text/pen.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"

#include "text/escape.h"
#include "text/glyph.h"

void pen_str(const struct pen *pen, struct str text, enum colour role)
{
    struct buf fit = BUF_INIT;

    out_text(pen->out, colour_begin(role, pen->colour));
    if (pen->ascii)
        glyph_to_ascii(&fit, text.at, text.len);
    else if (pen->isolate)
        escape_isolate(&fit, text);
    out_str(pen->out, pen->ascii || pen->isolate ? buf_span(&fit) : text);
    buf_release(&fit);
    out_text(pen->out, colour_end(role, pen->colour));
}

void pen_text(const struct pen *pen, const struct buf *text, enum colour role)
{
    pen_str(pen, buf_span(text), role);
}

void pen_line(const struct pen *pen, const struct buf *text, enum colour role)
{
    pen_text(pen, text, role);
    out_char(pen->out, '\n');
}

bool pen_speaks_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *value = getenv(names[i]);
        const char *charset;

        if (!value || !*value)
            continue;
        charset = strchr(value, '.') ? strchr(value, '.') + 1 : value;
        return strncasecmp(charset, "utf-8", 5) == 0 ||
               strncasecmp(charset, "utf8", 4) == 0;
    }
    return true;
}
