/* browser.h - shows a temporary page in the user's browser. */
#ifndef CLI_BROWSER_H
#define CLI_BROWSER_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* The path of a new file NAME.SUFFIX in a new private temporary folder. Nothing removes
 * it: the browser may read it at any time. Characters of `name` that are not allowed in
 * file names become _. */
int browser_file(struct buf *ret_path, struct str name, const char *suffix,
                 struct err *err);
/* Opens it with $BROWSER, else with the desktop's program. Prints the path to stderr,
 * and what to do if there is no desktop. Does not wait. */
void browser_show(const char *path);
/* The same with an address, which needs no file. */
void browser_open(const char *address);

#endif
