/* server_type.h - _core.Server(host=None, port=0, tries=0, allow_hosts=(), token=None):
 * the server of the page (web/web.h), whose threads never take the GIL. token False: no
 * token, so the bare address works. Methods:
 *   add(path)                  serves a file or folder
 *   add_live(name, thing, live=None, path=None, labels=None) -> number
 *                              serves a _core.Model or _core.Run of this process, under its
 *                              own name if `name` is ""; `live`
 *                              is the Model of the module that was recorded; `path` the
 *                              .scope file with the history of its training
 *   renew(number, name, thing, live=None, path=None, labels=None)
 *                              replaces the item with that number
 *   start()                    listens
 *   pump(step=None) -> int     answers questions about live objects; returns how many.
 *                              `step`: the number of the step that just ended
 *   close()                    ends it; further calls do nothing
 * Members: port, local (only this machine?), token, address (a str), tunnel (the
 * ssh -L line for another machine, or None); mine: False in a
 * process that was forked from the one that serves. */
#ifndef EXT_TYPES_SERVER_TYPE_H
#define EXT_TYPES_SERVER_TYPE_H

#include "ext/ext.h"

extern PyType_Spec server_spec;

#endif
