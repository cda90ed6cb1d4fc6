/* plain_locale_in.h - numbers with a point, whatever the user's language.
 * printf and strtod follow the locale of the process, which is not ours to change: we
 * may live inside somebody's Python. This changes it for the calling thread only:
 *
 *     locale_t before = plain_locale_enter();
 *     ... strtod, snprintf ...
 *     plain_locale_leave(before); */
#ifndef BASE_PLAIN_LOCALE_IN_H
#define BASE_PLAIN_LOCALE_IN_H

#include <locale.h>

locale_t plain_locale_enter(void);
void plain_locale_leave(locale_t before);

#endif
