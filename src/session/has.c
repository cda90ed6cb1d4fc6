#include "session/session.h"

static bool has_values(const struct model *model)
{
    for (uint32_t i = 0; i < model->n_tensors; i++)
        if (tensor_readable(model, &model->tensors[i], NULL))
            return true;
    return false;
}

unsigned session_has(const struct session *session)
{
    const struct run *run = session->run;
    bool ops = run ? run->ops != NULL : session->model->program != NULL;
    bool calls = run && run->n_calls > 0;
    unsigned has = 0;

    has |= ops || calls ? SESSION_GRAPH : 0;
    has |= ops ? SESSION_OPS : 0;
    has |= calls ? SESSION_CALLS : 0;
    has |= session->history ? SESSION_HISTORY : 0;
    has |= has_values(session->model) ? SESSION_VALUES : 0;
    has |= session->training && session->training->files > 0 ? SESSION_RANKS : 0;
    return has;
}

struct str session_capsule(const struct session *session)
{
    const struct run *run = session->run;
    uint32_t id = run ? run_fact_id(run, RUN_CAPSULE_FACT) : VALUE_ID_NONE;

    if (id == VALUE_ID_NONE || value_at(&run->plain, id)->kind != VALUE_STR)
        return (struct str){0};
    return value_text(&run->plain, id);
}
