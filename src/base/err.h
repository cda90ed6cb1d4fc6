/* err.h - one failure: what kind, and one sentence fit for a person.
 * The sentence says the file, the place, what was found and what was expected. It may
 * hold raw names from a file: whoever speaks to a person escapes it (text/escape.h).
 * Success leaves an err alone; a NULL err is allowed everywhere and drops the text. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err_code {
    ERR_NONE = 0,
    ERR_IO,          /* the system said no: no such file, read error */
    ERR_FORMAT,      /* the bytes are not what they claim to be */
    ERR_LIMIT,       /* more than we are willing to hold */
    ERR_UNSUPPORTED, /* well-formed, but not something we read */
    ERR_NOT_FOUND,   /* no such name in here */
    ERR_CHANGED,     /* the file is not the one we opened any more */
    ERR_CANCELLED,   /* somebody asked us to stop */
    ERR_USAGE,       /* the request makes no sense */
    ERR_PYTHON,      /* a Python exception, told in one sentence */
};

struct err {
    enum err_code code;
    int system;     /* errno, where err_set_errno() told the failure; else 0 */
    char text[512]; /* always ends in NUL; a longer sentence is cut */
};

/* Set the failure and return -1, so that `return err_set(...)` reads well. */
int err_set(struct err *err, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same from errno: "PATH: No such file or directory". Returns -1. */
int err_set_errno(struct err *err, const char *path);

#endif
