/* err.h - one failure: a code and a message for people. The message names the file and
 * the position, what was found and what was expected. It may contain raw names from a
 * file: escape it before printing (text/escape.h). Success does not touch an err; a
 * NULL err is allowed everywhere. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/str.h"

enum err_code {
    ERR_NONE = 0,
    ERR_IO,          /* a system error: no such file, read error */
    ERR_FORMAT,      /* invalid bytes */
    ERR_LIMIT,       /* out of memory, or another limit */
    ERR_UNSUPPORTED, /* valid, but not supported */
    ERR_NOT_FOUND,   /* no such name */
    ERR_CHANGED,     /* the file has changed since it was opened */
    ERR_CANCELLED,   /* cancelled by the user */
    ERR_USAGE,       /* an invalid request */
    ERR_PYTHON,      /* a Python exception, in one sentence */
};

struct err {
    enum err_code code;
    int system;             /* errno, if err_set_errno() set it; else 0 */
    unsigned short subject; /* bytes of `text` that name the file; 0: none */
    unsigned short reason;  /* where the reason begins, without the file's name */
    char text[512];         /* ends in NUL; longer messages are cut */
};

/* Set the failure and return -1, for `return err_set(...)`. */
int err_set(struct err *err, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same about a file. The format begins with the separator: ": truncated" or
 * " is empty". Keeps the name and the reason apart, for err_subject(), err_reason(). */
int err_set_about(struct err *err, enum err_code code, const char *path,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same from errno: "PATH: No such file or directory". Returns -1. */
int err_set_errno(struct err *err, const char *path);

/* Copy a failure. Returns -1. */
int err_copy(struct err *err, const struct err *from);

/* The file that the message names; empty if it was not set with err_set_about(). */
struct str err_subject(const struct err *err);
/* The message without that name: "No such file or directory". */
const char *err_reason(const struct err *err);

#endif
