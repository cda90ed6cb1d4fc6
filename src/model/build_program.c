/* The program of a model: arrays that grow within their share of the memory. */
#include <string.h>

#include "base/base.h"
#include "model/build_in.h"

#define LEAST_LEFT (256 * KIB) /* with less memory left there is no program */

struct program *build_program(struct build *build)
{
    struct arena *arena = &build->model->arena;
    size_t left = arena->limit > arena->used ? arena->limit - arena->used : 0;

    if (arena->limit == 0)
        left = SIZE_MAX / 2;
    if (build->program || left < LEAST_LEFT || build_spent(build))
        return build->program;
    build->program = arena_alloc(arena, sizeof *build->program);
    build->program_most = arena->used + left / 4;
    build->model->program = build->program;
    return build->program;
}

void build_program_drop(struct build *build)
{
    build->program = NULL;
    build->model->program = NULL;
}

bool build_program_full(struct build *build)
{
    if (!build->program || build->program->cut)
        return true;
    build->program->cut = build->model->arena.used > build->program_most;
    return build->program->cut;
}

/* Room for one more item; false: the program is full. */
static bool has_room(struct build *build, void *at, uint32_t n, uint32_t *room,
                     size_t item)
{
    if (build_program_full(build))
        return false;
    if (n < PROGRAM_NONE - 1 &&
        (n < *room || arena_room(&build->model->arena, at, n, room, item) == 0))
        return true;
    build->program->cut = true;
    return false;
}

#define HAS_ROOM(array, count)                                                         \
    has_room(build, &(array), (count), &(array##_room), sizeof *(array))

uint32_t build_program_value(struct build *build, const struct program_value *value)
{
    struct program *program = build->program;

    if (!HAS_ROOM(program->values, program->n_values))
        return PROGRAM_NONE;
    program->values[program->n_values] = *value;
    return program->n_values++;
}

struct program_value build_program_blank(enum program_value_kind kind)
{
    return (struct program_value){.kind = (uint8_t)kind,
                                  .dtype = DTYPE_UNKNOWN,
                                  .shape = PROGRAM_NONE,
                                  .producer = PROGRAM_NONE,
                                  .tensor = PROGRAM_NONE,
                                  .place = PROGRAM_NONE,
                                  .plain = PROGRAM_NONE};
}

/* Appends ios; the index of the first, or PROGRAM_NONE. */
static uint32_t add_ios(struct build *build, const struct program_io *ios, uint32_t n)
{
    struct program *program = build->program;
    uint32_t first = program->n_ios;

    for (uint32_t i = 0; i < n; i++) {
        if (!HAS_ROOM(program->ios, program->n_ios)) {
            program->n_ios = first;
            return PROGRAM_NONE;
        }
        program->ios[program->n_ios++] = ios[i];
    }
    return first;
}

uint32_t build_program_op(struct build *build, const struct program_op *op,
                          const struct program_io *ios)
{
    struct program *program = build->program;
    uint32_t io;

    if (!HAS_ROOM(program->ops, program->n_ops))
        return PROGRAM_NONE;
    io = add_ios(build, ios, (uint32_t)op->n_in + op->n_out);
    if (io == PROGRAM_NONE)
        return PROGRAM_NONE;
    program->ops[program->n_ops] = *op;
    program->ops[program->n_ops].io = io;
    return program->n_ops++;
}

uint32_t build_program_call(struct build *build, const struct program_call *call)
{
    struct program *program = build->program;

    if (!HAS_ROOM(program->calls, program->n_calls))
        return PROGRAM_NONE;
    program->calls[program->n_calls] = *call;
    return program->n_calls++;
}

int build_program_call_ios(struct build *build, uint32_t call,
                           const struct program_io *ios, uint32_t n_in, uint32_t n_out)
{
    uint32_t io;

    if (call >= build->program->n_calls || n_in > UINT16_MAX || n_out > UINT16_MAX)
        return -1;
    io = add_ios(build, ios, n_in + n_out);
    if (io == PROGRAM_NONE)
        return -1;
    build->program->calls[call].io = io;
    build->program->calls[call].n_in = (uint16_t)n_in;
    build->program->calls[call].n_out = (uint16_t)n_out;
    return 0;
}

static unsigned own_flags(const struct program_region *region)
{
    if (region->kind == PROGRAM_LOOP)
        return PROGRAM_REPEATED;
    if (region->kind > PROGRAM_ELSE)
        return 0;
    return PROGRAM_CONDITIONAL | (region->taken == 0 ? PROGRAM_DEAD : 0u);
}

uint32_t build_program_region(struct build *build, const struct program_region *region)
{
    struct program *program = build->program;

    if (!HAS_ROOM(program->regions, program->n_regions))
        return PROGRAM_NONE;
    program->regions[program->n_regions] = *region;
    program->regions[program->n_regions].flags =
        (uint8_t)(program_region_flags(program, region->parent) | own_flags(region));
    return program->n_regions++;
}

int build_program_sources(struct build *build, uint32_t value, const uint32_t *sources,
                          uint32_t n)
{
    struct program *program = build->program;
    uint32_t first = program->n_sources;

    if (value >= program->n_values)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        if (!HAS_ROOM(program->sources, program->n_sources)) {
            program->n_sources = first;
            return -1;
        }
        program->sources[program->n_sources++] = sources[i];
    }
    program->values[value].sources = first;
    program->values[value].n_sources = n;
    return 0;
}

void build_program_places(struct build *build, const uint32_t *place_of, uint32_t n)
{
    struct program *program = build->program;

    if (!program)
        return;
    for (uint32_t i = 0; i < program->n_ops; i++)
        if (program->ops[i].place < n)
            program->ops[i].place = place_of[program->ops[i].place];
    for (uint32_t i = 0; i < program->n_calls; i++)
        if (program->calls[i].place < n)
            program->calls[i].place = place_of[program->calls[i].place];
    for (uint32_t i = 0; i < program->n_values; i++)
        if (program->values[i].place < n)
            program->values[i].place = place_of[program->values[i].place];
}
