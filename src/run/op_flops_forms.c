#include "run/op_table_in.h"

#define MOST_OPERANDS 16
#define LETTERS       52 /* labels a-z, A-Z; then dimensions that an ellipsis covers */
#define LABELS        64

/* An einsum being read. A set has a bit for each label. */
struct einsum {
    int64_t sizes[LABELS];
    uint64_t operands[MOST_OPERANDS]; /* labels whose size in this operand is not 1 */
    uint32_t n;
    uint64_t kept;      /* labels of the result */
    uint64_t once, all; /* labels that occur once, at all */
};

static int label_of(char c)
{
    if (c >= 'a' && c <= 'z')
        return c - 'a';
    return c >= 'A' && c <= 'Z' ? 26 + c - 'A' : -1;
}

static bool add_label(struct einsum *sum, uint32_t operand, int label, int64_t size)
{
    uint64_t bit = UINT64_C(1) << label;

    sum->once = sum->all & bit ? sum->once & ~bit : sum->once | bit;
    sum->all |= bit;
    if (size < 0 || (size != 1 && sum->sizes[label] != 1 && sum->sizes[label] != size))
        return false;
    if (size != 1) {
        sum->sizes[label] = size;
        sum->operands[operand] |= bit;
    }
    return true;
}

/* One operand: "b...ij". */
static bool read_operand(struct einsum *sum, struct str labels,
                         const struct op_tensor *tensor)
{
    ptrdiff_t dots = str_find(labels, STR("..."));
    int64_t covered = dots < 0 ? 0 : (int64_t)tensor->rank - (int64_t)labels.len + 3;
    int dim = 0;

    if (covered < 0 || covered > LABELS - LETTERS)
        return false;
    for (size_t i = 0; i < labels.len; i++) {
        if ((ptrdiff_t)i == dots) {
            for (int64_t left = covered; left > 0;
                 left--, dim++) /* aligned at the end */
                if (!add_label(sum, sum->n, LETTERS + (int)left - 1,
                               op_size(tensor, dim)))
                    return false;
            i += 2;
        } else if (label_of(labels.at[i]) < 0 ||
                   !add_label(sum, sum->n, label_of(labels.at[i]),
                              op_size(tensor, dim++)))
            return false;
    }
    sum->n++;
    return dim == tensor->rank;
}

static bool read_operands(struct einsum *sum, const struct op_seen *seen,
                          struct str text)
{
    struct str labels;

    while (str_split(&text, ',', &labels)) {
        const struct op_tensor *tensor = op_arg_item(seen, 1, sum->n);

        if (sum->n == MOST_OPERANDS || !tensor || !read_operand(sum, labels, tensor))
            return false;
    }
    return true;
}

/* The equation without blanks: "ij,jk->ik". Without an arrow the result has the labels
 * that occur once. */
static bool read_equation(struct einsum *sum, const struct op_seen *seen,
                          struct str text)
{
    ptrdiff_t arrow = str_find(text, STR("->"));
    uint64_t covered = ~((UINT64_C(1) << LETTERS) - 1);

    for (int i = 0; i < LABELS; i++)
        sum->sizes[i] = 1;
    if (!read_operands(sum, seen, arrow < 0 ? text : str_head(text, (size_t)arrow)))
        return false;
    sum->kept = sum->once | (sum->all & covered);
    if (arrow < 0)
        return true;
    text = str_from(text, (size_t)arrow + 2);
    sum->kept = str_find(text, STR("...")) >= 0 ? sum->all & covered : 0;
    for (size_t i = 0; i < text.len; i++)
        if (label_of(text.at[i]) >= 0)
            sum->kept |= UINT64_C(1) << label_of(text.at[i]);
    return true;
}

static int64_t product_of(const struct einsum *sum, uint64_t labels)
{
    int64_t product = 1;

    for (int i = 0; i < LABELS; i++)
        if (labels >> i & 1)
            product = op_times(product, sum->sizes[i]);
    return product;
}

/* Multiplies operands i < j; the result goes to the front, or to the end. Products whose
 * labels all stay are elementwise: they add 0. */
static int64_t contract(struct einsum *sum, uint32_t i, uint32_t j, bool front)
{
    uint64_t a = sum->operands[i], b = sum->operands[j], needed = sum->kept, result;
    uint32_t n = 0;

    for (uint32_t k = 0; k < sum->n; k++)
        if (k != i && k != j) {
            needed |= sum->operands[k];
            sum->operands[n++] = sum->operands[k];
        }
    a &= needed | b; /* labels that only one of them has are summed first */
    b &= needed | a;
    result = (a | b) & needed;
    sum->n = n + 1;
    if (front)
        memmove(sum->operands + 1, sum->operands, n * sizeof(sum->operands[0]));
    sum->operands[front ? 0 : n] = result;
    return (a & b & ~needed) ? op_times(2, product_of(sum, a | b)) : 0;
}

/* In the order of `path` (pairs of operands), or from left to right. */
static int64_t contract_all(struct einsum *sum, const int64_t *path, uint32_t n_path)
{
    int64_t flops = 0;

    for (uint32_t at = 0; sum->n > 1; at += 2) {
        int64_t i = 0, j = 1;

        if (path) {
            if (at + 1 >= n_path)
                return OP_NO_FLOPS;
            i = path[at] < path[at + 1] ? path[at] : path[at + 1];
            j = path[at] < path[at + 1] ? path[at + 1] : path[at];
        }
        if (i < 0 || i == j || j >= sum->n)
            return OP_NO_FLOPS;
        flops = op_plus(flops, contract(sum, (uint32_t)i, (uint32_t)j, !path));
    }
    return flops > 0 ? flops : OP_NO_FLOPS; /* without a matrix product */
}

int64_t op_count_einsum(const struct op_seen *seen, const struct op_formula *formula)
{
    struct einsum sum = {.n = 0};
    int64_t path[2 * MOST_OPERANDS];
    uint32_t id, n_path = 0;
    bool has_path;
    char text[256];
    struct str equation;
    size_t n = 0;

    (void)formula;
    if (!seen->plain || !value_get(seen->plain, seen->attributes, "equation", &id))
        return OP_NO_FLOPS;
    equation = value_text(seen->plain, id);
    for (size_t i = 0; i < equation.len; i++)
        if (equation.at[i] != ' ') {
            if (n == sizeof(text))
                return OP_NO_FLOPS;
            text[n++] = equation.at[i];
        }
    if (!read_equation(&sum, seen, (struct str){text, n}))
        return OP_NO_FLOPS;
    has_path = value_get(seen->plain, seen->attributes, "path", &id) &&
               value_at(seen->plain, id)->kind != VALUE_NONE;
    if (has_path && !op_ints(seen->plain, id, path, 2 * MOST_OPERANDS, &n_path))
        return OP_NO_FLOPS;
    return contract_all(&sum, has_path ? path : NULL, n_path);
}

/* Inputs 0 and 1, weight 2 (out, left, right): the left input is multiplied first. */
int64_t op_count_bilinear(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *left = op_arg(seen, 0), *right = op_arg(seen, 1);
    const struct op_tensor *weight = op_arg(seen, 2);
    int64_t rows = op_sizes_before(left, -1);

    (void)formula;
    if (!op_is_rank(weight, 3) || op_size(left, -1) != op_size(weight, 1) ||
        op_size(right, -1) != op_size(weight, 2) || rows != op_sizes_before(right, -1))
        return OP_NO_FLOPS;
    return OP_PRODUCT(2, rows, op_size(weight, 0), op_size(weight, 2),
                      op_plus(op_size(weight, 1), 1));
}

/* A list of dimensions as a set. */
static bool read_dims(const struct op_seen *seen, const char *key, uint32_t *ret_set)
{
    int64_t dims[32];
    uint32_t n, id, set = 0;

    if (!seen->plain || !value_get(seen->plain, seen->attributes, key, &id) ||
        !op_ints(seen->plain, id, dims, 32, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (dims[i] < 0 || dims[i] > 31)
            return false;
        set |= UINT32_C(1) << dims[i];
    }
    *ret_set = set;
    return true;
}

struct trilinear {
    uint32_t n; /* dimensions */
    uint32_t expand[3], sum;
    int64_t sizes[32];
};

static bool read_trilinear(struct trilinear *three, const struct op_seen *seen)
{
    static const char *const keys[3] = {"expand1", "expand2", "expand3"};

    if (!read_dims(seen, "sumdim", &three->sum))
        return false;
    for (uint32_t i = 0; i < 3; i++) {
        const struct op_tensor *factor = op_arg(seen, i);
        uint32_t n;
        int dim = 0;

        if (!factor || !read_dims(seen, keys[i], &three->expand[i]))
            return false;
        n = factor->rank + (uint32_t)__builtin_popcount(three->expand[i]);
        if (n > 32 || (i > 0 && n != three->n))
            return false;
        three->n = n;
        for (uint32_t d = 0; d < n; d++)
            if (!(three->expand[i] >> d & 1))
                three->sizes[d] = op_size(factor, dim++);
        if (dim != factor->rank)
            return false;
    }
    return true;
}

/* The sum over some dimensions of a product of three factors. torch loops over one
 * dimension; inside the loop it multiplies the first two, sums over dimensions that the
 * third lacks, then multiplies by the third. Without a sum a product is elementwise. */
int64_t op_count_trilinear(const struct op_seen *seen, const struct op_formula *formula)
{
    struct trilinear three = {.n = 0};
    int64_t unroll, first, second;
    uint32_t early, late;

    (void)formula;
    if (!read_trilinear(&three, seen) || !op_int(seen, "unroll_dim", &unroll) ||
        unroll < 0 || unroll >= three.n)
        return OP_NO_FLOPS;
    first = second = op_times(2, three.sizes[unroll]);
    early = three.sum & three.expand[2] & ~(UINT32_C(1) << unroll);
    late = three.sum & ~three.expand[2] & ~(UINT32_C(1) << unroll);
    for (uint32_t d = 0; d < three.n; d++) {
        bool in_two = !(three.expand[0] & three.expand[1] & UINT32_C(1) << d);

        if (d == (uint32_t)unroll)
            continue;
        first = op_times(first, in_two ? three.sizes[d] : 1);
        second = op_times(second, early >> d & 1 ? 1 : three.sizes[d]);
    }
    return op_plus(early ? first : 0, late ? second : 0);
}

/* Does torch.cdist compute distances by a matrix product? */
static int by_product(const struct op_seen *seen, const struct op_tensor *a,
                      const struct op_tensor *b)
{
    const struct value *norm;
    int64_t mode = 0;
    uint32_t id;

    if (!seen->plain || !value_get(seen->plain, seen->attributes, "p", &id))
        return -1;
    norm = value_at(seen->plain, id);
    if (norm->kind != VALUE_REAL && norm->kind != VALUE_INT)
        return -1;
    op_int(seen, "compute_mode", &mode); /* None: 0 */
    if (norm->kind == VALUE_REAL ? norm->real != 2 : norm->integer != 2)
        return 0;
    return mode == 1 || (mode == 0 && (op_size(a, -2) > 25 || op_size(b, -2) > 25));
}

/* Distances of the rows of a and b. c = 1: one product of matrices whose rows have two
 * extra columns; 0: subtract, take the power and add for each element; 2: torch.cdist
 * chooses; 3: backward, where argument 0 has an element for each pair. */
int64_t op_count_distances(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *a = op_arg(seen, formula->a), *b = op_arg(seen, formula->b);
    const struct op_tensor *pairs =
        formula->c == 3 ? op_arg(seen, 0) : op_result(seen, 0);
    int product = formula->c == 2 ? by_product(seen, a, b) : formula->c == 1;

    if (product < 0 || !pairs || op_size(a, -1) != op_size(b, -1) ||
        op_size(pairs, -2) != op_size(a, -2) || op_size(pairs, -1) != op_size(b, -2))
        return OP_NO_FLOPS;
    if (product)
        return OP_PRODUCT(2, op_numel(pairs), op_plus(op_size(a, -1), 2));
    return OP_PRODUCT(3, op_numel(pairs), op_size(a, -1));
}

/* Distances between the rows of argument a, each pair once. */
int64_t op_count_pdist(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *rows = op_arg(seen, formula->a);
    int64_t n = op_size(rows, 0), ordered = n > 0 ? op_times(n, n - 1) : n;

    if (!op_is_rank(rows, 2) || ordered < 0)
        return OP_NO_FLOPS;
    return OP_PRODUCT(3, ordered / 2, op_size(rows, 1));
}

/* A bag adds up rows: an addition for each element, or a multiply-add if the rows have
 * weights (argument c). The row size comes from argument a, the number of rows from the
 * indices, argument b. Mode 2 takes the maximum, which is not a sum. */
int64_t op_count_bag(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *rows = op_arg(seen, formula->a);
    const struct op_tensor *indices = op_arg(seen, formula->b);
    int64_t mode;

    if (!op_int(seen, "mode", &mode) || mode < 0 || mode > 1 || !op_is_rank(rows, 2))
        return OP_NO_FLOPS;
    return OP_PRODUCT(formula->c == 0 || op_arg(seen, formula->c) ? 2 : 1,
                      op_numel(indices), op_size(rows, 1));
}

/* A sparse gradient only lists the rows. */
int64_t op_count_bag_back(const struct op_seen *seen, const struct op_formula *formula)
{
    return op_bool(seen, "sparse") == 1 ? OP_NO_FLOPS : op_count_bag(seen, formula);
}
