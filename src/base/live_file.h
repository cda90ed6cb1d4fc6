/* live_file.h - the files that this process is writing through SQLite.
 *
 * POSIX drops all locks of a process on a file when the process closes any descriptor
 * of it. So while SQLite writes a file, nothing else in the process may open and close
 * it: no open(), no fopen(). Ask live_file_is() first, as blobs do; only SQLite
 * connections (history_open) may read a live file. Threads may call all of this. */
#ifndef BASE_LIVE_FILE_H
#define BASE_LIVE_FILE_H

#include <stdbool.h>

#include "base/err.h"

/* Register the file at `path`; -1 if it does not exist, is live already (ERR_USAGE), or
 * exceeds the limit (ERR_LIMIT). */
int live_file_add(const char *path, struct err *err);
/* `path` may have vanished or been replaced: pass the key that was current. */
struct file_key {
    unsigned long long device, inode;
};
bool live_file_key(const char *path, struct file_key *ret_key);
void live_file_remove(const struct file_key *key);

/* Does this process write the file, possibly under another name, or is it one that SQLite
 * keeps beside such a file ("-wal", "-shm")? False in a process that was forked from the
 * writer: its locks are its own. */
bool live_file_is(const char *path);
bool live_file_is_at(int dir_fd, const char *path); /* as openat() */
/* Was the file live in the process from which this one was forked? SQLite's state about
 * it was copied and is wrong here: do not open it with SQLite either. */
bool live_file_inherited(const char *path);

/* Call these around each use of SQLite on a background thread. fork() waits for the end
 * of that use, at most 0.2 s: otherwise the child could inherit a lock of SQLite that is
 * never released, and hang when it uses SQLite itself. */
void live_file_enter(void);
void live_file_leave(void);

/* The number of forks between the start of the program and this process. A writer
 * created under a different number was inherited and must not touch its file. */
unsigned live_file_forks(void);

#endif
