/* Packages of AOTInductor: native code below data/aotinductor/NAME/, with its weights.
 * Loading such a package loads its libraries, which runs their code. */
#include "base/base.h"
#include "base/buf.h"
#include "read/pt2/pt2_in.h"

#define NATIVE_FOLDER "data/aotinductor/"
#define NAMED_MOST    100 /* limit for findings, one for each file */

static bool is_native(struct str name)
{
    static const char *const tails[] = {".so",    ".cubin", ".o",   ".dll", ".dylib",
                                        ".hsaco", ".spv",   ".pyd", ".a",   ".fatbin"};

    for (size_t i = 0; i < COUNT_OF(tails); i++)
        if (str_ends(name, str_of(tails[i])))
            return true;
    return false;
}

/* A file of the package as a plain value: its size. */
static int add_file(struct pt2 *pt2, uint32_t group, uint32_t entry, struct str name)
{
    struct build *build = pt2->build;
    uint32_t node = build_node(build, group, PLACE_VALUE, name);
    uint64_t size = pt2->zip->entries[entry].size;
    struct buf text = BUF_INIT;

    if (node == NO_PLACE)
        return -1;
    buf_printf(&text, "%llu bytes%s", (unsigned long long)size,
               is_native(name) ? " of native code" : "");
    build_set_object(build, node, value_str(build_values(build), buf_span(&text)));
    buf_release(&text);
    return 0;
}

/* Loaders look the files up by name below this folder, wherever the root is. */
int pt2_native(struct pt2 *pt2, struct err *err)
{
    struct build *build = pt2->build;
    uint32_t top = NO_PLACE, group = NO_PLACE, native = 0;
    struct str last = {0};

    for (uint32_t i = 0; i < pt2->zip->n; i++) {
        struct str record = zip_record(pt2->zip, i), name, model;

        if (!str_starts(record, STR(NATIVE_FOLDER)))
            continue;
        name = str_from(record, sizeof NATIVE_FOLDER - 1);
        if (!str_split(&name, '/', &model) || name.len == 0)
            continue;
        if (top == NO_PLACE)
            top = build_node(build, pt2->input->node, PLACE_GROUP, STR("aotinductor"));
        if (top != NO_PLACE && (group == NO_PLACE || !str_eq(last, model)))
            group = build_child(build, top, PLACE_GROUP, model);
        last = model;
        if (top == NO_PLACE || group == NO_PLACE || add_file(pt2, group, i, name) < 0)
            return arena_err(&build->model->arena, pt2->input->path, err);
        if (is_native(name) && native++ < NAMED_MOST)
            build_finding(build, FINDING_NATIVE_CODE, SEVERITY_ALARM, group,
                          "%.*s is native code, which loading the package runs",
                          STR_ARG(record))
                ->entry = zip_finding_entry(pt2->zip, &pt2->zip->entries[i]);
    }
    if (native > 0)
        build_fact(build, "native files", value_int(build_values(build), native));
    return 0;
}
