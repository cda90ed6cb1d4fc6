/* Questions about one model or two; the command line writes the same documents. */
#include <stdlib.h>

#include "base/base.h"
#include "export/export.h"
#include "facts/check_text.h"
#include "rows/show.h"
#include "session/pair.h"
#include "web/web_in.h"

int ask_info(struct web_ask *ask, struct json *json, struct err *err)
{
    (void)err;
    export_info_json(json, ask->session);
    return 0;
}

/* ---- check, diff ---- */

int ask_check(struct web_ask *ask, struct json *json, struct err *err)
{
    struct session *session = ask->session;
    struct verdict_allow allow = {0};
    struct check_ask wanted = {.allow = &allow};
    struct export_checked checked = {.complete = true};
    struct check check;

    if (session_judged(session) &&
        session_verify(session, false, &ask->arena, ask->work, &wanted, err) < 0)
        return -1;
    if (check_training(session, &ask->arena, &wanted, err) < 0 ||
        check_make(session->model, &wanted, &ask->arena, &check, err) < 0)
        return -1;
    checked.verdict = check.verdict.verdict;
    checked.status = check.status;
    export_check_begin(json);
    export_check_model(json, session, &check);
    export_check_end(json, &checked);
    return 0;
}

int ask_diff(struct web_ask *ask, struct json *json, struct err *err)
{
    const struct diff_wanted wanted = {.values = !web_flag(ask, "structure"),
                                       .no_results = web_flag(ask, "structure")};
    struct pair *pair = pair_on(ask->session, ask->right, &wanted, ask->work, err);
    int status;

    if (!pair)
        return -1;
    status = export_diff_json(json, pair, &wanted.tolerance, web_flag(ask, "all"), err);
    pair_close(pair);
    return status;
}
