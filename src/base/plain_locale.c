#include "base/plain_locale_in.h"

#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t plain;

static void make_plain(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t plain_locale_enter(void)
{
    pthread_once(&once, make_plain);
    /* If newlocale() failed, (locale_t)0 leaves the thread's locale as it is. */
    return uselocale(plain);
}

void plain_locale_leave(locale_t before)
{
    uselocale(before);
}
