/* folder.h - the entries of a folder, sorted by name, without "." and "..". */
#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct folder_entry {
    struct str name;
    uint64_t size;
    int64_t mtime_ns;
    bool is_folder;
    bool is_file; /* regular, after following links */
    bool is_link; /* also if broken */
};

struct folder {
    int fd; /* open on the folder, for blob_open_at() */
    struct folder_entry *entries;
    uint32_t n;
};

/* The entries live in the arena; folder_close() closes the descriptor only. */
int folder_open(struct folder *folder, const char *path, struct arena *arena,
                struct err *err);
void folder_close(struct folder *folder);

/* Is this a plain name inside a folder: no '/', no NUL, not "." or "..", not empty? */
bool folder_name_is_plain(struct str name);

/* Is there a folder at `path`? */
bool path_is_folder(const char *path);

/* The part of a path after its last '/', ignoring '/' at its end. */
struct str path_last(const char *path);

#endif
