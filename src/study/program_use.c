#include "study/program_use.h"

#include "base/map.h"
#include "run/op_table.h"

static struct op_sum sum_of(struct str name)
{
    bool matrix = op_family_is_matrix(op_family_of(name));

    return (struct op_sum){
        .count = 1, .unknown = 1, .matrix = matrix, .matrix_unknown = matrix};
}

static int add_op(struct op_use_list *list, uint32_t *room, struct map *by_name,
                  const struct model *model, uint32_t i, struct arena *arena)
{
    const struct program_op *op = &model->program->ops[i];
    struct str name = model_string(model, op->name);
    struct op_sum sum = sum_of(name);
    uint64_t key = (uint64_t)op->overload << 32 | op->name;
    uint32_t row;

    if (!map_find(by_name, key, &row)) {
        row = list->n;
        if (arena_room(arena, &list->at, list->n, room, sizeof *list->at) < 0 ||
            map_put(by_name, key, row) < 0)
            return -1;
        list->at[list->n++] =
            (struct op_use){.kind = RUN_NONE,
                            .place = op->place,
                            .first = i,
                            .name = name,
                            .overload = model_string(model, op->overload)};
    }
    op_sum_add(&list->at[row].sum, &sum);
    op_sum_add(&list->sum, &sum);
    return 0;
}

int program_use_of(struct op_use_list *ret_list, const struct model *model,
                   struct arena *arena, struct err *err)
{
    struct op_use_list list = {0};
    struct map by_name;
    uint32_t room = 0;

    map_init(&by_name, arena);
    for (uint32_t i = 0; i < model->program->n_ops; i++)
        if (add_op(&list, &room, &by_name, model, i, arena) < 0)
            return arena_err(arena, "the list of operations", err);
    *ret_list = list;
    return 0;
}

struct program_sum program_sums(const struct program *program)
{
    struct program_sum sum = {.first_unclear = PROGRAM_NONE};

    for (uint32_t i = 0; i < program->n_ops; i++) {
        unsigned flags = program_region_flags(program, program->ops[i].region);

        sum.in_loops += (flags & PROGRAM_REPEATED) != 0;
        sum.in_ifs += (flags & PROGRAM_CONDITIONAL) != 0;
        sum.not_taken += (flags & PROGRAM_DEAD) != 0;
    }
    for (uint32_t i = program->n_regions; i-- > 0;)
        if (program->regions[i].kind == PROGRAM_UNCLEAR) {
            sum.unclear++;
            sum.first_unclear = i;
        }
    return sum;
}

void program_origin(struct buf *to, const struct model *model)
{
    struct str method = model_string(model, model->program->method);

    if (str_starts(str_of(model->format ? model->format : ""), STR("Keras"))) {
        buf_text(to, "the configuration");
        return;
    }
    buf_text(to, "the code");
    if (method.len > 0)
        buf_text(to, " of ");
    buf_str(to, method);
}

bool program_line(struct buf *to, const struct model *model, uint32_t file,
                  uint32_t line)
{
    struct str record = model_string(model, file);

    if (!file)
        return false;
    buf_str(to, str_starts(record, STR("code/")) ? str_from(record, 5) : record);
    if (line)
        buf_printf(to, ":%u", line);
    return true;
}

void program_io_path(struct buf *to, const struct model *model, uint32_t io)
{
    const struct program_io *of = &model->program->ios[io];

    buf_str(to, model_string(model, of->arg));
    if (of->item != PROGRAM_NONE)
        buf_printf(to, "[%u]", of->item);
}
