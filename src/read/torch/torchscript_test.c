#include <string.h>

#include "base/test.h"
#include "read/file/test_zip_in.h"
#include "read/read.h"
#include "read/torch/torchscript_code_in.h"

/* An archive with one class in code/__torch__/a.py and an object of it whose attribute
 * `eps` is 7. */
static void make_archive(struct test_zip *zip, const char *code)
{
    static const char object[] = "\x80\x02"
                                 "c__torch__.a\nNorm\n)\x81}X\x03\x00\x00\x00"
                                 "epsK\x07sb.";

    test_zip_add(zip, &(struct test_member){.name = "m/data.pkl",
                                            .content = object,
                                            .content_len = sizeof object - 1});
    test_zip_add(zip, &(struct test_member){.name = "m/code/__torch__/a.py",
                                            .content = code,
                                            .deflate = true});
    test_zip_add(zip, &(struct test_member){.name = "m/constants.pkl",
                                            .content = "\x80\x02).",
                                            .content_len = 4});
    test_zip_end(zip, &(struct test_end){0});
}

static const struct model *read_archive(struct test_zip *zip, const char *code)
{
    struct err err = {0};

    make_archive(zip, code);
    return read_model_memory(zip->bytes.at, zip->bytes.len, "m.pt", NULL, &err);
}

/* The constant `key` of the root object. */
static const struct value *constant(const struct model *model, const char *key)
{
    const struct object *object = place_object(model, 0);
    uint32_t value = VALUE_ID_NONE;

    CHECK(object && value_get(&model->values, object->args, key, &value));
    return value_at(&model->values, value);
}

TEST(constants_in_the_code_become_arguments_of_the_module)
{
    struct test_zip zip = {0};
    const struct model *model =
        read_archive(&zip, "class Norm(Module):\n"
                           "  __parameters__ = [\"weight\", ]\n"
                           "  __buffers__ = []\n"
                           "  weight : Tensor\n"
                           "  size : Final[Tuple[int, int]] = (3, -4)\n"
                           "  mode : Final[str] = \"a \\\"b\\\"\"\n"
                           "  p : Final[float] = 0.5\n"
                           "  on : Final[bool] = True\n"
                           "  odd : Final[Device] = torch.device(\"cpu\")\n"
                           "  def forward(self: __torch__.a.Norm) -> int:\n"
                           "    x : Final[int] = 1\n"
                           "    return 1\n"
                           "class Other(Module):\n"
                           "  no : Final[int] = 1\n");
    uint32_t ignored;

    CHECK(model);
    CHECK_STR(model->format, "TorchScript");
    CHECK(str_is(place_class(model, 0), "a.Norm"));
    CHECK_INT(model->kind[0], PLACE_MODULE);
    CHECK_INT(constant(model, "size")->n, 2);
    CHECK(constant(model, "p")->real == 0.5);
    CHECK_INT(constant(model, "on")->kind, VALUE_BOOL);
    CHECK_INT(constant(model, "eps")->integer, 7);
    CHECK(str_is(model_string(model, constant(model, "mode")->text), "a \"b\""));
    CHECK_INT(constant(model, "odd")->kind, VALUE_GLOBAL);
    CHECK(!value_get(&model->values, place_object(model, 0)->args, "x", &ignored));
    CHECK(!value_get(&model->values, place_object(model, 0)->args, "no", &ignored));
    model_free(model);
    test_zip_release(&zip);
}

TEST(a_class_keeps_its_source_and_location)
{
    struct test_zip zip = {0};
    const struct model *model = read_archive(&zip, "op_version_set = 1\n"
                                                   "class First(Module):\n"
                                                   "  pass\n"
                                                   "class Norm(Module):\n"
                                                   "  def forward(self) -> int:\n"
                                                   "    return 1\n"
                                                   "def helper(x: int) -> int:\n"
                                                   "  return x\n");
    const struct class_info *class;

    CHECK(model);
    class = &model->classes[place_object(model, 0)->class_id];
    CHECK(str_is(model_string(model, class->source),
                 "class Norm(Module):\n  def forward(self) -> int:\n    return 1\n"));
    CHECK(str_is(model_string(model, class->file), "code/__torch__/a.py"));
    CHECK_INT(class->line, 4);
    model_free(model);
    test_zip_release(&zip);
}

TEST(invalid_code_does_not_affect_the_tree)
{
    static const char *const codes[] = {
        "",
        "class",
        "class \n",
        "class Norm(\n",
        "class Norm)(:\n  x : Final[int] = \n  y : Final[",
        "class Norm(Module):\n  x : Final[int] = ((((((((((((((((((((((((1",
        "class Norm(Module):\n  x : Final[str] = \"",
        "class Norm(Module):\n  __parameters__ = ]\n  __buffers__ = [",
    };

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct test_zip zip = {0};
        const struct model *model = read_archive(&zip, codes[i]);

        CHECK(model && model->n_places == 1);
        model_free(model);
        test_zip_release(&zip);
    }
}

TEST(mangled_names_are_shown_as_the_user_wrote_them)
{
    struct build build;

    CHECK(build_init(&build, "x", 0, NULL, NULL) == 0);
    CHECK(str_is(script_plain_name(
                     &build, STR("__torch__.torch.nn.conv.___torch_mangle_12.Conv2d")),
                 "torch.nn.conv.Conv2d"));
    CHECK(str_is(script_plain_name(&build, STR("__torch__.Net")), "Net"));
    CHECK(script_list_has(STR("\"weight\", \"bias\", "), STR("bias")));
    CHECK(!script_list_has(STR("\"weight\", "), STR("weigh")));
    build_release(&build);
}
