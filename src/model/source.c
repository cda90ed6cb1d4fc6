#include "model/source.h"

int source_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                 size_t n, struct err *err)
{
    if (!source)
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

void source_close(struct source *source)
{
    if (source)
        source->ops->close(source);
}
