/* convert_in.h - the check after a conversion. */
#ifndef EXPORT_CONVERT_IN_H
#define EXPORT_CONVERT_IN_H

#include "export/safetensors_file.h"

/* Reads the file at `path` and compares it with its source: every name, dtype, shape,
 * tie and byte. -1: they differ; `err` says where. */
int convert_compare(const struct safetensors_file *file, const char *path,
                    struct work *work, struct err *err);

#endif
