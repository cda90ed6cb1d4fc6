#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Drop an incomplete UTF-8 character at the end. */
static void trim_cut_character(char *text, size_t len)
{
    size_t begin = len;

    while (begin > 0 && len - begin < 3 &&
           ((unsigned char)text[begin - 1] & 0xc0) == 0x80)
        begin--;
    if (begin > 0 && (unsigned char)text[begin - 1] >= 0xc0) {
        unsigned char first = (unsigned char)text[begin - 1];
        size_t need = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

        if (len - (begin - 1) < need)
            text[begin - 1] = '\0';
    }
}

int err_set(struct err *err, enum err_code code, const char *format, ...)
{
    /* An argument may be err->text itself. */
    char text[sizeof err->text];
    va_list args;
    int len;

    if (!err)
        return -1;
    va_start(args, format);
    len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (len < 0)
        text[0] = '\0';
    if (len >= (int)sizeof text)
        trim_cut_character(text, sizeof text - 1);
    err->code = code;
    err->system = 0;
    memcpy(err->text, text, strlen(text) + 1);
    return -1;
}

int err_set_errno(struct err *err, const char *path)
{
    int code = errno;
    char reason[128];

    if (strerror_r(code, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "system error %d", code);
    err_set(err, ERR_IO, "%s: %s", path, reason);
    if (err)
        err->system = code;
    return -1;
}
