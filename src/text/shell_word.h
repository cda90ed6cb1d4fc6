/* shell_word.h - words of a command line, quoted for a shell, and read back. */
#ifndef TEXT_SHELL_WORD_H
#define TEXT_SHELL_WORD_H

#include "base/buf.h"
#include "base/str.h"

/* Appends a word, in quotes if a shell would change it. Characters that a terminal
 * cannot show are escaped in $'...'. */
void shell_word_write(struct buf *to, struct str word);
/* The next word of a line that shell_word_write() wrote; NULL at the end. It changes
 * the line and returns a pointer into it. */
char *shell_word_next(char **rest);

#endif
