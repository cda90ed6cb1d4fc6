/* value_json.h - JSON text as plain values: objects become dicts, arrays lists. */
#ifndef MODEL_VALUE_JSON_H
#define MODEL_VALUE_JSON_H

#include "base/json_read.h"
#include "model/value.h"

/* The value that begins with `token`, just returned by json_next(). Duplicate keys are
 * kept. VALUE_ID_FAILED: malformed (json->error says why), or an arena is spent. No
 * recursion: the depth is limited by JSON_DEPTH. */
uint32_t value_json(struct values *values, struct json_read *json,
                    enum json_token token, struct arena *scratch);

/* A whole document, in which NaN and infinities are allowed, as Python writes them. */
uint32_t value_json_text(struct values *values, struct str text, struct arena *scratch);

/* The value of a key in a DICT; of equal keys the last, as in Python's json.loads().
 * False: not found. */
bool value_json_get(const struct values *values, uint32_t dict, const char *key,
                    uint32_t *ret_value);

#endif
