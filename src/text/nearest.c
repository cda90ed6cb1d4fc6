#include "text/nearest.h"

#include <string.h>

/* Edit distance: letters to insert, delete, replace or swap with a neighbour. Words of
 * more than 31 letters are not compared. */
static unsigned distance(const char *a, const char *b)
{
    enum { MOST = 31 };
    unsigned rows[3][MOST + 1];
    size_t n = strlen(a), m = strlen(b);
    unsigned *before = rows[0], *last = rows[1], *now = rows[2];

    if (n > MOST || m > MOST)
        return MOST;
    for (size_t j = 0; j <= m; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *spare = before;

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned least = last[j - 1] + (a[i - 1] != b[j - 1]);

            least = least < last[j] + 1 ? least : last[j] + 1;
            least = least < now[j - 1] + 1 ? least : now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < least)
                least = before[j - 2] + 1;
            now[j] = least;
        }
        before = last;
        last = now;
        now = spare;
    }
    return last[m];
}

const char *text_nearest(const char *word, const void *names, size_t n, size_t stride)
{
    const char *nearest = NULL;
    unsigned best =
        (unsigned)strlen(word) / 3 + 1; /* one letter of three may be wrong */

    for (size_t i = 0; i < n; i++) {
        const char *const *name = (const void *)((const char *)names + i * stride);
        unsigned far = distance(word, *name);

        if (strncmp(word, *name, strlen(word)) == 0 && strlen(word) > 1)
            far = 1; /* the beginning of a name */
        if (far <= best && (!nearest || far < best)) {
            best = far;
            nearest = *name;
        }
    }
    return nearest;
}
