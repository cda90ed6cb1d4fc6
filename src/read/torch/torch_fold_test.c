#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "read/torch/test_fold_in.h"

static void check_tree(const char *pickle, const char *tree)
{
    struct folded folded;

    fold_text(&folded, pickle);
    CHECK_STR(folded_tree(&folded), tree);
    CHECK_STR(folded_findings(&folded), "");
    folded_release(&folded);
}

TEST(the_dotted_names_of_a_state_dict_become_a_tree)
{
    check_tree("(dVconv.weight\n" VECTOR("0") "sVconv.bias\n" VECTOR(
                   "1") "sVbn.running_mean\n" VECTOR("2") "s.",
               "group dict (state_dict)\n"
               "  conv module\n"
               "    weight float32 4 parameter?\n"
               "    bias float32 4 parameter?\n"
               "  bn module\n"
               "    running_mean float32 4 buffer?\n");
}

#define ORDERED "ccollections\nOrderedDict\n(tR"

TEST(state_dict_metadata_gives_the_order_and_modules_without_tensors)
{
    check_tree(
        ORDERED "Va.w\n" VECTOR("0") "sVb.w\n" VECTOR(
            "1") "s(dV_metadata\n" ORDERED
                 "V\n(dVversion\nI1\nssVa\n(dVversion\nI2\nssVrelu\n(dVversion\nI1\nss"
                 "Vb\n(dVversion\nI1\nsssb.",
        "group collections.OrderedDict v1 (state_dict)\n"
        "  a module v2\n"
        "    w float32 4 parameter?\n"
        "  relu module v1\n"
        "  b module v1\n"
        "    w float32 4 parameter?\n");
}

TEST(metadata_that_does_not_match_the_names_is_ignored)
{
    check_tree(ORDERED
               "Vx.w\n" VECTOR("0") "sVy.w\n" VECTOR("1") "s(dV_metadata\n" ORDERED
                                                          "V\n(dsVa\n(dsVb\n(dssb.",
               "group collections.OrderedDict (state_dict)\n"
               "  x module\n"
               "    w float32 4 parameter?\n"
               "  y module\n"
               "    w float32 4 parameter?\n");
}

TEST(tensors_in_an_optimizer_have_the_role_state)
{
    check_tree("(dVstate\n(dI0\n(dVstep\nI7\nsVexp_avg\n" VECTOR(
                   "0") "sss"
                        "Vparam_groups\n(l(dVlr\nF0.5\nsVparams\n(lI0\nasas.",
               "group dict (optimizer)\n"
               "  state group dict\n"
               "    0 group dict\n"
               "      step 7\n"
               "      exp_avg float32 4 state\n"
               "  param_groups group list\n"
               "    0 group dict\n"
               "      lr 0.5\n"
               "      params [0]\n");
}

TEST(a_checkpoint_shows_plain_values_beside_its_state_dict)
{
    check_tree("(dVepoch\nI12\nsI3\nVthree\nsVhistory\n(lI1\naI2\na(I3\nI4\ntas"
               "Vargs\ncargparse\nNamespace\n)\x81(dVlr\nF0.5\nsbs"
               "Vmodel\n(dVweight\n" VECTOR("0") "ss.",
               "group dict\n"
               "  epoch 12\n"
               "  3 three\n"
               "  history [1 2 [3 4]]\n"
               "  args group argparse.Namespace\n"
               "    lr 0.5\n"
               "  model group dict (state_dict)\n"
               "    weight float32 4 parameter?\n");
}

TEST(a_dict_with_one_tensor_is_not_a_state_dict_and_numbered_states_are_an_optimizer)
{
    check_tree("(dVbest\n(dVscore\n" VECTOR("0") "ss.", "group dict\n"
                                                        "  best group dict\n"
                                                        "    score float32 4 plain\n");
    check_tree("(dVstate\n(dI0\n(dVexp_avg\n" VECTOR("0") "sss.",
               "group dict (optimizer)\n"
               "  state group dict\n"
               "    0 group dict\n"
               "      exp_avg float32 4 state\n");
}

TEST(a_container_referenced_twice_is_shown_once)
{
    check_tree("(dVa\n(dVx\nI1\nsp9\nsVb\ng9\nsVl\n(lp8\ng8\nag9\nas.",
               "group dict\n"
               "  a group dict\n"
               "    x 1\n"
               "  b group dict (again)\n"
               "  l group list\n"
               "    0 group list (again)\n"
               "    1 group dict (again)\n");
}

/* The state of a module: its own keys, then those of its class. */
#define MODULE(class_name, parameters, buffers, modules, more)                         \
    "cnet\n" class_name "\n)\x81(dVtraining\nI00\nsV_parameters\n(d" parameters        \
    "sV_buffers\n(d" buffers "sV_modules\n(d" modules "s" more "b"
#define PARAMETER(key) "ctorch._utils\n_rebuild_parameter\n(" VECTOR(key) "I01\nNtR"

TEST(a_module_has_parameters_buffers_children_and_attributes_in_this_order)
{
    check_tree(
        MODULE("Net", "Vweight\n" PARAMETER("0") "sVbias\nNs",
               "Vmean\n" VECTOR("1") "sVmask\n" VECTOR("2") "s",
               "Vact\n" MODULE("Act", "", "", "", "Vslope\nF0.5\ns") "sVnone\nNs",
               "V_non_persistent_buffers_set\nc__builtin__\nset\n((lVmask\natRs"
               "Vscale\n" VECTOR("3") "sVwidth\nI4\nsV_secret\nI5\ns"
                                      "V_forward_hooks\n(dI0\ncnet\nwatch\nss") ".",
        "module net.Net eval [width 4] hidden[_secret 5] hooks[forward_hooks "
        "[net.watch]]\n"
        "  weight float32 4 parameter grad Parameter\n"
        "  bias None (empty)\n"
        "  mean float32 4 buffer\n"
        "  mask float32 4 buffer (not saved)\n"
        "  act module net.Act eval [slope 0.5]\n"
        "  none None (empty)\n"
        "  scale float32 4 plain (attribute)\n");
}

TEST(shared_modules_and_cycles_are_marked)
{
    check_tree("cnet\nNet\n)\x81p1\n(dV_parameters\n(dsV_modules\n(dVa\n" MODULE(
                   "Act", "", "", "", "") "p2\nsVb\ng2\nssVme\n(lg1\nasb.",
               "module net.Net\n"
               "  a module net.Act eval\n"
               "  b module net.Act eval (again)\n"
               "  me group list (attribute)\n"
               "    0 module net.Net (again)\n");
}

TEST(a_list_of_weights_already_in_the_tree_adds_no_places)
{
    check_tree(
        MODULE(
            "Rnn", "Vw\n" PARAMETER("0") "p3\ns", "", "",
            "V_flat\n(lg3\nasVmethod\nc__builtin__\ngetattr\n(cnet\nA\nVrun\ntRs") ".",
        "module net.Rnn eval [method net.A.run] hidden[_flat [tensor 0]]\n"
        "  w float32 4 parameter grad Parameter\n");
}

TEST(a_wrapped_module_is_a_prefix)
{
    check_tree(MODULE("DataParallel", "", "",
                      "Vmodule\n" MODULE("Act", "", "", "", "") "s", "") ".",
               "module net.DataParallel eval\n"
               "  module module net.Act eval (prefix)\n");
}

TEST(the_source_stored_with_a_class_is_kept)
{
    struct folded folded;

    fold_text(&folded, "(Vmodule\ncnet\nNet\nVnet.py\nVclass Net: pass\ntQ)\x81"
                       "(dV_parameters\n(dsV_modules\n(dsb.");
    CHECK_STR(folded_tree(&folded), "module net.Net\n");
    for (uint32_t i = 0; i < folded.model->n_classes; i++) {
        const struct class_info *info = &folded.model->classes[i];

        if (str_is(model_string(folded.model, info->name), "net.Net")) {
            CHECK(str_is(model_string(folded.model, info->source), "class Net: pass"));
            CHECK(str_is(model_string(folded.model, info->file), "net.py"));
        }
    }
    folded_release(&folded);
}

TEST(a_graph_module_keeps_its_code)
{
    struct folded folded;

    fold_text(&folded, "ctorch.fx.graph_module\nreduce_graph_module\n((dV_code\n"
                       "Vdef forward(self): pass\nsV_parameters\n(dsV_modules\n(ds"
                       "VN\ntR.");
    CHECK_STR(folded_tree(&folded), "module torch.fx.graph_module.GraphModule\n");
    folded_release(&folded);
}

TEST(torchscript_attributes_get_roles_from_their_values_and_the_code)
{
    struct folded folded;

    fold_flat_text(
        &folded,
        "c__torch__\nNet\n)\x81(dVweight\n" VECTOR(
            "0") "sVtraining\nI01\nsVrunning_mean\n" VECTOR("1") "sVchild\nc__torch__"
                                                                 "\nAct\n)\x81("
                                                                 "dVslope\nF0."
                                                                 "5\nsbsVwidth\nI4\ns"
                                                                 "Vother\n" VECTOR(
                                                                     "2") "sb.");
    CHECK_STR(folded_tree(&folded), "module __torch__.Net training [width 4]\n"
                                    "  weight float32 4 parameter\n"
                                    "  running_mean float32 4 buffer\n"
                                    "  other float32 4 plain (attribute)\n"
                                    "  child module __torch__.Act [slope 0.5]\n");
    folded_release(&folded);
}

TEST(omegaconf_shows_its_content_only)
{
    check_tree(
        "(dVcfg\ncomegaconf.dictconfig\nDictConfig\n)\x81p1\n(dV_parent\nNsV_content\n"
        "(dVlr\ncomegaconf.nodes\nAnyNode\n)\x81(dV_val\nI3\nsV_parent\ng1\nsbssbs.",
        "group dict\n"
        "  cfg group omegaconf.dictconfig.DictConfig\n"
        "    lr 3\n");
}

/* Linear(bias=False) has an empty place for its bias. */
TEST(empty_slots_of_modules_do_not_count_as_plain_values)
{
    struct folded folded;
    struct buf pickle = BUF_INIT;
    uint32_t n = 270000;

    buf_text(&pickle, "cnet\nNet\n)\x81(dV_modules\n(dsV_parameters\n(d");
    for (uint32_t i = 0; i < n; i++)
        buf_printf(&pickle, "Vp%u\nNs", i);
    buf_text(&pickle, "sb.");
    fold_text(&folded, buf_cstr(&pickle));
    CHECK_INT(folded.model->n_places, n + 1);
    CHECK_STR(folded_findings(&folded), "");
    folded_release(&folded);
    buf_release(&pickle);
}

TEST(a_tree_that_is_too_deep_ends_with_a_finding)
{
    struct folded folded;
    struct buf pickle = BUF_INIT;

    for (int i = 0; i < 100000; i++)
        buf_text(&pickle, "(dVa\n");
    buf_text(&pickle, "I1\n");
    for (int i = 0; i < 100000; i++)
        buf_text(&pickle, "s");
    buf_text(&pickle, ".");
    fold_text(&folded, buf_cstr(&pickle));
    CHECK(folded.model->n_places < 1100);
    CHECK_STR(folded_findings(&folded),
              "limit: nested more than 1000 levels deep: the rest is left out\n");
    folded_release(&folded);
    buf_release(&pickle);
}

TEST(deeply_nested_tensors_do_not_overflow_the_stack)
{
    struct folded folded;
    struct buf pickle = BUF_INIT;

    for (int i = 0; i < 20000; i++)
        buf_text(&pickle, "ctorch._utils\n_rebuild_parameter_with_state\n(" VECTOR(
                              "0") "I01\nN(dVa\n");
    buf_text(&pickle, "I1\n");
    for (int i = 0; i < 20000; i++)
        buf_text(&pickle, "stR");
    buf_text(&pickle, ".");
    fold_text(&folded, buf_cstr(&pickle));
    CHECK(folded.model->n_places < 1100);
    folded_release(&folded);
    buf_release(&pickle);
}

/* Lists of lists, each twice in the next: 2^200 values in a few bytes. */
TEST(shared_lists_that_expand_exponentially_take_linear_time)
{
    struct folded folded;
    struct buf pickle = BUF_INIT;

    buf_text(&pickle, "(dVx\nI1\nsp0\n");
    for (int i = 1; i < 200; i++)
        buf_printf(&pickle, "p%d\n0(lp%d\ng%d\nag%d\na", i - 1, i, i - 1, i - 1);
    buf_text(&pickle, ".");
    fold_text(&folded, buf_cstr(&pickle));
    CHECK(folded.model->n_places < 1000);
    folded_release(&folded);
    buf_release(&pickle);
}
