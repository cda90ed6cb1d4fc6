/* sample_session.h - for tests of this room and those above it: a small model over
 * numbers in memory.
 *
 *     (root)                   a state_dict
 *       a                      module torch.nn.modules.linear.Linear
 *         weight  2×3 float32  1 2 3 4 5 -6      parameter, requires_grad
 *         bias    2 float32    0 NaN             parameter, frozen
 *       b                      module
 *         weight               tied to a.weight
 *         count   scalar int64 7                 buffer
 *       =x\n                   the text value "<&>"
 *       lost      4 float32    its storage is missing */
#ifndef SESSION_SAMPLE_SESSION_H
#define SESSION_SAMPLE_SESSION_H

#include "session/session.h"

/* Close it with session_close(). */
struct session *sample_session(void);

/* The place with this full name, which must exist. */
uint32_t sample_place(const struct session *session, const char *name);

#endif
