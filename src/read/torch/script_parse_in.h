/* script_parse_in.h - one function of a TorchScript archive as a tree. torch writes a
 * small, regular subset of Python:
 *     def forward(self: __torch__.Net,
 *       x: Tensor) -> Tensor:
 *       conv = self.conv
 *       x0 = torch.mean((conv).forward(x, ), [2, 3])
 *       y, h, = (self.lstm).forward(x0, )
 *       if bool(torch.gt(torch.sum(y), 0)):
 *         z = torch.neg(y)
 *       else:
 *         z = y
 *       return z
 * Any other statement becomes SCRIPT_UNCLEAR. */
#ifndef READ_TORCH_SCRIPT_PARSE_IN_H
#define READ_TORCH_SCRIPT_PARSE_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/value.h"

enum script_kind {
    /* Expressions. */
    SCRIPT_LOCAL,   /* `slot`: a local variable */
    SCRIPT_GLOBAL,  /* `text`: "torch.conv2d", "CONSTANTS.c0", "int" */
    SCRIPT_PLAIN,   /* `slot`: a value id */
    SCRIPT_TUPLE,   /* items */
    SCRIPT_LIST,    /* items */
    SCRIPT_DICT,    /* key, value, ... */
    SCRIPT_CALL,    /* callee, then arguments */
    SCRIPT_KEYWORD, /* `text`: its name; the value: an argument */
    SCRIPT_ATTR,    /* owner; `text`: the name */
    SCRIPT_INDEX,   /* owner, index */
    SCRIPT_SLICE,   /* owner, and the content of the brackets in (x)[0:2] */
    /* Statements. */
    SCRIPT_ASSIGN, /* value, then targets: SCRIPT_LOCAL or SCRIPT_ATTR */
    SCRIPT_DO,     /* an expression */
    SCRIPT_RETURN, /* an expression, or nothing */
    SCRIPT_IF,     /* condition, block, and perhaps the block of else */
    SCRIPT_FOR,    /* SCRIPT_LOCAL, number of iterations, block */
    SCRIPT_WHILE,  /* condition, block */
    SCRIPT_WITH,   /* expression, block */
    SCRIPT_DEF,    /* `slot`; a block: a function inside, without arguments */
    SCRIPT_BLOCK,  /* statements */
    SCRIPT_UNCLEAR /* `text`: the line */
};

struct script_node {
    uint8_t kind;    /* enum script_kind */
    bool paren;      /* it is in parentheses */
    bool unpacks;    /* of ASSIGN: `a, b, = x` unpacks x; `a, b = x` has two results */
    uint16_t height; /* of the tree below it */
    uint32_t line, slot;
    uint32_t n; /* children */
    union {
        struct str text;
        struct { /* of FOR and WHILE: the slots that the block may set */
            uint32_t *writes;
            uint32_t n_writes;
        };
    };
    struct script_node *first, *last, *next;
};

struct script_param {
    uint32_t slot;
    bool number;                /* of a type without tensors: int, List[bool] */
    struct script_node *preset; /* its default; or NULL */
};

struct script_function {
    struct script_param *params;
    uint32_t n_params, params_room;
    struct str *names; /* by slot */
    uint32_t n_slots;
    struct script_node *body;
    bool unclear; /* its first line is unsupported: other members are empty */
};

/* Does this operation on a list or dict change it? "append", "_set_item". */
bool script_changes(struct str name);

/* Parses the function that begins at `text` ("def " after blanks) in line `line` of its
 * record. Everything is in the arena; constants become values. NULL: a spent arena. */
struct script_function *script_parse(struct str text, uint32_t line,
                                     struct values *values, struct arena *arena);

#endif
