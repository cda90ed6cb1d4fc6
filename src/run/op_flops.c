#include "run/op_table_in.h"

#include "model/model.h"

int64_t op_plus(int64_t a, int64_t b)
{
    int64_t sum;

    if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum))
        return OP_NO_FLOPS;
    return sum;
}

int64_t op_times(int64_t a, int64_t b)
{
    int64_t product;

    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product))
        return OP_NO_FLOPS;
    return product;
}

int64_t op_product(const int64_t *factors, uint32_t n)
{
    int64_t product = 1;

    for (uint32_t i = 0; i < n; i++)
        product = op_times(product, factors[i]);
    return product;
}

static const struct op_tensor *find(const struct op_tensor *tensors, uint32_t n,
                                    uint32_t arg, uint32_t item)
{
    for (uint32_t i = 0; i < n; i++)
        if (tensors[i].arg == arg && tensors[i].item == item)
            return &tensors[i];
    return NULL;
}

static bool is_sparse(const struct op_tensor *tensor)
{
    return tensor && tensor->layout >= LAYOUT_COO && tensor->layout <= LAYOUT_BSC;
}

static const struct op_tensor *dense(const struct op_tensor *tensor)
{
    return tensor && !is_sparse(tensor) && tensor->layout != LAYOUT_NESTED ? tensor
                                                                           : NULL;
}

const struct op_tensor *op_arg(const struct op_seen *seen, uint32_t arg)
{
    return dense(find(seen->in, seen->n_in, arg, OP_NO_ITEM));
}

const struct op_tensor *op_arg_sparse(const struct op_seen *seen, uint32_t arg)
{
    const struct op_tensor *tensor = find(seen->in, seen->n_in, arg, OP_NO_ITEM);

    return is_sparse(tensor) ? tensor : NULL;
}

const struct op_tensor *op_arg_item(const struct op_seen *seen, uint32_t arg,
                                    uint32_t item)
{
    return dense(find(seen->in, seen->n_in, arg, item));
}

const struct op_tensor *op_result(const struct op_seen *seen, uint32_t arg)
{
    return dense(find(seen->out, seen->n_out, arg, OP_NO_ITEM));
}

/* `dim` as an index, or -1. */
static int index_of(const struct op_tensor *tensor, int dim)
{
    int rank = tensor ? tensor->rank : 0;

    if (dim < 0)
        dim += rank;
    return dim >= 0 && dim < rank ? dim : -1;
}

int64_t op_size(const struct op_tensor *tensor, int dim)
{
    int at = index_of(tensor, dim);

    return at < 0 || tensor->sizes[at] < 0 ? OP_NO_FLOPS : tensor->sizes[at];
}

int64_t op_sizes_from(const struct op_tensor *tensor, int dim)
{
    int at = tensor && dim == tensor->rank ? dim : index_of(tensor, dim);

    return at < 0 ? OP_NO_FLOPS
                  : op_product(tensor->sizes + at, tensor->rank - (uint32_t)at);
}

int64_t op_sizes_before(const struct op_tensor *tensor, int dim)
{
    int at = index_of(tensor, dim);

    return at < 0 ? OP_NO_FLOPS : op_product(tensor->sizes, (uint32_t)at);
}

int64_t op_numel(const struct op_tensor *tensor)
{
    return tensor ? op_product(tensor->sizes, tensor->rank) : OP_NO_FLOPS;
}

bool op_is_rank(const struct op_tensor *tensor, uint32_t rank)
{
    return tensor && tensor->rank == rank;
}

static int truth(const struct value *value)
{
    return value->kind == VALUE_BOOL ? value->integer != 0 : -1;
}

int op_bool(const struct op_seen *seen, const char *key)
{
    uint32_t id;

    if (!seen->plain || !value_get(seen->plain, seen->attributes, key, &id))
        return -1;
    return truth(value_at(seen->plain, id));
}

int op_mask(const struct op_seen *seen, const char *key, uint32_t item)
{
    const struct value *list;
    uint32_t id;

    if (!seen->plain || !value_get(seen->plain, seen->attributes, key, &id))
        return -1;
    list = value_at(seen->plain, id);
    if ((list->kind != VALUE_LIST && list->kind != VALUE_TUPLE) || item >= list->n)
        return -1;
    return truth(value_at(seen->plain, value_items(seen->plain, id)[item]));
}

bool op_int(const struct op_seen *seen, const char *key, int64_t *ret_value)
{
    const struct value *value;
    uint32_t id;

    if (!seen->plain || !value_get(seen->plain, seen->attributes, key, &id))
        return false;
    value = value_at(seen->plain, id);
    if (value->kind != VALUE_INT)
        return false;
    *ret_value = value->integer;
    return true;
}

bool op_ints(const struct values *values, uint32_t id, int64_t *ret_items,
             uint32_t most, uint32_t *ret_n)
{
    const struct value *list = value_at(values, id);

    if ((list->kind != VALUE_LIST && list->kind != VALUE_TUPLE) || list->n > most)
        return false;
    for (uint32_t i = 0; i < list->n; i++) {
        const struct value *item = value_at(values, value_items(values, id)[i]);

        if (item->kind != VALUE_INT)
            return false;
        ret_items[i] = item->integer;
    }
    *ret_n = list->n;
    return true;
}
