/* Chooses the call of a program to draw, and finds the groups inside it. */
#include "graph/from_in.h"

#include <inttypes.h>

/* Is a region drawn as a frame? Not if it is a branch that is always taken. */
static bool is_control(const struct program_region *region)
{
    return region->kind == PROGRAM_LOOP ||
           (region->kind != PROGRAM_UNCLEAR && region->taken < 0);
}

/* The surrounding region, if it belongs to the same call. */
static uint32_t region_around(const struct program *program, uint32_t region)
{
    uint32_t parent = program->regions[region].parent;

    return parent < region &&
                   program->regions[parent].call == program->regions[region].call
               ? parent
               : PROGRAM_NONE;
}

uint32_t from_program_group(const struct from *from, uint32_t region, uint32_t call)
{
    const struct program *program = from->program;

    if (region < program->n_regions && program->regions[region].call == call &&
        from->control[region] != PROGRAM_NONE)
        return program->n_calls + from->control[region];
    return call;
}

uint32_t from_program_around(const struct from *from, uint32_t group)
{
    const struct program *program = from->program;
    uint32_t region = group - program->n_calls;

    if (group < program->n_calls)
        return from_program_group(from, program->calls[group].region,
                                  program->calls[group].parent);
    return from_program_group(from, region_around(program, region),
                              program->regions[region].call);
}

static bool is_done(const struct program *program, uint32_t region)
{
    return !(program_region_flags(program, region) & PROGRAM_DEAD);
}

static void mark_inside(struct from *from, uint32_t call)
{
    const struct program *program = from->program;

    for (uint32_t i = 0; i < program->n_calls; i++)
        from->inside[i] = i == call || (i > call && program->calls[i].parent < i &&
                                        from->inside[program->calls[i].parent] &&
                                        is_done(program, program->calls[i].region));
    for (uint32_t i = 0; i < program->n_regions; i++)
        from->inside[program->n_calls + i] =
            program->regions[i].call < program->n_calls &&
            from->inside[program->regions[i].call] && is_done(program, i);
}

static void count_calls(struct from *from)
{
    const struct program *program = from->program;

    for (uint32_t i = 0; i < program->n_calls; i++)
        if (from->inside[i] && program->calls[i].place < from->model->n_places)
            from_count_call(from, i, from->model->object[program->calls[i].place]);
}

/* The first call at a place; or of its module, if that is called under another name. */
static uint32_t call_at(const struct from *from, uint32_t place)
{
    const struct program *program = from->program;
    const struct model *model = from->model;
    uint32_t other = PROGRAM_NONE;

    for (uint32_t i = 0; i < program->n_calls; i++) {
        uint32_t at = program->calls[i].place;

        if (!from->inside[i] || at >= model->n_places)
            continue;
        if (at == place)
            return i;
        if (other == PROGRAM_NONE && model->kind[place] == PLACE_MODULE &&
            model->kind[at] == PLACE_MODULE &&
            model->object[at] == model->object[place])
            other = i;
    }
    return other;
}

static int not_called(const struct from *from, uint32_t place, struct err *err)
{
    struct buf path = BUF_INIT;

    place_path(from->model, place, &path);
    err_set(err, ERR_NOT_FOUND,
            "the code of the file never calls %s; name a module inside or around it",
            buf_cstr(&path));
    buf_release(&path);
    return -1;
}

static bool is_leaf(const struct from *from)
{
    for (uint32_t i = from->call + 1; i < from->program->n_calls; i++)
        if (from->inside[i])
            return false;
    return true;
}

static int allocate(struct from *from)
{
    struct arena *scratch = from->parts->scratch;
    const struct program *program = from->program;

    from->inside = arena_array(scratch, (size_t)from->n_groups + 1, sizeof(bool));
    from->number = arena_array(scratch, (size_t)program->n_calls + 1, sizeof(uint32_t));
    from->n_numbers =
        arena_array(scratch, (size_t)from->model->n_objects + 1, sizeof(uint32_t));
    from->control =
        arena_array(scratch, (size_t)program->n_regions + 1, sizeof(uint32_t));
    if (!from->inside || !from->number || !from->n_numbers || !from->control)
        return -1;
    for (uint32_t i = 0; i < program->n_regions; i++) {
        uint32_t around = region_around(program, i);

        from->control[i] = is_control(&program->regions[i]) ? i
                           : around != PROGRAM_NONE         ? from->control[around]
                                                            : PROGRAM_NONE;
    }
    return 0;
}

int from_program_choose(struct from *from, struct err *err)
{
    uint32_t root = from->wanted->root;

    if (from->wanted->pass != GRAPH_AUTO)
        return err_set(err, ERR_NOT_FOUND, "the file was not run: it has no passes");
    if (allocate(from) < 0)
        return from_spent(from, err);
    if (root >= from->model->n_places)
        return err_set(err, ERR_NOT_FOUND, "the model has no place %" PRIu32, root);
    mark_inside(from, 0);
    count_calls(from);
    from->call = root == 0 ? 0 : call_at(from, root);
    if (from->call == PROGRAM_NONE)
        return not_called(from, root, err);
    if (from->program->calls[from->call].place >= from->model->n_places)
        return err_set(err, ERR_UNSUPPORTED,
                       "the module that the code calls is not "
                       "part of the file");
    mark_inside(from, from->call);
    from->framed = from->program->calls[from->call].place != 0 ||
                   (from->wanted->level == GRAPH_MODULES && is_leaf(from));
    return 0;
}
