/* sample_history_in.h - a small history, for tests of this room.
 *
 * Point k of step s measures four float32 elements s + k, s + k + 1, ... Its histogram is
 * a count per value modulo 8, packed as eight numbers of four bytes. */
#ifndef HISTORY_SAMPLE_HISTORY_IN_H
#define HISTORY_SAMPLE_HISTORY_IN_H

#include "history/reader.h"
#include "history/writer.h"

#define SAMPLE_BINS 8

extern const struct history_codec sample_codec;
/* Unpacks the counts of a histogram. */
void sample_counts(struct str packed, uint32_t counts[SAMPLE_BINS]);

/* A temporary folder; sample_folder_remove() removes it with its files. */
struct sample_folder {
    char path[64];
    char file[96]; /* path/run.scope */
};
void sample_folder_make(struct sample_folder *folder);
void sample_folder_remove(const struct sample_folder *folder);
/* The number of files in it. */
int sample_folder_count(const struct sample_folder *folder);

/* Creates the file of a rank in a folder; `options` has the rank. */
struct history_writer *sample_rank_writer(const struct sample_folder *folder,
                                          const struct history_options *options);

/* Declares `n` series "layer.0", "layer.1", ... which get the numbers 0, 1, ... and the
 * scalar "loss". */
void sample_declare(struct history_writer *writer, uint32_t n);
/* One training step; its loss is 1 / (number + 1), its time `number` seconds. */
void sample_write(struct history_writer *writer, uint64_t number, uint32_t n);
/* The point that series k has after steps first..last were merged. */
void sample_point(uint32_t k, uint64_t first, uint64_t last,
                  struct history_point *point, uint32_t counts[SAMPLE_BINS]);
/* Checks a sample against sample_point(); counts only. */
void sample_check(const struct history_sample *sample, uint32_t k);

#endif
