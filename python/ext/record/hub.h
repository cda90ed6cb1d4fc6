/* hub.h - _core.Hub(find_keywords, rare_before, rare_after, is_tracing, fx): from the
 * functions that torch calls as hooks to those who listen. What every call passes
 * through is here, for it is done twice a call; what is rare is left to the package.
 *
 * tell_before(module, args) calls each of `before` with (module, args, kwargs), or
 * without kwargs where find_keywords() does not know them either.
 * tell_after(module, args[, kwargs], result) calls each of `after` with (module, args,
 * kwargs or None, result). What a listener raises goes no further.
 * rare_before(...) and rare_after(...) are called instead while `rare` is true and as
 * long as torch's compiler is there but not `watched`; the latter also where forward
 * may have raised. While torch traces (is_tracing() is not None, or
 * fx._is_fx_tracing_flag is true) nobody is told.
 * run_backward(method, roots, gradients, ...) calls each of `backwards` with (roots,
 * gradients), and then what stands for: method(roots, gradients, ...). */
#ifndef EXT_RECORD_HUB_H
#define EXT_RECORD_HUB_H

#include "ext/ext.h"

extern PyType_Spec hub_spec;

#endif
