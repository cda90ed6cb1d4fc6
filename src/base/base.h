/* base.h - the room below all others. Nothing here knows what a model is.
 *
 * The tour:
 *   err.h         one failure: a code and a sentence for people
 *   str.h         borrowed spans of bytes; utf8.h decodes them
 *   arena.h       memory with a limit that is freed at once; growing arrays in it
 *   intern.h      strings as dense numbers;  map.h  hash tables: u64 to u32, names
 *   buf.h         bytes that grow;  out.h  where text goes (a file descriptor, a buf)
 *   bytes.h       a cursor over untrusted bytes
 *   blob.h        random access to bytes: a file, memory, a part of another blob
 *   folder.h      the entries of a folder
 *   live_file.h   files that this process is writing through SQLite
 *   json_read.h   a strict pull reader;  json_doc.h  a document as a tree
 *   json_write.h  a writer with a choice of sinks
 *   sha256.h  work.h (progress, cancel)  clock.h
 *   background.h  background threads, and a pipe that wakes a poll()
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <stddef.h>
#include <stdint.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

/* The number of items in an array whose size the compiler knows. */
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
