/* Questions about the shelf. */
#include "web/web_in.h"

int ask_shelf(struct web_ask *ask, struct json *json, struct err *err)
{
    (void)err;
    shelf_look(ask->server->shelf);
    shelf_write(ask->server->shelf, SHELF_ALL, 0, json);
    return 0;
}

int ask_news(struct web_ask *ask, struct json *json, struct err *err)
{
    uint64_t since;

    if (web_number(ask, "since", 0, UINT64_MAX, 0, &since, err) < 0)
        return -1;
    shelf_look(ask->server->shelf);
    shelf_write(ask->server->shelf, SHELF_NEWS, since, json);
    return 0;
}
