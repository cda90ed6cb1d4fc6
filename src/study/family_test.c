#include "study/family.h"

#include "base/base.h"
#include "base/test.h"
#include "run/sample_run.h"

TEST(a_class_has_a_family)
{
    static const struct {
        const char *name;
        enum family family;
    } wanted[] = {
        {"Conv2d", FAMILY_CONV},
        {"ConvTranspose1d", FAMILY_CONV},
        {"ConvBNActivation", FAMILY_CONV},
        {"conv", FAMILY_CONV},
        {"Conv1D", FAMILY_LINEAR},
        {"Linear", FAMILY_LINEAR},
        {"NonDynamicallyQuantizableLinear", FAMILY_LINEAR},
        {"LSTMCell", FAMILY_LINEAR},
        {"BatchNorm2d", FAMILY_NORM},
        {"LlamaRMSNorm", FAMILY_NORM},
        {"rmsnorm", FAMILY_NORM},
        {"MambaRMSNorm", FAMILY_NORM},
        {"MambaMixer", FAMILY_ATTENTION},
        {"ReLU", FAMILY_ACTIVATION},
        {"NewGELUActivation", FAMILY_ACTIVATION},
        {"LogSoftmax", FAMILY_ACTIVATION},
        {"Hardsigmoid", FAMILY_ACTIVATION},
        {"AdaptiveAvgPool2d", FAMILY_POOL},
        {"MultiheadAttention", FAMILY_ATTENTION},
        {"Embedding", FAMILY_EMBEDDING},
        {"Flatten", FAMILY_VIEW},
        {"Dropout", FAMILY_ELEMENTWISE},
        {"CrossEntropyLoss", FAMILY_LOSS},
        {"Thing", FAMILY_OTHER},
        {"", FAMILY_OTHER},
    };

    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        CHECK(family_of_class(str_of(wanted[i].name)) == wanted[i].family);
}

TEST(containers_have_no_family)
{
    const struct model *model = sample_model();

    CHECK(family_of_place(model, 0) == FAMILY_NONE);
    CHECK(family_of_place(model, place_find(model, STR("a"))) == FAMILY_LINEAR);
    CHECK(family_of_place(model, place_find(model, STR("list"))) == FAMILY_NONE);
    CHECK(family_of_place(model, place_find(model, STR("list.0"))) == FAMILY_NONE);
    CHECK(family_of_place(model, place_find(model, STR("a.weight"))) == FAMILY_NONE);
    model_free(model);
}
