#include "rows/args.h"

#include "base/test.h"
#include "rows/sample_rows.h"
#include "rows/value_text.h"

static void check_args(const char *class_name, const char *args, const char *expected)
{
    struct sample s;
    struct buf text = BUF_INIT;

    sample_begin(&s, "x.pt");
    sample_module(&s, 0, "m", class_name, args);
    sample_finish(&s);
    args_show(&text, s.model, place_object(s.model, 1));
    CHECK_STR(buf_cstr(&text), expected);
    buf_release(&text);
    sample_release(&s);
}

TEST(well_known_layers_are_short)
{
    check_args("torch.nn.modules.conv.Conv2d",
               "in_channels=3 out_channels=64 kernel_size=7,7 stride=2,2 padding=3,3 "
               "dilation=1,1 transposed=False output_padding=0,0 groups=1 "
               "padding_mode='zeros'",
               "3→64, 7×7, stride=2");
    check_args("torch.nn.modules.conv.Conv2d",
               "in_channels=64 out_channels=64 kernel_size=3,1 stride=2,1 padding=1,0 "
               "dilation=1,1 groups=64",
               "64→64, 3×1, stride=(2, 1), groups=64");
    check_args("torch.nn.modules.pooling.MaxPool2d",
               "kernel_size=3 stride=2 padding=1 dilation=1 ceil_mode=False",
               "3×3, stride=2");
    check_args("torch.nn.modules.linear.Linear", "in_features=2048 out_features=1000",
               "2048→1000");
    check_args("torch.nn.modules.batchnorm.BatchNorm2d",
               "num_features=64 eps=1e-05 momentum=0.1 affine=True "
               "track_running_stats=True",
               "64");
    check_args("torch.nn.modules.normalization.LayerNorm",
               "normalized_shape=4,768 eps=1e-12 elementwise_affine=True",
               "4×768, eps=1e-12");
    check_args("torch.nn.modules.sparse.Embedding",
               "num_embeddings=50257 embedding_dim=768 padding_idx=None max_norm=None",
               "50257, 768");
    check_args("torch.nn.modules.dropout.Dropout", "p=0.1 inplace=False", "p=0.1");
    check_args("torch.nn.modules.activation.ReLU", "inplace=True", "inplace=True");
    check_args("torch.nn.modules.container.Sequential", "x=1", "");
}

TEST(other_classes_list_all_arguments)
{
    check_args("x.Block", "stride=1 name='a'", "stride=1, name=\"a\"");
    check_args("my.own.Linear", "in_features=3 out_features=4",
               "in_features=3, out_features=4");
    check_args("x.Config", "aaaaaaaaaaaaaaa=1 bbbbbbbbbbbbbbb=2 c=3",
               "aaaaaaaaaaaaaaa=1, bbbbbbbbbbbbbbb=2, …");
    check_args("x.Block", "cache=None heads=4 path=''", "heads=4");
}

TEST(values_look_like_python)
{
    struct sample s;
    struct values *values;
    struct buf text = BUF_INIT;
    uint32_t items[4], id;

    sample_begin(&s, "x.pt");
    values = build_values(&s.build);
    items[0] = value_str(values, STR("lr"));
    items[1] = value_real(values, 1.0);
    items[2] = value_str(values, STR("betas"));
    items[3] = value_make(values, VALUE_TUPLE, STR(""), &items[1], 1);
    id = value_make(values, VALUE_DICT, STR(""), items, 4);
    sample_finish(&s);
    value_show(&text, s.model, id, 100);
    CHECK_STR(text.at, "{\"lr\": 1.0, \"betas\": (1.0,)}");
    buf_clear(&text);
    value_show(&text, s.model, id, 8);
    CHECK_STR(text.at, "{\"lr\": 1.0, …}");
    buf_clear(&text);
    value_show(&text, s.model, items[2], 3);
    CHECK_STR(text.at, "\"bet…\"");
    buf_release(&text);
    sample_release(&s);
}

static void check_words(const char *class_name, const char *args, const char *expected)
{
    struct sample s;
    struct args_list list = {0};
    struct buf text = BUF_INIT;
    uint32_t begin = 0;

    sample_begin(&s, "x.pt");
    sample_module(&s, 0, "m", class_name, args);
    sample_finish(&s);
    args_words(&list, s.model, place_object(s.model, 1));
    for (uint32_t i = 0; i < list.n; begin = list.ends[i++]) {
        buf_str(&text, str_from(str_head(buf_span(&list.text), list.ends[i]), begin));
        buf_char(&text, '|');
    }
    CHECK_STR(buf_cstr(&text), expected);
    buf_release(&text);
    buf_release(&list.text);
    sample_release(&s);
}

TEST(words_for_pictures_begin_with_the_window_and_omit_false)
{
    check_words("torch.nn.modules.conv.Conv2d",
                "in_channels=3 out_channels=64 kernel_size=3,3 stride=2,2 padding=0,0 "
                "dilation=1,1 groups=1",
                "3×3|3→64|stride 2|pad 0|");
    check_words("torch.nn.modules.activation.ReLU", "inplace=True", "in place|");
    check_words("x.Block", "heads=4 causal=True cached=False", "heads 4|causal|");
    check_words("x.Many", "a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8",
                "a 1|b 2|c 3|d 4|e 5|f 6|g 7|h 8|");
}
