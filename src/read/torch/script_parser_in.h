/* script_parser_in.h - the state of script_parse(), for its files:
 *   script_parse.c   functions, statements, blocks
 *   script_expr.c    expressions
 *   script_writes.c  the variables that a loop may change */
#ifndef READ_TORCH_SCRIPT_PARSER_IN_H
#define READ_TORCH_SCRIPT_PARSER_IN_H

#include "base/map.h"
#include "read/torch/script_parse_in.h"

#define SCRIPT_DEPTH  100 /* limit for blocks, and for brackets in an expression */
#define SCRIPT_HEIGHT 150 /* limit for the tree of an expression */

struct script_parser {
    struct arena *arena;
    struct values *values;
    struct name_map names; /* local variables; their index is the slot */
    struct str rest;
    uint32_t line;
    int brackets; /* depth; inside brackets, newlines are ignored */
    int depth, blocks;
    bool failed; /* the statement is unsupported */
    bool spent;
};

struct script_node *script_node(struct script_parser *in, enum script_kind kind);
/* A copy of a node on the stack, in the arena; NULL if the statement has failed. */
struct script_node *script_keep(struct script_parser *in,
                                const struct script_node *node);
void script_add(struct script_node *to, struct script_node *child);

/* Skips blanks; takes the character and returns true if it comes next. */
bool script_take(struct script_parser *in, char c);
bool script_next_is(struct script_parser *in, char c);
/* Takes a name; empty if there is none. */
struct str script_word(struct script_parser *in);

/* One expression; NULL: it is unsupported, and in->failed is set. */
struct script_node *script_expression(struct script_parser *in);
/* Expressions up to `close` or, if that is 0, to the end of the line, as children of
 * `to`. Returns whether the last one has a trailing comma. */
bool script_items(struct script_parser *in, struct script_node *to, char close);

/* Fills in `writes` of all loops. -1: a spent arena. */
int script_find_writes(struct script_function *function, struct arena *arena);

#endif
