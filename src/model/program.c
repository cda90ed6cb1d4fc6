#include "model/program.h"

#include "base/arena.h"

const char *program_region_name(enum program_region_kind kind)
{
    static const char *const names[] = {
        [PROGRAM_IF] = "if",
        [PROGRAM_ELSE] = "else",
        [PROGRAM_LOOP] = "loop",
        [PROGRAM_UNCLEAR] = "not understood",
    };

    return names[kind];
}

unsigned program_region_flags(const struct program *program, uint32_t region)
{
    return region < program->n_regions ? program->regions[region].flags : 0;
}

int program_walk_init(struct program_walk *walk, const struct program *program,
                      struct arena *arena)
{
    size_t n_values = (size_t)program->n_values + 1, n_ops = (size_t)program->n_ops + 1;

    *walk = (struct program_walk){.program = program};
    walk->found = arena_array(arena, n_ops, sizeof *walk->found);
    walk->op_seen = arena_array(arena, n_ops, sizeof *walk->op_seen);
    walk->stack = arena_array(arena, n_values, sizeof *walk->stack);
    walk->value_seen = arena_array(arena, n_values, sizeof *walk->value_seen);
    return walk->found && walk->op_seen && walk->stack && walk->value_seen ? 0 : -1;
}

uint32_t program_walk(struct program_walk *walk, uint32_t value)
{
    const struct program *program = walk->program;
    uint32_t n = 0, top = 0;

    walk->search++;
    walk->value_seen[value] = walk->search;
    walk->stack[top++] = value;
    while (top > 0) {
        const struct program_value *at = &program->values[walk->stack[--top]];

        if (at->kind == PROGRAM_RESULT && walk->op_seen[at->producer] != walk->search) {
            walk->op_seen[at->producer] = walk->search;
            walk->found[n++] = at->producer;
        }
        for (uint32_t i = at->n_sources; i-- > 0;) {
            uint32_t source = program->sources[at->sources + i];

            if (walk->value_seen[source] != walk->search) {
                walk->value_seen[source] = walk->search;
                walk->stack[top++] = source;
            }
        }
    }
    return n;
}
