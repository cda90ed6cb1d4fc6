/* pairs.h - _core.diff(left, right, structure=False, rtol=0, atol=0, all=False,
 * width=0, ascii=False, colour=False): how two models differ; the last three are of the
 * text. Both are a _core.Model or a _core.Run, and stay what they are. A dict: equal (a
 * bool), and as texts what show/diff_text.h and docs/json.md say: text, json, markdown,
 * python. Where a side is a recording, values are not compared: it has none.
 */
#ifndef EXT_TYPES_PAIRS_H
#define EXT_TYPES_PAIRS_H

#include "ext/ext.h"

PyObject *pairs_diff(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
