/* value.h - plain values: hyper-parameters, epoch numbers, settings, metadata. Values
 * are interned: equal values have the same id, so a hundred thousand modules with the
 * same arguments store them once, and comparing arguments compares two numbers. They
 * are trees; parts that are too deep, too long or cyclic are replaced by a VALUE_CUT.
 */
#ifndef MODEL_VALUE_H
#define MODEL_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/str.h"

enum value_kind {
    VALUE_NONE, /* id 0 */
    VALUE_BOOL,
    VALUE_INT,
    VALUE_BIGINT, /* text: decimal digits, or 0x… */
    VALUE_REAL,
    VALUE_STR,
    VALUE_BYTES, /* text: the first bytes; n: the full length */
    VALUE_LIST,
    VALUE_TUPLE,
    VALUE_SET,
    VALUE_DICT,   /* items: key, value, key, value, ... */
    VALUE_GLOBAL, /* text: a class or function, "torch.nn.functional.relu" */
    VALUE_CALL,   /* text: the function; items: its arguments */
    VALUE_OBJECT, /* text: the class; items: attribute name, value, ... */
    VALUE_TENSOR, /* int: the id of a tensor of the model */
    VALUE_CUT,    /* text: why: "too deep", "leads back to itself"; n: items left out */
};

struct value {
    uint8_t kind;
    uint32_t text;  /* string id: STR, BYTES, BIGINT, GLOBAL, CALL, OBJECT, CUT */
    uint32_t items; /* index of its first item in `values.items` */
    uint32_t n; /* number of items (a dict of 3 keys has 6); for BYTES, CUT see above */
    union {
        int64_t integer; /* INT, BOOL, TENSOR */
        double real;     /* REAL; a NaN equals itself here */
    };
};

struct values {
    struct arena *arena;    /* borrowed */
    struct intern *strings; /* borrowed */
    struct value *at;       /* by id */
    uint32_t n, room;
    uint32_t *items;
    uint32_t n_items, items_room;
    struct map by_hash;
};

#define VALUE_ID_NONE   0u         /* the value None */
#define VALUE_ID_FAILED UINT32_MAX /* the arena is spent */

int values_init(struct values *values, struct arena *arena, struct intern *strings);
const struct value *value_at(const struct values *values, uint32_t id);
struct str value_text(const struct values *values, uint32_t id);
const uint32_t *value_items(const struct values *values, uint32_t id);

uint32_t value_bool(struct values *values, bool flag);
uint32_t value_int(struct values *values, int64_t integer);
uint32_t value_real(struct values *values, double real);
uint32_t value_str(struct values *values, struct str text);
uint32_t value_bytes(struct values *values, struct str head, uint64_t total);
uint32_t value_tensor(struct values *values, uint32_t tensor);
/* LIST, TUPLE, SET, DICT (text empty), CALL, OBJECT, GLOBAL, BIGINT, CUT. */
uint32_t value_make(struct values *values, enum value_kind kind, struct str text,
                    const uint32_t *items, uint32_t n);

/* The value of `key` in a DICT or an attribute in an OBJECT; false if there is none. */
bool value_get(const struct values *values, uint32_t id, const char *key,
               uint32_t *ret_value);

#endif
