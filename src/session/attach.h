/* attach.h - the history of a training whose model and recording are in memory. */
#ifndef SESSION_ATTACH_H
#define SESSION_ATTACH_H

#include "session/session.h"

/* As if the session had been opened from this .scope file. A history that cannot be read
 * is said in session->history_why. */
void session_attach_history(struct session *session, const char *path);

#endif
