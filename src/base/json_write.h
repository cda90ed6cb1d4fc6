/* json_write.h - one walk, several sinks: JSON text, Python objects. Pass a key inside
 * objects and NULL inside arrays. Integers are exact, reals the shortest text that
 * round-trips, non-finite reals the strings "NaN", "Infinity", "-Infinity". Bytes that
 * are not UTF-8 become U+FFFD each. Text has one line per element of the outermost
 * arrays, so that diffs are readable. */
#ifndef BASE_JSON_WRITE_H
#define BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/out.h"
#include "base/str.h"

struct json;
struct json_sink {
    void (*begin)(struct json *json, const char *key, char kind); /* '{' or '[' */
    void (*end)(struct json *json, char kind);                    /* '}' or ']' */
    void (*null)(struct json *json, const char *key);
    void (*boolean)(struct json *json, const char *key, bool value);
    void (*i64)(struct json *json, const char *key, int64_t value);
    void (*u64)(struct json *json, const char *key, uint64_t value);
    void (*real)(struct json *json, const char *key, double value);
    void (*str)(struct json *json, const char *key, struct str value);
};

struct json {
    const struct json_sink *sink;
    struct out *out; /* text sink */
    void *user;      /* other sinks */
    struct str key;  /* set by json_key() for the next value; else `at` is NULL */
    uint32_t depth;
    uint32_t lines_depth; /* text sink: elements at this depth get a line each; or 0 */
    uint32_t packed;      /* text sink: from this depth on there are no blanks; or 0 */
    bool first;           /* nothing written yet in the innermost object or array */
};

void json_init_text(struct json *json, struct out *out);

void json_object(struct json *json, const char *key);
void json_object_end(struct json *json);
void json_array(struct json *json, const char *key);
void json_array_end(struct json *json);
/* No blanks and lines in the innermost object or array, for programs only. */
void json_pack(struct json *json);
/* An array written on one line, without blanks: a column of thousands of values.
 * json_array_end() ends it. */
void json_column(struct json *json, const char *key);
/* Such a column of integers at once; JSON_NONE is null. */
#define JSON_NONE UINT32_MAX
void json_u32s(struct json *json, const char *key, const uint32_t *items, size_t n);
void json_null(struct json *json, const char *key);
void json_bool(struct json *json, const char *key, bool value);
void json_i64(struct json *json, const char *key, int64_t value);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_real(struct json *json, const char *key, double value);
void json_str(struct json *json, const char *key, struct str value);
void json_text(struct json *json, const char *key, const char *value);
/* A key that is not a C literal (any bytes). The next value, written with a NULL key,
 * takes it. Borrowed until then. */
void json_key(struct json *json, struct str key);

/* For sinks: the key of the value being written, `key` or that of json_key(). `at` is
 * NULL inside arrays. */
struct str json_take_key(struct json *json, const char *key);

/* The shortest decimal text that round-trips to `value` (finite), for JSON and CSV.
 * Returns the length; `to` ends in NUL. */
int real_text(double value, char to[32]);

#endif
