/* h5.c - the reader of HDF5 files (.h5, .hdf5): those of Keras become layers, all others
 * are shown as they are: groups, datasets, attributes. */
#include "base/base.h"
#include "read/hdf5/hdf5_in.h"

static int h5_knows(const struct input *input)
{
    uint64_t at;

    return input->blob && hdf5_looks_like(input->head, &at) ? SURE_MAGIC : 0;
}

static int h5_read(struct input *input, struct build *build, struct err *err)
{
    struct hdf5 file;

    if (hdf5_open(&file, input, build, err) < 0)
        return -1;
    if (input->node == 0)
        build_fact(build, "superblock", value_int(build_values(build), file.version));
    return hdf5_add_all(&file, 0, input->node, ROLE_PARAMETER, err);
}

const struct reader h5_reader = {.name = "HDF5", .knows = h5_knows, .read = h5_read};
