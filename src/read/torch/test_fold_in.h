/* test_fold_in.h - for tests: folds pickles written as text and shows the result as
 * text.
 *
 *     struct folded folded;
 *
 *     fold_text(&folded, "(dVw\n" TENSOR("0", "6", "0", "(I2\nI3\nt", "(I3\nI1\nt")
 *                        "s.");
 *     CHECK_STR(folded_tree(&folded), "group dict\n"
 *                                     "  w float32 2x3 parameter?\n");
 *     folded_release(&folded); */
#ifndef READ_TORCH_TEST_FOLD_IN_H
#define READ_TORCH_TEST_FOLD_IN_H

#include "base/buf.h"
#include "model/build.h"
#include "read/torch/torch_fold_in.h"

/* A persistent id, and a plain tensor on it. Sizes and strides are whole tuples. */
#define STORAGE(class_name, key, numel)                                                \
    "(Vstorage\nctorch\n" class_name "\nV" key "\nVcpu\nI" numel "\ntQ"
#define TENSOR(key, numel, offset, size, stride)                                       \
    "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE(                                    \
        "FloatStorage", key, numel) "I" offset "\n" size stride "I00\nNtR"
#define VECTOR(key) TENSOR(key, "4", "0", "(I4\nt", "(I1\nt") /* of four floats */

struct folded {
    const struct model *model;
    struct buf text;
};

/* Run the pickle and fold it into the root of a model. Storages of any key exist. */
void fold_bytes(struct folded *folded, const char *at, size_t len);
void fold_text(struct folded *folded, const char *pickle);
/* The same in TorchScript's dialect: weight is a parameter, running_mean a buffer. */
void fold_flat_text(struct folded *folded, const char *pickle);
void folded_release(struct folded *folded);

/* The tree, one line for each place; or the findings, one line for each. */
const char *folded_tree(struct folded *folded);
const char *folded_findings(struct folded *folded);

#endif
