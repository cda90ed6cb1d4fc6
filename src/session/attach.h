/* attach.h - attaches the history of a training run to a model and recording in
 * memory. */
#ifndef SESSION_ATTACH_H
#define SESSION_ATTACH_H

#include "session/session.h"

/* As if the session had been opened from this .scope file. If the history is
 * unreadable, session->history_why has the reason. */
void session_attach_history(struct session *session, const char *path);

#endif
