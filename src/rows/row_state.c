#include "rows/row_state.h"

#include "base/base.h"
#include "rows/run_words.h"

const char *row_state_name(unsigned i)
{
    static const char *const names[STATES] = {
        "run",    "alarm", "warning", "spoilt",  "not called",
        "frozen", "tied",  "shared",  "guessed", "hidden"};

    return i < STATES ? names[i] : "";
}

static unsigned sign_state(const struct label *label)
{
    if (label->sign.len == 0)
        return 0;
    if (label->sign_colour == COLOUR_ALARM)
        return STATE_ALARM;
    return label->sign_colour == COLOUR_WARNING ? STATE_WARNING : 0;
}

static unsigned place_state(const struct show *show, const struct row *row)
{
    const struct model *model = show->model;
    uint32_t place = row->place;
    unsigned state = model->flags[place] & PLACE_AGAIN ? STATE_SHARED : 0;

    if (model->kind[place] == PLACE_TENSOR && place_tensor(model, place)->places > 1)
        state |= STATE_TIED;
    if (show->session->total.frozen > 0 && model->kind[place] != PLACE_VALUE &&
        row_frozen(show, row))
        state |= STATE_FROZEN;
    return state;
}

unsigned row_state(const struct show *show, const struct label *label,
                   const struct row *row)
{
    unsigned state = sign_state(label) | place_state(show, row);

    state |= row->flags & ROW_RUN ? STATE_RUN : 0;
    state |= label->guessed ? STATE_GUESSED : 0;
    if (!show->activity)
        return state;
    if (row_run(show, row, RUN_NAN) + row_run(show, row, RUN_INF) > 0)
        state |= STATE_SPOILT;
    if (run_gap_word(show, row->place))
        state |= STATE_NOT_CALLED;
    return state;
}
