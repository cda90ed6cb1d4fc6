#include "model/source.h"

bool source_has_bytes(const struct source *source)
{
    return source && source->ops->bytes;
}

int source_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                 size_t n, struct err *err)
{
    if (!source_has_bytes(source))
        return err_set(err, ERR_UNSUPPORTED, "the values of this model cannot be read");
    if (n == 0)
        return 0;
    return source->ops->bytes(source, storage, at, to, n, err);
}

const void *source_direct(struct source *source, uint32_t storage)
{
    if (!source || !source->ops->direct)
        return NULL;
    return source->ops->direct(source, storage);
}

bool source_changed(struct source *source)
{
    return source && source->ops->changed && source->ops->changed(source);
}

bool source_has_attributes(const struct source *source)
{
    return source && source->ops->attributes;
}

int source_attributes(struct source *source, const struct attribute_of *what,
                      struct arena *arena, struct attribute **ret_attributes,
                      uint32_t *ret_n, struct err *err)
{
    if (!source_has_attributes(source))
        return err_set(err, ERR_UNSUPPORTED, "attributes are those of a live model");
    return source->ops->attributes(source, what, arena, ret_attributes, ret_n, err);
}

void source_forget(struct source *source)
{
    if (source && source->ops->forget)
        source->ops->forget(source);
}

int source_code(struct source *source, uint32_t class_id, struct arena *arena,
                struct class_code *ret_code, struct err *err)
{
    if (source && source->ops->code)
        return source->ops->code(source, class_id, arena, ret_code, err);
    *ret_code = (struct class_code){.why = "not in this file"};
    return 0;
}

void source_close(struct source *source)
{
    if (source)
        source->ops->close(source);
}
