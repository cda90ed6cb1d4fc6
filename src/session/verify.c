#include "read/read.h"
#include "session/session.h"

int session_verify(const struct session *session, bool values, struct arena *arena,
                   struct work *work, struct check_ask *ask, struct err *err)
{
    const struct model *model = session->model;
    struct finding *all = NULL;
    uint32_t n = 0, room = 0;

    for (uint32_t i = 0; i < model->n_files; i++) {
        const struct model_file *file = &model->files[i];
        struct str path =
            model_string(model, file->address ? file->address : file->name);
        struct finding *found = NULL;
        uint32_t n_found = 0;

        if (read_verify(path.at, values, arena, work, &found, &n_found, err) < 0)
            return -1;
        for (uint32_t k = 0; k < n_found; k++) {
            if (arena_room(arena, &all, n, &room, sizeof *all) < 0)
                return arena_err(arena, "the check", err);
            all[n] = found[k];
            all[n++].file = i;
        }
    }
    ask->found = all;
    ask->n_found = n;
    ask->data_verified = values;
    return 0;
}
