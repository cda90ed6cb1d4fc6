/* torchscript_code_in.h - the classes in the code of a TorchScript archive.
 * The records code/__torch__/a/b.py are a small, regular subset of Python, which is
 * read line by line:
 *     class Conv2d(Module):
 *       __parameters__ = ["weight", "bias", ]
 *       __buffers__ = []
 *       weight : Tensor
 *       stride : Final[Tuple[int, int]] = (2, 2)
 *       def forward(self: __torch__.torch.nn.modules.conv.Conv2d, ...
 * Constants (Final) are hyper-parameters that the file stores nowhere else. */
#ifndef READ_TORCH_TORCHSCRIPT_CODE_IN_H
#define READ_TORCH_TORCHSCRIPT_CODE_IN_H

#include "base/map.h"
#include "read/file/input_in.h"

struct script_class {
    struct str name;   /* "__torch__.torch.nn.modules.conv.___torch_mangle_0.Conv2d" */
    struct str base;   /* "Module", "NamedTuple", "Interface", "Enum"; or empty; of a
                          function "def" */
    struct str source; /* its text */
    struct str record; /* "code/__torch__/....py" */
    uint32_t line;     /* where it begins in the record, from 1 */
    struct str parameters; /* the content of the list: `"weight", "bias", ` */
    struct str buffers;
    uint32_t constants; /* value id of a DICT; or None */
};

struct script_code {
    struct build *build;
    struct script_class *classes;
    uint32_t room;
    uint32_t n_functions;  /* of these */
    struct name_map names; /* index in `classes` */
};

/* Read all code of the archive; texts are in the scratch arena. Damaged records are
 * findings. */
int script_code_load(struct script_code *code, struct input *input, struct build *build,
                     struct err *err);

const struct script_class *script_class_find(const struct script_code *code,
                                             struct str name); /* or NULL */

/* Is `name` in a list in the form of `parameters`? */
bool script_list_has(struct str list, struct str name);

/* The name without __torch__. and ___torch_mangle_7, in the build's scratch arena. */
struct str script_plain_name(struct build *build, struct str name);

#endif
