#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "read/torch/test_fold_in.h"

/* Checks the tree of a pickle, which must have no findings. */
static void check_tree(const char *pickle, const char *tree)
{
    struct folded folded;

    fold_text(&folded, pickle);
    CHECK_STR(folded_tree(&folded), tree);
    CHECK_STR(folded_findings(&folded), "");
    folded_release(&folded);
}

TEST(a_tensor_is_described_by_its_rebuild_call)
{
    check_tree("(dVw\n" TENSOR("0", "6", "0", "(I2\nI3\nt", "(I3\nI1\nt") "s.",
               "group dict (state_dict)\n"
               "  w float32 2x3 parameter?\n");
    check_tree("(dVw\n" TENSOR("0", "9", "2", "(I2\nI3\nt", "(I1\nI2\nt") "s.",
               "group dict (state_dict)\n"
               "  w float32 2x3/1x2+2 parameter?\n");
}

TEST(a_tensor_without_strides_is_in_c_order)
{
    check_tree("(dVw\n" TENSOR("0", "6", "0", "(I2\nI3\nt", "(t") "s.",
               "group dict (state_dict)\n"
               "  w float32 2x3 parameter?\n");
}

TEST(a_scalar_has_an_empty_shape)
{
    check_tree("(dVw\n" TENSOR("0", "1", "0", "(t", "(t") "s.",
               "group dict (state_dict)\n"
               "  w float32  parameter?\n");
}

TEST(a_file_with_one_bare_tensor_has_a_child_named_tensor)
{
    check_tree(VECTOR("0") ".", "group torch.Tensor\n"
                                "  tensor float32 4 plain\n");
    check_tree("I5\n.", "group\n"
                        "  value 5\n");
}

/* Checks the reason in the finding of an invalid tensor. */
static void check_bad(const char *tensor, const char *why)
{
    struct folded folded;
    char pickle[2048], finding[256];

    snprintf(pickle, sizeof pickle, "(dVw\n%ss.", tensor);
    snprintf(finding, sizeof finding, "bad-tensor: tensor not usable: %s\n", why);
    fold_text(&folded, pickle);
    CHECK_STR(folded_findings(&folded), finding);
    CHECK(folded.model->n_tensors > 0);
    CHECK(folded.model->tensors[0].flags & TENSOR_INVALID);
    folded_release(&folded);
}

TEST(an_invalid_tensor_is_listed_with_the_reason)
{
    check_bad(TENSOR("0", "6", "0", "(I2\nI-1\nt", "(I3\nI1\nt"), "size -1");
    check_bad(TENSOR("0", "6", "0", "(I2\nI3\nt", "(I3\nF1.5\nt"),
              "a stride is a float");
    check_bad(TENSOR("0", "6", "0", "(I2\nV3\nt", "(I3\nI1\nt"), "a size is a string");
    check_bad(TENSOR("0", "6", "0", "(I2\nI3\nt", "(I1\nt"), "2 sizes, but 1 strides");
    check_bad(TENSOR("0", "6", "-2", "(I2\nI3\nt", "(I3\nI1\nt"), "offset -2");
    check_bad(TENSOR("0", "6", "1", "(I2\nI3\nt", "(I3\nI1\nt"),
              "it reaches beyond its storage");
    check_bad(TENSOR("0", "6", "0", "N", "(I3\nI1\nt"),
              "its size is None, not a tuple");
    check_bad("ctorch._utils\n_rebuild_tensor_v2\n(I7\nI0\n(I1\nt(I1\ntI00\nNtR",
              "its storage is an integer");
    check_bad("ctorch._utils\n_rebuild_tensor_v2\n(tR",
              "_rebuild_tensor_v2 is called with 0 arguments");
    check_bad("ctorch._utils\n_rebuild_tensor_v2\nI3\nR",
              "_rebuild_tensor_v2 is called with 0 arguments");
}

TEST(a_tensor_of_too_many_dimensions_is_refused)
{
    struct buf sizes = BUF_INIT;
    char tensor[2048];

    for (int i = 0; i < 65; i++)
        buf_text(&sizes, "I1\n");
    snprintf(tensor, sizeof tensor,
             "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE("FloatStorage", "0",
                                                            "1") "I0\n(%st(%stI00\nNtR",
             buf_cstr(&sizes), buf_cstr(&sizes));
    check_bad(tensor, "65 dimensions are more than 64");
    buf_release(&sizes);
}

TEST(a_parameter_records_requires_grad)
{
    check_tree(
        "(dVa\nctorch._utils\n_rebuild_parameter\n(" VECTOR(
            "0") "I01\nNtRs"
                 "Vb\nctorch._utils\n_rebuild_parameter\n(" VECTOR("1") "I00\nNtRs.",
        "group dict (state_dict)\n"
        "  a float32 4 parameter grad Parameter\n"
        "  b float32 4 parameter Parameter\n");
}

TEST(a_tensor_wrapped_too_many_times_is_refused)
{
    struct folded folded;
    struct buf pickle = BUF_INIT;

    buf_text(&pickle, "(dVa\n");
    for (int i = 0; i < 1000; i++)
        buf_text(&pickle, "ctorch._utils\n_rebuild_parameter\n(");
    buf_text(&pickle, VECTOR("0"));
    for (int i = 0; i < 1000; i++)
        buf_text(&pickle, "I01\nNtR");
    buf_text(&pickle, "s.");
    fold_text(&folded, buf_cstr(&pickle));
    CHECK_STR(folded_findings(&folded),
              "bad-tensor: tensor not usable: it is wrapped more than 32 times\n");
    folded_release(&folded);
    buf_release(&pickle);
}

TEST(one_tensor_at_two_places_is_one_tensor)
{
    struct folded folded;

    fold_text(&folded, "(dVa\n" VECTOR("0") "p5\nsVb\ng5\nsVc\n" VECTOR("0") "s.");
    CHECK_STR(folded_tree(&folded), "group dict (state_dict)\n"
                                    "  a float32 4 parameter?\n"
                                    "  b float32 4 parameter?\n"
                                    "  c float32 4 parameter?\n");
    CHECK(folded.model->n_tensors == 1);
    folded_release(&folded);
}

TEST(conjugates_and_negatives_are_marked)
{
    check_tree(
        "(dVa\nctorch._utils\n_rebuild_tensor_v2\n(" STORAGE(
            "ComplexFloatStorage", "0", "4") "I0\n(I4\nt(I1\ntI00\nN(dVconj\nI01\ns"
                                             "tRs.",
        "group dict (state_dict)\n"
        "  a complex64 4 parameter? conj\n");
}

TEST(an_untyped_storage_gets_its_dtype_from_the_call)
{
    check_tree("(dVa\nctorch._utils\n_rebuild_tensor_v3\n((Vstorage\nctorch.storage\n"
               "UntypedStorage\nV0\nVcpu\nI8\ntQI0\n(I4\nt(I1\ntI00\nNctorch\nuint16\n"
               "tRs.",
               "group dict (state_dict)\n"
               "  a uint16 4 parameter?\n");
}

TEST(a_quantised_tensor_shows_its_quantiser)
{
    check_tree("(dVa\nctorch._utils\n_rebuild_qtensor\n(" STORAGE(
                   "QInt8Storage", "0",
                   "4") "I0\n(I4\nt(I1\nt"
                        "(ctorch\nper_tensor_affine\nF0.5\nI3\ntI00\nNtRs.",
               "group dict (state_dict)\n"
               "  a qint8 4 parameter? [scheme torch.per_tensor_affine scale 0.5 "
               "zero_point 3]\n");
    check_tree("(dVa\nctorch._utils\n_rebuild_qtensor\n(" STORAGE(
                   "QInt8Storage", "0", "4") "I0\n(I4\nt(I1\nt"
                                             "(ctorch\nper_channel_affine\n" VECTOR("1")
                                                 VECTOR("2") "I0\ntI00\nNtRs.",
               "group dict (state_dict)\n"
               "  a qint8 4 parameter? [scheme torch.per_channel_affine axis 0]\n"
               "    scales float32 4 plain\n"
               "    zero_points float32 4 plain\n");
    check_bad("ctorch._utils\n_rebuild_qtensor\n(" STORAGE(
                  "QInt8Storage", "0",
                  "4") "I0\n(I4\nt(I1\nt(ctorch\nper_channel_affine\n" VECTOR("1")
                  VECTOR("2") "I1\ntI00\nNtR",
              "it is quantised along axis 1");
}

TEST(a_sparse_tensor_has_its_parts_below_it)
{
    check_tree("(dVa\nctorch._utils\n_rebuild_sparse_tensor\n(ctorch.serialization\n"
               "_get_layout\n(Vtorch.sparse_csr\ntR(" VECTOR("0") VECTOR("1")
                   VECTOR("2") "(I3\nI5\ntttRs.",
               "group dict (state_dict)\n"
               "  a float32 3x5 parameter? outer\n"
               "    crow_indices float32 4 plain\n"
               "    col_indices float32 4 plain\n"
               "    values float32 4 plain\n");
}

TEST(a_meta_tensor_has_no_values)
{
    check_tree(
        "(dVa\nctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat16\n"
        "(I3\nt(I1\ntI00\ntRs.",
        "group dict (state_dict)\n"
        "  a float16 3 parameter? meta\n");
}

TEST(a_wrapper_subclass_shows_its_inner_tensors)
{
    check_tree("(dVa\nctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n"
               "_rebuild_wrapper_subclass\nclib\nMine\n(clib\nMine\nctorch\nfloat32\n"
               "(I8\nt(I1\ntI0\nNVcuda:0\nI00\nt(dV_local\n" VECTOR("0") "sVnote\nI7\ns"
                                                                         "tRs.",
               "group dict (state_dict)\n"
               "  a float32 8 parameter? outer Mine [note 7]\n"
               "    _local float32 4 plain\n");
}

TEST(tensors_of_torch_0_1_are_objects_with_a_state)
{
    check_tree(
        "(dVa\nctorch\nFloatTensor\n)\x81(" STORAGE(
            "FloatStorage", "0",
            "4") "I0\n(I4\nt(I1\nttbs"
                 "Vb\nctorch.nn.parameter\nParameter\n)\x81(ctorch._utils\n_rebuild_"
                 "tensor\n(" STORAGE("FloatStorage", "1",
                                     "4") "I0\n(I4\nt(I1\nttRNNI01\nI00\ntbs.",
        "group dict (state_dict)\n"
        "  a float32 4 parameter? FloatTensor\n"
        "  b float32 4 parameter grad Parameter\n");
}

#define NUMPY_DTYPE(code, order)                                                       \
    "cnumpy\ndtype\n(V" code "\nI00\nI01\ntR(I3\nV" order "\nNNNI-1\nI-1\nI0\ntb"
#define NUMPY(shape, dtype, fortran, data)                                             \
    "cnumpy._core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntVb\ntR(I1\n" shape \
        dtype fortran data "tb"

TEST(numpy_arrays_are_tensors)
{
    check_tree("(dVa\n" NUMPY("(I2\nI3\nt", NUMPY_DTYPE("i1", "|"), "I00\n",
                              "U\x06"
                              "abcdef") "sVb\n" NUMPY("(I2\nI3\nt",
                                                      NUMPY_DTYPE("i1", "|"), "I01\n",
                                                      "U\x06"
                                                      "abcdef") "s.",
               "group dict (state_dict)\n"
               "  a int8 2x3 parameter? ndarray\n"
               "  b int8 2x3/1x2 parameter? ndarray\n");
    check_bad(NUMPY("(I2\nI3\nt", NUMPY_DTYPE("f4", "<"), "I00\n",
                    "U\x06"
                    "abcdef"),
              "its data has 6 bytes, but its shape needs 24");
}

TEST(numpy_arrays_of_strings_are_values_and_arrays_of_objects_are_groups)
{
    check_tree("(dVa\n" NUMPY("(I2\nt", NUMPY_DTYPE("S2", "|"), "I00\n",
                              "U\x04"
                              "abc\x7f") "sVb\n" NUMPY("(I2\nt", NUMPY_DTYPE("O8", "|"),
                                                       "I00\n",
                                                       "(lI5\na(dVx\nI1\nsa") "s.",
               "group dict\n"
               "  a numpy.ndarray[shape [2] dtype S2 values [ab c\x7f]]\n"
               "  b group numpy.ndarray\n"
               "    0 5\n"
               "    1 group dict\n"
               "      x 1\n");
}
