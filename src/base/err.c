#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, enum err_code code, const char *format, ...)
{
    /* A sentence is often built around an earlier one, err->text itself. */
    char text[sizeof err->text];
    va_list args;

    if (!err)
        return -1;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0)
        text[0] = '\0';
    va_end(args);
    err->code = code;
    memcpy(err->text, text, sizeof text);
    return -1;
}

int err_set_errno(struct err *err, const char *path)
{
    int code = errno;
    char reason[128];

    if (strerror_r(code, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "system error %d", code);
    return err_set(err, ERR_IO, "%s: %s", path, reason);
}

const char *err_code_name(enum err_code code)
{
    switch (code) {
    case ERR_NONE:
        return "none";
    case ERR_IO:
        return "io";
    case ERR_FORMAT:
        return "format";
    case ERR_LIMIT:
        return "limit";
    case ERR_UNSUPPORTED:
        return "unsupported";
    case ERR_NOT_FOUND:
        return "not_found";
    case ERR_CHANGED:
        return "changed";
    case ERR_CANCELLED:
        return "cancelled";
    case ERR_USAGE:
        return "usage";
    case ERR_PYTHON:
        return "python";
    }
    return "unknown";
}
