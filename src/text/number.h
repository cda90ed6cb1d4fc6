/* number.h - numbers as people read them. Each appends to a buf. */
#ifndef TEXT_NUMBER_H
#define TEXT_NUMBER_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

void text_count(struct buf *to, uint64_t n);  /* 999 1.0K 25.6M 1.0B */
void text_commas(struct buf *to, uint64_t n); /* 25,557,032 */
/* 1 tensor, 1,234 tensors */
void text_plural(struct buf *to, uint64_t n, const char *one, const char *many);
/* One decimal above bytes: 1023B 1.0KB 97.7MB */
void text_bytes(struct buf *to, uint64_t bytes);
/* One decimal above a thousand: 999 1.2K 231.2M 8.2G 1.0T */
void text_flops(struct buf *to, uint64_t flops);
/* As rp writes them, for torchoscope.compat: 1KB for 1024, 1.0KB for 1025. */
void text_bytes_rp(struct buf *to, uint64_t bytes);
void text_time(struct buf *to, double seconds); /* 306.22μs 1.52ms 1.0000s */
void text_percent(struct buf *to, double part,
                  double whole);                   /* rounded: " 9%", "100%" */
void text_real(struct buf *to, double value);      /* %.4g, NaN, Inf, -Inf */
void text_real_long(struct buf *to, double value); /* %.6g */
/* 3×224×224; "scalar" for rank 0 */
void text_shape(struct buf *to, const int64_t *dims, int rank);
/* The same of a program's value: ?×224×224 if a size is not fixed (-1). */
void text_open_shape(struct buf *to, const int64_t *dims, int rank);
void text_index(struct buf *to, const int64_t *dims, int rank,
                uint64_t at); /* [83, 225] */
/* A set of devices, "cpu", "cuda:1", "cuda:0": cpu/cuda:0,1. Sorts the names in place
 * and escapes them. */
void text_devices(struct buf *to, struct str *names, size_t n);

#endif
