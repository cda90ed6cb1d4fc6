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

/* Append to a message of `len` bytes, which is cut if it gets too long. Returns the new
 * length. */
__attribute__((format(printf, 4, 0))) static size_t
append(char *text, size_t size, size_t len, const char *format, va_list args)
{
    int more = vsnprintf(text + len, size - len, format, args);

    if (more < 0)
        text[len] = '\0';
    else if ((size_t)more >= size - len)
        trim_cut_character(text, size - 1);
    return len + strlen(text + len);
}

static void fill(struct err *err, enum err_code code, const char *text, size_t subject,
                 size_t reason)
{
    err->code = code;
    err->system = 0;
    err->subject = (unsigned short)subject;
    err->reason = (unsigned short)reason;
    memcpy(err->text, text, strlen(text) + 1);
}

int err_set(struct err *err, enum err_code code, const char *format, ...)
{
    /* An argument may be err->text itself. */
    char text[sizeof err->text] = "";
    va_list args;

    if (!err)
        return -1;
    va_start(args, format);
    append(text, sizeof text, 0, format, args);
    va_end(args);
    fill(err, code, text, 0, 0);
    return -1;
}

int err_set_about(struct err *err, enum err_code code, const char *path,
                  const char *format, ...)
{
    char text[sizeof err->text];
    size_t subject, reason, len;
    va_list args;

    if (!err)
        return -1;
    if (snprintf(text, sizeof text, "%s", path) >= (int)sizeof text)
        trim_cut_character(text, sizeof text - 1);
    subject = strlen(text);
    reason = subject + strspn(format, ": ");
    va_start(args, format);
    len = append(text, sizeof text, subject, format, args);
    va_end(args);
    fill(err, code, text, subject, reason < len ? reason : len);
    return -1;
}

int err_set_errno(struct err *err, const char *path)
{
    int code = errno;
    char reason[128];

    if (strerror_r(code, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "system error %d", code);
    err_set_about(err, ERR_IO, path, ": %s", reason);
    if (err)
        err->system = code;
    return -1;
}

int err_copy(struct err *err, const struct err *from)
{
    if (err)
        *err = *from;
    return -1;
}

struct str err_subject(const struct err *err)
{
    return (struct str){err->text, err->subject};
}

const char *err_reason(const struct err *err)
{
    return err->text + err->reason;
}
