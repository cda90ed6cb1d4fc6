/* The speed of comparing two files, relative to reading both and comparing bytes.
 *
 *     bench_compare LEFT RIGHT [ROUNDS]
 *
 * Matches tensors by index: the files hold the same ones. Measures thread time, which a
 * busy machine affects little. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "measure/compare.h"
#include "read/read.h"

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Read and compare both files in pieces; returns the bytes of both. */
static uint64_t compare_files(const char *left, const char *right, size_t piece)
{
    int a = open(left, O_RDONLY), b = open(right, O_RDONLY);
    uint8_t *at = malloc(2 * piece);
    uint64_t bytes = 0, differ = 0;

    for (;;) {
        ssize_t n = read(a, at, piece), m = read(b, at + piece, piece);

        if (n <= 0 || m <= 0)
            break;
        differ += memcmp(at, at + piece, (size_t)(n < m ? n : m)) != 0;
        bytes += (uint64_t)(n + m);
    }
    printf("  %llu pieces differ", (unsigned long long)differ);
    free(at);
    close(a);
    close(b);
    return bytes;
}

static uint64_t compare_models(const struct model *left, const struct model *right)
{
    struct compared all = {0}, one;
    uint64_t bytes = 0;
    struct err err;

    for (uint32_t i = 0; i < left->n_tensors && i < right->n_tensors; i++) {
        struct compare_side a = {left, &left->tensors[i]};
        struct compare_side b = {right, &right->tensors[i]};

        if (compare_tensors(a, b, (struct tolerance){0, 0}, NULL, &one, &err) < 0) {
            fprintf(stderr, "tensor %u: %s\n", i, err.text);
            continue;
        }
        compared_merge(&all, &one);
        bytes += tensor_bytes(a.tensor) + tensor_bytes(b.tensor);
    }
    printf("  %llu values differ", (unsigned long long)all.different);
    return bytes;
}

static double report(const char *what, double begin, uint64_t bytes)
{
    double took = now() - begin;

    printf("  %-24s %7.3f s  %6.2f GB/s\n", what, took, (double)bytes / took * 1e-9);
    return took;
}

int main(int argc, char **argv)
{
    int rounds = argc > 3 ? atoi(argv[3]) : 3;
    const struct model *left, *right;
    struct err err;

    if (argc < 3)
        return 2;
    left = read_model(argv[1], NULL, &err);
    right = left ? read_model(argv[2], NULL, &err) : NULL;
    if (!right) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 0; i < rounds; i++) {
        double begin = now(), read_took, took;

        read_took = report("read and memcmp", begin,
                           compare_files(argv[1], argv[2], (size_t)128 * 1024));
        begin = now();
        took = report("compare_tensors", begin, compare_models(left, right));
        printf("  %.2f of the speed of reading\n", read_took / took);
    }
    model_free(right);
    model_free(left);
    return 0;
}
